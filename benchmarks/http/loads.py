"""Requests of many connections to `mycel serve`, on one core and on two.

The server runs on the first core and the clients on the last one, so that they do not disturb each
other.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.databases import Databases, Pair, say
from benchmarks.http.clients import load, request
from benchmarks.mcp.servers import environment
from benchmarks.report import Bar, Line, Measure, Skipped
from benchmarks.timing import Summary

CONNECTIONS: Final = 64
SECONDS: Final = 3.0
PASSES: Final = 3
HEAVY: Final = 8
REQUEST_S_MAX: Final = 1 / 1_500
"""A request of the server, on one core."""
P99_S_MAX: Final = 0.1

POINT: Final = 'FIND(?c.name) WHERE { ?c {type: "Person", name: "$self"} }'
HOURS: Final = (
    "FIND(COUNT(?a.name), COUNT(?b.name), COUNT(?c.name)) WHERE {"
    ' ?a {type: "Document"} ?b {type: "Document"} ?c {type: "Document"}'
    " FILTER(?a.name != ?b.attributes.x) FILTER(?b.name != ?c.attributes.x) }"
)


class RunningServer(NamedTuple):
    process: subprocess.Popen[bytes]
    port: int


def measure(databases: Databases) -> Iterator[Line]:
    if sys.platform != "linux" or (os.cpu_count() or 1) < 2:
        yield Skipped("http", "two cores and /proc are needed")
        return
    cores = os.sched_getaffinity(0)
    with tempfile.TemporaryDirectory(prefix="mycel-bench-") as cache:
        for size in databases.sizes:
            say(f"http, {size}")
            with databases.copies(size) as pair:
                try:
                    os.sched_setaffinity(0, {max(cores)})
                    yield from _alone(pair, cache, {min(cores)})
                    yield from _beside_heavy(pair, cache, {min(cores)})
                finally:
                    os.sched_setaffinity(0, cores)
                yield _two_processes(pair, cache, cores)


def _alone(pair: Pair, cache: str, cores: set[int]) -> Iterator[Line]:
    with serving(pair.ours, cache, cores) as server:
        took_s, cpu_s, count = _loaded(server)
    each = Summary.of([SECONDS / each for each in count])
    rate = f"{count[0] / SECONDS:.0f} to {max(count) / SECONDS:.0f} requests/s"
    yield Measure(
        "http FIND, a request", pair.size, "s", each, bar=Bar(REQUEST_S_MAX, "ours"), note=rate
    )
    worst = Summary.of([Summary.of(each).p99 for each in took_s])
    yield Measure("http FIND, p99", pair.size, "s", worst, bar=Bar(P99_S_MAX, "ours"))
    yield Measure("http FIND, processor", pair.size, "s", Summary.of(cpu_s))


def _beside_heavy(pair: Pair, cache: str, cores: set[int]) -> Iterator[Line]:
    with serving(pair.ours, cache, cores) as server, ExitStack() as stack:
        for _ in range(HEAVY):
            heavy = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            heavy.sendall(request(HOURS))
        took_s = load(server.port, request(POINT), connections=4, seconds=SECONDS)
    note = f"beside {HEAVY} reads that take hours"
    yield Measure("http FIND, not alone", pair.size, "s", Summary.of(took_s), note=note)


def _two_processes(pair: Pair, cache: str, cores: set[int]) -> Line:
    with serving(pair.ours, cache, cores, "--workers", "2") as server:
        _, _, count = _loaded(server)
    note = f"--workers 2; clients on the same cores; {max(count) / SECONDS:.0f} requests/s"
    times = Summary.of([SECONDS / each for each in count])
    return Measure("http FIND, two processes", pair.size, "s", times, note=note)


def _loaded(server: RunningServer) -> tuple[list[list[float]], list[float], list[int]]:
    """For each pass: times of requests, processor time of a request, number of requests."""
    took_s, cpu_s = [], []
    load(server.port, request(POINT), connections=CONNECTIONS, seconds=0.5)
    for _ in range(PASSES):
        before = processor_s(server.process.pid)
        took_s.append(load(server.port, request(POINT), connections=CONNECTIONS, seconds=SECONDS))
        cpu_s.append((processor_s(server.process.pid) - before) / len(took_s[-1]))
    return took_s, cpu_s, [len(each) for each in took_s]


def processor_s(pid: int) -> float:
    told = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(
    path: Path, cache: str, cores: set[int] | None, *options: str
) -> Iterator[RunningServer]:
    words = [sys.executable, "-m", "mycel", "serve", "--json", "--db", str(path), "--port", "0"]
    process = subprocess.Popen([*words, *options], env=environment(cache), stdout=subprocess.PIPE)
    try:
        if cores is not None:
            os.sched_setaffinity(process.pid, cores)
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        yield RunningServer(process, int(ready["url"].rpartition(":")[2]))
    finally:
        process.terminate()
        process.communicate()
