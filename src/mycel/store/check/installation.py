"""Checks for `mycel doctor`: of SQLite itself, and of a file before it is opened as a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import apsw

from mycel.errors import MycelError
from mycel.store.backend.sqlite.connection import SqliteConnection
from mycel.store.backend.sqlite.format import check_format
from mycel.store.file.rows import fetch_one
from mycel.store.schema_objects import check_objects


class FileHeader(NamedTuple):
    """The format that a file claims to have, and the result of SQLite's quick check."""

    format: int
    problem: str | None
    """The reason why a file of this format cannot be opened; None if it can."""
    quick_check: str | None
    """None for a file that is not opened."""
    """`ok`, or the first problem."""


def versions() -> tuple[str, str]:
    """The version of SQLite, and that of its Python module."""
    return apsw.sqlite_lib_version(), apsw.apsw_version()


def features() -> Iterator[tuple[str, str | None]]:
    """The features of SQLite that Mycel needs, each with the error if it is missing."""
    needed: dict[str, Callable[[], object]] = {
        "FTS5": _runs("CREATE VIRTUAL TABLE t USING fts5(body, tokenize = 'porter unicode61')"),
        "JSON": _runs("SELECT json_extract('{\"a\":1}', '$.a'), '[1]' ->> 0"),
        "STRICT": _runs("CREATE TABLE t (a INTEGER) STRICT"),
        "VFS": lambda: apsw.Connection("/mycel-doctor", vfs="memdb"),
    }
    for name, attempt in needed.items():
        try:
            attempt()
        except apsw.Error as error:
            yield name, str(error)
        else:
            yield name, None


def _runs(statement: str) -> Callable[[], object]:
    return lambda: apsw.Connection(":memory:").execute(statement).fetchall()


def read_header(path: Path) -> FileHeader:
    """The header of a file, which may be no graph.

    Raises:
        OSError: SQLite cannot read the file.
    """
    try:
        connection = SqliteConnection(str(path.absolute()), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            (format_,) = fetch_one(connection, "PRAGMA user_version")
            problem = _problem(path, connection)
            verdict = None
            if problem is None:  # Otherwise SQLite would evaluate expressions of foreign objects.
                (verdict,) = fetch_one(connection, "PRAGMA quick_check(1)")
        finally:
            connection.close()
    except apsw.Error as error:
        raise OSError(str(error)) from error
    return FileHeader(format_, problem, verdict)


def _problem(path: Path, connection: SqliteConnection) -> str | None:
    try:
        check_format(str(path), connection)
        check_objects(str(path), connection)
    except MycelError as error:
        return f"{error.message} {error.hint}"
    return None
