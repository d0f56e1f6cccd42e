"""Finds elements that may be due for upkeep."""

from __future__ import annotations

from typing import Final, NamedTuple

from mycel.model.evidence import EVIDENCE
from mycel.model.limits import INTEGER_MAX
from mycel.model.names import CONCEPT_TYPE, SLEEP_TASK, SYSTEM_ACTOR
from mycel.model.retention import RETENTION
from mycel.model.values import JsonObject
from mycel.store.file.layout import (
    CONCEPT_TYPE_NUMBER,
    CORE_CONCEPTS,
    OPEN_END,
    PROPOSITION_TYPE_NUMBER,
)
from mycel.store.query.reader import Reader

CYCLE_STATE: Final = "_sleep"
"""The metadata of the Person `$system` with the state of cycles; callers cannot write it."""
_IS_HIDDEN: Final = (
    f"EXISTS (SELECT 1 FROM hidden h WHERE h.element = {{row}}.id AND h.to_seq = {OPEN_END})"
)
_WRITTEN_AT: Final = "(SELECT t.time FROM tx t WHERE t.seq >= v.seq ORDER BY t.seq LIMIT 1)"
_WRITTEN_BY: Final = "(SELECT t.actor FROM tx t WHERE t.seq >= v.seq ORDER BY t.seq LIMIT 1)"


class StoredRule(NamedTuple):
    """The retention rule in a definition, as JSON text."""

    is_link: bool
    name: str
    text: str


def stored_rules(reader: Reader) -> list[StoredRule]:
    """The retention rules of all types and predicates that have one."""
    rows = reader.fetch_all(
        f"SELECT c.type, c.name, c.attributes -> '$.{RETENTION}' FROM concept c"
        f" WHERE c.type IN ({CONCEPT_TYPE_NUMBER}, {PROPOSITION_TYPE_NUMBER})"
        f" AND c.attributes -> '$.{RETENTION}' IS NOT NULL ORDER BY c.id"
    )
    return [
        StoredRule(reader.type_name(meta) != CONCEPT_TYPE, name, text) for meta, name, text in rows
    ]


def expired(reader: Reader, now_us: int) -> list[int]:
    """The elements whose `expires_at` is past and that are not archived."""
    return reader.column(
        f"SELECT l.element FROM lifetime l WHERE l.to_seq = {OPEN_END} AND l.expires <= ?1"
        f" AND NOT EXISTS (SELECT 1 FROM hidden h WHERE h.element = l.element"
        f" AND h.to_seq = {OPEN_END}) ORDER BY 1",
        (now_us,),
    )


def created_by(reader: Reader, table: str, kind: int, time_us: int) -> list[int]:
    """The unarchived elements of a type or predicate that were created up to a time."""
    column = "e.type" if table == "concept" else "e.predicate"
    return reader.column(
        f"SELECT e.id FROM {table} e WHERE {column} = ?1 AND e.created_at <= ?2"
        f" AND NOT {_IS_HIDDEN.format(row='e')} ORDER BY e.id",
        (kind, time_us),
    )


def links_marked(reader: Reader, key: str) -> list[int]:
    """The links that have a key in their metadata and are not hidden."""
    return reader.column(
        "SELECT p.id FROM proposition p WHERE instr(p.metadata, ?1) > 0"
        f" AND NOT {_IS_HIDDEN.format(row='p')} ORDER BY p.id",
        (f'"{key}"',),
    )


def instances(reader: Reader, type_name: str, after: int = 0) -> list[int]:
    """The unarchived concepts of a type after a number, the oldest first."""
    return reader.column(
        "SELECT c.id FROM concept c WHERE c.type = ?1 AND c.id > ?2"
        f" AND NOT {_IS_HIDDEN.format(row='c')} ORDER BY c.id",
        (reader.find_type(type_name) or 0, after),
    )


def cycle_state(reader: Reader) -> JsonObject:
    """The state of the last cycle, which only a cycle writes; empty before the first one."""
    system = reader.find_concept("Person", SYSTEM_ACTOR)
    state = None if system is None else system.metadata.get(CYCLE_STATE)
    return state if isinstance(state, dict) else {}


def count_open_tasks(reader: Reader) -> int:
    """The number of open SleepTasks, which nobody has decided."""
    return reader.count(
        "SELECT count(*) FROM concept c WHERE c.type = ?1"
        " AND coalesce(c.attributes ->> '$.status', 'pending') NOT IN ('completed', 'failed')"
        f" AND NOT {_IS_HIDDEN.format(row='c')}",
        (reader.find_type(SLEEP_TASK) or 0,),
    )


def count_archived(reader: Reader) -> int:
    """The number of archived concepts."""
    return reader.count(
        f"SELECT count(*) FROM hidden h WHERE h.to_seq = {OPEN_END} AND h.element & 1 = 0"
    )


def with_own_rule(reader: Reader, *, archived: bool = False) -> list[int]:
    """The unarchived, or the archived, elements that have a retention rule of their own."""
    is_hidden = _IS_HIDDEN.format(row="e")
    queries = (
        f"SELECT e.id FROM {table} e WHERE instr(e.metadata, '\"{RETENTION}\"') > 0"
        f" AND {'' if archived else 'NOT '}{is_hidden}"
        for table in ("concept", "proposition")
    )
    return reader.column(f"{' UNION ALL '.join(queries)} ORDER BY 1")


def growth(reader: Reader, since_us: int, limit: int) -> list[tuple[str, int, int, int]]:
    """Types with new concepts since a time: name, all concepts, new ones, archived ones."""
    return reader.fetch_all(
        "SELECT t.name, count(*), sum(CASE WHEN c.created_at >= ?1 THEN 1 ELSE 0 END) AS fresh,"
        f" sum(CASE WHEN {_IS_HIDDEN.format(row='c')} THEN 1 ELSE 0 END)"
        " FROM concept c CROSS JOIN type t WHERE t.id = c.type AND c.type NOT IN (1, 2)"
        f" AND c.id NOT IN ({CORE_CONCEPTS}) GROUP BY t.name"
        " HAVING sum(CASE WHEN c.created_at >= ?1 THEN 1 ELSE 0 END) > 0"
        " ORDER BY fresh DESC, t.name LIMIT ?2",
        (since_us, limit),
    )


def links_with_evidence(reader: Reader) -> list[int]:
    """Links that have evidence and are not hidden."""
    return reader.column(
        f"SELECT p.id FROM proposition p WHERE instr(p.metadata, '\"{EVIDENCE}\"') > 0"
        f" AND NOT {_IS_HIDDEN.format(row='p')} ORDER BY p.id"
    )


def is_referred_to(reader: Reader, number: int, without: int | None) -> bool:
    """True if a link that is not hidden leads to an element, by any predicate except one."""
    return (
        reader.fetch_first(
            "SELECT 1 FROM proposition p WHERE p.object = ?1 AND p.predicate IS DISTINCT FROM ?2"
            f" AND NOT {_IS_HIDDEN.format(row='p')} LIMIT 1",
            (number, without),
        )
        is not None
    )


def written_by_others(reader: Reader, table: str, number: int, actor: str) -> int | None:
    """The last time at which anybody except one actor wrote an element."""
    row = reader.fetch_first(
        f"SELECT max({_WRITTEN_AT}) FROM (SELECT seq FROM {table} WHERE id = ?1"
        f" UNION ALL SELECT from_seq FROM {table}_past WHERE id = ?1) v"
        f" WHERE {_WRITTEN_BY} IS DISTINCT FROM (SELECT id FROM actor WHERE name = ?2)",
        (number, actor),
    )
    return None if row is None else row[0]


def named_concepts(reader: Reader) -> list[tuple[int, int, str, str]]:
    """Number, type, name and attributes of the unarchived concepts that are knowledge."""
    return reader.fetch_all(
        "SELECT c.id, c.type, c.name, c.attributes FROM concept c"
        f" WHERE c.id NOT IN ({CORE_CONCEPTS}) AND NOT {_IS_HIDDEN.format(row='c')} ORDER BY c.id"
    )


class LinkSpan(NamedTuple):
    """The time during which a link of a subject holds, in microseconds."""

    subject: int
    link: int
    since_us: int
    until_us: int


def spans_of_rivals(reader: Reader, predicate: int) -> list[LinkSpan]:
    """The spans of links for subjects with several links of a predicate, by subject and beginning.

    A link has a span for its present period and for each former one. A present period without
    `valid_from` begins with the creation of the link. Superseded links are left out.
    """
    live = f"p.predicate = ?1 AND NOT {_IS_HIDDEN.format(row='p')}"
    rivals = (
        f"{live} AND p.subject IN (SELECT p.subject FROM proposition p WHERE {live}"
        " GROUP BY p.subject HAVING count(*) > 1)"
        " AND coalesce(p.metadata ->> '$.status', '') <> 'superseded'"
    )
    rows = reader.fetch_all(
        "SELECT p.subject, p.id, coalesce(l.valid_from, p.created_at) AS since,"
        f" coalesce(l.valid_until, {INTEGER_MAX}) FROM proposition p LEFT JOIN lifetime l"
        f" ON l.element = p.id AND l.to_seq = {OPEN_END} WHERE {rivals}"
        " UNION ALL SELECT p.subject, p.id, f.valid_from, f.valid_until FROM proposition p"
        f" JOIN former_period f ON f.element = p.id AND f.to_seq = {OPEN_END} WHERE {rivals}"
        " ORDER BY 1, 3, 2",
        (predicate,),
    )
    return [LinkSpan(*row) for row in rows]


def paired_links(reader: Reader, predicate: int, opposite: int, limit: int) -> list[int]:
    """The links of a predicate that have the same ends as a link of another predicate.

    Both links hold at some common time. A link without a beginning or end holds without that limit.
    """
    spans = (
        f"(SELECT coalesce(l.valid_from, -{INTEGER_MAX}) AS since,"
        f" coalesce(l.valid_until, {INTEGER_MAX}) AS ends FROM (SELECT 1) one"
        f" LEFT JOIN lifetime l ON l.element = {{row}}.id AND l.to_seq = {OPEN_END}"
        " UNION ALL SELECT f.valid_from, f.valid_until FROM former_period f"
        f" WHERE f.element = {{row}}.id AND f.to_seq = {OPEN_END})"
    )
    return reader.column(
        "SELECT p.id FROM proposition p JOIN proposition o ON o.subject = p.subject"
        " AND o.object = p.object AND o.predicate = ?2"
        f" WHERE p.predicate = ?1 AND NOT {_IS_HIDDEN.format(row='p')}"
        f" AND NOT {_IS_HIDDEN.format(row='o')}"
        f" AND EXISTS (SELECT 1 FROM {spans.format(row='p')} a, {spans.format(row='o')} b"
        " WHERE a.since < b.ends AND b.since < a.ends AND a.since < a.ends AND b.since < b.ends)"
        " AND coalesce(p.metadata ->> '$.status', '') <> 'superseded'"
        " AND coalesce(o.metadata ->> '$.status', '') <> 'superseded'"
        " ORDER BY p.id LIMIT ?3",
        (predicate, opposite, limit),
    )


def predicates_naming(reader: Reader, key: str) -> list[tuple[str, str]]:
    """The predicates whose definition has an attribute that is a text: name and text of each."""
    return reader.fetch_all(
        "SELECT c.name, c.attributes ->> ?1 FROM concept c"
        f" WHERE c.type = {PROPOSITION_TYPE_NUMBER} AND json_type(c.attributes, ?1) = 'text'"
        " ORDER BY c.id",
        (f"$.{key}",),
    )


def links_with(reader: Reader, predicate: int, limit: int) -> list[int]:
    """The links of a predicate that are not hidden."""
    return reader.column(
        "SELECT p.id FROM proposition p WHERE p.predicate = ?1"
        f" AND NOT {_IS_HIDDEN.format(row='p')} ORDER BY p.id LIMIT ?2",
        (predicate, limit),
    )


def empty_instances(reader: Reader, type_name: str, predicate: str) -> list[int]:
    """The concepts of a type that are not the object of any live link of a predicate."""
    return reader.column(
        "SELECT c.id FROM concept c WHERE c.type = ?1"
        f" AND c.id NOT IN ({CORE_CONCEPTS}) AND NOT {_IS_HIDDEN.format(row='c')}"
        " AND NOT EXISTS (SELECT 1 FROM proposition p WHERE p.object = c.id AND p.predicate = ?2"
        f" AND NOT {_IS_HIDDEN.format(row='p')}) ORDER BY c.id",
        (reader.find_type(type_name) or 0, reader.find_predicate(predicate) or 0),
    )


def unlinked(reader: Reader, limit: int) -> list[int]:
    """Concepts without a link, the oldest first."""
    return reader.column(
        "SELECT c.id FROM concept c WHERE c.type NOT IN (1, 2)"
        f" AND c.id NOT IN ({CORE_CONCEPTS}) AND NOT {_IS_HIDDEN.format(row='c')}"
        " AND NOT EXISTS (SELECT 1 FROM proposition p WHERE p.subject = c.id)"
        " AND NOT EXISTS (SELECT 1 FROM proposition p WHERE p.object = c.id)"
        " ORDER BY c.id LIMIT ?1",
        (limit,),
    )
