"""Elements of two branches are matched although numbers come back for other elements.

A number is that of one element as long as it lives. One that was removed leaves its number to the
next element with its type and name, in each branch for itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.store.backend.sqlite import copy
from tests.unit.history.test_merge_cases import GIVEN, content, opened, write

Steps = list[list[Any]]

CASES: dict[str, tuple[Steps, list[tuple[str, Steps]], dict[str, Any]]] = {
    "a number that a merge gives to another element is also that of one that was removed": (
        [["put", "a", {}]],
        [
            ("main", [["move", "a", "c"], ["commit"], ["retire", "c"]]),
            ("draft", [["put", "c", {"x": 1}]]),
            ("main <- draft", []),
            ("draft <- main", []),
        ],
        {"c": {"x": 1}},
    ),
    "a removal is kept although its number has come back": (
        [["put", "a", {}]],
        [
            ("main", [["move", "a", "c"], ["commit"], ["retire", "c"]]),
            ("draft", [["put", "c", {"x": 1}]]),
            ("main <- draft", []),
            ("draft", [["put", "b", {}]]),
            ("main <- draft", []),
            ("main", [["put", "c", {"x": 2}]]),
            ("draft <- main", []),
        ],
        {"b": {}, "c": {"x": 2}},
    ),
    "one of before the fork that was removed comes back for two elements that exchange it": (
        [["put", "a", {}], ["commit"], ["retire", "a"]],
        [
            ("main", [["put", "a", {"x": 1}], ["move", "a", "b"], ["put", "a", {"x": 2}]]),
            ("draft", [["put", "d", {}]]),
            ("main <- draft", []),
            ("draft <- main", []),
        ],
        {"a": {"x": 2}, "b": {"x": 1}, "d": {}},
    ),
    "one of before the fork that was removed comes back for another element in each branch": (
        [["put", "a", {}], ["commit"], ["retire", "a"]],
        [
            ("main", [["put", "a", {"x": 1}], ["move", "a", "b"]]),
            ("draft", [["put", "a", {"x": 2}], ["move", "a", "d"]]),
            ("main <- draft", []),
            ("draft <- main", []),
        ],
        {"b": {"x": 1}, "d": {"x": 2}},
    ),
    "an element that both removed and added again is one": (
        [["put", "a", {"x": 1}]],
        [
            ("main", [["retire", "a"], ["commit"], ["put", "a", {"x": 1, "y": 1}]]),
            ("draft", [["put", "a", {"x": 2}]]),
            ("main <- draft", []),
            ("draft <- main", []),
        ],
        {"a": {"x": 2, "y": 1}},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_numbers_that_come_back(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copy, "_flush", lambda _: None)
    given, script, wanted = CASES[case]
    path = tmp_path / "graph.db"
    GIVEN.put(path)
    with opened(path) as main:
        write(main, given, "given")
        main.branches.create("draft")
        with main.open_branch("draft") as draft:
            branches: dict[str, mycel.Graph] = {"main": main, "draft": draft}
            for place, steps in script:
                target, _, source = place.partition(" <- ")
                if source:
                    done = branches[target].merge(source)
                    assert done.conflicts == (), place
                    differs = told(main) != told(draft)
                    assert bool(branches[target].history.diff("main", "draft")) == differs, place
                else:
                    write(branches[target], steps, target)
            assert told(main) == told(draft) == wanted


def test_a_name_that_an_element_gets_back_in_a_clash_may_clash_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copy, "_flush", lambda _: None)
    path = tmp_path / "graph.db"
    GIVEN.put(path)
    with opened(path) as main:
        write(main, [["put", "a", {}], ["type", "a", "Note"], ["put", "b", {"z": 1}]], "given")
        main.branches.create("draft")
        with main.open_branch("draft") as draft:
            write(draft, [["fact", "a"], ["put", "a", {"x": 1}]], "draft")
            write(main, [["rename", "a", "b"], ["put", "a", {"y": 1}]], "main")
            clashes = [each.label for each in main.merge("draft").unresolved]
            clashes += [each.label for each in main.merges.resolve("*", "theirs").unresolved]
            assert clashes == ['Fact "b"', 'Fact "a"']
            assert not main.merges.resolve("*", "theirs").unresolved
            main.merges.commit()
            assert told(main) == told(draft) == {"a": {"x": 1}, "b": {"z": 1}}


def test_an_element_that_a_merge_brings_back_under_another_name_keeps_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copy, "_flush", lambda _: None)
    path = tmp_path / "graph.db"
    GIVEN.put(path)
    with opened(path) as main:
        main.branches.create("draft")
        with main.open_branch("draft") as draft:
            write(draft, [["put", "c", {"x": 1}]], "draft")
            main.merge("draft")
            number = content(main)["c"].number
            write(main, [["move", "c", "d"], ["commit"], ["retire", "d"]], "main")
            write(draft, [["put", "c", {"x": 2}]], "draft")
            main.merge("draft")
            main.merges.resolve("*", "theirs")
            main.merges.commit()
            assert content(main)["c"].number == number
            assert not main.verify(replay=True).problems
            assert not main.history.diff("main", "draft")
            write(draft, [["put", "c", {"y": 1}]], "draft")
            write(main, [["put", "c", {"z": 1}]], "main")
            assert main.merge("draft").conflicts == draft.merge("main").conflicts == ()
            assert told(main) == told(draft) == {"c": {"x": 2, "y": 1, "z": 1}}


def test_an_element_that_came_by_way_of_a_third_branch_is_known_under_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copy, "_flush", lambda _: None)
    path = tmp_path / "graph.db"
    GIVEN.put(path)
    with opened(path) as main:
        main.branches.create("draft")
        main.branches.create("other")
        with main.open_branch("draft") as draft, main.open_branch("other") as other:
            write(other, [["put", "a", {}]], "other")
            write(draft, [["put", "c", {"x": 1}]], "draft")
            main.merge("draft")
            write(main, [["move", "c", "d"]], "main")
            other.merge("main")
            write(draft, [["retire", "c"]], "draft")
            (conflict,) = other.merge("draft").conflicts
            assert (conflict.kind, conflict.label) == ("delete_modify", 'Fact "d"')


def test_an_element_is_not_taken_for_a_new_one_with_the_key_that_the_other_side_gave_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copy, "_flush", lambda _: None)
    path = tmp_path / "graph.db"
    GIVEN.put(path)
    with opened(path) as main:
        main.branches.create("draft")
        with main.open_branch("draft") as draft:
            write(draft, [["put", "a", {"x": 1}]], "draft")
            main.merge("draft")
            write(main, [["move", "a", "b"], ["put", "b", {"y": 1}]], "main")
            write(draft, [["retire", "a"], ["put", "b", {"x": 2}]], "draft")
            kinds = [each.kind for each in main.merge("draft").conflicts]
            assert kinds == ["delete_modify", "key_clash"]


def test_an_element_that_comes_back_from_a_third_branch_is_known_to_a_branch_that_kept_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copy, "_flush", lambda _: None)
    path = tmp_path / "graph.db"
    GIVEN.put(path)
    with opened(path) as main:
        write(main, [["put", "a", {}]], "given")
        main.branches.create("draft")
        main.branches.create("other")
        with main.open_branch("draft") as draft, main.open_branch("other") as other:
            write(draft, [["retire", "a"]], "draft")
            write(other, [["type", "a", "Note"]], "other")
            other.merge("draft")
            other.merges.resolve("*", "ours")
            other.merges.commit()
            draft.merge("other")
            write(main, [["put", "a", {"x": 1}]], "main")
            for target, source in (main, "draft"), (draft, "main"), (other, "main"):
                assert target.merge(source).conflicts == ()
                concept = content(target)["a"]
                assert (told(target), concept.type, concept.attributes) == ({}, "Note", {"x": 1})


@pytest.mark.parametrize("target", ["main", "draft"])
def test_a_missing_link_heals_in_a_merge_whichever_side_has_the_concept(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copy, "_flush", lambda _: None)
    with mycel.open(tmp_path / "graph.db", durability="off") as main:
        notes = mycel.Knowledge(main, workspace="t")
        notes.add("a")
        main.branches.create("draft")
        with main.open_branch("draft") as draft:
            notes.link("a", "needs", "b")
            mycel.Knowledge(draft, workspace="t").add("b")
            merged = {"main": main, "draft": draft}[target]
            source = {"main": "draft", "draft": "main"}[target]
            assert merged.merge(source).status == "merged"
            (relation,) = mycel.Knowledge(merged, workspace="t").relations("a")
            assert (relation.target, relation.missing) == ("concept://t/b", ())
            assert merged.get_concept("Missing", "concept://t/b") is None


@pytest.mark.parametrize("choice", ["ours", "theirs"])
def test_a_uri_that_both_sides_added_with_different_types_is_a_clash(
    choice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copy, "_flush", lambda _: None)
    with mycel.open(tmp_path / "graph.db", durability="off") as main:
        notes = mycel.Knowledge(main, workspace="t")
        main.branches.create("draft")
        with main.open_branch("draft") as draft:
            others = mycel.Knowledge(draft, workspace="t")
            notes.add("n", content="ours")
            others.add("n", type="Service", content="theirs")
            others.add("m")
            others.link("m", "needs", "n")
            (conflict,) = main.merge("draft").conflicts
            assert (conflict.kind, conflict.label) == ("key_clash", "concept://t/n")
            assert "would have this URI" in conflict.reason
            main.merges.resolve(conflict, choice)
            main.merges.commit()
            assert notes.get("n").content == choice
            assert notes.relations("m")[0].missing == ()
            found = [
                each for each in ("Concept", "Service") if main.get_concept(each, "concept://t/n")
            ]
            assert len(found) == 1
            assert draft.merge("main").conflicts == ()
            assert not main.history.diff("main", "draft")


def told(db: mycel.Graph) -> dict[str, Any]:
    return {name: each.attributes for name, each in content(db).items() if each.type == "Fact"}
