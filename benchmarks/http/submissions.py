"""A submission of 100 changes to the head, against the same changes in one transaction.

It is sent to `mycel serve`, whose processor time counts, and made in this process. All three write
the same nodes in turns, each to a graph of its own.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from time import process_time
from typing import Any, Final

import mycel
from benchmarks.databases import Databases, say
from benchmarks.http.loads import processor_s, serving
from benchmarks.report import Bar, Line, Measure, Skipped
from benchmarks.timing import Summary
from mycel.knowledge.submission import submit

CHANGES: Final = 100
PASSES: Final = 40
RATIO_MAX: Final = 2.0


def measure(databases: Databases) -> Iterator[Line]:
    if sys.platform != "linux":
        yield Skipped("submission", "/proc is needed")
        return
    say("submissions")
    with tempfile.TemporaryDirectory(prefix="mycel-bench-", dir=databases.folder) as folder:
        yield from _measure(Path(folder))


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


def _changes(number: int) -> list[dict[str, Any]]:
    return [
        {"node": f"concept://shop/r{number}/n{each}", "attributes": {"content": f"text {each}"}}
        for each in range(CHANGES)
    ]


def _send(connection: HTTPConnection, body: dict[str, Any]) -> str:
    """Send a submission. Returns the head afterwards."""
    connection.request("POST", "/submit", json.dumps(body), {"content-type": "application/json"})
    response = connection.getresponse()
    told = json.loads(response.read())
    assert response.status == 200, told
    return str(told["head"])
