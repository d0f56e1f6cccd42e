"""A connection of PostgreSQL, with what a `Connection` offers beside statements.

A statement runs whole: its rows come in one answer. While the server works, the limits are checked
every 50 ms; when one is exceeded, a cancel request stops the statement. A transaction that reads
sees one snapshot. A transaction that writes holds the lock of the graph, so writers of all hosts
take turns. The lock ends with the transaction or the process.
"""

from __future__ import annotations

import math
import re
import select
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Final

import orjson
import psycopg
from psycopg import errors, waiting
from psycopg.types.numeric import Int8BinaryDumper, NumericBinaryLoader
from psycopg.types.string import StrDumper

from mycel.errors import (
    DatabaseBusy,
    DatabaseCorrupt,
    DatabaseError,
    DatabaseReadOnly,
    DiskFull,
    DuplicateExists,
    ExecutionTimeout,
    InternalError,
    InvalidValueType,
    MycelError,
    NotADatabase,
    ResourceExhausted,
    Unsupported,
)
from mycel.model.limits import INTEGER_MAX, INTEGER_MIN
from mycel.sql import postgres
from mycel.sql.dialect import Dialect
from mycel.store.backend.interface import Failure, TextIndex
from mycel.store.backend.postgres import library, notices, text_index
from mycel.store.backend.postgres.markers import number_markers, values_of
from mycel.store.file.rows import NumberList, TextList, text_array

_LOOK_EVERY_S: Final = 0.05
_PREPARE_AFTER: Final = 2
_PREPARED_MAX: Final = 400
_LIBRARY_LOCK: Final = 0x4D7963656C
"""The lock that lets one process at a time look for the library, and install it."""
_HELD_MAX: Final = 1000
"""The most rows that are held back for the next statement."""


_COPY_MIN: Final = 100
"""The fewest rows for which COPY is worth its extra round trips."""
_PLAIN_INSERT: Final = re.compile(
    r"INSERT INTO (?P<table>\w+)"
    r" VALUES \((?P<values>(?:\?(?:::\w+\[\])?|1|NULL)(?:, (?:\?(?:::\w+\[\])?|1|NULL))*)\)"
    r"(?: ON CONFLICT DO NOTHING)?"
)


_NUL_ESCAPE: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
"""The escape of U+0000 in JSON. An even number of backslashes before `u0000` is no escape."""


def _is_document_with_nul(text: str) -> bool:
    """True if a text is JSON with U+0000 in it; False for a text that only mentions the escape."""
    if _NUL_ESCAPE.search(text) is None:
        return False
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


class _Text(StrDumper):
    """Texts. Neither a text nor a JSON document may contain U+0000 in PostgreSQL."""

    def dump(self, obj: str) -> bytes | bytearray | memoryview | None:
        if "\0" in obj or ("\\u0000" in obj and _is_document_with_nul(obj)):
            raise Failure(
                InvalidValueType(
                    "A text with the character U+0000 cannot be kept in PostgreSQL.",
                    hint="Leave the character out.",
                )
            )
        return super().dump(obj)


class _Boolean(Int8BinaryDumper):
    """Sends booleans as the numbers that tables hold."""

    def dump(self, obj: Any) -> bytes | bytearray | memoryview | None:
        return super().dump(int(obj))


class _Number(psycopg.adapt.Dumper):
    """Sends floats as decimal numbers, with the digits that JSON shows."""

    oid = 1700

    def dump(self, obj: float) -> bytes:
        return repr(obj).encode()


class _Numbers(psycopg.adapt.Dumper):
    """Sends lists of numbers as arrays."""

    oid = 1016

    def dump(self, obj: str) -> bytes:
        return b"{%s}" % obj[1:-1].encode()


class _Texts(psycopg.adapt.Dumper):
    """Sends lists of texts as arrays."""

    oid = 1009

    def dump(self, obj: str) -> bytes:
        quoted = (
            '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
            for text in orjson.loads(obj.encode())
        )
        return f"{{{','.join(quoted)}}}".encode()


class _Numeric(NumericBinaryLoader):
    """Reads decimal numbers as the integers or floats that JSON would show."""

    def load(self, data: Any) -> Any:
        value = super().load(data)
        exponent = value.as_tuple().exponent
        if isinstance(exponent, int) and exponent >= 0 and INTEGER_MIN <= value <= INTEGER_MAX:
            return int(value)
        return float(value)


class PostgresCursor(psycopg.RawCursor[Any]):
    """The rows of a statement."""

    def execute(self, query: Any, params: Any = (), /, **_: Any) -> PostgresCursor:  # type: ignore[override]
        text, keys = number_markers(query)
        try:
            if keys:
                super().execute(text, values_of(keys, params), binary=True)
            else:  # Several statements in one text are sent together, and are never prepared.
                alone = ";" not in text
                super().execute(text, binary=alone, prepare=None if alone else False)
        except psycopg.Error as error:
            raise failure_of(error) from error
        return self

    @property
    def get(self) -> Any:
        """The only row, or its only cell; None if there is none."""
        row = self.fetchone()
        return row[0] if row is not None and len(row) == 1 else row


class _Driver(psycopg.Connection[Any]):
    """A connection of psycopg that can stop waiting when a limit is exceeded."""

    are_over: Callable[[], bool] | None = None

    def __del__(self, *_: Any) -> None:
        """Warn of nothing: an unclosed connection is silent, as one to a file is."""

    def wait(self, gen: Generator[Any, Any, Any], *args: Any, **options: Any) -> Any:
        if self.are_over is None or self.pgconn.status != psycopg.pq.ConnStatus.OK:
            return super().wait(gen, *args, **options)
        is_cancelled = False
        try:
            waits_for = next(gen)
            poll = select.poll()
            while True:
                events = select.POLLIN if waits_for & waiting.WAIT_R else 0
                events |= select.POLLOUT if waits_for & waiting.WAIT_W else 0
                poll.register(self.pgconn.socket, events)
                events_ready = poll.poll(_LOOK_EVERY_S * 1000)
                if events_ready:
                    ready: Any = waiting.READY_NONE
                    for _, event in events_ready:
                        if event & ~select.POLLOUT:
                            ready |= waiting.READY_R
                        if event & ~select.POLLIN:
                            ready |= waiting.READY_W
                    waits_for = gen.send(ready)
                elif not is_cancelled and self.are_over():
                    is_cancelled = True
                    self.cancel()
        except StopIteration as end:
            return end.value


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
        self._failures = 0
        self._is_unprepared = False
        """True if a failed pipeline may have left statements unprepared that the driver holds for
        prepared."""
        self._version: int | None = None
        """The data version after the last planned statement; None when it has been read."""
        try:
            self._driver = _Driver.connect(
                url,
                autocommit=True,
                prepare_threshold=_PREPARE_AFTER,
                cursor_factory=PostgresCursor,
                application_name="mycel",
                client_encoding="utf8",
            )
        except psycopg.Error as error:
            raise _refusal_of(error) from error
        driver = self._driver
        driver.prepared_max = _PREPARED_MAX
        adapters = driver.adapters
        for type_, dumper in (
            (str, _Text), (int, Int8BinaryDumper), (bool, _Boolean), (float, _Number),
            (NumberList, _Numbers), (TextList, _Texts),
        ):  # fmt: skip
            adapters.register_dumper(type_, dumper)
        adapters.register_loader("numeric", _Numeric)
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
        return PostgresCursor(self._driver)

    def execute_with_version(self, cursor: PostgresCursor, statement: str, bindings: Any) -> None:
        """Run a statement and read the data version, in one round trip."""
        self._forget_unprepared()
        if self._is_writable:
            self._send_held()
            cursor.execute(statement, bindings)
            return
        version = self.cursor()
        with self._together():
            cursor.execute(statement, bindings)
            version.execute("SELECT n FROM change_count")
        self._version = version.get

    def execute(self, statements: str, bindings: Any = (), /) -> PostgresCursor:
        if self._is_writing and statements.startswith(("INSERT", "SAVEPOINT")):
            self._held.append((statements, (tuple(bindings),)))
            if len(self._held) >= _HELD_MAX:
                self._send_held()
            return self.cursor()
        self._version = None
        if statements.startswith("ROLLBACK"):
            marks = [at for at, (text, _) in enumerate(self._held) if text.startswith("SAVEPOINT")]
            is_partial = bool(marks) and statements.startswith("ROLLBACK TO")
            # Rows held back before the savepoint stay.
            del self._held[marks[-1] if is_partial else 0 :]
            if is_partial:
                return self.cursor()
        else:
            self._forget_unprepared()
        if statements == "COMMIT" and self._is_writing:
            return self._commit()
        if statements == "ROLLBACK":
            self._is_writing = False
        if not self._held:
            cursor = self.cursor().execute(statements, bindings)
        else:  # The held-back rows go in the same round trip.
            cursor = self.cursor()
            with self._together():
                self._send_held()
                cursor.execute(statements, bindings)
        self._changed = max(cursor.rowcount, 0)
        if cursor.description is None:
            self._total += self._changed
        return cursor

    def _commit(self) -> PostgresCursor:
        """Commit, and send the notice of the commit, in one round trip."""
        self._is_writing = False
        cursor, notice = self.cursor(), self.cursor()
        try:
            with self._together():
                self._send_held()
                cursor.execute("COMMIT")
                notice.execute(notices.SEND, (self._schema, self._own_change))
        except Failure:
            if cursor.statusmessage != "COMMIT":
                raise  # Otherwise only the notice failed: subscribers also ask now and then.
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

    @contextmanager
    def _together(self) -> Iterator[None]:
        """Send the statements of the block in one round trip, and then read their answers."""
        try:
            with self._driver.pipeline():
                yield
        except psycopg.Error as error:
            self._is_unprepared = True
            raise failure_of(error) from error
        except BaseException:
            self._is_unprepared = True
            raise

    def _forget_unprepared(self) -> None:
        """Let the driver prepare all statements again after a failed pipeline."""
        if self._is_unprepared:
            self._is_unprepared = False
            self._failures += 1  # The driver notices only texts that it has not seen before.
            self.cursor().execute(f"DEALLOCATE ALL; -- {self._failures}")

    def _send_held(self) -> None:
        """Send the rows that were held back, in their order. Their results are not needed."""
        batches, self._held = self._held, []
        cursor = self.cursor()
        try:
            for statements, rows in batches:
                text, keys = number_markers(statements)
                values = [values_of(keys, row) for row in rows]
                psycopg.RawCursor.executemany(cursor, text, values)
                self._changed = max(cursor.rowcount, 0)
                self._total += self._changed
        except psycopg.Error as error:
            self._is_unprepared = True
            raise failure_of(error) from error
        except BaseException:
            self._is_unprepared = True
            raise

    def _copy(self, table: str, cells: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> bool:
        """Write new rows with COPY. Returns False, and writes nothing, if one is not new."""
        self._send_held()
        fixed = {"NULL": None, "1": 1}
        cursor = self.cursor()
        cursor.execute("SAVEPOINT copied")
        try:
            with psycopg.RawCursor.copy(cursor, f"COPY {table} FROM STDIN") as copy:
                for row in rows:
                    bound = iter(row)
                    copy.write_row(
                        [fixed[cell] if cell in fixed else next(bound) for cell in cells]
                    )
        except errors.UniqueViolation:
            self.cursor().execute("ROLLBACK TO copied; RELEASE copied")
            return False
        except psycopg.Error as error:
            raise failure_of(error) from error
        self._changed = len(rows)
        self._total += self._changed
        self.cursor().execute("RELEASE copied")
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
        return self._driver.info.transaction_status not in (
            psycopg.pq.TransactionStatus.IDLE,
            psycopg.pq.TransactionStatus.UNKNOWN,
        )

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
            version = self.execute("SELECT n FROM change_count").get
        return int(version)

    def try_lock(self, name: str) -> bool:
        """Take a lock with a name for the life of the connection. Returns False if it is taken."""
        number = _lock_of(f"{self._schema}{name}")
        return bool(self.execute("SELECT pg_try_advisory_lock(?)", (number,)).get)

    def lock_unused(self, schema: str, what: str) -> None:
        """Take the lock of a graph that nobody else has open.

        Raises:
            Failure: somebody has.
        """
        if not self.execute("SELECT pg_try_advisory_lock(?)", (use_lock(schema),)).get:
            raise Failure(
                DatabaseBusy(f"{what} is in use.", hint="Close it everywhere, and try again.")
            )

    def begin_reading(self) -> None:
        self.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def begin_writing(self, *, patient: bool = True) -> None:
        limit, lock = f"SET LOCAL lock_timeout = {self._busy_ms}", self._lock
        counted = "UPDATE change_count SET n = n + 1"
        self._forget_unprepared()
        cursor = self.cursor()
        try:
            if patient:
                cursor.execute(
                    f"BEGIN; {limit}; SELECT pg_advisory_xact_lock({lock}); {counted} RETURNING n"
                )
            else:
                cursor.execute(
                    f"BEGIN; {limit}; {counted} WHERE pg_try_advisory_xact_lock({lock}) RETURNING n"
                )
            while cursor.nextset():
                pass
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

    # Objects and storage.

    def has_objects(self, *names: str) -> bool:
        query = (
            "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = ? AND c.relname = ANY(?)"
        )
        return bool(self.execute(query, (self._schema, text_array(names))).get == len(names))

    def make(self, statements: str) -> None:
        """Make nothing: a workspace has all its tables from the beginning."""

    def append(self, table: str, columns: str, rows: Sequence[Sequence[Any]]) -> None:
        """Write new rows with COPY."""
        self._send_held()
        cursor = self.cursor()
        try:
            with cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
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
        lambda text: DatabaseReadOnly(f"The graph cannot be written ({text})."),
    ),
    (
        errors.InsufficientPrivilege,
        lambda text: DatabaseReadOnly(
            f"The role lacks a right ({text}).",
            hint="Ask the owner of the schema to grant it; docs/postgres.md has the statements.",
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
"""Hints for failures to connect, by a pattern of the message; the driver gives no code."""


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
    default = "Check host, port and database in the URL, and look if the server runs."
    return Failure(
        DatabaseError(f"The server cannot be used ({text}).", hint=next(advice, default))
    )


def _first_line(error: psycopg.Error) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def failure_of(error: psycopg.Error) -> Failure:
    """The failure for an error of the driver."""
    text = _first_line(error)
    for kind, make in _CLASSES:
        if isinstance(error, kind):
            return Failure(make(text))
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return Failure(
            DatabaseError(
                f"The connection to the server failed ({text}).",
                hint="Look if the server runs and may be reached, then try again.",
            ),
            is_sure=False,
        )
    return Failure(InternalError(f"The database engine refused a statement ({text})."))
