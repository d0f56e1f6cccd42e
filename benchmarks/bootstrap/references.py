"""Compares the uses of symbols in a graph with those that a type-aware tool finds.

    python -m benchmarks.bootstrap.references python <folder>   # jedi has to be installed
    python -m benchmarks.bootstrap.references rust <folder>     # every line of code with the name

A third argument is the number of symbols that are compared, by default 60.

A use is a line. It is found if a relation `calls`, `uses`, `extends` or `may_call` leads to the
symbol from the definition around that line, or from its file. `may_call` is the mark of uncertain
ones: without it, precision counts. For Rust, a line with the name in code is taken for a true use
if only one symbol of the project has that name, and the name is no plain word.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Final, NamedTuple

import mycel
from mycel.knowledge.bootstrap import bootstrap

SYMBOLS: Final = 60
"""Symbols that are compared."""
SURE: Final = ("calls", "uses", "extends")
_SHAPED: Final = re.compile(r"_|[a-z0-9][A-Z]")
"""The form of a name that is no plain word."""
_PROSE: Final = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\]|\\.)*"', re.DOTALL)


class Span(NamedTuple):
    """The lines of a definition."""

    uri: str
    first: int
    last: int


class Found(NamedTuple):
    """The true uses of a symbol, and those that the graph has."""

    true: set[tuple[str, int]]
    covered: set[tuple[str, int]]
    sources: int
    right: int


def main(language: str, folder: str, count: str = str(SYMBOLS)) -> None:
    root = Path(folder).resolve()
    with tempfile.TemporaryDirectory() as place, mycel.open(Path(place, "graph.db")) as db:
        knowledge = mycel.Knowledge(db, workspace="bench", root=root)
        print(bootstrap(knowledge))
        graph = _Graph(knowledge, root)
        wanted = graph.sample(".py" if language == "python" else ".rs", int(count))
        results = []
        for uri, name, path, line in wanted:
            true = _jedi(root, path, line, name) if language == "python" else graph.lines(name)
            true.discard((path, line))
            if true:
                results.append(graph.compare(uri, true, path))
                missed = len(results[-1].true) - len(results[-1].covered)
                if missed:
                    print(f"{missed} of {len(true)} missed: {uri}")
        _tell(results)


def _tell(results: list[Found]) -> None:
    true = sum(len(each.true) for each in results)
    covered = sum(len(each.covered) for each in results)
    sources = sum(each.sources for each in results)
    right = sum(each.right for each in results)
    print(f"{len(results)} symbols, {true} lines that use them")
    print(f"recall of lines: {covered / max(true, 1):.3f}")
    print(f"precision of certain relations: {right / max(sources, 1):.3f} of {sources}")


class _Graph:
    """The spans of definitions and the relations of a graph."""

    def __init__(self, knowledge: mycel.Knowledge, root: Path) -> None:
        self._knowledge = knowledge
        self._root = root
        self._spans: defaultdict[str, list[Span]] = defaultdict(list)
        self._symbols: list[tuple[str, str, str, int]] = []
        self._kinds: dict[str, str] = {}
        names: defaultdict[str, int] = defaultdict(int)
        with knowledge.db.reading() as reader:
            rows = reader.connection.execute(
                "SELECT c.name, c.attributes ->> '$.name', c.attributes ->> '$.line',"
                " c.attributes ->> '$.end_line', c.attributes ->> '$.kind'"
                " FROM concept c JOIN type t ON t.id = c.type"
                " WHERE t.name = 'Symbol' ORDER BY c.name"
            ).fetchall()
        for uri, name, first, last, kind in rows:
            path = uri.removeprefix("concept://bench/").rpartition("/")[0]
            self._spans[path].append(Span(uri, first, last))
            self._symbols.append((uri, name, path, first))
            names[name] += 1
            self._kinds[uri] = kind
        self._texts: dict[str, list[str]] = {}
        self._unique = {name for name, count in names.items() if count == 1}

    def sample(self, suffix: str, count: int) -> list[tuple[str, str, str, int]]:
        """Symbols outside of tests with a name of their own, the same ones every time."""
        fitting = [
            each
            for each in self._symbols
            if each[2].endswith(suffix)
            and "test" not in each[2]
            and each[1] in self._unique
            and _SHAPED.search(each[1])
            # A field may have the name of a method, and no search by name tells them apart.
            and (suffix == ".py" or self._kinds[each[0]] != "method")
        ]
        return random.Random(1).sample(fitting, min(count, len(fitting)))

    def lines(self, name: str) -> set[tuple[str, int]]:
        """All lines of code with a name, without comments and strings."""
        word = re.compile(rf"\b{re.escape(name)}\b")
        return {
            (path, number)
            for path in self._spans
            for number, line in enumerate(self._code(path), 1)
            if word.search(line)
        }

    def compare(self, uri: str, true: set[tuple[str, int]], path: str) -> Found:
        links = self._knowledge.relations(uri, direction="in", limit=1000)
        sure = {each.source for each in links if each.relation in SURE}
        sources = sure | {each.source for each in links if each.relation == "may_call"}
        files = {_file(each) for each in sources}
        covered = {
            (file, line)
            for file, line in true
            # Within a file that uses it, all lines with the name are shown.
            if file in files or file == path or self._around(file, line) & sources
        }
        lines_of = {(file, span) for file, line in true for span in self._around(file, line)}
        right = sum(
            any(file == _file(source) for file, _ in true)
            if source.startswith("file:")
            else any(source == span for _, span in lines_of)
            for source in sure
        )
        return Found(true, covered, len(sure), right)

    def _code(self, path: str) -> list[str]:
        if path not in self._texts:
            self._texts[path] = _without_prose(self._root / path)
        return self._texts[path]

    def _around(self, path: str, line: int) -> set[str]:
        return {span.uri for span in self._spans[path] if span.first <= line <= span.last}


def _without_prose(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8", errors="replace")
    return _PROSE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text).splitlines()


def _file(uri: str) -> str:
    if uri.startswith("file://"):
        return uri.removeprefix("file://bench/")
    return uri.removeprefix("concept://bench/").rpartition("/")[0]


def _jedi(root: Path, path: str, line: int, name: str) -> set[tuple[str, int]]:
    import jedi  # type: ignore[import-not-found]  # Only here, and not a dependency.

    text = (root / path).read_text(encoding="utf-8").splitlines()
    for number in range(line, min(line + 10, len(text)) + 1):
        column = re.search(rf"\b{re.escape(name)}\b", text[number - 1])
        if column is not None:
            break
    else:
        return set()
    project = jedi.Project(root, added_sys_path=[str(root / "src")])
    script = jedi.Script(path=root / path, project=project)
    found = script.get_references(number, column.start(), include_builtins=False)
    return {
        (each.module_path.relative_to(root).as_posix(), each.line)
        for each in found
        if each.module_path is not None
        and each.module_path.is_relative_to(root)
        and (each.module_path.relative_to(root).as_posix(), each.line) != (path, number)
    }


if __name__ == "__main__":
    main(*sys.argv[1:4])
