"""Heads and roots that cannot be: `verify` finds them, and no write builds on them."""

from pathlib import Path

import pytest

import mycel
from mycel.errors import DatabaseCorrupt
from mycel.merkle import log
from mycel.store.log.journal import Head, JournalNodes
from mycel.store.log.registry import Registry
from tests.unit.store import shapes
from tests.unit.store.given import FACT, dump, problems, raw


@pytest.fixture
def pending(path: Path) -> Path:
    """A file with changes and texts that are not folded into the trees and the index."""
    shapes.build("pending", path)
    return path


HEAD_COLUMNS = (
    *("next_concept", "next_proposition", "definitions", "folded_seq", "pending"),
    *("frontier", "changes", "texts"),
)


@pytest.mark.parametrize("column", HEAD_COLUMNS)
def test_a_head_that_is_incomplete_is_found_and_never_built_upon(
    pending: Path, column: str
) -> None:
    with raw(pending) as connection:
        connection.execute(f"UPDATE tx SET {column} = NULL WHERE seq = (SELECT max(seq) FROM tx)")
    rows = dump(pending)
    with mycel.open(pending, core_capsules=False) as db:
        found = problems(db.verify())
        assert {"head", "journal"} & {each["check"] for each in found}
        assert not any("NoneType" in each["what"] for each in found)
        with pytest.raises(DatabaseCorrupt):
            db._store.fold()
        if column != "texts":  # Only folding needs them.
            with pytest.raises(DatabaseCorrupt):
                db.write(lambda tx: tx.define_type("New"))
    assert dump(pending) == rows


DAMAGED_HEADS = (
    *(f"changes = substr(changes, 1, {size})" for size in (1, 2, 20, 32, 33, 64)),
    *("texts = x'ffffffffffffffff'", "texts = x'00'"),
    *("next_concept = 9223372036854775807", "next_proposition = 9223372036854775807"),
    *("time = 9223372036854775807", "seq = 9223372036854775807", "seq = 9223372036854775806"),
)


@pytest.mark.parametrize("damage", DAMAGED_HEADS)
def test_a_head_that_cannot_be_is_refused_by_all_who_need_it(pending: Path, damage: str) -> None:
    with raw(pending) as connection:
        connection.execute(f"UPDATE tx SET {damage} WHERE seq = (SELECT max(seq) FROM tx)")
    rows = dump(pending)
    with mycel.open(pending, core_capsules=False) as db:
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
    assert dump(pending) == rows


def test_nothing_is_proven_by_trees_that_do_not_lead_to_their_roots(pending: Path) -> None:
    with raw(pending) as connection:
        connection.execute(
            "UPDATE tx SET changes = substr(changes, 66) WHERE seq = (SELECT max(seq) FROM tx)"
        )
    with mycel.open(pending, core_capsules=False) as db, pytest.raises(DatabaseCorrupt):
        db.prove((FACT, "one"))


def test_pending_changes_that_are_missing_are_not_folded_over(pending: Path) -> None:
    with raw(pending) as connection:
        forgotten = connection.execute("SELECT seq FROM head ORDER BY seq LIMIT 1 OFFSET 3").get
        names = ", ".join(f"{each} = NULL" for each in HEAD_COLUMNS)
        connection.execute(f"UPDATE tx SET {names} WHERE seq = ?", (forgotten,))
    rows = dump(pending)
    with mycel.open(pending, core_capsules=False) as db:
        for work in (db._store.fold, lambda: db.write(lambda tx: tx.define_type("New"))):
            with pytest.raises(DatabaseCorrupt):
                work()
    assert dump(pending) == rows


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
            head.append(connection, (head.seq, actor, message), b"", b"")
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
    with mycel.open(path, core_capsules=False) as db:
        return [(each["check"], each["where"]) for each in problems(db.verify(replay=True))]


@pytest.mark.parametrize("message", [None, "tidy"])
def test_a_forged_root_is_found(path: Path, message: str | None) -> None:
    with mycel.open(path, core_capsules=False) as db:
        db.write(lambda tx: tx.define_type(FACT))
        victim = db.snapshot().seq
        db.write(lambda tx: tx.put_concept(FACT, "one"))
        db.search("one")  # Folds.
    forge(path, victim, message)
    found = found_in(path)
    assert ("replay", f"tx {victim}") in found
    assert any(check == "journal" for check, _ in found) == (message == "tidy")
