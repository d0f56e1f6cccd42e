"""The table of saved views: what people look at, under names.

They are no part of the knowledge: no record, root or history depends on them, and `verify` leaves
them out. The table is made with the first view. A purge removes the views that show what is purged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import apsw
import orjson

from mycel.model import ids
from mycel.store.file.rows import every, first

PREFIX: Final = "view_"
"""The names of all tables of this module begin so."""

TABLES: Final = """
CREATE TABLE IF NOT EXISTS view_saved (
    id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, actor TEXT NOT NULL, time INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
"""


class SavedView(NamedTuple):
    """The head of a saved view: its name, and who saved it when."""

    id: str
    name: str
    actor: str
    time_us: int


def are_there(connection: apsw.Connection) -> bool:
    """True if a view was ever saved in this file."""
    return first(connection, "SELECT 1 FROM sqlite_schema WHERE name = 'view_saved'") is not None


def heads(connection: apsw.Connection) -> list[SavedView]:
    """All views without their content, by name."""
    if not are_there(connection):
        return []
    rows = every(connection, "SELECT id, name, actor, time FROM view_saved ORDER BY name")
    return list(map(SavedView._make, rows))


def body_of(connection: apsw.Connection, id_: str) -> dict[str, Any]:
    """The content of a view that is there."""
    row = first(connection, "SELECT body FROM view_saved WHERE id = ?", (id_,))
    found: dict[str, Any] = orjson.loads(row[0]) if row else {}
    return found


def keep(connection: apsw.Connection, view: SavedView, body: Mapping[str, Any], most: int) -> str:
    """Store a view, in place of the one with its id.

    Returns "" or the reason why it is not stored: "taken" if another one has its name, "full" if
    there are `most` already.
    """
    connection.execute(TABLES)
    others = [each for each in heads(connection) if each.id != view.id]
    if any(each.name == view.name for each in others):
        return "taken"
    if len(others) >= most:
        return "full"
    row = (*view, orjson.dumps(body).decode())
    connection.execute("INSERT OR REPLACE INTO view_saved VALUES (?, ?, ?, ?, ?)", row)
    return ""


def remove(connection: apsw.Connection, id_: str) -> bool:
    """Remove a view; returns False if there is none."""
    if not are_there(connection):
        return False
    connection.execute("DELETE FROM view_saved WHERE id = ?", (id_,))
    return connection.changes() > 0


def forget(connection: apsw.Connection, numbers: Iterable[int], names: Iterable[str]) -> None:
    """Remove the views that show elements that are purged, or the inside of one of these names."""
    if are_there(connection):
        shown = [f'"{ids.concept_id(n)}"' if ids.is_concept(n) else f'"P:{n}:' for n in numbers]
        connection.executemany(
            "DELETE FROM view_saved WHERE instr(body, ?)", [(each,) for each in shown]
        )
        connection.executemany(
            "DELETE FROM view_saved WHERE instr(json_extract(body, '$.view.group'), ?)",
            [(each,) for each in names],
        )
