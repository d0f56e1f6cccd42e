"""Operations on entities and relations, as the official memory server defines them.

Creating an existing entity, relation or observation does nothing, and neither does opening or
deleting a missing one. Observations of a missing entity are refused. Each call is one transaction.

Answers are in the order of creation. An answer that is too large for a model is cut, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from mycel.api.graph import Graph
from mycel.engine.missing_concepts import MISSING_ENTITY
from mycel.errors import NotFound
from mycel.knowledge.memory.entities import (
    RELATION_KEY,
    SELF_KEY,
    Entity,
    EntityRelation,
    attribute_items,
    entities_among,
    entity_fields,
    entity_of,
    find_end,
    find_entity,
    observe,
    predicate_of,
    put_entities,
    put_relations,
    texts,
    type_numbers,
)
from mycel.knowledge.relation_writer import placeholders_of, sweep
from mycel.knowledge.vocabulary import OBSERVATIONS_KEY
from mycel.model.elements import Concept
from mycel.model.names import shorten
from mycel.model.values import parse_object
from mycel.store.query.bulk import members
from mycel.store.query.bulk.members import Member
from mycel.store.query.reader import Reader
from mycel.store.write.transaction import Transaction

ANSWER_CHARACTERS_MAX: Final = 50_000
"""The maximum number of characters of an answer as indented JSON: about 12,500 tokens, and twice
that where a client also shows the structured content to a model."""

WHOLE_CHARACTERS_MAX: Final = 16 << 20
"""The maximum number of characters of the whole graph as a resource."""

_ENTITIES_SHARE: Final = 0.75
"""The part of a cut answer that is for entities. The rest is for relations."""
_PAGE: Final = 500

EntityNames = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Entities and relations, with a sentence about those left out, if there are any."""

    members: Sequence[Member]
    links: Sequence[tuple[str, str, str]]
    """The relations: source, target and type of each."""
    cut: str | None = None

    @property
    def entities(self) -> tuple[Entity, ...]:
        return tuple([_entity(member) for member in self.members])

    @property
    def relations(self) -> tuple[EntityRelation, ...]:
        return tuple(map(EntityRelation._make, self.links))

    def to_dict(self) -> dict[str, Any]:
        """The graph as the memory server writes it.

        The graph is made from rows directly. With an object for each entity and relation, the whole
        graph would take a third longer than in the official server.
        """
        return {
            "entities": [
                entity_fields(member.name, parse_object(member.attributes))
                for member in self.members
            ],
            "relations": [
                {"from": source, "to": target, "relationType": relation_type}
                for source, target, relation_type in self.links
            ],
        }


class EntityGraph:
    def __init__(self, db: Graph, *, characters_max: int = ANSWER_CHARACTERS_MAX) -> None:
        self._db = db
        self._characters_max = characters_max

    # Writing.

    def create_entities(self, entities: Iterable[Entity]) -> list[Entity]:
        """Create entities whose names do not exist. Returns the new ones."""
        batch = list(entities)
        return self._db.write(lambda tx: put_entities(tx, batch)) if batch else []

    def create_relations(self, relations: Iterable[EntityRelation]) -> list[EntityRelation]:
        """Create relations; missing ends get placeholders. Returns the new ones."""
        batch = list(relations)
        return self._db.write(lambda tx: put_relations(tx, batch)) if batch else []

    def add_observations(
        self, additions: Iterable[tuple[str, Sequence[str]]]
    ) -> list[tuple[str, list[str]]]:
        """Add observations to entities. Returns the new observations of each entity.

        Raises:
            NotFound: an entity does not exist. Nothing is added then.
        """
        batch = list(additions)

        def work(tx: Transaction) -> list[tuple[str, list[str]]]:
            return [(name, observe(tx, _require(tx, name), contents)) for name, contents in batch]

        return self._db.write(work) if batch else []

    def delete_entities(self, names: Iterable[str]) -> tuple[EntityNames, EntityNames]:
        """Delete entities, or their placeholders, with all their relations.

        Returns the deleted names, and the names that do not exist.
        """
        name_list = list(dict.fromkeys(names))

        def work(tx: Transaction) -> tuple[EntityNames, EntityNames]:
            concepts = {name: end for name in name_list if (end := find_end(tx, name)) is not None}
            for end in concepts.values():
                others = _placeholders_near(tx, end)
                tx.retire(end, reason="delete_entities")
                sweep(tx, others)
            deleted = [
                name
                for name in name_list
                if name in concepts and concepts[name].type != MISSING_ENTITY
            ]
            return tuple(deleted), tuple(name for name in name_list if name not in deleted)

        return self._db.write(work) if name_list else ((), ())

    def delete_observations(
        self, deletions: Iterable[tuple[str, Collection[str]]]
    ) -> tuple[int, tuple[str, ...]]:
        """Delete observations. Returns their number, and the names that do not exist."""
        batch = list(deletions)

        def work(tx: Transaction) -> tuple[int, tuple[str, ...]]:
            count = 0
            missing = []
            for name, contents in batch:
                concept = find_entity(tx, name)
                if concept is None:
                    missing.append(name)
                    continue
                removals = set(contents)
                before = attribute_items(concept.attributes, OBSERVATIONS_KEY)
                rest = [
                    observation
                    for observation in before
                    if not (isinstance(observation, str) and observation in removals)
                ]
                if len(rest) < len(before):
                    tx.update(concept, attributes={OBSERVATIONS_KEY: rest})
                count += len(before) - len(rest)
            return count, tuple(missing)

        return self._db.write(work) if batch else (0, ())

    def delete_relations(self, relations: Iterable[EntityRelation]) -> int:
        """Delete relations. Returns the number of relations that existed."""
        entity_relations = list(dict.fromkeys(relations))

        def work(tx: Transaction) -> int:
            return sum(_unrelate(tx, entity_relation) for entity_relation in entity_relations)

        return self._db.write(work) if entity_relations else 0

    # Reading.

    def read_graph(self, *, characters_max: int | None = None) -> Subgraph:
        """All entities and relations, or as many as fit."""
        with self._db.reading() as reader:
            return self._answer(
                reader,
                _every_member(reader, type_numbers(reader)),
                both_ways=False,
                more="There are more: find them with search_nodes, or open_nodes by name.",
                characters_max=characters_max,
            )

    def search_nodes(self, query: str) -> Subgraph:
        """Entities with a text in their name, type or observations, and all their relations.

        The text matches anywhere, even inside words, in upper or lower case.
        """
        text = query.lower()
        with self._db.reading() as reader:
            return self._answer(
                reader,
                self._holding(reader, text),
                both_ways=True,
                more="More entities match: search for something narrower, or use open_nodes.",
            )

    def open_nodes(self, names: Iterable[str]) -> Subgraph:
        """The entities with these names, and all their relations; other names are ignored."""
        with self._db.reading() as reader:
            candidates = members.find_by_name(reader, type_numbers(reader), list(names))
            return self._answer(
                reader,
                sorted(entities_among(reader, candidates), key=_by_creation),
                both_ways=True,
                more="Open fewer nodes at once to see all of them.",
            )

    def _holding(self, reader: Reader, text: str) -> Iterator[Member]:
        """The entities whose name, type or observations contain a text in lower case."""
        rows = members.containing(reader, type_numbers(reader), text)
        for member in entities_among(reader, rows):
            if _holds(member, text):
                yield member

    def _answer(
        self,
        reader: Reader,
        entities: Iterable[Member],
        *,
        both_ways: bool,
        more: str,
        characters_max: int | None = None,
    ) -> Subgraph:
        """Entities with their relations, as many as fit into an answer."""
        room = self._characters_max if characters_max is None else characters_max
        page, left, is_whole = _fitting(entities, room, _size_of_member)
        if not is_whole:
            # Entities without their relations would mislead.
            page, left, _ = _fitting(page, int(room * _ENTITIES_SHARE), _size_of_member)
            left += room - int(room * _ENTITIES_SHARE)
        page.sort(key=_by_creation)
        # "Every relation" includes relations at placeholders.
        near = page if both_ways else [*page, *_every_member(reader, _placeholder_types(reader))]
        relations, _, has_all = _fitting(
            _relations(reader, near, both_ways=both_ways), left, _size_of_relation
        )
        cut = None
        if not (is_whole and has_all):
            cut = (
                f"This answer is incomplete: it holds {len(page)} entities and"
                f" {len(relations)} relations, and all of them would be too much at once."
                f" {more if not is_whole else 'Entities shown here have more relations.'}"
            )
        return Subgraph(page, relations, cut)


# Steps of a transaction.


def _require(tx: Transaction, name: str) -> Concept:
    concept = find_entity(tx, name)
    if concept is None:
        raise NotFound(
            f"There is no entity named {shorten(name)!r}.",
            hint="Create it with create_entities first, or look for its name with search_nodes.",
        )
    return concept


def _placeholders_near(tx: Transaction, concept: Concept) -> set[int]:
    """The placeholders among the other ends of a concept's relations, by number."""
    reader = tx.reader
    links = (reader.link(number) for number in reader.touching(concept.number))
    near = placeholders_of(reader, (link for link in links if link is not None))
    return near - {concept.number}


def _unrelate(tx: Transaction, relation: EntityRelation) -> bool:
    source, target = find_end(tx, relation.source), find_end(tx, relation.target)
    if source is None or target is None:
        return False
    if source.number == target.number:
        is_removed = _unrelate_from_itself(tx, source, relation.relation_type)
    else:
        predicate = predicate_of(tx, relation.relation_type)
        is_removed = predicate is not None and tx.remove_edge(source, predicate, target)
    sweep(tx, {end.number for end in (source, target) if end.type == MISSING_ENTITY})
    return is_removed


def _unrelate_from_itself(tx: Transaction, concept: Concept, relation_type: str) -> bool:
    stored = texts(concept.attributes, SELF_KEY)
    rest = [kind for kind in stored if kind != relation_type]
    if rest == list(stored):
        return False
    if rest:
        return tx.update(concept, attributes={SELF_KEY: rest})
    return tx.update(concept, drop_attributes=(SELF_KEY,))


# Reading concepts and relations.


def _placeholder_types(reader: Reader) -> list[int]:
    number = reader.find_type(MISSING_ENTITY)
    return [] if number is None else [number]


def _every_member(reader: Reader, types: Collection[int]) -> Iterator[Member]:
    after = -1
    while True:
        rows = members.page(reader, types, after, _PAGE)
        yield from entities_among(reader, rows)
        if len(rows) < _PAGE:
            return
        after = rows[-1].number


def _relations(
    reader: Reader, entities: Sequence[Member], *, both_ways: bool
) -> list[tuple[str, str, str]]:
    """The relations of entities, in the order of creation."""
    types = [*type_numbers(reader), *_placeholder_types(reader)]
    numbers = [member.number for member in entities]
    links = members.links(reader, types, numbers, both_ways=both_ways)
    predicates = {predicate for _, _, _, predicate, _ in links}
    called = members.predicate_names(reader, predicates, RELATION_KEY)
    relations = [(source, target, called[predicate]) for _, _, source, predicate, target in links]
    for member in entities:
        if SELF_KEY in member.attributes:
            said_of_itself = texts(parse_object(member.attributes), SELF_KEY)
            relations += [(member.name, member.name, relation) for relation in said_of_itself]
    return relations


def _entity(member: Member) -> Entity:
    return entity_of(member.name, parse_object(member.attributes))


def _holds(member: Member, text: str) -> bool:
    entity = _entity(member)
    return any(
        text in observation.lower()
        for observation in (entity.name, entity.entity_type, *entity.observations)
    )


_by_creation: Final = attrgetter("created_us", "number")


def _fitting(
    items: Iterable[Any], room: int, size_of: Callable[[Any], int]
) -> tuple[list[Any], int, bool]:
    """The items that fit, the room that is left, and True if all items fit."""
    page: list[Any] = []
    for item in items:
        size = size_of(item)
        if size > room and page:
            return page, room, False
        page.append(item)
        room -= size
    return page, max(room, 0), True


def _size_of_member(member: Member) -> int:
    """The estimated characters of an entity as indented JSON."""
    attributes = member.attributes
    return len(member.name) + len(attributes) + 60 + 8 * attributes.count('","')


def _size_of_relation(relation: tuple[str, str, str]) -> int:
    """The estimated characters of a relation as indented JSON."""
    source, target, relation_type = relation
    return len(source) + len(target) + len(relation_type) + 90
