"""Concepts by the beginnings of words in their names.

The words of a node are those of its readable name and of the last segment of its URI, split where
letters end and inside `CamelCase`. Words of other segments are those of its folder, which many
nodes share. Entries of words that a node no longer has stay until the index is made again: an
answer checks every node that it names against the words it has now.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from heapq import nsmallest
from typing import Final

from mycel.explorer.folders import folder_of, last_segment

_WORD: Final = re.compile(r"[^\W_]+")
_HUMP: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\WA-Za-z_]+")
_LAST: Final = "\U0010ffff"
WORD_CHARACTERS_MAX: Final = 40
"""Longer words are indexed by their beginning."""


def words_of(text: str) -> set[str]:
    """The words of a text, in lower case; those of `CamelCase` also one by one.

    >>> sorted(words_of("OrderService.add-item 2"))
    ['2', 'add', 'item', 'order', 'orderservice', 'service']
    """
    found = set()
    for word in _WORD.findall(text):
        found.add(word.casefold()[:WORD_CHARACTERS_MAX])
        if not word.islower():
            found.update(hump.casefold()[:WORD_CHARACTERS_MAX] for hump in _HUMP.findall(word))
    return found


def asked_words(question: str) -> list[str]:
    """The words of a question, each of which has to begin a word of a name."""
    found = [word.casefold()[:WORD_CHARACTERS_MAX] for word in _WORD.findall(question)]
    return list(dict.fromkeys(found))


class NameIndex:
    """Words of names, each with the concepts that have it."""

    def __init__(self, names: Iterable[tuple[int, str, str | None]]) -> None:
        """Index the number, URI and readable name of nodes."""
        self._concepts: dict[str, int | array[int]] = {}
        """One number, or several."""
        self._words: list[str] = []
        """All words in order."""
        self._lengths: dict[int, int] = {}
        """The length of the last segment of each concept."""
        for number, uri, label in names:
            self._lengths[number] = len(last_segment(uri))
            for word in _own_words(uri, label):
                self._put(word, number)
        self._words = sorted(self._concepts)

    def add(self, number: int, uri: str, label: str | None) -> None:
        """Index a node that is new or has other names."""
        self._lengths[number] = len(last_segment(uri))
        for word in _own_words(uri, label):
            if word not in self._concepts:
                insort(self._words, word)
            self._put(word, number)

    def _put(self, word: str, number: int) -> None:
        there = self._concepts.get(word)
        if there is None:
            self._concepts[word] = number
        elif isinstance(there, int):
            if there != number:
                self._concepts[word] = array("q", (there, number))
        elif there[-1] != number:
            there.append(number)

    def beginning(self, word: str) -> set[int]:
        """The concepts with a word that begins so."""
        found: set[int] = set()
        low, high = bisect_left(self._words, word), bisect_left(self._words, word + _LAST)
        for each in self._words[low:high]:
            there = self._concepts[each]
            if isinstance(there, int):
                found.add(there)
            else:
                found.update(there)
        return found

    def candidates(self, words: Sequence[str], degrees: Sequence[int], most: int) -> list[int]:
        """Concepts that may fit all words: those of the rarest word, the best first."""
        sets: list[set[int]] = [found for word in words if (found := self.beginning(word))]
        if not sets:
            return []
        shared = set.intersection(*sets) if len(sets) == len(words) else set()
        best = shared or min(sets, key=len)
        size, lengths = len(degrees), self._lengths
        return nsmallest(
            most,
            best,
            key=lambda number: merit(
                degrees[number >> 1] if number >> 1 < size else 0, lengths[number]
            ),
        )


def merit(degree: int, length: int) -> float:
    """The place of a node among those that fit equally well: the least comes first.

    Twice as many links weigh as much as a name that is shorter by two characters.
    """
    return length / 2 - (degree + 1).bit_length()


def _own_words(uri: str, label: str | None) -> Iterator[str]:
    yield from words_of(last_segment(uri))
    if label:
        yield from words_of(label[:200])


@lru_cache(maxsize=20_000)
def folder_words(folder: str) -> frozenset[str]:
    """The words of a folder's path, without its scheme."""
    return frozenset(words_of(folder.partition(":")[2]))


def fit(words: Sequence[str], question: str, uri: str, label: str | None) -> int | None:
    """The rank of a node for a question, 0 the best; None if some word begins none of its words.

    0: its name or last segment is the question; 1: begins with it; 2: the words begin words of its
    own; 3: some of them begin only words of its folder.
    """
    asked, last = question.strip().casefold(), last_segment(uri).casefold()
    names = (last, (label or "").casefold())
    if asked in names:
        return 0
    if asked and any(name.startswith(asked) for name in names):
        return 1
    own = set(_own_words(uri, label))
    folder = folder_words(folder_of(uri))
    rank = 2
    for word in words:
        if not any(each.startswith(word) for each in own):
            if not any(each.startswith(word) for each in folder):
                return None
            rank = 3
    return rank
