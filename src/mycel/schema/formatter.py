"""Writes a tree or a catalog as canonical text: `format`.

`parse(format(tree)) == tree` for every tree that `parse` can make; comments are not in the tree. A
declaration takes a line for its head and a line for each member, indented by two spaces.

A catalog does not store how a constraint was spelled. A constraint with a single column is written
after its property, all other constraints in the body.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, cast

from mycel.schema import ast, model

INDENT: Final = "  "
_BARE: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,18})(?:\.[0-9]{1,18})?|true|false", re.ASCII)
"""A pattern of values to write without quotes, which is easier to read. In the IR all values are
text."""


def format_schema(tree: ast.SchemaDocument) -> str:
    """The schema as text, with a line feed at its end unless it is empty.

    >>> from mycel.schema import parse
    >>> print(format_schema(parse("node Person{name:String@key age:I32? @range(age,0..)}")), end="")
    node Person {
      name: String @key
      age: I32?
      @range(age, 0..)
    }
    """
    return "\n".join(f"{text}\n" for text in map(_declaration, tree.declarations))


def format_types(
    types: Iterable[model.SchemaType], interfaces: Mapping[str, model.Interface]
) -> str:
    """Declared types as text; `interfaces` are those that nodes implement."""
    return format_schema(
        ast.SchemaDocument(tuple(_tree_of(type_name, interfaces) for type_name in types))
    )


def format_declared(schema_type: model.SchemaType) -> str:
    """One declaration as text, without its interfaces: their properties are written out."""
    own = tuple(replace(property_, inherited_from=None) for property_ in schema_type.properties)
    own_type = replace(schema_type, properties=own)
    if isinstance(own_type, model.NodeType):
        own_type = replace(own_type, implements=())
    return _declaration(_tree_of(own_type, {}))


def _declaration(declaration: ast.Declaration) -> str:
    if not declaration.members:
        return (
            head(declaration)
            if isinstance(declaration, ast.EdgeDeclaration)
            else f"{head(declaration)} {{}}"
        )
    lines = (f"{INDENT}{member(part)}\n" for part in declaration.members)
    return f"{head(declaration)} {{\n{''.join(lines)}}}"


def head(declaration: ast.Declaration) -> str:
    """The part of a declaration before its body."""
    match declaration:
        case ast.InterfaceDeclaration(name, annotations):
            parts = ["interface", name.text, *map(_annotation, annotations)]
        case ast.NodeDeclaration(name, annotations, implements):
            parts = ["node", name.text, *map(_annotation, annotations)]
            if implements:
                parts.append(f"implements {_names(implements)}")
        case ast.EdgeDeclaration(name, from_type, to_type, card, annotations):
            parts = [f"edge {name.text}: {from_type.text} -> {to_type.text}"]
            if card is not None:
                maximum = "*" if card.maximum is None else card.maximum
                parts.append(f"@card({card.minimum}..{maximum})")
            parts += map(_annotation, annotations)
    return " ".join(parts)


def member(written: ast.Member) -> str:
    """A property or a constraint, on its line."""
    match written:
        case ast.PropertyDeclaration(name, type_, annotations):
            return " ".join((f"{name.text}: {type_}", *map(_annotation, annotations)))
        case ast.Columns(kind, columns):
            return f"@{kind}({_names(columns)})"
        case ast.RangeDeclaration(property_, minimum, maximum):
            return f"@range({property_.text}, {_number(minimum)}..{_number(maximum)})"
        case ast.CheckDeclaration(property_, pattern):
            return f"@check({property_.text}, {_quoted(pattern.text)})"


def _annotation(annotation: ast.AnnotationDeclaration) -> str:
    value = annotation.value
    if value is None:
        return f"@{annotation.name}"
    message = _quoted(value.text) if value.is_quoted else value.text
    if annotation.model is not None:
        message = f"{message}, model={_quoted(annotation.model.text)}"
    return f"@{annotation.name}({message})"


def _names(names: Iterable[ast.Name]) -> str:
    return ", ".join(name.text for name in names)


def _number(value: int | float | None) -> str:
    return "" if value is None else repr(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _tree_of(
    schema_type: model.SchemaType, interfaces: Mapping[str, model.Interface]
) -> ast.Declaration:
    """The tree of a declared type, without the inherited parts."""
    name, annotations = ast.Name(schema_type.name), _annotations(schema_type)
    members = tuple(_members(schema_type, interfaces))
    match schema_type:
        case model.Interface():
            return ast.InterfaceDeclaration(
                name, annotations, cast(tuple[ast.PropertyDeclaration, ...], members)
            )
        case model.NodeType():
            implements = tuple(map(ast.Name, schema_type.implements))
            return ast.NodeDeclaration(name, annotations, implements, members)
        case model.EdgeType(_, _, from_type, to_type, card):
            written = None if card == model.Cardinality() else ast.Card(card.minimum, card.maximum)
            ends = ast.Name(from_type), ast.Name(to_type)
            return ast.EdgeDeclaration(name, *ends, written, annotations, members)


def _members(
    schema_type: model.SchemaType, interfaces: Mapping[str, model.Interface]
) -> Iterator[ast.Member]:
    own = {
        property_.name for property_ in schema_type.properties if property_.inherited_from is None
    }
    implemented = schema_type.implements if isinstance(schema_type, model.NodeType) else ()
    generator = (interfaces.get(name) for name in implemented)
    inherited = {
        constraint for interface in generator if interface for constraint in interface.constraints
    }
    inline: dict[str, list[ast.AnnotationDeclaration]] = {}
    in_body = []
    for constraint in schema_type.constraints:
        if isinstance(constraint, model.ColumnConstraint) and len(constraint.columns) == 1:
            (column,) = constraint.columns
            if column in own:
                inline.setdefault(column, []).append(ast.AnnotationDeclaration(constraint.word))
            if column in own or constraint in inherited:
                continue
        in_body.append(_constraint(constraint))
    for property_ in schema_type.properties:
        if property_.name in own:
            annotations = (*inline.get(property_.name, ()), *_annotations(property_))
            yield ast.PropertyDeclaration(ast.Name(property_.name), property_.type, annotations)
    yield from in_body


def _constraint(constraint: model.Constraint) -> ast.Member:
    match constraint:
        case model.Range(name, minimum, maximum):
            return ast.RangeDeclaration(ast.Name(name), minimum, maximum)
        case model.Check(name, pattern):
            return ast.CheckDeclaration(ast.Name(name), ast.AnnotationValue(pattern, True))
        case _:
            return ast.Columns(constraint.word, tuple(map(ast.Name, constraint.columns)))


def _annotations(
    part: model.SchemaType | model.Property,
) -> tuple[ast.AnnotationDeclaration, ...]:
    written = map(_canonical_annotation, part.annotations)
    if part.renamed_from is None:
        return tuple(written)
    return (
        *written,
        ast.AnnotationDeclaration(model.RENAME_FROM, ast.AnnotationValue(part.renamed_from, True)),
    )


def _canonical_annotation(annotation: model.Annotation) -> ast.AnnotationDeclaration:
    value = annotation.value
    if value is None:
        return ast.AnnotationDeclaration(annotation.name)
    is_bare = annotation.name == model.EMBED or _BARE.fullmatch(value) is not None
    made_by = None if annotation.model is None else ast.AnnotationValue(annotation.model, True)
    return ast.AnnotationDeclaration(
        annotation.name, ast.AnnotationValue(value, not is_bare), made_by
    )
