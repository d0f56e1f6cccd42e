"""The elements that a graph has purged since an entry of its journal."""

from __future__ import annotations

from typing import NamedTuple

from mycel.store.log.purge_entries import purges
from mycel.store.query.reader import Reader


class Purges(NamedTuple):
    """Elements that were purged: their numbers, and hashes of the keys that they had."""

    numbers: frozenset[int]
    keys: frozenset[bytes]


def purges_since(reader: Reader, seq: int) -> Purges:
    """The elements that were purged whole after an entry."""
    numbers: set[int] = set()
    keys: set[bytes] = set()
    for _, number, fields in purges(reader.connection, seq):
        if fields.until is None:
            numbers.add(number)
            keys.update((fields.key, *(key for _, key in fields.keys)))
    return Purges(frozenset(numbers), frozenset(keys))
