"""Guards: rules on every write. No public function takes them yet, so the store is opened here."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.errors import (
    ConstraintViolation,
    InvalidValueType,
    MycelError,
    NotFound,
    VersionConflict,
)
from mycel.store.database import Store
from mycel.store.write import bulk
from mycel.store.write.purge import purge
from tests.unit.store.given import EVENT, FACT, Clock, assert_sound, dump, number_of


class Recorder:
    """Notes what it is asked, and refuses or shapes what it is told to."""

    in_bulk = False

    def __init__(self) -> None:
        self.seen: list[mycel.Change] = []
        self.commits = 0
        self.refuses: Callable[[mycel.Change], bool] = lambda _: False
        self.refuses_commit = False
        self.shapes: Callable[[mycel.Change], dict[str, Any] | None] = lambda _: None
        self.concern: Callable[[str, bool], bool] = lambda _name, _link: True
        self.asked: list[tuple[str, bool]] = []

    def concerns(self, tx: mycel.Transaction, type_or_predicate: str, *, link: bool) -> bool:
        self.asked.append((type_or_predicate, link))
        return self.concern(type_or_predicate, link)

    def check(self, tx: mycel.Transaction, change: mycel.Change) -> dict[str, Any] | None:
        self.seen.append(change)
        if self.refuses(change):
            raise ConstraintViolation("not this")
        return self.shapes(change)

    def check_commit(self, tx: mycel.Transaction) -> None:
        self.commits += 1
        if self.refuses_commit:
            raise ConstraintViolation("not together")


@pytest.fixture
def guard() -> Recorder:
    return Recorder()


@pytest.fixture
def db(path: Path, clock: Clock, guard: Recorder) -> Iterator[mycel.Graph]:
    store = Store(path, clock_us=clock, durability="off", guards=[guard])
    with mycel.Graph(store, actor="tester") as db:
        yield db


def build(tx: mycel.Transaction) -> tuple[str, str, str]:
    tx.define_type(FACT)
    one, other = tx.put_concept(FACT, "one"), tx.put_concept(FACT, "other")
    return one, other, tx.add_edge(one, "references", other, data={"a": 1})


def test_a_guard_sees_every_change_before_it_is_written(db: mycel.Graph, guard: Recorder) -> None:
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


def test_an_element_that_is_revived_has_its_number(db: mycel.Graph, guard: Recorder) -> None:
    one, _, link = db.write(build)
    db.write(lambda tx: tx.retire(one))
    guard.seen.clear()
    db.write(build)
    assert [(change.kind, change.number) for change in guard.seen] == [
        ("create", number_of(one)),
        ("create", number_of(link)),
    ]


def test_a_guard_is_asked_only_about_what_concerns_it(db: mycel.Graph, guard: Recorder) -> None:
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


def test_a_purge_asks_only_guards_that_it_concerns(db: mycel.Graph, guard: Recorder) -> None:
    one, _, link = db.write(build)
    guard.refuses = lambda change: change.kind == "retire"
    guard.concern = lambda name, link: name == "references" and link
    with pytest.raises(ConstraintViolation):
        db.purge(one, "asked for")
    assert db.get(link).id == link
    guard.concern = lambda name, link: False
    assert db.purge(one, "asked for").propositions == 1


def test_whom_a_name_concerns_is_asked_once_in_a_transaction(
    db: mycel.Graph, guard: Recorder
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
    db: mycel.Graph, guard: Recorder, how: str
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


def test_a_guard_is_not_asked_about_what_changes_nothing(db: mycel.Graph, guard: Recorder) -> None:
    db.write(build)
    guard.seen.clear()
    guard.commits = 0
    db.write(build)
    assert guard.seen == []
    assert guard.commits == 0


@pytest.mark.parametrize("kind", ["create", "update", "retire"])
def test_a_refused_change_leaves_nothing_of_its_transaction(
    db: mycel.Graph, guard: Recorder, path: Path, kind: str
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
    db: mycel.Graph, guard: Recorder, path: Path
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
    db: mycel.Graph, guard: Recorder
) -> None:
    found: list[mycel.Concept | None] = []

    def check_commit(tx: mycel.Transaction) -> None:
        found.append(tx.get_concept(FACT, "one"))

    guard.check_commit = check_commit  # type: ignore[method-assign]
    db.write(build)
    assert found[0] is not None
    assert found[0].name == "one"


def test_a_guard_sees_every_row_of_a_bulk_put(db: mycel.Graph, guard: Recorder) -> None:
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
    db: mycel.Graph, guard: Recorder, path: Path
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
    db: mycel.Graph, guard: Recorder
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


def test_a_refused_cascade_leaves_the_links_too(db: mycel.Graph, guard: Recorder) -> None:
    one, _, link = db.write(build)
    guard.refuses = lambda change: change.kind == "retire" and change.name_or_ends == "one"
    with pytest.raises(ConstraintViolation):
        db.write(lambda tx: tx.retire(one))
    assert db.get(link).id == link
    guard.refuses = lambda change: change.kind == "retire" and change.type_or_predicate != FACT
    with pytest.raises(ConstraintViolation):
        db.write(lambda tx: tx.retire(one))
    assert db.get(one).id == one


class Meddler:
    """Writes to the very element that it is asked about."""

    in_bulk = False

    def __init__(self) -> None:
        self.meddles = False

    def concerns(self, tx: mycel.Transaction, type_or_predicate: str, *, link: bool) -> bool:
        return True

    def check(self, tx: mycel.Transaction, change: mycel.Change) -> None:
        if self.meddles and change.before is not None:
            self.meddles = False
            tx.update(change.before, metadata={"touched": True})

    def check_commit(self, tx: mycel.Transaction) -> None:
        pass


@pytest.mark.parametrize(
    "change",
    [
        lambda tx, one, _edge, _third: tx.update(one, attributes={"a": 1}),
        lambda tx, _one, edge, _third: tx.update(edge, attributes={"a": 1}),
        lambda tx, one, _edge, _third: tx.retire(one),
        lambda tx, _one, edge, _third: tx.retire(edge),
        lambda tx, _one, edge, third: tx.relink(edge, object_=third),
        lambda tx, one, _edge, _third: tx.move(one, name="another"),
        lambda tx, _one, edge, _third: tx.move(edge, predicate="about"),
    ],
    ids=["concept", "link", "retire concept", "retire link", "relink", "move concept", "move link"],
)
def test_a_guard_that_writes_to_what_it_is_asked_about_is_refused(
    path: Path, change: Callable[[mycel.Transaction, str, str, str], object]
) -> None:
    guard = Meddler()
    with mycel.open(path, guards=[guard], durability="off", core_capsules=False) as db:
        with db.transaction() as tx:
            tx.define_type(FACT)
            tx.define_predicate("about")
            tx.define_predicate("references")
            one, other, third = (tx.put_concept(FACT, name) for name in ("one", "other", "third"))
            edge = tx.add_edge(one, "references", other)
        before = db.snapshot()
        guard.meddles = True
        with pytest.raises(VersionConflict, match="since it was read"):
            db.write(lambda tx: change(tx, one, edge, third))
        assert db.snapshot() == before
        assert_sound(db)


def test_the_genesis_of_a_graph_needs_no_leave(path: Path, guard: Recorder) -> None:
    guard.refuses = lambda _: True
    guard.refuses_commit = True
    with mycel.Graph(Store(path, guards=[guard])) as db:
        assert db.get_concept("$PropositionType", "related_to") is not None
        with pytest.raises(NotFound):
            db.get("C:999998")


# ---------------------------------------------------------------------------------------------
# Guards that shape what is written


def stamp(change: mycel.Change) -> dict[str, Any]:
    """The text in capitals, and a mark."""
    text = change.attributes.get("text")
    return change.attributes | {"text": text.upper() if text else "NONE", "marked": True}


def test_what_a_guard_returns_is_written_instead(db: mycel.Graph, guard: Recorder) -> None:
    db.write(lambda tx: tx.define_type(FACT))
    guard.shapes = stamp
    one = db.write(lambda tx: tx.put_concept(FACT, "one", {"text": "words"}, {"m": 1}))
    assert db.get(one).attributes == {"text": "WORDS", "marked": True}
    db.write(lambda tx: tx.update(one, attributes={"text": "others"}))
    assert db.get(one).attributes == {"text": "OTHERS", "marked": True}
    other = db.write(lambda tx: tx.put_concept(FACT, "other"))
    link = db.write(lambda tx: tx.add_edge(one, "references", other, data={"text": "why"}))
    assert db.get(link).attributes == {"text": "WHY", "marked": True}
    db.write(lambda tx: tx.update(link, weight=0.5, drop_attributes=["text", "marked"]))
    assert db.get(link).attributes == {"text": "NONE", "marked": True}
    db.write(lambda tx: tx.retire(one))
    assert db.write(lambda tx: tx.put_concept(FACT, "one", {"text": "again"})) == one
    assert db.get(one).attributes == {"text": "AGAIN", "marked": True}
    assert [element.id for element, _ in db.search("again", mode="keyword")] == [one]
    assert_sound(db)


def test_a_link_that_is_pointed_elsewhere_is_shaped_too(db: mycel.Graph, guard: Recorder) -> None:
    one, other, link = db.write(build)
    third = db.write(lambda tx: tx.put_concept(FACT, "third"))
    guard.shapes = lambda change: {"to": change.name_or_ends[1]}
    db.write(lambda tx: tx.relink(link, object_=third))
    found = db.get(link)
    assert isinstance(found, mycel.Proposition)
    assert (found.object, found.attributes, found.version) == (third, {"to": third}, 2)
    assert one
    assert other
    assert_sound(db)


def test_a_change_that_a_guard_takes_back_is_none(db: mycel.Graph, guard: Recorder) -> None:
    db.write(lambda tx: tx.define_type(FACT))
    guard.shapes = stamp
    one = db.write(lambda tx: tx.put_concept(FACT, "one", {"text": "words"}))
    link = db.write(lambda tx: tx.add_edge(one, "references", "C:2", data={"text": "why"}))
    before = db.snapshot()
    assert db.write(lambda tx: tx.update(one, attributes={"text": "words"})) is False
    db.write(lambda tx: tx.put_concept(FACT, "one", {"text": "Words"}))
    assert db.write(lambda tx: tx.update(link, attributes={"text": "Why"})) is False
    assert db.snapshot() == before


def test_each_guard_is_asked_about_what_the_one_before_it_made(path: Path, clock: Clock) -> None:
    first, second = Recorder(), Recorder()
    first.shapes = lambda change: change.attributes | {"n": 1}
    second.shapes = lambda change: {"n": change.attributes["n"] + 1}
    second.in_bulk = first.in_bulk = True
    store = Store(path, clock_us=clock, durability="off", guards=[first, second])
    with mycel.Graph(store, actor="tester") as db:
        db.write(lambda tx: tx.define_type(FACT))
        one = db.write(lambda tx: tx.put_concept(FACT, "one", {"text": "words"}))
        assert second.seen[-1].attributes == {"text": "words", "n": 1}
        assert db.get(one).attributes == {"n": 2}
        made = db.write(
            lambda tx: tx.put_concepts(mycel.ConceptRow(FACT, f"row {n}") for n in range(9))
        )
        assert {db.get(each).attributes["n"] for each in made} == {2}


@pytest.mark.parametrize("in_bulk", [False, True])
def test_what_a_guard_returns_is_checked_like_anything_else(
    db: mycel.Graph, guard: Recorder, in_bulk: bool
) -> None:
    db.write(lambda tx: tx.define_type(FACT))
    guard.in_bulk = in_bulk
    guard.shapes = lambda _: {"when": object()}
    with pytest.raises(InvalidValueType):
        db.write(lambda tx: tx.put_concept(FACT, "one"))
    rows = [mycel.ConceptRow(FACT, f"row {n}") for n in range(9)]
    with pytest.raises(InvalidValueType):
        db.write(lambda tx: tx.put_concepts(rows))
    assert db.get_concept(FACT, "one") is None


# ---------------------------------------------------------------------------------------------
# Guards that can be asked about rows before those before them are written


@pytest.mark.parametrize("in_bulk", [False, True])
def test_rows_of_a_bulk_put_are_written_together_if_every_guard_allows_it(
    db: mycel.Graph, guard: Recorder, in_bulk: bool
) -> None:
    db.write(lambda tx: tx.define_type(FACT))
    written: list[bool] = []

    def check(tx: mycel.Transaction, change: mycel.Change) -> None:
        if change.name_or_ends == "row 5":
            written.append(tx.get_concept(FACT, "row 4") is not None)
        if change.type_or_predicate == "references":
            written.append(tx.get_edge(made[0], "references", made[1]) is not None)

    made: list[str] = []
    guard.in_bulk = in_bulk
    guard.check = check  # type: ignore[assignment,method-assign]
    with db.transaction() as tx:
        made += tx.put_concepts(mycel.ConceptRow(FACT, f"row {n}") for n in range(9))
        tx.put_propositions(mycel.PropositionRow(made[0], "references", end) for end in made[1:6])
    assert written[0] is not in_bulk
    assert written[1:] == ([False] * 5 if in_bulk else [False, True, True, True, True])
    assert_sound(db)


def test_rows_that_a_guard_shapes_become_the_same_in_bulk_as_one_by_one(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "BATCH_ROWS", 200)
    snapshots = []
    for in_bulk in (True, False):
        guard = Recorder()
        guard.in_bulk, guard.shapes = in_bulk, stamp
        store = Store(tmp_path / f"{in_bulk}.db", clock_us=clock, durability="off", guards=[guard])
        with mycel.Graph(store, actor="tester") as db:
            db.write(lambda tx: tx.define_type(FACT))
            with db.transaction() as tx:
                made = tx.put_concepts(
                    mycel.ConceptRow(
                        FACT, f"row {n}", {"text": f"t{n}", "b": (n, [n])} if n else None
                    )
                    for n in range(500)
                )
                tx.put_propositions(
                    mycel.PropositionRow(tx.get(made[0]), "references", end, {"text": "why"})
                    for end in made[1:]
                )
            snapshots.append(db.snapshot())
            assert len(guard.seen) == 1 + 500 + 499
            assert_sound(db)
    assert snapshots[0] == snapshots[1]


def test_rows_that_exist_are_asked_about_as_updates(db: mycel.Graph, guard: Recorder) -> None:
    db.write(lambda tx: tx.define_type(FACT))
    guard.in_bulk = True
    rows = [mycel.ConceptRow(FACT, f"row {n}", {"n": n}) for n in range(9)]
    db.write(lambda tx: tx.put_concepts(rows[:4]))
    guard.seen.clear()
    db.write(lambda tx: tx.put_concepts([row._replace(attributes={"n": -1}) for row in rows]))
    kinds = [(change.kind, change.name_or_ends) for change in guard.seen[9:]]
    updates = [("update", f"row {n}") for n in range(4)]
    assert kinds == [*updates, *(("create", f"row {n}") for n in range(4, 9))]


def test_rows_stay_together_beside_tombstones_that_are_not_theirs(
    db: mycel.Graph, guard: Recorder
) -> None:
    db.write(lambda tx: tx.define_type(FACT))
    rows = [mycel.ConceptRow(FACT, f"row {n}") for n in range(9)]
    made = db.write(lambda tx: tx.put_concepts(rows))
    links = [mycel.PropositionRow(made[0], "references", end) for end in made[1:]]
    db.write(lambda tx: tx.put_propositions(links))
    db.write(lambda tx: tx.retire(made[3]))
    guard.in_bulk = True
    asked: list[bool] = []

    def check(tx: mycel.Transaction, change: mycel.Change) -> None:
        if change.name_or_ends == "new 8":
            asked.append(tx.get_concept(FACT, "new 0") is None)
        if change.type_or_predicate == "part_of" and change.name_or_ends[1] == made[8]:
            asked.append(tx.get_edge(made[0], "part_of", made[1]) is None)

    guard.check = check  # type: ignore[assignment,method-assign]
    with db.transaction() as tx:
        tx.put_concepts(mycel.ConceptRow(FACT, f"new {n}") for n in range(9))
        live = [end for end in made[1:] if end != made[3]]
        tx.put_propositions(mycel.PropositionRow(made[0], "part_of", end) for end in live)
    assert asked == [True, True]
    guard.check = Recorder.check.__get__(guard)  # type: ignore[method-assign]
    with db.transaction() as tx:
        assert tx.put_concepts([*rows, mycel.ConceptRow(FACT, "another")])[:9] == made
        tx.put_propositions(links)
    assert db.get(made[3]).version == 1
    assert len(list(db.edges_in(made[3]))) == 1
    assert_sound(db)


class Silent:
    """A guard from before guards said whether they can be asked in bulk."""

    def __init__(self) -> None:
        self.alone: list[bool] = []

    def concerns(self, tx: mycel.Transaction, type_or_predicate: str, *, link: bool) -> bool:
        return type_or_predicate == FACT

    def check(self, tx: mycel.Transaction, change: mycel.Change) -> None:
        self.alone.append(change.name_or_ends != "row 5" or bool(tx.get_concept(FACT, "row 4")))

    def check_commit(self, tx: mycel.Transaction) -> None: ...


def test_a_guard_that_does_not_say_is_asked_row_by_row(path: Path) -> None:
    guard = Silent()
    with mycel.Graph(Store(path, durability="off", guards=[guard])) as db:  # type: ignore[list-item]
        db.write(lambda tx: tx.define_type(FACT))
        rows = [mycel.ConceptRow(FACT, f"row {n}") for n in range(9)]
        db.write(lambda tx: tx.put_concepts(rows))
    assert guard.alone == [True] * 9


@pytest.mark.parametrize("in_bulk", [False, True])
@pytest.mark.parametrize("place", [0, 7, 2_003])
def test_an_error_of_a_row_says_which_one(
    db: mycel.Graph, guard: Recorder, place: int, in_bulk: bool
) -> None:
    db.write(lambda tx: tx.define_type(FACT))
    guard.in_bulk = in_bulk
    good = [mycel.ConceptRow(FACT, f"row {n}") for n in range(place + 5)]

    def row_of(error: type[MycelError], rows: list[Any], *, links: bool = False) -> int:
        with pytest.raises(error) as caught:
            db.write(lambda tx: (tx.put_propositions if links else tx.put_concepts)(rows))
        return int(caught.value.data["row"])

    def with_bad(rows: list[Any], bad: object) -> list[Any]:
        return [*rows[:place], bad, *rows[place:]]

    guard.refuses = lambda change: change.name_or_ends == f"row {place}"
    assert row_of(ConstraintViolation, good) == place
    guard.refuses = lambda _: False
    for bad, error in (
        (mycel.ConceptRow(FACT, ""), ConstraintViolation),
        (mycel.ConceptRow("Unknown", "x"), MycelError),
        (mycel.ConceptRow(FACT, "x", {"a": object()}), InvalidValueType),
        (mycel.ConceptRow(FACT, "x", 5), InvalidValueType),
        ("no row", InvalidValueType),
    ):
        assert row_of(error, with_bad(good, bad)) == place
    ends = db.write(lambda tx: tx.put_concepts(good))
    links = [mycel.PropositionRow("C:2", "references", end) for end in ends]
    guard.refuses = lambda change: change.name_or_ends == ("C:2", ends[place])
    assert row_of(ConstraintViolation, links, links=True) == place
    guard.refuses = lambda _: False
    bad = mycel.PropositionRow("C:2", "references", "C:999998")
    assert row_of(NotFound, with_bad(links, bad), links=True) == place
