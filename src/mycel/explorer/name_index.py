"""Concepts by the beginnings of words in their names.

The words of a node are the words of its readable name and of the last segment of its URI, split at
other characters and inside `CamelCase`. The words of other segments belong to its folder, which
many nodes share. If a node loses a word, the entry stays until the index is made again, so a search
checks every candidate against its present words.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from typing import Final

from mycel.explorer.folders import folder_of, last_segment

_WORD: Final = re.compile(r"[^\W_]+")
_HUMP: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\WA-Za-z_]+")
_LAST: Final = "\U0010ffff"
WORD_CHARACTERS_MAX: Final = 40
"""The maximum number of characters of a word that are indexed."""


def words_of(text: str) -> set[str]:
    """The words of a text, in lower case; the parts of `CamelCase` are words too.

    >>> sorted(words_of("OrderService.add-item 2"))
    ['2', 'add', 'item', 'order', 'orderservice', 'service']
    """
    words = set()
    for word in _WORD.findall(text):
        words.add(word.casefold()[:WORD_CHARACTERS_MAX])
        if not word.islower():
            words.update(hump.casefold()[:WORD_CHARACTERS_MAX] for hump in _HUMP.findall(word))
    return words


def asked_words(question: str) -> list[str]:
    """The words of a question; each has to be the beginning of a word of the name."""
    words = [word.casefold()[:WORD_CHARACTERS_MAX] for word in _WORD.findall(question)]
    return list(dict.fromkeys(words))


class Words:
    """A map from words to numbers, searched by beginnings of words."""

    def __init__(self) -> None:
        self._numbers: Final[dict[str, int | array[int]]] = {}
        """By word, one number or a list of numbers."""
        self._sorted: list[str] = []
        """The sorted words, without those that were added since the last look-up."""
        self._new: Final[list[str]] = []

    def put(self, word: str, number: int) -> None:
        """Add a number to a word."""
        stored = self._numbers.get(word)
        if stored is None:
            self._numbers[word] = number
            self._new.append(word)
        elif isinstance(stored, int):
            if stored != number:
                self._numbers[word] = array("i", (stored, number))
        elif stored[-1] != number:
            stored.append(number)

    def beginning(self, word: str) -> set[int]:
        """The numbers of all words with this beginning."""
        if self._new:
            self._sorted += self._new
            self._sorted.sort()  # Sorting two sorted runs is quick.
            self._new.clear()
        numbers: set[int] = set()
        low, high = bisect_left(self._sorted, word), bisect_left(self._sorted, word + _LAST)
        for candidate in self._sorted[low:high]:
            stored = self._numbers[candidate]
            if isinstance(stored, int):
                numbers.add(stored)
            else:
                numbers.update(stored)
        return numbers


class NameIndex:
    """Nodes by words of their own names, and folders by words of their paths."""

    def __init__(
        self, names: Iterable[tuple[int, str, str | None]], degrees: Sequence[int]
    ) -> None:
        """Index the number, URI and readable name of nodes; see `add` for degrees."""
        self._nodes: Final = Words()
        self._folders: Final = Words()
        self._folders_known = 0
        self._merits: Final = array("i")
        """The merit of each node when it was indexed; half the number of the node is its index."""
        for number, uri, label in names:
            self.add(number, uri, label, degrees)

    def add(self, number: int, uri: str, label: str | None, degrees: Sequence[int]) -> None:
        """Index a node that is new or renamed.

        `degrees` has the degree of a node; half the number of the node is its index.
        """
        slot = number >> 1
        if slot >= len(self._merits):
            self._merits.extend([0] * (slot + 1 - len(self._merits)))
        self._merits[slot] = merit(degrees[slot], len(last_segment(uri)))
        for word in _own_words(uri, label):
            self._nodes.put(word, slot)

    def folders(self, folders: Sequence[str], word: str) -> set[int]:
        """The indexes of the folders whose path has a word with this beginning."""
        for number in range(self._folders_known, len(folders)):
            for folder_word in folder_words(folders[number]):
                self._folders.put(folder_word, number)
        self._folders_known = len(folders)
        return self._folders.beginning(word)

    def candidates(self, words: Sequence[str], most: int) -> list[int]:
        """Nodes that may fit all words: the nodes of the rarest word, best first."""
        sets = [matches for word in words if (matches := self._nodes.beginning(word))]
        if not sets:
            return []
        shared = set.intersection(*sets) if len(sets) == len(words) else set()
        best = shared or min(sets, key=len)
        return [slot << 1 for slot in nsmallest(most, best, key=self._merits.__getitem__)]


def merit(degree: int, length: int) -> int:
    """The sort key among nodes that fit equally well; the least comes first.

    A node with twice as many links ranks like one whose name is two characters shorter.
    """
    return length - 2 * (degree + 1).bit_length()


def _own_words(uri: str, label: str | None) -> Iterator[str]:
    yield from words_of(last_segment(uri))
    if label:
        yield from words_of(label[:200])


def folder_words(folder: str) -> frozenset[str]:
    """The words of the path of a folder, without its scheme."""
    return frozenset(words_of(folder.partition(":")[2]))


def fit(words: Sequence[str], question: str, uri: str, label: str | None) -> int | None:
    """The rank of a node for a question, 0 the best; None if a word fits no word of the node.

    A word fits if it is the beginning of a word of the node. 0: the name or last segment is the
    question. 1: it begins with the question. 2: all words fit words of the name. 3: some words fit
    only words of the folder.
    """
    folded, last = question.strip().casefold(), last_segment(uri).casefold()
    names = (last, (label or "").casefold())
    if folded in names:
        return 0
    if folded and any(name.startswith(folded) for name in names):
        return 1
    own = set(_own_words(uri, label))
    folder = folder_words(folder_of(uri))
    rank = 2
    for word in words:
        if not any(part.startswith(word) for part in own):
            if not any(part.startswith(word) for part in folder):
                return None
            rank = 3
    return rank
