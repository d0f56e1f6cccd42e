"""The rows of a block: patterns joined, options tried, rows dropped, unions added.

    1. the concept and link clauses are joined;
    2. each OPTIONAL, in written order, extends the rows it can and leaves the others with nulls;
    3. each NOT and FILTER drops rows;
    4. each UNION adds the rows of its own block, which sees nothing of this one.

A block inside NOT or OPTIONAL starts from a row of the block around it, every other from nothing.
"""

from __future__ import annotations

from collections.abc import Set

from mycel.kip import ast
from tests.reference.conditions import Conditions
from tests.reference.graph import Graph
from tests.reference.parameters import Parameters
from tests.reference.patterns import Patterns, Row, distinct_rows, join
from tests.reference.scopes import bound_by


class Blocks:
    """Solves WHERE blocks over one graph."""

    def __init__(
        self, graph: Graph, parameters: Parameters, without: Set[int] = frozenset()
    ) -> None:
        self.patterns = Patterns(graph, parameters, without)
        self.conditions = Conditions(graph, parameters)
        self._rows: dict[int, list[Row]] = {}
        """The rows of a clause, by its place in memory: they are the same whatever is around it."""

    def solutions(self, where: ast.Block) -> list[Row]:
        """The solutions of a whole WHERE, each once, all with the same variables."""
        return distinct_rows(_padded(row, where) for row in self.solve(where, {}))

    def solve(self, block: ast.Block, start: Row) -> list[Row]:
        """Every row of the block that goes with `start`."""
        unions = [clause for clause in block if isinstance(clause, ast.Union)]
        rows = [] if len(unions) == len(block) else self._main(block, start)
        for union in unions:
            rows += _joined([start], self.solve(union.block, {}))
        return distinct_rows(rows)

    def _main(self, block: ast.Block, start: Row) -> list[Row]:
        rows = [start]
        for clause in block:
            if isinstance(clause, ast.ConceptClause | ast.LinkClause):
                rows = _joined(rows, self._clause_rows(clause))
        for clause in block:
            if isinstance(clause, ast.Optional):
                rows = [more for row in rows for more in self._extended(row, clause.block)]
        for clause in block:
            if isinstance(clause, ast.Not):
                rows = [row for row in rows if not self.solve(clause.block, row)]
            elif isinstance(clause, ast.Filter):
                rows = [row for row in rows if self.conditions.holds(clause.condition, row)]
        return rows

    def _extended(self, row: Row, optional: ast.Block) -> list[Row]:
        found = self.solve(optional, row) or [row]
        return distinct_rows(_padded(each, optional) for each in found)

    def _clause_rows(self, clause: ast.ConceptClause | ast.LinkClause) -> list[Row]:
        if id(clause) not in self._rows:
            self._rows[id(clause)] = self.patterns.rows(clause)
        return self._rows[id(clause)]


def _joined(rows: list[Row], others: list[Row]) -> list[Row]:
    pairs = (join(row, other) for row in rows for other in others)
    return [row for row in pairs if row is not None]


def _padded(row: Row, block: ast.Block) -> Row:
    """The row, with null for variables that the block did not bind."""
    return dict.fromkeys(bound_by(block)) | row
