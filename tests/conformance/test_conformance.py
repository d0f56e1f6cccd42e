"""Every case on the engine, and again on the reference evaluator that knows no SQL."""

from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from mycel.testing.reference import ReferenceNexus
from tests.conformance.runner import HERE, LACKS, Case, Databases, load, run
from tests.prepared import NEW

CASES = list(load())


def _parameters(engine: str) -> list[object]:
    lacks = LACKS[engine]
    return [
        pytest.param(case, id=case.name) for case in CASES if not case.needs.intersection(lacks)
    ]


@pytest.fixture(scope="module")
def databases() -> Iterator[Databases]:
    opened = Databases(NEW.opened)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def references() -> Iterator[Databases]:
    opened = Databases(lambda: nullcontext(ReferenceNexus()))
    yield opened
    opened.close()


@pytest.mark.parametrize("case", _parameters("mycel"))
def test_the_engine_answers_as_the_specification_says(case: Case, databases: Databases) -> None:
    run(databases.for_case(case), case)


@pytest.mark.parametrize("case", _parameters("reference"))
def test_the_reference_answers_as_the_specification_says(case: Case, references: Databases) -> None:
    run(references.for_case(case), case)


def test_no_two_cases_have_the_same_name() -> None:
    counts = Counter(case.name for case in CASES)
    assert [name for name, count in counts.items() if count > 1] == []


def test_every_graph_is_asked_about_and_every_graph_asked_about_exists() -> None:
    asked = {case.graph for case in CASES if case.graph}
    assert asked == {path.stem for path in (HERE / "graphs").glob("*.kip")}


def test_every_need_is_one_that_some_engine_declares() -> None:
    declared = {need for lacks in LACKS.values() for need in lacks}
    assert {need for case in CASES for need in case.needs} <= declared
