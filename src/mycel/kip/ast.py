"""The tree of a KIP command, which the parser makes and every other stage reads.

Nodes are frozen. A comparison of nodes ignores their place in the text (`span`), so
`parse(format(tree)) == tree`. A value without placeholders is one `Literal`, however deep it is.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any
from typing import Literal as OneOf

from mycel.model.aggregates import AggregateName
from mycel.model.evidence import Stance
from mycel.syntax.nodes import LazyNodes, SyntaxNode, node

ElementKind = OneOf["CONCEPT", "PROPOSITION"]

# Values.


@node
class Variable(SyntaxNode):
    """`?name`. In KML blocks it is called a handle."""

    name: str


@node
class Placeholder(SyntaxNode):
    """`:name`, a value that is passed beside the command."""

    name: str


@node
class Literal(SyntaxNode):
    """A JSON value with no placeholder in it: a scalar, a list or a dict."""

    value: Any


@node
class ArrayTemplate(SyntaxNode):
    """An array with a placeholder somewhere in it."""

    items: tuple[Value, ...]


@node
class ObjectTemplate(SyntaxNode):
    """An object with a placeholder somewhere in it. Keys are distinct."""

    entries: tuple[tuple[str, Value], ...]


Value = Literal | Placeholder | ArrayTemplate | ObjectTemplate

Text = Literal | Placeholder
"""A string, or a placeholder for one."""

Number = Literal | Placeholder
"""A number, or a placeholder for one."""

Map = Literal | ObjectTemplate | Placeholder
"""An object, or a placeholder for one."""


@node
class Path(SyntaxNode):
    """`?v` (no fields) or a path such as `?v.attributes.dosage["per day"]`."""

    variable: Variable
    fields: tuple[str, ...] = ()


@node
class Aggregate(SyntaxNode):
    """`COUNT(?v)`, `SUM(DISTINCT ?v.attributes.x)` and so on."""

    function: AggregateName
    argument: Path
    distinct: bool = False


Expression = Path | Aggregate

# Patterns.


@node
class ConceptMatcher(SyntaxNode):
    """`{id: …}`, `{type: …}`, `{name: …}` or `{type: …, name: …}`; at least one is given."""

    type: Text | None = None
    name: Text | None = None
    id: Text | None = None


@node
class PredicateHops(SyntaxNode):
    """`"p"{m,n}`; `maximum` is None for `{m,}`."""

    name: Text
    minimum: int
    maximum: int | None


@node
class PredicateChoice(SyntaxNode):
    """`"a" | "b"`: two or more names."""

    names: tuple[Text, ...]


Predicate = Literal | Placeholder | PredicateHops | PredicateChoice | Variable
"""A plain predicate is its name: a `Literal` or `Placeholder`."""


@node
class LinkPattern(SyntaxNode):
    """`(subject, predicate, object)`."""

    subject: Endpoint
    predicate: Predicate
    object: Endpoint


@node
class LinkById(SyntaxNode):
    """`(id: "P:12:treats")`."""

    id: Text


Endpoint = Variable | ConceptMatcher | LinkPattern | LinkById


@node
class ConceptClause(SyntaxNode):
    """`?v {type: "Drug"}`."""

    variable: Variable
    matcher: ConceptMatcher


@node
class LinkClause(SyntaxNode):
    """`(?s, "p", ?o)`, `?link (?s, "p", ?o)` or `?link (id: "P:12:treats")`."""

    variable: Variable | None
    pattern: LinkPattern | LinkById


# Conditions.

ComparisonOperator = OneOf["==", "!=", "<", ">", "<=", ">="]
TextFunction = OneOf["CONTAINS", "STARTS_WITH", "ENDS_WITH", "REGEX"]
Operand = Path | Value


@node
class Comparison(SyntaxNode):
    """`left == right` and the like; either side may be a path or a value."""

    operator: ComparisonOperator
    left: Operand
    right: Operand


@node
class Membership(SyntaxNode):
    """`IN(operand, [v, …])`; `values` is a list, or a placeholder for one."""

    operand: Operand
    values: Value


@node
class NullTest(SyntaxNode):
    """`IS_NULL(operand)`, or with `negated` `IS_NOT_NULL(operand)`."""

    operand: Operand
    negated: bool = False


@node
class TextTest(SyntaxNode):
    """`CONTAINS(text, part)`, `STARTS_WITH`, `ENDS_WITH` or `REGEX`."""

    function: TextFunction
    operand: Operand
    argument: Operand


@node
class Negation(SyntaxNode):
    """`!condition`."""

    condition: Condition


@node
class Conjunction(SyntaxNode):
    """`a && b && …`: two or more, never a conjunction directly inside."""

    conditions: tuple[Condition, ...]


@node
class Disjunction(SyntaxNode):
    """`a || b || …`: two or more, never a disjunction directly inside."""

    conditions: tuple[Condition, ...]


Condition = Comparison | Membership | NullTest | TextTest | Negation | Conjunction | Disjunction


# Clauses of WHERE. A block is a tuple of clauses, and not empty.


@node
class Filter(SyntaxNode):
    """`FILTER(condition)`."""

    condition: Condition


@node
class Not(SyntaxNode):
    """`NOT { … }`."""

    block: Block


@node
class Optional(SyntaxNode):
    """`OPTIONAL { … }`."""

    block: Block


@node
class Union(SyntaxNode):
    """`UNION { … }`."""

    block: Block


Clause = ConceptClause | LinkClause | Filter | Not | Optional | Union
Block = tuple[Clause, ...]


# KQL.


@node
class OrderKey(SyntaxNode):
    """One key of `ORDER BY`."""

    expression: Expression
    descending: bool = False


@node
class Find(SyntaxNode):
    """`FIND(…) [AS OF m] [FOR TIME t] [INCLUDE ARCHIVED] WHERE { … } [ORDER BY …] [LIMIT n] …`.

    The clauses between FIND(…) and WHERE are our extension. A moment is a journal position if it is
    an integer, and a time, a commit or a tag if it is a string. FOR TIME leaves out elements that
    do not hold at a time.
    """

    expressions: tuple[Expression, ...]
    where: Block
    order_by: tuple[OrderKey, ...] = ()
    limit: Number | None = None
    cursor: Text | None = None
    as_of: Literal | Placeholder | None = None
    for_time: Text | None = None
    include_archived: bool = False


# KML.


@node
class SetProposition(SyntaxNode):
    """One entry of `SET PROPOSITIONS`: `("p", target) [SET WEIGHT w] [WITH METADATA { … }]`.

    `SET WEIGHT` is our extension, here and below.
    """

    predicate: Text
    target: Endpoint
    metadata: Map | None = None
    weight: Number | None = None


@node
class ConceptBlock(SyntaxNode):
    """`CONCEPT ?h { matcher [EXPECT VERSION n] [SET ATTRIBUTES …] [SET PROPOSITIONS …] } …`.

    The matcher has a type and a name, or an id.
    """

    handle: Variable | None
    matcher: ConceptMatcher
    expect_version: Number | None = None
    attributes: Map | None = None
    propositions: tuple[SetProposition, ...] | None = None
    metadata: Map | None = None


@node
class PropositionBlock(SyntaxNode):
    """`PROPOSITION ?h { (s, "p", o) | (id: …) [EXPECT VERSION n] [SET ATTRIBUTES …] … } …`."""

    handle: Variable | None
    target: LinkPattern | LinkById
    expect_version: Number | None = None
    attributes: Map | None = None
    metadata: Map | None = None
    weight: Number | None = None


UpsertBlock = ConceptBlock | PropositionBlock


@node
class Upsert(SyntaxNode):
    """One `UPSERT { … } [WITH METADATA { … }]`. Handles live within it."""

    blocks: tuple[UpsertBlock, ...] | LazyNodes[UpsertBlock]
    metadata: Map | None = None


@node
class Capsule(SyntaxNode):
    """One or more `UPSERT` statements that run in order, as one transaction."""

    upserts: tuple[Upsert, ...] | LazyNodes[Upsert]


@node
class DeleteKeys(SyntaxNode):
    """`DELETE ATTRIBUTES|METADATA { "key", … } FROM ?target WHERE { … }`."""

    part: OneOf["ATTRIBUTES", "METADATA"]
    keys: tuple[Text, ...]
    target: Variable
    where: Block


@node
class DeletePropositions(SyntaxNode):
    """`DELETE PROPOSITIONS ?link WHERE { … }`."""

    target: Variable
    where: Block


@node
class DeleteConcept(SyntaxNode):
    """`DELETE CONCEPT ?node DETACH WHERE { … }`."""

    target: Variable
    where: Block


ArithmeticName = OneOf["ADD", "MUL", "CLAMP", "COALESCE"]


@node
class Arithmetic(SyntaxNode):
    """`ADD(a, b)`, `MUL(a, b)`, `CLAMP(x, low, high)`, `COALESCE(x, otherwise)`; they nest."""

    function: ArithmeticName
    arguments: tuple[Arithmetic | Path | Number, ...]


Change = Value | Arithmetic
"""A new value of a key: a JSON value, or one computed from the element."""


@node
class Update(SyntaxNode):
    """`UPDATE ?t SET ATTRIBUTES { … } SET METADATA { … } SET WEIGHT w WHERE { … } [LIMIT n]`.

    A placeholder may be a whole map. At least one of the three is given.
    """

    target: Variable
    where: Block
    attributes: tuple[tuple[str, Change], ...] | Placeholder | None = None
    metadata: tuple[tuple[str, Change], ...] | Placeholder | None = None
    limit: Number | None = None
    weight: Number | Arithmetic | None = None


@node
class MergeConcept(SyntaxNode):
    """`MERGE CONCEPT ?source INTO ?target WHERE { … }`."""

    source: Variable
    target: Variable
    where: Block


@node
class Archive(SyntaxNode):
    """`ARCHIVE ?t [BECAUSE "reason"] WHERE { … } [LIMIT n]`, our extension as the two below."""

    target: Variable
    where: Block
    reason: Text | None = None
    limit: Number | None = None


@node
class Restore(SyntaxNode):
    """`RESTORE ?t WHERE { … } [LIMIT n]`: its patterns find archived elements too."""

    target: Variable
    where: Block
    limit: Number | None = None


@node
class Supersede(SyntaxNode):
    """`SUPERSEDE ?old WITH ?new [UNTIL "time"] [BECAUSE "reason"] WHERE { … }`."""

    target: Variable
    successor: Variable
    where: Block
    until: Text | None = None
    reason: Text | None = None


@node
class TakeStance(SyntaxNode):
    """`SUPPORT|CHALLENGE ?l [WITH {…}] [BECAUSE "reason"] WHERE { … } [LIMIT n]`."""

    stance: Stance
    target: Variable
    where: Block
    details: Map | None = None
    reason: Text | None = None
    limit: Number | None = None


@node
class SetTypeRetention(SyntaxNode):
    """`SET RETENTION rule FOR CONCEPT|PROPOSITION TYPE "name"`."""

    rule: Value
    kind: ElementKind
    name: Text


@node
class SetRetention(SyntaxNode):
    """`SET RETENTION rule FOR ?t WHERE { … } [LIMIT n]`."""

    rule: Value
    target: Variable
    where: Block
    limit: Number | None = None


# META.


@node
class DescribePrimer(SyntaxNode):
    """`DESCRIBE PRIMER`."""


@node
class DescribeDomains(SyntaxNode):
    """`DESCRIBE DOMAINS`."""


@node
class DescribeTypes(SyntaxNode):
    """`DESCRIBE CONCEPT|PROPOSITION TYPES [LIMIT n] [CURSOR c]`."""

    kind: ElementKind
    limit: Number | None = None
    cursor: Text | None = None


@node
class DescribeType(SyntaxNode):
    """`DESCRIBE CONCEPT|PROPOSITION TYPE "name"`."""

    kind: ElementKind
    name: Text


@node
class DescribeChanges(SyntaxNode):
    """`DESCRIBE CHANGES FROM moment [TO moment] [UNDER "path"]`, which is our extension.

    Moments are those of AS OF. Without TO, the changes up to the present are meant.
    """

    since: Literal | Placeholder
    until: Literal | Placeholder | None = None
    under: Text | None = None


@node
class DescribeCapabilities(SyntaxNode):
    """`DESCRIBE CAPABILITIES`."""


@node
class DescribeHistory(SyntaxNode):
    """`DESCRIBE HISTORY [UNDER "path"] [ACTOR "name"] [SINCE "time"] [UNTIL "time"] [LIMIT n] …`.

    The commits, newest first, with a CURSOR for the next page.
    """

    path: Text | None = None
    actor: Text | None = None
    since: Text | None = None
    until: Text | None = None
    limit: Number | None = None
    cursor: Text | None = None


Describe = (
    DescribePrimer
    | DescribeDomains
    | DescribeTypes
    | DescribeType
    | DescribeChanges
    | DescribeCapabilities
    | DescribeHistory
)


@node
class _Filters(SyntaxNode):
    """`UNDER`, `WORKSPACE`, `ACTOR`, `SINCE`, `UNTIL` and `METADATA`, which are our extension."""

    _: KW_ONLY
    threshold: Number | None = None
    limit: Number | None = None
    path: Text | None = None
    workspace: Text | None = None
    actor: Text | None = None
    since: Text | None = None
    until: Text | None = None
    metadata: Map | None = None


@node
class Search(_Filters):
    """`SEARCH CONCEPT|PROPOSITION "term" [WITH TYPE "t"] [MODE "m"] [THRESHOLD x] [LIMIT n]`.

    Several types, `KIND`, `NEAR`, `AS OF`, `FOR TIME` and `INCLUDE ARCHIVED` are our extension.
    """

    element: ElementKind
    term: Text
    types: tuple[Text, ...] = ()
    mode: Text | None = None
    kind: Text | None = None
    near: Text | None = None
    as_of: Literal | Placeholder | None = None
    for_time: Text | None = None
    include_archived: bool = False


@node
class Nearest(_Filters):
    """`NEAREST CONCEPT TO vector WITH TYPE "t" BY "property" [THRESHOLD x] …`, our extension."""

    to: Value
    type: Text
    by: Text


@node
class Export(SyntaxNode):
    """`EXPORT ?t [INCLUDE ARCHIVED] WHERE { … } [WITH DEFINITIONS] [LIMIT n] [CURSOR c]`."""

    target: Variable
    where: Block
    limit: Number | None = None
    cursor: Text | None = None
    definitions: bool = False
    """WITH DEFINITIONS, our extension: the types and predicates that are used come first."""
    include_archived: bool = False


@node
class Traverse(SyntaxNode):
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
    for_time: Text | None = None
    include_archived: bool = False


# Commands.

Query = Find
Manipulation = (
    Capsule
    | DeleteKeys
    | DeletePropositions
    | DeleteConcept
    | Update
    | MergeConcept
    | Archive
    | Restore
    | Supersede
    | TakeStance
    | SetTypeRetention
    | SetRetention
)
Introspection = Describe | Search | Nearest | Export | Traverse


@node
class Explain(SyntaxNode):
    """`EXPLAIN [ANALYZE] command`, our extension. Without ANALYZE nothing runs."""

    command: Query | Manipulation | Introspection
    analyze: bool = False


Command = Query | Manipulation | Introspection | Explain
