"""The status of a link by its evidence, as docs/upkeep.md states the rule."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

JsonObject = dict[str, Any]


def is_source(entry: object) -> bool:
    return isinstance(entry, dict) and entry.get("stance") in ("supports", "challenges")


def status(metadata: JsonObject) -> str:
    """Accepted, contested, rejected or insufficient."""
    itself = {key: metadata.get(key) for key in ("source", "confidence")}
    itself |= {"by": metadata.get("author"), "stance": "supports"}
    given = metadata.get("evidence")
    sources = [itself, *(e for e in (given if isinstance(given, list) else []) if is_source(e))]
    support, challenge = (_strength(sources, stance) for stance in ("supports", "challenges"))
    if min(support, challenge) >= Fraction(3, 10):
        return "contested"
    if support >= Fraction(7, 10):
        return "accepted"
    return "rejected" if challenge >= Fraction(7, 10) else "insufficient"


def _strength(sources: list[JsonObject], stance: str) -> Fraction:
    """1 less the product of the doubts of groups, each as sure as its surest member."""
    counted = [
        source
        for source in sources
        if source["stance"] == stance and _last_stance(source, sources) == stance
    ]
    nameless = [each for each in counted if each is sources[0] and not _names(each)]
    counted = [each for each in counted if not any(each is other for other in nameless)]
    strengths = []
    while counted:
        group = [counted.pop()]
        for member in group:
            near = [other for other in counted if _is_one(member, other)]
            counted = [other for other in counted if not any(other is each for each in near)]
            group += near
        strengths.append(max(map(_confidence, group)))
    if nameless:  # The link itself is the word of the surest that supports it.
        strengths.sort()
        strengths = [*strengths[:-1], max([*strengths[-1:], _confidence(nameless[0])])]
    doubt = Fraction(1)
    for strength in strengths:
        doubt *= 1 - strength
    return 1 - doubt


def _last_stance(source: JsonObject, sources: list[JsonObject]) -> str:
    """The stance that the actor of a source has taken last."""
    by = source.get("by")
    same = [each for each in sources if each.get("by") == by] if _is_text(by) else [source]
    return str(same[-1]["stance"])


def _is_one(source: JsonObject, other: JsonObject) -> bool:
    return bool(_names(source) & _names(other))


def _names(source: JsonObject) -> set[str]:
    return {source[key] for key in ("by", "source") if _is_text(source.get(key))}


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _confidence(source: JsonObject) -> Fraction:
    value = source.get("confidence")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Fraction(7, 10)
    return min(max(Fraction(repr(value)), Fraction(0)), Fraction(1))
