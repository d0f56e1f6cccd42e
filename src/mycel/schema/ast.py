"""What a schema says, as it was written: the tree that `parser` makes and `building` reads.

Nodes are frozen and compare by what they say: where they stand in the text (`span`) does not count,
so `parse(format(tree)) == tree`. Names are kept with their places, because most rules of the
language are about names. Nothing is looked up or checked here; comments are not kept.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any
from typing import Literal as OneOf

from mycel.syntax.nodes import node
from mycel.syntax.source import NOWHERE, Span


def _span() -> Any:
    return field(default=NOWHERE, compare=False, repr=False)


# Words.


@node
class Name:
    """The name of a type or a property, or a value of an enum."""

    text: str
    span: Span = _span()


@node
class Literal:
    """What stands in the parentheses of an annotation: a string, a number or a word."""

    text: str
    is_quoted: bool
    span: Span = _span()


@node
class Annotation:
    """`@name` or `@name(value)`; also an inline `@key`, `@unique` or `@index`.

    `@embed(source, model="…")` has a second value.
    """

    name: str
    value: Literal | None = None
    model: Literal | None = None
    span: Span = _span()


# Properties.


@node
class Scalar:
    """`String`, `[String]` or `String?`."""

    name: str
    is_list: bool = False
    is_nullable: bool = False
    span: Span = _span()


@node
class Vector:
    """`Vector(768)`."""

    dimension: int
    is_nullable: bool = False
    span: Span = _span()


@node
class Enum:
    """`enum(open, closed)`, its values in the order in which they were written."""

    values: tuple[Name, ...]
    is_nullable: bool = False
    span: Span = _span()


@node
class Property:
    """`name: type` and its annotations."""

    name: Name
    type: Type
    annotations: tuple[Annotation, ...] = ()
    span: Span = _span()


# Constraints in a body.


@node
class Columns:
    """`@key(a, b)`, `@unique(a, b)` or `@index(a, b)`."""

    kind: OneOf["key", "unique", "index"]
    columns: tuple[Name, ...]
    span: Span = _span()


@node
class Range:
    """`@range(property, minimum..maximum)`."""

    property: Name
    minimum: int | float | None
    maximum: int | float | None
    span: Span = _span()


@node
class Check:
    """`@check(property, "pattern")`."""

    property: Name
    pattern: Literal
    span: Span = _span()


# Declarations.


@node
class Card:
    """`@card(minimum..maximum)`."""

    minimum: int
    maximum: int | None
    span: Span = _span()


@node
class Interface:
    """`interface Name @annotation { … }`."""

    name: Name
    annotations: tuple[Annotation, ...] = ()
    members: tuple[Property, ...] = ()
    span: Span = _span()


@node
class Node:
    """`node Name @annotation implements Interface { … }`."""

    name: Name
    annotations: tuple[Annotation, ...] = ()
    implements: tuple[Name, ...] = ()
    members: tuple[Member, ...] = ()
    span: Span = _span()


@node
class Edge:
    """`edge Name: From -> To @card(…) @annotation { … }`."""

    name: Name
    from_type: Name
    to_type: Name
    card: Card | None = None
    annotations: tuple[Annotation, ...] = ()
    members: tuple[Member, ...] = ()
    span: Span = _span()


@node
class Schema:
    """A file."""

    declarations: tuple[Declaration, ...] = ()
    span: Span = _span()


Type = Scalar | Vector | Enum
Member = Property | Columns | Range | Check
Declaration = Interface | Node | Edge
