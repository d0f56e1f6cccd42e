"""Removes the content of an element from the present and from history.

Retiring leaves a tombstone; purging leaves nothing but hashes. The content of every version of the
element is removed from the live tables, the past, the journal and the text index. Every link that
ever had it as an end is purged too. The journal keeps the hashes of its purged records, so the log
still verifies. It gets an entry that says who purged the element and why.

These stay: the names of types and predicates, the names of actors, messages of transactions, and
the hash of the element's natural key. With this hash, somebody who guesses a type and name can
confirm the guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from mycel.errors import NotFound
from mycel.merkle.proofs import Namespace
from mycel.model import ids
from mycel.model.limits import REASON_BYTES_MAX
from mycel.model.names import check_text
from mycel.store.backend.interface import Connection
from mycel.store.file.rows import fetch_all, fetch_first, fetch_one, table_of
from mycel.store.index import lifetimes, passages, property_vectors, text
from mycel.store.log import merges, saved_views, submissions
from mycel.store.log.audit import Auditor
from mycel.store.log.journal import Kind, hash_of
from mycel.store.log.purge_entries import PurgeFields
from mycel.store.log.topological import all_about
from mycel.store.query.lookup import ever_about
from mycel.store.query.refs import Ref
from mycel.store.write.ledger import Ledger
from mycel.store.write.removal import check_not_in_use
from mycel.store.write.transaction import Transaction

Keys = tuple[bytes, list[tuple[int, bytes]]]
"""The key of an element; and if it had several, each with the entry at which it began."""


class Purged(NamedTuple):
    """Counts of the purged elements and links."""

    concepts: int
    propositions: int
    entries: int
    scrubbed: bool = False
    """True if no traces remain in the file; False if others kept the file busy, the disk was full,
    or the graph is on a server.
    """


def purge(tx: Transaction, ref: Ref, reason: str) -> Purged:
    """Purge an element, live or removed, and every link that ever referred to it.

    Raises:
        NotFound: there never was such an element, or it was purged before.
        ImmutableTarget: the concept defines one of the two meta-types.
        ConstraintViolation: the concept defines a type or predicate that is still in use.
    """
    check_reason(reason)
    ledger = tx.ledger
    reader = ledger.reader
    number = reader.number(ref)
    if not reader.was_ever(number):
        raise NotFound(f"There never was an element {ref!r}, or it was purged before.")
    live = reader.concept(number) if ids.is_concept(number) else None
    if live is not None:
        check_not_in_use(ledger, live)
    doomed = [number, *all_about([number], lambda element: ever_about(reader, element))]
    ledger.flush_entries()
    purged = purge_elements(tx, doomed, keys_of(ledger, doomed), reason)
    forget_traces(ledger)
    return purged


def check_reason(reason: str) -> None:
    """Refuse a reason that is empty or too long."""
    check_text(reason, "reason", REASON_BYTES_MAX, empty=False)


def purge_elements(
    tx: Transaction, doomed: Sequence[int], keys: Mapping[int, Keys], reason: str
) -> Purged:
    """Purge these elements and no others; every link about one of them has to be among them."""
    ledger = tx.ledger
    elements = [element for element in map(ledger.reader.element, doomed) if element is not None]
    for element in elements:
        tx.guards.check_removal(tx, element)
    for element in elements:
        ledger.properties.note(element.number, ledger.state_of(element), None)
    ledger.flush_entries()
    names = names_ever(ledger.connection, doomed)
    entries = sum(_purge_one(ledger, number, *keys[number], reason) for number in reversed(doomed))
    merges.forget(ledger.connection, doomed)
    saved_views.forget(ledger.connection, doomed, names)
    submissions.forget(ledger.connection, names)
    tx.guards.forget()
    concepts = sum(map(ids.is_concept, doomed))
    return Purged(concepts, len(doomed) - concepts, entries)


def names_ever(connection: Connection, numbers: Iterable[int]) -> set[str]:
    """All present and former names of concepts, as far as their past is kept."""
    query = (
        "SELECT name FROM concept WHERE id = ?1 UNION SELECT name FROM concept_past WHERE id = ?1"
    )
    concepts = filter(ids.is_concept, numbers)
    return {name for number in concepts for (name,) in fetch_all(connection, query, (number,))}


def keys_of(ledger: Ledger, numbers: Iterable[int]) -> dict[int, Keys]:
    """The keys of elements. Call it before any of them is purged."""
    auditor = Auditor(ledger.connection, ledger.registry)
    return {
        number: (auditor.key(number), _keys_ever(ledger, auditor, number)) for number in numbers
    }


def _keys_ever(ledger: Ledger, auditor: Auditor, number: int) -> list[tuple[int, bytes]]:
    """Every key that an element had, each with its first entry; empty if the key never changed.

    The keys of versions that an earlier purge removed are in the record of that purge.
    """
    table, connection = table_of(number), ledger.connection
    keys = dict(auditor.keys_ever(number))
    earlier = fetch_first(
        connection,
        f"SELECT -j.purged FROM {table}_past p JOIN journal j ON j.seq = p.from_seq"
        " WHERE p.id = ?1 AND j.purged < 0"
        f" UNION ALL SELECT -j.purged FROM {table} p JOIN journal j ON j.seq = p.seq"
        " WHERE p.id = ?1 AND j.purged < 0",
        (number,),
    )
    if earlier is not None:
        (record,) = fetch_one(connection, "SELECT after FROM journal WHERE seq = ?", earlier)
        keys |= dict(PurgeFields.decode(record).keys)
    return sorted(keys.items())


def _purge_one(
    ledger: Ledger, number: int, key: bytes, keys: list[tuple[int, bytes]], reason: str
) -> int:
    table = table_of(number)
    namespace: Namespace = "concepts" if ids.is_concept(number) else "edges"
    definition = _definition(ledger, number) if ids.is_concept(number) else ()
    fields = PurgeFields(key, ledger.time_us, ledger.actor, reason, *definition)
    record = fields._replace(keys=tuple(keys)).encode()
    if definition:
        ledger.head.definitions = ledger.head.seq + 1
    seq = ledger.append_apart(Kind.PURGE, number, record)
    ledger.changes[namespace].set(key, None)  # The leaf is removed from the state tree.
    ledger.flush_entries()
    connection = ledger.connection
    versions = fetch_all(
        connection,
        f"SELECT from_seq FROM {table}_past WHERE id = ?1"
        f" UNION ALL SELECT seq FROM {table} WHERE id = ?1",
        (number,),
    )
    for (version,) in versions:
        purge_entry(connection, version, seq)
    connection.execute(f"DELETE FROM {table} WHERE id = ?", (number,))
    connection.execute(f"DELETE FROM {table}_past WHERE id = ?", (number,))
    text.remove(connection, number)
    lifetimes.remove(connection, number)
    passages.remove(connection, number)
    property_vectors.remove(connection, number)
    ledger.memory.forget_element(number)
    return len(versions)


def purge_entry(connection: Connection, version: int, seq: int) -> None:
    """Replace the records of an entry by their hashes, and note the entry `seq` of the purge.

    With a negative `seq`, the record after the entry is kept.
    """
    before, after, purged = fetch_one(
        connection, "SELECT before, after, purged FROM journal WHERE seq = ?", (version,)
    )
    if purged is None and before is not None:
        # In all other cases the record is a hash already, or there was none.
        before = hash_of(before)
    connection.execute(
        "UPDATE journal SET before = ?, after = ?, purged = ? WHERE seq = ?",
        (before, hash_of(after) if seq > 0 else after, seq, version),
    )


def forget_traces(ledger: Ledger) -> None:
    """Remove traces of the content in the text index and in the planner's statistics."""
    ledger.connection.text_index.forget_removed(ledger.connection)
    ledger.connection.forget_statistics()


def _definition(ledger: Ledger, number: int) -> tuple[int, str, str] | tuple[()]:
    """The number, name and kind of the type or predicate that a concept defines.

    A removed definition counts as well.
    """
    row = fetch_first(
        ledger.connection,
        "SELECT type, name FROM concept WHERE id = ?1"
        " UNION ALL SELECT type, name FROM concept_past WHERE id = ?1 LIMIT 1",
        (number,),
    )
    names = None if row is None else ledger.registry.defined_by(row[0])
    if row is None or names is None:
        return ()
    defined = names.number(ledger.connection, row[1])
    return () if defined is None else (defined, row[1], names.table)
