"""Known concepts that texts mention by name, from the corpus of search.

A mention is derived and no knowledge: it follows every rename, new alias and new concept. A name
that several concepts have mentions none of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final

import numpy as np

from mycel.errors import EmbedderFailed
from mycel.recall.corpus import Corpus
from mycel.recall.lazy import LazyRecall
from mycel.search.embedding import NotReadyError
from mycel.store.query import lookup
from mycel.store.query.reader import Reader

WAIT_S: Final = 5.0
"""Deriving more than this takes is left to a thread; until then no mentions are known."""

SCANNED_MAX: Final = 1_000
"""The newest texts that are looked at for mentions without a link."""


def mentioned(reader: Reader, recall: LazyRecall, number: int, limit: int) -> list[int]:
    """Concepts that the text of a concept mentions, the rarest names first."""
    corpus = _corpus(reader, recall)
    return [] if corpus is None else _mentioned(corpus, number)[:limit]


def unlinked(reader: Reader, recall: LazyRecall, limit: int) -> list[tuple[int, int]]:
    """Pairs of concepts, the first of which mentions the second, without a link between them.

    The newest texts come first.
    """
    corpus = _corpus(reader, recall)
    found: list[tuple[int, int]] = []
    if corpus is None:
        return found
    for number in np.sort(corpus.numbers[corpus.alive])[::-1][:SCANNED_MAX].tolist():
        if others := _mentioned(corpus, number):
            linked = {each.other for each in lookup.links_around(reader, number, None, SCANNED_MAX)}
            found += [(number, other) for other in others if other not in linked]
        if len(found) >= limit:
            break
    return found[:limit]


def _mentioned(corpus: Corpus, number: int) -> list[int]:
    (at,) = corpus.places(np.array([number], np.int64))
    if at < 0:
        return []
    hashes = np.unique(corpus.mentions_of(int(at)))
    phrase, places = corpus.called(hashes)
    counts = corpus.mention_counts(hashes)
    found: dict[int, int] = {}
    for each in np.flatnonzero(np.bincount(phrase, minlength=len(hashes)) == 1):
        other = int(corpus.numbers[places[phrase == each][0]])
        if other != number:
            found[other] = min(found.get(other, counts[each]), counts[each])
    return sorted(found, key=lambda other: (found[other], other))


def _corpus(reader: Reader, recall: LazyRecall) -> Corpus | None:
    """The corpus of the model inside the package; None if it is not ready or cannot be used."""
    try:
        with _hurried(reader):
            return (recall.instead() or recall.get()).corpus(reader)
    except (NotReadyError, EmbedderFailed):
        return None


@contextmanager
def _hurried(reader: Reader) -> Iterator[None]:
    """Let the reader have a deadline, so that much work is left to a thread."""
    before = reader.deadline
    reader.deadline = min(before, monotonic() + WAIT_S)
    try:
        yield
    finally:
        reader.deadline = before
