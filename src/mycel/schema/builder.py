"""Builds the catalog of a text: `load` checks the rules and expands interfaces.

There are three passes: interfaces, then nodes, which inherit from their interfaces, then edges,
which join nodes. The order of declarations is therefore free. Errors have spans of the tree, for
which `load` adds excerpts of the text.

A node inherits from its interfaces:

- A property that it does not declare itself is appended, in the order of `implements`, with its
  annotations and constraints.
- A property that the node declares too must have the identical type; the annotations of the node
  are used.
- If two interfaces have the same property, the annotations of the first interface count, and the
  constraints of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from mycel.errors import SchemaError
from mycel.schema import ast, model
from mycel.schema.annotations import of_type, wrong
from mycel.schema.catalog import Catalog
from mycel.schema.catalog_json import type_id
from mycel.schema.declaration_bodies import (
    DeclarationBody,
    brief,
    close_to,
    collision,
    hint_with_names,
)
from mycel.schema.lexer import BYTE_ORDER_MARK
from mycel.schema.parser import parse
from mycel.syntax.diagnostics import locate_error
from mycel.syntax.gc_pause import collector_paused


def load(text: str, *, file: str | None = None) -> Catalog:
    """The catalog of a schema; `file` is the name of the text in errors.

    >>> catalog = load("node Drug { name: String @key } edge Treats: Drug -> Drug")
    >>> catalog.ir_hash
    'sha256:...'

    Raises:
        SchemaError: the text breaks a rule of the language; the message has the place.
        ResourceExhausted: the text is longer than 4 MiB.
    """
    try:
        # The tree has many objects but no cycles, so garbage collection is paused.
        with collector_paused(True):
            return build(parse(text))
    except SchemaError as error:
        if "span" in error.data:
            locate_error(error, text.removeprefix(BYTE_ORDER_MARK))
        if file is not None:
            message = error.message
            has_line = "line" in error.data
            where = (
                f"{file}, {message[0].lower()}{message[1:]}" if has_line else f"{file}: {message}"
            )
            error.message, error.args = where, (where,)
            error.data = {"file": file, **error.data}
        raise


def build(tree: ast.SchemaDocument) -> Catalog:
    """The catalog of a schema; raises SchemaError if it breaks a rule of the language."""
    _check_names(tree.declarations)
    interfaces = {
        declaration.name.text: _interface(declaration)
        for declaration in tree.declarations
        if isinstance(declaration, ast.InterfaceDeclaration)
    }
    nodes = {
        declaration.name.text: _node(declaration, interfaces)
        for declaration in tree.declarations
        if isinstance(declaration, ast.NodeDeclaration)
    }
    edges = {
        declaration.name.text: _edge(declaration, nodes, interfaces)
        for declaration in tree.declarations
        if isinstance(declaration, ast.EdgeDeclaration)
    }
    catalog = Catalog(interfaces, nodes, edges)
    _check_identities(tree.declarations, catalog)
    return catalog


def _check_names(declarations: Iterable[ast.Declaration]) -> None:
    """Check that types have different names, and that names of edges differ by more than case."""
    by_name: dict[str, ast.Declaration] = {}
    edges: dict[str, str] = {}
    for declaration in declarations:
        name = declaration.name.text
        if name in by_name:
            kind = type(by_name[name]).__name__.removesuffix("Declaration").lower()
            raise wrong(
                declaration.name.span,
                f"There is already {'a' if kind == 'node' else 'an'} {kind} {name}.",
                "Names of types are unique; rename one of them, or remove it.",
            )
        by_name[name] = declaration
        if isinstance(declaration, ast.EdgeDeclaration):
            other = edges.setdefault(name.casefold(), name)
            if other != name:
                raise wrong(
                    declaration.name.span,
                    f"The edges {other} and {name} differ only in the case of their letters.",
                    "Names of edges are looked up without regard to case; rename one of them.",
                )


def _check_identities(declarations: Iterable[ast.Declaration], catalog: Catalog) -> None:
    """Check that KIP names of types, KIP names of predicates, and numbers are unique."""
    kip_names: dict[tuple[bool, str], str] = {}
    numbers: dict[int, str] = {}
    for declaration in declarations:
        schema_type = catalog.type(declaration.name.text)
        if schema_type is None:
            continue
        name, kip_name = schema_type.name, schema_type.kip_name
        other = kip_names.setdefault((schema_type.kind == "edge", kip_name), name)
        if other != name:
            raise wrong(
                declaration.name.span,
                f"{other} and {name} are both called {kip_name!r} in KIP.",
                "Change @kip, or one of the names.",
            )
        if numbers.setdefault(schema_type.type_id, name) != name:
            raise collision(name, numbers[schema_type.type_id], declaration.name.span)


def _interface(declaration: ast.InterfaceDeclaration) -> model.Interface:
    annotated = of_type(declaration.annotations, "interface")
    body = DeclarationBody("interface", declaration.name, declaration.members)
    return model.Interface(
        declaration.name.text,
        type_id("interface", declaration.name.text),
        annotated.stored,
        tuple(body.properties.values()),
        body.constraints(),
        annotated.renamed_from,
    )


def _node(
    declaration: ast.NodeDeclaration, interfaces: dict[str, model.Interface]
) -> model.NodeType:
    annotated = of_type(declaration.annotations, "node")
    body = DeclarationBody("node", declaration.name, declaration.members)
    implemented = _implemented(declaration, interfaces)
    inherited = list(_inherit(body, declaration.implements, implemented))
    return model.NodeType(
        declaration.name.text,
        type_id("node", declaration.name.text),
        annotated.stored,
        tuple(interface.name for interface in implemented),
        tuple(body.properties.values()),
        body.constraints(inherited),
        annotated.renamed_from,
    )


def _edge(
    declaration: ast.EdgeDeclaration,
    nodes: dict[str, model.NodeType],
    interfaces: dict[str, model.Interface],
) -> model.EdgeType:
    for end in (declaration.from_type, declaration.to_type):
        if end.text not in nodes:
            raise _unknown_end(end, nodes, interfaces)
    annotated = of_type(declaration.annotations, "edge")
    cardinality = _cardinality(declaration.card)
    for annotation in declaration.annotations:
        if annotation.name == model.FUNCTIONAL and cardinality.maximum is not None:
            raise wrong(
                annotation.span,
                "@functional keeps former edges, which a maximum of @card would count.",
                "Leave out the maximum of @card: an edge of @functional ends those before it.",
            )
    body = DeclarationBody("edge", declaration.name, declaration.members)
    return model.EdgeType(
        declaration.name.text,
        type_id("edge", declaration.name.text),
        declaration.from_type.text,
        declaration.to_type.text,
        cardinality,
        annotated.stored,
        tuple(body.properties.values()),
        body.constraints(),
        annotated.renamed_from,
    )


def _unknown_end(
    end: ast.Name, nodes: dict[str, model.NodeType], interfaces: dict[str, model.Interface]
) -> SchemaError:
    if end.text in interfaces:
        implementing = [node.name for node in nodes.values() if end.text in node.implements]
        return wrong(
            end.span,
            f"{end.text} is an interface; an edge joins nodes.",
            hint_with_names("Name a node that implements it", implementing),
        )
    return wrong(
        end.span,
        f"There is no node {end.text}.",
        close_to(end.text, nodes) or f"Declare it: node {end.text} {{}}.",
    )


def _cardinality(card: ast.Card | None) -> model.Cardinality:
    if card is None:
        return model.Cardinality()
    if card.maximum == 0:
        raise wrong(
            card.span,
            "The maximum of @card is 0, which allows no edge.",
            "Write at least 1, or * for any number.",
        )
    if card.maximum is not None and card.minimum > card.maximum:
        raise wrong(
            card.span,
            f"The minimum of @card, {card.minimum}, is above the maximum, {card.maximum}.",
            f"Write @card({card.maximum}..{card.minimum}).",
        )
    return model.Cardinality(card.minimum, card.maximum)


def _implemented(
    declaration: ast.NodeDeclaration, interfaces: dict[str, model.Interface]
) -> list[model.Interface]:
    parents: dict[str, model.Interface] = {}
    for name in declaration.implements:
        if name.text not in interfaces:
            raise wrong(
                name.span,
                f"There is no interface {name.text}.",
                close_to(name.text, interfaces) or f"Declare it: interface {name.text} {{}}.",
            )
        if name.text in parents:
            raise wrong(name.span, f"{name.text} is named twice.", "Name each interface once.")
        parents[name.text] = interfaces[name.text]
    return list(parents.values())


def _inherit(
    body: DeclarationBody, names: Sequence[ast.Name], interfaces: Sequence[model.Interface]
) -> Iterator[tuple[str, model.Constraint]]:
    """Append properties that a node lacks; yields their constraints, each with its interface."""
    for name, interface in zip(names, interfaces, strict=True):
        added: set[str] = set()
        for property_ in interface.properties:
            present = body.properties.get(property_.name)
            if present is None:
                number = body.new_number(property_.name, name.span)
                body.spans[property_.name, ""] = name.span
                body.properties[property_.name] = replace(
                    property_, prop_id=number, inherited_from=interface.name
                )
            elif present.type != property_.type:
                raise _disagreement(body, name, present, property_)
            if present is None or present.inherited_from is not None:
                added.add(property_.name)
        for constraint in interface.constraints:
            if added.issuperset(model.columns_of(constraint)):
                yield interface.name, constraint


def _disagreement(
    body: DeclarationBody, name: ast.Name, present: model.Property, demanded: model.Property
) -> SchemaError:
    present_type, demanded_type = brief(present.type), brief(demanded.type)
    if present.inherited_from is None:
        return wrong(
            body.span(present.name),
            f"{body.name}.{present.name} is {present_type}, but {name.text} demands"
            f" {demanded_type}.",
            f"Write `{present.name}: {demanded_type}`, or leave the property to the interface.",
        )
    return wrong(
        name.span,
        f"{present.inherited_from} and {name.text} disagree about {present.name}:"
        f" {present_type} there, {demanded_type} here.",
        "Give it the same type in both, or implement only one of them.",
    )
