"""Lists the workspaces of a database with their sizes, and removes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Final

from mycel.errors import NotFound, did_you_mean
from mycel.store.backend.failures import translated
from mycel.store.backend.postgres.address import PREFIX, Address, parse_address
from mycel.store.backend.postgres.branches import IS_READABLE, schemas_of
from mycel.store.backend.postgres.connection import PostgresConnection
from mycel.store.file.branch_files import MAIN

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
        """Take the URL of the database; a workspace or branch in it is ignored."""
        self._database: Final = database

    def url_of(self, name: str) -> str:
        """The URL of a workspace, which need not exist.

        Raises:
            NotADatabase, InvalidIdentifier: the database is no URL, or has a password, or no
                workspace can have this name.
        """
        return str(self._address_of(name))

    def _address_of(self, name: str) -> Address:
        separator = "&" if "?" in self._database else "?"
        address = parse_address(f"{self._database}{separator}workspace={name}")
        return address.on_branch(MAIN)

    def names(self) -> list[str]:
        """The names of the workspaces that the role may read, without branches.

        Raises:
            NotADatabase, DatabaseError: the database cannot be asked.
        """
        with self._connected() as connection:
            query = f"SELECT n.nspname{_WORKSPACES} AND {IS_READABLE}"
            rows = connection.execute(query, (PREFIX,)).fetchall()
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

    def remove(self, name: str) -> None:
        """Remove a workspace with all of its branches, for good.

        Raises:
            NotFound: there is no such workspace, and no branch of one.
            DatabaseBusy: somebody has it, or a branch of it, open.
            DatabaseReadOnly: the workspace belongs to another role.
        """
        main = self._address_of(name).schema
        with self._connected(writable=True) as connection:
            schemas = schemas_of(connection, main)
            if not schemas:
                raise NotFound(
                    f"The database has no workspace {name!r}.",
                    hint=did_you_mean(name, self.names()),
                )
            for schema in schemas:
                connection.lock_unused(schema, f"The workspace {name!r}")
            # The workspace itself goes last: until then `names` shows that something is left.
            for schema in sorted(schemas, reverse=True):
                connection.execute(f'DROP SCHEMA "{schema}" CASCADE')

    def exchange(self, name: str, url: str) -> None:
        """Let a workspace and the graph at a URL of this database change places.

        Raises:
            DatabaseBusy: somebody has the graph open.
            DatabaseReadOnly: the graph belongs to another role.
        """
        address, one = parse_address(url), self._address_of(name).schema
        with self._connected(writable=True) as connection:
            connection.lock_unused(address.schema, f"The graph at {str(address)!r}")
            connection.execute(
                f'BEGIN; ALTER SCHEMA "{address.schema}" RENAME TO "{one} other";'
                f' ALTER SCHEMA "{one}" RENAME TO "{address.schema}";'
                f' ALTER SCHEMA "{one} other" RENAME TO "{one}"; COMMIT'
            )

    @contextmanager
    def _connected(self, *, writable: bool = False) -> Iterator[PostgresConnection]:
        """A connection that is bound to no workspace."""
        address = self._address_of("none")
        with translated():
            connection = PostgresConnection(
                address.url, address.schema, writable=writable, busy_timeout_s=30
            )
            with closing(connection):
                yield connection
