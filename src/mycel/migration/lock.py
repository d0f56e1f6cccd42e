"""One apply at a time, across threads and processes.

The lock is a file beside the database. A second apply does not wait for it: it was planned against
a schema that is about to change, so it is refused and can be planned again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from mycel.errors import DatabaseError, SchemaApplyInProgress
from mycel.store.file.locks import locked

SUFFIX: Final = ".__schema_apply_lock__"


@contextmanager
def schema_apply_lock(path: str) -> Iterator[None]:
    """Hold the lock of the database at `path`; raises SchemaApplyInProgress if another has it."""
    place = Path(path + SUFFIX)
    with ExitStack() as held:
        try:
            held.enter_context(locked(place))
        except BlockingIOError:
            raise SchemaApplyInProgress("schema apply is already in progress") from None
        except OSError as error:
            raise DatabaseError(
                f"{str(place)!r}, which keeps others from applying a schema at the same time,"
                f" cannot be locked: {error.strerror}.",
                hint="Nothing was changed. The directory of the database has to be writable, on a"
                " file system that has locks.",
            ) from error
        yield
