"""A SELECT under construction."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from mycel.sql import conditions, negation, portable
from mycel.sql.dialect import Dialect
from mycel.sql.scope import Scope

_NOTHING: Final = "(SELECT 1) no_row"


@dataclass(slots=True)
class Select:
    """Joined tables, conditions, and the cell of each variable."""

    dialect: Dialect
    scope: Scope
    tables: list[str] = field(default_factory=list)
    outer: Scope = field(default_factory=dict)
    """The variables of the query around it; unchanged ones are not selected here."""
    where: list[str] = field(default_factory=list)
    halves: dict[str, str] = field(default_factory=dict)
    """Concept rows that were joined to read columns of a variable that might be a link."""
    fans: set[negation.Fan] = field(default_factory=set)
    """Fans whose links the block reads in any case, so that reading them twice costs little more.
    """
    folds: int = 0

    def join(self, table: str) -> None:
        self.tables.append(f"{portable.JOIN_IN_ORDER}{table}" if self.tables else f" FROM {table}")

    def left_join(self, table: str, on: str) -> None:
        if not self.tables:
            self.tables.append(f" FROM {_NOTHING}")
        self.tables.append(f" LEFT JOIN {table} ON {on}")

    def make_room(self, tables_max: int) -> None:
        """Fold the tables so far into one subquery, if SQLite would join too many at once.

        A limit that limits nothing keeps SQLite from merging the subquery again.
        """
        if len(self.tables) < tables_max:
            return
        self.folds += 1
        own = [name for name, cell in self.scope.items() if cell is not self.outer.get(name)]
        columns = ", ".join(f"{self.scope[name].number} AS v{at}" for at, name in enumerate(own))
        row = f"f{self.folds}"
        self.tables = [f" FROM ({self.text(columns or '1')}{self.dialect.APART}) {row}"]
        self.where.clear()
        self.halves.clear()
        for at, name in enumerate(own):
            cell = self.scope[name]
            self.scope[name] = replace(cell, number=f"{row}.v{at}", row=None)

    def text(self, columns: str, *, distinct: bool = False) -> str:
        where = f" WHERE {conditions.all_of(self.where)}" if self.where else ""
        return f"SELECT {'DISTINCT ' if distinct else ''}{columns}{''.join(self.tables)}{where}"
