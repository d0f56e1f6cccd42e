"""A schema of five hundred types: reading its text, planning changes, and writing with it.

Plans are made between new catalogs, because a catalog caches everything that it computes. Times are
processor times, so waiting for the disk does not count, and other work on the machine disturbs
little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from time import process_time, thread_time_ns
from typing import Any, Final

import mycel
from benchmarks.databases import Databases, remove, say
from benchmarks.report import Bar, Measure
from benchmarks.schema import texts
from benchmarks.timing import Block, Contender, Run, Summary, clock_ns, in_blocks, take_turns
from mycel import schema
from mycel.migration import schema_in_force
from mycel.schema import Catalog

PASSES: Final = 15
READ_BAR: Final = Bar(300e-3, "ours")
PLAN_BAR: Final = Bar(100e-3, "ours")
WRITES: Final = 200

CHANGES: Final = {
    "nothing": {},
    "one property": {"one_more": True},
    "a rename": {"renamed": True},
    "every type": {"more_everywhere": True},
}
ONE_TYPE: Final = """\
node Thing000 {
  code: String @key
  handle: String @unique
  age: I32? @index
  score: F64? @default(0.5)
  state: enum(open, closed, waiting) @default(open)
  born: Date
  tags: [String]?
  note: String?
  @range(age, 0..150)
  @range(score, 0..1)
  @check(code, "^[A-Z]+-[0-9]+$")
  @unique(handle, born)
}
"""
"""The first type of the large schema, without its interface."""


def measure(databases: Databases) -> Iterator[Measure]:
    """Time all of it, independent of the size of the graphs, because they have no instances."""
    say(f"a schema of {texts.TYPES} types")
    text = texts.schema()
    yield from _measure_text(text)
    path = databases.folder / "schema-catalog.db"
    try:
        yield from _measure_graph(path, text)
        yield from _measure_writes(databases.folder, path)
    finally:
        remove(path)


# Measures without a graph.


def _measure_text(text: str) -> Iterator[Measure]:
    before = schema.load(text)
    after = {name: schema.load(texts.schema(**how)) for name, how in CHANGES.items()}
    for name, catalog in after.items():
        _check_plan(name, before, catalog)
    runs = [
        _calling(lambda: None, lambda _: schema.load(text)),
        _calling(lambda: None, lambda _: schema.parse(text)),
        _calling(lambda: _fresh(before), lambda catalog: catalog.ir_hash),
        _calling(lambda: _fresh(before), lambda catalog: catalog.format()),
        *(_planning(before, catalog) for catalog in after.values()),
    ]
    blocks = in_blocks([()], 1)
    took = take_turns([Contender(run, blocks) for run in runs], passes=PASSES)
    read, parsed, hashed, formatted, *planned = took
    note = f"{len(text) >> 10} KiB"
    yield Measure("catalog of 500 types, from text", "", "s", read, bar=READ_BAR, note=note)
    yield Measure("catalog, parsing alone", "", "s", parsed)
    yield Measure("catalog, IR and its hash", "", "s", hashed)
    yield Measure("catalog, to text", "", "s", formatted)
    for name, summary in zip(after, planned, strict=True):
        yield Measure(f"plan, {name}", "", "s", summary, bar=PLAN_BAR)


def _check_plan(name: str, before: Catalog, after: Catalog) -> None:
    made = schema.plan(before, after)
    expected = {"nothing": 0, "every type": texts.TYPES - texts.INTERFACES}.get(name, 1)
    if not made.supported or len(made.steps) != expected:
        raise ValueError(f"The plan for {name} is wrong: {len(made.steps)} steps.")


def _fresh(catalog: Catalog) -> Catalog:
    """The same catalog without cached values."""
    return Catalog(catalog.interfaces, catalog.nodes, catalog.edges)


def _calling(prepare: Callable[[], Any], work: Callable[[Any], object]) -> Run:
    def run(block: Block, took_ns: list[int]) -> None:
        for _ in block:
            given = prepare()
            start = thread_time_ns()
            work(given)
            took_ns.append(thread_time_ns() - start)

    return run


def _planning(before: Catalog, after: Catalog) -> Run:
    return _calling(
        lambda: (_fresh(before), _fresh(after)), lambda catalogs: schema.plan(*catalogs)
    )


# Measures with a graph.


def _measure_graph(path: Path, text: str) -> Iterator[Measure]:
    """Apply the schema to an empty graph, change it there, and read it back."""
    remove(path)
    with mycel.open(path) as db:
        yield Measure("apply 500 types to an empty graph", "", "s", _once(db, text))
        yield Measure("apply, nothing", "", "s", _once(db, text))
        one = texts.schema(one_more=True)
        yield Measure("apply, one property", "", "s", _once(db, one))
        with db._store.reading() as reader:
            run = _calling(lambda: None, lambda _: schema_in_force.read(reader.connection))
            took = take_turns([Contender(run, in_blocks([()], 1))], passes=PASSES)
        yield Measure("read the catalog back from the graph", "", "s", took[0])
        if not db.schema.catalog.same_shape(schema.load(one)):
            raise ValueError("The graph does not have the schema that was applied.")


def _once(db: mycel.Graph, text: str) -> Summary:
    start = process_time()
    result = db.schema.apply(text)
    took = process_time() - start
    if not result.supported:
        raise ValueError(f"The schema cannot be applied: {result.steps}")
    return Summary.of([took])


# The cost of other types for a write.


def _measure_writes(folder: Path, large: Path) -> Iterator[Measure]:
    """The write of a concept, with a schema of five hundred types, of one type, or without one."""
    paths = {name: folder / f"schema-write-{name}.db" for name in ("one", "none")}
    try:
        with ExitStack() as stack:
            dbs = [stack.enter_context(mycel.open(path)) for path in (large, *paths.values())]
            dbs[1].schema.apply(ONE_TYPE)
            dbs[2].write(lambda tx: tx.define_type("Thing000"))
            many, one, none = (_Writes(db) for db in dbs)
            blocks = in_blocks(range(WRITES), WRITES)
            contenders = [Contender(each.run, blocks) for each in (many, one, none)]
            took = take_turns(contenders, passes=1)
        cpu = [each.cpu for each in (many, one, none)]
    finally:
        for path in paths.values():
            remove(path)
    for name, summaries in (("", took), (", processor time", cpu)):
        what, ours = f"durable write among 500 types{name}", summaries[0]
        yield Measure(what, "", "s", ours, summaries[1], note="beside a schema of one type")
        yield Measure(what, "", "s", ours, summaries[2], note="beside no schema")


class _Writes:
    """Concepts of one type, one in each transaction."""

    def __init__(self, db: mycel.Graph) -> None:
        self._db = db
        self._made = 0
        self._cpu_ns: list[int] = []

    @property
    def cpu(self) -> Summary:
        """The processor times, without the first half, which warms up."""
        return Summary.of_ns(self._cpu_ns[WRITES:])

    def run(self, block: Sequence[Any], took_ns: list[int]) -> None:
        for _ in block:
            self._made += 1
            name = f"ABC-{self._made}"
            attributes = {
                "code": name,
                "handle": f"handle {self._made}",
                "age": self._made % 100,
                "score": 0.25,
                "state": "closed",
                "born": "2001-02-03",
                "tags": ["a", "b"],
                "note": "what happened when it was measured",
            }
            cpu, start = thread_time_ns(), clock_ns()
            with self._db.transaction() as tx:
                tx.put_concept("Thing000", name, attributes)
            took_ns.append(clock_ns() - start)
            self._cpu_ns.append(thread_time_ns() - cpu)
