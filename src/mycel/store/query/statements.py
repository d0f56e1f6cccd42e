"""Runs a compiled statement: a batch of rows at a time, up to the limits of a result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from operator import itemgetter
from sys import getsizeof
from typing import Any, Final

import apsw

from mycel.errors import InternalError, ResourceExhausted
from mycel.model.allowance import charge, current
from mycel.model.limits import RESULT_BYTES_MAX, RESULT_ROWS_MAX
from mycel.sql.compiler import Statement
from mycel.store.backend.failures import FAILURES, translate
from mycel.store.file.rows import Row, fetch_all
from mycel.store.query.reader import Reader

_CELL: Final = itemgetter(0)
CELLS_AT_FIRST: Final = 2
"""The number of cells in the first batch; a cell has some megabytes at most."""
CELLS_UNCOUNTED: Final = 100
"""The number of cells in a batch without a memory limit. A few rows then come in one batch, in two
thirds of the time."""
CELLS_MAX: Final = 10_000
"""The maximum number of cells of a later batch."""
_GROWTH: Final = 4
_BATCH_BYTES: Final = 1 << 20
"""The size of a batch in bytes, estimated from the rows before it."""
_CELL_BYTES: Final = 8
"""The least memory that a cell takes beside its text."""


class SumOverflowError(InternalError):
    """A sum exceeded 64 bits: the statement has to be compiled again with exact sums."""


def cells(reader: Reader, statement: Statement, bindings: Row, limit: int | None) -> list[Any]:
    """All rows of a statement, or the cells of its only column.

    With an allowance, the memory of each batch is counted (`allowance.charge`). Then the first
    batch is small, and the size of each later batch follows from the rows before it, so that little
    is fetched before it is counted.

    Raises:
        ExecutionTimeout: the statement took longer than the reader's deadline.
        ResourceExhausted: the result has too many rows or bytes.
        SumOverflowError: a sum went beyond 64 bits.
    """
    width = len(statement.json_columns)
    size = CELLS_AT_FIRST
    if current() is None:
        size = CELLS_UNCOUNTED // width or 1
        if limit is not None and limit < size:
            size = limit + 2  # One more than can come: all rows are one batch.
    cursor = reader.connection.cursor()
    try:
        reader.connection.execute_with_version(cursor, statement.text, bindings)
        coming = map(_CELL, cursor) if width == 1 else cursor
        batch = list(islice(coming, size))
        if len(batch) < size:
            if current() is not None:
                charge(_memory_of(batch, statement))
            return batch
        return _with_more(batch, coming, statement, limit)
    except BaseException as error:  # After any error, the statement must not stay open.
        cursor.close()
        if isinstance(error, apsw.SQLError) and "integer overflow" in str(error):
            raise SumOverflowError(str(error)) from error
        if isinstance(error, FAILURES):
            raise translate(error) from error
        raise


def _with_more(
    batch: list[Any], coming: Iterator[Any], statement: Statement, limit: int | None
) -> list[Any]:
    """The first batch, and all further batches."""
    rows: list[Any] = []
    width = len(statement.json_columns)
    # One row more than the limit shows that there is a next page.
    rows_max = RESULT_ROWS_MAX + (limit is not None)
    length, is_counted = 0, current() is not None
    while batch:
        rows += batch
        length += _length_of(batch, statement)
        if is_counted:
            charge(_memory_of(batch, statement) + len(batch) * width * _CELL_BYTES)
        if length > RESULT_BYTES_MAX or len(rows) > rows_max:
            raise ResourceExhausted(
                f"The result has more than {RESULT_ROWS_MAX} rows or {RESULT_BYTES_MAX} bytes.",
                hint="Page through it with LIMIT and CURSOR, or ask for less of each element.",
            )
        fitting = _BATCH_BYTES * len(rows) // (length + 1)
        most = min(fitting, len(batch) * _GROWTH, CELLS_MAX // width)
        batch = list(islice(coming, max(1, most)))
    return rows


def _memory_of(rows: Sequence[Any], statement: Statement) -> int:
    """The memory of the texts in some rows."""
    if len(statement.json_columns) == 1:
        return sum(map(getsizeof, rows)) if statement.texts else 0
    return sum([sum([getsizeof(row[at]) for row in rows]) for at in statement.texts])


def _length_of(rows: Sequence[Any], statement: Statement) -> int:
    """The length of all texts in some rows."""
    if len(statement.json_columns) == 1:
        return _length(rows) if statement.texts else 0
    return sum([_length([row[at] for row in rows]) for at in statement.texts])


def _length(column: Sequence[Any]) -> int:
    """The length of all texts in a column. Usually all of its cells are texts, or none is."""
    try:
        return sum(map(len, column))
    except TypeError:
        return sum([len(cell) for cell in column if cell.__class__ is str])


def numbers(reader: Reader, statement: Statement, bindings: Row) -> list[tuple[int | None, ...]]:
    """All rows of a statement that returns numbers of elements. It may also run in the writer.

    Raises:
        ExecutionTimeout: the statement took longer than the reader's deadline.
    """
    try:
        with reader.watched():
            return fetch_all(reader.connection, statement.text, bindings)
    except FAILURES as error:
        raise translate(error) from error


def steps(reader: Reader, statement: Statement) -> list[str]:
    """The plan that the database makes for a statement, indented."""
    return reader.connection.steps(statement.text, (None,) * len(statement.bindings))
