"""A connection of PostgreSQL, as the `Connection` of the store.

A statement runs to its end: all its rows come in one answer. While the server works, the limits are
checked every 50 ms; when one is exceeded, a cancel request stops the statement. A transaction that
reads sees one snapshot. A transaction that writes holds the lock of the graph, so writers of all
hosts take turns. The lock ends with the transaction or the process.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import Any, Final

import psycopg
from psycopg import errors

from mycel.errors import (
    DatabaseBusy,
    DatabaseCorrupt,
    DatabaseError,
    DatabaseReadOnly,
    DiskFull,
    DuplicateExists,
    ExecutionTimeout,
    InternalError,
    MycelError,
    NotADatabase,
    ResourceExhausted,
    Unsupported,
)
from mycel.model.allowance import RETRY_AFTER
from mycel.sql import postgres
from mycel.sql.dialect import Dialect
from mycel.store.backend.interface import Failure, TextIndex
from mycel.store.backend.postgres import layout, library, notices, text_index, wire
from mycel.store.backend.postgres.wire import PostgresCursor, Wire
from mycel.store.file.rows import text_array

_LIBRARY_LOCK: Final = 0x4D7963656C
"""The lock that lets one process at a time look for the library, and install it."""
_HELD_MAX: Final = 1000
"""The maximum number of rows that are held back for the next statement."""


_RETRY_S: Final = 5
"""The seconds after which a server that could not be reached may be tried again."""
_END_MS: Final = 1000
"""The time that the server may take to end a connection that was closed."""
_COPY_MIN: Final = 100
"""The fewest rows for which COPY is worth its extra round trips."""
_PLAIN_INSERT: Final = re.compile(
    r"INSERT INTO (?P<table>\w+)"
    r" VALUES \((?P<values>(?:\?(?:::\w+\[\])?|1|NULL)(?:, (?:\?(?:::\w+\[\])?|1|NULL))*)\)"
    r"(?: ON CONFLICT DO NOTHING)?"
)


_VERSION: Final = "SELECT n FROM change_count"
_SNAPSHOT: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_OUTSIDE: Final = (psycopg.pq.TransactionStatus.IDLE, psycopg.pq.TransactionStatus.UNKNOWN)


def _lock_of(name: str) -> int:
    """The number of the advisory lock with a name."""
    return int.from_bytes(sha256(name.encode()).digest()[:8], signed=True)


def use_lock(schema: str) -> int:
    """The number of the lock that every connection to a workspace shares."""
    return _lock_of(f"{schema} in use")


class PostgresConnection:
    """A connection to a workspace, as the `Connection` of the store."""

    dialect: Dialect = postgres
    text_index: TextIndex = text_index
    has_pages = False
    is_remote = True

    def __init__(self, url: str, schema: str, *, writable: bool, busy_timeout_s: float) -> None:
        self._schema = schema
        self._is_writable = writable
        self._busy_ms = min(math.ceil(busy_timeout_s * 1000), 1 << 30)
        self._lock = _lock_of(schema)
        self._changed = self._total = 0
        self._is_writing = False
        """True in a transaction that writes: inserted rows may be held back until the next
        query."""
        self._held: list[tuple[str, Sequence[tuple[Any, ...]]]] = []
        """Statements that insert rows, with the rows; they are sent with the next statement."""
        self._own_change = 0
        self._is_beginning = False
        """True if a reading transaction has begun here; BEGIN is sent with its first statement."""
        self._snapshot_version: int | None = None
        """The data version of the reader's snapshot, if it has been read."""
        self._version: int | None = None
        """The data version after the last planned statement; None when it has been read."""
        try:
            self._driver = wire.connect(url)
        except psycopg.Error as error:
            raise _refusal_of(error) from error
        self._wire = Wire(self._driver)
        self.find_tables()
        self.execute(
            "SET join_collapse_limit = 1; SET from_collapse_limit = 1; SET random_page_cost = 1.1;"
            " SET jit = off; SET timezone = 'UTC';"
            f" SET default_transaction_read_only = {'off' if writable else 'on'};"
            f" SELECT pg_advisory_lock_shared({use_lock(schema)})"
        )

    def find_tables(self) -> None:
        """Set the search path: names mean tables of the workspace and functions of the library."""
        quoted = '"' + self._schema.replace('"', '""') + '"'
        self.execute(f"SET search_path = {quoted}, {library.SCHEMA}")

    # Statements.

    def cursor(self) -> PostgresCursor:
        return PostgresCursor()

    def execute_with_version(self, cursor: PostgresCursor, statement: str, bindings: Any) -> None:
        """Run a statement, and ask for the data version in the same round trip."""
        if self._is_writable or self._snapshot_version is not None:
            self._run([(statement, bindings)], cursor)
            return
        version = self.cursor()
        self._run([(statement, bindings), (_VERSION, ())], cursor, version)
        self._version = version.get
        if self.in_transaction:
            self._snapshot_version = self._version

    def execute(self, statements: str, bindings: Any = (), /) -> PostgresCursor:
        cursor = self.cursor()
        if self._is_writing and statements.startswith(("INSERT", "SAVEPOINT")):
            self._held.append((statements, (tuple(bindings),)))
            if len(self._held) >= _HELD_MAX:
                self._send_held()
            return cursor
        self._version = None
        if statements.startswith("ROLLBACK"):
            marks = [at for at, (text, _) in enumerate(self._held) if text.startswith("SAVEPOINT")]
            is_partial = bool(marks) and statements.startswith("ROLLBACK TO")
            # Rows held back before the savepoint stay.
            del self._held[marks[-1] if is_partial else 0 :]
            if is_partial:
                return cursor
        if statements in ("COMMIT", "ROLLBACK"):
            return self._end(statements, cursor)
        if ";" in statements:  # They are sent together, and are never prepared.
            return self._run_text(statements, cursor)
        self._run([(statements, bindings)], cursor)
        return cursor

    def _end(self, statement: str, cursor: PostgresCursor) -> PostgresCursor:
        """End a transaction. A commit sends its notice in the same round trip."""
        is_told, self._is_writing = self._is_writing and statement == "COMMIT", False
        self._snapshot_version = None
        if self._is_beginning:  # Nothing was read in it.
            self._is_beginning = False
        elif is_told:
            notice = (notices.SEND, (self._schema, self._own_change))
            # A commit counts even if its notice is lost: listeners also poll now and then.
            self._run([(statement, ()), notice], cursor, is_last_needed=False)
        else:
            self._run([(statement, ())], cursor)
        return cursor

    def _run(
        self,
        statements: Sequence[tuple[str, Any]],
        *cursors: PostgresCursor,
        is_last_needed: bool = True,
    ) -> None:
        """Send statements after the rows held back, in one round trip, and fill cursors."""
        make, batches = self._wire.command, self._held
        commands = [make(text, row) for text, rows in batches for row in rows]
        if self._is_beginning:
            commands.append(make(_SNAPSHOT))
        before = len(commands)
        commands += [make(text, bindings) for text, bindings in statements]
        self._held, self._is_beginning = [], False
        try:
            results = self._wire.send(commands)
            is_whole = len(results) == len(commands)
            wire.check(results[:-1] if is_whole and not is_last_needed else results)
        except psycopg.Error as error:
            raise failure_of(error) from error
        if batches:
            changes = [result.command_tuples or 0 for result in results[:before]]
            self._total += sum(changes)
            self._changed = sum(changes[-len(batches[-1][1]) :])
        for result in results[before:]:
            self._note(result)
        for place, cursor in enumerate(cursors, before):
            self._wire.fill(cursor, results[place], commands[place])

    def _note(self, result: Any) -> None:
        self._changed = result.command_tuples or 0
        if not result.nfields:
            self._total += self._changed

    def _run_text(self, statements: str, cursor: PostgresCursor) -> PostgresCursor:
        """Run several statements without values; the cursor gets the rows of the last one."""
        self._send_held()
        try:
            last = self._wire.send_text(statements)[-1]
        except psycopg.Error as error:
            raise failure_of(error) from error
        self._note(last)
        self._wire.fill(cursor, last)
        return cursor

    def executemany(self, statements: str, rows: Iterable[Any], /) -> None:
        values = [tuple(row) for row in rows]
        plain = _PLAIN_INSERT.fullmatch(statements)
        is_copied = (
            plain is not None
            and len(values) >= _COPY_MIN
            and self._copy(plain["table"], plain["values"].split(", "), values)
        )
        if values and not is_copied:
            self._held.append((statements, values))
            if not self._is_writing or len(values) + len(self._held) >= _HELD_MAX:
                self._send_held()

    def _send_held(self) -> None:
        """Send the rows that were held back, in their order. Their results are not needed."""
        if self._held:
            self._run(())

    def _copy(self, table: str, cells: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> bool:
        """Write new rows with COPY. Returns False, and writes nothing, if one exists already."""
        fixed = {"NULL": None, "1": 1}
        self._run([("SAVEPOINT copied", ())])
        try:
            with psycopg.RawCursor(self._driver).copy(f"COPY {table} FROM STDIN") as copy:
                for row in rows:
                    bound = iter(row)
                    copy.write_row(
                        [fixed[cell] if cell in fixed else next(bound) for cell in cells]
                    )
        except errors.UniqueViolation:
            self._run_text("ROLLBACK TO copied; RELEASE copied", self.cursor())
            return False
        except psycopg.Error as error:
            raise failure_of(error) from error
        self._run([("RELEASE copied", ())])
        self._changed = len(rows)
        self._total += self._changed
        return True

    def changes(self) -> int:
        self._send_held()
        return self._changed

    def total_changes(self) -> int:
        self._send_held()
        return self._total

    # Transactions.

    @property
    def in_transaction(self) -> bool:
        return self._is_beginning or self._driver.pgconn.transaction_status not in _OUTSIDE

    @property
    def is_lost(self) -> bool:
        return self._driver.closed

    def is_unused(self) -> bool:
        return not self.in_transaction and not self._driver.closed

    def data_version(self) -> int:
        if self._is_writable and self._own_change:
            return self._own_change - 1 if self.in_transaction else self._own_change
        version, self._version = self._version, None
        if version is None:
            version = self._snapshot_version or self.execute(_VERSION).get
        return int(version)

    def try_lock(self, name: str) -> bool:
        """Take a lock with a name for the life of the connection. Returns False if it is taken."""
        number = _lock_of(f"{self._schema}{name}")
        return bool(self.execute("SELECT pg_try_advisory_lock(?)", (number,)).get)

    def unlock(self, name: str) -> None:
        """Release a named lock now.

        The server itself would release it only some time after the connection ends.
        """
        self.execute("SELECT pg_advisory_unlock(?)", (_lock_of(f"{self._schema}{name}"),))

    def lock_unused(self, schema: str, graph_label: str) -> None:
        """Take the lock of a graph that nobody else has open.

        Raises:
            Failure: somebody has it open.
        """
        # The server ends a connection some time after it was closed.
        self.execute(f"SET lock_timeout = {_END_MS}")
        try:
            self.execute("SELECT pg_advisory_lock(?)", (use_lock(schema),))
        except Failure as failure:
            if not isinstance(failure.error, DatabaseBusy):
                raise
            raise Failure(
                DatabaseBusy(
                    f"{graph_label} is in use.", hint="Close it everywhere, and try again."
                )
            ) from failure

    def wait_no_longer(self) -> None:
        """Let statements outside of transactions wait for locks no longer than a writer may."""
        self.execute(f"SET lock_timeout = {self._busy_ms}")

    def begin_reading(self) -> None:
        self._is_beginning, self._snapshot_version = True, None

    def begin_writing(self, *, patient: bool = True) -> None:
        limit, lock = f"SET LOCAL lock_timeout = {self._busy_ms}", self._lock
        counted = "UPDATE change_count SET n = n + 1"
        if patient:
            statements = f"SELECT pg_advisory_xact_lock({lock}); {counted} RETURNING n"
        else:
            statements = f"{counted} WHERE pg_try_advisory_xact_lock({lock}) RETURNING n"
        try:
            cursor = self._run_text(f"BEGIN; {limit}; {statements}", self.cursor())
            row = cursor.fetchone()
            if row is None:
                raise Failure(DatabaseBusy("Another writer holds the graph."))
        except BaseException:
            if self.in_transaction:
                self.execute("ROLLBACK")
            raise
        (self._own_change,) = row
        self._is_writing = True

    def begin_creating(self) -> None:
        """Begin the transaction that makes the tables, with the locks of the writer and library."""
        self.execute(
            f"BEGIN; SET LOCAL lock_timeout = {self._busy_ms};"
            f" SELECT pg_advisory_xact_lock({_LIBRARY_LOCK});"
            f" SELECT pg_advisory_xact_lock({self._lock})"
        )

    def watch(self, are_over: Callable[[], bool] | None) -> None:
        self._driver.are_over = are_over

    def replica_lag_s(self) -> float | None:
        """The age of the last applied change; 0 if everything received is applied."""
        lag: float | None = self.execute(
            "SELECT CASE WHEN NOT pg_is_in_recovery() THEN NULL"
            " WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0"
            " ELSE coalesce(extract(epoch FROM clock_timestamp()"
            " - pg_last_xact_replay_timestamp()), 0) END::double precision"
        ).get
        return lag

    def has_writing_rights(self) -> bool:
        return bool(
            self.execute(
                "SELECT has_table_privilege('journal', 'INSERT') AND NOT pg_is_in_recovery()"
            ).get
        )

    # Objects and storage.

    def has_objects(self, *names: str) -> bool:
        query = (
            "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = ? AND c.relname = ANY(?)"
        )
        return bool(self.execute(query, (self._schema, text_array(names))).get == len(names))

    def missing_objects(self) -> list[str]:
        rows = self.execute(
            "WITH there AS (SELECT c.relname,"
            " coalesce(i.indisvalid AND i.indisready, TRUE) AS is_used"
            " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " LEFT JOIN pg_index i ON i.indexrelid = c.oid WHERE n.nspname = ?)"
            " SELECT value FROM json_each(?::text[]) j WHERE NOT EXISTS"
            " (SELECT FROM there t WHERE t.relname = j.value AND t.is_used) ORDER BY value",
            (self._schema, text_array(layout.OBJECTS)),
        )
        return [name for (name,) in rows]

    def make(self, statements: str) -> None:
        """Make nothing: a workspace has all its tables from the beginning."""

    def append(self, table: str, columns: str, rows: Sequence[Sequence[Any]]) -> None:
        """Write new rows with COPY."""
        self._send_held()
        try:
            with psycopg.RawCursor(self._driver).copy(
                f"COPY {table} ({columns}) FROM STDIN"
            ) as copy:
                for row in rows:
                    copy.write_row(row)
        except psycopg.Error as error:
            raise failure_of(error) from error

    def unmake(self, *tables: str) -> None:
        """Empty the tables; a workspace keeps them."""
        for table in tables:
            self.execute(f"DELETE FROM {table}")

    def forget_statistics(self) -> None:
        for table in ("concept", "proposition", "concept_past", "proposition_past", "property"):
            self.execute(f"ANALYZE {table}")

    def steps(self, statement: str, bindings: Sequence[Any]) -> list[str]:
        rows = self.execute(f"EXPLAIN {statement}", bindings)
        return [str(line) for (line,) in rows]

    def map_nothing(self) -> None:
        """Do nothing: the server holds the pages."""

    def keep_in_memory(self, kib: int) -> None:
        """Do nothing: the server holds the pages."""

    def keep_nothing(self) -> None:
        """Do nothing: the server holds the pages."""

    def close(self, force: bool = True, /) -> None:
        self._driver.close()


_CLASSES: Final[tuple[tuple[type[psycopg.Error], Callable[[str], MycelError]], ...]] = (
    (errors.QueryCanceled, lambda _: ExecutionTimeout("The work was interrupted at its deadline.")),
    (
        errors.LockNotAvailable,
        lambda text: DatabaseBusy(f"Another writer held the graph for too long ({text})."),
    ),
    (
        errors.DeadlockDetected,
        lambda text: DatabaseBusy(f"Another writer was in the way ({text}).", hint="Try again."),
    ),
    (errors.DiskFull, lambda text: DiskFull(f"The disk of the server is full ({text}).")),
    (
        errors.ReadOnlySqlTransaction,
        lambda text: DatabaseReadOnly(
            f"The graph cannot be written ({text}).",
            hint="A replica only reads: to write, name its primary in the URL, or several hosts and"
            " target_session_attrs=read-write.",
        ),
    ),
    (
        errors.InsufficientPrivilege,
        lambda text: DatabaseReadOnly(
            f"The role lacks a right ({text}).",
            hint=f"Ask the owner of the {'database' if 'for database' in text else 'schema'} to"
            " grant it; docs/postgres.md has the statements.",
        ),
    ),
    (errors.OutOfMemory, lambda text: ResourceExhausted(f"The server has no memory ({text}).")),
    (
        errors.ProgramLimitExceeded,
        lambda text: ResourceExhausted(f"The work needs more than it may have ({text})."),
    ),
    (
        errors.StatementTooComplex,
        lambda text: ResourceExhausted(f"The command is too large for one statement ({text})."),
    ),
    (
        errors.InvalidRegularExpression,
        lambda text: ResourceExhausted(
            f"The pattern is too large for PostgreSQL ({text}).",
            hint="Use fewer or smaller repetitions and classes.",
        ),
    ),
    (errors.DataCorrupted, lambda text: DatabaseCorrupt(f"The database is damaged ({text}).")),
    (
        errors.DuplicateSchema,
        lambda text: DuplicateExists(f"There is such a branch already ({text})."),
    ),
    (
        errors.FeatureNotSupported,
        lambda text: Unsupported(f"A graph in PostgreSQL cannot do this yet ({text})."),
    ),
)


_NO_DATABASE: Final = re.compile(r'database "[^"]*+" does not exist')
_NO_ENTRY: Final = re.compile(r'password|authentication|role "[^"]*+" does not exist|pg_hba')
_NO_PLACE: Final = re.compile(r"too many|reserved for")
_NEXT_STEPS: Final = (
    (
        _NO_DATABASE,
        "Create it with `createdb`, or correct its name in the URL.",
    ),
    (
        _NO_ENTRY,
        "Check the user in the URL. PGPASSWORD, ~/.pgpass or a service file has the password.",
    ),
    (
        _NO_PLACE,
        "Close other programs, or let the server take more (`max_connections`).",
    ),
)
"""Hints for failures to connect, by a pattern of the message: the driver gives no code."""


def _refusal_of(error: psycopg.Error) -> Failure:
    """The failure for an error of connecting."""
    text = _first_line(error)
    if isinstance(error, psycopg.ProgrammingError):
        return Failure(
            NotADatabase(
                f"The URL of the database cannot be used ({text}).",
                hint="Beside `workspace` and `branch`, only libpq's parameters may be in it.",
            )
        )
    advice = (advice for pattern, advice in _NEXT_STEPS if pattern.search(text))
    default = "Check host, port and database in the URL, and that the server runs."
    is_for_good = _NO_DATABASE.search(text) or _NO_ENTRY.search(text)
    return Failure(
        DatabaseError(
            f"The server cannot be used ({text}).",
            hint=next(advice, default),
            data={} if is_for_good else {RETRY_AFTER: _RETRY_S},
        )
    )


def _first_line(error: psycopg.Error) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


_LOST_TABLE: Final = re.compile(r'relation "(\w+)" does not exist')
_LOST_FUNCTION: Final = re.compile(r"function (?:mycel\.)?(\w+)\(.*\) does not exist")


def failure_of(error: psycopg.Error) -> Failure:
    """The failure for an error of the driver."""
    text = _first_line(error)
    lost = _LOST_TABLE.match(text)
    if lost is not None and lost[1] in layout.OBJECTS:
        return Failure(DatabaseCorrupt(f"A table of the workspace is gone ({text})."))
    lost = _LOST_FUNCTION.match(text)
    if lost is not None and lost[1] in library.NAMES:
        return Failure(
            DatabaseError(
                f"Functions of the database are gone, or of an older version of Mycel ({text}).",
                hint=f"Run `mycel init` once as the role that made the schema {library.SCHEMA!r}.",
            )
        )
    for kind, make in _CLASSES:
        if isinstance(error, kind):
            return Failure(make(text))
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return Failure(
            DatabaseError(
                f"The connection to the server failed ({text}).",
                hint="Check that the server runs and can be reached, then try again.",
                data={RETRY_AFTER: _RETRY_S},
            ),
            is_sure=False,
        )
    return Failure(InternalError(f"The database engine refused a statement ({text})."))
