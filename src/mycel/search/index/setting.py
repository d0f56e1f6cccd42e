"""The embedder that was chosen for a graph: one line in a file beside it, `GRAPH.embedder`.

The branches of a graph share the choice.

It is a file and not a table, so that a graph from somebody else cannot choose an address to send
texts to, or a model to load. The choice is not in the journal or the roots.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Final

from mycel.embedding.embedder import STATIC
from mycel.errors import DatabaseReadOnly
from mycel.store.database import Store
from mycel.store.file.branch_files import MAIN, split
from mycel.store.file.plain_files import read_plain
from mycel.store.file.workspace_databases import companion, is_address

SUFFIX: Final = ".embedder"
_BYTES_MAX: Final = 2_000


def chosen(store: Store) -> str:
    """The name of the embedder that was chosen for a graph; "static" if none was."""
    path = _path(store)
    try:
        status = os.stat(path)  # noqa: PTH116 - every search looks, and Path takes 20 µs
    except OSError:
        return STATIC
    return _read(path, status.st_mtime_ns, status.st_ino)


def choose(store: Store, name: str) -> None:
    """Choose an embedder, for every process that uses the graph from now on.

    Raises:
        DatabaseReadOnly: the folder of the graph cannot be written.
    """
    path = _path(store)
    try:
        if name == STATIC:
            Path(path).unlink(missing_ok=True)
            return
        new = Path(f"{path}.new")
        if is_address(store.location.path):
            new.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(f"{name}\n", "utf-8")
        new.replace(path)
    except OSError as error:
        raise DatabaseReadOnly(f"{path} cannot be written: {error.strerror}.") from None


def _path(store: Store) -> str:
    place = store.location.path
    if is_address(place):
        return f"{companion(store.location.branches.place(MAIN))}{SUFFIX}"
    graph, _ = split(Path(place))
    return f"{graph}{SUFFIX}"


@lru_cache(maxsize=64)
def _read(path: str, modified_ns: int, inode: int) -> str:
    try:
        content = read_plain(path, _BYTES_MAX).data
        return content.decode("utf-8", errors="replace").strip() or STATIC
    except (OSError, ValueError):
        return STATIC
