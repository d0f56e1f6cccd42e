"""Walks of many hops as a recursive query over (element, length).

A pair matches `{m,n}` when some walk of such a length joins it. The recursion remembers each
element once per length, so it ends on cycles; without an upper bound, lengths beyond the lower one
are all the same, so it ends there too.
"""

from __future__ import annotations

from mycel.ir import query as ir
from mycel.sql.sources import Sources


def recursion(sources: Sources, name: str, start: str, atom: ir.WalkAtom, *, forward: bool) -> str:
    """`WITH RECURSIVE name(n, d)`: every element that a walk of length d from `start` reaches."""
    ways = ["out", "in"] if atom.mirrored else ["out" if forward else "in"]
    steps = "".join(
        f" UNION {_step(name, atom, way, table, counts)}"
        for way in ways
        for table, counts in sources.link_halves("q")
    )
    begin = f"SELECT {start}, 0 WHERE {start} IS NOT NULL"
    return f"WITH RECURSIVE {name}(n, d) AS ({begin}{steps})"


def _step(name: str, atom: ir.WalkAtom, way: str, table: str, counts: str) -> str:
    near, far = ("subject", "object") if way == "out" else ("object", "subject")
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
