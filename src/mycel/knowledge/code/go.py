"""Go."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Final

from mycel.knowledge.code.language_rules import Syntax, dotted, short_text
from mycel.knowledge.code.source_facts import Import

if TYPE_CHECKING:
    from tree_sitter import Node

_RECEIVER: Final = re.compile(r"\(\s*+(?:(\w++)\s++)?\*?\s*+(\w++)")
_VERSION: Final = re.compile(r"v\d+")


class Go(Syntax):
    language = "go"
    wheel = "tree_sitter_go"
    facts = """
        (package_clause (package_identifier) @package)
        (type_spec) @symbol.type
        (type_alias) @symbol.type
        (function_declaration) @symbol.function
        (method_declaration) @symbol.method
        (method_elem) @symbol.method
        (source_file (const_declaration (const_spec) @symbol.constant))
        (source_file (var_declaration (var_spec) @symbol.variable))
        (import_spec) @import
        (call_expression function: [(identifier) (selector_expression)] @call)
        (composite_literal type: [(type_identifier) (qualified_type)] @new)
    """
    bindings = """
        (parameter_declaration name: (identifier) @bound)
        (variadic_parameter_declaration name: (identifier) @bound)
        (short_var_declaration left: (expression_list (identifier) @bound))
        (range_clause left: (expression_list (identifier) @bound))
        (var_spec name: (identifier) @bound)
        (const_spec name: (identifier) @bound)
        (parameter_declaration) @typed
        (short_var_declaration) @typed
        (var_spec) @typed
        (field_declaration) @field
    """
    member = ("operand", "field")
    result = "result"
    receivers: ClassVar[frozenset[str]] = frozenset()
    parents: ClassVar[frozenset[str]] = frozenset()

    def name(self, node: Node, source: bytes) -> str:
        name = super().name(node, source)
        if name and node.type == "method_declaration":
            owner = self._receiver(node, source)[1]
            return f"{owner}.{name}" if owner else name
        return name if name != "_" else ""

    def kind(self, node: Node, kind: str) -> str:
        if node.type == "type_spec":
            of = node.child_by_field_name("type")
            return {"struct_type": "struct", "interface_type": "interface"}.get(
                of.type if of is not None else "", kind
            )
        return kind

    def body(self, node: Node) -> Node | None:
        of = node.child_by_field_name("type")
        if of is not None and of.type in ("struct_type", "interface_type"):
            return of.named_child(0)
        return super().body(node)

    def exported(self, node: Node, name: str, source: bytes) -> bool:
        return name[:1].isupper()

    def bases(self, node: Node, source: bytes) -> Iterator[str]:
        """What a struct or an interface embeds."""
        of = node.child_by_field_name("type")
        if of is None:
            return
        if of.type == "struct_type":
            fields = of.named_children[0].named_children if of.named_child_count else []
        else:
            fields = of.named_children
        for member in fields:
            if member.type == "field_declaration" and member.child_by_field_name("name") is None:
                base = member.child_by_field_name("type")
            elif member.type == "type_elem" and member.named_child_count == 1:
                base = member.named_child(0)
            else:
                continue
            name = dotted(short_text(base, source).partition("[")[0]) if base is not None else ""
            if name:
                yield name

    def typed(self, node: Node, source: bytes) -> Iterator[tuple[int, str]]:
        names = node.children_by_field_name("name")
        left = node.child_by_field_name("left")
        names = left.named_children if left is not None else names
        for at, name in enumerate(names):
            # Of several results the first is the object, the others are errors and the like.
            yield name.start_byte, self._type(node, source) if not at or left is None else ""

    def fields(self, node: Node, source: bytes) -> Iterator[tuple[str, str]]:
        for name in node.children_by_field_name("name"):
            yield short_text(name, source), self._type(node, source)

    def _type(self, node: Node, source: bytes) -> str:
        """The type that is written for a variable, or what makes its value."""
        written = node.child_by_field_name("type")
        if written is not None:
            return self.type_name(short_text(written, source))
        values = node.child_by_field_name("right") or node.child_by_field_name("value")
        value = values.named_child(0) if values is not None else None
        return self.value_type(value, source)

    def maker(self, node: Node, source: bytes) -> str:
        if node.type == "unary_expression" and node.named_child_count:
            node = node.named_children[0]
        made = node.child_by_field_name("type") if node.type == "composite_literal" else None
        if made is not None:
            return self.type_name(short_text(made, source))
        return super().maker(node, source)

    def receiver(self, node: Node, source: bytes) -> str:
        return self._receiver(node, source)[0] if node.type == "method_declaration" else ""

    def _receiver(self, node: Node, source: bytes) -> tuple[str, str]:
        """The name of the object and its type."""
        found = node.child_by_field_name("receiver")
        words = _RECEIVER.match(short_text(found, source)) if found is not None else None
        return (words[1] or "", words[2]) if words is not None else ("", "")

    def imports(self, node: Node, source: bytes) -> Iterator[Import]:
        path, name = node.child_by_field_name("path"), node.child_by_field_name("name")
        module = short_text(path, source)[1:-1] if path is not None else ""
        if not module:
            return
        alias = short_text(name, source) if name is not None else ""
        if alias == ".":
            yield Import(module, (("*", "*"),))
        else:
            yield Import(
                module, alias=alias.replace("_", "", 1) if alias == "_" else alias or _last(module)
            )


def _last(module: str) -> str:
    """The name of a package as its path suggests: a version at the end is none."""
    parts = module.split("/")
    if len(parts) > 1 and _VERSION.fullmatch(parts[-1]):
        parts.pop()
    return parts[-1].removeprefix("go-").partition(".")[0]
