"""Branches of a graph in a file: each is a file beside it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from mycel.errors import DatabaseBusy, DiskFull
from mycel.store.backend.failures import translated
from mycel.store.backend.interface import Backend
from mycel.store.backend.sqlite.connection import SqliteConnection
from mycel.store.backend.sqlite.copy import check_unused, create_branch, remove
from mycel.store.file import branch_files

FREE_BYTES_MIN: Final = 128 << 20
"""The free bytes of the disk that a new branch must leave."""


class FileBranches:
    """The branches of a graph in a file."""

    def __init__(self, location: Backend) -> None:
        self._location: Final = location
        self._graph, self.open = branch_files.split(Path(location.path))

    def names(self) -> list[str]:
        """The names of the branches that the caller may see; main is the first."""
        return branch_files.names(self._graph)

    def unreadable(self) -> list[str]:
        """None: a file that cannot be read raises an error when it is opened."""
        return []

    def place(self, name: str) -> Path:
        """The path of a branch, which need not exist."""
        return branch_files.file_of(self._graph, name)

    def existing(self, name: str) -> Path:
        return branch_files.existing(self._graph, name)

    def check_room(self) -> None:
        """Check that the disk has room for a copy of the graph, and some more.

        Raises:
            DiskFull: the disk is too full.
        """
        size = Path(self._location.path).stat().st_size
        free = shutil.disk_usage(self._graph.parent).free
        if free - size < FREE_BYTES_MIN:
            raise DiskFull(
                f"A copy of {size} bytes would leave less than {FREE_BYTES_MIN} bytes of the disk"
                f" ({free} are free).",
                hint="Delete branches that are merged (`mycel branch delete NAME`), or make room.",
            )

    def create(self, name: str, prepare: Callable[[Any], None]) -> None:
        """Copy the open branch.

        Others may write meanwhile, unless the file has 8 MiB or more: then they wait.
        """

        def prepare_file(path: Path) -> None:
            with translated(), closing(SqliteConnection(str(path))) as connection:
                prepare(connection)

        create_branch(self._location, self._graph, name, prepare_file)

    def remove(self, name: str) -> None:
        """Remove a branch for good.

        Raises:
            DatabaseBusy: the branch is open somewhere.
        """
        path = self.existing(name)
        try:
            check_unused(path)
        except DatabaseBusy as error:
            raise DatabaseBusy(f"The branch {name!r} is in use.", hint=error.hint) from None
        remove(path)

    @property
    def current(self) -> str:
        """The branch that commands use by default."""
        return branch_files.current(self._graph)

    def switch(self, name: str) -> None:
        """Choose the branch that commands use by default."""
        branch_files.set_current(self._graph, name)
