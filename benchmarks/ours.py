"""Mycel as a contender: how the graph is loaded and how a few things are found in it.

What is measured goes through the public API. The one exception is `_bulk`, until loading many rows
is part of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import mycel
from benchmarks.graphs import PREDICATES, TYPES, Link, Node


def load(path: Path, nodes: Iterable[Node], links: Iterable[Link]) -> Iterator[None]:
    """Put everything in one transaction; stops twice, before it begins and after the commit."""
    with mycel.open(path) as db:
        yield
        with db.transaction(message="load") as tx:
            for name in TYPES:
                tx.define_type(name)
            for name in PREDICATES:
                tx.define_predicate(name)
            ids = list(_bulk(tx, "put_concepts")(mycel.ConceptRow(*node) for node in nodes))
            rows = (
                mycel.PropositionRow(ids[subject], predicate, ids[object_], attributes)
                for subject, predicate, object_, attributes in links
            )
            deque(_bulk(tx, "put_propositions")(rows), maxlen=0)
        yield


def concept_id(db: mycel.Nexus, type_name: str, name: str) -> str:
    """The id of a concept that must be there."""
    concept = db.get_concept(type_name, name)
    if concept is None:
        raise LookupError(f"The graph has no {type_name} {name!r}: was it loaded completely?")
    return concept.id


def _bulk(tx: mycel.Transaction, name: str) -> Callable[[Iterable[Any]], Iterator[str]]:
    """The method of the transaction that puts many rows, or else the function of the store."""
    method = getattr(tx, name, None)
    if method is not None:
        return method
    from mycel.store import bulk  # Late: it may go.

    return partial(getattr(bulk, name), tx)
