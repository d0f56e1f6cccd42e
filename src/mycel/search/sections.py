"""The two sections of an answer: notes first, or code first if the question asks for code.

Each section is ranked by itself, because scores of notes and of symbols do not compare: a symbol
has few words, and its name is often one of the question. The second section gets the places that
the first one leaves, and a few more if it has something good.

Among notes, sections of documents do not compare well either with notes that somebody wrote: there
are many more sections, and each covers one subject of a long text. So the first places have some of
both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from mycel.model.elements import Concept
from mycel.search.hits import ElementHit
from mycel.search.question import Question
from mycel.search.weights import (
    FAIR,
    GOOD,
    NAMED_IN_PART_LEAST,
    NAMED_LEAST,
    SEAT_RANK,
    SEAT_SHARE,
    SECOND_SHARE,
)
from mycel.text.kinds import asks_for_place, is_identifier, used_name


class _Scored(Protocol):
    @property
    def score(self) -> float: ...


HitType = TypeVar("HitType", bound=_Scored)


def in_sections(
    question: Question, notes: Sequence[HitType], code: Sequence[HitType], limit: int
) -> list[HitType]:
    """Hits of both kinds, each best first: the section that the question asks for comes first."""
    first, second = (code, notes) if is_code_first(question, notes, code) else (notes, code)
    good = sum(hit.score >= GOOD for hit in second[: limit // SECOND_SHARE])
    if limit >= SECOND_SHARE and any(hit.score >= FAIR for hit in second[:1]):
        good = max(good, 1)
    first = first[: limit - good]
    return [*first, *second[: limit - len(first)]]


def once_for_each_document(question: Question, hits: Sequence[ElementHit]) -> list[ElementHit]:
    """Hits, best first, in which the best section of a document stands for its file as well.

    The section has the text, and gets the better score. A question that is a path asks for the
    file.
    """
    merged = list(hits)
    if not is_identifier(question.text):
        for file in [hit for hit in hits if hit.is_document]:
            beginning = f"concept://{_uri(file).removeprefix('file://')}/"
            sections = (hit for hit in merged if hit.is_section)
            section = next((hit for hit in sections if _uri(hit).startswith(beginning)), None)
            if section is not None:
                first, second = sorted((file, section), key=merged.index)
                merged[merged.index(first)] = first._replace(element=section.element)
                merged.remove(second)
    return merged


def _uri(hit: ElementHit) -> str:
    return hit.element.name if isinstance(hit.element, Concept) else ""


def with_seat(hits: Sequence[ElementHit]) -> list[ElementHit]:
    """Notes, best first, with sections of documents and others among the first places.

    Each of the two kinds keeps its order, and hits by name keep their places. A note that is moved
    up gets the score of its new place, so that scores stay in order.
    """
    of_sections = [hit.is_section or hit.is_document for hit in hits]
    first, others = of_sections[:SEAT_RANK], of_sections[SEAT_RANK:]
    if len(set(first)) != 1 or first[0] not in (not other for other in others):
        return list(hits)
    at, last = SEAT_RANK + others.index(not first[0]), SEAT_RANK - 1
    if hits[last].score >= NAMED_IN_PART_LEAST or hits[at].score < SEAT_SHARE * hits[0].score:
        return list(hits)
    seated = hits[at]._replace(score=hits[last].score)
    return [*hits[:last], seated, *hits[last:at], *hits[at + 1 :]]


def is_code_first(question: Question, notes: Sequence[_Scored], code: Sequence[_Scored]) -> bool:
    """True if a question asks for code: by the name of something, or for its place."""
    if not code:
        return False
    best = code[0].score
    if best >= NAMED_LEAST and (not notes or notes[0].score < best):
        return True  # The question is the name of code, and of no note.
    if asks_for_place(question.text) or used_name(question.text):
        return True
    if not is_identifier(question.text):
        return False
    # A name that no code has, such as the name of a setting, may be in texts.
    return not notes or notes[0].score < (NAMED_LEAST if best >= NAMED_IN_PART_LEAST else FAIR)


def names_no_code(question: Question, hits: Sequence[_Scored]) -> bool:
    """True if a question looks like a name in code, but is no part of the name of any hit."""
    return is_identifier(question.text) and all(hit.score < NAMED_IN_PART_LEAST for hit in hits)
