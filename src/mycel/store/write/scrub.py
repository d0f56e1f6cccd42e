"""Removes for good what was removed or superseded before a moment.

A scrub is a series of purges. An element that was removed by then is purged completely. Any other
element stays, and loses the versions that were superseded by then: an entry of kind `purge` has the
position up to which its past is gone. The entry that wrote the first remaining version keeps the
record of that version, and only the hash of the one before it.

The state at the moment and all later states stay. Earlier states can no longer be read: a final
entry, about the element 0, records where the past begins. Saved views of earlier states are
removed, and so are views of groups whose names are all forgotten. Definitions of types and
predicates keep their past, because they are needed to read the records of other elements.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from mycel.model import ids
from mycel.store.backend.interface import Connection
from mycel.store.file.layout import CONCEPT_TYPE_NUMBER, OPEN_END, PROPOSITION_TYPE_NUMBER
from mycel.store.file.rows import fetch_all, table_of
from mycel.store.index import passages, property_vectors, text
from mycel.store.log import merges, saved_views, submissions
from mycel.store.log.journal import Kind
from mycel.store.log.purge_entries import NO_ELEMENT, PurgeFields
from mycel.store.log.topological import all_about
from mycel.store.query import history
from mycel.store.query.history import Moment
from mycel.store.query.reader import Reader
from mycel.store.write.ledger import Ledger
from mycel.store.write.purge import (
    Keys,
    check_reason,
    forget_traces,
    keys_of,
    names_ever,
    purge_elements,
    purge_entry,
)
from mycel.store.write.transaction import Transaction

_NO_KEY: Final = bytes(32)

_METAS: Final = f"({CONCEPT_TYPE_NUMBER}, {PROPOSITION_TYPE_NUMBER})"
_IS_SCRUBBED: Final = {"concept": f" AND type NOT IN {_METAS}", "proposition": ""}
"""SQL conditions for the rows of the past that a scrub removes, by table."""


_TOMBSTONES_ABOUT: Final = (
    f"SELECT id FROM proposition_past WHERE subject = ?1 AND to_seq = {OPEN_END}"
    f" UNION SELECT id FROM proposition_past WHERE object = ?1 AND to_seq = {OPEN_END}"
    " ORDER BY id"
)


class Scrubbed(NamedTuple):
    """Counts of the elements and versions that a scrub forgot, or would forget."""

    until: int = 0
    """The position of the journal at which the past begins after the scrub."""
    concepts: int = 0
    """The number of removed concepts."""
    propositions: int = 0
    """The number of removed links."""
    versions: int = 0
    """The number of superseded versions of elements that stay."""
    hidden: tuple[str, ...] = ()
    """The hidden types and properties that can no longer be restored."""
    scrubbed: bool = False
    """True if no traces remain in the file; False if others kept the file busy, the disk was full,
    or the graph is on a server.
    """


def expected(reader: Reader, before: Moment) -> Scrubbed:
    """The counts that a scrub of the past before a moment would have.

    Raises:
        ConstraintViolation: there is no such moment.
    """
    return _count(reader.connection, history.entry_at(reader, before))


def _count(connection: Connection, seq: int) -> Scrubbed:
    removed = _removed(connection, seq)
    concepts = sum(map(ids.is_concept, removed))
    versions = sum(map(len, _superseded(connection, seq, removed).values()))
    return Scrubbed(seq, concepts, len(removed) - concepts, versions)


def scrub(tx: Transaction, seq: int, reason: str) -> Scrubbed:
    """Forget what was removed or superseded up to a position of the journal.

    If there is nothing to forget, nothing is written.
    """
    check_reason(reason)
    ledger, connection = tx.ledger, tx.ledger.connection
    ledger.flush_entries()
    removed = _removed(connection, seq)
    superseded = _superseded(connection, seq, removed)
    if not removed and not superseded:
        return Scrubbed(seq)
    # All keys are read first: keys of links are computed from versions of their ends, which are
    # removed too.
    keys = keys_of(ledger, [*superseded, *removed])
    names = names_ever(connection, superseded)
    for number, versions in superseded.items():
        _scrub_element(ledger, number, keys[number], versions, seq, reason)
        property_vectors.remove(connection, number)
        # The stored passage may be derived from a forgotten version.
        passages.remove(connection, number)
    purged = purge_elements(tx, removed, keys, reason)
    merges.forget(connection, (), until=seq)
    saved_views.forget(connection, (), names, until=seq)
    submissions.forget(connection, (), closed=True)
    marker = PurgeFields(_NO_KEY, ledger.time_us, ledger.actor, reason, until=seq)
    ledger.append_apart(Kind.PURGE, NO_ELEMENT, marker.encode())
    ledger.flush_entries()
    text.fold(connection)  # The index may still hold earlier texts of recent changes.
    forget_traces(ledger)
    versions_gone = sum(map(len, superseded.values()))
    return Scrubbed(seq, purged.concepts, purged.propositions, versions_gone)


def _removed(connection: Connection, seq: int) -> list[int]:
    """Elements removed by then and not revived since, with the tombstones of links about them."""
    numbers: list[int] = []
    for table, condition in _IS_SCRUBBED.items():
        query = (
            f"SELECT id FROM {table}_past WHERE to_seq = {OPEN_END} AND from_seq <= ?{condition}"
            " ORDER BY id"
        )
        numbers += (number for (number,) in fetch_all(connection, query, (seq,)))

    def about(number: int) -> Iterable[int]:
        return (link for (link,) in fetch_all(connection, _TOMBSTONES_ABOUT, (number,)))

    return [*numbers, *all_about(numbers, about)]


def _superseded(
    connection: Connection, seq: int, removed: Iterable[int]
) -> dict[int, list[tuple[int, int]]]:
    """For each element that stays: its versions that were superseded by then, oldest first.

    A version is a pair: the entry that wrote it, and the entry that superseded it.
    """
    versions: dict[int, list[tuple[int, int]]] = {}
    for table, condition in _IS_SCRUBBED.items():
        query = (
            f"SELECT id, from_seq, to_seq FROM {table}_past WHERE to_seq <= ?{condition}"
            " ORDER BY id, from_seq"
        )
        for number, *version in fetch_all(connection, query, (seq,)):
            versions.setdefault(number, []).append((version[0], version[1]))
    for number in removed:
        versions.pop(number, None)
    return versions


def _scrub_element(
    ledger: Ledger,
    number: int,
    keys: Keys,
    versions: list[tuple[int, int]],
    seq: int,
    reason: str,
) -> None:
    key, ever = keys
    fields = PurgeFields(key, ledger.time_us, ledger.actor, reason, until=seq)
    record = fields._replace(keys=tuple(ever)).encode()
    entry = ledger.append_apart(Kind.PURGE, number, record)
    ledger.flush_entries()
    connection = ledger.connection
    for version, _ in versions:
        purge_entry(connection, version, entry)
    _, until = versions[-1]
    purge_entry(connection, until, -entry)
    connection.execute(
        f"DELETE FROM {table_of(number)}_past WHERE id = ? AND to_seq <= ?", (number, until)
    )
