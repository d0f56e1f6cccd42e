"""The place of a graph in a PostgreSQL database, and the settings of its connections."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from mycel.errors import (
    DatabaseError,
    DatabaseReadOnly,
    FormatTooNew,
    NotADatabase,
)
from mycel.store.backend.failures import translated
from mycel.store.backend.interface import Failure
from mycel.store.backend.postgres import layout, library, notices, views
from mycel.store.backend.postgres.address import Address
from mycel.store.backend.postgres.branches import SchemaBranches, schemas_of
from mycel.store.backend.postgres.connection import PostgresConnection
from mycel.store.file.branch_files import MAIN
from mycel.store.file.layout import FORMAT
from mycel.store.file.rows import text_array

SERVER_MIN: Final = 150000
_ABANDONED: list[PostgresConnection] = []


class _NoHousekeeping:
    """Housekeeping that does nothing: the server cares for its storage."""

    def watch(self, connection: PostgresConnection) -> None:
        """Watch nothing."""

    def begin(self) -> None:
        """Begin nothing."""

    def stop(self) -> None:
        """Stop nothing."""


@dataclass(frozen=True, slots=True)
class PostgresLocation:
    """A graph in a schema of a PostgreSQL database."""

    address: Address
    readonly: bool = False
    busy_timeout_s: float = 30.0

    @property
    def path(self) -> str:
        """The URL of the graph, without a password."""
        return str(self.address)

    @property
    def cache_kib(self) -> int:
        return 0

    @property
    def is_read_without_locks(self) -> bool:
        return False

    def connect(self, *, writable: bool = False) -> PostgresConnection:
        return PostgresConnection(
            self.address.url,
            self.address.schema,
            writable=writable and not self.readonly,
            busy_timeout_s=self.busy_timeout_s,
        )

    def open(
        self, begin: Callable[[PostgresConnection], None], *, create: bool
    ) -> PostgresConnection:
        """Open the first connection; make the workspace if it does not exist.

        Raises:
            NotADatabase, FormatTooNew, DatabaseReadOnly, DatabaseError: the graph cannot be opened.
        """
        try:
            connection = self.connect(writable=True)
            try:
                _check_server(connection, self.address.schema)
                if not connection.has_objects("mycel_format"):
                    self._make(connection, begin, create=create)
                elif not self.readonly:
                    self._upgrade(connection, create=create)
                self.check_format(connection)
            except BaseException:
                connection.close()
                raise
        except Failure as failure:
            raise failure.error from failure
        return connection

    def _make(
        self,
        connection: PostgresConnection,
        begin: Callable[[PostgresConnection], None],
        *,
        create: bool,
    ) -> None:
        schema, main = self.address.schema, self.address.on_branch(MAIN).schema
        schemas = schemas_of(connection, main)
        if schema != main and main in schemas and (self.readonly or not create):
            self.branches.existing(self.address.branch)
        if self.readonly or not create or (schema != main and main not in schemas):
            raise NotADatabase(
                f"There is no workspace {self.address.workspace!r} in the database.",
                hint="Create it with `mycel init`"
                + (", without a branch in its URL." if schema != main else "."),
            )
        if schema == main and schemas and main not in schemas:
            raise NotADatabase(
                f"There is no workspace {self.address.workspace!r}, but branches of a former one:"
                f" {', '.join(name[len(main) + 1 :] for name in schemas)}.",
                hint="Remove them with `mycel workspace remove --db URL`, or choose another name.",
            )
        connection.begin_creating()
        try:
            # Another process may have made the workspace.
            if not connection.has_objects("mycel_format"):
                _install_library(connection)
                ((tables,),) = connection.execute(
                    "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
                    " WHERE n.nspname = ?",
                    (schema,),
                )
                if tables:
                    raise NotADatabase(
                        f"The schema {schema!r} has tables that are not Mycel's.",
                        hint="Choose another name for the workspace.",
                    )
                make_tables(connection, schema)
                begin(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _upgrade(self, connection: PostgresConnection, *, create: bool) -> None:
        """Replace the functions of an older version of Mycel, and make what the database lacks.

        Without `create`, it is done only if tables are missing: each branch has its own.
        """
        has_views = connection.has_objects("nodes", "relations")
        is_older = connection.execute("SELECT layout = 2 FROM mycel_format").get
        is_complete = _library_version(connection) >= library.VERSION and has_views
        if not is_older and (is_complete or not create):
            return
        try:
            connection.begin_creating()
            try:
                _install_library(connection)
                if not connection.has_objects("nodes", "relations"):
                    connection.execute(views.VIEWS)
                if is_older and not connection.has_objects("former_period"):
                    connection.execute(layout.ADDED_SINCE_2)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        except Failure as failure:
            if not isinstance(failure.error, DatabaseReadOnly):
                raise
            raise DatabaseReadOnly(
                "Functions or views of the database come from an older version of Mycel, and"
                f" this role cannot replace them. {failure.error.message}",
                hint="Run `mycel init` once as the role that made the schemas"
                f" {library.SCHEMA!r} and {self.address.schema!r}; `--readonly` reads meanwhile.",
            ) from failure

    @property
    def branches(self) -> SchemaBranches:
        """The branches of the graph."""
        return SchemaBranches(self, self.address)

    @property
    def name(self) -> str:
        """The name of the workspace."""
        return self.address.workspace

    def check_format(self, connection: PostgresConnection) -> None:
        """Refuse a workspace that this version cannot read."""
        row = connection.execute("SELECT * FROM mycel_format").fetchone()
        if row is not None and row[1] < layout.LAYOUT:
            raise NotADatabase(
                f"The workspace {self.address.workspace!r} is of a development version, whose"
                " tables this one cannot read.",
                hint="Open it once for writing, for instance with `mycel init`."
                if row[1] == layout.LAYOUT - 1
                else "Export it with that version, and load it into a new workspace.",
            )
        if row is None or row[0] > FORMAT or row[1] > layout.LAYOUT:
            raise FormatTooNew(
                f"The workspace {self.address.workspace!r} was made by a newer Mycel; this version"
                f" reads format {FORMAT}.{layout.LAYOUT}.",
                hint="Upgrade Mycel. The workspace is left as it is.",
            )

    def check_unchanged(self) -> None:
        """Check nothing: a server is never read without locks."""

    def identity(self, suffix: str = "") -> tuple[int, int] | None:
        """A constant: a server moves no files under its clients."""
        return None if suffix else (0, 0)

    def checkpointer(self) -> _NoHousekeeping:
        return _NoHousekeeping()

    def settle(self, connection: PostgresConnection) -> None:
        """Do nothing: the server cares for its storage."""

    def close_unsettled(self, connection: PostgresConnection) -> None:
        connection.close()

    def listen(self, wake: Callable[[], None]) -> notices.Subscription:
        """Call `wake` in a thread at each commit (`notices`)."""
        return notices.subscribe(self.address.url, self.address.schema, wake)

    @contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """Hold a lock of the server, which ends with its connection."""
        connection = self.connect()
        try:
            if not connection.try_lock(name):
                raise BlockingIOError(name)
            try:
                yield
            finally:
                with suppress(Failure):  # A connection that was cut has no locks.
                    connection.unlock(name)
        finally:
            connection.close()

    def check_may_scrub(self) -> None:
        """Refuse a role that owns none of the tables, because the server would not rewrite them."""
        query = (
            "SELECT current_user FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " JOIN pg_database d ON d.datname = current_database() WHERE n.nspname = ?"
            " AND c.relname = 'journal' AND NOT pg_has_role(c.relowner, 'USAGE')"
            " AND NOT pg_has_role(d.datdba, 'USAGE')"
        )
        with translated(), closing(self.connect()) as connection:
            role = connection.execute(query, (self.address.schema,)).get
        if role is not None:
            raise DatabaseReadOnly(
                f"The role {role!r} owns neither the tables of the workspace nor the database.",
                hint="Only owners run `mycel scrub`: nothing was changed.",
            )

    def scrub(self) -> bool:
        """Rewrite the tables that this role owns. Returns False, because traces may remain.

        Write-ahead logs, replicas and backups of the server keep deleted content until they are
        recycled, and Mycel cannot see when that is.
        """
        with suppress(Failure), closing(self.connect(writable=True)) as connection:
            connection.wait_no_longer()
            for table in layout.NAMES:
                connection.execute(f"VACUUM FULL {table}")
        return False

    def abandon(self, connection: PostgresConnection) -> None:
        _ABANDONED.append(connection)


def make_tables(connection: PostgresConnection, schema: str) -> None:
    """Make the tables of a workspace, in one round trip."""
    connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"; {layout.TABLES}')


def _check_server(connection: PostgresConnection, schema: str) -> None:
    ((version, encoding, role, hidden),) = connection.execute(
        "SELECT current_setting('server_version_num')::bigint, current_setting('server_encoding'),"
        " current_user, (SELECT max(nspname) FROM pg_namespace"
        " WHERE nspname = ANY(?) AND NOT has_schema_privilege(oid, 'USAGE'))",
        (text_array([schema, library.SCHEMA]),),
    )
    if version < SERVER_MIN:
        raise NotADatabase(
            f"The server is PostgreSQL {version // 10000}, and Mycel needs"
            f" {SERVER_MIN // 10000} or later.",
            hint="Upgrade the server, or use a graph in a file.",
        )
    if encoding != "UTF8":
        raise NotADatabase(
            f"The database has the encoding {encoding}, which cannot hold every text.",
            hint="Create one with `CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`.",
        )
    if hidden is not None:
        raise DatabaseError(
            f"The role {role!r} may not use the schema {hidden!r}.",
            hint="Ask its owner for the right; docs/postgres.md has the statements.",
        )


def _library_version(connection: PostgresConnection) -> int:
    """The version of the functions in the database; 0 if there are none."""
    function_row = connection.execute(
        "SELECT 1 FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace"
        " WHERE n.nspname = ? AND p.proname = 'mycel_library'",
        (library.SCHEMA,),
    ).fetchone()
    if function_row is None:
        return 0
    ((version,),) = connection.execute("SELECT mycel.mycel_library()")
    return int(version)


def _install_library(connection: PostgresConnection) -> None:
    """Install the functions, unless the database has them."""
    if _library_version(connection) < library.VERSION:
        connection.execute(library.FUNCTIONS)
        connection.find_tables()  # The search path was set for the library itself.
