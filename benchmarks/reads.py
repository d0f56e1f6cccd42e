"""Reading: a concept by type and name, and the links of one predicate that leave a concept.

All sizes take turns in one run, so the growth between sizes is measured as reliably as the ratio of
the contenders.

Each kind of reading is measured twice: "rows" compares our elements with the rows of SQLite;
"decoded" also turns both JSON objects of every element into Python objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Final, NamedTuple

import apsw
import orjson

import mycel
from benchmarks import ours
from benchmarks.databases import Databases, Pair, say
from benchmarks.plain import (
    HOP,
    HOP_JSON,
    POINT,
    POINT_JSON,
    PREDICATE_NAMES,
    TYPE_NAMES,
    Plain,
    concept_number,
)
from benchmarks.report import Bar, Measure
from benchmarks.timing import Block, Contender, Run, Summary, clock_ns, in_blocks, take_turns

KEYS: Final = 2000
PASSES: Final = 5
BLOCKS: Final = 20
BAR: Final = Bar(2.5)


class Question(NamedTuple):
    """One kind of reading, with inputs and a function for each side."""

    name: str
    ours: Sequence[tuple[object, ...]]
    plain: Sequence[tuple[object, ...]]
    run_ours: Callable[[mycel.Graph], Run]
    run_plain: Callable[[apsw.Connection], Run]
    bar: Bar | None = BAR
    note: str = ""


def measure_point(databases: Databases) -> Iterator[Measure]:
    return _measure(databases, _point_questions)


def measure_hop(databases: Databases) -> Iterator[Measure]:
    return _measure(databases, _hop_questions)


def _measure(
    databases: Databases,
    questions_of: Callable[[Pair, mycel.Graph, Plain], list[Question]],
) -> Iterator[Measure]:
    pairs = databases.pairs()
    with ExitStack() as stack:
        sides = [stack.enter_context(pair.opened()) for pair in pairs]
        asked = [questions_of(pair, *side) for pair, side in zip(pairs, sides, strict=True)]
        say(f"reading: {', '.join(question.name for question in asked[0])}")
        contenders = [
            Contender(run, in_blocks(inputs, BLOCKS))
            for questions, (db, base) in zip(asked, sides, strict=True)
            for question in questions
            for run, inputs in (
                (question.run_ours(db), question.ours),
                (question.run_plain(base.connection), question.plain),
            )
        ]
        summaries = iter(take_turns(contenders, passes=PASSES))
    measures = [
        [
            Measure(
                name=question.name,
                size=pair.size,
                unit="s",
                ours=next(summaries),
                plain=next(summaries),
                bar=question.bar,
                note=question.note,
            )
            for question in questions
        ]
        for pair, questions in zip(pairs, asked, strict=True)
    ]
    for same in zip(*measures, strict=True):
        yield from same
        for larger in same[1:]:
            yield _growth(same[0], larger)


def _growth(small: Measure, large: Measure) -> Measure:
    """The growth of the time from the smallest to the largest graph, for both sides."""
    ours_, plain = (
        Summary(after.p50 / before.p50, after.mean / before.mean, after.p99 / before.p99, 1)
        for before, after in ((small.ours, large.ours), (small.plain, large.plain))
    )
    sizes = f"{small.size} to {large.size}"
    return Measure(f"{small.name}: growth", "", "x", ours_, plain, note=sizes)


# Point lookup.


def _point_questions(pair: Pair, _db: mycel.Graph, base: Plain) -> list[Question]:
    places = pair.rng("point").choices(range(pair.node_count), k=KEYS)
    keys = [_identity(base, concept_number(place)) for place in places]
    named = [(TYPE_NAMES[type_number], name) for name, type_number in keys]
    return [
        Question("point lookup, rows", named, keys, _point, _plain_point),
        Question("point lookup, decoded", named, keys, _point_decoded, _plain_point_decoded),
    ]


def _identity(base: Plain, number: int) -> tuple[str, int]:
    """The name and type number of a concept, as parameters of `POINT`."""
    return base.connection.execute(
        "SELECT name, type FROM concept WHERE id = ?", (number,)
    ).fetchone()


def _point(db: mycel.Graph) -> Run:
    def run(block: Block, took_ns: list[int]) -> None:
        for type_name, name in block:
            start = clock_ns()
            db.get_concept(type_name, name)
            took_ns.append(clock_ns() - start)

    return run


def _plain_point(connection: apsw.Connection) -> Run:
    def run(block: Block, took_ns: list[int]) -> None:
        for bindings in block:
            start = clock_ns()
            connection.execute(POINT, bindings).fetchone()
            took_ns.append(clock_ns() - start)

    return run


def _point_decoded(db: mycel.Graph) -> Run:
    def run(block: Block, took_ns: list[int]) -> None:
        for type_name, name in block:
            start = clock_ns()
            concept = db.get_concept(type_name, name)
            _ = concept.attributes, concept.metadata
            took_ns.append(clock_ns() - start)

    return run


def _plain_point_decoded(connection: apsw.Connection) -> Run:
    loads = orjson.loads

    def run(block: Block, took_ns: list[int]) -> None:
        for bindings in block:
            start = clock_ns()
            attributes, metadata = connection.execute(POINT, bindings).fetchone()[POINT_JSON]
            _ = loads(attributes), loads(metadata)
            took_ns.append(clock_ns() - start)

    return run


# One hop.


class _Fan(NamedTuple):
    """A class of pairs (subject, predicate), by their number of links."""

    name: str
    least: int
    most: int
    keys: int
    bar: Bar | None = BAR


_FANS: Final = (
    _Fan("one hop", 1, 1 << 30, KEYS),
    _Fan("one hop, 10 to 30 links", 10, 30, KEYS // 2),
    _Fan("one hop, 100 links or more", 100, 1 << 30, KEYS // 20),
)
_NO_FAN: Final = _Fan("one hop, no links", 0, 0, KEYS // 2, None)


def _hop_questions(pair: Pair, db: mycel.Graph, base: Plain) -> list[Question]:
    found = _sample_fans(pair, base)
    found[_NO_FAN] = _sample_no_fan(pair, base)
    questions = []
    for fan, keys in found.items():
        note = f"{sum(links for *_, links in keys) / len(keys):.1f} links on average"
        named = [
            (_our_id(db, base, subject), [PREDICATE_NAMES[predicate]])
            for subject, predicate, _ in keys
        ]
        for (source, predicates), (*_, links) in zip(named, keys, strict=True):
            if len(list(db.edges_out(source, predicates))) != links:
                raise ValueError(f"The two databases differ in the links of {source}.")
        numbers = [key[:2] for key in keys]
        rows = Question(f"{fan.name}, rows", named, numbers, _hop, _plain_hop, fan.bar, note)
        questions.append(rows)
        if fan is not _NO_FAN:
            questions.append(
                rows._replace(
                    name=f"{fan.name}, decoded",
                    run_ours=_hop_decoded,
                    run_plain=_plain_hop_decoded,
                )
            )
    return questions


def _our_id(db: mycel.Graph, base: Plain, number: int) -> str:
    """Our id for a concept of the baseline, which numbers concepts differently."""
    name, type_number = _identity(base, number)
    return ours.concept_id(db, TYPE_NAMES[type_number], name)


def _sample_fans(pair: Pair, base: Plain) -> dict[_Fan, list[tuple[int, int, int]]]:
    """Subject, predicate and number of links, for a random sample of each class."""
    rng = pair.rng("hop")
    samples: dict[_Fan, list[tuple[int, int, int]]] = {fan: [] for fan in _FANS}
    seen = dict.fromkeys(_FANS, 0)
    for row in base.connection.execute(
        "SELECT subject, predicate, count(*) FROM proposition GROUP BY subject, predicate"
    ):
        for fan, sample in samples.items():
            if fan.least <= row[2] <= fan.most:
                seen[fan] += 1
                if len(sample) < fan.keys:
                    sample.append(row)
                elif (place := int(rng.random() * seen[fan])) < fan.keys:
                    sample[place] = row
    for sample in samples.values():
        rng.shuffle(sample)
    return samples


def _sample_no_fan(pair: Pair, base: Plain) -> list[tuple[int, int, int]]:
    rng = pair.rng("no hop")
    sample: list[tuple[int, int, int]] = []
    while len(sample) < _NO_FAN.keys:
        key = concept_number(rng.randrange(pair.node_count)), rng.choice(list(PREDICATE_NAMES))
        if base.connection.execute(HOP, key).fetchone() is None:
            sample.append((*key, 0))
    return sample


def _hop(db: mycel.Graph) -> Run:
    def run(block: Block, took_ns: list[int]) -> None:
        for source, predicates in block:
            start = clock_ns()
            list(db.edges_out(source, predicates))
            took_ns.append(clock_ns() - start)

    return run


def _plain_hop(connection: apsw.Connection) -> Run:
    def run(block: Block, took_ns: list[int]) -> None:
        for bindings in block:
            start = clock_ns()
            connection.execute(HOP, bindings).fetchall()
            took_ns.append(clock_ns() - start)

    return run


def _hop_decoded(db: mycel.Graph) -> Run:
    def run(block: Block, took_ns: list[int]) -> None:
        for source, predicates in block:
            start = clock_ns()
            for link in db.edges_out(source, predicates):
                _ = link.attributes, link.metadata
            took_ns.append(clock_ns() - start)

    return run


def _plain_hop_decoded(connection: apsw.Connection) -> Run:
    loads = orjson.loads

    def run(block: Block, took_ns: list[int]) -> None:
        for bindings in block:
            start = clock_ns()
            for row in connection.execute(HOP, bindings):
                attributes, metadata = row[HOP_JSON]
                _ = loads(attributes), loads(metadata)
            took_ns.append(clock_ns() - start)

    return run
