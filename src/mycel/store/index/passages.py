"""Tables of passages, which search derives from elements, and of their vectors by model.

    recall_mark     what was derived, and up to which entry of the journal
    recall_passage  of each concept: names, phrases and word pieces of its text, its episode
    recall_vector   of each concept and model: the vector of its text
    recall_block    of each model: the passages of a range of elements (`search.index.blocks`)
    recall_model    of each model: its calibration, which gives its cosines a meaning

This is derived data: no record, root or history depends on it, `verify` leaves it out, and it is
made when first needed. `seq` of a row is the version of its element. A mark means that all elements
are derived as of that entry of the journal. The pending elements are those of the entries after it,
so writers need not note them, two processes may derive at once, and another process repeats the
work of a killed one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from mycel.store.backend.interface import Connection
from mycel.store.file.rows import fetch_first, fetch_one

PREFIX: Final = "recall_"
"""The prefix of the names of all tables of this module."""

TABLES: Final = """
CREATE TABLE IF NOT EXISTS recall_mark (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, seq INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS recall_passage (
    element INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    type INTEGER NOT NULL,
    names BLOB NOT NULL,
    phrases BLOB NOT NULL,
    pieces BLOB NOT NULL,
    flags INTEGER NOT NULL,
    date INTEGER NOT NULL,
    actor TEXT,
    episode TEXT,
    position REAL
) STRICT;
CREATE TABLE IF NOT EXISTS recall_vector (
    model INTEGER NOT NULL,
    element INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (model, element)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS recall_block (
    model INTEGER NOT NULL, block INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (model, block)
) STRICT;
CREATE TABLE IF NOT EXISTS recall_model (
    name TEXT PRIMARY KEY, other REAL NOT NULL, answer REAL NOT NULL, separation REAL NOT NULL
) STRICT;
"""


_NAMES: Final = ("recall_mark", "recall_passage", "recall_vector", "recall_block", "recall_model")


DICTIONARY: Final = -1
"""The number of the block with the phrases that search looks for in texts."""


def block_of(elements: Any) -> Any:
    """The block of an element, or of each element in an array. A block has some 1,000 concepts."""
    return elements >> 11


class PassageRow(NamedTuple):
    """Data derived from one concept. Arrays are little-endian bytes."""

    element: int
    seq: int
    """The entry that wrote the version from which the row is derived."""
    type: int
    names: bytes
    """Hashes (u32) of the names of the concept."""
    phrases: bytes
    """Hashes (u32) of the capitalised phrases in the text of the concept."""
    pieces: bytes
    """Numbers (u16) of the word pieces of the text, in order."""
    flags: int
    date: int
    """Year, month and day as one number; 0 if there is none."""
    actor: str | None
    episode: str | None
    position: float | None


_UNFINISHED: Final = -1
"""The mark of a model with only a part of its vectors stored."""


def has_tables(connection: Connection) -> bool:
    """True if the tables exist: passages were derived in this file, and no table was lost since."""
    return connection.has_objects(*_NAMES)


def mark(connection: Connection, name: str) -> int | None:
    """The entry up to which passages, or vectors of a model, are derived; None if never."""
    if not has_tables(connection):
        return None
    row = fetch_first(connection, "SELECT seq FROM recall_mark WHERE name = ?", (name,))
    return None if row is None or row[0] == _UNFINISHED else int(row[0])


def write(
    connection: Connection,
    model: str,
    since: int | None,
    seq: int,
    entries: Iterable[tuple[PassageRow, bytes]],
    removals: Iterable[int],
    *,
    blocks: Mapping[int, bytes],
    is_whole: bool,
) -> bool:
    """Store passages and vectors derived from the changes between two entries of the journal.

    `since` is None if they cover the whole graph. `removals` are elements that no longer have
    passages. `blocks` are the changed blocks, or all of them if `is_whole`. Passages of elements
    that were changed or removed after `seq` are left out, because purged content must not come back
    and another process may have stored newer passages. Returns False, and stores nothing, if the
    stored data is newer, or if the data at `since` was lost.
    """
    _make_tables(connection)
    _forget_other_versions(connection, model)
    stored = mark(connection, model)
    if stored is not None and stored > seq:
        return False
    if since is not None and (stored is None or stored < since):
        return False
    connection.execute(
        "INSERT INTO recall_mark (name, seq) VALUES (?1, ?2)"
        " ON CONFLICT (name) DO UPDATE SET seq = ?2",
        (model, seq),
    )
    (number,) = fetch_one(connection, "SELECT id FROM recall_mark WHERE name = ?", (model,))
    if since is None:
        for table, those in (("recall_vector", f"model = {number:d} AND"), ("recall_passage", "")):
            connection.execute(
                f"DELETE FROM {table} WHERE {those} NOT EXISTS"
                f" (SELECT 1 FROM concept c WHERE c.id = element AND c.seq = {table}.seq)"
            )
    for element in removals:
        _remove_rows(connection, element)
    if is_whole:
        connection.execute("DELETE FROM recall_block WHERE model = ?", (number,))
    connection.executemany(
        "INSERT INTO recall_block VALUES (?1, ?2, ?3)"
        " ON CONFLICT (model, block) DO UPDATE SET data = ?3",
        ((number, block, data) for block, data in blocks.items()),
    )
    _keep(connection, number, entries)
    return True


def keep_portion(
    connection: Connection, model: str, entries: Iterable[tuple[PassageRow, bytes]]
) -> bool:
    """Store some passages and vectors while others of their model are still missing.

    Passages of elements that have changed or gone since are left out. Returns True, by which the
    caller of `Store.derive` knows that the others were stored.
    """
    _keep(connection, _begun(connection, model), entries)
    return True


def _keep(connection: Connection, number: int, entries: Iterable[tuple[PassageRow, bytes]]) -> None:
    marks = ", ".join(f"?{at + 1}" for at in range(len(PassageRow._fields)))
    columns = ", ".join(f"{name} = excluded.{name}" for name in PassageRow._fields[1:])
    query = (
        f"INSERT INTO recall_passage SELECT {marks} FROM concept WHERE id = ?1 AND seq = ?2"
        f" ON CONFLICT (element) DO UPDATE SET {columns}"
    )
    # The writer does not read the pages of earlier portions again, which would fill its cache.
    connection.keep_nothing()
    for passage, vector in entries:
        connection.execute(query, passage)
        connection.execute(_KEEP_VECTOR, (number, passage.element, passage.seq, vector))


def _begun(connection: Connection, model: str) -> int:
    """The number of a model; a new model is marked as unfinished."""
    _make_tables(connection)
    _forget_other_versions(connection, model)
    query = "INSERT INTO recall_mark (name, seq) VALUES (?, ?) ON CONFLICT (name) DO NOTHING"
    connection.execute(query, (model, _UNFINISHED))
    (number,) = fetch_one(connection, "SELECT id FROM recall_mark WHERE name = ?", (model,))
    return int(number)


def _forget_other_versions(connection: Connection, model: str) -> None:
    """Remove data of another version of the derivation: passages do not name their version."""
    version, slash, _ = model.partition("/")
    query = "SELECT 1 FROM recall_mark WHERE substr(name, 1, length(?1)) <> ?1 LIMIT 1"
    if fetch_first(connection, query, (version + slash,)) is not None:
        forget(connection)
        _make_tables(connection)


_KEEP_VECTOR: Final = (
    "INSERT INTO recall_vector SELECT ?1, id, seq, ?4 FROM concept WHERE id = ?2 AND seq = ?3"
    " ON CONFLICT (model, element) DO UPDATE SET seq = excluded.seq, vector = excluded.vector"
)


def keep_vectors(
    connection: Connection, model: str, rows: Iterable[tuple[int, int, bytes]]
) -> None:
    """Store some vectors (element, seq, vector) while others of their model are still missing.

    Vectors of elements that have changed or gone since are left out.
    """
    number = _begun(connection, model)
    for row in rows:
        connection.execute(_KEEP_VECTOR, (number, *row))


def keep_calibration(
    connection: Connection, name: str, measured: tuple[float, float, float]
) -> None:
    """Store the calibration of a model."""
    _make_tables(connection)
    connection.execute(
        "INSERT INTO recall_model VALUES (?1, ?2, ?3, ?4) ON CONFLICT (name)"
        " DO UPDATE SET other = ?2, answer = ?3, separation = ?4",
        (name, *measured),
    )


def calibration(connection: Connection, name: str) -> tuple[float, float, float] | None:
    """The stored calibration of a model; None if there is none."""
    if not has_tables(connection):
        return None
    query = "SELECT other, answer, separation FROM recall_model WHERE name = ?"
    row = fetch_first(connection, query, (name,))
    return None if row is None else (float(row[0]), float(row[1]), float(row[2]))


def forget_vectors(
    connection: Connection, *, model: str | None = None, but: str | None = None
) -> None:
    """Remove the vectors and calibration of one model, or of all models but one."""
    if has_tables(connection):
        others = "name = ?1 OR (?1 IS NULL AND name <> ?2)"
        connection.execute(f"DELETE FROM recall_model WHERE {others}", (model, but))
        which = f"SELECT id FROM recall_mark WHERE {others}"
        for table in ("recall_vector", "recall_block"):
            connection.execute(f"DELETE FROM {table} WHERE model IN ({which})", (model, but))
        connection.execute(f"DELETE FROM recall_mark WHERE id IN ({which})", (model, but))


def remove(connection: Connection, element: int) -> None:
    """Remove everything derived from an element, with the blocks that may contain it."""
    if has_tables(connection):
        _remove_rows(connection, element)
        query = "DELETE FROM recall_block WHERE block IN (?, ?)"
        connection.execute(query, (block_of(element), DICTIONARY))
    else:
        # A table is lost: the others would still keep data of the element.
        forget(connection)


def _remove_rows(connection: Connection, element: int) -> None:
    connection.execute("DELETE FROM recall_passage WHERE element = ?", (element,))
    query = "DELETE FROM recall_vector WHERE element = ? AND model IN (SELECT id FROM recall_mark)"
    connection.execute(query, (element,))


def forget(connection: Connection) -> None:
    """Remove everything that was derived; it is derived again when it is needed."""
    connection.unmake(*_NAMES)


def _make_tables(connection: Connection) -> None:
    connection.make(TABLES)
