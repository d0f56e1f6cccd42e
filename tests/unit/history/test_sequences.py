"""Three-way comparison of sequences: bounded work, and lines that divide a long text."""

from __future__ import annotations

from difflib import Match, SequenceMatcher
from random import Random
from typing import cast

import pytest

from mycel.errors import ExecutionTimeout
from mycel.history.merge import sequences
from mycel.model import allowance


def test_texts_of_repeated_lines_stop_at_the_deadline_and_take_bounded_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Comparing them item by item takes minutes, because every line is like most others."""
    compared = 0

    class Counting(SequenceMatcher[str]):
        def find_longest_match(self, *range_: int) -> Match:  # type: ignore[override]
            nonlocal compared
            compared += (range_[1] - range_[0]) * (range_[3] - range_[2])
            return super().find_longest_match(*range_)

    monkeypatch.setattr(sequences, "SequenceMatcher", Counting)
    base, ours, theirs = ["x"] * 990, ["x", "y"] * 495, ["z", "x"] * 495
    found = sequences.regions(base, ours, theirs)
    assert compared <= 2 * sequences.WORK_MAX
    for index, side in enumerate((base, ours, theirs)):
        assert [line for region in found for line in region[index]] == side
    sequences.regions(["x"] * 120, ["x", "y"] * 60, ["z", "x"] * 60)
    assert 0 < compared <= 2 * sequences.WORK_MAX, "small ones are compared item by item"

    class Over:
        holds_turn = False

        def is_over(self) -> bool:
            return True

    with allowance.using(cast("allowance.Allowance", Over())), pytest.raises(ExecutionTimeout):
        sequences.regions(base, ours, theirs)


def test_lines_that_occur_once_divide_a_long_text(seed: int) -> None:
    random = Random(seed)
    base = [random.choice(["", "}", f"line {at}"]) for at in range(2_000)]
    base[1_000] = "the middle"
    ours, theirs = list(base), list(base)
    for index in range(20):
        ours[random.randrange(999)] = f"ours {index}"
        theirs[random.randrange(1_001, 2_000)] = f"theirs {index}"
    found = sequences.regions(base, ours, theirs)
    assert [line for each in found for line in each.merged or ("contested",)] == [
        *ours[:1_000],
        *theirs[1_000:],
    ]
