"""The two state trees on disk.

Writing the pages of a tree in every small transaction would dirty about fifteen pages of the file.
So a small transaction stores only *what changed* (65 bytes a change, one row in `tree_pending`), and
the pages it touched stay in the memory of the writer. When enough changes have gathered, or when one
transaction brings very many, the touched pages are written and the pending rows removed: folding.

The trees that count are thus the pages as of `head.folded_seq` with the pending changes on top, and
whoever opens the file, or finds that another process has written, gets there by applying the pending
rows. The roots are computed in every transaction; only the pages lag.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import apsw

from mycel.merkle import sparse
from mycel.merkle.proofs import Namespace
from mycel.store.journal import Head

FOLD_CHANGES_MAX: Final = 256
"""Pending changes are folded into the pages when there would be more than this."""

_CACHED_PAGE_MAX: Final = 1 << 13
"""Clean branch pages are cached down to this number: at most 4369 of them, 4 MiB a tree."""

_CHANGE_BYTES: Final = 65
_REMOVED: Final = bytes(32)
NAMESPACES: Final[tuple[Namespace, ...]] = ("concepts", "edges")
_TABLES: Final[dict[Namespace, str]] = {"concepts": "concept_tree", "edges": "edge_tree"}
_TAGS: Final[dict[Namespace, bytes]] = {"concepts": b"\x00", "edges": b"\x01"}


@dataclass(slots=True)
class Changes:
    """The changes of one transaction to one tree: the last one to a key counts.

    Kept as flat bytes by the key's first byte, since a bulk load brings millions: 64 bytes each
    instead of 250, and each part can be sorted on its own.
    """

    parts: dict[int, bytearray] = field(default_factory=dict)
    count: int = 0

    def set(self, key: bytes, record_hash: bytes | None) -> None:
        part = self.parts.get(key[0])
        if part is None:
            part = self.parts[key[0]] = bytearray()
        part += key
        part += record_hash or _REMOVED
        self.count += 1

    def sorted(self) -> tuple[list[bytes], list[bytes | None]]:
        """All keys in order, each once, and the hash of each."""
        keys: list[bytes] = []
        hashes: list[bytes | None] = []
        for first in sorted(self.parts):
            part = bytes(self.parts[first])
            latest = {part[at : at + 32]: part[at + 32 : at + 64] for at in range(0, len(part), 64)}
            ordered = sorted(latest)
            keys += ordered
            hashes += [None if latest[key] == _REMOVED else latest[key] for key in ordered]
        return keys, hashes


class _Pages:
    """One tree's pages: the table, the unwritten pages over it, and a cache."""

    def __init__(self, connection: apsw.Connection, table: str) -> None:
        self._connection = connection
        self._select = f"SELECT body FROM {table} WHERE page = ?"
        self._upsert = (
            f"INSERT INTO {table} VALUES (?1, ?2) ON CONFLICT (page) DO UPDATE SET body = ?2"
        )
        self._delete = f"DELETE FROM {table} WHERE page = ?"
        self._cached: dict[int, bytes] = {}
        self.unwritten: dict[int, bytes | None] = {}
        self.write_through = False

    def get(self, page: int) -> bytes | None:
        if page in self.unwritten:
            return self.unwritten[page]
        body = self._cached.get(page)
        if body is None:
            body = self._connection.execute(self._select, (page,)).get
            if body is not None:
                self._remember(page, body)
        return body

    def put(self, page: int, body: bytes) -> None:
        if self.write_through:
            self._cached.pop(page, None)
            self._connection.execute(self._upsert, (page, body))
        else:
            self.unwritten[page] = body

    def delete(self, page: int) -> None:
        if self.write_through:
            self._cached.pop(page, None)
            self._connection.execute(self._delete, (page,))
        else:
            self.unwritten[page] = None

    def write(self) -> None:
        for page, body in sorted(self.unwritten.items()):
            self._cached.pop(page, None)
            if body is None:
                self._connection.execute(self._delete, (page,))
            else:
                self._connection.execute(self._upsert, (page, body))
                self._remember(page, body)
        self.unwritten.clear()

    def forget(self) -> None:
        self._cached.clear()
        self.unwritten.clear()

    def _remember(self, page: int, body: bytes) -> None:
        if page < _CACHED_PAGE_MAX and sparse.is_branch(body):
            self._cached[page] = body


class StoredPages(_Pages):
    """A tree's pages as they are on disk, without the pending changes; for checking."""

    def __init__(self, connection: apsw.Connection, namespace: Namespace) -> None:
        super().__init__(connection, _TABLES[namespace])
        self._table = _TABLES[namespace]

    def count(self) -> int:
        (rows,) = self._connection.execute(f"SELECT count(*) FROM {self._table}").fetchone()
        return int(rows)


class StateTrees:
    """Both trees as one connection sees them. A writer keeps one; a prover makes one."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._pages = {name: _Pages(connection, table) for name, table in _TABLES.items()}
        self._at = -1
        """The `seq` of the state that the pages in memory show; -1 if they show none."""

    def forget(self) -> None:
        """Drop what is in memory: it may belong to a transaction that was rolled back."""
        for pages in self._pages.values():
            pages.forget()
            pages.write_through = False
        self._at = -1

    def catch_up(self, head: Head) -> None:
        """Bring the pages in memory to the state of `head`."""
        if self._at == head.seq:
            return
        if self._at < head.folded_seq:
            self.forget()
            self._at = head.folded_seq
        rows = self._connection.execute(
            "SELECT changes FROM tree_pending WHERE seq > ? ORDER BY seq", (self._at,)
        ).fetchall()
        gathered: dict[Namespace, Changes] = {"concepts": Changes(), "edges": Changes()}
        for (blob,) in rows:
            for at in range(0, len(blob), _CHANGE_BYTES):
                name: Namespace = "edges" if blob[at] else "concepts"
                record_hash = blob[at + 33 : at + 65]
                gathered[name].set(
                    blob[at + 1 : at + 33], None if record_hash == _REMOVED else record_hash
                )
        for name, changes in gathered.items():
            sparse.update(self._pages[name], *changes.sorted())
        self._at = head.seq

    def apply(self, head: Head, seq: int, changes: dict[Namespace, Changes]) -> None:
        """Apply a transaction's changes, and put the new roots into `head`."""
        self.catch_up(head)
        count = sum(each.count for each in changes.values())
        if count > FOLD_CHANGES_MAX:
            self._write_pages(head, seq)
            self._set_write_through(True)
        ordered = {name: each.sorted() for name, each in changes.items() if each.count}
        for name, (keys, hashes) in ordered.items():
            root = sparse.update(self._pages[name], keys, hashes)
            if name == "concepts":
                head.concepts_root = root
            else:
                head.edges_root = root
        if count > FOLD_CHANGES_MAX:
            self.forget()
        elif head.pending + count > FOLD_CHANGES_MAX:
            self._write_pages(head, seq)
        elif count:
            self._connection.execute(
                "INSERT INTO tree_pending VALUES (?, ?)", (seq, _pack(ordered))
            )
            head.pending += count
        self._at = seq

    def fold(self, head: Head) -> None:
        """Write the pages that are only in memory."""
        self.catch_up(head)
        self._write_pages(head, head.seq)

    def prove(self, name: Namespace, key: bytes) -> sparse.SparseProof:
        return sparse.prove(self._pages[name], key)

    def root(self, name: Namespace) -> bytes:
        return sparse.root(self._pages[name])

    def leaves(self, name: Namespace) -> Iterable[tuple[bytes, bytes]]:
        return sparse.leaves(self._pages[name])

    def _write_pages(self, head: Head, seq: int) -> None:
        for pages in self._pages.values():
            pages.write()
        self._connection.execute("DELETE FROM tree_pending")
        head.folded_seq, head.pending = seq, 0

    def _set_write_through(self, on: bool) -> None:
        for pages in self._pages.values():
            pages.write_through = on


def _pack(ordered: dict[Namespace, tuple[list[bytes], list[bytes | None]]]) -> bytes:
    return b"".join(
        _TAGS[name] + key + (record_hash or _REMOVED)
        for name, (keys, hashes) in ordered.items()
        for key, record_hash in zip(keys, hashes, strict=True)
    )
