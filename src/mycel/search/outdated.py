"""Outdated hits: they get caveats and lower scores, and their successors become hits too."""

from __future__ import annotations

from typing import Final

from mycel.model import ids
from mycel.model.names import shorten
from mycel.search.caveats import ElementValues, find_caveats
from mycel.search.hits import ElementHit, element_name
from mycel.search.weights import BELOW_SUCCESSOR, NAMED_FACTOR_MIN
from mycel.store.query.filters import Condition
from mycel.store.query.reader import Reader
from mycel.store.query.successors import successors

SUCCESSIONS_FOLLOWED: Final = 3

BY_NAME: Final = ("name",)
"""The first reason for a hit whose name fits."""


def lower_outdated(
    reader: Reader, hits: list[ElementHit], condition: Condition, without: frozenset[int]
) -> list[ElementHit]:
    """Hits and their successors; an outdated one gets caveats and a lower score.

    A successor has to pass the condition, and must not be one of the elements in `without`.
    """
    hits_by_number, newer = _with_successors(reader, hits, condition, without)
    values = {number: ElementValues.of(hit.element) for number, hit in hits_by_number.items()}
    caveats = find_caveats(
        reader, values, lambda concept: shorten(concept.name, 200), newer, condition.time_us
    )
    scores = {
        # A question that is the name of an element asks for it, outdated or not.
        number: hit.score
        * max(caveats.factor(number), NAMED_FACTOR_MIN if hit.why[:1] == BY_NAME else 0)
        for number, hit in hits_by_number.items()
    }
    for _ in range(SUCCESSIONS_FOLLOWED):
        for old, others in caveats.successors.items():
            least = min((scores[other] for other in others if other in scores), default=1.0)
            scores[old] = min(scores[old], least * BELOW_SUCCESSOR)
    return [
        hit._replace(score=scores[number], caveats=caveats.texts(number))
        if number in caveats.caveats
        else hit
        for number, hit in hits_by_number.items()
    ]


def _with_successors(
    reader: Reader, hits: list[ElementHit], condition: Condition, without: frozenset[int]
) -> tuple[dict[int, ElementHit], dict[int, list[int]]]:
    """Hits and their successors by number, and the numbers of the successors of each hit.

    A successor has at least the score of the hit.
    """
    hits_by_number = {hit.element.number: hit for hit in hits}
    fresh = [number for number in hits_by_number if ids.is_concept(number)]
    newer: dict[int, list[int]] = {}
    for _ in range(SUCCESSIONS_FOLLOWED):
        next_ones = successors(reader, fresh)
        newer |= next_ones
        fresh = []
        for old, number in ((old, other) for old, others in next_ones.items() for other in others):
            successor = hits_by_number.get(number)
            if successor is None and number not in without:
                successor = _successor_hit(reader, number, hits_by_number[old], condition)
            if successor is not None and successor.score <= hits_by_number[old].score:
                hits_by_number[number] = successor._replace(score=hits_by_number[old].score)
                fresh.append(number)
    return hits_by_number, newer | successors(reader, fresh)


def _successor_hit(
    reader: Reader, number: int, hit: ElementHit, condition: Condition
) -> ElementHit | None:
    """The hit for the successor of another hit, if it passes the condition."""
    if not condition.among(("id",), (number,)).passing(reader):
        return None
    concept = reader.concept(number)
    if concept is None:
        return None
    why = (f"supersedes {element_name(hit.element)}",)
    return ElementHit(concept, hit.score, same_case=False, why=why)
