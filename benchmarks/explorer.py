"""The explorer through a real server: the first screen, suggestions, neighbours, live streams.

The graph has URIs in folders, as the knowledge engine writes them, so that segments of paths can be
searched. Times are measured by a client over one kept connection. Following the journal is timed by
the processor time of the process that follows, beside that of the writes.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Final

import httpx

import mycel
from benchmarks.databases import Databases, say
from benchmarks.graphs import NODES
from benchmarks.report import Bar, Line, Measure, Skipped
from benchmarks.timing import Summary
from mycel.explorer.live_counts import LiveCounts
from mycel.store.write.bulk import ConceptRow, PropositionRow

ASKED: Final = 300
STREAMS: Final = 50
STREAMS_PER_ADDRESS: Final = 10
WRITES: Final = 500
SUGGEST_S: Final = 0.030
NEAR_S: Final = 0.020
OVERVIEW_S: Final = 0.020
SCREEN_S: Final = 2.0
STREAM_BYTES: Final = 1 << 20
WRITE_SHARE: Final = 0.02

_WORDS: Final = (
    "login", "session", "token", "cart", "order", "invoice", "user", "account", "payment", "refund",
    "search", "index", "audit", "graph", "plan", "queue", "path", "node", "tool", "report", "logic",
    "local", "lock", "load", "lookup", "event", "mail", "cache", "store", "render", "layout",
)  # fmt: skip
_TYPED: Final = ("lo", "l", "log", "auth", "cart 1", "area-3 to", "concept://bench/area-1/pay", "x")


def measure(databases: Databases) -> Iterator[Line]:
    if not sys.platform.startswith("linux"):
        yield Skipped("explorer", "/proc is needed")
        return
    for size in databases.sizes:
        say(f"explorer, {size}")
        with tempfile.TemporaryDirectory(prefix="mycel-bench-") as folder:
            path = Path(folder) / "graph.db"
            _make(path, NODES[size])
            yield from _following(path, size)
            with _server(path) as (url, pid):
                yield from _asking(url, size)
                yield from _streaming(url, pid, size)


def _make(path: Path, nodes: int) -> None:
    """A graph of folders, names and links, in one transaction."""
    chance = random.Random(nodes)
    with mycel.open(path) as db:
        knowledge = mycel.Knowledge(db, workspace="bench")
        knowledge.add("auth/login", name="Login")
        knowledge.link("auth/login", "depends_on", "auth/session")
        with db.transaction() as tx:
            tx.define_predicate("touches", {"description": "For a benchmark."})
            rows = [
                ConceptRow(
                    "Concept",
                    f"concept://bench/area-{chance.randrange(60)}/{chance.choice(_WORDS)}"
                    f"/{chance.choice(_WORDS)}-{at}",
                    {"name": f"{chance.choice(_WORDS)} {at}", "content": "What is known. " * 20},
                )
                for at in range(nodes)
            ]
            ids = tx.put_concepts(rows)
            ends = {
                (ids[at], ids[int(nodes * chance.random() ** 2)])
                for at in range(nodes)
                for _ in range(3)
            }
            tx.put_propositions(
                [PropositionRow(a, "touches", b, weight=0.5) for a, b in sorted(ends) if a != b]
            )


@contextmanager
def _server(path: Path) -> Iterator[tuple[str, int]]:
    command = (sys.executable, "-m", "mycel", "serve", "--json", "--db", path, "--port", "0")
    environment = {key: value for key, value in os.environ.items() if key != "MYCEL_TOKEN"}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert server.stdout is not None
        ready = json.loads(server.stdout.readline())
        yield ready["url"], server.pid
    finally:
        server.terminate()
        server.communicate()


def _asking(url: str, size: str) -> Iterator[Line]:
    with httpx.Client(base_url=url, timeout=120) as client:
        client.get("/healthz")
        began = perf_counter()
        client.get("/ui/")
        for view in ("about", "overview", "commits", "missing"):
            client.get(f"/api/{view}").raise_for_status()
        first = perf_counter() - began
        yield _one("explorer, data of the first screen", size, first, SCREEN_S, "after the start")
        while not client.get("/api/suggest?q=lo").json()["complete"]:
            pass
        typed = [_timed(client, "suggest", q=_TYPED[at % len(_TYPED)]) for at in range(ASKED)]
        yield _p95("explorer suggest", size, typed, SUGGEST_S)
        shown = client.get("/api/overview", params={"group": "concept://bench/area-1"}).json()
        ids = [f"C:{100 + 2 * at}" for at in range(ASKED)]
        yield _p95("explorer near", size, [_timed(client, "near", id=id_) for id_ in ids], NEAR_S)
        again = [_timed(client, "overview") for _ in range(ASKED)]
        yield _p95("explorer overview, kept", size, again, OVERVIEW_S)
        if not shown["groups"]:
            raise ValueError("the graph has no folders")


def _timed(client: httpx.Client, view: str, **given: Any) -> float:
    began = perf_counter()
    client.get(f"/api/{view}", params=given).raise_for_status()
    return perf_counter() - began


def _p95(name: str, size: str, samples: list[float], most: float) -> Measure:
    value = sorted(samples)[len(samples) * 95 // 100]
    return _one(f"{name}, p95", size, value, most, f"{len(samples)} requests")


def _one(name: str, size: str, value: float, most: float, note: str) -> Measure:
    return Measure(name, size, "s", Summary.of([value]), bar=Bar(most, "ours"), note=note)


def _following(path: Path, size: str) -> Iterator[Line]:
    """The processor time of updating the counts, once in 100 writes, per time of the writes."""
    copy = path.with_name("followed.db")
    shutil.copy(path, copy)
    with mycel.open(copy) as db:
        knowledge = mycel.Knowledge(db, workspace="bench")
        live = LiveCounts(db)
        with live.counted():
            pass
        writing = following = 0.0
        for start in range(0, WRITES, 100):
            began = process_time()
            for at in range(start, start + 100):
                link = {"relation": "depends_on", "target": "auth/login"}
                knowledge.add(f"new/{at}", name=f"New {at}", content="x" * 99, relations=[link])
            writing += process_time() - began
            began = process_time()
            with live.counted():
                pass
            following += process_time() - began
    share = Summary.of([following / writing])
    yield Measure(
        "explorer counts, share of writes",
        size,
        "x",
        share,
        bar=Bar(WRITE_SHARE, "ours"),
        note=f"{WRITES} writes, asked every 100",
    )


def _streaming(url: str, pid: int, size: str) -> Iterator[Line]:
    """The memory of the server for each stream, and the time until all streams have a commit."""
    place = httpx.URL(url)
    before = _resident(pid)
    opened = []
    try:
        for at in range(STREAMS):
            source = f"127.0.0.{2 + at // STREAMS_PER_ADDRESS}"
            one = socket.create_connection((place.host, place.port), 30, (source, 0))
            one.sendall(b"GET /api/changes HTTP/1.1\r\nHost: localhost\r\n\r\n")
            opened.append(one)
        for one in opened:
            _wait(one, b"event: hello")
        began = perf_counter()
        command = 'UPSERT { CONCEPT { {type: "Concept", name: "concept://bench/heard"} } }'
        httpx.post(f"{url}/kip", json={"command": command}).raise_for_status()
        for one in opened:
            _wait(one, b"event: change")
        took = perf_counter() - began
        grown = max(0, _resident(pid) - before) / STREAMS
    finally:
        for one in opened:
            one.close()
    note = f"{STREAMS} streams"
    yield Measure(
        "explorer stream, memory",
        size,
        "B",
        Summary.of([grown]),
        bar=Bar(STREAM_BYTES, "ours"),
        note=note,
    )
    yield Measure("explorer stream, until all heard", size, "s", Summary.of([took]), note=note)


def _wait(one: socket.socket, text: bytes) -> None:
    got = b""
    while text not in got:
        part = one.recv(65536)
        if not part:
            raise ConnectionError(f"the stream ended before {text!r}: {got!r}")
        got += part


def _resident(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
