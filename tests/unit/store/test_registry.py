"""Names and their numbers: what others add is found, and what is known is not read again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apsw
import pytest

import mycel
from mycel.errors import TypeMismatch
from mycel.store.log.registry import NameTable, Registry
from tests.prepared import NEW
from tests.unit.store.given import DeliberateError


@pytest.fixture
def connection() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE TABLE type (id INTEGER PRIMARY KEY, name TEXT UNIQUE)")
    connection.execute("INSERT INTO type VALUES (1, 'one'), (2, 'two')")
    yield connection
    connection.close()


def test_rows_that_others_add_are_found_by_name_and_by_number(connection: apsw.Connection) -> None:
    names = NameTable("type", 1)
    assert names.number(connection, "two") == 2
    assert names.number(connection, "three") is None
    connection.execute("INSERT INTO type VALUES (3, 'three'), (7, 'seven')")
    assert names.name(connection, 7) == "seven"
    assert names.number(connection, "three") == 3


def test_only_rows_beyond_the_last_are_read(connection: apsw.Connection) -> None:
    registry, read = Registry(), []

    def trace(_: Any, row: tuple[Any, ...]) -> tuple[Any, ...]:
        read.append(row)
        return row

    connection.row_trace = trace
    first = registry.types.first_number
    for at in range(20):
        assert registry.add(connection, registry.types, f"T{at}") == max(first, 3) + at
    assert [row for row in read if len(row) == 2] == [(1, "one"), (2, "two")]


def define_and_fail(tx: mycel.Transaction) -> None:
    tx.define_type("Lost")
    raise DeliberateError


def test_a_name_that_was_rolled_back_does_not_keep_its_number() -> None:
    with NEW.opened() as db:
        with pytest.raises(DeliberateError):
            db.write(define_and_fail)
        db.write(lambda tx: tx.define_type("Kept"))
        db.write(lambda tx: tx.put_concept("Kept", "x"))
        found = db.get_concept("Kept", "x")
        assert found is not None
        assert found.type == "Kept"
        with pytest.raises(TypeMismatch):
            db.write(lambda tx: tx.put_concept("Lost", "x"))
