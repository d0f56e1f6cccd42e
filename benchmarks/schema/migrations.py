"""Changes of a schema whose types have instances: their time and memory.

    python -m benchmarks.schema.migrations CHANGE PATH

Each change runs as one transaction, in a process of its own, which changes a copy and prints one
JSON object. They have no bar; the memory is shown for information.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Final

import mycel
from benchmarks.databases import Databases, copy, remove, say
from benchmarks.graphs import NODES
from benchmarks.loads import ROOT, package_folder, peak_bytes
from benchmarks.report import Measure
from benchmarks.timing import Summary

LINKS_PER_PERSON: Final = 3

_NODE: Final = "node {name} {{\n  email: String @key\n  handle: String{unique}\n  {age}\n{more}}}\n"
_EDGE: Final = "edge Knows: {name} -> {name} {{ since: I32? }}\n"


def _schema(
    name: str = "Person",
    *,
    renamed: str = "",
    unique: str = "",
    age: str = "age: I32",
    more: str = "",
) -> str:
    node = _NODE.format(name=name + renamed, unique=unique, age=age, more=more)
    return node + _EDGE.format(name=name)


CHANGES: Final = {
    "add a required property": _schema(more="  status: enum(active, closed) @default(active)\n"),
    "rename a type": _schema("Human", renamed=' @rename_from("Person")'),
    "add @unique": _schema(unique=" @unique"),
    "rename a property": _schema(age='years: I32 @rename_from("age")'),
    "drop a property": _schema(age=""),
}


@dataclass(frozen=True, slots=True)
class Migration:
    """The time and memory of one change."""

    run_s: float
    close_s: float
    """The time until the database was closed, with the log moved into the file."""
    cpu_s: float
    before_bytes: int
    """The peak memory before the change, when the graph was open."""
    peak_bytes: int


def measure(databases: Databases) -> Iterator[Measure]:
    for size in databases.sizes:
        base, path = (databases.folder / f"migrate-{name}.db" for name in ("base", "copy"))
        try:
            say(f"people to migrate: {size}")
            _make(base, NODES[size])
            for change in CHANGES:
                say(f"{change}: {size}")
                copy(base, path)
                done = _in_child(change, path)
                note = f"{NODES[size]} instances, {LINKS_PER_PERSON * NODES[size]} links"
                yield Measure(change, size, "s", Summary.of([done.run_s]), note=note)
                what = f"{change}, processor time"
                yield Measure(what, size, "s", Summary.of([done.cpu_s]))
                note = f"{done.before_bytes >> 20} MiB before"
                peak = Summary.of([done.peak_bytes])
                yield Measure(f"{change}, peak memory", size, "B", peak, note=note)
        finally:
            remove(base)
            remove(path)


def _make(path: Path, count: int) -> None:
    remove(path)
    with mycel.open(path) as db:
        db.schema.apply(_schema())
        with db.transaction() as tx:
            ids = tx.put_concepts(_person(at) for at in range(count))
            tx.put_propositions(_knows(ids))


def _person(at: int) -> mycel.ConceptRow:
    email = f"{at * 2_654_435_761 % (1 << 32):08x}@example.org"
    return mycel.ConceptRow(
        "Person", email, {"email": email, "handle": f"handle {at}", "age": at % 100}
    )


def _knows(ids: Sequence[str]) -> Iterator[mycel.PropositionRow]:
    """The ends of a link. They differ, because the number of people is even and the step is odd."""
    for at, person in enumerate(ids):
        for step in range(1, 2 * LINKS_PER_PERSON, 2):
            other = ids[(at * 7919 + step) % len(ids)]
            yield mycel.PropositionRow(person, "Knows", other, {"since": 2000 + step})


def _in_child(change: str, path: Path) -> Migration:
    command = (sys.executable, "-m", "benchmarks.schema.migrations", change, str(path.absolute()))
    environment = os.environ | {"PYTHONPATH": package_folder()}
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True)
    return Migration(**json.loads(done.stdout))


def migrate(change: str, path: Path) -> Migration:
    """Apply one of the schemas in this process."""
    with mycel.open(path, create=False) as db:
        before, start, cpu = peak_bytes(), perf_counter(), process_time()
        result = db.schema.apply(CHANGES[change])
        run_s = perf_counter() - start
    close_s, cpu_s = perf_counter() - start, process_time() - cpu
    if not result.applied:
        raise ValueError(f"The schema was not applied: {result.steps}")
    return Migration(run_s, close_s, cpu_s, before, peak_bytes())


if __name__ == "__main__":
    print(json.dumps(asdict(migrate(sys.argv[1], Path(sys.argv[2])))))
