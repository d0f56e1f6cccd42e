"""The reading half of a transaction: the state with its own writes, and its position."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NoReturn, cast

from mycel.errors import ConstraintViolation
from mycel.model import ids
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.records import concept_key
from mycel.store.index.properties import UniqueConflict
from mycel.store.query.reader import Reader
from mycel.store.query.refs import Ref, missing
from mycel.store.write import removal
from mycel.store.write.ledger import Ledger

_DEFINITION: Final = "SELECT attributes FROM concept WHERE name = ? AND type = ?"


class _Ended:
    __slots__ = ()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # Whoever looks at objects in general asks for such names.
            raise AttributeError(name)
        raise ConstraintViolation(
            "This transaction has ended.", hint="Open another one with db.transaction()."
        )


ENDED: Final = cast("Ledger", _Ended())
"""Stands for the ledger of a transaction that has ended, and refuses every use."""


class TransactionView:
    """A transaction as its guards and statements read it."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        """The bookkeeping, for the store's own modules."""

    @property
    def actor(self) -> str:
        """The actor of the transaction."""
        return self.ledger.actor

    @property
    def time_us(self) -> int:
        """When: the same for everything in the transaction, and never before the last one."""
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
        """The number that the next new proposition gets."""
        return self.ledger.head.next_proposition

    @property
    def position(self) -> int:
        """The position of the last entry so far: it grows with every change."""
        return self.ledger.head.seq

    # Reading inside the transaction sees what it has written.

    @property
    def reader(self) -> Reader:
        """Reads the state with what this transaction has written so far."""
        return self.ledger.reader

    def flush(self) -> None:
        """Write the entries that are held back, so that a query of the journal sees them."""
        self.ledger.flush_entries()

    def is_live(self, number: int) -> bool:
        """True if the element with this number is live."""
        return self.ledger.find_key(number) is not None

    def remember_end(self, concept_id: str, type_name: str, name: str) -> None:
        """Note the identity of a live concept, so that linking it does not read it again."""
        key = concept_key(type_name, name)
        self.ledger.memory.remember_end(concept_id, ids.parse_id(concept_id), key)

    def links_about(self, ref: Ref) -> list[Proposition]:
        """Every live link that refers to an element, or to such a link, and so on."""
        return removal.links_about(self.ledger, self.reader.number(ref))

    def foresee(self, elements: Iterable[Element]) -> None:
        """Read at once what changing these elements takes; see `Ledger.foresee`."""
        self.ledger.foresee(elements)

    def get(self, ref: Ref) -> Element:
        """The live element with this id.

        Raises:
            NotFound: there is none.
        """
        reader = self.ledger.reader
        found = reader.element(reader.number(ref))
        if found is None:
            raise missing(ref)
        return found

    def get_concept(
        self, type_name: str | None, name: str, *, tombstoned: bool = False
    ) -> Concept | None:
        """The concept with this type (None: any) and name; on request also one that was removed."""
        reader = self.ledger.reader
        number = None if type_name is None else reader.type_number(type_name)
        return reader.concept_named(number, name, tombstoned=tombstoned)

    def get_edge(self, src: Ref, predicate: str, dst: Ref) -> Proposition | None:
        """The live edge, or None."""
        reader = self.ledger.reader
        number = reader.predicate_number(predicate)
        return reader.link(reader.number(src), number, reader.number(dst))

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
            return None  # It may be no text at all: the store, which asks first, will say so.
        row = ledger.row(_DEFINITION, (name, meta_type))
        return None if row is None else row[0]

    def conflicts(self, limit: int) -> Sequence[UniqueConflict]:
        """Values that this transaction has given to several elements of a unique index."""
        return self.ledger.properties.conflicts(limit)
