"""Memory that is given back after so much work."""

from collections.abc import Iterator
from itertools import accumulate

import pytest

from mycel.service import malloc_trim
from mycel.service.malloc_trim import TIDY_AFTER_S, MemoryTrim
from mycel.store.file.process_memory import of_library


@pytest.fixture
def given_back(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that grows each time memory is given back."""
    times: list[int] = []
    monkeypatch.setattr(malloc_trim, "return_memory", lambda: times.append(1))
    return times


def clock(monkeypatch: pytest.MonkeyPatch, *took_s: float) -> None:
    """Calls that take so long, one after the other."""
    moments: Iterator[float] = accumulate(each for took in took_s for each in (0.0, took))
    monkeypatch.setattr(malloc_trim, "monotonic", lambda: next(moments))


def test_short_calls_are_added_up_until_it_is_time(
    monkeypatch: pytest.MonkeyPatch, given_back: list[int]
) -> None:
    part = TIDY_AFTER_S * 0.4
    clock(monkeypatch, *[part] * 7)
    tidy = MemoryTrim()
    seen = []
    for number in range(7):
        assert tidy.after(lambda given=number: given) == number
        seen.append(len(given_back))
    assert seen == [0, 0, 1, 1, 1, 2, 2]


def test_a_long_call_that_fails_leaves_nothing_behind_either(
    monkeypatch: pytest.MonkeyPatch, given_back: list[int]
) -> None:
    clock(monkeypatch, TIDY_AFTER_S * 2)

    def fail() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        MemoryTrim().after(fail)
    assert given_back == [1]


def test_giving_back_does_no_harm_on_this_machine() -> None:
    malloc_trim.return_memory()


def test_where_the_library_cannot_do_it_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "elsewhere")
    assert of_library.__wrapped__("malloc_trim")(0) is None
