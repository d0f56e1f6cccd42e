"""Tiers of memory, and strength that fades.

Elements of a type with a rule of retention are short-term memory; all others are long-term, and
nothing is written about them. `memory_strength` halves with each half-life in which nobody has used
the element and nobody except `$system` has written it. The strength is rounded to a few values, so
that cycles change an element only a few times. It does not say whether an element is true: time
never lowers `confidence`.
"""

from __future__ import annotations

from typing import Final

from mycel.model.elements import Element
from mycel.model.names import SYSTEM_ACTOR
from mycel.model.retention import Retention, is_kept
from mycel.model.values import JsonObject
from mycel.search.validity import STRENGTH
from mycel.store.file.rows import table_of
from mycel.store.file.use_counts import Use
from mycel.store.query import retention
from mycel.store.query.reader import Reader

TIER: Final = "memory_tier"
SHORT_TERM: Final = "short-term"
LONG_TERM: Final = "long-term"
BANDS: Final = (1.0, 0.75, 0.5, 0.25, 0.1, 0.0)
"""The values to which a strength is rounded."""
HALF_LIVES: Final = 4
"""The number of half-lives in the period of a rule of retention."""


def tier_changes(
    reader: Reader, element: Element, rule: Retention | None, use: Use | None, now_us: int
) -> JsonObject:
    """The metadata of tier and strength that have to change for an element."""
    metadata = element.metadata
    if rule is None or is_kept(metadata):
        values: JsonObject = {TIER: LONG_TERM} if TIER in metadata else {}
    else:
        values = {TIER: SHORT_TERM, STRENGTH: _strength(reader, element, rule, use, now_us)}
    return {key: value for key, value in values.items() if metadata.get(key) != value}


def _strength(
    reader: Reader, element: Element, rule: Retention, use: Use | None, now_us: int
) -> float:
    table = table_of(element.number)
    written = retention.written_by_others(reader, table, element.number, SYSTEM_ACTOR)
    used = 0 if use is None else use.last_us
    age = now_us - max(written or 0, used, element.created_us)
    if rule.after_us <= 0:
        return BANDS[0]
    strength = 0.5 ** (age / rule.after_us * HALF_LIVES)
    return min(BANDS, key=lambda band: abs(strength - band))
