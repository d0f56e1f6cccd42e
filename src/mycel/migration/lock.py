"""One apply at a time, across threads and processes.

The lock is a file beside the database, or one of the server. A second apply does not wait for the
lock: its plan is for a schema that is about to change, so it is refused and has to be planned
again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from mycel.errors import DatabaseError, SchemaApplyInProgress
from mycel.store.backend.interface import Backend

SUFFIX: Final = ".__schema_apply_lock__"


@contextmanager
def schema_apply_lock(graph: Backend) -> Iterator[None]:
    """Hold the lock of a graph; raises SchemaApplyInProgress if somebody else has it."""
    with ExitStack() as stack:
        try:
            stack.enter_context(graph.locked(SUFFIX))
        except BlockingIOError:
            raise SchemaApplyInProgress("schema apply is already in progress") from None
        except OSError as error:
            raise DatabaseError(
                f"{graph.path + SUFFIX!r}, the lock against a second schema apply at the same"
                f" time, cannot be locked: {error.strerror}.",
                hint="Nothing was changed. The directory of the database has to be writable, on a"
                " file system that has locks.",
            ) from error
        yield
