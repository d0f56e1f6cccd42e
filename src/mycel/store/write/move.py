"""Gives an element another type, name or predicate. It keeps its number and history.

A concept is identified by its type and name, a link by its predicate and ends. An element that
moves keeps its number, its history and the links on it. Its version increases by one, and its
natural key changes: the leaf under the old key is removed, and one under the new key is added. The
links on the element get new keys too (`rekey`). If an element is put under the old name later, it
is a new element.

The tombstone of another concept may have the new key. That tombstone keeps its type and is *set
aside*: its name becomes its own id, so that no two elements have the same key. Links and their
tombstones exchange keys instead. Concepts cannot do so: a name is content, and would remain in the
tombstone after the concept is purged.

The module `relink` gives a link another predicate, or other ends (`Transaction.relink`).
"""

from __future__ import annotations

from itertools import count
from typing import Final, NamedTuple

from mycel.errors import DuplicateExists, ImmutableTarget, InvalidId
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.names import META_TYPES, check_name, shorten
from mycel.model.records import Tombstone, concept_key, record_of
from mycel.store.file.layout import OPEN_END
from mycel.store.index.slots import NO_ENDS
from mycel.store.log.journal import Kind
from mycel.store.write.bitset import LinkSet
from mycel.store.write.guards import Identity
from mycel.store.write.ledger import Ledger
from mycel.store.write.rekey import hanging_on, settle, uproot
from mycel.store.write.relink import Triple, place_of, relink

_MOVE: Final = (
    "UPDATE concept SET type = ?, name = ?, attributes = ?, version = ?, seq = ?, updated_at = ?"
    " WHERE id = ? AND seq = ?"
)
_RENAME_TOMBSTONE: Final = (
    "INSERT INTO concept_past SELECT id, type, ?3, attributes, metadata, version, ?2, created_at,"
    f" created_by, updated_at, {OPEN_END}, tombstoned_at, tombstoned_by, tombstoned_reason"
    " FROM concept_past WHERE id = ?1 AND to_seq = ?2"
)
_IS_TAKEN: Final = (
    "SELECT 1 FROM concept WHERE name = ?1 AND type = ?2 UNION ALL"
    f" SELECT 1 FROM concept_past WHERE name = ?1 AND type = ?2 AND to_seq = {OPEN_END}"
)


class NewIdentity(NamedTuple):
    """The new identity of an element."""

    identity: Identity
    number: int
    """The number of its type or predicate."""


def target_of(
    ledger: Ledger,
    element: Element,
    type_name: str | None,
    name: str | None,
    predicate: str | None,
) -> NewIdentity:
    """The identity that the caller asks for; parts that are not given stay as they are.

    Raises:
        InvalidId: a concept has no predicate, a link no type or name.
        ImmutableTarget: the concept is a definition, or would become one.
        TypeMismatch: the type or predicate is not defined.
    """
    registry = ledger.registry
    if isinstance(element, Proposition):
        if type_name is not None or name is not None:
            raise InvalidId(
                f"{element.id} is a link; it has no type and no name.",
                hint="Pass predicate=... to give it another predicate, or point it to other ends"
                " with tx.relink(ref, subject=..., object_=...).",
            )
        new_predicate = element.predicate if predicate is None else predicate
        number = ledger.defined_number(registry.predicates, new_predicate)
        return NewIdentity((new_predicate, (element.subject, element.object)), number)
    if predicate is not None:
        raise InvalidId(
            f"{element.id} is a concept; only links have a predicate.",
            hint="Pass type_name=..., name=... or both.",
        )
    new_type = element.type if type_name is None else type_name
    for kind in (element.type, new_type):
        if kind in META_TYPES:
            raise ImmutableTarget(
                f"A definition cannot be moved, and {kind} holds only definitions.",
                hint="Define the new type or predicate, move the elements of the old one to it,"
                " and retire the old definition.",
            )
    number = ledger.defined_number(registry.types, new_type)
    return NewIdentity((new_type, check_name(element.name if name is None else name)), number)


class Moves:
    """Moves elements one after the other, and afterwards all links on them together.

    A link between two concepts that move is written only once: a set keeps one bit for each waiting
    link. A caller that moves elements has to call `settle` before the transaction does other work.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._waiting = LinkSet()

    def move(self, element: Element, target: NewIdentity, attributes_text: str) -> None:
        """Give a live element another identity, and perhaps other attributes.

        Raises:
            DuplicateExists: another live element has this identity.
        """
        if isinstance(element, Concept):
            self._move_concept(element, target, attributes_text)
        else:
            self.settle()
            subject, _, object_ = place_of(element)
            place = Triple(subject, target.number, object_)
            relink(self._ledger, element, place, attributes_text)

    def settle(self) -> None:
        """Write the links on the moved elements under their new keys."""
        settle(self._ledger, self._waiting)
        self._waiting = LinkSet()

    def _move_concept(self, before: Concept, target: NewIdentity, attributes_text: str) -> None:
        ledger, (type_name, to) = self._ledger, target.identity
        name = str(to)
        occupant = ledger.reader.concept_named(target.number, name, tombstoned=True)
        if occupant is not None and not occupant.tombstoned:
            raise DuplicateExists(
                f"There is already a {occupant.type} {shorten(repr(name))}: {occupant.id}.",
                hint="Choose another name, or merge the two.",
                data={"type": occupant.type, "name": name, "id": occupant.id},
            )
        self._make_way(before, occupant, target.number)
        after = before._replace(
            type=type_name,
            name=name,
            attributes_json=attributes_text,
            version=before.version + 1,
            updated_us=ledger.time_us,
        )
        _write(ledger, before, after, target.number)

    def _make_way(self, moving: Concept, tombstone: Concept | None, type_number: int) -> None:
        """Remove the leaves of a concept that moves and of the links on it.

        A tombstone with the key that the concept will get is renamed.
        """
        numbers = [moving.number] if tombstone is None else [moving.number, tombstone.number]
        # A waiting link and all links on it have left their leaves already.
        hanging = hanging_on(self._ledger, numbers, self._waiting)
        uproot(self._ledger, [*numbers, *hanging])
        for number in hanging:
            self._waiting.add(number)
        if tombstone is not None:
            _set_aside(self._ledger, tombstone, type_number)

    def rename_tombstone(self, dead: Concept, name: str) -> None:
        """Rename a tombstone to the name under which it will be revived; no live concept has it."""
        if name == dead.name:
            return
        type_number = self._ledger.defined_number(self._ledger.registry.types, dead.type)
        occupant = self._ledger.reader.concept_named(type_number, name, tombstoned=True)
        self._make_way(dead, occupant, type_number)
        _rename_tombstone(self._ledger, dead, name)


def _write(ledger: Ledger, before: Concept, after: Concept, type_number: int) -> None:
    """Write a concept under its new type and name.

    This is the only place that changes a concept's type.
    """
    number = before.number
    key = concept_key(after.type, after.name)
    seq = _append(ledger, after, key, None)
    ledger.memory.remember(number, key)
    ledger.supersede("concept", number, seq)
    written = after.name, after.attributes_json, after.version, seq, after.updated_us
    ledger.write_over(before, _MOVE, (type_number, *written))
    state = type_number, after.attributes_json, NO_ENDS
    ledger.properties.note(number, ledger.state_of(before), state)
    if (before.name, before.attributes_json) != (after.name, after.attributes_json):
        ledger.dirty_text.add(number)


def _set_aside(ledger: Ledger, dead: Concept, type_number: int) -> None:
    """Rename a tombstone to its own id: its old name is then free."""
    names = (dead.id if n == 0 else f"{dead.id} {n}" for n in count())
    name = next(name for name in names if ledger.row(_IS_TAKEN, (name, type_number)) is None)
    _rename_tombstone(ledger, dead, name)


def _rename_tombstone(ledger: Ledger, dead: Concept, name: str) -> None:
    tombstone = Tombstone(
        dead.tombstoned_us or 0, dead.tombstoned_by or "", dead.tombstoned_reason or ""
    )
    seq = _append(ledger, dead._replace(name=name), concept_key(dead.type, name), tombstone)
    ledger.end_tombstone("concept", dead.number, seq)
    ledger.write(_RENAME_TOMBSTONE, (dead.number, seq, name))


def _append(ledger: Ledger, concept: Concept, key: bytes, tombstone: Tombstone | None) -> int:
    record = record_of(concept, tombstone=tombstone)
    before = ledger.record_at(concept.seq)
    return ledger.append(Kind.MOVE_CONCEPT, concept.number, before, record, "concepts", key)
