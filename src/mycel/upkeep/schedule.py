"""Cycles of a server: at a time of the day, or when nobody has written for some time.

    03:00     each night at three, by the clock of the machine
    30min     as soon as nobody but `$system` has written for half an hour, once after each write

If another process runs a cycle, this process skips its own.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from mycel.errors import ConstraintViolation, DatabaseBusy, MycelError
from mycel.model.names import SYSTEM_ACTOR, quote_value
from mycel.model.retention import duration_us
from mycel.store.database import Store
from mycel.store.query.commits import transaction_of
from mycel.upkeep.cycle import Cycle

LOOK_S: Final = 30.0
"""The maximum number of seconds between two checks if a graph is idle."""
_TIME: Final = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])", re.ASCII)


class Schedule:
    """The time for cycles: a time of the day, or a duration without writes."""

    def __init__(self, text: str) -> None:
        """Take a time such as "03:00", or a duration such as "30min".

        Raises:
            ConstraintViolation: the text is neither.
        """
        match = _TIME.fullmatch(text)
        self._minutes = None if match is None else int(match[1]) * 60 + int(match[2])
        self._idle_us = 0
        if match is None:
            try:
                self._idle_us = duration_us(text)
            except ConstraintViolation:
                raise ConstraintViolation(
                    f"{quote_value(text)} is not a time for a cycle.",
                    hint='Write a time of the day, such as "03:00", or a time without writes,'
                    ' such as "30min".',
                ) from None

    def wait_s(self, now: datetime, idle_us: int | None) -> float:
        """The seconds until the next cycle.

        `idle_us` is the time since the last write by somebody; None if there was none since the
        last cycle.
        """
        if self._minutes is not None:
            start = now.replace(hour=0, minute=0, second=0, microsecond=0)
            at = start + timedelta(minutes=self._minutes)
            if at <= now:
                at += timedelta(days=1)
            return (at - now).total_seconds()
        if idle_us is None:
            return LOOK_S
        return max(0.0, (self._idle_us - idle_us) / 1_000_000)

    @property
    def is_daily(self) -> bool:
        """True for a time of the day."""
        return self._minutes is not None


class Sleeper:
    """Runs cycles of one graph in a thread, until it is closed."""

    def __init__(
        self,
        store: Store,
        schedule: Schedule,
        report: Callable[[str], None] = lambda _: None,
        *,
        derive: Callable[[], bool] | None = None,
    ) -> None:
        """`report` gets the summary of a cycle, or the reason for none; `derive` is for `Cycle`."""
        self._derive: Final = derive
        self._store: Final = store
        self._schedule: Final = schedule
        self._report: Final = report
        self._stopping: Final = threading.Event()
        self._thread: Final = threading.Thread(target=self._work, name="sleeper", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop after the small transaction that is running."""
        self._stopping.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._stopping.is_set():
            wait_s = self._wait_s()
            if wait_s > 0:
                if self._stopping.wait(wait_s if self._schedule.is_daily else min(wait_s, LOOK_S)):
                    return
                if not self._schedule.is_daily:
                    continue
            self._sleep()

    def _wait_s(self) -> float:
        idle_us = None
        with suppress(MycelError), self._store.reading() as reader:
            entry = transaction_of(reader, reader.position)
            if entry.actor != SYSTEM_ACTOR:
                idle_us = max(0, reader.now_us() - entry.time_us)
        return self._schedule.wait_s(datetime.now().astimezone(), idle_us)

    def _sleep(self) -> None:
        try:
            cycle = Cycle(self._store, stop=self._stopping.is_set, derive=self._derive)
            self._report(cycle.run().summary)
        except DatabaseBusy as error:
            self._report(error.message)
            self._stopping.wait(LOOK_S)
        except MycelError as error:
            self._report(f"{error.code} {error.name}: {error.message}")
            self._stopping.wait(LOOK_S)
