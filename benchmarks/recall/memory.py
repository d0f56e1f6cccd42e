"""The memory that searches add to a process with an open graph, without mapped files.

Run as a module with the path of a graph; questions are lines of standard input.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import mycel
from benchmarks.mcp.servers import ROOT, environment


def added_bytes(path: Path, questions: Sequence[str], cache: str) -> int:
    """The bytes that hybrid searches add to a new process, after a search for keywords."""
    done = subprocess.run(
        (sys.executable, "-m", "benchmarks.recall.memory", str(path)),
        input="\n".join(questions),
        env=environment(cache),
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=True,
    )
    return int(json.loads(done.stdout))


def _own_bytes() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (each for each in lines if each.startswith("RssAnon:"))
    return int(line.split()[1]) << 10


def _main() -> None:
    questions = sys.stdin.read().splitlines()
    with mycel.open(sys.argv[1]) as db:
        db.search("a warm-up question", mode="keyword")
        before = _own_bytes()
        for each in questions:
            db.search(each, element="CONCEPT")
        print(json.dumps(_own_bytes() - before))


if __name__ == "__main__":
    _main()
