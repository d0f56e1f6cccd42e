"""The index of properties: it always holds what the live rows hold, and nothing else."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mycel
from mycel.engine.values import Values
from mycel.engine.where_targets import targets
from mycel.errors import MycelError
from mycel.kip import ast
from mycel.kip.parser import parse
from mycel.schema.model import EdgeType, Index, Key, NodeType, Property, PropertyType, Unique
from mycel.schema.stored_declaration import attributes_of
from mycel.store.database import Store
from mycel.store.index import properties
from mycel.store.index.properties import Properties, UniqueConflict
from mycel.store.index.slots import Slot, encode
from mycel.store.write import bulk
from mycel.store.write.purge import purge
from tests.cases import cases
from tests.unit.store.damage import cells, changes, write
from tests.unit.store.given import (
    EVENT,
    FACT,
    Clock,
    DeliberateError,
    assert_sound,
    columns_of,
    define,
    fail_after,
    number_of,
    problems,
    raw,
)

Wanted = Sequence[tuple[tuple[str, ...], bool]]

TEXT_AND_N: Wanted = [(("text",), False), (("n",), True), (("text", "n"), True)]
ENDS: Wanted = [(("src", "why"), True), (("why",), False), (("dst",), False)]


@pytest.fixture
def db(path: Path, clock: Clock) -> Iterator[mycel.Graph]:
    """Without guards: what the index holds is the store's own business."""
    store = Store(path, clock_us=clock, durability="off")
    with mycel.Graph(store, actor="tester") as db:
        define(db, [FACT, EVENT], ["likes", "knows"])
        yield db


def number_of_type(tx: mycel.Transaction, name: str) -> int:
    return tx.reader.type_number(name)


def number_of_predicate(tx: mycel.Transaction, name: str) -> int:
    return tx.reader.predicate_number(name)


def want(tx: mycel.Transaction, name: str, wanted: Wanted, *, link: bool = False) -> None:
    number = number_of_predicate(tx, name) if link else number_of_type(tx, name)
    tx.define_indexes(number, link=link, indexes=wanted)


def index(db: mycel.Graph, wanted: Wanted = TEXT_AND_N, name: str = FACT) -> None:
    db.write(lambda tx: want(tx, name, wanted, link=name not in (FACT, EVENT)))


def redefine(db: mycel.Graph, wanted: Wanted) -> None:
    """Other slots, and a definition that says so: as slots are meant to be defined."""

    def work(tx: mycel.Transaction) -> None:
        want(tx, FACT, wanted)
        tx.define_type(FACT, {"indexes": len(wanted)})

    db.write(work)


def held(tx: mycel.Transaction, name: str = FACT, *, link: bool = False) -> Properties:
    """The index as a transaction sees it, with the slots of a type made sure of."""
    number = number_of_predicate(tx, name) if link else number_of_type(tx, name)
    assert tx.ledger.properties.slots(number, link=link)
    return tx.ledger.properties


# What should be there, made from the live rows by other means than those of the store.


def spelt(values: Sequence[Any]) -> Any:
    if any(value is None for value in values):
        return None
    if len(values) > 1:
        plain = [int(v) if type(v) is float and v == int(v) else v for v in values]
        return compact(plain)
    (value,) = values
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int) and value >= 2**63:
        return f"{value:020}"
    return value if isinstance(value, (str, int, float)) else compact(value)


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def in_order(entries: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(entries, key=lambda entry: (entry[0], entry[2], repr(entry[1])))


def expected(connection: Any) -> list[tuple[Any, ...]]:
    entries = []
    slots = connection.execute("SELECT * FROM property_slot").fetchall()
    for number, owner, is_link, columns, _ in slots:
        if is_link:
            rows = connection.execute(
                "SELECT id, attributes, subject, object FROM proposition WHERE predicate = ?",
                (owner,),
            )
        else:
            rows = connection.execute("SELECT id, attributes FROM concept WHERE type = ?", (owner,))
        for element, attributes, *ends in rows:
            known = json.loads(attributes) | dict(zip(("src", "dst"), ends, strict=False))
            value = spelt([known.get(column) for column in json.loads(columns)])
            if value is not None:
                entries.append((number, value, element))
    return in_order(entries)


def stored(connection: Any) -> list[tuple[Any, ...]]:
    return in_order(connection.execute("SELECT slot, value, element FROM property").fetchall())


def assert_right(path: Path) -> None:
    with raw(path) as connection:
        assert stored(connection) == expected(connection)


def values_in(path: Path, column: str = "text") -> list[tuple[Any, int]]:
    """Values and elements in the slot of one column."""
    with raw(path) as connection:
        return connection.execute(
            "SELECT value, element FROM property NATURAL JOIN property_slot WHERE columns = ?",
            (json.dumps([column]),),
        ).fetchall()


# ---------------------------------------------------------------------------------------------
# Values


@cases(
    ("values", "entry"),
    [
        (("a text",), "a text"),
        (("",), ""),
        ((5,), 5),
        ((-(2**63),), -(2**63)),
        ((2**63 - 1,), 2**63 - 1),
        ((2**63,), "09223372036854775808"),
        ((2**64 - 1,), "18446744073709551615"),
        ((2.5,), 2.5),
        ((True,), 1),
        ((False,), 0),
        (([1, "b"],), '[1,"b"]'),
        (({"b": 1, "a": 2},), '{"a":2,"b":1}'),
        ((None,), None),
        (("a", None), None),
        (("a", 1), '["a",1]'),
        (("a", 1.0), '["a",1]'),
        (("ä", True, 2**64 - 1), '["ä",true,18446744073709551615]'),
        ((float(2**63), 1), "[9223372036854775808,1]"),
    ],
)
def test_values_are_encoded_so_that_they_compare_as_they_should(
    values: tuple[Any, ...], entry: object
) -> None:
    found = encode(values)
    assert found == entry
    assert type(found) is type(entry)


@pytest.mark.parametrize("number", [2.0**64, 1e20, -1e20, 1.7976931348623157e308])
def test_whole_numbers_beyond_64_bits_are_told_apart_in_tuples(number: float) -> None:
    assert encode((number, 1)) == encode((number, 1.0))
    assert encode((number, 1)) != encode((math.nextafter(number, 0.0), 1))


def test_unsigned_integers_keep_their_order_in_the_index(db: mycel.Graph, path: Path) -> None:
    index(db, [(("n",), False)])
    numbers = [2**64 - 1, 3, 2**63, 2**63 - 1, -5, 2**63 + 1]
    with db.transaction() as tx:
        tx.put_concepts(mycel.ConceptRow(FACT, f"row {n}", {"n": n}) for n in numbers)
    with raw(path) as connection:
        rows = connection.execute("SELECT value FROM property ORDER BY slot, value").fetchall()
    assert [int(value) for (value,) in rows] == sorted(numbers)
    assert_right(path)


# ---------------------------------------------------------------------------------------------
# Every way in which a live row changes


def test_each_change_of_a_concept_is_in_the_index(db: mycel.Graph, path: Path) -> None:
    index(db)
    one = db.write(lambda tx: tx.put_concept(FACT, "one", {"text": "a", "n": 1}))
    number = number_of(one)
    assert values_in(path) == [("a", number)]
    db.write(lambda tx: tx.update(one, attributes={"text": "b"}))
    assert values_in(path) == [("b", number)]
    db.write(lambda tx: tx.update(one, drop_attributes=["text"]))
    assert values_in(path) == []
    db.write(lambda tx: tx.update(one, attributes={"text": None}))
    assert values_in(path) == []
    db.write(lambda tx: tx.put_concept(FACT, "one", {"text": "c"}))
    assert values_in(path) == [("c", number)]
    db.write(lambda tx: tx.retire(one))
    assert values_in(path) == []
    db.write(lambda tx: tx.put_concept(FACT, "one", {"text": "d"}))
    assert values_in(path) == [("d", number)]
    db.write(lambda tx: tx.move(one, type_name=EVENT))
    assert values_in(path) == []
    db.write(lambda tx: tx.move(one, type_name=FACT, name="first"))
    assert values_in(path) == [("d", number)]
    db.purge(one, "asked for")
    assert values_in(path) == []
    assert_right(path)
    assert_sound(db)


def test_each_change_of_a_link_is_in_the_index(db: mycel.Graph, path: Path) -> None:
    index(db, ENDS, "likes")
    a, b, c = (db.write(lambda tx, n=n: tx.put_concept(FACT, n)) for n in "abc")
    link = db.write(lambda tx: tx.add_edge(a, "likes", b, data={"why": "so"}))
    number = number_of(link)
    assert values_in(path, "dst") == [(number_of(b), number)]
    db.write(lambda tx: tx.relink(link, object_=c))
    assert values_in(path, "dst") == [(number_of(c), number)]
    db.write(lambda tx: tx.update(link, attributes={"why": "else"}))
    assert values_in(path, "why") == [("else", number)]
    assert_right(path)
    moved = db.write(lambda tx: tx.move(link, predicate="knows"))
    assert values_in(path, "dst") == []
    db.write(lambda tx: tx.move(moved, predicate="likes"))
    db.write(lambda tx: tx.relink(link, subject=b))
    assert_right(path)
    db.write(lambda tx: tx.retire(c))
    assert values_in(path, "dst") == []
    assert_right(path)
    assert_sound(db)


def test_a_change_that_is_taken_back_in_its_transaction_leaves_the_entry(
    db: mycel.Graph, path: Path
) -> None:
    index(db)
    one = db.write(lambda tx: tx.put_concept(FACT, "one", {"text": "a"}))
    with db.transaction() as tx:
        tx.update(one, attributes={"text": "b"})
        tx.update(one, attributes={"text": "a"})
    assert values_in(path) == [("a", number_of(one))]
    with db.transaction() as tx:
        tx.retire(one)
        tx.put_concept(FACT, "one", {"text": "a"})
    assert values_in(path) == [("a", number_of(one))]
    with db.transaction() as tx:
        two = tx.put_concept(FACT, "two", {"text": "a"})
        tx.retire(two)
    assert_right(path)


def test_rows_of_a_bulk_put_may_change_before_they_are_in_the_index(
    db: mycel.Graph, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "BATCH_ROWS", 200)
    index(db)
    index(db, ENDS, "likes")
    with db.transaction() as tx:
        made = tx.put_concepts(
            mycel.ConceptRow(FACT, f"row {n}", {"text": f"t{n % 7}", "n": n}) for n in range(500)
        )
        tx.put_propositions(
            mycel.PropositionRow(each, "likes", made[0], {"why": "so"}) for each in made[1:300]
        )
        tx.update(made[4], attributes={"text": "changed"})
        tx.retire(made[5])
        purge(tx, made[6], "asked for")
        tx.move(made[7], type_name=EVENT)
    assert_right(path)
    assert_sound(db)


def test_a_bulk_put_in_which_rows_exist_leaves_one_entry_for_each(
    db: mycel.Graph, path: Path
) -> None:
    index(db)
    rows = [mycel.ConceptRow(FACT, f"row {n}", {"n": n}) for n in range(20)]
    with db.transaction() as tx:
        tx.put_concepts(rows)
        tx.put_concepts([*rows, mycel.ConceptRow(FACT, "row 3", {"n": 99})])
    assert_right(path)
    assert (99,) in [(value,) for value, _ in values_in(path, "n")]


def test_many_changes_are_written_on_the_way(
    db: mycel.Graph, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(properties, "HELD_MAX", 50)
    index(db)
    with db.transaction() as tx:
        made = [tx.put_concept(FACT, f"one {n}", {"text": f"t{n}", "n": n}) for n in range(100)]
        for each in made[:60]:
            tx.update(each, attributes={"text": "same"})
        tx.put_concepts(mycel.ConceptRow(FACT, f"row {n}", {"n": n}) for n in range(100, 300))
        tx.retire(made[1])
        connection = tx.ledger.connection
        (written,) = connection.execute("SELECT count(*) FROM property").fetchone()
        assert written > 300, "before the transaction ends"
    assert_right(path)


# ---------------------------------------------------------------------------------------------
# Slots


def test_slots_are_filled_from_the_live_rows_and_emptied_when_they_go(
    db: mycel.Graph, path: Path
) -> None:
    with db.transaction() as tx:
        made = tx.put_concepts(
            mycel.ConceptRow(FACT, f"row {n}", {"n": n, "text": f"t{n}"}) for n in range(2_100)
        )
        tx.retire(made[0])
        tx.put_concept(EVENT, "other", {"n": 7})
    index(db, [(("n",), False), (("text",), False)])
    assert len(values_in(path, "n")) == 2_099
    index(db, [(("n",), False), (("n", "text"), True)])
    assert values_in(path, "text") == []
    assert_right(path)
    index(db, [])
    with raw(path) as connection:
        assert stored(connection) == []
        assert connection.execute("SELECT * FROM property_slot").fetchall() == []
    assert_sound(db)


def test_defining_what_is_defined_changes_nothing(db: mycel.Graph, path: Path) -> None:
    index(db)
    with raw(path) as connection:
        before = connection.execute("SELECT * FROM property_slot").fetchall()
    index(db, list(reversed(TEXT_AND_N)))
    index(db, [*TEXT_AND_N, *TEXT_AND_N])
    with raw(path) as connection:
        assert connection.execute("SELECT * FROM property_slot").fetchall() == before


def test_slots_say_what_they_are(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        owner = number_of_predicate(tx, "likes")
        assert tx.ledger.properties.slots(owner, link=True) == ()
        want(tx, "likes", ENDS, link=True)
        found = tx.ledger.properties.slots(owner, link=True)
        assert tx.ledger.properties.slots(owner, link=False) == ()
    assert found == (
        Slot(1, owner, True, ("src", "why"), True),
        Slot(2, owner, True, ("why",), False),
        Slot(3, owner, True, ("dst",), False),
    )


def test_slots_defined_in_a_transaction_count_for_what_it_writes(
    db: mycel.Graph, path: Path
) -> None:
    with db.transaction() as tx:
        tx.put_concept(FACT, "before", {"text": "a"})
        want(tx, FACT, TEXT_AND_N)
        tx.put_concept(FACT, "after", {"text": "b"})
        tx.put_concepts(mycel.ConceptRow(FACT, f"row {n}", {"n": n}) for n in range(9))
    assert [value for value, _ in values_in(path)] == ["a", "b"]
    assert_right(path)


def test_slots_of_a_transaction_that_is_rolled_back_are_forgotten(
    db: mycel.Graph, path: Path
) -> None:
    with pytest.raises(DeliberateError):
        fail_after(db, lambda tx: want(tx, FACT, TEXT_AND_N))
    db.write(lambda tx: tx.put_concept(FACT, "one", {"text": "a"}))
    assert_right(path)
    index(db)
    with pytest.raises(DeliberateError):
        fail_after(db, lambda tx: want(tx, FACT, []))
    db.write(lambda tx: tx.put_concept(FACT, "two", {"text": "b"}))
    assert [value for value, _ in values_in(path)] == ["a", "b"]
    assert_right(path)


def test_slots_that_another_process_defines_are_seen_by_the_next_write(
    db: mycel.Graph, path: Path
) -> None:
    with mycel.Graph(Store(path, durability="off")) as other:
        db.write(lambda tx: tx.put_concept(FACT, "one", {"text": "a"}))
        redefine(other, TEXT_AND_N)
        db.write(lambda tx: tx.put_concept(FACT, "two", {"text": "b"}))
        assert [value for value, _ in values_in(path)] == ["a", "b"]
        redefine(db, [])
        other.write(lambda tx: tx.put_concept(FACT, "three", {"text": "c"}))
        assert values_in(path) == []
    program = """
import sys
from mycel.store.database import Store
store = Store(sys.argv[1])
def work(tx):
    number = tx.reader.type_number("Fact")
    tx.ledger.properties.define(number, link=False, indexes=[(("text",), False)])
    tx.put_concept("Fact", "four", {"text": "d"})
store.run(work, actor="other", message="")
store.close()
"""
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)
    db.write(lambda tx: tx.put_concept(FACT, "five", {"text": "e"}))
    assert sorted(value for value, _ in values_in(path)) == ["a", "b", "c", "d", "e"]
    assert_right(path)


def in_one_group(db: mycel.Graph, works: Sequence[Callable[[mycel.Transaction], Any]]) -> None:
    """Run short transactions that share one commit; those that fail take nothing with them."""
    writer = db._store._writer
    deadline = time.monotonic() + 60

    def first(tx: mycel.Transaction) -> Any:
        while writer._short_waiting < len(works) - 1 and time.monotonic() < deadline:
            threading.Event().wait(0.001)
        return works[0](tx)

    def run(work: Callable[[mycel.Transaction], Any]) -> None:
        with suppress(DeliberateError):
            db.write(work)

    with ThreadPoolExecutor(len(works)) as pool:
        leader = pool.submit(run, first)
        while not writer.__dict__["_owner"] and time.monotonic() < deadline:
            threading.Event().wait(0.001)
        for each in [leader, *(pool.submit(run, work) for work in works[1:])]:
            each.result(60)


def test_a_member_of_a_group_that_fails_leaves_its_entries_and_slots_behind(
    db: mycel.Graph, path: Path
) -> None:
    def failing(tx: mycel.Transaction) -> None:
        want(tx, FACT, [(("n",), False)])
        tx.put_concept(FACT, "lost", {"text": "lost", "n": 1})
        tx.ledger.properties.flush()
        raise DeliberateError

    in_one_group(
        db,
        [
            lambda tx: [want(tx, FACT, TEXT_AND_N), tx.put_concept(FACT, "one", {"text": "a"})],
            failing,
            lambda tx: tx.put_concept(FACT, "two", {"text": "b", "n": 2}),
            failing,
            lambda tx: tx.put_concept(FACT, "three", {"text": "c", "n": 3}),
        ],
    )
    assert sorted(value for value, _ in values_in(path)) == ["a", "b", "c"]
    assert_right(path)
    assert_sound(db)


# ---------------------------------------------------------------------------------------------
# Asking


def test_conflicts_see_what_the_transaction_has_written(db: mycel.Graph) -> None:
    index(db)
    one = db.write(lambda tx: tx.put_concept(FACT, "one", {"text": "a", "n": 1}))
    with db.transaction() as tx:
        index_ = held(tx)
        _, n, pair = index_.slots(number_of_type(tx, FACT), link=False)
        two = tx.put_concept(FACT, "two", {"text": "a", "n": 2})
        assert index_.conflicts(9) == [], "that a text is there twice is no conflict"
        tx.update(two, attributes={"n": 1.0})
        both = number_of(one), number_of(two)
        assert index_.conflicts(9) == [
            UniqueConflict(n, (1,), both),
            UniqueConflict(pair, ("a", 1), both),
        ]
        assert len(index_.conflicts(1)) == 1
        tx.retire(one)
        assert index_.conflicts(9) == []


@pytest.mark.parametrize("probed_max", [10, 100_000], ids=["scanned", "probed"])
def test_conflicts_among_many_rows_are_found(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch, probed_max: int
) -> None:
    monkeypatch.setattr(properties, "PROBED_MAX", probed_max)
    index(db, [(("n",), True)])
    with db.transaction() as tx:
        rows = [mycel.ConceptRow(FACT, f"row {n}", {"n": n % 995}) for n in range(1_000)]
        made = tx.put_concepts(rows)
        found = held(tx).conflicts(100)
        assert [(each.values, each.elements) for each in found] == [
            ((n,), (number_of(made[n]), number_of(made[n + 995]))) for n in range(5)
        ]
        assert len(held(tx).conflicts(3)) == 3


def test_a_new_unique_slot_finds_the_conflicts_that_are_there(db: mycel.Graph) -> None:
    a, b, c = (db.write(lambda tx, n=n: tx.put_concept(FACT, n, {"n": 1})) for n in "abc")
    first, other = (
        db.write(lambda tx, end=end: tx.add_edge(a, "likes", end, data={"why": "so"}))
        for end in (b, c)
    )
    with db.transaction() as tx:
        want(tx, FACT, [(("n",), True)])
        want(tx, "likes", [(("src", "why"), True)], link=True)
        found = tx.conflicts(10)
    assert [(each.values, each.elements) for each in found] == [
        ((1,), tuple(map(number_of, (a, b, c)))),
        ((number_of(a), "so"), (number_of(first), number_of(other))),
    ]
    with db.transaction() as tx:
        tx.put_concept(FACT, "d", {"n": 2})
        assert tx.conflicts(10) == [], "only what is touched is looked at"


def test_a_planned_statement_of_a_transaction_finds_complete_indexes(db: mycel.Graph) -> None:
    index(db)
    command = parse(f'FIND(?f) WHERE {{ ?f {{type: "{FACT}"}} }}')
    assert isinstance(command, ast.Find)
    with db.transaction() as tx:
        tx.put_concept(FACT, "one", {"text": "a"})
        tx.put_concepts(mycel.ConceptRow(FACT, f"row {n}", {"text": "b"}) for n in range(9))
        assert len(targets(tx.reader, command.where, "f", Values({}))) == 10
        (count,) = tx.ledger.connection.execute("SELECT count(*) FROM property").fetchone()
        assert count == 10


# ---------------------------------------------------------------------------------------------
# Against the live rows, whatever happens

NAMES = ("a", "b", "c", "d")
VALUES = st.sampled_from(
    [None, "x", "y", "", 1, 1.0, 2.5, True, False, 2**63, 2**64 - 1, -1, [1], {"k": "v"}, "5", 5]
)
ATTRIBUTES = st.dictionaries(st.sampled_from(["text", "n", "other"]), VALUES)
STEPS = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(NAMES), ATTRIBUTES),
    st.tuples(st.just("bulk"), st.sampled_from(NAMES), ATTRIBUTES),
    st.tuples(st.just("update"), st.sampled_from(NAMES), ATTRIBUTES),
    st.tuples(st.just("drop"), st.sampled_from(NAMES), st.sampled_from(["text", "n"])),
    st.tuples(st.just("retire"), st.sampled_from(NAMES)),
    st.tuples(st.just("purge"), st.sampled_from(NAMES)),
    st.tuples(st.just("move"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.tuples(st.just("turn"), st.sampled_from(NAMES), st.sampled_from([FACT, EVENT])),
    st.tuples(st.just("link"), st.sampled_from(NAMES), st.sampled_from(NAMES), VALUES),
    st.tuples(st.just("relink"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.tuples(st.just("rename"), st.sampled_from(NAMES)),
    st.tuples(st.just("slots"), st.sampled_from([(), TEXT_AND_N[:2], TEXT_AND_N])),
    st.tuples(st.just("link slots"), st.sampled_from([(), ENDS[:1], ENDS])),
    st.tuples(st.just("flush")),
)
STORIES = st.lists(st.tuples(st.lists(STEPS, max_size=8), st.booleans()), max_size=6)


def find(tx: mycel.Transaction, name: str) -> str:
    for type_name in (FACT, EVENT):
        concept = tx.get_concept(type_name, name)
        if concept is not None:
            return concept.id
    return tx.put_concept(FACT, name)


def a_link(tx: mycel.Transaction, name: str) -> str:
    number = number_of(find(tx, name))
    found = list(tx.reader.touching(number))
    return tx.reader.outer_id(found[0]) if found else "P:1:likes"


def take(tx: mycel.Transaction, step: tuple[Any, ...]) -> None:
    match step:
        case "put", name, attributes:
            tx.put_concept(FACT, name, attributes)
        case "bulk", name, attributes:
            rows = [mycel.ConceptRow(FACT, f"{name}{n}", attributes) for n in range(5)]
            ends = tx.put_concepts([*rows, mycel.ConceptRow(EVENT, name)])
            links = pairwise(ends)
            tx.put_propositions(
                mycel.PropositionRow(one, "likes", two, {"why": attributes.get("text")})
                for one, two in links
            )
        case "update", name, attributes:
            tx.update(find(tx, name), attributes=attributes)
        case "drop", name, column:
            tx.update(find(tx, name), drop_attributes=[column])
        case "retire", name:
            tx.retire(find(tx, name))
        case "purge", name:
            purge(tx, find(tx, name), "why")
        case "move", name, other:
            tx.move(find(tx, name), name=other)
        case "turn", name, type_name:
            tx.move(find(tx, name), type_name=type_name)
        case "link", one, two, value:
            tx.put_proposition(find(tx, one), "likes", find(tx, two), {"why": value})
        case "relink", name, other:
            tx.relink(a_link(tx, name), object_=find(tx, other))
        case "rename", name:
            link = tx.get(a_link(tx, name))
            assert isinstance(link, mycel.Proposition)
            tx.move(link, predicate="knows" if link.predicate == "likes" else "likes")
        case "slots", wanted:
            want(tx, FACT, wanted)
        case "link slots", wanted:
            want(tx, "likes", wanted, link=True)
        case _:
            tx.ledger.properties.flush()


@given(story=STORIES)
def test_whatever_happens_the_index_holds_what_the_live_rows_hold(story: Any) -> None:
    with mycel.Graph(Store(":memory:"), actor="tester") as db:
        define(db, [FACT, EVENT], ["likes", "knows"])
        index(db)
        index(db, ENDS, "likes")
        for steps, fails in story:
            with suppress(DeliberateError, MycelError), db.transaction() as tx:
                for step in steps:
                    before = tx.position
                    try:
                        take(tx, step)
                    except MycelError:
                        if tx.spoiled or tx.position != before:
                            raise
                tx.ledger.properties.flush()
                connection = tx.ledger.connection
                assert stored(connection) == expected(connection), "within the transaction"
                if fails:
                    raise DeliberateError
            with db._store.reading() as reader:
                assert stored(reader.connection) == expected(reader.connection)
        assert problems(db.verify(replay=True)) == []


# ---------------------------------------------------------------------------------------------
# Damage

TEXT = PropertyType("String", is_nullable=True)
NODE = NodeType(
    FACT,
    1,
    properties=(
        Property("text", TEXT, 2),
        Property("n", PropertyType("F64", is_nullable=True), 3),
        Property("code", PropertyType("I64", is_nullable=True), 4),
    ),
    constraints=(Index(("text",)), Unique(("n",)), Unique(("text", "n")), Key(("code",))),
)
EDGE = EdgeType(
    "likes",
    5,
    FACT,
    FACT,
    properties=(Property("why", TEXT, 6),),
    constraints=(Unique(("src", "why")), Index(("why",))),
)


@pytest.fixture(scope="module")
def declared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed graph with a declared type and a declared predicate, and the slots they ask for."""
    from mycel.schema.model import index_slots

    path = tmp_path_factory.mktemp("declared") / "graph.db"
    with mycel.Graph(Store(path, durability="off")) as db:

        def work(tx: mycel.Transaction) -> None:
            tx.define_type(FACT, attributes_of(NODE, {FACT: NODE}))
            tx.define_predicate("likes", attributes_of(EDGE, {FACT: NODE}))
            want(tx, FACT, list(index_slots(NODE).items()))
            want(tx, "likes", list(index_slots(EDGE).items()), link=True)
            made = [
                tx.put_concept(FACT, str(n), {"text": f"t{n}", "n": n + 0.5, "code": n + 70})
                for n in range(4)
            ]
            tx.put_proposition(made[0], "likes", made[1], {"why": "so"})

        db.write(work)
        assert_sound(db)
    return path


def findings(path: Path) -> list[dict[str, str]]:
    with mycel.Graph(Store(path, durability="off")) as db:
        return problems(db.verify())


def test_a_changed_bit_in_the_index_or_its_slots_is_reported(declared: Path, path: Path) -> None:
    random, missed, tried = Random(3), [], 0
    for table in ("property", "property_slot"):
        with raw(declared) as connection:
            found = cells(connection, table, 4, random)
            assert {cell.column for cell in found} == set(columns_of(connection, table))
        for cell in found:
            for value in changes(cell.value, 2, random):
                path.write_bytes(declared.read_bytes())
                with raw(path) as connection:
                    written = write(connection, cell, value)
                tried += written
                if written and not findings(path):
                    missed.append(f"{cell}: {cell.value!r} -> {value!r}")
    assert missed == []
    assert tried > 30


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("DELETE FROM property WHERE value = 't1'", "lacks the value"),
        ("INSERT INTO property VALUES (1, 'more', 2)", "is not its value"),
        ("INSERT INTO property VALUES (1, 't1', 999)", "is not its value"),
        ("INSERT INTO property VALUES (99, 't1', 2)", "does not exist"),
        ("UPDATE property SET value = 'x' WHERE value = 't1'", "lacks the value"),
        ("DELETE FROM property_slot WHERE slot = 1", "does not have the indexes"),
        ("INSERT INTO property_slot VALUES (9, 3, 0, '[\"m\"]', 0)", "does not have the indexes"),
        ("UPDATE property_slot SET columns = '[]' WHERE slot = 1", "invalid columns"),
        ("UPDATE property_slot SET columns = 'x' WHERE slot = 1", "could not be checked"),
    ],
)
def test_an_index_that_says_something_else_than_the_rows_is_reported(
    declared: Path, path: Path, damage: str, said: str
) -> None:
    path.write_bytes(declared.read_bytes())
    with raw(path) as connection:
        connection.execute(damage)
    found = [each["what"] for each in findings(path) if each["check"] == "properties"]
    assert any(said in each for each in found), found
