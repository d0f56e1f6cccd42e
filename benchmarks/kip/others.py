"""Other commands, for information: they have no bars, and are not compared with SQL.

The value beside some of them is Mycel with another form of the same question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import mycel
from benchmarks.databases import Databases, Pair, say
from benchmarks.graphs import vocabulary
from benchmarks.kip.finds import PREDICATE
from benchmarks.report import Measure
from benchmarks.timing import Block, Contender, Run, clock_ns, in_blocks, take_turns

PAGE: Final = 20
PAGES: Final = 100
EXPORTED: Final = 1000

Ask = Callable[[Any], object]


class Topic(NamedTuple):
    """A command to measure, and perhaps another one to compare it with."""

    name: str
    ours: Ask
    inputs: list[Any]
    beside: Ask | None = None
    note: str = ""
    passes: int = 3


def measure(databases: Databases) -> Iterator[Measure]:
    for pair in databases.pairs():
        with pair.opened() as (db, _):
            for topic in _topics(pair, db):
                say(f"{topic.name}: {pair.size}")
                blocks = in_blocks(topic.inputs, 10)
                asked = [topic.ours] if topic.beside is None else [topic.ours, topic.beside]
                contenders = [Contender(_run(ask), blocks) for ask in asked]
                took = take_turns(contenders, passes=topic.passes)
                yield Measure(topic.name, pair.size, "s", *took, note=topic.note)


def _run(ask: Ask) -> Run:
    def run(block: Block, took_ns: list[int]) -> None:
        for each in block:
            start = clock_ns()
            ask(each)
            took_ns.append(clock_ns() - start)

    return run


def _topics(pair: Pair, db: mycel.Graph) -> Iterator[Topic]:
    rng = pair.rng("others")
    words, tools = vocabulary(), _names(db)
    yield Topic(
        "SEARCH, a frequent and a rare word",
        lambda two: db.execute("SEARCH CONCEPT :words LIMIT 10", words=two).value,
        [f"{rng.choice(words[:50])} {rng.choice(words[1000:])}" for _ in range(20)],
    )
    yield Topic(
        "SEARCH, two rare words",
        lambda two: db.execute("SEARCH CONCEPT :words LIMIT 10", words=two).value,
        [" ".join(rng.sample(words[1000:], 2)) for _ in range(50)],
    )
    yield Topic("DESCRIBE PRIMER", lambda _: db.execute("DESCRIBE PRIMER").value, [None] * 5)
    yield Topic(
        f"EXPORT of {EXPORTED} concepts",
        lambda _: (
            db.execute(f'EXPORT ?x WHERE {{ ?x {{type: "Scholar"}} }} LIMIT {EXPORTED}').value
        ),
        [None] * 3,
        passes=1,
    )
    yield from _past(db, tools)
    yield from _pages(db)
    yield from _json(db)


def _names(db: mycel.Graph) -> list[str]:
    where = f'?a {{type: "Tool"}} (?a, "{PREDICATE}", ?b)'
    return db.execute(f"FIND(?a.name, COUNT(?b)) WHERE {{ {where} }} LIMIT 200").value[0]


def _past(db: mycel.Graph, names: list[str]) -> Iterator[Topic]:
    hop = f'WHERE {{ ?a {{type: "Tool", name: :name}} (?a, "{PREDICATE}", ?b) }}'
    moment = db.snapshot().seq - 1
    yield Topic(
        "FIND one hop AS OF",
        lambda name: db.execute(f"FIND(?b.name) AS OF {moment} {hop}", name=name).value,
        names,
        lambda name: db.execute(f"FIND(?b.name) {hop}", name=name).value,
        "beside it the same about the present",
        passes=5,
    )


def _pages(db: mycel.Graph) -> Iterator[Topic]:
    page = (
        f'FIND(?a.name, ?b.name) WHERE {{ (?a, "{PREDICATE}", ?b) }} ORDER BY ?b.name LIMIT {PAGE}'
    )
    yield _pages_of("sorted", page, db)
    page = f'FIND(?a.name) WHERE {{ ?a {{type: "Scholar"}} }} LIMIT {PAGE}'
    yield _pages_of("unsorted", page, db)


def _pages_of(kind: str, page: str, db: mycel.Graph) -> Topic:
    after = db.execute(page).next_cursor
    for _ in range(PAGES - 2):
        after = db.execute(f"{page} CURSOR :after", after=after).next_cursor
    return Topic(
        f"FIND page {PAGES} of {PAGE}, {kind}",
        lambda _: db.execute(f"{page} CURSOR :after", after=after).value,
        [None] * 5,
        lambda _: db.execute(page).value,
        "beside it page 1",
    )


def _json(db: mycel.Graph) -> Iterator[Topic]:
    for count in (1, 1000):
        some = f'FIND(?a) WHERE {{ ?a {{type: "Scholar"}} }} LIMIT {count}'
        yield Topic(
            f"FIND {count} concepts, to JSON",
            lambda _, some=some: db.execute(some).to_json(),
            [None] * 20,
            lambda _, some=some: db.execute(some).value,
            "beside it to Python objects",
            passes=10,
        )
