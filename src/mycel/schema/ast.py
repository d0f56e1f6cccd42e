"""The tree of a schema as it was written: `parser` makes it, `builder` reads it.

Nodes are frozen, and their places in the text (`span`) do not count in comparisons, so
`parse(format(tree)) == tree`. Names keep their places, because most rules of the language are about
names. Comments are not kept.
"""

from __future__ import annotations

from mycel.schema.model import PropertyType
from mycel.syntax.nodes import SyntaxNode, node


@node
class Name(SyntaxNode):
    """The name of a type or a property, or a value of an enum."""

    text: str


@node
class Literal(SyntaxNode):
    """The value of an annotation: a string, a number or a word."""

    text: str
    is_quoted: bool


@node
class Annotation(SyntaxNode):
    """`@name` or `@name(value)`; also an inline `@key`, `@unique` or `@index`.

    `@embed(source, model="…")` has a second value.
    """

    name: str
    value: Literal | None = None
    model: Literal | None = None


@node
class Property(SyntaxNode):
    """`name: type` and its annotations; the values of an enum are in the order of the text."""

    name: Name
    type: PropertyType
    annotations: tuple[Annotation, ...] = ()


@node
class Columns(SyntaxNode):
    """`@key(a, b)`, `@unique(a, b)` or `@index(a, b)`."""

    kind: str
    columns: tuple[Name, ...]


@node
class Range(SyntaxNode):
    """`@range(property, minimum..maximum)`."""

    property: Name
    minimum: int | float | None
    maximum: int | float | None


@node
class Check(SyntaxNode):
    """`@check(property, "pattern")`."""

    property: Name
    pattern: Literal


@node
class Card(SyntaxNode):
    """`@card(minimum..maximum)`."""

    minimum: int
    maximum: int | None


@node
class Interface(SyntaxNode):
    """`interface Name @annotation { … }`."""

    name: Name
    annotations: tuple[Annotation, ...] = ()
    members: tuple[Property, ...] = ()


@node
class Node(SyntaxNode):
    """`node Name @annotation implements Interface { … }`."""

    name: Name
    annotations: tuple[Annotation, ...] = ()
    implements: tuple[Name, ...] = ()
    members: tuple[Member, ...] = ()


@node
class Edge(SyntaxNode):
    """`edge Name: From -> To @card(…) @annotation { … }`."""

    name: Name
    from_type: Name
    to_type: Name
    card: Card | None = None
    annotations: tuple[Annotation, ...] = ()
    members: tuple[Member, ...] = ()


@node
class Schema(SyntaxNode):
    """A file."""

    declarations: tuple[Declaration, ...] = ()


Member = Property | Columns | Range | Check
Declaration = Interface | Node | Edge
