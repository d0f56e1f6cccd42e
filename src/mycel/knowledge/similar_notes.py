"""Notes that are close to one that was just written: perhaps it should have been an update.

Two notes are compared by the words they share. A word weighs more the fewer elements have it, and
the weight of the shared words is divided by that of the note with less: a short note that says a
part of a long one is similar to it. Candidates come from the text index, by the rarest words, so no
vectors are needed. `benchmarks/recall/similar.py` measures it: none of 180 notes that say different
things is taken for a repetition, and 31 of 33 repetitions in other words are found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from math import log
from time import monotonic
from typing import Final, NamedTuple

from mycel.knowledge.node_lookup import element_uri
from mycel.knowledge.vocabulary import RESOURCE, SECTION, STAMP, SYMBOL
from mycel.model.elements import Concept
from mycel.model.names import shorten
from mycel.search.index.passages import EVENT, prose
from mycel.search.weights import BM25_COLUMNS
from mycel.store.query import lookup
from mycel.store.query.candidates import Candidates, counted
from mycel.store.query.filters import Condition
from mycel.store.query.reader import Reader
from mycel.text.analysis import terms_of
from mycel.text.kinds import NOTES

CHECKED_MAX: Final = 5
"""New notes of one call that are compared."""
TERMS_MIN: Final = 6
"""A text with fewer words says too little to be compared."""
TERMS_MAX: Final = 100
SHARED_MIN: Final = 5
RAREST: Final = 12
"""Words of a note by which candidates are sought."""
COMPARED_MAX: Final = 8
SIMILARITY_MIN: Final = 0.3
TEXT_CHARACTERS_MAX: Final = 4_000

BURST_S: Final = 1.0
SHARE: Final = 0.1

_NO_NOTES: Final = (RESOURCE, SECTION, SYMBOL, EVENT)
"""Types whose nodes are read from somewhere, or are turns of a conversation."""


class TimeBudget:
    """A share of the time, so that a program that writes all the time is not held up.

    Up to `BURST_S` can be spent at once; afterwards a part of `SHARE` of the time that passes.
    """

    def __init__(self) -> None:
        self._left_s = BURST_S
        self._seen = monotonic()

    @contextmanager
    def spending(self) -> Iterator[bool]:
        """Take the time of the block out of the budget; gives False if nothing is left."""
        now = monotonic()
        self._left_s = min(self._left_s + (now - self._seen) * SHARE, BURST_S)
        self._seen = now
        try:
            yield self._left_s > 0
        finally:
            self._left_s -= monotonic() - now


class Similar(NamedTuple):
    """A note, and one that says much of the same."""

    note: Concept
    other: Concept
    similarity: float

    def __str__(self) -> str:
        name = self.other.attributes.get("name")
        called = f" ({shorten(name)})" if isinstance(name, str) else ""
        return (
            f"{element_uri(self.note)} is similar to {element_uri(self.other)}{called};"
            " update that one instead?"
        )


def similar_notes(
    reader: Reader, numbers: Iterable[int], related: Collection[int] = ()
) -> list[Similar]:
    """The closest other note of each new one, if it is close enough; `related` ones are left out.

    The first `CHECKED_MAX` notes are compared.
    """
    notes = [
        concept
        for concept in map(reader.concept, numbers)
        if concept is not None and _is_note(concept)
    ]
    if not notes:
        return []
    without = {*related, *(each.number for each in notes), *lookup.furniture(reader)}
    index = Candidates(reader, Condition(kind=NOTES), without, columns=BM25_COLUMNS)
    found = (_closest(reader, index, each) for each in notes[:CHECKED_MAX])
    return [each for each in found if each is not None]


def _is_note(concept: Concept) -> bool:
    attributes = concept.attributes
    return concept.type not in _NO_NOTES and STAMP not in attributes and bool(prose(attributes))


def _closest(reader: Reader, index: Candidates, note: Concept) -> Similar | None:
    terms = _terms(note)
    if len(terms) < TERMS_MIN:
        return None
    known = counted(reader, terms)
    # The index does not count what was written last, so a word without elements may be there.
    uncounted = [term for term in known if not term.elements]
    rarest = uncounted[:RAREST] + known[len(uncounted) :][:RAREST]
    total = max(lookup.concepts_at_most(reader), 1)
    weights = {term.text: log(1 + total / (term.elements + 0.5)) for term in known}
    numbers = [word.number for word in index.by_words(rarest, COMPARED_MAX)][:COMPARED_MAX]
    others = reader.elements(numbers).values()
    best: Similar | None = None
    for other in others:
        if isinstance(other, Concept) and _is_note(other):
            similarity = _similarity(terms, _terms(other), weights, total)
            if similarity >= max(SIMILARITY_MIN, best.similarity if best else 0.0):
                best = Similar(note, other, similarity)
    return best


def _terms(note: Concept) -> set[str]:
    name = note.attributes.get("name")
    text = f"{name if isinstance(name, str) else ''}\n{prose(note.attributes)}"
    return set(terms_of(text[:TEXT_CHARACTERS_MAX])[:TERMS_MAX])


def _similarity(one: set[str], other: set[str], weights: dict[str, float], total: int) -> float:
    """The weight of the shared words, as a part of that of the lighter text."""
    shared = one & other
    if len(shared) < SHARED_MIN or len(other) < TERMS_MIN:
        return 0.0
    unknown = log(1 + total / 1.5)  # The words of the other note alone are not counted.
    weight = [sum(weights.get(term, unknown) for term in terms) for terms in (shared, one, other)]
    return weight[0] / min(weight[1:])
