"""A backup of a whole folder of workspaces: a folder that a server can serve.

It has every workspace with its branches, each verified, and the server's records, with the tokens.
Copies for tokens of some paths are left out, since they can be made again, and keys, since
whoever has a key can sign.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from mycel.api.opening import open_graph
from mycel.errors import ConstraintViolation
from mycel.history.backups import Backup
from mycel.sharing.workspace_folder import RECORDS, WorkspaceFolder
from mycel.store.log.server_records import ServerRecords


def back_up_folder(
    folder: WorkspaceFolder, target: Path, *, force: bool = False, full: bool = False
) -> Iterator[Backup]:
    """Back up all workspaces and the records into a folder, which is made if it is not there.

    Servers and others may use the workspaces meanwhile. What is up to date is only verified.

    Raises:
        ConstraintViolation: the target is the folder itself, or in it.
        MycelError: see `Graph.backup`; what was copied before stays.
    """
    if target.resolve().is_relative_to(folder.path):
        raise ConstraintViolation(
            "The backup would be among the workspaces.", hint="Choose a folder elsewhere."
        )
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in folder.names():
        with open_graph(folder.find(name), create=False) as db:
            yield from db.backup(target, force=force, full=full)
    if folder.records.exists():
        with closing(ServerRecords(folder.records)) as records:
            records.copy(target / RECORDS)


def has_key(folder: WorkspaceFolder) -> bool:
    """True if a workspace has a key, which the backup leaves out."""
    return any(folder.path.glob("*.db.key"))
