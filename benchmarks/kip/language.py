"""The cost of a command before it runs: parsing, or finding its plan in the cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import mycel
from benchmarks.databases import Databases, say
from benchmarks.kip.finds import ANY
from benchmarks.report import Bar, Measure
from benchmarks.timing import Block, Contender, Run, clock_ns, in_blocks, take_turns
from mycel import kip
from mycel.engine.values import Values
from mycel.kip import ast

TEN_LINES: Final = """\
FIND(?b.name, ?b.attributes.year, COUNT(?c))
WHERE {
  ?a {type: "Document", name: :name}
  (?a, "touches_on", ?b)
  ?link (?b, "knows" | "works_on", ?c)
  FILTER(?b.attributes.year > 1990 && CONTAINS(?b.attributes.description, "mi"))
  OPTIONAL { (?c, "located_in", ?place) }
  NOT { (?a, "disagrees_with", ?c) }
}
ORDER BY ?b.attributes.year DESC LIMIT 20"""

PASSES: Final = 5
BLOCKS: Final = 20
PARSE_BAR: Final = Bar(150e-6, "ours")
CACHE_BAR: Final = Bar(5e-6, "ours")


def measure(databases: Databases) -> Iterator[Measure]:
    """Time both on the smallest graph, because they do not depend on its size."""
    pair = databases.pair(databases.sizes[0])
    with pair.opened() as (db, _):
        say("parsing")
        names = [(f"the name {at}",) for at in range(ANY)]
        blocks = in_blocks(names, BLOCKS)
        runs = (_parsing, _cached(db))
        parsed, found = take_turns([Contender(run, blocks) for run in runs], passes=PASSES)
    yield Measure("parse ten lines", "", "s", parsed, bar=PARSE_BAR)
    yield Measure("plan from the cache", "", "s", found, bar=CACHE_BAR)


def _parsing(block: Block, took_ns: list[int]) -> None:
    for _ in block:
        start = clock_ns()
        kip.parse(TEN_LINES)
        took_ns.append(clock_ns() - start)


def _cached(db: mycel.Graph) -> Run:
    """From a text and parameters to the plan, as in `execute`."""
    db.execute(TEN_LINES, {"name": "nobody"})
    engine = db.engine
    reader = db._store.take()
    db._store.give(reader)

    def run(block: Block, took_ns: list[int]) -> None:
        for (name,) in block:
            text = TEN_LINES[:1] + TEN_LINES[1:]  # A new text, whose hash is not cached.
            parameters = {"name": name}
            start = clock_ns()
            prepared = engine._commands.known.get(text)
            find = prepared.command
            plan = engine._finder.plan(reader, prepared, find, Values(parameters))
            took_ns.append(clock_ns() - start)
            if not isinstance(find, ast.Find) or plan is None:
                raise TypeError("This was no FIND.")

    return run
