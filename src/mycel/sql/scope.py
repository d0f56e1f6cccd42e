"""What each variable is at a place in a statement, and the values that are bound to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from mycel.ir import query as ir

CellKind = Literal["concept", "link", "element", "predicate"]


@dataclass(frozen=True, slots=True)
class Cell:
    """What a variable is bound to: an expression for its number.

    `row` is the alias of the table row, if the statement has it at hand; then its columns need no
    look-up.
    """

    number: str
    kind: CellKind = "element"
    row: str | None = None
    ground: str | None = None
    """The number as an expression that depends on nothing else, if constants determine it."""


Scope = dict[ir.Variable, Cell]


@dataclass(slots=True)
class Bindings:
    """The values of the statement's numbered parameters, in order."""

    values: list[ir.Value] = field(default_factory=list)

    def add(self, value: ir.Value) -> str:
        """The placeholder of a value; the same value gets the same one."""
        for place, each in enumerate(self.values, 1):
            if each == value and type(each) is type(value) and _same_type(each, value):
                return f"?{place}"
        self.values.append(value)
        return f"?{len(self.values)}"


def _same_type(one: ir.Value, other: ir.Value) -> bool:
    """1, 1.0 and True are equal in Python, and not here."""
    if isinstance(one, ir.Known) and isinstance(other, ir.Known):
        return type(one.value) is type(other.value)
    return True


@dataclass(slots=True)
class Names:
    """Aliases that are used once."""

    used: int = 0

    def fresh(self, stem: str) -> str:
        self.used += 1
        return f"{stem}{self.used}"
