"""Turns the bytes of one file into its facts.

tree-sitter and its grammars are an extra, imported with the first file that needs them. Without
them a file has no symbols, and the `note` of its facts says what to install.

Text in a wrong language can take minutes or gigabytes, or kill the process. So `source_files` reads
files in processes with limits.
"""

from __future__ import annotations

import codecs
import importlib
import importlib.util
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Final

from mycel.knowledge.code.fact_extraction import extract
from mycel.knowledge.code.file_kinds import is_binary
from mycel.knowledge.code.languages import SYNTAXES
from mycel.knowledge.code.manifests import MANIFESTS
from mycel.knowledge.code.source_facts import FileFacts
from mycel.knowledge.documents.document_reading import (
    DOCUMENTS,
    LARGE_BYTES_MAX,
    LARGE_DOCUMENTS,
    PDF,
    read_document,
    read_module_sections,
    read_pdf,
)
from mycel.model.extras import install_command
from mycel.text.names import is_test_path

SOURCE_BYTES_MAX: Final = 2 << 20
"""The size limit of source; a larger file is generated or data, and gets no symbols."""
LINE_BYTES_MAX: Final = 200
"""The limit of the average line length. Source above the limit is minified, and its names mean
nothing to a reader."""
_LINES_MIN: Final = 20
"""A number added to the count of lines, so that a short file with a few long lines does not count
as minified."""

_MATCHES_MAX: Final = 16_384
"""The maximum number of patterns that a query matches at a time: its time grows with their
number."""

LANGUAGES: Final = frozenset({*SYNTAXES, *MANIFESTS, *DOCUMENTS, PDF})
"""The languages that `analyse` reads."""


def analyse(path: str, source: bytes, language: str) -> FileFacts:
    """The facts of a file. `path` is relative, with slashes.

    No content raises an error: unreadable parts are left out.
    """
    source = source.removeprefix(codecs.BOM_UTF8)
    facts = _analyse(path, source, language)
    return replace(facts, is_test=True) if is_test_path(path) else facts


def missing_extra(language: str) -> str:
    """A note on what to install for this language; "" if nothing is missing."""
    if language == PDF:
        return _missing_pdf_reader()
    read = _reader(language) if language in SYNTAXES else None
    return read if isinstance(read, str) else ""


@cache
def _missing_pdf_reader() -> str:
    if importlib.util.find_spec("pypdf") is not None:
        return ""
    return f"the text of PDF documents is left out; install {install_command('documents')}"


def bytes_max_of(language: str, bytes_max: int) -> int:
    """The size up to which files of a language are read, given the limit of other files."""
    is_large = bytes_max and language in LARGE_DOCUMENTS
    return max(bytes_max, LARGE_BYTES_MAX) if is_large else bytes_max


def _analyse(path: str, source: bytes, language: str) -> FileFacts:
    if language not in LANGUAGES or not source:
        return FileFacts(language)
    if language == PDF:
        note = _missing_pdf_reader()
        return FileFacts(language, note=note) if note else read_pdf(path, source)
    if len(source) > bytes_max_of(language, SOURCE_BYTES_MAX):
        return FileFacts(language, note=f"larger than {SOURCE_BYTES_MAX >> 20} MiB: not analysed")
    if is_binary(source):
        return FileFacts(language, note="binary: not analysed")
    # Invalid UTF-8 is replaced, because tree-sitter's text predicates fail on it.
    text = source.decode("utf-8", "replace")
    if language in DOCUMENTS:
        return read_document(path, text, language)
    if language in MANIFESTS:
        return MANIFESTS[language](text)
    source = text.encode()
    if len(source) > LINE_BYTES_MAX * (source.count(b"\n") + _LINES_MIN):
        return FileFacts(language, note="minified: not analysed")
    read = _reader(language)
    facts = FileFacts(language, note=read) if isinstance(read, str) else read(source)
    sections = read_module_sections(path, text, SYNTAXES[language]().module_doc)
    return replace(facts, sections=sections) if sections else facts


@cache
def _reader(language: str) -> Callable[[bytes], FileFacts] | str:
    """A function that reads source of a language; or a note on what to install."""
    syntax = SYNTAXES[language]()
    try:
        import tree_sitter  # noqa: PLC0415 - an extra

        wheel = importlib.import_module(syntax.wheel)
        grammar = tree_sitter.Language(getattr(wheel, syntax.entry)())
    except (ImportError, AttributeError, ValueError) as reason:
        return f"symbols left out ({reason}); install the parsers with {install_command('code')}"
    query = tree_sitter.Query(grammar, syntax.facts + syntax.bindings)
    local = threading.local()

    def read(source: bytes) -> FileFacts:
        # A parser has state, and several threads may analyse files at the same time.
        if not hasattr(local, "parser"):
            local.parser = tree_sitter.Parser(grammar)
        tree = local.parser.parse(source)
        cursor = tree_sitter.QueryCursor(query, match_limit=_MATCHES_MAX)
        captures = cursor.captures(tree.root_node)
        if cursor.did_exceed_match_limit:
            return FileFacts(language, note="hardly recognisable as source: not analysed")
        return extract(syntax, source, captures)

    return read
