"""Values keep the time and actor of their writes, through any number of merges."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

import mycel
from tests.stored_bytes import stored_bytes
from tests.unit.history.test_merge import _without_waiting, at, value
from tests.unit.history.test_merge_cases import define
from tests.unit.store.given import Clock

__all__ = ("_without_waiting",)

NAMES = ("main", "ada", "bob", "cleo")


class Team:
    """Branches of one graph, each with an actor of its name, and a clock that all look at."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self.clock = Clock(4_102_444_800_000_000)
        main = mycel.open(path, durability="off", core_capsules=False, clock_us=self.clock)
        self.graphs = {"main": stack.enter_context(main)}
        define(main)
        self.put("main", "a", x=0, y=0, l=[0], t="one\ntwo\nthree\n")
        for name in NAMES[1:]:
            main.branches.create(name)
            self.graphs[name] = stack.enter_context(main.open_branch(name))

    def put(self, branch: str, name: str, **attributes: Any) -> None:
        self.clock.tick(1_000_000)
        self.graphs[branch].write(lambda tx: tx.put_concept("Fact", name, attributes), actor=branch)

    def merge(self, into: str, source: str, **options: Any) -> mycel.Merge:
        self.clock.tick(1_000_000)
        return self.graphs[into].merge(source, by="merger", **options)

    def value(self, branch: str, name: str = "a", key: str = "x") -> Any:
        return value(self.graphs[branch], name, key)


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    with ExitStack() as stack:
        yield Team(tmp_path / "graph.db", stack)


@contextmanager
def gone(team: Team, name: str) -> Iterator[None]:
    """A branch that is deleted once it was merged."""
    yield
    team.graphs[name].close()
    team.graphs["main"].branches.delete(name, unmerged=True)


def test_newest_is_the_value_that_was_written_last_however_late_it_was_merged(team: Team) -> None:
    with gone(team, "ada"):
        team.put("ada", "a", x="Monday")
        team.put("bob", "a", x="Tuesday")
        team.merge("cleo", "ada")
    team.merge("main", "cleo")
    team.put("main", "b", x=1)
    merged = team.merge("main", "bob", policy="newest")
    (choice,) = merged.choices
    assert (choice.side, team.value("main")) == ("theirs", "Tuesday")
    assert "2100-01-01T00:00:03" in choice.reason, "the time of the write"
    assert not team.graphs["main"].verify(replay=True).problems


def test_trust_is_about_who_wrote_a_value_and_not_about_who_merged_it(team: Team) -> None:
    with gone(team, "ada"):
        team.put("ada", "a", x="by ada")
        team.put("bob", "a", x="by bob")
        team.merge("cleo", "ada")
    team.merge("main", "cleo")
    merged = team.merge("main", "bob", trust=["ada", "bob", "merger"])
    assert [(each.rule, each.side) for each in merged.choices] == [("trust", "ours")]
    assert team.value("main") == "by ada"


def test_the_values_of_one_element_have_origins_of_their_own(team: Team) -> None:
    team.put("ada", "a", x="Monday")
    team.put("bob", "a", x="Tuesday", y="Tuesday")
    team.put("ada", "a", y="Wednesday", z="Wednesday")
    team.merge("cleo", "ada")
    merged = team.merge("cleo", "bob", policy="newest")
    assert {each.path[0]: each.side for each in merged.choices} == {"x": "theirs", "y": "ours"}


def test_new_elements_keep_the_origin_of_their_values(team: Team) -> None:
    team.put("ada", "n", x="Monday")
    team.put("bob", "n", x="Tuesday")
    team.merge("main", "ada")
    assert [each.side for each in team.merge("main", "bob", policy="newest").choices] == ["theirs"]


def test_a_value_that_is_made_of_both_sides_has_the_later_origin(team: Team) -> None:
    team.put("ada", "a", t="ONE\ntwo\nthree\n", l=[0, 1])
    team.put("bob", "a", t="one\ntwo\nTHREE\n", l=[0, 2])
    team.put("cleo", "a", t="1\n2\n3\n", l="none")
    team.merge("main", "ada")
    team.merge("main", "bob")
    assert team.value("main", key="t") == "ONE\ntwo\nTHREE\n"
    found = team.merge("main", "cleo", policy="newest", dry_run=True)
    assert {each.path[0]: each.side for each in found.choices} == {"t": "theirs", "l": "theirs"}


def test_a_value_that_somebody_gave_as_a_decision_is_written_by_the_merge(team: Team) -> None:
    team.put("ada", "a", x="Monday")
    team.put("bob", "a", x="Tuesday")
    team.put("cleo", "a", x="Wednesday")
    team.merge("main", "ada")
    (conflict,) = team.merge("main", "bob").conflicts
    assert conflict.suggestion == "theirs"
    main = team.graphs["main"]
    main.merges.resolve(conflict, "value", "both")
    team.clock.tick(1_000_000)
    main.merges.commit(by="merger")
    (left,) = team.merge("main", "cleo").conflicts
    assert left.suggestion == "ours", "it was written later than Wednesday"
    found = team.merge("main", "cleo", trust=["cleo", "merger"], dry_run=True)
    assert [(each.rule, each.side) for each in found.choices] == [("trust", "theirs")]


def test_a_purge_removes_the_origins_of_the_element(team: Team) -> None:
    team.put("ada", "a", x=1)
    team.put("ada", "a", secret_key=1)
    team.put("bob", "a", x=2)
    team.merge("main", "ada")
    main = team.graphs["main"]
    main.purge(at("a"), "asked for")
    assert b"secret_key" not in stored_bytes(main.path)
