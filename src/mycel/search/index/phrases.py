"""Phrases as hashes over word pieces: names that a text mentions, and capitalised phrases.

A phrase is the pieces of its words without punctuation, so case, accents and marks do not count. A
text mentions a phrase where its pieces follow each other in the text, from the beginning of a word
to the end of one. If several phrases overlap, the longest counts. Because a text is stored as
pieces, any phrase can be looked for in it later: a name that is given today is found in texts of
last year.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mycel.embedding.static import StaticModel

Hashes = NDArray[np.uint32]

PIECES_MAX: Final = 12
"""The maximum number of pieces of a phrase that is looked for."""

SEPARATOR: Final = 0xFFFF
"""The piece that separates two texts."""

_MULTIPLIER: Final = 0x9E3779B97F4A7C15
_FACTOR: Final = np.uint64(_MULTIPLIER)
_MASK: Final = (1 << 64) - 1
_SLOTS: Final = 1 << 20

LITTLE_WORDS: Final = frozenset(
    # The list is easier to read in rows than with one word per line.
    """a an and are as at be been but by can could did do does for from had has have he her hers him
    his how i if in into is it its me my of on or our she so than that the their them then there
    these they this to was we were what when where which while who whom whose why will with would
    you your about after also any because both during each few more most no nor not only other over
    own same some such too under until up very s t just""".split()  # noqa: SIM905
)
"""Words of questions and sentences that do not name a subject."""

_SENTENCES: Final = re.compile(r"(?<=[.!?])\s+|\n")
_CAPITALISED: Final = re.compile(
    r"[A-Z0-9][\w'’.\-]*(?:\s*[A-Z][\w'’.\-]*|\s+(?:of|the|de|la|le|du|van|von|and|&|in|for|at|on|to"
    r"|a|an|al|el|bin|mac|der|den|di|da)(?:\s+the)?(?=\s+[A-Z]))*"
)
_OWNER: Final = re.compile(r"['’]s$")


def capitalised(text: str) -> set[str]:
    """The capitalised phrases of a text, which are mostly names of something.

    >>> sorted(capitalised("The drummer Jeff Porcaro of Toto's first line-up. He left."))
    ['Jeff Porcaro of Toto']
    """
    phrases = set()
    for sentence in _SENTENCES.split(text):
        for match in _CAPITALISED.finditer(sentence):
            words = _OWNER.sub("", match.group().strip()).split()
            while words and words[0].lower() in LITTLE_WORDS:
                del words[0]
            phrase = " ".join(words)
            if len(phrase) > 2 and not phrase.isdigit():
                phrases.add(phrase)
    return phrases


class PhraseVocabulary:
    """The word pieces of a model, with their properties for phrases."""

    def __init__(self, model: StaticModel) -> None:
        pieces = model.pieces
        self._model: Final = model
        bare = [piece.removeprefix("##") for piece in pieces]
        self.is_mark: Final = np.array([not any(map(str.isalnum, token)) for token in bare])
        self._marks: Final = frozenset(np.flatnonzero(self.is_mark).tolist())
        self.continues: Final = np.array([piece.startswith("##") for piece in pieces])
        self._is_skipped: Final = np.zeros(SEPARATOR + 1, bool)
        self._is_skipped[: len(pieces)] = self.is_mark
        self.is_little: Final = np.array([piece in LITTLE_WORDS for piece in pieces])

    def hash(self, phrase: str) -> int:
        """The hash of a phrase; 0 if none of its pieces is known."""
        value = 0
        for piece in self._model.token_ids(phrase):
            if piece not in self._marks:
                value = (value * _MULTIPLIER + piece + 1) & _MASK
        return (value * _MULTIPLIER & _MASK) >> 32

    def hashes(self, phrases: Iterable[str]) -> Hashes:
        """The sorted hashes of phrases, without duplicates."""
        return np.array(sorted({self.hash(phrase) for phrase in phrases} - {0}), np.uint32)

    def joined(
        self, pieces: NDArray[np.uint16], counts: NDArray[np.integer]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The concatenated pieces of texts without punctuation, and the text of each piece."""
        row = np.insert(pieces, np.cumsum(counts, dtype=np.int64), SEPARATOR)
        owners = np.repeat(np.arange(len(counts)), counts + 1)
        is_word = ~self._is_skipped[row]
        return row[is_word].astype(np.int64), owners[is_word]


@lru_cache(maxsize=1)
def vocabulary_of(model: StaticModel) -> PhraseVocabulary:
    """The vocabulary of a model.

    All graphs of a process share it, because making it takes a while.
    """
    return PhraseVocabulary(model)


class PhraseSet:
    """The phrases to look for in texts."""

    def __init__(self, vocabulary: PhraseVocabulary, hashes: Hashes) -> None:
        self._vocabulary: Final = vocabulary
        self.hashes: Final = np.unique(hashes)
        self._slots: Final = np.zeros(_SLOTS, bool)
        self._slots[self.hashes & np.uint32(_SLOTS - 1)] = True

    def mentioned(
        self, pieces: NDArray[np.uint16], counts: NDArray[np.integer]
    ) -> tuple[NDArray[np.int64], Hashes]:
        """The phrases that texts mention: the position of a text, and the phrase, in order.

        `pieces` are the concatenated pieces of all texts, `counts` their number for each text.
        """
        if not len(pieces) or not len(self.hashes):
            return np.zeros(0, np.int64), np.zeros(0, np.uint32)
        row, owners = self._vocabulary.joined(pieces, counts)
        lengths, values = self._longest(row)
        begins = np.flatnonzero(lengths)
        places, free = [], 0
        for at, length in zip(begins.tolist(), lengths[begins].tolist(), strict=True):
            if at >= free:
                places.append(at)
                free = at + length
        return owners[places], values[places]

    def _longest(self, row: NDArray[np.int64]) -> tuple[NDArray[np.int8], Hashes]:
        """The length of the longest phrase that begins at each piece, and its hash."""
        count = len(row)
        vocabulary_size = len(self._vocabulary.continues)
        is_known = row < vocabulary_size
        pieces = np.where(is_known, row, 0)
        begins = is_known & ~self._vocabulary.continues[pieces]
        ends = np.append(begins[1:] | ~is_known[1:], True)
        numbers = row.astype(np.uint64) + np.uint64(1)
        rolling = np.zeros(count, np.uint64)
        lengths, values = np.zeros(count, np.int8), np.zeros(count, np.uint32)
        for more in range(min(PIECES_MAX, count)):
            rolling = rolling[: count - more] * _FACTOR + numbers[more:]
            hashes = (rolling * _FACTOR >> np.uint64(32)).astype(np.uint32)
            may = begins[: count - more] & ends[more:] & self._slots[hashes & np.uint32(_SLOTS - 1)]
            if more == 0:
                may &= ~self._vocabulary.is_little[pieces]
            at = np.flatnonzero(may)
            near = np.minimum(np.searchsorted(self.hashes, hashes[at]), len(self.hashes) - 1)
            at = at[self.hashes[near] == hashes[at]]
            lengths[at], values[at] = more + 1, hashes[at]
        return lengths, values
