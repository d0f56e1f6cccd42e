"""Disks that fail: SQLite files whose Nth write fails, tears or kills the process.

>>> import tempfile
>>> from contextlib import closing
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

`FaultVFS` counts the operations that change files on disk (write, sync, truncate, delete, create):
database, WAL and rollback journal. One `FaultPlan` at a time acts at the Nth of them.
`PowerLossVFS` also models a disk with a volatile cache: `power_loss` writes the files as a power
cut could leave them. Reads, locks and shared memory are SQLite's own, so a WAL database can be used
from many connections and threads. Temporary files and the `-shm` file are neither counted nor kept,
because SQLite rebuilds them.

Errors of reading or locking are not covered, and a plan acts only on connections that were opened
with `vfs=vfs.name`.

The public classes come first; `_Engine`, which they share, decides what happens at each
operation. SQLite calls it through `native`, and it keeps the model in `disk` up to date.
"""

import itertools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal, Self, TypeAlias, assert_never

import apsw

from mycel.testing import native
from mycel.testing.disk import Disk, Inode

__all__ = ["FaultPlan", "FaultVFS", "Kind", "Operation", "PowerLossVFS", "Role"]

Kind: TypeAlias = Literal["write", "sync", "truncate", "delete", "create"]
Role: TypeAlias = Literal["db", "wal", "journal"]
Action: TypeAlias = Literal["fail", "torn", "kill", "call"]
When: TypeAlias = Literal["before", "middle", "after"]

# The error of SQLite's own VFS for each failure of the operating system.
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
_NUMBERS = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Operation:
    """One change to a file. A write has `offset` and `size`; a truncate has the new `size`."""

    kind: Kind
    role: Role
    path: str
    offset: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """The fault at the `at`-th operation of this kind and role after arming.

    `fail` returns `code`, or the usual code of the operation, without touching the file. `torn`
    first writes a random beginning of the data. `call` calls `callback` and then does the
    operation. Each acts once, or with `lasting` from then on. `kill` sends SIGKILL to this process
    (POSIX only). `FaultVFS` has methods for the usual plans.
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
        """The number of `size` bytes that reach the file when a write is torn."""
        return Random(f"{self.seed}/{self.at}").randrange(1, size) if size > 1 else 0


class FaultVFS:
    """An SQLite VFS under a unique `name` whose files fail as planned.

    Close the connections before the VFS; one left open keeps working and keeps its memory.
    """

    def __init__(self) -> None:
        self._engine = _Engine(native.DefaultVfs(), self._make_disk())
        self.name = f"mycel-faults-{next(_NUMBERS)}"
        self._registration = native.register(self.name, self._engine)

    def _make_disk(self) -> Disk | None:
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the VFS from SQLite, so that no further connection can be opened with it."""
        self._registration.unregister()
        self._engine.retire()
        self._engine.disarm()

    @property
    def count(self) -> int:
        """The number of operations counted by the armed plan, or else by the last one."""
        return self._engine.count

    @property
    def fired(self) -> bool:
        """True if the armed (or else the last) plan reached its operation."""
        return self._engine.fault is not None

    @property
    def fault(self) -> Operation | None:
        """The operation at which the armed (or else the last) plan first acted."""
        return self._engine.fault

    @contextmanager
    def arm(self, plan: FaultPlan) -> Iterator[Self]:
        """Let `plan` act until the block ends; operations are counted from 1 again.

        Raises:
            RuntimeError: If a plan is armed already.
            BaseException: The exception of the plan's callback, for which SQLite got an I/O error.
        """
        self._engine.arm(plan)
        try:
            yield self
        finally:
            self._engine.disarm()

    def watch(
        self, *, kind: Kind | None = None, role: Role | None = None
    ) -> AbstractContextManager[Self]:
        """Count operations without a fault."""
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
        """Write only a random beginning of the Nth write, then fail it.

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

        It runs inside the SQL call, so it may use other connections, but not the calling one. Its
        own operations are not counted.
        """
        return self.arm(FaultPlan(n, "call", kind, role, lasting=lasting, callback=callback))


class PowerLossVFS(FaultVFS):
    """A `FaultVFS` that can show the files that a power cut would leave.

    Synced content is safe. Any later change may be lost: each 512-byte sector has its old content,
    its new content, one in between, or a torn one; the same holds for file lengths, creations and
    deletions. A file that was there before its first use here counts as synced. Whole files are
    kept in memory, and every connection that writes to them has to use this VFS.
    """

    def _make_disk(self) -> Disk:
        return Disk()

    def power_loss(self, seed: int, into: str | os.PathLike[str]) -> Path:
        """Write the files as after a power cut into an empty directory.

        The same seed gives the same image.

        The live files and connections are untouched, so one run can give many images. Called from
        `call_at`, it cuts the power between two operations. Open the image with the ordinary VFS.

        Returns:
            The path in `into` of the first opened database. The file is missing if its creation
            would not have survived.

        Raises:
            ValueError: If `into` has files in it, or no database was opened yet.
        """
        target = Path(into)
        target.mkdir(parents=True, exist_ok=True)
        if any(target.iterdir()):
            raise ValueError(f"{target} has files in it; an image needs an empty directory")
        database, files = self._engine.image(Random(seed))
        for path, content in files.items():
            (target / Path(path).name).write_bytes(content)
        return target / Path(database).name


# ---------------------------------------------------------------------------------------------
# The behaviour of each operation.


@dataclass(slots=True)
class _Handle:
    """An open file: the data of one `sqlite3_file *`."""

    address: int
    role: Role
    path: str
    methods: native.Methods
    inode: Inode | None
    # SQLite syncs the directory with the first sync of a WAL or journal it may have created.
    syncs_directory: bool


class _Engine:
    """Counts the operations of one VFS, applies the armed plan and keeps the model in step.

    It is an interceptor of `native`: the methods `open` to `close` take the arguments of SQLite's
    methods, and return SQLite's result codes.
    """

    def __init__(self, base: native.DefaultVfs, disk: Disk | None) -> None:
        self.base = base
        self.disk = disk
        # The address of the VFS structure, once it is registered.
        self.address = 0
        self.handles: dict[int, _Handle] = {}
        self.retired = False
        self.plan: FaultPlan | None = None
        self.count = 0
        self.fault: Operation | None = None
        self.surprise: BaseException | None = None
        self.database: str | None = None
        # Held while a file and its model change, so that an image shows one moment. Plans act
        # without the lock, because a callback may wait for other threads.
        self.lock = threading.RLock()
        self.calling_threads: set[int] = set()

    def arm(self, plan: FaultPlan) -> None:
        with self.lock:
            if self.plan is not None:
                raise RuntimeError(f"a plan is armed already: {self.plan}")
            self.plan, self.count, self.fault, self.surprise = plan, 0, None, None

    def disarm(self) -> None:
        """End the plan, and raise the exception that could not pass through SQLite."""
        with self.lock:
            self.plan, surprise, self.surprise = None, self.surprise, None
        if surprise is not None:
            raise surprise

    def retire(self) -> None:
        """Release the memory, now or when the last file is closed."""
        with self.lock:
            self.retired = True
            if not self.handles:
                native.forget_vfs(self)

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
        """Do the operation, or what the plan says; `do` takes the number of bytes to write."""
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
        path = native.path_at(z_name)
        may_create = bool(flags & apsw.SQLITE_OPEN_CREATE)
        created = may_create and not Path(path).exists()
        if role == "db" and self.database is None:
            self.database = path

        def do(_: int) -> int:
            with self.lock:
                result = self.base.open(z_name, file, flags, out_flags)
                if result == apsw.SQLITE_OK:
                    # SQLite does so for every log that it may create, even if it is there.
                    syncs_directory = may_create and role != "db"
                    self._opened(file, role, path, created, syncs_directory)
            return result

        native.mark_unopened(file)
        return self._perform(Operation("create", role, path), do) if created else do(0)

    def _opened(
        self, file: int, role: Role, path: str, created: bool, syncs_directory: bool
    ) -> None:
        methods = native.methods_of(file)
        handle = _Handle(file, role, path, methods, None, syncs_directory)
        if self.disk is not None:
            handle.inode = self._inode_of(self.disk, handle, created)
        self.handles[file] = handle
        native.intercept(file, self)

    def _inode_of(self, disk: Disk, handle: _Handle, created: bool) -> Inode:
        if created:
            return disk.create(handle.path)
        inode = disk.find(handle.path)
        if inode is not None and any(other.inode is inode for other in self.handles.values()):
            return inode
        # Not through Path.read_bytes: closing a second descriptor of a file gives up all locks
        # that this process has on it.
        content = handle.methods.read_all(handle.address)
        if inode is not None and inode.data == content:
            return inode
        return disk.adopt(handle.path, content)

    def delete(self, z_name: int, sync_directory: int) -> int:
        path = native.path_at(z_name)

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

    def write(self, file: int, data: int, size: int, offset: int) -> int:
        handle = self.handles[file]

        def do(size: int) -> int:
            return self._change(
                handle,
                lambda: handle.methods.write(handle.address, data, size, offset),
                lambda inode: inode.write(offset, native.bytes_at(data, size)),
            )

        return self._perform(Operation("write", handle.role, handle.path, offset, size), do)

    def truncate(self, file: int, size: int) -> int:
        handle = self.handles[file]

        def do(size: int) -> int:
            return self._change(
                handle,
                lambda: handle.methods.truncate(handle.address, size),
                lambda inode: inode.truncate(size),
            )

        return self._perform(Operation("truncate", handle.role, handle.path, 0, size), do)

    def sync(self, file: int, flags: int) -> int:
        handle = self.handles[file]

        def sync_inode(inode: Inode) -> None:
            inode.sync()
            if self.disk is not None and handle.syncs_directory:
                self.disk.sync_directory_of(handle.path)
                handle.syncs_directory = False

        def do(_: int) -> int:
            return self._change(
                handle, lambda: handle.methods.sync(handle.address, flags), sync_inode
            )

        return self._perform(Operation("sync", handle.role, handle.path), do)

    def _change(
        self, handle: _Handle, file: Callable[[], int], model: Callable[[Inode], None]
    ) -> int:
        """Change the file and, if that succeeds, its model."""
        with self.lock:
            inode = handle.inode
            if inode is None:
                return file()
            # With `mmap_size`, size hints of SQLite lengthen the file without a call of this VFS.
            size = handle.methods.file_size(handle.address)
            if size > len(inode.data):
                inode.truncate(size)
            result = file()
            if result == apsw.SQLITE_OK:
                model(inode)
            return result

    def close(self, file: int) -> int:
        with self.lock:
            handle = self.handles.pop(file)
            native.forget_file(file)
        result = handle.methods.close(file)
        if self.retired:
            self.retire()
        return result
