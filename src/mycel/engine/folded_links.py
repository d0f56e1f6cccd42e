"""Two links of one predicate between the same elements become one, as their ends are merged.

The link of the target keeps its values, and takes over the keys that it lacks. When a link holds is
not such a key: the link that stays holds in the periods of both, if these overlap or follow each
other. If not, it holds in the period of the one that holds now, or else of the later one. So the
link that stays holds now if one of the two did. Sources of both are united. What the link that
stays does not say is named.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from mycel.engine.periods import period_text, period_us
from mycel.model import times
from mycel.model.elements import Proposition
from mycel.model.evidence import EVIDENCE
from mycel.model.limits import INTEGER_MAX
from mycel.model.names import first_few
from mycel.model.values import JsonObject
from mycel.search.validity import OUTDATED, STATUS
from mycel.store.index.lifetimes import ARCHIVED_AT, EXPIRES_AT, VALID_FROM, VALID_UNTIL
from mycel.store.write.transaction import Transaction

_PERIOD: Final = (VALID_FROM, VALID_UNTIL)
_STATE: Final = (STATUS, EXPIRES_AT, ARCHIVED_AT)
_SHOWN: Final = 6


class _Side(NamedTuple):
    """When one of the two links holds."""

    metadata: JsonObject
    since_us: int
    until_us: int
    is_dated: bool
    holds_now: bool


def fold(tx: Transaction, heir: Proposition, loser: Proposition) -> list[str]:
    """Give a link what it lacks of another one. Returns sentences about what it does not take."""
    own, other = _side(heir, tx.time_us), _side(loser, tx.time_us)
    state = other if other.holds_now and not own.holds_now else own
    period, is_lost = _common_period(own, other)
    values = {key: value for key in _STATE if (value := state.metadata.get(key)) is not None}
    values |= period
    metadata = _missing(heir.metadata, loser.metadata, without=(*_PERIOD, *_STATE))
    metadata |= {key: value for key, value in values.items() if heir.metadata.get(key) != value}
    sources, others = heir.metadata.get(EVIDENCE), loser.metadata.get(EVIDENCE)
    if isinstance(sources, list) and isinstance(others, list):
        metadata[EVIDENCE] = [*sources, *(entry for entry in others if entry not in sources)]
    tx.update_found(
        heir,
        attributes=_missing(heir.attributes, loser.attributes),
        metadata=metadata,
        drop_metadata=[
            key for key in (*_PERIOD, *_STATE) if key in heir.metadata and key not in values
        ],
    )
    return list(_sentences(heir, loser, own, other, period, is_lost=is_lost))


def is_lossy(heir: Proposition, loser: Proposition, now_us: int) -> bool:
    """True if the link that stays would lack a period or a value of the other one."""
    own, other = heir.attributes, loser.attributes
    _, is_lost = _common_period(_side(heir, now_us), _side(loser, now_us))
    return is_lost or any(own[key] != other[key] for key in own.keys() & other.keys())


def _missing(own: JsonObject, other: JsonObject, without: tuple[str, ...] = ()) -> JsonObject:
    """The keys that `own` lacks, without keys of the engine."""
    return {
        key: value
        for key, value in other.items()
        if key not in own and key not in without and not key.startswith("_")
    }


def _side(link: Proposition, now_us: int) -> _Side:
    metadata = link.metadata
    since_us, until_us = period_us(metadata)
    status = metadata.get(STATUS)
    is_in_force = (
        metadata.get(ARCHIVED_AT) is None
        and not (isinstance(status, str) and status.lower() in OUTDATED)
        and not times.is_past(metadata.get(EXPIRES_AT), now_us)
    )
    holds_now = is_in_force and since_us <= now_us < until_us
    is_dated = (since_us, until_us) != (-INTEGER_MAX, INTEGER_MAX)
    return _Side(metadata, since_us, until_us, is_dated, holds_now)


def _common_period(own: _Side, other: _Side) -> tuple[JsonObject, bool]:
    """The period in which the link that stays holds; True if it lacks a part of one of the two."""
    if not (own.is_dated and other.is_dated):
        # A link without dates does not say when it began; it only says that it holds.
        dated, open_ = (own, other) if own.is_dated else (other, own)
        if open_.holds_now and not dated.holds_now:
            return {}, dated.is_dated
        return _period(dated, dated), False
    first, second = sorted((own, other), key=lambda side: side.since_us)
    if second.since_us <= first.until_us:
        return _period(first, max(first, second, key=lambda side: side.until_us)), False
    stays = max(own, other, key=lambda side: (side.holds_now, side.until_us))
    return _period(stays, stays), True


def _period(first: _Side, last: _Side) -> JsonObject:
    """The metadata for a period from the beginning of one side to the end of another."""
    values = {
        VALID_FROM: first.metadata.get(VALID_FROM),
        VALID_UNTIL: last.metadata.get(VALID_UNTIL),
    }
    return {key: value for key, value in values.items() if value is not None}


def _sentences(
    heir: Proposition,
    loser: Proposition,
    own: _Side,
    other: _Side,
    period: JsonObject,
    *,
    is_lost: bool,
) -> list[str]:
    sentences = []
    if is_lost:
        other_side = own if period_text(period) == period_text(other.metadata) else other
        sentences.append(
            f"Two links became {heir.id}, which holds {period_text(period)}; that one of them held"
            f" {period_text(other_side.metadata)} is only in past states (AS OF)."
        )
    elif period_text(period) != period_text(own.metadata):
        sentences.append(
            f"Two links became {heir.id}, which holds {period_text(period)}; they held"
            f" {period_text(own.metadata)}, and {period_text(other.metadata)}."
        )
    differing = [
        f"{key} {loser.attributes[key]!r}"
        for key in sorted(heir.attributes.keys() & loser.attributes.keys())
        if heir.attributes[key] != loser.attributes[key]
    ]
    if differing:
        sentences.append(
            f"Two links became {heir.id}; that of the merged one with"
            f" {', '.join(first_few(differing, _SHOWN))} gave way."
        )
    return sentences
