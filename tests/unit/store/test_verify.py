"""`verify`: all is well with every sound graph, and what is changed behind its back is found."""

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import apsw
import pytest

import mycel
from mycel.errors import MycelError
from tests.stored_bytes import stored_bytes
from tests.unit.store import shapes
from tests.unit.store.damage import Cell, cells, changes, write
from tests.unit.store.given import (
    FACT,
    Clock,
    add_concepts,
    columns_of,
    dump,
    problems,
    raw,
    stored_tables,
    text_answers,
)

DAMAGED_SHAPES = ("pending", "searched", "folded", "purged")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Graphs of each shape, made once."""
    folder = tmp_path_factory.mktemp("shapes")

    def find(name: str) -> Path:
        path = folder / f"{name}.db"
        if not path.exists():
            shapes.build(name, path)
        return path

    return find


@pytest.fixture
def copy_of(built: Callable[[str], Path], path: Path) -> Callable[[str], Path]:
    """A fresh copy of a graph of this shape."""

    def copy(name: str) -> Path:
        for suffix in ("-wal", "-shm", "-journal"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        shutil.copyfile(built(name), path)
        return path

    return copy


def findings(path: Path) -> list[dict[str, str]]:
    """What opening and verifying say is wrong. Anything but a Mycel error fails the test."""
    try:
        db = mycel.open(path, durability="off")
    except MycelError as error:
        return [{"check": "open", "where": "file", "what": str(error)}]
    with db:
        return problems(db.verify())


# ---------------------------------------------------------------------------------------------
# Sound graphs


@pytest.mark.parametrize("shape", shapes.SHAPES)
def test_a_sound_graph_of_any_shape_passes(copy_of: Callable[[str], Path], shape: str) -> None:
    path = copy_of(shape)
    with mycel.open(path, durability="off") as db:
        report = db.verify(replay=True)
        assert problems(report) == []
        assert report.ok
        assert report.entries == db.snapshot().entries
        assert "replay" in report.checks
        assert "replay" not in db.verify().checks
    with mycel.open(path, readonly=True) as db:
        assert problems(db.verify(replay=True)) == []


@pytest.mark.parametrize("shape", shapes.SHAPES)
def test_a_sound_graph_in_memory_passes(shape: str, clock: Clock) -> None:
    with mycel.open(":memory:", clock_us=clock) as db:
        shapes.SHAPES[shape](db)
        assert problems(db.verify(replay=True)) == []


def test_a_report_counts_what_is_live(db: mycel.Graph) -> None:
    before = db.verify()
    one, other, gone = add_concepts(db, "one", "other", "gone")
    db.add_edge(one, "references", other)
    db.write(lambda tx: tx.retire(gone))
    after = db.verify()
    assert after.concepts == before.concepts + 3, "the type, and the two that are still there"
    assert after.propositions == before.propositions + 1
    assert after.to_dict()["ok"] is True


def test_verifying_sees_one_moment_while_others_write(path: Path, clock: Clock) -> None:
    with (
        mycel.open(path, clock_us=clock, durability="off", busy_timeout_s=0.05) as db,
        mycel.open(path, clock_us=clock, durability="off") as other,
    ):
        add_concepts(db, "one")
        with other.transaction() as tx:
            tx.put_concept(FACT, "two")
            assert problems(db.verify()) == [], "that somebody writes is no damage"
            assert db.verify().ok


def test_verifying_inside_a_transaction_reports_no_damage(path: Path, clock: Clock) -> None:
    with mycel.open(path, clock_us=clock, durability="off", busy_timeout_s=0.05) as db:
        add_concepts(db, "one")
        with db.transaction() as tx:
            tx.put_concept(FACT, "two")
            assert problems(db.verify()) == []


@pytest.mark.parametrize("shape", ["pending", "loaded", "purged"])
def test_verifying_changes_no_byte(copy_of: Callable[[str], Path], shape: str) -> None:
    path = copy_of(shape)
    with mycel.open(path) as db:
        before = stored_bytes(path)
        db.verify(replay=True)
        db.verify()
        assert stored_bytes(path) == before
    with mycel.open(path) as db:
        db.add_edge("C:2", "references", "C:4")
        with_log = stored_bytes(path)
        assert with_log != before
        db.verify(replay=True)
        assert stored_bytes(path) == with_log


# ---------------------------------------------------------------------------------------------
# One bit


def cells_of(sound: Path, rows_max: int, random: Random) -> list[Cell]:
    with raw(sound) as connection:
        tables = stored_tables(connection)
        assert len(tables) > 10
        return [cell for table in tables for cell in cells(connection, table, rows_max, random)]


def unnoticed(path: Path, sound: Path, cell: Cell, bits: int, random: Random) -> list[str]:
    """Change one value at a time in a copy of a sound file; the changes that nothing reports."""
    missed = []
    for value in changes(cell.value, bits, random):
        shutil.copyfile(sound, path)
        with raw(path) as connection:
            written = write(connection, cell, value)
        if written:
            what = f"{cell}: {cell.value!r:.80} -> {value!r:.80}"
            missed += unreported(path, sound, what)
    return missed


def unreported(path: Path, sound: Path, what: str) -> list[str]:
    """What was damaged, if verifying raises or says that all is well.

    Of the text index's own tables alone, damage may stay unnoticed if it makes no difference: FTS5
    keeps counters there that only say when to merge, and hints that it can do without.
    """
    try:
        found = findings(path)
    except Exception as error:  # noqa: BLE001 - that nothing is raised is what is tested
        return [f"{what} raises {error!r}"]
    if found or (what.startswith("text_") and text_answers(path) == text_answers(sound)):
        return []
    return [what]


def test_a_changed_bit_in_any_column_of_any_table_is_reported(
    built: Callable[[str], Path], path: Path, seed: int
) -> None:
    """Each column once, in one of the shapes that have rows in its table."""
    random, columns = Random(seed), dict[str, list[tuple[Path, Cell]]]()
    for shape in DAMAGED_SHAPES:
        for cell in cells_of(built(shape), 1, random):
            columns.setdefault(f"{cell.table}.{cell.column}", []).append((built(shape), cell))
    assert len(columns) > 70
    missed = []
    for found in columns.values():
        sound, cell = random.choice(found)
        missed += unnoticed(path, sound, cell, 1, random)
    assert missed == []


@pytest.mark.soak
@pytest.mark.parametrize("shape", DAMAGED_SHAPES)
def test_many_changed_bits_in_every_row_are_reported(
    built: Callable[[str], Path], path: Path, shape: str, seed: int
) -> None:
    random, sound = Random(f"{shape}/{seed}"), built(shape)
    missed = [
        each
        for cell in cells_of(sound, 40, random)
        for each in unnoticed(path, sound, cell, 6, random)
    ]
    assert missed == []


# ---------------------------------------------------------------------------------------------
# Rows that are gone, exchanged, or new


def tables_of(sound: Path) -> list[str]:
    with raw(sound) as connection:
        return stored_tables(connection)


def row_ids(connection: apsw.Connection, table: str) -> tuple[str, list[tuple[object, ...]]]:
    """A condition that finds one row, and what to bind for each row."""
    columns = columns_of(connection, table)
    condition = " AND ".join(f'"{column}" IS ?' for column in columns)
    return condition, connection.execute(f'SELECT * FROM "{table}" ORDER BY 1, 2').fetchall()


@pytest.mark.parametrize("shape", DAMAGED_SHAPES)
def test_a_deleted_row_of_any_table_is_reported(
    built: Callable[[str], Path], path: Path, shape: str, seed: int
) -> None:
    assert deletions_unnoticed(path, built(shape), 1, Random(f"{shape}/{seed}")) == []


@pytest.mark.soak
@pytest.mark.parametrize("shape", DAMAGED_SHAPES)
def test_many_deleted_rows_of_every_table_are_reported(
    built: Callable[[str], Path], path: Path, shape: str, seed: int
) -> None:
    assert deletions_unnoticed(path, built(shape), 40, Random(f"{shape}/{seed}")) == []


def deletions_unnoticed(path: Path, sound: Path, rows_max: int, random: Random) -> list[str]:
    missed = []
    for table in tables_of(sound):
        with raw(sound) as connection:
            condition, rows = row_ids(connection, table)
        for at in sorted(random.sample(range(len(rows)), min(len(rows), rows_max))):
            shutil.copyfile(sound, path)
            with raw(path) as connection:
                connection.execute(f'DELETE FROM "{table}" WHERE {condition}', rows[at])
                assert connection.changes() == 1
            missed += unreported(path, sound, f"{table}: {rows[at]!r:.200}")
    return missed


@pytest.mark.parametrize("shape", DAMAGED_SHAPES)
def test_rows_of_any_table_that_are_exchanged_are_reported(
    built: Callable[[str], Path], path: Path, shape: str
) -> None:
    """Two rows swap what they say and keep their keys."""
    sound, random, missed, tried = built(shape), Random(2), [], 0
    for table in tables_of(sound):
        with raw(sound) as connection:
            keys = [
                name
                for name, pk in connection.execute(
                    "SELECT name, pk FROM pragma_table_info(?)", (table,)
                )
                if pk
            ] or ["rowid"]
            others = [each for each in columns_of(connection, table) if each not in keys]
            rows = connection.execute(
                f'SELECT {", ".join(keys)} FROM "{table}" ORDER BY 1'
            ).fetchall()
        if len(rows) < 2 or not others:
            continue
        one, other = random.sample(rows, 2)
        shutil.copyfile(sound, path)
        with raw(path) as connection:
            find = f'SELECT {", ".join(others)} FROM "{table}" WHERE ' + " AND ".join(
                f"{key} = ?" for key in keys
            )
            first = connection.execute(find, one).fetchone()
            second = connection.execute(find, other).fetchone()
            if first == second or not _store(connection, table, keys, others, one, second):
                continue
            if not _store(connection, table, keys, others, other, first):
                continue
        tried += 1
        missed += unreported(path, sound, f"{table}: {one} and {other}")
    assert missed == []
    assert tried >= 3


def _store(
    connection: apsw.Connection, table: str, keys: list[str], columns: list[str], key, values
) -> bool:  # type: ignore[no-untyped-def]
    assignments = ", ".join(f'"{column}" = ?' for column in columns)
    condition = " AND ".join(f"{name} = ?" for name in keys)
    try:
        connection.execute(f'UPDATE "{table}" SET {assignments} WHERE {condition}', (*values, *key))
    except apsw.ConstraintError:
        return False
    return True


ADDED_ROWS = {
    "a type nobody defined": "INSERT INTO type VALUES (900, 'Ghost')",
    "a predicate nobody defined": "INSERT INTO predicate VALUES (900, 'haunts')",
    "an actor who did nothing": "INSERT INTO actor VALUES (900, 'ghost')",
    "a concept without an entry": (
        "INSERT INTO concept SELECT 90000, type, 'ghost', attributes, metadata, version, seq,"
        " created_at, created_by, updated_at FROM concept LIMIT 1"
    ),
    "a link without an entry": (
        "INSERT INTO proposition SELECT 90001, object, predicate, subject, weight, attributes,"
        " metadata, version, seq, created_at, created_by, updated_at FROM proposition LIMIT 1"
    ),
    "a document of no element": "INSERT INTO text (rowid, body) VALUES (90000, 'ghost')",
}


@pytest.mark.parametrize("what", ADDED_ROWS)
@pytest.mark.parametrize("shape", ["pending", "folded"])
def test_a_row_that_came_from_nowhere_is_reported(
    copy_of: Callable[[str], Path], shape: str, what: str
) -> None:
    path = copy_of(shape)
    with raw(path) as connection:
        connection.execute(ADDED_ROWS[what])
    assert findings(path) != []


@pytest.mark.parametrize("kind", ["index", "view"])
def test_an_index_or_view_that_is_gone_is_reported(
    built: Callable[[str], Path], copy_of: Callable[[str], Path], kind: str
) -> None:
    with raw(built("pending")) as connection:
        names = connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = ? AND sql IS NOT NULL", (kind,)
        ).fetchall()
    assert names
    missed = []
    for (name,) in names:
        path = copy_of("pending")
        with raw(path) as connection:
            connection.execute(f'DROP {kind} "{name}"')
        if not findings(path):
            missed.append(name)
    assert missed == []


# ---------------------------------------------------------------------------------------------
# What verification itself does


def test_damage_is_reported_and_never_raised_or_written(
    built: Callable[[str], Path], path: Path, seed: int
) -> None:
    """Whatever garbage stands in a column, `verify` says so, and leaves the file as it is."""
    assert garbage_unnoticed(path, built("searched"), 1, Random(seed)) == []


@pytest.mark.soak
def test_all_kinds_of_damage_are_reported_and_never_raised_or_written(
    built: Callable[[str], Path], path: Path, seed: int
) -> None:
    assert garbage_unnoticed(path, built("searched"), 4, Random(seed)) == []


def garbage_unnoticed(path: Path, sound: Path, values_max: int, random: Random) -> list[str]:
    """The values that nothing reports, of so many for each column."""
    garbage = {"INTEGER": [-1, 0, 2**62, -(2**63)], "REAL": [-7.5, 1e300], "TEXT": ["", "{", "[1]"],
               "BLOB": [b"", b"\xff" * 9, bytes(70)]}  # fmt: skip
    missed = []
    for table in tables_of(sound):
        with raw(sound) as connection:
            kinds = connection.execute(
                "SELECT name, type FROM pragma_table_info(?)", (table,)
            ).fetchall()
            row = connection.execute(f'SELECT * FROM "{table}" ORDER BY 1 LIMIT 1').fetchone()
        if row is None:
            continue
        for (column, kind), old in zip(kinds, row, strict=True):
            values = garbage.get(kind, [None, 7, "text", b"\x00"])
            for value in random.sample(values, min(values_max, len(values))):
                shutil.copyfile(sound, path)
                if value == old or not _overwrite(path, table, column, old, value):
                    continue
                before = stored_bytes(path)
                missed += unreported(path, sound, f"{table}.{column} = {value!r}")
                assert stored_bytes(path) == before
    return missed


def _overwrite(path: Path, table: str, column: str, old: object, value: object) -> bool:
    """Put a value in place of another. False if the database does not allow it."""
    with raw(path) as connection:
        try:
            connection.execute(
                f'UPDATE "{table}" SET "{column}" = ?1 WHERE "{column}" IS ?2', (value, old)
            )
        except (apsw.ConstraintError, apsw.MismatchError):
            return False
    return True


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM journal",
        "DELETE FROM tx",
        "DELETE FROM concept",
        "DELETE FROM actor",
        "DROP TABLE journal",
        "DROP VIEW head",
        "UPDATE tx SET frontier = NULL",
        "DROP TABLE proposition",
        "DROP TABLE concept_tree",
        "DROP TABLE text",
        "ALTER TABLE tx DROP COLUMN message",
    ],
)
def test_even_a_wreck_is_reported_and_not_raised(
    copy_of: Callable[[str], Path], statement: str
) -> None:
    path = copy_of("folded")
    with raw(path) as connection:
        connection.execute(statement)
    assert findings(path) != []


def test_a_wrong_entry_is_named(copy_of: Callable[[str], Path]) -> None:
    path = copy_of("pending")
    with raw(path) as connection:
        connection.execute("UPDATE journal SET after = x'a0' WHERE seq = 5")
    with mycel.open(path) as db:
        report = db.verify(replay=True)
        assert not report.ok
        checks = {problem.check for problem in report.problems}
        assert {"journal", "versions", "replay"} <= checks
        assert report.to_dict()["problems"]


def test_a_text_that_the_index_lacks_is_named_and_the_index_is_checked_to_its_end(
    copy_of: Callable[[str], Path],
) -> None:
    path = copy_of("searched")
    with raw(path) as connection:
        connection.execute("DELETE FROM text WHERE rowid = (SELECT max(rowid) FROM text)")
    told = [each["what"] for each in findings(path) if each["check"] == "text"]
    assert "does not hold the text of the element" in told
    assert "has wrong lengths of documents" in told
    assert not any("to the end" in each for each in told)


def test_a_damaged_graph_reports_a_bounded_number_of_problems(
    copy_of: Callable[[str], Path],
) -> None:
    path = copy_of("loaded")
    with raw(path) as connection:
        connection.execute("UPDATE concept SET version = version + 1")
    with mycel.open(path) as db:
        assert 0 < len(db.verify().problems) <= 100


def test_what_was_found_does_not_depend_on_what_was_read_before(
    copy_of: Callable[[str], Path],
) -> None:
    """Damage done while the graph is open is found, although names are remembered in memory."""
    path = copy_of("searched")
    with mycel.open(path, durability="off") as db:
        assert db.verify().ok
        for damage, repair in (
            ("UPDATE predicate SET name = 'lykes' WHERE name = 'likes'",
             "UPDATE predicate SET name = 'likes' WHERE name = 'lykes'"),
            ("UPDATE type SET name = 'Fict' WHERE name = 'Fact'",
             "UPDATE type SET name = 'Fact' WHERE name = 'Fict'"),
            ("UPDATE actor SET name = 'bob' WHERE name = 'ben'",
             "UPDATE actor SET name = 'ben' WHERE name = 'bob'"),
        ):  # fmt: skip
            with raw(path) as connection:
                connection.execute(damage)
            assert problems(db.verify()) != [], damage
            with raw(path) as connection:
                connection.execute(repair)
            assert problems(db.verify()) == []


def test_a_sound_graph_still_dumps_the_same_after_all_this(
    built: Callable[[str], Path], copy_of: Callable[[str], Path]
) -> None:
    path = copy_of("purged")
    assert findings(path) == []
    assert dump(path) == dump(built("purged"))
