"""The sockets of warm processes: files in a private folder, named after a graph or its folder.

This module is loaded at every prompt, so it imports nothing that takes time.
"""

import os
import stat
import sys
import zlib

HOME_FOLDER = ".knowledge_engine"
"""A copy of the value in `store.file.workspace_databases`, which takes too long to load."""
_UNSAFE = stat.S_IRWXG | stat.S_IRWXO


def socket_folder() -> str:
    """The folder of this user's sockets."""
    base = os.environ.get("XDG_RUNTIME_DIR") or "/tmp"
    return f"{base}/mycel-{os.getuid() if sys.platform != 'win32' else 0}"


def is_private(folder: str) -> bool:
    """True if a folder is this user's alone."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    if sys.platform == "win32":
        return False
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.getuid()
        and not status.st_mode & _UNSAFE
    )


def socket_of(kind: str, path: str) -> str:
    """The socket for a graph's file ("db") or a project's folder ("folder")."""
    return f"{socket_folder()}/{kind}-{zlib.crc32(os.fsencode(path)):08x}.sock"


def sockets_for(folder: str, db: str) -> list[str]:
    """The sockets that may answer for a folder, or for a named file, best first."""
    if not is_private(socket_folder()):
        return []
    if db:
        sockets = [socket_of("db", os.path.abspath(db))]  # noqa: PTH100 - as above.
    else:
        sockets = []
        while True:
            sockets.append(socket_of("folder", folder))
            above = os.path.dirname(folder)  # noqa: PTH120 - as above.
            if above == folder:
                break
            folder = above
    return [name for name in sockets if os.path.exists(name)]  # noqa: PTH110 - as above.
