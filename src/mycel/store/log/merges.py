"""Tables of open merges, their conflicts, and the choices of committed merges.

    merge_open       an open merge: what is merged, how, and what was decided so far
    merge_conflict   its conflicts
    merge_contested  the elements of this graph that each conflict is about
    merge_choice     the automatic choices of a merge that was committed, by its last entry
    merge_match      the numbers that its elements have in the source and here
    merge_creation   the creations that its elements have in the source (`query.creations`)
    merge_origin     the time and actor of the writes of values that it took from the source

The tables are no part of the knowledge: no record, root or history depends on them, `verify` leaves
them out, and they are made with the first row. A purge removes rows about the purged elements from
them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

import orjson

from mycel.model.ids import parse_id
from mycel.store.backend.interface import Connection
from mycel.store.file.rows import fetch_all

PREFIX: Final = "merge_"
"""The prefix of the names of all tables of this module."""

TABLES: Final = """
CREATE TABLE IF NOT EXISTS merge_open (id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS merge_conflict (
    merge TEXT NOT NULL,
    id TEXT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (merge, id)
) STRICT;
CREATE TABLE IF NOT EXISTS merge_contested (
    element INTEGER NOT NULL, merge TEXT NOT NULL, id TEXT NOT NULL,
    PRIMARY KEY (element, merge, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS merge_choice (
    seq INTEGER NOT NULL, id TEXT NOT NULL, element INTEGER, body TEXT NOT NULL,
    PRIMARY KEY (seq, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS merge_match (
    other INTEGER NOT NULL, seq INTEGER NOT NULL, number INTEGER NOT NULL,
    PRIMARY KEY (other, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS merge_match_number ON merge_match (number, seq);
CREATE TABLE IF NOT EXISTS merge_creation (
    seq INTEGER NOT NULL, number INTEGER NOT NULL, creation BLOB NOT NULL,
    PRIMARY KEY (seq, number, creation)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS merge_origin (
    number INTEGER NOT NULL, seq INTEGER NOT NULL, place TEXT NOT NULL,
    time INTEGER NOT NULL, actor TEXT NOT NULL,
    PRIMARY KEY (number, seq, place)
) STRICT, WITHOUT ROWID;
"""


class MergeRow(NamedTuple):
    """A conflict or a choice: its id, the element that it is about, and all of it as JSON."""

    id: str
    element: int | None
    body: dict[str, Any]

    @property
    def text(self) -> str:
        return _text(self.body)


def are_there(connection: Connection) -> bool:
    """True if the tables exist.

    The first merge in a file that keeps something makes all of them, and a graph in PostgreSQL has
    them from the beginning.
    """
    return connection.has_objects("merge_open")


def have_origins(connection: Connection) -> bool:
    """True if the table of origins exists; it may be empty (`are_there`)."""
    return connection.has_objects("merge_origin")


def have_creations(connection: Connection) -> bool:
    """True if the table of creations exists; it may be empty (`are_there`)."""
    return connection.has_objects("merge_creation")


def is_at(connection: Connection, body: Mapping[str, Any]) -> bool:
    """True if the stored version of an open merge is the one that a caller has read.

    `version` counts the writes of the merge; version 0 means that no merge of this source into this
    target is stored.
    """
    stored = [
        (merge["opened"], merge.get("version"))
        for merge in opened(connection)
        if (merge["source"], merge["into"]) == (body["source"], body["into"])
    ]
    return stored == ([(body["opened"], body["version"])] if body["version"] else [])


def keep(
    connection: Connection, id_: str, body: dict[str, Any], conflicts: Iterable[MergeRow]
) -> bool:
    """Store an open merge with its conflicts, in place of the stored version.

    Returns False, and stores nothing, if the merge was written or ended since the caller read it.
    """
    if not is_at(connection, body):
        return False
    connection.make(TABLES)
    remove(connection, id_)
    new_body = body | {"version": body["version"] + 1}
    connection.execute("INSERT INTO merge_open VALUES (?, ?)", (id_, _text(new_body)))
    for conflict in conflicts:
        row = (id_, conflict.id, conflict.text)
        connection.execute("INSERT INTO merge_conflict VALUES (?, ?, ?)", row)
        connection.executemany(
            "INSERT INTO merge_contested VALUES (?, ?, ?)",
            [(element, id_, conflict.id) for element in _elements(conflict)],
        )
    return True


def _elements(conflict: MergeRow) -> set[int]:
    """The elements that a conflict is about; for a broken constraint, those in its rows."""
    id_list = [row.get("element") for row in conflict.body.get("rows", ())]
    numbers = {parse_id(id_) for id_ in id_list if isinstance(id_, str)}
    return numbers if conflict.element is None else numbers | {conflict.element}


def remove(connection: Connection, id_: str) -> None:
    """Remove an open merge."""
    if are_there(connection):
        for table, column in (("open", "id"), ("conflict", "merge"), ("contested", "merge")):
            connection.execute(f"DELETE FROM merge_{table} WHERE {column} = ?", (id_,))


def opened(connection: Connection) -> list[dict[str, Any]]:
    """The open merges, oldest first."""
    if not are_there(connection):
        return []
    query = "SELECT body FROM merge_open ORDER BY json_extract(body, '$.opened'), id"
    return [orjson.loads(body) for (body,) in fetch_all(connection, query)]


def forget(connection: Connection, numbers: Collection[int], until: int = 0) -> None:
    """Forget elements that are purged: choices about them, their origins, and every open merge.

    Parts of an open merge may hold such an element without naming it, so all open merges go.
    Choices and origins of merges up to the entry `until` are removed too.
    """
    if are_there(connection):
        _forget_open(connection)
        connection.executemany(
            "DELETE FROM merge_choice WHERE element = ?", [(number,) for number in numbers]
        )
        connection.execute("DELETE FROM merge_choice WHERE seq <= ?", (until,))
    if have_origins(connection):
        connection.executemany(
            "DELETE FROM merge_origin WHERE number = ?", [(number,) for number in numbers]
        )
        connection.execute("DELETE FROM merge_origin WHERE seq <= ?", (until,))


def _forget_open(connection: Connection) -> None:
    for table in ("merge_open", "merge_conflict", "merge_contested"):
        connection.execute(f"DELETE FROM {table}")


def forget_open_merges(connection: Connection) -> None:
    """Remove the open merges from the file of a new branch; the old branch keeps them."""
    if are_there(connection):
        _forget_open(connection)


def _text(value: Any) -> str:
    return orjson.dumps(value).decode()
