"""The words of entities: never a candidate too few, whatever is written and by whom."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import mycel
from mycel.knowledge.memory import substrings
from mycel.knowledge.memory.entities import Entity
from mycel.knowledge.memory.memory_server import Memory
from mycel.knowledge.memory.substrings import Words
from tests.cases import cases

ALPHABET = ["a", "b", "A", " ", "  ", "\n", "-", "é", "ß", "Σ", "京", "都", "🎉", "ab"]


def held_by(entity: Entity, text: str) -> bool:
    """The rule, as plainly as it can be said."""
    return any(
        text.lower() in each.lower()
        for each in (entity.name, entity.entity_type, *entity.observations)
    )


def test_no_entity_that_holds_a_text_is_missed() -> None:
    draw = random.Random(7)

    def text(length: int) -> str:
        return "".join(draw.choice(ALPHABET) for _ in range(draw.randint(1, length)))

    words = Words()
    texts = {number: text(30) for number in range(200)}
    for number, each in texts.items():
        words.add(number, each)
        if number == 100:
            words.settle()
    for _ in range(2_000):
        asked = text(6).lower()
        candidates = words.candidates(asked)
        if candidates is not None:
            holding = {number for number, each in texts.items() if asked in each.lower()}
            assert holding <= set(candidates), asked


@cases(
    ("asked", "found"),
    [
        ("script", {1}),
        ("tea ti", {2}),
        (" ti", {2}),
        ("im ", set()),
        ("a t", {2}),
        ("xyz", set()),
    ],
)
def test_few_entities_are_candidates_without_reason(asked: str, found: set[int]) -> None:
    words = Words()
    words.add(1, "knows TypeScript")
    words.add(2, "tea time")
    assert set(words.candidates(asked) or ()) == found


def test_nothing_but_white_space_says_nothing() -> None:
    assert Words().candidates(" \n") is None


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mycel.knowledge.memory.memory_server.INDEXED_FROM", 10)
    monkeypatch.setattr(substrings, "CHANGES_AT_ONCE", 5)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.db"


@pytest.fixture
def memory(path: Path, few: None) -> Iterator[Memory]:
    with mycel.open(path) as db:
        memory = Memory(db)
        memory.create_entities(
            Entity(f"entity-{n}", "thing", (f"has number {n * n}",)) for n in range(50)
        )
        yield memory
        memory.close()


def names(memory: Memory, query: str) -> list[str]:
    return [each.name for each in memory.search_nodes(query).entities]


def test_searches_give_the_same_before_and_after_words_are_there(memory: Memory) -> None:
    queries = ["entity-4", "ING", "r 16", "has number 100", "r 1", "49", " ", "nothing"]
    before = [names(memory, each) for each in queries]
    memory.substrings.wait()
    assert [names(memory, each) for each in queries] == before
    entities = memory.read_graph(characters_max=10**6).entities
    assert before == [[e.name for e in entities if held_by(e, each)] for each in queries]


def test_a_search_that_words_cannot_answer_does_not_make_them_anew(memory: Memory) -> None:
    names(memory, "entity")
    memory.substrings.wait()
    made = memory.substrings._words
    assert len(names(memory, " ")) == 50
    memory.substrings.wait()
    assert memory.substrings._words is made is not None


def test_words_follow_what_this_and_other_processes_write(memory: Memory, path: Path) -> None:
    names(memory, "entity")
    memory.substrings.wait()
    memory.create_entities([Entity("Late Comer", "guest")])
    assert names(memory, "te com") == ["Late Comer"]
    with mycel.open(path) as other:
        Memory(other).add_observations([("entity-3", ["was seen elsewhere"])])
    assert names(memory, "elsewhere") == ["entity-3"]
    memory.delete_observations([("entity-3", ["was seen elsewhere"])])
    assert names(memory, "elsewhere") == []
    memory.delete_entities(["Late Comer"])
    assert names(memory, "comer") == []


def test_after_many_changes_at_once_all_entities_are_looked_at(memory: Memory, path: Path) -> None:
    names(memory, "entity")
    memory.substrings.wait()
    with mycel.open(path) as other:
        Memory(other).create_entities(Entity(f"other {n}", "x", ("brought",)) for n in range(20))
    assert len(names(memory, "brought")) == 20
    memory.substrings.wait()
    assert len(names(memory, "brought")) == 20


def test_more_candidates_than_an_answer_can_show_are_not_taken_for_all(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (substrings, "mycel.knowledge.memory.memory_server"):
        target = module if isinstance(module, str) else module.__name__
        monkeypatch.setattr(f"{target}.CANDIDATES_ENOUGH", 5)
    names(memory, "entity")
    memory.substrings.wait()
    assert len(names(memory, "entity")) == 50
    assert len(names(memory, "has number")) == 50


def test_closing_ends_what_is_under_way(memory: Memory) -> None:
    memory.substrings.begin()
    memory.close()
    memory.substrings.begin()
    assert names(memory, "entity-49") == ["entity-49"]
