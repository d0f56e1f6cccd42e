"""From the text of a document to its facts: sections with their links and names, properties."""

from __future__ import annotations

import posixpath
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

import orjson

from mycel.knowledge.code.source_facts import FileFacts, Section
from mycel.knowledge.documents.front_matter import read_front_matter
from mycel.knowledge.documents.markdown_blocks import markdown_blocks
from mycel.knowledge.documents.markdown_links import LINKS_MAX, FoundLink, find_links
from mycel.knowledge.documents.sections import SECTIONS_MAX, arrange_sections
from mycel.knowledge.documents.text_lines import NumberedLine
from mycel.knowledge.documents.text_names import names_in

DOCUMENTS: Final = frozenset({"markdown"})
"""The formats that `read_document` reads."""

WIKILINK: Final = "[["
"""The beginning of a link that names a note of a vault."""


def read_document(path: str, text: str, language: str) -> FileFacts:
    """The facts of a document. Raises nothing for its content."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _markdown(path, text, language)


def _markdown(path: str, text: str, language: str) -> FileFacts:
    lines = text.split("\n")
    matter = read_front_matter(lines)
    numbered = [NumberedLine(*each) for each in enumerate(lines, 1)][matter.lines :]
    title = matter.title or title_of(path)
    sections = arrange_sections(markdown_blocks(numbered), title)
    found = find_links("\n".join(("",) * matter.lines + tuple(lines[matter.lines :])))
    is_note = bool(matter.lines or found.wikilinks)
    marked = [link._replace(target=WIKILINK + link.target) for link in found.wikilinks]
    sections = with_links(sections, text_starts(lines, matter.lines), (*found.links, *marked))
    tags = dict.fromkeys((*matter.tags, *(found.tags if is_note else ())))
    return FileFacts(
        language,
        sections=with_names(sections),
        links=tuple(link.target for link in found.links),
        tags=tuple(tag for tag in tags if tag),
        aliases=matter.aliases,
        front_matter=orjson.dumps(matter.properties).decode() if matter.properties else "",
        note=bound_note(len(found.links), len(sections)),
    )


def bound_note(links: int, sections: int) -> str:
    """A note on links or sections that were left out; "" if none were."""
    if sections >= SECTIONS_MAX:
        return f"only its first {SECTIONS_MAX:,} sections are kept"
    return f"only its first {LINKS_MAX:,} links are kept" if links >= LINKS_MAX else ""


def text_starts(lines: list[str], blank: int) -> list[int]:
    """The offset at which each line begins, if the first `blank` lines are empty."""
    starts, at = [], 0
    for number, line in enumerate(lines):
        starts.append(at)
        at += (len(line) if number >= blank else 0) + 1
    return starts


def with_links(
    sections: Iterable[Section], starts: list[int], links: Iterable[FoundLink]
) -> tuple[Section, ...]:
    """The sections with the targets of the links in their lines."""
    by_line: defaultdict[int, list[str]] = defaultdict(list)
    for link in links:
        by_line[bisect_right(starts, link.start)].append(link.target)
    return tuple(_with_targets(section, by_line) for section in sections)


def _with_targets(section: Section, by_line: Mapping[int, list[str]]) -> Section:
    if not by_line:
        return section
    lines = range(section.line, section.end_line + 1)
    targets = (target for line in lines for target in by_line.get(line, ()))
    return section._replace(links=tuple(dict.fromkeys(targets)))


def with_names(sections: Iterable[Section]) -> tuple[Section, ...]:
    """The sections with the names in their texts, those in code blocks left out."""
    return tuple(
        section._replace(names=names_in(f"{section.heading}\n{without_fences(section.text)}"))
        for section in sections
    )


def without_fences(text: str) -> str:
    """A text without its fenced code."""
    if "```" not in text and "~~~" not in text:
        return text
    kept: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = line.lstrip()[:3]
        if mark in ("```", "~~~") and fence in ("", mark):
            fence = "" if fence else mark
        elif not fence:
            kept.append(line)
    return "\n".join(kept)


def title_of(path: str) -> str:
    """The name of a file without its ending; of an index file, that of its folder too."""
    folder, name = posixpath.split(path)
    stem = posixpath.splitext(name)[0] or name
    is_index = stem.lower() in ("index", "readme", "_index") and folder
    return f"{posixpath.basename(folder)} {stem}" if is_index else stem
