"""Starting: `import mycel`, the command with `--help`, and a first answer, each in new processes.

The processes share a cache of bytecode, as in an installed package, even if the environment forbids
writing bytecode.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from statistics import median
from time import perf_counter
from typing import Final

from benchmarks.databases import Databases, Pair, say
from benchmarks.loads import package_folder
from benchmarks.report import Bar, Line, Measure, Skipped
from benchmarks.timing import Summary

RUNS: Final = 11
_NOTHING: Final = ("-c", "pass")
_IMPORT: Final = ("-c", "import mycel")
_HELP: Final = ("-m", "mycel", "--help")
_FIRST: Final = """
import sys, mycel
with mycel.open(sys.argv[1], create=False) as db:
    db.execute('FIND(?a.name) WHERE { ?a {type: "Scholar"} } LIMIT 3').value
"""
"""A program that opens a graph and asks one question."""


def measure(databases: Databases) -> Iterator[Line]:
    with tempfile.TemporaryDirectory(prefix="mycel-bench-") as cache:
        environment = _environment(cache)
        say("starting")
        yield from _measure(environment)
        for pair in databases.pairs():
            say(f"first answer: {pair.size}")
            yield _measure_first(pair, environment)


def _measure_first(pair: Pair, environment: dict[str, str]) -> Measure:
    """A first answer, the start of Python included."""
    command = ("-c", _FIRST, str(pair.ours))
    failure = _failure(command, environment)  # The first start also fills the caches.
    if failure:
        raise RuntimeError(f"The program that asks one question failed: {failure}")
    took = [_start_s(command, environment) for _ in range(RUNS)]
    bar = Bar(0.25, "ours")
    return Measure("open, first FIND, in a new process", pair.size, "s", Summary.of(took), bar=bar)


def _measure(environment: dict[str, str]) -> Iterator[Line]:
    commands = [_NOTHING, _IMPORT, _HELP]
    failure = _failure(_HELP, environment)
    if failure:
        commands.remove(_HELP)
    for command in commands:  # The first start fills the caches of bytecode and of the disk.
        _start_s(command, environment)
    took: dict[tuple[str, ...], list[float]] = {command: [] for command in commands}
    for _ in range(RUNS):
        for command in commands:
            took[command].append(_start_s(command, environment))
    nothing = median(took[_NOTHING])
    yield Measure(
        "import mycel",
        "",
        "s",
        Summary.of([each - nothing for each in took[_IMPORT]]),
        bar=Bar(0.1, "ours"),
        note=f"without the {nothing * 1e3:.0f} ms of Python itself",
    )
    if failure:
        yield Skipped("mycel --help", failure)
    else:
        yield Measure("mycel --help", "", "s", Summary.of(took[_HELP]), bar=Bar(0.3, "ours"))


def _environment(cache: str) -> dict[str, str]:
    own = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return own | {"PYTHONPATH": package_folder(), "PYTHONPYCACHEPREFIX": cache}


def _start_s(command: tuple[str, ...], environment: dict[str, str]) -> float:
    start = perf_counter()
    _run(command, environment)
    return perf_counter() - start


def _failure(command: tuple[str, ...], environment: dict[str, str]) -> str:
    """The last line of an error; empty if there is none."""
    done = _run(command, environment)
    said = done.stderr.strip().splitlines() or ["it failed without a message"]
    return said[-1] if done.returncode else ""


def _run(command: tuple[str, ...], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (sys.executable, *command),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
