"""The views `nodes` and `relations` of a workspace.

They have the same content as those of `store/file/layout`.

Metadata has the type `jsonb` here. Mycel itself never reads the views: they are for other SQL
tools.
"""

from __future__ import annotations

from typing import Final

from mycel.store.file.layout import CORE_CONCEPTS

_IS_URI: Final = """(strpos(c.name, '://') > 0
    OR (t.name = 'Resource' AND strpos(c.name, ':') > 0 AND strpos(c.name, ' ') = 0))"""
_URI: Final = f"CASE WHEN {_IS_URI} THEN c.name ELSE 'kip:' || t.name || '/' || c.name END"


def _endpoint(column: str) -> str:
    return f"""CASE WHEN p.{column} % 2 = 1
        THEN (SELECT 'kip:P:' || x.id || ':' || xp.name FROM proposition x
              JOIN predicate xp ON xp.id = x.predicate WHERE x.id = p.{column})
        ELSE (SELECT {_URI} FROM concept c
              JOIN type t ON t.id = c.type WHERE c.id = p.{column}) END"""


def _time(column: str) -> str:
    return (
        f"to_char(to_timestamp(round({column} / 1000.0) / 1000.0) AT TIME ZONE 'UTC',"
        " 'YYYY-MM-DD HH24:MI:SS.MS')"
    )


VIEWS: Final = f"""
CREATE VIEW nodes AS
SELECT {_URI} AS uri,
       CASE t.name WHEN 'Resource' THEN 'resource' ELSE 'concept' END AS node_type,
       CASE t.name WHEN 'Resource' THEN NULL
            ELSE coalesce(c.attributes::jsonb ->> 'name', c.name) END AS name,
       CASE t.name WHEN 'Resource' THEN NULL
            ELSE c.attributes::jsonb ->> 'content' END AS content,
       mycel_patched(c.metadata::jsonb,
           c.attributes::jsonb - ARRAY['name', 'content', '_bootstrap']) AS metadata,
       {_time("c.created_at")} AS created_at, {_time("c.updated_at")} AS updated_at
FROM concept c JOIN type t ON t.id = c.type
WHERE NOT (t.name = 'Missing' AND starts_with(c.name, 'concept://'))
  AND c.id NOT IN ({CORE_CONCEPTS});
CREATE VIEW relations AS
SELECT p.id, {_endpoint("subject")} AS source_uri, {_endpoint("object")} AS target_uri,
       r.name AS relation_type, p.weight,
       mycel_patched(p.metadata::jsonb, p.attributes::jsonb) AS metadata,
       {_time("p.created_at")} AS created_at
FROM proposition p JOIN predicate r ON r.id = p.predicate
WHERE NOT (p.subject IN ({CORE_CONCEPTS}) AND p.object IN ({CORE_CONCEPTS}));
"""
"""The statements that make the views."""
