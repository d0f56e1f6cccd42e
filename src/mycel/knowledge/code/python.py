"""Python."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar, Final

from mycel.knowledge.code.comments import shortened
from mycel.knowledge.code.facts import Import
from mycel.knowledge.code.syntax import Syntax, dotted, identifier, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_STRING: Final = re.compile(rb"""[rRuU]?("\""|'''|"|')""")
_DOC_BYTES_MAX: Final = 8 << 10
_COMMENT: Final = re.compile(r"#[^\n]*")
_FROM: Final = re.compile(r"from\s*(\.[.\s]*)?\s*([\w.\s]*?)\s*\bimport\b(.*)", re.DOTALL)
_ALIAS: Final = re.compile(r"([\w.]+|\*)(?:\s+as\s+(\w+))?")


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
    """
    receivers: ClassVar[frozenset[str]] = frozenset({"self", "cls"})
    names_from_elsewhere = False

    def name(self, node: Node, source: bytes) -> str:
        if node.type == "assignment":
            left = node.child_by_field_name("left")
            name = identifier(left, source) if left is not None else ""
            return name if name.isupper() and not name.startswith("__") else ""
        if node.type == "type_alias_statement":
            left = node.child_by_field_name("left")
            return dotted(text_of(left, source).partition("[")[0]) if left is not None else ""
        return super().name(node, source)

    def signature(self, text: str) -> str:
        if "#" in text and not text[0].isupper():
            text = _COMMENT.sub("", text)
        return text.rstrip().removesuffix(":")

    def doc(self, node: Node, body: Node | None, source: bytes) -> str:
        if body is None:
            return ""
        start = body.start_byte
        opening = _STRING.match(source, start, start + 8)
        if opening is None:
            return ""
        end = source.find(opening[1], opening.end(), opening.end() + _DOC_BYTES_MAX)
        text = source[opening.end() : end if end >= 0 else opening.end() + _DOC_BYTES_MAX]
        paragraph = re.split(r"\n\s*\n", text.decode("utf-8", "replace").strip(), maxsplit=1)[0]
        return shortened(paragraph)

    def exported(self, node: Node, name: str, source: bytes) -> bool:
        return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))

    def bases(self, node: Node, source: bytes) -> Iterator[str]:
        arguments = node.child_by_field_name("superclasses")
        if arguments is None:
            return
        for argument in arguments.named_children:
            if argument.type in ("identifier", "attribute", "subscript"):
                base = dotted(text_of(argument, source).partition("[")[0])
                if base:
                    yield base

    def imports(self, node: Node, source: bytes) -> Iterable[Import]:
        text = _COMMENT.sub("", text_of(node, source)).replace("\\", " ")
        if node.type == "import_statement":
            return list(_plain(text))
        found = _FROM.match(text)
        if found is None:
            return ()
        dots, module, names = found.groups()
        level = (dots or "").count(".")
        pairs = tuple((name, alias or name) for name, alias in _ALIAS.findall(names))
        return (Import("".join(module.split()), pairs, level=level),)

    def callee(self, node: Node, source: bytes) -> tuple[str, ...]:
        start, end = node.byte_range
        if end - start > 240:
            return ()
        text = source[start:end].decode("utf-8", "replace")
        if text.isidentifier():
            return (text,)
        if text.startswith("super()."):
            text = "super." + text[8:]
        parts = text.split(".")
        if all(map(str.isidentifier, parts)):
            return tuple(parts)
        return self.parts(text) if "(" not in text else ()


def _plain(text: str) -> Iterator[Import]:
    """`import a.b, c as d`. Without an alias the first part of the name is known."""
    for module, alias in _ALIAS.findall(text.removeprefix("import")):
        yield Import(module, alias=alias or module)
