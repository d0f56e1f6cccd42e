"""Graphs that begin as copies of a prepared graph, because a copy is faster than a new graph.

Opening a new graph applies the capsules, and many tests first write the same content. Shared
content is written once in each process, and each test gets a copy of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import mycel
from mycel.engine.write_defaults import DEFAULT_ACTOR
from tests.postgres_server import SERVER


class Prepared:
    """A graph to start from, with the capsules and the writes of `prepare`."""

    def __init__(
        self,
        prepare: Callable[[mycel.Graph], object] = lambda _: None,
        *,
        actor: str = DEFAULT_ACTOR,
    ) -> None:
        self._prepare = prepare
        self._actor = actor

    @cached_property
    def _content(self) -> bytes:
        """The file of the closed graph."""
        with TemporaryDirectory() as folder:
            path = Path(folder) / "graph.db"
            with mycel.open(path, durability="off", actor=self._actor) as db:
                self._prepare(db)
            return path.read_bytes()

    @cached_property
    def _workspace(self) -> str:
        """The name of a workspace of the server of this session that holds the graph."""
        name = SERVER[0].prepare()
        with mycel.open(SERVER[0].url(name), actor=self._actor) as db:
            self._prepare(db)
        return name

    def put(self, path: Path) -> None:
        """Make a copy of the graph that is opened under this path."""
        if SERVER:
            SERVER[0].put(path, self._workspace)
        else:
            path.write_bytes(self._content)

    @contextmanager
    def opened(self) -> Iterator[mycel.Graph]:
        """A copy of the graph, for the time of the block."""
        if SERVER:
            with (
                SERVER[0].copy_of(self._workspace) as url,
                mycel.open(url, actor=self._actor) as db,
            ):
                yield db
            return
        with TemporaryDirectory() as folder:
            path = Path(folder) / "graph.db"
            self.put(path)
            with mycel.open(path, durability="off", actor=self._actor) as db:
                yield db


NEW = Prepared()
"""A graph as it is when it was just made."""
