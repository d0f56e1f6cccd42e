"""A server runs cycles of upkeep by itself: at a time of the day, and once nobody writes."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from tests.adapters.http.conftest import Server, Start, eventually

MARGINS_S = (4, 20)
"""The seconds until the time of the cycle. A server that takes longer to start is too late."""
WAIT_S = 10


def last_cycle(server: Server) -> str | None:
    cycle: str | None = server.run("DESCRIBE PRIMER")["maintenance"]["last_cycle"]
    return cycle


def zone_with_three_in(seconds: int) -> str:
    """The time zone, as POSIX writes it, in which it will be three at night in some seconds."""
    now = datetime.now(UTC)
    local = now.replace(hour=3, minute=0, second=0) - timedelta(seconds=seconds)
    behind = (now - local) % timedelta(days=1)  # POSIX gives what has to be added for UTC.
    hours, rest = divmod(int(behind.total_seconds()), 3_600)
    return f"TST{hours}:{rest // 60:02}:{rest % 60:02}"


def test_a_server_runs_a_cycle_at_its_time_of_the_day(start: Start) -> None:
    for margin_s in MARGINS_S:
        server = start("--sleep", "03:00", TZ=zone_with_three_in(margin_s))
        deadline = time.monotonic() + margin_s + WAIT_S
        while last_cycle(server) is None and time.monotonic() < deadline:
            time.sleep(0.2)
        if last_cycle(server) is not None:
            break
        server.stop()
    assert last_cycle(server) is not None
    assert server.stop()[0] == 0


def test_a_server_runs_a_cycle_once_nobody_has_written_for_a_while(start: Start) -> None:
    server = start("--sleep", "0min")
    eventually(lambda: last_cycle(server) is not None)
    assert server.stop()[0] == 0
