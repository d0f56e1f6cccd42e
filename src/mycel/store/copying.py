"""Copies a graph to another database, with its whole journal: roots and proofs stay equal.

Tables of content and of the journal are copied row by row. The index of properties and the text
index are made again, because SQLite and PostgreSQL store them differently. Data that search derives
is left out; the copy derives it when it needs it. The whole copy is one transaction of the new
graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from mycel.errors import DuplicateExists
from mycel.merkle.proofs import Snapshot
from mycel.model import allowance
from mycel.store.backend.interface import Connection
from mycel.store.database import Store
from mycel.store.file.layout import CONCEPT_COLUMNS, PROPOSITION_COLUMNS
from mycel.store.file.rows import Row
from mycel.store.index import text
from mycel.store.index.properties import Properties
from mycel.store.index.write_cache import WriteCache
from mycel.store.log import marks, merges, saved_views, submissions
from mycel.store.opening import locate
from mycel.text.analysis import AnalysedText

READ_TOGETHER: Final = 5_000
"""The number of rows that are read and written at a time."""


class _Table(NamedTuple):
    """A table that is copied."""

    name: str
    key: str
    """The columns that number its rows."""
    columns: str
    is_optional: bool = False
    """True for a table that a file gets only when it needs it."""


_PAST: Final = ", to_seq, tombstoned_at, tombstoned_by, tombstoned_reason"
_LIVE_SEQ, _PAST_SEQ = {"seq": "seq"}, {"seq": "from_seq"}
_TABLES: Final = (
    _Table("type", "id", "id, name"),
    _Table("predicate", "id", "id, name"),
    _Table("actor", "id", "id, name"),
    _Table("concept", "id", CONCEPT_COLUMNS.format(**_LIVE_SEQ)),
    _Table("proposition", "id", PROPOSITION_COLUMNS.format(**_LIVE_SEQ)),
    _Table("concept_past", "rowid", CONCEPT_COLUMNS.format(**_PAST_SEQ) + _PAST),
    _Table("proposition_past", "rowid", PROPOSITION_COLUMNS.format(**_PAST_SEQ) + _PAST),
    _Table("journal", "seq", "seq, kind, element, before, after, purged"),
    _Table("log_node", "level, position", "level, position, hash"),
    _Table("concept_tree", "page", "page, body"),
    _Table("edge_tree", "page", "page, body"),
    _Table(
        "tx",
        "seq",
        "seq, first_seq, time, actor, message, concepts_root, edges_root, next_concept,"
        " next_proposition, definitions, folded_seq, pending, frontier, changes, texts",
    ),
    _Table("property_slot", "slot", "slot, owner, is_link, columns, is_unique"),
    _Table("link_end", "predicate, side", "predicate, side"),
    _Table("hidden", "element, to_seq", "element, from_seq, to_seq"),
    _Table(
        "lifetime",
        "element, to_seq",
        "element, valid_from, valid_until, expires, from_seq, to_seq",
    ),
    _Table(
        "former_period",
        "element, to_seq, valid_from",
        "element, valid_from, valid_until, from_seq, to_seq",
    ),
    _Table("merge_open", "id", "id, body", is_optional=True),
    _Table("merge_conflict", "rowid", "merge, id, body", is_optional=True),
    _Table("merge_contested", "element, merge, id", "element, merge, id", is_optional=True),
    _Table("merge_choice", "seq, id", "seq, id, element, body", is_optional=True),
    _Table("merge_match", "other, seq", "other, seq, number", is_optional=True),
    _Table("merge_creation", "seq, number, creation", "seq, number, creation", is_optional=True),
    _Table(
        "merge_origin", "number, seq, place", "number, seq, place, time, actor", is_optional=True
    ),
    _Table("submission_outcome", "actor, key", "actor, key, digest, time, body", is_optional=True),
    _Table("submission_proposal", "id", "id, status, actor, time, body", is_optional=True),
    _Table("view_saved", "id", "id, name, actor, time, body", is_optional=True),
)


_CONCEPT_TEXTS: Final = _Table("concept", "id", "id, name, attributes")
_LINK_TEXTS: Final = _Table("proposition", "id", "id, '', attributes")
_OPTIONAL: Final = {
    "merge": merges.TABLES,
    "submission": submissions.TABLES,
    "view": saved_views.TABLES,
}
"""The statements that make optional tables, by the beginning of the tables' names."""


def copy_store(store: Store, place: str) -> tuple[str, Snapshot]:
    """Copy a graph to a place that has none. Returns the path or URL of the copy, and its roots.

    Raises:
        DuplicateExists: there is a graph already.
        NotADatabase, DatabaseReadOnly, DiskFull, DatabaseError: the copy cannot be made.
    """
    location = locate(place, readonly=False, durability="full", busy_timeout_s=30.0, vfs=None)
    is_new = False

    def fill(target: Connection) -> None:
        nonlocal is_new
        is_new = True
        _copy(reader.connection, target)

    with store.reading() as reader:
        snapshot = reader.head().snapshot()
        location.open(fill, create=True).close()
    if not is_new:
        raise DuplicateExists(
            f"There is a graph at {location.path!r}.", hint="Copy it to another place."
        )
    return location.path, snapshot


def _copy(source: Connection, target: Connection) -> None:
    for table in _TABLES:
        if table.is_optional and not source.has_objects(table.name):
            continue
        rows = _rows(source, table)
        for at, some in enumerate(rows):
            if table.is_optional and not at:
                target.make(_OPTIONAL[table.name.partition("_")[0]])
            target.append(table.name, table.columns, some)
    if source.execute("SELECT 1 FROM journal WHERE kind = 9 LIMIT 1").fetchone() is not None:
        target.make(marks.INDEX)
    Properties(target, WriteCache()).fill()
    unread = text.pending(target)
    for texts in (_CONCEPT_TEXTS, _LINK_TEXTS):
        for some_texts in _rows(target, texts):
            text.index(target, (_document(row) for row in some_texts if row[0] not in unread))


def _document(row: Row) -> tuple[int, AnalysedText | None]:
    number, name, attributes = row
    return number, text.document(number, name, attributes)


def _rows(source: Connection, table: _Table) -> Iterator[list[Row]]:
    """All rows in the order of the key, in batches."""
    width = table.key.count(",") + 1
    marks_of_key = ", ".join("?" * width)
    last: Row = ()
    while True:
        allowance.check()
        beyond = f" WHERE ({table.key}) > ({marks_of_key})" if last else ""
        rows: list[Row] = source.execute(
            f"SELECT {table.key}, {table.columns} FROM {table.name}{beyond}"
            f" ORDER BY {table.key} LIMIT {READ_TOGETHER}",
            last,
        ).fetchall()
        if not rows:
            return
        yield [row[width:] for row in rows]
        last = rows[-1][:width]
