"""Finds the elements that were purged in a copy of a graph, or in copies merged into it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from mycel.store.file.rows import json_array
from mycel.store.log import marks
from mycel.store.log.audit import Auditor
from mycel.store.log.journal import Kind
from mycel.store.log.purge_entries import PurgeFields, purges
from mycel.store.query.reader import Reader


class Purges(NamedTuple):
    """Elements that were purged."""

    numbers: frozenset[int]
    """The purged elements that this copy itself had, by number."""
    keys: Mapping[bytes, int]
    """The hashes of the keys of all purged elements, each with the first entry that purged it."""


def last_purge(reader: Reader) -> int:
    """The last entry that purged or scrubbed something; 0 if there is none."""
    row = reader.fetch_one("SELECT max(seq) FROM journal WHERE kind = ?", (int(Kind.PURGE),))
    return int(row[0] or 0)


def purged_after(reader: Reader, seq: int) -> list[tuple[int, int]]:
    """The purges of whole elements after an entry. Each: the entry and the element."""
    rows = purges(reader.connection, seq)
    return [(at, number) for at, number, fields in rows if fields.until is None]


def purges_since(
    reader: Reader,
    seq: int,
    known: int = 0,
    counts: Callable[[int, bytes], bool] = lambda _entry, _key: True,
) -> Purges:
    """The elements that were purged entirely after an entry, with the keys that they had.

    Keys that ended before `known` are left out, because another element may have such a key now.
    `counts` may leave out keys of a purge entry.
    """
    numbers: set[int] = set()
    purged: list[tuple[int, bytes]] = []
    for at, number, fields in purges(reader.connection, seq):
        if fields.until is None:
            numbers.add(number)
            purged += [(at, key) for key in (fields.key, *fields.keys_since(known))]
    for at, mark in marks.of_kind(reader.connection, marks.PURGE, seq):
        purged += [(at, key) for key in mark.keys]
    keys: dict[bytes, int] = {}
    for at, key in sorted(purged):
        if counts(at, key):
            keys.setdefault(key, at)
    return Purges(frozenset(numbers), keys)


class PurgedLife(NamedTuple):
    """The part of a purged element's life after an entry: its first entry, its purge, its keys."""

    number: int
    began: int
    ended: int
    """The entry of the purge."""
    fields: PurgeFields

    def key_at(self, seq: int) -> bytes | None:
        """The key of the element at an entry; None if the element did not exist then."""
        return self.fields.keys_at(seq)[0] if self.began <= seq < self.ended else None


def purged_lives(reader: Reader, seq: int) -> list[PurgedLife]:
    """The elements that were purged after an entry, and have a purged entry of their own after it.

    `began` is the first such entry. The element may be older.
    """
    by_number = {
        number: (at, fields)
        for at, number, fields in purges(reader.connection, seq)
        if fields.until is None
    }
    if not by_number:
        return []
    query = (
        "SELECT element, min(seq) FROM journal WHERE seq > ? AND purged IS NOT NULL"
        " AND element IN (SELECT value FROM json_each(?)) GROUP BY element"
    )
    began = reader.fetch_all(query, (seq, json_array(by_number)))
    return [PurgedLife(number, first, *by_number[number]) for number, first in began]


def keys_ever(reader: Reader, number: int, until: int) -> set[bytes]:
    """The keys that an element has had up to an entry. Keys from before a scrub are not known."""
    if not reader.was_ever(number):
        return set()
    auditor = Auditor(reader.connection, reader.registry)
    several = auditor.keys_ever(number)
    if not several:
        return {auditor.key(number)}
    return {key for since, key in several if since <= until}
