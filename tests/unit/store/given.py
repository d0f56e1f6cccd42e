"""Graphs to start from, clocks that tests move, and reads of a database without Mycel.

Everything uses the public API, except `raw` and the functions that use it: they have a connection
of their own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from typing import Any

import apsw
import cbor2

import mycel
from tests.stored_bytes import stored_bytes

START_US = 1_700_000_000_000_000
"""A whole second, so that records show it as a plain integer."""

FACT, EVENT = "Fact", "Occasion"

Rows = list[tuple[Any, ...]]


class Clock:
    """A clock that shows the same time until a test moves it."""

    def __init__(self, now_us: int = START_US) -> None:
        self.now_us = now_us

    def __call__(self) -> int:
        return self.now_us

    def tick(self, microseconds: int = 1_000) -> int:
        """Move the clock. Returns the new time."""
        self.now_us += microseconds
        return self.now_us


class TickingClock(Clock):
    """A clock that moves by a millisecond with each reading."""

    def __call__(self) -> int:
        return self.tick()


def define(db: mycel.Graph, types: Iterable[str] = (), predicates: Iterable[str] = ()) -> None:
    with db.transaction() as tx:
        for name in types:
            tx.define_type(name)
        for name in predicates:
            tx.define_predicate(name)


def add_concepts(db: mycel.Graph, *names: str, type_name: str = FACT) -> list[str]:
    """Concepts with these names, of a type that is defined if it is not yet; their ids."""
    with db.transaction() as tx:
        tx.define_type(type_name)
        return [tx.put_concept(type_name, name) for name in names]


class DeliberateError(Exception):
    """The error that tests raise in the middle of a transaction."""


def fail_after(db: mycel.Graph, work: Callable[[mycel.Transaction], object]) -> None:
    """Do the work in a transaction, and then fail."""
    with db.transaction() as tx:
        work(tx)
        raise DeliberateError


def number_of(element_id: str) -> int:
    return int(element_id.split(":")[1])


def entries(db: mycel.Graph) -> int:
    """The number of journal entries."""
    return db.snapshot().entries


# What the specification says of keys, computed without Mycel.


def concept_key(type_name: str, name: str) -> bytes:
    return sha256(cbor2.dumps([type_name, name], canonical=True)).digest()


def link_key(subject_key: bytes, predicate: str, object_key: bytes) -> bytes:
    return sha256(cbor2.dumps([subject_key, predicate, object_key], canonical=True)).digest()


def edge_tree_key(subject_key: bytes, predicate: str, object_key: bytes) -> bytes:
    return subject_key[:2] + link_key(subject_key, predicate, object_key)[:30]


# From outside.


@contextmanager
def raw(path: str | os.PathLike[str]) -> Iterator[apsw.Connection]:
    """An ordinary SQLite connection to the file."""
    with closing(apsw.Connection(os.fspath(path))) as connection:
        yield connection


def stored_tables(connection: apsw.Connection) -> list[str]:
    """Every table that holds bytes: shadow tables too, virtual ones and statistics not."""
    rows = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
        " AND name NOT LIKE 'sqlite_stat%' ORDER BY name"
    )
    return [name for (name,) in rows]


def columns_of(connection: apsw.Connection, table: str) -> list[str]:
    rows = connection.execute("SELECT name FROM pragma_table_info(?) ORDER BY cid", (table,))
    return [name for (name,) in rows]


def dump(path: str | os.PathLike[str]) -> dict[str, Rows]:
    """Every row of every table."""
    with raw(path) as connection:
        return {
            table: connection.execute(f'SELECT * FROM "{table}" ORDER BY 1, 2').fetchall()
            for table in stored_tables(connection)
        }


def text_answers(path: str | os.PathLike[str]) -> dict[str, Rows] | str:
    """For every word of the text index, the elements that it finds, with their scores."""
    with raw(path) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, text, row)")
            words = connection.execute("SELECT term FROM temp.words").fetchall()
            return {word: _matches(connection, word) for (word,) in words}
        except apsw.Error as error:
            return str(error)


def _matches(connection: apsw.Connection, word: str) -> Rows:
    return connection.execute(
        "SELECT rowid, rank FROM text WHERE text MATCH ? ORDER BY rank, rowid", (f'"{word}"',)
    ).fetchall()


def legible(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a database, and the terms of its text index.

    The index stores only the part of a term that differs from the term before.
    """
    connection = apsw.Connection(os.fspath(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        connection.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, text, row)")
        terms = [term for (term,) in connection.execute("SELECT term FROM temp.terms")]
    finally:
        connection.close()
    return stored_bytes(path) + "\n".join(terms).encode()


def problems(report: mycel.Report) -> list[dict[str, str]]:
    """The problems that a verification found, as text; empty if there are none."""
    return [problem.to_dict() for problem in report.problems]


def assert_sound(db: mycel.Graph) -> None:
    """Everything agrees with everything, and with a replay of the journal."""
    assert problems(db.verify(replay=True)) == []
