"""The measured files: made when they are first needed, and kept if asked.

The name of a file ends in a fingerprint of the tables and of the generator, so that a kept file is
used again only if a new file would have the same content.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import mycel
from benchmarks import graphs, loads, plain
from benchmarks.graphs import SEED
from mycel.store.file import layout

CONTENDERS: Final = ("ours", "plain")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two databases of the same graph."""

    size: str
    ours: Path
    plain: Path

    @property
    def node_count(self) -> int:
        return graphs.NODES[self.size]

    def rng(self, purpose: str) -> random.Random:
        """Random numbers with a fixed seed."""
        return random.Random(f"{SEED} {self.size} {purpose}")

    @contextmanager
    def opened(self) -> Iterator[tuple[mycel.Graph, plain.Plain]]:
        base = plain.Plain(self.plain)
        try:
            with mycel.open(self.ours, create=False) as db:
                yield db, base
        finally:
            base.close()


class Databases:
    """The databases of all needed sizes, in one folder."""

    def __init__(self, folder: Path, sizes: tuple[str, ...]) -> None:
        self.folder = folder
        self.sizes = sizes

    def pair(self, size: str) -> Pair:
        """The databases of one size; missing ones are made."""
        paths = {contender: self._path(contender, size) for contender in CONTENDERS}
        for contender, path in paths.items():
            if not path.exists():
                self.load(contender, size)
        return Pair(size, **paths)

    def pairs(self) -> list[Pair]:
        return [self.pair(size) for size in self.sizes]

    def load(self, contender: str, size: str) -> loads.Load:
        """Load a graph into a new file. The first load of a graph is kept."""
        say(f"loading {size}, {contender}")
        fresh, path = self.folder / f"load-{contender}.db", self._path(contender, size)
        remove(fresh)
        try:
            done = loads.run_in_child(contender, size, fresh)
            if not path.exists():
                fresh.rename(path)
        finally:
            remove(fresh)
        return done

    @contextmanager
    def copies(self, size: str) -> Iterator[Pair]:
        """Copies of the databases that a measure may change."""
        pair = self.pair(size)
        copies = Pair(size, self.folder / "copy-ours.db", self.folder / "copy-plain.db")
        try:
            copy(pair.ours, copies.ours)
            copy(pair.plain, copies.plain)
            yield copies
        finally:
            remove(copies.ours)
            remove(copies.plain)

    def _path(self, contender: str, size: str) -> Path:
        return self.folder / f"{size}-{contender}-{_fingerprint()}.db"


def say(what: str) -> None:
    """Print the progress."""
    print(f"… {what}", file=sys.stderr, flush=True)


def _fingerprint() -> str:
    sources = (Path(module.__file__).read_bytes() for module in (graphs, plain))
    made_by = f"{layout.FORMAT} {layout.CREATE}".encode()
    return hashlib.sha256(made_by + b"".join(sources)).hexdigest()[:8]


def copy(source: Path, target: Path) -> None:
    """Copy a closed database, and wait until the disk is idle again."""
    remove(target)
    shutil.copyfile(source, target)
    with target.open("rb+") as file:
        os.fsync(file.fileno())


def remove(path: Path) -> None:
    """Delete a database and SQLite's files beside it."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
