"""Makes backups, which are verified copies of a graph, and restores them."""

from __future__ import annotations

import os
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from mycel.errors import (
    ConstraintViolation,
    DatabaseBusy,
    DatabaseCorrupt,
    DatabaseReadOnly,
    DuplicateExists,
    NotADatabase,
)
from mycel.history.branches import opened
from mycel.history.copies import GraphCopy, copy_graph
from mycel.store.backend.sqlite.copy import check_unused, copy_whole, making_alone
from mycel.store.check.changed import verify_changes
from mycel.store.check.verify import verify
from mycel.store.database import Store
from mycel.store.file import branch_files
from mycel.store.file.branch_files import COMPANIONS, MAIN
from mycel.store.file.locks import set_aside
from mycel.store.file.plain_files import read_bounded
from mycel.store.file.workspace_databases import is_address
from mycel.store.opening import workspaces_in
from mycel.store.query.commits import commit_at
from mycel.store.query.lineage import Parting, parting

MARK_BYTES_MAX: Final = 1 << 16
"""The maximum number of bytes of the mark beside a verified backup."""

_MAKING: Final = ".making"
_MARK: Final = "@verified.json"
"""The suffix of the file that marks a backup as verified."""


class Backup(NamedTuple):
    """A checked copy of one branch of a graph."""

    path: Path | str
    """The path of the file, or the URL of a restored graph."""
    commit: str
    """The last commit in the backup."""
    entries: int
    """The length of the journal in the backup."""
    size: int
    """The size of the file in bytes."""
    is_new: bool
    """False if the file already had this commit and was only checked."""

    def to_dict(self) -> dict[str, Any]:
        return self._asdict() | {"path": str(self.path)}


def back_up(
    store: Store, place: str | os.PathLike[str], *, force: bool = False, full: bool = False
) -> list[Backup]:
    """Copy the open branch to a file, or all branches into a folder.

    A place that ends with a slash is a folder, which is made if it does not exist.

    Others may write meanwhile; for a graph of 8 MiB or more, they wait while the system copies it.
    Every copy is verified before it replaces an older one: only its differences from the older
    copy, or with `full` all of it.

    Raises:
        ConstraintViolation: an existing file is no earlier state of the graph, and `force` is
            False; the graph is in memory, or this thread is in a transaction.
        NotADatabase: an existing file is no graph.
        DatabaseCorrupt: the copy does not verify; the older one is kept.
        DatabaseBusy, DatabaseReadOnly, DiskFull, DatabaseError: the copy cannot be made.
    """
    if store.is_in_memory:
        raise ConstraintViolation(
            "A graph in memory cannot be backed up.", hint="Export it, or open one in a file."
        )
    store.check_idle("Back up after the transaction.")
    target = Path(os.fsdecode(place))
    if os.fsdecode(place).endswith(os.sep):
        try:
            target.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DatabaseReadOnly(
                f"The folder {str(target)!r} cannot be made ({error})."
            ) from error
    if is_address(store.location.path):
        return _back_up_from_server(store, target, force=force)
    graph, name = branch_files.split(Path(store.location.path))
    if not target.is_dir():
        return [_back_up(store, target, force=force, full=full)]
    backups = []
    for branch in branch_files.names(graph):
        path = branch_files.existing(graph, branch)
        copy = target / path.name
        if branch == name:
            backups.append(_back_up(store, copy, force=force, full=full))
            continue
        with closing(opened(path)) as other:
            backups.append(_back_up(other, copy, force=force, full=full))
    return backups


def restore(
    source: str | os.PathLike[str], target: str | os.PathLike[str], *, force: bool = False
) -> Backup:
    """Make the graph at `target` from a backup. With `force`, an existing graph is set aside.

    Raises:
        NotADatabase, DatabaseCorrupt: the backup is no graph, or does not verify.
        DuplicateExists: there is a graph at the target, and `force` is False.
        DatabaseBusy: the graph at the target is in use.
        DatabaseReadOnly, DiskFull, DatabaseError: the target cannot be written.
    """
    if is_address(os.fsdecode(target)):
        return _restore_to_server(Path(os.fsdecode(source)), os.fsdecode(target), force=force)
    source, target = Path(os.fsdecode(source)), Path(os.fsdecode(target))
    _check_there(source)
    _check_other(source, target)
    if target.exists():
        if not force:
            raise DuplicateExists(
                f"There is a graph at {str(target)!r}.",
                hint="Restore to another path, or pass --force: the old graph is kept under"
                " another name.",
            )
        check_unused(target)
    with closing(opened(source)) as store:
        return _copy(store, target, is_restored=True)


def _check_there(source: Path) -> None:
    if source.is_dir():
        raise NotADatabase(
            f"{str(source)!r} is a folder.",
            hint="Restore the file of a graph in it. Then `mycel --db FILE@BRANCH.db copy TARGET`"
            " brings a branch to a workspace, with &branch=BRANCH at the end of its URL.",
        )
    if not source.is_file():
        raise NotADatabase(
            f"There is no backup at {str(source)!r}.",
            hint="Name the file that `mycel backup` wrote.",
        )


def _restore_to_server(source: Path, target: str, *, force: bool) -> Backup:
    _check_there(source)
    with closing(opened(source)) as store:
        try:
            copied = copy_graph(store, target)
        except DuplicateExists as error:
            if not force:
                error.hint = (
                    "Name another target, or pass --force: the old graph is kept under"
                    " another name."
                )
                raise
            copied = _replace_on_server(store, target)
    return Backup(copied.place, copied.commit, copied.entries, source.stat().st_size, is_new=True)


def _replace_on_server(store: Store, target: str) -> GraphCopy:
    """Copy a graph to a temporary workspace, and exchange the two once the copy is verified."""
    workspaces = workspaces_in(target)
    aside = f"replaced-{time.time_ns():x}"
    copied = copy_graph(store, workspaces.url_of(aside))
    try:
        workspaces.exchange(aside, target)
    # After any other error, the temporary workspace may have the old graph, and stays.
    except (DatabaseBusy, DatabaseReadOnly):
        workspaces.remove(aside)
        raise
    return copied._replace(place=target)


def _back_up_from_server(store: Store, target: Path, *, force: bool) -> list[Backup]:
    """Copy the open branch to a file, or all branches into a folder, as files of one graph."""
    places = store.location.branches
    if not target.is_dir():
        return [_copy_from_server(store, target, force=force)]
    name = f"{store.location.name}.db"
    backups = []
    for branch in places.names():
        path = target / (name if branch == MAIN else f"{name}@{branch}.db")
        with closing(opened(places.existing(branch))) as other:
            backups.append(_copy_from_server(other, path, force=force))
    return backups


def _copy_from_server(store: Store, target: Path, *, force: bool) -> Backup:
    if target.exists():
        apart = _parting(target, store)
        _check_earlier(target, apart, force=force)
        if not apart.ahead and not apart.behind:
            with closing(opened(target)) as older:
                _verify(older, older.path)
                return _describe_backup(older, target, is_new=False)
    new = target.with_name(f"{target.name}{_MAKING}-{os.getpid()}-{time.time_ns()}.db")
    copy_graph(store, new)
    set_aside(target)
    new.replace(target)
    with closing(opened(target)) as copied:
        return _describe_backup(copied, target, is_new=True)


def _parting(target: Path, store: Store) -> Parting:
    """The last commit that a file and a graph share, and the number of commits of each after it."""
    with closing(opened(target)) as older, older.reading() as was, store.reading() as is_now:
        return parting(was, is_now)


def _check_earlier(target: Path, apart: Parting, *, force: bool) -> None:
    """Check that a file has an earlier state of a graph.

    Raises:
        ConstraintViolation: the file has commits that the graph lacks, and `force` is False.
    """
    if apart.ahead and not force:
        raise ConstraintViolation(
            f"{str(target)!r} is not an earlier state of this graph"
            + (f": it has {apart.ahead} other commits." if apart.commit else "."),
            hint="Choose another file, or pass --force to replace it.",
        )


def _set_aside(target: Path) -> None:
    if not target.exists():
        return
    check_unused(target)
    aside = target.with_name(f"{target.name}.replaced-{time.time_ns()}")
    for suffix in COMPANIONS:
        if (companion := Path(f"{target}{suffix}")).exists():
            companion.rename(f"{aside}{suffix}")


def _back_up(store: Store, target: Path, *, force: bool, full: bool) -> Backup:
    _check_other(Path(store.location.path), target)
    verified: Path | None = None
    if target.exists():
        is_verified = _is_verified(target)
        apart = _parting(target, store)
        _check_earlier(target, apart, force=force)
        if not apart.ahead and not apart.behind:
            with closing(opened(target)) as existing:
                _verify(existing, existing.path)
                backup = _describe_backup(existing, target, is_new=False)
            _note_verified(target)
            return backup
        if is_verified and not apart.ahead and not full:
            verified = target
    backup = _copy(store, target, verified)
    _note_verified(target)
    return backup


def _copy(
    store: Store, target: Path, older: Path | None = None, *, is_restored: bool = False
) -> Backup:
    """Copy a graph. The copy gets its name after verification, against `older` if possible."""
    backups: list[Backup] = []

    def check(copy: Path) -> None:
        with closing(opened(copy)) as replica:
            if older is None or not _is_sound(replica, older):
                _verify(replica, store.path)
            backups.append(_describe_backup(replica, target, is_new=True))
        if is_restored:
            _set_aside(target)

    making = f"{target.name}{_MAKING}"
    with making_alone(store.location, target, making):
        copy_whole(store.location, target, making, check)
    return backups[0]


def _describe_backup(store: Store, path: Path, *, is_new: bool) -> Backup:
    with store.reading() as reader:
        entries = reader.head().seq
        commit = commit_at(reader, entries)
    return Backup(path, commit, entries, Path(store.location.path).stat().st_size, is_new)


def _is_sound(store: Store, older: Path) -> bool:
    """Verify the changes since an older, verified copy. Returns True if they are correct."""
    with closing(opened(older)) as verified:
        report = verify_changes(store, verified)
    return report is not None and report.ok


def _note_verified(path: Path) -> None:
    """Write the mark beside a backup: its present state was verified."""
    with suppress(OSError):
        _mark_of(path).write_bytes(orjson.dumps(_stamp(path)) + b"\n")


def _is_verified(path: Path) -> bool:
    """True if nobody has written to a backup after it was verified."""
    try:
        return bool(orjson.loads(read_bounded(_mark_of(path), MARK_BYTES_MAX)) == _stamp(path))
    except (OSError, ValueError):
        return False


def _mark_of(path: Path) -> Path:
    return path.with_name(f"{path.name}{_MARK}")


def _stamp(path: Path) -> dict[str, int]:
    status = path.stat()
    return {"size": status.st_size, "mtime_ns": status.st_mtime_ns, "inode": status.st_ino}


def _verify(store: Store, name: str) -> None:
    report = verify(store)
    if not report.ok:
        raise DatabaseCorrupt(
            f"{name!r} does not verify: {report.problems[0]}.",
            hint="`mycel verify` lists everything. Nothing was replaced.",
        )


def _check_other(source: Path, target: Path) -> None:
    if target.exists() and source.samefile(target):
        raise ConstraintViolation(
            f"{str(target)!r} is the graph itself.", hint="Name another file, or a folder."
        )
