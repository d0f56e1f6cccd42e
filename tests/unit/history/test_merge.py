"""Merges as a whole: open merges, decisions, lineage, purges, constraints, edits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.errors import ConstraintViolation, NotFound
from mycel.history.merge.merging import Merging
from mycel.store.backend.sqlite import copy
from mycel.store.query.merges import open_conflicts
from tests.stored_bytes import stored_bytes
from tests.unit.history.test_merge_cases import GIVEN, at, content, opened, write


@pytest.fixture(autouse=True)
def _without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Branches are not waited for until they are on the disk: their files live for one test."""
    monkeypatch.setattr(copy, "_flush", lambda _: None)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[mycel.Graph]:
    path = tmp_path / "graph.db"
    GIVEN.put(path)
    with opened(path) as db:
        write(db, [["put", "a", {"x": 1, "y": 1}], ["put", "b", {"x": 1}]], "base")
        yield db


@contextmanager
def branch(db: mycel.Graph, name: str = "draft") -> Iterator[mycel.Graph]:
    if name not in db.branches.names():
        db.branches.create(name)
    with db.open_branch(name) as found:
        yield found


def put(db: mycel.Graph, name: str, **attributes: Any) -> None:
    db.write(lambda tx: tx.put_concept("Fact", name, attributes))


def value(db: mycel.Graph, name: str, key: str = "x") -> Any:
    return db.get(at(name)).attributes.get(key)


def conflicting(db: mycel.Graph) -> mycel.Merge:
    """A merge that is open because of two conflicts."""
    with branch(db) as draft:
        put(db, "a", x=2, y=2)
        put(draft, "a", x=3, y=3)
    return db.merge("draft")


# Open merges.


def test_an_open_merge_survives_a_restart_and_says_so_wherever_it_is_asked(
    db: mycel.Graph,
) -> None:
    merge = conflicting(db)
    assert (merge.status, merge.is_open, len(merge.conflicts)) == ("conflicts", True, 2)
    assert [each.suggestion for each in merge.conflicts] == ["theirs", "theirs"], "the newest"
    before = db.snapshot()
    db.merges.resolve(merge.conflicts[0], "theirs")
    db.close()
    with opened(Path(db.path)) as again:
        assert again.snapshot() == before
        (found,) = again.merges
        assert (found.id, len(found.unresolved)) == (merge.id, 1)
        assert [each.id for each in again.merges.conflicts(at("a"))] == [
            e.id for e in merge.conflicts
        ]
        assert again.merges.conflicts(at("b")) == []
        with again._store.reading() as reader:
            number = again.get(at("a")).number
            told = open_conflicts(reader, [number, again.get(at("b")).number])
        assert told == {number: [found.unresolved[0].to_dict()]}, "those that are left"
        with pytest.raises(ConstraintViolation, match="One conflict of the merge of draft") as left:
            again.merges.commit()
        assert left.value.data["conflicts"] == [found.unresolved[0].to_dict()]
        again.merges.resolve("*", "value", 9)
        done = again.merges.commit(message="Settled")
        assert (done.status, list(again.merges), again.merges.conflicts()) == ("merged", [], [])
        assert (value(again, "a", "x"), value(again, "a", "y")) == (3, 9)
        assert next(again.history.log(limit=1)).message == "Settled"
        assert next(again.history.log(limit=1)).commit == done.commit


def test_a_merge_that_is_given_up_has_written_nothing(db: mycel.Graph) -> None:
    conflicting(db)
    before = db.snapshot()
    assert db.merges.abort().status == "aborted"
    assert (list(db.merges), db.snapshot()) == ([], before)
    for refused in (db.merges.abort, db.merges.commit, lambda: db.merges.resolve("*", "ours")):
        with pytest.raises(NotFound, match="No merge is open in main"):
            refused()
    assert db.merge("draft").status == "conflicts", "it can be begun again"


def test_a_merge_whose_source_is_gone_is_still_listed_and_can_be_given_up(
    db: mycel.Graph,
) -> None:
    merge = conflicting(db)
    db.branches.delete("draft", unmerged=True)
    (found,) = db.merges
    assert (found.id, [each.id for each in found.conflicts]) == (
        merge.id,
        [each.id for each in merge.conflicts],
    )
    said = "has no branch 'draft'. The merge can only be given up (`mycel merge --abort`)."
    assert said in found.warnings[0]
    for refused in (db.merges.commit, lambda: db.merges.resolve("*", "ours")):
        with pytest.raises(NotFound, match="has no branch"):
            refused()
    assert db.merges.abort().status == "aborted"


def test_decisions_about_values_that_are_the_same_stay_when_the_target_moves_on(
    db: mycel.Graph,
) -> None:
    merge = conflicting(db)
    db.merges.resolve("*", "theirs")
    put(db, "a", y=4)
    (found,) = db.merges
    assert [each.path for each in found.unresolved] == [("y",)]
    assert "The target has changed" in found.warnings[0]
    assert "1 decision no longer" in found.warnings[0]
    assert found.id == merge.id
    put(db, "a", y=2)
    assert not next(iter(db.merges)).unresolved
    assert db.merges.commit().diff.counts["changed"] == 1
    assert (value(db, "a", "x"), value(db, "a", "y")) == (3, 3)


def test_a_source_that_goes_on_is_merged_further_with_the_decisions_so_far(
    db: mycel.Graph,
) -> None:
    merge = conflicting(db)
    db.merges.resolve({merge.conflicts[0].id: "theirs"})
    with branch(db) as draft:
        put(draft, "new", x=1)
    again = db.merge("draft")
    assert (again.id, len(again.unresolved)) == (merge.id, 1)
    assert again.diff.counts["added"] == 1
    db.merges.resolve([{"conflict": again.unresolved[0].id[:4], "choice": "ours"}])
    db.merges.commit()
    assert (value(db, "a", "x"), value(db, "a", "y"), value(db, "new")) == (3, 2, 1)


def test_decisions_that_do_not_fit_are_refused_and_none_is_taken(db: mycel.Graph) -> None:
    first, second = conflicting(db).conflicts
    wrong: list[tuple[Any, ...]] = [
        ({first.id: "ours", second.id: "mine"},),
        ([{"conflict": first.id, "choice": "ours"}, {"conflict": "ffff", "choice": "ours"}],),
        ([{"conflict": first.id}],),
        (first, "nobody"),
        (first,),
        ("abc", "ours"),
    ]
    for arguments in wrong:
        with pytest.raises((ConstraintViolation, NotFound)):
            db.merges.resolve(*arguments)
        assert len(next(iter(db.merges)).unresolved) == 2
    for options in ({"policy": "best"}, {"policy": {"x": 1}}, {"granularity": "line"}):
        with pytest.raises(ConstraintViolation):
            db.merge("draft", **options)  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        db.merge("nobody")


def test_two_open_merges_are_told_apart_by_their_names(db: mycel.Graph) -> None:
    conflicting(db)
    with branch(db, "other") as other:
        put(db, "b", x=2)
        put(other, "b", x=3)
    db.merge("other")
    assert [each.source for each in db.merges] == ["draft", "other"]
    with pytest.raises(ConstraintViolation, match="2 merges are open"):
        db.merges.commit()
    db.merges.resolve(db.merges.conflicts(at("b"))[0], "theirs")
    assert db.merges.commit("other").status == "merged"
    assert [each.source for each in db.merges] == ["draft"]


def test_a_branch_that_is_made_while_a_merge_is_open_has_none(db: mycel.Graph) -> None:
    conflicting(db)
    with branch(db, "later") as later:
        assert list(later.merges) == []
        assert later.merge("draft").status == "conflicts"


def test_a_dry_run_shows_all_and_writes_nothing(db: mycel.Graph) -> None:
    with branch(db) as draft:
        put(draft, "a", x=2)
        put(draft, "new", x=1)
    before = db.snapshot()
    would = db.merge("draft", dry_run=True)
    assert (would.status, would.commit, db.snapshot()) == ("clean", None, before)
    done = db.merge("draft")
    assert would.diff.to_dict()["elements"] == done.diff.to_dict()["elements"]
    put(db, "a", x=3)
    with branch(db) as draft:
        put(draft, "a", x=4)
    assert db.merge("draft", dry_run=True).status == "conflicts"
    assert list(db.merges) == []


def test_a_merge_into_a_third_branch_leaves_the_one_that_is_open_alone(db: mycel.Graph) -> None:
    with branch(db) as draft, branch(db, "target") as target:
        put(draft, "a", x=2)
        before = db.snapshot()
        assert db.merge("draft", into="target", by="carl").into == "target"
        assert (value(target, "a"), db.snapshot()) == (2, before)
        assert next(target.history.log(limit=1)).actor == "carl"


def test_a_commit_that_comes_in_between_makes_the_merge_be_computed_again(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    with branch(db) as draft:
        put(draft, "a", x=2)
    computed = Merging._draft
    rounds = []

    def interrupted(self: Merging, request: Any) -> Any:
        draft = computed(self, request)
        rounds.append(draft.seq)
        if len(rounds) == 1:
            put(db, "b", x=9)
        return draft

    monkeypatch.setattr(Merging, "_draft", interrupted)
    assert db.merge("draft").diff.counts["changed"] == 1
    assert len(rounds) == 2
    assert rounds[0] < rounds[1]
    assert (value(db, "a"), value(db, "b")) == (2, 9)


# Lineage.


def test_a_branch_is_merged_again_from_where_it_was_merged_last(db: mycel.Graph) -> None:
    with branch(db) as draft:
        put(draft, "n", x=1)
        put(draft, "a", x=2)
        put(db, "a", x=3)
        db.merge("draft")
        db.merges.resolve("*", "ours")
        db.merges.commit()
        assert db.branches.get("draft").is_merged
        db.write(lambda tx: tx.move(at("n"), name="renamed"))
        put(draft, "n", y=2)
        assert not db.branches.get("draft").is_merged
        again = db.merge("draft")
    assert again.status == "merged", "neither the decision nor the rename is asked about again"
    assert (value(db, "renamed", "x"), value(db, "renamed", "y")) == (1, 2)
    assert (value(db, "a"), "n" in content(db)) == (3, False)


def test_branches_that_are_merged_into_each_other_end_up_alike(db: mycel.Graph) -> None:
    with branch(db) as draft:
        for round_ in range(3):
            put(db, f"o{round_}", x=round_)
            put(draft, f"t{round_}", x=round_)
            put(db, "a", x=round_)
            assert db.merge("draft").status == "merged"
            assert draft.merge("main").status == "merged"
            put(draft, f"o{round_}", y=1)
            put(draft, "a", y=round_)
        db.merge("draft")
        assert not db.history.diff("main", "draft")
        assert not draft.merge("main").diff
        assert draft.merge("main").status == db.merge("draft").status == "up_to_date"
        assert not db.verify(replay=True).problems


def test_several_common_ancestors_are_one_base_where_they_agree(db: mycel.Graph) -> None:
    """Both merge the other as it was before that merge: neither merge is in the other's history."""
    with branch(db) as draft:
        put(db, "a", x=2)
        put(draft, "a", y=2)
        put(draft, "b", x=2)
        db.branches.create("ours")
        draft.branches.create("theirs")
        assert db.merge("theirs").status == "merged"
        assert draft.merge("ours").status == "merged"
        put(db, "a", z=1)
        put(draft, "b", z=1)
        found = db.merge("draft", dry_run=True)
        assert (found.status, len(found.base)) == ("clean", 2)
        assert db.merge("draft").status == "merged"
        assert db.get(at("a")).attributes == {"x": 2, "y": 2, "z": 1}
        put(draft, "b", x=5)
        assert db.merge("draft").status == "merged"


def test_criss_cross_merges_ask_where_the_ancestors_disagree(db: mycel.Graph) -> None:
    with branch(db) as draft:
        put(db, "a", x=2)
        put(draft, "a", x=3)
        before = next(db.history.log(limit=1)).commit, next(draft.history.log(limit=1)).commit
        assert db.merge(f"draft:{before[1]}", policy="ours").status == "merged"
        assert draft.merge(f"main:{before[0]}", policy="ours").status == "merged"
        put(db, "b", y=1)
        put(draft, "b", z=1)
        found = db.merge("draft")
        assert len(found.base) == 2
        assert [each.path for each in found.conflicts] == [("x",)]
        assert "base" not in found.conflicts[0].options
        with pytest.raises(ConstraintViolation, match="not a choice"):
            db.merges.resolve("*", "base")
        db.merges.resolve("*", "theirs")
        assert db.merges.commit().status == "merged"
    assert (value(db, "a"), db.get(at("b")).attributes) == (3, {"x": 1, "y": 1, "z": 1})


def test_what_both_have_merged_from_a_third_branch_is_known_to_both(db: mycel.Graph) -> None:
    with branch(db) as draft, branch(db, "third") as third:
        put(third, "a", x=5)
        put(third, "new", x=5)
        assert db.merge("third").status == draft.merge("third").status == "merged"
        put(db, "a", x=6)
        put(db, "new", x=6)
        put(draft, "b", x=7)
        third.close()
        db.branches.delete("third")
        assert db.merge("draft").conflicts == ()
    assert (value(db, "a"), value(db, "new"), value(db, "b")) == (6, 6, 7)


def test_a_third_branch_that_a_common_ancestor_has_merged_says_nothing_more(
    db: mycel.Graph,
) -> None:
    with branch(db, "third") as third:
        put(third, "b", x=5)
        db.merge("third")
    with branch(db) as draft:
        draft.write(lambda tx: tx.retire(at("a")))
        put(draft, "b", x=6)
        put(db, "a", x=2)
        db.merge("draft")
        db.merges.resolve("*", "base")
        db.merges.commit()
        put(db, "b", x=5)
        assert draft.merge("main").status == "merged"
        assert (value(draft, "a"), value(draft, "b")) == (1, 5)
        assert not draft.history.diff("main", "draft")
        db.merge("draft")
    assert (value(db, "a"), value(db, "b")) == (1, 5)


def test_changes_that_both_took_from_different_commits_of_a_third_branch_are_known(
    db: mycel.Graph,
) -> None:
    with branch(db, "one") as one, branch(db, "two") as two:
        put(db, "n", x=1, y=1)
        put(db, "m", x=1)
        one.merge("main")
        put(db, "n", y=2)
        db.write(lambda tx: tx.retire(at("m")))
        two.merge("main")
        one.write(lambda tx: tx.move(at("n"), name="renamed"))
        one.write(lambda tx: tx.retire(at("b")))
        assert two.merge("one", dry_run=True).conflicts == ()
        found = one.merge("two")
        assert (found.status, found.conflicts) == ("merged", ())
        # The removals of each side are kept, the rename too, and y is that of the later commit.
        assert {"a", "b", "m", "n", "renamed"} & content(one).keys() == {"a", "renamed"}
        assert (value(one, "renamed", "x"), value(one, "renamed", "y")) == (1, 2)
        two.merge("one")
        assert not one.history.diff("one", "two")


def test_an_element_that_a_third_branch_has_removed_is_known_to_one_that_never_had_it(
    db: mycel.Graph,
) -> None:
    with branch(db, "one") as one, branch(db, "two") as two:
        put(db, "n", x=1)
        put(db, "m", x=1)
        one.merge("main")
        db.write(lambda tx: tx.retire(at("n")))
        db.write(lambda tx: tx.retire(at("m")))
        put(db, "a", x=2)
        two.merge("main")
        put(two, "b", x=2)
        put(one, "n", x=2)
        for target, source in ((one, "two"), (two, "one")):
            found = target.merge(source, dry_run=True).conflicts
            assert [(each.kind, each.label) for each in found] == [("delete_modify", 'Fact "n"')]
        two.merge("one")
        two.merges.resolve("*", "theirs")
        two.merges.commit()
        assert (value(two, "n"), "m" in content(two)) == (2, False)


# Purges and constraints.


def test_a_purge_on_either_side_wins_and_ends_open_merges(db: mycel.Graph) -> None:
    with branch(db) as draft:
        put(draft, "n", x="secret one")
        db.merge("draft")
        db.purge(at("a"), "asked for")
        put(draft, "a", x="secret two")
        draft.purge(at("b"), "asked for")
        draft.purge(at("n"), "asked for")
        found = db.merge("draft")
        assert found.status == "merged"
        assert any("was purged here" in each for each in found.warnings)
        assert {"a", "b", "n"}.isdisjoint(content(db))
        assert b"secret one" not in stored_bytes(db.path)
        assert not db.verify(replay=True).problems
        put(draft, "a", z=1)
        assert db.merge("draft", restore_purged=True).status == "merged"
        assert value(db, "a", "z") == 1
        put(db, "a", x=1)
        put(draft, "a", x=2)
        assert db.merge("draft").is_open
        db.purge(at("a"), "asked for again")
        assert list(db.merges) == []


def test_a_merge_with_a_conflict_and_a_purge_is_committed(db: mycel.Graph) -> None:
    with branch(db) as draft:
        put(db, "a", x=2)
        put(draft, "a", x=3)
        draft.purge(at("b"), "asked for")
        assert not db.merge("draft").commit
        db.merges.resolve("*", "theirs")
        assert db.merges.commit().status == "merged"
        assert (value(db, "a"), list(db.merges), "b" in content(db)) == (3, [], False)


SCHEMA = """
node Person {
    email: String @key
    nick: String? @unique
    seen: I64? @merge("max")
}
"""


def test_constraints_that_a_clean_merge_breaks_are_all_listed_and_nothing_is_evicted(
    db: mycel.Graph,
) -> None:
    db.schema.apply(SCHEMA)
    with branch(db) as draft:
        for number in range(30):
            person(db, f"o{number}", nick=f"n{number}")
            person(draft, f"t{number}", nick=f"n{number}")
        before = db.snapshot()
        merge = db.merge("draft")
        assert (merge.status, db.snapshot()) == ("conflicts", before)
        assert {each.kind for each in merge.conflicts} == {"constraint"}
        assert len(merge.conflicts) == 30
        rows = [row["label"] for row in merge.conflicts[0].rows]
        assert len(rows) == 2
        with pytest.raises(ConstraintViolation, match="must be decided"):
            db.merges.commit()
        db.merges.resolve("*", "ours")
        last = db.merges.conflicts()[-1]
        mine, theirs = (row["label"] for row in last.rows)
        given = {mine: "ours", theirs: {"attributes": {"email": theirs, "nick": "another"}}}
        number = theirs.split('"t')[1][:-1]
        given[theirs]["attributes"]["email"] = f"t{number}"  # type: ignore[index]
        db.merges.resolve(last, "value", given)
        done = db.merges.commit()
        assert (done.status, done.diff.counts["added"]) == ("merged", 1)
        assert db.get(("Person", f"t{number}")).attributes["nick"] == "another"
        assert db.merge("draft").status == "up_to_date"


# Schemas.


def test_definitions_of_kip_are_merged_key_by_key(db: mycel.Graph) -> None:
    def define(into: mycel.Graph, attribute: str, description: str) -> None:
        schema = {**into.get(("$ConceptType", "Fact")).attributes["instance_schema"]}
        schema[attribute] = {"type": "string", "is_required": False}
        said = {"instance_schema": schema, "description": description}
        into.write(lambda tx: tx.put_concept("$ConceptType", "Fact", said))

    with branch(db) as draft:
        define(db, "colour", "A fact.")
        define(draft, "shape", "One fact.")
        merge = db.merge("draft")
        assert [(each.kind, each.path) for each in merge.conflicts] == [("value", ("description",))]
        db.merges.resolve("*", "theirs")
        db.merges.commit()
    attributes = db.get(("$ConceptType", "Fact")).attributes
    assert {"colour", "shape", "counter"} <= attributes["instance_schema"].keys()
    assert attributes["description"] == "One fact."


PEOPLE = """
node Person {
    email: String @key
    nick: String?
}
edge Knows: Person -> Person
"""


def person(into: mycel.Graph, name: str, type_: str = "Person", **attributes: Any) -> None:
    into.write(lambda tx: tx.put_concept(type_, name, {"email": name, **attributes}))


def test_schemas_are_merged_by_property_and_rows_follow(db: mycel.Graph) -> None:
    db.schema.apply(PEOPLE)
    person(db, "ann", nick="a")
    person(db, "bob", nick="b")
    with branch(db) as draft:
        draft.schema.apply(
            PEOPLE.replace("nick: String?", 'handle: String? @rename_from("nick")\n age: I64?')
        )
        draft.write(lambda tx: tx.put_concept("$ConceptType", "Person", {"colour": "red"}))
        person(draft, "cat", handle="c", age=3)
        person(draft, "bob", age=7)
        db.schema.apply(PEOPLE.replace("nick: String?", "nick: String?\n city: String? @index"))
        person(db, "ann", nick="anna", city="Rome")
        person(db, "dan", nick="d", city="Oslo")
        done = db.merge("draft")
        assert (done.status, done.conflicts) == ("merged", ())
        assert db.get(("$ConceptType", "Person")).attributes["colour"] == "red"
        names = [each.name for each in db.schema.catalog.node("Person").properties]  # type: ignore[union-attr]
        assert sorted(names) == ["age", "city", "email", "handle"]
        rows = {name: db.get(("Person", name)).attributes for name in ("ann", "bob", "cat", "dan")}
        assert rows == {
            "ann": {"email": "ann", "handle": "anna", "city": "Rome"},
            "bob": {"email": "bob", "handle": "b", "age": 7},
            "cat": {"email": "cat", "handle": "c", "age": 3},
            "dan": {"email": "dan", "handle": "d", "city": "Oslo"},
        }
        assert not draft.merge("main").conflicts
        assert draft.schema.catalog.same_shape(db.schema.catalog)
        assert not db.verify(replay=True).problems


def test_a_declaration_that_both_changed_differently_is_one_conflict_with_its_rows(
    db: mycel.Graph,
) -> None:
    db.schema.apply(PEOPLE)
    person(db, "ann", nick="a")
    with branch(db) as draft:
        draft.schema.apply(PEOPLE.replace("nick: String?", "nick: String? @unique"))
        draft.schema.apply(PEOPLE.replace("nick: String?", 'nick: String? @description("One")'))
        db.schema.apply(PEOPLE.replace("nick: String?", 'nick: String? @description("Two")'))
        merge = db.merge("draft")
        (conflict,) = merge.conflicts
        assert (conflict.kind, conflict.label) == ("definition", '$ConceptType "Person"')
        assert "Two" in conflict.ours
        assert 'Person "ann"' in [row["label"] for row in conflict.rows]
        with pytest.raises(ConstraintViolation):
            db.merges.resolve(conflict, "value", "node Person {}")
        db.merges.resolve(conflict, "theirs")
        assert db.merges.commit().status == "merged"
        assert "One" in str(db.schema.catalog.node("Person"))
        assert db.merge("draft").status == "up_to_date"


def test_a_merged_schema_that_rows_of_the_other_side_break_is_not_committed(
    db: mycel.Graph,
) -> None:
    db.schema.apply(PEOPLE)
    with branch(db) as draft:
        draft.schema.apply(PEOPLE.replace("nick: String?", "nick: String? @unique"))
        for number in range(3):
            person(db, f"p{number}", nick="same")
        before = db.snapshot()
        merge = db.merge("draft")
        assert (merge.status, db.snapshot()) == ("conflicts", before)
        assert {each.kind for each in merge.conflicts} == {"constraint"}
        db.merges.abort()
        for number in range(3):
            person(db, f"p{number}", nick=f"n{number}")
        assert db.merge("draft").status == "merged"


# Choices.


def test_choices_are_listed_overruled_and_taken_back(db: mycel.Graph) -> None:
    with branch(db) as draft:
        put(db, "a", max=5, o={"x": 1})
        put(draft, "a", max=3, o={"x": 2})
        put(db, "b", max=5)
        put(draft, "b", max=3)
        open_ = db.merge("draft")
        assert [each.rule for each in open_.choices] == ["@merge(max)", "@merge(max)"]
        second = next(each for each in open_.choices if each.label == 'Fact "b"')
        db.merges.resolve(second, "theirs")
        db.merges.resolve(next(iter(db.merges)).unresolved[0], "ours")
        done = db.merges.commit()
    assert (value(db, "a", "max"), value(db, "b", "max")) == (5, 3)
    (choice,) = db.merges.choices(done.commit)
    assert db.merges.choices() == [choice] == list(done.choices)
    assert (choice.value, choice.side, choice.reason) == (5, "ours", "It is the larger one.")
    db.merges.undo_choice(choice)
    assert value(db, "a", "max") == 3
    with pytest.raises(ConstraintViolation, match="has changed since the merge"):
        db.merges.undo_choice(choice.id)
    with pytest.raises(NotFound):
        db.merges.undo_choice("ffffffff")
    db.purge(at("a"), "asked for")
    assert db.merges.choices() == []


def test_a_link_that_goes_takes_none_along_that_has_moved_away_from_it(db: mycel.Graph) -> None:
    put(db, "c")
    gone, moved = (at("a"), "likes", at("b")), (at("c"), "likes")
    with db.transaction() as tx:
        tx.put_proposition(*gone)
        number = tx.put_proposition(*moved, gone)
        tx.put_proposition(at("b"), "likes", (*moved, gone))
    with branch(db) as draft, draft.transaction() as tx:
        tx.relink((*moved, gone), object_=at("a"))
        tx.retire(gone)
    assert db.merge("draft").status == "merged"
    assert db.get(gone, tombstoned=True).tombstoned_us is not None
    assert db.get((*moved, at("a"))).id == number, "it is the same link"
    assert db.get((at("b"), "likes", (*moved, at("a")))) is not None


def test_every_end_of_a_link_has_its_name_in_a_conflict(db: mycel.Graph) -> None:
    put(db, "c")
    inner = at("a"), "likes", at("b")
    with db.transaction() as tx:
        tx.put_proposition(*inner)
        tx.put_proposition(at("c"), "likes", inner)
    with branch(db) as draft:
        draft.write(lambda tx: tx.relink((at("c"), "likes", inner), object_=at("b")))
    db.write(lambda tx: tx.retire((at("c"), "likes", inner)))
    (conflict,) = db.merge("draft").conflicts
    assert conflict.base["object"]["subject"] == {"type": "Fact", "name": "a"}
