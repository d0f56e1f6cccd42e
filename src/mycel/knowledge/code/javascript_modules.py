"""Imports and exports of JavaScript and TypeScript, of ES modules and of CommonJS.

A module of CommonJS is one value. `module.exports = f` exports it as "default", `exports.a = f`
exports `a`. A call of `require` whose value has no name, as in `require("./u").m()`, gets its text
as a name: see `required_name`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from mycel.knowledge.code.language_rules import field_text, first_child, identifier, short_text
from mycel.knowledge.code.source_facts import Import

if TYPE_CHECKING:
    from tree_sitter import Node

DEFAULT: Final = "default"
FUNCTIONS: Final = frozenset({"arrow_function", "function_expression", "generator_function"})
CLASSES: Final = frozenset({"class"})
EXPORTS: Final = ("exports", "module.exports")
_CHAIN_MAX: Final = 16
_REQUIRE: Final = re.compile(rb"require\s*+\(")
_REQUIRED: Final = re.compile(r"require\(\s*+(?:\"([^\"]++)\"|'([^']++)')\s*+\)((?:\.[\w$]++)*)")


def required_name(module: str) -> str:
    """The name given to the value of a call of `require` that no variable holds."""
    return f"require({module})"


def required_parts(text: str) -> tuple[str, ...]:
    """The parts of `require("./u").m`; () for other expressions.

    >>> required_parts("require('./u').m")
    ('require(./u)', 'm')
    """
    match = _REQUIRED.fullmatch(text)
    if match is None:
        return ()
    return (required_name(match[1] or match[2]), *match[3].split(".")[1:])


def exported_name(left: str) -> str | None:
    """The name that an assignment exports: "default" for the whole module, None if it exports none.

    >>> exported_name("module.exports"), exported_name("exports.a"), exported_name("a.b")
    ('default', 'a', None)
    """
    if left in EXPORTS:
        return DEFAULT
    base, _, name = left.rpartition(".")
    return name if base in EXPORTS else None


def imports(node: Node, source: bytes) -> Iterator[Import]:
    """The imports of an import statement, a re-export or a call of `require`."""
    match node.type:
        case "variable_declarator":
            return _declared(node, source)
        case "assignment_expression":
            return _passed_on(node, source)
        case "call_expression":
            return _called(node, source)
        case _:
            return _stated(node, source)


def exports(node: Node, source: bytes) -> Iterator[tuple[str, str]]:
    """Pairs of names that a file exports: the name outside, and the name in the file."""
    match node.type:
        case "assignment_expression":
            return _assigned(node, source)
        case "variable_declarator":
            return _also_exported(node, source)
        case _:
            return _exported(node, source)


# ES modules.


def _stated(node: Node, source: bytes) -> Iterator[Import]:
    """The imports of `import … from` and `export … from`."""
    children = node.named_children
    clause = children[0] if children else None
    module = field_text(node, "source", source)[1:-1]
    if not module:
        if clause is not None and clause.type == "import_require_clause":
            # import fs = require("fs")
            module = field_text(clause, "source", source)[1:-1]
            name = short_text(clause.named_children[0], source)
            yield Import(module, ((DEFAULT, name),), alias=name, form="require")
        return
    is_reexport = node.type == "export_statement"
    names: list[tuple[str, str]] = []
    alias = ""
    parts = clause.named_children if clause is not None else []
    if clause is not None and clause.type in ("export_clause", "namespace_export"):
        parts = [clause]
    for part in parts:
        match part.type:
            case "identifier":
                names.append((DEFAULT, short_text(part, source)))
            case "namespace_import" | "namespace_export" if part.named_children:
                alias = short_text(part.named_children[0], source)
            case "named_imports" | "export_clause":
                names += _specified(part, source)
    if is_reexport and not names and not alias:
        names.append(("*", "*"))
    yield Import(module, tuple(names), alias=alias, form="reexport" if is_reexport else "")


def _specified(clause: Node, source: bytes) -> Iterator[tuple[str, str]]:
    for child in clause.named_children:
        outer, inner = (field_text(child, field, source) for field in ("name", "alias"))
        if outer:
            yield outer.strip("\"'"), (inner or outer).strip("\"'")


def _exported(node: Node, source: bytes) -> Iterator[tuple[str, str]]:
    """The exports of `export {a as b}`, `export default a` and `export = a`."""
    for child in node.named_children:
        match child.type:
            case "export_clause":
                for name, alias in _specified(child, source):
                    yield alias, name
            case "identifier":
                yield DEFAULT, short_text(child, source)
    value = node.child_by_field_name("value")
    declaration = node.child_by_field_name("declaration")
    if value is not None and value.type in FUNCTIONS | CLASSES:
        yield DEFAULT, own_name(value, source)
    elif declaration is not None and any(child.type == DEFAULT for child in node.children):
        yield DEFAULT, own_name(declaration, source)


# CommonJS.


def _declared(node: Node, source: bytes) -> Iterator[Import]:
    """The imports of `a = require("x")`, `{a, b: c} = require("x")` and `a = require("x").b`."""
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is None or value is None or not is_required(value, source):
        return
    module, member = _required(value, source)
    text = identifier(name, source)
    if not module:
        return
    if member and text:
        yield Import(module, ((member, text),), form="require")
    elif text:
        yield Import(module, ((DEFAULT, text),), alias=text, form="require")
    elif name.type == "object_pattern":
        yield Import(module, tuple(_pattern(name, source)), form="require")


def _pattern(pattern: Node, source: bytes) -> Iterator[tuple[str, str]]:
    for child in pattern.named_children:
        has_default = child.type == "object_assignment_pattern"
        node = (child.child_by_field_name("left") if has_default else None) or child
        key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
        if node.type == "shorthand_property_identifier_pattern":
            yield short_text(node, source), short_text(node, source)
        elif key is not None and value is not None and value.type == "identifier":
            yield short_text(key, source), short_text(value, source)


def _passed_on(node: Node, source: bytes) -> Iterator[Import]:
    """The imports of `exports.a = require("x").b` and `module.exports = require("x")`."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None or not is_required(right, source):
        return
    module, member = _required(right, source)
    name = exported_name(short_text(left, source))
    if not module:
        return
    if name is None:
        yield Import(module, form="require")
    elif name == DEFAULT and not member:
        yield Import(module, ((DEFAULT, DEFAULT), ("*", "*")), form="reexport")
    else:
        yield Import(module, ((member or DEFAULT, name),), form="reexport")


def _called(node: Node, source: bytes) -> Iterator[Import]:
    """The import of `require("x")` or `import("x")` if its value has no name."""
    before = source[max(0, node.start_byte - 2) : node.start_byte].rstrip()
    module = _argument(node, source)
    if not is_required(node, source):
        if module and source.startswith(b"import", node.start_byte):
            yield Import(module, form="require")
    elif module and not before.endswith(b"="):
        # Otherwise the declaration or assignment around it is an import that says more.
        yield Import(module, ((DEFAULT, required_name(module)),), form="require")


def _required(value: Node, source: bytes) -> tuple[str, str]:
    """The module and the member in `require("x").a`; "" for a missing part."""
    member = ""
    if value.type == "member_expression":
        member = field_text(value, "property", source)
        value = value.child_by_field_name("object") or value
    return (_argument(value, source), member) if value.type == "call_expression" else ("", "")


def is_required(value: Node | None, source: bytes) -> bool:
    """True if a value is a call of `require`, or a member of its result."""
    return (
        value is not None
        and value.type in ("call_expression", "member_expression")
        and _REQUIRE.match(source, value.start_byte) is not None
    )


def _assigned(node: Node, source: bytes) -> Iterator[tuple[str, str]]:
    """The exports of `module.exports = f`, `module.exports = {a, b: c}` and `exports.a = b`."""
    name, value = exported_name(field_text(node, "left", source)), _last_value(node)
    if name is None or value is None:
        return
    if value.type == "identifier":
        yield name, short_text(value, source)
    elif value.type in FUNCTIONS | CLASSES:
        yield name, own_name(value, source) if name == DEFAULT else name
    elif value.type == "object" and name == DEFAULT:
        for member in value.named_children:
            yield from _property(member, source)


def _property(member: Node, source: bytes) -> Iterator[tuple[str, str]]:
    key, value = member.child_by_field_name("key"), member.child_by_field_name("value")
    if member.type == "shorthand_property_identifier":
        yield short_text(member, source), short_text(member, source)
    elif member.type == "method_definition":
        name = field_text(member, "name", source)
        yield name, name
    elif key is not None and value is not None:
        outside = short_text(key, source).strip("\"'")
        if value.type == "identifier":
            yield outside, short_text(value, source)
        elif value.type in FUNCTIONS | CLASSES:
            yield outside, outside


def _also_exported(node: Node, source: bytes) -> Iterator[tuple[str, str]]:
    """The exports of `var app = exports = module.exports = {}`."""
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    for _ in range(_CHAIN_MAX):
        left = value.child_by_field_name("left") if value is not None else None
        if left is None or value is None or name is None:
            return
        if short_text(left, source) == "module.exports":
            yield DEFAULT, short_text(name, source)
            return
        value = value.child_by_field_name("right")


def _last_value(node: Node) -> Node | None:
    """The value at the end of a chain of assignments."""
    value: Node | None = node
    for _ in range(_CHAIN_MAX):
        if value is None or value.type != "assignment_expression":
            return value
        value = value.child_by_field_name("right")
    return None


def own_name(node: Node, source: bytes) -> str:
    """The name of a class or function; "default" if it has none."""
    name = node.child_by_field_name("name")
    return identifier(name, source) if name is not None else DEFAULT


def _argument(call: Node, source: bytes) -> str:
    arguments = call.child_by_field_name("arguments")
    first = first_child(arguments) if arguments is not None else None
    is_string = first is not None and first.type == "string"
    return short_text(first, source)[1:-1] if is_string else ""
