"""Marks in the journal: entries that say something about a commit and change no element.

There are four kinds of marks.

A tag has a name and the commit that it names. The newest mark of a name is in force; a mark without
a commit removes the tag.

A merge has the name of the merged branch and its commit, which is a parent of the transaction with
the mark. More marks name the parents that earlier merges gave to that branch, so the marks of a log
name all of its ancestors.

An import has the name of the origin of edits, and the commit that was edited.

A purge has hashes of keys: those of elements that were purged in the merged branch and that this
branch never had. With this mark, the purge also reaches branches that merge this one.

The index of marks is made with the first mark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from mycel.model import cbor
from mycel.store.backend.interface import Connection
from mycel.store.file.rows import fetch_all

INDEX: Final = "CREATE INDEX IF NOT EXISTS journal_mark ON journal (seq) WHERE kind = 9"
TAG: Final = "tag"
MERGE: Final = "merge"
IMPORT: Final = "import"
PURGE: Final = "purge"


class Mark(NamedTuple):
    """The record of a mark."""

    kind: str
    name: str
    commit: str | None
    """The id of the commit; None for a tag that is removed."""

    def encode(self) -> bytes:
        return cbor.encode(list(self))

    @classmethod
    def of_purge(cls, keys: Iterable[bytes]) -> Mark:
        """A mark for the purge of elements with these keys."""
        return cls(PURGE, " ".join(sorted(key.hex() for key in keys)), None)

    @property
    def keys(self) -> list[bytes]:
        """The keys in the mark of a purge."""
        return [bytes.fromhex(part) for part in self.name.split()]


def are_indexed(connection: Connection) -> bool:
    """True if the journal has ever had a mark."""
    return connection.has_objects("journal_mark")


def tags(connection: Connection) -> dict[str, str]:
    """The commit of every tag in force, by name."""
    by_name: dict[str, str] = {}
    for _, mark in _marks(connection, TAG):
        by_name.pop(mark.name, None)
        if mark.commit is not None:
            by_name[mark.name] = mark.commit
    return by_name


def of_kind(connection: Connection, kind: str, after: int = 0) -> list[tuple[int, Mark]]:
    """Every mark of a kind after an entry, each with its entry, oldest first."""
    return list(_marks(connection, kind, after))


def _marks(connection: Connection, kind: str, after: int = 0) -> Iterator[tuple[int, Mark]]:
    if not are_indexed(connection):
        return
    by_index = connection.dialect.by_index("journal_mark")
    query = f"SELECT seq, after FROM journal {by_index} WHERE kind = 9 AND seq > ? ORDER BY seq"
    for seq, record in fetch_all(connection, query, (after,)):
        mark = Mark(*cbor.decode(record))
        if mark.kind == kind:
            yield seq, mark
