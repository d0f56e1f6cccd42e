"""Links of Markdown documents: inline, by reference, images and autolinks.

A small reader of ours and no full parser: it knows code fences, code spans and paragraphs, which is
what decides whether a bracket is a link. Code is blanked out first, so that offsets stay true.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from mycel.knowledge.code.facts import Link

LINKS_MAX: Final = 10_000
TEXT_CHARS_MAX: Final = 200

_FENCE: Final = re.compile(r" {0,3}(?:[-*+>]\s+|\d+[.)]\s+|>\s?)*(`{3,}|~{3,})(.*)")
_TICKS: Final = re.compile(r"`+")
_PARAGRAPH_END: Final = re.compile(r"\n[ \t]*\n")
_TEXT: Final = r"((?:[^\[\]\\]|\\.|\[[^\[\]]{0,500}\](?:\([^()\s]{0,500}\))?){0,500})"
_INLINE: Final = re.compile(
    r"(!?)\[" + _TEXT + r"\]\([ \t\n]*(<[^<>\n]*>|(?:[^\s()\\<]|\\.|\([^\s()]*\))*)"
    r"(?:[ \t\n]+(?:\"[^\"]{0,500}\"|'[^']{0,500}'|\([^()]{0,500}\)))?[ \t\n]*\)"
)
_DEFINITION: Final = re.compile(
    r"^ {0,3}\[([^\[\]\n]{1,200})\]:[ \t]*(<[^<>\n]*>|\S+).*$", re.MULTILINE
)
_REFERENCE: Final = re.compile(r"(!?)\[" + _TEXT + r"\](?:\[([^\[\]]{0,200})\])?")
_AUTOLINK: Final = re.compile(r"<([A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]+)>")
_BARE: Final = re.compile(r"\bhttps?://[^\s<>\[\]`\"']+")
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")


def links(text: str) -> tuple[Link, ...]:
    """The links of a document in the order of the text.

    >>> [link.target for link in links("See [this](a.md) and `[not](b.md)`.")]
    ['a.md']
    """
    text = _without_code(text.replace("\r\n", "\n").replace("\r", "\n"))
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    found = sorted(_found(text), key=lambda item: item[0])
    return tuple(
        Link(target, _label(words), bisect_right(starts, at), form)
        for at, target, words, form in found[:LINKS_MAX]
        if target
    )


def _found(text: str) -> Iterator[tuple[int, str, str, str]]:
    definitions: dict[str, str] = {}
    for definition in _DEFINITION.finditer(text):
        definitions.setdefault(_key(definition[1]), _target(definition[2]))
    text = _DEFINITION.sub(_blank, text)
    taken: list[tuple[int, int]] = []
    for link in _INLINE.finditer(text):
        if _PARAGRAPH_END.search(link[0]):
            continue
        taken.append(link.span())
        yield link.start(), _target(link[3]), link[2], "image" if link[1] else "link"
        # An image may be what is clicked on.
        for image in _INLINE.finditer(link[2]) if "](" in link[2] else ():
            yield link.start(2) + image.start(), _target(image[3]), image[2], "image"
    text = _blanked(text, taken)
    taken = []
    for link in _REFERENCE.finditer(text) if definitions else ():
        target = definitions.get(_key(link[3] or link[2]))
        if target is not None:
            taken.append(link.span())
            yield link.start(), target, link[2], "image" if link[1] else "link"
    text = _blanked(text, taken)
    for link in _AUTOLINK.finditer(text):
        yield link.start(), link[1], "", "autolink"
    for link in _BARE.finditer(_AUTOLINK.sub(_blank, text)):
        yield link.start(), _trimmed(link[0]), "", "autolink"


def _without_code(text: str) -> str:
    """The text with spaces for all code."""
    lines = text.split("\n")
    fence = ""
    for number, line in enumerate(lines):
        found = _FENCE.match(line)
        if fence:
            closes = found is not None and found[1].startswith(fence) and not found[2].strip()
            fence = "" if closes else fence
            lines[number] = " " * len(line)
        elif found is not None and not (found[1][0] == "`" and "`" in found[2]):
            fence = found[1]
            # Not an empty line: the paragraph before ends here, and so does a code span.
            lines[number] = " " * len(line)
    return _without_spans("\n".join(lines))


def _without_spans(text: str) -> str:
    if "`" not in text:
        return text
    spans: list[tuple[int, int]] = []
    start = 0
    for end in (*(found.start() for found in _PARAGRAPH_END.finditer(text)), len(text)):
        spans += _spans(text, start, end)
        start = end
    return _blanked(text, spans)


def _spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The code spans of a paragraph: from a run of backticks to the next one of its length."""
    runs = [run.span() for run in _TICKS.finditer(text, start, end)]
    by_length: defaultdict[int, list[int]] = defaultdict(list)
    for number, (first, last) in enumerate(runs):
        by_length[last - first].append(number)
    number = 0
    while number < len(runs):
        first, last = runs[number]
        same = by_length[last - first]
        following = bisect_right(same, number)
        if following < len(same) and text[first - 1 : first] != "\\":
            yield first, runs[same[following]][1]
            number = same[following]
        number += 1


def _blanked(text: str, spans: list[tuple[int, int]]) -> str:
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        pieces += (text[at:start], re.sub(r"[^\n]", " ", text[start:end]))
        at = end
    return "".join((*pieces, text[at:]))


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _target(raw: str) -> str:
    raw = raw[1:-1] if raw.startswith("<") and raw.endswith(">") else raw
    return _ESCAPE.sub(r"\1", raw)


def _key(label: str) -> str:
    return " ".join(label.split()).casefold()


def _label(words: str) -> str:
    words = _INLINE.sub(lambda image: image[2], words) if "](" in words else words
    return " ".join(_ESCAPE.sub(r"\1", words).split())[:TEXT_CHARS_MAX]


def _trimmed(url: str) -> str:
    """A bare address without the punctuation of the sentence around it."""
    url = url.rstrip(".,;:!?*_~")
    while url.endswith(")") and url.count(")") > url.count("("):
        url = url[:-1].rstrip(".,;:!?*_~")
    return url
