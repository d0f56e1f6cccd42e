"""Files of older formats: they open, become files of the present one, and lose nothing."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path

import apsw
import pytest

import mycel
from mycel.errors import (
    DatabaseBusy,
    DatabaseCorrupt,
    DatabaseReadOnly,
    FormatTooNew,
    MycelError,
)
from mycel.merkle import log
from mycel.store import upgrades
from mycel.store.database import Store
from mycel.store.file.layout import FORMAT, created
from mycel.store.log.journal import Head, JournalNodes
from mycel.store.log.registry import Registry
from mycel.testing import FaultVFS
from tests.unit.store.given import (
    FACT,
    FORMATS,
    add_concepts,
    assert_sound,
    columns_of,
    define,
    dump,
    file_bytes,
    old_file,
    problems,
    raw,
)

OLD = range(1, FORMAT)
OLD_TREES = range(1, 4)
"""Formats whose state trees are planted anew, by a transaction that says so."""

CONTENT = (
    *("type", "predicate", "actor", "journal"),
    *("concept", "proposition", "concept_past", "proposition_past"),
)
"""Tables that no upgrade touches."""


def format_of(path: Path) -> int:
    with raw(path) as connection:
        return int(connection.pragma("user_version"))


def as_of_format(connection: apsw.Connection, format_: int) -> None:
    """Take a file back to a format before the fifth, but for its trees."""
    columns = {
        table: ", ".join(columns_of(connection, table)[:stored])
        for table, stored in (("tx", 7), ("head", 12))
    }
    kept = {
        table: connection.execute(f"SELECT {each} FROM {table}").fetchall()
        for table, each in columns.items()
    }
    connection.execute("DROP VIEW head; DROP TABLE tx")
    with raw(":memory:") as old:
        old.execute(created(format_))
        for table, rows in kept.items():
            sql = old.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).get
            connection.execute(sql)
            marks = ", ".join("?" * len(rows[0]))
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
    connection.execute(f"PRAGMA user_version = {format_}")


def schema_of(connection: apsw.Connection) -> set[tuple[str, ...]]:
    return set(connection.execute("SELECT type, name, sql FROM sqlite_schema"))


def test_there_is_a_step_from_each_format_to_the_next_and_a_file_of_each() -> None:
    assert sorted(format_ for format_, _ in upgrades.STEPS) == [*OLD[1:], FORMAT]
    files = {each.name for each in FORMATS.glob("format-*")}
    assert files == {f"format-{n}.db.gz" for n in OLD}


@pytest.mark.parametrize("format_", OLD)
def test_an_old_file_becomes_one_of_the_present_format_with_all_that_it_held(
    path: Path, format_: int
) -> None:
    old_file(path, format_)
    with mycel.open(path, readonly=True) as db:
        before = db.snapshot()
    rows = dump(path)
    with mycel.open(path, bootstrap=False) as db:
        assert db.snapshot().entries == before.entries + (format_ in OLD_TREES)
        assert_sound(db)
        assert db.get_concept(FACT, "one") is not None
    assert format_of(path) == FORMAT
    after = dump(path)
    assert {name: after[name] for name in CONTENT} == {name: rows[name] for name in CONTENT}
    columns = len(rows["tx"][0])
    assert [row[:columns] for row in after["tx"]][: len(rows["tx"])] == rows["tx"]
    with raw(path) as connection, raw(":memory:") as fresh:
        fresh.execute(created(FORMAT))
        assert schema_of(connection) == schema_of(fresh)


@pytest.mark.parametrize("format_", OLD)
def test_an_old_file_that_may_only_be_read_answers_and_stays_as_it_is(
    path: Path, format_: int
) -> None:
    old_file(path, format_)
    before = file_bytes(path)
    with mycel.open(path, readonly=True) as db:
        found = db.execute(f'FIND(?f.name) WHERE {{ ?f {{type: "{FACT}"}} }} ORDER BY ?f.name')
        assert "one" in [name for (name,) in found.rows]
        assert db.search("one", kind="CONCEPT")[0][0].name == "one"
        assert db.search("one", kind="PROPOSITION")
        report = db.verify(replay=True)
        assert problems(report) == []
        assert ("trees" in report.checks) == (format_ not in OLD_TREES)
        if format_ in OLD_TREES:
            with pytest.raises(DatabaseReadOnly) as refused:
                db.prove((FACT, "one"))
            assert refused.value.hint
        else:
            assert db.prove((FACT, "one")).verify(db.snapshot().overall_root)
        assert db.prove_entry(1).verify(db.snapshot().overall_root)
    assert file_bytes(path) == before
    assert format_of(path) == format_


@pytest.mark.parametrize("format_", OLD)
def test_who_reads_an_old_file_sees_what_is_written_once_another_has_upgraded_it(
    path: Path, format_: int
) -> None:
    old_file(path, format_)
    told = 'FIND(?end.id, ?end.name) WHERE { ({type: "Fact", name: "a"}, "tells", ?end) }'
    with mycel.open(path, readonly=True) as reading:
        assert reading.execute(f'FIND(?f) WHERE {{ ?f {{type: "{FACT}"}} }}').rows
        with mycel.open(path) as db:
            define(db, [], ["tells"])
            a, b = add_concepts(db, "a", "b", type_name=FACT)
            db.add_edge(a, "tells", b)
            assert reading.execute(told).rows == [(b, "b")]
            link = db.add_edge(b, "tells", a)
            db.add_edge(a, "tells", link)
            assert sorted(reading.execute(told).rows) == [(b, "b"), (link, None)]


@pytest.mark.parametrize("format_", OLD)
def test_an_upgraded_file_is_written_like_any_other(path: Path, format_: int) -> None:
    old_file(path, format_)

    def work(tx: mycel.Transaction) -> str:
        number = tx.reader.type_number(FACT)
        tx.define_indexes(number, link=False, wanted=[(("text",), False)])
        return tx.put_concept(FACT, "after", {"text": "new words"})

    with mycel.open(path) as db:
        made = db.write(work)
        assert_sound(db)
    with mycel.open(path) as db:
        assert db.get(made).attributes == {"text": "new words"}
    with raw(path) as connection:
        values = connection.execute("SELECT value FROM property").fetchall()
    assert ("new words",) in values
    assert ("second words",) in values, "what was there before is indexed too"


@pytest.mark.parametrize("plan", [FaultVFS.fail_at, FaultVFS.torn_at, FaultVFS.full_at])
def test_a_disk_that_fails_on_the_way_leaves_the_old_file_or_the_new_one(
    path: Path, plan: Callable[..., AbstractContextManager[object]]
) -> None:
    formats = set()
    for n in count(1):
        old_file(path, 1)
        with FaultVFS() as vfs:
            with plan(vfs, n), suppress(MycelError):
                mycel.open(path, bootstrap=False, vfs=vfs.name).close()
            fired = vfs.fired
        formats.add(format_of(path))
        with mycel.open(path, bootstrap=False) as db:
            assert problems(db.verify(replay=True)) == []
        if not fired:
            break
    assert formats == {1, FORMAT}


@pytest.mark.parametrize("format_", OLD_TREES)
def test_the_journal_of_an_upgraded_file_goes_on_where_it_was_and_says_what_was_done(
    path: Path, format_: int
) -> None:
    old_file(path, format_)
    with mycel.open(path, readonly=True) as db:
        before = db.snapshot()
    with mycel.open(path, bootstrap=False) as db:
        upgrade = next(iter(db.log()))
        assert (upgrade.actor, upgrade.message) == ("$system", "state trees of format 4")
        assert upgrade.first_seq == upgrade.seq == before.entries + 1
        now = db.snapshot()
        grown = db.prove_consistency(before.entries)
        assert grown.verify(before.journal_root, now.overall_root, old_entries=before.entries)
        assert db.prove((FACT, "one")).verify(now.overall_root)
        assert db.prove((FACT, "nobody")).verify(now.overall_root)
        assert db.as_of(before.entries).get_concept(FACT, "one") == db.get_concept(FACT, "one")
    with mycel.open(path, bootstrap=False) as db:
        assert db.snapshot() == now, "it is upgraded once"


def forge(path: Path, seq: int, message: str | None = None) -> None:
    """Give a transaction another root and make the log fit; perhaps append an empty transaction."""
    with raw(path) as connection:
        connection.execute("BEGIN")
        connection.execute("UPDATE tx SET concepts_root = ? WHERE seq = ?", (b"\x66" * 32, seq))
        head = Head.read(connection)
        assert head.folded_seq == head.seq, "otherwise there were more rows to make fit"
        if message is not None:
            (actor,) = connection.execute("SELECT actor FROM tx ORDER BY seq LIMIT 1").fetchone()
            head.seq = head.folded_seq = head.seq + 1
            head.append(connection.execute, (head.seq, actor, message), b"", b"")
        nodes = JournalNodes(connection, Registry())
        frontier = log.Frontier()
        connection.execute("DELETE FROM log_node")
        for node in frontier.extend(nodes.leaves(0, head.seq)):
            connection.execute("INSERT INTO log_node VALUES (?, ?, ?)", node)
        connection.execute(
            "UPDATE tx SET frontier = ? WHERE seq = ?", (frontier.to_bytes(), head.seq)
        )
        connection.execute("COMMIT")


def found_in(path: Path) -> list[tuple[str, str]]:
    with mycel.open(path, bootstrap=False) as db:
        return [(each["check"], each["where"]) for each in problems(db.verify(replay=True))]


@pytest.mark.parametrize("message", [None, "tidy", "state trees of format 4"])
def test_a_forged_root_is_found_in_a_file_that_never_was_of_another_format(
    path: Path, message: str | None
) -> None:
    with mycel.open(path, bootstrap=False) as db:
        db.write(lambda tx: tx.define_type(FACT))
        victim = db.snapshot().seq
        db.write(lambda tx: tx.put_concept(FACT, "one"))
        db.search("one")  # Folds.
    forge(path, victim, message)
    found = found_in(path)
    assert ("replay", f"tx {victim}") in found
    assert any(check == "journal" for check, _ in found) == (message == "tidy")


@pytest.mark.parametrize("format_", OLD)
def test_a_forged_root_is_found_in_an_upgraded_file_from_the_upgrade_on(
    path: Path, format_: int
) -> None:
    old_file(path, format_)
    with mycel.open(path, bootstrap=False) as db:
        upgrade = db.snapshot().seq
        db.write(lambda tx: tx.put_concept(FACT, "after"))
        victim = db.snapshot().seq
        db.write(lambda tx: tx.put_concept(FACT, "later"))
        db.search("later")  # Folds.
    assert found_in(path) == []
    for seq in (victim, upgrade):
        forge(path, seq)
        assert ("replay", f"tx {seq}") in found_in(path)


def test_a_file_whose_trees_disagree_with_its_journal_is_not_upgraded(path: Path) -> None:
    old_file(path, 3)
    with raw(path) as connection:
        connection.execute("DELETE FROM concept WHERE name = 'kept'")
    rows = dump(path)
    with pytest.raises(DatabaseCorrupt) as refused:
        mycel.open(path)
    assert refused.value.hint
    assert dump(path) == rows
    with mycel.open(path, readonly=True) as db:
        assert db.get_concept(FACT, "one") is not None


def test_proofs_that_were_kept_from_an_old_file_still_hold() -> None:
    kept = json.loads((FORMATS / "proofs-3.json").read_text())
    root = bytes.fromhex(kept["overall_root"])
    assert len(kept["proofs"]) == 3
    for wire in kept["proofs"]:
        assert "hash" not in wire
        proof = mycel.proof_from_dict(wire)
        assert isinstance(proof, mycel.StateProof)
        assert proof.hash == "sha256"
        assert proof.verify(root)
        assert not replace(proof, hash="blake2s").verify(root)
        assert mycel.StateProof.from_bytes(proof.to_bytes()) == proof
        assert mycel.proof_from_dict(proof.to_dict()) == proof


def test_a_graph_that_nobody_came_to_fill_is_filled_after_the_upgrade_too(path: Path) -> None:
    Store(str(path), bare=False).close()  # As if killed between genesis and bootstrap.
    with raw(path) as connection:
        as_of_format(connection, 3)
    with mycel.open(path) as db:
        messages = [each.message for each in db.log()]
        assert messages == ["bootstrap", "state trees of format 4", "genesis, to be continued"]
        assert_sound(db)


def test_views_of_others_stay_as_they_are_even_if_they_are_broken(path: Path) -> None:
    old_file(path, 4)
    with raw(path) as connection:
        connection.execute("CREATE VIEW last AS SELECT max(tx.seq), max(h.seq) FROM tx, head h")
        connection.execute("CREATE VIEW broken AS SELECT it FROM nowhere")
        before = connection.execute("SELECT * FROM last").fetchall()
        schema = schema_of(connection)
    with mycel.open(path, bootstrap=False) as db:
        assert db.get_concept(FACT, "one") is not None
    with raw(path) as connection:
        assert connection.execute("SELECT * FROM last").fetchall() == before
        kept = {each for each in schema if each[1] in ("last", "broken")}
        assert kept <= schema_of(connection)


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM head",
        "DELETE FROM tx WHERE seq = (SELECT max(seq) FROM tx)",
        "DELETE FROM head WHERE seq = (SELECT max(seq) FROM head)",
        "UPDATE head SET time = time + 1 WHERE seq = (SELECT max(seq) FROM head)",
        "UPDATE head SET edges_root = concepts_root WHERE seq = (SELECT min(seq) FROM head)",
    ],
)
@pytest.mark.parametrize("format_", range(1, upgrades.HEAD_IN_TX_SINCE))
def test_a_file_whose_head_disagrees_with_its_transactions_is_not_upgraded(
    path: Path, format_: int, damage: str
) -> None:
    old_file(path, format_)
    with raw(path) as connection:
        connection.execute(damage)
    rows = dump(path)
    with pytest.raises(DatabaseCorrupt) as refused:
        mycel.open(path, bootstrap=False)
    assert refused.value.hint
    assert dump(path) == rows
    assert format_of(path) == format_


@pytest.fixture
def upgraded(path: Path) -> Path:
    """A file of the present format in which changes and texts are pending."""
    old_file(path, 4)
    mycel.open(path, bootstrap=False).close()
    return path


HEAD_COLUMNS = (
    *("next_concept", "next_proposition", "definitions", "folded_seq", "pending"),
    *("frontier", "changes", "texts"),
)


@pytest.mark.parametrize("column", HEAD_COLUMNS)
def test_a_head_that_is_incomplete_is_found_and_never_built_upon(
    upgraded: Path, column: str
) -> None:
    with raw(upgraded) as connection:
        connection.execute(f"UPDATE tx SET {column} = NULL WHERE seq = (SELECT max(seq) FROM tx)")
    rows = dump(upgraded)
    with mycel.open(upgraded, bootstrap=False) as db:
        found = problems(db.verify())
        assert {"head", "journal"} & {each["check"] for each in found}
        assert not any("NoneType" in each["what"] for each in found)
        with pytest.raises(DatabaseCorrupt):
            db._store.fold()
        if column != "texts":  # Only folding needs them.
            with pytest.raises(DatabaseCorrupt):
                db.write(lambda tx: tx.define_type("New"))
    assert dump(upgraded) == rows


DAMAGED_HEADS = (
    *(f"changes = substr(changes, 1, {size})" for size in (1, 2, 20, 32, 33, 64)),
    *("texts = x'ffffffffffffffff'", "texts = x'00'"),
    *("next_concept = 9223372036854775807", "next_proposition = 9223372036854775807"),
    *("time = 9223372036854775807", "seq = 9223372036854775807", "seq = 9223372036854775806"),
)


@pytest.mark.parametrize("damage", DAMAGED_HEADS)
def test_a_head_that_cannot_be_is_refused_by_all_who_need_it(upgraded: Path, damage: str) -> None:
    with raw(upgraded) as connection:
        connection.execute(f"UPDATE tx SET {damage} WHERE seq = (SELECT max(seq) FROM tx)")
    rows = dump(upgraded)
    with mycel.open(upgraded, bootstrap=False) as db:
        assert not db.verify().ok
        with pytest.raises(DatabaseCorrupt):
            db._store.fold()
        if damage.startswith("texts"):
            with pytest.raises(DatabaseCorrupt):
                db.search("words")
        else:
            with pytest.raises(DatabaseCorrupt):
                db.write(lambda tx: tx.define_type("New"))
            with pytest.raises(DatabaseCorrupt):
                db.prove((FACT, "one"))
    assert dump(upgraded) == rows


def test_nothing_is_proven_by_trees_that_do_not_lead_to_their_roots(upgraded: Path) -> None:
    with raw(upgraded) as connection:
        connection.execute(
            "UPDATE tx SET changes = substr(changes, 66) WHERE seq = (SELECT max(seq) FROM tx)"
        )
    with mycel.open(upgraded, bootstrap=False) as db, pytest.raises(DatabaseCorrupt):
        db.prove((FACT, "one"))


@pytest.mark.parametrize("format_", OLD_TREES)
def test_a_file_whose_journal_lacks_a_record_is_not_upgraded(path: Path, format_: int) -> None:
    old_file(path, format_)
    with raw(path) as connection:
        connection.execute(
            "UPDATE journal SET after = NULL WHERE seq = (SELECT max(seq) FROM concept)"
        )
    rows = dump(path)
    with pytest.raises(DatabaseCorrupt) as refused:
        mycel.open(path, bootstrap=False)
    assert refused.value.hint
    assert dump(path) == rows


def test_pending_changes_that_are_missing_are_not_folded_over(upgraded: Path) -> None:
    with raw(upgraded) as connection:
        forgotten = connection.execute("SELECT max(seq) FROM tx WHERE pending = 24").get
        names = ", ".join(f"{each} = NULL" for each in HEAD_COLUMNS)
        connection.execute(f"UPDATE tx SET {names} WHERE seq = ?", (forgotten,))
    rows = dump(upgraded)
    with mycel.open(upgraded, bootstrap=False) as db:
        for work in (db._store.fold, lambda: db.write(lambda tx: tx.define_type("New"))):
            with pytest.raises(DatabaseCorrupt):
                work()
    assert dump(upgraded) == rows


def test_a_step_that_fails_leaves_the_file_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    old_file(path, 1)
    rows = dump(path)
    monkeypatch.setattr(upgrades, "STEPS", (*upgrades.STEPS, (FORMAT, fail)))
    with pytest.raises(KeyboardInterrupt):
        mycel.open(path)
    assert dump(path) == rows
    assert format_of(path) == 1


def test_an_old_file_is_upgraded_once_by_all_who_open_it_at_once(path: Path) -> None:
    old_file(path, 1)

    def read(_: int) -> bool:
        with mycel.open(path, bootstrap=False) as db:
            return db.get_concept(FACT, "one") is not None

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(read, range(8)))
    with mycel.open(path) as db:
        assert_sound(db)


def test_who_upgrades_waits_for_a_writer_and_says_if_it_takes_too_long(path: Path) -> None:
    old_file(path, 1)
    with raw(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseBusy):
            mycel.open(path, busy_timeout_s=0.01)
        connection.execute("ROLLBACK")
    assert format_of(path) == 1


def test_who_has_a_file_open_that_a_later_version_upgrades_writes_to_it_no_more(
    path: Path,
) -> None:
    with mycel.open(path, bootstrap=False) as db:
        db.write(lambda tx: tx.define_type(FACT))
        with raw(path) as connection:
            connection.execute(f"PRAGMA user_version = {FORMAT + 1}")
        before = dump(path)
        for _ in range(2):
            with pytest.raises(FormatTooNew):
                db.write(lambda tx: tx.put_concept(FACT, "late"))
            with pytest.raises(FormatTooNew), db.transaction() as tx:
                tx.put_concept(FACT, "late")
        assert dump(path) == before
        with raw(path) as connection:
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        db.write(lambda tx: tx.put_concept(FACT, "in time"))
        assert_sound(db)
