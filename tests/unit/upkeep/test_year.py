"""A simulated year: the live graph levels off, nothing that matters is lost, all is explained."""

from __future__ import annotations

from pathlib import Path

import pytest

import mycel
from tests.unit.upkeep.simulated_year import Outcome, Year
from tests.unit.upkeep.test_cycle import Clock


def live(path: Path, seed: int, days: int, per_day: int, *, sleeps: bool = True) -> Outcome:
    clock = Clock()
    with mycel.open(path, clock_us=clock, durability="off") as db:
        year = Year(db, clock, seed, per_day)
        year.run(days, sleeps=sleeps)
        if sleeps:
            year.judge()
            assert not db.verify().problems
        return year.outcome


def check(outcome: Outcome, without: Outcome) -> None:
    assert outcome.lost == []
    assert outcome.overdue == []
    assert outcome.forgotten > 0
    assert outcome.unexplained == 0
    half = len(outcome.live) // 2
    assert max(outcome.live) <= 1.25 * max(outcome.live[:-half]), "the live graph levels off"
    assert outcome.merged > 0
    assert outcome.merged_wrongly <= 0.05 * outcome.merged
    assert outcome.found >= 0.8 * outcome.planted
    assert outcome.recall_with >= without.recall_with


def test_six_weeks_keep_what_matters_and_level_off(tmp_path: Path, seed: int) -> None:
    check(
        live(tmp_path / "with.db", seed, 44, 30),
        live(tmp_path / "without.db", seed, 44, 30, sleeps=False),
    )


@pytest.mark.soak
def test_a_year_keeps_what_matters_and_levels_off(tmp_path: Path, seed: int) -> None:
    check(
        live(tmp_path / "with.db", seed, 365, 200),
        live(tmp_path / "without.db", seed, 365, 200, sleeps=False),
    )
