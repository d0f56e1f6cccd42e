"""The tables of a state: the live tables, or those of a moment of the past.

Live tables hold only live rows, so a pattern reads a table. A past state is a union of the live
rows written by then and the past rows in force then; SQLite moves the conditions of a join into
both halves, so the indexes are still used.

`StateTables` names the tables in a statement that is compiled. A query that is written for the live
tables reads another state if it begins with `tables(state)`.
"""

from __future__ import annotations

from typing import Self

from mycel.model.limits import INTEGER_MAX
from mycel.model.state import State
from mycel.sql import portable, sqlite
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
    return f"WITH concept AS {portable.INLINE} {concept}, proposition AS {portable.INLINE} {link} "


@node
class StateTables:
    """The two tables of a statement; `moment` is the bind parameter of a journal position."""

    moment: str | None = None
    dialect: Dialect = sqlite
    hides: bool = False
    """True if patterns leave out archived elements."""
    valid_at: str | None = None
    """The bind parameter of a time at which found elements have to hold."""

    @classmethod
    def of(cls, state: State, dialect: Dialect = sqlite) -> Self:
        """The tables of a state whose position is written into the statement."""
        return cls(None if state.is_live else str(state.seq), dialect)

    @property
    def is_past(self) -> bool:
        return self.moment is not None

    @property
    def is_filtered(self) -> bool:
        """True if patterns skip some rows of the tables."""
        return self.hides or self.valid_at is not None

    def link_halves(self) -> list[tuple[str, str]]:
        """The tables that hold links, as `q`, each with the condition under which a row counts.

        For queries in which SQLite would not split the two halves of a past state by itself.
        """
        tests = "".join(f" AND {test}" for test in self.link_tests("q"))
        if self.moment is None:
            return [("proposition q", tests)]
        then = f"q.from_seq <= {self.moment} AND q.to_seq > {self.moment}"
        return [
            ("proposition q", f" AND q.seq <= {self.moment}{tests}"),
            ("proposition_past q", f" AND {then} AND q.tombstoned_at IS NULL{tests}"),
        ]

    def concepts(self, alias: str) -> str:
        table = "concept" if self.moment is None else _past("concept", _CONCEPT, self.moment)
        return f"{table} {alias}"

    def links(self, alias: str) -> str:
        table = "proposition" if self.moment is None else _past("proposition", _LINK, self.moment)
        return f"{table} {alias}"

    def concept_tests(self, row: str) -> list[str]:
        """The conditions under which a pattern that does not name its concept finds a row."""
        return self.shown_tests(f"{row}.id")

    def link_tests(self, row: str) -> list[str]:
        """The conditions under which a pattern finds the row of a link."""
        return self.shown_tests(f"{row}.id", f"{row}.subject", f"{row}.object")

    def shown_tests(self, number: str, *ends: str) -> list[str]:
        """The conditions under which patterns find an element, or a link with these ends."""
        tests = []
        then = self._in_force("stored")
        if self.hides:
            row = f"stored.element = {number} AND {then}"
            tests.append(f"NOT EXISTS (SELECT 1 FROM hidden stored WHERE {row})")
        if self.valid_at is not None:
            time = f"(stored.valid_from > {self.valid_at} OR stored.valid_until <= {self.valid_at})"
            # The former periods are looked at only if the present one says that it does not hold.
            former = (
                "NOT EXISTS (SELECT 1 FROM former_period former"
                f" WHERE former.element = stored.element AND {self._in_force('former')}"
                f" AND former.valid_from <= {self.valid_at}"
                f" AND former.valid_until > {self.valid_at})"
            )
            tests += [
                "NOT EXISTS (SELECT 1 FROM lifetime stored"
                f" WHERE stored.element = {element} AND {then} AND {time} AND {former})"
                for element in (number, *ends)
            ]
        return tests

    def _in_force(self, row: str) -> str:
        if self.moment is None:
            return f"{row}.to_seq = {INTEGER_MAX}"
        return f"{row}.from_seq <= {self.moment} AND {row}.to_seq > {self.moment}"
