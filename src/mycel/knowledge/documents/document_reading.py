"""Turns the text of a document into facts: properties, and sections with links and names."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

import orjson

from mycel.knowledge.code.source_facts import FileFacts, Section
from mycel.knowledge.documents.asciidoc import asciidoc_blocks, asciidoc_links
from mycel.knowledge.documents.front_matter import read_front_matter
from mycel.knowledge.documents.html_blocks import html_blocks
from mycel.knowledge.documents.markdown_blocks import markdown_blocks
from mycel.knowledge.documents.markdown_links import LINKS_MAX, FoundLink, find_links
from mycel.knowledge.documents.module_docs import Lines, read_module_doc
from mycel.knowledge.documents.notebooks import notebook_text
from mycel.knowledge.documents.pdf_pages import PdfPages
from mycel.knowledge.documents.restructured_text import restructured_blocks, restructured_links
from mycel.knowledge.documents.sections import SECTIONS_MAX, arrange_sections
from mycel.knowledge.documents.text_lines import NumberedLine, TextBlock
from mycel.knowledge.documents.text_names import names_in
from mycel.text.kinds import MODULE_SLUG
from mycel.text.names import is_test_path

DOCUMENTS: Final = frozenset(
    {"markdown", "restructuredtext", "asciidoc", "text", "html", "jupyter"}
)
"""The formats of documents that `read_document` reads."""
PDF: Final = "pdf"
LARGE_DOCUMENTS: Final = frozenset({PDF, "jupyter"})
"""Formats whose files are mostly images, so that a larger file is allowed."""
LARGE_BYTES_MAX: Final = 16 << 20

WIKILINK: Final = "[["
"""The prefix of a link that names a note of a vault."""

_PROSE_NAMES: Final = frozenset(
    {"readme", "changelog", "changes", "history", "news", "notice", "authors", "contributors",
     "contributing", "copying", "license", "licence", "todo", "install", "roadmap", "faq"}
)  # fmt: skip
"""File names without an ending that hold prose."""
_DATA_NAMES: Final = (
    "constraints", "robots.", "humans.", "security.", "cmakelists.", "manifest.", "top_level."
)  # fmt: skip
"""The first words of file names that show data for programs, such as constraints.txt."""
_LICENCES: Final = ("license", "licence", "copying")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_SAMPLE_CHARACTERS: Final = 4_000


def read_document(path: str, text: str, language: str) -> FileFacts:
    """The facts of a document. No content raises an error."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    match language:
        case "markdown":
            return _markdown(path, text, language)
        case "jupyter":
            return _without_lines(_markdown(path, notebook_text(text), language))
        case "html":
            return _html(path, text)
        case "asciidoc":
            lines = numbered_lines(text)
            return _linked(path, text, language, asciidoc_blocks(lines), asciidoc_links(text))
        case _:
            if language == "text" and not _is_prose(path, text):
                return FileFacts(language)
            blocks = restructured_blocks(numbered_lines(text))
            facts = _linked(path, text, language, blocks, restructured_links(text))
            name = posixpath.basename(path).lower()
            if name.startswith(_LICENCES):  # The first lines of a licence say which licence it is.
                facts = replace(facts, sections=facts.sections[:1])
            return facts


def read_pdf(path: str, data: bytes) -> FileFacts:
    """The facts of a PDF document, with a section for each page."""
    pages = PdfPages()
    blocks = list(pages.read(data))
    sections = with_names(arrange_sections(blocks, pages.title or title_of(path)))
    return _without_lines(FileFacts(PDF, sections=sections, note=pages.note))


def read_module_sections(
    path: str, text: str, read: Callable[[str], Lines | None]
) -> tuple[Section, ...]:
    """The documentation of a source file as a whole, as sections."""
    doc = read_module_doc(text, read)
    if doc is None:
        return ()
    folder, name = posixpath.split(path)
    title = f"{posixpath.basename(folder)}/{name}" if folder else name
    return with_names(arrange_sections(markdown_blocks(doc), title, above=title, base=MODULE_SLUG))


def numbered_lines(text: str) -> list[NumberedLine]:
    """The lines of a text, counted from 1."""
    return [NumberedLine(*pair) for pair in enumerate(text.split("\n"), 1)]


def _markdown(path: str, text: str, language: str) -> FileFacts:
    lines = text.split("\n")
    matter = read_front_matter(lines)
    numbered = [NumberedLine(*line) for line in enumerate(lines, 1)][matter.lines :]
    title = matter.title or title_of(path)
    sections = arrange_sections(markdown_blocks(numbered), title)
    document_links = find_links("\n".join(("",) * matter.lines + tuple(lines[matter.lines :])))
    is_note = bool(matter.lines or document_links.wikilinks)
    marked = [link._replace(target=WIKILINK + link.target) for link in document_links.wikilinks]
    sections = with_links(
        sections, text_starts(lines, matter.lines), (*document_links.links, *marked)
    )
    tags = dict.fromkeys((*matter.tags, *(document_links.tags if is_note else ())))
    return FileFacts(
        language,
        sections=with_names(sections),
        links=tuple(link.target for link in document_links.links),
        tags=tuple(tag for tag in tags if tag),
        aliases=matter.aliases,
        front_matter=orjson.dumps(matter.properties).decode() if matter.properties else "",
        note=bound_note(len(document_links.links), len(sections)),
    )


def _linked(
    path: str, text: str, language: str, blocks: Iterable[TextBlock], links: list[FoundLink]
) -> FileFacts:
    """The facts of a document, from links with their positions in the text."""
    sections = arrange_sections(blocks, title_of(path))
    links = links[:LINKS_MAX]
    sections = with_links(sections, text_starts(text.split("\n"), 0), links)
    return FileFacts(
        language,
        sections=with_names(sections),
        links=tuple(link.target for link in links),
        note=bound_note(len(links), len(sections)),
    )


def _html(path: str, text: str) -> FileFacts:
    if is_test_path(path):
        return FileFacts("html")
    blocks, links, title = html_blocks(text)
    sections = arrange_sections(blocks, title or title_of(path))
    links = links[:LINKS_MAX] if sections else []
    # Here the position of a link is its line.
    sections = with_links(sections, list(range(text.count("\n") + 1)), links, is_by_line=True)
    targets = tuple(link.target for link in links)
    return FileFacts("html", sections=with_names(sections), links=targets)


def _without_lines(facts: FileFacts) -> FileFacts:
    return replace(
        facts, sections=tuple(section._replace(line=0, end_line=0) for section in facts.sections)
    )


def _is_prose(path: str, text: str) -> bool:
    """True if a plain text is written for people; its name and first lines decide."""
    stem, dot, suffix = posixpath.basename(path).lower().partition(".")
    if not dot:
        return stem in _PROSE_NAMES
    if suffix.rpartition(".")[2] not in ("txt", "text") or is_test_path(path):
        return False
    if "require" in stem or f"{stem}.".startswith(_DATA_NAMES):
        return False
    sample = text[:_SAMPLE_CHARACTERS]
    letters = sum(map(str.isalpha, sample))
    lines = [line for line in sample.split("\n") if line.strip()]
    words = len(_WORD.findall(sample))
    is_wordy = words >= _WORDS_PER_LINE_MIN * max(len(lines), 1)
    return is_wordy and letters >= _LETTERS_MIN * max(len("".join(sample.split())), 1)


_WORDS_PER_LINE_MIN: Final = 3
_LETTERS_MIN: Final = 0.7
"""Text with fewer words in a line, or a smaller share of letters, is data."""


def bound_note(links: int, sections: int) -> str:
    """A note on links or sections that were left out; "" if there are none."""
    if sections >= SECTIONS_MAX:
        return f"only its first {SECTIONS_MAX:,} sections are kept"
    return f"only its first {LINKS_MAX:,} links are kept" if links >= LINKS_MAX else ""


def text_starts(lines: list[str], blank: int) -> list[int]:
    """The offset at which each line begins, after `blank` empty lines."""
    starts, at = [], 0
    for number, line in enumerate(lines):
        starts.append(at)
        at += (len(line) if number >= blank else 0) + 1
    return starts


def with_links(
    sections: Iterable[Section],
    starts: list[int],
    links: Iterable[FoundLink],
    *,
    is_by_line: bool = False,
) -> tuple[Section, ...]:
    """The sections with the targets of the links in their lines.

    `starts` has the offsets of lines. With `is_by_line`, the position of a link is the number of
    its line.
    """
    by_line: defaultdict[int, list[str]] = defaultdict(list)
    for link in links:
        line = link.start if is_by_line else bisect_right(starts, link.start)
        by_line[line].append(link.target)
    return tuple(_with_targets(section, by_line) for section in sections)


def _with_targets(section: Section, by_line: Mapping[int, list[str]]) -> Section:
    if not by_line:
        return section
    lines = range(section.line, section.end_line + 1)
    targets = (target for line in lines for target in by_line.get(line, ()))
    return section._replace(links=tuple(dict.fromkeys(targets)))


def with_names(sections: Iterable[Section]) -> tuple[Section, ...]:
    """The sections with the names in their texts; names in code blocks are left out."""
    return tuple(
        section._replace(names=names_in(f"{section.heading}\n{without_fences(section.text)}"))
        for section in sections
    )


def without_fences(text: str) -> str:
    """A text without its fenced code."""
    if "```" not in text and "~~~" not in text:
        return text
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = line.lstrip()[:3]
        if mark in ("```", "~~~") and fence in ("", mark):
            fence = "" if fence else mark
        elif not fence:
            lines.append(line)
    return "\n".join(lines)


def title_of(path: str) -> str:
    """The name of a file without its ending; for an index file, with the name of its folder."""
    folder, name = posixpath.split(path)
    stem = posixpath.splitext(name)[0] or name
    is_index = stem.lower() in ("index", "readme", "_index") and folder
    return f"{posixpath.basename(folder)} {stem}" if is_index else stem
