"""Two links of one predicate between the same elements become one, as their ends are merged.

The link of the target stays: it keeps its values, and takes over the keys that it lacks. The keys
of periods follow another rule: the link that stays holds in all periods of both (`model.periods`).
Periods that overlap or follow each other become one. The latest is the present period of the link,
the others are its former periods. A link without dates adds no period, except that it may hold now.
Status, expiry and archiving are those of the target, unless only the other link holds now.
Sources of both links are united: another source of the merged link is an entry of evidence.
Sentences name the values of attributes that are not taken over.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from mycel.engine.periods import write_periods
from mycel.model import times
from mycel.model.elements import Proposition
from mycel.model.evidence import EVIDENCE, OWN_SOURCE, as_entry, is_other_source, own_source
from mycel.model.names import first_few
from mycel.model.periods import (
    ALWAYS,
    PERIOD_KEYS,
    Period,
    all_periods,
    former_periods,
    former_words,
    holds_at,
    present_period,
    unite,
    with_periods,
)
from mycel.model.values import JsonObject
from mycel.search.validity import OUTDATED, STATUS
from mycel.store.index.lifetimes import ARCHIVED_AT, EXPIRES_AT
from mycel.store.write.transaction import Transaction

_STATE: Final = (STATUS, EXPIRES_AT, ARCHIVED_AT)
_SHOWN: Final = 6


class _Side(NamedTuple):
    """The periods in which one of the two links holds."""

    metadata: JsonObject
    present: Period
    former: list[Period]
    holds_now: bool


def fold(tx: Transaction, heir: Proposition, loser: Proposition) -> list[str]:
    """Give a link the keys of another link that it lacks. Returns sentences about lost values."""
    own, other = _side(heir, tx.time_us), _side(loser, tx.time_us)
    state = other if other.holds_now and not own.holds_now else own
    present, former = _common_periods(own, other)
    values = {key: value for key in _STATE if (value := state.metadata.get(key)) is not None}
    metadata = _missing(heir.metadata, loser.metadata, without=(*PERIOD_KEYS, *_STATE))
    metadata |= {key: value for key, value in values.items() if heir.metadata.get(key) != value}
    mine, theirs = own_source(heir.metadata), own_source(loser.metadata)
    further = []
    if mine and is_other_source(mine, theirs):
        metadata = {key: value for key, value in metadata.items() if key not in OWN_SOURCE}
        at = times.to_text(loser.updated_us)
        is_apart = other.present.is_dated and not other.present.overlaps(own.present)
        entry = as_entry(theirs, other.present if is_apart else ALWAYS)
        further = [{"stance": "supports", **entry, "at": at}]
    sources, others = (side.metadata.get(EVIDENCE, []) for side in (heir, loser))
    if isinstance(sources, list) and isinstance(others, list) and (others or further):
        new = [entry for entry in (*others, *further) if entry not in sources]
        metadata[EVIDENCE] = [*sources, *new]
    write_periods(
        tx,
        heir,
        present,
        former,
        attributes=_missing(heir.attributes, loser.attributes),
        metadata=metadata,
        drop=[key for key in _STATE if key in heir.metadata and key not in values],
    )
    return list(_sentences(heir, loser, own, other, present, former))


def is_lossy(heir: Proposition, loser: Proposition) -> bool:
    """True if both links have an attribute with different values, of which one would be lost."""
    own, other = heir.attributes, loser.attributes
    return any(own[key] != other[key] for key in own.keys() & other.keys())


def _missing(own: JsonObject, other: JsonObject, without: tuple[str, ...] = ()) -> JsonObject:
    """The keys that `own` lacks, without keys of the engine."""
    return {
        key: value
        for key, value in other.items()
        if key not in own and key not in without and not key.startswith("_")
    }


def _side(link: Proposition, now_us: int) -> _Side:
    metadata = link.metadata
    status = metadata.get(STATUS)
    is_in_force = (
        metadata.get(ARCHIVED_AT) is None
        and not (isinstance(status, str) and status.lower() in OUTDATED)
        and not times.is_past(metadata.get(EXPIRES_AT), now_us)
    )
    return _Side(
        metadata,
        present_period(metadata),
        former_periods(metadata),
        is_in_force and holds_at(metadata, now_us),
    )


def _common_periods(own: _Side, other: _Side) -> tuple[Period, list[Period]]:
    """The present and the former periods of the link that stays."""
    if own.present.is_dated and other.present.is_dated:
        united = unite([*all_periods(own.metadata), *all_periods(other.metadata)])
        return (united[-1], united[:-1]) if united else (own.present, [])
    # A link without dates does not say when it began; it only says that it holds.
    dated, open_ = (own, other) if own.present.is_dated else (other, own)
    former = [*own.former, *other.former]
    if open_.holds_now and not dated.holds_now:
        return ALWAYS, unite([*former, *([dated.present] if dated.present.is_dated else [])])
    present = dated.present
    return present, [period for period in unite(former) if not period.is_within(present)]


def _sentences(
    heir: Proposition,
    loser: Proposition,
    own: _Side,
    other: _Side,
    present: Period,
    former: list[Period],
) -> list[str]:
    sentences = []
    if (present, former) != (own.present, own.former):
        also = f"; it {words}" if (words := former_words(with_periods({}, present, former))) else ""
        sentences.append(
            f"Two links became {heir.id}, which holds {present.words}{also}. Before, they held"
            f" {own.present.words}, and {other.present.words}."
        )
    differing = [
        f"{key} {loser.attributes[key]!r}"
        for key in sorted(heir.attributes.keys() & loser.attributes.keys())
        if heir.attributes[key] != loser.attributes[key]
    ]
    if differing:
        sentences.append(
            f"Two links became {heir.id}; the values {', '.join(first_few(differing, _SHOWN))}"
            " of the merged link are dropped."
        )
    return sentences
