"""The two state trees on disk.

Writing the pages of a tree in every small transaction would change about fifteen pages of the file.
A small transaction therefore stores only *what changed* (in its row of `head`, 65 bytes a change),
and the writer keeps the changed pages in memory. When enough changes have gathered, or when one
transaction brings very many, the changed pages are written and the earlier changes removed: this is
folding.

The current trees are thus the pages as of `head.folded_seq`, plus the pending changes. A process
that opens the file, or that sees a write of another process, applies the pending changes in memory.
The roots are computed in every transaction; only the pages are written later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import Concatenate, Final, ParamSpec, TypeVar

from mycel.errors import DatabaseCorrupt
from mycel.merkle import pages, sparse
from mycel.merkle.pages import BranchPage, Page
from mycel.merkle.proofs import Namespace
from mycel.model.records import tree_key
from mycel.store.backend.interface import Connection
from mycel.store.file.rows import fetch_all, fetch_one, json_array
from mycel.store.log.journal import Head

FOLD_CHANGES_MAX: Final = 256
"""The maximum number of pending changes; if there are more, they are folded into the pages."""

CHANGE_BYTES: Final = 65
"""The bytes of a pending change: a tree (1), a key (32), a record hash or zeros (32)."""

NAMESPACES: Final[tuple[Namespace, ...]] = ("concepts", "edges")

_KEPT_PAGE_MAX: Final = 1 << 13
"""Branch pages with smaller numbers stay in memory: at most 4369 pages, 5 MiB a tree."""

P = ParamSpec("P")
T = TypeVar("T")

_AHEAD: Final = 5
"""The levels that are read ahead on the way to a key."""
_WAY_BYTES: Final = 16
_LISTED_MAX: Final = 4096
_REMOVED: Final = bytes(32)
_TABLES: Final[dict[Namespace, str]] = {"concepts": "concept_tree", "edges": "edge_tree"}


_PAGES: Final = " UNION ALL ".join(
    f"SELECT {place}, t.page, t.body FROM json_each(?{place + 1}) j CROSS JOIN {_TABLES[name]} t"
    " WHERE t.page = j.value"
    for place, name in enumerate(NAMESPACES)
)
"""Pages of both trees."""


class TreeChanges:
    """The changes of one transaction to one tree; the last change to a key counts.

    Callers add changes by natural key, and get them back by tree key. A few changes are kept in a
    dictionary. A bulk load brings millions; these move to flat bytes, 64 bytes a change instead of
    250, split by the first byte of the key, so that each part can be sorted on its own.
    """

    def __init__(self) -> None:
        self._spilt = 0
        self._few: dict[bytes, bytes | None] = {}
        self._parts: dict[int, bytearray] = {}

    def set(self, key: bytes, record_hash: bytes | None) -> None:
        """Note the new hash of the record under a natural key; None removes the record."""
        self._few[tree_key(key)] = record_hash
        if len(self._few) > _LISTED_MAX:
            self._spill()

    def set_all(self, changes: Iterable[tuple[bytes, bytes]]) -> None:
        """Note the new hashes of the records under many natural keys."""
        self._few.update((tree_key(key), record_hash) for key, record_hash in changes)
        if len(self._few) > _LISTED_MAX:
            self._spill()

    @property
    def count(self) -> int:
        """The number of changes; a repeated change may count twice."""
        return len(self._few) + self._spilt

    def _spill(self) -> None:
        self._spilt += len(self._few)
        for key, record_hash in self._few.items():
            part = self._parts.get(key[0])
            if part is None:
                part = self._parts[key[0]] = bytearray()
            part += key
            part += record_hash or _REMOVED
        self._few.clear()

    def keys(self) -> Iterable[bytes]:
        """The tree keys of a few changes."""
        return self._few

    def take_all(self) -> Iterable[_Sorted]:
        """Take out all changes, a part at a time: sorted keys, each once, with their hashes."""
        if self._parts:
            return self._taken_from_parts()
        few, self._few = self._few, {}
        return (_sorted(few),) if few else ()

    def _taken_from_parts(self) -> Iterator[_Sorted]:
        self._spill()
        for first in sorted(self._parts):
            part = bytes(self._parts.pop(first))
            yield _sorted(
                {
                    part[at : at + 32]: _unless_removed(part[at + 32 : at + 64])
                    for at in range(0, len(part), 64)
                }
            )


_Sorted = tuple[list[bytes], list[bytes | None]]
"""Sorted keys with the hashes of their records; None for a removed record."""


def _sorted(latest: dict[bytes, bytes | None]) -> _Sorted:
    keys = sorted(latest)
    return keys, list(map(latest.get, keys))


def _unless_removed(record_hash: bytes) -> bytes | None:
    return None if record_hash == _REMOVED else record_hash


class _Pages:
    """The pages of one tree: the stored table, and over it the unwritten pages in memory.

    Branches are changed in place, so a rollback makes everything in memory invalid.
    """

    def __init__(self, connection: Connection, table: str) -> None:
        self._connection = connection
        self._execute = connection.execute
        self._table = table
        self._select = f"SELECT body FROM {table} WHERE page = ?"
        self._upsert = (
            f"INSERT INTO {table} VALUES (?1, ?2) ON CONFLICT (page) DO UPDATE SET body = ?2"
        )
        self._delete = f"DELETE FROM {table} WHERE page = ?"
        self.branches: dict[int, BranchPage] = {}
        """Branches in memory: always the upper ones, and below them the changed ones."""
        self.stored: dict[int, bytes | None] = {}
        """Pages that were read ahead, as they are on disk; None for those that do not exist."""
        self._buckets: dict[int, bytes | None] = {}
        """Buckets that were put; None for a deleted page. The branches above them have changed."""

    def get(self, page: int) -> Page | None:
        branch = self.branches.get(page)
        if branch is not None:
            return branch
        if page in self._buckets:
            return self._buckets[page]
        if page in self.stored:
            stored = self.stored[page]
        else:
            stored = self._execute(self._select, (page,)).get
        if stored is None:
            return None
        try:
            body = pages.unpack(page, stored)
        except ValueError as error:
            raise DatabaseCorrupt(f"Page {page} of {self._table} is {error}.") from None
        if page < _KEPT_PAGE_MAX and isinstance(body, BranchPage):
            self.branches[page] = body
        return body

    def unread(self, keys: Iterable[bytes]) -> set[int]:
        """The pages on the ways to some keys that are not in memory; deep ones may not exist."""
        numbers: set[int] = set()
        for key in keys:
            way = int.from_bytes(key[:_WAY_BYTES])
            page, depth = 1, 0
            while page in self.branches:
                depth += 1
                page = 1 << 4 * depth | way >> 4 * (2 * _WAY_BYTES - depth)
            if page in self._buckets:
                continue
            for below in range(depth, depth + _AHEAD):
                numbers.add(1 << 4 * below | way >> 4 * (2 * _WAY_BYTES - below))
        return numbers

    def put(self, page: int, body: Page) -> None:
        if isinstance(body, BranchPage):
            self.branches[page] = body
            self._buckets.pop(page, None)
        else:
            self._buckets[page] = body

    def delete(self, page: int) -> None:
        self.branches.pop(page, None)
        self._buckets[page] = None

    def write(self) -> None:
        """Write the pages that were put or deleted, and the branches above them."""
        changed: set[int] = set()
        for page in self._buckets:
            above = page >> 4
            while above in self.branches and above not in changed:
                changed.add(above)
                above >>= 4
        for page in sorted(changed | self._buckets.keys()):
            body = self.branches[page] if page in changed else self._buckets[page]
            if body is None:
                self._execute(self._delete, (page,))
            else:
                self._execute(self._upsert, (page, bytes(body)))
            if page >= _KEPT_PAGE_MAX:
                self.branches.pop(page, None)
        self._buckets.clear()

    def forget(self) -> None:
        self.branches.clear()
        self.stored.clear()
        self._buckets.clear()


class StoredPages(_Pages):
    """The pages of a tree as they are on disk, without the pending changes. Checks use them."""

    def __init__(self, connection: Connection, namespace: Namespace) -> None:
        super().__init__(connection, _TABLES[namespace])

    def count(self) -> int:
        (rows,) = fetch_one(self._connection, f"SELECT count(*) FROM {self._table}")
        return int(rows)


class StateTrees:
    """Both trees as one connection sees them. A writer keeps them; a prover makes new ones."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._pages = {name: _Pages(connection, table) for name, table in _TABLES.items()}
        self._at = -1
        """The `seq` of the state that the pages in memory show; -1 if they show none."""

    def forget(self) -> None:
        """Drop the pages in memory: a rolled-back transaction may have changed them."""
        for tree in self._pages.values():
            tree.forget()
        self._at = -1

    def catch_up(self, seq: int, folded_seq: int) -> None:
        """Bring the pages in memory to the state after `seq`."""
        if self._at == seq:
            return
        if self._at < folded_seq:
            self.forget()
            self._at = folded_seq
        rows = fetch_all(
            self._connection,
            "SELECT changes FROM head WHERE seq > ? AND seq <= ? ORDER BY seq",
            (self._at, seq),
        )
        gathered: dict[Namespace, dict[bytes, bytes | None]] = {name: {} for name in NAMESPACES}
        for (blob,) in rows:
            if blob is None or len(blob) % CHANGE_BYTES:
                raise DatabaseCorrupt("A transaction lacks its pending changes.")
            for at in range(0, len(blob), CHANGE_BYTES):
                name, record_hash = _namespace(blob[at]), _unless_removed(blob[at + 33 : at + 65])
                gathered[name][blob[at + 1 : at + 33]] = record_hash
        for name, latest in gathered.items():
            if latest:
                self._on(name, sparse.update, *_sorted(latest))
        self._at = seq

    def follow(self, head: Head, seq: int) -> None:
        """Bring the pages in memory to the state after `seq`, and check them by the head's roots.

        Raises:
            DatabaseCorrupt: the pages have other roots.
        """
        self.catch_up(seq, head.folded_seq)
        if [self.root(name) for name in NAMESPACES] != [head.concepts_root, head.edges_root]:
            raise DatabaseCorrupt("The state trees have other roots than the head.")

    def _read_ahead(self, changes: dict[Namespace, TreeChanges]) -> None:
        """Read the pages on the ways to all changes in one statement."""
        numbers = {name: self._pages[name].unread(changes[name].keys()) for name in NAMESPACES}
        if not any(numbers.values()):
            return
        for name in NAMESPACES:
            self._pages[name].stored = dict.fromkeys(numbers[name])
        concepts, edges = (json_array(sorted(numbers[name])) for name in NAMESPACES)
        for tree, page, body in fetch_all(self._connection, _PAGES, (concepts, edges)):
            self._pages[NAMESPACES[tree]].stored[page] = body

    def apply(self, head: Head, since: int, changes: dict[Namespace, TreeChanges]) -> bytes:
        """Bring the trees from the state after `since` to that of `head`, and set its roots.

        Returns the packed changes that stay pending; nothing if the pages were written.
        """
        if self._at != since:
            self.follow(head, since)
        count = changes["concepts"].count + changes["edges"].count
        many = count > FOLD_CHANGES_MAX
        if many:
            self.write(head)
        elif self._connection.is_remote:
            self._read_ahead(changes)
        remembered: list[bytes] = []
        for name, tree_changes in changes.items():
            root = None
            for keys, hashes in tree_changes.take_all():
                root = self._on(name, sparse.update, keys, hashes)
                if many:
                    self._pages[name].write()
                else:
                    remembered.append(_pack(name, keys, hashes))
            if root is None:
                continue
            if name == "concepts":
                head.concepts_root = root
            else:
                head.edges_root = root
        for tree in self._pages.values():
            tree.stored.clear()
        self._at = head.seq
        if many:
            self.forget()
            head.folded_seq = head.seq
            return b""
        if head.pending + count > FOLD_CHANGES_MAX:
            self.write(head)
            return b""
        packed = b"".join(remembered)
        head.pending += len(packed) // CHANGE_BYTES
        return packed

    def _on(
        self,
        name: Namespace,
        work: Callable[Concatenate[sparse.TreeNodes, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run a function on the pages of a tree.

        Raises:
            DatabaseCorrupt: a page has impossible content.
        """
        try:
            return work(self._pages[name], *args, **kwargs)
        except ValueError as error:
            raise DatabaseCorrupt(f"A page of the {name} tree holds {error}.") from None

    def write(self, head: Head) -> None:
        """Write the changed pages, so that the trees on disk are those of `head`."""
        for tree in self._pages.values():
            tree.write()
        head.folded_seq, head.pending = head.seq, 0

    def root_with(self, name: Namespace, changes: TreeChanges) -> bytes:
        """The root that a tree would have after these changes. Only pages in memory change."""
        root = self.root(name)
        for keys, hashes in changes.take_all():
            root = self._on(name, sparse.update, keys, hashes)
        return root

    def root(self, name: Namespace) -> bytes:
        return self._on(name, sparse.root)

    def prove(self, name: Namespace, key: bytes) -> sparse.SparseProof:
        return self._on(name, sparse.prove, key)

    def difference(self, name: Namespace, expected: TreeChanges) -> bytes | None:
        """The first key at which a tree differs from these leaves; None if all are equal."""
        generator = (leaf for part in expected.take_all() for leaf in zip(*part, strict=True))
        for one, other in zip_longest(generator, sparse.leaves(self._pages[name])):
            if one != other:
                return (one or other or (b"",))[0]
        return None


def _namespace(tag: int) -> Namespace:
    if tag >= len(NAMESPACES):
        raise DatabaseCorrupt(f"A pending change belongs to tree {tag}, which does not exist.")
    return NAMESPACES[tag]


def _pack(name: Namespace, keys: list[bytes], hashes: list[bytes | None]) -> bytes:
    tag = bytes((NAMESPACES.index(name),))
    return b"".join(
        [tag + key + (hash_ or _REMOVED) for key, hash_ in zip(keys, hashes, strict=True)]
    )
