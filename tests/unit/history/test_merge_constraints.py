"""Rules of the schema that merges break: all are reported, and every choice can be taken."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import mycel
from mycel.errors import ConstraintViolation
from tests.unit.history.test_merge import _without_waiting

__all__ = ("_without_waiting",)

SCHEMA = """
node Person {
    email: String @key
    nick: String? @unique
    age: I64?
    @range(age, 0..100)
}
node City { name: String @key }
edge LivesIn: Person -> City @card(0..1)
edge Likes: Person -> City @card(1..*)
"""


@pytest.fixture
def db(tmp_path: Path) -> Iterator[mycel.Graph]:
    with mycel.open(tmp_path / "graph.db", durability="off", core_capsules=False) as db:
        db.schema.apply(SCHEMA)
        with db.transaction() as tx:
            for name in ("rome", "oslo", "bonn"):
                tx.put_concept("City", name, {"name": name})
        person(db, "p")
        db.branches.create("draft")
        yield db


def person(db: mycel.Graph, name: str, city: str = "rome", **attributes: object) -> None:
    with db.transaction() as tx:
        tx.put_concept("Person", name, {"email": name, **attributes})
        if tx.get_edge(("Person", name), "Likes", ("City", city)) is None:
            tx.put_proposition(("Person", name), "Likes", ("City", city))


def live_in(db: mycel.Graph, name: str, city: str) -> None:
    db.write(lambda tx: tx.put_proposition(("Person", name), "LivesIn", ("City", city)))


def links(db: mycel.Graph, predicate: str, name: str = "p") -> set[str]:
    edges = db.edges_out(("Person", name))
    return {db.get(each.object).name for each in edges if each.predicate == predicate}


def test_all_broken_constraints_are_reported_at_once(db: mycel.Graph) -> None:
    with db.open_branch("draft") as draft:
        for side, city in ((db, "rome"), (draft, "oslo")):
            live_in(side, "p", city)
            person(side, f"in {city}", nick="n")
        with db.transaction() as tx:
            tx.put_concept("Person", "q", {"email": "q", "nick": "m"})
            tx.put_proposition(("Person", "q"), "Likes", ("City", "rome"))
        person(draft, "r", nick="m")
    merge = db.merge("draft")
    reasons = sorted(each.reason.split(":")[0] for each in merge.conflicts)
    assert [each.split(" on ")[0] for each in reasons] == [
        "@card violation",
        "@unique violation",
        "@unique violation",
    ]
    (card,) = (each for each in merge.conflicts if "@card" in each.reason)
    assert {row["label"] for row in card.rows} == {
        'Person "p" -LivesIn-> City "rome"',
        'Person "p" -LivesIn-> City "oslo"',
    }
    db.merges.resolve({each.id: "theirs" for each in merge.conflicts})
    assert db.merges.commit().status == "merged"
    assert links(db, "LivesIn") == {"oslo"}
    assert not db.verify(replay=True).problems


@pytest.mark.sqlite_file("puts files back a hundred times")
def test_every_choice_that_is_offered_can_be_committed_and_others_are_refused(
    db: mycel.Graph, tmp_path: Path
) -> None:
    with db.open_branch("draft") as draft:
        draft.schema.apply(SCHEMA.replace("0..100", "0..10"))
        person(db, "old", age=50)
        live_in(db, "p", "rome")
        live_in(draft, "p", "oslo")
        person(draft, "cityless", city="bonn")
        db.write(lambda tx: tx.retire(("City", "bonn")))
    db.close()
    files = {each: each.read_bytes() for each in tmp_path.glob("*.db")}
    waiting: list[list[str]] = [[]]
    kinds, tried = set(), set()
    while waiting:
        choices = waiting.pop()
        for path, content in files.items():
            path.write_bytes(content)
        with mycel.open(tmp_path / "graph.db", durability="off", core_capsules=False) as again:
            merge = again.merge("draft")
            for choice in choices:
                merge = again.merges.resolve(merge.unresolved[0], choice)
            if merge.unresolved:
                conflict = merge.unresolved[0]
                kinds.add(conflict.kind)
                offered = [each for each in conflict.options if each not in ("value", "lines")]
                assert len(choices) < 6, (choices, conflict)
                assert offered, conflict
                # Each choice once, after whatever was decided before it.
                fresh = [each for each in offered if (conflict.label, each) not in tried]
                tried.update((conflict.label, each) for each in offered)
                waiting += [[*choices, each] for each in fresh or offered[:1]]
                for refused in conflict.refused:
                    with pytest.raises(ConstraintViolation, match="would still break the rule"):
                        again.merges.resolve(conflict, refused)
                continue
            assert again.merges.commit().status == "merged", choices
            assert not again.verify().problems
    assert kinds == {"constraint", "orphan_link"}


def test_the_id_of_a_conflict_holds_while_others_are_decided(tmp_path: Path) -> None:
    with mycel.open(tmp_path / "g.db", durability="off", core_capsules=False) as db:
        db.schema.apply(
            "node P { name: String @key  mail: String?  @unique(mail) }\nedge W: P -> P @card(0..2)"
        )
        db.load([{"type": "P", "data": {"name": name}} for name in "abcd"])
        db.branches.create("draft")
        with db.open_branch("draft") as draft:
            draft.add_edge(("P", "a"), "W", ("P", "d"))
            draft.write(lambda tx: tx.update(("P", "d"), attributes={"mail": "m"}))
        for end in "bc":
            db.add_edge(("P", "a"), "W", ("P", end))
        db.write(lambda tx: tx.update(("P", "b"), attributes={"mail": "m"}))
        first = db.merge("draft").conflicts
        assert {conflict.label for conflict in first} == {'P "b"', 'P "a" -W-> P "b"'}
        for conflict in first:
            db.merges.resolve(conflict.id, "ours")
        assert db.merges.commit().status == "merged"


def test_a_merge_says_what_the_guards_warn_about(tmp_path: Path) -> None:
    with mycel.open(tmp_path / "graph.db") as db:
        db.write(lambda tx: tx.define_type("Note"))
        note = db.write(lambda tx: tx.put_concept("Note", "old"))
        db.branches.create("draft")
        with db.open_branch("draft") as draft:
            draft.write(lambda tx: tx.update(note, attributes={"text": "new"}))
        db.upkeep.archive(note, "unused")
        for dry_run in (True, False):
            merge = db.merge("draft", dry_run=dry_run)
            assert any("'old': archived" in warning for warning in merge.warnings)


def test_a_merge_names_two_values_of_which_a_predicate_may_have_one(tmp_path: Path) -> None:
    with mycel.open(tmp_path / "graph.db") as db:
        with db.transaction() as tx:
            tx.define_type("Org")
            tx.define_predicate("works_at", {"functional": True})
            for name in ("Acme", "Initech", "Umbrella"):
                tx.put_concept("Org", name)
        db.branches.create("draft")

        def work_at(graph: mycel.Graph, name: str) -> None:
            metadata = {"valid_from": "2025-01-01"}
            graph.write(
                lambda tx: tx.put_proposition(
                    ("Person", "$self"), "works_at", ("Org", name), metadata=metadata
                )
            )

        work_at(db, "Acme")
        with db.open_branch("draft") as draft:
            work_at(draft, "Initech")
        for dry_run in (True, False):
            (warning,) = db.merge("draft", dry_run=dry_run).warnings
            assert "works_at Org 'Acme'" in warning
            assert "works_at Org 'Initech'" in warning
            assert "both hold from 2025-01-01" in warning
        with db.transaction() as tx:  # An ordinary write says it too.
            tx.put_proposition(
                ("Person", "$self"),
                "works_at",
                ("Org", "Umbrella"),
                metadata={"valid_from": "2025-01-01"},
            )
            tx.check()
            assert len(tx.warnings) == 2
