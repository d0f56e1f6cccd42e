"""From the bytes of one file to its facts.

tree-sitter and its grammars are an extra, imported with the first file that needs them. Without
them a file has no symbols, and the `note` of its facts says what to install.

Text that is not of its language can take minutes, gigabytes or the process: `source_files` reads
foreign files in processes with bounds.
"""

from __future__ import annotations

import codecs
import importlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Final

from mycel.knowledge.code.fact_extraction import extract
from mycel.knowledge.code.languages import is_binary
from mycel.knowledge.code.manifests import MANIFESTS
from mycel.knowledge.code.markdown import LINKS_MAX, links
from mycel.knowledge.code.source_facts import FileFacts
from mycel.model.extras import install_command
from mycel.search.names import is_test_path

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query

    from mycel.knowledge.code.language_rules import Syntax

SOURCE_BYTES_MAX: Final = 2 << 20
"""Larger files are generated or data, and have no symbols."""
LINE_BYTES_MAX: Final = 200
"""Source whose lines are longer on average is minified: its names mean nothing to a reader."""
_LINES_MIN: Final = 20
"""Added to the lines of a file, so that a few long lines make no short file minified."""

_MATCHES_MAX: Final = 16_384
"""Patterns in progress at a time; the time of a query grows with them times the nodes."""

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

    Raises nothing for the content of a file: parts that cannot be read are left out.
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
        found = links(text)
        is_cut = len(found) == LINKS_MAX
        note = f"only its first {LINKS_MAX:,} links are kept" if is_cut else ""
        return FileFacts(language, links=found, note=note)
    if language in MANIFESTS:
        return MANIFESTS[language](text)
    source = text.encode()
    if len(source) > LINE_BYTES_MAX * (source.count(b"\n") + _LINES_MIN):
        return FileFacts(language, note="minified: not analysed")
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
        tree = self.parser().parse(source)
        captures = _captures(self.facts, tree.root_node)
        if captures is None:
            return FileFacts(
                self.syntax.language, note="hardly recognisable as source: not analysed"
            )
        return extract(self.syntax, source, captures)


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
