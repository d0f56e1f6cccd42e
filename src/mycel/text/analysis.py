"""Makes the indexed text of an element, and the terms of a question.

SQLite's tokenizer folds case and accents and reduces English words to their stems, but it keeps a
run of Chinese, Japanese or Korean as one word. This module therefore separates such characters, in
documents and in queries, and a query for several of them in a row becomes a phrase, which finds
every substring and nothing else; white space and punctuation between two characters do not count.
Stop words ("the", "Of") are left out of documents and queries; in capitals they may have a meaning
("IT", "OR") and stay. Text is normalised first (NFC).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple
from unicodedata import category, normalize

from mycel.text.names import LINK_KEY, called, is_plain, key_text, with_parts

STOP_WORDS = frozenset(
    # One string, because a list with a word on each line is harder to read.
    "a an and are as at be but by for from has have if in into is it its of on or that the "  # noqa: SIM905
    "their then there these they this to was were will with".split()
)

TEXT_CHARACTERS_MAX = 200_000
"""The maximum number of characters of one element that are indexed."""

QUESTION_CHARACTERS_MAX = 4096
"""The maximum number of characters of a question that are used; the rest is ignored.

FTS5 takes time quadratic in the number of terms.
"""

_IDEOGRAPHS = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u312f\u3130-\u318f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff"
)
_ASCII_WORD = re.compile("[A-Za-z0-9]+")
_CONTAINERS = frozenset((dict, list, tuple))
_NUMBERS = frozenset((float, int))
_LEFT_OUT = STOP_WORDS | {word.capitalize() for word in STOP_WORDS}


# Compiled when first needed: sets of this size take some milliseconds, and plain texts need none.


@cache
def _ideograph() -> re.Pattern[str]:
    return re.compile(f"([{_IDEOGRAPHS}])")


@cache
def _ideograph_run() -> re.Pattern[str]:
    return re.compile(f"[{_IDEOGRAPHS}]+|[^{_IDEOGRAPHS}]+")


class AnalysedText(NamedTuple):
    """The text of an element, one field for each column of the index."""

    keys: str
    """The keys of its names, for exact look-ups."""
    title: str
    """Its names and their parts."""
    body: str
    """Its path, and every text in its attributes."""


def concept_document(name: str, attributes: Mapping[str, Any]) -> AnalysedText:
    """The text of a concept that is indexed."""
    if is_plain(name, attributes):
        return AnalysedText("", prepare(name), body_text("", attributes))
    names = called(name, attributes)
    path = name.partition("://")[2]
    return AnalysedText(
        key_text(names.keys(), names.standing),
        prepare(with_parts(names.titles)[:TEXT_CHARACTERS_MAX]),
        body_text(path, attributes, titled=True),
    )


def link_document(attributes: Mapping[str, Any]) -> AnalysedText | None:
    """The text of a link that is indexed, if it has any."""
    body = body_text("", attributes)
    return AnalysedText(LINK_KEY, "", body) if body else None


def body_text(first: str, attributes: Mapping[str, Any], *, titled: bool = False) -> str:
    """A text and every text in attributes, key by key, prepared for the tokenizer.

    If the element is `titled`, its attribute `name` is in the title.
    """
    parts = [first] if first else []
    for attribute in sorted(attributes):
        item = attributes[attribute]
        kind = type(item)
        if kind is str:  # Most attributes are flat, and a bulk load brings millions.
            if not (titled and attribute == "name"):
                parts.append(item)
        elif kind in _CONTAINERS:
            parts.extend(_texts(item))
    return prepare("\n".join(parts)[:TEXT_CHARACTERS_MAX])


def prepare(text: str) -> str:
    """A text prepared for the tokenizer."""
    if not text.isascii():
        text = _ideograph().sub(r" \1 ", normalize("NFC", text))
    return " ".join([word for word in text.split() if word not in _LEFT_OUT])


def terms_of(question: str) -> list[str]:
    """The terms of a question, each once: words, and runs of ideographs as phrases.

    >>> terms_of('the "risk" of AND')
    ['risk', 'AND']
    """
    terms: dict[str, None] = {}
    for word in _words(normalize("NFC", question[:QUESTION_CHARACTERS_MAX])):
        for piece in _ideograph_run().findall(word):
            if _ideograph().match(piece):
                terms[" ".join(piece)] = None
            elif piece not in _LEFT_OUT:
                terms[piece] = None
    return list(terms)


def _words(text: str) -> list[str]:
    """The runs of letters, digits and marks.

    Vowel signs are marks in many scripts. The tokenizer cuts words at marks, so a term that keeps
    them becomes a phrase; without them, its letters would be found anywhere.
    """
    if text.isascii():
        return _ASCII_WORD.findall(text)
    generator = (c if c.isalnum() or category(c)[0] == "M" else " " for c in text)
    return [word for word in "".join(generator).split() if any(c.isalnum() for c in word)]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key in sorted(value):
            yield from _texts(value[key])
    elif isinstance(value, (list, tuple)) and not _NUMBERS.issuperset(map(type, value)):
        for item in value:
            yield from _texts(item)
