"""The engine as a whole: many threads at once, and what SQLite must not do behind its back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import Any

import apsw
import pytest

import mycel
from mycel.engine.plan_cache import COMMANDS_CACHED_MAX
from mycel.errors import ImmutableTarget, TypeMismatch
from mycel.store.backend import failures
from tests.prepared import NEW
from tests.unit.engine.town import towns
from tests.unit.store.given import assert_sound

THREADS = 6


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with towns(60) as db:
        yield db


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    """Let threads take turns in the middle of everything."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def together(work: Callable[[int], Any], count: int = THREADS) -> list[Any]:
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, range(count)))


# Threads.


def test_threads_that_ask_the_same_get_the_same(db: mycel.Graph) -> None:
    command = 'FIND(?t.name) WHERE { ?t {type: "Town"} FILTER(?t.attributes.size == :size) }'
    alone = [sorted(db.execute(command, size=size).value) for size in range(7)]

    def ask(me: int) -> bool:
        return all(
            sorted(db.execute(command, size=(me + n) % 7).value) == alone[(me + n) % 7]
            for n in range(60)
        )

    assert all(together(ask))


def test_threads_with_more_commands_than_are_kept_all_get_answers(db: mycel.Graph) -> None:
    def ask(me: int) -> None:
        for n in range(COMMANDS_CACHED_MAX // 3):
            name = f"v{(n * 7 + me) % (COMMANDS_CACHED_MAX * 2)}"
            command = f'FIND(?{name}.name) WHERE {{ ?{name} {{type: "Town", name: :name}} }}'
            assert db.execute(command, name=f"t{n % 60}").value == [f"t{n % 60}"]

    together(ask)
    assert len(db.engine._commands.known) <= COMMANDS_CACHED_MAX + THREADS


def test_threads_with_more_plans_than_are_kept_all_get_answers(db: mycel.Graph) -> None:
    command = 'FIND(COUNT(?t)) WHERE { ?t {type: "Town"} FILTER(?t.attributes.size != :value) }'

    def ask(me: int) -> None:
        for n in range(120):
            assert db.execute(command, value=[n, me]).value == 60

    together(ask)


def test_every_answer_is_of_one_moment_while_another_thread_writes(db: mycel.Graph) -> None:
    """Each write adds one to two towns at once, so that every moment has both the same."""
    pair = (
        "FIND(?a.attributes.n, ?b.attributes.n)"
        ' WHERE { ?a {type: "Town", name: "t1"} ?b {type: "Town", name: "t2"} }'
    )
    add = (
        "UPDATE ?t SET ATTRIBUTES { n: ADD(COALESCE(?t.attributes.n, 0), 1) }"
        ' WHERE { ?t {type: "Town"} FILTER(IN(?t.name, ["t1", "t2"])) }'
    )
    paged = (
        "FIND(?t.name, ?t.attributes.n)"
        ' WHERE { ?t {type: "Town"} FILTER(IS_NOT_NULL(?t.attributes.n)) } LIMIT 1'
    )
    db.execute(add)
    done = Event()

    def ask(me: int) -> int:
        if me == 0:
            for _ in range(60):
                db.execute(add)
            done.set()
            return 0
        seen: list[Any] = []
        while not done.is_set() or not seen:
            if me % 2:
                [[one], [other]] = db.execute(pair).value
            else:
                first = db.execute(paged)
                second = db.execute(f"{paged} CURSOR :cursor", cursor=first.next_cursor)
                [(_, one)], [(_, other)] = first.rows, second.rows
            assert one == other
            assert not seen or one >= seen[-1]
            seen.append(one)
        return len(seen)

    assert all(together(ask)[1:])
    assert db.execute(pair).value == [[61], [61]]


def test_definitions_that_come_and_go_never_give_a_wrong_answer(db: mycel.Graph) -> None:
    """A type of the same name may have another number; a plan for the old one must not be used."""
    command = 'FIND(?s.name) WHERE { ?s {type: "Spring"} }'
    done = Event()

    def change(me: int) -> None:
        if me == 0:
            for n in range(25):
                db.execute(
                    'UPSERT { CONCEPT { {type: "$ConceptType", name: "Spring"} } }'
                    'UPSERT { CONCEPT { {type: "Spring", name: :name} } }',
                    name=f"s{n}",
                )
                db.execute('DELETE CONCEPT ?s DETACH WHERE { ?s {type: "Spring"} }')
                db.execute(
                    'DELETE CONCEPT ?t DETACH WHERE { ?t {type: "$ConceptType", name: "Spring"} }'
                )
            done.set()
            return
        while not done.is_set():
            with suppress(TypeMismatch):  # At this moment it is not defined.
                assert len(db.execute(command).value) <= 1

    together(change)
    assert_sound(db)


# What a door allows.


def test_a_door_that_only_reads_refuses_every_command_that_writes(db: mycel.Graph) -> None:
    for command in (
        'UPSERT { CONCEPT { {type: "Town", name: "x"} } }',
        'EXPLAIN ANALYZE UPSERT { CONCEPT { {type: "Town", name: "x"} } }',
        'UPDATE ?t SET ATTRIBUTES { a: 1 } WHERE { ?t {type: "Town"} }',
        'DELETE CONCEPT ?t DETACH WHERE { ?t {type: "Town"} }',
    ):
        with pytest.raises(ImmutableTarget):
            db.execute(command, readonly=True)
    assert db.execute("DESCRIBE CONCEPT TYPES", readonly=True).value


# SQLite.


def every_connection(db: mycel.Graph) -> list[apsw.Connection]:
    with db._store.reading() as reader, db._store.reading() as other, db.transaction() as tx:
        tx.define_type("Other")
        return [reader.connection, other.connection, tx.ledger.connection]


def test_no_connection_plans_a_statement_by_its_values(db: mycel.Graph) -> None:
    """With the values in view SQLite would prepare a statement again for every new one."""
    for connection in every_connection(db):
        assert connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, -1) == 1


@contextmanager
def counted_preparations(connection: apsw.Connection) -> Iterator[list[int]]:
    """A list that grows whenever SQLite prepares a statement: it then asks what is allowed."""
    asked: list[int] = []

    def allow(action: int, *_: str | None) -> int:
        if action == apsw.SQLITE_SELECT:
            asked.append(action)
        return apsw.SQLITE_OK

    connection.authorizer = allow
    try:
        yield asked
    finally:
        connection.authorizer = None


def test_other_values_do_not_prepare_a_statement_again(db: mycel.Graph) -> None:
    """A comparison with GLOB is what SQLite would otherwise plan by the value."""
    with db._store.reading() as reader, counted_preparations(reader.connection) as made:
        for n in range(6):
            value = f"t{n}*" if n % 2 else f"*{n}"
            statement = "SELECT id FROM concept WHERE name GLOB ?1"
            reader.connection.execute(statement, (value,)).fetchall()
        assert len(made) == 1


def test_a_command_is_one_statement_that_is_prepared_once(db: mycel.Graph) -> None:
    command = 'FIND(?t.name) WHERE { ?t {type: "Town"} FILTER(STARTS_WITH(?t.name, :part)) }'
    db.execute(command, part="t")
    (reader,) = db._store._idle
    with counted_preparations(reader.connection) as made:
        for part in ("t1", "", "t5", "x" * 100):
            db.execute(command, part=part)
        assert len(made) == 1


def test_no_statistics_of_sqlite_are_kept(tmp_path: Path) -> None:
    """Plans are ours; statistics of an index that the text search keeps would only mislead."""
    path = tmp_path / "graph.db"
    with towns(300, path=str(path)) as db:
        db.execute('SEARCH CONCEPT "t1"')
        db._store.fold()
        with db._store.reading() as reader:
            tables = reader.connection.execute(
                "SELECT name FROM sqlite_schema WHERE name LIKE 'sqlite_stat%'"
            ).fetchall()
    assert tables == []


def test_functions_of_statements_are_on_every_connection(db: mycel.Graph) -> None:
    for connection in every_connection(db):
        for call in ("mycel_json_equal('1', '1.0')", "mycel_regex('a', 'ba')"):
            assert connection.execute(f"SELECT {call}").fetchall() == [(1,)]


def test_a_reader_cannot_write(db: mycel.Graph) -> None:
    with db._store.reading() as reader, pytest.raises(apsw.ReadOnlyError):
        reader.connection.execute("DELETE FROM concept")


def test_what_sqlite_says_of_an_interruption_becomes_our_error() -> None:
    assert failures.translate(apsw.InterruptError("interrupted")).code == "KIP_4001"


def test_threads_that_meet_a_sum_beyond_64_bits_all_get_it(db: mycel.Graph) -> None:
    command = 'FIND(SUM(?t.attributes.huge)) WHERE { ?t {type: "Town"} FILTER(?t.name != :name) }'
    db.execute('UPDATE ?t SET ATTRIBUTES { huge: :n } WHERE { ?t {type: "Town"} }', n=2**62)

    def ask(_: int) -> Any:
        return {db.execute(command, name="").value for _ in range(20)}

    for _ in range(5):
        db.engine._commands.known.clear()
        assert together(ask) == [{60 * 2.0**62}] * THREADS


QUOTED = (
    'FIND(?d) WHERE { ?d {type: "Domain"} FILTER(?d.name == ":who") }',
    'FIND(?d) WHERE { ?d {type: "Domain"} FILTER(CONTAINS(?d.name, "a \\" :who")) }',
    'UPSERT { CONCEPT { {type: "Domain", name: "for :who"} SET ATTRIBUTES {description: "d"} } }',
    'SEARCH CONCEPT ":who"',
)


def test_a_parameter_that_stands_only_inside_a_string_is_a_warning() -> None:
    with NEW.opened() as db:
        for command in QUOTED:
            warnings = db.execute(command, {"who": "ada"}).warnings
            assert [each for each in warnings if ":who is not used" in each], command
        told = db.apply_capsule(QUOTED[2], {"who": "ada"})
        assert [each for each in told.warnings if "without quotes" in each]


def test_other_parameters_are_no_warning() -> None:
    test = '?d.name != ":who" && ?d.name != :who'
    with NEW.opened() as db:
        command = f'FIND(?d.name) WHERE {{ ?d {{type: "Domain"}} FILTER({test}) }}'
        assert not db.execute(command, {"who": "ada", "unused": 1}).warnings
