"""The rows of a state, for queries that are written for the live tables.

A query that begins with `tables(state)` reads the rows of that state under the names `concept` and
`proposition`: common table expressions of these names hide the tables. For the live state nothing
is put before the query. Look-ups by id, by name and by the ends of links use the indexes of both
halves.
"""

from __future__ import annotations

from typing import Final

from mycel.model.state import State

_CONCEPT: Final = "id, type, name, attributes, metadata, created_by, updated_at"
_PROPOSITION: Final = (
    "id, subject, predicate, object, weight, attributes, metadata, version, created_by, updated_at"
)


def tables(state: State) -> str:
    """The beginning of a query about a state; empty for the live one."""
    if state.is_live:
        return ""
    return (
        f"WITH concept AS NOT MATERIALIZED ({_rows('concept', _CONCEPT, state)}),"
        f" proposition AS NOT MATERIALIZED ({_rows('proposition', _PROPOSITION, state)}) "
    )


def _rows(table: str, columns: str, state: State) -> str:
    return (
        f"SELECT {columns}, seq FROM main.{table} WHERE seq <= {state.seq}"
        f" UNION ALL SELECT {columns}, from_seq FROM {table}_past WHERE from_seq <= {state.seq}"
        f" AND to_seq > {state.seq} AND tombstoned_at IS NULL"
    )
