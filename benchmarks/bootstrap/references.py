"""Compares the answers of `callers` with the references that a type-aware tool finds, line by line.

    python -m benchmarks.bootstrap.references FOLDER COUNT pyright-langserver --stdio
    python -m benchmarks.bootstrap.references FOLDER COUNT rust-analyzer LIBRARY
    python -m benchmarks.bootstrap.references FOLDER COUNT grep .rs

LIBRARY is the folder of the source of Rust's standard library. `grep` counts every line with the
name outside of comments and strings as a use, even of another symbol with the same name.

COUNT symbols of all kinds are drawn at random with a fixed seed. A use is a line, except the line
of the definition. It is found if the text of the answer shows its number below its file, even if it
is marked as uncertain. Precision counts only the lines that are shown as certain.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

import mycel
from benchmarks.bootstrap.language_servers import LanguageServer, rust_options
from mycel.knowledge.bootstrap import bootstrap
from mycel.knowledge.code.file_kinds import detect
from mycel.knowledge.code.languages import blank_prose
from mycel.mcp.read_tools import RELATIONS_SHOWN
from mycel.mcp.results import TextPage
from mycel.mcp.source_lines import add_references

SUFFIXES: Final = {"rust-analyzer": ".rs", "pyright": ".py"}
MISSES_SHOWN: Final = 3

Lines = set[tuple[str, int]]


class BenchSymbol(NamedTuple):
    """A symbol of the graph, with the place of its name in the source."""

    uri: str
    name: str
    kind: str
    path: str
    line: int
    column: int


class Comparison(NamedTuple):
    """The true uses of a symbol, and the lines that the answer shows."""

    kind: str
    true: Lines
    shown: Lines
    certain: Lines


def main(folder: str, count: str, tool: str, *arguments: str) -> None:
    root = Path(folder).resolve()
    with ExitStack() as stack:
        place = stack.enter_context(tempfile.TemporaryDirectory())
        db = stack.enter_context(mycel.open(Path(place, "graph.db")))
        knowledge = mycel.Knowledge(db, workspace="bench", root=root)
        print(bootstrap(knowledge))
        suffix = (
            arguments[0] if tool == "grep" else next(s for t, s in SUFFIXES.items() if t in tool)
        )
        symbols = _sample(knowledge, root, suffix, int(count))
        find = _finder(stack, root, suffix, (tool, *arguments))
        results = []
        for each in symbols:
            true = find(each) - {(each.path, each.line)}
            if not true:
                continue
            shown, certain = _answer(knowledge, each.uri)
            results.append(Comparison(each.kind, true, shown, certain))
            missed = sorted(true - shown)
            if missed:
                print(f"{len(missed)} of {len(true)} missed: {each.uri} {missed[:MISSES_SHOWN]}")
            wrong = sorted(certain - true)
            if wrong:
                print(f"{len(wrong)} of {len(certain)} wrong: {each.uri} {wrong[:MISSES_SHOWN]}")
        _report(results)


def _finder(
    stack: ExitStack, root: Path, suffix: str, command: tuple[str, ...]
) -> Callable[[BenchSymbol], Lines]:
    if command[0] == "grep":
        language = detect(f"a{suffix}").language
        texts = {
            path.relative_to(root).as_posix(): blank_prose(language, path.read_bytes()) or b""
            for path in root.rglob(f"*{suffix}")
        }  # fmt: skip
        return lambda each: _search(texts, each.name)
    is_rust = "rust-analyzer" in command[0]
    options = rust_options(root, command[1]) if is_rust else {}
    server = stack.enter_context(LanguageServer(command[:1] if is_rust else command, root, options))
    if is_rust:
        server.wait_until_quiet()
    return lambda each: server.references(root / each.path, each.line - 1, each.column)


def _search(texts: dict[str, bytes], name: str) -> Lines:
    word = re.compile(rb"\b" + re.escape(name.encode()) + rb"\b")
    return {
        (path, number)
        for path, code in texts.items()
        for number, line in enumerate(code.split(b"\n"), 1)
        if word.search(line)
    }


def _sample(knowledge: mycel.Knowledge, root: Path, suffix: str, count: int) -> list[BenchSymbol]:
    """Symbols of all kinds, drawn at random."""
    with knowledge.db.reading() as reader:
        rows = reader.fetch_all(
            "SELECT c.name, c.attributes ->> '$.name', c.attributes ->> '$.kind',"
            " c.attributes ->> '$.line', c.attributes ->> '$.end_line'"
            " FROM concept c JOIN type t ON t.id = c.type WHERE t.name = 'Symbol' ORDER BY c.name"
        )
    random.Random(1).shuffle(rows)
    found: list[BenchSymbol] = []
    for uri, name, kind, first, last in rows:
        path = uri.removeprefix("concept://bench/").rpartition("/")[0]
        if path.endswith(suffix) and len(found) < count:
            lines = (root / path).read_text(encoding="utf-8").split("\n")
            for number in range(first, last + 1):
                column = re.search(rf"\b{re.escape(name)}\b", lines[number - 1])
                if column is not None:
                    place = (path, number, column.start())
                    found.append(BenchSymbol(uri, name, kind, *place))
                    break
    return found


def _answer(knowledge: mycel.Knowledge, uri: str) -> tuple[Lines, Lines]:
    """The lines in the text of an answer, and the ones that it shows as certain."""
    page = TextPage()
    add_references(knowledge.references(uri), RELATIONS_SHOWN, page, detailed=False)
    shown: Lines = set()
    certain: Lines = set()
    file, is_certain = "", False
    for line in str(page).split("\n"):
        if line.startswith("- "):
            file, _, numbers = line[2:].partition(": ")
            file = _path(file)
        elif line.startswith("    "):
            numbers = (
                line.strip().removeprefix("also ")
                if " also " in line[:9]
                else line.partition(":")[0]
            )
        else:
            is_certain = line.startswith(("Called", "Used", "Extended", "…")) and (
                is_certain or not line.startswith("…")
            )
            continue
        lines = {(file, int(each)) for each in re.findall(r"\d+", numbers)}
        shown |= lines
        certain |= lines if is_certain else set()
    return shown, certain


def _path(uri: str) -> str:
    if uri.startswith("file://"):
        return uri.removeprefix("file://bench/")
    return uri.removeprefix("concept://bench/").rpartition("/")[0]


def _report(results: list[Comparison]) -> None:
    kinds: defaultdict[str, list[Comparison]] = defaultdict(list)
    for each in results:
        kinds[each.kind].append(each)
    for kind, some in (*sorted(kinds.items()), ("all", results)):
        true = sum(len(each.true) for each in some)
        found = sum(len(each.true & each.shown) for each in some)
        right = sum(len(each.true & each.certain) for each in some)
        certain = sum(len(each.certain) for each in some)
        mean = sum(len(e.true & e.shown) / len(e.true) for e in some) / max(len(some), 1)
        print(
            f"{kind:12} {len(some):4} symbols {true:6} uses: recall {found / max(true, 1):.3f}"
            f" (mean of symbols {mean:.3f}), as certain {right / max(true, 1):.3f};"
            f" precision of {certain} certain {right / max(certain, 1):.3f}"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
