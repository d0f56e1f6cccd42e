"""Lists the workspaces of a database: their names and sizes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Final

from mycel.store.backend.failures import translated
from mycel.store.backend.postgres.address import PREFIX, parse_address
from mycel.store.backend.postgres.connection import PostgresConnection

_WORKSPACES: Final = (
    " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE c.relname = 'mycel_format' AND starts_with(n.nspname, ?)"
)
_SIZES: Final = (
    "SELECT n.nspname, sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c"
    " JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE c.relkind = 'r' AND starts_with(n.nspname, ?) GROUP BY n.nspname"
)


class DatabaseWorkspaces:
    """The workspaces of one database."""

    def __init__(self, database: str) -> None:
        """Take the URL of the database, without a workspace."""
        self._database: Final = database

    def url_of(self, name: str) -> str:
        """The URL of a workspace, which need not exist.

        Raises:
            NotADatabase, InvalidIdentifier: the database is no URL, or has a password, or no
                workspace can have this name.
        """
        separator = "&" if "?" in self._database else "?"
        return str(parse_address(f"{self._database}{separator}workspace={name}"))

    def names(self) -> list[str]:
        """The names of the workspaces, without branches.

        Raises:
            NotADatabase, DatabaseError: the database cannot be asked.
        """
        with self._connected() as connection:
            rows = connection.execute(f"SELECT n.nspname{_WORKSPACES}", (PREFIX,)).fetchall()
        return sorted(schema.removeprefix(PREFIX) for (schema,) in rows if "@" not in schema)

    def sizes(self) -> dict[str, int]:
        """The bytes of each workspace, its branches included.

        Raises:
            NotADatabase, DatabaseError: the database cannot be asked.
        """
        with self._connected() as connection:
            rows = connection.execute(_SIZES, (PREFIX,)).fetchall()
        totals: dict[str, int] = {}
        for schema, size in rows:
            name = schema.removeprefix(PREFIX).partition("@")[0]
            totals[name] = totals.get(name, 0) + size
        return totals

    @contextmanager
    def _connected(self) -> Iterator[PostgresConnection]:
        """A connection that is bound to no workspace."""
        address = parse_address(self.url_of("none"))
        with translated():
            connection = PostgresConnection(
                address.url, address.schema, writable=False, busy_timeout_s=30
            )
            with closing(connection):
                yield connection
