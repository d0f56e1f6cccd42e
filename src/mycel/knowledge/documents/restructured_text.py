"""Reads headings, texts and links of reStructuredText, and of text with underlined headings.

A heading is a line with a line of punctuation below it, and perhaps another above it. Each style of
punctuation is a level, in the order in which the styles occur. Links and labels are those of
Sphinx.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from mycel.knowledge.documents.markdown_links import ADDRESS, FoundLink
from mycel.knowledge.documents.text_lines import NumberedLine, TextBlock

LABEL: Final = "::"
"""The prefix of a link to a label, which may be in another document."""

_RULE: Final = re.compile(r"([=\-`:.'\"~^_*+#<>!$%&,;?@|/\\])\1{2,}\s*")
_LABEL: Final = re.compile(r"\.\. _`?([^:`]{1,200})`?:\s*")
_ROLE: Final = re.compile(
    r":(ref|doc|numref|term):`(?:[^`<>]{0,300}<([^`<>]{1,300})>|([^`<>]{1,300}))`"
)
_LINK: Final = re.compile(r"`[^`<>]{0,300}<([^`<>\s]{1,500})>`_{1,2}")
_TARGET: Final = re.compile(r"\.\. _[^:]{1,200}:\s+(\S+)\s*")
_MARKUP: Final = re.compile(r":[\w:-]{1,40}:(?=`)")
_TEXT_OF_LINK: Final = re.compile(r"`([^`<>]{1,300}?)\s?<[^`<>]{1,500}>`_{0,2}")


class _Style(NamedTuple):
    mark: str
    has_overline: bool


def restructured_blocks(lines: Sequence[NumberedLine]) -> Iterator[TextBlock]:
    """The headings of a document, each with the lines below it."""
    styles: list[_Style] = []
    level, heading, anchor, start = 0, "", "", lines[0].number if lines else 0
    body: list[NumberedLine] = []
    label = ""
    at = 0
    while at < len(lines):
        block = _heading(lines, at)
        if block is None:
            match = _LABEL.fullmatch(lines[at].text)
            if match is not None:
                label = match[1].strip()
            else:
                label = label if not lines[at].text.strip() else ""
                body.append(lines[at])
            at += 1
            continue
        style, text, line_count = block
        if heading or any(numbered_line.text.strip() for numbered_line in body):
            yield TextBlock(level, heading, start, tuple(body), anchor)
        if style not in styles:
            styles.append(style)
        level = min(styles.index(style) + 1, 6)
        heading, anchor, start, body = plain_heading(text), label, lines[at].number, []
        label = ""
        at += line_count
    if heading or any(numbered_line.text.strip() for numbered_line in body):
        yield TextBlock(level, heading, start, tuple(body), anchor)


def plain_heading(text: str) -> str:
    """A heading without roles and marks.

    >>> plain_heading("The :class:`Cart` of ``Ada``")
    'The Cart of Ada'
    """
    text = _TEXT_OF_LINK.sub(r"\1", _MARKUP.sub("", text))
    return " ".join(text.replace("`", "").replace("**", "").split())


def _heading(lines: Sequence[NumberedLine], at: int) -> tuple[_Style, str, int] | None:
    """The heading that begins at a line: its style, its text, and its number of lines."""
    text = lines[at].text
    if not text.strip() or at + 1 >= len(lines):
        return None
    above = _RULE.fullmatch(text)
    if above is not None and at + 2 < len(lines):
        below = _RULE.fullmatch(lines[at + 2].text)
        title = lines[at + 1].text
        if below is not None and below[1] == above[1] and _is_title(title, lines[at + 2].text):
            return _Style(above[1], True), title.strip(), 3
        return None
    below = _RULE.fullmatch(lines[at + 1].text)
    is_alone = at == 0 or not lines[at - 1].text.strip() or _LABEL.match(lines[at - 1].text)
    if below is None or above is not None or not is_alone:
        return None
    if text[:1].isspace() or not _is_title(text, lines[at + 1].text):
        return None
    return _Style(below[1], False), text.strip(), 2


def _is_title(text: str, rule: str) -> bool:
    # With wide characters in the title, the rule may have fewer characters.
    title, length = text.strip(), len(rule.strip())
    return bool(title) and _RULE.fullmatch(title) is None and 2 * length >= len(title)


def restructured_links(text: str) -> list[FoundLink]:
    """The links of a document, in the order of the text."""
    found_links = [FoundLink(*role.span(), _role_target(role)) for role in _ROLE.finditer(text)]
    found_links += [FoundLink(*link.span(), link[1]) for link in _LINK.finditer(text)]
    start = 0
    for line in text.split("\n"):
        target = _TARGET.fullmatch(line) if line.startswith(".. _") else None
        if target is not None:
            found_links.append(FoundLink(start, start + len(line), target[1]))
        elif "http" in line and "<http" not in line:
            found_links += [
                FoundLink(start + bare.start(), start + bare.end(), bare[0].rstrip(".,;:!?)"))
                for bare in ADDRESS.finditer(line)
            ]
        start += len(line) + 1
    return sorted(found_links)


def _role_target(role: re.Match[str]) -> str:
    target = (role[2] or role[3]).strip()
    return target if role[1] == "doc" else LABEL + target
