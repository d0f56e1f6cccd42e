"""Python.

Most files to be read are written in it, and a query over a whole tree costs a third of parsing it:
all nodes are visited for the few that matter. So the text says where to look and the tree what is
there. In a tree without errors every definition has its keyword and every call its parenthesis;
comments, strings and other uses of the words are told apart by the node that is found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, ClassVar, Final

from mycel.knowledge.code.comments import shortened
from mycel.knowledge.code.facts import Import
from mycel.knowledge.code.syntax import Syntax, dotted, identifier, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_STRING: Final = re.compile(rb"""[rRuU]?("\""|'''|"|')""")
_EMPTY_LINE: Final = re.compile(r"\n\s*\n")
_DOC_BYTES_MAX: Final = 8 << 10
_COMMENT: Final = re.compile(r"#[^\n]*")
_FROM: Final = re.compile(r"from\s*(\.[.\s]*)?\s*([\w.\s]*?)\s*\bimport\b(.*)", re.DOTALL)
_FROM_ON_LINE: Final = re.compile(r"from (\.*+)([\w.]*+) import\b(.*)", re.DOTALL)
_ALIAS: Final = re.compile(r"([\w.]+|\*)(?:\s+as\s+(\w+))?")

# Each begins with a literal: such patterns are searched for as fast as fixed strings.
_KEYWORDS: Final = tuple(
    re.compile(rb"%b(?<!\w%b)(?!\w)" % (word, word))
    for word in (b"def", b"class", b"import", b"type")
)
_KEYWORD_NODES: Final = {
    "function_definition": "symbol.function",
    "class_definition": "symbol.class",
    "type_alias_statement": "symbol.type",
    "import_statement": "import",
    "import_from_statement": "import",
}
_CONSTANT: Final = re.compile(rb"[A-Z_\x80-\xff][A-Z0-9_\x80-\xff]*[\s\\]*[:=]")
# Nodes that bind the name in them; of some, only that in a certain field.
_BINDING: Final = {
    "parameters": "",
    "lambda_parameters": "",
    "default_parameter": "name",
    "typed_parameter": "",
    "typed_default_parameter": "name",
    "list_splat_pattern": "",
    "dictionary_splat_pattern": "",
    "assignment": "left",
    "pattern_list": "",
    "tuple_pattern": "",
    "for_statement": "left",
    "for_in_clause": "left",
    "as_pattern_target": "",
    "named_expression": "name",
}
_STATEMENT: Final = "expression_statement"
_SUPER: Final = b")(repus"
_BEFORE_DEF: Final = b" \t\r\n\f\\"

# The name before a parenthesis, in the text read from its end: there the parenthesis comes first.
# A dotted name may stand on several lines; but a line above may be a comment that ends with a dot.
_CALLED: Final = re.compile(
    rb"""
    \( [\s\\]*+
    ((?: [\w\x80-\xff]++ [ \t]*+ \. [ \t]*+ )*+)
    ( [\w\x80-\xff]++ | \)\(repus )?+
    (?: (?= \s*+ (\.) ) | [ \t]++ (fed\b | ssalc\b) )?
    """,
    re.VERBOSE,
)
# Which of the groups was the last to match says what was found.
_NO_HEAD, _HEAD, _DOT, _DEFINED = 1, 2, 3, 4
_CALLED_ON_LINES: Final = re.compile(rb"(?:[\w\x80-\xff]++\s*+\.\s*+)++([\w\x80-\xff]++|\)\(repus)")


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
        paragraph = _EMPTY_LINE.split(text.decode("utf-8", "replace").strip(), maxsplit=1)[0]
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
        text = text_of(node, source).replace("\\", " ")
        if "#" in text:
            text = _COMMENT.sub("", text)
        if node.type == "import_statement":
            return list(_plain(text))
        found = _FROM_ON_LINE.match(text) or _FROM.match(text)
        if found is None:
            return ()
        dots, module, names = found.groups()
        level = (dots or "").count(".")
        pairs = tuple((name, alias or name) for name, alias in _ALIAS.findall(names))
        return (Import("".join(module.split()), pairs, level=level),)

    def parts(self, text: str) -> tuple[str, ...]:
        if text.isidentifier():
            return (text,)
        if text.startswith("super()."):
            text = "super." + text[8:]
        parts = text.split(".")
        if all(map(str.isidentifier, parts)):
            return tuple(parts)
        return super().parts(text) if "(" not in text and "#" not in text else ()

    def look(self, root: Node, source: bytes) -> dict[str, list[Node]] | None:
        found: dict[str, list[Node]] = {"symbol.constant": list(_constants(root, source))}
        seen: set[int] = set()
        for at in chain.from_iterable(word.finditer(source) for word in _KEYWORDS):
            start, end = at.span()
            # The byte after the keyword is no longer of it, but of the statement.
            node = root.descendant_for_byte_range(start, end + 1)
            capture = _KEYWORD_NODES.get(node.type) if node is not None else None
            if node is None or capture is None:
                continue
            begin = node.start_byte
            is_own = begin == start or capture == "import" or _is_async(source[begin:start])
            # If not its own keyword it is a word in a comment: an import may have one, too.
            if is_own and begin not in seen:
                seen.add(begin)
                found.setdefault(capture, []).append(node)
        return found

    def calls(
        self, source: bytes, heads: frozenset[str] | None
    ) -> Iterator[tuple[int, int, tuple[str, ...]]]:
        size, backwards = len(source), source[::-1]
        wanted = None
        if heads is not None:
            wanted = {head.encode()[::-1] for head in heads}
            wanted.add(_SUPER)
        found = []
        for call in _CALLED.finditer(backwards):
            last = call.lastindex
            if last == _DEFINED:
                continue
            if last != _NO_HEAD and (wanted is None or call[_HEAD] in wanted):
                found.append((size - call.end(_HEAD), size - call.start(1)))
            if last != _HEAD:
                long = _CALLED_ON_LINES.match(backwards, call.start(1))
                if long is not None and (wanted is None or long[1] in wanted):
                    found.append((size - long.end(), size - call.start(1)))
        found.sort()
        known: dict[bytes, tuple[str, ...]] = {}
        for start, end in found:
            text = source[start:end]
            parts = known.get(text)
            if parts is None:
                parts = known[text] = self.callee_in(source, start, end)
            if parts:
                yield start, end, parts

    def is_call(self, around: Node, start: int, end: int) -> bool:
        node = around.descendant_for_byte_range(start, end + 1)
        return node is not None and node.type == "call" and node.start_byte == start

    def binds(self, root: Node, start: int, end: int) -> bool:
        node = root.descendant_for_byte_range(start, end)
        parent = node.parent if node is not None and node.type == "identifier" else None
        if parent is None or parent.type not in _BINDING:
            return False
        field = _BINDING[parent.type]
        name = parent.child_by_field_name(field) if field else node
        return name is not None and name.start_byte == start


def _is_async(before: bytes) -> bool:
    return before.strip(_BEFORE_DEF) == b"async"


def _constants(root: Node, source: bytes) -> Iterator[Node]:
    for statement in root.named_children:
        if _CONSTANT.match(source, statement.start_byte) and statement.type == _STATEMENT:
            inner = statement.named_child(0)
            if inner is None or inner.type != "assignment":
                continue
            left = inner.child_by_field_name("left")
            if left is not None and left.type == "identifier":
                yield inner


def _plain(text: str) -> Iterator[Import]:
    """`import a.b, c as d`. Without an alias the first part of the name is known."""
    for module, alias in _ALIAS.findall(text.removeprefix("import")):
        yield Import(module, alias=alias or module)
