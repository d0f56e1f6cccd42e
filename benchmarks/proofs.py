"""Proofs that a link is part of the state: the time to make and to check one, and its size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import orjson

import mycel
from benchmarks import ours
from benchmarks.databases import Databases, Pair, say
from benchmarks.graphs import LINKS_PER_NODE
from benchmarks.plain import PREDICATE_NAMES, TYPE_NAMES, Plain
from benchmarks.report import Bar, Measure
from benchmarks.timing import Block, Contender, Run, Summary, clock_ns, in_blocks, take_turns
from mycel.model import ids

LINKS: Final = 500
BLOCKS: Final = 25

_RANDOM_LINK: Final = """
SELECT s.type, s.name, p.predicate, o.type, o.name FROM proposition p
JOIN concept s ON s.id = p.subject JOIN concept o ON o.id = p.object WHERE p.id = ?"""

Triple = tuple[str, str, str]


def measure(databases: Databases) -> Iterator[Measure]:
    for size in databases.sizes:
        pair = databases.pair(size)
        with pair.opened() as (db, base):
            say(f"proofs {size}")
            links = _random_links(pair, db, base)
            root = db.snapshot().overall_root
            proofs = [db.prove(link) for link in links]
            sent = [proof.to_bytes() for proof in proofs]
            if not all(mycel.StateProof.from_bytes(each).verify(root) for each in sent):
                raise ValueError("A proof does not hold.")
            made, checked, read = take_turns(
                [
                    Contender(_making(db), in_blocks(links, BLOCKS)),
                    Contender(_checking(root), in_blocks(proofs, BLOCKS)),
                    Contender(_reading_and_checking(root), in_blocks(sent, BLOCKS)),
                ],
                passes=2,
            )
        sizes = Summary.of([len(each) for each in sent])
        wire = Summary.of([len(orjson.dumps(each.to_dict())) for each in proofs])
        yield Measure("proof, make", size, "s", made)
        yield Measure("proof, verify", size, "s", checked, bar=Bar(1e-3, "ours"))
        yield Measure("proof, read bytes and verify", size, "s", read, bar=Bar(1e-3, "ours"))
        largest = f"largest {max(map(len, sent))} B"
        yield Measure("proof, bytes", size, "B", sizes, bar=Bar(2048, "ours"), note=largest)
        yield Measure("proof, JSON", size, "B", wire)


def _making(db: mycel.Graph) -> Run:
    def run(block: Block, took_ns: list[int]) -> None:
        for link in block:
            start = clock_ns()
            db.prove(link)
            took_ns.append(clock_ns() - start)

    return run


def _checking(root: bytes) -> Run:
    def run(block: Block, took_ns: list[int]) -> None:
        for proof in block:
            start = clock_ns()
            proof.verify(root)
            took_ns.append(clock_ns() - start)

    return run


def _reading_and_checking(root: bytes) -> Run:
    """Read and check proofs, as a receiver does who has only a root."""

    def run(block: Block, took_ns: list[int]) -> None:
        for content in block:
            start = clock_ns()
            mycel.StateProof.from_bytes(content).verify(root)
            took_ns.append(clock_ns() - start)

    return run


def _random_links(pair: Pair, db: mycel.Graph, base: Plain) -> list[Triple]:
    """Random links by source, predicate and target, all with the same probability."""
    places = pair.rng("proof").sample(range(pair.node_count * LINKS_PER_NODE), LINKS)
    links = []
    for place in places:
        number = ids.FIRST_LINK + ids.ID_STEP * place
        s_type, s_name, predicate, o_type, o_name = base.connection.execute(
            _RANDOM_LINK, (number,)
        ).fetchone()
        source = ours.concept_id(db, TYPE_NAMES[s_type], s_name)
        target = ours.concept_id(db, TYPE_NAMES[o_type], o_name)
        links.append((source, PREDICATE_NAMES[predicate], target))
    return links
