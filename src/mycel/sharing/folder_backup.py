"""A backup of a whole folder of workspaces, which a server can serve, and its restoration.

The backup has every workspace with its branches, each verified, and the records of the server with
the tokens. Filtered copies are left out, since they can be made again. Keys are left out too, since
anybody who has a key can sign.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from mycel.api.opening import open_graph
from mycel.errors import ConstraintViolation, DuplicateExists, MycelError, NotADatabase
from mycel.history.backups import Backup, restore
from mycel.sharing.workspace_folder import RECORDS, WorkspaceFolder
from mycel.store.backend.sqlite.copy import check_unused
from mycel.store.log.server_records import ServerRecords

_KEYS: Final = "*.db.key"


def back_up_folder(
    folder: WorkspaceFolder, target: Path, *, force: bool = False, full: bool = False
) -> Iterator[Backup]:
    """Back up all workspaces and the records into a folder, which is created if needed.

    Servers and others may use the workspaces meanwhile. A backup that is up to date is only
    verified.

    Raises:
        ConstraintViolation: the target is the folder itself, or in it.
        MycelError: see `Graph.backup`; earlier copies stay.
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


def restore_folder(source: Path, target: Path, *, force: bool = False) -> Iterator[Backup]:
    """Restore a folder of workspaces from a backup: all of it, or nothing.

    With `force` an existing folder is kept under another name. Its keys are taken over, and so are
    its records if they can be read: tokens revoked since the backup stay revoked. Every graph is
    verified before the folder gets its name.

    Raises:
        NotADatabase: there is no backup.
        DuplicateExists: there is something at the target, and `force` is False.
        DatabaseBusy: a graph at the target is in use.
        MycelError: see `mycel.restore`; the target is as it was.
    """
    backup = WorkspaceFolder(source)
    graphs = sorted(path for path in backup.path.glob("*.db") if path.name != RECORDS)
    if not backup.names():
        raise NotADatabase(
            f"There is no backup of workspaces in {str(source)!r}.",
            hint="Name the folder that `mycel backup --workspaces` wrote.",
        )
    target = target.resolve()
    if target.is_relative_to(backup.path) or backup.path.is_relative_to(target):
        raise ConstraintViolation(
            "Backup and target are in one another.", hint="Choose a folder elsewhere."
        )
    older = target if target.exists() else None
    if older is not None:
        _check_replaceable(older, force=force)
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as place:
        draft = Path(place) / target.name
        draft.mkdir(mode=0o700)
        for graph in graphs:
            restored = restore(graph, draft / graph.name)
            yield restored._replace(path=target / graph.name)
        newest = backup.records
        if older is not None and _is_sound(older / RECORDS):
            newest = older / RECORDS
        if newest.exists():
            with closing(ServerRecords(newest)) as records:
                records.copy(draft / RECORDS)
        if older is not None:
            for key in older.glob(_KEYS):
                shutil.copy2(key, draft / key.name)
            _check_replaceable(older, force=force)
            older.rename(older.with_name(f"{older.name}.before-{time.time_ns()}"))
        draft.rename(target)


def _is_sound(records_file: Path) -> bool:
    """True if the records of a server are there and can be read."""
    if not records_file.exists():
        return False
    try:
        with closing(ServerRecords(records_file)) as records:
            records.check()
    except MycelError:
        return False
    return True


def _check_replaceable(folder: Path, *, force: bool) -> None:
    """Check that a folder may be replaced, and that nobody has a graph in it open."""
    if not force:
        raise DuplicateExists(
            f"There is something at {str(folder)!r}.",
            hint="Restore to another place, or pass --force: it is kept under another name.",
        )
    for graph in folder.glob("*.db"):
        if not graph.is_symlink():
            check_unused(graph)


def has_key(folder: WorkspaceFolder) -> bool:
    """True if a workspace has a key, which the backup leaves out."""
    return any(folder.path.glob(_KEYS))
