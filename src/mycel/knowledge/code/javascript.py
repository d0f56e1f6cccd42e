"""JavaScript and TypeScript, with JSX."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Final

from mycel.knowledge.code import javascript_modules as modules
from mycel.knowledge.code.language_rules import (
    Syntax,
    child,
    dotted,
    field_text,
    identifier,
    short_text,
)
from mycel.knowledge.code.module_paths import Files, Locator, Unit, outward
from mycel.knowledge.code.prose_patterns import COMMENT, LINE_COMMENT, SINGLE, STRING, ProseFields
from mycel.knowledge.code.source_facts import FileFacts, Import

if TYPE_CHECKING:
    from tree_sitter import Node

_PRIVATE: Final = re.compile(rb"(?:private|protected)\b")
_LINE_BYTES_MAX: Final = 512
"""The number of bytes before a declaration in which `export` is searched for."""

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
    (assignment_expression left: (member_expression)
        right: [(arrow_function) (function_expression) (generator_function) (class)]
    ) @symbol.function
    (pair value: [(arrow_function) (function_expression)]) @symbol.function
    (import_statement) @import
    (export_statement source: (string)) @import
    (call_expression function: [(identifier) (import)] arguments: (arguments . (string))) @import
    (variable_declarator value: [
        (call_expression function: (identifier) arguments: (arguments . (string)))
        (member_expression object:
            (call_expression function: (identifier) arguments: (arguments . (string))))]) @import
    (assignment_expression left: (member_expression) right: [
        (call_expression function: (identifier) arguments: (arguments . (string)))
        (member_expression object:
            (call_expression function: (identifier) arguments: (arguments . (string))))]) @import
    (export_statement !source) @export
    (assignment_expression left: (member_expression)) @export
    (variable_declarator value: (assignment_expression)) @export
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
    (variable_declarator name: (identifier)) @typed
    (assignment_expression left: (member_expression object: (this))) @field
"""

_REGEX: Final = (
    rb"(?:(?<=[(,=:\[!&|?{;+])|(?<=[(,=:\[!&|?{;+] )|(?<=\breturn )|(?<=\btypeof )|(?<=\bcase ))"
    rb"/(?![/*])(?>(?:[^/\\\[\n]++|\\[^\n]|\[(?>(?:[^\]\\\n]++|\\[^\n])*)\])+)/\w*+"
)
# A field of a template may contain strings, braces and another template.
_INNER_TEMPLATE: Final = rb"`(?>(?:[^`\\]++|\\.)*)`?"
_TEMPLATE: Final = (
    rb"`(?>(?:[^`\\$]++|\\.|\$(?!\{)|\$\{(?>(?:[^{}`]++|\{[^{}]*+\}|" + _INNER_TEMPLATE + rb")*)\}?"
    rb")*)`?"
)
_PROSE: Final = re.compile(
    b"|".join((LINE_COMMENT, COMMENT, _REGEX, _TEMPLATE, SINGLE, STRING)), re.DOTALL
)
_OPENING: Final = re.compile(rb"`")
_NESTED_FIELD: Final = re.compile(rb"\\.|\$\{((?>(?:[^{}]++|\{[^{}]*+\})*))\}", re.DOTALL)
_TEMPLATE_FIELD: Final = re.compile(rb"\$\{([^{}\n]{1,300}+)\}")


class JavaScriptLocator(Locator):
    """Finds modules by relative paths, usual endings, index files, and `paths` of tsconfig.json."""

    _ENDINGS: ClassVar = tuple(
        "ts tsx d.ts js jsx mjs cjs mts cts json vue svelte".split()  # noqa: SIM905
    )
    _COMPILED: ClassVar = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",)}

    def __init__(self, files: Files) -> None:
        super().__init__(files)
        self._configurations = files.manifests("tsconfig")

    def locate(self, path: str, imported: Import) -> Unit | None:
        module, folder = imported.module, posixpath.dirname(path)
        if module.startswith("."):
            return self._file(posixpath.join(folder, module))
        for around in outward(folder, "/"):
            configuration = self._configurations.get(around)
            if configuration is not None:
                return self._mapped(around, configuration, module)
        return None

    def _mapped(self, folder: str, configuration: FileFacts, module: str) -> Unit | None:
        settings = dict(configuration.settings)
        base = posixpath.join(folder, settings.pop("baseUrl", "."))
        for key, target in settings.items():
            pattern = key.removeprefix("paths:")
            if pattern == module:
                return self._file(posixpath.join(base, target))
            if pattern.endswith("*") and module.startswith(pattern[:-1]):
                rest = module[len(pattern) - 1 :]
                return self._file(posixpath.join(base, target.removesuffix("*") + rest))
        has_base = any(name == "baseUrl" for name, _ in configuration.settings)
        return self._file(posixpath.join(base, module)) if has_base else None

    def _file(self, path: str) -> Unit | None:
        path = posixpath.normpath(path)
        if path.startswith(".."):
            return None
        path = "" if path == "." else path
        stem, ending = posixpath.splitext(path)
        candidates = [path, *(stem + other for other in self._COMPILED.get(ending, ()))]
        candidates += [f"{path}.{other}" for other in self._ENDINGS]
        candidates += [posixpath.join(path, f"index.{other}") for other in self._ENDINGS]
        file = next((file for file in candidates if file in self.files.paths), None)
        return Unit((file,)) if file is not None else None

    def external(self, imported: Import) -> str:
        parts = imported.module.split("/")
        if imported.module.startswith("."):
            return ""
        return "/".join(parts[:2]) if parts[0].startswith("@") else parts[0]


class JavaScript(Syntax):
    language = "javascript"
    wheel = "tree_sitter_javascript"
    locator = JavaScriptLocator
    prose = _PROSE
    prose_fields = ProseFields(_OPENING, _NESTED_FIELD)
    facts = _COMMON + _JSX + "(field_definition value: (arrow_function)) @symbol.method"
    bindings = _BINDINGS + "(formal_parameters (identifier) @bound)"
    names_from_elsewhere = False
    label_sign = b":"

    def string_fields(self, source: bytes, start: int, end: int) -> list[bytes]:
        if source.find(b"${", start, end) < 0:
            return []
        return _TEMPLATE_FIELD.findall(source, start, end)

    def name(self, node: Node, source: bytes) -> str:
        match node.type:
            case "assignment_expression":
                return _assigned_name(node, source)
            case "pair":
                return _property_name(node, source)
            case "variable_declarator" if modules.is_required(
                node.child_by_field_name("value"), source
            ):
                return ""  # `const x = require("y")` is an import.
        if node.type in modules.FUNCTIONS or node.type in modules.CLASSES:
            return modules.own_name(node, source)
        name_node = child(node, "name", "property")
        if name_node is None or name_node.type in ("object_pattern", "array_pattern", "string"):
            return ""
        if name_node.type == "nested_identifier":
            return dotted(short_text(name_node, source))
        return identifier(name_node, source)

    def kind(self, node: Node, kind: str) -> str:
        right = node.child_by_field_name("right") if node.type == "assignment_expression" else node
        return "class" if right is not None and right.type in modules.CLASSES else kind

    def body(self, node: Node) -> Node | None:
        return (child(node, "value", "right") or node).child_by_field_name("body")

    def signature(self, text: str) -> str:
        return text.rstrip(" \n{;").removesuffix("=>").rstrip()

    def exported(self, node: Node, name: str, source: bytes) -> bool:
        start = node.start_byte
        if node.type in ("method_definition", "field_definition", "public_field_definition"):
            return not name.startswith("#") and _PRIVATE.match(source, start) is None
        if node.type in _MEMBERS:
            return True
        floor = max(0, start - _LINE_BYTES_MAX)
        line = source.rfind(b"\n", floor, start) + 1 or floor
        return source[line:start].lstrip().startswith(b"export")

    def base_nodes(self, node: Node) -> Iterator[Node]:
        for heritage in (child(node, "value", "right") or node).named_children:
            if heritage.type not in ("class_heritage", "extends_type_clause"):
                continue
            clauses = [c for c in heritage.named_children if c.type.endswith("_clause")]
            for clause in clauses or [heritage]:
                for base in clause.named_children:
                    if base.type not in ("type_arguments", "subscript_expression"):
                        yield base

    def declared_names(self, node: Node, source: bytes) -> Iterator[tuple[Node, str]]:
        name = child(node, "name", "pattern")
        if name is not None:
            yield name, self.declared_type(node, source)

    def fields(self, node: Node, source: bytes) -> Iterator[tuple[str, str]]:
        left = node.child_by_field_name("left")
        name = child(left, "property") if left is not None else child(node, "name", "pattern")
        if name is not None:
            yield short_text(name, source), self.held_type(node, source)

    def value_type(self, node: Node | None, source: bytes) -> str:
        return "" if modules.is_required(node, source) else super().value_type(node, source)

    def callee(self, node: Node, source: bytes) -> tuple[str, ...]:
        text = short_text(node, source)
        required = modules.required_parts(text) if text.startswith("require") else ()
        return required or super().callee(node, source)

    def imports(self, node: Node, source: bytes) -> Iterator[Import]:
        return modules.imports(node, source)

    def exports(self, node: Node, source: bytes) -> Iterator[tuple[str, str]]:
        return modules.exports(node, source)


_MEMBERS: Final = frozenset(
    {"method_signature", "abstract_method_signature", "assignment_expression", "pair"}
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
        (required_parameter pattern: (identifier) type: (_)) @typed
        (optional_parameter pattern: (identifier) type: (_)) @typed
        (required_parameter (accessibility_modifier)) @field
        (public_field_definition) @field
    """
    )


class Tsx(TypeScript):
    language = "tsx"
    entry = "language_tsx"
    facts = TypeScript.facts + _JSX


def _assigned_name(node: Node, source: bytes) -> str:
    """The name of a function that an assignment gives to a property.

    `exports.a` defines `a`, `A.prototype.b` and `A.b` define `A.b`, `this.a` defines `a`.
    """
    name = dotted(field_text(node, "left", source))
    exported = modules.exported_name(name)
    if exported == modules.DEFAULT:
        right = node.child_by_field_name("right")
        return modules.own_name(right, source) if right is not None else ""
    return exported or name.replace(".prototype.", ".").removeprefix("this.")


def _property_name(node: Node, source: bytes) -> str:
    """The name of a function in an object that is exported or is a prototype; "" otherwise."""
    key, around = node.child_by_field_name("key"), node.parent
    assigned = around.parent if around is not None else None
    left = assigned.child_by_field_name("left") if assigned is not None else None
    if key is None or left is None:
        return ""
    name, owner = identifier(key, source), dotted(short_text(left, source))
    if owner in modules.EXPORTS:
        return name
    return f"{owner.removesuffix('.prototype')}.{name}" if owner.endswith(".prototype") else ""
