"""Every case of the schema language on the engine."""

from collections import Counter
from collections.abc import Iterator

import pytest

from mycel.schema import load as load_schema
from mycel.schema import plan
from tests.cases import each_case
from tests.conformance.schema.mycel_engine import MycelEngine
from tests.conformance.schema.runner import Case, Planning, Reading, Story, load, run

CASES = list(load())
STORIES: list[Case] = [case for case in CASES if isinstance(case, Story)]
VERIFIED_EVERY = 16
"""In CI one graph of so many is replayed from its journal; `make soak` replays all."""
CASES_MIN = 1000
"""The suite grows; a file that stops being read must not go unnoticed."""


@pytest.fixture(scope="module")
def engine() -> Iterator[MycelEngine]:
    made = MycelEngine()
    yield made
    made.close()


def test_a_schema_is_read_as_the_language_says(engine: MycelEngine) -> None:
    _run_all(Reading, engine)


def test_a_migration_is_planned_as_the_language_says(engine: MycelEngine) -> None:
    _run_all(Planning, engine)


def test_a_graph_obeys_its_schema_as_the_language_says(engine: MycelEngine, seed: int) -> None:
    _run_all(Story, engine)
    _run_and_verify(STORIES[seed % VERIFIED_EVERY :: VERIFIED_EVERY], engine)


@pytest.mark.soak
def test_every_graph_is_what_its_journal_says(engine: MycelEngine) -> None:
    _run_and_verify(STORIES, engine)


def _run_all(kind: type, engine: MycelEngine) -> None:
    with each_case() as case:
        for one in CASES:
            if isinstance(one, kind):
                with case(one.name):
                    run(engine, one)


def _run_and_verify(stories: list[Case], engine: MycelEngine) -> None:
    with each_case() as case:
        for story in stories:
            with case(story.name):
                run(engine, story)
                assert engine.verifies()


def _accepted() -> list[str]:
    read = [case for case in CASES if isinstance(case, Reading) and "refused" not in case.expected]
    planned = [case for case in CASES if isinstance(case, Planning)]
    texts = [case.schema for case in read] + [text for case in planned for text in case.schemas]
    return sorted(set(texts))


def test_every_schema_of_the_suite_means_the_same_when_it_is_formatted() -> None:
    for text in _accepted():
        schema = load_schema(text)
        formatted = load_schema(schema.format())
        assert formatted.ir() == schema.ir(), text
        assert formatted.format() == schema.format(), text


def test_every_schema_of_the_suite_needs_no_steps_to_become_itself() -> None:
    for text in _accepted():
        planned = plan(load_schema(text), load_schema(text))
        assert (planned.supported, planned.steps) == (True, ()), text


def test_no_two_cases_of_the_schema_language_have_the_same_name() -> None:
    counts = Counter(case.name for case in CASES)
    assert [name for name, count in counts.items() if count > 1] == []


def test_there_are_as_many_cases_as_there_have_been() -> None:
    assert len(CASES) >= CASES_MIN
