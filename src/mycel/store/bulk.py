"""The primitives of `transaction` for many rows at once.

Rows that turn out to be new, as nearly all are in a load, go through `executemany` in batches; a
batch in which one is not (it exists, has a tombstone, or defines something) is undone and put row
by row. The result is the same in both cases, down to the journal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from mycel.errors import SelfEdgeError
from mycel.model import ids
from mycel.model.names import check_name
from mycel.model.records import (
    canonical_weight,
    concept_key,
    concept_record,
    edge_record,
    proposition_key,
    record_hash,
)
from mycel.model.values import object_text
from mycel.search.analysis import document_text
from mycel.store import text
from mycel.store.journal import NO_RECORD, Kind, entry_leaf
from mycel.store.layout import CONCEPT_TYPE_NUMBER, OPEN_END, PROPOSITION_TYPE_NUMBER
from mycel.store.transaction import (
    DEFAULT_WEIGHT,
    Ref,
    Transaction,
    metadata_object_text,
    missing,
    resolve,
)

BATCH_ROWS: Final = 2000
BULK_CACHE_KIB: Final = 262_144
"""A load needs more of the indexes in memory than other work; below 1 GiB in all."""

_PUT_CONCEPT: Final = int(Kind.PUT_CONCEPT)
_ADD_EDGE: Final = int(Kind.ADD_EDGE)
_NO_KEYS: Final[dict[str, Any]] = {}


class ConceptRow(NamedTuple):
    """A concept to put."""

    type: str
    name: str
    attributes: Mapping[str, Any] = _NO_KEYS
    metadata: Mapping[str, Any] = _NO_KEYS


class PropositionRow(NamedTuple):
    """A link to put."""

    subject: Ref
    predicate: str
    object: Ref
    attributes: Mapping[str, Any] = _NO_KEYS
    metadata: Mapping[str, Any] = _NO_KEYS
    weight: float | None = None


def put_concepts(tx: Transaction, rows: Iterable[ConceptRow]) -> Iterator[str]:
    """Put many concepts; yields their ids in order. Nothing happens before it is iterated."""
    for batch in _batches(rows):
        if _must_go_singly(tx, "concept_past") or not _insert_concepts(tx, batch):
            for row in batch:
                yield tx.put_concept(row.type, row.name, row.attributes, row.metadata)
        else:
            last = tx.head.next_concept
            first = last - ids.ID_STEP * len(batch)
            yield from (f"C:{number}" for number in range(first, last, ids.ID_STEP))


def put_propositions(tx: Transaction, rows: Iterable[PropositionRow]) -> Iterator[str]:
    """Put many links; yields their ids in order. Nothing happens before it is iterated."""
    for batch in _batches(rows):
        if _must_go_singly(tx, "proposition_past") or not _insert_propositions(tx, batch):
            for row in batch:
                yield tx.put_proposition(
                    row.subject,
                    row.predicate,
                    row.object,
                    row.attributes,
                    row.metadata,
                    weight=row.weight,
                )
        else:
            number = tx.head.next_proposition - ids.ID_STEP * len(batch)
            for row in batch:
                yield f"P:{number}:{row.predicate}"
                number += ids.ID_STEP


def _batches(rows: Iterable[Any]) -> Iterator[list[Any]]:
    source = iter(rows)
    while batch := list(islice(source, BATCH_ROWS)):
        yield batch


def _must_go_singly(tx: Transaction, past: str) -> bool:
    """Guards look at each row, and a tombstone may have to be revived."""
    if tx.guards:
        return True
    found = tx.connection.execute(f"SELECT 1 FROM {past} WHERE to_seq = {OPEN_END} LIMIT 1")
    return found.fetchone() is not None


def _insert_concepts(tx: Transaction, batch: list[ConceptRow]) -> bool:
    registry, head, now, actor = tx.registry, tx.head, tx.time_us, tx.actor
    number, seq = head.next_concept, head.seq
    live, entries, leaves, noted, documents, keys = [], [], [], [], [], []
    for type_name, name, attributes, metadata in batch:
        type_number = tx.defined_number(registry.types, "type", type_name)
        if type_number in (CONCEPT_TYPE_NUMBER, PROPOSITION_TYPE_NUMBER):
            return False
        check_name(name)
        attributes_text = object_text(attributes, "attributes")
        metadata_text = metadata_object_text(metadata)
        record = concept_record(
            type_name, name, attributes, metadata, created_us=now, created_by=actor
        )
        key, digest = concept_key(type_name, name), record_hash(record)
        seq += 1
        live.append(
            (
                number,
                type_number,
                name,
                attributes_text,
                metadata_text,
                seq,
                now,
                tx.actor_number,
                now,
            )
        )
        entries.append((seq, _PUT_CONCEPT, number, record))
        leaves.append(entry_leaf(_PUT_CONCEPT, number, NO_RECORD, digest))
        noted.append((key, digest))
        documents.append((number, document_text(name, attributes)))
        keys.append((number, key))
        number += ids.ID_STEP
    inserted = _insert_all_or_none(
        tx, "INSERT OR IGNORE INTO concept VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?)", live
    )
    if not inserted:
        return False
    text.index(tx.connection, documents)
    for each in keys:
        tx.remember_key(*each)
    head.next_concept = number
    _journal(tx, entries, leaves)
    change = tx.changes["concepts"].set
    for each in noted:
        change(*each)
    return True


def _insert_propositions(tx: Transaction, batch: list[PropositionRow]) -> bool:
    registry, head, now, actor = tx.registry, tx.head, tx.time_us, tx.actor
    number, seq = head.next_proposition, head.seq
    live, entries, leaves, noted, documents = [], [], [], [], []
    for subject, predicate, object_, attributes, metadata, weight in batch:
        predicate_number = tx.defined_number(registry.predicates, "predicate", predicate)
        source, target = resolve(subject), resolve(object_)
        if source == target:
            raise SelfEdgeError(f"{subject!r} cannot be linked to itself.")
        subject_key, object_key = tx.find_key(source), tx.find_key(target)
        if subject_key is None or object_key is None:
            raise missing(subject if subject_key is None else object_)
        attributes_text = object_text(attributes, "attributes")
        metadata_text = metadata_object_text(metadata)
        cost = DEFAULT_WEIGHT if weight is None else canonical_weight(weight)
        record = edge_record(
            predicate_number,
            subject_key,
            object_key,
            attributes,
            metadata,
            created_us=now,
            created_by=actor,
            weight=cost,
        )
        digest = record_hash(record)
        seq += 1
        live.append(
            (
                number,
                source,
                predicate_number,
                target,
                cost,
                attributes_text,
                metadata_text,
                seq,
                now,
                tx.actor_number,
                now,
            )
        )
        entries.append((seq, _ADD_EDGE, number, record))
        leaves.append(entry_leaf(_ADD_EDGE, number, NO_RECORD, digest))
        noted.append((proposition_key(subject_key, predicate, object_key), digest))
        if '":"' in attributes_text:
            documents.append((number, document_text("", attributes)))
        number += ids.ID_STEP
    inserted = _insert_all_or_none(
        tx, "INSERT OR IGNORE INTO proposition VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?)", live
    )
    if not inserted:
        return False
    text.index(tx.connection, documents)
    head.next_proposition = number
    _journal(tx, entries, leaves)
    change = tx.changes["edges"].set
    for each in noted:
        change(*each)
    return True


def _insert_all_or_none(tx: Transaction, statement: str, rows: list[tuple[Any, ...]]) -> bool:
    connection = tx.connection
    connection.execute("SAVEPOINT batch")
    before = connection.total_changes()
    connection.executemany(statement, rows)
    complete = connection.total_changes() - before == len(rows)
    connection.execute("RELEASE batch" if complete else "ROLLBACK TO batch; RELEASE batch")
    return complete


def _journal(
    tx: Transaction, entries: list[tuple[int, int, int, bytes]], leaves: list[bytes]
) -> None:
    tx.head.seq += len(entries)
    tx.append_leaves(leaves)
    tx.connection.executemany("INSERT INTO journal VALUES (?, ?, ?, NULL, ?, NULL)", entries)
