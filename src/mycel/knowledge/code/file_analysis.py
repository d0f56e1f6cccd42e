"""From the bytes of one file to its facts.

tree-sitter and its grammars are an extra, imported with the first file that needs them. Without
them a file has no symbols, and the `note` of its facts says what to install.
"""

from __future__ import annotations

import codecs
import importlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Final

from mycel.knowledge.code.fact_extraction import extract
from mycel.knowledge.code.languages import is_binary
from mycel.knowledge.code.manifests import MANIFESTS
from mycel.knowledge.code.markdown import links
from mycel.knowledge.code.source_facts import FileFacts
from mycel.model.extras import install_command
from mycel.search.names import is_test_path

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query, Tree

    from mycel.knowledge.code.language_rules import Syntax

SOURCE_BYTES_MAX: Final = 2 << 20
"""Larger files are generated or data, and have no symbols."""

_CAREFUL_FROM_BYTES: Final = 48 << 10
_CHUNK_BYTES: Final = 4 << 10
_PARSE_SECONDS_MAX: Final = 4.0
_NOT_SOURCE: Final = "hardly recognisable as source: "
_CAREFUL_FROM_NODES: Final = 20_000
_DEPTH_MAX: Final = 20_000
_MATCHES_MAX: Final = 16_384
"""Patterns in progress at a time; the time of a query grows with them times the nodes."""
_RUN_MIN: Final = 1000
_SIBLINGS_MAX: Final = 200_000_000
"""Siblings that a query may visit in vain: about a second."""

# The module and class of each language. A new language is one line here and one in `languages`.
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
"""The languages that `analyse` reads."""


def analyse(path: str, source: bytes, language: str) -> FileFacts:
    """The facts of a file. `path` is relative, with slashes.

    Never raises for the content of a file: parts that cannot be read are left out.
    """
    source = source.removeprefix(codecs.BOM_UTF8)
    facts = _analyse(source, language)
    return replace(facts, is_test=True) if is_test_path(path) else facts


def missing_extra(language: str) -> str:
    """A note on what to install for this language; "" when nothing is missing."""
    tools = _tools(language) if language in _SYNTAXES else None
    return tools if isinstance(tools, str) else ""


def _analyse(source: bytes, language: str) -> FileFacts:
    if language not in LANGUAGES or not source:
        return FileFacts(language)
    if len(source) > SOURCE_BYTES_MAX:
        return FileFacts(language, note=f"larger than {SOURCE_BYTES_MAX >> 20} MiB: not analysed")
    if is_binary(source):
        return FileFacts(language, note="binary: not analysed")
    # Invalid UTF-8 is replaced: tree-sitter's text predicates fail on it.
    text = source.decode("utf-8", "replace")
    if language == "markdown":
        return FileFacts(language, links=links(text))
    if language in MANIFESTS:
        return MANIFESTS[language](text)
    source = text.encode()
    tools = _tools(language)
    if isinstance(tools, str):
        return FileFacts(language, note=tools)
    return tools.read(source)


@dataclass(frozen=True, slots=True)
class _Tools:
    """The parser and query of one language, made once in a process."""

    syntax: Syntax
    facts: Query
    parser: Callable[[], Parser]

    def read(self, source: bytes) -> FileFacts:
        tree, note = self._parse(source)
        captures = None if _is_slow(tree.root_node) else _captures(self.facts, tree.root_node)
        if captures is None:
            return FileFacts(self.syntax.language, note=_NOT_SOURCE + "not analysed")
        facts = extract(self.syntax, source, captures)
        return replace(facts, note=note) if note else facts

    def _parse(self, source: bytes) -> tuple[Tree, str]:
        if len(source) < _CAREFUL_FROM_BYTES:
            return self.parser().parse(source), ""
        return _parse_in_time(self.parser(), source)


def _is_slow(root: Node) -> bool:
    """True if a query over the tree would take seconds.

    For each node, tree-sitter looks for the next named sibling: a long run of unnamed ones, as in
    `[,,,,` or text of no language, takes quadratic time. It counts depths with 16 bits.
    """
    if root.descendant_count < _CAREFUL_FROM_NODES:
        return False
    looked_at = 0
    level = [root]
    for _ in range(_DEPTH_MAX):
        below: list[Node] = []
        for node in level:
            children = node.children
            below += [child for child in children if child.child_count]
            if node.child_count - node.named_child_count < _RUN_MIN:
                continue
            run = 0
            for child in children:
                run = 0 if child.is_named else run + 1
                looked_at += run
        if not below or looked_at > _SIBLINGS_MAX:
            return looked_at > _SIBLINGS_MAX
        level = below
    return True


def _parse_in_time(parser: Parser, source: bytes) -> tuple[Tree, str]:
    """Parse as much of a long file as `_PARSE_SECONDS_MAX` of processor time allow.

    Only text that is not of the language takes that long. The time is checked when the parser asks
    for more text, because the progress callback of tree-sitter 0.26.0 crashes the process.
    """
    deadline = time.thread_time() + _PARSE_SECONDS_MAX
    note = ""

    def more(offset: int, _point: object) -> bytes:
        nonlocal note
        if time.thread_time() > deadline:
            note = _NOT_SOURCE + "only the beginning was analysed"
            return b""
        return source[offset : offset + _CHUNK_BYTES]

    return parser.parse(more), note


def _captures(query: Query, node: Node) -> dict[str, list[Node]] | None:
    """The captures of a query; None when it has too many patterns in progress."""
    from tree_sitter import QueryCursor  # noqa: PLC0415 - an extra

    cursor = QueryCursor(query, match_limit=_MATCHES_MAX)
    found = cursor.captures(node)
    return None if cursor.did_exceed_match_limit else found


@cache
def _tools(language: str) -> _Tools | str:
    """The tools for a language, or a note on what to install."""
    module, name = _SYNTAXES[language]
    syntax: Syntax = getattr(importlib.import_module(f"mycel.knowledge.code.{module}"), name)()
    try:
        import tree_sitter  # noqa: PLC0415 - an extra

        wheel = importlib.import_module(syntax.wheel)
        grammar = tree_sitter.Language(getattr(wheel, syntax.entry)())
    except (ImportError, AttributeError, ValueError) as reason:
        return f"symbols left out ({reason}); install the parsers with {install_command('code')}"
    local = threading.local()

    def parser() -> Parser:
        # A parser has state, and threads may analyse at the same time.
        if not hasattr(local, "parser"):
            local.parser = tree_sitter.Parser(grammar)
        found: Parser = local.parser
        return found

    return _Tools(syntax, tree_sitter.Query(grammar, syntax.facts + syntax.bindings), parser)
