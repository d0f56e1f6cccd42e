"""Disks that fail: SQLite files whose Nth write fails, tears or kills the process.

>>> import tempfile
>>> with (
...     tempfile.TemporaryDirectory() as folder,
...     FaultVFS() as vfs,
...     closing(apsw.Connection(f"{folder}/a.db", vfs=vfs.name)) as db,
...     vfs.fail_at(1, kind="sync"),
... ):
...     db.execute("CREATE TABLE t (n)")
Traceback (most recent call last):
apsw.IOError: disk I/O error

A test loops n = 1, 2, 3 … until `vfs.fired` stays false: then every operation has failed once.

`FaultVFS` counts the operations that change what is on disk (write, sync, truncate, delete,
create) on database, WAL and rollback journal, and lets one `FaultPlan` at a time act at the Nth
of them. `PowerLossVFS` does that too and models a disk with a volatile cache: `power_loss` writes
the files as they could be found after a power cut. Reads, locks and shared memory are SQLite's
own, so a WAL database can be used from many connections and threads. Temporary files and the
`-shm` file are neither counted nor kept: SQLite rebuilds them.

This is not for errors on reading or locking, and a plan sees only connections opened with
`vfs=vfs.name`.

The one idea: faults are injected below apsw, in C. An exception raised in `apsw.VFSFile.xWrite`
stays pending until SQLite returns to Python, where apsw raises it even if SQLite recovered: a
COMMIT whose automatic checkpoint failed has succeeded, and so has a `close` that could not
checkpoint, but both would raise. So apsw only registers the name; the VFS behind it is a copy of
the default one with two functions replaced (xOpen, xDelete), and each file opened gets a copy of
its method table with four replaced (xClose, xWrite, xTruncate, xSync). These are ctypes
callbacks that return SQLite's error codes and never raise. The structures are SQLite's stable
public interface (https://sqlite.org/c3ref/vfs.html, https://sqlite.org/c3ref/io_methods.html).
"""

import ctypes
import itertools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Literal, Self, TypeAlias, assert_never

import apsw

__all__ = ["FaultPlan", "FaultVFS", "Kind", "Operation", "PowerLossVFS", "Role"]

Kind: TypeAlias = Literal["write", "sync", "truncate", "delete", "create"]
Role: TypeAlias = Literal["db", "wal", "journal"]
Action: TypeAlias = Literal["fail", "torn", "kill", "call"]
When: TypeAlias = Literal["before", "middle", "after"]

# What the operating system's failure becomes in SQLite's own VFS.
_ERROR_CODES: dict[Kind, int] = {
    "write": apsw.SQLITE_IOERR_WRITE,
    "sync": apsw.SQLITE_IOERR_FSYNC,
    "truncate": apsw.SQLITE_IOERR_TRUNCATE,
    "delete": apsw.SQLITE_IOERR_DELETE,
    "create": apsw.SQLITE_CANTOPEN,
}
_ROLES: dict[int, Role] = {
    apsw.SQLITE_OPEN_MAIN_DB: "db",
    apsw.SQLITE_OPEN_WAL: "wal",
    apsw.SQLITE_OPEN_MAIN_JOURNAL: "journal",
    apsw.SQLITE_OPEN_SUPER_JOURNAL: "journal",
}


@dataclass(frozen=True, slots=True)
class Operation:
    """One change to a file. `offset` and `size` are of a write; a truncate has its new size."""

    kind: Kind
    role: Role
    path: str
    offset: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """What happens at the `at`-th operation of this kind and role after arming.

    `fail` returns `code` (or the usual one) without touching the file, and `torn` writes a random
    beginning of the data first. `call` calls `callback` and then does the operation. These happen
    once, or with `lasting` from then on. `kill` sends SIGKILL to this process (POSIX only). The
    usual plans have methods on `FaultVFS`.
    """

    at: int
    action: Action = "fail"
    kind: Kind | None = None
    role: Role | None = None
    code: int | None = None
    lasting: bool = False
    when: When = "before"
    seed: int = 0
    callback: Callable[[Operation], object] | None = None

    def __post_init__(self) -> None:
        if self.at < 1:
            raise ValueError(f"operations are counted from 1, not {self.at}")
        if self.kind != "write" and (self.action == "torn" or self.when == "middle"):
            raise ValueError('only a write can be done in part: pass kind="write"')
        if (self.callback is not None) != (self.action == "call"):
            raise ValueError('a callback goes with action="call" and with no other')

    def covers(self, operation: Operation) -> bool:
        return self.kind in (None, operation.kind) and self.role in (None, operation.role)

    def part_of(self, size: int) -> int:
        """How many of `size` bytes reach the file when a write is torn."""
        return Random(f"{self.seed}/{self.at}").randrange(1, size) if size > 1 else 0


class FaultVFS:
    """An SQLite VFS under a unique `name` whose files fail as planned.

    Close the connections before the VFS; one left open keeps working and keeps its memory.
    """

    def __init__(self) -> None:
        self._engine = _Engine(_BaseVfs(_vfs_address(None)), self._make_disk())
        self.name = f"mycel-faults-{next(_NUMBERS)}"
        self._registration = _register(self.name, self._engine)

    def _make_disk(self) -> "_Disk | None":
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Withdraw the name, so that no further connection can be opened with it."""
        self._registration.unregister()
        self._engine.retire()
        self._engine.disarm()

    @property
    def count(self) -> int:
        """How many operations the armed (or else the last) plan has covered since arming."""
        return self._engine.count

    @property
    def fired(self) -> bool:
        """Whether the armed (or else the last) plan reached its operation."""
        return self._engine.fault is not None

    @property
    def fault(self) -> Operation | None:
        """The operation at which the armed (or else the last) plan first acted."""
        return self._engine.fault

    @contextmanager
    def arm(self, plan: FaultPlan) -> Iterator[Self]:
        """Let `plan` act until the block ends; count from 1 again.

        Raises:
            RuntimeError: If a plan is armed already.
            BaseException: What the plan's callback raised. SQLite was told of an I/O error then.
        """
        self._engine.arm(plan)
        try:
            yield self
        finally:
            self._engine.disarm()

    def watch(
        self, *, kind: Kind | None = None, role: Role | None = None
    ) -> AbstractContextManager[Self]:
        """Only count."""
        return self.arm(FaultPlan(sys.maxsize, "fail", kind, role))

    def fail_at(
        self,
        n: int,
        *,
        kind: Kind | None = None,
        role: Role | None = None,
        code: int | None = None,
        lasting: bool = False,
    ) -> AbstractContextManager[Self]:
        """Fail the Nth operation; with `lasting` also every later one, as a dead disk does."""
        return self.arm(FaultPlan(n, "fail", kind, role, code, lasting))

    def full_at(self, n: int = 1, *, role: Role | None = None) -> AbstractContextManager[Self]:
        """Fail every write from the Nth on with SQLITE_FULL."""
        return self.fail_at(n, kind="write", role=role, code=apsw.SQLITE_FULL, lasting=True)

    def torn_at(
        self, n: int, *, role: Role | None = None, code: int | None = None, seed: int = 0
    ) -> AbstractContextManager[Self]:
        """Do only a beginning of the Nth write, then fail it.

        With `code=apsw.SQLITE_FULL` this is the short write of a disk that has just filled up.
        """
        return self.arm(FaultPlan(n, "torn", "write", role, code, seed=seed))

    def kill_at(
        self,
        n: int,
        *,
        kind: Kind | None = None,
        role: Role | None = None,
        when: When = "before",
        seed: int = 0,
    ) -> AbstractContextManager[Self]:
        """Kill this process before, after or in the middle of the Nth operation."""
        return self.arm(FaultPlan(n, "kill", kind, role, when=when, seed=seed))

    def call_at(
        self,
        n: int,
        callback: Callable[[Operation], object],
        *,
        kind: Kind | None = None,
        role: Role | None = None,
        lasting: bool = False,
    ) -> AbstractContextManager[Self]:
        """Call `callback` just before the Nth operation; with `lasting` also before later ones.

        It runs inside the SQL call, so it may use other connections but not the calling one. What
        it does itself is not counted.
        """
        return self.arm(FaultPlan(n, "call", kind, role, lasting=lasting, callback=callback))


class PowerLossVFS(FaultVFS):
    """A `FaultVFS` that can say what a power cut would leave of its files.

    What was synced is safe. Of all later changes any may be lost: each 512-byte sector is as it
    was, as it became, as it was in between, or torn; file lengths, creations and deletions
    likewise. A file that was there before its first use here counts as synced. Whole files are
    kept in memory, and every connection that writes to them has to use this VFS.
    """

    def _make_disk(self) -> "_Disk":
        return _Disk()

    def power_loss(self, seed: int, into: str | os.PathLike[str]) -> Path:
        """Write the files as after a power cut now into an empty directory; one seed, one image.

        The live files and connections are untouched, so one run can give many images; called
        from `call_at`, it cuts the power between two operations. Open the image with the
        ordinary VFS.

        Returns:
            The path in `into` of the database opened first. There is no such file if not even
            its creation would have survived.

        Raises:
            ValueError: If `into` has files in it, or no database was opened yet.
        """
        target = Path(into)
        target.mkdir(parents=True, exist_ok=True)
        if any(target.iterdir()):
            raise ValueError(f"{target} has files in it; an image needs a directory of its own")
        database, files = self._engine.image(Random(seed))
        for path, content in files.items():
            (target / Path(path).name).write_bytes(content)
        return target / Path(database).name


# ---------------------------------------------------------------------------------------------
# The model of a disk with a volatile cache. It knows nothing of SQLite.


class _Inode:
    """A file's content, and for what changed since the last sync also what it was before."""

    SECTOR_SIZE: ClassVar[int] = 512

    def __init__(self, content: bytes = b"") -> None:
        self.data = bytearray(content)
        # Every length and every sector's content since the last sync, that of the sync first and
        # the present one left out.
        self.past_lengths: list[int] = []
        self.past_sectors: dict[int, list[bytes]] = {}

    def sync(self) -> None:
        self.past_lengths.clear()
        self.past_sectors.clear()

    def write(self, offset: int, data: bytes) -> None:
        end = offset + len(data)
        self._remember(offset, end)
        if offset > len(self.data):
            self.data.extend(bytes(offset - len(self.data)))
        self.data[offset:end] = data

    def truncate(self, length: int) -> None:
        self._remember(length, len(self.data))
        del self.data[length:]
        self.data.extend(bytes(length - len(self.data)))

    def _remember(self, start: int, end: int) -> None:
        self.past_lengths.append(len(self.data))
        size = self.SECTOR_SIZE
        for sector in range(start // size, -(-end // size)):
            self.past_sectors.setdefault(sector, []).append(self._sector(sector))

    def _sector(self, sector: int) -> bytes:
        """The content now. What a truncation cut off is still there until it is overwritten."""
        start = sector * self.SECTOR_SIZE
        content = bytes(self.data[start : start + self.SECTOR_SIZE])
        past = self.past_sectors.get(sector) or [bytes(self.SECTOR_SIZE)]
        return content + past[-1][len(content) :]

    def after_power_loss(self, random: Random) -> bytes:
        """What could be read: the content at the last sync plus any part of what came later."""
        lengths = [*self.past_lengths, len(self.data)]
        # With one fixed probability the extremes (all kept, all lost) would never be seen.
        kept = random.choice((0.0, 0.1, 0.5, 0.9, 1.0))
        length = lengths[-1] if random.random() < kept else random.choice(lengths)
        content = bytearray(self.data.ljust(max(lengths), b"\0"))
        for sector, past in sorted(self.past_sectors.items()):
            start = sector * self.SECTOR_SIZE
            now = self._sector(sector)
            content[start : start + self.SECTOR_SIZE] = (
                now
                if random.random() < kept
                else self._survivor(random, [*past, now], lengths[0] - start)
            )
        return bytes(content[:length])

    def _survivor(self, random: Random, versions: list[bytes], old_size: int) -> bytes:
        """A sector of which not everything arrived; its first `old_size` bytes were in the file."""
        match random.randrange(4):
            case 0:
                # A file may grow before its new blocks are written: they hold what was there.
                old = versions[0][: max(old_size, 0)]
                return old + random.randbytes(self.SECTOR_SIZE - len(old))
            case 1:
                # Torn at a byte, from either end.
                before, after = random.choice(list(itertools.pairwise(versions)))
                cut = random.randrange(1, self.SECTOR_SIZE)
                first, second = random.sample((before, after), 2)
                return first[:cut] + second[cut:]
            case _:
                return random.choice(versions[:-1])


class _Disk:
    """Which file each path names, now and at any time since its directory was last synced."""

    def __init__(self) -> None:
        self.names: dict[str, list[_Inode | None]] = {}

    def find(self, path: str) -> _Inode | None:
        return self.names[path][-1] if path in self.names else None

    def adopt(self, path: str, content: bytes) -> _Inode:
        """Take a file that somebody else wrote as wholly on disk."""
        inode = _Inode(content)
        self.names[path] = [inode]
        return inode

    def create(self, path: str) -> _Inode:
        inode = _Inode()
        self.names.setdefault(path, [None]).append(inode)
        return inode

    def delete(self, path: str) -> None:
        self.names[path].append(None)

    def sync_directory_of(self, path: str) -> None:
        directory = Path(path).parent
        for name, inodes in self.names.items():
            if Path(name).parent == directory:
                del inodes[:-1]

    def after_power_loss(self, random: Random) -> dict[str, bytes]:
        files = {}
        # Sorted by name, not by path: the same seed means the same in another directory.
        for path, inodes in sorted(self.names.items(), key=lambda item: Path(item[0]).name):
            inode = random.choice(inodes)
            if inode is not None:
                files[path] = inode.after_power_loss(random)
        return files


# ---------------------------------------------------------------------------------------------
# What happens at each operation.


@dataclass(slots=True)
class _Handle:
    """An open file: what the callbacks know of one `sqlite3_file *`."""

    engine: "_Engine"
    address: int
    role: Role
    path: str
    native: "_Methods"
    inode: _Inode | None
    # SQLite syncs the directory with the first sync of a WAL or journal it has created.
    syncs_directory: bool


class _Engine:
    """Counts the operations of one VFS, applies the armed plan and keeps the model in step.

    Its methods are SQLite's, with the same arguments, and return SQLite's result codes.
    """

    def __init__(self, base: "_BaseVfs", disk: _Disk | None) -> None:
        self.base = base
        self.disk = disk
        # Of the VFS structure, once it is registered.
        self.address = 0
        self.handles: list[_Handle] = []
        self.retired = False
        self.plan: FaultPlan | None = None
        self.count = 0
        self.fault: Operation | None = None
        self.surprise: BaseException | None = None
        self.database: str | None = None
        # Held while a file and its model change together, so that an image is of one moment.
        # A plan acts without it: its callback may wait for other threads.
        self.lock = threading.RLock()
        self.calling_threads: set[int] = set()

    def arm(self, plan: FaultPlan) -> None:
        with self.lock:
            if self.plan is not None:
                raise RuntimeError(f"a plan is armed already: {self.plan}")
            self.plan, self.count, self.fault, self.surprise = plan, 0, None, None

    def disarm(self) -> None:
        """End the plan and raise what could not be raised through SQLite."""
        with self.lock:
            self.plan, surprise, self.surprise = None, self.surprise, None
        if surprise is not None:
            raise surprise

    def retire(self) -> None:
        """Let go of the memory, now or when the last file is closed."""
        with self.lock:
            self.retired = True
            if not self.handles:
                _ENGINES.pop(self.address, None)

    def image(self, random: Random) -> tuple[str, dict[str, bytes]]:
        with self.lock:
            if self.disk is None or self.database is None:
                raise ValueError("no database was opened with this VFS yet")
            return self.database, self.disk.after_power_loss(random)

    def _due(self, operation: Operation) -> FaultPlan | None:
        with self.lock:
            plan = self.plan
            calling = threading.get_ident() in self.calling_threads
            if plan is None or calling or not plan.covers(operation):
                return None
            self.count += 1
            if self.count < plan.at or (self.count > plan.at and not plan.lasting):
                return None
            self.fault = self.fault or operation
            return plan

    def _perform(self, operation: Operation, do: Callable[[int], int]) -> int:
        """Do the operation unless a plan says otherwise; `do` takes how many bytes to write."""
        plan = self._due(operation)
        if plan is None:
            return do(operation.size)
        match plan.action:
            case "fail" | "torn":
                if plan.action == "torn":
                    do(plan.part_of(operation.size))
                return plan.code or _ERROR_CODES[operation.kind]
            case "kill":
                if plan.when != "before":
                    size = operation.size
                    do(plan.part_of(size) if plan.when == "middle" else size)
                os.kill(os.getpid(), signal.SIGKILL)
                return apsw.SQLITE_IOERR
            case "call":
                self._call(plan, operation)
                return do(operation.size)
            case _:
                assert_never(plan.action)

    def _call(self, plan: FaultPlan, operation: Operation) -> None:
        thread = threading.get_ident()
        self.calling_threads.add(thread)
        try:
            if plan.callback is not None:
                plan.callback(operation)
        finally:
            self.calling_threads.discard(thread)

    def open(self, z_name: int | None, file: int, flags: int, out_flags: int | None) -> int:
        role = next((role for flag, role in _ROLES.items() if flags & flag), None)
        if z_name is None or role is None:
            return self.base.open(z_name, file, flags, out_flags)
        path = os.fsdecode(ctypes.string_at(z_name))
        created = bool(flags & apsw.SQLITE_OPEN_CREATE) and not Path(path).exists()
        if role == "db" and self.database is None:
            self.database = path

        def do(_: int) -> int:
            with self.lock:
                result = self.base.open(z_name, file, flags, out_flags)
                if result == apsw.SQLITE_OK:
                    self._opened(file, role, path, created)
            return result

        # SQLite would close a file that has methods even if opening it failed.
        _SqliteFile.from_address(file).methods = None
        return self._perform(Operation("create", role, path), do) if created else do(0)

    def _opened(self, address: int, role: Role, path: str, created: bool) -> None:
        file = _SqliteFile.from_address(address)
        native = _methods(file.methods)
        handle = _Handle(self, address, role, path, native, None, created and role != "db")
        if self.disk is not None:
            handle.inode = self._inode_of(self.disk, handle, created)
        self.handles.append(handle)
        _HANDLES[address] = handle
        file.methods = native.replaced

    def _inode_of(self, disk: _Disk, handle: _Handle, created: bool) -> _Inode:
        if created:
            return disk.create(handle.path)
        inode = disk.find(handle.path)
        if inode is not None and any(other.inode is inode for other in self.handles):
            return inode
        # Not through Path.read_bytes: closing a second descriptor of a file gives up all locks
        # that this process has on it.
        content = handle.native.read_all(handle.address)
        if inode is not None and inode.data == content:
            return inode
        return disk.adopt(handle.path, content)

    def delete(self, z_name: int, sync_directory: int) -> int:
        path = os.fsdecode(ctypes.string_at(z_name))

        def do(_: int) -> int:
            with self.lock:
                if self.disk is not None and self.disk.find(path) is None:
                    # SQLite deletes journals only, and takes no locks on them.
                    self.disk.adopt(path, Path(path).read_bytes())
                result = self.base.delete(z_name, sync_directory)
                if self.disk is not None and result == apsw.SQLITE_OK:
                    self.disk.delete(path)
                    if sync_directory:
                        self.disk.sync_directory_of(path)
            return result

        if not Path(path).exists():
            return self.base.delete(z_name, sync_directory)
        role: Role = "wal" if path.endswith("-wal") else "journal"
        return self._perform(Operation("delete", role, path), do)

    def write(self, handle: _Handle, data: int, size: int, offset: int) -> int:
        def do(size: int) -> int:
            return self._change(
                handle,
                lambda: handle.native.write(handle.address, data, size, offset),
                lambda inode: inode.write(offset, ctypes.string_at(data, size)),
            )

        return self._perform(Operation("write", handle.role, handle.path, offset, size), do)

    def truncate(self, handle: _Handle, size: int) -> int:
        def do(size: int) -> int:
            return self._change(
                handle,
                lambda: handle.native.truncate(handle.address, size),
                lambda inode: inode.truncate(size),
            )

        return self._perform(Operation("truncate", handle.role, handle.path, 0, size), do)

    def sync(self, handle: _Handle, flags: int) -> int:
        def sync_inode(inode: _Inode) -> None:
            inode.sync()
            if self.disk is not None and handle.syncs_directory:
                self.disk.sync_directory_of(handle.path)
                handle.syncs_directory = False

        def do(_: int) -> int:
            return self._change(
                handle, lambda: handle.native.sync(handle.address, flags), sync_inode
            )

        return self._perform(Operation("sync", handle.role, handle.path), do)

    def _change(
        self, handle: _Handle, file: Callable[[], int], model: Callable[[_Inode], None]
    ) -> int:
        """Change the file, and if that went well the model of it."""
        with self.lock:
            inode = handle.inode
            if inode is None:
                return file()
            # With `mmap_size` set SQLite's size hints lengthen the file, unseen from here.
            size = handle.native.file_size(handle.address)
            if size > len(inode.data):
                inode.truncate(size)
            result = file()
            if result == apsw.SQLITE_OK:
                model(inode)
            return result

    def close(self, handle: _Handle) -> int:
        with self.lock:
            self.handles.remove(handle)
            del _HANDLES[handle.address]
        result = handle.native.close(handle.address)
        if self.retired:
            self.retire()
        return result


# ---------------------------------------------------------------------------------------------
# SQLite's structures and the callbacks put into them.

_INT, _INT64, _POINTER = ctypes.c_int, ctypes.c_int64, ctypes.c_void_p
_OPEN = ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER, _POINTER, _INT, _POINTER)
_DELETE = ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER, _INT)
_CLOSE = ctypes.CFUNCTYPE(_INT, _POINTER)
_READ_OR_WRITE = ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER, _INT, _INT64)
_TRUNCATE = ctypes.CFUNCTYPE(_INT, _POINTER, _INT64)
_SYNC = ctypes.CFUNCTYPE(_INT, _POINTER, _INT)
_FILE_SIZE = ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER)


class _SqliteVfs(ctypes.Structure):
    FUNCTIONS: ClassVar[tuple[str, ...]] = (
        *("xOpen", "xDelete", "xAccess", "xFullPathname"),
        *("xDlOpen", "xDlError", "xDlSym", "xDlClose"),
        *("xRandomness", "xSleep", "xCurrentTime", "xGetLastError", "xCurrentTimeInt64"),
        *("xSetSystemCall", "xGetSystemCall", "xNextSystemCall"),
    )
    _fields_ = (
        *((name, _INT) for name in ("iVersion", "szOsFile", "mxPathname")),
        *((name, _POINTER) for name in ("pNext", "zName", "pAppData")),
        *((name, _POINTER) for name in FUNCTIONS),
    )


class _SqliteFile(ctypes.Structure):
    _fields_ = (("methods", _POINTER),)


class _SqliteIoMethods(ctypes.Structure):
    FUNCTIONS: ClassVar[tuple[str, ...]] = (
        *("xClose", "xRead", "xWrite", "xTruncate", "xSync", "xFileSize"),
        *("xLock", "xUnlock", "xCheckReservedLock", "xFileControl"),
        *("xSectorSize", "xDeviceCharacteristics"),
        *("xShmMap", "xShmLock", "xShmBarrier", "xShmUnmap"),
        *("xFetch", "xUnfetch"),
    )
    _fields_ = (("iVersion", _INT), *((name, _POINTER) for name in FUNCTIONS))


class _BaseVfs:
    """The default VFS, to which everything is passed on."""

    def __init__(self, address: int) -> None:
        self.struct = _SqliteVfs.from_address(address)
        self.open: Callable[..., int] = partial(_OPEN(self.struct.xOpen), address)
        self.delete: Callable[..., int] = partial(_DELETE(self.struct.xDelete), address)


class _Methods:
    """The default VFS's method table for a kind of file, and the copy that takes its place."""

    def __init__(self, address: int) -> None:
        table = _SqliteIoMethods.from_address(address)
        self.close: Callable[[int], int] = _CLOSE(table.xClose)
        self.write: Callable[[int, int, int, int], int] = _READ_OR_WRITE(table.xWrite)
        self.truncate: Callable[[int, int], int] = _TRUNCATE(table.xTruncate)
        self.sync: Callable[[int, int], int] = _SYNC(table.xSync)
        self._read = _READ_OR_WRITE(table.xRead)
        self._file_size = _FILE_SIZE(table.xFileSize)
        # An older table is shorter: what lies behind its end is not ours to read.
        sizes = {1: _SqliteIoMethods.xShmMap.offset, 2: _SqliteIoMethods.xFetch.offset}
        size = sizes.get(table.iVersion, ctypes.sizeof(_SqliteIoMethods))
        self._copy = _SqliteIoMethods()
        ctypes.memmove(ctypes.addressof(self._copy), address, size)
        _replace(self._copy, _FILE_CALLBACKS)
        self.replaced = ctypes.addressof(self._copy)

    def file_size(self, file: int) -> int:
        size = _INT64()
        self._file_size(file, ctypes.addressof(size))
        return size.value

    def read_all(self, file: int) -> bytes:
        size = self.file_size(file)
        content = ctypes.create_string_buffer(size)
        # SQLite knows no empty reads.
        if size and self._read(file, ctypes.addressof(content), size, 0) != apsw.SQLITE_OK:
            raise RuntimeError("the file could not be read")
        return content.raw


# What the callbacks know SQLite's pointers by.
_ENGINES: dict[int, _Engine] = {}
_HANDLES: dict[int, _Handle] = {}
_NUMBERS = itertools.count(1)


def _guarded(engine: _Engine, kind: Kind, do: Callable[[], int]) -> int:
    """Turn an exception into an I/O error: it cannot pass through SQLite."""
    try:
        return do()
    except BaseException as error:  # noqa: BLE001  raised again when the plan is disarmed
        engine.surprise = error
        return _ERROR_CODES[kind]


def _on_vfs(kind: Kind, method: Callable[..., int]) -> Callable[..., int]:
    def callback(vfs: int, *arguments: int) -> int:
        engine = _ENGINES[vfs]
        return _guarded(engine, kind, lambda: method(engine, *arguments))

    return callback


def _on_file(kind: Kind, method: Callable[..., int]) -> Callable[..., int]:
    def callback(file: int, *arguments: int) -> int:
        handle = _HANDLES[file]
        return _guarded(handle.engine, kind, lambda: method(handle.engine, handle, *arguments))

    return callback


_VFS_CALLBACKS = {
    "xOpen": _OPEN(_on_vfs("create", _Engine.open)),
    "xDelete": _DELETE(_on_vfs("delete", _Engine.delete)),
}
_FILE_CALLBACKS = {
    "xClose": _CLOSE(_on_file("sync", _Engine.close)),
    "xWrite": _READ_OR_WRITE(_on_file("write", _Engine.write)),
    "xTruncate": _TRUNCATE(_on_file("truncate", _Engine.truncate)),
    "xSync": _SYNC(_on_file("sync", _Engine.sync)),
}


def _replace(struct: ctypes.Structure, callbacks: Mapping[str, Any]) -> None:
    for name, callback in callbacks.items():
        setattr(struct, name, ctypes.cast(callback, _POINTER).value)


def _keep_for_ever(thing: object) -> None:
    """Never free `thing`: a connection may outlive this module, and SQLite goes on calling."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


_keep_for_ever(_VFS_CALLBACKS)
_keep_for_ever(_FILE_CALLBACKS)


@cache
def _methods(address: int) -> _Methods:
    methods = _Methods(address)
    _keep_for_ever(methods)
    return methods


def _vfs_address(name: str | None) -> int:
    pointer = _POINTER()
    with closing(apsw.Connection(":memory:", vfs=name)) as connection:
        connection.file_control("main", apsw.SQLITE_FCNTL_VFS_POINTER, ctypes.addressof(pointer))
    if pointer.value is None:
        raise RuntimeError("SQLite does not tell the address of its VFS")
    return pointer.value


def _register(name: str, engine: _Engine) -> apsw.VFS:
    registration = apsw.VFS(name, "")
    _keep_for_ever(registration)
    engine.address = _vfs_address(name)
    struct = _SqliteVfs.from_address(engine.address)
    for field in ("szOsFile", "mxPathname", *_SqliteVfs.FUNCTIONS):
        setattr(struct, field, getattr(engine.base.struct, field))
    _replace(struct, _VFS_CALLBACKS)
    _ENGINES[engine.address] = engine
    return registration
