"""Links to what nobody has written yet, and how they heal, whatever door the concept comes through.

A relation of the knowledge engine may lead to a concept that is not there. It then leads to a
*placeholder* under the concept's URI: a concept of the type `Missing`. A relation of the memory
server's tools leads to a placeholder under the entity's name: a concept of the type
`MissingEntity`. As soon as the concept or entity of that name is written, in KIP, by a load or in
Python, the links on the placeholder are its own, and the placeholder goes. The guard here only
notes names; it heals once, just before the commit.

Graphs that never had a placeholder pay nothing.
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

SCHEME: Final = "concept://"
"""What their names begin with; whatever else is of this type is somebody's own."""

ENTITY: Final = "Entity"
"""The type of the memory server's entities."""

MISSING_ENTITY: Final = "MissingEntity"
"""The type of placeholders for entities, under any name."""


def is_placeholder(element: Element | None) -> bool:
    """Whether an element only keeps a place for a concept that nobody has written yet."""
    return isinstance(element, Concept) and keeps_place(element.type, element.name)


def keeps_place(type_name: str, name: str) -> bool:
    """Whether a concept of this type and name is a placeholder."""
    return type_name == MISSING_ENTITY or (type_name == MISSING and name.startswith(SCHEME))


def merge_placeholder(tx: Transaction, placeholder: int, into: Concept) -> None:
    """Let the links on a placeholder lead to a concept instead, and remove the placeholder.

    A link that the concept has already, or that would lead from it to itself, goes. Attributes of
    the placeholder that the concept lacks become its own.
    """
    outer = ids.concept_id(placeholder)
    said = tx.get(outer).attributes
    tx.update(into.id, attributes={key: said[key] for key in said.keys() - into.attributes.keys()})
    for number in tx.reader.touching(placeholder):
        link = tx.reader.proposition(number)
        if link is None:
            continue
        source = into.id if link.subject == outer else None
        target = into.id if link.object == outer else None
        if (source or link.subject) == (target or link.object):
            continue
        try:
            tx.relink(link.id, subject=source, object_=target)
        except DuplicateExists:
            continue
    tx.retire(outer, reason=f"written as {into.id}")


class HealingGuard:
    """Gives the links of a placeholder to the concept that was missing."""

    in_bulk = True  # It looks at names only.

    def concerns(self, tx: Transaction, type_or_predicate: str, *, link: bool) -> bool:
        """Whether concepts of this type may be what was missing."""
        if link or type_or_predicate in (MISSING, MISSING_ENTITY, CONCEPT_TYPE, PROPOSITION_TYPE):
            return False
        kinds = (MISSING, MISSING_ENTITY) if type_or_predicate == ENTITY else (MISSING,)
        return any(tx.reader.find_type(kind) for kind in kinds)

    def check(self, tx: Transaction, change: Change) -> None:
        """Note the name of a concept that is new, or has another name or type."""
        name, before = change.name_or_ends, change.before
        if change.kind == "retire" or not isinstance(name, str):
            return
        if not name.startswith(SCHEME) and change.type_or_predicate != ENTITY:
            return
        if isinstance(before, Concept) and (before.name, before.type) == (
            name,
            change.type_or_predicate,
        ):
            return
        tx.memo.setdefault(HealingGuard, set()).add(name)

    def check_commit(self, tx: Transaction) -> None:
        """Heal what can be healed now."""
        names = tx.memo.pop(HealingGuard, ())
        if not names:
            return
        reader = tx.reader
        entity, missing, missing_entity = (
            reader.find_type(name) for name in (ENTITY, MISSING, MISSING_ENTITY)
        )
        pairs = []
        if missing is not None:
            pairs += lookup.twins(reader, missing, names)
        if missing_entity is not None and entity is not None:
            pairs += lookup.twins(reader, missing_entity, names, other=entity)
        for placeholder, written in pairs:
            into = reader.concept(written)
            if into is not None and is_placeholder(reader.concept(placeholder)):
                merge_placeholder(tx, placeholder, into)
