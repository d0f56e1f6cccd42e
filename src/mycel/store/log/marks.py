"""Marks in the journal: entries that say something about a commit and change no element.

A tag is one: a name, and the commit that it names. The newest mark of a name is in force; one
without a commit takes the name back. The index of marks is made with the first of them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import apsw

from mycel.model import cbor
from mycel.store.file.rows import every, first

INDEX: Final = "CREATE INDEX IF NOT EXISTS journal_mark ON journal (seq) WHERE kind = 9"
TAG: Final = "tag"


class Mark(NamedTuple):
    """The record of a mark."""

    kind: str
    name: str
    commit: str | None
    """The id of the commit that is marked; None for a name that is taken back."""

    def encode(self) -> bytes:
        return cbor.encode(list(self))


def are_indexed(connection: apsw.Connection) -> bool:
    """True if the journal ever had a mark."""
    query = "SELECT 1 FROM sqlite_schema WHERE name = 'journal_mark'"
    return first(connection, query) is not None


def tags(connection: apsw.Connection) -> dict[str, str]:
    """The commit of every tag in force, by name."""
    found: dict[str, str] = {}
    if not are_indexed(connection):
        return found
    query = "SELECT after FROM journal INDEXED BY journal_mark WHERE kind = 9 ORDER BY seq"
    for (record,) in every(connection, query):
        mark = Mark(*cbor.decode(record))
        if mark.kind != TAG:
            continue
        found.pop(mark.name, None)
        if mark.commit is not None:
            found[mark.name] = mark.commit
    return found
