"""The tree of a schema as it was written: `parser` makes it, `builder` reads it.

Nodes are frozen, and their places in the text (`span`) do not count in comparisons, so
`parse(format(tree)) == tree`. Names keep their places, because most rules of the language are about
names. Comments are not kept.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from mycel.schema.model import PropertyType
from mycel.syntax.nodes import node
from mycel.syntax.source import NOWHERE, Span


def _span() -> Any:
    return field(default=NOWHERE, compare=False, repr=False)


@node
class Name:
    """The name of a type or a property, or a value of an enum."""

    text: str
    span: Span = _span()


@node
class Literal:
    """The value of an annotation: a string, a number or a word."""

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


@node
class Property:
    """`name: type` and its annotations; the values of an enum are in the order of the text."""

    name: Name
    type: PropertyType
    annotations: tuple[Annotation, ...] = ()
    span: Span = _span()


@node
class Columns:
    """`@key(a, b)`, `@unique(a, b)` or `@index(a, b)`."""

    kind: str
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


Member = Property | Columns | Range | Check
Declaration = Interface | Node | Edge
