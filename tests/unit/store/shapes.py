"""Graphs in every shape a file can have, built the same way each time."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import mycel
from tests.unit.store.given import EVENT, FACT, TickingClock, add_concepts, define


def empty(_: mycel.Graph) -> None:
    """Nothing but the genesis."""


def pending(db: mycel.Graph) -> None:
    """A bit of everything, in small transactions: trees and text index are not yet on disk.

    On its own it comes after the capsules; the other shapes are bare, and take a third of the time.
    """
    define(db, [FACT, EVENT, "Unused"], ["likes", "unused"])
    one, two, three, gone = add_concepts(db, "one", "two", "three", "gone", type_name=FACT)
    with db.transaction(actor="ann", message="events") as tx:
        event = tx.put_concept(EVENT, "an event", {"text": "it happened", "n": 7}, {"source": "s"})
    db.add_edge(one, "references", two, weight=0.9, data={"page": 7}, created_by="andrew")
    claim = db.add_edge(two, "likes", three, weight=0, data={"why": "said so", "tags": ["x", "y"]})
    about = db.add_edge(claim, "attested_by", event)
    db.add_edge(event, "references", about)
    db.write(lambda tx: tx.update(one, attributes={"text": "first words"}, metadata={"m": 1}))
    db.write(lambda tx: tx.update(one, attributes={"text": "second words"}))
    db.write(lambda tx: tx.update(claim, weight=0.25), actor="ben")
    db.add_edge(gone, "references", one)
    db.write(lambda tx: tx.retire(gone, reason="no longer true"), actor="cem")
    db.add_edge(three, "part_of", one)
    db.remove_edge(three, "part_of", one, reason="a mistake", by="dora")
    db.add_edge(three, "part_of", one, created_by="emil")
    db.remove_edge(one, "references", two, reason="superseded")


def searched(db: mycel.Graph) -> None:
    """The same, after a search has brought the text index up to date."""
    pending(db)
    db.search("words")


def folded(db: mycel.Graph) -> None:
    """So many small transactions that the trees are on disk, with some changes on top."""
    pending(db)
    previous = None
    for n in range(110):
        with db.transaction() as tx:
            made = tx.put_concept(EVENT, f"step {n}", {"text": f"step number {n}"})
            if previous:
                tx.add_edge(previous, "likes", made)
        previous = made


def loaded(db: mycel.Graph) -> None:
    """Most of it in one transaction, with small ones before and after."""
    pending(db)
    with db.transaction(message="load") as tx:
        made = tx.put_concepts(
            mycel.ConceptRow(EVENT, f"row {n}", {"text": f"words of row {n}"}) for n in range(500)
        )
        tx.put_propositions(
            mycel.PropositionRow(src, "likes", dst, {"why": "in order"})
            for src, dst in pairwise(made)
        )
    db.write(lambda tx: tx.update(made[3], attributes={"text": "changed later"}))
    db.add_edge(made[5], "references", made[1])


def purged(db: mycel.Graph) -> None:
    """With elements that were forgotten for good, and one made again."""
    pending(db)
    secret, other = add_concepts(db, "secret", "confidant")
    db.add_edge(secret, "references", other, data={"why": "private"})
    db.write(lambda tx: tx.update(secret, attributes={"text": "private words"}))
    db.purge(secret, "on request", by="officer")
    (secret,) = add_concepts(db, "secret")
    db.add_edge(secret, "references", other)


SHAPES: dict[str, Callable[[mycel.Graph], None]] = {
    build.__name__: build for build in (empty, pending, searched, folded, loaded, purged)
}


def build(name: str, path: Path | str) -> None:
    """Make a graph of this shape in a new file, and close it."""
    with mycel.open(
        path,
        actor="tester",
        clock_us=TickingClock(),
        durability="off",
        core_capsules=SHAPES[name] is pending,
    ) as db:
        SHAPES[name](db)
