"""Small damage to a closed database, done with SQL or in the raw bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import apsw

from tests.unit.store.given import columns_of


@dataclass(frozen=True, slots=True)
class Cell:
    """One value in one row, and how to find the row again."""

    table: str
    row: int
    column: str
    value: Any
    where: str
    keys: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.table}[{self.row}].{self.column}"


def cells(
    connection: apsw.Connection, table: str, rows_max: int | None, random: Random
) -> list[Cell]:
    """Every value of all rows, or of this many rows drawn at random."""
    columns = columns_of(connection, table)
    rows = connection.execute(f'SELECT * FROM "{table}" ORDER BY 1, 2').fetchall()
    chosen = range(len(rows))
    if rows_max is not None and len(rows) > rows_max:
        chosen = sorted(random.sample(chosen, rows_max))
    found = []
    for at in chosen:
        where = " AND ".join(f'"{column}" IS ?' for column in columns)
        found += [
            Cell(table, at, column, value, where, rows[at])
            for column, value in zip(columns, rows[at], strict=True)
        ]
    return found


def changes(value: Any, count: int, random: Random) -> Iterator[Any]:
    """The value with one bit changed, in up to `count` ways; with the same type, or as raw text."""
    match value:
        case int():
            # The lowest bits and one anywhere: ids and numbers of entries are small.
            bits = [0, 1, random.randrange(64), *random.sample(range(64), 64)]
            for bit in dict.fromkeys(bits[: max(count, 3)]):
                yield struct.unpack("<q", struct.pack("<Q", (value % (1 << 64)) ^ (1 << bit)))[0]
        case float():
            for bit in random.sample(range(64), min(count, 64)):
                packed = int.from_bytes(struct.pack("<d", value)) ^ (1 << bit)
                changed = struct.unpack("<d", packed.to_bytes(8))[0]
                if changed == changed:  # noqa: PLR0124 - a NaN would be stored as NULL
                    yield changed
        case str():
            for changed in changes(value.encode(), count, random):
                yield RawText(changed)
        case bytes():
            total = len(value) * 8
            for bit in random.sample(range(total), min(count, total)):
                changed = bytearray(value)
                changed[bit // 8] ^= 1 << bit % 8
                yield bytes(changed)


@dataclass(frozen=True, slots=True)
class RawText:
    """Text that may not be valid UTF-8."""

    content: bytes


def write(connection: apsw.Connection, cell: Cell, value: Any) -> bool:
    """Store the value in the cell. False if the database itself does not allow it."""
    given = "CAST(? AS TEXT)" if isinstance(value, RawText) else "?"
    content = value.content if isinstance(value, RawText) else value
    try:
        connection.execute(
            f'UPDATE "{cell.table}" SET "{cell.column}" = {given} WHERE {cell.where}',
            (content, *cell.keys),
        )
    except (apsw.ConstraintError, apsw.MismatchError):
        return False
    assert connection.changes() == 1
    return True
