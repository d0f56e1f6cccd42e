"""Writing what a schema declares into the definitions of the graph.

A definition that is there already, because KIP made it or an earlier schema did, keeps whatever the
schema does not own: its metadata, its links, the attributes that people and models gave it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from mycel.engine.protection import ACTORS
from mycel.model.elements import Concept
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE
from mycel.schema.catalog import Catalog
from mycel.schema.model import DESCRIPTION, EdgeType, Interface, SchemaType
from mycel.schema.stored import (
    OWNED,
    PG,
    PG_DROPPED,
    attributes_of,
    declaration,
    stated_description,
)
from mycel.store import instances
from mycel.store.transaction import Transaction

RENAMED: Final = "renamed"
_ENDS: Final = ("subject_types", "object_types")


def place_of(declared: SchemaType) -> tuple[str, str]:
    """The meta-type and the name of the concept that defines it."""
    if isinstance(declared, EdgeType):
        return PROPOSITION_TYPE, declared.kip_name
    return CONCEPT_TYPE, kip_name(declared)


def kip_name(declared: SchemaType) -> str:
    """What a type is called in KIP."""
    return declared.name if isinstance(declared, Interface) else declared.kip_name


def existing(tx: Transaction, declared: SchemaType) -> Concept | None:
    """The live definition, whoever made it."""
    return tx.get_concept(*place_of(declared))


def number_of(tx: Transaction, declared: SchemaType) -> int:
    """The number under which instances of a defined type, or links of a predicate, are stored."""
    ledger = tx.ledger
    if isinstance(declared, EdgeType):
        return ledger.registry.predicate_number(ledger.connection, declared.kip_name)
    return ledger.registry.type_number(ledger.connection, kip_name(declared))


class Definitions:
    """Writes the definitions of one catalog."""

    def __init__(self, tx: Transaction, catalog: Catalog) -> None:
        self._tx: Final = tx
        self._kip_names: Final = {each.name: each.kip_name for each in catalog.nodes.values()}

    def write(
        self,
        declared: SchemaType,
        dropped: Iterable[Mapping[str, Any]] = (),
        base: Mapping[str, Any] | None = None,
    ) -> None:
        """Make the definition say what is declared. `base` are attributes of one that is new."""
        wanted = attributes_of(declared, self._kip_names, dropped)
        found = existing(self._tx, declared)
        if found is None:
            self._tx.put_concept(*place_of(declared), {**(base or {}), **wanted})
            return
        said = found.attributes
        self._tx.update(
            found,
            attributes={key: wanted[key] for key in wanted if wanted[key] != said.get(key)},
            drop_attributes=[
                key for key in (*_owned(said), PG_DROPPED) if key in said and key not in wanted
            ],
        )

    def rename(self, before: SchemaType, after: SchemaType) -> None:
        """Give a type another name in KIP: a new definition in the place of the old one.

        Instances are still to be moved; `retire` then removes the old definition.
        """
        old = existing(self._tx, before)
        if old is None:
            return
        said = old.attributes
        self.write(after, base={key: said[key] for key in said if key not in _owned(said)})
        new = existing(self._tx, after)
        if new is None:
            return
        reader = self._tx.ledger.reader
        for number in reader.touching(old.number):
            link = reader.proposition(number)
            if link is not None:
                self._tx.relink(
                    link,
                    subject=new if link.subject == old.id else None,
                    object_=new if link.object == old.id else None,
                )

    def retire(self, declared: SchemaType, *, reason: str, remember: bool) -> None:
        """Remove a definition. One that is remembered can be restored.

        The definition of what cannot go, the two actors, stays and is flexible again.
        """
        found = existing(self._tx, declared)
        if found is None:
            return
        if any(type_name == found.name for type_name, _ in ACTORS):
            self._release(found, remember=remember)
            return
        if not remember:
            self._tx.update(found, drop_attributes=[PG])
        self._tx.retire(found.id, reason=reason)

    def _release(self, found: Concept, *, remember: bool) -> None:
        said, ledger = found.attributes, self._tx.ledger
        memory = {"declaration": said[PG], "first": ledger.first_seq, "last": ledger.head.seq}
        self._tx.update(
            found,
            attributes={PG_DROPPED: memory} if remember else None,
            drop_attributes=[key for key in _owned(said) if key in said],
        )

    def follow(self, renamed: Mapping[str, str]) -> None:
        """Let flexible predicates that name a renamed type among their ends name it anew."""
        if not renamed:
            return
        ledger = self._tx.ledger
        number = ledger.registry.type_number(ledger.connection, PROPOSITION_TYPE)
        found = instances.numbers(ledger.connection, "concept", number)
        for chunk in instances.chunks(ledger.connection, "concept", found):
            for each in chunk:
                said = each.attributes
                changed = {
                    key: [renamed.get(name, name) for name in said[key]]
                    for key in _ENDS
                    if PG not in said
                    and isinstance(said.get(key), list)
                    and any(isinstance(name, str) and name in renamed for name in said[key])
                }
                if changed:
                    self._tx.update(ledger.reader.outer_id(each.number), attributes=changed)


def _owned(said: Mapping[str, Any]) -> tuple[str, ...]:
    """The attributes of a definition that the schema in force wrote."""
    declared = declaration(said)
    if declared is not None and stated_description(declared):
        return (*OWNED, DESCRIPTION)
    return OWNED
