"""The tree of a schema as it was written: `parser` makes it, `builder` reads it.

Nodes are frozen. Comparisons ignore their places in the text (`span`), so `parse(format(tree)) ==
tree`. Names keep their places, because most rules of the language are about names. Comments are not
kept.
"""

from __future__ import annotations

from mycel.schema.model import PropertyType
from mycel.syntax.nodes import SyntaxNode, node


@node
class Name(SyntaxNode):
    """The name of a type or a property, or a value of an enum."""

    text: str


@node
class AnnotationValue(SyntaxNode):
    """The value of an annotation: a string, a number or a word."""

    text: str
    is_quoted: bool


@node
class AnnotationDeclaration(SyntaxNode):
    """`@name` or `@name(value)`; also an inline `@key`, `@unique` or `@index`.

    `@embed(source, model="…")` has a second value.
    """

    name: str
    value: AnnotationValue | None = None
    model: AnnotationValue | None = None


@node
class PropertyDeclaration(SyntaxNode):
    """`name: type` and its annotations; the values of an enum are in the order of the text."""

    name: Name
    type: PropertyType
    annotations: tuple[AnnotationDeclaration, ...] = ()


@node
class Columns(SyntaxNode):
    """`@key(a, b)`, `@unique(a, b)` or `@index(a, b)`."""

    kind: str
    columns: tuple[Name, ...]


@node
class RangeDeclaration(SyntaxNode):
    """`@range(property, minimum..maximum)`."""

    property: Name
    minimum: int | float | None
    maximum: int | float | None


@node
class CheckDeclaration(SyntaxNode):
    """`@check(property, "pattern")`."""

    property: Name
    pattern: AnnotationValue


@node
class Card(SyntaxNode):
    """`@card(minimum..maximum)`."""

    minimum: int
    maximum: int | None


@node
class InterfaceDeclaration(SyntaxNode):
    """`interface Name @annotation { … }`."""

    name: Name
    annotations: tuple[AnnotationDeclaration, ...] = ()
    members: tuple[PropertyDeclaration, ...] = ()


@node
class NodeDeclaration(SyntaxNode):
    """`node Name @annotation implements Interface { … }`."""

    name: Name
    annotations: tuple[AnnotationDeclaration, ...] = ()
    implements: tuple[Name, ...] = ()
    members: tuple[Member, ...] = ()


@node
class EdgeDeclaration(SyntaxNode):
    """`edge Name: From -> To @card(…) @annotation { … }`."""

    name: Name
    from_type: Name
    to_type: Name
    card: Card | None = None
    annotations: tuple[AnnotationDeclaration, ...] = ()
    members: tuple[Member, ...] = ()


@node
class SchemaDocument(SyntaxNode):
    """A schema: the declarations of one text."""

    declarations: tuple[Declaration, ...] = ()


Member = PropertyDeclaration | Columns | RangeDeclaration | CheckDeclaration
Declaration = InterfaceDeclaration | NodeDeclaration | EdgeDeclaration
