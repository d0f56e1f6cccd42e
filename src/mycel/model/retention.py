"""Retention: how long elements live, and what happens to them afterwards.

A rule is in the attribute `retention` of the definition of a type or predicate, or in the metadata
of that name of one element, which has precedence:

    {after: "180d", from: "created", then: "archive", keep_if: ["linked"]}     or "never"

Time alone decides when an element is due. An element with `pinned` or `hold` in its metadata is
kept whatever its rules are; so is an element whose own rule is "never".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from mycel.errors import ConstraintViolation
from mycel.model.names import quote_value, shorten
from mycel.model.values import JsonObject

RETENTION: Final = "retention"
"""The attribute, or the metadata, that holds a rule."""
PINNED: Final = "pinned"
HOLD: Final = "hold"
"""The metadata that keeps an element whatever its rules are."""
NEVER: Final = "never"
"""The rule of elements that are kept for good."""

RetentionStart = Literal["created", "updated", "last_used", "expires_at"]
RetentionEnd = Literal["archive", "delete", "purge", "ask"]
KeepReason = Literal["linked", "pinned", "used"]

_DURATION: Final = re.compile(r"([0-9]{1,6})(min|h|d|w|y)", re.ASCII)
_SECONDS: Final = {"min": 60, "h": 3_600, "d": 86_400, "w": 604_800, "y": 31_536_000}
_KEYS: Final = ("after", "from", "then", "keep_if")
_WORDS: Final = re.compile(r"(\w+) +(\w+) +after +(\w+)(?: +unless +(\w+(?: *, *\w+)*))?", re.ASCII)
_WORDS_FORM: Final = (
    'Write "archive 90d after updated unless linked", or "never". The first word is one of archive,'
    " delete, purge and ask; the time counts from created, updated, last_used or expires_at."
)
_FORM: Final = (
    'Write {after: "180d", from: "created", then: "archive", keep_if: ["linked"]}, or "never".'
)


@dataclass(frozen=True, slots=True)
class Retention:
    """A rule."""

    after_us: int
    start: RetentionStart
    end: RetentionEnd
    keep_if: frozenset[KeepReason]


def parse_retention(value: object) -> Retention | None:
    """The rule in a JSON value or in words; None for the rule "never".

    Raises:
        ConstraintViolation: the value is no rule.
    """
    if isinstance(value, str):
        value = retention_from_words(value)
    if value == NEVER:
        return None
    if not isinstance(value, Mapping):
        raise ConstraintViolation(f"{quote_value(value)} is no rule of retention.", hint=_FORM)
    unknown = [key for key in value if key not in _KEYS]
    if unknown:
        raise ConstraintViolation(
            f"A rule of retention has no key {quote_value(unknown[0])}.", hint=_FORM
        )
    start = _choice(value.get("from", "created"), "from", get_args(RetentionStart))
    reasons = value.get("keep_if", [])
    if not isinstance(reasons, list):
        raise ConstraintViolation("keep_if is not a list.", hint=_FORM)
    return Retention(
        duration_us(value.get("after", "0d" if start == "expires_at" else None)),
        start,
        _choice(value.get("then", "archive"), "then", get_args(RetentionEnd)),
        frozenset(_choice(reason, "keep_if", get_args(KeepReason)) for reason in reasons),
    )


def retention_from_words(text: str) -> JsonObject | str:
    """The JSON value of a rule in words, as `@retention` has it.

    >>> retention_from_words("archive 90d after updated unless linked, pinned")
    {'after': '90d', 'from': 'updated', 'then': 'archive', 'keep_if': ['linked', 'pinned']}

    Raises:
        ConstraintViolation: the text is no rule.
    """
    words = text.strip()
    if words == NEVER:
        return NEVER
    match = _WORDS.fullmatch(words)
    if match is None:
        raise ConstraintViolation(f"{quote_value(text)} is no rule of retention.", hint=_WORDS_FORM)
    end, after, start, reasons = match.groups()
    rule: JsonObject = {"after": after, "from": start, "then": end}
    if reasons:
        rule["keep_if"] = [reason.strip() for reason in reasons.split(",")]
    parse_retention(rule)
    return rule


def stored_retention(rule: object) -> object:
    """A rule in its stored form: a rule in words becomes an object.

    Raises:
        ConstraintViolation: the value is no rule.
    """
    if isinstance(rule, str):
        return retention_from_words(rule)
    parse_retention(rule)
    return rule


def retention_in_words(value: object) -> str:
    """A valid rule in words; empty for any other value.

    >>> retention_in_words({"after": "90d"})
    'archive 90d after created'
    """
    try:
        rule = parse_retention(value)
    except ConstraintViolation:
        return ""
    if rule is None:
        return NEVER
    if isinstance(value, str):
        return value.strip()
    after = value.get("after", "0d") if isinstance(value, Mapping) else "0d"
    unless = f" unless {', '.join(sorted(rule.keep_if))}" if rule.keep_if else ""
    return f"{rule.end} {after} after {rule.start}{unless}"


def duration_us(value: object) -> int:
    """The microseconds of a duration such as "90d".

    >>> duration_us("2h")
    7200000000

    Raises:
        ConstraintViolation: the text is no duration.
    """
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ConstraintViolation(
            f"{quote_value(value)} is not a duration.",
            hint='Write a number and a unit, such as "30min", "12h", "90d", "8w" or "2y".',
        )
    return int(match[1]) * _SECONDS[match[2]] * 1_000_000


def is_kept(metadata: Mapping[str, Any]) -> bool:
    """True if an element is pinned or held."""
    return bool(marks_to_stay(metadata))


def marks_to_stay(metadata: Mapping[str, Any]) -> list[str]:
    """The marks that keep an element from leaving: a pin, and a hold with its reason."""
    marks = ["pinned"] if metadata.get(PINNED) is True else []
    hold = metadata.get(HOLD)
    if hold not in (None, False, ""):
        marks.append("held" if hold is True else f"held: {shorten(str(hold))}")
    return marks


def is_never(rule: object) -> bool:
    """True for the rule that keeps an element for good."""
    return isinstance(rule, str) and rule.strip() == NEVER


def _choice(value: object, key: str, choices: tuple[Any, ...]) -> Any:
    if value not in choices:
        raise ConstraintViolation(
            f"{key} is {shorten(repr(value))}, and none of {', '.join(choices)}.", hint=_FORM
        )
    return value
