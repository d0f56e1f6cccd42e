"""Merges that several decide about at once, wrong decisions, and very large values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.errors import ConstraintViolation, NotFound
from mycel.history.conflict_text import plain_lines
from mycel.history.merge.merging import Merging
from mycel.history.merge.requests import Request
from mycel.store.query.merges import open_conflicts
from tests.unit.history.test_merge import (
    _without_waiting,
    at,
    branch,
    conflicting,
    db,
    opened,
    put,
    value,
)

__all__ = ("_without_waiting", "db")


def test_two_who_decide_at_once_lose_no_decision(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = conflicting(db).conflicts
    keep = db._store.maintain
    with opened(Path(db.path)) as other:

        def meanwhile(*args: Any) -> Any:
            monkeypatch.setattr(db._store, "maintain", keep)
            other.merges.resolve(two, "theirs")
            return keep(*args)

        monkeypatch.setattr(db._store, "maintain", meanwhile)
        decided = db.merges.resolve(one, "theirs")
        assert [each.resolution and each.resolution.choice for each in decided.conflicts] == [
            "theirs",
            "theirs",
        ]

        def ended(*args: Any) -> Any:
            monkeypatch.setattr(db._store, "maintain", keep)
            other.merges.commit()
            return keep(*args)

        monkeypatch.setattr(db._store, "maintain", ended)
        with pytest.raises(NotFound, match="No merge"):
            db.merges.resolve(one, "ours")
    assert list(db.merges) == [], "a merge that was committed is not opened again"
    assert value(db, "a") == 3


def test_a_decision_between_reading_and_committing_a_merge_counts(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    conflicting(db)
    db.merges.resolve("*", "ours")
    run = db._store.run
    with opened(Path(db.path)) as other:

        def meanwhile(*args: Any, **named: Any) -> Any:
            monkeypatch.setattr(db._store, "run", run)
            other.merges.resolve({each.id: "theirs" for each in other.merges.conflicts()})
            return run(*args, **named)

        monkeypatch.setattr(db._store, "run", meanwhile)
        assert db.merges.commit().status == "merged"
    assert (value(db, "a"), value(db, "a", "y")) == (3, 3)


def test_values_that_do_not_fit_a_conflict_are_refused_and_leave_it_open(db: mycel.Graph) -> None:
    with branch(db) as draft:
        db.write(lambda tx: tx.retire(at("a")))
        put(draft, "a", x=7)
        db.write(lambda tx: tx.move(at("b"), name="b1"))
        draft.write(lambda tx: tx.move(at("b"), name="b2"))
    found = {each.kind: each for each in db.merge("draft").conflicts}
    wrong: dict[str, list[Any]] = {
        "delete_modify": [5, {"attributes": 5}, {"attributes": None}, {"name": ""}, {"other": 1}],
        "move_move": [5, None, "", {"name": "x"}],
    }
    for kind, values in wrong.items():
        for each in values:
            with pytest.raises(ConstraintViolation, match="does not fit"):
                db.merges.resolve(found[kind], "value", each)
    assert [each.resolution for each in db.merges.conflicts()] == [None, None]
    db.merges.resolve(found["move_move"], "value", "b3")
    db.merges.resolve(found["delete_modify"], "value", {"name": "a3", "attributes": {"x": 8}})
    assert db.merges.commit().status == "merged"
    assert (value(db, "a3"), value(db, "b3")) == (8, 1)


def test_a_broken_constraint_is_forgotten_once_something_else_has_mended_it(
    db: mycel.Graph,
) -> None:
    too_long = "n" * 5_000
    with branch(db) as draft:
        db.write(lambda tx: tx.move(at("b"), name="b1"))
        draft.write(lambda tx: tx.move(at("b"), name="b2"))
    (conflict,) = db.merge("draft").conflicts
    kinds = [each.kind for each in db.merges.resolve(conflict, "value", too_long).conflicts]
    assert kinds == ["move_move", "constraint"]
    assert [each.kind for each in db.merges.resolve(conflict, "value", "b3").conflicts] == [
        "move_move"
    ]
    assert db.merges.commit().status == "merged"
    assert value(db, "b3") == 1


def test_a_purge_that_was_merged_leaves_alone_what_is_added_afterwards(db: mycel.Graph) -> None:
    with branch(db) as draft:
        draft.purge(at("a"), "asked for")
        assert db.merge("draft").status == "merged"
        put(db, "a", x=9)
        put(draft, "z", x=1)
        assert db.merge("draft").status == "merged"
    assert (value(db, "a"), value(db, "z")) == (9, 1)


def test_a_counter_beyond_the_largest_number_asks(db: mycel.Graph) -> None:
    for name, least, most in (("i", 0, 2**63), ("f", 0.0, 1.7e308)):
        put(db, name, x=least)
        with branch(db, name) as draft:
            put(db, name, x=most)
            put(draft, name, x=most + most / 64 if name == "f" else most + 1)
        merge = db.merge(name, policy={"Fact.x": "counter"})
        assert [each.kind for each in merge.conflicts] == ["value"]
        db.merges.abort(merge.id)


def test_long_lists_and_texts_that_repeat_themselves_are_merged_at_once(db: mycel.Graph) -> None:
    """Comparing each of the equal items with each other would take minutes."""
    many = 5_000
    put(db, "l", x=[0] * many, t="\n" * 4_000)
    with branch(db) as draft:
        put(db, "l", x=[1, *[0] * many, 2], t="a" + "\n" * 4_000)
        put(draft, "l", x=[0] * many + [3], t="\n" * 4_000 + "b")
    (conflict,) = db.merge("draft").conflicts
    assert (conflict.kind, conflict.path) == ("array", ("x",))
    db.merges.resolve(conflict, "ours")
    db.merges.commit()
    assert value(db, "l", "t") == "a" + "\n" * 4_000 + "b"


def test_of_two_elements_with_one_name_the_second_keeps_its_content_under_another(
    db: mycel.Graph,
) -> None:
    with branch(db) as draft:
        put(db, "n", mine=1)
        draft.write(lambda tx: tx.move(at("b"), name="n"))
        put(draft, "n", yours=1)
    (conflict,) = db.merge("draft").conflicts
    assert conflict.kind == "key_clash"
    db.merges.resolve(conflict, "value", {"name": "n2"})
    db.merges.commit()
    assert db.get(at("n")).attributes == {"mine": 1}
    assert db.get(at("n2")).attributes == {"x": 1, "yours": 1}


def test_a_link_whose_end_is_gone_can_be_kept_with_other_values(db: mycel.Graph) -> None:
    with branch(db) as draft:
        db.write(lambda tx: tx.retire(at("b")))
        draft.write(lambda tx: tx.put_proposition(at("a"), "likes", at("b"), weight=0.5))
    (conflict,) = db.merge("draft").conflicts
    db.merges.resolve(conflict, "value", {"weight": 0.25})
    db.merges.commit()
    (link,) = db.edges_out(at("a"))
    assert (link.weight, value(db, "b")) == (0.25, 1)


def test_a_choice_of_a_value_needs_one_because_none_removes(db: mycel.Graph) -> None:
    with branch(db) as draft:
        db.write(lambda tx: tx.retire(at("a")))
        put(draft, "a", x=7)
    (conflict,) = db.merge("draft").conflicts
    forms: list[tuple[Any, ...]] = [
        (conflict, "value"),
        (conflict.id, "value"),
        ({conflict.id: "value"},),
        ([{"conflict": conflict.id, "choice": "value"}],),
    ]
    for each in forms:
        with pytest.raises(ConstraintViolation, match="there is no value"):
            db.merges.resolve(*each)
    assert db.merges.resolve(conflict, "value", None).unresolved == ()


def test_a_branch_that_is_made_while_a_merge_is_open_has_no_conflicts(db: mycel.Graph) -> None:
    conflicting(db)
    with branch(db, "copy") as copy:
        assert list(copy.merges) == []
        with copy._store.reading() as reader:
            assert open_conflicts(reader, [copy.get(at("a")).number]) == {}
        assert copy.verify().ok
    assert len(db.merges.conflicts()) == 2, "they are decided where the merge was opened"


def test_decisions_about_a_link_and_its_end_are_both_kept(db: mycel.Graph) -> None:
    link = (at("a"), "likes", at("b"))
    db.write(lambda tx: tx.put_proposition(*link, {"p": 1}))
    with branch(db) as draft:
        db.write(lambda tx: tx.retire(at("b")))
        put(draft, "b", x=2)
        draft.write(lambda tx: tx.put_proposition(*link, {"p": 2}))
    for element, edge, wanted in (
        ("theirs", "ours", (True, False)),
        ("theirs", "theirs", (True, True)),
        ("ours", "ours", (False, False)),
        ("ours", "theirs", (True, True)),
    ):
        merge = db.merge("draft")
        of_link, of_element = merge.conflicts
        assert (of_link.label, of_element.label) == ('Fact "a" -likes-> Fact "b"', 'Fact "b"')
        decided = db.merges.resolve({of_element.id: element, of_link.id: edge})
        for left in decided.unresolved:
            assert (wanted, left.kind) == ((True, True), "orphan_link"), "a link without its end"
            assert (element, edge) == ("ours", "theirs")
            decided = db.merges.resolve(left, "theirs")
        assert decided.unresolved == ()
        changes = {each.label: each.kind for each in decided.diff.elements}
        assert (of_element.label in changes, of_link.label in changes) == wanted
        db.merges.abort()


def test_a_merge_is_committed_although_others_write_whenever_it_was_computed(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute = Merging._draft
    drafts: list[bool] = []
    with branch(db) as draft, opened(Path(db.path)) as other:

        def meanwhile(merging: Merging, request: Request) -> Any:
            found = compute(merging, request)
            drafts.append(db._store._writer.is_mine())
            if not drafts[-1]:
                put(other, "busy", x=len(drafts))
            return found

        monkeypatch.setattr(Merging, "_draft", meanwhile)
        put(draft, "a", x=2)
        assert db.merge("draft").status == "merged"
        assert drafts == [False, False, True], "at last while nobody else can write"
        assert (value(db, "a"), value(db, "busy")) == (2, 2)

        # A conflict that comes up there leaves the merge open, and is decided as always.
        put(draft, "a", x=3)
        put(db, "a", y=5)
        drafts.clear()
        monkeypatch.setattr(Merging, "_draft", compute)
        assert db.merge("draft", dry_run=True).status == "clean"
        monkeypatch.setattr(Merging, "_draft", meanwhile)
        monkeypatch.setattr(
            other, "write", lambda work: mycel.Graph.write(other, lambda tx: clash(work, tx))
        )
        found = db.merge("draft")
        assert (found.status, [each.path for each in found.conflicts]) == ("conflicts", [("x",)])
        db.merges.resolve("*", "theirs")
        assert db.merges.commit().status == "merged"
        assert value(db, "a") == 3


def clash(work: Callable[[mycel.Transaction], object], tx: mycel.Transaction) -> None:
    work(tx)
    tx.put_concept("Fact", "a", {"x": 7})


def test_lines_replace_the_contested_part_of_a_text_and_a_value_the_whole(db: mycel.Graph) -> None:
    put(db, "a", x="one\ntwo\nthree\nfour\nfive\nsix\nseven")
    with branch(db) as draft:
        put(db, "a", x="ONE\ntwo\nthree\nfour o\nfive\nsix\nseven")
        put(draft, "a", x="one\ntwo\nthree\nfour t\nfive\nsix\nseven\neight")
    (conflict,) = db.merge("draft").conflicts
    assert (conflict.kind, conflict.options) == (
        "text",
        ("ours", "theirs", "base", "value", "lines"),
    )
    for wrong in (["a", "b"], 7, None, []):
        with pytest.raises(ConstraintViolation, match="1 part of the text is contested"):
            db.merges.resolve(conflict, "lines", wrong)
    with pytest.raises(ConstraintViolation, match="there is no value"):
        db.merges.resolve(conflict, "lines")
    db.merges.resolve(conflict, "lines", "four o and t")
    text = "\n".join(plain_lines(db.merges.conflicts()[0].to_dict(), characters_max=99))
    assert "resolved: lines four o and t" in text
    db.merges.commit()
    assert value(db, "a") == "ONE\ntwo\nthree\nfour o and t\nfive\nsix\nseven\neight"
    with branch(db, "second") as second:
        put(db, "a", x="1 o\ntwo\nthree\nfour\nfive\nsix\n7 o")
        put(second, "a", x="1 t\ntwo\nthree\nfour\nfive\nsix\n7 t")
    (conflict,) = db.merge("second").conflicts
    text = "\n".join(plain_lines(conflict.to_dict(), characters_max=99))
    assert "contested part 2 of 2" in text
    assert "a list of 2 texts, one for each part" in text
    db.merges.resolve(conflict, "lines", ["1\n1b\n", ""])
    db.merges.commit()
    assert value(db, "a") == "1\n1b\ntwo\nthree\nfour\nfive\nsix"
    with branch(db, "third") as third:
        put(db, "b", x=2)
        put(third, "b", x=3)
    (conflict,) = db.merge("third").conflicts
    with pytest.raises(ConstraintViolation, match="'lines' is not a choice"):
        db.merges.resolve(conflict, "lines", "2")


def test_the_ends_of_a_link_in_the_base_are_named(db: mycel.Graph) -> None:
    for name in ("c", "d", "e"):
        put(db, name)
    db.write(lambda tx: tx.put_proposition(at("a"), "likes", at("c")))
    link = (at("a"), "likes", at("c"))
    with branch(db) as draft:
        db.write(lambda tx: tx.relink(link, object_=at("d")))
        draft.write(lambda tx: tx.relink(link, object_=at("e")))
        (conflict,) = db.merge("draft").conflicts
        sides = conflict.base, conflict.ours, conflict.theirs
        assert (conflict.kind, conflict.field) == ("move_move", "object")
        assert sides == tuple({"type": "Fact", "name": name} for name in "cde")


def test_what_is_pinned_is_named_together_with_the_other_conflicts(db: mycel.Graph) -> None:
    with branch(db) as draft:
        put(draft, "a", x=3)
        draft.write(lambda tx: tx.retire(at("b")))
    put(db, "a", x=2)
    db.write(lambda tx: tx.update(at("b"), metadata={"pinned": True}))
    for merge in (db.merge("draft", dry_run=True), db.merge("draft")):
        value_of_a, pinned = merge.conflicts
        assert (value_of_a.kind, pinned.kind) == ("value", "constraint")
        assert "is pinned, so it stays" in pinned.reason
        assert pinned.refused == ("theirs",)
    with pytest.raises(ConstraintViolation):
        db.merges.resolve(pinned, "theirs")
    left = db.merges.resolve(value_of_a, "theirs").unresolved
    assert [conflict.id for conflict in left] == [pinned.id]
    assert db.merges.resolve(pinned, "ours").unresolved == ()
    assert db.merges.commit().status == "merged"
    assert (value(db, "a"), value(db, "b")) == (3, 1)


def test_all_conflicts_of_a_merge_are_decided_in_one_call(db: mycel.Graph) -> None:
    with branch(db) as draft:
        put(draft, "a", x=3)
        draft.write(lambda tx: tx.retire(at("b")))
    put(db, "a", x=2)
    db.write(lambda tx: tx.update(at("b"), metadata={"pinned": True}))
    db.merge("draft")
    assert db.merges.resolve("*", "ours").unresolved == ()
    assert db.merges.commit().status == "merged"
    assert (value(db, "a"), value(db, "b")) == (2, 1)


@pytest.mark.parametrize("is_ours", [True, False])
def test_a_conflict_names_the_element_into_which_one_side_merged_it(
    db: mycel.Graph, is_ours: bool
) -> None:
    merge_command = 'MERGE CONCEPT ?b INTO ?a WHERE { ?a {name: "a"} ?b {name: "b"} }'
    with branch(db) as draft:
        one, other = (db, draft) if is_ours else (draft, db)
        one.execute(merge_command)
        put(other, "b", x=7)
    (conflict,) = (each for each in db.merge("draft").conflicts if each.kind == "delete_modify")
    sides = ("ours", "theirs") if is_ours else ("theirs", "ours")
    label = conflict.label.replace("b", "a")
    assert conflict.reason == (
        f"One side ({sides[0]}) merged it into {label}, the other ({sides[1]}) changed it."
    )


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "suggestion", "line"),
    [
        ("One.\n", "One.\nOurs.\n", "One.\nTheirs.\n", "lines", '["Ours.\\nTheirs.\\n"]'),
        ("One.\nTwo.\n", "One.\nOurs.\n", "One.\nTheirs.\n", "theirs", "theirs"),
        ([[1]], [[1], [2]], [[1], [3]], "value", "[[1], [2], [3]]"),
        ([[1]], [[2]], [[3]], "theirs", "theirs"),
    ],
)
def test_a_suggestion_keeps_what_both_sides_add(
    db: mycel.Graph, base: Any, ours: Any, theirs: Any, suggestion: str, line: str
) -> None:
    put(db, "a", y=base)
    with branch(db) as draft:
        put(db, "a", y=ours)
        put(draft, "a", y=theirs)
    (conflict,) = db.merge("draft").conflicts
    assert conflict.suggestion == suggestion
    (told,) = (
        each
        for each in plain_lines(conflict.to_dict(), characters_max=100)
        if each.startswith("  suggestion: ")
    )
    assert line in told
