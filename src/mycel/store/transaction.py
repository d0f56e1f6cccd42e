"""The primitives of every change, and what happens when a transaction ends.

A `Transaction` works on the writer's connection inside an open SQLite transaction. Each primitive
looks at the element as it is, decides what it becomes, and does nothing at all if that is the same.
Otherwise it writes the live row, moves the old one to the past, appends a journal entry and notes
what the state tree and the text index must learn. `finish` brings those up to date and closes the
range with the transaction's own row.

Nothing here commits: that is the writer's business.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, Protocol

import apsw

from mycel.errors import (
    ConstraintViolation,
    ImmutableTarget,
    NotFound,
    SelfEdgeError,
    VersionConflict,
)
from mycel.merkle import log
from mycel.merkle.proofs import Namespace
from mycel.model import ids
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.limits import (
    MESSAGE_BYTES_MAX,
    REASON_BYTES_MAX,
    TRANSACTION_SAVED_ELEMENTS_MAX,
)
from mycel.model.names import (
    CONCEPT_TYPE,
    PROPOSITION_TYPE,
    check_actor,
    check_identifier,
    check_name,
    check_text,
)
from mycel.model.records import (
    Tombstone,
    canonical_weight,
    concept_key,
    concept_record,
    edge_record,
    proposition_key,
    record_hash,
)
from mycel.model.values import JsonObject, check_metadata_keys, object_text, parse_object
from mycel.store import text
from mycel.store.journal import Head, Kind, entry_leaf, hash_of, tx_bytes
from mycel.store.layout import CONCEPT_TYPE_NUMBER, OPEN_END, PROPOSITION_TYPE_NUMBER
from mycel.store.reader import Reader
from mycel.store.registry import Names, Registry, undefined
from mycel.store.trees import Changes, StateTrees

DEFAULT_WEIGHT: Final = 1.0

Ref = str | Concept | Proposition
"""How a caller names an element: by its id, or by the element itself."""


class Change(NamedTuple):
    """What a primitive is about to write; guards see it first."""

    kind: Literal["create", "update", "retire"]
    before: Element | None
    type_or_predicate: str
    name_or_ends: str | tuple[str, str]
    attributes: JsonObject
    metadata: JsonObject


class Guard(Protocol):
    """A rule on every write, whatever door it came through: schema, protection, constraints."""

    def check(self, tx: Transaction, change: Change) -> None:
        """Raise to refuse a change before it is written."""

    def check_commit(self, tx: Transaction) -> None:
        """Raise to refuse the transaction as a whole, just before it is closed."""


class Retired(NamedTuple):
    """How much a removal took with it."""

    concepts: int
    propositions: int


class Transaction:
    """One atomic change of the graph: all of it, or nothing."""

    def __init__(
        self,
        connection: apsw.Connection,
        registry: Registry,
        trees: StateTrees,
        *,
        actor: str,
        message: str,
        now_us: int,
        guards: Sequence[Guard] = (),
    ) -> None:
        self.actor: Final = check_actor(actor)
        self.message: Final = check_text(message, "message", MESSAGE_BYTES_MAX)
        self.connection: Final = connection
        self.registry: Final = registry
        self.reader: Final = Reader(connection, registry)
        self.guards: Final = guards
        self.head: Final = Head.read(connection)
        self.time_us: Final = max(now_us, self.head.time_us)
        self.first_seq: Final = self.head.seq + 1
        self.changes: Final[dict[Namespace, Changes]] = {"concepts": Changes(), "edges": Changes()}
        self.retext: Final[set[int]] = set()
        self._trees = trees
        self._keys: dict[int, bytes] = {}

    @cached_property
    def actor_number(self) -> int:
        """The actor's number; an actor who changes nothing gets none."""
        return self.registry.add(self.connection, self.registry.actors, self.actor)

    # Reading inside the transaction sees what it has written.

    def get(self, ref: Ref) -> Element:
        """The live element with this id.

        Raises:
            NotFound: there is none.
        """
        number = resolve(ref)
        found: Element | None = (
            self.reader.concept(number)
            if ids.is_concept(number)
            else self.reader.proposition(number)
        )
        if found is None:
            raise missing(ref)
        return found

    def get_concept(self, type_name: str, name: str) -> Concept | None:
        """The live concept with this type and name, or None."""
        number = self.registry.type_number(self.connection, type_name)
        return self.reader.concept_named(number, name)

    def get_edge(self, subject: Ref, predicate: str, object_: Ref) -> Proposition | None:
        """The live link, or None."""
        number = self.registry.predicate_number(self.connection, predicate)
        return self.reader.link(resolve(subject), number, resolve(object_))

    # Definitions.

    def define_type(
        self, name: str, attributes: Mapping[str, Any] | None = None, **metadata: Any
    ) -> str:
        """Define a concept type: a concept of type `$ConceptType`."""
        return self.put_concept(CONCEPT_TYPE, name, attributes, metadata)

    def define_predicate(
        self, name: str, attributes: Mapping[str, Any] | None = None, **metadata: Any
    ) -> str:
        """Define a predicate: a concept of type `$PropositionType`. It gets a number for good."""
        return self.put_concept(PROPOSITION_TYPE, name, attributes, metadata)

    def define_meta_types(self) -> None:
        """Write the definitions of the two meta-types, before which nothing is defined."""
        for name in (CONCEPT_TYPE, PROPOSITION_TYPE):
            self._create_concept(CONCEPT_TYPE_NUMBER, CONCEPT_TYPE, name, None, None)

    # Concepts.

    def put_concept(
        self,
        type_name: str,
        name: str,
        attributes: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        *,
        expect_version: int | None = None,
    ) -> str:
        """Create a concept, or merge keys into the one that has this type and name.

        Keys that are given replace those there; others stay. Returns the id.

        Raises:
            TypeMismatch: the type is not defined.
            VersionConflict: the version differs from `expect_version` (0: must not exist).
        """
        type_number = self.defined_number(self.registry.types, "type", type_name)
        check_name(name)
        row = self.connection.execute(
            "SELECT id, attributes, metadata, version FROM concept WHERE name = ? AND type = ?",
            (name, type_number),
        ).fetchone()
        expect(expect_version, row[3] if row else 0, f"the {type_name} {name!r}")
        if row is None:
            return self._create_concept(type_number, type_name, name, attributes, metadata)
        number, old_attributes, old_metadata, _ = row
        self._change_concept(
            number,
            merged(old_attributes, attributes, (), "attributes"),
            merged(old_metadata, metadata, (), "metadata"),
        )
        return ids.concept_id(number)

    def _create_concept(
        self,
        type_number: int,
        type_name: str,
        name: str,
        attributes: Mapping[str, Any] | None,
        metadata: Mapping[str, Any] | None,
    ) -> str:
        attributes_text = object_text(attributes or {}, "attributes")
        metadata_text = metadata_object_text(metadata or {})
        if type_number in (CONCEPT_TYPE_NUMBER, PROPOSITION_TYPE_NUMBER):
            check_identifier(name, "type or predicate")
        if self.guards:
            self._guard("create", None, type_name, name, attributes_text, metadata_text)
        defines = self._define(type_number, name)
        tombstone = self.connection.execute(
            f"SELECT id, from_seq FROM concept_past"
            f" WHERE name = ? AND type = ? AND to_seq = {OPEN_END}",
            (name, type_number),
        ).fetchone()
        key = concept_key(type_name, name)
        record = concept_record(
            type_name,
            name,
            parse_object(attributes_text),
            parse_object(metadata_text),
            created_us=self.time_us,
            created_by=self.actor,
            number=defines,
        )
        if tombstone is None:
            number, before = self.head.next_concept, None
            self.head.next_concept += ids.ID_STEP
            seq = self._append(Kind.PUT_CONCEPT, number, before, record, "concepts", key)
        else:
            number, before = tombstone[0], self.reader.record_at(tombstone[1])
            seq = self._append(Kind.PUT_CONCEPT, number, before, record, "concepts", key)
            self._end_tombstone("concept_past", number, seq)
        self.connection.execute(
            "INSERT INTO concept VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?)",
            (
                number,
                type_number,
                name,
                attributes_text,
                metadata_text,
                seq,
                self.time_us,
                self.actor_number,
                self.time_us,
            ),
        )
        self.remember_key(number, key)
        self.retext.add(number)
        return ids.concept_id(number)

    def _define(self, type_number: int, name: str) -> int | None:
        """Give a type or predicate its number when its definition is written."""
        if type_number not in (CONCEPT_TYPE_NUMBER, PROPOSITION_TYPE_NUMBER):
            return None
        names = (
            self.registry.types
            if type_number == CONCEPT_TYPE_NUMBER
            else self.registry.predicates
        )
        number = self.registry.add(self.connection, names, name)
        self.registry.defined(self.connection, names, self.head.definitions).add(number)
        self.head.definitions = self.head.seq + 1  # The entry that is about to be appended.
        self.registry.defined_at(self.head.definitions)
        return number

    def _change_concept(self, number: int, attributes_text: str, metadata_text: str) -> bool:
        before = self.reader.concept(number)
        if before is None:
            raise missing(ids.concept_id(number))
        if (before.attributes_json, before.metadata_json) == (attributes_text, metadata_text):
            return False
        if self.guards:
            self._guard(
                "update", before, before.type, before.name, attributes_text, metadata_text
            )
        record = concept_record(
            before.type,
            before.name,
            parse_object(attributes_text),
            parse_object(metadata_text),
            created_us=before.created_us,
            created_by=before.created_by,
            version=before.version + 1,
            updated_us=self.time_us,
            number=self._number_defined_by(before),
        )
        key = concept_key(before.type, before.name)
        seq = self._append(
            Kind.PUT_CONCEPT, number, self.reader.record_at(before.seq), record, "concepts", key
        )
        self._supersede("concept", number, seq)
        self.connection.execute(
            "UPDATE concept SET attributes = ?, metadata = ?, version = version + 1, seq = ?,"
            " updated_at = ? WHERE id = ?",
            (attributes_text, metadata_text, seq, self.time_us, number),
        )
        if before.attributes_json != attributes_text:
            self.retext.add(number)
        return True

    def _number_defined_by(self, concept: Concept) -> int | None:
        if concept.type == CONCEPT_TYPE:
            return self.registry.types.number(self.connection, concept.name)
        if concept.type == PROPOSITION_TYPE:
            return self.registry.predicates.number(self.connection, concept.name)
        return None

    # Propositions.

    def put_proposition(
        self,
        subject: Ref,
        predicate: str,
        object_: Ref,
        attributes: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        *,
        weight: float | None = None,
        expect_version: int | None = None,
    ) -> str:
        """Create a link, or merge keys (and set the weight, if given) into the one there.

        Raises:
            TypeMismatch: the predicate is not defined.
            SelfEdgeError: both ends are the same element.
            NotFound: an end does not exist.
            VersionConflict: the version differs from `expect_version` (0: must not exist).
        """
        predicate_number = self.defined_number(self.registry.predicates, "predicate", predicate)
        source, target = self._ends(subject, object_)
        row = self.connection.execute(
            "SELECT id, attributes, metadata, version, weight FROM proposition"
            " WHERE subject = ? AND predicate = ? AND object = ?",
            (source, predicate_number, target),
        ).fetchone()
        expect(expect_version, row[3] if row else 0, f"the link {predicate!r}")
        if row is None:
            return self._create_proposition(
                source, predicate_number, predicate, target, attributes, metadata, weight
            )
        number, old_attributes, old_metadata, _, old_weight = row
        self._change_proposition(
            number,
            merged(old_attributes, attributes, (), "attributes"),
            merged(old_metadata, metadata, (), "metadata"),
            old_weight if weight is None else canonical_weight(weight),
        )
        return ids.proposition_id(number, predicate)

    def add_edge(
        self,
        src: Ref,
        predicate: str,
        dst: Ref,
        *,
        weight: float = DEFAULT_WEIGHT,
        data: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> str:
        """Add an edge. One that is live stays exactly as it is; a tombstoned one is revived."""
        predicate_number = self.defined_number(self.registry.predicates, "predicate", predicate)
        source, target = self._ends(src, dst)
        row = self.connection.execute(
            "SELECT id FROM proposition WHERE subject = ? AND predicate = ? AND object = ?",
            (source, predicate_number, target),
        ).fetchone()
        if row is not None:
            return ids.proposition_id(row[0], predicate)
        return self._create_proposition(
            source, predicate_number, predicate, target, data, metadata, weight
        )

    def remove_edge(self, src: Ref, predicate: str, dst: Ref, *, reason: str = "") -> bool:
        """Remove an edge, and the links that speak about it. False if there was no live one."""
        self.registry.predicate_number(self.connection, predicate)
        found = self.get_edge(src, predicate, dst)
        if found is None:
            return False
        self._retire_links([found.number, *self._links_about(found.number)], reason)
        return True

    def _create_proposition(
        self,
        subject: int,
        predicate_number: int,
        predicate: str,
        object_: int,
        attributes: Mapping[str, Any] | None,
        metadata: Mapping[str, Any] | None,
        weight: float | None,
    ) -> str:
        attributes_text = object_text(attributes or {}, "attributes")
        metadata_text = metadata_object_text(metadata or {})
        weight = DEFAULT_WEIGHT if weight is None else canonical_weight(weight)
        subject_key, object_key = self.live_key(subject), self.live_key(object_)
        if self.guards:
            ends = (self.reader.outer_id(subject), self.reader.outer_id(object_))
            self._guard("create", None, predicate, ends, attributes_text, metadata_text)
        tombstone = self.connection.execute(
            f"SELECT id, from_seq FROM proposition_past"
            f" WHERE subject = ? AND predicate = ? AND object = ? AND to_seq = {OPEN_END}",
            (subject, predicate_number, object_),
        ).fetchone()
        key = proposition_key(subject_key, predicate, object_key)
        record = edge_record(
            predicate_number,
            subject_key,
            object_key,
            parse_object(attributes_text),
            parse_object(metadata_text),
            created_us=self.time_us,
            created_by=self.actor,
            weight=weight,
        )
        if tombstone is None:
            number = self.head.next_proposition
            self.head.next_proposition += ids.ID_STEP
            seq = self._append(Kind.ADD_EDGE, number, None, record, "edges", key)
        else:
            number, before = tombstone[0], self.reader.record_at(tombstone[1])
            seq = self._append(Kind.ADD_EDGE, number, before, record, "edges", key)
            self._end_tombstone("proposition_past", number, seq)
        self.connection.execute(
            "INSERT INTO proposition VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?)",
            (
                number,
                subject,
                predicate_number,
                object_,
                weight,
                attributes_text,
                metadata_text,
                seq,
                self.time_us,
                self.actor_number,
                self.time_us,
            ),
        )
        self.remember_key(number, key)
        if '":"' in attributes_text:  # Only links that carry text are worth indexing.
            self.retext.add(number)
        return ids.proposition_id(number, predicate)

    def _change_proposition(
        self, number: int, attributes_text: str, metadata_text: str, weight: float
    ) -> bool:
        before = self.reader.proposition(number)
        if before is None:
            raise missing(f"P:{number}")
        same = (before.attributes_json, before.metadata_json, before.weight)
        if same == (attributes_text, metadata_text, weight):
            return False
        if self.guards:
            ends = (before.subject, before.object)
            self._guard("update", before, before.predicate, ends, attributes_text, metadata_text)
        subject_key = self.live_key(ids.parse_id(before.subject))
        object_key = self.live_key(ids.parse_id(before.object))
        record = edge_record(
            before.type,
            subject_key,
            object_key,
            parse_object(attributes_text),
            parse_object(metadata_text),
            created_us=before.created_us,
            created_by=before.created_by,
            weight=weight,
            version=before.version + 1,
            updated_us=self.time_us,
        )
        key = proposition_key(subject_key, before.predicate, object_key)
        seq = self._append(
            Kind.UPDATE_EDGE, number, self.reader.record_at(before.seq), record, "edges", key
        )
        self._supersede("proposition", number, seq)
        self.connection.execute(
            "UPDATE proposition SET weight = ?, attributes = ?, metadata = ?,"
            " version = version + 1, seq = ?, updated_at = ? WHERE id = ?",
            (weight, attributes_text, metadata_text, seq, self.time_us, number),
        )
        if before.attributes_json != attributes_text:
            self.retext.add(number)
        return True

    # Either kind.

    def update(
        self,
        ref: Ref,
        *,
        attributes: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        weight: float | None = None,
        drop_attributes: Iterable[str] = (),
        drop_metadata: Iterable[str] = (),
        expect_version: int | None = None,
    ) -> bool:
        """Change an element that exists: merge keys, drop keys, set a link's weight.

        Returns whether anything changed.

        Raises:
            NotFound: there is no such element.
            VersionConflict: the version differs from `expect_version`.
        """
        element = self.get(ref)
        expect(expect_version, element.version, element.id)
        drop_metadata = tuple(drop_metadata)
        check_metadata_keys(drop_metadata)
        attributes_text = merged(element.attributes_json, attributes, drop_attributes, "attributes")
        metadata_text = merged(element.metadata_json, metadata, drop_metadata, "metadata")
        if isinstance(element, Concept):
            if weight is not None:
                raise ConstraintViolation(f"{element.id} is a concept; only links have a weight.")
            return self._change_concept(element.number, attributes_text, metadata_text)
        return self._change_proposition(
            element.number,
            attributes_text,
            metadata_text,
            element.weight if weight is None else canonical_weight(weight),
        )

    def retire(self, ref: Ref, *, reason: str = "") -> Retired:
        """Remove an element with every link that refers to it, and every link about those links.

        What is removed becomes a tombstone: gone from the live state, kept in history.

        Raises:
            NotFound: there is no such live element.
            ConstraintViolation: it defines a type or predicate that is still in use.
            ImmutableTarget: it defines one of the two meta-types.
        """
        element = self.get(ref)
        about = self._links_about(element.number)
        if isinstance(element, Proposition):
            self._retire_links([element.number, *about], reason)
            return Retired(0, 1 + len(about))
        self.check_not_in_use(element)
        self._retire_links(about, reason)
        self._retire_concept(element, reason)
        return Retired(1, len(about))

    def _links_about(self, number: int) -> list[int]:
        """Every link that refers to an element, or to such a link, and so on."""
        found: dict[int, None] = {}
        frontier = [number]
        while frontier:
            near = frontier.pop()
            rows = self.connection.execute(
                "SELECT id FROM proposition WHERE subject = ?1"
                " UNION SELECT id FROM proposition WHERE object = ?1 ORDER BY id",
                (near,),
            )
            fresh = [link for (link,) in rows.fetchall() if link not in found and link != number]
            found.update(dict.fromkeys(fresh))
            frontier += fresh
        return list(found)

    def _retire_links(self, numbers: Sequence[int], reason: str) -> None:
        check_text(reason, "reason", REASON_BYTES_MAX)
        for number in reversed(numbers):  # Links about links go before what they speak about.
            link = self.reader.proposition(number)
            if link is not None:
                self._retire_proposition(link, reason)

    def _retire_proposition(self, link: Proposition, reason: str) -> None:
        if self.guards:
            ends = (link.subject, link.object)
            self._guard(
                "retire", link, link.predicate, ends, link.attributes_json, link.metadata_json
            )
        subject_key = self.live_key(ids.parse_id(link.subject))
        object_key = self.live_key(ids.parse_id(link.object))
        record = edge_record(
            link.type,
            subject_key,
            object_key,
            link.attributes,
            link.metadata,
            created_us=link.created_us,
            created_by=link.created_by,
            weight=link.weight,
            version=link.version,
            updated_us=link.updated_us,
            tombstone=Tombstone(self.time_us, self.actor, reason),
        )
        key = proposition_key(subject_key, link.predicate, object_key)
        self._entomb(Kind.REMOVE_EDGE, link, record, "edges", key, reason)

    def _retire_concept(self, concept: Concept, reason: str) -> None:
        check_text(reason, "reason", REASON_BYTES_MAX)
        if self.guards:
            self._guard(
                "retire",
                concept,
                concept.type,
                concept.name,
                concept.attributes_json,
                concept.metadata_json,
            )
        record = concept_record(
            concept.type,
            concept.name,
            concept.attributes,
            concept.metadata,
            created_us=concept.created_us,
            created_by=concept.created_by,
            version=concept.version,
            updated_us=concept.updated_us,
            tombstone=Tombstone(self.time_us, self.actor, reason),
            number=self._number_defined_by(concept),
        )
        key = concept_key(concept.type, concept.name)
        self._entomb(Kind.RETIRE_CONCEPT, concept, record, "concepts", key, reason)
        if concept.type in (CONCEPT_TYPE, PROPOSITION_TYPE):
            self.head.definitions = self.head.seq

    def _entomb(
        self,
        kind: Kind,
        element: Element,
        record: bytes,
        namespace: Namespace,
        key: bytes,
        reason: str,
    ) -> None:
        """Move a live row to the past, and leave a tombstone in force behind it."""
        table = "concept" if namespace == "concepts" else "proposition"
        number = element.number
        seq = self._append(kind, number, self.reader.record_at(element.seq), record, namespace, key)
        self._supersede(table, number, seq)
        columns = _PAST_COLUMNS[table]
        self.connection.execute(
            f"INSERT INTO {table}_past SELECT {columns.replace(' seq', ' ?2')}, {OPEN_END}, ?3, ?4,"
            f" ?5 FROM {table} WHERE id = ?1",
            (number, seq, self.time_us, self.actor_number, reason),
        )
        self.connection.execute(f"DELETE FROM {table} WHERE id = ?", (number,))
        self.forget_key(number)
        self.retext.add(number)

    def _supersede(self, table: str, number: int, seq: int) -> None:
        """Copy a live row to the past: it was true up to `seq`."""
        self.connection.execute(
            f"INSERT INTO {table}_past SELECT {_PAST_COLUMNS[table]}, ?2, NULL, NULL, NULL"
            f" FROM {table} WHERE id = ?1",
            (number, seq),
        )

    def _end_tombstone(self, table: str, number: int, seq: int) -> None:
        self.connection.execute(
            f"UPDATE {table} SET to_seq = ? WHERE id = ? AND to_seq = {OPEN_END}", (seq, number)
        )

    def check_not_in_use(self, concept: Concept) -> None:
        if concept.type not in (CONCEPT_TYPE, PROPOSITION_TYPE):
            return
        if concept.name in (CONCEPT_TYPE, PROPOSITION_TYPE):
            raise ImmutableTarget(f"The meta-type {concept.name!r} cannot be removed.")
        number = self._number_defined_by(concept)
        table, column = (
            ("concept", "type") if concept.type == CONCEPT_TYPE else ("proposition", "predicate")
        )
        used = self.connection.execute(
            f"SELECT 1 FROM {table} WHERE {column} = ? LIMIT 1", (number,)
        ).fetchone()
        if used:
            raise ConstraintViolation(
                f"{concept.name!r} is still in use.",
                hint=f"Remove every {table} that uses it first.",
            )

    # What the primitives share.

    def defined_number(self, names: Names, what: str, name: object) -> int:
        """The number of a type or predicate that may be used in a write."""
        number = names.numbers.get(name) if isinstance(name, str) else None
        if number is None and isinstance(name, str):
            number = names.number(self.connection, name)
        defined = self.registry.defined(self.connection, names, self.head.definitions)
        if number is None or number not in defined:
            raise undefined(what, str(name), names)
        return number

    def _ends(self, subject: Ref, object_: Ref) -> tuple[int, int]:
        """The two ends of a link: different, and both there. In this order are they checked."""
        source, target = resolve(subject), resolve(object_)
        if source == target:
            raise SelfEdgeError(f"{subject!r} cannot be linked to itself.")
        for ref, number in ((subject, source), (object_, target)):
            if self.find_key(number) is None:
                raise missing(ref)
        return source, target

    def live_key(self, number: int) -> bytes:
        """The natural key of an element that is live."""
        key = self.find_key(number)
        if key is None:
            raise missing(ids.concept_id(number) if ids.is_concept(number) else f"P:{number}")
        return key

    def find_key(self, number: int) -> bytes | None:
        """The natural key of an element, or None if it is not live."""
        key = self._keys.get(number)
        if key is not None:
            return key
        if ids.is_concept(number):
            row = self.connection.execute(
                "SELECT type, name FROM concept WHERE id = ?", (number,)
            ).fetchone()
            if row is None:
                return None
            key = concept_key(self.registry.types.name(self.connection, row[0]), row[1])
        else:
            row = self.connection.execute(
                "SELECT subject, predicate, object FROM proposition WHERE id = ?", (number,)
            ).fetchone()
            if row is None:
                return None
            predicate = self.registry.predicates.name(self.connection, row[1])
            key = proposition_key(self.live_key(row[0]), predicate, self.live_key(row[2]))
        self.remember_key(number, key)
        return key

    def remember_key(self, number: int, key: bytes) -> None:
        if len(self._keys) >= TRANSACTION_SAVED_ELEMENTS_MAX:
            self._keys.clear()
        self._keys[number] = key

    def forget_key(self, number: int) -> None:
        self._keys.pop(number, None)

    def _append(
        self,
        kind: Kind,
        number: int,
        before: bytes | None,
        after: bytes,
        namespace: Namespace,
        key: bytes,
    ) -> int:
        """Append a journal entry, and note the change of the state tree."""
        after_hash = record_hash(after)
        self.changes[namespace].set(key, after_hash)
        return self.append_entry(kind, number, before, after, hash_of(before), after_hash)

    def append_entry(
        self,
        kind: Kind,
        number: int,
        before: bytes | None,
        after: bytes | None,
        before_hash: bytes,
        after_hash: bytes,
    ) -> int:
        head = self.head
        head.seq += 1
        self.append_leaves((entry_leaf(kind, number, before_hash, after_hash),))
        self.connection.execute(
            "INSERT INTO journal VALUES (?, ?, ?, ?, ?, NULL)",
            (head.seq, int(kind), number, before, after),
        )
        return head.seq

    def append_leaves(self, leaves: Sequence[bytes]) -> None:
        nodes = (
            self.head.frontier.append(leaves[0])
            if len(leaves) == 1
            else self.head.frontier.extend(leaves)
        )
        if nodes:
            self.connection.executemany("INSERT INTO log_node VALUES (?, ?, ?)", nodes)

    def _guard(
        self,
        kind: Literal["create", "update", "retire"],
        before: Element | None,
        type_or_predicate: str,
        name_or_ends: str | tuple[str, str],
        attributes_text: str,
        metadata_text: str,
    ) -> None:
        change = Change(
            kind,
            before,
            type_or_predicate,
            name_or_ends,
            parse_object(attributes_text),
            parse_object(metadata_text),
        )
        for guard in self.guards:
            guard.check(self, change)

    @property
    def is_empty(self) -> bool:
        """Whether nothing has changed so far."""
        return self.head.seq < self.first_seq

    def finish(self) -> None:
        """Bring trees and text index up to date and close the journal's range."""
        if self.is_empty:
            return
        for guard in self.guards:
            guard.check_commit(self)
        head = self.head
        head.seq += 1
        head.time_us = self.time_us
        folded_before = head.folded_seq
        self._trees.apply(head, head.seq, self.changes)
        text.note(self.connection, self.retext)
        if head.folded_seq != folded_before:
            text.fold(self.connection)
        leaf = log.leaf_hash(
            tx_bytes(
                self.first_seq,
                self.time_us,
                self.actor,
                self.message,
                head.concepts_root,
                head.edges_root,
            )
        )
        self.append_leaves((leaf,))
        self.connection.execute(
            "INSERT INTO tx VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                head.seq,
                self.first_seq,
                self.time_us,
                self.actor_number,
                self.message,
                head.frontier.root(),
                head.concepts_root,
                head.edges_root,
            ),
        )
        head.write(self.connection)


_PAST_COLUMNS: Final = {
    "concept": (
        "id, type, name, attributes, metadata, version, seq, created_at, created_by, updated_at"
    ),
    "proposition": (
        "id, subject, predicate, object, weight, attributes, metadata, version, seq, created_at,"
        " created_by, updated_at"
    ),
}


def resolve(ref: object) -> int:
    """The inner id of an element, however the caller named it."""
    if isinstance(ref, (Concept, Proposition)):
        return ref.number
    return ids.parse_id(ref)


def missing(ref: object) -> NotFound:
    shown = ref.id if isinstance(ref, (Concept, Proposition)) else ref
    return NotFound(f"There is no live element {shown!r}.")


def expect(expected: int | None, actual: int, what: str) -> None:
    """Refuse to go on unless the version is the expected one; 0 means that there is no element."""
    if expected is not None and expected != actual:
        raise VersionConflict(
            f"Expected version {expected} of {what}, but it is {actual or 'not there'}.",
            data={"expected": expected, "actual": actual},
        )


def merged(
    old_text: str, given: Mapping[str, Any] | None, drop: Iterable[str], what: str
) -> str:
    """The object after a shallow merge (KIP §2.10) and the removal of keys."""
    if what == "metadata" and given:
        check_metadata_keys(given)
    if given is not None and not given:
        object_text(given, what)  # Even an empty value must be an object.
    drop = set(drop)
    if not given and not drop:
        return old_text
    new_text = object_text(given or {}, what)
    both = parse_object(old_text) | parse_object(new_text)
    return object_text({key: both[key] for key in both if key not in drop}, what)


def metadata_object_text(metadata: Mapping[str, Any]) -> str:
    """The text of a metadata object that a caller sent."""
    if metadata:
        check_metadata_keys(metadata)
    return object_text(metadata, "metadata")
