"""A program that is killed at the Nth call of git, again and again, while it writes a mirror.

    python -m tests.faults.mirror_killing <folder> <work> <n> <work> <n> …

For each N it forks a child that copies the graph in `<folder>/<work>`, with its mirror, to
`<folder>/<work>-<n>`, does the work and is killed: for an odd N before the call, for an even one
after it; 0 is the start of `git fast-import`. Prints a JSON object for each.
It is a program of its own because forking wants a process with one thread.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mycel
from mycel.mirror import settings
from mycel.mirror.repository import Repository


def _create(db: mycel.Graph, folder: Path) -> None:
    mycel.Mirror.create(db, folder)


def _push(db: mycel.Graph, _: Path) -> None:
    mycel.Mirror(db).push()


def _import(db: mycel.Graph, _: Path) -> None:
    mycel.Mirror(db).import_edits()


WORK: dict[str, Callable[[mycel.Graph, Path], None]] = {
    "create": _create,
    "push": _push,
    "import": _import,
}


def copy_graph(graph: Path, folder: Path) -> Path:
    """A copy of a graph and its mirror in another folder."""
    shutil.copytree(graph.parent, folder, symlinks=True)
    path = folder / graph.name
    if settings.has_mirror(path):
        known = settings.read(path)
        settings.write(path, known._replace(folder=folder / known.folder.name))
    return path


def arm(n: int) -> None:
    """Let this process be killed at its Nth call of git."""
    calls = 0

    def killing(inner: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Repository, *words: Any, **how: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == (n + 1) // 2 and n % 2:
                os.kill(os.getpid(), signal.SIGKILL)
            done = inner(self, *words, **how)
            if calls == n // 2 and n % 2 == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return call

    Repository.run = killing(Repository.run)  # type: ignore[method-assign]
    started = subprocess.Popen

    def popen(words: Any, *rest: Any, **how: Any) -> Any:
        process = started(words, *rest, **how)
        if "fast-import" in words and n == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return process

    subprocess.Popen = popen  # type: ignore[misc,assignment]


def run(folder: Path, work: str, n: int) -> dict[str, object]:
    path = copy_graph(folder / work / "shop.db", folder / f"{work}-{n}")
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            arm(n)
            with mycel.open(path, create=False, durability="off") as db:
                WORK[work](db, path.parent / ".knowledge")
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    return {"folder": path.parent.name, "killed": killed, "code": os.waitstatus_to_exitcode(status)}


if __name__ == "__main__":
    inside, *points = sys.argv[1:]
    for kind, number in zip(points[::2], points[1::2], strict=True):
        print(json.dumps(run(Path(inside), kind, int(number))), flush=True)
