"""Ways back: a new transaction that makes elements what they were, or says what would break."""

from collections.abc import Iterator

import pytest

import mycel
from mycel.errors import ConstraintViolation, NotFound
from mycel.model.commits import short
from tests.unit.store.given import TickingClock

A, X, B = (f"concept://w/{name}" for name in ("a", "a/x", "b"))


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with mycel.open(clock_us=TickingClock()) as graph:
        with graph.transaction() as tx:
            tx.define_type("Concept")
            tx.define_predicate("uses")
            for name in (A, X, B):
                tx.put_concept("Concept", name, {"n": 0})
            tx.put_proposition(A, "uses", B)
        graph.history.tag("start")
        yield graph


def update(db: mycel.Graph, name: str, **attributes: object) -> str:
    db.write(lambda tx: tx.update(name, attributes=attributes))
    return next(db.history.log(limit=1)).commit


def number(db: mycel.Graph, name: str, key: str = "n") -> object:
    return db.get(name).attributes.get(key)


def test_everything_becomes_what_it_was_in_one_new_commit(db: mycel.Graph) -> None:
    update(db, A, n=1)
    db.write(lambda tx: tx.retire(B))
    db.write(lambda tx: tx.move(X, name="concept://w/y"))
    db.write(lambda tx: tx.define_type("Later"))
    db.write(lambda tx: tx.put_concept("Later", "l"))
    commits = [each.commit for each in db.history.log()]
    done = db.history.rollback("start", by="ada")
    assert not db.history.diff("start")
    assert (number(db, A), db.get(X).name) == (0, X)
    assert [each.dst for each in db.edges_out(A)] == [db.get(B).id]
    assert db.get_concept("$ConceptType", "Later") is None
    newest, *older = db.history.log()
    assert [each.commit for each in older] == commits
    assert (newest.commit, newest.actor) == (done.commit, "ada")
    assert newest.message.startswith("rollback to ")
    db.history.rollback(commits[0])
    assert db.get_concept("Later", "l") is not None
    assert db.verify(replay=True).ok


def test_a_dry_run_shows_the_changes_and_writes_nothing(db: mycel.Graph) -> None:
    update(db, A, n=1)
    before = db.snapshot()
    would = db.history.rollback("start", dry_run=True)
    assert [tuple(each)[2:] for each in would.diff.elements[0].values] == [(1, 0)]
    assert (would.commit, db.snapshot()) == (None, before)


def test_a_subtree_or_a_single_element_goes_back_alone(db: mycel.Graph) -> None:
    for name in (A, X, B):
        update(db, name, n=1)
    db.history.rollback("start", paths=[X])
    assert [number(db, name) for name in (A, X, B)] == [1, 0, 1]
    db.history.rollback("start", paths=[db.get(B).id])
    assert [number(db, name) for name in (A, X, B)] == [1, 0, 0]
    update(db, X, n=2)
    db.history.rollback("start", paths=[A])
    assert [number(db, name) for name in (A, X, B)] == [0, 0, 0]


def test_names_that_changed_places_change_back(db: mycel.Graph) -> None:
    def swap(tx: mycel.Transaction) -> None:
        tx.move(A, name="concept://w/t")
        tx.move(B, name=A)
        tx.move("concept://w/t", name=B)

    first = db.get(A).id
    db.write(swap)
    assert db.get(B).id == first
    db.history.rollback("start")
    assert db.get(A).id == first


def test_all_that_would_break_is_listed_and_nothing_changes(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        for name in ("p", "q"):
            tx.put_concept("Concept", f"concept://w/{name}")
            tx.put_proposition(B, "uses", f"concept://w/{name}")
        tx.retire(X)
    before = db.snapshot()
    with pytest.raises(ConstraintViolation, match="nothing was changed") as caught:
        db.history.rollback("start", paths=["concept://w/p", "concept://w/q", X])
    obstacles = caught.value.data["obstacles"]
    assert [each["element"] for each in obstacles] == ["concept://w/p", "concept://w/q"]
    assert all("also remove P:" in each["message"] for each in obstacles)
    assert db.snapshot() == before
    with pytest.raises(NotFound):
        db.history.rollback("1-" + "0" * 64)


def test_a_schema_that_was_applied_since_is_not_rolled_back_behind_its_back(
    db: mycel.Graph,
) -> None:
    db.schema.apply("node Person { email: String @key }")
    with pytest.raises(ConstraintViolation) as caught:
        db.history.rollback("start")
    assert any("Person" in each["element"] for each in caught.value.data["obstacles"])
    assert "Person" in str(db.schema.catalog)


def test_after_the_earlier_schema_was_applied_a_rollback_succeeds(db: mycel.Graph) -> None:
    earlier = "node Person { email: String @key  age: I32? }"
    db.schema.apply(earlier)
    db.write(lambda tx: tx.put_concept("Person", "a@x", {"email": "a@x", "age": 3}))
    db.history.tag("then")
    db.schema.apply("node Person { email: String @key  age: I32?  city: String? }")
    db.write(lambda tx: tx.put_concept("Person", "b@x", {"email": "b@x", "city": "Bern"}))
    with pytest.raises(ConstraintViolation, match="declaration") as caught:
        db.history.rollback("then")
    assert "db.schema.apply(text), or `mycel schema apply`" in caught.value.hint
    db.schema.apply(earlier)
    done = db.history.rollback("then")
    assert [(each.kind, each.label) for each in done.diff.elements] == [("removed", 'Person "b@x"')]
    assert db.get(("Person", "a@x")).attributes["age"] == 3


def test_one_commit_is_reverted_and_what_came_after_it_stays(db: mycel.Graph) -> None:
    first = update(db, A, n=1, m=1)
    update(db, A, other=2)
    update(db, B, n=5)
    done = db.history.revert(first)
    assert db.get(A).attributes == {"n": 0, "other": 2}
    assert number(db, B) == 5
    assert next(db.history.log(limit=1)).message.startswith("revert ")
    db.history.revert(str(done.commit))
    assert db.get(A).attributes == {"m": 1, "n": 1, "other": 2}


def test_a_removal_and_an_addition_are_reverted(db: mycel.Graph) -> None:
    db.write(lambda tx: tx.retire(B))
    removal = next(db.history.log(limit=1)).commit
    db.write(lambda tx: tx.put_concept("Concept", "concept://w/new"))
    addition = next(db.history.log(limit=1)).commit
    db.history.revert(removal)
    assert [each.dst for each in db.edges_out(A)] == [db.get(B).id]
    db.history.revert(addition)
    assert db.get_concept("Concept", "concept://w/new") is None
    assert db.history.revert(addition).commit is None  # It is gone already.


def test_a_revert_is_refused_where_something_has_changed_since(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.update(A, attributes={"n": 1})
        tx.update(B, attributes={"n": 1})
        tx.put_concept("Concept", "concept://w/new")
        tx.retire(X)
    commit = next(db.history.log(limit=1)).commit
    update(db, A, n=2)
    db.write(lambda tx: tx.retire(B))
    update(db, "concept://w/new", n=2)
    db.write(lambda tx: tx.put_concept("Concept", X))
    with pytest.raises(ConstraintViolation) as caught:
        db.history.revert(commit)
    found = {each["element"]: each["message"] for each in caught.value.data["obstacles"]}
    assert found == {
        A: "attributes.n has changed since.",
        B: "It was removed since.",
        X: "It was added again since.",
        "concept://w/new": "It has changed since.",
    }
    later = [entry.commit for entry in db.history.log(limit=4)]
    assert caught.value.data["commits"] == later
    assert f"Changed since by {short(later[0])}" in caught.value.hint


def test_the_commits_that_are_in_the_way_of_a_revert_can_be_reverted_first(db: mycel.Graph) -> None:
    first = update(db, A, n=1)
    update(db, B, n=1)
    db.write(lambda tx: tx.update(A, attributes={"n": 2}), message="a second thought")
    with pytest.raises(ConstraintViolation, match=r"attributes\.n has changed since") as caught:
        db.history.revert(first, dry_run=True)
    assert "a second thought" in caught.value.hint
    for commit in (*caught.value.data["commits"], first):
        db.history.revert(commit)
    assert number(db, A) == 0


def test_what_was_scrubbed_can_neither_be_compared_nor_led_back_to(db: mycel.Graph) -> None:
    first = update(db, A, n=1)
    update(db, A, n=2)
    db.history.tag("kept")
    db.write(lambda tx: tx.retire(A))
    db.scrub("kept", "old")
    for ask in (db.history.diff, db.history.rollback, db.history.revert):
        with pytest.raises(ConstraintViolation, match="scrubbed"):
            ask(first)
    db.history.rollback("kept")
    assert number(db, A) == 2
    assert db.verify(replay=True).ok


def test_a_purge_cannot_be_reverted_and_says_so(db: mycel.Graph) -> None:
    db.purge(X, "asked for")
    purge = next(db.history.log(limit=1)).commit
    before = db.snapshot()
    for dry_run in (True, False):
        with pytest.raises(ConstraintViolation, match="a purge cannot be undone"):
            db.history.revert(purge, dry_run=dry_run)
    assert db.snapshot() == before
