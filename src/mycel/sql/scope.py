"""The expression of each variable at a place in a statement, and the bind values."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from typing import Final, Literal

from mycel.ir import query as ir
from mycel.syntax.nodes import node

CellKind = Literal["concept", "link", "element", "predicate"]


@node
class Cell:
    """The binding of a variable: an expression for its number.

    `row` is the alias of the table row, if the statement joins it; its columns then need no
    look-up.
    """

    number: str
    kind: CellKind = "element"
    row: str | None = None
    ground: str | None = None
    """The number as an expression without variables, if constants determine it."""
    is_present: bool = False
    """True if the variable is always bound, and so never null."""
    is_named: bool = False
    """True if a name determines the variable; few concepts share a name."""


Scope = dict[ir.Variable, Cell]


@dataclass(slots=True)
class Bindings:
    """The values of the statement's numbered parameters, in order."""

    values: list[ir.Value] = field(default_factory=list)
    _places: dict[tuple[ir.Value, type | None], int] = field(default_factory=dict)

    def add(self, value: ir.Value) -> str:
        """The placeholder of a value; equal values share a placeholder."""
        # 1, 1.0 and True are equal in Python, but are three values here.
        key = (value, type(value.value) if isinstance(value, ir.Constant) else None)
        if key not in self._places:
            self.values.append(value)
            self._places[key] = len(self.values)
        return f"?{self._places[key]}"

    def used_in(self, text: str) -> tuple[str, tuple[ir.Value, ...]]:
        """The text with its placeholders renumbered, and their values.

        A value may have been added and never used, because impossible conditions are left out.
        Commands that share a statement also share the text object, which then stays in the caches.
        """
        places = dict.fromkeys(int(digits) for digits in _PLACEHOLDER.findall(text))
        numbers = {old: new for new, old in enumerate(sorted(places), 1)}
        renumbered = _PLACEHOLDER.sub(lambda match: f"?{numbers[int(match[1])]}", text)
        return sys.intern(renumbered), tuple(self.values[old - 1] for old in numbers)


_PLACEHOLDER: Final = re.compile(r"\?([0-9]+)")


@dataclass(slots=True)
class Aliases:
    """A generator of aliases: each is used for one table only."""

    used: int = 0

    def fresh(self, stem: str) -> str:
        self.used += 1
        return f"{stem}{self.used}"
