"""`python -m benchmarks`: run the measures, print a table, write JSON."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks import (
    bulk,
    checks,
    edges,
    engines,
    explorer,
    history,
    imports,
    mirror,
    proofs,
    reads,
    startup,
    traversals,
    writes,
)
from benchmarks.bootstrap import runs as bootstrap_runs
from benchmarks.compat import latencies, official
from benchmarks.databases import Databases
from benchmarks.graphs import NODES
from benchmarks.http import loads as http_loads
from benchmarks.http import submissions
from benchmarks.kip import capsules, finds, language, others, sweeps
from benchmarks.mcp import calls
from benchmarks.recall import recall
from benchmarks.report import Line, Measure, load_text, table, to_json
from benchmarks.schema import catalogs, migrations, uniques
from benchmarks.schema import loads as schema_loads

MEASURES: Final[dict[str, Callable[[Databases], Iterable[Line]]]] = {
    "load": bulk.measure,
    "size": checks.measure_size,
    "point": reads.measure_point,
    "hop": reads.measure_hop,
    "edges": edges.measure,
    "write": writes.measure_durable,
    "group": writes.measure_group,
    "find": finds.measure,
    "aggregate": finds.measure_whole,
    "parse": language.measure,
    "capsule": capsules.measure,
    "sweep": sweeps.measure,
    "other": others.measure,
    "engines": engines.measure,
    "traverse": traversals.measure,
    "catalog": catalogs.measure,
    "rows": schema_loads.measure,
    "unique": uniques.measure,
    "migrate": migrations.measure,
    "compat": latencies.measure,
    "official": official.measure,
    "proof": proofs.measure,
    "start": startup.measure,
    "mcp": calls.measure,
    "http": http_loads.measure,
    "submission": submissions.measure,
    "explorer": explorer.measure,
    "bootstrap": bootstrap_runs.measure,
    "history": history.measure,
    "mirror": mirror.measure,
    "import": imports.measure,
    "recall": recall.measure,
    "verify": checks.measure_verify,
}
ONLY_IF_FULL: Final = {"verify"}
GROUPS: Final = {
    "kip": ("find", "aggregate", "parse", "capsule", "sweep", "other"),
    "schema": ("catalog", "rows", "unique", "migrate"),
}
"""Names for several measures."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen measures. Returns 1 if a bar was missed and `--strict` is given, else 0."""
    options = _parser().parse_args(arguments)
    wanted = _measures(options.only or ()) or [
        name for name in MEASURES if options.full or name not in ONLY_IF_FULL
    ]
    if options.keep and options.dir is None:
        sys.exit("--keep needs --dir, the folder of the databases.")
    lines: list[Line] = []
    load_before = os.getloadavg()[0]
    with _folder(options.dir, keep=options.keep) as folder:
        databases = Databases(folder, tuple(options.sizes))
        for name in wanted:
            lines.extend(MEASURES[name](databases))
    loads = (load_before, os.getloadavg()[0])
    print(table(lines), load_text(loads), sep="\n\n")
    options.out.write_text(json.dumps(to_json(lines, options.sizes, loads), indent=1) + "\n")
    missed = [line.name for line in lines if isinstance(line, Measure) and line.missed]
    return 1 if missed and options.strict else 0


def _measures(names: Iterable[str]) -> list[str]:
    """Each chosen measure once; a group stands for its measures."""
    return list(dict.fromkeys(each for name in names for each in GROUPS.get(name, (name,))))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure Mycel beside plain SQLite. See docs/benchmarks.md.",
    )
    add = parser.add_argument
    add(
        "--sizes",
        type=_names(NODES),
        default=["10k", "100k"],
        metavar="SIZE,…",
        help=f"of {', '.join(NODES)} nodes, with ten times as many links (10k,100k)",
    )
    add(
        "--only",
        type=_names((*MEASURES, *GROUPS)),
        metavar="NAME,…",
        help=f"measure only some of {', '.join(MEASURES)}; all of the language: kip;"
        " all of schemas: schema",
    )
    add("--full", action="store_true", help="also measure verify, which takes long")
    add("--dir", type=Path, help="where the databases are made (the temporary directory)")
    add("--keep", action="store_true", help="keep the databases in --dir, and use them again")
    add("--out", type=Path, default=Path("bench-results.json"), help="where the JSON goes")
    add("--strict", action="store_true", help="exit with 1 when a bar is missed")
    return parser


def _names(known: Iterable[str]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        names = text.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(known)}")
        return names

    return parse


@contextmanager
def _folder(parent: Path | None, *, keep: bool) -> Iterator[Path]:
    """The folder of the databases: `parent` if they are kept, else a temporary folder."""
    if parent is not None:
        parent.mkdir(parents=True, exist_ok=True)
    if keep and parent is not None:
        yield parent
        return
    with tempfile.TemporaryDirectory(prefix="mycel-bench-", dir=parent) as folder:
        yield Path(folder)


if __name__ == "__main__":
    sys.exit(main())
