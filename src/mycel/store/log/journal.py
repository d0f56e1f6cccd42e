"""The journal: entries, the Merkle log over them, and the head, which has all current positions.

An entry is one change: its kind, its element, and the records before and after. Its leaf in the log
commits to the *hashes* of the records, so a purge can remove the records and leave the log
unchanged. A transaction's own leaf closes its range; it commits to actor, time, message and the
roots of both state trees, so the log's root covers every state of the past.

    entry leaf  = 00 || kind (1) || element (8) || hash of before (32) || hash of after (32)
    tx leaf     = 00 || CBOR [first seq, time, actor, message, concepts root, edges root]

A missing record has the hash of 32 zero bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha256
from heapq import merge
from itertools import starmap
from operator import itemgetter
from struct import Struct
from typing import Any, Final, NamedTuple, Self

from mycel.errors import DatabaseCorrupt
from mycel.merkle import log
from mycel.merkle.pages import EMPTY
from mycel.merkle.proofs import Snapshot
from mycel.model import cbor, ids
from mycel.model.records import record_hash
from mycel.store.backend.interface import Connection
from mycel.store.file.layout import NEWEST_HEAD
from mycel.store.file.rows import Row, fetch_all, fetch_first, fetch_one
from mycel.store.log.registry import Registry

_ENTRY = Struct(">Bq32s32s")
NO_RECORD = bytes(32)
_NUMBER_MAX: Final = 1 << 62
"""The upper bound of numbers in a head; a larger number is a sign of damage."""

_SETTLE: Final = (
    "UPDATE tx SET folded_seq = seq, pending = 0, changes = ?2, texts = ?2 WHERE seq = ?1"
)
_FORGET_FOLDED: Final = (
    "UPDATE tx SET next_concept = NULL, next_proposition = NULL, definitions = NULL,"
    " folded_seq = NULL, pending = NULL, frontier = NULL, changes = NULL, texts = NULL"
    " WHERE seq < ?1"
    " AND seq >= (SELECT folded_seq FROM tx WHERE seq < ?1 ORDER BY seq DESC LIMIT 1)"
)
"""Clears the head in older rows of `tx`: in the row of the last folding before the newest row, and
in the pending rows after it."""


class Kind(IntEnum):
    """The kind of a journal entry. The numbers are part of the file format: only add new ones."""

    PUT_CONCEPT = 1
    RETIRE_CONCEPT = 2
    ADD_EDGE = 3
    UPDATE_EDGE = 4
    REMOVE_EDGE = 5
    PURGE = 6
    RELINK_EDGE = 7
    MOVE_CONCEPT = 8
    MARK = 9

    @property
    def label(self) -> str:
        return self.name.lower()


def hash_of(record: bytes | None) -> bytes:
    """The hash of a record; for None, that of a missing record."""
    return NO_RECORD if record is None else record_hash(record)


def entry_leaf(kind: int, element: int, before_hash: bytes, after_hash: bytes) -> bytes:
    return sha256(b"\x00" + _ENTRY.pack(kind, element, before_hash, after_hash)).digest()


def tx_bytes(
    first_seq: int, time_us: int, actor: str, message: str, concepts: bytes, edges: bytes
) -> bytes:
    """The bytes of a transaction, which its leaf hashes."""
    return b"".join(
        (
            b"\x86",
            cbor.uint(first_seq),
            cbor.integer(time_us),
            cbor.text(actor),
            cbor.text(message),
            cbor.byte_string(concepts),
            cbor.byte_string(edges),
        )
    )


@dataclass(slots=True)
class Head:
    """The head: positions, counters and roots. A writer reads it first and writes it last."""

    seq: int
    time_us: int
    next_concept: int
    next_proposition: int
    definitions: int
    folded_seq: int
    pending: int
    frontier: log.Frontier
    concepts_root: bytes
    edges_root: bytes

    @classmethod
    def before_genesis(cls) -> Self:
        """The head of an empty journal."""
        fetch_first = ids.FIRST_CONCEPT, ids.FIRST_LINK
        return cls(0, 0, *fetch_first, 0, 0, 0, log.Frontier(), EMPTY, EMPTY)

    @classmethod
    def read(cls, connection: Connection) -> Self:
        *row, is_newest = newest(
            connection,
            "seq, time, next_concept, next_proposition, definitions, folded_seq, pending,"
            " frontier, concepts_root, edges_root, seq = (SELECT max(seq) FROM tx)",
        )
        *numbers, frontier_bytes, concepts_root, edges_root = row
        if None in row or not is_newest or min(numbers) < 0 or max(numbers) > _NUMBER_MAX:
            raise DatabaseCorrupt("The head of the journal is damaged.")
        try:
            frontier = log.Frontier.from_bytes(frontier_bytes)
        except ValueError as error:
            raise DatabaseCorrupt(f"The head of the journal is damaged: {error}.") from None
        roots = concepts_root, edges_root
        return cls(*numbers, frontier, *roots)  # type: ignore[call-arg]  # Ten columns, ten fields.

    def append(
        self,
        connection: Connection,
        transaction: tuple[int, int, str],
        changes: bytes,
        texts: bytes,
    ) -> None:
        """Append the row of a transaction, with its changes of the trees and of the text index.

        `transaction` is its first entry, the number of its actor, and its message.
        """
        first_seq, actor, message = transaction
        connection.execute(
            "INSERT INTO tx VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self.seq,
                first_seq,
                self.time_us,
                actor,
                message,
                self.concepts_root,
                self.edges_root,
                self.next_concept,
                self.next_proposition,
                self.definitions,
                self.folded_seq,
                self.pending,
                self.frontier.to_bytes(),
                changes,
                texts,
            ),
        )
        if self.folded_seq == self.seq:
            connection.execute(_FORGET_FOLDED, (self.seq,))

    def settle(self, connection: Connection) -> None:
        """Note in the newest row that all changes are folded."""
        connection.execute(_SETTLE, (self.seq, b""))
        connection.execute(_FORGET_FOLDED, (self.seq,))

    def snapshot(self) -> Snapshot:
        return Snapshot(
            self.seq, self.time_us, self.frontier.root(), self.concepts_root, self.edges_root
        )


def newest(connection: Connection, columns: str) -> Row:
    """Columns of the newest row of the head."""
    return fetch_one(connection, f"SELECT {columns} {NEWEST_HEAD}")


def current_head(connection: Connection, previous: Head | None) -> Head:
    """The head of the journal; `previous` itself if nothing was written since it was read."""
    # Folding rewrites the newest row under the same number, so both columns are compared.
    if previous and newest(connection, "seq, folded_seq") == (previous.seq, previous.folded_seq):
        return previous
    return Head.read(connection)


class JournalNodes:
    """The nodes of the log, as the proof builders read them."""

    def __init__(self, connection: Connection, registry: Registry) -> None:
        self._connection = connection
        self._registry = registry

    def entry(self, seq: int) -> bytes:
        """The bytes of the entry, or transaction, with this number."""
        row = fetch_first(
            self._connection,
            "SELECT kind, element, before, after, purged FROM journal WHERE seq = ?",
            (seq,),
        )
        return self._tx_bytes(seq) if row is None else entry_row_bytes(*row)

    def leaves(self, start: int, stop: int) -> Sequence[bytes]:
        """The hashes of leaves; the entry with number `seq` is leaf `seq` - 1."""
        rows = fetch_all(
            self._connection,
            "SELECT seq, kind, element, before, after, purged FROM journal"
            " WHERE seq > ? AND seq <= ?",
            (start, stop),
        )
        leaves = {row.seq: row.leaf() for row in starmap(EntryRow, rows)}
        return [
            leaves.get(seq) or log.leaf_hash(self._tx_bytes(seq))
            for seq in range(start + 1, stop + 1)
        ]

    def nodes(self, level: int, start: int, stop: int) -> Sequence[bytes]:
        rows = self._connection.execute(
            "SELECT hash FROM log_node WHERE level = ? AND position >= ? AND position < ?"
            " ORDER BY position",
            (level, start, stop),
        )
        return [row[0] for row in rows]

    def _tx_bytes(self, seq: int) -> bytes:
        row = fetch_first(
            self._connection,
            "SELECT seq, first_seq, time, actor, message, concepts_root, edges_root FROM tx"
            " WHERE seq = ?",
            (seq,),
        )
        if row is None:
            raise DatabaseCorrupt(f"The journal has no entry {seq}.")
        return self._transaction_bytes(TransactionRow(*row))

    def leaf(self, row: EntryRow | TransactionRow) -> bytes:
        """The hash of the leaf of a row in the log."""
        if isinstance(row, EntryRow):
            return row.leaf()
        return log.leaf_hash(self._transaction_bytes(row))

    def _transaction_bytes(self, row: TransactionRow) -> bytes:
        actor = self._registry.actors.name(self._connection, row.actor)
        roots = row.concepts_root, row.edges_root
        return tx_bytes(row.first_seq, row.time_us, actor, row.message, *roots)


class EntryRow(NamedTuple):
    """A row of the journal."""

    seq: int
    kind: int
    element: int
    before: Any
    after: Any
    """The records before and after, or their hashes if they were purged."""
    purged: int | None

    def leaf(self) -> bytes:
        """The hash of its leaf in the log."""
        return log.leaf_hash(entry_row_bytes(*self[1:]))


class TransactionRow(NamedTuple):
    """A row of the transactions, with the columns that the log covers."""

    seq: int
    first_seq: int
    time_us: int
    actor: int
    message: str
    concepts_root: bytes
    edges_root: bytes


def entries_and_transactions(
    connection: Connection, after: int = 0
) -> Iterator[EntryRow | TransactionRow]:
    """All rows of the journal and of the transactions after an entry, in order."""
    entries = connection.execute(
        "SELECT seq, kind, element, before, after, purged FROM journal WHERE seq > ? ORDER BY seq",
        (after,),
    )
    transactions = connection.execute(
        "SELECT seq, first_seq, time, actor, message, concepts_root, edges_root FROM tx"
        " WHERE seq > ? ORDER BY seq",
        (after,),
    )
    return merge(
        starmap(EntryRow, entries), starmap(TransactionRow, transactions), key=itemgetter(0)
    )


def entry_row_bytes(
    kind: int, element: int, before: bytes | None, after: bytes | None, purged: int | None
) -> bytes:
    """The bytes of a journal row. A purged row holds the hashes in place of the records.

    `purged` is the entry of the purge. It is negative if the purge removed only the record before.
    """
    if purged is None:
        return _ENTRY.pack(kind, element, hash_of(before), hash_of(after))
    hashes = [before or NO_RECORD, (after or NO_RECORD) if purged > 0 else hash_of(after)]
    if any(len(hash_) != len(NO_RECORD) for hash_ in hashes):
        raise DatabaseCorrupt(f"A purged entry of element {element} holds no hash.")
    return _ENTRY.pack(kind, element, *hashes)
