"""Bringing back what was dropped softly: the instances of a type, and the links that went along.

Dropping a type retires its instances in one transaction. Nothing else remembers them: what there is
to bring back are the tombstones of that transaction. An instance whose name was taken since stays
gone, and so does a link one end of which is gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from mycel.migration.definitions import number_of, place_of
from mycel.model.elements import Concept
from mycel.model.values import parse_object
from mycel.schema.model import EdgeType, NodeType, SchemaType
from mycel.schema.stored import remembered
from mycel.store import instances
from mycel.store.instances import Instance
from mycel.store.rows import only
from mycel.store.transaction import Transaction


class Span(NamedTuple):
    """From one entry of the journal to another."""

    first: int
    last: int


_RANGE: Final = "SELECT first_seq, seq FROM tx WHERE seq >= ? ORDER BY seq LIMIT 1"


def left_of(tx: Transaction, declared: SchemaType) -> tuple[Concept, Span] | None:
    """What is left of the definition of a type that was dropped, and the entries that dropped it.

    That is its tombstone, or a definition that had to stay.
    """
    found = tx.get_concept(*place_of(declared), tombstoned=True)
    if found is None:
        return None
    if found.tombstoned:
        return found, Span(*only(tx.ledger.connection, _RANGE, (found.seq,)))
    memory = remembered(found.attributes)
    return None if memory is None else (found, Span(*memory[1:]))


def restore(tx: Transaction, dropped: Iterable[tuple[SchemaType, Span]]) -> None:
    """Revive the instances of types whose definitions are there again.

    Each comes with the entries among which it was dropped. Concepts come first, then links between
    concepts, then links about links.
    """
    kinds: dict[Span, set[int]] = {}
    predicates: dict[Span, set[int]] = {}
    for declared, span in dropped:
        if isinstance(declared, NodeType):
            kinds.setdefault(span, set()).add(number_of(tx, declared))
        elif isinstance(declared, EdgeType):
            predicates.setdefault(span, set()).add(number_of(tx, declared))
    for span in dict.fromkeys((*kinds, *predicates)):
        revived = _revive_concepts(tx, span, kinds.get(span, set()))
        _revive_links(tx, span, revived, predicates.get(span, set()))


def _revive_concepts(tx: Transaction, span: Span, kinds: set[int]) -> set[int]:
    ledger = tx.ledger
    revived: set[int] = set()
    for each in instances.retired_between(ledger.connection, "concept", *span):
        if each.kind in kinds:
            type_name = ledger.registry.types.name(ledger.connection, each.kind)
            tx.put_concept(type_name, each.name, each.attributes, _own_metadata(each))
            revived.add(each.number)
    return revived


def _revive_links(tx: Transaction, span: Span, revived: set[int], predicates: set[int]) -> None:
    """Revive links of restored predicates, and those on what was revived, ends before links."""
    ledger = tx.ledger
    names = ledger.registry.predicates
    defined = ledger.registry.defined(ledger.connection, names, ledger.head.definitions)
    waiting = instances.retired_between(ledger.connection, "proposition", *span)
    waiting.sort(key=lambda each: each.number)
    while waiting:
        later: list[Instance] = []
        for each in waiting:
            ends = each.subject, each.object
            is_meant = each.kind in predicates or (
                each.kind in defined and not revived.isdisjoint(ends)
            )
            if not is_meant or any(ledger.find_key(number) is None for number in ends):
                later.append(each)
                continue
            subject, object_ = map(ledger.reader.outer_id, ends)
            name = names.name(ledger.connection, each.kind)
            metadata = _own_metadata(each)
            tx.put_proposition(
                subject, name, object_, each.attributes, metadata, weight=each.weight
            )
            revived.add(each.number)
        if len(later) == len(waiting):
            return
        waiting = later


def _own_metadata(each: Instance) -> dict[str, object]:
    """Metadata without what the engine itself keeps, which callers may not write."""
    metadata = parse_object(each.metadata_json)
    return {key: metadata[key] for key in metadata if not key.startswith("_")}
