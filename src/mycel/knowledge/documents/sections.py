"""Turns headings and texts into sections, with names that stay when other sections change.

The name of a section is the path of the slugs of the headings around it, without the slug of the
title: `docs/kip.md` has `queries/filters`. So the name does not depend on other sections, except
that the second of two headings with the same name gets a number. Text without a heading is called
`text`. A long section is split between paragraphs: `filters`, `filters/part-2`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from mycel.knowledge.code.source_facts import Section
from mycel.knowledge.documents.text_lines import NumberedLine, TextBlock

SECTION_CHARACTERS_MAX: Final = 2_000
"""The maximum number of characters of a section; a longer section is split."""
SECTIONS_MAX: Final = 1_000
"""The maximum number of sections of one document; a document with more is data."""
SLUG_CHARACTERS_MAX: Final = 60
HEADING_CHARACTERS_MAX: Final = 200
TRAIL_CHARACTERS_MAX: Final = 300

UNTITLED: Final = "text"
"""The slug of text without a heading."""
TRAIL: Final = " > "

_NO_SLUG: Final = re.compile(r"[^\w\s.-]+")
_NO_ANCHOR: Final = re.compile(r"[^\w\s-]+")
_GAP: Final = re.compile(r"[\s.-]+")
_FENCE_MARK: Final = re.compile(r"\s*(```|~~~)")


def slug_of(heading: str) -> str:
    """The slug of a heading, which is a part of a URI.

    >>> slug_of("What's new in 2.0?")
    'whats-new-in-2-0'
    """
    slug = _GAP.sub("-", _NO_SLUG.sub("", heading.casefold())).strip("-")
    return slug[:SLUG_CHARACTERS_MAX].rstrip("-") or "section"


def anchor_of(heading: str) -> str:
    """The anchor that sites make from a heading.

    >>> anchor_of("What's new in 2.0?")
    'whats-new-in-20'
    """
    return re.sub(r"\s", "-", _NO_ANCHOR.sub("", heading.strip().lower()))


def arrange_sections(
    blocks: Iterable[TextBlock], title: str, *, above: str = "", base: str = ""
) -> tuple[Section, ...]:
    """The sections of a document.

    `title` is used if the document has no title of its own. `above` is the beginning of the name of
    each section, and `base` the beginning of each slug.
    """
    sections: list[Section] = []
    slugs: set[str] = set()
    stack: list[tuple[int, str, str]] = []
    """The level, slug and heading of each section around the current one."""
    own_title = ""
    is_first = True
    for block in blocks:
        heading = block.heading[:HEADING_CHARACTERS_MAX] or title
        while stack and stack[-1][0] >= max(block.level, 1):
            stack.pop()
        # The first heading is the title, if it has level 1.
        is_title = is_first and block.level <= 1
        is_first = is_first and not block.level
        if block.level == 1:
            # A second heading of level 1 means that the document has no title.
            own_title = heading if is_title else ""
        parent = stack[-1][1] if stack else ""
        slug = slug_of(heading) if block.level else UNTITLED
        path = f"{parent}/{slug}" if parent else f"{base}-{slug}" if base and block.level else slug
        path = base if base and not block.level else path
        slug = _unique(path, slugs)
        headings = (own_title or title, *(outer[2] for outer in stack), heading)
        trail = TRAIL.join(dict.fromkeys(filter(None, (above, *headings))))
        name = trail if len(trail) <= TRAIL_CHARACTERS_MAX else f"{headings[0]}{TRAIL}{heading}"
        sections += _parts(block, heading, slug, parent, name)
        if len(sections) >= SECTIONS_MAX:
            break
        if not is_title:
            stack.append((max(block.level, 1), slug, heading))
    return tuple(sections[:SECTIONS_MAX])


def _unique(path: str, slugs: set[str]) -> str:
    slug, number = path, 1
    while slug in slugs:
        number += 1
        slug = f"{path}-{number}"
    slugs.add(slug)
    return slug


def _parts(block: TextBlock, heading: str, slug: str, parent: str, name: str) -> Iterator[Section]:
    level = block.level
    for number, lines in enumerate(_split(block.lines) or [()], 1):
        text = "\n".join(line.text for line in lines).strip("\n").rstrip()
        first = lines[0].number if lines and number > 1 else block.line
        last = lines[-1].number if lines else block.line
        if number == 1:
            yield Section(slug, heading, name, level, first, last, text, parent, block.anchor)
        else:
            yield Section(f"{slug}/part-{number}", heading, name, level, first, last, text, slug)


def _split(lines: Sequence[NumberedLine]) -> list[Sequence[NumberedLine]]:
    """The lines in parts of limited length, split between paragraphs where possible."""
    lines = _trimmed(lines)
    if sum(len(line.text) + 1 for line in lines) <= SECTION_CHARACTERS_MAX:
        return [lines] if lines else []
    parts: list[Sequence[NumberedLine]] = []
    part: list[NumberedLine] = []
    size = 0
    for paragraph in _paragraphs(lines):
        length = sum(len(line.text) + 1 for line in paragraph)
        if part and size + length > SECTION_CHARACTERS_MAX:
            parts.append(_trimmed(part))
            part, size = [], 0
        part += paragraph
        size += length
    parts.append(_trimmed(part))
    return [part for part in parts if part]


def _paragraphs(lines: Iterable[NumberedLine]) -> Iterator[list[NumberedLine]]:
    """Groups of lines up to an empty line outside of code; a long group is split between lines."""
    group: list[NumberedLine] = []
    size = 0
    fence = ""
    for line in lines:
        mark = _FENCE_MARK.match(line.text)
        if mark is not None and fence in ("", mark[1]):
            fence = mark[1] if not fence else ""
        for piece in _pieces(line):
            if group and size + len(piece.text) > SECTION_CHARACTERS_MAX:
                yield group
                group, size = [], 0
            group.append(piece)
            size += len(piece.text) + 1
        if not line.text.strip() and not fence:
            yield group
            group, size = [], 0
    if group:
        yield group


def _pieces(line: NumberedLine) -> Iterator[NumberedLine]:
    """A line that is longer than a section may be, in pieces."""
    for start in range(0, max(len(line.text), 1), SECTION_CHARACTERS_MAX):
        yield NumberedLine(line.number, line.text[start : start + SECTION_CHARACTERS_MAX])


def _trimmed(lines: Sequence[NumberedLine]) -> Sequence[NumberedLine]:
    """The lines without empty ones at both ends."""
    first, last = 0, len(lines)
    while first < last and not lines[first].text.strip():
        first += 1
    while last > first and not lines[last - 1].text.strip():
        last -= 1
    return lines[first:last]
