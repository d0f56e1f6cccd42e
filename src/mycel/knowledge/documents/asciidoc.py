"""Reads headings, texts and links of AsciiDoc."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from mycel.knowledge.documents.markdown_links import ADDRESS, FoundLink
from mycel.knowledge.documents.text_lines import NumberedLine, TextBlock

_HEADING: Final = re.compile(r"(={1,6})[ \t]++(\S.*)")
_ANCHOR: Final = re.compile(
    r"\[\[([\w:.-]{1,200}+)(?:,[^\]]{0,200}+)?\]\]|\[#([\w:.-]{1,200}+)[^\]]{0,200}+\]"
)
_LITERAL: Final = re.compile(r"(-{4,}|\.{4,}|\+{4,}|`{3,}|/{4,})\S*\s*")
_ATTRIBUTE: Final = re.compile(r":[\w!-]{1,80}:.*")
_MACRO: Final = re.compile(
    r"\b(?:link|xref|include):{1,2}+([^\s\[\]:]{1,300}+(?::[^\s\[\]:]{0,300}+)?)\["
)
_CROSS: Final = re.compile(r"<<([^<>,\n]{1,200})(?:,[^<>\n]{0,300})?>>")


def asciidoc_blocks(lines: Iterable[NumberedLine]) -> Iterator[TextBlock]:
    """The headings of a document, each with the lines below it."""
    level, heading, anchor, start = 0, "", "", 0
    body: list[NumberedLine] = []
    fence = label = ""
    for line in lines:
        start = start or line.number
        mark = _LITERAL.fullmatch(line.text)
        if fence or mark is not None:
            if mark is not None and fence in ("", mark[1]):
                fence = mark[1] if not fence else ""
            body.append(line)
            continue
        match = _HEADING.fullmatch(line.text)
        anchor_match = _ANCHOR.fullmatch(line.text.strip())
        if anchor_match is not None:
            label = anchor_match[1] or anchor_match[2]
        elif match is None:
            if not _ATTRIBUTE.fullmatch(line.text):
                body.append(line)
        else:
            if heading or any(numbered_line.text.strip() for numbered_line in body):
                yield TextBlock(level, heading, start, tuple(body), anchor)
            level, heading, anchor = len(match[1]), match[2].strip().rstrip("= "), label
            start, body, label = line.number, [], ""
    if heading or any(numbered_line.text.strip() for numbered_line in body):
        yield TextBlock(level, heading, start, tuple(body), anchor)


def asciidoc_links(text: str) -> list[FoundLink]:
    """The links of a document, in the order of the text."""
    found_links = [FoundLink(*link.span(), link[1]) for link in _MACRO.finditer(text)]
    for cross in _CROSS.finditer(text):
        target = cross[1].strip()
        is_file = "#" in target or "." in target
        found_links.append(FoundLink(*cross.span(), target if is_file else f"#{target}"))
    found_links += [
        FoundLink(*bare.span(), bare[0].rstrip(".,;:!?)")) for bare in ADDRESS.finditer(text)
    ]
    return sorted(found_links)
