"""Filters by time and author: nodes and links, spans, past states, and the list of authors."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.errors import MycelError
from mycel.explorer.explorer import Explorer

A, B, C, D = (f"concept://w/{name}" for name in "abcd")
LINK = (A, "knows", B)


@pytest.fixture
def story(tmp_path: Path) -> Iterator[tuple[Explorer, list[int]]]:
    """Four commits by three actors, and the position after each."""
    place = tmp_path / "graph.db"
    ends = []

    def write(actor: str, work: Any) -> None:
        with mycel.open(place, actor=actor) as db:
            work(mycel.Knowledge(db, workspace="w"))
            ends.append(
                Explorer(db, mycel.Knowledge(db, workspace="w")).view("about", {})["position"]
            )

    write("ada", lambda k: k.remember([{"uri": "a"}, {"uri": "b"}, {"uri": "c"}]))
    write("grace", lambda k: k.link("a", "knows", "b"))
    write("alan", lambda k: k.remember([{"uri": "d"}, {"uri": "a", "content": "New."}]))
    write("ada", lambda k: k.update("c", content="Newer."))
    with mycel.open(place) as db:
        yield Explorer(db, mycel.Knowledge(db, workspace="w")), ends


def ask(explorer: Explorer, **given: Any) -> tuple[set[str], set[tuple[str, str, str]]]:
    told = explorer.view("touched", {"ids": [A, B, C, D], **given})
    links = {(link["source"], link["relation"], link["target"]) for link in told["links"]}
    return set(told["nodes"]), links


def test_elements_are_found_by_any_of_their_versions(story: tuple[Explorer, list[int]]) -> None:
    explorer, ends = story
    first, second, third, _ = map(str, ends)
    assert ask(explorer) == ({A, B, C, D}, {LINK})
    assert ask(explorer, actors=["ada"]) == ({A, B, C}, set())
    assert ask(explorer, actors=["grace"]) == (set(), {LINK})
    assert ask(explorer, actors=["alan"]) == ({A, D}, set())
    assert ask(explorer, actors=["alan", "grace"]) == ({A, D}, {LINK})
    assert ask(explorer, actors=["nobody"]) == (set(), set())
    assert ask(explorer, actors=[]) == (set(), set())
    assert ask(explorer, since=third) == ({A, C, D}, set())
    assert ask(explorer, until=first) == ({A, B, C}, set())
    assert ask(explorer, since=second, until=third) == ({A, D}, {LINK})
    assert ask(explorer, since=third, actors=["ada"]) == ({C}, set())
    assert ask(explorer, since="2999-01-01T00:00:00Z") == (set(), set())
    # A past state knows nothing of what was written later.
    assert ask(explorer, at=second) == ({A, B, C}, {LINK})
    assert ask(explorer, at=second, actors=["alan"]) == (set(), set())


def test_all_nodes_of_a_span_are_listed_the_newest_first(
    story: tuple[Explorer, list[int]],
) -> None:
    explorer, ends = story
    told = explorer.view("touched", {})
    assert (told["nodes"][0], set(told["nodes"]), told["total"]) == (C, {A, B, C, D}, 4)
    told = explorer.view("touched", {"actors": ["ada"], "limit": 1})
    assert (told["nodes"], told["total"]) == ([C], 3)
    told = explorer.view("touched", {"since": str(ends[2]), "until": str(ends[2])})
    assert (set(told["nodes"]), told["total"]) == ({A, D}, 2)


def test_authors_are_counted_in_all_or_in_a_span(story: tuple[Explorer, list[int]]) -> None:
    explorer, ends = story
    told = explorer.view("authors", {})["authors"]
    commits = {each["actor"]: each["commits"] for each in told}
    assert (commits["ada"], commits["grace"], commits["alan"]) == (2, 1, 1)
    log = explorer.view("commits", {"limit": 100})["commits"]
    changes = {name: sum(c["changes"] for c in log if c["actor"] == name) for name in commits}
    assert {each["actor"]: each["changes"] for each in told} == changes
    some = explorer.view("authors", {"since": str(ends[2])})["authors"]
    assert {each["actor"] for each in some} == {"ada", "alan"}


def test_wrong_spans_are_refused(story: tuple[Explorer, list[int]]) -> None:
    explorer, ends = story
    for given in (
        {"since": str(ends[3]), "until": str(ends[0])},
        {"since": "yesterday"},
        {"actors": [1]},
        {"limit": 0},
        {"who": "ada"},
    ):
        with pytest.raises(MycelError):
            explorer.view("touched", given)
