"""A cache of commands: their trees, and a plan for each shape of the parameters of each.

A plan holds the numbers of types and predicates. It remembers the count of changes of definitions,
and is made again when definitions have changed. Values of parameters are not part of a plan, except
those that shape it: names of types and predicates, and the kind of value that a filter compares
with.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from threading import Lock
from typing import Any, Final

from mycel.engine.values import Values, json_kind
from mycel.errors import InvalidValueType, MycelError
from mycel.ir import query as ir
from mycel.kip import ast
from mycel.kip.fragments import placeholders
from mycel.model import ids, times
from mycel.model.names import is_identifier, shorten
from mycel.model.state import LIVE, State
from mycel.plan.bind import Role, list_kind, value_kind
from mycel.plan.time_literals import as_moment
from mycel.sql import sqlite
from mycel.sql.compiler import Statement, compile_query
from mycel.sql.dialect import Dialect
from mycel.sql.walks import RUN
from mycel.store.query.reader import Reader
from mycel.syntax.diagnostics import located
from mycel.syntax.regex import matcher

COMMANDS_CACHED_MAX: Final = 512
PLANS_PER_COMMAND_MAX: Final = 16

_KEEPING: Final = Lock()
"""A lock that is held to add and to remove plans; look-ups need none."""

Shape = tuple[Any, ...]


@dataclass(slots=True)
class FindPlan:
    """A planned FIND; its statements are compiled when they are first needed."""

    query: ir.Query
    columns: tuple[str, ...]
    definitions: int
    warnings: tuple[str, ...]
    live: Statement
    binder: Binder
    outgrown_at: int
    """The journal position at which the graph has grown so much that the command is planned
    again."""
    is_scalar: bool = False
    """True if all columns are aggregates, and the result is one row."""
    attribute_columns: tuple[int, ...] = ()
    """The places of the columns that show attributes or metadata, or a part of these."""
    is_exact: bool = False
    """True if sums may go beyond 64 bits."""
    dialect: Dialect = sqlite
    """The dialect of its statements."""
    others: dict[tuple[bool, tuple[str, ...]], tuple[Statement, Binder]] = field(
        default_factory=dict
    )

    def fits(self, reader: Reader) -> bool:
        """True if definitions have not changed and the graph has not outgrown the plan."""
        return self.definitions == reader.definitions and reader.newest < self.outgrown_at

    def variant(
        self, *, limited: bool, past: bool, ties: tuple[str, ...]
    ) -> tuple[Statement, Binder]:
        """The statement for a past state, or for a page with another order of ties."""
        key = (past, ties)
        other = self.others.get(key)
        if other is None:
            statement = compile_query(
                self.query,
                limited=limited,
                past=past,
                ties=ties,
                exact=self.is_exact,
                dialect=self.dialect,
            )
            other = self.others[key] = (statement, Binder(statement.bindings))
        return other


class Binder:
    """Makes the values of one execution from constants, parameters and values of the engine."""

    __slots__ = ("_constant", "_fixed", "_given", "_own")

    def __init__(self, values: Sequence[ir.Value]) -> None:
        self._constant: Final = [
            value.value if isinstance(value, ir.Constant) else None for value in values
        ]
        parameters = [
            (at, value) for at, value in enumerate(values) if isinstance(value, ir.Parameter)
        ]
        self._own: Final = [
            (at, value.parameter) for at, value in parameters if value.parameter[0] == "#"
        ]
        self._given: Final = [
            (at, value.parameter, value.conversion)
            for at, value in parameters
            if value.parameter[0] != "#"
        ]
        self._fixed: Final = None if parameters else tuple(self._constant)

    def bind(self, values: Values, own: Mapping[str, int]) -> tuple[Any, ...]:
        """The values to bind, in order. `own` has values of the engine, under names with `#`."""
        if self._fixed is not None:
            return self._fixed
        bound = self._constant.copy()
        for at, name in self._own:
            bound[at] = next(_RUNS) if name == RUN.parameter else own[name]
        for at, name, conversion in self._given:
            value = values.parameters.get(name)
            if value.__class__ is str and value.isascii() and conversion in _AS_THEY_ARE:
                bound[at] = value
            else:
                node = ast.Placeholder(name)
                try:
                    bound[at] = _converted(node, values.value(node), conversion)
                except MycelError as error:
                    error.data.setdefault("parameter", name)
                    raise
        return tuple(bound)


_QUOTED: Final = re.compile(r'"[^"\\]*+(?>(?:\\.[^"\\]*+)*)"?')
_IN_STRING: Final = re.compile(r":([A-Za-z_][A-Za-z0-9_]*+)")
_WARNINGS_MAX: Final = 8

_RUNS: Final = count(1)
"""A counter that gives each run of a statement its number."""

_AS_THEY_ARE: Final = ("text", "plain")
"""The conversions that leave a text unchanged."""


def _converted(node: ast.Placeholder, value: Any, conversion: ir.Conversion) -> Any:
    if conversion == "plain":
        return value
    if conversion == "json":
        return ir.canonical(value)
    if conversion == "moments":
        return ir.canonical([as_moment(text) for text in value])
    if conversion == "real":
        return float(value)
    if value.__class__ is not str:
        raise InvalidValueType(
            f"The parameter :{node.name} must be a string, not {json_kind(value)}.",
            hint="A name or an id is expected here.",
        )
    match conversion:
        case "pattern":
            matcher(value)
            return value
        case "moment":
            return as_moment(value)
        case "microseconds":
            return times.from_text(value)
        case "concept_number":
            return ids.parse_concept_id(value)
        case "link_number":
            return ids.parse_link_id(value)
        case "link_predicate":
            ids.parse_link_id(value)
            return value.split(":", 2)[2]
        case _:
            return value


def at_parameter(error: MycelError, command: ast.Command) -> MycelError:
    """Add the place of the parameter to an error about it, unless the error has a place.

    A plan has only the names of parameters; the command has their places.
    """
    if "parameter" not in error.data:
        return error
    matches = (
        placeholder
        for placeholder in placeholders(command)
        if placeholder.name == error.data["parameter"]
    )
    return (
        error if (placeholder := next(matches, None)) is None else located(error, placeholder.span)
    )


@dataclass(slots=True)
class Prepared:
    """One command text: its tree, and the plans made for it so far."""

    text: str
    command: ast.Command
    roles: frozenset[tuple[str, Role]] | None = None
    plans: dict[Shape, FindPlan] = field(default_factory=dict)
    is_exact: bool = False
    """True once a sum has overflowed. Plans then use sums beyond 64 bits, which are slower."""

    _shaping: tuple[frozenset[tuple[str, Role]], list[tuple[ast.Placeholder, str, Role]]] | None = (
        None
    )
    """A cache for `shape`: the last roles, and the parameters with these roles, in order."""
    bare: tuple[str, tuple[ast.Placeholder, ...]] | None = None
    """The text of the command without LIMIT and CURSOR, and the placeholders in it. A cursor is
    valid for these."""

    _names: frozenset[str] | None = None
    """The names of all placeholders of the command."""

    def quoted(self, parameters: Mapping[str, Any]) -> tuple[str, ...]:
        """Warnings about parameters whose placeholders are only inside strings."""
        if self._names is None:
            self._names = frozenset(placeholder.name for placeholder in placeholders(self.command))
        return quoted_parameters(self.text, self._names, parameters)

    def make_exact(self) -> None:
        """Make all further plans with sums that cannot overflow."""
        with _KEEPING:
            self.is_exact = True
            self.plans.clear()

    def shape(self, values: Values, state: State = LIVE) -> Shape:
        """The key of a plan: the state if it is past, and the parameters that shape the plan."""
        if not self.roles:
            return () if state.is_live else (state,)
        cached = self._shaping
        if cached is None or cached[0] is not self.roles:
            nodes = [(ast.Placeholder(name), name, role) for name, role in sorted(self.roles)]
            cached = self._shaping = self.roles, nodes
        shaping = tuple(
            [(name, role, _shaping(values.value(node), role)) for node, name, role in cached[1]]
        )
        return shaping if state.is_live else (state, *shaping)

    def forget(self, plan: FindPlan) -> None:
        """Forget a plan that was too slow."""
        with _KEEPING:
            for shape in [shape for shape, other in self.plans.items() if other is plan]:
                del self.plans[shape]

    def keep(self, shape: Shape, plan: FindPlan) -> None:
        """Remember a plan, unless another thread has switched to exact sums meanwhile."""
        with _KEEPING:
            while len(self.plans) >= PLANS_PER_COMMAND_MAX:
                del self.plans[next(iter(self.plans))]
            if plan.is_exact == self.is_exact:
                self.plans[shape] = plan


def _shaping(value: Any, role: Role) -> str:
    if role == "list" and isinstance(value, list):
        kind = list_kind(value)
        if kind != "values":
            return kind
    elif role == "kind":
        kind = value_kind(value)
        if kind in ("text", "number", "large"):
            return kind
    return ir.canonical(value)  # The plan depends on the value itself.


def quoted_parameters(
    text: str, names: Collection[str], parameters: Mapping[str, Any]
) -> tuple[str, ...]:
    """Warnings about parameters whose `:name` occurs only inside strings of the command."""
    unused = [name for name in parameters if name not in names and is_identifier(str(name))]
    if not unused:
        return ()
    strings = {name for quoted in _QUOTED.findall(text) for name in _IN_STRING.findall(quoted)}
    return tuple(
        f"The parameter :{shorten(name)} is not used: inside quotes :{shorten(name)} is only text."
        f" Write the placeholder without quotes, or pass the whole text as a parameter."
        for name in unused[:_WARNINGS_MAX]
        if name in strings
    )


class Commands:
    """The most recently added parsed commands."""

    def __init__(self) -> None:
        self.known: Final[dict[str, Prepared]] = {}

    def keep(self, prepared: Prepared) -> None:
        """Remember a command; the oldest command is dropped first."""
        with _KEEPING:
            while len(self.known) >= COMMANDS_CACHED_MAX:
                del self.known[next(iter(self.known))]
            self.known[prepared.text] = prepared
