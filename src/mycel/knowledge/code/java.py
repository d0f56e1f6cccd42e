"""Java."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from mycel.knowledge.code.language_rules import (
    CALLEE_BYTES_MAX,
    Syntax,
    dotted,
    field_text,
    first_child,
    short_text,
)
from mycel.knowledge.code.module_paths import Files, Home, Locator, Unit
from mycel.knowledge.code.prose_patterns import CHARACTER, COMMENT, LINE_COMMENT, STRING, TRIPLE
from mycel.knowledge.code.source_facts import Import

if TYPE_CHECKING:
    from tree_sitter import Node

_OBJECTS: Final = frozenset({"this", "super"})

_PROSE: Final = re.compile(b"|".join((LINE_COMMENT, COMMENT, TRIPLE, STRING, CHARACTER)), re.DOTALL)


class JavaLocator(Locator):
    """Finds packages by the declarations in the files."""

    class_members_visible = True
    names_are_shared = True

    def __init__(self, files: Files) -> None:
        super().__init__(files)
        packages: defaultdict[str, list[str]] = defaultdict(list)
        for path in files.of(("java",)):
            packages[files.facts[path].package].append(path)
        self._packages = {package: tuple(paths) for package, paths in packages.items()}

    def locate(self, path: str, imported: Import) -> Unit | None:
        parts = imported.module.split(".")
        for length in range(len(parts), 0, -1):
            package = ".".join(parts[:length])
            if package in self._packages:
                rest = tuple(parts[length:])
                return Unit(self._packages[package], rest=rest)
        return None

    def home(self, path: str) -> Home:
        return (self.files.facts[path].package,)


class Java(Syntax):
    language = "java"
    wheel = "tree_sitter_java"
    locator = JavaLocator
    prose = _PROSE
    has_bare_members = True
    facts = """
        (package_declaration [(scoped_identifier) (identifier)] @package)
        (class_declaration) @symbol.class
        (interface_declaration) @symbol.interface
        (annotation_type_declaration) @symbol.interface
        (enum_declaration) @symbol.enum
        (record_declaration) @symbol.record
        (method_declaration) @symbol.method
        (constructor_declaration) @symbol.constructor
        (import_declaration) @import
        (method_invocation) @call
        (object_creation_expression type: (_) @new)
    """
    bindings = """
        (formal_parameter name: (identifier) @bound)
        (local_variable_declaration declarator: (variable_declarator name: (identifier) @bound))
        (enhanced_for_statement name: (identifier) @bound)
        (catch_formal_parameter name: (identifier) @bound)
        (resource name: (identifier) @bound)
        (inferred_parameters (identifier) @bound)
        (lambda_expression parameters: (identifier) @bound)
        (formal_parameter) @typed
        (local_variable_declaration) @typed
        (enhanced_for_statement) @typed
        (field_declaration) @field
        (record_declaration parameters: (formal_parameters (formal_parameter) @field))
    """
    member = ("object", "name")
    result = "type"

    def exported(self, node: Node, name: str, source: bytes) -> bool:
        first = first_child(node)
        if first is not None and first.type == "modifiers":
            words = short_text(first, source).split()
            return "public" in words or ("private" not in words and "protected" not in words)
        return True

    def base_nodes(self, node: Node) -> Iterator[Node | None]:
        for clause in node.named_children:
            if clause.type in ("superclass", "super_interfaces", "extends_interfaces"):
                first = first_child(clause)
                is_list = first is not None and first.type == "type_list"
                yield from first.named_children if first is not None and is_list else (first,)

    def declared_names(self, node: Node, source: bytes) -> Iterator[tuple[Node, str]]:
        of = self.type_name(field_text(node, "type", source))
        for declarator in node.children_by_field_name("declarator") or [node]:
            name, value = (declarator.child_by_field_name(field) for field in ("name", "value"))
            if name is not None:
                type_name = self.maker(value, source) if of == "var" and value is not None else ""
                yield name, type_name if of == "var" else of

    def maker(self, node: Node, source: bytes) -> str:
        if node.type == "object_creation_expression":
            return dotted(field_text(node, "type", source))
        parts = self._invoked(node, source) if node.type == "method_invocation" else ()
        return "" if _is_on_value(parts) else ".".join(parts)

    def _invoked(self, node: Node, source: bytes) -> tuple[str, ...]:
        arguments = node.child_by_field_name("arguments")
        start = node.start_byte
        end = arguments.start_byte if arguments is not None else start
        if end - start > CALLEE_BYTES_MAX:
            return ()
        return self.parts(source[start:end].decode("utf-8", "replace"))

    def callee(self, node: Node, source: bytes) -> tuple[str, ...]:
        if node.type != "method_invocation":
            return self.parts(short_text(node, source))
        parts = self._invoked(node, source)
        if _is_on_value(parts):
            return (f".{parts[0]}", *parts[1:])
        return parts or super().callee(node, source)

    def imports(self, node: Node, source: bytes) -> Iterator[Import]:
        text = short_text(node, source).removeprefix("import").strip().rstrip(";").strip()
        is_static = text.startswith("static ")
        path = "".join(text.removeprefix("static ").split())
        module, _, name = path.rpartition(".")
        if module:
            yield Import(module, ((name, name),), form="static" if is_static else "")


def _is_on_value(parts: tuple[str, ...]) -> bool:
    """True if a callee begins with a variable or field; a class would begin with a capital."""
    return len(parts) > 1 and parts[0][:1].islower() and parts[0] not in _OBJECTS
