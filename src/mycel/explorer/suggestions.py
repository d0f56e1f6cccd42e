"""Nodes by the beginning of a word in their name or path."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nlargest
from typing import Final

from mycel.explorer.census import Census
from mycel.explorer.folders import last_segment
from mycel.explorer.moments import Scene
from mycel.explorer.name_index import NameIndex, asked_words, fit, merit
from mycel.model.names import META_TYPES
from mycel.model.values import JsonObject
from mycel.store.query import lookup, neighbours

CANDIDATES_MAX: Final = 256
"""The maximum number of nodes that are read and ranked for one answer."""


def suggest(
    scene: Scene, ready: tuple[NameIndex, Census] | None, question: str, limit: int
) -> list[JsonObject]:
    """The nodes that fit best, each with the text that matched.

    Without an index, the search finds names that begin with the question; in a past state, names
    that contain it.
    """
    words = asked_words(question.partition("://")[2] or question)
    exact = scene.find(question.strip()) if question.strip() else None
    candidates: list[int] = [] if exact is None else [exact]
    if not words:
        return scene.cards.all(candidates[:limit])
    if scene.is_past:
        candidates += neighbours.names_holding(scene.reader, words[-1], CANDIDATES_MAX)
    elif ready is None:
        candidates += lookup.named_from(scene.reader, question, limit)
    else:
        candidates += ready[0].candidates(words, CANDIDATES_MAX)
    best = _ranked(scene, words, question, candidates)
    if len(best) < limit and ready is not None and not scene.is_past:
        more = _in_folders(*ready, words, CANDIDATES_MAX)
        best = _ranked(scene, words, question, [*candidates, *more])
    first = [] if exact is None else [exact]
    return scene.cards.all(list(dict.fromkeys([*first, *best]))[:limit])


def _ranked(scene: Scene, words: list[str], question: str, numbers: Iterable[int]) -> list[int]:
    """The nodes among these that fit, best first; definitions after other equal fits."""
    candidates = list(dict.fromkeys(numbers))
    scene.cards.read(candidates)
    ranked = []
    for number in candidates:
        card = scene.cards.get(number)
        if card is None:
            continue
        rank = fit(words, question, card["id"], card["name"])
        if rank is not None:
            place = merit(card["degree"], len(last_segment(card["id"])))
            is_late = card["kind"] == "missing" or card["type"] in META_TYPES
            ranked.append((rank, is_late, place, card["id"], number))
    return [number for *_, number in sorted(ranked)]


def _in_folders(index: NameIndex, census: Census, words: list[str], most: int) -> list[int]:
    """Nodes in folders whose path has a word with this beginning, the most linked first."""
    folders = index.folders(census.folders, words[-1])
    if not folders:
        return []
    degrees = census.degrees
    inside = [slot for slot, folder in enumerate(census.folder_of) if folder in folders]
    return [slot << 1 for slot in nlargest(most, inside, key=degrees.__getitem__)]
