"""Rust."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Final

from mycel.knowledge.code.language_rules import Syntax, dotted, identifier, short_text, text_of
from mycel.knowledge.code.source_facts import Import

if TYPE_CHECKING:
    from tree_sitter import Node

_USE: Final = re.compile(r"^(?:pub(?:\s*+\([^)]*+\))?\s++)?use\s++")
_TOKEN: Final = re.compile(r"[{},]|\bas\s++\w++|(?:r#)?[\w*]++|::")
# A comment that is not closed goes on to the end.
_COMMENT: Final = re.compile(r"/\*(?:.*?\*/|.*+)|//[^\n]*+", re.DOTALL)
_USE_DEPTH_MAX: Final = 32
_USE_PARTS_MAX: Final = 64


class Rust(Syntax):
    language = "rust"
    wheel = "tree_sitter_rust"
    facts = """
        (struct_item) @symbol.struct
        (union_item) @symbol.struct
        (enum_item) @symbol.enum
        (trait_item) @symbol.trait
        (type_item) @symbol.type
        (function_item) @symbol.function
        (function_signature_item) @symbol.function
        (const_item) @symbol.constant
        (static_item) @symbol.constant
        (macro_definition) @symbol.macro
        (mod_item body: (_)) @symbol.module
        (impl_item) @scope
        (mod_item !body) @import
        (use_declaration) @import
        (call_expression function: [(identifier) (scoped_identifier) (field_expression)
            (generic_function)] @call)
        (macro_invocation macro: [(identifier) (scoped_identifier)] @call)
        (struct_expression name: (_) @new)
    """
    bindings = """
        (parameter pattern: (identifier) @bound)
        (let_declaration pattern: (identifier) @bound)
        (tuple_pattern (identifier) @bound)
        (tuple_struct_pattern (identifier) @bound)
        (closure_parameters (identifier) @bound)
        (for_expression pattern: (identifier) @bound)
        (ref_pattern (identifier) @bound)
        (mut_pattern (identifier) @bound)
        (parameter) @typed
        (let_declaration) @typed
        (field_declaration) @field
    """
    member = ("value", "field")
    receivers: ClassVar[frozenset[str]] = frozenset({"self", "Self"})
    parents: ClassVar[frozenset[str]] = frozenset()

    def name(self, node: Node, source: bytes) -> str:
        if node.type == "impl_item":
            of = node.child_by_field_name("type")
            return dotted(short_text(of, source)).rpartition(".")[2] if of is not None else ""
        found = node.child_by_field_name("name")
        name = identifier(found, source) if found is not None else ""
        # Constants inside functions and `const _` are nobody's business.
        return name if name != "_" else ""

    def exported(self, node: Node, name: str, source: bytes) -> bool:
        if node.type in ("function_signature_item", "impl_item"):
            return True
        first = node.named_child(0)
        return (first is not None and first.type == "visibility_modifier") or (
            node.type == "macro_definition"
        )

    def bases(self, node: Node, source: bytes) -> Iterator[str]:
        if node.type == "impl_item":
            trait = node.child_by_field_name("trait")
            nodes = [trait] if trait is not None else []
        else:
            bounds = node.child_by_field_name("bounds")
            nodes = bounds.named_children if bounds is not None else []
        for base in nodes:
            name = dotted(short_text(base, source))
            if name:
                yield name

    def typed(self, node: Node, source: bytes) -> Iterator[tuple[int, str]]:
        name = node.child_by_field_name("pattern")
        if name is not None and name.type == "mut_pattern" and name.named_child_count:
            name = name.named_children[-1]
        if name is not None:
            yield name.start_byte, self._type(node, source)

    def fields(self, node: Node, source: bytes) -> Iterator[tuple[str, str]]:
        name = node.child_by_field_name("name")
        if name is not None:
            yield short_text(name, source), self._type(node, source)

    def _type(self, node: Node, source: bytes) -> str:
        """The type that is written for a variable, or what makes its value."""
        written = node.child_by_field_name("type")
        if written is not None:
            return self.type_name(short_text(written, source))
        return self.value_type(node.child_by_field_name("value"), source)

    def maker(self, node: Node, source: bytes) -> str:
        if node.type in ("try_expression", "await_expression", "reference_expression"):
            node = node.named_children[-1] if node.named_child_count else node
        made = node.child_by_field_name("name") if node.type == "struct_expression" else None
        return dotted(short_text(made, source)) if made is not None else super().maker(node, source)

    def callee(self, node: Node, source: bytes) -> tuple[str, ...]:
        parts = super().callee(node, source)
        # `a.b()` is a method of a value unless `a` is `self`; `a::b()` is a path.
        if node.type == "field_expression" and parts and parts[0].isidentifier():
            return parts if parts[0] == "self" else (f".{parts[0]}", *parts[1:])
        return parts

    def imports(self, node: Node, source: bytes) -> Iterator[Import]:
        if node.type == "mod_item":
            name = self.name(node, source)
            if name:
                yield Import(name, alias=name, form="mod")
            return
        text = _COMMENT.sub(" ", text_of(node, source))
        is_public = text.startswith("pub")
        for path, alias in use_paths(_USE.sub("", text).rstrip("; \n")):
            yield _used(path, alias, "reexport" if is_public else "")


def _used(path: tuple[str, ...], alias: str, form: str) -> Import:
    module, name = "::".join(path[:-1]), path[-1]
    if name == "*":
        return Import(module, (("*", "*"),), form=form)
    if name == "self" and module:
        *_, name = path[:-1]
        module = "::".join(path[:-2])
    return Import(module, ((name, alias or name),), form=form)


def use_paths(tree: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The paths of a use tree, each with its alias or "".

    >>> list(use_paths("a::{b, c as d}"))
    [(('a', 'b'), ''), (('a', 'c'), 'd')]
    """
    prefixes: list[tuple[str, ...]] = []
    path: tuple[str, ...] = ()
    alias = ""
    for token in (*_TOKEN.findall(tree), ","):
        if token == "{":
            if len(prefixes) >= _USE_DEPTH_MAX:
                return
            prefixes.append(path)
        elif token in "},":
            base = prefixes[-1] if prefixes else ()
            if len(path) > len(base):
                yield path, alias
            if token == "}" and prefixes:
                prefixes.pop()
            # After a closing brace what follows belongs to the list around it.
            path, alias = (prefixes[-1] if prefixes else ()), ""
        elif token.startswith(("as ", "as\t")):
            alias = token.split()[-1]
        elif token != "::":
            if len(path) >= _USE_PARTS_MAX:
                return
            path = (*path, token.removeprefix("r#"))
