"""The edges API beside FIND for the same answer.

`find` returns elements with their distance, and FIND the same elements as nodes; `edges_out` and
FIND return the links of an element. The ids of both answers are compared before the timing. Each
side ends with the result of its API: elements whose texts are not decoded yet, or nodes as
dictionaries. The edges API must not be slower than FIND; a tenth is noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import mycel
from benchmarks.databases import Databases, Pair, say
from benchmarks.report import Bar, Line, Measure
from benchmarks.timing import Block, Contender, Run, clock_ns, in_blocks, take_turns

PREDICATE: Final = "touches_on"
"""The most frequent predicate."""
ANY: Final = 60
HUBS: Final = 12
BLOCKS: Final = 6
PASSES: Final = 10
ALL: Final = 1_000_000
BAR: Final = Bar(1.1)

Answer = Callable[[str], Any]

_ONE: Final = f'FIND(?b) WHERE {{ ?a {{id: :id}} (?a, "{PREDICATE}", ?b) }}'
_THREE: Final = f'FIND(?b) WHERE {{ ?a {{id: :id}} (?a, "{PREDICATE}"{{1,3}}, ?b) }}'
_LINKS: Final = f'FIND(?l) WHERE {{ ?a {{id: :id}} ?l (?a, "{PREDICATE}", ?b) }}'


class Question(NamedTuple):
    """A call of the edges API, and the command that gives the same elements."""

    name: str
    ours: Callable[[mycel.Graph, str], Sequence[Any]]
    command: str


def _found(max_hops: int) -> Callable[[mycel.Graph, str], Sequence[Any]]:
    follow = mycel.Follow(types=(PREDICATE,), max_hops=max_hops)
    return lambda db, start: db.find(start, follow, limit=ALL).memories


QUESTIONS: Final = (
    Question("find, 1 hop", _found(1), _ONE),
    Question("find, 3 hops", _found(3), _THREE),
    Question("edges_out", lambda db, start: list(db.edges_out(start, (PREDICATE,))), _LINKS),
)


def measure(databases: Databases) -> Iterator[Line]:
    """Time all questions for every size, about any elements with such links and about hubs."""
    for pair in databases.pairs():
        with pair.opened() as (db, _):
            fans = _by_fan(db)
            for kind, starts in (
                ("any", pair.rng("edges").sample(fans, ANY)),
                ("hubs", fans[:HUBS]),
            ):
                for question in QUESTIONS:
                    say(f"{question.name}, {kind}: {pair.size}")
                    yield _beside(pair, db, question, kind, starts)


def _by_fan(db: mycel.Graph) -> list[str]:
    """The sources of links of the predicate, those with most links first."""
    counted = db.execute(f'FIND(?a.id, COUNT(?b)) WHERE {{ (?a, "{PREDICATE}", ?b) }}').rows
    return [start for start, _ in sorted(counted, key=lambda row: (-row[1], row[0]))]


def _beside(
    pair: Pair, db: mycel.Graph, question: Question, kind: str, starts: Sequence[str]
) -> Measure:
    for start in starts[:BLOCKS]:
        # FIND also returns the start, if a cycle leads back to it.
        ours = {each.id for each in question.ours(db, start)} | {start}
        if ours != {each["id"] for each in db.execute(question.command, id=start).value} | {start}:
            raise AssertionError(f"{question.name} and FIND differ at {start}.")
    contenders = [
        Contender(_run(lambda start: question.ours(db, start)), in_blocks(starts, BLOCKS)),
        Contender(
            _run(lambda start: db.execute(question.command, id=start).value),
            in_blocks(starts, BLOCKS),
        ),
    ]
    ours_took, find_took = take_turns(contenders, passes=PASSES if kind == "any" else 2)
    name, note = f"{question.name}, {kind}", "beside FIND"
    return Measure(name, pair.size, "s", ours_took, find_took, BAR, note=note)


def _run(answer: Answer) -> Run:
    def run(block: Block, took_ns: list[int]) -> None:
        for start in block:
            begin = clock_ns()
            answer(start)
            took_ns.append(clock_ns() - begin)

    return run
