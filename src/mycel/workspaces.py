"""Finds the database of a workspace by its name or its folder.

A workspace is a database in the user's home directory. One that was created for a folder has a
small file beside it with the path of that folder:

    ~/.knowledge_engine/knowledge_shop.db
    ~/.knowledge_engine/knowledge_shop.folder     the path of the folder, in UTF-8
    ~/.knowledge_engine/knowledge_shop.inode      marks that identify a moved folder

Below that folder the database is found as git finds a repository: the nearest folder above counts.
A linked worktree of Git without a database uses the database of the main worktree. A repository of
Git that was moved or renamed on its disk keeps its database. The workspace has the name of the
folder, followed by a hash of the path if the name is taken. It is also the workspace of URIs. A
workspace that a user named has no such file.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from mycel.errors import DatabaseBusy, DuplicateExists, InvalidIdentifier
from mycel.store.file.plain_files import read_bounded
from mycel.store.file.workspace_databases import HOME_FOLDER, database_of, is_address, workspace_in

OWNER_BYTES_MAX: Final = 1 << 16
"""The maximum number of bytes of a file that names the folder of a workspace."""

GLOBAL: Final = "global"
"""The workspace for matters of all projects."""

_INODE_BYTES_MAX: Final = 100
_SUFFIX = ".folder"
_INODE_SUFFIX: Final = ".inode"
_WORKSPACE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}", re.ASCII)
_OTHER_URL: Final = re.compile(r"[a-z][a-z0-9+]*://|postgres(?:ql)?:", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class WorkspaceLocation:
    """The file of a database, and the reason for choosing it."""

    path: Path
    workspace: str | None
    """None if the file itself was named."""
    chosen_by: str
    """The option or variable that named the database, or words for people."""
    folder: Path | None = None
    """The folder of the database, if known."""
    url: str | None = None
    """The URL of a graph on a database server; then the path is empty."""

    @property
    def opened(self) -> str | Path:
        """The argument of `mycel.open`."""
        return self.path if self.url is None else self.url

    @property
    def is_default(self) -> bool:
        """True if the file is in the folder of workspaces."""
        return self.workspace is not None

    @property
    def creation(self) -> str:
        """The command that creates this database."""
        value = {"--db": str(self.opened), "--workspace": self.workspace}.get(self.chosen_by)
        return f"mycel init {self.chosen_by} {shlex.quote(value)}" if value else "mycel init"


def file_location(path: str, chosen_by: str) -> WorkspaceLocation:
    """The location of a file or URL that was named; a leading `~` is the home directory.

    Raises:
        InvalidIdentifier: the text names a graph in memory, or a database of another kind.
    """
    if path == ":memory:":
        raise InvalidIdentifier(
            "A database in memory would be gone when the command ends.", hint="Name a file."
        )
    if is_address(path):
        return WorkspaceLocation(Path(), None, chosen_by, url=path)
    if _OTHER_URL.match(path):
        scheme = path.partition(":")[0]  # The rest of the URL may have a password.
        raise InvalidIdentifier(
            f"'{scheme}:…' is neither a path nor the URL of a PostgreSQL database.",
            hint="A URL is postgresql://USER@HOST/DATABASE?workspace=NAME.",
        )
    with suppress(RuntimeError):  # There is no such user: `~name` is a name like any other.
        return WorkspaceLocation(Path(path).expanduser(), None, chosen_by)
    return WorkspaceLocation(Path(path), None, chosen_by)


def workspace_location(home: Path, workspace: str, chosen_by: str) -> WorkspaceLocation:
    """The location of a workspace that was named.

    Raises:
        InvalidIdentifier: no workspace can have the name.
    """
    if not _WORKSPACE.fullmatch(workspace):
        raise InvalidIdentifier(
            f"{workspace!r} cannot name a workspace:"
            " use up to 100 letters, digits, '.', '_' and '-'.",
            hint="Choose another name.",
        )
    owner = owner_of(home, workspace)
    folder = None if owner is None else owner.folder
    return WorkspaceLocation(database_of(home, workspace), workspace, chosen_by, folder)


class Owner(NamedTuple):
    """A workspace, and the folder that its database belongs to."""

    workspace: str
    folder: Path


def owners(home: Path) -> Iterator[Owner]:
    """The workspaces that belong to a folder, even those whose folder is gone."""
    for path in sorted((home / HOME_FOLDER).glob(f"knowledge_*{_SUFFIX}")):
        with suppress(OSError, ValueError):
            folder = Path(os.fsdecode(read_bounded(path, OWNER_BYTES_MAX).strip()))
            if folder.is_absolute():
                yield Owner(path.stem.removeprefix("knowledge_"), folder)


def owner_of(home: Path, workspace: str) -> Owner | None:
    """The folder of one workspace, if it belongs to one."""
    return next((owner for owner in owners(home) if owner.workspace == workspace), None)


def found_from(home: Path, folder: Path, *, above: bool = True) -> Owner | None:
    """The workspace of a folder or, with `above`, of the nearest folder above that has one.

    A linked worktree of Git without a workspace has the workspace of its main worktree.
    """
    owners_by_folder = {owner.folder: owner for owner in owners(home)}
    moved = _moved(home, owners_by_folder.values())
    for parent in (folder, *folder.parents) if above else (folder,):
        if parent in owners_by_folder:
            return owners_by_folder[parent]
        if moved and (owner := moved.get(_identity(parent))) is not None:
            claim(home, Owner(owner.workspace, parent))
            return Owner(owner.workspace, parent)
        old = hashed_name(parent)
        if database_of(home, old).exists():
            return Owner(old, parent)
    main = _main_worktree(folder) if above else None
    return None if main is None or main == folder else found_from(home, main)


def _identity(folder: Path) -> str:
    """The identity of a Git repository, which a move does not change; empty for other folders.

    It joins the inode of the folder with the time at which Git made the repository, because an
    inode is used again after its folder is deleted.
    """
    try:
        status = folder.stat()
        marker = (folder / ".git" / "description").stat()
    except OSError:
        return ""
    return f"{status.st_dev}:{status.st_ino}:{marker.st_mtime_ns}"


def _moved(home: Path, candidates: Iterable[Owner]) -> dict[str, Owner]:
    """The owners whose folder is no longer at its path, by the identity of the folder."""
    moved = {}
    for owner in candidates:
        with suppress(OSError, ValueError):
            identity = read_bounded(_inode_of(home, owner.workspace), _INODE_BYTES_MAX).decode()
            if identity and identity != _identity(owner.folder) and not owner.folder.exists():
                moved[identity] = owner
    return moved


def _main_worktree(folder: Path) -> Path | None:
    """The folder in the main worktree of Git that a folder of a linked one stands for."""
    for parent in (folder, *folder.parents):
        mark = parent / ".git"
        if mark.is_dir():
            return None
        if not mark.is_file():
            continue
        with suppress(OSError, ValueError):
            head, _, place = os.fsdecode(read_bounded(mark, OWNER_BYTES_MAX)).partition(":")
            own = Path(parent, place.strip())
            if head == "gitdir" and own.parent.name == "worktrees":
                return own.parent.parent.parent / folder.relative_to(parent)
        return None
    return None


def new_name(home: Path, folder: Path) -> str:
    """The name of a workspace for a folder that has none."""
    # Imported late: most commands use a database that exists.
    from mycel.knowledge.uris import workspace_named

    name = workspace_named(folder.name)
    is_taken = database_of(home, name).exists() or owner_of(home, name) is not None
    return hashed_name(folder) if is_taken else name


def workspace_at(address: str) -> str:
    """The workspace in the URIs of a graph, from its URL or the path of its file.

    >>> workspace_at("https://graphs.example.org/ws/shop/")
    'shop'
    >>> workspace_at("/share/knowledge_plan.db"), workspace_at("postgresql:///team?workspace=ops")
    ('plan', 'ops')
    """
    # Imported late: most commands use a named database.
    from mycel.knowledge.uris import workspace_named

    if is_address(address):
        return workspace_named(workspace_in(address))
    name = Path(address).name
    return workspace_named(name.removesuffix(".db").removeprefix("knowledge_"))


def hashed_name(folder: Path) -> str:
    """The name of a folder with a hash of its whole path, so that no two are the same.

    >>> hashed_name(Path("/home/ada/My Notes"))
    'my-notes-05090c43'
    """
    # Imported late: most commands use a named database.
    from hashlib import sha256

    slug = re.sub(r"[^a-z0-9]+", "-", folder.name.lower()).strip("-")[:40] or "root"
    return f"{slug}-{sha256(str(folder).encode(errors='surrogateescape')).hexdigest()[:8]}"


def claim(home: Path, owner: Owner) -> None:
    """Record that a workspace belongs to a folder, and that no other workspace does."""
    with suppress(OSError):  # The database is then found by its name only.
        _note_of(home, owner.workspace).write_bytes(os.fsencode(owner.folder) + b"\n")
        _inode_of(home, owner.workspace).write_text(_identity(owner.folder))
        for other in list(owners(home)):
            if other.folder == owner.folder and other.workspace != owner.workspace:
                _note_of(home, other.workspace).unlink()
                _inode_of(home, other.workspace).unlink(missing_ok=True)


def _note_of(home: Path, workspace: str) -> Path:
    return database_of(home, workspace).with_suffix(_SUFFIX)


def _inode_of(home: Path, workspace: str) -> Path:
    return database_of(home, workspace).with_suffix(_INODE_SUFFIX)


def files_of(home: Path, workspace: str) -> list[Path]:
    """All files of a workspace: the graph, its branches, and other files beside them."""
    path = database_of(home, workspace)
    notes = _note_of(home, workspace), _inode_of(home, workspace)
    beside = [
        file
        for file in path.parent.glob(f"{path.name}*")
        if file.name == path.name or file.name[len(path.name)] in "@-."
    ]
    return sorted([*beside, *(note for note in notes if note.exists())])


def check_unused(files: Iterable[Path]) -> None:
    """Check that nobody has a workspace open, so that its files may be moved.

    Raises:
        DatabaseBusy: somebody has: an open file has its log beside it.
    """
    logs = [file for file in files if file.name.endswith(("-wal", "-journal"))]
    if logs:
        raise DatabaseBusy(
            f"The workspace is in use: {logs[0]} is the log of somebody who writes.",
            hint="Stop the servers and clients that have it open, then run this again.",
        )


def rename_files(home: Path, workspace: str, name: str) -> None:
    """Give all files of a workspace another name.

    Raises:
        DatabaseBusy: somebody has it open.
        DuplicateExists: a workspace has the new name.
    """
    files = files_of(home, workspace)
    check_unused(files)
    if files_of(home, name):
        raise DuplicateExists(f"There is a workspace {name!r} already.")
    old, new = (database_of(home, label).stem for label in (workspace, name))
    for file in files:
        file.rename(file.with_name(new + file.name.removeprefix(old)))


def remove_files(home: Path, workspace: str) -> None:
    """Remove a workspace with all of its branches, for good.

    Raises:
        DatabaseBusy: somebody has it open.
    """
    files = files_of(home, workspace)
    check_unused(files)
    for file in files:
        file.unlink(missing_ok=True)


def left_behind(home: Path, folder: Path) -> list[Owner]:
    """Workspaces whose folder is gone, perhaps because it was moved here.

    Workspaces with the name of the folder come first.
    """
    orphans = [owner for owner in owners(home) if not owner.folder.exists()]
    present = [owner for owner in orphans if database_of(home, owner.workspace).exists()]
    return sorted(present, key=lambda owner: owner.folder.name != folder.name)
