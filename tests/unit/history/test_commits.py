"""Commits: ids that mean the same in every copy, messages, tags, and the filters of the log."""

import shutil
from pathlib import Path

import pytest

import mycel
from mycel.errors import (
    ConstraintViolation,
    InvalidIdentifier,
    InvalidSyntax,
    NotFound,
    TypeMismatch,
)
from mycel.store.write.change_summary import is_summary
from tests.unit.store.given import TickingClock


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "graph.db"


def opened(path: Path) -> mycel.Graph:
    return mycel.open(path, durability="off", clock_us=TickingClock(), core_capsules=False)


def shops(db: mycel.Graph) -> None:
    """Two shops, a link between them, and one of them changed: four commits."""
    db.write(lambda tx: (tx.define_type("Shop"), tx.define_predicate("near")))
    with db.transaction(message="Two shops") as tx:
        tx.put_concept("Shop", "concept://town/a")
        tx.put_concept("Shop", "concept://town/a/b")
    db.add_edge("concept://town/a", "near", "concept://town/a/b")
    db.write(lambda tx: tx.update("concept://town/a", attributes={"open": True}), actor="ada")


def messages(db: mycel.Graph, **where: object) -> list[str]:
    return [each.message for each in db.history.log(**where)]  # type: ignore[arg-type]


@pytest.mark.sqlite_file("copies the file")
def test_a_commit_has_the_same_id_in_every_copy_and_another_one_where_histories_part(
    path: Path,
) -> None:
    with opened(path) as db:
        shops(db)
        ids = [each.commit for each in db.history.log()]
        newest = next(db.history.log(limit=1))
        assert newest.commit.startswith(f"{newest.seq}-")
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    with opened(path) as db, opened(copy) as other:
        assert [each.commit for each in other.history.log()] == ids
        for each, text in ((db, "here"), (other, "there")):
            each.write(lambda tx, text=text: tx.put_concept("Shop", text))
        here, there = next(db.history.log(limit=1)), next(other.history.log(limit=1))
        assert (here.seq, here.commit != there.commit) == (there.seq, True)
        assert db.as_of(ids[0][:20]).seq == other.as_of(ids[0]).seq
        with pytest.raises(NotFound, match="no commit"):
            db.as_of(there.commit)
        with pytest.raises(NotFound, match="no commit"):
            db.as_of(f"{here.seq - 1}-{here.commit.partition('-')[2]}")


def test_a_commit_that_is_given_no_message_counts_what_it_changed_without_naming_elements(
    path: Path,
) -> None:
    with opened(path) as db:
        shops(db)
        db.write(lambda tx: tx.move("concept://town/a", name="concept://town/c"))
        db.write(lambda tx: tx.retire("concept://town/c"))
        db.write(lambda tx: tx.put_concept("Shop", "concept://town/c"))
        db.write(lambda tx: tx.put_concepts([mycel.ConceptRow("Shop", f"n{n}") for n in range(3)]))
        assert messages(db, limit=8) == [
            "add 3 Shop",
            "add 1 Shop",
            "unlink 1 near; remove 1 Shop",
            "move 1 Shop",
            "change 1 Shop",
            "link 1 near",
            "Two shops",
            "add 1 $ConceptType, 1 $PropositionType",
        ]


def test_another_type_is_called_that_and_no_move(path: Path) -> None:
    with opened(path) as db:
        shops(db)
        knowledge = mycel.Knowledge(db, workspace="town")
        knowledge.add("x", type="Depot")
        knowledge.add("y", type="Shop")
        knowledge.link("x", "near", "y")
        knowledge.update("y", type="Depot")
        assert messages(db, limit=1) == ["retype 1 Depot"]
        assert is_summary("retype 1 Depot")
        knowledge.move("y", "z")
        assert messages(db, limit=1) == ["move 1 Depot"]


def test_every_way_to_write_takes_a_message(path: Path) -> None:
    upsert = 'UPSERT { CONCEPT { {type: "Shop", name: "s"} SET ATTRIBUTES { n: %d } } }'
    with opened(path) as db:
        shops(db)
        db.execute(upsert % 1, message="1 execute")
        db.request({"command": upsert % 2, "message": "2 request"})
        db.request({"commands": [upsert % 3, upsert % 4], "message": "3 batch"})
        db.apply_capsule(upsert % 5, message="4 capsule")
        db.add_edge(("Shop", "s"), "near", "concept://town/a", message="5 add")
        db.remove_edge(("Shop", "s"), "near", "concept://town/a", message="6 remove")
        db.purge(("Shop", "s"), "asked for", message="7 purge")
        knowledge = mycel.Knowledge(db, workspace="town")
        knowledge.add("x", message="8 add")
        knowledge.update("x", content="c", message="9 update")
        knowledge.link("x", "near", "concept://town/a", message="10 link")
        knowledge.set_weight("x", "near", "concept://town/a", 0.5, message="11 weight")
        knowledge.unlink("x", "near", "concept://town/a", message="12 unlink")
        knowledge.move("x", "y", message="13 move")
        knowledge.remember([{"uri": "z"}], message="14 remember")
        knowledge.delete("y", message="15 delete")
        knowledge.delete_many(["z"], message="16 delete")
        numbers = [int(each.split()[0]) for each in messages(db, limit=17)]
        assert numbers == [*range(16, 6, -1), 6, 5, 4, 3, 3, 2, 1]
        db.message = "for all that follows"
        db.write(lambda tx: tx.put_concept("Shop", "u"))
        assert messages(db, limit=1) == ["for all that follows"]
        wrong = db.request({"command": upsert % 6, "message": 6})
        assert wrong["error"]["code"] == "KIP_1001"


def test_the_log_is_narrowed_by_path_type_actor_time_and_text(path: Path) -> None:
    with opened(path) as db:
        shops(db)
        changed, linked, made, defined = list(db.history.log(limit=4))
        assert messages(db, path="concept://town/a/b") == ["Two shops"]
        below = messages(db, path="concept://town/a")
        assert below == ["change 1 Shop", "link 1 near", "Two shops"]
        assert messages(db, path="concept://town/") == below
        assert messages(db, path="concept://tow") == []
        assert messages(db, path="kip:Shop/concept://town/a/b") == ["Two shops"]
        (link,) = db.edges_out("concept://town/a")
        assert messages(db, path=link.id) == ["link 1 near"]
        assert messages(db, type="near") == ["link 1 near"]
        assert messages(db, type="Shop") == ["change 1 Shop", "Two shops"]
        assert messages(db, actor="ada") == ["change 1 Shop"]
        assert messages(db, actor="nobody") == []
        assert messages(db, text="SHOPS") == ["Two shops"]
        assert [each.seq for each in db.history.log(since=made.time, until=linked.commit)] == [
            linked.seq,
            made.seq,
        ]
        assert [each.seq for each in db.history.log(since=linked.seq)] == [changed.seq, linked.seq]
        assert [each.seq for each in db.history.log(type="Shop", limit=1, before=changed.seq)] == [
            made.seq
        ]
        assert next(db.history.log(until=defined.time)).seq == defined.seq
        db.write(lambda tx: tx.move("concept://town/a/b", name="concept://city/b"))
        assert messages(db, path="concept://town/a/b")[0] == "move 1 Shop"
        with pytest.raises(TypeMismatch, match="There is no type or predicate 'Nothing'") as caught:
            messages(db, type="Nothing")
        assert caught.value.hint.startswith("The types are ")
        assert "Shop" in caught.value.hint
        assert "The predicates are " in caught.value.hint
        with pytest.raises(TypeMismatch) as caught:
            messages(db, type="shop")
        assert caught.value.hint == "Did you mean 'Shop'?"


@pytest.mark.sqlite_file("copies the file")
def test_a_tag_names_a_commit_in_every_copy_moves_and_goes(path: Path) -> None:
    with opened(path) as db:
        shops(db)
        first = next(db.history.log(limit=1))
        assert db.history.tag("v1") == first.commit
        assert db.history.tag("v1", first.commit) == first.commit  # Again: nothing is written.
        db.write(lambda tx: tx.put_concept("Shop", "new"))
        assert (db.as_of("v1").seq, len(list(db.history.log(text="tag v1")))) == (first.seq, 1)
        assert db.execute('FIND(COUNT(?s)) AS OF "v1" WHERE { ?s {type: "Shop"} }').value == 2
        copy = path.with_name("copy.db")
        db.history.tag("old", first.first_seq - 1)
        assert list(db.history.tags()) == ["v1", "old"]
        db.history.tag("v1", "old")
        assert db.history.tags()["v1"] == db.history.tags()["old"] != first.commit
        db.history.untag("old")
        assert list(db.history.tags()) == ["v1"]
        assert not db.verify(replay=True).problems
    shutil.copy(path, copy)
    with mycel.open(copy, readonly=True) as other:
        assert list(other.history.tags()) == ["v1"]


def test_what_is_no_tag_is_refused_with_a_hint(path: Path) -> None:
    with opened(path) as db:
        db.history.tag("v1")
        for name in ("", "1", "2026-01-01", "a b", "x" * 300, 5):
            with pytest.raises(InvalidIdentifier):
                db.history.tag(name)  # type: ignore[arg-type]
        with pytest.raises(InvalidSyntax, match="'v2' is not a time, and no tag") as caught:
            db.as_of("v2")
        assert "v1" in caught.value.hint
        with pytest.raises(NotFound):
            db.history.untag("v2")
        with pytest.raises(ConstraintViolation):
            db.history.tag("zero", 0)
        assert list(db.history.tags()) == ["v1"]
