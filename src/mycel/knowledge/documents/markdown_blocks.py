"""Reads headings and texts of Markdown.

It is no full parser: only fences decide whether a line is a heading. Comments and badges are left
out of the text, and so are HTML tags for layout. Every pattern matches within one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from mycel.knowledge.documents.markdown_links import FENCE
from mycel.knowledge.documents.text_lines import NumberedLine, TextBlock

_ATX: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]++(.*))?")
_HTML_HEADING: Final = re.compile(
    r"\s*<h([1-6])\b[^>]{0,500}>(.*?)</h[1-6]>(?:\s*</?\w+>)*\s*", re.IGNORECASE
)
_HTML_OPENED: Final = re.compile(r"\s*<h[1-6]\b[^>]{0,500}>\s*", re.IGNORECASE)
HTML_HEADING_LINES_MAX: Final = 4
"""The maximum number of lines of an HTML heading; a longer one is read as text."""
_SETEXT: Final = re.compile(r" {0,3}(?:(=+)|(-{3,}))[ \t]*")
_NO_PARAGRAPH: Final = re.compile(r"\s*(?:[-*+>|#<`~]|\d+[.)]\s|$)")
_ANCHOR: Final = re.compile(r"\{#([\w.-]++)[^{}]*+\}")
_BADGES: Final = re.compile(
    r"\s*(?:\[?!\[[^\]\n]{0,300}\](?:\([^()\n]{0,500}\)|\[[^\]\n]{0,200}\])"
    r"(?:\](?:\([^()\n]{0,500}\)|\[[^\]\n]{0,200}\]))?[\s|·•]*)+"
)
_DEFINITION: Final = re.compile(r" {0,3}\[[^\[\]\n]{1,200}\]:[ \t]*\S+.*")
_LAYOUT: Final = re.compile(
    r"</?(?:p|div|img|a|br|hr|picture|source|h[1-6]|center|span|sub|sup|b|i|table|tbody|thead|tr|td"
    r"|th|ul|ol|li|strong|em|figure|svg|path|video|align|code|kbd|mark|small|details|summary)\b[^<>]{0,1000}>",
    re.IGNORECASE,
)
_IMAGE: Final = re.compile(r"!\[([^\[\]\n]{0,300})\]")
_LINK: Final = re.compile(r"\[([^\[\]\n]{0,300})\](?:\([^()\n]{0,500}\)|\[[^\[\]\n]{0,200}\])?")
_WIKILINK: Final = re.compile(r"\[\[(?:[^\[\]|\n]{0,300}\|)?([^\[\]|\n]{0,300})\]\]")
_EMPHASIS: Final = re.compile(r"\*{2,3}|~~|(?<!\w)\*|\*(?!\w)")


def markdown_blocks(lines: Iterable[NumberedLine]) -> Iterator[TextBlock]:
    """The headings of a document, each with the lines below it."""
    level, heading, anchor, start = 0, "", "", 0
    body: list[NumberedLine] = []
    opened: list[NumberedLine] = []
    """The lines of an HTML heading that is still open."""
    fence = ""
    in_comment = False
    for line in lines:
        start = start or line.number
        if fence:
            match = FENCE.match(line.text)
            closes = match is not None and match[1].startswith(fence) and not match[2].strip()
            fence = "" if closes else fence
            body.append(line)
            continue
        text, in_comment = _without_comment(line.text, in_comment)
        match = FENCE.match(text)
        if match is not None and not (match[1][0] == "`" and "`" in match[2]):
            fence = match[1]
            body.append(line)
            continue
        if opened or _HTML_OPENED.fullmatch(text):
            opened.append(line._replace(text=text.strip()))
            if "</h" in text.lower():
                line = opened[0]  # noqa: PLW2901 - the heading is one line.
                text = " ".join(numbered_line.text for numbered_line in opened)
            elif len(opened) < HTML_HEADING_LINES_MAX:
                continue
            else:
                body += _texts(opened)
                opened = []
                continue
            opened = []
        new = _heading(text) or _underlined(text, body)
        if new is None:
            if not (_BADGES.fullmatch(text) or _DEFINITION.fullmatch(text)):
                body += _texts([line._replace(text=text)])
            continue
        first = line.number
        if new[0] < 0:  # The line above was the heading.
            new, first = (-new[0], body[-1].text), body.pop().number
        if heading or any(numbered_line.text.strip() for numbered_line in body):
            yield TextBlock(level, heading, start, tuple(body), anchor)
        level, start, body = new[0], first, []
        heading, anchor = plain_heading(new[1])
    body += _texts(opened)
    if heading or any(numbered_line.text.strip() for numbered_line in body):
        yield TextBlock(level, heading, start, tuple(body), anchor)


def _texts(lines: Iterable[NumberedLine]) -> list[NumberedLine]:
    """Lines without the HTML tags that are only for layout."""
    return [line._replace(text=_LAYOUT.sub("", line.text).rstrip()) for line in lines]


def plain_heading(text: str) -> tuple[str, str]:
    """A heading without marks, and its anchor or "".

    >>> plain_heading("The `Cart` of [Ada](a.md) {#cart}")
    ('The Cart of Ada', 'cart')
    """
    text = text.rstrip()
    closed = text.rstrip("#")
    text = closed if not closed.rstrip() or closed[-1:].isspace() else text
    begin = text.rfind("{#") if text.endswith("}") else -1
    match = _ANCHOR.fullmatch(text, begin) if begin >= 0 else None
    text = text[:begin] if match is not None else text
    text = _WIKILINK.sub(r"\1", _IMAGE.sub("", _LAYOUT.sub("", text)))
    text = _EMPHASIS.sub("", _LINK.sub(r"\1", text)).replace("`", "").replace("\\", "")
    return " ".join(text.split()), match[1] if match is not None else ""


def _heading(text: str) -> tuple[int, str] | None:
    match = _ATX.fullmatch(text)
    if match is not None:
        return len(match[1]), match[2] or ""
    match = _HTML_HEADING.fullmatch(text) if "<" in text else None
    return (int(match[1]), match[2]) if match is not None else None


def _underlined(text: str, body: list[NumberedLine]) -> tuple[int, str] | None:
    """The negative level of the heading that this line underlines; 0 for other lines."""
    match = _SETEXT.fullmatch(text) if text[:4].strip()[:1] in ("=", "-") else None
    if match is None or not body or _NO_PARAGRAPH.match(body[-1].text):
        return None
    if len(body) > 1 and body[-2].text.strip():
        return None  # A line below a paragraph of several lines is rather a rule or a table.
    return (-1, "") if match[1] else (-2, "")


def _without_comment(text: str, is_inside: bool) -> tuple[str, bool]:
    """A line without HTML comments; and True if a comment continues on the next line."""
    if not is_inside and "<!--" not in text:
        return text, False
    parts: list[str] = []
    while text:
        mark = "-->" if is_inside else "<!--"
        before, sign, text = text.partition(mark)
        if not is_inside:
            parts.append(before)
        if sign:
            is_inside = not is_inside
    return "".join(parts), is_inside
