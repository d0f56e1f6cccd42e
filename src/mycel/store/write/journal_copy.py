"""An exact copy of a graph, from the rows of its journal.

Each entry is applied unchanged, with the same numbers, times, actors and records. Trees and log
grow from the applied entries, so equal roots prove that the copy has everything that the source
has. Indexes are derived here instead of copied.

Elements and ends of links are named by number. The page lists the ends of links; each is checked
against the key in the record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from mycel.errors import DatabaseCorrupt, MycelError, Unsupported
from mycel.merkle.proofs import Namespace
from mycel.model import ids
from mycel.model.names import CONCEPT_TYPE, META_TYPES
from mycel.model.records import (
    RECORD_ID_BYTES,
    ConceptFields,
    EdgeFields,
    concept_key,
    decode_concept,
    decode_edge,
    link_key,
    record_hash,
)
from mycel.model.values import object_text, parse_object
from mycel.schema.model import Interface, index_slots
from mycel.schema.stored_declaration import PG, declaration
from mycel.store.backend.interface import Connection
from mycel.store.file.layout import (
    CONCEPT_TYPE_NUMBER,
    OPEN_END,
    PROPOSITION_TYPE_NUMBER,
)
from mycel.store.file.rows import Row, fetch_all, fetch_first, table_of
from mycel.store.index.properties import IndexedState
from mycel.store.index.slots import NO_ENDS
from mycel.store.log import marks
from mycel.store.log.journal import EntryRow, Head, Kind
from mycel.store.log.purge_entries import KnownPurges, PurgeFields
from mycel.store.log.registry import Registry
from mycel.store.log.topological import inside_out
from mycel.store.log.trees import StateTrees
from mycel.store.query.reader import Reader
from mycel.store.write.element_content import has_text
from mycel.store.write.ledger import Ledger

_NEW: Final = (Kind.PUT_CONCEPT, Kind.ADD_EDGE)
_INSERTED_TOGETHER: Final = 5_000
_DEFINITIONS: Final = (
    ("type", CONCEPT_TYPE_NUMBER, False),
    ("predicate", PROPOSITION_TYPE_NUMBER, True),
)


class CopiedPage(NamedTuple):
    """Rows of a journal, as `store.query.journal_page` reads them."""

    entries: Iterable[Row]
    transactions: Iterable[Row]
    ends: Mapping[int, tuple[int, int]]
    """The ends of links, by the entry that writes the link."""

    def last_purge(self) -> int:
        """The last purge that an entry of the page refers to; 0 for none."""
        return max((abs(row[-1]) for row in self.entries if row[-1] is not None), default=0)


def check_not_here(reader: Reader, purges: KnownPurges) -> None:
    """Check that a graph holds nothing that another copy has purged.

    Raises:
        Unsupported: the graph holds a purged element.
    """
    for element, fields in purges.by_element.items():
        _check_not_here(reader.connection, element, fields)


def _check_not_here(connection: Connection, number: int, fields: PurgeFields) -> None:
    if not number:
        return
    table = table_of(number)
    query = f"SELECT 1 FROM {table}_past WHERE id = ?"
    if fields.until is None:
        query += f" UNION ALL SELECT 1 FROM {table} WHERE id = ?1"
    else:
        query += f" AND to_seq <= {fields.until:d}"
    if fetch_first(connection, f"{query} LIMIT 1", (number,)) is not None:
        raise Unsupported(
            "The other copy has purged an element that this copy still has.",
            hint="Clone it again, into another file; then delete this one.",
        )


def copy_page(
    connection: Connection,
    registry: Registry,
    trees: StateTrees,
    page: CopiedPage,
    purges: KnownPurges,
) -> Head:
    """Apply whole transactions that follow the last one. Returns the head.

    `purges` are all purges after the present head, up to the last one that an entry of the page
    refers to.

    Raises:
        DatabaseCorrupt: the rows give other roots than those that they state.
        Unsupported: the other copy has purged an element that this copy still has.
    """
    try:
        copying = _Copying(connection, registry, trees, page, purges)
        return copying.run()
    except (IndexError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise DatabaseCorrupt(f"The journal cannot be read: {error!r}.") from error
    except MycelError as error:
        if isinstance(error, DatabaseCorrupt | Unsupported):
            raise
        raise DatabaseCorrupt(f"The journal cannot be applied: {error.message}") from error


class _Copying:
    """The state while one page is applied."""

    def __init__(
        self,
        connection: Connection,
        registry: Registry,
        trees: StateTrees,
        page: CopiedPage,
        purges: KnownPurges,
    ) -> None:
        self._connection = connection
        self._registry = registry
        self._trees = trees
        self._page = page
        is_empty = fetch_first(connection, "SELECT 1 FROM tx LIMIT 1") is None
        self._head = Head.before_genesis() if is_empty else Head.read(connection)
        self._purges = purges
        self._keys: dict[int, bytes] = {}
        """The present key of each element, as far as it is known."""
        self._former: dict[int, list[bytes]] = {}
        """The earlier keys of each element within the transaction."""
        self._holders: dict[bytes, int] = {}
        """The element that got a key within the transaction."""
        self._concepts: list[Row] = []
        self._links: list[Row] = []
        self._has_definitions = False
        self._ledger: Ledger

    def run(self) -> Head:
        """Apply all transactions of the page. Returns the head."""
        entries = iter(self._page.entries)
        for row in self._page.transactions:
            seq, first_seq, time_us, actor, message, concepts_root, edges_root = row
            if first_seq != self._head.seq + 1:
                raise DatabaseCorrupt(
                    f"The transaction that ends at {seq} does not follow {self._head.seq}."
                )
            self._ledger = Ledger(
                self._connection,
                self._registry,
                self._trees,
                self._head,
                actor=actor,
                message=message,
                now_us=time_us,
            )
            self._former, self._holders = {}, {}
            for _ in range(first_seq, seq):
                self._apply(next(entries))
            self._flush()
            self._ledger.close()
            head = self._head
            if (head.seq, head.time_us) != (seq, time_us) or [
                head.concepts_root,
                head.edges_root,
            ] != [concepts_root, edges_root]:
                raise DatabaseCorrupt(
                    f"The entries up to {seq} give other roots than the transaction states.",
                    data={"transaction": seq},
                )
            if self._has_definitions:
                self._define_indexes()
                self._has_definitions = False
        if next(entries, None) is not None:
            raise DatabaseCorrupt("The journal has entries without a transaction.")
        return self._head

    def _apply(self, row: Row) -> None:
        seq, kind, number, before, after, purged = row
        if seq != self._head.seq + 1:
            raise DatabaseCorrupt(f"The entry {seq} does not follow {self._head.seq}.")
        if kind == Kind.MARK:
            self._connection.make(marks.INDEX)
            self._ledger.append_apart(Kind.MARK, number, after)
        elif kind == Kind.PURGE:
            self._purge(seq, number, after)
        elif purged is not None and purged > 0:
            self._purged_entry(EntryRow(*row), self._purges.by_entry[purged])
        else:
            if purged is not None:
                self._leave_purged_key(seq, number, self._purges.by_entry[-purged])
            if ids.is_concept(number):
                self._concept(Kind(kind), number, before, after, purged)
            else:
                self._link(seq, Kind(kind), number, before, after, purged)

    # Purges.

    def _purge(self, seq: int, number: int, record: bytes) -> None:
        fields = PurgeFields.decode(record)
        _check_not_here(self._connection, number, fields)
        if fields.defines and fields.number is not None and fields.name is not None:
            self._know_name(fields.defines, fields.number, fields.name)
        self._ledger.append_apart(Kind.PURGE, number, record)
        if fields.until is None:
            self._changes(number).set(fields.key, None)

    def _purged_entry(self, row: EntryRow, fields: PurgeFields) -> None:
        """Apply an entry whose content is purged: the hashes and the key of its element remain."""
        number = row.element
        if fields.defines and fields.number is not None and fields.name is not None:
            self._know_name(fields.defines, fields.number, fields.name)
        key = self._leave_purged_key(row.seq, number, fields)
        self._know(number, key)
        self._changes(number).set(key, row.after)
        self._journal_purged(row)

    def _leave_purged_key(self, seq: int, number: int, fields: PurgeFields) -> bytes:
        """Remove the leaf of a key that ends with an entry. Returns the key after the entry."""
        key, key_before = fields.keys_at(seq)
        if key != key_before:
            self._leave(number, key_before)
        return key

    def _journal_purged(self, row: EntryRow) -> None:
        """Append an entry that has hashes in place of records."""
        self._flush()
        ledger = self._ledger
        ledger.flush_entries()
        ledger.append_leaves([row.leaf()])
        ledger.write("INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?)", row)
        ledger.head.seq = row.seq
        self._count(row.element)

    # Elements.

    def _concept(
        self, kind: Kind, number: int, before: Any, after: bytes, purged: int | None
    ) -> None:
        fields = decode_concept(after)
        key = concept_key(fields.type, fields.name)
        if kind == Kind.MOVE_CONCEPT and purged is None:
            former = decode_concept(before)
            self._leave(number, concept_key(former.type, former.name))
        if fields.number is not None:
            table = "type" if fields.type == CONCEPT_TYPE else "predicate"
            self._know_name(table, fields.number, fields.name)
        type_number = self._registry.types.known_number(self._connection, fields.type)
        attributes = object_text(fields.attributes, "attributes")
        content = (type_number, fields.name, attributes, object_text(fields.metadata, "metadata"))
        seq = self._journal(kind, number, before, after, purged, ("concepts", key))
        if fields.type in META_TYPES:
            self._has_definitions = True
            self._head.definitions = seq
            self._registry.definitions = -1
        state = None if fields.tombstone is not None else (type_number, attributes, NO_ENDS)
        self._store("concept", seq, number, content, fields, is_new=before is None)
        former_fields = None if before is None or purged is not None else decode_concept(before)
        self._note_text(number, former_fields, fields)
        self._index(number, before, state)

    def _link(
        self, seq: int, kind: Kind, number: int, before: Any, after: bytes, purged: int | None
    ) -> None:
        fields = decode_edge(after)
        ends = self._page.ends[seq]
        if kind == Kind.RELINK_EDGE and purged is None:
            self._leave(number, self._former_link_key(number))
        predicate = self._registry.predicates.name(self._connection, fields.type)
        source, target = (
            self._key_with(end, prefix)
            for end, prefix in zip(ends, (fields.src, fields.dst), strict=True)
        )
        key = link_key(source, predicate, target)
        attributes = object_text(fields.attributes, "attributes")
        metadata = object_text(fields.metadata, "metadata")
        content = (ends[0], fields.type, ends[1], fields.weight, attributes, metadata)
        at = self._journal(kind, number, before, after, purged, ("edges", key))
        self._store("proposition", at, number, content, fields, is_new=before is None)
        state = None if fields.tombstone is not None else (fields.type, attributes, ends)
        self._ledger.note_ends(fields.type, *ends)
        former = None if before is None or purged is not None else decode_edge(before)
        self._note_text(number, former, fields)
        self._index(number, before, state)

    def _note_text(
        self,
        number: int,
        before: ConceptFields | EdgeFields | None,
        after: ConceptFields | EdgeFields,
    ) -> None:
        """Note an element whose text has to be indexed again."""
        was_live = before is not None and before.tombstone is None
        if not was_live:
            attributes = object_text(after.attributes, "attributes")
            is_changed = after.tombstone is None and (
                isinstance(after, ConceptFields) or has_text(attributes)
            )
        elif after.tombstone is not None:
            is_changed = True
        else:
            names = [getattr(fields, "name", "") for fields in (before, after)]
            is_changed = names[0] != names[1] or (
                before is not None and before.attributes != after.attributes
            )
        if is_changed:
            self._ledger.dirty_text.add(number)

    def _journal(
        self,
        kind: Kind,
        number: int,
        before: Any,
        after: bytes,
        purged: int | None,
        place: tuple[Namespace, bytes],
    ) -> int:
        namespace, key = place
        self._know(number, key)
        if purged is None:
            self._count(number)
            return self._ledger.append(kind, number, before, after, namespace, key)
        # The record before the entry was purged.
        row = EntryRow(self._head.seq + 1, int(kind), number, before, after, purged)
        self._changes(number).set(key, record_hash(after))
        self._journal_purged(row)
        return self._head.seq

    def _store(
        self,
        table: str,
        seq: int,
        number: int,
        content: Row,
        fields: ConceptFields | EdgeFields,
        *,
        is_new: bool,
    ) -> None:
        """Move the version before to the table of the past, and write this one in its place."""
        row: Row = (
            number,
            *content,
            fields.version,
            seq,
            fields.created_us,
            self._actor(fields.created_by),
            fields.updated_us,
        )
        grave = fields.tombstone
        if is_new and grave is None:
            rows = self._concepts if table == "concept" else self._links
            rows.append(row)
            if len(rows) == _INSERTED_TOGETHER:
                self._flush()
            return
        self._flush()
        write = self._ledger.write
        write(
            f"UPDATE {table}_past SET to_seq = ? WHERE id = ? AND to_seq = {OPEN_END}",
            (seq, number),
        )
        write(
            f"INSERT INTO {table}_past SELECT *, ?2, NULL, NULL, NULL FROM {table} WHERE id = ?1",
            (number, seq),
        )
        write(f"DELETE FROM {table} WHERE id = ?", (number,))
        if grave is not None:
            table += "_past"
            row += (OPEN_END, grave.at_us, self._actor(grave.by), grave.reason)
        write(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        self._ledger.memory.forget_element(number)

    def _flush(self) -> None:
        """Insert the collected rows of new elements."""
        for table, rows in (("concept", self._concepts), ("proposition", self._links)):
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                self._ledger.write_many(f"INSERT INTO {table} VALUES ({marks})", rows)
                rows.clear()

    def _index(self, number: int, before: Any, state: IndexedState | None) -> None:
        """Note the change of an element for the index of properties."""
        properties = self._ledger.properties
        if not (properties.of_types or properties.of_predicates):
            return
        properties.note(number, None if before is None else self._indexed(number), state)

    def _indexed(self, number: int) -> IndexedState | None:
        """The indexed state of an element before the entry: that of the version that just ended."""
        table = "concept" if ids.is_concept(number) else "proposition"
        owner = "type" if ids.is_concept(number) else "predicate"
        ends = "0, 0" if ids.is_concept(number) else "subject, object"
        row = fetch_first(
            self._connection,
            f"SELECT {owner}, attributes, {ends} FROM {table}_past WHERE id = ? AND to_seq = ?"
            " AND tombstoned_at IS NULL",
            (number, self._head.seq),
        )
        if row is None:
            return None
        owner_number, attributes, *ends_of_link = row
        return owner_number, attributes, NO_ENDS if ids.is_concept(number) else tuple(ends_of_link)

    # Keys.

    def _changes(self, number: int) -> Any:
        return self._ledger.changes["concepts" if ids.is_concept(number) else "edges"]

    def _know(self, number: int, key: bytes) -> None:
        former_key = self._keys.get(number)
        if former_key is not None and former_key != key:
            self._former.setdefault(number, []).append(former_key)
        self._keys[number] = key
        self._holders[key] = number
        self._ledger.memory.remember(number, key)

    def _key(self, number: int) -> bytes:
        if number not in self._keys:
            self._flush()
            for element in inside_out(number, self._unknown_ends):
                self._keys[element] = self._stored_key(element, self._key)
        return self._keys[number]

    def _unknown_ends(self, number: int) -> list[int]:
        """The ends of a link that are links with unknown keys."""
        row = None if ids.is_concept(number) else self._stored(number)
        ends = () if row is None else (row[0], row[2])
        return [end for end in ends if not ids.is_concept(end) and end not in self._keys]

    def _stored(self, number: int) -> Row | None:
        """Type and name of a concept, or subject, predicate and object of a link."""
        table = table_of(number)
        columns = "type, name" if ids.is_concept(number) else "subject, predicate, object"
        return fetch_first(
            self._connection,
            f"SELECT {columns} FROM {table} WHERE id = ?1 UNION ALL"
            f" SELECT {columns} FROM {table}_past WHERE id = ?1 AND to_seq = {OPEN_END}",
            (number,),
        )

    def _stored_key(self, number: int, key_of: Callable[[int], bytes]) -> bytes:
        """The key of an element, from its row; if it was purged, from the record of the purge."""
        row = self._stored(number)
        if row is None:
            fields = self._purges.by_element.get(number)
            if fields is None:
                raise DatabaseCorrupt(f"There is no element {number}.")
            return fields.keys_at(self._head.seq)[0]
        registry = self._registry
        if ids.is_concept(number):
            return concept_key(registry.types.name(self._connection, row[0]), row[1])
        predicate = registry.predicates.name(self._connection, row[1])
        return link_key(key_of(row[0]), predicate, key_of(row[2]))

    def _key_with(self, number: int, prefix: bytes) -> bytes:
        """The key of an end, which has to begin with the bytes in the record."""
        key = self._key(number)
        if key[:RECORD_ID_BYTES] != prefix:
            raise DatabaseCorrupt(f"A link does not lead to the element {number}.")
        return key

    def _former_link_key(self, number: int) -> bytes:
        """The key of a link before this transaction gave it another one."""
        cached_key = self._keys.get(number)
        if cached_key is not None:
            return cached_key
        self._flush()
        return self._stored_key(number, self._first_key)

    def _first_key(self, number: int) -> bytes:
        """The key that an element had before this transaction."""
        former = self._former.get(number)
        if former:
            return former[0]
        return self._key(number) if ids.is_concept(number) else self._former_link_key(number)

    def _leave(self, number: int, key: bytes) -> None:
        """Remove the leaf of an element's old key, unless another element has the key now."""
        if number not in self._keys:
            self._keys[number] = key
        if self._holders.get(key, number) == number:
            self._changes(number).set(key, None)

    # Names and numbers.

    def _know_name(self, table: str, number: int, name: str) -> None:
        names = self._registry.types if table == "type" else self._registry.predicates
        if names.number(self._connection, name) == number:
            return
        self._ledger.write(f"INSERT INTO {table} VALUES (?, ?)", (number, name))
        names.know(number, name)

    def _actor(self, name: str) -> int:
        return self._registry.add(self._connection, self._registry.actors, name)

    def _count(self, number: int) -> None:
        """Keep the next free number above this one: each number is given to one element only."""
        if ids.is_concept(number):
            self._head.next_concept = max(self._head.next_concept, number + ids.ID_STEP)
        else:
            self._head.next_proposition = max(self._head.next_proposition, number + ids.ID_STEP)

    def _define_indexes(self) -> None:
        """Define the indexes that the declarations of types and predicates ask for."""
        ledger = Ledger(
            self._connection,
            self._registry,
            self._trees,
            self._head,
            actor="$system",
            message="",
            now_us=self._head.time_us,
        )
        for table, meta, link in _DEFINITIONS:
            rows = fetch_all(
                self._connection,
                f"SELECT n.id, c.attributes FROM concept c JOIN {table} n ON n.name = c.name"
                " WHERE c.type = ?",
                (meta,),
            )
            for number, attributes in rows:
                if f'"{PG}":' not in attributes:
                    continue
                schema_type = declaration(parse_object(attributes))
                if schema_type is not None and not isinstance(schema_type, Interface):
                    slots = list(index_slots(schema_type).items())
                    ledger.properties.define(number, link=link, indexes=slots)
        ledger.properties.flush()
