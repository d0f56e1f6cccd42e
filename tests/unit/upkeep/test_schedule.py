"""Servers run cycles at their times: each day, or once nobody has written for a while."""

from __future__ import annotations

import threading
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

import mycel
from mycel.errors import ConstraintViolation
from mycel.upkeep.schedule import Schedule, Sleeper
from tests.cases import cases

NIGHT = datetime.fromisoformat("2030-01-01T02:30:00+00:00")
MINUTE_US = 60_000_000


@cases(
    ("text", "idle_us", "wait_s"),
    [
        ("03:00", None, 1_800),
        ("2:30", 0, 86_400),
        ("02:29", 0, 86_340),
        ("30min", 10 * MINUTE_US, 1_200),
        ("30min", 30 * MINUTE_US, 0),
        ("30min", 99 * MINUTE_US, 0),
    ],
)
def test_the_next_cycle_is_at_its_time(text: str, idle_us: int | None, wait_s: float) -> None:
    assert Schedule(text).wait_s(NIGHT, idle_us) == wait_s


def test_without_writes_since_the_last_cycle_there_is_none() -> None:
    assert Schedule("30min").wait_s(NIGHT, None) > 0


@pytest.mark.parametrize("text", ["", "25:00", "3", "soon", "12:60", "-1min"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ConstraintViolation, match="is not a time for a cycle"):
        Schedule(text)


def test_an_idle_graph_gets_one_cycle_and_closing_ends_the_thread(tmp_path: Path) -> None:
    with mycel.open(tmp_path / "graph.db") as db:
        db.write(lambda tx: tx.define_type("Note"))
        ran = threading.Event()
        summaries: list[str] = []

        def report(summary: str) -> None:
            summaries.append(summary)
            ran.set()

        with closing(Sleeper(db._store, Schedule("0min"), report)):
            assert ran.wait(60)
        log = db.get_concept("Person", "$system").attributes["maintenance_log"]
        assert len(log) == len(summaries) == 1
        assert not [each for each in threading.enumerate() if each.name == "sleeper"]
        primer = db.execute("DESCRIBE PRIMER").value
        assert primer["maintenance"]["tasks_waiting"] == 0
        assert primer["maintenance"]["last_cycle"] is not None
