"""Recall of search on the shipped questions, the time of a query, and the cost of the index.

The share of missed answers, in percent, is compared with `values.json`; the bar is one percentage
point more. For each set, another line counts the questions that the better of `keyword` and
`semantic` answers and `hybrid` does not; the bar is one question. Times are processor times of the
thread that searches.
"""

from __future__ import annotations

import ast
import json
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import perf_counter, process_time, thread_time
from typing import Final

import mycel
from benchmarks.databases import Databases, say
from benchmarks.recall import corpora, notes, similar
from benchmarks.recall.corpora import Asked
from benchmarks.recall.memory import added_bytes
from benchmarks.recall.notes import Share
from benchmarks.report import Bar, Line, Measure, Skipped
from benchmarks.timing import Summary
from mycel.search.modes import HYBRID, KEYWORD, SEMANTIC, SearchMode

VALUES: Final = Path(__file__).with_name("values.json")
PASSAGES: Final = 10_000
QUERIES: Final = 60
SYMBOLS: Final = 100
MEMORY_BYTES: Final = 60 << 20

Shares = dict[SearchMode, Share]
"""The share of the questions of one set that are answered, by mode."""


def measure(databases: Databases) -> Iterator[Line]:
    found = dict(_recall(databases.folder))
    values: dict[str, float] = json.loads(VALUES.read_text())
    for name, shares in found.items():
        bar = Bar(100 * (1 - values[name]) + 1, "ours")
        yield _missed(name, shares, bar, f", {100 * values[name]:.1f} stored")
        yield _below_parts(name, shares)
    if "symbols, first" in found:
        yield from _notes()
    else:
        yield Skipped("recall: symbols and notes", "the extra `code` is needed")
    yield from similar.measure()
    yield from _costs(databases.folder)


def _notes() -> Iterator[Line]:
    """Notes, documents and symbols of code bases, asked for in other words."""
    for name, root in notes.code_bases().items():
        if root is None:
            reason = f"there is no folder {name} in the folder that {notes.FOLDER_VARIABLE} names"
            yield Skipped(f"recall: notes about {name}", reason)
            continue
        say(f"recall: notes about {name}")
        for label, shares in notes.shares(name, root):
            yield _missed(label, shares)
            yield _below_parts(label, shares)


def _missed(name: str, shares: Shares, bar: Bar | None = None, more: str = "") -> Measure:
    summary = Summary.of([100 * (1 - shares[HYBRID].found)])
    found = ", ".join(f"{100 * share.found:.1f} {mode}" for mode, share in shares.items())
    note = f"found {found}{more} of 100"
    return Measure(f"recall, missed: {name}", "", "n", summary, bar=bar, note=note)


def _below_parts(name: str, shares: Shares) -> Measure:
    """The number of questions that the better part of hybrid answers more than hybrid itself."""
    better = max(shares[KEYWORD].found, shares[SEMANTIC].found)
    behind = (better - shares[HYBRID].found) * shares[HYBRID].questions
    summary = Summary.of([max(round(behind, 2), 0.0)])
    return Measure(f"recall, below a part: {name}", "", "n", summary, bar=Bar(1, "ours"))


def _recall(folder: Path) -> Iterator[tuple[str, Shares]]:
    """The shares of right answers that are found, by measure."""
    say("recall: facts")
    texts, own, others = corpora.facts()
    with mycel.open() as db:
        corpora.documents(db, texts)
        yield "facts in their own words, first", _found(db, own, 1)
        yield "facts in other words, first", _found(db, others, 1)
        yield "facts in other words, among ten", _found(db, others, 10)
    say("recall: chains")
    texts, asked = corpora.chains()
    with mycel.open() as db:
        corpora.documents(db, texts)
        yield "chains of two facts, among five", _found(db, asked, 5)
    try:
        import tree_sitter  # noqa: F401 - an extra
    except ImportError:
        return
    say("recall: symbols")
    with mycel.open() as db:
        yield "symbols, first", _symbols(db, folder)


def _found(db: mycel.Graph, asked: Sequence[Asked], limit: int) -> Shares:
    """The mean share of the right answers among the first results, by mode."""
    notes.read_all(db)
    shares: Shares = {}
    for mode in notes.MODES:
        total = 0.0
        for question, meant in asked:
            hits = db.search(question, limit=limit, element="CONCEPT", mode=mode)
            names = {getattr(element, "name", "") for element, _ in hits}
            total += len(meant & names) / len(meant)
        shares[mode] = Share(len(asked), total / len(asked))
    return shares


def _symbols(db: mycel.Graph, folder: Path) -> Shares:
    """The shares of functions and classes of the store that are found first by their name."""
    from mycel.knowledge.bootstrap import bootstrap

    root = folder / "code"
    shutil.copytree(
        Path(mycel.__file__).parent / "store", root, ignore=shutil.ignore_patterns("__pycache__")
    )
    bootstrap(mycel.Knowledge(db, workspace="bench", root=root))
    names = Counter(
        node.name
        for path in sorted(root.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    )
    once = sorted(name for name, count in names.items() if count == 1 and name[0] != "_")
    asked = once[:: max(len(once) // SYMBOLS, 1)]
    notes.read_all(db)
    shares: Shares = {}
    for mode in notes.MODES:
        first = [db.search(name, limit=1, element="CONCEPT", mode=mode) for name in asked]
        right = sum(
            str(getattr(hits[0][0], "name", "")).endswith(name)
            for name, hits in zip(asked, first, strict=True)
            if hits
        )
        shares[mode] = Share(len(asked), right / len(asked))
    return shares


def _costs(folder: Path) -> Iterator[Measure]:
    path = folder / "passages.db"
    texts = corpora.passages(PASSAGES)
    size = f"{PASSAGES // 1000}k"
    say("recall: passages")
    with mycel.open(path) as db:
        corpora.documents(db, texts)
    before = path.stat().st_size
    questions = [f"Who {' '.join(text.split()[:9])}?" for text in list(texts.values())[:QUERIES]]
    with mycel.open(path) as db:
        db.search("a warm-up question", mode="keyword")
        seconds = _timed(lambda: db.search(questions[0], element="CONCEPT"), process_time)
        yield Measure(
            "recall: derived data, for 1,000 passages",
            size,
            "s",
            Summary.of([seconds * 1000 / PASSAGES]),
            bar=Bar(1, "ours"),
            note="the first search after everything was written",
        )
        modes: tuple[tuple[SearchMode, float], ...] = ((HYBRID, 0.010), (KEYWORD, 0.004))
        for mode, most in modes:
            times = [_query_s(db, each, mode) for each in questions]
            yield Measure(
                f"recall: {mode} query", size, "s", Summary.of(times), bar=Bar(most, "ours")
            )
    after = path.stat().st_size
    yield Measure(
        "recall: file", size, "B", Summary.of([after]), Summary.of([before]), bar=Bar(1.3)
    )
    with mycel.open(path) as db:
        seconds = _timed(lambda: db.search(questions[1]), perf_counter)
        yield Measure("recall: first query of a process", size, "s", Summary.of([seconds]))
    if sys.platform == "linux":
        added = added_bytes(path, questions, str(folder / "cache"))
        yield Measure(
            "recall: memory",
            size,
            "B",
            Summary.of([added]),
            bar=Bar(MEMORY_BYTES, "ours"),
            note="of a process that reads the stored data, numpy and the model included",
        )


def _query_s(db: mycel.Graph, question: str, mode: SearchMode) -> float:
    return _timed(lambda: db.search(question, element="CONCEPT", mode=mode), thread_time)


def _timed(work: Callable[[], object], clock: Callable[[], float]) -> float:
    start = clock()
    work()
    return clock() - start
