"""Branches of a graph in PostgreSQL: schemas beside its own.

A branch is copied in one transaction that reads one snapshot, so no writer waits for the copy, and
the branch exists with all its rows or not at all. Indexes are made after the rows are written,
which takes less than half of the time. Each connection to a branch holds a shared lock of its name.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any, Final

from mycel.errors import DuplicateExists, NotFound, Unsupported, did_you_mean
from mycel.model.permission import sees_branch
from mycel.store.backend.failures import translated
from mycel.store.backend.interface import Backend
from mycel.store.backend.postgres import layout
from mycel.store.backend.postgres.address import Address, checked_branch
from mycel.store.backend.postgres.connection import PostgresConnection
from mycel.store.file.branch_files import MAIN

_MEMORY: Final = "256MB"
"""Memory that the server may use to make an index."""


IS_READABLE: Final = "has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')"


def schemas_of(connection: PostgresConnection, main: str, condition: str = "TRUE") -> list[str]:
    """The existing schemas of a workspace: its own, and those of its branches."""
    rows = connection.execute(
        "SELECT n.nspname FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid"
        " WHERE c.relname = 'mycel_format' AND (n.nspname = ? OR starts_with(n.nspname, ?))"
        f" AND {condition} ORDER BY n.nspname",
        (main, f"{main}@"),
    )
    return [schema for (schema,) in rows.fetchall()]


class SchemaBranches:
    """The branches of a graph in a database."""

    def __init__(self, location: Backend, address: Address) -> None:
        self._location: Final = location
        self._address: Final = address
        self.open: Final = address.branch

    def names(self) -> list[str]:
        """The names of the branches that the caller may see; main is the first."""
        return [name for name in (MAIN, *self._others(IS_READABLE)) if sees_branch(name)]

    def unreadable(self) -> list[str]:
        """The names of the branches that the role may not read."""
        return list(filter(sees_branch, self._others(f"NOT ({IS_READABLE})")))

    def _others(self, condition: str) -> list[str]:
        main = self._address.on_branch(MAIN).schema
        with translated(), closing(self._location.connect()) as connection:
            schemas = schemas_of(connection, main, condition)
        return sorted(schema[len(main) + 1 :] for schema in schemas if schema != main)

    def place(self, name: str) -> str:
        """The URL of a branch, which need not exist."""
        return str(self._address.on_branch(checked_branch(name)))

    def existing(self, name: str) -> str:
        """The URL of an existing branch.

        Raises:
            InvalidIdentifier: no branch can have this name.
            NotFound: there is no such branch.
        """
        place, names = self.place(name), self.names()
        if name not in names and name not in self.unreadable():
            raise NotFound(
                f"The workspace {self._address.workspace!r} has no branch {name!r}.",
                hint=f"{did_you_mean(name, names)} `mycel branch list` shows all of them.".lstrip(),
            )
        return place

    def check_room(self) -> None:
        """Check nothing: the server knows its own disk."""

    def create(self, name: str, prepare: Callable[[Any], None]) -> None:
        """Copy the open branch. Other processes may write meanwhile without waiting."""
        target = self._address.on_branch(checked_branch(name))
        # Names are compared without case, as for branches of files.
        if name.lower() in map(str.lower, self.names()):
            raise DuplicateExists(
                f"There is a branch {name!r} already.", hint="Choose another name."
            )
        with translated(), closing(self._location.connect(writable=True)) as connection:
            connection.execute(
                "BEGIN ISOLATION LEVEL REPEATABLE READ;"
                f" SET LOCAL maintenance_work_mem = '{_MEMORY}'"
            )
            copy_schema(connection, self._address.schema, target.schema)
            prepare(connection)
            connection.execute("COMMIT")

    def remove(self, name: str) -> None:
        """Remove a branch for good.

        Raises:
            DatabaseBusy: the branch is open somewhere.
        """
        target = self._address.on_branch(checked_branch(name))
        with translated(), closing(self._location.connect(writable=True)) as connection:
            connection.lock_unused(target.schema, f"The branch {name!r}")
            connection.execute(f'DROP SCHEMA "{target.schema}" CASCADE')

    @property
    def current(self) -> str:
        """The branch that commands use: the one in the URL."""
        return self.open

    def switch(self, name: str) -> None:
        """Refuse: a server keeps no default branch.

        Raises:
            Unsupported: always.
        """
        raise Unsupported(
            "The URL of a graph in PostgreSQL names its branch, for each caller.",
            hint=f"Use {self.place(name)}",
        )


def copy_schema(connection: PostgresConnection, source: str, target: str) -> None:
    """Copy the tables of a workspace to a new schema, inside of a transaction."""
    connection.execute(
        f'CREATE SCHEMA "{target}"; SET LOCAL search_path = "{target}", mycel, pg_catalog'
    )
    for table in layout.NAMES:
        connection.execute(
            f'CREATE TABLE {table} (LIKE "{source}".{table} INCLUDING DEFAULTS INCLUDING IDENTITY);'
            f' INSERT INTO {table} SELECT * FROM "{source}".{table}'
        )
    keys = connection.execute(
        "SELECT r.relname, pg_get_constraintdef(c.oid) FROM pg_constraint c"
        " JOIN pg_class r ON r.oid = c.conrelid JOIN pg_namespace n ON n.oid = c.connamespace"
        " WHERE n.nspname = ? AND c.contype IN ('p', 'u') ORDER BY r.relname",
        (source,),
    )
    for table, definition in keys.fetchall():
        connection.execute(f"ALTER TABLE {table} ADD {definition}")
    for statement in (*layout.INDEXES, *layout.VIEWS):
        connection.execute(statement)
    for table, column in layout.COUNTERS:
        connection.execute(
            f"SELECT setval(pg_get_serial_sequence('{table}', '{column}'),"
            f" coalesce(max({column}), 0) + 1, false) FROM {table}"
        )
    connection.forget_statistics()
