"""Commands, how they are planned on one small graph, and the statements they become.

Each `cases/*.kip` has a `.plan` beside it: what EXPLAIN says of it. `pytest --update-golden` writes
them anew; what changed is then read as a diff. SQLite's own steps are compared only where the same
release of SQLite took them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

import mycel

HERE = Path(__file__).parent
CASES = sorted((HERE / "cases").glob("*.kip"))
GIVEN: dict[str, dict[str, Any]] = {
    "link_by_id": {"id": "P:1:lies_beyond"},
    "parameters": {"type": "Port", "name": "Hull", "berths": 5, "countries": ["GB", "IE"]},
    "point_by_id": {"id": "C:2"},
}
STEPS = "-- steps of SQLite {version}"
GOES_THROUGH_ALL = {
    "hops_with_both_ends_free": "walks begin at every subject",
}
"""Cases that look at every row of a predicate or type, and why nothing less would do."""


@pytest.fixture(scope="module")
def harbour() -> Iterator[mycel.Nexus]:
    with mycel.open(":memory:", bootstrap=False) as db:
        db.apply_capsule((HERE / "harbour.kip").read_text(encoding="utf-8"))
        yield db


def explained(db: mycel.Nexus, case: Path) -> dict[str, Any]:
    command = case.read_text(encoding="utf-8")
    told = db.execute(f"EXPLAIN {command}", GIVEN.get(case.stem)).value
    assert isinstance(told, dict)
    return told


def lines(told: dict[str, Any]) -> Iterator[str]:
    for stage in told["plan"]:
        yield f"-- {stage['stage']}"
        yield from stage["query"]
    yield "-- sql"
    yield from laid_out(told["sql"])
    yield "-- bindings"
    yield from (f"?{place} = {value!r}" for place, value in enumerate(told["bindings"], 1))


def laid_out(statement: str) -> list[str]:
    """A statement with a line for each part, so that a change shows where it is."""
    return re.sub(r" (?=FROM |CROSS JOIN |LEFT JOIN |WHERE |ORDER BY |GROUP BY )", "\n", statement).split("\n")


def whole(told: dict[str, Any]) -> tuple[str, str]:
    """What is ours, and what is SQLite's."""
    title = STEPS.format(version=apsw.sqlite_lib_version())
    return "\n".join(lines(told)) + "\n", "\n".join([title, *told["steps"]]) + "\n"


def test_there_are_cases() -> None:
    assert len(CASES) >= 25
    assert GIVEN.keys() | GOES_THROUGH_ALL.keys() <= {case.stem for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_command_has_its_plan(harbour: mycel.Nexus, case: Path, update_golden: bool) -> None:
    ours, steps = whole(explained(harbour, case))
    golden = case.with_suffix(".plan")
    if update_golden:
        golden.write_text(ours + steps, encoding="utf-8")
    kept, found, kept_steps = golden.read_text(encoding="utf-8").partition(STEPS.partition("{")[0])
    assert kept == ours
    if (found + kept_steps).partition("\n")[0] == steps.partition("\n")[0]:
        assert found + kept_steps == steps
