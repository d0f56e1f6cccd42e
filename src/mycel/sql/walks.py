"""Walks of many hops: level by level where there are few, recursively otherwise.

A pair matches `{m,n}` when some walk of a length from m to n joins it. Up to `LEVELS_MAX` hops,
each level is the set of elements that walks of that length reach; that takes half the time of a
recursion. But SQLite copies a level wherever the next one mentions it, which is once for each way
to go and each table to look into: so symmetric walks of a past state have fewer levels. Beyond
that, a recursive query remembers each element once per length, so it ends on cycles; without an
upper bound, lengths beyond the lower one are all the same, so it ends there too.
"""

from __future__ import annotations

from typing import Final

from mycel.ir import query as ir
from mycel.sql.sources import Sources
from mycel.syntax.nodes import node

LEVELS_MAX: Final = 5
COPIES_MAX: Final = 32
"""How often the first level may be copied. Beyond, SQLite takes longer to prepare the statement
than a recursion takes to run; at 1024 copies, sooner where walks stand in OPTIONALs, it refuses."""


@node
class Walk:
    """The walks of one atom, in the direction from the end that is known."""

    sources: Sources
    atom: ir.WalkAtom
    predicate: str
    """Where the number of the predicate is bound."""
    forward: bool

    def starts(self) -> str:
        """Where it may begin when neither end is known: every element for `{0,…}`."""
        links = self.sources.links("x")
        if self.atom.minimum == 0:
            concepts = self.sources.concepts("x")
            return f"(SELECT x.id FROM {concepts} UNION ALL SELECT x.id FROM {links})"
        out = f"SELECT x.subject AS id FROM {links} WHERE x.predicate = {self.predicate}"
        if not self.atom.mirrored:
            return f"(SELECT DISTINCT id FROM ({out}))"
        return f"({out} UNION SELECT x.object FROM {links} WHERE x.predicate = {self.predicate})"

    def reached(self, name: str, start: str) -> str:
        """A query of every element `n` that a walk from `start` reaches, each once."""
        maximum = self.atom.maximum
        if maximum is None or maximum > LEVELS_MAX or len(self._steps()) ** maximum > COPIES_MAX:
            return self._recursion(name, start)
        return self._levels(name, start, maximum)

    def _steps(self) -> list[tuple[str, str, str, str]]:
        """The ends between which a step may lead, each with a table and what counts in it."""
        out, back = ("subject", "object"), ("object", "subject")
        ways = [out, back] if self.atom.mirrored else [out if self.forward else back]
        return [(*way, *half) for way in ways for half in self.sources.link_halves("q")]

    def _levels(self, name: str, start: str, last: int) -> str:
        """Every level that others stand on is kept; the first and the last need not be."""
        levels = {0: f"SELECT {start} AS n WHERE {start} IS NOT NULL"}
        tables = []
        for level in range(1, last + 1):
            below, at = ("", start) if level == 1 else (f"{name}_{level - 1} w CROSS JOIN ", "w.n")
            steps = [
                f"SELECT q.{far} AS n FROM {below}{table}"
                f" WHERE q.{near} = {at} AND q.predicate = {self.predicate}{counts}"
                for near, far, table, counts in self._steps()
            ]
            union = " UNION ".join(steps)
            if level == last:
                levels[level] = union
                continue
            kept = "MATERIALIZED"
            if len(steps) == 1 and level == 1:
                # From one element, each is reached once anyway, and an index holds just these.
                kept = "NOT MATERIALIZED"
            elif len(steps) == 1:
                union = f"SELECT DISTINCT{union[6:]}"
            tables.append(f"{name}_{level}(n) AS {kept} ({union})")
            levels[level] = f"SELECT n FROM {name}_{level}"
        wanted = [levels[level] for level in range(self.atom.minimum, last + 1)]
        found = (
            " UNION ".join(wanted) if len(wanted) > 1 else f"SELECT DISTINCT n FROM ({wanted[0]})"
        )
        return f"WITH {', '.join(tables)} {found}" if tables else found

    def _recursion(self, name: str, start: str) -> str:
        """`name(n, d)`: every element that a walk of length d from `start` reaches."""
        steps = "".join(f" UNION {self._step(name, *step)}" for step in self._steps())
        begin = f"SELECT {start}, 0 WHERE {start} IS NOT NULL"
        return (
            f"WITH RECURSIVE {name}(n, d) AS ({begin}{steps})"
            f" SELECT DISTINCT n FROM {name} WHERE d >= {self.atom.minimum}"
        )

    def _step(self, name: str, near: str, far: str, table: str, counts: str) -> str:
        if self.atom.maximum is None:
            length, guard = f"min({name}.d + 1, {max(self.atom.minimum, 1)})", ""
        else:
            # SQLite would otherwise build a Bloom filter for the step, which costs more than it.
            length, guard = f"{name}.d + 1", f" WHERE unlikely({name}.d < {self.atom.maximum})"
        return (
            f"SELECT q.{far}, {length} FROM {name} CROSS JOIN {table}"
            f" ON q.{near} = {name}.n AND q.predicate = {self.predicate}{counts}{guard}"
        )
