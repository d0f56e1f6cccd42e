"""Parses a schema: `parse` turns its text into a tree.

It is a descent parser without recursion, because the language has no nesting. Every function reads
the part that it is named after, from the next token on, and moves past it. `builder` checks that
types exist and constraints fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import isfinite
from typing import Final, cast

from mycel.errors import SchemaError
from mycel.model.limits import INTEGER_MAX, INTEGER_MIN, JSON_INTEGER_MAX
from mycel.schema import ast, schema_errors
from mycel.schema.lexer import SchemaTokens, read
from mycel.schema.model import EMBED, PropertyType
from mycel.schema.scalars import SCALARS
from mycel.schema.schema_errors import CONSTRAINTS, fail, is_ident, too_long, unexpected
from mycel.syntax.gc_pause import collector_paused
from mycel.syntax.source import Span
from mycel.syntax.strings import string_value
from mycel.syntax.tokens import END

_PLAIN_SCALARS: Final = SCALARS.keys() - {"Vector"}
NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?", re.ASCII)

VECTOR_DIMENSION_MAX: Final = (1 << 31) - 1
_LIST_SCALARS: Final = frozenset(name for name, traits in SCALARS.items() if traits.in_lists)
_ENUM_VALUE: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_NUMBER_CHARACTERS_MAX: Final = 400
"""The maximum number of characters of a number: all numbers of 64 bits fit."""
_LARGE: Final = 1 << 16
_MODEL_HINT: Final = 'Write @embed(source), or @embed(source, model="name of the model").'


def parse(text: str) -> ast.SchemaDocument:
    """The tree of a schema.

    >>> parse("node Person { name: String @key }").declarations[0].name
    Name(text='Person')

    Raises:
        SchemaError: the text is no schema; the message shows the place and says what to do.
        ResourceExhausted: the text is longer than 4 MiB.
    """
    tokens = read(text)
    declarations: list[ast.Declaration] = []
    with collector_paused(len(text) > _LARGE):
        while (token := tokens.next) != END:
            reads = _DECLARATIONS.get(token)
            if reads is None:
                raise schema_errors.no_declaration(tokens)
            declarations.append(reads(tokens))
    return ast.SchemaDocument(tuple(declarations), span=Span(0, len(tokens.text)))


# Declarations.


def _interface(tokens: SchemaTokens) -> ast.InterfaceDeclaration:
    at = tokens.at
    tokens.at = at + 1
    name = _type_name(tokens, "the name of an interface")
    annotations = _type_annotations(tokens, "interface")
    if tokens.next != "{":
        raise schema_errors.no_body(tokens, "interface", name.text, implements=False)
    members = cast(tuple[ast.PropertyDeclaration, ...], _members(tokens, "interface"))
    return ast.InterfaceDeclaration(name, annotations, members, span=tokens.span(at))


def _node(tokens: SchemaTokens) -> ast.NodeDeclaration:
    at = tokens.at
    tokens.at = at + 1
    name = _type_name(tokens, "the name of a node")
    annotations = _type_annotations(tokens, "node")
    implements: list[ast.Name] = []
    if tokens.next == "implements":
        while not implements or tokens.next == ",":
            tokens.at += 1
            implements.append(_type_name(tokens, "the name of an interface after `implements`"))
    if tokens.next != "{":
        raise schema_errors.no_body(tokens, "node", name.text, implements=bool(implements))
    members = _members(tokens, "node")
    return ast.NodeDeclaration(name, annotations, tuple(implements), members, span=tokens.span(at))


def _edge(tokens: SchemaTokens) -> ast.EdgeDeclaration:
    at = tokens.at
    tokens.at = at + 1
    name = _type_name(tokens, "the name of an edge")
    if not _accept(tokens, ":"):
        raise schema_errors.no_edge_colon(tokens, name.text)
    from_type = _type_name(tokens, "the type at the source of the edge")
    if not _accept(tokens, "->"):
        raise schema_errors.no_arrow(tokens, name.text, from_type.text)
    to_type = _type_name(tokens, "the type at the target of the edge")
    card = None
    if tokens.next == "@" and tokens.tokens[tokens.at + 1] == "card":
        card = _card(tokens)
    annotations = _type_annotations(tokens, "edge")
    members = _members(tokens, "edge") if tokens.next == "{" else ()
    return ast.EdgeDeclaration(
        name, from_type, to_type, card, annotations, members, span=tokens.span(at)
    )


_DECLARATIONS: Final[dict[str, Callable[[SchemaTokens], ast.Declaration]]] = {
    "interface": _interface,
    "node": _node,
    "edge": _edge,
}


def _type_name(tokens: SchemaTokens, expected: str) -> ast.Name:
    at = tokens.at
    token = tokens.tokens[at]
    is_name = "A" <= token[0] <= "Z" and token.isascii() and token.isidentifier()
    if not is_name or too_long(token):
        raise schema_errors.no_type_name(tokens, expected)
    tokens.at = at + 1
    return ast.Name(token, span=tokens.span_at(at))


def _card(tokens: SchemaTokens) -> ast.Card:
    at = tokens.at
    tokens.at = at + 2
    _expect(tokens, "(", "Write @card(0..1).")
    if not tokens.next.isdigit():
        raise schema_errors.no_bounds(tokens, "card", "0..1")
    minimum = _parse_integer(tokens, "Write @card(0..1).")
    if not _accept(tokens, ".."):
        raise schema_errors.no_dots(tokens, "card", str(minimum))
    hint = "Write @card(0..1), or @card(1..*) without a maximum."
    has_maximum = not _accept(tokens, "*") and tokens.next != ")"
    maximum = _parse_integer(tokens, hint) if has_maximum else None
    _expect(tokens, ")", hint)
    return ast.Card(minimum, maximum, span=tokens.span(at))


# Bodies.


def _members(tokens: SchemaTokens, kind: str) -> tuple[ast.Member, ...]:
    """`{ … }`, where the next token is the brace."""
    tokens.at += 1
    members: list[ast.Member] = []
    lines = tokens.tokens
    while (token := lines[tokens.at]) != "}":
        if token == "@":
            members.append(_constraint(tokens, kind))
        elif lines[tokens.at + 1] == ":" and is_ident(token):
            members.append(_property(tokens, kind))
        else:
            raise schema_errors.no_member(tokens, kind)
    tokens.at += 1
    return tuple(members)


def _property(tokens: SchemaTokens, kind: str) -> ast.PropertyDeclaration:
    """Read a property; the caller has seen its name and colon."""
    at = tokens.at
    name = ast.Name(tokens.tokens[at], span=tokens.span_at(at))
    tokens.at = at + 2
    type_ = _type(tokens)
    annotations: list[ast.AnnotationDeclaration] = []
    while tokens.next == "@":
        following = tokens.tokens[tokens.at + 1]
        # With arguments, the annotation is a constraint of the body, even on the same line.
        if following in CONSTRAINTS and tokens.tokens[tokens.at + 2] == "(":
            break
        if following == "card":
            raise schema_errors.misplaced_card(tokens, kind)
        annotations.append(_annotation(tokens))
    return ast.PropertyDeclaration(name, type_, tuple(annotations), span=tokens.span(at))


def _type(tokens: SchemaTokens) -> PropertyType:
    at = tokens.at
    token, following = tokens.tokens[at], tokens.tokens[at + 1]
    if token in _PLAIN_SCALARS:
        tokens.at = at + 1
        return PropertyType(token, _accept(tokens, "?"))
    if token == "[":
        return _list(tokens)
    if following == "(" and token == "enum":
        return _enum(tokens)
    if following == "(" and token == "Vector":
        return _vector(tokens)
    raise schema_errors.no_type(tokens)


def _list(tokens: SchemaTokens) -> PropertyType:
    tokens.at += 1
    scalar = tokens.next
    if scalar not in _LIST_SCALARS:
        raise schema_errors.no_type(tokens, in_list=True)
    tokens.at += 1
    if not _accept(tokens, "]"):
        raise schema_errors.no_list_end(tokens, scalar)
    return PropertyType(scalar, _accept(tokens, "?"), is_list=True)


def _vector(tokens: SchemaTokens) -> PropertyType:
    at = tokens.at
    tokens.at = at + 2
    dimension = _parse_integer(tokens, "Write the dimension of the vector: Vector(768).")
    _expect(tokens, ")", "A vector has one dimension: Vector(768).")
    if not 1 <= dimension <= VECTOR_DIMENSION_MAX:
        hint = f"The dimension is a whole number from 1 to {VECTOR_DIMENSION_MAX}."
        message = f"A vector cannot have {dimension} dimensions."
        raise fail(tokens, message, hint, at=at, length=tokens.at - at)
    return PropertyType("Vector", _accept(tokens, "?"), dimension=dimension)


def _enum(tokens: SchemaTokens) -> PropertyType:
    tokens.at += 1
    values: dict[str, None] = {}
    while not values or tokens.next == ",":
        tokens.at += 1
        token = tokens.next
        if _ENUM_VALUE.fullmatch(token) is None:
            raise schema_errors.no_enum_value(tokens)
        if too_long(token):
            raise schema_errors.name_too_long(tokens)
        if token in values:
            raise fail(tokens, f"The enum has the value {token} twice.", "Name each value once.")
        values[token] = None
        tokens.at += 1
    if not _accept(tokens, ")"):
        raise schema_errors.no_separator(tokens, "value")
    return PropertyType("String", _accept(tokens, "?"), enum_values=tuple(values))


def _accept(tokens: SchemaTokens, sign: str) -> bool:
    """Move past a sign, if it is next, and return True."""
    if tokens.tokens[tokens.at] != sign:
        return False
    tokens.at += 1
    return True


# Annotations.


def _type_annotations(tokens: SchemaTokens, kind: str) -> tuple[ast.AnnotationDeclaration, ...]:
    annotations: list[ast.AnnotationDeclaration] = []
    while tokens.next == "@":
        name = tokens.tokens[tokens.at + 1]
        if name == "card" or name in CONSTRAINTS:
            raise schema_errors.misplaced_constraint(tokens, name, kind)
        annotations.append(_annotation(tokens))
    return tuple(annotations)


def _annotation(tokens: SchemaTokens) -> ast.AnnotationDeclaration:
    at = tokens.at
    tokens.at = at + 1
    name = tokens.tokens[at + 1]
    if not is_ident(name):
        raise schema_errors.no_annotation(tokens)
    tokens.at = at + 2
    value = model = None
    if _accept(tokens, "("):
        value = _literal(tokens, name)
        hint = "An annotation takes one value."
        if name == EMBED and _accept(tokens, ","):
            model = _model(tokens)
            hint = _MODEL_HINT
        _expect(tokens, ")", hint if tokens.next == "," else None)
    return ast.AnnotationDeclaration(name, value, model, span=tokens.span(at))


def _model(tokens: SchemaTokens) -> ast.AnnotationValue:
    """`model = "…"` of `@embed`."""
    _expect(tokens, "model", _MODEL_HINT)
    _expect(tokens, "=", _MODEL_HINT)
    if tokens.next[0] != '"':
        raise schema_errors.no_value(tokens, EMBED)
    return _string(tokens)


def _literal(tokens: SchemaTokens, name: str) -> ast.AnnotationValue:
    at = tokens.at
    token = tokens.tokens[at]
    if token[0] == '"':
        return _string(tokens)
    if token[0] in "-+.0123456789":
        if NUMBER.fullmatch(token) is None or len(token) > _NUMBER_CHARACTERS_MAX:
            raise schema_errors.bad_number(tokens)
    elif not is_ident(token):
        raise schema_errors.no_value(tokens, name)
    tokens.at = at + 1
    return ast.AnnotationValue(token, False, span=tokens.span_at(at))


# Constraints.


def _constraint(tokens: SchemaTokens, kind: str) -> ast.Member:
    at = tokens.at
    name = tokens.tokens[at + 1]
    if kind == "interface" and name in CONSTRAINTS:
        raise schema_errors.constraint_in_interface(tokens, name)
    if name not in CONSTRAINTS or tokens.tokens[at + 2] != "(":
        raise schema_errors.no_constraint(tokens, kind)
    if kind == "edge" and name not in {"unique", "index"}:
        raise schema_errors.edge_constraint(tokens, name)
    tokens.at = at + 3
    if name == "range":
        return _range(tokens, at)
    if name == "check":
        return _check(tokens, at)
    columns = [_column(tokens, name)]
    while _accept(tokens, ","):
        columns.append(_column(tokens, name))
    if not _accept(tokens, ")"):
        raise schema_errors.no_separator(tokens, "column")
    return ast.Columns(name, tuple(columns), span=tokens.span(at))


def _column(tokens: SchemaTokens, constraint: str) -> ast.Name:
    at = tokens.at
    token = tokens.tokens[at]
    if not is_ident(token):
        raise schema_errors.no_column(tokens, constraint)
    tokens.at = at + 1
    return ast.Name(token, span=tokens.span_at(at))


def _constrained(tokens: SchemaTokens, constraint: str) -> ast.Name:
    """The property of `@range` or `@check`, and the comma after it."""
    property_ = _column(tokens, constraint)
    if not _accept(tokens, ","):
        raise schema_errors.no_comma(tokens, constraint)
    return property_


def _range(tokens: SchemaTokens, at: int) -> ast.RangeDeclaration:
    property_ = _constrained(tokens, "range")
    minimum = maximum = None
    if tokens.next != "..":
        minimum = _number(tokens)
    if not _accept(tokens, ".."):
        raise schema_errors.no_dots(tokens, "range", str(minimum))
    if tokens.next != ")":
        maximum = _number(tokens)
    elif minimum is None:
        raise schema_errors.no_bounds(tokens, "range", f"{property_.text}, 0..100")
    _expect(tokens, ")", f"Write @range({property_.text}, 0..100).")
    return ast.RangeDeclaration(property_, minimum, maximum, span=tokens.span(at))


def _check(tokens: SchemaTokens, at: int) -> ast.CheckDeclaration:
    property_ = _constrained(tokens, "check")
    if tokens.next[0] != '"':
        hint = f'Write patterns in double quotes: @check({property_.text}, "^[a-z]+$").'
        raise unexpected(tokens, "a pattern", hint)
    pattern = _string(tokens)
    _expect(tokens, ")", "A check has one property and one pattern.")
    return ast.CheckDeclaration(property_, pattern, span=tokens.span(at))


# Punctuation, strings and numbers.


def _expect(tokens: SchemaTokens, sign: str, hint: str | None) -> None:
    if not _accept(tokens, sign):
        raise unexpected(tokens, f"`{sign}`", hint)


def _string(tokens: SchemaTokens) -> ast.AnnotationValue:
    at = tokens.at
    value = string_value(SchemaError, tokens, at)
    tokens.at = at + 1
    return ast.AnnotationValue(value, True, span=tokens.span_at(at))


def _parse_integer(tokens: SchemaTokens, hint: str) -> int:
    """A whole number without a sign."""
    token = tokens.next
    if not (token.isascii() and token.isdigit()):
        raise unexpected(tokens, "a whole number", hint)
    if token[0] == "0" and token != "0":
        raise schema_errors.bad_number(tokens)
    return cast(int, _number(tokens, INTEGER_MAX))


def _number(tokens: SchemaTokens, whole_max: int = JSON_INTEGER_MAX) -> int | float:
    at = tokens.at
    token = tokens.tokens[at]
    if token[0] not in "-+.0123456789" or token == "..":
        raise unexpected(
            tokens,
            "a number",
            "Bounds are numbers, and either may be left out: 0..100, 0.., ..100.",
        )
    match = NUMBER.fullmatch(token)
    if match is None:
        raise schema_errors.bad_number(tokens)
    is_whole = match.lastindex is None
    is_long = len(token) > (20 if is_whole else _NUMBER_CHARACTERS_MAX)
    value: int | float = whole_max + 1 if is_long else int(token) if is_whole else float(token)
    is_held = INTEGER_MIN <= value <= whole_max if is_whole else not is_long and isfinite(value)
    if not is_held:
        raise fail(
            tokens, "The number is too large.", "Numbers here have at most 64 bits; leave it out."
        )
    tokens.at = at + 1
    return value
