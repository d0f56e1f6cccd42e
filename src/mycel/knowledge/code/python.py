"""Python."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar, Final

from mycel.knowledge.code.comments import shortened
from mycel.knowledge.code.language_rules import Syntax, dotted, field_text, identifier, short_text
from mycel.knowledge.code.source_facts import Import

if TYPE_CHECKING:
    from tree_sitter import Node

_STRING: Final = re.compile(rb"""[rRuU]?("\""|'''|"|')""")
_EMPTY_LINE: Final = re.compile(r"\n[^\S\n]*+\n")
_DOC_BYTES_MAX: Final = 8 << 10
_COMMENT: Final = re.compile(r"#[^\n]*")
_MADE: Final = frozenset({"call", "lambda", "attribute", "subscript", "identifier"})
"""Kinds of values that make a module variable a symbol: objects, functions, types and aliases."""


class Python(Syntax):
    language = "python"
    wheel = "tree_sitter_python"
    facts = """
        (class_definition) @symbol.class
        (function_definition) @symbol.function
        (module (expression_statement (assignment left: (identifier)) @symbol.constant))
        (type_alias_statement) @symbol.type
        (import_statement) @import
        (import_from_statement) @import
        (call function: [(identifier) (attribute)] @call)
        ; `[*f()]` is parsed as a call of `*f`.
        (call function: (list_splat [(identifier) (attribute)] @call))
    """
    bindings = """
        (parameters (identifier) @bound)
        (lambda_parameters (identifier) @bound)
        (default_parameter name: (identifier) @bound)
        (typed_parameter (identifier) @bound)
        (typed_default_parameter name: (identifier) @bound)
        (list_splat_pattern (identifier) @bound)
        (dictionary_splat_pattern (identifier) @bound)
        (assignment left: (identifier) @bound)
        (pattern_list (identifier) @bound)
        (tuple_pattern (identifier) @bound)
        (for_statement left: (identifier) @bound)
        (for_in_clause left: (identifier) @bound)
        (as_pattern_target (identifier) @bound)
        (named_expression name: (identifier) @bound)
        (assignment left: (identifier)) @typed
        (typed_parameter) @typed
        (typed_default_parameter) @typed
        (assignment left: (attribute object: (identifier))) @field
        (class_definition body: (block (expression_statement
            (assignment left: (identifier) type: (_)) @field)))
    """
    receivers: ClassVar[frozenset[str]] = frozenset({"self", "cls"})
    member = ("object", "attribute")
    names_from_elsewhere = False

    def name(self, node: Node, source: bytes) -> str:
        if node.type == "assignment":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            name = identifier(left, source)
            if name.isupper():
                return name if not name.startswith("__") else ""
            is_made = right is not None and right.type in _MADE
            return name if is_made and not name.startswith("_") else ""
        if node.type == "type_alias_statement":
            return dotted(field_text(node, "left", source).partition("[")[0])
        return super().name(node, source)

    def kind(self, node: Node, kind: str) -> str:
        left = node.child_by_field_name("left") if kind == "constant" else None
        is_constant = left is None or left.text is None or left.text.isupper()
        return kind if is_constant else "variable"

    def signature(self, text: str) -> str:
        if "#" in text and not text[0].isupper():
            text = _COMMENT.sub("", text)
        return text.rstrip().removesuffix(":")

    def doc(self, node: Node, body: Node | None, source: bytes) -> str:
        return _docstring(source, body.start_byte) if body is not None else ""

    def exported(self, node: Node, name: str, source: bytes) -> bool:
        return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))

    def base_nodes(self, node: Node) -> Iterator[Node]:
        arguments = node.child_by_field_name("superclasses")
        for argument in arguments.named_children if arguments is not None else ():
            if argument.type in ("identifier", "attribute", "subscript"):
                yield argument

    def imports(self, node: Node, source: bytes) -> Iterable[Import]:
        names = [_named(child, source) for child in node.children_by_field_name("name")]
        module = node.child_by_field_name("module_name")
        if module is None:
            # Without an alias, the import binds the first part of the name.
            return [Import(there, alias=here or there) for there, here in names]
        if any(child.type == "wildcard_import" for child in node.named_children):
            names = [("*", "*")]
        text = "".join(short_text(module, source).split()).replace("\\", "")
        within = text.lstrip(".")
        pairs = tuple((there, here or there) for there, here in names)
        return (Import(within, pairs, level=len(text) - len(within)),)

    def typed(self, node: Node, source: bytes) -> Iterable[tuple[int, str]]:
        # The bound name is at the beginning, except for the stars of `*a: A`.
        of = self.declared_type(node, source)
        return ((node.start_byte, of),) if of else ()

    def fields(self, node: Node, source: bytes) -> Iterator[tuple[str, str]]:
        *owner, name = field_text(node, "left", source).split(".")
        if name and (not owner or (len(owner) == 1 and owner[0] in self.receivers)):
            yield name, self.held_type(node, source)

    def parts(self, text: str) -> tuple[str, ...]:
        if text.isidentifier():
            return (text,)
        if "#" in text:
            text = _COMMENT.sub("", text)
        if text.startswith("super()."):
            text = "super." + text[8:]
        parts = text.split(".")
        if all(map(str.isidentifier, parts)):
            return tuple(parts)
        return super().parts(text) if "(" not in text else ()


def _docstring(source: bytes, start: int) -> str:
    """The first paragraph of the docstring of a body that begins there; "" for none."""
    opening = _STRING.match(source, start, start + 8)
    if opening is None:
        return ""
    end = source.find(opening[1], opening.end(), opening.end() + _DOC_BYTES_MAX)
    text = source[opening.end() : end if end >= 0 else opening.end() + _DOC_BYTES_MAX]
    paragraph = _EMPTY_LINE.split(text.decode("utf-8", "replace").strip(), maxsplit=1)[0]
    return shortened(paragraph)


def _named(node: Node, source: bytes) -> tuple[str, str]:
    """An imported name, and its alias or ""."""
    if node.type != "aliased_import":
        return _dotted(node, source), ""
    name = node.child_by_field_name("name")
    return _dotted(name, source) if name is not None else "", field_text(node, "alias", source)


def _dotted(node: Node, source: bytes) -> str:
    text = short_text(node, source)
    if text.isidentifier():
        return text
    # Spaces, comments and continued lines may surround the dots.
    return ".".join(
        short_text(part, source) for part in node.named_children if part.type == "identifier"
    )
