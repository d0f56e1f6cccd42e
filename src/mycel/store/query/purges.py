"""The elements that a graph has purged since an entry of its journal."""

from __future__ import annotations

from typing import NamedTuple

from mycel.store.log.purge_entries import purged_since
from mycel.store.query.reader import Reader


class Purges(NamedTuple):
    """Elements that were purged: their numbers, and hashes of the keys that they had."""

    numbers: frozenset[int]
    keys: frozenset[bytes]


def purges_since(reader: Reader, seq: int) -> Purges:
    """The elements that were purged whole after an entry."""
    found = purged_since(reader.connection, seq)
    keys = {key for each in found.values() for key in (each.key, *(key for _, key in each.keys))}
    return Purges(frozenset(found), frozenset(keys))
