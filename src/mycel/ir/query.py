"""A query for a backend: blocks of atoms, conditions, and the outputs of the solutions.

A variable is a string. A variable of the command keeps its name. A variable for an unnamed endpoint
starts with `#`, cannot be projected, and does not count when solutions are compared.

A value is a `Constant` of the command or a `Parameter` of each execution. Both become bind
parameters: nothing that a caller sends becomes text of a statement.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, Final, Literal, NamedTuple

import orjson

from mycel.model.aggregates import AggregateName
from mycel.syntax.nodes import node

Variable = str


def is_named(variable: Variable) -> bool:
    """True for a variable that the command names, and so part of a solution."""
    return not variable.startswith("#")


# Values.

ValueKind = Literal[
    "number", "large", "text", "true", "false", "null", "json", "numbers", "texts", "values"
]
"""The kind of a value: a scalar, a JSON array or object, or (for IN) a list.

A number from 2^63 on is `large`, and is passed as its JSON text, because a backend may have no
integers of that size.
"""

LARGE: Final = 1 << 63

Conversion = Literal[
    "plain",
    "text",
    "pattern",
    "moment",
    "moments",
    "concept_number",
    "link_number",
    "link_predicate",
    "json",
    "real",
    "microseconds",
]
"""The conversion of a parameter's value to the bound value; all but `plain` check it."""


@node
class Constant:
    """A constant of the command. A list, object or large number is its canonical JSON text."""

    value: Any
    kind: ValueKind


@node
class Parameter:
    """A value that comes with each execution. Its kind is fixed for the plan."""

    parameter: str
    kind: ValueKind
    conversion: Conversion = "plain"


Value = Constant | Parameter


def canonical(value: Any) -> str:
    """A JSON value as one text."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


@node
class Field:
    """A part of what a variable is bound to; an empty path is the element itself."""

    variable: Variable
    path: tuple[str, ...] = ()


Operand = Field | Value

# Indexes.


@node
class PropertyIndex:
    """An index of a type's concepts, or a predicate's links, by the values of a property.

    Every live element that has the property has one entry in `slot`. `title` names the property for
    people.
    """

    slot: int
    owner: int
    is_link: bool
    property: str
    is_unique: bool
    title: str


ProbeOperator = Literal["==", "<", ">", "<=", ">=", "in"]


@node
class Bound:
    """A bound on the values of the entries of an index."""

    operator: ProbeOperator
    value: Value


@node
class Probe:
    """A way to find an element: the entries of an index within all bounds.

    A probe is no condition: the elements still have to pass the conditions that it was made from. A
    backend without such an index, or a query of the past, ignores the probe.
    """

    index: PropertyIndex
    bounds: tuple[Bound, ...]


# Patterns.


class ConceptEnds(NamedTuple):
    """True for each end of a link that is certainly a concept."""

    subject: bool = False
    object: bool = False


UNKNOWN_ENDS: Final = ConceptEnds()


@node
class ConceptAtom:
    """The variable is a live concept, of this type, name or number where given."""

    variable: Variable
    type: int | None = None
    name: Value | None = None
    number: Value | None = None
    probe: Probe | None = field(default=None, repr=False)
    is_addressed: bool = field(default=False, repr=False)
    """True if the command names the concept, so it is found even if it is archived."""


@node
class LinkAtom:
    """A live link between the two ends.

    `predicates` is None if the predicate is a variable. For predicates in `mirrored` the stored
    link may also run the other way.
    """

    link: Variable
    subject: Variable
    object: Variable
    predicates: tuple[int, ...] | None
    predicate_variable: Variable | None = None
    mirrored: tuple[int, ...] = ()
    probe: Probe | None = field(default=None, repr=False)
    concepts: ConceptEnds = field(default=UNKNOWN_ENDS, repr=False)


@node
class LinkByNumber:
    """The variable is the live link with this number, provided it has this predicate."""

    link: Variable
    number: Value
    predicate: Value


@node
class WalkAtom:
    """Some walk along `predicate`, of a length from `minimum` to `maximum`, joins the two ends.

    `link`, if it is asked for, is the last link of a shortest such walk.
    """

    subject: Variable
    object: Variable
    predicate: int
    minimum: int
    maximum: int | None
    mirrored: bool = False
    link: Variable | None = None
    concepts: ConceptEnds = field(default=UNKNOWN_ENDS, repr=False)


Atom = ConceptAtom | LinkAtom | LinkByNumber | WalkAtom

# Conditions: each is true or false, never unknown.


@node
class Compare:
    operator: Literal["==", "!=", "<", ">", "<=", ">="]
    left: Operand
    right: Operand


@node
class In:
    """The operand equals one of the values."""

    operand: Operand
    values: Value


@node
class IsNull:
    operand: Operand


@node
class TextCondition:
    function: Literal["CONTAINS", "STARTS_WITH", "ENDS_WITH", "REGEX"]
    operand: Operand
    argument: Operand


@node
class Earlier:
    """The first element has a smaller number than the second. Only rewrites make this condition."""

    first: Variable
    second: Variable


@node
class Never:
    """A condition that is never true."""


@node
class Not:
    condition: Condition


@node
class And:
    conditions: tuple[Condition, ...]


@node
class Or:
    conditions: tuple[Condition, ...]


@node
class Exists:
    """Some solution of one of the arms agrees with the present solution."""

    arms: tuple[Block, ...]


Condition = Compare | In | IsNull | TextCondition | Earlier | Never | Not | And | Or | Exists

# Blocks.


@node
class Optional:
    """An OPTIONAL: if its arms have solutions that agree with the present one, these extend it."""

    arms: tuple[Block, ...]


@node
class Block:
    """Atoms joined, then optional blocks in order, then conditions.

    `binds`: the named variables that this block gives values to. `sees`: the variables of enclosing
    blocks that it may use. An arm of a UNION is `independent`: it sees none of them, and is joined
    with its surroundings over the variables that both bind.
    """

    atoms: tuple[Atom, ...]
    optionals: tuple[Optional, ...] = ()
    conditions: tuple[Condition, ...] = ()
    binds: frozenset[Variable] = frozenset()
    sees: frozenset[Variable] = frozenset()
    independent: bool = False


# The answer that is made from the solutions.


@node
class Aggregate:
    """An aggregate over the solutions of a group."""

    function: AggregateName
    argument: Field
    distinct: bool = False
    times: int = 1
    """The count of each solution; rewrites set more than one for a COUNT."""


Output = Field | Aggregate


@node
class SortKey:
    output: Output
    descending: bool = False


@node
class Query:
    """The solutions of all arms, united; then grouped if there is an aggregate, sorted and cut.

    `predicate_variables` are those bound to predicates rather than to elements.
    """

    arms: tuple[Block, ...]
    outputs: tuple[Output, ...]
    sort: tuple[SortKey, ...] = ()
    predicate_variables: frozenset[Variable] = frozenset()
    variables: tuple[Variable, ...] = ()
    """The named variables, in the order of the command."""
    gathers_early: bool = False
    """True to group by elements first, and then by their attributes."""
    cut: Literal["elements", "names"] | None = None
    """Set if a page needs only the first groups: by element, or by element and shared name."""
    hides: bool = False
    """True if patterns leave out archived elements."""
    valid_at: Value | None = None
    """A time in microseconds at which all elements that patterns find have to hold."""
    indexes: tuple[PropertyIndex, ...] = ()
    """The indexes of the types and predicates that the query names."""

    @property
    def is_grouped(self) -> bool:
        return any(isinstance(output, Aggregate) for output in self.outputs)
