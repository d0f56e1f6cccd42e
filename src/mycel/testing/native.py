"""SQLite's VFS structures by ctypes: a VFS that asks an `Interceptor` about changes to files.

Faults are injected below apsw, in C. An exception raised in `apsw.VFSFile.xWrite` stays pending
until SQLite returns to Python, where apsw raises it even if SQLite has recovered. So a COMMIT or a
`close` whose checkpoint fails would raise although it has succeeded. For this reason apsw only
registers the name. The VFS under that name is a copy of the default VFS in which two functions are
replaced (xOpen, xDelete). Each intercepted file gets a copy of its method table in which four are
replaced (xClose, xWrite, xTruncate, xSync). These are ctypes callbacks that return SQLite's error
codes and never raise. The structures are SQLite's stable public interface
(https://sqlite.org/c3ref/vfs.html, https://sqlite.org/c3ref/io_methods.html).

The interceptor decides the behaviour of each operation. Files and strings of SQLite are passed as
addresses.
"""

import ctypes
import os
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import cache, partial
from typing import Any, ClassVar, Protocol

import apsw

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


class DefaultVfs:
    """The default VFS, which does the operations."""

    def __init__(self) -> None:
        address = _vfs_address(None)
        self.struct = _SqliteVfs.from_address(address)
        self.open: Callable[..., int] = partial(_OPEN(self.struct.xOpen), address)
        self.delete: Callable[..., int] = partial(_DELETE(self.struct.xDelete), address)


class Methods:
    """The default VFS's method table for a kind of file, and the copy that takes its place."""

    def __init__(self, address: int) -> None:
        table = _SqliteIoMethods.from_address(address)
        self.close: Callable[[int], int] = _CLOSE(table.xClose)
        self.write: Callable[[int, int, int, int], int] = _READ_OR_WRITE(table.xWrite)
        self.truncate: Callable[[int, int], int] = _TRUNCATE(table.xTruncate)
        self.sync: Callable[[int, int], int] = _SYNC(table.xSync)
        self._read = _READ_OR_WRITE(table.xRead)
        self._file_size = _FILE_SIZE(table.xFileSize)
        # An older table is shorter, and memory after its end must not be read.
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
        # SQLite has no empty reads.
        if size and self._read(file, ctypes.addressof(content), size, 0) != apsw.SQLITE_OK:
            raise RuntimeError("the file could not be read")
        return content.raw


class Interceptor(Protocol):
    """Methods that replace those of the default VFS: SQLite's arguments in, result codes out."""

    base: DefaultVfs
    # Of the VFS structure, once it is registered.
    address: int
    # The last exception, for which SQLite got an I/O error.
    surprise: BaseException | None

    def open(self, z_name: int | None, file: int, flags: int, out_flags: int | None) -> int: ...

    def delete(self, z_name: int, sync_directory: int) -> int: ...

    def close(self, file: int) -> int: ...

    def write(self, file: int, data: int, size: int, offset: int) -> int: ...

    def truncate(self, file: int, size: int) -> int: ...

    def sync(self, file: int, flags: int) -> int: ...


# The interceptors, by SQLite's pointers.
_OF_VFS: dict[int, Interceptor] = {}
_OF_FILE: dict[int, Interceptor] = {}


def _guarded(interceptor: Interceptor, code: int, do: Callable[[], int]) -> int:
    """Turn an exception into an I/O error, because it cannot pass through SQLite."""
    try:
        return do()
    except BaseException as error:  # noqa: BLE001  the interceptor raises it when it can
        interceptor.surprise = error
        return code


def _on_vfs(code: int, method: Callable[[Interceptor], Callable[..., int]]) -> Callable[..., int]:
    def callback(vfs: int, *arguments: int) -> int:
        interceptor = _OF_VFS[vfs]
        return _guarded(interceptor, code, lambda: method(interceptor)(*arguments))

    return callback


def _on_file(code: int, method: Callable[[Interceptor], Callable[..., int]]) -> Callable[..., int]:
    def callback(file: int, *arguments: int) -> int:
        interceptor = _OF_FILE[file]
        return _guarded(interceptor, code, lambda: method(interceptor)(file, *arguments))

    return callback


_VFS_CALLBACKS = {
    "xOpen": _OPEN(_on_vfs(apsw.SQLITE_CANTOPEN, lambda asked: asked.open)),
    "xDelete": _DELETE(_on_vfs(apsw.SQLITE_IOERR_DELETE, lambda asked: asked.delete)),
}
_FILE_CALLBACKS = {
    "xClose": _CLOSE(_on_file(apsw.SQLITE_IOERR_FSYNC, lambda asked: asked.close)),
    "xWrite": _READ_OR_WRITE(_on_file(apsw.SQLITE_IOERR_WRITE, lambda asked: asked.write)),
    "xTruncate": _TRUNCATE(_on_file(apsw.SQLITE_IOERR_TRUNCATE, lambda asked: asked.truncate)),
    "xSync": _SYNC(_on_file(apsw.SQLITE_IOERR_FSYNC, lambda asked: asked.sync)),
}


def _replace(struct: ctypes.Structure, callbacks: Mapping[str, Any]) -> None:
    for name, callback in callbacks.items():
        setattr(struct, name, ctypes.cast(callback, _POINTER).value)


def _keep_for_ever(thing: object) -> None:
    """Never free `thing`: SQLite may still use it for a connection that outlives this module."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


_keep_for_ever(_VFS_CALLBACKS)
_keep_for_ever(_FILE_CALLBACKS)


def _vfs_address(name: str | None) -> int:
    pointer = _POINTER()
    with closing(apsw.Connection(":memory:", vfs=name)) as connection:
        connection.file_control("main", apsw.SQLITE_FCNTL_VFS_POINTER, ctypes.addressof(pointer))
    if pointer.value is None:
        raise RuntimeError("SQLite does not return the address of its VFS")
    return pointer.value


def register(name: str, interceptor: Interceptor) -> apsw.VFS:
    """Make a VFS of this name that asks `interceptor`, and give the interceptor its address."""
    registration = apsw.VFS(name, "")
    _keep_for_ever(registration)
    interceptor.address = _vfs_address(name)
    struct = _SqliteVfs.from_address(interceptor.address)
    for field in ("szOsFile", "mxPathname", *_SqliteVfs.FUNCTIONS):
        setattr(struct, field, getattr(interceptor.base.struct, field))
    _replace(struct, _VFS_CALLBACKS)
    _OF_VFS[interceptor.address] = interceptor
    return registration


def forget_vfs(interceptor: Interceptor) -> None:
    """Release the interceptor of a VFS, which has to be unregistered before."""
    _OF_VFS.pop(interceptor.address, None)


def mark_unopened(file: int) -> None:
    """Mark a file that was not opened: SQLite closes files with methods, even if opening failed."""
    _SqliteFile.from_address(file).methods = None


def methods_of(file: int) -> Methods:
    """The methods of a file that the default VFS has just opened."""
    return _methods(_SqliteFile.from_address(file).methods)


def intercept(file: int, interceptor: Interceptor) -> None:
    """Ask `interceptor` about changes to a file from now on."""
    methods = methods_of(file)
    _OF_FILE[file] = interceptor
    _SqliteFile.from_address(file).methods = methods.replaced


def forget_file(file: int) -> None:
    """End the interception of a file, just before the file is closed."""
    del _OF_FILE[file]


@cache
def _methods(address: int) -> Methods:
    methods = Methods(address)
    _keep_for_ever(methods)
    return methods


def path_at(z_name: int) -> str:
    return os.fsdecode(ctypes.string_at(z_name))


def bytes_at(data: int, size: int) -> bytes:
    return ctypes.string_at(data, size)
