"""Entities and relations of the memory server, and what they are in the graph.

    entity      a concept of type `Entity` with its name; the attributes `entityType` and
                `observations` hold the rest. One type for all, because there a name is unique
                whatever the type.
    relation    a proposition. Its predicate is the relation's type, made an identifier: where
                that is another text, the definition keeps the original in `relationType`. Two
                types that would become the same identifier get two predicates.

A proposition never leads from a concept to itself. What an entity is to itself stands in its
attribute `selfRelations`.

A relation may name an entity that nobody has created. It then leads to a placeholder, a concept of
type `MissingEntity` with that name; when the entity is created, `engine.healing` gives it the
placeholder's relations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, Final, NamedTuple
from unicodedata import normalize

from mycel.engine.missing_concepts import ENTITY, MISSING_ENTITY
from mycel.errors import InvalidIdentifier
from mycel.model.elements import Concept
from mycel.model.limits import IDENTIFIER_BYTES_MAX
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE, check_identifier
from mycel.store.write.bulk import ConceptRow
from mycel.store.write.transaction import Transaction

TYPE_KEY: Final = "entityType"
OBSERVATIONS_KEY: Final = "observations"
SELF_KEY: Final = "selfRelations"
RELATION_KEY: Final = "relationType"

_DEFINITION: Final[dict[str, Any]] = {
    "description": "Something with a name that observations are gathered about. The attribute"
    " entityType says what kind of thing it is, observations what is known: one fact each.",
    "instance_schema": {
        TYPE_KEY: {"type": "string", "is_required": False, "description": "What it is."},
        OBSERVATIONS_KEY: {
            "type": "array",
            "is_required": False,
            "description": "What is known about it, one fact each.",
        },
    },
}
_MISSING_DEFINITION: Final[dict[str, Any]] = {
    "description": "An entity that relations name and that nobody has created yet. An Entity that"
    " is created under this name gets these relations.",
}
_TEXT: Final = frozenset((str,))
_NO_IDENTIFIER: Final = re.compile(r"[^A-Za-z0-9_]+")
_ROOM_FOR_A_NUMBER: Final = 12


class Entity(NamedTuple):
    """A name, what kind of thing it is, and what is known about it."""

    name: str
    entity_type: str
    observations: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The entity as the memory server writes it."""
        return {
            "name": self.name,
            "entityType": self.entity_type,
            "observations": list(self.observations),
        }

    def attributes(self) -> dict[str, Any]:
        """What the concept says."""
        return {TYPE_KEY: self.entity_type, OBSERVATIONS_KEY: list(self.observations)}


class Relation(NamedTuple):
    """How one entity is related to another."""

    source: str
    target: str
    relation_type: str

    def to_dict(self) -> dict[str, Any]:
        """The relation as the memory server writes it."""
        return {"from": self.source, "to": self.target, "relationType": self.relation_type}


def entity_fields(name: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """A concept as the memory server writes an entity; what is no text there is left out."""
    kind, found = attributes.get(TYPE_KEY), attributes.get(OBSERVATIONS_KEY)
    if type(found) is not list or not _TEXT.issuperset(map(type, found)):
        found = texts(attributes, OBSERVATIONS_KEY)
    return {
        "name": name,
        "entityType": kind if type(kind) is str else "",
        "observations": found,
    }


def listed(attributes: Mapping[str, Any], key: str) -> list[Any]:
    """All that an attribute lists. Others may have written what is no text, or no list."""
    found = attributes.get(key)
    if isinstance(found, list):
        return found
    return [] if found is None else [found]


def observe(tx: Transaction, concept: Concept, contents: Iterable[str]) -> list[str]:
    """Add observations to an entity. Returns those that were not there."""
    there = listed(concept.attributes, OBSERVATIONS_KEY)
    known = set(texts(concept.attributes, OBSERVATIONS_KEY))
    new = [each for each in contents if each not in known]
    if new:
        tx.update(concept, attributes={OBSERVATIONS_KEY: [*there, *new]})
    return new


def texts(attributes: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """The texts that an attribute lists."""
    return tuple([each for each in listed(attributes, key) if isinstance(each, str)])


def require_entities(tx: Transaction) -> None:
    """See to it that the type of entities is defined."""
    if tx.get_concept(CONCEPT_TYPE, ENTITY) is None:
        tx.define_type(ENTITY, _DEFINITION)


def find_end(tx: Transaction, name: str) -> Concept | None:
    """The entity of a name, or else its placeholder, at which relations end."""
    for kind in (ENTITY, MISSING_ENTITY):
        if tx.reader.find_type(kind) is not None:
            found = tx.get_concept(kind, name)
            if found is not None:
                return found
    return None


def require_placeholders(tx: Transaction, names: Iterable[str]) -> list[str]:
    """Create placeholders for entities that are not there. Returns their ids."""
    wanted = list(names)
    if wanted and tx.get_concept(CONCEPT_TYPE, MISSING_ENTITY) is None:
        tx.define_type(MISSING_ENTITY, _MISSING_DEFINITION)
    return tx.put_concepts(ConceptRow(MISSING_ENTITY, name) for name in wanted)


def predicate_of(tx: Transaction, relation_type: str) -> str | None:
    """The predicate that stands for a type of relation, if there is one."""
    name, is_defined = _predicate(tx, relation_type)
    return name if is_defined else None


def require_predicate(tx: Transaction, relation_type: str) -> str:
    """The predicate that stands for a type of relation, defined if it was not."""
    name, is_defined = _predicate(tx, relation_type)
    if not is_defined:
        said = {} if name == relation_type else {RELATION_KEY: relation_type}
        tx.define_predicate(name, {"description": "Registered on first use.", **said})
    return name


def _predicate(tx: Transaction, relation_type: str) -> tuple[str, bool]:
    """The predicate for a type of relation, and whether it is defined."""
    name = base = as_identifier(relation_type)
    number = 1
    while True:
        definition = tx.get_concept(PROPOSITION_TYPE, name)
        if definition is None:
            return name, False
        means = definition.attributes.get(RELATION_KEY, name)
        if means == relation_type and _admits_entities(definition):
            return name, True
        number += 1
        name = f"{base}_{number}"


def _admits_entities(definition: Concept) -> bool:
    """Whether links with a predicate may lead from entities to entities."""
    for key in ("subject_types", "object_types"):
        types = definition.attributes.get(key)
        if isinstance(types, list) and not {"*", ENTITY} & set(map(str, types)):
            return False
    return True


def as_identifier(text: str) -> str:
    """A text made a name for a predicate; one that is a name already stays as it is.

    >>> as_identifier("works_at"), as_identifier("worked on (2024)"), as_identifier("3rd of")
    ('works_at', 'worked_on_2024', '_3rd_of')
    >>> as_identifier("属于")
    'relation_541d9758'
    """
    try:
        return check_identifier(text, "relation type")
    except InvalidIdentifier:
        plain = normalize("NFKD", text).encode("ascii", "ignore").decode()
    words = _NO_IDENTIFIER.sub("_", plain).strip("_")
    if not words:
        return f"relation_{sha256(text.encode(errors='replace')).hexdigest()[:8]}"
    name = f"_{words}" if words[0].isdigit() else words
    return name[: IDENTIFIER_BYTES_MAX - _ROOM_FOR_A_NUMBER]
