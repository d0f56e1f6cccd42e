"""Placeholders for missing concepts, and the guard that replaces them.

A relation of the knowledge API may refer to a concept that does not exist. The end of its link is
then a concept of the type `Missing` whose name is the URI. For a relation of the memory server's
tools, the placeholder has the type `MissingEntity` and the name of the entity; the definition of
`Entity` lists the types of entities. When the concept or entity is written, through any door, the
commit moves the links to it and removes the placeholder.
"""

from __future__ import annotations

from typing import Final

from mycel.errors import DuplicateExists
from mycel.model import ids
from mycel.model.elements import Concept, Element
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE
from mycel.store.query import lookup
from mycel.store.write.guards import Change
from mycel.store.write.transaction import Transaction

MISSING: Final = "Missing"
"""The type of placeholders."""

MISSING_DEFINITION: Final = {
    "description": "A placeholder for a concept that relations name and that does not exist"
    " yet. Adding the concept under its URI replaces the placeholder, and the relations stay."
}

SCHEME: Final = "concept://"

ENTITY: Final = "Entity"
"""The type of the memory server's entities."""

MISSING_ENTITY: Final = "MissingEntity"
"""The type of placeholders for entities, under any name."""

ENTITY_TYPES_KEY: Final = "entity_types"
"""The attribute of the definition of `Entity` with the concept type of each entity type."""


def entity_types(definition: Concept | None) -> dict[str, str]:
    """The concept type of each entity type, from the definition of `Entity`."""
    types = None if definition is None else definition.attributes.get(ENTITY_TYPES_KEY)
    if not isinstance(types, dict):
        return {}
    return {text: name for text, name in types.items() if isinstance(name, str)}


def is_placeholder(element: Element | None) -> bool:
    """True if the concept is a placeholder for an unwritten concept."""
    return isinstance(element, Concept) and keeps_place(element.type, element.name)


def keeps_place(type_name: str, name: str) -> bool:
    """True if the type and name are those of a placeholder."""
    return type_name == MISSING_ENTITY or (type_name == MISSING and name.startswith(SCHEME))


def merge_placeholder(tx: Transaction, placeholder: int, into: Concept) -> None:
    """Move the links on a placeholder to a concept, and remove the placeholder.

    A link is removed instead if the concept has the same link already, or if it would join the
    concept to itself. The concept takes over the attributes that it lacks.
    """
    outer = ids.concept_id(placeholder)
    payload = tx.get(outer).attributes
    tx.update(
        into.id, attributes={key: payload[key] for key in payload.keys() - into.attributes.keys()}
    )
    for link in tx.reader.touching_links(placeholder):
        source = into.id if link.subject == outer else None
        target = into.id if link.object == outer else None
        if (source or link.subject) == (target or link.object):
            continue
        try:
            tx.relink(link.id, subject=source, object_=target)
        except DuplicateExists:
            continue
    tx.retire(outer, reason=f"written as {into.id}")


def _entity_type_names(tx: Transaction) -> set[str]:
    """The concept types of entities and of their placeholders."""
    definition = tx.get_concept(CONCEPT_TYPE, ENTITY)
    return {ENTITY, MISSING_ENTITY, *entity_types(definition).values()}


def _is_entity_type(tx: Transaction, type_name: str) -> bool:
    if type_name in (ENTITY, MISSING_ENTITY):
        return True
    return tx.reader.find_type(MISSING_ENTITY) is not None and type_name in _entity_type_names(tx)


class HealingGuard:
    """Moves the links of a placeholder to the concept that was missing."""

    in_bulk = True  # The check reads names only.

    def concerns(self, tx: Transaction, type_or_predicate: str, *, link: bool) -> bool:
        """True if a concept of this type may replace a placeholder or be a placeholder."""
        if link or type_or_predicate in (CONCEPT_TYPE, PROPOSITION_TYPE):
            return False
        kinds = (MISSING, MISSING_ENTITY) if _is_entity_type(tx, type_or_predicate) else (MISSING,)
        return any(tx.reader.find_type(kind) for kind in kinds)

    def check(self, tx: Transaction, change: Change) -> None:
        """Note the name of a concept or placeholder that is new, renamed or of another type."""
        name, before = change.name_or_ends, change.before
        if change.kind == "retire" or not isinstance(name, str):
            return
        if not name.startswith(SCHEME) and not _is_entity_type(tx, change.type_or_predicate):
            return
        if isinstance(before, Concept) and (before.name, before.type) == (
            name,
            change.type_or_predicate,
        ):
            return
        tx.memo.setdefault(HealingGuard, set()).add(name)

    def check_commit(self, tx: Transaction) -> None:
        """Replace the placeholders of the noted names."""
        names = tx.memo.pop(HealingGuard, ())
        if not names:
            return
        reader = tx.reader
        missing, missing_entity = map(reader.find_type, (MISSING, MISSING_ENTITY))
        pairs = []
        if missing is not None:
            pairs += lookup.twins(reader, missing, names)
        if missing_entity is not None:
            numbers = {reader.find_type(name) for name in _entity_type_names(tx)} - {missing_entity}
            pairs += lookup.twins(reader, missing_entity, names, others=numbers - {None})
        for placeholder, written in pairs:
            into = reader.concept(written)
            if into is not None and is_placeholder(reader.concept(placeholder)):
                merge_placeholder(tx, placeholder, into)
