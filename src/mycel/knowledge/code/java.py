"""Java."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from mycel.knowledge.code.facts import Import
from mycel.knowledge.code.syntax import CALLEE_BYTES_MAX, Syntax, dotted, short_text

if TYPE_CHECKING:
    from tree_sitter import Node


class Java(Syntax):
    language = "java"
    wheel = "tree_sitter_java"
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
    """
    receivers: ClassVar[frozenset[str]] = frozenset({"this"})

    def exported(self, node: Node, name: str, source: bytes) -> bool:
        first = node.named_child(0)
        if first is not None and first.type == "modifiers":
            words = short_text(first, source).split()
            return "public" in words or ("private" not in words and "protected" not in words)
        return True

    def bases(self, node: Node, source: bytes) -> Iterator[str]:
        for child in node.named_children:
            if child.type not in ("superclass", "super_interfaces", "extends_interfaces"):
                continue
            first = child.named_child(0)
            types = (
                first.named_children if first is not None and first.type == "type_list" else [first]
            )
            for base in types:
                name = dotted(short_text(base, source)) if base is not None else ""
                if name:
                    yield name

    def callee(self, node: Node, source: bytes) -> tuple[str, ...]:
        if node.type != "method_invocation":
            return super().callee(node, source)
        arguments = node.child_by_field_name("arguments")
        start = node.start_byte
        end = arguments.start_byte if arguments is not None else start
        if end - start > CALLEE_BYTES_MAX:
            return ()
        return self.parts(source[start:end].decode("utf-8", "replace"))

    def may_resolve(self, parts: tuple[str, ...], known: frozenset[str]) -> bool:
        # A class of the same package needs no import; by convention it begins with a capital.
        return super().may_resolve(parts, known) or parts[0][:1].isupper()

    def imports(self, node: Node, source: bytes) -> Iterator[Import]:
        text = short_text(node, source).removeprefix("import").strip().rstrip(";").strip()
        is_static = text.startswith("static ")
        path = "".join(text.removeprefix("static ").split())
        module, _, name = path.rpartition(".")
        if module:
            yield Import(module, ((name, name),), form="static" if is_static else "")
