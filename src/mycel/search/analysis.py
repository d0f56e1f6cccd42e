"""From an element to the text that is indexed, and from a question to a full-text query.

SQLite's tokenizer folds case and accents and takes English words to their stems, but it keeps a run
of Chinese, Japanese or Korean as one word. So each such character is set apart here, in documents
and in queries alike, and a query for several of them in a row becomes a phrase: any substring is
found, and nothing else is, except that white space and punctuation between two characters do not
count. Words that say nothing ("the", "Of") are left out on both sides; in capitals they may say
something ("IT", "OR") and stay. Text is composed first (NFC): how it was typed does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any
from unicodedata import category, normalize

STOP_WORDS = frozenset(
    # Words are read more easily in a row than in a column.
    "a an and are as at be but by for from has have if in into is it its of on or that the "  # noqa: SIM905
    "their then there these they this to was were will with".split()
)

TEXT_CHARACTERS_MAX = 200_000
"""How much of one element is indexed."""

QUESTION_CHARACTERS_MAX = 4096
"""How much of a question is looked at: FTS5 takes time with the square of the number of terms."""

_IDEOGRAPHS = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u312f\u3130-\u318f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff"
)
_CONTAINERS = frozenset((dict, list, tuple))
_NUMBERS = frozenset((float, int))
_LEFT_OUT = STOP_WORDS | {word.capitalize() for word in STOP_WORDS}


# Compiled when first needed: sets of this size take some milliseconds, and texts may be plain.


@cache
def _ideograph() -> re.Pattern[str]:
    return re.compile(f"([{_IDEOGRAPHS}])")


@cache
def _ideograph_run() -> re.Pattern[str]:
    return re.compile(f"[{_IDEOGRAPHS}]+|[^{_IDEOGRAPHS}]+")


def document_text(name: str, attributes: Mapping[str, Any]) -> str:
    """What is indexed of an element: its name, and every text in its attributes, key by key."""
    parts = [name] if name else []
    for key in sorted(attributes):
        item = attributes[key]
        kind = type(item)
        if kind is str:  # Most attributes are flat, and a bulk load brings millions.
            parts.append(item)
        elif kind in _CONTAINERS:
            parts.extend(_texts(item))
    return prepare("\n".join(parts)[:TEXT_CHARACTERS_MAX])


def prepare(text: str) -> str:
    """Text as the tokenizer should see it."""
    if not text.isascii():
        text = _ideograph().sub(r" \1 ", normalize("NFC", text))
    return " ".join([word for word in text.split() if word not in _LEFT_OUT])


def match_expression(question: str) -> str | None:
    """An FTS5 query that finds documents with any of the question's terms, best first.

    None when the question holds nothing that could be found. The terms are quoted, so nothing in
    the question can act as an operator.

    >>> match_expression('the "risk" of AND')
    '"risk" OR "AND"'
    """
    terms: dict[str, None] = {}
    for word in _words(normalize("NFC", question[:QUESTION_CHARACTERS_MAX])):
        for piece in _ideograph_run().findall(word):
            if _ideograph().match(piece):
                terms[" ".join(piece)] = None
            elif piece not in _LEFT_OUT:
                terms[piece] = None
    return " OR ".join(f'"{term}"' for term in terms) if terms else None


def _words(text: str) -> list[str]:
    """The runs of letters, digits and marks.

    Vowel signs are marks in many scripts. The tokenizer cuts words there, and so makes a phrase of
    a term that keeps them, whereas the letters alone would be found anywhere.
    """
    kept = (c if c.isalnum() or category(c)[0] == "M" else " " for c in text)
    return [word for word in "".join(kept).split() if any(c.isalnum() for c in word)]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key in sorted(value):
            yield from _texts(value[key])
    elif isinstance(value, (list, tuple)) and not _NUMBERS.issuperset(map(type, value)):
        for item in value:
            yield from _texts(item)
