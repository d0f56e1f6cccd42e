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
from mycel.plan.rewrites import PASSES
from tests.cases import cases
from tests.golden.plan.harbour import harbour as filled_harbour

HERE = Path(__file__).parent
CASES = sorted((HERE / "cases").glob("*.kip"))
GIVEN: dict[str, dict[str, Any]] = {
    "link_by_id": {"id": "P:1:lies_beyond"},
    "parameters": {"type": "Port", "name": "Hull", "berths": 5, "countries": ["GB", "IE"]},
    "point_by_id": {"id": "C:2"},
    "index_of_a_unique_property": {"code": "B7"},
}
STEPS = "-- steps of SQLite {version}"
WHOLE_TABLE = re.compile(
    r"SCAN ([cphxyqg]\d*|concept|proposition|concept_past|proposition_past)( |$)(?!.*USING)"
)
READ_WHOLE = {
    "as_of": {"SCAN proposition_past"},
    "as_of_hops_from_every_row": {"SCAN proposition_past"},
    "as_of_semijoin": {"SCAN concept_past"},
    "as_of_without": {"SCAN concept_past"},
    "as_of_without_an_index": {"SCAN concept_past"},
}
"""Where a whole table is read: what was superseded has no index by type or predicate alone."""


@pytest.fixture(scope="module")
def harbour() -> Iterator[mycel.Graph]:
    with filled_harbour() as db:
        # Now what the capsule wrote is past.
        db.execute('UPSERT { CONCEPT { {type: "Port", name: "Later"} } }')
        yield db


def explained(db: mycel.Graph, case: Path) -> dict[str, Any]:
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
    return re.sub(
        r" (?=FROM |CROSS JOIN |LEFT JOIN |WHERE |ORDER BY |GROUP BY )", "\n", statement
    ).split("\n")


def whole(told: dict[str, Any]) -> tuple[str, str]:
    """What is ours, and what is SQLite's."""
    title = STEPS.format(version=apsw.sqlite_lib_version())
    return "\n".join(lines(told)) + "\n", "\n".join([title, *told["steps"]]) + "\n"


def test_there_are_cases() -> None:
    assert len(CASES) >= 25
    assert GIVEN.keys() | READ_WHOLE.keys() <= {case.stem for case in CASES}


@cases("case", CASES)
def test_a_command_has_its_plan(harbour: mycel.Graph, case: Path, update_golden: bool) -> None:
    ours, steps = whole(explained(harbour, case))
    golden = case.with_suffix(".plan")
    if update_golden:
        golden.write_text(ours + steps, encoding="utf-8")
    kept, found, kept_steps = golden.read_text(encoding="utf-8").partition(STEPS.partition("{")[0])
    assert kept == ours
    if (found + kept_steps).partition("\n")[0] == steps.partition("\n")[0]:
        assert found + kept_steps == steps


@cases("case", CASES)
def test_no_table_is_read_as_a_whole(harbour: mycel.Graph, case: Path) -> None:
    steps = [step.strip() for step in explained(harbour, case)["steps"]]
    scans = {step for step in steps if WHOLE_TABLE.search(step)}
    assert scans == READ_WHOLE.get(case.stem, set())
    assert not [step for step in steps if "AUTOMATIC" in step]


@cases("case", CASES)
def test_a_walk_takes_its_steps_without_a_bloom_filter(harbour: mycel.Graph, case: Path) -> None:
    steps = explained(harbour, case)["steps"]
    for at, step in enumerate(steps):
        if step.strip() == "RECURSIVE STEP":
            depth = len(step) - len(step.lstrip())
            for inner in steps[at + 1 :]:
                if len(inner) - len(inner.lstrip()) <= depth:
                    break
                assert "BLOOM" not in inner


@cases("case", CASES)
def test_the_present_is_asked_without_a_thought_of_the_past(
    harbour: mycel.Graph, case: Path
) -> None:
    statement = explained(harbour, case)["sql"]
    if not case.stem.startswith("as_of"):
        assert "tombstone" not in statement
        assert "_past" not in statement
        assert not re.search(r"\b(seq|from_seq|to_seq)\b", statement.replace("max(seq)", ""))


@pytest.mark.parametrize("name", ["symmetric", "symmetric_between_two_known_ends"])
def test_a_symmetric_link_is_found_from_the_end_that_is_known(
    harbour: mycel.Graph, name: str
) -> None:
    """SQLite would read all links of the predicate if both ways named it in the same words."""
    steps = explained(harbour, HERE / "cases" / f"{name}.kip")["steps"]
    assert any("MULTI-INDEX OR" in step for step in steps)
    assert not any(step.strip().endswith("(predicate=?)") for step in steps)


def test_every_rewrite_has_a_case_that_it_changes(harbour: mycel.Graph) -> None:
    seen = {stage["stage"] for case in CASES for stage in explained(harbour, case)["plan"]}
    assert seen == {"bind", *(each.__name__ for each in PASSES)}
