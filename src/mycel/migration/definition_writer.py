"""Writes the declarations of a schema into the definitions of the graph.

A definition that KIP or an earlier schema made keeps everything that the schema does not own: its
metadata, its links, and the attributes that people and models gave it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from mycel.engine.protection_guard import ACTORS
from mycel.errors import ResourceExhausted
from mycel.model.elements import Concept
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE
from mycel.model.values import own_metadata
from mycel.schema.catalog import Catalog
from mycel.schema.model import EdgeType, SchemaType
from mycel.schema.stored_declaration import (
    OWNED,
    PG,
    PG_DROPPED,
    attributes_of,
    declaration,
    owned_attributes,
    type_memory,
)
from mycel.store.file.layout import Table
from mycel.store.query.bulk import instances
from mycel.store.write.transaction import Transaction

_ENDS: Final = ("subject_types", "object_types")


def place_of(schema_type: SchemaType) -> tuple[str, str]:
    """The meta-type and name of the concept that defines a type."""
    meta_type = PROPOSITION_TYPE if isinstance(schema_type, EdgeType) else CONCEPT_TYPE
    return meta_type, schema_type.kip_name


def existing(tx: Transaction, schema_type: SchemaType) -> Concept | None:
    """The live definition of a type, from a schema or from KIP."""
    return tx.get_concept(*place_of(schema_type))


def table_of(schema_type: SchemaType) -> Table:
    """The table of the instances of a type."""
    return "proposition" if isinstance(schema_type, EdgeType) else "concept"


def number_of(tx: Transaction, schema_type: SchemaType) -> int:
    """The number under which instances of a defined type, or links of a predicate, are stored."""
    if isinstance(schema_type, EdgeType):
        return tx.reader.predicate_number(schema_type.kip_name)
    return tx.reader.type_number(schema_type.kip_name)


class DefinitionWriter:
    """Writes the definitions of one catalog."""

    def __init__(self, tx: Transaction, catalog: Catalog) -> None:
        self._tx: Final = tx
        self._nodes: Final = catalog.nodes

    def write(
        self,
        schema_type: SchemaType,
        dropped: Iterable[Mapping[str, Any]] = (),
        base: Concept | None = None,
    ) -> None:
        """Write a declaration into its definition.

        A new definition keeps other attributes of `base`.
        """
        concept = existing(self._tx, schema_type)
        attributes = attributes_of(schema_type, self._nodes, dropped, _adopted(concept or base))
        try:
            self._write(schema_type, concept, base, attributes)
        except ResourceExhausted as error:
            error.message = (
                f"The declaration of {schema_type.name} cannot be stored: {error.message}"
            )
            error.hint = "Declare fewer properties, or shorter descriptions."
            raise

    def _write(
        self,
        schema_type: SchemaType,
        definition: Concept | None,
        base: Concept | None,
        attributes: dict[str, Any],
    ) -> None:
        if definition is None:
            base_attributes = {} if base is None else base.attributes
            others = {
                key: base_attributes[key]
                for key in base_attributes
                if key not in (*_owned(base_attributes), PG_DROPPED)
            }
            metadata = {} if base is None else own_metadata(base.metadata)
            self._tx.put_concept(*place_of(schema_type), {**others, **attributes}, metadata)
            return
        payload = definition.attributes
        self._tx.update(
            definition,
            attributes={
                key: attributes[key] for key in attributes if attributes[key] != payload.get(key)
            },
            drop_attributes=[
                key
                for key in (*_owned(payload), PG_DROPPED)
                if key in payload and key not in attributes
            ],
        )

    def rename(self, before: SchemaType, after: SchemaType) -> None:
        """Give a type another name in KIP: a new definition, with the links of the old one."""
        old = existing(self._tx, before)
        if old is None:
            return
        self.write(after, base=old)
        new = existing(self._tx, after)
        if new is None:
            return
        for link in self._tx.reader.touching_links(old.number):
            subject = new.id if link.subject == old.id else link.subject
            object_ = new.id if link.object == old.id else link.object
            # A link that the new definition already has is removed with the old definition.
            if self._tx.get_edge(subject, link.predicate, object_) is None:
                self._tx.relink(link, subject=subject, object_=object_)

    def retire(self, schema_type: SchemaType, *, reason: str, remember: bool) -> None:
        """Remove a definition. A remembered definition can be restored.

        The definition of the two actors stays, and becomes flexible again.
        """
        concept = existing(self._tx, schema_type)
        if concept is None:
            return
        if any(type_name == concept.name for type_name, _ in ACTORS):
            self._release(concept, remember=remember)
            return
        if not remember:
            self._tx.update(concept, drop_attributes=[PG])
        self._tx.retire(concept.id, reason=reason)

    def _release(self, definition: Concept, *, remember: bool) -> None:
        payload = definition.attributes
        before = _adopted(definition) or {}
        memory = type_memory(payload[PG], self._tx.first_seq - 1, self._tx.time_us)
        self._tx.update(
            definition,
            attributes={**before, PG_DROPPED: memory} if remember else before,
            drop_attributes=[
                key for key in _owned(payload) if key in payload and key not in before
            ],
        )

    def follow(self, renamed: Mapping[str, str]) -> None:
        """Replace the old name of a renamed type in the ends of flexible predicates."""
        if not renamed:
            return
        number = self._tx.reader.type_number(PROPOSITION_TYPE)
        for row in instances.rows(self._tx.reader, "concept", number):
            payload = row.attributes
            changed = {
                key: [renamed.get(name, name) for name in payload[key]]
                for key in _ENDS
                if PG not in payload
                and isinstance(payload.get(key), list)
                and any(isinstance(name, str) and name in renamed for name in payload[key])
            }
            if changed:
                self._tx.update(self._tx.reader.outer_id(row.number), attributes=changed)


def _adopted(definition: Concept | None) -> dict[str, Any] | None:
    """The attributes that a definition had before a schema owned them."""
    payload = {} if definition is None else definition.attributes
    if declaration(payload) is not None:
        adopted: dict[str, Any] | None = payload[PG].get("adopted")
        return adopted
    return {key: payload[key] for key in OWNED if key in payload and key != PG} or None


def _owned(attributes: Mapping[str, Any]) -> tuple[str, ...]:
    """The attributes of a definition that the schema in force wrote."""
    schema_type = declaration(attributes)
    return OWNED if schema_type is None else owned_attributes(schema_type)
