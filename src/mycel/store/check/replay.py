"""Rebuilds the state from the journal alone, in a new file, and compares all of it.

The replay reads only the journal and the transactions of the original. The roots are compared after
each transaction, so the first different one is named. At the end, every live row, every past
version and every name is compared.

A purged entry still has the hashes of its records, and the entry of the purge has the key of the
element. So the roots of every moment can be computed without the content.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from mycel.errors import DatabaseCorrupt
from mycel.merkle.proofs import Namespace
from mycel.model import ids
from mycel.model.names import CONCEPT_TYPE
from mycel.model.records import (
    RECORD_ID_BYTES,
    ConceptFields,
    EdgeFields,
    concept_key,
    decode_concept,
    decode_edge,
    link_key,
    record_hash,
)
from mycel.model.values import object_text
from mycel.store.backend.interface import Connection
from mycel.store.backend.sqlite.connection import SqliteConnection
from mycel.store.file import layout
from mycel.store.file.layout import CONCEPT_COLUMNS, OPEN_END, PROPOSITION_COLUMNS
from mycel.store.file.rows import Row, fetch_first
from mycel.store.log.journal import (
    EntryRow,
    Head,
    JournalNodes,
    Kind,
    entries_and_transactions,
)
from mycel.store.log.purge_entries import PurgeFields, purges
from mycel.store.log.registry import Registry
from mycel.store.log.trees import NAMESPACES, StateTrees, TreeChanges
from mycel.store.query.reader import Reader


def _with_actors(table: str, columns: str) -> dict[str, str]:
    """Queries for the live and the past rows of a table, with actors by name."""
    columns = columns.replace("id, ", "e.id, ", 1).replace(" name", " e.name")
    columns = columns.replace("created_by", "a.name")
    live, past = columns.format(seq="seq"), columns.format(seq="from_seq")
    return {
        table: (
            f"SELECT {live} FROM {table} e JOIN actor a ON a.id = created_by ORDER BY e.id, seq"
        ),
        f"{table}_past": (
            f"SELECT {past}, to_seq, tombstoned_at, b.name, tombstoned_reason FROM {table}_past e"
            " JOIN actor a ON a.id = created_by LEFT JOIN actor b ON b.id = tombstoned_by"
            " ORDER BY e.id, from_seq"
        ),
    }


_COMPARED: Final = {
    "type": "SELECT id, name FROM type ORDER BY id",
    "predicate": "SELECT id, name FROM predicate ORDER BY id",
    **_with_actors("concept", CONCEPT_COLUMNS),
    **_with_actors("proposition", PROPOSITION_COLUMNS),
}


def replay_problems(reader: Reader) -> Iterator[tuple[str, str]]:
    """Rebuild the state of a snapshot from its journal, and report where the two differ."""
    with tempfile.TemporaryDirectory(prefix="mycel-replay-") as directory:
        rebuilt = _Replay(Path(directory) / "replay.db")
        try:
            yield from rebuilt.run(reader)
            yield from rebuilt.compare(reader)
        finally:
            rebuilt.close()


class _Replay:
    """A state that is rebuilt entry by entry."""

    def __init__(self, path: Path) -> None:
        self._connection = SqliteConnection(str(path))
        for pragma in ("journal_mode = off", "synchronous = off", "cache_size = -65536"):
            self._connection.execute(f"PRAGMA {pragma}").fetchall()
        self._connection.execute(layout.CREATE)
        self._connection.execute(
            "CREATE TEMP TABLE element_key (start BLOB PRIMARY KEY, element INTEGER, key BLOB)"
            " WITHOUT ROWID"
        )
        self._registry = Registry()
        self._trees = StateTrees(self._connection)
        self._changes: dict[Namespace, TreeChanges] = {}

    def close(self) -> None:
        self._connection.close()

    def run(self, reader: Reader) -> Iterator[tuple[str, str]]:
        """Apply all entries. Report the first transaction after which a root differs."""
        source = reader.connection
        journal = JournalNodes(source, reader.registry)
        purged = self._purged(source)
        self._connection.execute("BEGIN")
        head = Head.before_genesis()
        self._changes = {name: TreeChanges() for name in NAMESPACES}
        for row in entries_and_transactions(source):
            leaf = journal.leaf(row)
            if isinstance(row, EntryRow):
                head.frontier.append(leaf)
                self._apply(row, purged)
                continue
            since, head.seq = head.seq, row.seq
            pending = self._trees.apply(head, since, self._changes)
            head.append(self._connection, (row.first_seq, row.actor, row.message), pending, b"")
            self._changes = {name: TreeChanges() for name in NAMESPACES}
            head.frontier.append(leaf)
            if (row.concepts_root, row.edges_root) != (head.concepts_root, head.edges_root):
                yield f"tx {row.seq}", "the journal does not lead to its roots"
                return
        self._connection.execute("COMMIT")
        if head.frontier.root() != Head.read(source).frontier.root():
            yield "head", "does not have the root of the journal"

    def _purged(self, source: Connection) -> dict[int, PurgeFields]:
        """The record of each purge, by its entry. Names of purged definitions are defined again."""
        known: dict[int, PurgeFields] = {}
        for seq, _, fields in purges(source):
            known[seq] = fields
            if fields.defines:
                self._define(fields.defines, fields.number, fields.name)
        return known

    def _define(self, table: str, number: int | None, name: str | None) -> None:
        self._connection.execute(f"INSERT OR IGNORE INTO {table} VALUES (?, ?)", (number, name))
        if number is not None and name is not None and self._connection.changes():
            # They come out of order: names of purged definitions come first.
            names = self._registry.types if table == "type" else self._registry.predicates
            names.know(number, name)

    def _apply(self, row: EntryRow, purged: dict[int, PurgeFields]) -> None:
        seq, kind, element, before, after, purge_seq = row
        namespace: Namespace = "concepts" if ids.is_concept(element) else "edges"
        if kind == Kind.MARK:
            return
        if kind == Kind.PURGE:
            if purged[seq].until is None:
                self._changes[namespace].set(purged[seq].key, None)
            return
        if purge_seq is not None:
            key, key_before = purged[abs(purge_seq)].keys_at(seq)
            if key != key_before:
                self._leave(element, key_before)
            if purge_seq > 0:
                self._know(element, key)
                self._changes[namespace].set(key, after)
                return
        elif kind == Kind.RELINK_EDGE:
            self._leave(element, self._link_key(decode_edge(before)))
        elif kind == Kind.MOVE_CONCEPT:
            fields = decode_concept(before)
            self._leave(element, concept_key(fields.type, fields.name))
        if namespace == "concepts":
            self._concept(seq, element, decode_concept(after), record_hash(after))
        else:
            self._link(seq, element, decode_edge(after), record_hash(after))

    def _concept(self, seq: int, element: int, fields: ConceptFields, digest: bytes) -> None:
        key = concept_key(fields.type, fields.name)
        self._know(element, key)
        self._changes["concepts"].set(key, digest)
        if fields.number is not None:
            table = "type" if fields.type == CONCEPT_TYPE else "predicate"
            self._define(table, fields.number, fields.name)
        type_number = self._registry.types.number(self._connection, fields.type)
        self._store(
            "concept",
            seq,
            element,
            (
                type_number,
                fields.name,
                object_text(fields.attributes, "attributes"),
                object_text(fields.metadata, "metadata"),
            ),
            fields,
        )

    def _leave(self, element: int, key: bytes) -> None:
        """Remove the leaf of an element's old key, unless another element has the key now."""
        there, _ = self._element_of(key[:RECORD_ID_BYTES])
        if there == element:
            self._changes["concepts" if ids.is_concept(element) else "edges"].set(key, None)

    def _link_key(self, fields: EdgeFields) -> bytes:
        (_, subject_key), (_, object_key) = map(self._element_of, (fields.src, fields.dst))
        predicate = self._registry.predicates.name(self._connection, fields.type)
        return link_key(subject_key, predicate, object_key)

    def _link(self, seq: int, element: int, fields: EdgeFields, digest: bytes) -> None:
        (subject, _), (object_, _) = map(self._element_of, (fields.src, fields.dst))
        key = self._link_key(fields)
        self._know(element, key)
        self._changes["edges"].set(key, digest)
        self._store(
            "proposition",
            seq,
            element,
            (
                subject,
                fields.type,
                object_,
                fields.weight,
                object_text(fields.attributes, "attributes"),
                object_text(fields.metadata, "metadata"),
            ),
            fields,
        )

    def _store(
        self,
        table: str,
        seq: int,
        element: int,
        content: tuple[Any, ...],
        fields: ConceptFields | EdgeFields,
    ) -> None:
        """Move the version before to the table of the past, and write this one in its place."""
        connection = self._connection
        connection.execute(
            f"UPDATE {table}_past SET to_seq = ? WHERE id = ? AND to_seq = {OPEN_END}",
            (seq, element),
        )
        connection.execute(
            f"INSERT INTO {table}_past SELECT *, ?2, NULL, NULL, NULL FROM {table} WHERE id = ?1",
            (element, seq),
        )
        connection.execute(f"DELETE FROM {table} WHERE id = ?", (element,))
        row: Row = (
            element,
            *content,
            fields.version,
            seq,
            fields.created_us,
            self._actor(fields.created_by),
            fields.updated_us,
        )
        dead = fields.tombstone
        if dead is not None:
            table += "_past"
            row += (OPEN_END, dead.at_us, self._actor(dead.by), dead.reason)
        connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)

    def _actor(self, name: str) -> int:
        return self._registry.add(self._connection, self._registry.actors, name)

    def _know(self, element: int, key: bytes) -> None:
        self._connection.execute(
            "INSERT OR REPLACE INTO element_key VALUES (?, ?, ?)",
            (key[:RECORD_ID_BYTES], element, key),
        )

    def _element_of(self, start: bytes) -> tuple[int, bytes]:
        row = fetch_first(
            self._connection, "SELECT element, key FROM element_key WHERE start = ?", (start,)
        )
        if row is None:
            raise DatabaseCorrupt(f"The journal links to {start.hex()}, which it never created.")
        return row[0], row[1]

    def compare(self, reader: Reader) -> Iterator[tuple[str, str]]:
        """Compare every row of the two states, both ways."""
        for table, query in _COMPARED.items():
            ours, theirs = (
                connection.execute(query) for connection in (self._connection, reader.connection)
            )
            for one, other in zip_longest(ours, theirs):
                if one != other:
                    which = (one or other or ("",))[0]
                    yield f"{table} {which}", "is not what the journal leads to"
                    break
