"""The tables of a state: the live tables, or those of a moment of the past.

Live tables hold only live rows, so a pattern is a table. A past state is the live rows written by
then and the past rows in force then; SQLite moves the conditions of a join into both halves, so
the indexes still serve.

`StateTables` names the tables in a statement that is compiled. A query that is written for the live
tables reads another state if it begins with `tables(state)`.
"""

from __future__ import annotations

from typing import Self

from mycel.model.state import State
from mycel.sql import sqlite
from mycel.sql.dialect import Dialect
from mycel.syntax.nodes import node

_PROVENANCE = "attributes, metadata, version, {seq} AS seq, created_at, created_by, updated_at"
_CONCEPT = f"id, type, name, {_PROVENANCE}"
_LINK = f"id, subject, predicate, object, weight, {_PROVENANCE}"


def _past(table: str, columns: str, moment: str) -> str:
    return (
        f"(SELECT {columns.format(seq='seq')} FROM {table} WHERE seq <= {moment}"
        f" UNION ALL SELECT {columns.format(seq='from_seq')} FROM {table}_past"
        f" WHERE from_seq <= {moment}"
        f" AND to_seq > {moment} AND tombstoned_at IS NULL)"
    )


def tables(state: State, dialect: Dialect = sqlite) -> str:
    """The beginning of a query about a state; empty for the live one.

    Common table expressions with the names `concept` and `proposition` hide the live tables.
    """
    if state.is_live:
        return ""
    concept = _past(dialect.stored("concept"), _CONCEPT, str(state.seq))
    link = _past(dialect.stored("proposition"), _LINK, str(state.seq))
    return f"WITH concept AS {dialect.INLINE} {concept}, proposition AS {dialect.INLINE} {link} "


@node
class StateTables:
    """The two tables of a statement; `moment` is the bind parameter of a journal position."""

    moment: str | None = None
    dialect: Dialect = sqlite

    @classmethod
    def of(cls, state: State, dialect: Dialect = sqlite) -> Self:
        """The tables of a state that is known, with its position in the text."""
        return cls(None if state.is_live else str(state.seq), dialect)

    @property
    def is_past(self) -> bool:
        return self.moment is not None

    def link_halves(self) -> list[tuple[str, str]]:
        """The tables that hold links, as `q`, each with the condition under which a row counts.

        For where SQLite could not take the two halves of a past state apart by itself.
        """
        if self.moment is None:
            return [("proposition q", "")]
        then = f"q.from_seq <= {self.moment} AND q.to_seq > {self.moment}"
        return [
            ("proposition q", f" AND q.seq <= {self.moment}"),
            ("proposition_past q", f" AND {then} AND q.tombstoned_at IS NULL"),
        ]

    def concepts(self, alias: str) -> str:
        table = "concept" if self.moment is None else _past("concept", _CONCEPT, self.moment)
        return f"{table} {alias}"

    def links(self, alias: str) -> str:
        table = "proposition" if self.moment is None else _past("proposition", _LINK, self.moment)
        return f"{table} {alias}"
