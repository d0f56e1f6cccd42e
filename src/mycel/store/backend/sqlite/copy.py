"""A consistent copy of a database that others may be writing, as a new file.

A small file is copied with SQLite's backup API while others write. For a large file that takes two
to four times as long as `cp`, so `cp` copies it while writers wait. During that copy the writer's
lock is held, so the log does not change. A checkpoint may run, but everything that it moves into
the database is still in the log. `cp` shares blocks where the file system can. `cp` is a process of
its own: closing the file here would drop all locks that this process has on it.

The copy has a temporary name until it is complete and on the disk.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

import apsw

from mycel.errors import DatabaseBusy, DatabaseError, DatabaseReadOnly, DiskFull, DuplicateExists
from mycel.store.backend.failures import translated
from mycel.store.backend.interface import Backend
from mycel.store.file.branch_files import COMPANIONS, MAIN, file_of, names
from mycel.store.file.locks import set_aside, turn

LARGE_BYTES: Final = 8 << 20
_IN_USE_MS: Final = 500


def create_branch(source: Backend, graph: Path, name: str, prepare: Callable[[Path], None]) -> Path:
    """Copy a database to the file of a new branch. Only one branch is created at a time.

    `prepare` gets the path of the copy before the file has its name.

    Raises:
        InvalidIdentifier, DuplicateExists: the branch cannot have this name, or another one has it.
        DatabaseBusy: a writer, or another creation, took too long.
        DatabaseReadOnly, DiskFull, DatabaseError: the copy cannot be written.
    """
    target = file_of(graph, name)
    making = f"{graph.name}@.making"
    with making_alone(source, target, making):
        _check_free(graph, name)
        copy_whole(source, target, making, prepare)
    return target


@contextmanager
def making_alone(source: Backend, target: Path, making: str) -> Iterator[None]:
    """Let one process at a time make a copy; remove files that killed processes left behind.

    Raises:
        DatabaseBusy: another one took too long.
    """
    with turn(target.with_name(making), source.busy_timeout_s, str(target)):
        for left in target.parent.glob(f"{_escaped(making)}-*"):
            left.unlink(missing_ok=True)
        yield


def copy_whole(
    source: Backend,
    target: Path,
    making: str,
    check: Callable[[Path], None] = lambda _copy: None,
) -> None:
    """Copy a database to a file, which gets its name when it is complete and checked.

    Until then its name begins with `making`. A file that has the name is replaced.

    Raises:
        DatabaseBusy: a writer took too long.
        DatabaseReadOnly, DiskFull, DatabaseError: the file cannot be written.
    """
    new = target.with_name(f"{making}-{os.getpid()}-{time.time_ns()}.db")
    try:
        # The copy is private from its first byte on. It gets the source's mode later, plus write
        # permission for the owner.
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with translated():
            _copy(source, new)
        new.chmod(stat.S_IMODE(Path(source.path).stat().st_mode) | stat.S_IRUSR | stat.S_IWUSR)
        check(new)
        _flush(new)
        set_aside(target)
        new.replace(target)
        _flush(target.parent)
    except OSError as error:
        kind = DatabaseReadOnly if isinstance(error, PermissionError) else DatabaseError
        raise kind(f"{str(target)!r} cannot be written ({error}).") from error
    except (DatabaseError, DiskFull) as error:
        if not os.access(target.parent, os.W_OK):
            raise DatabaseReadOnly(
                f"The folder {str(target.parent)!r} cannot be written."
            ) from error
        raise
    finally:
        remove(new)


def _check_free(graph: Path, name: str) -> None:
    namesake = next((other for other in names(graph) if other.casefold() == name.casefold()), None)
    if namesake == MAIN:
        raise DuplicateExists(f"{MAIN!r} is the graph itself.", hint="Choose another name.")
    if namesake is not None:
        raise DuplicateExists(
            f"There is a branch {namesake!r} already.",
            hint="Choose another name; names that differ only in capitals are the same file on"
            " some systems.",
        )


def _escaped(name: str) -> str:
    """A name with its wildcard characters escaped."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in name)


def _copy(source: Backend, target: Path) -> None:
    size = Path(source.path).stat().st_size
    if size < LARGE_BYTES or source.readonly or not _copy_by_system(source, target):
        _copy_by_backup(source, target)


def _copy_by_backup(source: Backend, target: Path) -> None:
    with closing(source.connect()) as reading, closing(apsw.Connection(str(target))) as writing:
        for pragma in ("journal_mode = off", "synchronous = off", "locking_mode = exclusive"):
            writing.execute(f"PRAGMA {pragma}").fetchall()
        with writing.backup("main", reading, "main") as backup:
            backup.step(-1)  # All pages in one step belong to one snapshot.


def _copy_by_system(source: Backend, target: Path) -> bool:
    """Let `cp` copy a database and its log. Returns False if `cp` is missing or fails."""
    program = shutil.which("cp")
    if program is None:
        return False
    with closing(source.connect(writable=True)) as holding:
        with suppress(apsw.BusyError):
            holding.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        holding.execute("BEGIN IMMEDIATE")
        for suffix in ("", "-wal"):
            words = [program, "--", f"{source.path}{suffix}", f"{target}{suffix}"]
            if subprocess.run(words, capture_output=True, check=False).returncode != 0:
                remove(target)
                return False
    with closing(apsw.Connection(str(target))) as copied:
        copied.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    return True


def _flush(path: Path) -> None:
    """Wait until a file, or the names in a folder, are stored on the disk."""
    if path.is_dir() and os.name == "nt":
        return  # On such a system, folders cannot be opened.
    descriptor = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove(path: Path) -> None:
    """Remove the files of an unused database."""
    for suffix in COMPANIONS:
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def check_unused(path: Path) -> None:
    """Check that no process has a connection to a database, this process included.

    Raises:
        DatabaseBusy: there is one.
    """
    with translated(), closing(apsw.Connection(str(path))) as alone:
        alone.set_busy_timeout(_IN_USE_MS)
        try:
            # Every open connection holds a shared lock on the file.
            alone.execute("PRAGMA locking_mode = exclusive").fetchall()
            alone.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
        except apsw.BusyError:
            raise DatabaseBusy(
                f"{str(path)!r} is in use.", hint="Close it everywhere, and try again."
            ) from None
        except (apsw.NotADBError, apsw.CorruptError):
            return  # The file is damaged. It is about to be replaced, because nobody can use it.
