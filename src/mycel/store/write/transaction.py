"""The single way to write: the primitives of every change.

Each primitive reads the element and computes its new form. If nothing differs, it does nothing.
Otherwise it asks the guards, writes the live row and hands the rest (journal, past versions,
changes of trees and index) to the ledger.

Nothing here commits; the writer does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from typing import (
    Any,
    Concatenate,
    Final,
    NamedTuple,
    NoReturn,
    ParamSpec,
    Protocol,
    TypeVar,
    cast,
)

from mycel.errors import ConstraintViolation, InvalidId, MycelError, SelfEdgeError
from mycel.model import ids
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.names import CONCEPT_TYPE, META_TYPES, PROPOSITION_TYPE, check_name, shorten
from mycel.model.periods import FORMER_PERIODS, PERIOD_KEYS, keep_former
from mycel.model.records import canonical_weight, concept_key
from mycel.model.values import JsonObject, check_metadata_keys, object_text, parse_object
from mycel.store.backend.failures import REFUSALS, translate
from mycel.store.backend.interface import Connection
from mycel.store.file.branch_files import MAIN
from mycel.store.file.layout import CONCEPT_TYPE_NUMBER
from mycel.store.index.properties import UniqueConflict
from mycel.store.query import lookup
from mycel.store.query.reader import Reader
from mycel.store.query.refs import Ref, missing, refuse_self_link
from mycel.store.write import bulk, relink, removal
from mycel.store.write.bulk import ConceptRow, PropositionRow
from mycel.store.write.content_change import change_content
from mycel.store.write.creation import (
    DEFAULT_WEIGHT,
    KeyedTriple,
    create_concept,
    create_link,
)
from mycel.store.write.element_content import expect, merged, with_reserved
from mycel.store.write.guards import Change, Guards, identity_of
from mycel.store.write.ledger import Ledger
from mycel.store.write.move import Moves, target_of

__all__ = ["DEFAULT_WEIGHT", "Change", "Guard", "Retired", "Transaction"]

_DEFINITION: Final = "SELECT attributes FROM concept WHERE name = ? AND type = ?"


class Retired(NamedTuple):
    """The numbers of the elements that a removal removed."""

    concepts: int
    propositions: int


class Guard(Protocol):
    """A rule on every write, through every door: schema, protection or constraints."""

    @property
    def in_bulk(self) -> bool:
        """True if `check` may run before earlier rows of the same bulk put are written.

        Then these rows are written together, and `check` gets attributes and metadata as the caller
        passed them, before they are validated as JSON. If a row of the batch exists, all its rows
        are checked again. If `in_bulk` is False, the guard checks row by row.
        """

    def concerns(self, tx: Transaction, type_or_predicate: str, *, link: bool) -> bool:
        """True if this guard applies to elements of this type.

        With `link`, the name is that of a predicate. The name may be undefined. Answers are
        remembered: for the transaction if a guard says True, and for later transactions too if all
        guards say False. A changed definition, or a write of another process, clears them.
        """

    def check(self, tx: Transaction, change: Change) -> JsonObject | None:
        """Raise an error to refuse a change before it is written.

        Called only if `concerns` returns True for the type or predicate, or for that before a move,
        or if the method `concerns_element` of the guard returns True for the element.

        Returns other attributes to write, or None to keep them; for a removal the result is
        ignored. The guard must not modify the change, nor write to this element or to elements that
        are removed with it.
        """

    def check_commit(self, tx: Transaction) -> None:
        """Raise an error to refuse the transaction as a whole, just before it is closed."""


P = ParamSpec("P")
T = TypeVar("T")


def all_or_nothing(
    primitive: Callable[Concatenate[Transaction, P], T],
) -> Callable[Concatenate[Transaction, P], T]:
    """Mark the transaction as spoiled if the primitive fails halfway: it must not be committed.

    Errors of SQLite become errors of Mycel.
    """

    @wraps(primitive)
    def guarded(self: Transaction, /, *args: P.args, **kwargs: P.kwargs) -> T:
        head = self.ledger.head
        before = head.seq
        try:
            return primitive(self, *args, **kwargs)
        except BaseException as error:
            if head.seq != before or not isinstance(error, MycelError):
                self.spoiled = True
            if isinstance(error, REFUSALS):
                raise translate(error) from error
            raise

    return guarded


class _Ended:
    __slots__ = ()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # Tools that inspect objects look such names up.
            raise AttributeError(name)
        raise ConstraintViolation(
            "This transaction has ended.", hint="Open another one with db.transaction()."
        )


ENDED: Final = cast("Ledger", _Ended())
"""Takes the place of the ledger of a transaction that has ended, and refuses every use."""


class Transaction:
    """One atomic change of the graph: all of it, or nothing."""

    def __init__(self, ledger: Ledger, guards: Sequence[Guard] = (), *, branch: str = MAIN) -> None:
        self.ledger = ledger
        """The bookkeeping, for modules of the store."""
        self.branch: Final = branch
        """The branch that is written to."""
        self.guards: Final = Guards(guards, ledger.memory)
        """The guards, for modules of the store."""
        self.spoiled = False
        """True if a step failed halfway: the transaction can only be rolled back."""
        self.is_final = False
        """True once everything is written and about to be committed; never in a dry run."""
        self.warnings: Final[list[str]] = []
        """Warnings for the caller, added by guards."""
        self.memo: Final[dict[object, Any]] = {}
        """Values that guards keep until the commit, each under a key of its own."""
        self.restores = False
        """True while it brings elements to states of the history, which agree with each other once
        all of them are written."""

    def end(self) -> bool:
        """Refuse every further use. The writer calls this.

        Returns True if it was a load, for which the page cache was enlarged.
        """
        ledger, self.ledger = self.ledger, ENDED
        return ledger is not ENDED and ledger.is_load

    @property
    def actor(self) -> str:
        return self.ledger.actor

    @property
    def message(self) -> str:
        """The message of the caller; empty if a summary of the changes is to replace it."""
        return self.ledger.message

    @property
    def time_us(self) -> int:
        """The time of everything in the transaction; never before that of the last transaction."""
        return self.ledger.time_us

    @property
    def is_empty(self) -> bool:
        """True if nothing has changed so far."""
        return self.ledger.is_empty

    @property
    def first_seq(self) -> int:
        """The position that the first entry of this transaction has in the journal."""
        return self.ledger.first_seq

    @property
    def next_concept(self) -> int:
        """The number that the next new concept gets."""
        return self.ledger.head.next_concept

    @property
    def next_proposition(self) -> int:
        """The number that the next new link gets."""
        return self.ledger.head.next_proposition

    @property
    def position(self) -> int:
        """The position of the last entry so far, which grows with every change."""
        return self.ledger.head.seq

    # Readers inside the transaction see what it has written.

    @property
    def reader(self) -> Reader:
        """A reader that sees what this transaction has written so far."""
        return self.ledger.reader

    def flush(self) -> None:
        """Write the entries that are held back, so that a query of the journal finds them."""
        self.ledger.flush_entries()

    def is_live(self, number: int) -> bool:
        """True if the element with this number is live."""
        return self.ledger.find_key(number) is not None

    def remember_end(self, concept_id: str, type_name: str, name: str) -> None:
        """Note the identity of a live concept, so that linking it needs no look-up."""
        key = concept_key(type_name, name)
        self.ledger.memory.remember_end(concept_id, ids.parse_id(concept_id), key)

    def links_about(self, ref: Ref) -> list[Proposition]:
        """The live links on an element, the live links about those links, and so on."""
        return removal.links_about(self.ledger, self.reader.number(ref))

    def foresee(self, elements: Iterable[Element]) -> None:
        """Read at once what changes of these elements need; see `Ledger.foresee`."""
        self.ledger.foresee(elements)

    def numbers_named(self, type_name: str, names: Collection[str]) -> dict[str, int]:
        """The numbers of the concepts of a type that have one of these names, by name."""
        type_number = self.reader.find_type(type_name)
        if type_number is None:
            return {}
        numbers = lookup.numbers_named(self.reader, type_number, names)
        for name, number in numbers.items():  # Links to them need their keys.
            self.ledger.memory.remember(number, concept_key(type_name, name))
        return numbers

    def get(self, ref: Ref) -> Element:
        """The live element with this id.

        Raises:
            NotFound: no live element has this id.
        """
        reader = self.ledger.reader
        element = reader.element(reader.number(ref))
        if element is None:
            raise missing(ref)
        return element

    def get_concept(
        self, type_name: str | None, name: str, *, tombstoned: bool = False
    ) -> Concept | None:
        """The concept with this type (None: any) and name; on request also a removed one."""
        reader = self.ledger.reader
        number = None if type_name is None else reader.type_number(type_name)
        return reader.concept_named(number, name, tombstoned=tombstoned)

    def get_edge(self, src: Ref, predicate: str, dst: Ref) -> Proposition | None:
        """The live edge, or None."""
        reader = self.ledger.reader
        number = reader.predicate_number(predicate)
        return reader.link_between(reader.number(src), number, reader.number(dst))

    # Definitions.

    def defined_types(self) -> Mapping[str, int]:
        """The types whose definitions are in force, with their numbers."""
        return self.ledger.defined(self.ledger.registry.types)

    def defined_predicates(self) -> Mapping[str, int]:
        """The predicates whose definitions are in force, with their numbers."""
        return self.ledger.defined(self.ledger.registry.predicates)

    def definition(self, meta_type: int, name: str) -> str | None:
        """The attributes, as JSON, of the definition of a type or predicate; None if not defined.

        `meta_type` is the number of `$ConceptType` or `$PropositionType`.
        """
        ledger = self.ledger
        names = ledger.registry.defined_by(meta_type)
        if names is None or names.number(ledger.connection, name) is None:
            return None  # If `name` is no text, the write itself raises the error.
        row = ledger.row(_DEFINITION, (name, meta_type))
        return None if row is None else row[0]

    def maintain(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Change tables that hold no knowledge, with a function of `store.log`."""
        return work(self.ledger.connection, *args, **kwargs)

    def conflicts(self, limit: int) -> Sequence[UniqueConflict]:
        """Values of unique indexes that this transaction wrote and that several elements have."""
        return self.ledger.properties.conflicts(limit)

    def define_indexes(
        self, owner: int, *, link: bool, indexes: Sequence[tuple[tuple[str, ...], bool]]
    ) -> None:
        """Define the indexes of a type, or with `link` of a predicate; see `Properties.define`."""
        self.ledger.properties.define(owner, link=link, indexes=indexes)

    def define_type(self, name: str, attributes: Mapping[str, Any] | None = None) -> str:
        """Define a concept type: a concept of type `$ConceptType`."""
        return self.put_concept(CONCEPT_TYPE, name, attributes)

    def define_predicate(self, name: str, attributes: Mapping[str, Any] | None = None) -> str:
        """Define a predicate: a concept of type `$PropositionType`. It gets a permanent number."""
        return self.put_concept(PROPOSITION_TYPE, name, attributes)

    def define_meta_types(self) -> None:
        """Write the definitions of the two meta-types. Nothing can be defined before them."""
        for name in META_TYPES:
            create_concept(
                self, CONCEPT_TYPE_NUMBER, CONCEPT_TYPE, name, None, None, tombstone=None
            )

    # Concepts.

    @all_or_nothing
    def put_concept(
        self,
        type_name: str,
        name: str,
        attributes: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        *,
        expect_version: int | None = None,
    ) -> str:
        """Create a concept, or merge keys into the existing one with this type and name.

        The given keys replace existing ones; other keys stay. A removed concept is revived with the
        given content only. Returns the id.

        Raises:
            TypeMismatch: the type is not defined.
            VersionConflict: the version differs from `expect_version` (0: must not exist).
        """
        ledger = self.ledger
        type_number = ledger.defined_number(ledger.registry.types, type_name)
        check_name(name)
        row = ledger.find_concept(name, type_number)
        if expect_version is not None:
            expect(expect_version, row.version if row else 0, f"the {type_name} {name!r}")
        if row is None or row.is_tombstone:
            return create_concept(
                self, type_number, type_name, name, attributes, metadata, tombstone=row
            )
        change_content(
            self,
            ledger.reader.concept(row.number),
            merged(row.attributes, attributes, (), "attributes"),
            merged(row.metadata, metadata, (), "metadata"),
        )
        return ids.concept_id(row.number)

    @all_or_nothing
    def revive_concept(self, like: Concept, metadata: Mapping[str, Any]) -> str:
        """Put a concept that may have been removed, perhaps under another name.

        Like `put_concept`. But if the concept of this type with this number was removed, it is
        revived under its number. Returns the id.
        """
        dead = self.ledger.reader.concept(like.number, tombstoned=True)
        if dead is not None and dead.tombstoned and dead.type == like.type:
            moves = Moves(self.ledger)
            moves.rename_tombstone(dead, like.name)
            moves.settle()
        return self.put_concept(like.type, like.name, like.attributes, metadata)

    @all_or_nothing
    def put_concepts(self, rows: Iterable[ConceptRow]) -> list[str]:
        """Put many concepts at a fraction of the cost of `put_concept`. Returns ids in order."""
        return bulk.put_concepts(self, rows, lambda row: self.put_concept(*row))

    # Links.

    @all_or_nothing
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
        """Create a link, or merge keys (and set the weight, if given) into the existing one.

        A removed link is revived with the given content only. Returns the id.

        Raises:
            TypeMismatch: the predicate is not defined.
            SelfEdgeError: both ends are the same element.
            NotFound: an end does not exist.
            VersionConflict: the version differs from `expect_version` (0: must not exist).
        """
        triple = self._triple(subject, predicate, object_)
        self.guards.settle(self, predicate, triple[0])
        row = self.ledger.find_link(triple[:3])
        if expect_version is not None:
            expect(expect_version, row.version if row else 0, f"the link {predicate!r}")
        if row is None or row.is_tombstone:
            return create_link(self, triple, predicate, attributes, metadata, weight, tombstone=row)
        metadata_text = merged(row.metadata, metadata, (), "metadata")
        change_content(
            self,
            self.ledger.reader.link(row.number),
            merged(row.attributes, attributes, (), "attributes"),
            self._with_former(row.number, row.metadata, metadata_text, metadata or ()),
            None if weight is None else canonical_weight(weight),
        )
        return ids.link_id(row.number, predicate)

    @all_or_nothing
    def put_propositions(self, rows: Iterable[PropositionRow]) -> int:
        """Put many links at a fraction of the cost of `put_proposition`. Returns their number."""
        return bulk.put_propositions(
            self, rows, lambda row: self.put_proposition(*row[:5], weight=row.weight)
        )

    @all_or_nothing
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
        """Add an edge. A live edge stays exactly as it is; a removed one is revived."""
        triple = self._triple(src, predicate, dst)
        row = self.ledger.find_link(triple[:3])
        if row is not None and not row.is_tombstone:
            canonical_weight(weight)  # Invalid values are refused for an existing edge too.
            object_text({} if data is None else data, "data")
            return ids.link_id(row.number, predicate)
        return create_link(self, triple, predicate, data, metadata, weight, tombstone=row)

    @all_or_nothing
    def remove_edge(self, src: Ref, predicate: str, dst: Ref, *, reason: str = "") -> bool:
        """Remove an edge, and the links about it. Returns False if there was no live edge."""
        link = self.get_edge(src, predicate, dst)
        if link is None:
            return False
        self.retire_found(link, reason=reason)
        return True

    def _triple(self, subject: Ref, predicate: str, object_: Ref) -> KeyedTriple:
        """The ends and predicate of a link to be written, with the keys of its ends.

        It checks, in this order: the predicate is defined, the ends differ, both ends exist.
        """
        ledger = self.ledger
        number = ledger.defined_number(ledger.registry.predicates, predicate)
        try:
            source, source_key = ledger.end(subject)
            target, target_key = ledger.end(object_)
        except MycelError:
            refuse_self_link(subject, object_)
            raise
        if source == target:
            refuse_self_link(subject, object_)
            raise SelfEdgeError(f"{subject!r} cannot be linked to itself.")
        return source, number, target, source_key, target_key

    @all_or_nothing
    def relink(self, ref: Ref, *, subject: Ref | None = None, object_: Ref | None = None) -> str:
        """Point a live link to other ends. The link keeps its id, and links about it stay.

        Its version increases by one, unless it already has these ends. Returns the id.

        Raises:
            NotFound: there is no such link, or no such end.
            DuplicateExists: there is already a live link in its new place.
            SelfEdgeError: both ends are the same element.
            ConstraintViolation: an end is a link about this link.
        """
        link = self.get(ref)
        if not isinstance(link, Proposition):
            raise InvalidId(
                f"{link.id} is a concept; only links lead anywhere.",
                hint="Name a link by its id, such as P:13:predicate.",
            )
        new = (subject or link.subject, object_ or link.object)
        refuse_self_link(*new)
        ends = (self.ledger.end(new[0])[0], self.ledger.end(new[1])[0])
        if ends == link.ends:
            return link.id
        outer = (self.ledger.reader.outer_id(ends[0]), self.ledger.reader.outer_id(ends[1]))
        becomes, texts = (link.predicate, outer), (link.attributes_json, link.metadata_json)
        shaped = self.guards.ask(self, "update", link, becomes, texts, link.number)
        attributes_text = texts[0] if shaped is None else object_text(shaped, "attributes")
        place = relink.Triple(ends[0], link.type, ends[1])
        relink.relink(self.ledger, link, place, attributes_text)
        return link.id

    # `end` may be an element of either kind.

    @all_or_nothing
    def move(
        self,
        ref: Ref,
        *,
        type_name: str | None = None,
        name: str | None = None,
        predicate: str | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> str:
        """Give a live concept another type or name, or a live link another predicate.

        It keeps its number, its history and the links on it. Its version increases by one, unless
        nothing changes. `attributes` replace the old ones in the same step, because the new type
        may require other attributes. Returns the id. The id of a link has the new predicate.

        Raises:
            NotFound: there is no such element.
            InvalidId: a link has no type or name, a concept no predicate.
            TypeMismatch: the type or predicate is not defined.
            ImmutableTarget: the concept is a definition, or would become one.
            DuplicateExists: there is already a live element with the new identity.
        """
        moves = Moves(self.ledger)
        moved = self._move(moves, ref, type_name, name, predicate, attributes)
        moves.settle()
        return moved

    @all_or_nothing
    def move_concepts(self, rows: Iterable[tuple[Ref, str | None, str | None]]) -> list[str]:
        """`move` for many concepts: each with its new type and name, None where it keeps its own.

        The concepts move one after the other. Links between them are written once. Returns the ids.
        """
        moves = Moves(self.ledger)
        moved = [self._move(moves, ref, type_name, name, None) for ref, type_name, name in rows]
        moves.settle()
        return moved

    def _move(
        self,
        moves: Moves,
        ref: Ref,
        type_name: str | None,
        name: str | None,
        predicate: str | None,
        attributes: Mapping[str, Any] | None = None,
    ) -> str:
        element = self.get(ref)
        target = target_of(self.ledger, element, type_name, name, predicate)
        if target.identity == identity_of(element):
            return element.id
        attributes_text = element.attributes_json
        if attributes is not None:
            attributes_text = object_text(attributes, "attributes")
        texts = attributes_text, element.metadata_json
        number = element.number
        shaped = self.guards.ask(self, "update", element, target.identity, texts, number)
        if shaped is not None:
            attributes_text = object_text(shaped, "attributes")
        moves.move(element, target, attributes_text)
        return self.ledger.reader.outer_id(element.number)

    @all_or_nothing
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
        reserved: Mapping[str, Any] | None = None,
    ) -> bool:
        """Change an existing element: merge keys, drop keys, set a link's weight.

        `reserved` are metadata keys of the engine itself; they begin with an underscore. Returns
        True if anything changed.

        Raises:
            NotFound: there is no such element.
            VersionConflict: the version differs from `expect_version`.
        """
        element = self.get(ref)
        expect(expect_version, element.version, _label(element))
        return self.update_found(
            element,
            attributes=attributes,
            metadata=metadata,
            weight=weight,
            drop_attributes=drop_attributes,
            drop_metadata=drop_metadata,
            reserved=reserved,
        )

    @all_or_nothing
    def update_found(
        self,
        element: Element,
        *,
        attributes: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        weight: float | None = None,
        drop_attributes: Iterable[str] = (),
        drop_metadata: Iterable[str] = (),
        reserved: Mapping[str, Any] | None = None,
    ) -> bool:
        """Change an element like `update`, without reading it again.

        Raises:
            VersionConflict: the element has changed since it was read. The transaction can only be
                rolled back.
        """
        drop_metadata = (drop_metadata,) if isinstance(drop_metadata, str) else tuple(drop_metadata)
        check_metadata_keys(drop_metadata)
        if isinstance(element, Proposition) and self.guards.settle(
            self, element.predicate, element.ends[0]
        ):
            element = self.get(element.id)
        attributes_text = merged(element.attributes_json, attributes, drop_attributes, "attributes")
        metadata_text = merged(element.metadata_json, metadata, drop_metadata, "metadata")
        if isinstance(element, Proposition):
            written_keys = (*(metadata or ()), *drop_metadata)
            metadata_text = self._with_former(
                element.number, element.metadata_json, metadata_text, written_keys
            )
        if reserved:
            metadata_text = with_reserved(metadata_text, reserved)
        if weight is not None:
            if isinstance(element, Concept):
                raise ConstraintViolation(
                    f"{element.id} is a concept; only links have a weight.",
                    hint="Name a link by its id, such as P:13:predicate.",
                )
            weight = canonical_weight(weight)
        return change_content(self, element, attributes_text, metadata_text, weight)

    def _with_former(
        self, number: int, before: str, after: str, written_keys: Collection[str]
    ) -> str:
        """The metadata of a link after a write of some keys, with the periods it had before.

        The link is noted for guards in `memo`, under the key `former_periods`, if one is kept.
        """
        if before == after or not any(key in written_keys for key in PERIOD_KEYS):
            return after
        old = parse_object(before)
        metadata = keep_former(old, parse_object(after), written_keys)
        if FORMER_PERIODS not in written_keys and metadata.get(FORMER_PERIODS) != old.get(
            FORMER_PERIODS
        ):
            self.memo.setdefault(FORMER_PERIODS, {})[number] = None
        return object_text(metadata, "metadata")

    @all_or_nothing
    def replace_content(self, element: Element, then: Element) -> bool:
        """Give an element that was just read the content of another version, and no other change.

        Metadata of the engine itself is content too. Returns True if anything changed.
        """
        weight = then.weight if isinstance(then, Proposition) else None
        return change_content(self, element, then.attributes_json, then.metadata_json, weight)

    @all_or_nothing
    def retire(self, ref: Ref, *, reason: str = "") -> Retired:
        """Remove an element with every link that refers to it, and every link about those links.

        Removed elements become tombstones: they are gone from the live state, but kept in history.

        Raises:
            NotFound: there is no such live element.
            ConstraintViolation: the concept defines a type or predicate that is still in use.
            ImmutableTarget: the concept defines one of the two meta-types.
        """
        return self.retire_found(self.get(ref), reason=reason)

    @all_or_nothing
    def retire_found(self, element: Element, *, reason: str = "") -> Retired:
        """Remove an element like `retire`, without reading it again.

        Raises:
            VersionConflict: the element has changed since it was read. The transaction can only be
                rolled back.
        """
        if isinstance(element, Proposition) and self.guards.settle(
            self, element.predicate, element.ends[0]
        ):
            element = self.get(element.id)
        about = removal.links_about(self.ledger, element.number)
        if isinstance(element, Concept):
            removal.check_not_in_use(self.ledger, element)
        removal.check_removal(self, [*about, element], reason)
        if isinstance(element, Proposition):
            removal.retire_links(self, [element, *about], reason)
            return Retired(0, 1 + len(about))
        removal.retire_links(self, about, reason)
        removal.retire_concept(self, element, reason)
        if element.type in META_TYPES:
            self.guards.forget()
            self.ledger.head.definitions = self.ledger.head.seq
        return Retired(1, len(about))

    # The whole.

    def check(self) -> None:
        """Ask the guards about the whole transaction, as the commit does."""
        self.guards.check_commit(self)

    def finish(self) -> None:
        """Ask the guards about the whole transaction, and close its range. The writer calls this.

        Raises:
            ConstraintViolation: a step failed halfway.
        """
        if self.spoiled:
            raise ConstraintViolation(
                "A step of this transaction failed halfway, so none of it can be committed.",
                hint="Let the error leave the `with` block, and write again in a new transaction.",
            )
        if self.is_empty:
            self.ledger.forget_actor()
            return
        self.is_final = True
        self.guards.check_commit(self)
        self.ledger.close()


def _label(element: Element) -> str:
    """A label for messages: the name of a concept with its id, or the id of a link."""
    if isinstance(element, Concept):
        return f"{shorten(element.name, 200)} ({element.id})"
    return element.id


class _RolledBackError(Exception):
    """Raised inside a rehearsal to end its transaction."""


@contextmanager
def rehearsal(transaction: AbstractContextManager[Transaction]) -> Iterator[Transaction]:
    """A transaction whose changes the block can see, and that is rolled back at its end."""
    try:
        with transaction as tx:
            yield tx
            raise _RolledBackError
    except _RolledBackError:
        pass
