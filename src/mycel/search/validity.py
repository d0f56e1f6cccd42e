"""Values of an element that say it may no longer be true: its status, its dates, its confidence.

They are metadata: an attribute of the same name is content, such as the status of a contract. Read
from attributes, too, are `valid_from` and `valid_until`, and what a core type defines. Each value
gives a caveat, which is shown with the element, and a factor by which a search lowers its score.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from mycel.errors import MycelError
from mycel.model import times
from mycel.model.evidence import EVIDENCE, belief, is_judged, sources_in_words
from mycel.model.names import SLEEP_TASK
from mycel.model.periods import PERIOD_KEYS, VALID_FROM, VALID_UNTIL, former_periods, former_words
from mycel.model.retention import RETENTION, is_kept, is_never
from mycel.search.weights import (
    BELIEF_FACTORS,
    CONFIDENCE_LOW,
    CONFIDENCE_ORDINARY,
    FADED_FACTOR,
    FUTURE_FACTOR,
    MISSING_FACTOR,
    PAST_FACTOR,
    STRENGTH_ORDINARY,
    SUPERSEDED_FACTOR,
)

OUTDATED: Final = frozenset(
    # The list is easier to read in rows than with one word per line.
    """superseded deprecated retracted obsolete outdated archived withdrawn replaced rejected
    invalid""".split()  # noqa: SIM905
)
"""The values of `status` for elements that are no longer true."""

STATUS: Final = "status"
VALIDITY_KEYS: Final = frozenset(
    (STATUS, "confidence", EVIDENCE, "expires_at", *PERIOD_KEYS, "archived_at")
)
"""The metadata that says for how long and how surely an element is true."""

STRENGTH: Final = "memory_strength"
"""The metadata that says how much an element has faded; sleep cycles write it."""
OF_UPKEEP: Final = frozenset((STRENGTH, "memory_tier"))
"""The metadata that only cycles write, computed from the rest."""
_METADATA_KEYS: Final = VALIDITY_KEYS | {"source", STRENGTH}
MISSING_SINCE: Final = "missing_since"
"""The attribute of a node whose file, symbol or section is gone."""
_ATTRIBUTE_KEYS: Final = frozenset((VALID_FROM, VALID_UNTIL))
"""The attributes of any element that count where its metadata lacks the key."""
_CORE_ATTRIBUTE_KEYS: Final = {
    **dict.fromkeys(("Insight", "Preference"), _ATTRIBUTE_KEYS | {"confidence"}),
    **dict.fromkeys(("Commitment", "Experience", "Person", SLEEP_TASK), _ATTRIBUTE_KEYS | {STATUS}),
}
"""The same for core types, with the attributes that these define."""


class Caveat(NamedTuple):
    """A reason for care with an element."""

    text: str
    factor: float = 1.0
    """The factor by which a search multiplies the score of the element."""


ARCHIVED_AT: Final = "archived_at"
AT_ARCHIVED: Final = Caveat("an end is archived", SUPERSEDED_FACTOR)
"""The caveat of a link that leads to or from an archived element."""


def superseded_by(names: tuple[str, ...]) -> Caveat:
    """The caveat of an element that others supersede."""
    return Caveat(f"superseded by {', '.join(names)}", SUPERSEDED_FACTOR)


def value_caveats(
    metadata: Mapping[str, Any], attributes: Mapping[str, Any], type_name: str, now_us: int
) -> Iterator[Caveat]:
    """The caveats from the values of an element, the gravest first.

    `type_name` is the type of a concept, and empty for a link.
    """
    read = _CORE_ATTRIBUTE_KEYS.get(type_name, _ATTRIBUTE_KEYS)
    if (
        MISSING_SINCE not in attributes
        and read.isdisjoint(attributes)
        and _METADATA_KEYS.isdisjoint(metadata)
    ):
        return
    values = {key: attributes[key] for key in read if key in attributes} | dict(metadata)
    if (archived := metadata.get(ARCHIVED_AT)) is not None:
        yield Caveat(f"archived {archived}", SUPERSEDED_FACTOR)
    if (moment := attributes.get(MISSING_SINCE)) is not None:
        yield Caveat(f"gone from the disk since {moment}", MISSING_FACTOR)
    status = values.get(STATUS)
    if isinstance(status, str) and status.lower() in OUTDATED:
        yield Caveat(f"status: {status}", SUPERSEDED_FACTOR)
    if _is_before(values.get("expires_at"), now_us):
        expired = f"expired {values['expires_at']}"
        if is_kept(metadata) or is_never(metadata.get(RETENTION)):
            yield Caveat(f"{expired}, kept on purpose")
        else:
            yield Caveat(expired, PAST_FACTOR)
    if not any(period.holds_at(now_us) for period in former_periods(metadata)):
        if _is_before(values.get(VALID_UNTIL), now_us):
            yield Caveat(f"no longer valid since {values[VALID_UNTIL]}", PAST_FACTOR)
        if values.get(VALID_FROM) is not None and _is_after(values[VALID_FROM], now_us):
            yield Caveat(f"not valid before {values[VALID_FROM]}", FUTURE_FACTOR)
    if words := former_words(metadata):
        yield Caveat(words)
    confidence = None if is_judged(metadata) else values.get("confidence")
    if isinstance(confidence, bool) or not isinstance(confidence, int | float):
        confidence = 1.0
    if 0 <= confidence < CONFIDENCE_ORDINARY:
        factor = CONFIDENCE_LOW + confidence if confidence < CONFIDENCE_LOW else 1.0
        yield Caveat(f"confidence {confidence:g}", factor)
    if is_judged(metadata):
        weighed = belief(metadata)
        if weighed.status != "accepted":
            yield Caveat(weighed.text, BELIEF_FACTORS[weighed.status])
    strength = metadata.get(STRENGTH)
    if isinstance(strength, int | float) and 0 <= strength < STRENGTH_ORDINARY:
        factor = FADED_FACTOR + (1 - FADED_FACTOR) * strength
        yield Caveat(f"memory strength {strength:g}", factor)
    if sources := sources_in_words(metadata):
        yield Caveat(f"source: {sources}")


def _is_before(moment: object, now_us: int) -> bool:
    with suppress(MycelError):
        return moment is not None and times.from_text(moment) <= now_us
    return False


def _is_after(moment: object, now_us: int) -> bool:
    with suppress(MycelError):
        return times.from_text(moment) > now_us
    return False
