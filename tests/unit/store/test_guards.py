"""Guards: rules on every write. No public function takes them yet, so the store is opened here."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import mycel
from mycel.errors import ConstraintViolation, NotFound
from mycel.store.database import Store
from tests.unit.store.given import FACT, Clock, assert_sound, dump


class Recorder:
    """Notes what it is asked, and refuses what it is told to refuse."""

    def __init__(self) -> None:
        self.seen: list[mycel.Change] = []
        self.commits = 0
        self.refuses: Callable[[mycel.Change], bool] = lambda _: False
        self.refuses_commit = False

    def check(self, tx: mycel.Transaction, change: mycel.Change) -> None:
        self.seen.append(change)
        if self.refuses(change):
            raise ConstraintViolation("not this")

    def check_commit(self, tx: mycel.Transaction) -> None:
        self.commits += 1
        if self.refuses_commit:
            raise ConstraintViolation("not together")


@pytest.fixture
def guard() -> Recorder:
    return Recorder()


@pytest.fixture
def db(path: Path, clock: Clock, guard: Recorder) -> Iterator[mycel.Nexus]:
    store = Store(path, clock_us=clock, durability="off", guards=[guard])
    with mycel.Nexus(store, actor="tester") as db:
        yield db


def build(tx: mycel.Transaction) -> tuple[str, str, str]:
    tx.define_type(FACT)
    one, other = tx.put_concept(FACT, "one"), tx.put_concept(FACT, "other")
    return one, other, tx.add_edge(one, "references", other, data={"a": 1})


def test_a_guard_sees_every_change_before_it_is_written(db: mycel.Nexus, guard: Recorder) -> None:
    one, other, link = db.write(build)
    db.write(lambda tx: tx.update(link, weight=0.5, metadata={"m": 1}))
    db.write(lambda tx: tx.retire(one))
    assert [(change.kind, change.type_or_predicate) for change in guard.seen] == [
        ("create", "$ConceptType"),
        ("create", FACT),
        ("create", FACT),
        ("create", "references"),
        ("update", "references"),
        ("retire", "references"),
        ("retire", FACT),
    ]
    assert guard.seen[1].name_or_ends == "one"
    assert guard.seen[3].name_or_ends == (one, other)
    assert (guard.seen[3].before, guard.seen[3].attributes) == (None, {"a": 1})
    assert guard.seen[4].before is not None
    assert (guard.seen[4].before.id, guard.seen[4].metadata) == (link, {"m": 1})
    assert guard.commits == 3


def test_a_guard_is_not_asked_about_what_changes_nothing(db: mycel.Nexus, guard: Recorder) -> None:
    db.write(build)
    guard.seen.clear()
    guard.commits = 0
    db.write(build)
    assert guard.seen == []
    assert guard.commits == 0


@pytest.mark.parametrize("kind", ["create", "update", "retire"])
def test_a_refused_change_leaves_nothing_of_its_transaction(
    db: mycel.Nexus, guard: Recorder, path: Path, kind: str
) -> None:
    one, other, _ = db.write(build)
    rows = dump(path)
    guard.refuses = lambda change: change.kind == kind and change.type_or_predicate == FACT

    def work(tx: mycel.Transaction) -> None:
        tx.define_type("New")
        tx.put_concept("New", "new")
        match kind:
            case "create":
                tx.put_concept(FACT, "third")
            case "update":
                tx.update(one, attributes={"b": 2})
            case "retire":
                tx.retire(other)

    with pytest.raises(ConstraintViolation, match="not this"):
        db.write(work)
    assert dump(path) == rows
    assert_sound(db)


def test_a_guard_can_refuse_the_whole_at_the_end(
    db: mycel.Nexus, guard: Recorder, path: Path
) -> None:
    rows = dump(path)
    guard.refuses_commit = True
    with pytest.raises(ConstraintViolation, match="not together"):
        db.write(build)
    with pytest.raises(ConstraintViolation, match="not together"), db.transaction() as tx:
        build(tx)
    assert dump(path) == rows
    guard.refuses_commit = False
    db.write(build)
    assert_sound(db)


def test_a_guard_can_read_what_the_transaction_has_written(
    db: mycel.Nexus, guard: Recorder
) -> None:
    found: list[mycel.Concept | None] = []

    def check_commit(tx: mycel.Transaction) -> None:
        found.append(tx.get_concept(FACT, "one"))

    guard.check_commit = check_commit  # type: ignore[method-assign]
    db.write(build)
    assert found[0] is not None
    assert found[0].name == "one"


def test_a_guard_sees_every_row_of_a_bulk_put(db: mycel.Nexus, guard: Recorder) -> None:
    one, other, _ = db.write(build)
    guard.seen.clear()
    with db.transaction() as tx:
        made = tx.put_concepts(mycel.ConceptRow(FACT, f"row {n}") for n in range(5))
        tx.put_propositions(mycel.PropositionRow(each, "references", one) for each in made)
    assert [change.name_or_ends for change in guard.seen[:5]] == [f"row {n}" for n in range(5)]
    assert len(guard.seen) == 10
    guard.refuses = lambda change: change.name_or_ends == "row 8"
    before = db.snapshot()
    rows = [mycel.ConceptRow(FACT, f"row {n}") for n in range(5, 12)]
    with pytest.raises(ConstraintViolation):
        db.write(lambda tx: tx.put_concepts(rows))
    assert db.snapshot() == before
    assert other


def test_a_refused_cascade_leaves_the_links_too(db: mycel.Nexus, guard: Recorder) -> None:
    one, _, link = db.write(build)
    guard.refuses = lambda change: change.kind == "retire" and change.name_or_ends == "one"
    with pytest.raises(ConstraintViolation):
        db.write(lambda tx: tx.retire(one))
    assert db.get(link).id == link
    guard.refuses = lambda change: change.kind == "retire" and change.type_or_predicate != FACT
    with pytest.raises(ConstraintViolation):
        db.write(lambda tx: tx.retire(one))
    assert db.get(one).id == one


def test_the_genesis_of_a_graph_needs_no_leave(path: Path, guard: Recorder) -> None:
    guard.refuses = lambda _: True
    guard.refuses_commit = True
    with mycel.Nexus(Store(path, guards=[guard])) as db:
        assert db.get_concept("$PropositionType", "related_to") is not None
        with pytest.raises(NotFound):
            db.get("C:999998")
