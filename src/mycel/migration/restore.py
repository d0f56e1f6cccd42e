"""Restores hidden types: their instances, and the links that were removed with them.

Hiding a type retires its instances in one transaction; they are the tombstones with its time and
reason. An instance whose name was taken since stays removed, and so does a link with an end that
was removed since, even if that exists again.
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
    """The position of the journal before."""
    time_us: int


class RestoredType(NamedTuple):
    """A type that comes back: what is left of its definition, and when it was dropped."""

    declared: SchemaType
    left: Concept
    drop: DropMoment


def left_of(tx: Transaction, declared: SchemaType) -> RestoredType | None:
    """The tombstone of the definition of a hidden type, or the definition if it had to stay."""
    found = tx.get_concept(*place_of(declared), tombstoned=True)
    if found is None:
        return None
    if found.tombstoned:
        seq = history.seq_before(tx.reader, found.seq)
        return RestoredType(declared, found, DropMoment(seq, found.tombstoned_us or 0))
    memory = remembered(found.attributes)
    if memory is None:
        return None
    return RestoredType(declared, found, DropMoment(memory.seq, memory.time_us))


def restore(tx: Transaction, restored: Iterable[RestoredType]) -> dict[str, int]:
    """Revive the instances of restored types, and return their numbers by identity.

    Concepts come first, then links between concepts, then links about links. Links of the
    definitions come back with them.
    """
    drops: dict[DropMoment, list[RestoredType]] = {}
    for each in restored:
        drops.setdefault(each.drop, []).append(each)
    counts: dict[str, int] = {}
    for drop, types in drops.items():
        nodes = {number_of(tx, each.declared): each for each in types if _is(each, NodeType)}
        edges = {number_of(tx, each.declared): each for each in types if _is(each, EdgeType)}
        concepts = _revive_concepts(tx, drop, set(nodes))
        revived = {each.left.number for each in types}.union(concepts)
        links = _revive_links(tx, drop, revived, set(edges))
        for found, kinds in ((concepts, nodes), (links, edges)):
            numbers = Counter(found.values())
            counts |= {each.declared.identity: numbers[kind] for kind, each in kinds.items()}
    return counts


def _is(each: RestoredType, kind: type[NodeType | EdgeType]) -> bool:
    return isinstance(each.declared, kind)


def _revive_concepts(tx: Transaction, drop: DropMoment, types: set[int]) -> dict[int, int]:
    """The concepts that came back, each with its type."""
    revived: dict[int, int] = {}
    gone = instances.retired_at(tx.reader, "concept", drop.time_us, DROPPED)
    for chunk in instances.tombstones(tx.reader, "concept", gone):
        for each in chunk:
            if each.kind in types:
                type_name = tx.reader.type_name(each.kind)
                tx.put_concept(
                    type_name,
                    each.name,
                    each.attributes,
                    own_metadata(each.metadata),
                )
                revived[each.number] = each.kind
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
            ends_of_all = (end for each in chunk for end in (each.subject, each.object))
            others = instances.removed_since(tx.reader, ends_of_all, drop.seq, besides=DROPPED)
            for each in chunk:
                ends = each.subject, each.object
                is_meant = each.kind in predicates or (
                    each.kind in defined and not revived.isdisjoint(ends)
                )
                if is_meant and all(number not in others and tx.is_live(number) for number in ends):
                    _revive_link(tx, each, tx.reader.predicate_name(each.kind))
                    revived.add(each.number)
                    links[each.number] = each.kind
                else:
                    later.append(each.number)
        if len(later) == len(waiting):
            break
        waiting = later
    return links


def _revive_link(tx: Transaction, each: Instance, predicate: str) -> None:
    subject, object_ = map(tx.reader.outer_id, (each.subject, each.object))
    metadata = own_metadata(each.metadata)
    tx.put_proposition(subject, predicate, object_, each.attributes, metadata, weight=each.weight)
