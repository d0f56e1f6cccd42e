"""Finds sections of a changed document that got another heading.

A removed section and a new one of the same document are the same if their texts are equal. They are
also the same if each is most like the other and most of their words are equal. The node then gets a
new URI, and keeps its number, its history, and the relations that others made.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from mycel.knowledge.bootstrap.project_graph import Wanted
from mycel.model.values import parse_object
from mycel.store.query.bulk.prefixes import Held

LIKE_MIN: Final = 0.6
"""The least share of words in common at which two texts are alike."""
CHARACTERS_MIN: Final = 30
"""The least length of a text by which a section is recognised."""
COMPARED_MAX: Final = 40_000
"""The maximum number of pairs of sections of one document that are compared."""

_WORD: Final = re.compile(r"\w+")
_CONTENT: Final = "content"


class Renamed(NamedTuple):
    """The number of a stored section, and its new state."""

    number: int
    draft: Wanted


def find_renamed(
    old: Iterable[tuple[str, Held]], new: Iterable[tuple[str, Wanted]]
) -> Iterator[Renamed]:
    """Pairs of a removed section and the new section that it became, each with its document."""
    old_by_document: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for document, existing in old:
        text = _text(parse_object(existing.attributes))
        if text:
            old_by_document[document].append((existing.number, text))
    new_by_document: defaultdict[str, list[Wanted]] = defaultdict(list)
    for document, draft in new:
        if document in old_by_document and _text(draft.attributes):
            new_by_document[document].append(draft)
    for document, wanted_here in new_by_document.items():
        yield from _pairs(old_by_document[document], wanted_here)


def _pairs(old: Sequence[tuple[int, str]], new: Sequence[Wanted]) -> Iterator[Renamed]:
    by_text: defaultdict[str, list[int]] = defaultdict(list)
    for number, text in old:
        by_text[text].append(number)
    left: list[Wanted] = []
    matched_numbers: set[int] = set()
    for draft in new:
        numbers = by_text[_text(draft.attributes)]
        if numbers:
            matched_numbers.add(numbers[0])
            yield Renamed(numbers.pop(0), draft)
        else:
            left.append(draft)
    rest = [section for section in old if section[0] not in matched_numbers]
    if rest and left and len(rest) * len(left) <= COMPARED_MAX:
        yield from _alike(rest, left)


def _alike(old: Sequence[tuple[int, str]], new: Sequence[Wanted]) -> Iterator[Renamed]:
    """The pairs of sections in which each is most like the other."""
    words = [Counter(_WORD.findall(text.casefold())) for _, text in old]
    new_words = [Counter(_WORD.findall(_text(section.attributes).casefold())) for section in new]
    likeness = [[_likeness(one, other) for other in new_words] for one in words]
    for at, row in enumerate(likeness):
        best = max(range(len(row)), key=row.__getitem__)
        is_mutual = row[best] == max(scores[best] for scores in likeness)
        if row[best] >= LIKE_MIN and is_mutual and row.count(row[best]) == 1:
            yield Renamed(old[at][0], new[best])


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    return (one & other).total() / max((one | other).total(), 1)


def _text(attributes: Mapping[str, Any]) -> str:
    """The text of a section; "" if it is too short to recognise the section by."""
    text = attributes.get(_CONTENT)
    return text if isinstance(text, str) and len(text) >= CHARACTERS_MIN else ""
