"""Notices of commits: LISTEN and NOTIFY.

After each commit, the writer sends a notice with the name of the workspace, in a transaction of its
own but in the same round trip. A notice inside the writing transaction would hold a lock of the
whole server until the commit is on the disk, and writers of all workspaces would wait for each
other.

A process listens to a database with one connection, for all subscriptions. A notice is only a hint:
a subscriber that wakes compares positions. A lost connection therefore loses nothing: until it is
back, subscribers have to poll, and when it is back, all of them are woken. A replica sends no
notices.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from select import POLLIN, poll
from typing import Any, Final

import psycopg

CHANNEL: Final = "mycel"
SEND: Final = (
    "SELECT set_config('synchronous_commit', 'off', true),"
    f" pg_notify('{CHANNEL}', ?::text || ' ' || ?::bigint)"
)
"""Sends a notice with a schema and the number of its commit.

It does not wait for the disk: a crash of the server loses notices in any case.
"""
PAUSES_S: Final = (0.1, 0.5, 1.0, 5.0, 30.0)
"""The pauses between attempts to connect, in seconds; the last one is repeated."""
_ALIVE: Final[dict[str, Any]] = dict.fromkeys(
    ("keepalives_idle", "keepalives_interval", "keepalives_count"), 5
)
"""Settings of the connection that detect a dead host within half a minute."""

_LISTENERS: Final[dict[str, _Listener]] = {}
_CHANGING = threading.Lock()


class Subscription:
    """A subscription to the commits of a workspace."""

    def __init__(self, listener: _Listener, schema: str, wake: Callable[[], None]) -> None:
        self._listener: Final = listener
        self.schema: Final = schema
        self.wake: Final = wake

    @property
    def is_told(self) -> bool:
        """True while every commit sends a notice; while it is False, the subscriber has to poll."""
        return self._listener.is_listening

    def close(self) -> None:
        """End the subscription."""
        with _CHANGING:
            self._listener.remove(self)


def subscribe(url: str, schema: str, wake: Callable[[], None]) -> Subscription:
    """Call `wake` in a thread at each commit of a workspace, and when notices begin or end."""
    with _CHANGING:
        listener = _LISTENERS.get(url)
        if listener is None:
            listener = _LISTENERS[url] = _Listener(url)
        subscription = Subscription(listener, schema, wake)
        listener.subscriptions = (*listener.subscriptions, subscription)
    return subscription


class _Listener:
    """The connection with which this process listens to a database, and its thread."""

    def __init__(self, url: str) -> None:
        self._url: Final = url
        self.subscriptions: tuple[Subscription, ...] = ()
        self.is_listening = False
        self._stop_read, self._stop_write = os.pipe()
        threading.Thread(target=self._run, name="mycel-notices", daemon=True).start()

    def remove(self, subscription: Subscription) -> None:
        """Remove a subscription. The thread ends with the last one."""
        is_in_use = bool(self.subscriptions)
        self.subscriptions = tuple(
            other for other in self.subscriptions if other is not subscription
        )
        if is_in_use and not self.subscriptions:
            # In a forked child, the connection belongs to the parent.
            if _LISTENERS.get(self._url) is self:
                del _LISTENERS[self._url]
            os.close(self._stop_write)

    def _run(self) -> None:
        attempt = 0
        while True:
            with (
                suppress(psycopg.Error, OSError),
                psycopg.connect(
                    self._url, autocommit=True, application_name="mycel notices", **_ALIVE
                ) as connection,
            ):
                connection.execute(f"LISTEN {CHANNEL}")
                attempt, self.is_listening = 0, True
                self._wake(None)
                if self._is_ended_after(connection):
                    os.close(self._stop_read)
                    return
            if self.is_listening:
                self.is_listening = False
                self._wake(None)
            if self._is_stopped(PAUSES_S[min(attempt, len(PAUSES_S) - 1)]):
                os.close(self._stop_read)
                return
            attempt += 1

    def _is_stopped(self, seconds: float) -> bool:
        waiting = poll()
        waiting.register(self._stop_read)
        return bool(waiting.poll(seconds * 1000))

    def _is_ended_after(self, connection: psycopg.Connection[tuple[object, ...]]) -> bool:
        """Pass notices on while the connection lives. Returns True if no subscription is left."""
        pgconn = connection.pgconn
        waiting = poll()
        waiting.register(self._stop_read)
        waiting.register(pgconn.socket, POLLIN)
        while True:
            while (notice := pgconn.notifies()) is not None:
                self._wake(notice.extra.decode().partition(" ")[0])
            if any(place == self._stop_read for place, _ in waiting.poll()):
                return True
            pgconn.consume_input()  # This fails if the connection is lost.

    def _wake(self, schema: str | None) -> None:
        for subscription in self.subscriptions:
            if schema is None or subscription.schema == schema:
                with suppress(Exception):  # The subscriber may have ended.
                    subscription.wake()


def _after_fork_in_child() -> None:
    """Leave the parent's connections and threads alone."""
    global _CHANGING  # noqa: PLW0603 - a thread of the parent may hold it
    _CHANGING = threading.Lock()
    _LISTENERS.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
