"""PostgreSQL for tests: a server of their own, in a temporary folder, on a Unix socket.

`--backend postgres` starts one for the session. There each graph that a test opens in a file, or in
memory, is a workspace of the server that stands for the file, also in warm processes
(`adapters/warm.py`). Its name follows from the path. After a test, workspaces that it made and left
are emptied and given to the next one, because making and dropping forty tables takes longer than
most tests. The server refuses to run as root, so there it runs as the user `postgres` or `nobody`.
"""

from __future__ import annotations

import os
import pwd
import re
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
from mycel.store.backend.postgres import branches, layout, location
from mycel.store.backend.postgres.address import parse_address
from mycel.store.backend.postgres.connection import PostgresConnection, use_lock
from mycel.store.file.workspace_databases import is_address
from tests.adapters.warm import FOLDER

PROGRAMS = (
    "/usr/lib/postgresql/15/bin",
    "/usr/lib/postgresql/16/bin",
    "/usr/lib/postgresql/17/bin",
)
PREPARED = "prepared"
COUNT_ON = "".join(
    f"SELECT setval(pg_get_serial_sequence('{table}', '{column}'), coalesce(max({column}), 0) + 1,"
    f" false) FROM {table};"
    for table, column in layout.COUNTERS
)
EMPTY = (
    "".join(f"DELETE FROM {table};" for table in layout.NAMES)
    + ";".join(re.findall(r"INSERT INTO [^;]+", layout.TABLES))
    + f";{COUNT_ON}"
)
"""Statements that let the server number new rows, and that empty a workspace."""
SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "max_connections": "200",
    "shared_buffers": "64MB",
}


def programs() -> Path | None:
    """The folder of the programs of a server, if one is installed."""
    there = shutil.which("initdb")
    folders = [Path(there).resolve().parent] if there else []
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


def workspace_of(path: str) -> str:
    """The name of the workspace that stands for a file."""
    return f"f{sha256(str(Path(path).resolve()).encode()).hexdigest()[:24]}"


def rows_of(source: str, schema: str) -> str:
    """Statements that let a workspace hold the rows of another one."""
    rows = (
        f'DELETE FROM {table}; INSERT INTO {table} SELECT * FROM "{source}".{table};'
        for table in layout.NAMES
    )
    return f'SET search_path = "{schema}", mycel; {"".join(rows)} {COUNT_ON}'


class PostgresServer:
    """A server in a folder of its own."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._recycled: list[str] = []
        """Schemas with empty tables."""

    @cached_property
    def folder(self) -> Path:
        """The folder of the server, which starts when this is first read."""
        folder = Path(tempfile.mkdtemp(prefix="mycel-pg-"))
        folder.chmod(0o777)
        self._run("initdb", "-D", str(folder / "data"), "-A", "trust", "-U", "mycel", "-E", "UTF8",
                  "--locale=C.UTF-8", "--no-sync")  # fmt: skip
        self.start(folder)
        return folder

    def start(self, folder: Path) -> None:
        """Start the server."""
        options = " ".join(f"-c {name}='{value}'" for name, value in SETTINGS.items())
        self._run("pg_ctl", "-D", str(folder / "data"), "-l", str(folder / "log"), "-w",
                  "-o", f"-k {folder} {options}", "start")  # fmt: skip

    @contextmanager
    def replica(self) -> Iterator[PostgresServer]:
        """A streaming replica of the server, for the time of the block."""
        folder = Path(tempfile.mkdtemp(prefix="mycel-pg-"))
        folder.chmod(0o777)
        self._run("pg_basebackup", "-h", str(self.folder), "-U", "mycel", "-D",
                  str(folder / "data"), "-R", "-X", "stream", "-c", "fast")  # fmt: skip
        replica = PostgresServer()
        replica.__dict__["folder"] = folder
        try:
            replica.start(folder)
            yield replica
        finally:
            replica.remove()

    def stop(self, mode: str = "fast") -> None:
        """Stop the server, or kill it with `immediate`."""
        if "_owner" in self.__dict__:
            self.__dict__.pop("_owner").close()
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", mode, "-w", "stop")

    def url(self, workspace: str = "", database: str = "postgres") -> str:
        """The URL of a workspace; without a name, of a new one."""
        name = workspace or f"w{os.getpid()}-{next(self._numbers)}"
        host = quote(str(self.folder), safe="")
        return f"postgresql:///{database}?host={host}&user=mycel&workspace={name}"

    def place(self, path: str) -> str:
        """The URL of the workspace that stands for a file."""
        return self.url(workspace_of(path))

    @contextmanager
    def copy_of(self, prepared: str) -> Iterator[str]:
        """The URL of a copy of a prepared graph, for the time of the block."""
        url = self.copy(prepared)
        try:
            yield url
        finally:
            self.recycle({parse_address(url).schema})

    def copy(self, prepared: str) -> str:
        """The URL of a new copy of a prepared graph."""
        name = f"c{os.getpid()}-{next(self._numbers)}"
        self._copy(prepared, name)
        return self.url(name)

    def put(self, path: Path, prepared: str) -> None:
        """Let a copy of a prepared graph stand for a file."""
        self._copy(prepared, workspace_of(str(path)))

    def prepare(self) -> str:
        """The name of a new workspace that outlives the tests."""
        return f"{PREPARED}{next(self._numbers)}"

    def _copy(self, prepared: str, workspace: str) -> None:
        schema, source = f"mycel_{workspace}", f"mycel_{prepared}"
        if not self.rename_recycled(schema):
            self.query(
                f'CREATE SCHEMA "{schema}"; SET search_path = "{schema}", mycel; {layout.TABLES}'
            )
        self.query(rows_of(source, schema))

    # Workspaces that are used again.

    def rename_recycled(self, schema: str) -> bool:
        """Give a workspace that is empty this name; False if there is none."""
        if not self._recycled or self.rows("SELECT FROM pg_namespace WHERE nspname = %s", schema):
            return False
        self.query(f'ALTER SCHEMA "{self._recycled.pop()}" RENAME TO "{schema}"')
        return True

    def schemas(self) -> set[str]:
        """The schemas of all workspaces except the prepared ones."""
        if "folder" not in self.__dict__:
            return set()
        names = self.rows("SELECT nspname FROM pg_namespace WHERE nspname ~ '^mycel_'")
        return {name for (name,) in names if not name.startswith(f"mycel_{PREPARED}")}

    def recycle(self, schemas: set[str]) -> None:
        """Empty workspaces that nobody has open, to use them again."""
        for schema in schemas:
            lock = use_lock(schema)
            ((is_free,),) = self.rows("SELECT pg_try_advisory_lock(%s)", lock)
            if is_free and self._is_whole(schema):
                name = f"recycled_{next(self._numbers)}"
                self.query(f'SET search_path = "{schema}"; {EMPTY}')
                self.query(f'ALTER SCHEMA "{schema}" RENAME TO {name}')
                self._recycled.append(name)
            self.rows("SELECT pg_advisory_unlock(%s)", lock)

    def _is_whole(self, schema: str) -> bool:
        ((count,),) = self.rows(
            "SELECT count(*) FROM pg_tables WHERE schemaname = %s AND tablename = ANY(%s)",
            schema,
            list(layout.NAMES),
        )
        return bool(count == len(layout.NAMES))

    @cached_property
    def _owner(self) -> Any:
        import psycopg

        return psycopg.connect(
            f"host={self.folder} user=mycel dbname=postgres application_name=tests", autocommit=True
        )

    def rows(self, query: str, *values: Any) -> list[Any]:
        """All rows of a query, as the owner."""
        rows: list[Any] = self._owner.execute(query, values).fetchall()
        return rows

    def query(self, statements: str) -> None:
        """Run statements as the owner."""
        self._owner.execute(statements)

    def remove(self) -> None:
        """Stop the server and remove its folder."""
        if "folder" in self.__dict__:
            with suppress(subprocess.CalledProcessError):
                self.stop("immediate")
            shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *words: str) -> None:
        folder = programs()
        if folder is None:
            pytest.fail("--backend postgres needs PostgreSQL 15: apt install postgresql-15")
        subprocess.run(
            [*_user(), str(folder / program), *words],
            check=True, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip


SERVER: list[PostgresServer] = []
"""The server of this session, if its graphs are in one."""


@contextmanager
def serving(backend: str) -> Iterator[None]:
    """Store the graphs of tests in a database of this kind."""
    if backend != "postgres":
        yield
        return
    server = PostgresServer()
    SERVER.append(server)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(FOLDER, str(server.folder))
            make_tables = location.make_tables

            def use_again(connection: PostgresConnection, schema: str) -> None:
                """Take a recycled workspace instead of making one."""
                if not server.rename_recycled(schema):
                    make_tables(connection, schema)

            copy_schema = branches.copy_schema

            def copy_again(connection: PostgresConnection, source: str, target: str) -> None:
                """Take a recycled workspace instead of making one, for a branch."""
                if server.rename_recycled(target):
                    connection.execute(rows_of(source, target))
                else:
                    copy_schema(connection, source, target)

            patch.setattr(location, "make_tables", use_again)
            patch.setattr(branches, "copy_schema", copy_again)
            redirect(server, patch)
            yield
    finally:
        while SERVER:
            SERVER.pop().remove()


def redirect(server: PostgresServer, patch: pytest.MonkeyPatch) -> None:
    """Let workspaces of a server stand for files."""

    def locate(path: str, **settings: Any) -> Backend:
        """The workspace that stands for a file."""
        return opening.locate(path if is_address(path) else server.place(path), **settings)

    def locate_branch(path: str | os.PathLike[str], name: str) -> Path | str:
        """The workspace that stands for the file of a branch."""
        is_elsewhere = os.fspath(path) == ":memory:" or is_address(str(path))
        return branch_place(path if is_elsewhere else server.place(os.fspath(path)), name)

    patch.setattr(database, "locate", locate)
    for module in (graphs, graph_opening):
        patch.setattr(module, "branch_place", locate_branch)


def redirect_process(folder: str) -> None:
    """Let workspaces of the server in a folder stand for files until this process ends."""
    server = PostgresServer()
    server.__dict__["folder"] = Path(folder)
    redirect(server, pytest.MonkeyPatch())
