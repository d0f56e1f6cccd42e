"""Indexes on properties, as applying a schema makes them, for graphs without one."""

from __future__ import annotations

import mycel
from mycel.store.write.transaction import Transaction


def define_indexes(db: mycel.Graph, owner: str, **properties: bool) -> None:
    """Index properties of a type or predicate; each says whether its values are unique.

    The definition changes with them, which is how plans made before learn of it.
    """
    with db.transaction() as tx:
        link = define_slots(tx, owner, **properties)
        meta = "$PropositionType" if link else "$ConceptType"
        tx.put_concept(meta, owner, {"indexed": sorted(properties)})


def define_slots(tx: Transaction, owner: str, **properties: bool) -> bool:
    """The same without a change of the definition; returns whether the owner is a predicate."""
    number = tx.reader.find_type(owner)
    link = number is None
    if number is None:
        number = tx.reader.find_predicate(owner)
    assert number is not None
    wanted = [((name,), is_unique) for name, is_unique in properties.items()]
    tx.define_indexes(number, link=link, indexes=wanted)
    return link
