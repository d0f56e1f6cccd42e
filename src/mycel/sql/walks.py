"""Walks of many hops: level by level where there are few, recursively otherwise.

A pair matches `{m,n}` when some walk of a length from m to n joins it. Up to `LEVELS_MAX` hops,
each level is the set of elements that walks of that length reach; that takes half the time of a
recursion. Beyond it, a recursive query remembers each element once per length, so it ends on
cycles; without an upper bound, lengths beyond the lower one are all the same, so it ends there too.
"""

from __future__ import annotations

from typing import Final

from mycel.ir import query as ir
from mycel.sql.sources import Sources

LEVELS_MAX: Final = 5


def reached(sources: Sources, name: str, start: str, atom: ir.WalkAtom, *, forward: bool) -> str:
    """A query of every element `n` that a walk from `start` reaches, each once."""
    if atom.maximum is not None and atom.maximum <= LEVELS_MAX:
        return _levels(sources, name, start, atom, forward=forward)
    return _recursion(sources, name, start, atom, forward=forward)


def _ways(atom: ir.WalkAtom, *, forward: bool) -> list[tuple[str, str]]:
    out, back = ("subject", "object"), ("object", "subject")
    return [out, back] if atom.mirrored else [out if forward else back]


def _levels(sources: Sources, name: str, start: str, atom: ir.WalkAtom, *, forward: bool) -> str:
    """Every level that others stand on is kept; the last one need not be."""
    last = atom.minimum if atom.maximum is None else atom.maximum
    levels = {0: f"SELECT {start} AS n WHERE {start} IS NOT NULL"}
    tables = []
    for level in range(1, last + 1):
        below, at = ("", start) if level == 1 else (f"{name}_{level - 1} w CROSS JOIN ", "w.n")
        steps = [
            f"SELECT q.{far} AS n FROM {below}{table}"
            f" WHERE q.{near} = {at} AND q.predicate = {atom.predicate}{counts}"
            for near, far in _ways(atom, forward=forward)
            for table, counts in sources.link_halves("q")
        ]
        if level == last:
            levels[level] = " UNION ".join(steps)
        else:
            union = " UNION ".join(steps) if len(steps) > 1 else f"SELECT DISTINCT{steps[0][6:]}"
            tables.append(f"{name}_{level}(n) AS MATERIALIZED ({union})")
            levels[level] = f"SELECT n FROM {name}_{level}"
    wanted = [levels[level] for level in range(atom.minimum, last + 1)]
    found = " UNION ".join(wanted) if len(wanted) > 1 else f"SELECT DISTINCT n FROM ({wanted[0]})"
    return f"WITH {', '.join(tables)} {found}" if tables else found


def _recursion(sources: Sources, name: str, start: str, atom: ir.WalkAtom, *, forward: bool) -> str:
    """`name(n, d)`: every element that a walk of length d from `start` reaches."""
    steps = "".join(
        f" UNION {_step(name, atom, way, table, counts)}"
        for way in _ways(atom, forward=forward)
        for table, counts in sources.link_halves("q")
    )
    begin = f"SELECT {start}, 0 WHERE {start} IS NOT NULL"
    return (
        f"WITH RECURSIVE {name}(n, d) AS ({begin}{steps})"
        f" SELECT DISTINCT n FROM {name} WHERE d >= {atom.minimum}"
    )


def _step(name: str, atom: ir.WalkAtom, way: tuple[str, str], table: str, counts: str) -> str:
    near, far = way
    if atom.maximum is None:
        length, guard = f"min({name}.d + 1, {max(atom.minimum, 1)})", ""
    else:
        # SQLite would otherwise build a Bloom filter for the step, which costs more than the walk.
        length, guard = f"{name}.d + 1", f" WHERE unlikely({name}.d < {atom.maximum})"
    return (
        f"SELECT q.{far}, {length} FROM {name} CROSS JOIN {table}"
        f" ON q.{near} = {name}.n AND q.predicate = {atom.predicate}{counts}{guard}"
    )


def starts(sources: Sources, atom: ir.WalkAtom) -> str:
    """Where a walk may begin when neither end is known: every element for `{0,…}`."""
    if atom.minimum == 0:
        return (
            f"(SELECT x.id FROM {sources.concepts('x')}"
            f" UNION ALL SELECT x.id FROM {sources.links('x')})"
        )
    out = f"SELECT x.subject AS id FROM {sources.links('x')} WHERE x.predicate = {atom.predicate}"
    if not atom.mirrored:
        return f"(SELECT DISTINCT id FROM ({out}))"
    back = f"SELECT x.object FROM {sources.links('x')} WHERE x.predicate = {atom.predicate}"
    return f"({out} UNION {back})"
