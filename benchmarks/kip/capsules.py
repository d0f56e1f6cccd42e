"""A large capsule in one UPSERT, beside the same rows put by `put_concepts` and `put_propositions`.

Each run begins with a new copy of the same small file, and the order of the two is random. The
clock of both graphs stands still, so the roots of their trees must be equal in the end, which
checks the runs. Garbage collection is on, because visiting the large tree of a capsule is part of
its cost.
"""

from __future__ import annotations

import gc
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, Final, NamedTuple

import orjson

import mycel
from benchmarks.databases import Databases, remove, say
from benchmarks.graphs import PREDICATES, TYPES, Graph
from benchmarks.report import Bar, Measure
from benchmarks.timing import Summary
from mycel import kip
from mycel.model.limits import CAPSULE_BYTES_MAX

CONCEPTS: Final = 10_000
LINKS: Final = 3 * CONCEPTS
ROUNDS: Final = 15
BAR: Final = Bar(2)
METADATA: Final = {"source": "a capsule", "confidence": 0.9}
_NOW_US: Final = 1_700_000_000_000_000


class Content(NamedTuple):
    """The content to write: concepts, and links between indexes in their sequence."""

    concepts: list[tuple[str, str, dict[str, Any]]]
    links: list[tuple[int, str, int]]


def measure(databases: Databases) -> Iterator[Measure]:
    """Time both. Each run begins with an empty graph, so the sizes of the graphs do not matter."""
    content = _content()
    text = _capsule(content)
    say(f"capsule of {CONCEPTS} concepts and {LINKS} links, {len(text) >> 10} KiB")
    empty, path = (databases.folder / f"capsule-{name}.db" for name in ("empty", "run"))
    took: dict[str, list[float]] = {"upsert": [], "parse": [], "rows": []}
    runs: dict[str, Callable[[mycel.Graph], None]] = {
        "upsert": lambda db: _apply(db, text),
        "rows": lambda db: _put(db, content),
    }
    order = random.Random("turns")
    gc.collect()
    gc.freeze()  # The content is not a part of the measured work, so the collector skips it.
    try:
        _make(empty)
        for _ in range(ROUNDS + 1):
            roots = set()
            for name in order.sample(list(runs), len(runs)):
                elapsed, root = _timed(empty, path, runs[name])
                took[name].append(elapsed)
                roots.add(root)
            if len(roots) > 1:
                raise ValueError("The capsule and the rows have not made the same graph.")
            start = perf_counter()
            kip.parse(text, bytes_max=CAPSULE_BYTES_MAX)
            took["parse"].append(perf_counter() - start)
    finally:
        gc.unfreeze()
        for each in (empty, path):
            remove(each)
    upsert, parse, rows = (each[1:] for each in took.values())  # The first pass warms up.
    beside, note = Summary.of(rows), "beside put_concepts and put_propositions"
    yield Measure("capsule of 40,000 elements", "", "s", Summary.of(upsert), beside, BAR, note)
    without = [whole - part for whole, part in zip(upsert, parse, strict=True)]
    yield Measure("capsule, without parsing", "", "s", Summary.of(without), beside, note=note)
    yield Measure("capsule, parsing alone", "", "s", Summary.of(parse), beside, note=note)


def _content() -> Content:
    rng = random.Random("capsule")
    nodes = list(Graph(CONCEPTS, 0).nodes())
    links: dict[tuple[int, str, int], None] = {}
    while len(links) < LINKS:
        source = 1 + len(links) * (CONCEPTS - 1) // LINKS
        links[source, rng.choice(PREDICATES), rng.randrange(source)] = None
    return Content([(type_, name, attributes) for type_, name, attributes, _ in nodes], list(links))


def _capsule(content: Content) -> str:
    """The capsule: each concept with links to earlier concepts, by their handles."""
    leaving: dict[int, list[str]] = {}
    for source, predicate, target in content.links:
        leaving.setdefault(source, []).append(f'("{predicate}", ?c{target})')
    lines = ["UPSERT {"]
    for at, (type_name, name, attributes) in enumerate(content.concepts):
        written = orjson.dumps(attributes).decode()
        lines.append(f"  CONCEPT ?c{at} {{\n    {{type: {_json(type_name)}, name: {_json(name)}}}")
        lines.append(f"    SET ATTRIBUTES {written}")
        if at in leaving:
            lines.append(f"    SET PROPOSITIONS {{ {' '.join(leaving[at])} }}")
        lines.append("  }")
    return "\n".join([*lines, f"}} WITH METADATA {orjson.dumps(METADATA).decode()}"])


def _json(text: str) -> str:
    return orjson.dumps(text).decode()


def _open(path: Path) -> mycel.Graph:
    return mycel.open(path, clock_us=lambda: _NOW_US)


def _make(path: Path) -> None:
    remove(path)
    with _open(path) as db, db.transaction() as tx:
        for name in TYPES:
            tx.define_type(name)
        for name in PREDICATES:
            tx.define_predicate(name)


def _timed(empty: Path, path: Path, run: Callable[[mycel.Graph], None]) -> tuple[float, Any]:
    remove(path)
    shutil.copyfile(empty, path)
    with _open(path) as db:
        start = perf_counter()
        run(db)
        elapsed = perf_counter() - start
        snapshot = db.snapshot()
    return elapsed, (snapshot.concepts_root, snapshot.edges_root)


def _apply(db: mycel.Graph, text: str) -> None:
    db.apply_capsule(text)


def _put(db: mycel.Graph, content: Content) -> None:
    with db.transaction() as tx:
        ids = tx.put_concepts(
            mycel.ConceptRow(type_name, name, attributes, METADATA)
            for type_name, name, attributes in content.concepts
        )
        tx.put_propositions(
            mycel.PropositionRow(ids[source], predicate, ids[target], None, METADATA)
            for source, predicate, target in content.links
        )
