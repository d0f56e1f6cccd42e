"""Snippets: the part of a text that has the words of a question."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

STEM_CHARACTERS: Final = 5
"""Words are compared by their first characters, so that other forms of a word count."""

_WORD: Final = re.compile(r"\w+")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+")


def snippet(text: str, words: Collection[str], characters_max: int) -> str:
    """The part of a text that has most of the words; its beginning if it has none of them.

    The snippet begins at the start of a sentence if that leaves room for the words.

    >>> snippet("It rained. The otter was back. We left.", ["otters"], 24)
    'The otter was back. …'
    """
    text = " ".join(text.split())
    if len(text) <= characters_max:
        return text
    stems = {word.lower()[:STEM_CHARACTERS] for word in words}
    places = [
        (match.start(), match.group().lower()[:STEM_CHARACTERS]) for match in _WORD.finditer(text)
    ]
    hits = [(at, stem) for at, stem in places if stem in stems]
    begin, most = 0, 0
    for at, _ in hits:
        covered = len({stem for other, stem in hits if at <= other < at + characters_max - 2})
        if covered > most:
            begin, most = at, covered
    begins = [0, *(match.end() for match in _SENTENCE.finditer(text))]
    sentence = max((at for at in begins if at <= begin), default=0)
    if begin - sentence < characters_max // 3:
        begin = sentence
    end = begin + characters_max - 2 * (begin > 0) - 2
    if end >= len(text):
        return f"… {text[begin:]}" if begin else text
    end = max(text.rfind(" ", begin, end + 1), begin + 1)
    return f"{'… ' if begin and begin not in begins else ''}{text[begin:end]} …"
