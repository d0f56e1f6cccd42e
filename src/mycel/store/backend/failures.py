"""Translates errors of databases to errors of Mycel: `translated` is the one place for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from mycel.errors import (
    DatabaseBusy,
    DatabaseCorrupt,
    DatabaseError,
    DatabaseReadOnly,
    DiskFull,
    ExecutionTimeout,
    InternalError,
    MycelError,
    NotADatabase,
    ResourceExhausted,
)
from mycel.model.allowance import too_little_memory
from mycel.store.backend.interface import Failure

FAILURES = (apsw.Error, UnicodeDecodeError, Failure)
"""Errors of reading and writing; SQLite returns text without checking that it is UTF-8."""

REFUSALS = (apsw.Error, Failure)
"""Errors of the database itself."""

SURE_FAILURES = (apsw.BusyError, apsw.FullError)
"""Errors of a COMMIT that certainly wrote nothing."""


@contextmanager
def translated() -> Iterator[None]:
    """Raise errors of a database as errors of Mycel; leave those of Mycel unchanged."""
    try:
        yield
    except FAILURES as error:
        raise translate(error) from error


def translate(error: BaseException) -> MycelError:
    """The error of Mycel for an error of a database."""
    message = str(error)
    match error:
        case Failure(error=ours):
            return ours
        case UnicodeDecodeError():
            return DatabaseCorrupt(f"The database is damaged ({message}).")
        case apsw.BusyError() | apsw.LockedError():
            return DatabaseBusy(f"Another writer held the database for too long ({message}).")
        case apsw.FullError():
            return DiskFull(f"The disk is full ({message}).")
        case apsw.NotADBError():
            return NotADatabase(f"This file is no database ({message}).")
        case apsw.CorruptError() | apsw.FormatError():
            return DatabaseCorrupt(f"The database is damaged ({message}).")
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return DatabaseReadOnly(f"The database cannot be written ({message}).")
        case apsw.InterruptError():
            return ExecutionTimeout("The work was interrupted at its deadline.")
        case apsw.NoMemError():
            return too_little_memory()
        case apsw.TooBigError():
            return ResourceExhausted(f"The work needs more than it may have ({message}).")
        case apsw.CantOpenError() | apsw.IOError() | apsw.AuthError():
            return DatabaseError(f"The storage failed ({message}).")
        case apsw.SQLError() if any(word in message for word in _TOO_MUCH):
            return ResourceExhausted(
                f"The command is too large for one statement ({message}).",
                hint="Ask for less at once: fewer expressions, fewer clauses, less nesting.",
            )
        case _:
            return InternalError(f"The database engine refused a statement ({message}).")


_TOO_MUCH = ("too many", "too large", "too big", "at most 64", "too deep", "stack overflow")
"""Messages of SQLite about a statement that exceeds one of its limits."""
