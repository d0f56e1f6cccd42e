"""The primitives of `transaction` for many rows at once.

Nearly all rows of a load are new, and are inserted in batches. A batch with a row that is not new
(the element exists, or has a tombstone) is undone and put row by row. A row that defines a type or
predicate, or that a guard without `in_bulk` checks, is always put alone. Other guards check each
row of a batch before the batch is written. The result is the same in all cases, down to the order
of the journal. `data["row"]` of an error is the index of the row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from itertools import islice, repeat
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeVar

from mycel.errors import InvalidValueType, MycelError, SelfEdgeError
from mycel.merkle.proofs import Namespace
from mycel.model import allowance, ids
from mycel.model.names import META_TYPES, check_name, kind_of
from mycel.model.records import canonical_weight
from mycel.model.values import JsonObject, parse_object
from mycel.store.file.layout import OPEN_END
from mycel.store.file.rows import json_rows
from mycel.store.index import text
from mycel.store.index.properties import NewElement
from mycel.store.index.slots import NO_ENDS, Slots
from mycel.store.log.journal import NO_RECORD, Kind, entry_leaf
from mycel.store.query.refs import Ref, refuse_self_link
from mycel.store.write.element_content import NO_CONTENT, content, has_text
from mycel.store.write.guards import AnyGuard, Change, Identity, Writing, shape
from mycel.text.analysis import AnalysedText, concept_document, link_document

BATCH_ROWS: Final = 2000
TOGETHER_ROWS_MIN: Final = 4
"""The least number of rows that are written as a batch; fewer are put one by one."""
LOAD_ROWS: Final = 20_000
"""The number of rows that make a transaction a load, which gets a larger page cache."""
LOAD_CACHE_KIB: Final = 262_144
_WATCH_EVERY: Final = 16
"""The number of rows between two checks of the allowance; a row has up to a few megabytes."""

INSERT_CONCEPT: Final = "INSERT INTO concept VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?)"
INSERT_PROPOSITION: Final = "INSERT INTO proposition VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?)"

# CROSS JOIN keeps SQLite to this order: for each row of the list, one look-up in the index.
_ANY_TOMBSTONE: Final = f"SELECT 1 FROM {{table}}_past WHERE to_seq = {OPEN_END} LIMIT 1"
_BURIED_CONCEPT: Final = (
    "SELECT 1 FROM json_each(?1) j CROSS JOIN concept_past p"
    " WHERE p.type = CAST(j.value ->> 0 AS BIGINT)"
    f" AND p.name = j.value ->> 1 AND p.to_seq = {OPEN_END} LIMIT 1"
)
_BURIED_LINK: Final = (
    "SELECT 1 FROM json_each(?1) j CROSS JOIN proposition_past p"
    " WHERE p.subject = CAST(j.value ->> 0 AS BIGINT)"
    " AND p.predicate = CAST(j.value ->> 1 AS BIGINT)"
    f" AND p.object = CAST(j.value ->> 2 AS BIGINT) AND p.to_seq = {OPEN_END}"
    " LIMIT 1"
)

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


AnyRow = TypeVar("AnyRow", ConceptRow, PropositionRow)
T = TypeVar("T")


def put_concepts(
    tx: Writing, rows: Iterable[ConceptRow], put_one: Callable[[ConceptRow], str]
) -> list[str]:
    """Put many concepts and return their ids in order. `put_one` puts a row that goes alone."""
    element_ids: list[str] = []
    for at, run, alone in _runs(tx, rows, ConceptRow, itemgetter(0)):
        batch = _Batch(tx, "concepts", at)
        if alone or not batch.add_concepts(run):
            element_ids += _one_by_one(run, at, put_one)
        else:
            element_ids += [ids.concept_id(number) for number in batch.numbers]
    return element_ids


def put_propositions(
    tx: Writing, rows: Iterable[PropositionRow], put_one: Callable[[PropositionRow], str]
) -> int:
    """Put many links and return how many rows there were."""
    count = 0
    for at, run, alone in _runs(tx, rows, PropositionRow, itemgetter(1)):
        count += len(run)
        if alone or not _Batch(tx, "edges", at).add_links(run):
            _one_by_one(run, at, put_one)
    return count


def _one_by_one(run: list[AnyRow], at: int, put_one: Callable[[AnyRow], str]) -> list[str]:
    element_ids: list[str] = []
    try:
        element_ids.extend(put_one(row) for row in run)
    except MycelError as error:
        error.data.setdefault("row", at + len(element_ids))
        raise
    return element_ids


def _runs(
    tx: Writing, rows: Iterable[AnyRow], kind: type[AnyRow], name_of: Callable[[AnyRow], Any]
) -> Iterator[tuple[int, list[AnyRow], bool]]:
    """Split rows into runs, in their order. Yields the first row's number, the run, and a mark.

    The mark is True if the rows of the run go alone, and False if they are written together.
    `_runs` decides about a row after the rows before it are written, because a definition among
    them may change the answer.
    """
    link = kind is PropositionRow

    def goes_alone(name: str) -> bool:
        return name in META_TYPES or tx.guards.goes_alone(tx, name, link=link)

    at = 0
    for batch in _batches(rows, kind):
        try:
            names = set(map(name_of, batch))
        except TypeError:  # The name is not hashable: putting the row alone raises the error.
            yield at, batch, True
        else:
            if not any(map(goes_alone, names)):
                yield at, batch, False
            else:
                for start, run, alone in _parted(batch, name_of, goes_alone):
                    yield at + start, run, alone
        at += len(batch)


def _parted(
    batch: list[AnyRow], name_of: Callable[[AnyRow], Any], goes_alone: Callable[[str], bool]
) -> Iterator[tuple[int, list[AnyRow], bool]]:
    """Split a batch, in order, into runs of rows that are written together and rows put alone."""
    start = 0
    while start < len(batch):
        end = start
        while end < len(batch) and not goes_alone(name_of(batch[end])):
            end += 1
        if end > start:
            yield start, batch[start:end], end - start < TOGETHER_ROWS_MIN
        if end < len(batch):
            yield end, batch[end : end + 1], True
        start = end + 1


def _batches(rows: Iterable[AnyRow], kind: type[AnyRow]) -> Iterator[list[AnyRow]]:
    source = iter(rows)
    start = 0
    while batch := list(islice(source, BATCH_ROWS)):
        for at, row in enumerate(batch, start):
            if not isinstance(row, kind):
                raise InvalidValueType(
                    f"A row must be a {kind.__name__}, not {kind_of(row)}.",
                    hint=f"Make rows with mycel.{kind.__name__}(...).",
                    data={"row": at},
                )
        yield batch
        start += len(batch)


def _object(value: Mapping[str, Any] | None, field: str) -> JsonObject:
    """The attributes or metadata of a row as an object that guards may read."""
    if value is None:
        return {}
    if value.__class__ is dict:
        return value
    return parse_object(content(value, field)[0])


class _Batch:
    """Rows that are written together: all of them, or none."""

    def __init__(self, tx: Writing, namespace: Namespace, at: int) -> None:
        self._tx = tx
        self._ledger = tx.ledger
        self._at = at
        self._namespace: Namespace = namespace
        self._live: list[tuple[Any, ...]] = []
        self.numbers = range(0)
        self._records: list[bytes] = []
        self._keys: list[bytes] = []
        self._texts: list[tuple[int, str | None, Mapping[str, Any]]] = []
        self._indexed: dict[Slots, list[NewElement]] = {}
        self._on_links: set[tuple[int, int, int]] = set()
        """Predicate, subject and object of new links that have a link at an end."""

    def add_concepts(self, rows: list[ConceptRow]) -> bool:
        """Write new concepts. Returns False, and writes nothing, if one of them is not new."""
        with self._named_row():
            self._prepare_concepts(rows)
        if not self._insert("concept", INSERT_CONCEPT, _BURIED_CONCEPT, slice(1, 3)):
            return False
        ledger = self._ledger
        for number, key in zip(self.numbers, self._keys, strict=True):
            ledger.memory.remember(number, key)
        ledger.head.next_concept = self.numbers.stop
        self._finish(Kind.PUT_CONCEPT)
        return True

    @contextmanager
    def _named_row(self) -> Iterator[None]:
        """Add the index of the current row to an error that is raised in this block."""
        try:
            yield
        except MycelError as error:
            error.data.setdefault("row", self._at + len(self._live))
            raise

    def _shape(
        self,
        concerned: tuple[AnyGuard, ...],
        becomes: Identity,
        attributes: Mapping[str, Any] | None,
        metadata: Mapping[str, Any] | None,
    ) -> Mapping[str, Any] | None:
        """The attributes of a row, after the guards have had a chance to replace them."""
        objects = _object(attributes, "attributes"), _object(metadata, "metadata")
        shaped = shape(self._tx, concerned, Change("create", None, *becomes, *objects, None))
        return attributes if shaped is None else shaped

    def _prepare_concepts(self, rows: list[ConceptRow]) -> None:
        ledger = self._ledger
        now, by, make = ledger.time_us, ledger.actor_number, ledger.recorder.concept
        number, seq = ledger.head.next_concept, ledger.head.seq
        types = ledger.registry.types
        slots_of = ledger.properties.of_types.get
        ask = self._tx.guards.concerned
        guards = {name: ask(self._tx, name, link=False) for name in {row[0] for row in rows}}
        # Often all rows of a load share one metadata object, or those of a command one of
        # attributes.
        last_metadata, packed = None, NO_CONTENT
        same_attributes, packed_attributes = None, NO_CONTENT
        for type_name, name, row_attributes, metadata in rows:
            type_number = ledger.defined_number(types, type_name)
            check_name(name)
            attributes = row_attributes
            if concerned := guards[type_name]:
                attributes = self._shape(concerned, (type_name, name), row_attributes, metadata)
            if attributes is not same_attributes:
                same_attributes = attributes
                packed_attributes = content(attributes, "attributes")
            attributes_text, attributes_part = packed_attributes
            if metadata is not last_metadata:
                last_metadata, packed = metadata, content(metadata, "metadata")
            metadata_text, metadata_part = packed
            key, record = make(type_name, name, (attributes_part, metadata_part))
            seq += 1
            self._live.append(
                (number, type_number, name, attributes_text, metadata_text, seq, now, by, now)
            )
            self._records.append(record)
            self._keys.append(key)
            self._texts.append((number, name, attributes or _NO_KEYS))
            slots = slots_of(type_number)
            if slots is not None and attributes:
                self._indexed.setdefault(slots, []).append((number, attributes, NO_ENDS))
            number += ids.ID_STEP
        self.numbers = range(ledger.head.next_concept, number, ids.ID_STEP)

    def add_links(self, rows: list[PropositionRow]) -> bool:
        """Write new links. Returns False, and writes nothing, if one of them is not new."""
        with self._named_row():
            self._prepare_links(rows)
        if not self._insert("proposition", INSERT_PROPOSITION, _BURIED_LINK, slice(1, 4)):
            return False
        self._ledger.look_up_links()
        for predicate, subject, object_ in self._on_links:
            self._ledger.note_ends(predicate, subject, object_)
        self._ledger.head.next_proposition = self.numbers.stop
        self._finish(Kind.ADD_EDGE)
        return True

    def _prepare_links(self, rows: list[PropositionRow]) -> None:
        ledger = self._ledger
        now, by = ledger.time_us, ledger.actor_number
        number, seq = ledger.head.next_proposition, ledger.head.seq
        make, end_of = ledger.recorder.edge, ledger.end
        known_predicates: dict[str, tuple[int, tuple[AnyGuard, ...], Slots | None]] = {}
        ends = ledger.memory.ends  # Looked up in place: a load saves a second.
        live, records, keys = self._live, self._records, self._keys
        last_metadata, packed_metadata = None, NO_CONTENT
        for subject, predicate, object_, row_attributes, metadata, weight in rows:
            facts = known_predicates.get(predicate)
            if facts is None:
                names = ledger.registry.predicates
                predicate_number = ledger.defined_number(names, predicate)
                slots = ledger.properties.of_predicates.get(predicate_number)
                concerned = self._tx.guards.concerned(self._tx, predicate, link=True)
                facts = predicate_number, concerned, slots
                known_predicates[predicate] = facts
            predicate_number, concerned, slots = facts
            if subject == object_:
                refuse_self_link(subject, object_)
            cached_end = ends.get(subject) if subject.__class__ is str else None
            source, subject_key = cached_end or end_of(subject)
            cached_end = ends.get(object_) if object_.__class__ is str else None
            target, object_key = cached_end or end_of(object_)
            if source == target:
                raise SelfEdgeError(f"{subject!r} cannot be linked to itself.")
            attributes = row_attributes
            if concerned:
                outer = ledger.reader.outer_id(source), ledger.reader.outer_id(target)
                attributes = self._shape(concerned, (predicate, outer), row_attributes, metadata)
            attributes_text, attributes_part = content(attributes, "attributes")
            if metadata is not last_metadata:
                last_metadata, packed_metadata = metadata, content(metadata, "metadata")
            metadata_text, metadata_part = packed_metadata
            cost = 1.0 if weight is None else canonical_weight(weight)
            packed = attributes_part, metadata_part
            key, record = make((predicate_number, predicate), subject_key, object_key, packed, cost)
            seq += 1
            if (source | target) & 1:
                self._on_links.add((predicate_number, source & 1, target & 1))
            place = number, source, predicate_number, target, cost
            live.append((*place, attributes_text, metadata_text, seq, now, by, now))
            records.append(record)
            keys.append(key)
            if attributes and has_text(attributes_text):
                self._texts.append((number, None, attributes))
            if slots is not None:
                new = number, attributes or _NO_KEYS, (source, target)
                self._indexed.setdefault(slots, []).append(new)
            number += ids.ID_STEP
        self.numbers = range(ledger.head.next_proposition, number, ids.ID_STEP)

    def _insert(self, table: str, statement: str, buried: str, identity: slice) -> bool:
        """Insert the live rows. Returns False, and inserts none, if one exists or has a tombstone.

        It uses no savepoint: under one, SQLite would copy every page before a change.
        """
        connection = self._ledger.connection
        if self._ledger.row(_ANY_TOMBSTONE.format(table=table), ()) is not None:
            identities = json_rows(row[identity] for row in self._live)
            if self._ledger.row(buried, (identities,)) is not None:
                return False
        before = connection.total_changes()
        self._ledger.write_many(f"{statement} ON CONFLICT DO NOTHING", _paced(self._live))
        complete = connection.total_changes() - before == len(self._live)
        if not complete:
            span = self._live[0][0], self._live[-1][0]
            connection.execute(f"DELETE FROM {table} WHERE id BETWEEN ? AND ?", span)
        return complete

    def _finish(self, kind: Kind) -> None:
        """Journal the rows, and pass them on to the state trees and the indexes."""
        ledger = self._ledger
        ledger.properties.note_new(self._indexed)
        ledger.lifetimes.note_new(kind, self.numbers, self._records)
        if len(self.numbers) < BATCH_ROWS and len(ledger.dirty_text) < BATCH_ROWS:
            ledger.dirty_text.update(number for number, _, _ in self._texts)
        else:
            text.index(ledger.connection, (_document(*row) for row in _paced(self._texts)))
        ledger.flush_entries()
        digests = [sha256(record).digest() for record in self._records]
        pairs = zip(self.numbers, digests, strict=True)
        ledger.append_leaves(
            [entry_leaf(kind, number, NO_RECORD, digest) for number, digest in pairs]
        )
        seqs = range(ledger.head.seq + 1, ledger.head.seq + 1 + len(self.numbers))
        ledger.write_many(
            "INSERT INTO journal VALUES (?, ?, ?, NULL, ?, NULL)",
            _paced(zip(seqs, repeat(int(kind)), self.numbers, self._records, strict=False)),
        )
        ledger.head.seq += len(self.numbers)
        ledger.changes[self._namespace].set_all(zip(self._keys, digests, strict=True))
        if not ledger.is_load and ledger.head.seq - ledger.first_seq >= LOAD_ROWS:
            ledger.is_load = True
            ledger.connection.keep_in_memory(LOAD_CACHE_KIB)


def _paced(rows: Iterable[T]) -> Iterable[T]:
    """The rows, with a check of the allowance every few rows."""
    return rows if allowance.current() is None else _watched(rows)


def _watched(rows: Iterable[T]) -> Iterator[T]:
    for at, row in enumerate(rows):
        if at % _WATCH_EVERY == 0:
            allowance.check()
        yield row


def _document(
    number: int, name: str | None, attributes: Mapping[str, Any]
) -> tuple[int, AnalysedText | None]:
    """The number of an element and its text for the index; a link has no name."""
    return number, link_document(attributes) if name is None else concept_document(name, attributes)
