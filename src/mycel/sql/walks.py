"""Walks of many hops: level by level in SQL for few levels, by a search function for more.

A pair matches `{m,n}` if some walk of a length from m to n joins it. Up to `LEVELS_MAX` hops from a
known element, each level is a table of the elements that walks of that length reach, which takes
half the time of a search. But SQLite copies a level for each mention in the next level, once for
each direction and each table, so symmetric walks of a past state have fewer levels.

For more hops, or if both ends are known, functions of Mycel search the levels
(`store/backend/sqlite/walks`): every element is visited once, and a search is remembered for
further rows.
"""

from __future__ import annotations

from typing import Final

from mycel.ir import query as ir
from mycel.model.limits import INTEGER_MAX
from mycel.sql import portable
from mycel.sql.state_tables import StateTables
from mycel.syntax.nodes import node

LEVELS_MAX: Final = 5
COPIES_MAX: Final = 32
"""The maximum number of copies of the first level.

With more, SQLite takes longer to prepare the statement than a search takes to run; from 1024 copies
on, fewer inside OPTIONALs, it refuses the statement.
"""

ANY_TIME: Final = INTEGER_MAX
"""The value that stands for no time of validity."""

RUN: Final = ir.Parameter("#run", "number")
"""A number that differs for each run of a statement."""


@node
class Walk:
    """The walks of one atom, in the direction from the end that is known."""

    sources: StateTables
    atom: ir.WalkAtom
    predicate: str
    """The bind parameter of the predicate."""
    forward: bool

    def starts(self, row: str, *, in_order: bool) -> tuple[str, str, list[str]]:
        """The start of a walk with unknown ends: a table, a column, and a condition.

        With `in_order` the rows come, where possible, in an order of the column that SQLite knows,
        so that a page is full before all starts are tried.
        """
        atom, near = self.atom, "subject" if self.forward else "object"
        concepts = self.sources.concepts(row)
        tests = self.sources.concept_tests(row)
        if atom.minimum == 0 and self._begins_at_concepts():
            return concepts, f"{row}.id", tests
        is_whole = not (self.sources.is_past or self.sources.is_filtered)
        is_plain = atom.minimum > 0 and not atom.mirrored and is_whole
        if is_plain and not self.forward:
            # The index of a predicate is in the order of the objects: the first link of each.
            first = (
                f"SELECT min(y.subject) FROM {self.sources.links('y')}"
                f" WHERE y.predicate = {self.predicate} AND y.object = {row}.object"
            )
            tests = [f"{row}.predicate = {self.predicate}", f"{row}.subject = ({first})"]
            return self.sources.links(row), f"{row}.object", tests
        ends = ("subject", "object") if atom.mirrored else (near,)
        links = self.sources.links("x")
        counts = "".join(f" AND {test}" for test in self.sources.link_tests("x"))
        if in_order and self._begins_at_concepts():
            some = (
                f"EXISTS (SELECT 1 FROM {links} WHERE x.{end} = {row}.id"
                f" AND x.predicate = {self.predicate}{counts})"
                for end in ends
            )
            return concepts, f"{row}.id", [f"({' OR '.join(some)})", *tests]
        queries = [
            f"SELECT x.{end} AS id FROM {links} WHERE x.predicate = {self.predicate}{counts}"
            for end in ends
        ]
        if atom.minimum == 0:
            queries.append(f"SELECT x.id FROM {self.sources.concepts('x')}")
        text = queries[0] if len(queries) > 1 else f"SELECT DISTINCT id FROM ({queries[0]}) u"
        return f"({' UNION '.join((text, *queries[1:]))}) {row}", f"{row}.id", []

    def _begins_at_concepts(self) -> bool:
        ends = self.atom.concepts
        return ends.subject if self.forward else ends.object

    @property
    def has_few_levels(self) -> bool:
        """True if the walk has so few levels that they are tables of the statement."""
        maximum = self.atom.maximum
        return maximum is not None and (
            maximum <= LEVELS_MAX and len(self._steps()) ** maximum <= COPIES_MAX
        )

    def search(self, row: str, start: str) -> str:
        """A table of levels: `elements` of a row are the elements that it adds, as an array."""
        return self.sources.dialect.reach(row, start, *self._bounds(), int(self.forward))

    def joins(self, run: str, start: str, end: str) -> str:
        """The condition that some walk leads from one element to another.

        Walks from an element to itself are answered from the elements on circles, which are few.
        """
        atom = self.atom
        joined = self.sources.dialect.reaches(run, start, end, *self._bounds(), int(self.forward))
        if atom.subject != atom.object or atom.mirrored:
            return joined
        circles = portable.circles(self.predicate, *self._state())
        on_circle = self.sources.dialect.in_list(start, circles)
        joined = on_circle if atom.maximum is None else f"({on_circle} AND {joined})"
        return f"({_even(start)} OR {joined})" if atom.minimum == 0 else joined

    def last_links(self, start: str) -> str:
        """An array of the elements that walks reach, each with the last link."""
        return portable.walks(start, *self._bounds())

    def _bounds(self) -> tuple[object, ...]:
        atom = self.atom
        maximum = -1 if atom.maximum is None else atom.maximum
        return self.predicate, atom.minimum, maximum, int(atom.mirrored), *self._state()

    def _state(self) -> tuple[object, ...]:
        """The state that a search follows: its moment, if it hides anything, a time of validity."""
        sources = self.sources
        return sources.moment or -1, int(sources.hides), sources.valid_at or ANY_TIME

    def _steps(self) -> list[tuple[str, str, str, str]]:
        """The two ends of a step, each with its table and the condition for its rows."""
        out, back = ("subject", "object"), ("object", "subject")
        ways = [out, back] if self.atom.mirrored else [out if self.forward else back]
        return [(*way, *half) for way in ways for half in self.sources.link_halves()]

    def reached(self, name: str, start: str, *, is_concept: bool) -> str:
        """A query of every element `n` that a walk from `start` reaches, each once.

        A walk of no hops joins a concept with itself, but not a link: KIP §3.4.2 speaks of nodes.
        """
        if self.has_few_levels and self.atom.maximum is not None:
            return self._levels(name, start, self.atom.maximum, is_concept=is_concept)
        levels, dialect = self.search(f"{name}v", start), self.sources.dialect
        return (
            f"SELECT {dialect.item(f'{name}e')} AS n FROM {levels}{portable.JOIN_IN_ORDER}"
            f"{dialect.opened(f'{name}v.elements', f'{name}e')}"
        )

    def _levels(self, name: str, start: str, last: int, *, is_concept: bool) -> str:
        """A level that later levels read is materialised; the first and the last level are not."""
        counts = f"{start} IS NOT NULL" if is_concept else _even(start)
        levels = {0: f"SELECT {start} AS n WHERE {counts}"}
        tables = []
        for level in range(1, last + 1):
            below, at = (
                ("", start)
                if level == 1
                else (f"{name}_{level - 1} w{portable.JOIN_IN_ORDER}", "w.n")
            )
            steps = [
                f"SELECT q.{far} AS n FROM {below}{table}"
                f" WHERE q.{near} = {at} AND q.predicate = {self.predicate}{counts}"
                for near, far, table, counts in self._steps()
            ]
            union = " UNION ".join(steps)
            if level == last:
                levels[level] = union
                continue
            storage = portable.KEPT
            if len(steps) == 1 and level == 1:
                # One step from one element reaches each end once, so the rows are distinct already.
                storage = portable.INLINE
            elif len(steps) == 1:
                union = f"SELECT DISTINCT{union[6:]}"
            tables.append(f"{name}_{level}(n) AS {storage} ({union})")
            levels[level] = f"SELECT n FROM {name}_{level}"
        parts = [levels[level] for level in range(self.atom.minimum, last + 1)]
        query = (
            " UNION ".join(parts) if len(parts) > 1 else f"SELECT DISTINCT n FROM ({parts[0]}) u"
        )
        return f"WITH {', '.join(tables)} {query}" if tables else query


def _even(number: str) -> str:
    """The condition that a number is that of a concept."""
    return f"{number} & 1 = 0"
