"""Guards: rules on every write. No public function takes them yet, so the store is opened here."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import mycel
from mycel.errors import ConstraintViolation, NotFound
from mycel.store.database import Store
from mycel.store.purge import purge
from tests.unit.store.given import EVENT, FACT, Clock, assert_sound, dump, number_of


class Recorder:
    """Notes what it is asked, and refuses what it is told to refuse."""

    def __init__(self) -> None:
        self.seen: list[mycel.Change] = []
        self.commits = 0
        self.refuses: Callable[[mycel.Change], bool] = lambda _: False
        self.refuses_commit = False
        self.concern: Callable[[str, bool], bool] = lambda _name, _link: True
        self.asked: list[tuple[str, bool]] = []

    def concerns(self, tx: mycel.Transaction, type_or_predicate: str, *, link: bool) -> bool:
        self.asked.append((type_or_predicate, link))
        return self.concern(type_or_predicate, link)

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
    numbers = [None, None, None, None, number_of(link), number_of(link), number_of(one)]
    assert [change.number for change in guard.seen] == numbers
    assert guard.commits == 3


def test_an_element_that_is_revived_has_its_number(db: mycel.Nexus, guard: Recorder) -> None:
    one, _, link = db.write(build)
    db.write(lambda tx: tx.retire(one))
    guard.seen.clear()
    db.write(build)
    assert [(change.kind, change.number) for change in guard.seen] == [
        ("create", number_of(one)),
        ("create", number_of(link)),
    ]


def test_a_guard_is_asked_only_about_what_concerns_it(db: mycel.Nexus, guard: Recorder) -> None:
    guard.concern = lambda name, link: link and name == "references"
    one, _, link = db.write(build)
    db.write(lambda tx: tx.update(one, attributes={"b": 2}))
    db.write(lambda tx: tx.update(link, attributes={"b": 2}))
    db.write(lambda tx: tx.retire(one))
    assert [(change.kind, change.type_or_predicate) for change in guard.seen] == [
        ("create", "references"),
        ("update", "references"),
        ("retire", "references"),
    ]
    assert guard.commits == 4


def test_a_purge_asks_only_guards_that_it_concerns(db: mycel.Nexus, guard: Recorder) -> None:
    one, _, link = db.write(build)
    guard.refuses = lambda change: change.kind == "retire"
    guard.concern = lambda name, link: name == "references" and link
    with pytest.raises(ConstraintViolation):
        db.purge(one, "asked for")
    assert db.get(link).id == link
    guard.concern = lambda name, link: False
    assert db.purge(one, "asked for").propositions == 1


def test_whom_a_name_concerns_is_asked_once_in_a_transaction(
    db: mycel.Nexus, guard: Recorder
) -> None:
    db.write(build)
    guard.asked.clear()
    with db.transaction() as tx:
        for n in range(5):
            made = tx.put_concept(FACT, f"one of many {n}")
            tx.add_edge(made, "references", "C:2")
        tx.put_concepts([mycel.ConceptRow(FACT, f"row {n}") for n in range(5)])
    assert guard.asked == [(FACT, False), ("references", True)]


@pytest.mark.parametrize("how", ["define", "update", "retire", "purge"])
def test_a_definition_that_changes_has_names_asked_about_again(
    db: mycel.Nexus, guard: Recorder, how: str
) -> None:
    db.write(build)
    guard.concern = lambda name, link: False
    with db.transaction() as tx:
        spare = tx.define_type("Spare")
        tx.put_concept(FACT, "before")
        match how:
            case "define":
                tx.define_type("Other")
            case "update":
                tx.update(spare, attributes={"rule": "strict"})
            case "retire":
                tx.retire(spare)
            case "purge":
                purge(tx, spare, "asked for")
        guard.concern = lambda name, link: True
        guard.seen.clear()
        tx.put_concept(FACT, "after")
    assert [change.name_or_ends for change in guard.seen] == ["after"]


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


def test_a_bulk_put_shows_a_guard_only_rows_that_concern_it_and_keeps_the_order(
    db: mycel.Nexus, guard: Recorder, path: Path
) -> None:
    db.write(lambda tx: [tx.define_type(FACT), tx.define_type(EVENT)])
    guard.concern = lambda name, link: name in (EVENT, "part_of")
    guard.seen.clear()
    types = [FACT] * 7 + [EVENT, FACT, EVENT, EVENT] + [FACT] * 6
    rows = [mycel.ConceptRow(type_name, f"row {n}") for n, type_name in enumerate(types)]
    with db.transaction() as tx:
        made = tx.put_concepts(rows)
        predicates = ["references" if type_name == FACT else "part_of" for type_name in types]
        ends = zip(made[1:], predicates[1:], strict=True)
        count = tx.put_propositions(
            mycel.PropositionRow(made[0], predicate, end) for end, predicate in ends
        )
    assert count == len(made) - 1
    seen = [change.name_or_ends for change in guard.seen]
    events = [7, 9, 10]
    assert seen == [*(f"row {n}" for n in events), *((made[0], made[n]) for n in events)]
    elements = [number_of(each) for each in made]
    links = range(1, 2 * len(made) - 1, 2)
    assert [row[2] for row in dump(path)["journal"]][-2 * len(made) + 1 :] == [*elements, *links]
    assert [number_of(each) for each in made] == sorted(elements)
    assert_sound(db)


def test_a_definition_within_a_bulk_put_counts_for_the_rows_after_it(
    db: mycel.Nexus, guard: Recorder
) -> None:
    db.write(lambda tx: tx.define_type(FACT))
    defined = False

    def check(tx: mycel.Transaction, change: mycel.Change) -> None:
        nonlocal defined
        defined = defined or change.name_or_ends == EVENT
        guard.seen.append(change)

    guard.check = check  # type: ignore[method-assign]
    guard.concern = lambda name, link: name == "$ConceptType" or defined
    guard.seen.clear()
    names = [(FACT, f"fact {n}") for n in range(5)]
    rows = [*names, ("$ConceptType", EVENT), (EVENT, "event"), (FACT, "last")]
    with db.transaction() as tx:
        made = tx.put_concepts([mycel.ConceptRow(*row) for row in rows])
    assert len(made) == len(rows)
    assert [change.name_or_ends for change in guard.seen] == [EVENT, "event", "last"]
    assert_sound(db)


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
