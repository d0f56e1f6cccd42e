"""The table of saved views: parts of the graph that people keep under names.

The views are no part of the knowledge: no record, root or history depends on them, and `verify`
leaves them out. The table is made with the first view. Purges and scrubs remove the views that show
forgotten elements.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

import orjson

from mycel.errors import InvalidId
from mycel.model import ids
from mycel.store.backend.interface import Connection
from mycel.store.file.rows import fetch_all, fetch_first

PREFIX: Final = "view_"
"""The prefix of the names of all tables of this module."""

TABLES: Final = """
CREATE TABLE IF NOT EXISTS view_saved (
    id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, actor TEXT NOT NULL, time INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
"""


class SavedView(NamedTuple):
    """The head of a saved view: its name, with the time and actor of the last save."""

    id: str
    name: str
    actor: str
    time_us: int


def are_there(connection: Connection) -> bool:
    """True if this file ever had a saved view."""
    return connection.has_objects("view_saved")


def heads(connection: Connection) -> list[SavedView]:
    """All views without their content, by name."""
    if not are_there(connection):
        return []
    rows = fetch_all(connection, "SELECT id, name, actor, time FROM view_saved ORDER BY name")
    return list(map(SavedView._make, rows))


def find(connection: Connection, id_: str) -> tuple[SavedView, dict[str, Any]] | None:
    """A view with its content; None if no view has this id."""
    view = next((head for head in heads(connection) if head.id == id_), None)
    return None if view is None else (view, body_of(connection, id_))


def body_of(connection: Connection, id_: str) -> dict[str, Any]:
    """The content of an existing view."""
    row = fetch_first(connection, "SELECT body FROM view_saved WHERE id = ?", (id_,))
    body: dict[str, Any] = orjson.loads(row[0]) if row else {}
    return body


def keep(
    connection: Connection,
    view: SavedView,
    body: Mapping[str, Any],
    most: int,
    *,
    is_new: bool,
) -> str:
    """Store a new view, or replace the view with this id.

    Returns "" if it was stored, or the reason why not: "gone" if there is no view to replace,
    "taken" if another view has the name, "full" if there are `most` views already.
    """
    connection.make(TABLES)
    if reason := _obstacle(connection, view, is_new=is_new):
        return reason
    if is_new and len(heads(connection)) >= most:
        return "full"
    row = (*view, orjson.dumps(body).decode())
    connection.execute(
        "INSERT INTO view_saved VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id)"
        " DO UPDATE SET name = ?2, actor = ?3, time = ?4, body = ?5",
        row,
    )
    return ""


def rename(connection: Connection, view: SavedView) -> str:
    """Change the name, time and actor of the view with this id, and keep its content.

    Returns "", or the reason why nothing was changed: "gone" or "taken", see `keep`.
    """
    if not are_there(connection):
        return "gone"
    if reason := _obstacle(connection, view, is_new=False):
        return reason
    connection.execute(
        "UPDATE view_saved SET name = ?, actor = ?, time = ? WHERE id = ?",
        (view.name, view.actor, view.time_us, view.id),
    )
    return ""


def _obstacle(connection: Connection, view: SavedView, *, is_new: bool) -> str:
    """The reason why a view cannot be stored: "gone" or "taken"; "" if it can."""
    names = {head.id: head.name for head in heads(connection)}
    if not is_new and names.pop(view.id, None) is None:
        return "gone"
    return "taken" if view.name in names.values() else ""


def remove(connection: Connection, id_: str) -> SavedView | None:
    """Remove a view. Returns the removed view; None if there is none."""
    if not are_there(connection):
        return None
    row = fetch_first(
        connection, "DELETE FROM view_saved WHERE id = ? RETURNING id, name, actor, time", (id_,)
    )
    return None if row is None else SavedView._make(row)


def forget(
    connection: Connection, numbers: Collection[int], names: Collection[str], until: int = 0
) -> None:
    """Remove the views that show purged elements.

    Three kinds of views are removed: views of the purged elements; views of groups at, below or
    around one of their names, unless another element still has a name there; and views of states
    before the entry `until`.
    """
    if not are_there(connection):
        return
    purged, purged_names = frozenset(numbers), frozenset(names)
    folders = {folder for name in purged_names for folder in _folders(name)}
    for (id_,) in fetch_all(connection, "SELECT id FROM view_saved"):
        body = body_of(connection, id_)
        view = body.get("view", {})
        at, group = view.get("at"), view.get("group")
        is_forgotten = at is not None and at < until
        if not is_forgotten and group:
            is_near = group in folders or not purged_names.isdisjoint((group, *_folders(group)))
            is_forgotten = is_near and not _is_in_use(connection, group)
        if is_forgotten or not purged.isdisjoint(_numbers_in(body)):
            connection.execute("DELETE FROM view_saved WHERE id = ?", (id_,))


def _numbers_in(content: Any) -> Iterator[int]:
    """The numbers of all elements whose ids are in a view."""
    match content:
        case str() if content.startswith(("C:", "P:")):
            with suppress(InvalidId):
                yield ids.parse_id(content)
        case list():
            for item in content:
                yield from _numbers_in(item)
        case dict():
            for key, value in content.items():
                yield from _numbers_in(key)
                yield from _numbers_in(value)


def _folders(name: str) -> Iterator[str]:
    """The folders around a name."""
    return (name[:at] for at, character in enumerate(name) if character in "/#")


def _is_in_use(connection: Connection, group: str) -> bool:
    """True if a concept has, or once had, a name at or below a group."""
    query = " UNION ALL ".join(
        f"SELECT 1 FROM {table} WHERE name = ?1 OR (name > ?1 || '/' AND name < ?1 || '0')"
        " OR (name > ?1 || '#' AND name < ?1 || '$')"
        for table in ("concept", "concept_past")
    )
    return fetch_first(connection, f"{query} LIMIT 1", (group,)) is not None
