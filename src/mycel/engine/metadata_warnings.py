"""Warnings about malformed values of metadata keys that have a meaning (KIP A1).

A confidence is a number from 0 to 1, times are ISO 8601, `former_periods` are periods, and
`retention` is a rule. Other values are stored as they are. Filters and upkeep ignore them, so the
author gets a warning. Each map of a command is checked once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from mycel.errors import ConstraintViolation, InvalidSyntax
from mycel.model import times
from mycel.model.names import shorten
from mycel.model.periods import FORMER_PERIODS, period_doubts
from mycel.model.retention import RETENTION, parse_retention

WARNINGS_MAX: Final = 3
"""The maximum number of warnings of one command."""
_CONFIDENCE: Final = "confidence"
_TIMES: Final = frozenset(("expires_at", "created_at", "observed_at", "valid_from", "valid_until"))
_LOOK_ALIKES: Final = {
    **dict.fromkeys(
        ("expires", "expire", "expire_at", "expiry", "expiration", "expires_on", "ttl"),
        "expires_at",
    ),
    **dict.fromkeys(("valid_to", "valid_till", "validuntil", "valid_through"), "valid_until"),
    **dict.fromkeys(("valid_since", "validfrom", "valid_after"), "valid_from"),
    **dict.fromkeys(("former_period", "previous_periods"), FORMER_PERIODS),
    **dict.fromkeys(("pin", "is_pinned"), "pinned"),
    **dict.fromkeys(("holds", "on_hold", "legal_hold"), "hold"),
    **dict.fromkeys(("retain", "retention_rule", "retention_policy"), RETENTION),
}
"""Keys without a meaning, each with the key that its author may have meant."""


class MetadataWarnings:
    """Warnings about the metadata that a command writes, one sentence each."""

    def __init__(self) -> None:
        self._sentences: Final[dict[str, None]] = {}

    def check(self, metadata: Mapping[str, Any]) -> None:
        """Warn about the values of one map."""
        for sentence in metadata_doubts(metadata):
            if len(self._sentences) < WARNINGS_MAX:
                self._sentences[sentence] = None

    def __iter__(self) -> Iterator[str]:
        return iter(self._sentences)


def metadata_doubts(metadata: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each value that is malformed, and for each key that looks like a known one."""
    confidence = metadata.get(_CONFIDENCE)
    if confidence is not None and not _is_share(confidence):
        yield (
            f"The confidence {_format_value(confidence)} is not a number from 0 to 1, such as 0.7."
        )
    for key, value in metadata.items():
        if key in _TIMES and value is not None and not _is_time(value):
            yield (
                f"The {key} {_format_value(value)} is not an ISO 8601 date or time, such as"
                ' "2026-01-31T12:00:00Z".'
            )
    begin, end = (metadata.get(key) for key in ("valid_from", "valid_until"))
    if times.is_time(begin) and times.is_past(end, times.from_text(begin)):
        yield (
            f"The valid_until {_format_value(end)} is not after the valid_from"
            f" {_format_value(begin)}, so it never holds."
        )
    for doubt in period_doubts(metadata.get(FORMER_PERIODS)):
        yield (
            f"The {FORMER_PERIODS} {_format_value(metadata[FORMER_PERIODS])} {doubt}; write"
            ' [{"valid_from": "2019-01-01", "valid_until": "2021-03-01"}].'
        )
    for key in metadata:
        known_key = _LOOK_ALIKES.get(key.lower().replace("-", "_"))
        if known_key is not None and known_key not in metadata:
            yield f"The metadata {shorten(key)} has no meaning; did you mean {known_key}?"
    if metadata.get(RETENTION) is not None:
        try:
            rule = parse_retention(metadata[RETENTION])
        except ConstraintViolation as error:
            yield f"The retention has no effect: {error.message} {error.hint}"
        else:
            if rule is not None and rule.end == "purge":
                yield (
                    "A cycle asks before it purges by the rule of an element; only rules of"
                    " types and predicates purge without asking."
                )


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _is_time(value: object) -> bool:
    try:
        times.from_text(value)
    except InvalidSyntax:
        return False
    return True


def _format_value(value: object) -> str:
    return shorten(orjson.dumps(value).decode())
