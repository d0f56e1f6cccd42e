"""Finds links in Markdown (inline, by reference, images, autolinks, wikilinks), and tags.

It is no full parser: code fences, code spans and paragraphs decide whether a bracket is a link.
Code is blanked out first, so that offsets stay valid. Brackets are paired with a stack in one pass,
and every pattern consumes its input or stops after a fixed number of characters: the time is
linear.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

LINKS_MAX: Final = 10_000
_LABEL_CHARS_MAX: Final = 200
"""The maximum number of characters of a label; longer labels are ignored."""

FENCE: Final = re.compile(r" {0,3}(?>(?:[-*+]\s++|\d++[.)]\s++|>\s*+)*)(`{3,}+|~{3,}+)(.*)")
_TICKS: Final = re.compile(r"`+")
_PARAGRAPH_END: Final = re.compile(r"\n[ \t]*+\n")
_BRACKET: Final = re.compile(r"\\.|(!?\[)|(\])", re.DOTALL)
_DESTINATION: Final = re.compile(
    r"\([ \t\n]*+(<[^<>\n]*+>|(?>(?:[^\s()\\<]|\\.|\([^\s()]*+\))*))"
    r"(?:[ \t\n]++(?:\"[^\"]{0,500}+\"|'[^']{0,500}+'|\([^()]{0,500}+\)))?[ \t\n]*+\)"
)
_LABEL: Final = re.compile(r"\[([^\[\]]{0,200}+)\]")
_DEFINITION: Final = re.compile(
    r"^ {0,3}\[([^\[\]\n]{1,200}+)\]:[ \t]*+(<[^<>\n]*+>|\S++).*$", re.MULTILINE
)
_AUTOLINK: Final = re.compile(r"<([A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]++)>")
ADDRESS: Final = re.compile(r"\bhttps?://[^\s<>\[\]`\"']++")
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_PUNCTUATION: Final = ".,;:!?*_~"
_WIKILINK: Final = re.compile(r"!?\[\[([^\[\]\n]{1,500}+)\]\]")
_TAG: Final = re.compile(r"(?<![^\s(,;])#([^\W\d][\w/-]{0,99}+)(?![\w#])")


class FoundLink(NamedTuple):
    """A link and its position in the text."""

    start: int
    end: int
    target: str


class DocumentLinks(NamedTuple):
    """The links of a document by position, with wikilinks apart, and its tags."""

    links: list[FoundLink]
    wikilinks: list[FoundLink]
    tags: tuple[str, ...]


def find_links(text: str) -> DocumentLinks:
    """The links and tags of a document whose lines end with a line feed.

    >>> [link.target for link in find_links("See [this](a.md) and `[not](b.md)`.").links]
    ['a.md']
    >>> found = find_links("[[Tea#Green|tea]] #drinks/hot")
    >>> [link.target for link in found.wikilinks], found.tags
    (['Tea#Green'], ('drinks/hot',))
    """
    text = _without_code(text)
    wikilinks: list[FoundLink] = []
    if "[[" in text:
        for wiki in _WIKILINK.finditer(text):
            target = wiki[1].partition("|")[0].rstrip("\\").strip()
            if target:
                wikilinks.append(FoundLink(*wiki.span(), target))
        text = _blanked(text, [(wikilink.start, wikilink.end) for wikilink in wikilinks])
    found_links = sorted(link for link in _find_links(text) if link.target)
    tags = dict.fromkeys(match[1].rstrip("/") for match in _TAG.finditer(text))
    return DocumentLinks(found_links[:LINKS_MAX], wikilinks[:LINKS_MAX], tuple(tags))


def _find_links(text: str) -> Iterator[FoundLink]:
    definitions: dict[str, str] = {}
    for definition in _DEFINITION.finditer(text):
        definitions.setdefault(_key(definition[1]), _target(definition[2]))
    text = _DEFINITION.sub(_blank, text)
    spans: list[tuple[int, int]] = []
    start = 0
    for end in (*(match.start() for match in _PARAGRAPH_END.finditer(text)), len(text)):
        for link in _in_brackets(text, start, end, definitions):
            yield link
            while spans and spans[-1][0] >= link.start:  # This is an image inside a link.
                spans.pop()
            spans.append((link.start, link.end))
        start = end
    text = _blanked(text, spans)
    for auto in _AUTOLINK.finditer(text):
        yield FoundLink(*auto.span(), auto[1])
    for bare in ADDRESS.finditer(_AUTOLINK.sub(_blank, text)):
        yield FoundLink(*bare.span(), _trimmed(bare[0]))


def _in_brackets(
    text: str, start: int, end: int, definitions: Mapping[str, str]
) -> Iterator[FoundLink]:
    """The inline and reference links of a paragraph, in the order in which they end."""
    openings: list[tuple[int, int, bool]] = []
    outermost = 0
    """The number of brackets opened before the last link: a link cannot contain a link."""
    at = start
    while (bracket := _BRACKET.search(text, at, end)) is not None:
        at = bracket.end()
        if bracket[1]:
            openings.append((bracket.start(), at, bracket[1] == "!["))
        if not bracket[2] or not openings:
            continue
        opening, begin, is_image = openings.pop()
        is_active = is_image or len(openings) >= outermost
        outermost = min(outermost, len(openings))
        match = _DESTINATION.match(text, at, end)
        target = _target(match[1]) if match is not None else None
        if match is None:
            match = _LABEL.match(text, at, end)
            label = match[1] if match is not None else ""
            if not label and bracket.start() - begin <= _LABEL_CHARS_MAX:
                label = text[begin : bracket.start()]
            target = definitions.get(_key(label)) if label else None
        if target is None or not is_active:
            continue
        at = match.end() if match is not None else at
        yield FoundLink(opening, at, target)
        if not is_image:
            outermost = len(openings)


def _without_code(text: str) -> str:
    """The text with all code replaced by spaces."""
    lines = text.split("\n")
    fence = ""
    for number, line in enumerate(lines):
        match = FENCE.match(line)
        if fence:
            closes = match is not None and match[1].startswith(fence) and not match[2].strip()
            fence = "" if closes else fence
            lines[number] = " " * len(line)
        elif match is not None and not (match[1][0] == "`" and "`" in match[2]):
            fence = match[1]
            # These spaces end the paragraph before, and its code spans.
            lines[number] = " " * len(line)
    return _without_spans("\n".join(lines))


def _without_spans(text: str) -> str:
    if "`" not in text:
        return text
    spans: list[tuple[int, int]] = []
    start = 0
    for end in (*(match.start() for match in _PARAGRAPH_END.finditer(text)), len(text)):
        spans += _spans(text, start, end)
        start = end
    return _blanked(text, spans)


def _spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The code spans of a paragraph: from a run of backticks to the next run of the same length."""
    runs = [run.span() for run in _TICKS.finditer(text, start, end)]
    by_length: defaultdict[int, list[int]] = defaultdict(list)
    for number, (first, last) in enumerate(runs):
        by_length[last - first].append(number)
    number = 0
    while number < len(runs):
        first, last = runs[number]
        alike = by_length[last - first]
        following = bisect_right(alike, number)
        if following < len(alike) and text[first - 1 : first] != "\\":
            yield first, runs[alike[following]][1]
            number = alike[following]
        number += 1


def _blanked(text: str, spans: list[tuple[int, int]]) -> str:
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        pieces += (text[at:start], re.sub(r"[^\n]", " ", text[start:end]))
        at = end
    return "".join((*pieces, text[at:]))


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _target(raw: str) -> str:
    raw = raw[1:-1] if raw.startswith("<") and raw.endswith(">") else raw
    return _ESCAPE.sub(r"\1", raw)


def _key(label: str) -> str:
    return " ".join(label.split()).casefold()


def _trimmed(url: str) -> str:
    """A bare address without trailing punctuation that belongs to the sentence."""
    surplus = url.count(")") - url.count("(")
    end = len(url)
    while end and (url[end - 1] in _PUNCTUATION or (surplus > 0 and url[end - 1] == ")")):
        end -= 1
        surplus -= url[end] == ")"
    return url[:end]
