"""The import of conversations until a search is ready: processor time per turn, and peak memory.

The import runs as the command of a user, in a process of its own. Its texts are random words from
the documents of this project.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from benchmarks.databases import Databases, say
from benchmarks.loads import package_folder
from benchmarks.report import Bar, Line, Measure
from benchmarks.timing import Summary

TURNS: Final = {"10k": 10_000, "100k": 100_000, "1m": 1_000_000}
TURNS_OF_CONVERSATION: Final = 50
WORDS: Final = range(8, 60)
DOCUMENTS: Final = Path(__file__).parents[1] / "docs"

TURN_S: Final = 1 / 2_000
PEAK_BYTES: Final = 300 << 20


def measure(databases: Databases) -> Iterator[Line]:
    for size in databases.sizes:
        turns = TURNS.get(size, 10_000)
        say(f"imports, {size}")
        source = databases.folder / f"turns-{size}.jsonl"
        write_turns(source, turns)
        used = _import(source, databases.folder / f"turns-{size}.db")
        seconds = (used.ru_utime + used.ru_stime) / turns
        yield Measure(
            "import of a turn, search ready",
            size,
            "s",
            Summary.of([seconds]),
            bar=Bar(TURN_S, "ours"),
            note=f"processor time; {turns:,} turns in one run",
        )
        yield Measure(
            "import, peak memory",
            size,
            "B",
            Summary.of([used.ru_maxrss << 10]),
            bar=Bar(PEAK_BYTES, "ours"),
        )


def write_turns(path: Path, turns: int) -> None:
    """Write a file of turns for `mycel import`."""
    chance = random.Random(turns)
    words = [
        word
        for page in sorted(DOCUMENTS.glob("*.md"))
        for word in page.read_text("utf-8").split()
        if word.isalpha()
    ]
    time = datetime(2026, 1, 1, tzinfo=UTC)
    with path.open("w", encoding="utf-8") as file:
        for turn in range(turns):
            time += timedelta(seconds=30)
            record = {
                "conversation": f"c{turn // TURNS_OF_CONVERSATION}",
                "speaker": chance.choice(("Ada", "Bob", "agent")),
                "text": " ".join(chance.choices(words, k=chance.choice(WORDS))),
                "time": time.isoformat(),
            }
            file.write(json.dumps(record) + "\n")


def _import(source: Path, graph: Path) -> resource.struct_rusage:
    """Run the command. Returns the resources that it used."""
    command = (sys.executable, "-m", "mycel", "import", str(source), "--db", str(graph), "--yes")
    environment = os.environ | {"PYTHONPATH": package_folder()}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return used
