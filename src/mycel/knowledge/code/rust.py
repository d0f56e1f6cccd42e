"""Rust."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar, Final

from mycel.knowledge.code.language_rules import Syntax, child, dotted, field_text
from mycel.knowledge.code.prose_patterns import blank_prose
from mycel.knowledge.code.source_facts import Import, Symbol

if TYPE_CHECKING:
    from tree_sitter import Node

    from mycel.knowledge.code.scopes import Captures

_USE: Final = re.compile(r"^(?:pub(?:\s*+\([^)]*+\))?\s++)?use\s++")
_TOKEN: Final = re.compile(r"[{},]|\bas\s++\w++|(?:r#)?[\w*]++|::")
# An unclosed comment extends to the end.
_COMMENT: Final = re.compile(r"/\*(?:.*?\*/|.*+)|//[^\n]*+", re.DOTALL)
_ITEM: Final = re.compile(
    rb"(pub(?:\([a-z]{1,20}\))? )?\b(enum|struct|trait|union) ([A-Z][A-Za-z0-9_]*+)(?![!\w])"
)
"""A type that a macro defines under a fixed name."""
_USE_DEPTH_MAX: Final = 32
_USE_PARTS_MAX: Final = 64


class Rust(Syntax):
    language = "rust"
    wheel = "tree_sitter_rust"
    facts = """
        (struct_item) @symbol.struct
        (union_item) @symbol.struct
        (enum_item) @symbol.enum
        (enum_variant) @symbol.variant
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
        (macro_invocation (token_tree) @macro)
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
            return dotted(field_text(node, "type", source)).rpartition(".")[2]
        name = super().name(node, source)
        return name if name != "_" else ""

    def exported(self, node: Node, name: str, source: bytes) -> bool:
        if node.type in ("function_signature_item", "impl_item"):
            return True
        first = node.named_child(0)
        return (first is not None and first.type == "visibility_modifier") or (
            node.type == "macro_definition"
        )

    def base_nodes(self, node: Node) -> Iterable[Node | None]:
        if node.type == "impl_item":
            return (node.child_by_field_name("trait"),)
        bounds = node.child_by_field_name("bounds")
        return bounds.named_children if bounds is not None else ()

    def declared(self, node: Node, source: bytes) -> Iterator[tuple[Node, str]]:
        name = child(node, "pattern", "name")
        if name is not None and name.type == "mut_pattern" and name.named_child_count:
            name = name.named_children[-1]
        if name is not None:
            yield name, self.declared_type(node, source)

    def maker(self, node: Node, source: bytes) -> str:
        if node.type in ("try_expression", "await_expression", "reference_expression"):
            node = node.named_children[-1] if node.named_child_count else node
        if node.type == "struct_expression":
            return dotted(field_text(node, "name", source))
        return super().maker(node, source)

    def generated(self, captures: Captures, source: bytes) -> Iterator[Symbol]:
        macros = (*captures.get("symbol.macro", ()), *filter(_is_item, captures.get("macro", ())))
        for node in macros:
            start, end = node.byte_range
            for item in _ITEM.finditer(blank_prose(self.language, source[start:end]) or b""):
                visibility, kind, name = (part.decode() for part in item.groups(b""))
                line = source.count(b"\n", 0, start + item.start(2)) + 1
                kind = "struct" if kind == "union" else kind
                signature = f"{visibility}{kind} {name}"
                yield Symbol(name, name, kind, line, line, signature, exported=bool(visibility))

    def imports(self, node: Node, source: bytes) -> Iterator[Import]:
        if node.type == "mod_item":
            name = self.name(node, source)
            if name:
                yield Import(name, alias=name, form="mod")
            return
        start, end = node.byte_range
        text = _COMMENT.sub(" ", source[start:end].decode("utf-8", "replace"))
        form = "reexport" if text.startswith("pub") else ""
        for path, alias in use_paths(_USE.sub("", text).rstrip("; \n")):
            yield _used(path, alias, form)


def _is_item(tokens: Node) -> bool:
    """True for the tokens of a macro that stands among the items of a file."""
    invocation = tokens.parent
    around = invocation.parent if invocation is not None else None
    if around is not None and around.type == "expression_statement":
        around = around.parent
    return around is not None and around.type == "source_file"


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
            # The text after a closing brace belongs to the list around it.
            path, alias = (prefixes[-1] if prefixes else ()), ""
        elif token.startswith(("as ", "as\t")):
            alias = token.split()[-1]
        elif token != "::":
            if len(path) >= _USE_PARTS_MAX:
                return
            path = (*path, token.removeprefix("r#"))
