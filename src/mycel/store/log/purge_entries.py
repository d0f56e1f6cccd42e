"""Records of purges in the journal: the key of the purged element, the time, actor and reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from mycel.model import cbor
from mycel.store.backend.interface import Connection
from mycel.store.file.rows import fetch_all, fetch_first

NO_ELEMENT: Final = 0
"""The element number of the entry that says where the past begins."""


class PurgeFields(NamedTuple):
    """The record of a purge: the key of the element (with its place), time, actor and reason.

    The record of a definition also keeps its name and number, because numbers are never given out
    twice.
    """

    key: bytes
    at_us: int
    by: str
    reason: str
    number: int | None = None
    name: str | None = None
    defines: str | None = None
    """`type` or `predicate` for a definition; None for other elements."""
    keys: tuple[tuple[int, bytes], ...] = ()
    """The keys of an element that had several, each with the entry at which it got the key."""
    until: int | None = None
    """The position up to which the past was purged; None for a purge of the whole element."""

    def encode(self) -> bytes:
        keys = [list(key) for key in self.keys]
        if self.until is not None:
            return cbor.encode([*self[:4], keys, self.until])
        if keys:
            return cbor.encode([*self[:4], keys])
        return cbor.encode(list(self[:7] if self.defines else self[:4]))

    @classmethod
    def decode(cls, record: bytes) -> PurgeFields:
        fields = cbor.decode(record)
        if len(fields) not in (5, 6):
            return cls(*fields)
        keys = tuple((seq, key) for seq, key in fields[4])
        until = fields[5] if len(fields) == 6 else None
        return cls(*fields[:4])._replace(keys=keys, until=until)

    def keys_since(self, seq: int) -> list[bytes]:
        """The keys that an element with several keys had at an entry and after it."""
        before = sum(since <= seq for since, _ in self.keys)
        return [key for _, key in self.keys[max(before - 1, 0) :]]

    def keys_at(self, seq: int) -> tuple[bytes, bytes]:
        """The key of the element right after an entry, and its key right before it."""
        had = [key for _, key in self.keys]
        count = sum(since <= seq for since, _ in self.keys)
        if not had:
            return self.key, self.key
        before = count - 1 if (seq in dict(self.keys)) else count
        return had[max(count - 1, 0)], had[max(before - 1, 0)]


class KnownPurges:
    """The purges that affect a copied journal, in the order of their entries."""

    def __init__(self) -> None:
        self.by_entry: Final[dict[int, PurgeFields]] = {}
        self.by_element: Final[dict[int, PurgeFields]] = {}
        """The last purge of each element; it has all keys that the element ever had."""

    def add(self, seq: int, element: int, record: bytes) -> None:
        """Add a purge that comes after all purges so far."""
        self.by_entry[seq] = self.by_element[element] = PurgeFields.decode(record)

    @property
    def last(self) -> int:
        """The entry of the last purge; 0 for none."""
        return next(reversed(self.by_entry), 0)


def purges(connection: Connection, since: int = 0) -> Iterator[tuple[int, int, PurgeFields]]:
    """The purges after an entry. Each: the entry, the element and the record."""
    query = "SELECT seq, element, after FROM journal WHERE kind = 6 AND seq > ?"
    for seq, element, record in fetch_all(connection, query, (since,)):
        yield seq, element, PurgeFields.decode(record)


def past_begins_at(connection: Connection) -> int:
    """The first position of the journal whose state can be read; 0 if nothing was scrubbed."""
    row = fetch_first(
        connection,
        f"SELECT after FROM journal WHERE element = {NO_ELEMENT} AND kind = 6"
        " ORDER BY seq DESC LIMIT 1",
    )
    return 0 if row is None else PurgeFields.decode(row[0]).until or 0
