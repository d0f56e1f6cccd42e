"""The tree of a KIP command, which the parser makes and every other stage reads.

Nodes are frozen. Their place in the text (`span`) does not count when they are compared, so
`parse(format(tree)) == tree`. A value without placeholders is one `Literal`, however deep it is.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any
from typing import Literal as OneOf

from mycel.syntax.nodes import node
from mycel.syntax.source import NOWHERE, Span


def _span() -> Any:
    return field(default=NOWHERE, compare=False, repr=False)


# Values.


@node
class Variable:
    """`?name`. In KML blocks it is called a handle."""

    name: str
    span: Span = _span()


@node
class Placeholder:
    """`:name`, a value that is given beside the command."""

    name: str
    span: Span = _span()


@node
class Literal:
    """A JSON value with no placeholder in it: a scalar, a list or a dict."""

    value: Any
    span: Span = _span()


@node
class ArrayTemplate:
    """An array with a placeholder somewhere in it."""

    items: tuple[Value, ...]
    span: Span = _span()


@node
class ObjectTemplate:
    """An object with a placeholder somewhere in it. Keys are distinct."""

    entries: tuple[tuple[str, Value], ...]
    span: Span = _span()


Value = Literal | Placeholder | ArrayTemplate | ObjectTemplate

Text = Literal | Placeholder
"""A string, or a placeholder for one."""

Number = Literal | Placeholder
"""A number, or a placeholder for one."""

Map = Literal | ObjectTemplate | Placeholder
"""An object, or a placeholder for one."""


@node
class Path:
    """`?v` (no fields) or a path such as `?v.attributes.dosage["per day"]`."""

    variable: Variable
    fields: tuple[str, ...] = ()
    span: Span = _span()


AggregateName = OneOf["COUNT", "SUM", "AVG", "MIN", "MAX"]


@node
class Aggregate:
    """`COUNT(?v)`, `SUM(DISTINCT ?v.attributes.x)` and so on."""

    function: AggregateName
    argument: Path
    distinct: bool = False
    span: Span = _span()


Expression = Path | Aggregate

# Patterns.


@node
class ConceptMatcher:
    """`{id: …}`, `{type: …}`, `{name: …}` or `{type: …, name: …}`; at least one is given."""

    type: Text | None = None
    name: Text | None = None
    id: Text | None = None
    span: Span = _span()


@node
class PredicateHops:
    """`"p"{m,n}`; `maximum` is None for `{m,}`."""

    name: Text
    minimum: int
    maximum: int | None
    span: Span = _span()


@node
class PredicateChoice:
    """`"a" | "b"`: two or more names."""

    names: tuple[Text, ...]
    span: Span = _span()


Predicate = Literal | Placeholder | PredicateHops | PredicateChoice | Variable
"""A plain predicate is its name: a `Literal` or `Placeholder`."""


@node
class LinkPattern:
    """`(subject, predicate, object)`."""

    subject: Endpoint
    predicate: Predicate
    object: Endpoint
    span: Span = _span()


@node
class LinkById:
    """`(id: "P:12:treats")`."""

    id: Text
    span: Span = _span()


Endpoint = Variable | ConceptMatcher | LinkPattern | LinkById


@node
class ConceptClause:
    """`?v {type: "Drug"}`."""

    variable: Variable
    matcher: ConceptMatcher
    span: Span = _span()


@node
class LinkClause:
    """`(?s, "p", ?o)`, `?link (?s, "p", ?o)` or `?link (id: "P:12:treats")`."""

    variable: Variable | None
    pattern: LinkPattern | LinkById
    span: Span = _span()


# Conditions.

ComparisonOperator = OneOf["==", "!=", "<", ">", "<=", ">="]
TextFunction = OneOf["CONTAINS", "STARTS_WITH", "ENDS_WITH", "REGEX"]
Operand = Path | Value


@node
class Comparison:
    """`left == right` and the like; either side may be a path or a value."""

    operator: ComparisonOperator
    left: Operand
    right: Operand
    span: Span = _span()


@node
class Membership:
    """`IN(operand, [v, …])`; `values` is a list, or a placeholder for one."""

    operand: Operand
    values: Value
    span: Span = _span()


@node
class NullTest:
    """`IS_NULL(operand)`, or with `negated` `IS_NOT_NULL(operand)`."""

    operand: Operand
    negated: bool = False
    span: Span = _span()


@node
class TextTest:
    """`CONTAINS(text, part)` and its kin."""

    function: TextFunction
    operand: Operand
    argument: Operand
    span: Span = _span()


@node
class Negation:
    """`!condition`."""

    condition: Condition
    span: Span = _span()


@node
class Conjunction:
    """`a && b && …`: two or more, never a conjunction directly inside."""

    conditions: tuple[Condition, ...]
    span: Span = _span()


@node
class Disjunction:
    """`a || b || …`: two or more, never a disjunction directly inside."""

    conditions: tuple[Condition, ...]
    span: Span = _span()


Condition = Comparison | Membership | NullTest | TextTest | Negation | Conjunction | Disjunction


# Clauses of WHERE. A block is a tuple of clauses, and not empty.


@node
class Filter:
    """`FILTER(condition)`."""

    condition: Condition
    span: Span = _span()


@node
class Not:
    """`NOT { … }`."""

    block: Block
    span: Span = _span()


@node
class Optional:
    """`OPTIONAL { … }`."""

    block: Block
    span: Span = _span()


@node
class Union:
    """`UNION { … }`."""

    block: Block
    span: Span = _span()


Clause = ConceptClause | LinkClause | Filter | Not | Optional | Union
Block = tuple[Clause, ...]


# KQL.


@node
class OrderKey:
    """One key of `ORDER BY`."""

    expression: Expression
    descending: bool = False
    span: Span = _span()


@node
class Find:
    """`FIND(…) [AS OF moment] WHERE { … } [ORDER BY …] [LIMIT n] [CURSOR c]`.

    `as_of` is our extension: an integer is a journal position, a string a time.
    """

    expressions: tuple[Expression, ...]
    where: Block
    order_by: tuple[OrderKey, ...] = ()
    limit: Number | None = None
    cursor: Text | None = None
    as_of: Literal | Placeholder | None = None
    span: Span = _span()


# KML.


@node
class SetProposition:
    """One entry of `SET PROPOSITIONS`: `("p", target) [WITH METADATA { … }]`."""

    predicate: Text
    target: Endpoint
    metadata: Map | None = None
    span: Span = _span()


@node
class ConceptBlock:
    """`CONCEPT ?h { matcher [EXPECT VERSION n] [SET ATTRIBUTES …] [SET PROPOSITIONS …] } …`.

    The matcher has a type and a name, or an id.
    """

    handle: Variable | None
    matcher: ConceptMatcher
    expect_version: Number | None = None
    attributes: Map | None = None
    propositions: tuple[SetProposition, ...] | None = None
    metadata: Map | None = None
    span: Span = _span()


@node
class PropositionBlock:
    """`PROPOSITION ?h { (s, "p", o) | (id: …) [EXPECT VERSION n] [SET ATTRIBUTES …] } …`."""

    handle: Variable | None
    target: LinkPattern | LinkById
    expect_version: Number | None = None
    attributes: Map | None = None
    metadata: Map | None = None
    span: Span = _span()


@node
class Upsert:
    """One `UPSERT { … } [WITH METADATA { … }]`. Handles live within it."""

    blocks: tuple[ConceptBlock | PropositionBlock, ...]
    metadata: Map | None = None
    span: Span = _span()


@node
class Capsule:
    """One or more `UPSERT` statements that run in order, as one transaction."""

    upserts: tuple[Upsert, ...]
    span: Span = _span()


@node
class DeleteKeys:
    """`DELETE ATTRIBUTES|METADATA { "key", … } FROM ?target WHERE { … }`."""

    part: OneOf["ATTRIBUTES", "METADATA"]
    keys: tuple[Text, ...]
    target: Variable
    where: Block
    span: Span = _span()


@node
class DeletePropositions:
    """`DELETE PROPOSITIONS ?link WHERE { … }`."""

    target: Variable
    where: Block
    span: Span = _span()


@node
class DeleteConcept:
    """`DELETE CONCEPT ?node DETACH WHERE { … }`."""

    target: Variable
    where: Block
    span: Span = _span()


ArithmeticName = OneOf["ADD", "MUL", "CLAMP", "COALESCE"]


@node
class Arithmetic:
    """`ADD(a, b)`, `MUL(a, b)`, `CLAMP(x, low, high)`, `COALESCE(x, otherwise)`; they nest."""

    function: ArithmeticName
    arguments: tuple[Arithmetic | Path | Number, ...]
    span: Span = _span()


Change = Value | Arithmetic
"""A new value of a key: a JSON value, or one computed from the element."""


@node
class Update:
    """`UPDATE ?t SET ATTRIBUTES { … } SET METADATA { … } WHERE { … } [LIMIT n]`.

    A placeholder may be a whole map. At least one of the two is given.
    """

    target: Variable
    where: Block
    attributes: tuple[tuple[str, Change], ...] | Placeholder | None = None
    metadata: tuple[tuple[str, Change], ...] | Placeholder | None = None
    limit: Number | None = None
    span: Span = _span()


@node
class Merge:
    """`MERGE CONCEPT ?source INTO ?target WHERE { … }`."""

    source: Variable
    target: Variable
    where: Block
    span: Span = _span()


# META.


@node
class DescribePrimer:
    """`DESCRIBE PRIMER`."""

    span: Span = _span()


@node
class DescribeDomains:
    """`DESCRIBE DOMAINS`."""

    span: Span = _span()


ElementKind = OneOf["CONCEPT", "PROPOSITION"]


@node
class DescribeTypes:
    """`DESCRIBE CONCEPT|PROPOSITION TYPES [LIMIT n] [CURSOR c]`."""

    kind: ElementKind
    limit: Number | None = None
    cursor: Text | None = None
    span: Span = _span()


@node
class DescribeType:
    """`DESCRIBE CONCEPT|PROPOSITION TYPE "name"`."""

    kind: ElementKind
    name: Text
    span: Span = _span()


@node
class DescribeChanges:
    """`DESCRIBE CHANGES FROM moment [TO moment] [UNDER "path"]`, which is our extension.

    A moment is what it is after AS OF; without TO, the changes up to the present are meant.
    """

    since: Literal | Placeholder
    until: Literal | Placeholder | None = None
    under: Text | None = None
    span: Span = _span()


Describe = DescribePrimer | DescribeDomains | DescribeTypes | DescribeType | DescribeChanges


@node
class Search:
    """`SEARCH CONCEPT|PROPOSITION "term" [WITH TYPE "t"] [MODE "m"] [THRESHOLD x] [LIMIT n]`.

    The filters `UNDER`, `WORKSPACE`, `ACTOR`, `SINCE`, `UNTIL` and `METADATA`, and `NEAR` and
    `AS OF`, are our extension.
    """

    kind: ElementKind
    term: Text
    type: Text | None = None
    mode: Text | None = None
    threshold: Number | None = None
    limit: Number | None = None
    path: Text | None = None
    workspace: Text | None = None
    actor: Text | None = None
    since: Text | None = None
    until: Text | None = None
    metadata: Map | None = None
    near: Text | None = None
    as_of: Literal | Placeholder | None = None
    span: Span = _span()


@node
class Nearest:
    """`NEAREST CONCEPT TO vector WITH TYPE "t" BY "property" [THRESHOLD x] …`, our extension.

    The filters are those of SEARCH.
    """

    to: Value
    type: Text
    by: Text
    threshold: Number | None = None
    limit: Number | None = None
    path: Text | None = None
    workspace: Text | None = None
    actor: Text | None = None
    since: Text | None = None
    until: Text | None = None
    metadata: Map | None = None
    span: Span = _span()


@node
class Export:
    """`EXPORT ?t WHERE { … } [WITH DEFINITIONS] [LIMIT n] [CURSOR c]`."""

    target: Variable
    where: Block
    limit: Number | None = None
    cursor: Text | None = None
    definitions: bool = False
    """WITH DEFINITIONS, our extension: the types and predicates that are used come first."""
    span: Span = _span()


@node
class Traverse:
    """`TRAVERSE FROM start [ALONG "p" | "q"] [DIRECTION "d"] [MAX_COST x] …`, our extension.

    The start is a concept by type and name or by id, or a link by its id.
    """

    start: ConceptMatcher | LinkById
    along: tuple[Text, ...] = ()
    direction: Text | None = None
    max_cost: Number | None = None
    max_tokens: Number | None = None
    limit: Number | None = None
    as_of: Literal | Placeholder | None = None
    span: Span = _span()


# Commands.

Query = Find
Manipulation = Capsule | DeleteKeys | DeletePropositions | DeleteConcept | Update | Merge
Introspection = Describe | Search | Nearest | Export | Traverse


@node
class Explain:
    """`EXPLAIN [ANALYZE] command`, our extension. Without ANALYZE nothing runs."""

    command: Query | Manipulation | Introspection
    analyze: bool = False
    span: Span = _span()


Command = Query | Manipulation | Introspection | Explain
