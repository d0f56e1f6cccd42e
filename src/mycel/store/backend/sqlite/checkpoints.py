"""Moves the write-ahead log into the database, in a thread of its own.

Commits start it, and a commit can be interrupted anywhere (Ctrl-C). So this module uses only locks
and threads of the interpreter itself, which an interrupt cannot leave half done. `Event` and
`Thread` are written in Python, and hold locks while their methods run.
"""

from __future__ import annotations

import threading
import time
from _thread import start_new_thread
from typing import Final

import apsw

from mycel.store.backend.interface import Backend

CHECKPOINT_PAGES: Final = 1000
"""The number of log pages that starts a checkpoint."""
_RESTART_TRIES: Final = 20
_RESTART_PAUSE_S: Final = 0.001


class Checkpointer:
    """Makes checkpoints of one file whenever its log is long."""

    def __init__(self, location: Backend) -> None:
        self._location = location
        self._unwanted = threading.Lock()
        """A lock that is released to ask for a checkpoint.

        The thread takes it before each checkpoint.
        """
        self._unwanted.acquire()
        self._working = threading.Lock()
        """A lock that the thread holds as long as it lives."""
        self._stopping = False

    def watch(self, connection: apsw.Connection) -> None:
        """Start a checkpoint when commits on this connection have made the log long."""
        connection.set_wal_hook(self._committed)

    def stop(self) -> None:
        """Wait for a running checkpoint, and make no more."""
        self._stopping = True
        self._want()
        with self._working:
            pass

    def _committed(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        if pages >= CHECKPOINT_PAGES:
            self.begin()
        return apsw.SQLITE_OK

    def begin(self) -> None:
        """Let the thread make a checkpoint. The caller has to hold the writer's turn."""
        if not self._stopping:
            if not self._working.locked():
                start_new_thread(self._work, ())
            self._want()

    def _want(self) -> None:
        """Ask for a checkpoint. Only the thread that has the writer's turn may call this."""
        if self._unwanted.locked():
            self._unwanted.release()

    def _work(self) -> None:
        if not self._working.acquire(blocking=False):
            return  # Another checkpoint has begun meanwhile.
        try:
            self._make_those_wanted()
        except apsw.Error:
            pass  # If the log is still long, the next commit starts a new thread.
        finally:
            self._working.release()

    def _make_those_wanted(self) -> None:
        if self._stopping:
            return
        connection = self._location.connect(writable=True)
        try:
            connection.set_busy_handler(None)  # Never keep writers waiting for a slow reader.
            while self._unwanted.acquire() and not self._stopping:
                self._checkpoint(connection)
        finally:
            connection.close(True)

    def _checkpoint(self, connection: apsw.Connection) -> None:
        """Copy most of the log concurrently with writers; then the rest, in a gap between them.

        Only a log that was copied completely is reused instead of growing. If that fails (a reader
        still needs the log, or the disk is full), the log keeps its content until the next time.
        """
        try:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.Error:
            return
        for _ in range(_RESTART_TRIES):
            try:
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
            except apsw.BusyError:
                if self._stopping:
                    return
                time.sleep(_RESTART_PAUSE_S)
            except apsw.Error:
                return
            else:
                return
