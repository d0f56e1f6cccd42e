"""Both backends in one run, in turns: `python -m benchmarks.postgres URL [CONCEPTS]`.

The URL names a workspace that does not exist yet. The numbers are medians in microseconds, and what
counts is their ratio.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

import mycel

LINKS_EACH = 10
ROUNDS = 40

QUERIES = {
    "point": ('FIND(?x.attributes.n) WHERE {{ ?x {{type: "Item", name: "i{at}"}} }}', 1),
    "one hop, 20": (
        (
            'FIND(?y.name) WHERE {{ ?x {{type: "Item", name: "i{at}"}} (?x, "related_to", ?y) }}'
            " LIMIT 20"
        ),
        1,
    ),
    "two hops": (
        (
            'FIND(?z.name) WHERE {{ ?x {{type: "Item", name: "i{at}"}} (?x, "related_to", ?y)'
            ' (?y, "related_to", ?z) }} LIMIT 50'
        ),
        1,
    ),
    "count of a type": ('FIND(COUNT(?x)) WHERE {{ ?x {{type: "Item"}} }}', 4),
    "groups": (
        (
            'FIND(?x.attributes.kind, COUNT(?x)) WHERE {{ ?x {{type: "Item"}} }}'
            " ORDER BY ?x.attributes.kind"
        ),
        8,
    ),
}


def fill(db: mycel.Graph, concepts: int) -> float:
    """Load items with links among them; the seconds that it took."""
    drawn = random.Random(7)
    db.execute('UPSERT { CONCEPT ?t { {type: "$ConceptType", name: "Item"} } }')
    began = perf_counter()
    with db.transaction(message="fill") as tx:
        ids = [
            tx.put_concept("Item", f"i{at}", {"n": at, "kind": f"k{at % 20}"})
            for at in range(concepts)
        ]
        for one in ids:
            for other in drawn.sample(ids, LINKS_EACH):
                if other != one:
                    tx.put_proposition(one, "related_to", other)
    return perf_counter() - began


def measured(work: Callable[[], object]) -> float:
    """The microseconds of a call."""
    began = perf_counter()
    work()
    return (perf_counter() - began) * 1e6


def write(db: mycel.Graph, at: int) -> None:
    """One concept with three links, durable."""
    with db.transaction(message="write") as tx:
        new = tx.put_concept("Item", f"new {at}", {"n": at})
        for other in range(3):
            tx.put_proposition(new, "related_to", ("Item", f"i{at + other}"))


def main(url: str, concepts: int) -> None:
    """Print a table of both backends."""
    drawn = random.Random(3)
    with tempfile.TemporaryDirectory() as folder:
        places = {"SQLite": Path(folder) / "graph.db", "PostgreSQL": url}
        graphs = {name: mycel.open(place) for name, place in places.items()}
        loads = {name: fill(db, concepts) for name, db in graphs.items()}
        rows = [("load, s", *loads.values())]
        for name, (text, sparing) in QUERIES.items():
            times: dict[str, list[float]] = {each: [] for each in graphs}
            for _ in range(ROUNDS // sparing + 3):
                command = text.format(at=drawn.randrange(concepts))
                for each, db in graphs.items():
                    times[each].append(measured(lambda db=db, command=command: db.execute(command)))
            rows.append((f"{name}, µs", *(median(each[3:]) for each in times.values())))
        written: dict[str, list[float]] = {each: [] for each in graphs}
        for at in range(ROUNDS):
            for each, db in graphs.items():
                written[each].append(measured(lambda db=db, at=at: write(db, at)))
        rows.append(("durable write, µs", *(median(each) for each in written.values())))
        print(f"{'':22}{'SQLite':>12}{'PostgreSQL':>12}{'ratio':>8}")
        for name, one, other in rows:
            print(f"{name:22}{one:12.1f}{other:12.1f}{other / one:8.2f}")
        for db in graphs.values():
            db.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10_000)
