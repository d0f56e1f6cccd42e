"""Entities and relations of the memory server, and their form in the graph.

    entity      a concept with the attributes `entityType` and `observations`. Its type is the
                entity's type, made an identifier: `design pattern` becomes `DesignPattern`. The
                definition of `Entity`, the type of those without one, lists these types. The name
                of an entity is unique among them.
    relation    a link. Its predicate is the relation's type, made an identifier; if that
                changes the text, the definition keeps the original in `relationType`. Two types
                with the same identifier get two predicates.

A link cannot relate a concept to itself; the attribute `selfRelations` has such relations.

A relation to an entity that does not exist leads to a placeholder, a `MissingEntity` of that name.
When the entity is created, `engine.missing_concepts` gives it the placeholder's relations.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from hashlib import sha256
from typing import Any, Final, NamedTuple
from unicodedata import normalize

from mycel.engine.missing_concepts import (
    ENTITY,
    ENTITY_TYPES_KEY,
    MISSING_ENTITY,
    entity_types,
)
from mycel.errors import InvalidIdentifier
from mycel.knowledge.vocabulary import OBSERVATIONS_KEY
from mycel.model import ids
from mycel.model.elements import Concept
from mycel.model.limits import IDENTIFIER_BYTES_MAX
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE, check_identifier
from mycel.model.values import parse_object
from mycel.store.query import lookup
from mycel.store.query.bulk import members
from mycel.store.query.bulk.members import Member
from mycel.store.query.reader import Reader
from mycel.store.write.bulk import ConceptRow, PropositionRow
from mycel.store.write.transaction import Transaction

TYPE_KEY: Final = "entityType"
SELF_KEY: Final = "selfRelations"
RELATION_KEY: Final = "relationType"

PERSON: Final = "Person"
"""The core type for entities of the entity type `person`."""

_DEFINITION: Final[dict[str, Any]] = {
    "description": "A named thing. Its attributes are entityType, the kind of thing, and"
    " observations, the known facts about it.",
    "instance_schema": {
        TYPE_KEY: {"type": "string", "is_required": False, "description": "Kind of thing."},
        OBSERVATIONS_KEY: {
            "type": "array",
            "is_required": False,
            "description": "Known facts, one each.",
        },
    },
}
_MISSING_DEFINITION: Final[dict[str, Any]] = {
    "description": "A placeholder for an entity that relations name and that does not exist yet. An"
    " Entity created under this name gets its relations."
}
_NO_IDENTIFIER: Final = re.compile(r"[^A-Za-z0-9_]+")
_ROOM_FOR_A_NUMBER: Final = 12


class Entity(NamedTuple):
    """An entity: its name, its type, and its observations."""

    name: str
    entity_type: str
    observations: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The entity in the JSON form of the memory server."""
        return {
            "name": self.name,
            "entityType": self.entity_type,
            "observations": list(self.observations),
        }

    def attributes(self) -> dict[str, Any]:
        """The attributes of the entity's concept."""
        return {TYPE_KEY: self.entity_type, OBSERVATIONS_KEY: list(self.observations)}


class EntityRelation(NamedTuple):
    """A relation between two entities, by their names."""

    source: str
    target: str
    relation_type: str

    def to_dict(self) -> dict[str, Any]:
        """The relation in the JSON form of the memory server."""
        return {"from": self.source, "to": self.target, "relationType": self.relation_type}


def entity_of(name: str, attributes: Mapping[str, Any]) -> Entity:
    """The entity of a concept; attributes that are no texts are left out."""
    return Entity(name, _kind(attributes), texts(attributes, OBSERVATIONS_KEY))


def entity_fields(name: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The result of `entity_of(name, attributes).to_dict()`, without an `Entity`."""
    return {
        "name": name,
        "entityType": _kind(attributes),
        "observations": list(texts(attributes, OBSERVATIONS_KEY)),
    }


def _kind(attributes: Mapping[str, Any]) -> str:
    kind = attributes.get(TYPE_KEY)
    return kind if isinstance(kind, str) else ""


def attribute_items(attributes: Mapping[str, Any], key: str) -> list[Any]:
    """The items of an attribute. KIP may have stored items that are no texts, or no list."""
    attribute = attributes.get(key)
    if isinstance(attribute, list):
        return attribute
    return [] if attribute is None else [attribute]


def observe(tx: Transaction, concept: Concept, contents: Iterable[str]) -> list[str]:
    """Add observations to an entity. Returns the new ones."""
    items = attribute_items(concept.attributes, OBSERVATIONS_KEY)
    observations = set(texts(concept.attributes, OBSERVATIONS_KEY))
    new = [content for content in contents if content not in observations]
    if new:
        tx.update(concept, attributes={OBSERVATIONS_KEY: [*items, *new]})
    return new


def texts(attributes: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """The items of an attribute that are texts."""
    return tuple([item for item in attribute_items(attributes, key) if isinstance(item, str)])


def relate_to_itself(tx: Transaction, ref: str, relation_types: Iterable[str]) -> list[str]:
    """Relate an entity to itself. Returns the types of the new relations."""
    stored = texts(tx.get(ref).attributes, SELF_KEY)
    stored_types = set(stored)
    new = [
        type_name for type_name in dict.fromkeys(relation_types) if type_name not in stored_types
    ]
    if new:
        tx.update(ref, attributes={SELF_KEY: [*stored, *new]})
    return new


def require_types(tx: Transaction, texts_of_types: Iterable[str]) -> dict[str, str]:
    """The concept type of each entity type; missing types are defined."""
    definition = tx.get_concept(CONCEPT_TYPE, ENTITY)
    if definition is None:
        tx.define_type(ENTITY, _DEFINITION)
    types = entity_types(definition)
    new = sorted(set(texts_of_types) - types.keys())
    for text in new:
        types[text] = _define(tx, text, {ENTITY, PERSON, *types.values()})
    if new:
        tx.update((CONCEPT_TYPE, ENTITY), attributes={ENTITY_TYPES_KEY: types})
    return types


def _define(tx: Transaction, text: str, ours: Set[str]) -> str:
    """Define the concept type of a new entity type; `ours` may have several entity types.

    A type that somebody else defined is not used, because its rules were not made for entities.
    """
    name = base = as_type_name(text)
    number = 1
    while tx.get_concept(CONCEPT_TYPE, name) is not None:
        if name in ours:
            return name
        name = f"{base}Entity" if number == 1 else f"{base}Entity{number}"
        number += 1
    tx.define_type(name, {**_DEFINITION, "description": f"Entities of the type {text!r}."})
    return name


def as_type_name(text: str) -> str:
    """An entity type as the name of a concept type.

    >>> as_type_name("person"), as_type_name("design pattern"), as_type_name("3D-model")
    ('Person', 'DesignPattern', '_3DModel')
    >>> as_type_name(""), as_type_name("人")
    ('Entity', 'Entity_50f5d65d')
    """
    plain = normalize("NFKD", text).encode("ascii", "ignore").decode()
    words = [word for word in _NO_IDENTIFIER.split(plain) if word]
    name = "".join(word[0].upper() + word[1:] for word in words)
    if not name.strip("_"):
        digest = sha256(text.encode(errors="replace")).hexdigest()[:8]
        return f"{ENTITY}_{digest}" if text.strip() else ENTITY
    name = f"_{name}" if name[0].isdigit() else name
    return name[: IDENTIFIER_BYTES_MAX - _ROOM_FOR_A_NUMBER]


def type_numbers(reader: Reader) -> list[int]:
    """The types of entities, by their numbers."""
    definition = reader.find_concept(CONCEPT_TYPE, ENTITY)
    names = {ENTITY, *entity_types(definition).values()}
    return [number for name in names if (number := reader.find_type(name)) is not None]


def entities_among(reader: Reader, rows: Iterable[Member]) -> Iterator[Member]:
    """The entities among concepts of entity types: a Person without observations is no entity."""
    person = reader.find_type(PERSON)
    for row in rows:
        if row.type_number != person or OBSERVATIONS_KEY in parse_object(row.attributes):
            yield row


def find_entity(tx: Transaction, name: str) -> Concept | None:
    for kind in {ENTITY, *entity_types(tx.get_concept(CONCEPT_TYPE, ENTITY)).values()}:
        concept = None if tx.reader.find_type(kind) is None else tx.get_concept(kind, name)
        if concept is not None and (kind != PERSON or OBSERVATIONS_KEY in concept.attributes):
            return concept
    return None


def find_end(tx: Transaction, name: str) -> Concept | None:
    """The concept of the entity with a name, or its placeholder."""
    concept = find_entity(tx, name)
    if concept is None and tx.reader.find_type(MISSING_ENTITY) is not None:
        return tx.get_concept(MISSING_ENTITY, name)
    return concept


def require_placeholders(tx: Transaction, names: Iterable[str]) -> list[str]:
    """Create placeholders for missing entities. Returns their ids."""
    name_list = list(names)
    if name_list and tx.get_concept(CONCEPT_TYPE, MISSING_ENTITY) is None:
        tx.define_type(MISSING_ENTITY, _MISSING_DEFINITION)
    return tx.put_concepts(ConceptRow(MISSING_ENTITY, name) for name in name_list)


def put_entities(tx: Transaction, entities: Iterable[Entity]) -> list[Entity]:
    """Create the entities whose names do not exist. Returns the new ones, one for each name."""
    by_name: dict[str, Entity] = {}
    for entity in entities:
        by_name.setdefault(entity.name, entity)
    numbers = _numbers(tx.reader, type_numbers(tx.reader), by_name)
    new = [entity for name, entity in by_name.items() if name not in numbers]
    types = require_types(tx, {entity.entity_type for entity in new})
    tx.put_concepts(
        ConceptRow(types[entity.entity_type], entity.name, entity.attributes()) for entity in new
    )
    return new


def put_relations(tx: Transaction, relations: Iterable[EntityRelation]) -> list[EntityRelation]:
    """Create the relations that do not exist, between entities or placeholders. Returns them."""
    ordered = list(dict.fromkeys(relations))
    ends = _ends(tx, {name for relation in ordered for name in relation[:2]})
    links: dict[tuple[int, int, int], tuple[EntityRelation, PropositionRow]] = {}
    own: dict[int, dict[str, EntityRelation]] = {}
    for relation in ordered:
        source, target = ends[relation.source], ends[relation.target]
        if source == target:
            own.setdefault(source, {})[relation.relation_type] = relation
            continue
        predicate = require_predicate(tx, relation.relation_type)
        row = PropositionRow(ids.concept_id(source), predicate, ids.concept_id(target))
        links[source, tx.reader.predicate_number(predicate), target] = relation, row
    stored = lookup.links_between(tx.reader, list(links))
    fresh = [link for key, link in links.items() if key not in stored]
    tx.put_propositions(row for _, row in fresh)
    new = {relation for relation, _ in fresh}
    for number, by_type in own.items():
        new_types = relate_to_itself(tx, ids.concept_id(number), by_type)
        new.update(by_type[relation_type] for relation_type in new_types)
    return [relation for relation in ordered if relation in new]


def _ends(tx: Transaction, names: set[str]) -> dict[str, int]:
    """The numbers of entities or of their placeholders, created where needed.

    Until the commit, the relations of a new entity are at its placeholder.
    """
    reader = tx.reader
    missing = reader.find_type(MISSING_ENTITY)
    ends = _numbers(reader, type_numbers(reader), names)
    ends |= {} if missing is None else _numbers(reader, [missing], names)
    absent = sorted(names - ends.keys())
    return ends | dict(
        zip(absent, map(ids.parse_id, require_placeholders(tx, absent)), strict=True)
    )


def _numbers(reader: Reader, types: Collection[int], names: Collection[str]) -> dict[str, int]:
    """The numbers of the entities or placeholders that have one of these names."""
    rows = entities_among(reader, members.find_by_name(reader, types, names))
    return {row.name: row.number for row in rows}


def predicate_of(tx: Transaction, relation_type: str) -> str | None:
    """The predicate of a relation type; None if it is not defined."""
    name, is_defined = _predicate(tx, relation_type)
    return name if is_defined else None


def require_predicate(tx: Transaction, relation_type: str) -> str:
    """The predicate of a relation type; a missing one is defined."""
    name, is_defined = _predicate(tx, relation_type)
    if not is_defined:
        payload = {} if name == relation_type else {RELATION_KEY: relation_type}
        tx.define_predicate(name, {"description": "Registered on first use.", **payload})
    return name


def _predicate(tx: Transaction, relation_type: str) -> tuple[str, bool]:
    """The predicate of a relation type, and True if it is defined already."""
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
    """True if the definition of a predicate lets it join entities."""
    for key in ("subject_types", "object_types"):
        types = definition.attributes.get(key)
        if isinstance(types, list) and "*" not in types:
            return False
    return True


def as_identifier(text: str) -> str:
    """A text in the form of a predicate name; a valid name stays unchanged.

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
