"""A submission of 100 changes to the head, against the same changes in one transaction.

One submission is sent to `mycel serve`, whose processor time is measured, and another one is made
in this process. These two and the transaction write the same nodes in turns, each to a graph of its
own. Then 32 clients submit at the same time.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from time import process_time
from typing import Any, Final

import mycel
from benchmarks.databases import Databases, say
from benchmarks.http.clients import load_each, post
from benchmarks.http.loads import processor_s, serving
from benchmarks.report import Bar, Line, Measure, Skipped
from benchmarks.timing import Summary
from mycel.knowledge.submission import submit

CHANGES: Final = 100
PASSES: Final = 40
RATIO_MAX: Final = 2.0
CLIENTS: Final = 32
SECONDS: Final = 60.0
P99_S_MAX: Final = 1.0


def measure(databases: Databases) -> Iterator[Line]:
    if sys.platform != "linux":
        yield Skipped("submission", "/proc is needed")
        return
    say("submissions")
    with tempfile.TemporaryDirectory(prefix="mycel-bench-", dir=databases.folder) as folder:
        yield from _measure(Path(folder))
        for options in ((), ("--workers", "2")):
            yield _many_clients(Path(folder), options)


def _measure(folder: Path) -> Iterator[Line]:
    for name in ("served", "ours", "plain"):
        with mycel.open(folder / f"{name}.db") as db:
            mycel.Knowledge(db, workspace="shop").add("start")
    with (
        mycel.open(folder / "ours.db") as ours,
        mycel.open(folder / "plain.db") as plain,
        serving(folder / "served.db", str(folder), None) as server,
    ):
        shop = mycel.Knowledge(ours, workspace="shop")
        connection = HTTPConnection("127.0.0.1", server.port)
        _wait_until_loaded(connection)
        times: dict[str, list[float]] = {"ours": [], "plain": []}
        head: str | None = None
        begun_s = 0.0
        for number in range(-3, PASSES):  # The first ones warm up.
            if number == 0:
                begun_s = processor_s(server.process.pid)
                times = {"ours": [], "plain": []}
            changes = _changes(number)
            body = {"changes": changes, "key": f"submission{number}"}
            head = _send(connection, body | ({"base": head} if head else {}))
            base = next(ours.history.log(limit=1)).commit
            start = process_time()
            submit(shop, changes, base=base, key=f"submission{number}")
            times["ours"].append(process_time() - start)
            start = process_time()
            with plain.transaction() as tx:
                for change in changes:
                    tx.put_concept("Concept", change["node"], change["attributes"])
            times["plain"].append(process_time() - start)
        served_s = (processor_s(server.process.pid) - begun_s) / PASSES
        connection.close()
    bar = Bar(RATIO_MAX)
    made = Summary.of(times["plain"])
    yield Measure("submission, served", "100", "s", Summary.of([served_s]), made, bar=bar)
    yield Measure("submission", "100", "s", Summary.of(times["ours"]), made, bar=bar)


def _many_clients(folder: Path, options: tuple[str, ...]) -> Line:
    """The times of submissions of a new and a changed node, by clients without a pause."""

    def submissions(name: str) -> Iterator[bytes]:
        for number in count():
            uri = f"concept://shop/{name}"
            new = {"node": f"{uri}/n{number}", "attributes": {"content": "a text"}}
            changed = {"node": f"{uri}/last", "attributes": {"content": f"number {number}"}}
            body = {"changes": [new, changed], "key": f"submission-{name}-{number}"}
            yield post("/submit", body | {"on_conflict": "merge"})

    path = folder / f"many{len(options)}.db"
    with mycel.open(path) as db:
        mycel.Knowledge(db, workspace="shop").add("start")
    with serving(path, str(folder), None, *options) as server:
        _wait_until_loaded(HTTPConnection("127.0.0.1", server.port))
        clients = [submissions(f"client{number}") for number in range(CLIENTS)]
        took_s = load_each(server.port, clients, seconds=SECONDS)
    summary = Summary.of([Summary.of(took_s).p99])
    note = f"{len(took_s) / SECONDS:.0f} a second, median {Summary.of(took_s).p50 * 1e3:.0f} ms"
    note += f"; {' '.join(options)}" if options else ""
    bar = Bar(P99_S_MAX, "ours")
    return Measure("submission, 32 clients, p99", "2", "s", summary, bar=bar, note=note)


def _changes(number: int) -> list[dict[str, Any]]:
    return [
        {"node": f"concept://shop/r{number}/n{each}", "attributes": {"content": f"text {each}"}}
        for each in range(CHANGES)
    ]


def _wait_until_loaded(connection: HTTPConnection) -> None:
    """Wait for the modules of MCP, which a server loads in the background for some seconds."""
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    accept = "application/json, text/event-stream"
    headers = {"content-type": "application/json", "accept": accept}
    connection.request("POST", "/mcp", json.dumps(listing), headers)
    connection.getresponse().read()


def _send(connection: HTTPConnection, body: dict[str, Any]) -> str:
    """Send a submission. Returns the head afterwards."""
    connection.request("POST", "/submit", json.dumps(body), {"content-type": "application/json"})
    response = connection.getresponse()
    told = json.loads(response.read())
    assert response.status == 200, told
    return str(told["head"])
