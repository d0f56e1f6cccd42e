"""Restores hidden types: their instances, and the links that were removed with them.

Hiding a type retires its instances in one transaction, so their tombstones are those with its time
and reason. An instance whose name was taken since stays removed. So does a link with an end that
was removed since, even if the end exists again.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from mycel.migration.definition_writer import number_of, place_of
from mycel.migration.row_rewrite import DROPPED
from mycel.model.elements import Concept
from mycel.model.values import own_metadata
from mycel.schema.model import EdgeType, NodeType, SchemaType
from mycel.schema.stored_declaration import remembered
from mycel.store.query import history
from mycel.store.query.bulk import instances
from mycel.store.query.bulk.instances import Instance
from mycel.store.write.transaction import Transaction


class DropMoment(NamedTuple):
    """The moment at which a type was dropped."""

    seq: int
    """The position of the journal before the type was dropped."""
    time_us: int


class RestoredType(NamedTuple):
    """A restored type: its former definition, and the moment at which it was dropped."""

    declared: SchemaType
    left: Concept
    drop: DropMoment


def left_of(tx: Transaction, schema_type: SchemaType) -> RestoredType | None:
    """The tombstone of the definition of a hidden type, or the definition if it had to stay."""
    concept = tx.get_concept(*place_of(schema_type), tombstoned=True)
    if concept is None:
        return None
    if concept.tombstoned:
        seq = history.seq_before(tx.reader, concept.seq)
        return RestoredType(schema_type, concept, DropMoment(seq, concept.tombstoned_us or 0))
    memory = remembered(concept.attributes)
    if memory is None:
        return None
    return RestoredType(schema_type, concept, DropMoment(memory.seq, memory.time_us))


def restore(tx: Transaction, restored: Iterable[RestoredType]) -> dict[str, int]:
    """Revive the instances of restored types, and return their numbers by identity.

    Concepts come first, then links between concepts, then links about links. Links of the
    definitions are restored with them.
    """
    drops: dict[DropMoment, list[RestoredType]] = {}
    for restored_type in restored:
        drops.setdefault(restored_type.drop, []).append(restored_type)
    counts: dict[str, int] = {}
    for drop, types in drops.items():
        nodes = {
            number_of(tx, type_name.declared): type_name
            for type_name in types
            if _is(type_name, NodeType)
        }
        edges = {
            number_of(tx, type_name.declared): type_name
            for type_name in types
            if _is(type_name, EdgeType)
        }
        concepts = _revive_concepts(tx, drop, set(nodes))
        revived = {type_name.left.number for type_name in types}.union(concepts)
        links = _revive_links(tx, drop, revived, set(edges))
        for elements, kinds in ((concepts, nodes), (links, edges)):
            numbers = Counter(elements.values())
            counts |= {source.declared.identity: numbers[kind] for kind, source in kinds.items()}
    return counts


def _is(restored: RestoredType, kind: type[NodeType | EdgeType]) -> bool:
    return isinstance(restored.declared, kind)


def _revive_concepts(tx: Transaction, drop: DropMoment, types: set[int]) -> dict[int, int]:
    """Revive concepts. Returns those that came back, each with its type."""
    revived: dict[int, int] = {}
    numbers = instances.retired_at(tx.reader, "concept", drop.time_us, DROPPED)
    for chunk in instances.tombstones(tx.reader, "concept", numbers):
        for instance in chunk:
            if instance.kind in types:
                type_name = tx.reader.type_name(instance.kind)
                tx.put_concept(
                    type_name,
                    instance.name,
                    instance.attributes,
                    own_metadata(instance.metadata),
                )
                revived[instance.number] = instance.kind
    return revived


def _revive_links(
    tx: Transaction, drop: DropMoment, revived: set[int], predicates: set[int]
) -> dict[int, int]:
    """Revive links of restored predicates and on revived elements, each with its predicate."""
    links: dict[int, int] = {}
    defined = set(tx.defined_predicates().values())
    waiting = instances.retired_at(tx.reader, "proposition", drop.time_us, DROPPED)
    while waiting:
        later = array("q")
        for chunk in instances.tombstones(tx.reader, "proposition", waiting):
            ends_of_all = (end for instance in chunk for end in (instance.subject, instance.object))
            others = instances.removed_since(tx.reader, ends_of_all, drop.seq, besides=DROPPED)
            for instance in chunk:
                ends = instance.subject, instance.object
                is_meant = instance.kind in predicates or (
                    instance.kind in defined and not revived.isdisjoint(ends)
                )
                if is_meant and all(number not in others and tx.is_live(number) for number in ends):
                    _revive_link(tx, instance, tx.reader.predicate_name(instance.kind))
                    revived.add(instance.number)
                    links[instance.number] = instance.kind
                else:
                    later.append(instance.number)
        if len(later) == len(waiting):
            break
        waiting = later
    return links


def _revive_link(tx: Transaction, link: Instance, predicate: str) -> None:
    subject, object_ = map(tx.reader.outer_id, (link.subject, link.object))
    metadata = own_metadata(link.metadata)
    tx.put_proposition(subject, predicate, object_, link.attributes, metadata, weight=link.weight)
