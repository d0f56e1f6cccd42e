"""The records of a server of many workspaces: tokens and the audit log.

They are in a small SQLite file of their own beside the graphs, because graph files are copied and
these records must not be. The file holds hashes of secrets, never the secrets. Several processes
may share it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import apsw

from mycel.errors import FormatTooNew, NotADatabase
from mycel.store.backend.failures import translated
from mycel.store.file.rows import Row, fetch_all

FORMAT: Final = 1
APPLICATION_ID: Final = 0x4D796373
"""`Mycs`, in the header of the file."""
AUDIT_MAX: Final = 1_000_000
"""The maximum number of records of the audit log; older ones are removed."""

_BUSY_MS: Final = 30_000
_LAYOUT: Final = """
CREATE TABLE IF NOT EXISTS token (
    id TEXT PRIMARY KEY,
    digest BLOB NOT NULL,
    actor TEXT NOT NULL,
    note TEXT NOT NULL,
    scopes TEXT NOT NULL,
    workspaces TEXT,
    created INTEGER NOT NULL,
    expires INTEGER,
    revoked INTEGER,
    last_use INTEGER,
    requests_per_minute INTEGER NOT NULL,
    body_bytes_max INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS audit (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    token TEXT NOT NULL,
    client TEXT NOT NULL,
    action TEXT NOT NULL,
    workspace TEXT NOT NULL,
    status INTEGER NOT NULL,
    reason TEXT NOT NULL
);
"""


class TokenRow(NamedTuple):
    """A stored token."""

    id: str
    digest: bytes
    actor: str
    note: str
    scopes: str
    workspaces: str | None
    created: int
    expires: int | None
    revoked: int | None
    last_use: int | None
    requests_per_minute: int
    body_bytes_max: int


class AuditRow(NamedTuple):
    """One record of the audit log."""

    at: int
    actor: str
    token: str
    client: str
    action: str
    workspace: str
    status: int
    reason: str


class ServerRecords:
    """The file of records, for all threads of a process."""

    def __init__(self, path: Path) -> None:
        """Open the file; make it if it does not exist.

        Raises:
            NotADatabase: the file is no file of a server's records.
            FormatTooNew: a newer version of Mycel made the file.
        """
        self.path: Final = path
        self._lock: Final = threading.RLock()
        with translated():
            # The file is for the user of the server only.
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._connection: Final = apsw.Connection(str(path))
            self._connection.set_busy_timeout(_BUSY_MS)
            self._connection.pragma("journal_mode", "wal")
            self._connection.pragma("synchronous", "full")
            self._prepare()

    def _prepare(self) -> None:
        connection = self._connection
        with self._lock, self._writing():
            number = connection.pragma("user_version")
            application = connection.pragma("application_id")
            if application not in (0, APPLICATION_ID):
                raise NotADatabase(f"{str(self.path)!r} is not the file of a server's records.")
            if number > FORMAT:
                raise FormatTooNew(f"{str(self.path)!r} was made by a newer version of Mycel.")
            connection.execute(_LAYOUT)
            connection.pragma("user_version", FORMAT)
            connection.pragma("application_id", APPLICATION_ID)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def check(self) -> None:
        """Raise an error if the file is damaged."""
        if self._rows("PRAGMA integrity_check") != [("ok",)]:
            raise NotADatabase(
                f"{str(self.path)!r} is damaged.", hint="Restore it from a backup of the folder."
            )

    def copy(self, target: Path) -> None:
        """Copy the records to a file that only its user may read; an older copy is replaced."""
        draft = target.with_name(f"{target.name}.making")
        draft.unlink(missing_ok=True)
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with self._lock, translated(), closing(apsw.Connection(str(draft))) as copied:
            with copied.backup("main", self._connection, "main") as backup:
                backup.step()
            copied.pragma("journal_mode", "delete")  # Without a log, the copy is a single file.
        draft.replace(target)

    @contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        with self._lock, translated():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def _rows(self, query: str, bindings: tuple[Any, ...] = ()) -> list[Row]:
        with self._lock, translated():
            return fetch_all(self._connection, query, bindings)

    @property
    def version(self) -> int:
        """A number that changes when another process has written."""
        with self._lock, translated():
            version: int = self._connection.pragma("data_version")
            return version

    # Tokens.

    def tokens(self) -> list[TokenRow]:
        """All tokens, also revoked ones, oldest first."""
        return [TokenRow(*row) for row in self._rows("SELECT * FROM token ORDER BY created, id")]

    def token(self, id_: str) -> TokenRow | None:
        rows = self._rows("SELECT * FROM token WHERE id = ?", (id_,))
        return TokenRow(*rows[0]) if rows else None

    def has_tokens(self) -> bool:
        """True if there was ever a token."""
        return bool(self._rows("SELECT 1 FROM token LIMIT 1"))

    def add_token(self, token: TokenRow) -> None:
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO token VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", token
            )

    def revoke_token(self, id_: str, at: int) -> None:
        with self._writing() as connection:
            connection.execute(
                "UPDATE token SET revoked = ? WHERE id = ? AND revoked IS NULL", (at, id_)
            )

    def replace_secret(self, id_: str, digest: bytes) -> None:
        with self._writing() as connection:
            connection.execute("UPDATE token SET digest = ? WHERE id = ?", (digest, id_))

    def note_uses(self, uses: Iterable[tuple[str, int]]) -> None:
        """Store the times at which tokens were used last."""
        rows = [(at, id_) for id_, at in uses]
        with self._writing() as connection:
            connection.executemany("UPDATE token SET last_use = ? WHERE id = ?", rows)

    # The audit log.

    def add_audit(self, rows: Sequence[AuditRow]) -> None:
        with self._writing() as connection:
            connection.executemany("INSERT INTO audit VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
            connection.execute(
                "DELETE FROM audit WHERE id <= (SELECT max(id) FROM audit) - ?", (AUDIT_MAX,)
            )

    def audit(self, *, before: int | None, limit: int) -> list[tuple[int, AuditRow]]:
        """Records of the audit log with their numbers, newest first."""
        rows = self._rows(
            "SELECT id, at, actor, token, client, action, workspace, status, reason FROM audit"
            " WHERE id < ? ORDER BY id DESC LIMIT ?",
            (before or 1 << 62, limit),
        )
        return [(number, AuditRow(*fields)) for number, *fields in rows]
