"""The primitives of `transaction` for many rows at once.

Rows that turn out to be new, as nearly all are in a load, go through `executemany` in batches; a
batch in which one is not (it exists, or has a tombstone) is undone and put row by row, and so is
each row that defines something or that a guard wants to see. The result is the same in all cases,
down to the order of the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import islice, repeat
from operator import itemgetter
from typing import Any, Final, NamedTuple

from mycel.errors import InvalidValueType, SelfEdgeError
from mycel.merkle.proofs import Namespace
from mycel.model import ids
from mycel.model.names import check_name, kind_of
from mycel.model.records import canonical_weight, concept_key, new_concept_record
from mycel.model.values import EMPTY_OBJECT
from mycel.search.analysis import document_text
from mycel.store import text
from mycel.store.contents import content, has_text
from mycel.store.journal import NO_RECORD, Kind, entry_leaf
from mycel.store.layout import OPEN_END
from mycel.store.ledger import Ledger
from mycel.store.refs import Ref, refuse_self_link

BATCH_ROWS: Final = 2000
TOGETHER_ROWS_MIN: Final = 4
"""Fewer rows in a row are not worth preparing together."""
LOAD_ROWS: Final = 20_000
"""From here on a transaction is a load, and gets a larger page cache."""
LOAD_CACHE_KIB: Final = 262_144

INSERT_CONCEPT: Final = "INSERT INTO concept VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?)"
INSERT_PROPOSITION: Final = "INSERT INTO proposition VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?)"

_PUT_CONCEPT: Final = int(Kind.PUT_CONCEPT)
_ADD_EDGE: Final = int(Kind.ADD_EDGE)
_NOTHING: Final = (EMPTY_OBJECT, b"")
_NO_KEYS: Final[dict[str, Any]] = {}


class ConceptRow(NamedTuple):
    """A concept to put."""

    type: str
    name: str
    attributes: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] | None = None


class PropositionRow(NamedTuple):
    """A link to put."""

    subject: Ref
    predicate: str
    object: Ref
    attributes: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] | None = None
    weight: float | None = None


def put_concepts(
    ledger: Ledger,
    rows: Iterable[ConceptRow],
    put_one: Callable[[ConceptRow], str],
    goes_alone: Callable[[str], bool],
) -> list[str]:
    """Put many concepts and return their ids in order."""
    made: list[str] = []
    for batch in _batches(rows, ConceptRow):
        for run, alone in _runs(batch, itemgetter(0), goes_alone):
            prepared = _Batch(ledger, "concepts")
            if alone or _has_tombstones(ledger, "concept") or not prepared.add_concepts(run):
                made += [put_one(row) for row in run]
            else:
                made += [ids.concept_id(number) for number in prepared.numbers]
    return made


def put_propositions(
    ledger: Ledger,
    rows: Iterable[PropositionRow],
    put_one: Callable[[PropositionRow], str],
    goes_alone: Callable[[str], bool],
) -> int:
    """Put many links and return how many rows there were."""
    count = 0
    for batch in _batches(rows, PropositionRow):
        count += len(batch)
        for run, alone in _runs(batch, itemgetter(1), goes_alone):
            prepared = _Batch(ledger, "edges")
            if alone or _has_tombstones(ledger, "proposition") or not prepared.add_links(run):
                for row in run:
                    put_one(row)
    return count


def _runs(
    batch: list[Any], name_of: Callable[[Any], Any], goes_alone: Callable[[str], bool]
) -> Iterator[tuple[list[Any], bool]]:
    """A batch in its order, parted into rows that go together and rows that go alone.

    Each row is asked about when those before it are written: a definition among them may change
    the answer.
    """
    try:
        names = set(map(name_of, batch))
    except TypeError:  # A name that is not even hashable: putting it alone says what is wrong.
        yield batch, True
        return
    if not any(goes_alone(name) for name in names):
        yield batch, False
        return
    start = 0
    while start < len(batch):
        end = start
        while end < len(batch) and not goes_alone(name_of(batch[end])):
            end += 1
        if end > start:
            yield batch[start:end], end - start < TOGETHER_ROWS_MIN
        if end < len(batch):
            yield batch[end : end + 1], True
        start = end + 1


def _batches(rows: Iterable[Any], kind: type) -> Iterator[list[Any]]:
    source = iter(rows)
    while batch := list(islice(source, BATCH_ROWS)):
        for row in batch:
            if not isinstance(row, kind):
                raise InvalidValueType(
                    f"A row must be a {kind.__name__}, not {kind_of(row)}.",
                    hint=f"Make rows with mycel.{kind.__name__}(...).",
                )
        yield batch


def _has_tombstones(ledger: Ledger, table: str) -> bool:
    """Whether a row might have to be revived."""
    found = ledger.connection.execute(
        f"SELECT 1 FROM {table}_past WHERE to_seq = {OPEN_END} LIMIT 1"
    )
    return found.fetchone() is not None


class _Batch:
    """Rows that are written together: all of them, or none."""

    def __init__(self, ledger: Ledger, namespace: Namespace) -> None:
        self._ledger = ledger
        self._namespace: Namespace = namespace
        self._live: list[tuple[Any, ...]] = []
        self.numbers = range(0)
        self._records: list[bytes] = []
        self._keys: list[bytes] = []
        self._documents: list[tuple[int, str]] = []

    def add_concepts(self, rows: list[ConceptRow]) -> bool:
        ledger = self._ledger
        now, actor, by = ledger.time_us, ledger.actor, ledger.actor_number
        number, seq = ledger.head.next_concept, ledger.head.seq
        types = ledger.registry.types
        for type_name, name, attributes, metadata in rows:
            type_number = ledger.defined_number(types, "type", type_name)
            check_name(name)
            attributes_text, attributes_cbor = content(attributes, "attributes")
            metadata_text, metadata_cbor = content(metadata, "metadata")
            record = new_concept_record(
                type_name,
                name,
                attributes_cbor,
                metadata_cbor,
                created_us=now,
                created_by=actor,
            )
            seq += 1
            self._live.append(
                (number, type_number, name, attributes_text, metadata_text, seq, now, by, now)
            )
            self._records.append(record)
            self._keys.append(concept_key(type_name, name))
            self._documents.append((number, document_text(name, attributes or _NO_KEYS)))
            number += ids.ID_STEP
        if not self._insert("concept", INSERT_CONCEPT):
            return False
        self.numbers = range(ledger.head.next_concept, number, ids.ID_STEP)
        ledger.head.next_concept = number
        for each, key in zip(self.numbers, self._keys, strict=True):
            ledger.memory.remember(each, key)
        self._finish(_PUT_CONCEPT)
        return True

    def add_links(self, rows: list[PropositionRow]) -> bool:
        ledger = self._ledger
        now, by = ledger.time_us, ledger.actor_number
        number, seq = ledger.head.next_proposition, ledger.head.seq
        make, end_of = ledger.recorder.make, ledger.end
        numbers: dict[str, int] = {}
        ends = ledger.memory.ends  # Most ends are met again: looked up here, a load saves a second.
        live, records, keys = self._live, self._records, self._keys
        for subject, predicate, object_, attributes, metadata, weight in rows:
            predicate_number = numbers.get(predicate)
            if predicate_number is None:
                names = ledger.registry.predicates
                predicate_number = ledger.defined_number(names, "predicate", predicate)
                numbers[predicate] = predicate_number
            if subject == object_:
                refuse_self_link(subject, object_)
            known = ends.get(subject) if subject.__class__ is str else None
            source, subject_key = known or end_of(subject)
            known = ends.get(object_) if object_.__class__ is str else None
            target, object_key = known or end_of(object_)
            if source == target:
                raise SelfEdgeError(f"{subject!r} cannot be linked to itself.")
            attributes_text, attributes_cbor = content(attributes, "attributes")
            metadata_text, metadata_cbor = _NOTHING
            if metadata is not None:
                metadata_text, metadata_cbor = content(metadata, "metadata")
            cost = 1.0 if weight is None else canonical_weight(weight)
            packed = attributes_cbor, metadata_cbor
            key, record = make((predicate_number, predicate), subject_key, object_key, packed, cost)
            seq += 1
            place = number, source, predicate_number, target, cost
            live.append((*place, attributes_text, metadata_text, seq, now, by, now))
            records.append(record)
            keys.append(key)
            if attributes and has_text(attributes_text):
                self._documents.append((number, document_text("", attributes)))
            number += ids.ID_STEP
        if not self._insert("proposition", INSERT_PROPOSITION):
            return False
        self.numbers = range(ledger.head.next_proposition, number, ids.ID_STEP)
        ledger.head.next_proposition = number
        ledger.forget_fresh()
        self._finish(_ADD_EDGE)
        return True

    def _insert(self, table: str, statement: str) -> bool:
        """Insert the live rows; if one of them is there already, none.

        Without a savepoint, under which SQLite would copy every page before it changes.
        """
        connection = self._ledger.connection
        before = connection.total_changes()
        connection.executemany(statement.replace("INSERT", "INSERT OR IGNORE", 1), self._live)
        complete = connection.total_changes() - before == len(self._live)
        if not complete:
            span = self._live[0][0], self._live[-1][0]
            connection.execute(f"DELETE FROM {table} WHERE id BETWEEN ? AND ?", span)
        return complete

    def _finish(self, kind: int) -> None:
        """Journal the rows, and note what trees and text index must learn of them."""
        ledger = self._ledger
        if len(self.numbers) < BATCH_ROWS and len(ledger.retext) < BATCH_ROWS:
            ledger.retext.update(number for number, _ in self._documents)
        else:
            text.index(ledger.connection, self._documents)
        ledger.flush_entries()
        digests = [sha256(record).digest() for record in self._records]
        pairs = zip(self.numbers, digests, strict=True)
        ledger.append_leaves([entry_leaf(kind, each, NO_RECORD, digest) for each, digest in pairs])
        seqs = range(ledger.head.seq + 1, ledger.head.seq + 1 + len(self.numbers))
        ledger.connection.executemany(
            "INSERT INTO journal VALUES (?, ?, ?, NULL, ?, NULL)",
            zip(seqs, repeat(kind), self.numbers, self._records, strict=False),
        )
        ledger.head.seq += len(self.numbers)
        ledger.changes[self._namespace].set_all(zip(self._keys, digests, strict=True))
        if not ledger.is_load and ledger.head.seq - ledger.first_seq >= LOAD_ROWS:
            ledger.is_load = True
            ledger.connection.execute(f"PRAGMA cache_size = -{LOAD_CACHE_KIB}")
