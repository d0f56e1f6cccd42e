"""From tree to text: `format` writes a schema the one canonical way.

`parse(format(tree)) == tree` for every tree that `parse` can make. Comments are not in the tree,
and so are lost. A declaration takes a line for its head and one for each member, indented by two.

A catalog is written through a tree as well. It knows no more which of two spellings was used, so a
constraint of one column stands behind its property, and every other one in the body.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Final, TypeAlias

from mycel.schema import ast
from mycel.schema.catalog import Catalog
from mycel.schema.model import (
    EMBED,
    RENAME_FROM,
    Annotation,
    Cardinality,
    Check,
    Constraint,
    EdgeType,
    Index,
    Interface,
    Key,
    NodeType,
    Property,
    PropertyType,
    Range,
    SchemaType,
    Unique,
)

INDENT: Final = "  "
_ANY_NUMBER: Final = Cardinality()
_Inline: TypeAlias = dict[str, list[ast.Annotation]]
_BARE: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,18})(?:\.[0-9]{1,18})?|true|false", re.ASCII)
"""Values that are written without quotes, because they read better. To the IR all are text."""


def format_schema(tree: ast.Schema) -> str:
    """The schema as text, with a line feed at its end unless it is empty.

    >>> from mycel.schema import parse
    >>> print(format_schema(parse("node Person{name:String@key age:I32? @range(age,0..)}")), end="")
    node Person {
      name: String @key
      age: I32?
      @range(age, 0..)
    }
    """
    return "\n".join(f"{each}\n" for each in map(_declaration, tree.declarations))


def format_catalog(catalog: Catalog) -> str:
    """A catalog as text."""
    return format_schema(ast.Schema(tuple(tree_of(each, catalog) for each in catalog.types)))


def format_declared(declared: SchemaType) -> str:
    """One declaration as text, on its own: what its interfaces add is written out."""
    own = tuple(replace(each, inherited_from=None) for each in declared.properties)
    whole = replace(declared, properties=own)
    if isinstance(whole, NodeType):
        whole = replace(whole, implements=())
    return _declaration(tree_of(whole, Catalog()))


# Trees.


def _declaration(declared: ast.Declaration) -> str:
    if not declared.members:
        return head(declared) if isinstance(declared, ast.Edge) else f"{head(declared)} {{}}"
    lines = (f"{INDENT}{member(each)}\n" for each in declared.members)
    return f"{head(declared)} {{\n{''.join(lines)}}}"


def head(declared: ast.Declaration) -> str:
    """What stands before the body of a declaration."""
    match declared:
        case ast.Interface(name, annotations):
            parts = ["interface", name.text, *map(_annotation, annotations)]
        case ast.Node(name, annotations, implements):
            parts = ["node", name.text, *map(_annotation, annotations)]
            if implements:
                parts.append(f"implements {_names(implements)}")
        case ast.Edge(name, from_type, to_type, card, annotations):
            parts = [f"edge {name.text}: {from_type.text} -> {to_type.text}"]
            if card is not None:
                maximum = "*" if card.maximum is None else card.maximum
                parts.append(f"@card({card.minimum}..{maximum})")
            parts += map(_annotation, annotations)
    return " ".join(parts)


def member(written: ast.Member) -> str:
    """A property or a constraint, on its line."""
    match written:
        case ast.Property(name, type_, annotations):
            return " ".join((f"{name.text}: {_type(type_)}", *map(_annotation, annotations)))
        case ast.Columns(kind, columns):
            return f"@{kind}({_names(columns)})"
        case ast.Range(property_, minimum, maximum):
            return f"@range({property_.text}, {_number(minimum)}..{_number(maximum)})"
        case ast.Check(property_, pattern):
            return f"@check({property_.text}, {_quoted(pattern.text)})"


def _type(type_: ast.Type) -> str:
    match type_:
        case ast.Scalar(name, is_list, is_nullable):
            core = f"[{name}]" if is_list else name
        case ast.Vector(dimension, is_nullable):
            core = f"Vector({dimension})"
        case ast.Enum(values, is_nullable):
            core = f"enum({_names(values)})"
    return f"{core}?" if is_nullable else core


def _annotation(annotation: ast.Annotation) -> str:
    value = annotation.value
    if value is None:
        return f"@{annotation.name}"
    said = _quoted(value.text) if value.is_quoted else value.text
    model = annotation.model
    return f"@{annotation.name}({said}{'' if model is None else f', model={_quoted(model.text)}'})"


def _names(names: Iterable[ast.Name]) -> str:
    return ", ".join(each.text for each in names)


def _number(value: int | float | None) -> str:
    return "" if value is None else repr(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


# From the declarations of a catalog back to trees.


def tree_of(declared: SchemaType, catalog: Catalog) -> ast.Declaration:
    """The tree of a declared type, without what its interfaces bring along."""
    name = ast.Name(declared.name)
    match declared:
        case Interface():
            inline = _inline(declared)
            properties = (_property(inline, each) for each in declared.properties)
            return ast.Interface(name, _annotations(declared), tuple(properties))
        case NodeType():
            implements = tuple(map(ast.Name, declared.implements))
            members = tuple(_members(declared, _brought(declared, catalog)))
            return ast.Node(name, _annotations(declared), implements, members)
        case EdgeType():
            ends = ast.Name(declared.from_type), ast.Name(declared.to_type)
            card = declared.cardinality
            written = ast.Card(card.minimum, card.maximum) if card != _ANY_NUMBER else None
            members = tuple(_members(declared, frozenset()))
            return ast.Edge(name, *ends, written, _annotations(declared), members)


def _brought(declared: NodeType, catalog: Catalog) -> Collection[Constraint]:
    """The constraints that come with the interfaces of a node."""
    found = (catalog.interfaces.get(each) for each in declared.implements)
    return {each for interface in found if interface for each in interface.constraints}


def _members(
    declared: NodeType | EdgeType, brought: Collection[Constraint]
) -> Iterator[ast.Member]:
    own = {each.name for each in declared.properties if each.inherited_from is None}
    inline = _inline(declared)
    for each in declared.properties:
        if each.name in own:
            yield _property(inline, each)
    for constraint in declared.constraints:
        # Behind its property, or said by the interface that the property comes from.
        column = _only_column(constraint)
        if column not in own and (column is None or constraint not in brought):
            yield _written_constraint(constraint)


def _property(inline: _Inline, property_: Property) -> ast.Property:
    annotations = (*inline.get(property_.name, ()), *_annotations(property_))
    return ast.Property(ast.Name(property_.name), _written_type(property_.type), annotations)


def _inline(declared: SchemaType) -> _Inline:
    """By property, the constraints that stand behind it."""
    found: _Inline = {}
    for constraint in declared.constraints:
        column = _only_column(constraint)
        if column is not None:
            found.setdefault(column, []).append(ast.Annotation(type(constraint).__name__.lower()))
    return found


def _only_column(constraint: Constraint) -> str | None:
    """The column of a constraint that can stand behind it."""
    if isinstance(constraint, Key | Unique | Index) and len(constraint.columns) == 1:
        return constraint.columns[0]
    return None


def _written_constraint(constraint: Constraint) -> ast.Member:
    match constraint:
        case Key(columns):
            return ast.Columns("key", tuple(map(ast.Name, columns)))
        case Unique(columns):
            return ast.Columns("unique", tuple(map(ast.Name, columns)))
        case Index(columns):
            return ast.Columns("index", tuple(map(ast.Name, columns)))
        case Range(name, minimum, maximum):
            return ast.Range(ast.Name(name), minimum, maximum)
        case Check(name, pattern):
            return ast.Check(ast.Name(name), ast.Literal(pattern, True))


def _written_type(type_: PropertyType) -> ast.Type:
    if type_.enum_values is not None:
        return ast.Enum(tuple(map(ast.Name, type_.enum_values)), type_.is_nullable)
    if type_.dimension is not None:
        return ast.Vector(type_.dimension, type_.is_nullable)
    return ast.Scalar(type_.scalar, type_.is_list, type_.is_nullable)


def _annotations(declared: SchemaType | Property) -> tuple[ast.Annotation, ...]:
    written = map(_written_annotation, declared.annotations)
    if declared.renamed_from is None:
        return tuple(written)
    return (*written, ast.Annotation(RENAME_FROM, ast.Literal(declared.renamed_from, True)))


def _written_annotation(annotation: Annotation) -> ast.Annotation:
    value = annotation.value
    if value is None:
        return ast.Annotation(annotation.name)
    is_bare = annotation.name == EMBED or _BARE.fullmatch(value) is not None
    model = None if annotation.model is None else ast.Literal(annotation.model, True)
    return ast.Annotation(annotation.name, ast.Literal(value, not is_bare), model)
