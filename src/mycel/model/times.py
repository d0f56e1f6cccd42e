"""Times: integers inside, microseconds since 1970-01-01 UTC; `datetime` outside."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final

from mycel.errors import InvalidSyntax
from mycel.model.names import quote_value

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH = _EPOCH.replace(tzinfo=None)
_MICROSECOND = timedelta(microseconds=1)
_FIRST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND

# Python accepts any character in place of the T, so it misreads fourteen digits in a row.
_SHAPE = re.compile(r"[0-9W-]{8,10}([T ][0-9:.,]{2,32}(Z|[+-][0-9:.]{2,16})?)?", re.ASCII)
_MONTH_OR_YEAR = re.compile(r"[0-9]{4}(-[0-9]{2})?", re.ASCII)
_CHARACTERS_MAX: Final = 60
"""The length of the longest text of that shape."""


def to_datetime(microseconds: int) -> datetime:
    """The moment as an aware `datetime` in UTC, within the years 1 to 9999.

    >>> to_datetime(1_700_000_000_000_001).isoformat()
    '2023-11-14T22:13:20.000001+00:00'
    """
    return _EPOCH + timedelta(microseconds=_clamp(microseconds))


def _clamp(microseconds: int) -> int:
    """The nearest time within the years 1 to 9999: a clock or a file may have any number."""
    return min(max(microseconds, _FIRST), _LAST)


def from_datetime(moment: datetime) -> int:
    """Microseconds since the epoch; a `datetime` without a zone is taken as UTC.

    Raises:
        OverflowError: in UTC it is before the year 1 or after the year 9999.
    """
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment.astimezone(UTC) - _EPOCH) // _MICROSECOND


def to_text(microseconds: int) -> str:
    """ISO 8601 in UTC with six digits of microseconds, so that texts sort like times.

    >>> to_text(0)
    '1970-01-01T00:00:00.000000Z'
    """
    # Not strftime: its %Y writes the year 987 with three digits on some systems.
    moment = _NAIVE_EPOCH + timedelta(microseconds=_clamp(microseconds))
    return f"{moment.isoformat(timespec='microseconds')}Z"


def iso_text(value: date) -> str:
    """A `datetime` or `date` of a caller as a JSON value: ISO 8601, a `datetime` in UTC with a Z.

    Without a zone it is in UTC.

    >>> iso_text(datetime.fromisoformat("2026-01-31T14:30:00+02:00")), iso_text(date(2026, 1, 31))
    ('2026-01-31T12:30:00Z', '2026-01-31')

    Raises:
        OverflowError: in UTC it is before the year 1 or after the year 9999.
    """
    if not isinstance(value, datetime):
        return value.isoformat()
    moment = value if value.tzinfo is None else value.astimezone(UTC)
    return f"{moment.replace(tzinfo=None).isoformat()}Z"


def is_time(value: object) -> bool:
    """True for an ISO 8601 text."""
    with suppress(InvalidSyntax):
        from_text(value)
        return True
    return False


def is_past(value: object, now_us: int) -> bool:
    """True for an ISO 8601 text of a time that is not after `now_us`."""
    return is_time(value) and from_text(value) <= now_us


def from_text(text: object) -> int:
    """Microseconds of an ISO 8601 text; a month or a year is the time at which it begins.

    >>> from_text("1970-02") == from_text("1970-02-01T00:00:00Z")
    True

    Raises:
        InvalidSyntax: the text is no ISO 8601 date or time, or not within the years 1 to 9999 in
            UTC.
    """
    if isinstance(text, str) and len(text) <= _CHARACTERS_MAX:
        is_reduced = _MONTH_OR_YEAR.fullmatch(text) is not None
        microseconds = _microseconds(f"{text}-01-01"[:10] if is_reduced else text)
        if microseconds is not None:
            return microseconds
    raise _no_time(text)


def from_full_text(text: object) -> int:
    """Microseconds of an ISO 8601 text with a day, where a year may be another number.

    Raises:
        InvalidSyntax: the text is no ISO 8601 date or time with a day, or not within the years 1 to
            9999 in UTC.
    """
    if isinstance(text, str) and _MONTH_OR_YEAR.fullmatch(text):
        raise _no_time(text)
    return from_text(text)


def _no_time(text: object) -> InvalidSyntax:
    return InvalidSyntax(
        f"{quote_value(text)} is not a time.", hint="Write it as 2026-01-31T12:00:00Z."
    )


@lru_cache(4096)  # A write compares the same periods many times (`model.periods`).
def _microseconds(text: str) -> int | None:
    if _SHAPE.fullmatch(text):
        with suppress(OverflowError, ValueError):
            return from_datetime(datetime.fromisoformat(text))
    return None
