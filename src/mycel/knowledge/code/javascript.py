"""JavaScript and TypeScript, with JSX."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar, Final

from mycel.knowledge.code.facts import Import
from mycel.knowledge.code.syntax import Syntax, dotted, identifier, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_FUNCTIONS: Final = frozenset({"arrow_function", "function_expression", "generator_function"})
_CLASSES: Final = frozenset({"class"})
_PRIVATE: Final = re.compile(rb"(?:private|protected)\b")
_COMMENT: Final = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_SPECIFIER: Final = re.compile(r"(?:type\s+)?([\w$]+|\"[^\"]*\")(?:\s+as\s+([\w$]+))?")
_PATTERN: Final = re.compile(r"([\w$]+)(?:\s*:\s*([\w$]+))?")
_PAIR: Final = re.compile(r"([\w$]+)(?:\s*:\s*([\w$]+))?\s*(?=,|$)")
_NAMESPACE: Final = re.compile(r"\*\s*as\s+([\w$]+)")
_DEFAULT: Final = re.compile(r"^\s*([\w$]+)\s*(?:,|$)")
_BRACES: Final = re.compile(r"\{([^{}]*)\}", re.DOTALL)

_COMMON: Final = """
    (class_declaration) @symbol.class
    (function_declaration) @symbol.function
    (generator_function_declaration) @symbol.function
    (method_definition) @symbol.method
    (variable_declarator value: [(arrow_function) (function_expression)]) @symbol.function
    (variable_declarator value: (class)) @symbol.class
    (program (lexical_declaration (variable_declarator name: (identifier)) @symbol.constant))
    (program (export_statement (lexical_declaration
        (variable_declarator name: (identifier)) @symbol.constant)))
    (export_statement value: [(class) (function_expression) (arrow_function)] @symbol.function)
    (import_statement) @import
    (export_statement source: (string)) @import
    (call_expression function: (identifier) @_require arguments: (arguments . (string) .)
        (#eq? @_require "require")) @import
    (call_expression function: (import) arguments: (arguments . (string))) @import
    (variable_declarator name: [(identifier) (object_pattern)] value: (call_expression
        function: (identifier) @_require arguments: (arguments . (string) .))
        (#eq? @_require "require")) @import
    (export_statement !source) @export
    (expression_statement (assignment_expression left: (member_expression) @_target)
        (#match? @_target "^(module\\\\.)?exports")) @export
    (call_expression function: [(identifier) (member_expression)] @call)
    (new_expression constructor: [(identifier) (member_expression)] @new)
"""
_JSX: Final = """
    (jsx_opening_element name: [(identifier) (member_expression)] @new)
    (jsx_self_closing_element name: [(identifier) (member_expression)] @new)
"""
_BINDINGS: Final = """
    (variable_declarator name: (identifier) @bound)
    (shorthand_property_identifier_pattern) @bound
    (pair_pattern value: (identifier) @bound)
    (array_pattern (identifier) @bound)
    (assignment_pattern left: (identifier) @bound)
    (rest_pattern (identifier) @bound)
    (arrow_function parameter: (identifier) @bound)
    (catch_clause parameter: (identifier) @bound)
    (for_in_statement left: (identifier) @bound)
"""


class JavaScript(Syntax):
    language = "javascript"
    wheel = "tree_sitter_javascript"
    facts = _COMMON + _JSX + "(field_definition value: (arrow_function)) @symbol.method"
    bindings = _BINDINGS + "(formal_parameters (identifier) @bound)"
    receivers: ClassVar[frozenset[str]] = frozenset({"this"})
    names_from_elsewhere = False

    def name(self, node: Node, source: bytes) -> str:
        if node.type in _FUNCTIONS or node.type in _CLASSES:
            named = node.child_by_field_name("name")
            return identifier(named, source) if named is not None else "default"
        found = node.child_by_field_name("name") or node.child_by_field_name("property")
        if found is None or found.type in ("object_pattern", "array_pattern", "string"):
            return ""
        if found.type == "nested_identifier":
            return dotted(text_of(found, source))
        name = identifier(found, source)
        value = node.child_by_field_name("value") if node.type == "variable_declarator" else None
        if value is not None and value.type == "call_expression":
            called = value.child_by_field_name("function")
            # `const x = require("y")` is an import.
            if called is not None and text_of(called, source) == "require":
                return ""
        return name

    def kind(self, node: Node, kind: str) -> str:
        if node.type in _CLASSES:
            return "class"
        return kind

    def body(self, node: Node) -> Node | None:
        value = node.child_by_field_name("value")
        return (value if value is not None else node).child_by_field_name("body")

    def signature(self, text: str) -> str:
        return text.rstrip(" \n{;").removesuffix("=>").rstrip()

    def exported(self, node: Node, name: str, source: bytes) -> bool:
        start = node.start_byte
        if node.type in ("method_definition", "field_definition", "public_field_definition"):
            return not name.startswith("#") and _PRIVATE.match(source, start) is None
        if node.type in _MEMBERS:
            return True
        line = source.rfind(b"\n", 0, start) + 1
        return source[line:start].lstrip().startswith(b"export")

    def bases(self, node: Node, source: bytes) -> Iterator[str]:
        if node.type == "variable_declarator":
            node = node.child_by_field_name("value") or node
        for child in node.named_children:
            if child.type not in ("class_heritage", "extends_type_clause"):
                continue
            clauses = [c for c in child.named_children if c.type.endswith("_clause")] or [child]
            for clause in clauses:
                for base in clause.named_children:
                    if base.type == "type_arguments":
                        continue
                    name = dotted(text_of(base, source))
                    if name:
                        yield name

    def imports(self, node: Node, source: bytes) -> Iterable[Import]:
        text = _COMMENT.sub(" ", text_of(node, source)) if b"/" in source else ""
        match node.type:
            case "variable_declarator":
                return _required(node, source)
            case "call_expression":
                return _called(node, source)
            case _:
                return _stated(text, node, source)

    def exports(self, node: Node, source: bytes) -> Iterator[tuple[str, str]]:
        text = _COMMENT.sub(" ", text_of(node, source))
        if node.type == "expression_statement":
            yield from _assigned_exports(text)
        elif (found := re.match(r"export\s*(?:type\s*)?\{([^}]*)\}", text)) is not None:
            for name, alias in _SPECIFIER.findall(found[1]):
                yield alias or name, name
        elif (found := re.match(r"export\s+default\s+([\w$]+)\s*;?\s*$", text)) is not None:
            yield "default", found[1]
        elif (found := re.match(_DEFAULT_DECLARATION, text)) is not None:
            yield "default", found[1] or "default"
        elif (found := re.match(r"export\s*=\s*([\w$]+)", text)) is not None:
            yield "default", found[1]


_MEMBERS: Final = frozenset({"method_signature", "abstract_method_signature"})
_DEFAULT_DECLARATION: Final = (
    r"export\s+default\s+(?:abstract\s+)?(?:async\s+)?"
    r"(?:class|function)\b\s*\*?\s*(?!extends\b)([\w$]+)?"
)


class TypeScript(JavaScript):
    language = "typescript"
    wheel = "tree_sitter_typescript"
    entry = "language_typescript"
    facts = (
        _COMMON
        + """
        (abstract_class_declaration) @symbol.class
        (interface_declaration) @symbol.interface
        (enum_declaration) @symbol.enum
        (type_alias_declaration) @symbol.type
        (internal_module) @symbol.namespace
        (function_signature) @symbol.function
        (method_signature) @symbol.method
        (abstract_method_signature) @symbol.method
        (public_field_definition value: (arrow_function)) @symbol.method
    """
    )
    bindings = (
        _BINDINGS
        + """
        (required_parameter pattern: (identifier) @bound)
        (optional_parameter pattern: (identifier) @bound)
    """
    )


class Tsx(TypeScript):
    language = "tsx"
    entry = "language_tsx"
    facts = TypeScript.facts + _JSX


def _source(node: Node, source: bytes) -> str:
    found = node.child_by_field_name("source")
    return text_of(found, source)[1:-1] if found is not None else ""


def _stated(text: str, node: Node, source: bytes) -> Iterator[Import]:
    """`import … from` and `export … from`."""
    module = _source(node, source)
    if not module:
        # import fs = require("fs")
        found = re.match(r"import\s+([\w$]+)\s*=\s*require\(\s*[\"']([^\"']+)", text)
        if found is not None:
            yield Import(found[2], (("default", found[1]),), alias=found[1], form="require")
        return
    head = text.rpartition("from")[0] if "from" in text else ""
    reexport = text.startswith("export")
    clause = re.sub(r"^(?:import|export)\s*(?:type\b(?!\s*,))?", "", head)
    names: list[tuple[str, str]] = []
    if (braces := _BRACES.search(clause)) is not None:
        names += [(name.strip('"'), alias or name) for name, alias in _SPECIFIER.findall(braces[1])]
        clause = clause[: braces.start()]
    alias = ""
    if (namespace := _NAMESPACE.search(clause)) is not None:
        alias = namespace[1]
        clause = clause[: namespace.start()]
    elif reexport and "*" in clause:
        names.append(("*", "*"))
    elif (default := _DEFAULT.match(clause)) is not None:
        names.insert(0, ("default", default[1]))
    if namespace is not None and (default := _DEFAULT.match(clause)) is not None:
        names.insert(0, ("default", default[1]))
    yield Import(module, tuple(names), alias=alias, form="reexport" if reexport else "")


def _argument(node: Node, source: bytes) -> str:
    arguments = node.child_by_field_name("arguments")
    first = arguments.named_child(0) if arguments is not None else None
    return text_of(first, source)[1:-1] if first is not None else ""


def _called(node: Node, source: bytes) -> Iterator[Import]:
    """`require("x")` or `import("x")` whose value has no name."""
    function = node.child_by_field_name("function")
    before = source[max(0, node.start_byte - 2) : node.start_byte].rstrip()
    # The declaration around it is an import as well, and says more.
    if function is not None and function.type != "import" and before.endswith(b"="):
        return
    module = _argument(node, source)
    if module:
        yield Import(module, form="require")


def _required(node: Node, source: bytes) -> Iterator[Import]:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    module = _argument(value, source) if value is not None else ""
    if name is None or not module:
        return
    text = text_of(name, source)
    if name.type == "identifier":
        yield Import(module, (("default", text),), alias=text, form="require")
    else:
        pairs = tuple((there, here or there) for there, here in _PATTERN.findall(text))
        yield Import(module, pairs, form="require")


def _assigned_exports(text: str) -> Iterator[tuple[str, str]]:
    """`module.exports = f`, `module.exports = {a, b: c}`, `exports.a = b`."""
    target, _, value = text.partition("=")
    value = value.strip().rstrip(";").strip()
    name = target.strip().removeprefix("module.").removeprefix("exports").removeprefix(".")
    if re.fullmatch(r"[\w$]+", value):
        yield name or "default", value
    elif not name and value.startswith("{"):
        for outside, inside in _PAIR.findall(value.strip("{} \n")):
            yield outside, inside or outside
