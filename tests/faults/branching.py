"""Programs that write, or are killed, while a branch is made.

python -m tests.faults.branching write <graph>            commits until its input ends
python -m tests.faults.branching kill <graph> <n>         is killed at the Nth use of a file
python -m tests.faults.branching copy <graph> <name>      lets `cp` copy, however small
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from mycel.api.opening import open_graph
from mycel.store.backend.sqlite import copy

WATCHED = ("open", "os.rename", "os.remove", "os.chmod", "shutil.copymode")


def write(path: Path) -> None:
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    number = 0
    with open_graph(path, durability="off") as db:
        while not ended.is_set():
            number += 1
            db.write(lambda tx, n=number: tx.put_concept("Shop", f"written {n}", {"n": n}))
            if number == 1:
                print("writing", flush=True)


def make(path: Path, name: str, n: int) -> None:
    """Make a branch; the process is killed at the Nth use of a file, if there are that many."""
    with open_graph(path) as db:
        uses = 0

        def hook(event: str, about: tuple[Any, ...]) -> None:
            nonlocal uses
            if event in WATCHED and "@" in str(about):
                uses += 1
                if uses == n:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        db.branches.create(name)
        uses = n  # The rest is not about the branch.


def kill_each(path: Path, first: int) -> None:
    """Fork a child for each N until a child is not killed; print the last N."""
    n = first
    while True:
        pid = os.fork()
        if pid == 0:
            make(path, f"killed{n}", n)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSIGNALED(status):
            print(n, os.WEXITSTATUS(status))
            return
        n += 1


if __name__ == "__main__":
    what, graph, *more = sys.argv[1:]
    if what == "write":
        write(Path(graph))
    elif what == "kill":
        kill_each(Path(graph), int(more[0]))
    else:
        copy.LARGE_BYTES = 0
        make(Path(graph), more[0], 0)
