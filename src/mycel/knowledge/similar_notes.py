"""Finds notes similar to a new note, which perhaps should have been an update.

Notes are compared by the words they share (`search.similar_texts`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final, NamedTuple

from mycel.knowledge.node_lookup import element_uri
from mycel.knowledge.vocabulary import RESOURCE, SECTION, STAMP, SYMBOL
from mycel.model.elements import Concept
from mycel.model.names import shorten
from mycel.search.index.passages import EVENT, prose
from mycel.search.similar_texts import SimilarTexts
from mycel.store.query.reader import Reader

CHECKED_MAX: Final = 5
"""The maximum number of new notes of one call that are compared."""

BURST_S: Final = 1.0
SHARE: Final = 0.1

_NO_NOTES: Final = (RESOURCE, SECTION, SYMBOL, EVENT)
"""Types of nodes that a program reads from files, and of turns of a conversation."""


class TimeBudget:
    """A share of the time, so that a program that writes all the time is not held up.

    Up to `BURST_S` seconds can be spent at once; then the budget grows by `SHARE` seconds a second.
    """

    def __init__(self) -> None:
        self._left_s = BURST_S
        self._seen = monotonic()

    @contextmanager
    def spending(self) -> Iterator[bool]:
        """Take the time of the block out of the budget. Gives False if the budget is empty."""
        now = monotonic()
        self._left_s = min(self._left_s + (now - self._seen) * SHARE, BURST_S)
        self._seen = now
        try:
            yield self._left_s > 0
        finally:
            self._left_s -= monotonic() - now


class Similar(NamedTuple):
    """A new note, and an existing note that says much of the same."""

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
    """The closest other note of each new note, if close enough; `related` ones are left out.

    Only the first `CHECKED_MAX` new notes are compared.
    """
    notes = [
        concept
        for concept in map(reader.concept, numbers)
        if concept is not None and _is_note(concept)
    ]
    if not notes:
        return []
    without = {*related, *(concept.number for concept in notes)}
    texts = SimilarTexts(reader, without, _is_note)
    pairs = ((concept, texts.closest(concept)) for concept in notes[:CHECKED_MAX])
    return [Similar(note, *closest) for note, closest in pairs if closest is not None]


def _is_note(concept: Concept) -> bool:
    attributes = concept.attributes
    return concept.type not in _NO_NOTES and STAMP not in attributes and bool(prose(attributes))
