"""A query as a backend sees it: blocks of atoms, conditions, and what becomes of the solutions.

A variable is a string. One that the command names keeps its name; one that stands for an unnamed
endpoint starts with `#`, cannot be projected, and does not count when solutions are compared.

A value is a `Known` constant or `Given` with the command. Both become bind parameters: nothing that
a caller sends is ever part of a statement's text.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, Final, Literal, NamedTuple

import orjson

from mycel.syntax.nodes import node

Variable = str


def is_named(variable: Variable) -> bool:
    """Whether the command names it, so that it is part of a solution."""
    return not variable.startswith("#")


# Values.

ValueKind = Literal[
    "number", "large", "text", "true", "false", "null", "json", "numbers", "texts", "values"
]
"""What a value is: a scalar, a JSON array or object, or (for IN) a list.

A number from 2^63 on is `large`: 64-bit integers without a sign go on there, which a backend may
not have. Such a value is its JSON text.
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
]
"""How a value given with the command becomes what is bound; all but `plain` check what it is."""


@node
class Known:
    """A constant of the command. A list, object or large number is its canonical JSON text."""

    value: Any
    kind: ValueKind


@node
class Given:
    """A value that comes with each execution. Its kind is fixed for the plan."""

    parameter: str
    kind: ValueKind
    conversion: Conversion = "plain"


Value = Known | Given


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
class Index:
    """A property by whose values the concepts of a type, or the links of a predicate, are found.

    Every live element that has the property has one entry in `slot`. `title` is for people.
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
    """What the values of an index's entries have to be."""

    operator: ProbeOperator
    value: Value


@node
class Probe:
    """Where to look for an element: among the entries of an index that are within all bounds.

    It is a way, not a condition: what is found there still has to pass the conditions it was made
    from. A backend that has no such index, or asks about the past, leaves it out.
    """

    index: Index
    bounds: tuple[Bound, ...]


# Patterns.


class ConceptEnds(NamedTuple):
    """Whether each end of a link is certainly a concept, and no other link."""

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


@node
class LinkAtom:
    """There is a live link between the two ends.

    `predicates` is None where a variable stands in its place. For those in `mirrored` the stored
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
class OneOf:
    """The operand equals one of the values."""

    operand: Operand
    values: Value


@node
class IsNull:
    operand: Operand


@node
class TextTest:
    function: Literal["CONTAINS", "STARTS_WITH", "ENDS_WITH", "REGEX"]
    operand: Operand
    argument: Operand


@node
class Earlier:
    """The first element has a smaller number than the second. Only rewrites say this."""

    first: Variable
    second: Variable


@node
class Never:
    """What cannot be true."""


@node
class Inverse:
    condition: Condition


@node
class All:
    conditions: tuple[Condition, ...]


@node
class AnyOf:
    conditions: tuple[Condition, ...]


@node
class Exists:
    """Some solution of one of the branches agrees with the solution at hand."""

    branches: tuple[Block, ...]


Condition = Compare | OneOf | IsNull | TextTest | Earlier | Never | Inverse | All | AnyOf | Exists

# Blocks.


@node
class Attempt:
    """An OPTIONAL: branches whose solutions extend the one at hand, if there are any."""

    branches: tuple[Block, ...]


@node
class Block:
    """Atoms joined, then attempts in order, then conditions.

    `binds` are the named variables it gives values to; `sees` those of the blocks around it that
    it may use. In an independent block (`independent`), a branch of UNION, it sees none, and is
    joined with what is around it over the variables that both bind.
    """

    atoms: tuple[Atom, ...]
    attempts: tuple[Attempt, ...] = ()
    conditions: tuple[Condition, ...] = ()
    binds: frozenset[Variable] = frozenset()
    sees: frozenset[Variable] = frozenset()
    independent: bool = False


# What is made of the solutions.


@node
class Total:
    """An aggregate over the solutions of a group."""

    function: Literal["COUNT", "SUM", "AVG", "MIN", "MAX"]
    argument: Field
    distinct: bool = False
    times: int = 1
    """For how many each solution counts. Only rewrites say more than one, and only of a COUNT."""


Output = Field | Total


@node
class SortKey:
    output: Output
    descending: bool = False


@node
class Query:
    """The branches' solutions, united; then grouped if there is a total, sorted, cut.

    `predicate_variables` are those bound to predicates rather than to elements.
    """

    branches: tuple[Block, ...]
    outputs: tuple[Output, ...]
    sort: tuple[SortKey, ...] = ()
    predicate_variables: frozenset[Variable] = frozenset()
    variables: tuple[Variable, ...] = ()
    """The named variables, in the order in which they first stand in the command."""
    gathers_early: bool = False
    """Whether to group by elements first, and only then by what they say."""
    cut: Literal["elements", "names"] | None = None
    """Whether a page needs only the first groups by element: where each element is a group of its
    own, or where those with the same name make one."""
    indexes: tuple[Index, ...] = ()
    """Those of the types and predicates that the query names."""

    @property
    def is_grouped(self) -> bool:
        return any(isinstance(output, Total) for output in self.outputs)
