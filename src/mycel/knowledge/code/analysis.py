"""From the bytes of one file to its facts.

tree-sitter and its grammars are an extra. They are imported with the first file that needs them,
a grammar with the first file of its language. Without them a file has no symbols, and its facts say
in `note` what to install.
"""

from __future__ import annotations

import codecs
import importlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Final

from mycel.knowledge.code.extract import extract
from mycel.knowledge.code.facts import FileFacts
from mycel.knowledge.code.languages import is_binary, is_test_path
from mycel.knowledge.code.manifests import MANIFESTS
from mycel.knowledge.code.markdown import links
from mycel.knowledge.code.scanning import Unclear, scan
from mycel.knowledge.code.syntax import text_of

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query, Tree

    from mycel.knowledge.code.syntax import Syntax

SOURCE_BYTES_MAX: Final = 2 << 20
"""Larger files have no symbols: they are generated or data."""

_CAREFUL_FROM_BYTES: Final = 48 << 10
_CHUNK_BYTES: Final = 4 << 10
_PARSE_SECONDS_MAX: Final = 8.0
_DEPTH_MAX: Final = 1000
_OPENING: Final = (b"(", b"[", b"{")
_OPENS: Final = frozenset(b"([{")
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"()[]{}"))

# Where the syntax of a language is described. A new language is one line here and one in
# `languages`.
_SYNTAXES: Final = {
    "python": ("python", "Python"),
    "javascript": ("javascript", "JavaScript"),
    "typescript": ("javascript", "TypeScript"),
    "tsx": ("javascript", "Tsx"),
    "go": ("go", "Go"),
    "rust": ("rust", "Rust"),
    "java": ("java", "Java"),
    "c": ("c_family", "C"),
    "cpp": ("c_family", "Cpp"),
}

LANGUAGES: Final = frozenset({*_SYNTAXES, *MANIFESTS, "markdown"})
"""The languages that `analyse` finds something in."""


def analyse(path: str, source: bytes, language: str) -> FileFacts:
    """The facts of a file, whatever its bytes are. `path` is relative, with slashes.

    Never raises for what is in the file: what cannot be read is left out, and `note` says so where
    a whole file is concerned.
    """
    source = source.removeprefix(codecs.BOM_UTF8)
    facts = _analyse(source, language)
    return replace(facts, is_test=True) if is_test_path(path) else facts


def missing_extra(language: str) -> str:
    """What to install to read the symbols of this language; "" when nothing is missing."""
    tools = _tools(language) if language in _SYNTAXES else None
    return tools if isinstance(tools, str) else ""


def _analyse(source: bytes, language: str) -> FileFacts:
    if language not in LANGUAGES or not source:
        return FileFacts(language)
    if len(source) > SOURCE_BYTES_MAX:
        return FileFacts(language, note=f"larger than {SOURCE_BYTES_MAX >> 20} MiB: not analysed")
    if is_binary(source):
        return FileFacts(language, note="binary: not analysed")
    # What is no UTF-8 is marked as such: tree-sitter's tests of texts fail on it.
    text = source.decode("utf-8", "replace")
    if language == "markdown":
        return FileFacts(language, links=links(text))
    if language in MANIFESTS:
        return MANIFESTS[language](text)
    source = text.encode()
    tools = _tools(language)
    if isinstance(tools, str):
        return FileFacts(language, note=tools)
    if language == "python":
        with suppress(Unclear):
            return scan(source, tools.names_bound_in)
    if _nests_deep(source):
        return FileFacts(language, note="nests too deep: not analysed")
    return tools.read(source)


@dataclass(frozen=True, slots=True)
class _Tools:
    """What tree-sitter needs for one language, made once in a process."""

    syntax: Syntax
    facts: Query
    bindings: Query
    parser: Callable[[], Parser]

    def read(self, source: bytes) -> FileFacts:
        tree, note = self._parse(source)
        captures = _captures(self.facts, tree.root_node)
        facts = extract(self.syntax, source, captures, self._bound_in)
        return replace(facts, note=note) if note else facts

    def names_bound_in(self, function: bytes) -> Iterator[str]:
        """The names that a function has for something of its own."""
        if _nests_deep(function):
            raise Unclear
        root = self._parse(function)[0].root_node
        return (text_of(node, function) for node in self._bound_in(root))

    def _bound_in(self, node: Node) -> list[Node]:
        return _captures(self.bindings, node).get("bound", [])

    def _parse(self, source: bytes) -> tuple[Tree, str]:
        if len(source) < _CAREFUL_FROM_BYTES:
            return self.parser().parse(source), ""
        return _parse_in_time(self.parser(), source)


def _nests_deep(source: bytes) -> bool:
    """Whether brackets nest so deep that a query over the tree would take minutes.

    Only what has very many brackets at all is looked at: real files rarely have.
    """
    if sum(map(source.count, _OPENING)) <= _DEPTH_MAX:
        return False
    depth = 0
    for bracket in source.translate(None, _NO_BRACKETS):
        depth += 1 if bracket in _OPENS else -1
        if depth > _DEPTH_MAX:
            return True
        depth = max(depth, 0)
    return False


def _parse_in_time(parser: Parser, source: bytes) -> tuple[Tree, str]:
    """Parse a long file, as much of it as the time allows.

    Text that is not of the language at all can cost far more than its length. The time is that of
    the processor, checked whenever the parser asks for more text: a file that is cut was no source
    of this language, so that facts of real files do not depend on the machine. (The parser's own
    progress callback would be the place for this; in tree-sitter 0.26.0 it crashes the process.)
    """
    deadline = time.thread_time() + _PARSE_SECONDS_MAX
    note = ""

    def more(offset: int, _point: object) -> bytes:
        nonlocal note
        if time.thread_time() > deadline:
            note = "hardly recognisable as source: only the beginning was analysed"
            return b""
        return source[offset : offset + _CHUNK_BYTES]

    return parser.parse(more), note


def _captures(query: Query, node: Node) -> dict[str, list[Node]]:
    from tree_sitter import QueryCursor  # noqa: PLC0415 - an extra

    return QueryCursor(query).captures(node)


@cache
def _tools(language: str) -> _Tools | str:
    """The tools for a language, or what to do to have them."""
    module, name = _SYNTAXES[language]
    syntax: Syntax = getattr(importlib.import_module(f"mycel.knowledge.code.{module}"), name)()
    try:
        import tree_sitter  # noqa: PLC0415 - an extra, needed only when there is code to read

        wheel = importlib.import_module(syntax.wheel)
        grammar = tree_sitter.Language(getattr(wheel, syntax.entry)())
    except (ImportError, AttributeError, ValueError) as reason:
        return f"symbols left out ({reason}); install them with: pip install 'mycel[code]'"
    local = threading.local()

    def parser() -> Parser:
        # A parser has a state, and threads may analyse at the same time.
        if not hasattr(local, "parser"):
            local.parser = tree_sitter.Parser(grammar)
        found: Parser = local.parser
        return found

    return _Tools(
        syntax,
        tree_sitter.Query(grammar, syntax.facts),
        tree_sitter.Query(grammar, syntax.bindings),
        parser,
    )
