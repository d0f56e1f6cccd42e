"""Graphs in PostgreSQL: opening, writing from many sides, faults, and what is refused."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from itertools import count, pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

import mycel
from mycel.engine import references
from mycel.errors import (
    CommitUncertain,
    ConstraintViolation,
    DatabaseCorrupt,
    DatabaseError,
    DatabaseReadOnly,
    ExecutionTimeout,
    InvalidIdentifier,
    InvalidValueType,
    MycelError,
    NotADatabase,
)
from mycel.mirror.mirror import Mirror
from mycel.model.evidence import belief
from mycel.store.backend.failures import translated
from mycel.store.backend.postgres import layout, library, location
from mycel.store.backend.postgres.address import parse_address
from mycel.store.backend.postgres.location import PostgresLocation
from mycel.store.backend.postgres.markers import number_markers, values_of
from mycel.store.backend.postgres.wire import Wire
from mycel.store.query import lookup
from tests.postgres_server import PostgresServer

GRAPHS = Path(__file__).parents[2] / "conformance" / "graphs"
PAGE = Path(__file__).parents[3] / "docs" / "postgres.md"


def ticking() -> Callable[[], int]:
    ticks = count(1_700_000_000_000_000, 1000)
    return lambda: next(ticks)


def names(db: mycel.Graph) -> list[str]:
    return [name for (name,) in db.execute('FIND(?x.name) WHERE { ?x {type: "Drug"} }').rows]


def define_drugs(db: mycel.Graph) -> None:
    db.execute('UPSERT { CONCEPT ?d { {type: "$ConceptType", name: "Drug"} } }')


def psycopg_connection(url: str) -> Any:
    """A connection of a tool that knows nothing of Mycel, with the tables of a workspace."""
    import psycopg

    place = parse_address(url)
    options = f'-c search_path="{place.schema}"'
    return psycopg.connect(place.url, autocommit=True, options=options)


# Without a server.


def test_marks_of_parameters_are_numbered_and_nothing_else_changes() -> None:
    statement = "SELECT '?', ':x', a::text FROM t WHERE b = ? AND c = ?"
    assert number_markers(statement) == (
        "SELECT '?', ':x', a::text FROM t WHERE b = $1 AND c = $2",
        (0, 1),
    )
    text, keys = number_markers("VALUES (?2, ?1, ?2)")
    assert (text, values_of(keys, ("a", "b"))) == ("VALUES ($1, $2, $1)", ["b", "a"])
    text, keys = number_markers("x = :one OR y = :other OR z = :one")
    assert (text, values_of(keys, {"other": 2, "one": 1})) == ("x = $1 OR y = $2 OR z = $1", [1, 2])


def test_a_url_names_a_workspace_and_holds_no_password() -> None:
    address = parse_address("postgres://ada@db:5433/know?workspace=shop&sslmode=require")
    assert address.schema == "mycel_shop"
    assert str(address) == "postgresql://ada@db:5433/know?sslmode=require&workspace=shop"
    for secret in (
        "postgresql://ada:s3cret@db/k?workspace=a",
        "postgresql://db/k?workspace=a&password=s3cret",
        "postgresql://db/k?workspace=a&sslpassword=s3cret",
        *(f"postgresql://ada:s3cret{mark}1@db/k?workspace=a" for mark in "/#?"),
    ):
        with pytest.raises(NotADatabase, match="password") as raised:
            parse_address(secret)
        assert "s3cret" not in str(raised.value.to_dict())
    for plain in (
        "h:5432/k?workspace=a&application_name=a@b",
        "h:1,i:2/k?workspace=a",
        "/k?workspace=a",
    ):
        assert parse_address(f"postgresql://{plain}").workspace == "a"
    with pytest.raises(NotADatabase, match="names no workspace"):
        parse_address("postgresql://db/know")
    with pytest.raises(InvalidIdentifier):
        parse_address('postgresql://db/know?workspace=a"b')


# With one.


def test_a_graph_is_there_when_it_is_opened_again(postgres_server: PostgresServer) -> None:
    url = postgres_server.url()
    with mycel.open(url) as db:
        define_drugs(db)
        with db.transaction(message="two drugs") as tx:
            a, b = (
                tx.put_concept("Drug", "Aspirin", {"dose": 5}),
                tx.put_concept("Drug", "Ibuprofen"),
            )
        db.add_edge(a, "related_to", b, weight=0.5)
        snapshot = db.snapshot()
    with mycel.open(url, create=False) as db:
        assert db.snapshot() == snapshot
        assert sorted(names(db)) == ["Aspirin", "Ibuprofen"]
        assert [edge.object for edge in db.edges_out(a)] == [b]
        assert list(db.edges_out(a, [])) == []
        report = db.verify(replay=True)
        assert report.ok, report.problems


@pytest.mark.parametrize("graph", sorted(path.stem for path in GRAPHS.glob("*.kip")))
def test_roots_are_those_of_the_same_graph_in_a_file(
    postgres_server: PostgresServer, graph: str
) -> None:
    text = (GRAPHS / f"{graph}.kip").read_text("utf-8")
    roots = []
    for place in (":memory:", postgres_server.url()):
        with mycel.open(place, clock_us=ticking()) as db:
            db.execute(text)
            roots.append(db.snapshot())
    assert roots[0] == roots[1]


def test_writers_of_many_connections_take_turns(postgres_server: PostgresServer) -> None:
    url = postgres_server.url()
    with mycel.open(url) as db:
        define_drugs(db)
    failures: list[BaseException] = []

    def write(writer: int) -> None:
        try:
            with mycel.open(url, create=False) as db:
                for at in range(10):
                    with db.transaction(actor=f"writer {writer}", message="put") as tx:
                        tx.put_concept("Drug", f"{writer}-{at}")
        except BaseException as error:  # noqa: BLE001 - told by the test
            failures.append(error)

    threads = [threading.Thread(target=write, args=(each,)) for each in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with mycel.open(url, create=False) as db:
        assert len(names(db)) == 40
        assert db.verify(replay=True).ok


def test_a_reader_sees_one_moment_while_others_write(postgres_server: PostgresServer) -> None:
    url = postgres_server.url()
    with mycel.open(url) as db, mycel.open(url, create=False) as other:
        define_drugs(db)
        with db.reading() as reader:
            before = reader.head().seq
            with other.transaction(message="put") as tx:
                tx.put_concept("Drug", "Aspirin")
            assert reader.head().seq == before
        assert names(db) == ["Aspirin"]  # The plan of the other connection is told of it.


def test_what_is_undone_to_a_savepoint_leaves_what_was_written_before_it(
    postgres_server: PostgresServer,
) -> None:
    url = postgres_server.url()
    mycel.open(url).close()
    with closing(PostgresLocation(parse_address(url)).connect(writable=True)) as connection:
        connection.execute("CREATE TEMP TABLE given (n int)")
        for sends_before in (False, True):
            connection.begin_writing()
            connection.execute("INSERT INTO given VALUES (?1)", (1,))
            if sends_before:
                connection.execute("SELECT count(*) FROM given")
            connection.execute("SAVEPOINT member")
            connection.execute("INSERT INTO given VALUES (?1)", (2,))
            connection.execute("ROLLBACK TO member; RELEASE member")
            connection.execute("COMMIT")
        assert connection.execute("SELECT n FROM given").fetchall() == [(1,), (1,)]


def test_a_statement_ends_when_its_limits_are_over(postgres_server: PostgresServer) -> None:
    with mycel.open(postgres_server.url()) as db, db.reading() as reader:
        reader.connection.watch(lambda: True)
        with pytest.raises(ExecutionTimeout), translated():
            reader.execute("SELECT pg_sleep(60)")
        reader.connection.watch(None)


def test_cut_connections_lose_nothing_that_was_acknowledged(
    postgres_server: PostgresServer,
) -> None:
    url = postgres_server.url()
    with mycel.open(url) as db:
        define_drugs(db)
        acknowledged: list[str] = []
        for at in range(12):
            if at % 3 == 1:
                postgres_server.query(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE application_name = 'mycel'"
                )
            try:
                with db.transaction(message="put") as tx:
                    tx.put_concept("Drug", f"D{at}")
                acknowledged.append(f"D{at}")
            except (DatabaseError, CommitUncertain):
                pass
        assert len(acknowledged) >= 6
    with mycel.open(url, create=False) as db:
        assert set(acknowledged) <= set(names(db))
        assert db.verify(replay=True).ok


def test_a_connection_that_was_cut_while_nobody_wrote_is_not_noticed(
    postgres_server: PostgresServer,
) -> None:
    with mycel.open(postgres_server.url()) as db:
        define_drugs(db)
        postgres_server.stop("immediate")
        postgres_server.start(postgres_server.folder)
        db.write(lambda tx: tx.put_concept("Drug", "after"))
        postgres_server.stop("immediate")
        with pytest.raises(DatabaseError, match="cannot be used"):
            db.write(lambda tx: tx.put_concept("Drug", "never"))
        postgres_server.start(postgres_server.folder)
        with db.transaction() as tx:
            assert tx.get_concept("Drug", "after") is not None
            assert tx.get_concept("Drug", "never") is None
            tx.put_concept("Drug", "later")


def test_a_killed_server_loses_nothing_that_was_acknowledged(
    postgres_server: PostgresServer,
) -> None:
    url = postgres_server.url()
    with mycel.open(url) as db:
        define_drugs(db)
        with db.transaction(message="put") as tx:
            tx.put_concept("Drug", "before")
        with pytest.raises(MycelError), db.transaction(message="put") as tx:  # noqa: PT012
            tx.put_concept("Drug", "never")
            postgres_server.stop("immediate")
            tx.put_concept("Drug", "never either")
        postgres_server.start(postgres_server.folder)
        with pytest.raises(MycelError):
            names(db)  # Its connection was cut; it is told once.
        assert names(db) == ["before"]
        with db.transaction(message="put") as tx:
            tx.put_concept("Drug", "after")
        assert sorted(names(db)) == ["after", "before"]
        assert db.verify(replay=True).ok


def test_what_cannot_be_opened_is_refused_with_the_next_step(
    postgres_server: PostgresServer,
) -> None:
    mycel.open(postgres_server.url()).close()
    url = postgres_server.url("refused")
    postgres_server.query('CREATE SCHEMA "mycel_foreign"')
    postgres_server.query('CREATE TABLE "mycel_foreign".theirs (a int)')
    postgres_server.query("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    postgres_server.query("CREATE ROLE nobody_much LOGIN")
    refused = {
        "No workspace": (url, {"create": False}, "no workspace 'refused'"),
        "read-only": (url, {"readonly": True}, "no workspace 'refused'"),
        "no database": (url.replace("/postgres?", "/nowhere?"), {}, "nowhere"),
        "no server": ("postgresql://localhost:1/x?workspace=a", {}, "connection"),
        "foreign": (postgres_server.url("foreign"), {}, "not Mycel's"),
        "latin": (url.replace("/postgres?", "/latin?"), {}, "LATIN1"),
        "no right": (url.replace("user=mycel", "user=nobody_much"), {}, "may not use"),
        "no role": (url.replace("user=mycel", "user=stranger"), {}, "stranger"),
    }
    for name, (place, how, words) in refused.items():
        with pytest.raises(MycelError, match=words) as raised:
            mycel.open(place, **how)
        assert isinstance(raised.value, DatabaseError), name
        assert raised.value.hint, name


def test_what_the_server_refuses_is_told_with_its_own_next_step(
    postgres_server: PostgresServer,
) -> None:
    url = postgres_server.url("asked")
    mycel.open(url).close()
    postgres_server.query("CREATE ROLE outsider LOGIN")
    postgres_server.query("CREATE ROLE crowd LOGIN CONNECTION LIMIT 0")
    steps = {
        "no database": (url.replace("/postgres?", "/nowhere?"), "createdb"),
        "no role": (url.replace("user=mycel", "user=stranger"), "PGPASSWORD"),
        "no server": ("postgresql://localhost:1/x?workspace=a", "host, port"),
        "full": (url.replace("user=mycel", "user=crowd"), "max_connections"),
        "no parameter of libpq": (f"{url}&colour=red", "libpq's parameters"),
        "no right to use it": (url.replace("user=mycel", "user=outsider"), "docs/postgres.md"),
    }
    for name, (place, step) in steps.items():
        with pytest.raises(DatabaseError) as raised:
            mycel.open(place, create=False)
        assert step in raised.value.hint, name
        assert "\n" not in raised.value.message, name


def test_texts_with_the_character_zero_are_refused_and_nothing_else_is(
    postgres_server: PostgresServer,
) -> None:
    with mycel.open(postgres_server.url()) as db:
        define_drugs(db)
        for number in range(3):  # A refused write leaves the connection as it was.
            for attributes in ({"a": "\0"}, {"a": ["b\0"]}, {"\0": 1}, {"a": "\\\0"}):
                with pytest.raises(InvalidValueType, match="U\\+0000"):
                    db.write(lambda tx, body=attributes: tx.put_concept("Drug", "A", body))
            with db.transaction() as tx:
                escapes = {"a": "\\u0000", "b": "\\\\u0000"}
                tx.put_concept("Drug", f"\\u0000 {number}", escapes)
        rows = [mycel.ConceptRow("Drug", "row", {"a": "\0"})]
        with pytest.raises(InvalidValueType, match="U\\+0000"):
            db.write(lambda tx: tx.put_concepts(rows))
        find = 'FIND(?x.attributes.b) WHERE { ?x {type: "Drug"} FILTER(?x.attributes.a == :a) }'
        assert db.execute(find, a="\\u0000").rows == [("\\\\u0000",)] * 3
        with pytest.raises(InvalidValueType, match="U\\+0000"):
            db.execute(find, a="\0")
        for name in ("n\0x", "\0"):
            with pytest.raises(InvalidValueType, match="U\\+0000"):
                db.execute('UPSERT { CONCEPT { {type: "Drug", name: :name} } }', name=name)
            with pytest.raises(InvalidValueType, match="U\\+0000"), db.reading() as reader:
                lookup.find_by_name(reader, [name])
        assert db.verify(replay=True).ok


def test_a_graph_with_the_character_zero_is_not_copied_to_a_server(
    postgres_server: PostgresServer,
) -> None:
    url = postgres_server.url()
    with mycel.open() as db:
        define_drugs(db)
        db.write(lambda tx: tx.put_concept("Drug", "A", {"a": "\0"}))
        with pytest.raises(InvalidValueType, match="U\\+0000"):
            db.branches.copy(url)
    with pytest.raises(NotADatabase, match="no workspace"):
        mycel.open(url, create=False)


def test_a_mirror_follows_a_graph(postgres_server: PostgresServer, tmp_path: Path) -> None:
    url = postgres_server.url()
    with mycel.open(url) as db:
        define_drugs(db)
        with pytest.raises(ConstraintViolation, match="no folder beside it"):
            Mirror.create(db)
        mirror = Mirror.create(db, tmp_path / "mirror")
        db.write(lambda tx: tx.put_concept("Drug", "Aspirin", {"dose": 5}))
    with mycel.open(url, create=False) as db:
        mirror = Mirror(db)
        mirror.push()
        (page,) = (tmp_path / "mirror").rglob("Aspirin*.md")
        page.write_text(page.read_text("utf-8").replace("dose: 5", "dose: 6"), "utf-8")
        assert len(mirror.import_edits().files) == 1
        aspirin = db.get_concept("Drug", "Aspirin")
        assert aspirin is not None
        assert aspirin.attributes["dose"] == 6


def test_nodes_are_kept_read_and_linked_by_uri(postgres_server: PostgresServer) -> None:
    with mycel.open(postgres_server.url()) as db:
        knowledge = mycel.Knowledge(db, workspace="shop")
        knowledge.remember(
            [
                {"uri": "concept://shop/a", "name": "Alpha", "content": "Hello"},
                {"uri": "concept://shop/b", "name": "Beta"},
            ],
            [
                {
                    "source": "concept://shop/a",
                    "relation": "related_to",
                    "target": "concept://shop/b",
                }
            ],
        )
        reached = knowledge.traverse("concept://shop/a").nodes
        assert [node.uri for node in reached] == ["concept://shop/a", "concept://shop/b"]


def test_a_role_that_may_only_read_opens_a_graph_for_reading(
    postgres_server: PostgresServer,
) -> None:
    url = postgres_server.url("shown")
    with mycel.open(url) as db:
        define_drugs(db)
        with db.transaction(message="put") as tx:
            tx.put_concept("Drug", "Aspirin")
    postgres_server.query("CREATE ROLE reader LOGIN")
    for schema in ('"mycel_shown"', "mycel"):
        postgres_server.query(f"GRANT USAGE ON SCHEMA {schema} TO reader")
        postgres_server.query(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader")
    theirs = url.replace("user=mycel", "user=reader")
    with mycel.open(theirs, readonly=True) as db:
        assert names(db) == ["Aspirin"]
        assert db.verify().ok
    with mycel.open(theirs) as db:
        assert names(db) == ["Aspirin"]
        with pytest.raises(DatabaseReadOnly, match="permission denied"):
            db.execute('UPSERT { CONCEPT ?x { {type: "Drug", name: "Ibuprofen"} } }')
    with mycel.open(url, readonly=True) as db, pytest.raises(DatabaseReadOnly):
        db.execute('UPSERT { CONCEPT ?x { {type: "Drug", name: "Ibuprofen"} } }')


def test_a_role_that_owns_nothing_writes_with_the_rights_of_the_page(
    postgres_server: PostgresServer,
) -> None:
    url = postgres_server.url("written")
    mycel.open(url).close()
    postgres_server.query("CREATE ROLE writer LOGIN")
    for statement in re.findall(r"\nGRANT [^;]+;", PAGE.read_text("utf-8")):
        if "draft" not in statement and "DATABASE" not in statement:
            postgres_server.query(statement.replace("shop", "written"))
    with mycel.open(url.replace("user=mycel", "user=writer"), create=False) as db:
        define_drugs(db)
        drug = db.write(lambda tx: tx.put_concept("Drug", "Aspirin"))
        db.write(lambda tx: tx.update(drug, attributes={"dose": 5}))
        db.write(lambda tx: tx.retire(drug))
        assert db.purge(drug, "asked for").scrubbed is False
        before = db.snapshot()
        for moment in (None, before.entries):
            with pytest.raises(DatabaseReadOnly, match="'writer' owns neither") as raised:
                db.scrub(moment, "asked for")
            assert "Only owners" in raised.value.hint
        assert db.snapshot() == before
        assert db.verify(replay=True).ok


def test_nothing_of_a_purged_text_is_in_a_table_and_none_keeps_dead_rows(
    postgres_server: PostgresServer,
) -> None:
    url = postgres_server.url()
    with mycel.open(url) as db:
        define_drugs(db)
        drug = db.write(lambda tx: tx.put_concept("Drug", "Rarissimum"))
        db.search("Rarissimum", mode="keyword")
        db.purge(drug, "asked for")
    with psycopg_connection(url) as connection:
        for table in layout.NAMES:
            (text,) = connection.execute(
                f"SELECT string_agg(t::text, ' ') FROM {table} t"
            ).fetchone()
            assert "rariss" not in (text or "").lower(), table
        connection.execute("CREATE EXTENSION IF NOT EXISTS pgstattuple SCHEMA public")
        dead = {
            table: connection.execute(
                "SELECT dead_tuple_count FROM public.pgstattuple(%s::regclass)", (table,)
            ).fetchone()[0]
            for table in layout.NAMES
        }
        assert not any(dead.values()), dead


def test_a_lock_is_free_when_its_block_has_ended(postgres_server: PostgresServer) -> None:
    url = postgres_server.url()
    mycel.open(url).close()
    place = PostgresLocation(parse_address(url))
    for _ in range(50):  # The server ends the connection of each some time later.
        with place.locked("once"), pytest.raises(BlockingIOError), place.locked("once"):
            raise AssertionError("two have it")


def test_a_search_that_finds_nothing_names_what_is_close(postgres_server: PostgresServer) -> None:
    with mycel.open(postgres_server.url()) as db:
        define_drugs(db)
        others = (mycel.ConceptRow("Drug", f"d{n}") for n in range(references.NAMES_COMPARED_MAX))
        db.write(lambda tx: (tx.put_concepts(others), tx.put_concept("Drug", "Aspirin")))
        for of_type in ("", ' WITH TYPE "Drug"'):
            result = db.execute(f'SEARCH CONCEPT "Asprin"{of_type} MODE "keyword"')
            assert "Aspirin" in str(result.warnings)


def test_a_purge_waits_for_a_reader_no_longer_than_a_writer_may(
    postgres_server: PostgresServer,
) -> None:
    url = postgres_server.url()
    with mycel.open(url, busy_timeout_s=0.1) as db, psycopg_connection(url) as reader:
        define_drugs(db)
        drug = db.write(lambda tx: tx.put_concept("Drug", "Aspirin"))
        reader.execute("BEGIN; SELECT * FROM concept")
        assert db.purge(drug, "asked for").scrubbed is False
        postgres_server.query("CREATE ROLE late NOLOGIN")
    late = url.replace("user=mycel", "user=late")
    assert PostgresLocation(parse_address(late)).scrub() is False


def test_graphs_that_are_made_at_the_same_time_are_all_there(
    postgres_server: PostgresServer,
) -> None:
    postgres_server.query("CREATE DATABASE crowded")
    urls = [
        postgres_server.url(f"crowd{at % 4}").replace("/postgres?", "/crowded?") for at in range(12)
    ]
    outcomes: list[object] = []

    def make(url: str) -> None:
        try:
            with mycel.open(url) as db:
                outcomes.append(db.snapshot().entries)
        except MycelError as error:
            outcomes.append(error)

    threads = [threading.Thread(target=make, args=(url,)) for url in urls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(str, outcomes))) == 1, outcomes
    for url in urls[:4]:
        with mycel.open(url, create=False) as db:
            assert db.verify(replay=True).ok


# Round trips.


@pytest.fixture
def trips(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that were sent together, for each time that answers were waited for."""
    texts: list[str] = []
    send_some, send_text = Wire._send_some, Wire.send_text

    def note(wire: Wire, commands: Any) -> Any:
        texts.append("; ".join(command.key[0].decode() for command in commands))
        return send_some(wire, commands)

    def note_text(wire: Wire, statements: str) -> Any:
        texts.append(statements)
        return send_text(wire, statements)

    monkeypatch.setattr(Wire, "_send_some", note)
    monkeypatch.setattr(Wire, "send_text", note_text)
    return texts


def test_a_concept_with_three_links_takes_four_round_trips(
    postgres_server: PostgresServer, trips: list[str]
) -> None:
    upsert = (
        'UPSERT { CONCEPT ?d { {type: "Drug", name: :name} SET PROPOSITIONS {'
        ' ("related_to", {type: "Drug", name: "a"}) ("related_to", {type: "Drug", name: "b"})'
        ' ("related_to", {type: "Drug", name: "c"}) } } }'
    )

    def put(tx: mycel.Transaction, name: str) -> None:
        new = tx.put_concept("Drug", name)
        for other in others:
            tx.put_proposition(new, "related_to", other)

    with mycel.open(postgres_server.url()) as db:
        define_drugs(db)
        others = [db.write(lambda tx, name=name: tx.put_concept("Drug", name)) for name in "abc"]
        db.execute(upsert, name="first")
        trips.clear()
        db.execute(upsert, name="second")
        assert len(trips) == 4, trips
        db.write(lambda tx: put(tx, "third"))
        trips.clear()
        db.write(lambda tx: put(tx, "fourth"))
        assert len(trips) == 3, trips


def test_a_write_to_a_larger_graph_reads_the_pages_of_the_trees_at_once(
    postgres_server: PostgresServer, trips: list[str]
) -> None:
    links = " ".join(f'("related_to", {{type: "Drug", name: :{end}}})' for end in "abc")
    drug = '{type: "Drug", name: :name}'
    upsert = f"UPSERT {{ CONCEPT ?d {{ {drug} SET PROPOSITIONS {{ {links} }} }} }}"
    with mycel.open(postgres_server.url()) as db:
        define_drugs(db)
        with db.transaction() as tx:
            ids = tx.put_concepts(mycel.ConceptRow("Drug", f"d{at}") for at in range(400))
            tx.put_propositions(
                mycel.PropositionRow(one, "related_to", other) for one, other in pairwise(ids)
            )
        for at in range(4):  # The first ones make statements known.
            trips.clear()
            ends = {end: f"d{at * 3 + place}" for place, end in enumerate("abc")}
            db.execute(upsert, name=f"new {at}", **ends)
        assert len(trips) == 5, trips
        assert db.verify(replay=True).ok


def test_transactions_that_share_a_commit_take_two_round_trips_each(
    postgres_server: PostgresServer, trips: list[str]
) -> None:
    with mycel.open(postgres_server.url()) as db:
        define_drugs(db)

        def put(name: str) -> None:
            db.write(lambda tx: tx.put_concept("Drug", name))

        def fail(name: str) -> None:
            with pytest.raises(ZeroDivisionError):
                db.write(lambda tx: (tx.put_concept("Drug", name), 1 / 0))

        def write() -> None:
            put("first")
            trips.clear()
            put("second")
            assert len(trips) == 2, trips
            fail("third")
            with pytest.raises(InvalidValueType, match="U\\+0000"):
                put("fourth \0")
            with pytest.raises(ZeroDivisionError):
                db.write(lambda _: 1 / 0)
            put("fifth")

        db._store.together(lambda _: write())
        assert sorted(names(db)) == ["fifth", "first", "second"]
        assert db.verify(replay=True).ok


# What an older version made.


def test_the_views_show_what_those_of_a_file_show(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    path, url = tmp_path / "graph.db", postgres_server.url()
    for place in (path, url):
        with mycel.open(place, clock_us=ticking(), actor="me") as db:
            shop = mycel.Knowledge(db, workspace="shop", root=tmp_path)
            shop.add("auth/login", content="Keys.", properties={"by": "Ada", "n": {"a": 1}})
            shop.add("https://a.example/b", content=None)
            shop.add("auth/keys", relations=[{"relation": "part_of", "target": "auth/login"}])
            shop.link("auth/login", "depends_on", "none", properties={"at": 1.5, "list": ["x"]})
            define_drugs(db)
            db.execute('UPSERT { CONCEPT ?d { {type: "Drug", name: "Aspirin"} } }')
    columns = {
        "nodes": "uri, node_type, name, content, created_at, updated_at",
        "relations": "id, source_uri, target_uri, relation_type, weight, created_at",
    }
    with closing(sqlite3.connect(path)) as file, psycopg_connection(url) as connection:
        for view, plain in columns.items():
            query = f"SELECT {plain}, metadata FROM {view}"
            wanted = [(*row, json.loads(text)) for *row, text in file.execute(query)]
            assert wanted
            assert sorted(connection.execute(query).fetchall(), key=str) == sorted(wanted, key=str)


def test_opening_for_writing_brings_functions_and_views_up_to_date(
    postgres_server: PostgresServer,
) -> None:
    url = postgres_server.url()
    mycel.open(url).close()
    with psycopg_connection(url) as connection:
        connection.execute("DROP VIEW nodes, relations")
        connection.execute("DROP FUNCTION mycel.mycel_patched CASCADE")
        connection.execute(
            "CREATE OR REPLACE FUNCTION mycel.mycel_library() RETURNS bigint LANGUAGE sql IMMUTABLE"
            " AS 'SELECT 2::bigint'"
        )
    mycel.open(url, readonly=True).close()
    with psycopg_connection(url) as connection:
        assert connection.execute("SELECT mycel.mycel_library()").fetchall() == [(2,)]
    mycel.open(url).close()
    with psycopg_connection(url) as connection:
        row = connection.execute("SELECT mycel.mycel_library()").fetchone()
        assert row == (library.VERSION,)
        connection.execute("SELECT * FROM nodes, relations")


def test_a_workspace_of_an_older_layout_gets_the_table_of_former_periods(
    postgres_server: PostgresServer,
) -> None:
    url = postgres_server.url()
    with mycel.open(url) as db:
        define_drugs(db)
        db.write(lambda tx: tx.put_concept("Drug", "Aspirin"))
        db.branches.create("draft")
    for place in (url, f"{url}&branch=draft" if "?" in url else f"{url}?branch=draft"):
        with psycopg_connection(place) as connection:
            connection.execute("DROP TABLE former_period")
            connection.execute("UPDATE mycel_format SET layout = 2")
    with pytest.raises(NotADatabase, match="development version") as refused:
        mycel.open(url, readonly=True)
    assert "Open it once for writing" in refused.value.hint
    with mycel.open(url, create=False) as db, db.open_branch("draft") as draft:
        assert draft.verify(replay=True).ok
    periods = [{"valid_from": "2019-01-01", "valid_until": "2021-01-01"}]
    dates = {"valid_from": "2024-01-01", "former_periods": periods}
    with mycel.open(url) as db:
        db.write(lambda tx: tx.update(("Drug", "Aspirin"), metadata=dates))
        for year, found in ((2020, 1), (2022, 0), (2024, 1)):
            query = f'FIND(COUNT(?d)) FOR TIME "{year}-05-05" WHERE {{ ?d {{type: "Drug"}} }}'
            assert db.execute(query).rows == [(found,)]
        assert db.verify(replay=True).ok


def test_the_belief_in_a_link_is_that_of_the_rule(
    postgres_server: PostgresServer, seed: int
) -> None:
    random = Random(seed)
    url = postgres_server.url()
    mycel.open(url).close()
    with psycopg_connection(url) as connection:
        connection.execute("SET search_path TO mycel")
        for _ in range(300):
            metadata = {
                "confidence": random.choice((None, 0, 0.3, 0.7, 1)),
                "author": random.choice((None, None, "a")),
                "source": random.choice((None, None, "a", "s")),
                "evidence": [
                    {
                        "stance": random.choice(("supports", "challenges")),
                        "by": random.choice((None, "a", "b", "c")),
                        "source": random.choice((None, "s", "t", "b")),
                        "confidence": random.choice((0.1, 0.3, 0.5, 0.7, 0.9)),
                    }
                    for _ in range(random.randrange(5))
                ],
            }
            query = "SELECT mycel.mycel_belief_status(%s)"
            row = connection.execute(query, (json.dumps(metadata),)).fetchone()
            assert row == (belief(metadata).status,), metadata


def test_lost_functions_and_tables_are_named_with_the_next_step(
    postgres_server: PostgresServer,
) -> None:
    postgres_server.query("CREATE DATABASE lost")
    postgres_server.query("CREATE ROLE other LOGIN SUPERUSER; ALTER ROLE other NOSUPERUSER")
    url = postgres_server.url("lost", "lost")
    mycel.open(url).close()
    with psycopg_connection(url) as connection:
        connection.execute("GRANT USAGE ON SCHEMA mycel_lost, mycel TO other")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA mycel_lost TO other")
        connection.execute("DROP FUNCTION mycel.mycel_library")
        with pytest.raises(DatabaseReadOnly, match="older version") as raised:
            mycel.open(url.replace("user=mycel", "user=other"))
        assert "mycel init" in raised.value.hint
        connection.execute("DROP SCHEMA mycel CASCADE")
        with mycel.open(url, readonly=True) as db:
            with pytest.raises(DatabaseError, match="gone, or of an older version") as refused:
                db.execute('FIND(?x) WHERE { ?x {type: "$Agent"} FILTER(REGEX(?x.name, "a")) }')
            assert "mycel init" in refused.value.hint
        with mycel.open(url) as db:  # It makes them again.
            assert db.verify(replay=True).ok
            connection.execute("DROP TABLE property")
            assert not db.verify().ok
            connection.execute("DROP TABLE concept CASCADE")
            with pytest.raises(DatabaseCorrupt, match="A table of the workspace is gone"):
                db.execute('FIND(?x) WHERE { ?x {type: "$Agent"} }')


def test_an_older_server_is_refused(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(location, "SERVER_MIN", 990000)
    with pytest.raises(NotADatabase, match="Mycel needs 99 or later") as raised:
        mycel.open(postgres_server.url("older"))
    assert raised.value.hint
    assert "mycel_older" not in postgres_server.schemas()


def test_the_tables_keep_to_what_a_distributed_schema_may_have() -> None:
    words = re.findall(r"[A-Z_]+|\w+", layout.TABLES)
    refused = {"REFERENCES", "TRIGGER", "RULE", "INHERITS", "PARTITION", "EXCLUDE", "MATERIALIZED"}
    assert refused.isdisjoint(words)
    assert {"serial", "bigserial", "smallint", "integer", "int"}.isdisjoint(words)
    numbered = re.findall(r"(\w+) GENERATED BY DEFAULT AS IDENTITY", layout.TABLES)
    assert set(numbered) == {"bigint"}
    assert "CREATE TRIGGER" not in library.FUNCTIONS


# Many rows at once.


def test_many_rows_are_copied_and_one_that_is_there_already_undoes_nothing_else(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    texts = ["plain", "tab\t line\n back\\slash \\N", "été 海港", '"quoted" {braces}, NULL']
    rows = [
        mycel.ConceptRow(
            "Drug", f"d{at:03}", {"text": texts[at % 4], "on": at % 2 == 0, "n": at / 4}
        )
        for at in range(400)
    ]
    states = []
    for place in (postgres_server.url(), tmp_path / "graph.db"):
        with mycel.open(place, clock_us=ticking()) as db:
            define_drugs(db)
            with db.transaction(message="before") as tx:
                early = tx.put_concept("Drug", "d399", {"kept": True})
            with db.transaction(message="many") as tx:
                ids = tx.put_concepts(rows)
                links = [mycel.PropositionRow(ids[0], "related_to", end) for end in ids[1:]]
                assert tx.put_propositions(links) == 399
                assert tx.put_propositions(links) == 399
            assert ids[-1] == early
            assert db.verify(replay=True).ok
            states.append((db.snapshot(), db.search("tab back", mode="keyword", limit=200)))
    assert states[0][0] == states[1][0]
    url = postgres_server.url()
    with mycel.open(url) as db:
        define_drugs(db)
        before = db.snapshot()
        with pytest.raises(InvalidValueType, match="U\\+0000"):
            db.write(
                lambda tx: tx.put_concepts([*rows, mycel.ConceptRow("Drug", "z", {"z": "\0"})])
            )
        assert db.snapshot() == before
        assert db.write(lambda tx: len(tx.put_concepts(rows))) == 400
    assert [(hit.id, score) for hit, score in states[0][1]] == [
        (hit.id, score) for hit, score in states[1][1]
    ]


def test_verify_says_which_tables_and_indexes_are_missing(postgres_server: PostgresServer) -> None:
    url = postgres_server.url()
    schema = parse_address(url).schema
    with mycel.open(url) as db:
        define_drugs(db)
        db.branches.create("draft")
        for place in (url, f"{url}&branch=draft"):
            with mycel.open(place) as whole:
                report = whole.verify()
                assert report.ok
                assert report.checks[0] == "tables"
        postgres_server.query(
            f'SET search_path = "{schema}"; DROP INDEX journal_mark; DROP TABLE view_saved;'
            " ALTER TABLE hidden DROP CONSTRAINT hidden_pkey;"
            " UPDATE pg_index SET indisvalid = false"
            " WHERE indexrelid = 'proposition_past_ops'::regclass"
        )
        missing = {problem.where for problem in db.verify().problems if problem.check == "tables"}
    assert missing == {
        "journal_mark", "view_saved", "view_saved_pkey", "hidden_pkey", "proposition_past_ops",
    }  # fmt: skip
