"""Whether the file that a server has open is still the one that people see.

A file that is deleted, moved away or replaced while a process has it open lives on for that process
alone: what it writes would be gone with it, and nobody would know. A server asks before each call.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from mycel.errors import DatabaseError

MEMORY: Final = ":memory:"


class Presence:
    """The file of an open graph, as it was when this was made."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path: Final = None if os.fspath(path) == MEMORY else Path(path).absolute()
        self._identity: Final = self._look()

    def check(self) -> None:
        """See to it that the file is where it was.

        Raises:
            DatabaseError: it is gone, or another one is in its place.
        """
        seen = self._look()
        if seen == self._identity:
            return
        what = "is gone" if seen is None else "was replaced by another one"
        raise DatabaseError(
            f"The graph file {self._path} {what} while it was being served.",
            hint="Nothing is read or written until it is back in its place. Put it back, or start"
            " the server anew to begin with what is there now.",
        )

    def _look(self) -> tuple[int, int] | None:
        if self._path is None:
            return None
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino
