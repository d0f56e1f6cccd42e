"""C and C++."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Final

from mycel.knowledge.code.language_rules import (
    Syntax,
    dotted,
    identifier,
    short_text,
    without_generics,
)
from mycel.knowledge.code.source_facts import Import

if TYPE_CHECKING:
    from tree_sitter import Node

_DECLARATORS_MAX: Final = 16
_OWNED: Final = re.compile(r"(?>(?:[\w$]++::)*)(?:operator\W.*+|~?[\w$]++)")
_PROTOTYPE: Final = """
    (declaration declarator: [
        (function_declarator)
        (pointer_declarator declarator: (function_declarator))
    ]) @symbol.prototype
"""


class C(Syntax):
    language = "c"
    wheel = "tree_sitter_c"
    facts = (
        """
        (function_definition) @symbol.function
        (struct_specifier name: (_) body: (_)) @symbol.struct
        (union_specifier name: (_) body: (_)) @symbol.struct
        (enum_specifier name: (_) body: (_)) @symbol.enum
        (type_definition) @symbol.type
        (preproc_function_def) @symbol.macro
        (preproc_include) @import
        (call_expression function: (_) @call)
    """
        + _PROTOTYPE
    )
    bindings = """
        (parameter_declaration declarator: (identifier) @bound)
        (pointer_declarator declarator: (identifier) @bound)
        (array_declarator declarator: (identifier) @bound)
        (init_declarator declarator: (identifier) @bound)
        (declaration declarator: (identifier) @bound)
        (parameter_declaration) @typed
        (declaration) @typed
        (field_declaration) @field
    """
    member = ("argument", "field")
    result = "type"
    receivers: ClassVar[frozenset[str]] = frozenset({"this"})
    parents: ClassVar[frozenset[str]] = frozenset()

    flat_kinds: ClassVar[frozenset[str]] = frozenset({"type", "prototype", "macro"})

    def name(self, node: Node, source: bytes) -> str:
        match node.type:
            case "function_definition" | "declaration" | "field_declaration":
                return _declared(node, source)
            case "type_definition":
                declarator = node.child_by_field_name("declarator")
                of = node.child_by_field_name("type")
                name = identifier(declarator, source) if declarator is not None else ""
                tag = of.child_by_field_name("name") if of is not None else None
                # `typedef struct a {…} a;` is one thing.
                is_same = tag is not None and short_text(tag, source) == name
                return "" if is_same else name
            case _:
                found = node.child_by_field_name("name")
                return _owned(short_text(found, source)) if found is not None else ""

    def exported(self, node: Node, name: str, source: bytes) -> bool:
        return not source.startswith(b"static", node.start_byte)

    def signature(self, text: str) -> str:
        return text.rstrip(" \n{:;")

    def body(self, node: Node) -> Node | None:
        if node.type in ("preproc_function_def", "type_definition"):
            return node.child_by_field_name("value")
        return node.child_by_field_name("body")

    def callee(self, node: Node, source: bytes) -> tuple[str, ...]:
        parts = super().callee(node, source)
        # `a.b()` and `a->b()` call a method of a value, unless it is `this`.
        if node.type == "field_expression" and parts and parts[0].isidentifier():
            return parts if parts[0] == "this" else (f".{parts[0]}", *parts[1:])
        return parts

    def typed(self, node: Node, source: bytes) -> Iterator[tuple[int, str]]:
        for name, of in self._variables(node, source):
            yield name.start_byte, of

    def fields(self, node: Node, source: bytes) -> Iterator[tuple[str, str]]:
        for name, of in self._variables(node, source):
            yield short_text(name, source), of

    def _variables(self, node: Node, source: bytes) -> Iterator[tuple[Node, str]]:
        """The variables of a declaration, without its functions, with their types."""
        written = node.child_by_field_name("type")
        of = self.type_name(short_text(written, source)) if written is not None else ""
        for declarator in node.children_by_field_name("declarator"):
            name = _variable(declarator)
            value = declarator.child_by_field_name("value")
            if name is not None and of == "auto":
                yield name, self.value_type(value, source)
            elif name is not None:
                yield name, of

    def maker(self, node: Node, source: bytes) -> str:
        made = node.child_by_field_name("type") if node.type == "new_expression" else None
        return dotted(short_text(made, source)) if made is not None else super().maker(node, source)

    def imports(self, node: Node, source: bytes) -> Iterator[Import]:
        path = node.child_by_field_name("path")
        text = short_text(path, source) if path is not None else ""
        if len(text) > 2 and text[0] in '"<':
            yield Import(text[1:-1], (("*", "*"),), form="system" if text[0] == "<" else "")


class Cpp(C):
    language = "cpp"
    wheel = "tree_sitter_cpp"
    facts = (
        C.facts
        + """
        (declaration declarator: (reference_declarator (function_declarator))) @symbol.prototype
        (class_specifier name: (_) body: (_)) @symbol.class
        (namespace_definition name: (_)) @symbol.namespace
        (alias_declaration) @symbol.type
        (field_declaration declarator: [
            (function_declarator)
            (pointer_declarator declarator: (function_declarator))
            (reference_declarator (function_declarator))
        ]) @symbol.method
        (new_expression type: (_) @new)
    """
    )
    bindings = (
        C.bindings
        + """
        (reference_declarator (identifier) @bound)
        (for_range_loop declarator: (identifier) @bound)
        (lambda_capture_specifier (identifier) @bound)
    """
    )

    def bases(self, node: Node, source: bytes) -> Iterator[str]:
        for child in node.named_children:
            if child.type != "base_class_clause":
                continue
            for base in child.named_children:
                if base.type in ("type_identifier", "qualified_identifier", "template_type"):
                    name = dotted(short_text(base, source))
                    if name:
                        yield name


def _variable(declarator: Node) -> Node | None:
    """The name in a declarator of a variable; None for a function."""
    found: Node | None = declarator
    for _ in range(_DECLARATORS_MAX):
        if found is None or found.type == "function_declarator":
            return None
        if found.type in ("identifier", "field_identifier"):
            return found
        inner = found.child_by_field_name("declarator")
        if inner is None and found.type == "reference_declarator":
            inner = found.named_child(0)
        found = inner
    return None


def _declared(node: Node, source: bytes) -> str:
    """The name in a declarator: through pointers and references to the function."""
    found: Node | None = node
    for _ in range(_DECLARATORS_MAX):
        if found is None:
            return ""
        inner = found.child_by_field_name("declarator")
        if inner is None and found.type == "reference_declarator":
            inner = found.named_child(0)
        if found.type == "function_declarator":
            return _owned(short_text(inner, source)) if inner is not None else ""
        found = inner
    return ""


def _owned(text: str) -> str:
    """`a::B<T>::c` as `a.B.c`; "" for what is no name."""
    text = re.sub(r"\s+", "", text)
    if "operator" not in text:
        text = without_generics(text)
    return text.replace("::", ".") if _OWNED.fullmatch(text) is not None else ""
