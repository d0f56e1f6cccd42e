"""The audit log of a server: the caller, address, target and outcome of requests.

Requests that may change something are in it, and requests that were refused. Records are written
in groups, a moment later, so that a request does not wait for a second disk write. A process that
is killed in that moment, or a full disk, loses records. The journal of a graph has its writes in
any case.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from typing import Any, Final

from mycel.errors import MycelError
from mycel.model import times
from mycel.store.log.server_records import AuditRow, ServerRecords

PAGE_MAX: Final = 1000
WAITING_MAX: Final = 10_000
"""The maximum number of records that wait to be written. Beyond it, adding a record waits for the
disk."""
DELAY_S: Final = 0.2

_log = logging.getLogger(__name__)


class AuditLog:
    """The audit log of one process."""

    def __init__(self, records: ServerRecords) -> None:
        self._records: Final = records
        self._waiting: Final[deque[AuditRow]] = deque()
        self._changed: Final = threading.Condition()
        self._is_closed = False
        self._thread: threading.Thread | None = None

    def add(
        self,
        *,
        actor: str,
        token: str,
        client: str,
        action: str,
        workspace: str,
        status: int,
        reason: str,
    ) -> None:
        """Add a record."""
        now = time.time_ns() // 1000
        row = AuditRow(now, actor, token, client, action[:500], workspace, status, reason[:500])
        with self._changed:
            self._waiting.append(row)
            if self._thread is None and not self._is_closed:
                self._thread = threading.Thread(target=self._run, name="mycel-audit", daemon=True)
                self._thread.start()
        if len(self._waiting) > WAITING_MAX:
            self.flush()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait(DELAY_S)
                if self._is_closed:
                    return
            self.flush()

    def flush(self) -> None:
        """Write the waiting records."""
        rows = []
        while self._waiting:
            try:
                rows.append(self._waiting.popleft())
            except IndexError:
                break
        if not rows:
            return
        try:
            self._records.add_audit(rows)
        except MycelError as error:
            _log.error("%d records of the audit log are lost: %s", len(rows), error.message)

    def page(self, *, before: int | None, limit: int) -> dict[str, Any]:
        """Records as JSON, newest first, and the number at which the next page begins."""
        self.flush()
        rows = self._records.audit(before=before, limit=limit)
        entries = [
            {"id": number} | row._asdict() | {"at": times.to_text(row.at)} for number, row in rows
        ]
        return {"entries": entries, "next": rows[-1][0] if len(rows) == limit else None}

    def close(self) -> None:
        """Write the waiting records, and stop."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
        self.flush()
