"""A purge wins in every merge, and takes nothing else with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.errors import NotFound
from tests.cases import cases
from tests.stored_bytes import stored_bytes
from tests.unit.history.test_merge import _without_waiting, at, branch, db, put, value
from tests.unit.history.test_merge_cases import content, define, write

__all__ = ("_without_waiting", "db")

SECRET = "the secret"
Step = Callable[[mycel.Graph], object]


def link(db: mycel.Graph, subject: str, object_: str, **data: Any) -> None:
    db.write(lambda tx: tx.put_proposition(at(subject), "likes", at(object_), data))


def relink(db: mycel.Graph, subject: str, object_: str, new: str) -> None:
    db.write(lambda tx: tx.relink((at(subject), "likes", at(object_)), object_=at(new)))


def rename(db: mycel.Graph, name: str, new: str) -> None:
    db.write(lambda tx: tx.move(at(name), name=new))


def retype(db: mycel.Graph, name: str) -> None:
    db.write(lambda tx: tx.move(at(name), type_name="Note"))


def retire(db: mycel.Graph, name: str) -> None:
    db.write(lambda tx: tx.retire(at(name)))


def purge(db: mycel.Graph, name: str) -> None:
    db.purge(at(name), "asked for")


def purge_link(db: mycel.Graph, subject: str, object_: str) -> None:
    db.purge((at(subject), "likes", at(object_)), "asked for")


def purge_and_add(db: mycel.Graph) -> None:
    purge(db, "s")
    put(db, "s", x="new")


def exchange(db: mycel.Graph) -> None:
    rename(db, "s", "w")
    rename(db, "b", "s")


def has_secret(db: mycel.Graph) -> bool:
    """True if the secret is in the database of a branch."""
    return SECRET.encode() in stored_bytes(db.path)


NEW = {"s": {"x": "new"}}
GONE: dict[str, Any] = {"s": None, "w": None}

CASES: list[dict[str, Any]] = [
    {"id": "added again", "one": purge_and_add, "then": NEW},
    {
        "id": "added again, and changed on the other side",
        "one": purge_and_add,
        "two": lambda db: put(db, "s", x=SECRET + " again"),
        "then": NEW,
    },
    {
        "id": "added again, and renamed on the other side",
        "one": purge_and_add,
        "two": lambda db: rename(db, "s", "w"),
        "then": NEW | {"w": None},
    },
    {
        "id": "added again on both sides after a purge on both",
        "one": purge_and_add,
        "two": lambda db: (purge(db, "s"), put(db, "s", y=1)),
        "then": {"s": {"x": "new", "y": 1}},
    },
    {
        "id": "renamed on the other side",
        "one": lambda db: purge(db, "s"),
        "two": lambda db: rename(db, "s", "w"),
        "then": GONE,
    },
    {
        "id": "retyped on the other side",
        "one": lambda db: purge(db, "s"),
        "two": lambda db: retype(db, "s"),
        "then": GONE,
    },
    {
        "id": "its name is that of another element on the other side",
        "one": lambda db: purge(db, "s"),
        "two": exchange,
        "then": {"s": {"x": 1}, "w": None, "b": None},
    },
    {
        "id": "its link leads elsewhere on the other side",
        "one": lambda db: purge(db, "s"),
        "two": lambda db: relink(db, "a", "s", "b"),
        "then": {"s": None, "a likes b": None, "a": {"x": 1, "y": 1}},
    },
    {
        "id": "a link leads to it on the other side",
        "one": lambda db: purge(db, "s"),
        "two": lambda db: (link(db, "b", "s", x=SECRET), retire(db, "a")),
        "then": {"s": None, "a": None, "b likes s": None, "b": {"x": 1}},
    },
    {
        "id": "the other end of its link is deleted",
        "one": lambda db: (purge(db, "s"), retire(db, "a")),
        "then": {"s": None, "a": None, "a likes s": None},
    },
    {
        "id": "the other end of its link is deleted on the other side",
        "one": lambda db: purge(db, "s"),
        "two": lambda db: retire(db, "a"),
        "then": {"s": None, "a": None, "a likes s": None},
    },
    {
        "id": "a link alone, led elsewhere on the other side",
        "one": lambda db: purge_link(db, "a", "s"),
        "two": lambda db: relink(db, "a", "s", "b"),
        "then": {"s": {"x": SECRET}, "a likes s": None, "a likes b": None},
        "keeps": True,
    },
    {
        "id": "a link alone, added again",
        "one": lambda db: (purge_link(db, "a", "s"), link(db, "a", "s", x="new")),
        "two": lambda db: link(db, "a", "s", y=SECRET),
        "then": {"a likes s": {"x": "new"}},
        "keeps": True,
    },
]


@contextmanager
def two(db: mycel.Graph, way: str) -> Iterator[tuple[mycel.Graph, mycel.Graph]]:
    """The graph and a branch, which share a secret: since the fork, or since a merge."""
    if way == "fork":
        put(db, "s", x=SECRET)
        link(db, "a", "s", x=SECRET)
    with branch(db) as draft:
        if way == "merge":
            put(draft, "other", x=0)
            put(db, "s", x=SECRET)
            link(db, "a", "s", x=SECRET)
            assert draft.merge("main").status == "merged"
        yield db, draft


@cases("case", CASES, ids=[each["id"] for each in CASES])
def test_a_purge_wins_whatever_the_other_side_has_done(
    case: dict[str, Any], tmp_path: Path
) -> None:
    is_even = CASES.index(case) % 2 == 0
    check(case, tmp_path / f"{case['id']}.db", "fork" if is_even else "merge", swapped=not is_even)


@pytest.mark.soak
@cases("case", CASES, ids=[each["id"] for each in CASES])
def test_a_purge_wins_on_either_side(case: dict[str, Any], tmp_path: Path) -> None:
    for way in ("fork", "merge"):
        for swapped in (False, True):
            path = tmp_path / f"{case['id']} {way} {swapped}.db"
            check(case, path, way, swapped=swapped)


def check(case: dict[str, Any], path: Path, way: str, *, swapped: bool) -> None:
    with mycel.open(path, durability="off", core_capsules=False) as db:
        define(db)
        write(db, [["put", "a", {"x": 1, "y": 1}], ["put", "b", {"x": 1}]], "base")
        with two(db, way) as (ours, theirs):
            sides = (theirs, ours) if swapped else (ours, theirs)
            case["one"](sides[0])
            case.get("two", lambda _: None)(sides[1])
            for target, source in ((ours, "draft"), (theirs, "main")):
                merge = target.merge(source)
                assert not merge.conflicts, merge.conflicts
                found = {name: each.attributes for name, each in content(target).items()}
                assert {name: found.get(name) for name in case["then"]} == case["then"], found
                assert has_secret(target) == ("keeps" in case)
                assert not target.verify(replay=True).problems
                assert target.merge(source).status == "up_to_date"
            assert not ours.history.diff("main", "draft")


def test_what_is_added_after_a_purge_was_merged_counts_as_new_on_either_side(
    db: mycel.Graph,
) -> None:
    with branch(db) as draft:
        purge(db, "a")
        draft.merge("main")
        put(draft, "a", x=9)
        assert db.merge("draft").warnings == ()
        assert value(db, "a") == 9


def test_a_purged_definition_stays_as_long_as_the_other_side_uses_it(db: mycel.Graph) -> None:
    db.write(lambda tx: tx.define_type("Plan"))
    with branch(db) as draft:
        draft.purge(("$ConceptType", "Plan"), "not needed")
        db.write(lambda tx: tx.put_concept("Plan", "p"))
        merge = db.merge("draft")
        assert merge.status == "merged"
        assert any("uses it" in each for each in merge.warnings)
        assert db.get(("Plan", "p")).name == "p"
        assert not db.verify(replay=True).problems


def test_a_restored_element_is_not_purged_by_the_branch_that_had_it_purged_before(
    db: mycel.Graph,
) -> None:
    with branch(db) as draft:
        purge(db, "a")
        put(draft, "a", z=1)
        assert db.merge("draft", restore_purged=True).status == "merged"
        assert draft.merge("main").conflicts == ()
        assert (value(db, "a", "z"), value(draft, "a", "z")) == (1, 1)
        assert not db.history.diff("main", "draft")


@pytest.mark.parametrize("is_restored", [False, True])
def test_what_is_added_after_a_purge_is_new_also_if_both_have_merged_a_third_branch_since(
    is_restored: bool, db: mycel.Graph
) -> None:
    with branch(db) as draft, branch(db, "other") as other:
        put(draft, "s", x=SECRET)
        db.merge("draft")
        purge(db, "s")
        if not is_restored:
            put(db, "s", x="new")
        put(other, "o", x=1)
        draft.merge("other")
        put(draft, "s", z=1)
        db.merge("draft", restore_purged=is_restored)
        old = draft.get(at("s")).id
        assert draft.merge("main").conflicts == ()
        assert (draft.get(at("s")).id == old) == is_restored
        assert value(draft, "s") == value(db, "s") == (SECRET if is_restored else "new")
        for graph in (db, draft):
            assert has_secret(graph) == is_restored
        assert not db.history.diff("main", "draft")


@pytest.mark.parametrize("choice", ["ours", "theirs"])
def test_what_is_added_after_a_purge_is_new_also_if_the_branch_both_had_it_from_is_gone(
    choice: str, db: mycel.Graph
) -> None:
    with branch(db) as draft:
        with branch(db, "other") as other, branch(db, "fourth") as fourth:
            put(other, "s", x=SECRET)
            put(fourth, "f", x=1)
            db.merge("other")
            draft.merge("other")
            purge_and_add(db)
            db.merge("fourth")
            draft.merge("fourth")
        db.branches.delete("other", unmerged=True)
        put(draft, "s", x=SECRET + " again")
        merge = draft.merge("main")
        if merge.status == "conflicts":
            draft.merges.resolve("*", choice)
            draft.merges.commit()
        assert value(draft, "s") == "new"
        assert not has_secret(draft)


def test_a_purge_is_passed_on_by_a_branch_that_never_had_the_element(db: mycel.Graph) -> None:
    """Also when the branch that has purged it is gone, and under another name."""
    with branch(db) as draft:
        with branch(db, "other") as other:
            put(other, "s", x=SECRET)
            put(other, "t", x=SECRET)
            draft.merge("other")
            purge(other, "s")
            purge(other, "t")
            db.merge("other")
        rename(draft, "s", "w")
        retire(draft, "t")
        db.branches.delete("other", unmerged=True)
        with branch(db, "fifth") as fifth:
            put(fifth, "f", x=1)
            assert fifth.merge("draft").conflicts == ()
            assert not has_secret(fifth)
        assert draft.merge("main").conflicts == ()
        assert not has_secret(draft)
        assert draft.merge("main").status == "up_to_date"
        assert not db.history.diff("main", "draft")
        assert not draft.verify(replay=True).problems


def test_a_purge_that_was_made_after_another_one_of_its_key_wins_too(db: mycel.Graph) -> None:
    with branch(db) as draft:
        put(draft, "s", x="first")
        purge(draft, "s")
        with branch(db, "other") as other:
            other.merge("draft")
            put(other, "s", x=SECRET)
            db.merge("other")
            draft.merge("other")
        db.branches.delete("other", unmerged=True)
        purge_and_add(db)
        put(draft, "s", y=SECRET)
        assert draft.merge("main").conflicts == ()
        assert value(draft, "s") == "new"
        assert not has_secret(draft)


@pytest.mark.parametrize("is_kept", [False, True])
@pytest.mark.parametrize("is_swapped", [False, True])
def test_what_is_added_after_a_purge_is_new_also_if_both_have_purged_something_of_its_key(
    is_swapped: bool, is_kept: bool, db: mycel.Graph
) -> None:
    with branch(db) as draft, branch(db, "other") as other:
        put(other, "s", x=SECRET)
        put(db, "t", x=1)  # So that its number is not that of the other one.
        db.merge("other")
        if is_kept:
            rename(db, "s", "w")
        else:
            retire(db, "s")
        rename(db, "t", "s")
        purge(db, "s")  # It is not what the other branch purges now.
        if is_kept:
            rename(db, "w", "s")
        purge(other, "s")
        put(other, "s", x="new")
        draft.merge("other")
        pairs = [(db, "draft"), (draft, "main")]
        for target, source in reversed(pairs) if is_swapped else pairs:
            assert target.merge(source).conflicts == ()
        for graph in (db, draft):
            assert value(graph, "s") == "new"
            assert not has_secret(graph)
            assert not graph.verify(replay=True).problems
        assert not db.history.diff("main", "draft")


@pytest.mark.parametrize("is_retired", [False, True])
@pytest.mark.parametrize("is_swapped", [False, True])
def test_a_purged_element_is_not_what_had_its_key_when_both_merged_a_third_branch(
    is_swapped: bool, is_retired: bool, db: mycel.Graph
) -> None:
    put(db, "s", x=SECRET)
    with branch(db) as draft, branch(db, "other") as other:
        put(other, "o", x=1)
        rename(draft, "s", "w")
        put(db, "w", x="another one")
        for graph in (db, draft):
            graph.merge("other")
        purge(db, "s")
        if is_retired:
            retire(db, "w")
        put(draft, "w", y=SECRET + " again")
        pairs = [(db, "draft"), (draft, "main")]
        for target, source in reversed(pairs) if is_swapped else pairs:
            assert target.merge(source).conflicts == ()
        for graph in (db, draft):
            found = content(graph)
            assert "s" not in found
            assert ("w" in found) != is_retired
            assert is_retired or value(graph, "w") == "another one"
            assert not has_secret(graph)
            assert not graph.verify(replay=True).problems
        assert not db.history.diff("main", "draft")


@contextmanager
def passed_on(
    db: mycel.Graph, length: int, *, is_deleted: bool = False
) -> Iterator[tuple[mycel.Graph, mycel.Graph]]:
    """An element of two branches that have it from the two ends of a row of other branches.

    It is a note in main, and has another name in the branch `last`, which has merged `draft`.
    `is_deleted`: all other branches of the row are deleted.
    """
    with ExitStack() as stack:
        row = [stack.enter_context(branch(db, f"row-{each}")) for each in range(length)]
        draft = stack.enter_context(branch(db))
        put(row[0], "s", x=SECRET)
        for number, each in enumerate(row[1:]):
            each.merge(f"row-{number}")
        retype(row[0], "s")
        rename(row[-1], "s", "w")
        put(db, "s", x="another one")
        db.merge("row-0")
        retire(db, "s")
        draft.merge(f"row-{length - 1}")
        for number, each in enumerate(row[:-1] if is_deleted else ()):
            each.close()
            db.branches.delete(f"row-{number}", unmerged=True)
        yield draft, row[-1]


@pytest.mark.parametrize("length", [2, 3, 4])
@pytest.mark.parametrize("is_swapped", [False, True])
def test_a_purge_finds_an_element_over_any_number_of_other_branches(
    length: int, is_swapped: bool, db: mycel.Graph
) -> None:
    with passed_on(db, length) as (draft, last):
        purge(last, "w")
        draft.merge(f"row-{length - 1}")
        target, source = (draft, "main") if is_swapped else (db, "draft")
        assert target.merge(source).conflicts == ()
        assert not has_secret(target)
        assert not target.verify(replay=True).problems


@pytest.mark.parametrize("is_swapped", [False, True])
def test_a_purge_finds_an_element_also_if_the_branches_in_between_are_deleted(
    is_swapped: bool, db: mycel.Graph
) -> None:
    with passed_on(db, 3, is_deleted=True) as (draft, last):
        purge(last, "w")
        put(last, "w", x="another one")
        draft.merge("row-2")
        target, source = (draft, "main") if is_swapped else (db, "draft")
        assert target.merge(source).conflicts == ()
        assert not has_secret(target)
        assert value(target, "w") == "another one"
        assert not target.verify(replay=True).problems


@pytest.mark.parametrize("choice", ["ours", "theirs"])
def test_a_purge_of_one_of_two_elements_reaches_a_branch_that_has_made_them_one(
    choice: str, db: mycel.Graph
) -> None:
    with branch(db) as draft, branch(db, "other") as other:
        put(draft, "s", x="kept")
        put(other, "t", x=SECRET)
        db.merge("draft")
        db.merge("other")
        link(db, "s", "a")
        rename(other, "t", "s")
        draft.merge("other")  # Both have this key: they are one element here.
        draft.merges.resolve("*", choice)
        draft.merges.commit()
        link(draft, "s", "b")
        purge(db, "t")
        assert draft.merge("main").conflicts == ()
        assert value(draft, "s") == "kept"
        assert "s likes a" in content(draft)
        assert "s likes b" not in content(draft)
        assert not has_secret(draft)
        assert db.merge("draft").conflicts == ()
        assert not db.history.diff("main", "draft")
        assert not draft.verify(replay=True).problems


def test_a_merge_that_brings_a_purge_leaves_nothing_of_it_in_conflicts(db: mycel.Graph) -> None:
    with branch(db) as draft:
        put(db, "s", x="mine")
        put(draft, "s", x=SECRET)
        assert db.merge("draft").status == "conflicts"
        purge(draft, "s")
        assert db.merge("draft").status == "merged"
        assert not has_secret(db)


def test_an_element_is_the_same_one_over_any_number_of_other_branches(db: mycel.Graph) -> None:
    with passed_on(db, 3) as (draft, _):
        assert db.merge("draft").status == "merged"
        assert draft.merge("main").conflicts == ()
        for graph in (db, draft):
            elements = [each for each in content(graph).values() if isinstance(each, mycel.Concept)]
            names = {(each.type, each.name) for each in elements}
            assert names == {("Fact", "a"), ("Fact", "b"), ("Note", "w")}


@pytest.mark.parametrize("is_swapped", [False, True])
def test_a_purge_in_a_third_branch_takes_no_other_element_with_its_number(
    is_swapped: bool, db: mycel.Graph
) -> None:
    with branch(db) as draft, branch(db, "other") as other:
        put(other, "s", x=SECRET)
        put(db, "k", x="kept")
        assert other.get(at("s")).id == db.get(at("k")).id
        draft.merge("other")
        purge(other, "s")
        draft.merge("other")
        target, source = (draft, "main") if is_swapped else (db, "draft")
        assert target.merge(source).conflicts == ()
        assert value(target, "k") == "kept"
        assert not has_secret(target)


def test_a_merge_keeps_what_other_branches_knew_of_a_purged_element(db: mycel.Graph) -> None:
    """After the branch that knew the element under both names is deleted."""
    with branch(db) as draft, branch(db, "second") as second:
        put(db, "s", x=SECRET)
        second.merge("main")
        with branch(db, "third") as third:
            third.merge("second")
            rename(third, "s", "w")
            purge(second, "s")
            db.merge("second")
            draft.merge("third")
            second.merge("draft")
        retire(draft, "w")
        db.branches.delete("third", unmerged=True)
        assert draft.merge("main").conflicts == ()
        assert not has_secret(draft)


def test_an_element_that_a_merge_knows_is_not_taken_for_another_one_with_its_new_key(
    db: mycel.Graph,
) -> None:
    with branch(db) as draft:
        put(db, "s", x=SECRET)
        draft.write(lambda tx: tx.put_concept("Note", "s", {"x": "kept"}))
        draft.merge("main")
        put(draft, "s", x="changed")
        retype(db, "s")
        merge = db.merge("draft")
        while merge.unresolved:
            merge = db.merges.resolve(merge.unresolved[0], merge.unresolved[0].options[0])
        if merge.status == "conflicts":
            db.merges.commit()
        purge(draft, "s")
        db.merge("draft")
        assert not has_secret(db)


@pytest.mark.parametrize("is_first", [False, True])
def test_a_link_that_has_led_to_a_purged_element_goes_on_both_sides(
    db: mycel.Graph, is_first: bool
) -> None:
    """As in a purge without branches, also if it was relinked since."""
    for name in ("near", "far", "gone"):
        put(db, name)
    with branch(db) as draft:
        purge(db, "gone")
        link(draft, "near", "gone", x=1)
        relink(draft, "near", "gone", "far")
        for target, source in ((draft, "main"), (db, "draft"))[:: 1 if is_first else -1]:
            assert target.merge(source).conflicts == ()
            assert not target.verify(replay=True).problems
        assert list(db.edges_out(at("near"))) == list(draft.edges_out(at("near"))) == []
        assert not db.history.diff("main", "draft")


@pytest.mark.parametrize("is_first", [False, True])
def test_an_element_with_a_key_that_a_purged_one_had_before_a_merge_stays(
    db: mycel.Graph, is_first: bool
) -> None:
    with branch(db) as draft:
        put(db, "s", x=SECRET)
        draft.merge("main")
        rename(db, "s", "later")
        draft.merge("main")
        retire(db, "later")
        put(db, "s", x="new")
        purge(draft, "later")
        for target, source in ((draft, "main"), (db, "draft"))[:: 1 if is_first else -1]:
            assert target.merge(source).warnings == ()
            assert value(target, "s") == "new"
            assert not has_secret(target)
            assert not target.verify(replay=True).problems
        assert not db.history.diff("main", "draft")


@pytest.mark.parametrize("target", ["main", "draft"])
@pytest.mark.parametrize("is_linked", [False, True])
def test_what_is_added_after_a_purge_stays_when_a_branch_that_has_merged_it_is_merged(
    target: str, *, is_linked: bool, db: mycel.Graph
) -> None:
    """The purge of the branch is the target's own, which came there with a merge."""
    put(db, "s", x=SECRET)
    put(db, "b", x=1)
    with branch(db) as draft:
        purge(db, "s")
        put(draft, "s", x=SECRET + " again")
        if is_linked:
            link(draft, "s", "b", x=SECRET)
        draft.merge("main")
        put(db, "s", x="new")
        link(db, "s", "b", x="new")
        put(draft, "d", x=1)
        graphs = {"main": db, "draft": draft}
        ours = graphs.pop(target)
        assert ours.merge(*graphs).conflicts == ()
        assert value(ours, "s") == "new"
        assert ours.get((at("s"), "likes", at("b"))).attributes == {"x": "new"}
        assert not has_secret(ours)


def test_an_element_that_stays_brings_no_purged_link_back(db: mycel.Graph) -> None:
    put(db, "a", x=1)
    put(db, "s", x=1)
    with branch(db, "one") as one, branch(db, "two") as two:
        link(two, "a", "s", x=SECRET)
        one.merge("two")
        db.merge("two")
        purge_link(one, "a", "s")
        retire(db, "s")
        db.merge("one")
        put(two, "s", x=2)
        merge = db.merge("two")
        assert [each.kind for each in merge.conflicts] == ["delete_modify"]
        db.merges.resolve("*", "theirs")
        db.merges.commit()
        assert value(db, "s") == 2
        assert not has_secret(db)


def test_a_link_that_refers_to_what_the_source_has_purged_goes_with_it(db: mycel.Graph) -> None:
    put(db, "a", x=1)
    put(db, "s", x=1)
    put(db, "b", x=1)
    with branch(db) as draft:
        put(db, "w", x=1)
        link(draft, "a", "s", x=SECRET)
        link(draft, "a", "b")
        put(draft, "d", x=1)
        db.merge("draft")
        draft.merge("main")
        db.write(
            lambda tx: tx.relink((at("a"), "likes", at("b")), subject=(at("a"), "likes", at("s")))
        )
        purge_link(draft, "a", "s")
        assert db.merge("draft").conflicts == ()
        assert draft.merge("main").conflicts == ()
        assert not db.history.diff("main", "draft")
        with pytest.raises(NotFound):
            db.get((at("a"), "likes", at("b")))
