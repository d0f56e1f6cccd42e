"""Times: microseconds inside, ISO 8601 and `datetime` outside."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from mycel.errors import InvalidSyntax
from mycel.model.times import from_datetime, from_text, to_datetime, to_text
from tests.cases import cases

FIRST_US = -62_135_596_800_000_000  # 0001-01-01T00:00:00Z
LAST_US = 253_402_300_799_999_999  # 9999-12-31T23:59:59.999999Z


@cases(
    ("microseconds", "text"),
    [
        (0, "1970-01-01T00:00:00.000000Z"),
        (1, "1970-01-01T00:00:00.000001Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
        (1_700_000_000_000_000, "2023-11-14T22:13:20.000000Z"),
        (1_700_000_000_123_456, "2023-11-14T22:13:20.123456Z"),
        (-31_000_000_000_000_000, "0987-08-25T16:53:20.000000Z"),
        (FIRST_US, "0001-01-01T00:00:00.000000Z"),
        (LAST_US, "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_a_time_is_written_with_all_its_digits_and_read_back(microseconds: int, text: str) -> None:
    assert to_text(microseconds) == text
    assert from_text(text) == microseconds


def test_texts_sort_as_times_do() -> None:
    moments = [FIRST_US, -31_000_000_000_000_000, -1, 0, 1, 999_999, 1_000_000, LAST_US]
    assert sorted(to_text(moment) for moment in moments) == [to_text(moment) for moment in moments]


@cases(
    "text",
    [
        "2023-11-14T22:13:20Z",
        "2023-11-14T22:13:20",
        "2023-11-14 22:13:20",
        "2023-11-14T22:13:20+00:00",
        "2023-11-15T00:13:20+02:00",
        "2023-11-14T16:43:20-05:30",
        "20231114T221320Z",
        "2023-W46-2T22:13:20Z",
        "2023-11-14T22:13:20.0Z",
        "2023-11-14T22:13:20,000000999Z",
    ],
)
def test_other_spellings_of_one_moment_mean_the_same(text: str) -> None:
    assert from_text(text) == 1_700_000_000_000_000


def test_a_month_or_a_year_alone_is_the_time_at_which_it_begins() -> None:
    assert from_text("1970-02") == 31 * 86_400_000_000
    assert from_text("1971") == 365 * 86_400_000_000


def test_a_date_alone_is_its_first_moment_in_utc() -> None:
    assert from_text("1970-01-02") == 86_400_000_000


@cases(
    "text",
    [
        "",
        "now",
        "2023-13",
        "20237",
        "202307",
        "2023-13-01",
        "2023-02-30",
        "2023-11-14T25:00:00Z",
        "2023-11-14T22:13:20Z\n",
        "2023-11-14T22:13:20\ud800",
        "2023-11-14\0",
        "٢٠٢٣-١١-١٤",
        "20231114221320123",
        "2023-11-14x22:13:20",
        "2023-11-14T",
        "1" * 100_000,
        "x" * 100_000,
    ],
)
def test_what_is_no_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidSyntax) as caught:
        from_text(text)
    assert "2026-01-31T12:00:00Z" in caught.value.hint
    assert len(caught.value.message) < 200


@cases("value", [None, 5, 5.0, b"2023-11-14", ["2023-11-14"]])
def test_what_is_no_string_is_no_time(value: object) -> None:
    with pytest.raises(InvalidSyntax):
        from_text(value)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"])
def test_a_moment_that_utc_cannot_show_is_refused(text: str) -> None:
    with pytest.raises(InvalidSyntax):
        from_text(text)


def test_a_datetime_is_read_in_its_zone_and_as_utc_without_one() -> None:
    aware = datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    assert from_datetime(aware) == 0
    assert from_datetime(datetime(1970, 1, 1)) == 0  # noqa: DTZ001  A naive one is the point.


@cases("microseconds", [FIRST_US, -1, 0, 1, 1_700_000_000_123_456, LAST_US])
def test_a_datetime_carries_every_microsecond(microseconds: int) -> None:
    moment = to_datetime(microseconds)
    assert moment.tzinfo is UTC
    assert from_datetime(moment) == microseconds


def test_a_time_of_a_wrong_clock_is_told_as_the_last_or_first_there_is() -> None:
    assert to_text(1 << 62) == "9999-12-31T23:59:59.999999Z"
    assert to_text(-(1 << 62)) == "0001-01-01T00:00:00.000000Z"
    assert to_datetime(1 << 62).year == 9999
