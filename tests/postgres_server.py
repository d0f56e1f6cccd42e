"""PostgreSQL for tests: a server of their own, in a temporary folder, on a Unix socket.

`--backend postgres` starts one for the session. There each graph that a test opens in a file, or in
memory, is a workspace of the server that stands for the file. The server refuses to run as
root, so there it runs as the user `postgres` or `nobody`.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from mycel.api import graph as graphs
from mycel.api import opening as graph_opening
from mycel.history.branches import branch_place
from mycel.store import database, opening
from mycel.store.backend.interface import Backend
from mycel.store.file.workspace_databases import is_address

PROGRAMS = (
    "/usr/lib/postgresql/15/bin",
    "/usr/lib/postgresql/16/bin",
    "/usr/lib/postgresql/17/bin",
)
SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "max_connections": "100",
    "shared_buffers": "64MB",
}


def programs() -> Path | None:
    """The folder of the programs of a server, if one is installed."""
    there = shutil.which("initdb")
    folders = [Path(there).parent] if there else []
    return next(
        (each for each in [*folders, *map(Path, PROGRAMS)] if (each / "initdb").exists()), None
    )


def _user() -> list[str]:
    """The words before a command that let it run as somebody who is not root."""
    if os.geteuid() != 0:
        return []
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            entry = pwd.getpwnam(name)
            return [
                "setpriv",
                f"--reuid={entry.pw_uid}",
                f"--regid={entry.pw_gid}",
                "--clear-groups",
            ]
    raise RuntimeError("no user to run PostgreSQL as")


class PostgresServer:
    """A server in a folder of its own."""

    def __init__(self) -> None:
        found = programs()
        if found is None:
            pytest.fail("--backend postgres needs PostgreSQL 15: apt install postgresql-15")
        self._programs = found
        self._numbers = count(1)
        self._places: dict[str, str] = {}

    @cached_property
    def folder(self) -> Path:
        """The folder, in which the server runs from the first question on."""
        folder = Path(tempfile.mkdtemp(prefix="mycel-pg-"))
        folder.chmod(0o777)
        self._run("initdb", "-D", str(folder / "data"), "-A", "trust", "-U", "mycel", "-E", "UTF8",
                  "--locale=C.UTF-8", "--no-sync")  # fmt: skip
        self.folder_made = folder
        self.start(folder)
        return folder

    def start(self, folder: Path) -> None:
        """Start the server."""
        options = " ".join(f"-c {name}='{value}'" for name, value in SETTINGS.items())
        self._run("pg_ctl", "-D", str(folder / "data"), "-l", str(folder / "log"), "-w",
                  "-o", f"-k {folder} {options}", "start")  # fmt: skip

    def stop(self, mode: str = "fast") -> None:
        """Stop the server, or kill it with `immediate`."""
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", mode, "-w", "stop")

    def url(self, workspace: str = "", database: str = "postgres") -> str:
        """The URL of a workspace; of a new one without a name."""
        name = workspace or f"w{os.getpid()}-{next(self._numbers)}"
        host = quote(str(self.folder), safe="")
        return f"postgresql:///{database}?host={host}&user=mycel&workspace={name}"

    def new_database(self, template: str = "template1") -> str:
        """A new database, whose name it returns."""
        name = f"d{os.getpid()}_{next(self._numbers)}"
        self.query(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
        return name

    @contextmanager
    def copy_of(self, prepared: str) -> Iterator[str]:
        """The URL of a graph in a copy of a prepared database, for as long as this lasts."""
        name = self.new_database(prepared)
        try:
            yield self.url("prepared", name)
        finally:
            self.query(f"DROP DATABASE {name} WITH (FORCE)")

    def put(self, path: Path, prepared: str) -> None:
        """Let a copy of a prepared database stand for a file."""
        self._places[str(path)] = self.url("prepared", self.new_database(prepared))

    def place(self, path: str) -> str:
        """The URL of the workspace that stands for a file."""
        return self._places.get(path) or self.url(f"f{sha256(path.encode()).hexdigest()[:24]}")

    def query(self, statement: str) -> None:
        """Run a statement as the owner."""
        import psycopg

        with psycopg.connect(
            f"host={self.folder} user=mycel dbname=postgres", autocommit=True
        ) as on:
            on.execute(statement.encode())

    def remove(self) -> None:
        """Stop the server and remove its folder."""
        if "folder" in self.__dict__:
            with suppress(subprocess.CalledProcessError):
                self.stop("immediate")
            shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *words: str) -> None:
        subprocess.run(
            [*_user(), str(self._programs / program), *words],
            check=True, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip


SERVER: list[PostgresServer] = []
"""The server of this session, if its graphs are in one."""


@contextmanager
def serving(backend: str) -> Iterator[None]:
    """Let graphs of tests be in a database of this kind."""
    if backend != "postgres":
        yield
        return
    server = PostgresServer()
    SERVER.append(server)

    def locate(path: str, **settings: Any) -> Backend:
        """The workspace that stands for a file."""
        return opening.locate(path if is_address(path) else server.place(path), **settings)

    def locate_branch(path: str | os.PathLike[str], name: str) -> Path | str:
        """The workspace that stands for the file of a branch."""
        is_elsewhere = os.fspath(path) == ":memory:" or is_address(str(path))
        return branch_place(path if is_elsewhere else server.place(os.fspath(path)), name)

    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(database, "locate", locate)
            for module in (graphs, graph_opening):
                patch.setattr(module, "branch_place", locate_branch)
            yield
    finally:
        while SERVER:
            SERVER.pop().remove()
