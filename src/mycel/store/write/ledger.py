"""The bookkeeping that the primitives share: journal, past versions, keys, closing.

A `Ledger` is the bookkeeping of one transaction on the writer's connection. The primitives in
`transaction` and `bulk` decide what changes; the ledger journals every change, keeps the version
before it, and passes it on to state trees and indexes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from mycel.errors import VersionConflict
from mycel.merkle import log
from mycel.merkle.proofs import Namespace
from mycel.model import allowance, ids
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.limits import INTEGER_MAX, MESSAGE_BYTES_MAX, TRANSACTION_SAVED_ELEMENTS_MAX
from mycel.model.names import check_actor, check_text
from mycel.model.records import Recorder, concept_key, link_key, record_hash
from mycel.store.backend.interface import Connection
from mycel.store.file.layout import (
    CONCEPT_COLUMNS,
    OPEN_END,
    PROPOSITION_COLUMNS,
)
from mycel.store.file.rows import Row, fetch_all, fetch_first
from mycel.store.index import link_ends, text
from mycel.store.index.lifetimes import Lifetimes
from mycel.store.index.properties import IndexedState, Properties
from mycel.store.index.slots import NO_ENDS
from mycel.store.index.write_cache import WriteCache
from mycel.store.log.journal import Head, Kind, entry_leaf, hash_of, tx_bytes
from mycel.store.log.registry import NameTable, Registry, undefined
from mycel.store.log.topological import inside_out
from mycel.store.log.trees import NAMESPACES, StateTrees, TreeChanges
from mycel.store.query.reader import Reader
from mycel.store.query.refs import Ref, is_natural, missing, resolve
from mycel.store.write.change_summary import summary

_ENTRIES_HELD_MAX: Final = 1000
_CHECK_EVERY: Final = 16
"""The number of entries between two checks of the deadline; an entry can have a megabyte."""

_FIND_CONCEPT: Final = (
    "SELECT id, attributes, metadata, version, 0 FROM concept WHERE name = ?1 AND type = ?2"
    " UNION ALL SELECT id, '', '', 0, from_seq FROM concept_past"
    f" WHERE name = ?1 AND type = ?2 AND to_seq = {OPEN_END}"
)
"""A query for the row of a concept: the live one, or its tombstone in force with its entry."""

_FIND_LINK: Final = (
    "SELECT id, attributes, metadata, version, 0 FROM proposition"
    " WHERE subject = ?1 AND predicate = ?2 AND object = ?3"
    " UNION ALL SELECT id, '', '', 0, from_seq FROM proposition_past"
    f" WHERE subject = ?1 AND predicate = ?2 AND object = ?3 AND to_seq = {OPEN_END}"
)
"""A query for the row of a link: the live one, or its tombstone in force with its entry."""


class ElementRow(NamedTuple):
    """The row of an element found by its key: its live version, or its tombstone in force."""

    number: int
    attributes: str
    metadata: str
    version: int
    removal_seq: int
    """The entry that set the tombstone; 0 for a live version."""

    @property
    def is_tombstone(self) -> bool:
        return self.removal_seq > 0


_COLUMNS: Final = {"concept": CONCEPT_COLUMNS, "proposition": PROPOSITION_COLUMNS}
_SUPERSEDE: Final = {
    table: (
        f"INSERT INTO {table}_past SELECT {columns.format(seq='seq')}, ?2, NULL, NULL, NULL"
        f" FROM {table} WHERE id = ?1"
    )
    for table, columns in _COLUMNS.items()
}
_ENTOMB: Final = {
    table: (
        f"INSERT INTO {table}_past SELECT {columns.format(seq='?2')}, {OPEN_END}, ?3, ?4, ?5"
        f" FROM {table} WHERE id = ?1"
    )
    for table, columns in _COLUMNS.items()
}


class Ledger:
    """The bookkeeping of one transaction: its journal entries, past versions and keys."""

    def __init__(
        self,
        connection: Connection,
        registry: Registry,
        trees: StateTrees,
        head: Head,
        *,
        actor: str,
        message: str,
        now_us: int,
        memory: WriteCache | None = None,
    ) -> None:
        self.connection: Final = connection
        self.registry: Final = registry
        self._actor_number = registry.actors.numbers.get(actor) if actor.__class__ is str else None
        # The name of a known actor was checked when the actor was added.
        self.actor: Final = check_actor(actor) if self._actor_number is None else actor
        self._is_new_actor = False
        self.message: Final = (
            "" if message == "" else check_text(message, "message", MESSAGE_BYTES_MAX)
        )
        self.write: Final = connection.execute
        self.write_many: Final = connection.executemany
        self.row: Final = partial(fetch_first, connection)
        """A function that returns the first row of a query, or None."""
        self._reader: Reader | None = None
        self.head: Final = head
        self.time_us: Final = max(now_us, head.time_us)
        self.first_seq: Final = head.seq + 1
        self._first_new = head.next_concept, head.next_proposition
        self._links_on_new: Final[set[tuple[int, int, int]]] = set()
        """The links that were put on elements which this transaction created."""
        self.recorder: Final = Recorder(self.time_us, self.actor)
        """Makes the keys and records of new elements and versions."""
        self.changes: Final = {name: TreeChanges() for name in NAMESPACES}
        self.dirty_text: Final[set[int]] = set()
        """Elements whose text is to be indexed again."""
        self.is_load = False
        """True if the page cache was enlarged for this transaction."""
        self._trees = trees
        self.memory: Final = WriteCache() if memory is None else memory
        """A cache of live elements, also of earlier transactions."""
        self._properties: Properties | None = None
        self.lifetimes: Final = Lifetimes(connection, self.memory, self.first_seq)
        """The tables of lifetimes and of hidden elements."""
        self._entries: list[tuple[int, int, int, bytes | None, bytes]] = []
        self._records: dict[int, bytes] = {}
        """Records by the entry that wrote them, read in advance by `foresee`."""
        self._leaves: list[bytes] = []
        """The leaves of entries that are not written yet."""

    @property
    def properties(self) -> Properties:
        """The index of properties."""
        properties = self._properties
        if properties is None:
            properties = self._properties = Properties(self.connection, self.memory)
        return properties

    @property
    def reader(self) -> Reader:
        """A reader that sees what the transaction has written."""
        reader = self._reader
        if reader is None:
            reader = self._reader = Reader(self.connection, self.registry)
            reader.is_writer = True
            reader.limit()
            reader.settle = self._flush_indexes
        return reader

    def _flush_indexes(self) -> None:
        """Write the pending rows of indexes that a query may read."""
        self.properties.flush()
        self.lifetimes.settle()

    @property
    def actor_number(self) -> int:
        """The number of the actor, who is added to the table with the first change."""
        number = self._actor_number
        if number is None:
            actors = self.registry.actors
            self._is_new_actor = actors.number(self.connection, self.actor) is None
            number = self._actor_number = self.registry.add(self.connection, actors, self.actor)
        return number

    def forget_actor(self) -> None:
        """Remove the row of a new actor whose transaction changed nothing."""
        if self._is_new_actor:
            self.write("DELETE FROM actor WHERE id = ?", (self._actor_number,))
            self.registry.reset()

    @property
    def is_empty(self) -> bool:
        """True if nothing has changed so far."""
        return self.head.seq < self.first_seq

    # Definitions.

    def defined_number(self, names: NameTable, name: object) -> int:
        """The number of a type or predicate that may be used in a write.

        Raises:
            TypeMismatch: the name is not defined, or its definition was removed.
        """
        number = self.defined(names).get(name) if isinstance(name, str) else None
        if number is None:
            names.load(self.connection)
            raise undefined(name, names)
        return number

    def defined(self, names: NameTable) -> dict[str, int]:
        """The types or predicates that may be used, and their numbers."""
        registry, definitions = self.registry, self.head.definitions
        if registry.definitions != definitions:
            registry.read_definitions(self.connection, definitions)
        return names.defined

    def define(self, type_number: int, name: str) -> int | None:
        """Give a type or predicate its number, just before the entry of its definition."""
        names = self.registry.defined_by(type_number)
        if names is None:
            return None
        number = self.registry.add(self.connection, names, name)
        self.defined(names)[name] = number
        self.head.definitions = self.registry.definitions = self.head.seq + 1
        return number

    def number_defined_by(self, concept: Concept) -> int | None:
        """The number of the type or predicate that a concept defines; None if it defines none."""
        names = self.registry.defined_by(self.reader.type_number(concept.type))
        return None if names is None else names.number(self.connection, concept.name)

    # Natural keys.

    def live_key(self, number: int) -> bytes:
        """The natural key of a live element; the key of a link ends with its place.

        Raises:
            NotFound: the element is not live.
        """
        key = self.find_key(number)
        if key is None:
            raise missing(ids.concept_id(number) if ids.is_concept(number) else f"P:{number}")
        return key

    def find_key(self, number: int) -> bytes | None:
        """The natural key of an element, or None if the element is not live."""
        key = self.memory.keys.get(number)
        if key is not None:
            return key
        if ids.is_concept(number):
            row = self.row("SELECT type, name FROM concept WHERE id = ?", (number,))
            if row is None:
                return None
            key = concept_key(self.registry.types.name(self.connection, row[0]), row[1])
            self.memory.remember(number, key)
            return key
        row = self._link(number)
        return None if row is None else self._find_link_key(number, row)

    def _link(self, number: int) -> Row | None:
        query = "SELECT subject, predicate, object FROM proposition WHERE id = ?"
        return self.row(query, (number,))

    def _find_link_key(self, number: int, row: Row) -> bytes:
        rows = {number: row}

        def needs(link: int) -> list[int]:
            if link not in rows:
                link_row = self._link(link)
                if link_row is None:
                    raise missing(f"P:{link}")
                rows[link] = link_row
            subject, _, object_ = rows[link]
            cached_keys = self.memory.keys
            return [e for e in (subject, object_) if not (ids.is_concept(e) or e in cached_keys)]

        keys: dict[int, bytes] = {}  # The cache may drop keys on the way.
        for link in inside_out(number, needs):
            subject, predicate, object_ = rows[link]
            source, target = (keys.get(end) or self.live_key(end) for end in (subject, object_))
            name = self.registry.predicates.name(self.connection, predicate)
            keys[link] = link_key(source, name, target)
            self.memory.remember(link, keys[link])
        return keys[number]

    def end(self, ref: Ref) -> tuple[int, bytes]:
        """The number and the natural key of an element that is to be an end of a link.

        Raises:
            InvalidId, NotFound: the value is no id, or the element is not live.
        """
        if is_natural(ref):
            ref = self.reader.outer_id(self.reader.number(ref))
        cached_end = self.memory.ends.get(ref) if isinstance(ref, str) else None
        if cached_end is None:
            number = resolve(ref)
            key = self.find_key(number)
            if key is None:
                raise missing(ref)
            cached_end = number, key
            if isinstance(ref, str):
                if not ids.is_concept(number) and self.reader.outer_id(number) != ref:
                    raise missing(ref)  # The id has one link's number and another's predicate.
                self.memory.remember_end(ref, number, key)
        return cached_end

    # Links.

    def find_concept(self, name: str, type_number: int) -> ElementRow | None:
        """The row of the concept with this type and name, live or removed."""
        row = self.row(_FIND_CONCEPT, (name, type_number))
        return None if row is None else ElementRow(*row)

    def find_link(self, place: tuple[int, int, int]) -> ElementRow | None:
        """The row of the link with this subject, predicate and object, live or removed."""
        if place not in self._links_on_new and self._is_new(place[0], place[2]):
            return None
        row = self.row(_FIND_LINK, place)
        return None if row is None else ElementRow(*row)

    def note_ends(self, predicate: int, subject: int, object_: int) -> None:
        """Note a new link: its key if an end is new, and its predicate if an end is a link."""
        if self._is_new(subject, object_):
            self._links_on_new.add((subject, predicate, object_))
            if len(self._links_on_new) >= TRANSACTION_SAVED_ELEMENTS_MAX:
                self.look_up_links()
        if (subject | object_) & 1:
            link_ends.note(self.connection, self.memory, predicate, subject, object_)

    def _is_new(self, *elements: int) -> bool:
        """True if one of the elements is new in this transaction, so no earlier link is on it."""
        return any(element >= self._first_new[element & 1] for element in elements)

    def look_up_links(self) -> None:
        """From now on, look up the links of new elements too: they are too many to remember."""
        self._first_new = INTEGER_MAX, INTEGER_MAX
        self._links_on_new.clear()

    # The journal.

    def append(
        self,
        kind: Kind,
        number: int,
        before: bytes | None,
        after: bytes,
        namespace: Namespace,
        key: bytes,
    ) -> int:
        """Append an entry, and note what it changes in the state tree. Returns its number."""
        after_hash = record_hash(after)
        self.changes[namespace].set(key, after_hash)
        self.lifetimes.note(kind, number, before, after)
        head, entries = self.head, self._entries
        head.seq = seq = head.seq + 1
        entries.append((seq, kind, number, before, after))
        self._leaves.append(entry_leaf(kind, number, hash_of(before), after_hash))
        if len(entries) >= _ENTRIES_HELD_MAX:
            self.flush_entries()
        elif not seq % _CHECK_EVERY:
            allowance.check()
        return seq

    def append_apart(self, kind: Kind, number: int, record: bytes) -> int:
        """Append an entry that changes nothing in the state trees. Returns its number."""
        self.head.seq = seq = self.head.seq + 1
        self._entries.append((seq, kind, number, None, record))
        self._leaves.append(entry_leaf(kind, number, hash_of(None), record_hash(record)))
        return seq

    def flush_entries(self) -> None:
        """Write the entries that are held back. Written together, they take a third of the time."""
        if self._leaves:
            self.append_leaves(self._leaves)
            self.write_many("INSERT INTO journal VALUES (?, ?, ?, ?, ?, NULL)", self._entries)
            self._leaves.clear()
            self._entries.clear()
        self.memory.bound()
        allowance.check()  # A long write stops here at its deadline, and is rolled back.

    def record_at(self, seq: int) -> bytes | None:
        """The record that the entry `seq` wrote."""
        if (foreseen := self._records.pop(seq, None)) is not None:
            return foreseen
        entries = self._entries
        if entries and seq >= entries[0][0]:
            return entries[seq - entries[0][0]][4]
        return self.reader.record_at(seq)

    def foresee(self, elements: Iterable[Element]) -> None:
        """Read in advance the records of elements that will change, and the keys of their ends.

        Without this, each needs look-ups of its own. The next call drops the records of this one.
        """
        batch = list(elements)
        self._records = self.reader.records_at([element.seq for element in batch])
        links = [element for element in batch if isinstance(element, Proposition)]
        ends = {end for link in links for end in (link.subject, link.object)}
        unknown = [ids.parse_id(end) for end in ends if end not in self.memory.ends]
        for number, element in self.reader.elements(unknown).items():
            if isinstance(element, Concept):
                key = concept_key(element.type, element.name)
                self.memory.remember(number, key)
                self.memory.remember_end(element.id, number, key)

    def append_leaves(self, leaves: Sequence[bytes]) -> None:
        """Append leaves to the Merkle log."""
        nodes = self.head.frontier.extend(leaves)
        if nodes:
            self.write_many("INSERT INTO log_node VALUES (?, ?, ?)", nodes)

    # The past.

    def supersede(self, table: str, number: int, seq: int) -> None:
        """Copy a live row to the table of the past; its range ends at the entry `seq`."""
        self.write(_SUPERSEDE[table], (number, seq))

    def entomb(self, kind: Kind, element: Element, record: bytes, key: bytes, reason: str) -> None:
        """Move a live row to the table of the past, and add a tombstone that is in force."""
        concept = isinstance(element, Concept)
        table = "concept" if concept else "proposition"
        namespace: Namespace = "concepts" if concept else "edges"
        number = element.number
        before = self.record_at(element.seq)
        seq = self.append(kind, number, before, record, namespace, key)
        self.supersede(table, number, seq)
        self.write(_ENTOMB[table], (number, seq, self.time_us, self.actor_number, reason))
        self.write_over(element, f"DELETE FROM {table} WHERE id = ? AND seq = ?")
        self.properties.note(number, self.state_of(element), None)
        self.memory.forget_element(number)
        self.dirty_text.add(number)

    def write_over(self, element: Element, statement: str, values: tuple[Any, ...] = ()) -> None:
        """Change or delete the row of an element, if it is still the version that was read.

        The statement ends with `WHERE id = ? AND seq = ?`; `values` are for the marks before that.

        Raises:
            VersionConflict: the element has changed or been removed.
        """
        self.write(statement, (*values, element.number, element.seq))
        if self.connection.changes() != 1:
            raise VersionConflict(
                f"{element.id} has changed or been removed since it was read.",
                hint="Read it again, and retry. If a guard has changed it: a guard must not"
                " write to the element of the change that it checks, nor to elements that are"
                " removed with it.",
            )

    def end_tombstone(self, table: str, number: int, seq: int) -> None:
        """End the range of an element's tombstone at the entry `seq`: the element is live again."""
        self.write(
            f"UPDATE {table}_past SET to_seq = ? WHERE id = ? AND to_seq = {OPEN_END}",
            (seq, number),
        )

    def state_of(self, element: Element) -> IndexedState:
        """The state of an element as the index of properties takes it."""
        if isinstance(element, Concept):
            owner = self.reader.type_number(element.type)
            return owner, element.attributes_json, NO_ENDS
        return element.type, element.attributes_json, element.ends

    # Closing.

    def close(self) -> None:
        """Bring trees and text index up to date, and append the row that closes the transaction."""
        if self._properties is not None:
            self._properties.flush()
        self.lifetimes.settle()
        head = self.head
        since = self.first_seq - 1
        head.seq += 1
        head.time_us = self.time_us
        message = self.message or self._summary()
        changes, texts = self._trees.apply(head, since, self.changes), b""
        if head.folded_seq == head.seq:
            text.fold(self.connection, self.dirty_text)
        else:
            texts = text.pack(self.dirty_text)
        entry = tx_bytes(
            self.first_seq,
            self.time_us,
            self.actor,
            message,
            head.concepts_root,
            head.edges_root,
        )
        self._leaves.append(log.leaf_hash(entry))
        self.flush_entries()
        transaction = self.first_seq, self.actor_number, message
        head.append(self.connection, transaction, changes, texts)

    def _summary(self) -> str:
        """The message for a transaction without one: a count of its changes."""
        count = self.head.seq - self.first_seq
        if count > _ENTRIES_HELD_MAX:
            return f"{count} changes"
        entries = self._entries
        if count > len(entries):  # A bulk put wrote some entries directly.
            self.flush_entries()
            query = (
                "SELECT seq, kind, element, before, after FROM journal"
                " WHERE seq >= ? AND purged IS NULL"  # A purged entry has only hashes.
                " ORDER BY seq"
            )
            entries = fetch_all(self.connection, query, (self.first_seq,))
        return summary(self.connection, self.registry, entries)
