"""Mycel as a contender, through its public API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import mycel
from benchmarks.graphs import PREDICATES, TYPES, Link, Node


def load(path: Path, nodes: Iterable[Node], links: Iterable[Link]) -> Iterator[None]:
    """Write everything in one transaction; yields before it begins and after the commit."""
    with mycel.open(path) as db:
        yield
        with db.transaction(message="load") as tx:
            for name in TYPES:
                tx.define_type(name)
            for name in PREDICATES:
                tx.define_predicate(name)
            _put(tx, nodes, links)
        yield


def _put(tx: mycel.Transaction, nodes: Iterable[Node], links: Iterable[Link]) -> None:
    """Put all concepts, then all links between them."""
    ids = tx.put_concepts(mycel.ConceptRow(*node) for node in nodes)
    tx.put_propositions(
        mycel.PropositionRow(ids[subject], predicate, ids[object_], attributes)
        for subject, predicate, object_, attributes in links
    )


def concept_id(db: mycel.Graph, type_name: str, name: str) -> str:
    """The id of a concept that has to exist."""
    concept = db.get_concept(type_name, name)
    if concept is None:
        raise LookupError(f"The graph has no {type_name} {name!r}: was it loaded completely?")
    return concept.id
