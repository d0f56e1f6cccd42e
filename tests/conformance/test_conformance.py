"""Every case on the engine, and again on the reference evaluator that knows no SQL."""

from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import groupby

import pytest

from tests.cases import each_case
from tests.conformance.runner import HERE, LACKS, Case, Databases, load, run
from tests.postgres_server import SERVER
from tests.prepared import NEW
from tests.reference import ReferenceNexus

CASES = list(load())


def _cases(engine: str) -> dict[str, list[Case]]:
    """The cases that the engine can run, by file."""
    able = [case for case in CASES if not case.needs.intersection(LACKS[engine])]
    return {file: list(some) for file, some in groupby(able, key=lambda case: case.source)}


OF_THE_ENGINE = _cases("mycel")
OF_THE_REFERENCE = _cases("reference")


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


@pytest.mark.parametrize("file", OF_THE_ENGINE)
def test_the_engine_answers_as_the_specification_says(file: str, databases: Databases) -> None:
    with each_case() as case:
        for one in filter(_is_possible, OF_THE_ENGINE[file]):
            with case(one.name):
                run(databases.for_case(one), one)


def _is_possible(case: Case) -> bool:
    """False for a case that the backend of this session cannot run yet (docs/postgres.md)."""
    if not SERVER:
        return True
    is_refused = "REGEX" in repr(case) or "zero character" in case.name
    return not is_refused and not case.needs.intersection(LACKS["postgres"])


@pytest.mark.parametrize("file", OF_THE_REFERENCE)
def test_the_reference_answers_as_the_specification_says(file: str, references: Databases) -> None:
    with each_case() as case:
        for one in OF_THE_REFERENCE[file]:
            with case(one.name):
                run(references.for_case(one), one)


def test_no_two_cases_have_the_same_name() -> None:
    counts = Counter(case.name for case in CASES)
    assert [name for name, count in counts.items() if count > 1] == []


def test_every_graph_is_asked_about_and_every_graph_asked_about_exists() -> None:
    asked = {case.graph for case in CASES if case.graph}
    assert asked == {path.stem for path in (HERE / "graphs").glob("*.kip")}


def test_every_need_is_one_that_some_engine_declares() -> None:
    declared = {need for lacks in LACKS.values() for need in lacks}
    assert {need for case in CASES for need in case.needs} <= declared
