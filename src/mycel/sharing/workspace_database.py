"""The workspaces of a database on a server, for a server of many.

Tokens, the audit log and filtered copies are in a folder of the host, as for graphs in files. The
list of workspaces is read again when it is needed and older than a second, because other hosts
create and remove workspaces too.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Final

from mycel.errors import DuplicateExists
from mycel.sharing.workspace_folder import WorkspaceFolder, is_name, no_name, unknown_workspace
from mycel.store.opening import workspaces_in

LOOK_EVERY_S: Final = 1.0


class WorkspaceDatabase(WorkspaceFolder):
    def __init__(self, path: Path, database: str) -> None:
        """Take the folder of the server's own records, and the URL of the database.

        Raises:
            NotADatabase: there is no such folder, or the URL is not one.
            DatabaseError: the database cannot be reached.
        """
        super().__init__(path)
        self._database: Final = database
        self._workspaces: Final = workspaces_in(database)
        self._lock: Final = Lock()
        self._names: frozenset[str] = frozenset()
        self._looked = -LOOK_EVERY_S
        self.names()

    @property
    def place(self) -> str:
        return self._database

    def names(self) -> list[str]:
        """The names of all workspaces that a server can have, sorted."""
        with self._lock:
            if monotonic() - self._looked >= LOOK_EVERY_S:
                self._names = frozenset(filter(is_name, self._workspaces.names()))
                self._looked = monotonic()
            return sorted(self._names)

    def sizes(self) -> dict[str, int]:
        """The bytes of the tables and indexes of each workspace, its branches included."""
        return {name: size for name, size in self._workspaces.sizes().items() if is_name(name)}

    def find(self, name: str) -> str:
        """The URL of a workspace.

        Raises:
            NotFound: there is no workspace of this name.
        """
        if name not in self.names():
            raise unknown_workspace(name)
        return self._workspaces.url_of(name)

    def key_place(self, name: str) -> Path:
        """The path beside which the key of a workspace is stored: the database holds no keys."""
        return self.path / f"{name}.db"

    def create(self, name: str, create_graph: Callable[[str], object]) -> str:
        """Make a new workspace. It becomes visible when it is complete.

        Raises:
            InvalidIdentifier: no workspace can have this name.
            DuplicateExists: a workspace has the name.
        """
        if not is_name(name):
            raise no_name(name)
        url = self._workspaces.url_of(name)
        self._looked = -LOOK_EVERY_S
        if name in self.names():
            raise DuplicateExists(f"There is a workspace {name!r} already.")
        create_graph(url)
        self._looked = -LOOK_EVERY_S
        return url
