"""The cost of the index of properties for a write, and its gain for a FIND.

Graphs of members, each of whom has a handle that is unique, a team that is indexed, and a nickname
that is neither. A write with `@unique` is compared with a write of a type with the same properties
and only a key. All sizes take turns in one run, so growth is measured reliably. A FIND by an
attribute is compared with SQL by hand on the same tables, as other FINDs are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from time import thread_time_ns
from typing import Any, Final

import orjson

import mycel
from benchmarks.databases import Databases, remove, say
from benchmarks.graphs import NODES, SEED
from benchmarks.kip.finds import Question, measure_question
from benchmarks.kip.handwritten import COLUMNS, NODE, Answer, Base, Form, node
from benchmarks.report import Measure
from benchmarks.timing import Block, Contender, Summary, clock_ns, in_blocks, take_turns

SCHEMA: Final = """\
node Member {
  email: String @key
  handle: String @unique
  team: I32 @index
  nickname: String
}
node Guest {
  email: String @key
  handle: String
  team: I32
  nickname: String
}
"""
SMALL: Final = "1k"
COUNTS: Final = {SMALL: 1000, **NODES}
PER_TEAM: Final = 20
WRITES: Final = 200
ASKED: Final = 200
SCANNED: Final = 2
"""The number of values that are asked for where all members have to be read."""


# Making the graphs.


def measure(databases: Databases) -> Iterator[Measure]:
    sizes = tuple(dict.fromkeys((SMALL, *databases.sizes)))
    paths = {size: databases.folder / f"members-{size}.db" for size in sizes}
    try:
        for size, path in paths.items():
            say(f"members: {size}")
            _make(path, COUNTS[size])
        for size, path in paths.items():
            yield from _measure_finds(size, path)
        yield from _measure_writes(paths)
    finally:
        for path in paths.values():
            remove(path)


def _make(path: Path, count: int) -> None:
    remove(path)
    with mycel.open(path) as db:
        db.schema.apply(SCHEMA)
        with db.transaction() as tx:
            tx.put_concepts(_member(at, count) for at in range(count))


def _member(at: int, count: int) -> mycel.ConceptRow:
    email = f"{at * 7919 % count}-{at}@example.org"
    team = at % max(1, count // PER_TEAM)
    attributes = {"email": email, "handle": _handle(at), "team": team, "nickname": f"nick {at}"}
    return mycel.ConceptRow("Member", email, attributes)


def _handle(at: int) -> str:
    """A handle; handles follow each other in an order that looks random, like those of people."""
    return f"{at * 2_654_435_761 % (1 << 32):08x}"


# Writing.


def _measure_writes(paths: dict[str, Path]) -> Iterator[Measure]:
    with ExitStack() as stack:
        writers = []
        for path in paths.values():
            db = stack.enter_context(mycel.open(path, create=False))
            writers += [_Writer(db, "Member"), _Writer(db, "Guest")]
        say(f"writing one at a time: {', '.join(paths)}")
        blocks = in_blocks(range(WRITES), WRITES)
        wall = take_turns([Contender(each.run, blocks) for each in writers], passes=1)
    # The first half warms up.
    cpu = [Summary.of_ns(each.cpu_ns[WRITES:]) for each in writers]
    for what, took in (("", wall), (", processor time", cpu)):
        name, note = f"write with @unique{what}", "beside a type without"
        for at, size in enumerate(paths):
            yield Measure(name, size, "s", took[2 * at], took[2 * at + 1], note=note)
        for at, size in enumerate(paths):
            if at:
                note = f"beside {SMALL} instances"
                yield Measure(name, size, "s", took[2 * at], took[0], note=note)


class _Writer:
    """Instances of one type, one in each transaction."""

    def __init__(self, db: mycel.Graph, type_name: str) -> None:
        self._db, self._type = db, type_name
        self._rng = Random(f"{SEED} {type_name}")
        self._made = 0
        self.cpu_ns: list[int] = []

    def run(self, block: Block, took_ns: list[int]) -> None:
        for _ in block:
            self._made += 1
            email = f"{self._rng.randrange(10**9)}-new-{self._made}@example.org"
            attributes: dict[str, Any] = {
                "email": email,
                "handle": f"{self._rng.randrange(1 << 32):08x}-{self._made}",
                "team": self._made,
                "nickname": "somebody new",
            }
            cpu, start = thread_time_ns(), clock_ns()
            with self._db.transaction() as tx:
                tx.put_concept(self._type, email, attributes)
            took_ns.append(clock_ns() - start)
            self.cpu_ns.append(thread_time_ns() - cpu)


# Asking.


def _measure_finds(size: str, path: Path) -> Iterator[Measure]:
    count = COUNTS[size]
    some = Random(f"{SEED} {size} members").sample(range(count), ASKED)
    handles = [("Member", _handle(at)) for at in some]
    teams = [("Member", at % max(1, count // PER_TEAM)) for at in some]
    nicknames = [("Member", f"nick {at}") for at in some[:SCANNED]]
    with mycel.open(path, create=False) as db:
        base = Base(path)
        try:
            for question, inputs in (
                (UNIQUE, handles),
                (INDEXED, teams),
                (NAMES, handles),
                (SCAN, nicknames),
            ):
                say(f"{question.name}: {size}")
                yield from measure_question(question, size, db, base, inputs)
        finally:
            base.close()


_LOOK_UP: Final = (
    "SELECT {what} FROM property p CROSS JOIN concept c ON c.id = p.element"
    " WHERE p.slot = ? AND p.value = ?"
)


def _slot(base: Base, column: str) -> int:
    ((slot,),) = base.rows(
        "SELECT slot FROM property_slot WHERE owner = ? AND is_link = 0 AND columns = ?",
        (base.types["Member"], f'["{column}"]'),
    )
    return int(slot)


def _names(column: str) -> Form:
    sql = _LOOK_UP.format(what="c.name")

    def on(base: Base, _: str) -> Answer:
        slot = _slot(base, column)
        return lambda _, value: [name for (name,) in base.rows(sql, (slot, value))]

    return Form("a look-up and a join", on)


def _spliced(column: str) -> Form:
    sql = _LOOK_UP.format(what=NODE.format(b="c"))

    def on(base: Base, _: str) -> Answer:
        slot = _slot(base, column)
        return lambda _, value: [orjson.loads(text) for (text,) in base.rows(sql, (slot, value))]

    return Form("JSON in SQL", on)


def _assembled(column: str) -> Form:
    sql = _LOOK_UP.format(what=COLUMNS.format(b="c"))

    def on(base: Base, _: str) -> Answer:
        slot, names = _slot(base, column), base.type_names
        return lambda _, value: [node(row, names) for row in base.rows(sql, (slot, value))]

    return Form("dicts", on)


def _by_scan(base: Base, _: str) -> Answer:
    sql = "SELECT name FROM concept WHERE type = ? AND json_extract(attributes, '$.nickname') = ?"
    type_number = base.types["Member"]
    return lambda _, value: [name for (name,) in base.rows(sql, (type_number, value))]


def _command(what: str, column: str) -> str:
    return f'FIND({what}) WHERE {{ ?m {{type: "TYPE"}} FILTER(?m.attributes.{column} == :name) }}'


UNIQUE: Final = Question(
    "FIND by a unique attribute",
    _command("?m", "handle"),
    (_spliced("handle"), _assembled("handle")),
)
INDEXED: Final = Question(
    f"FIND by an indexed attribute, {PER_TEAM} hits",
    _command("?m", "team"),
    (_spliced("team"), _assembled("team")),
    is_sorted=True,
)
NAMES: Final = Question(
    "FIND a name by a unique attribute",
    _command("?m.name", "handle"),
    (_names("handle"),),
    has_bar=False,
)
SCAN: Final = Question(
    "FIND a name by an attribute without index",
    _command("?m.name", "nickname"),
    (Form("a scan", _by_scan),),
    has_bar=False,
)
