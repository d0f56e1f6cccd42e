"""SQL that a careful programmer would write instead of a FIND, through apsw on the same file.

Each question has several forms, because it is not known which is the fastest: `finds` tries all of
them and uses the best. All return the same JSON as the FIND: nodes with `_version` and
`_updated_at`, groups by equal names, and values of another JSON type left out of comparisons and
sorted apart. They may rely on one fact that Mycel must check: that both ends of these links are
concepts.

Forms in `…_ALSO` are shown beside the result, but are no baseline: they rely on more, for example
that a year is always a number, or do everything in SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from datetime import UTC, datetime, timedelta
from heapq import nsmallest
from pathlib import Path
from typing import Any, Final, NamedTuple

import apsw
import orjson

from mycel.store.backend.sqlite.location import DatabaseLocation

LIMIT: Final = 20
YEAR: Final = 1990

Answer = Callable[[str, str], Any]
"""Answers one question about the concept of this type and name."""


class Base:
    """A connection, and the numbers of types and predicates."""

    def __init__(self, path: Path) -> None:
        self.connection: Final = DatabaseLocation(str(path)).connect()
        self.execute: Callable[..., apsw.Cursor] = self.connection.execute
        self.types: Final = self._numbers("type")
        self.predicates: Final = self._numbers("predicate")
        self.type_names: Final = {number: name for name, number in self.types.items()}

    def _numbers(self, table: str) -> dict[str, int]:
        return {name: n for n, name in self.connection.execute(f"SELECT id, name FROM {table}")}

    def rows(self, sql: str, bindings: tuple[Any, ...] = ()) -> list[Any]:
        return self.connection.execute(sql, bindings).fetchall()

    def close(self) -> None:
        self.connection.close()

    def on_one_cursor(self) -> Base:
        """The same, with one cursor for all statements."""
        other = copy(self)
        other.execute = self.connection.cursor().execute
        return other


class Form(NamedTuple):
    """One way to answer a question."""

    name: str
    on: Callable[[Base, str], Answer]
    """Makes the answer for a file and a predicate."""


# Elements.

COLUMNS: Final = (
    "{b}.id, {b}.type, {b}.name, {b}.attributes, {b}.metadata, {b}.version, {b}.updated_at"
)
NODE: Final = (
    '\'{{"_type":"ConceptNode","id":"C:\' || {b}.id || \'","type":"\' ||'
    ' (SELECT t.name FROM type t WHERE t.id = {b}.type) || \'","name":\' || json_quote({b}.name)'
    ' || \',"attributes":\' || {b}.attributes || \',"metadata":{{"_version":\' || {b}.version'
    " || ',\"_updated_at\":\"' || strftime('%Y-%m-%dT%H:%M:%S', {b}.updated_at / 1000000,"
    " 'unixepoch') || printf('.%06dZ', {b}.updated_at % 1000000) || '\"' || CASE {b}.metadata"
    " WHEN '{{}}' THEN '}}' ELSE ',' || substr({b}.metadata, 2) END || '}}'"
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def _time(us: int) -> str:
    return f"{(_EPOCH + us * _MICROSECOND).isoformat(timespec='microseconds')[:26]}Z"


def node(row: tuple[Any, ...], type_names: dict[int, str]) -> dict[str, Any]:
    number, type_number, name, attributes, metadata, version, updated_at = row
    stored = orjson.loads(metadata)
    return {
        "_type": "ConceptNode",
        "id": f"C:{number}",
        "type": type_names[type_number],
        "name": name,
        "attributes": orjson.loads(attributes),
        "metadata": {"_version": version, "_updated_at": _time(updated_at), **stored},
    }


def _loaded(cells: Iterable[str]) -> Any:
    return orjson.loads(f"[{','.join(cells)}]")


# One concept.


def _point_spliced(base: Base, _: str) -> Answer:
    sql = f"SELECT {NODE.format(b='c')} FROM concept c WHERE c.name = ? AND c.type = ?"
    execute, types = base.execute, base.types

    def answer(type_name: str, name: str) -> Any:
        row = execute(sql, (name, types[type_name])).fetchone()
        return [] if row is None else [orjson.loads(row[0])]

    return answer


def _point_assembled(base: Base, _: str) -> Answer:
    sql = f"SELECT {COLUMNS.format(b='c')} FROM concept c WHERE c.name = ? AND c.type = ?"
    execute, types, names = base.execute, base.types, base.type_names

    def answer(type_name: str, name: str) -> Any:
        row = execute(sql, (name, types[type_name])).fetchone()
        return [] if row is None else [node(row, names)]

    return answer


POINT: Final = (Form("JSON in SQL", _point_spliced), Form("dicts", _point_assembled))


# One hop, filtered, sorted, the first twenty.

_HOP: Final = (
    " FROM concept a CROSS JOIN proposition p ON p.subject = a.id AND p.predicate = ?3"
    " CROSS JOIN concept b ON b.id = p.object WHERE a.name = ?1 AND a.type = ?2"
)
_IS_NUMBER: Final = " AND json_type(b.attributes, '$.year') IN ('integer', 'real')"
_LATER: Final = " AND json_extract(b.attributes, '$.year') > ?4"
_RANK: Final = (
    "CASE json_type(b.attributes, '$.importance') WHEN 'false' THEN 0 WHEN 'true' THEN 1"
    " WHEN 'integer' THEN 2 WHEN 'real' THEN 2 WHEN 'text' THEN 3 WHEN 'array' THEN 4"
    " WHEN 'object' THEN 5 END DESC NULLS LAST, "
)
_BY: Final = "json_extract(b.attributes, '$.importance') DESC, b.id"
_FIELDS: Final = "b.name, json_extract(b.attributes, '$.year')"


def _hop(sql: str, finish: Callable[[list[Any]], Any]) -> Callable[[Base, str], Answer]:
    """A form of a single statement, which reads one row more to see if there is one."""

    def on(base: Base, predicate: str) -> Answer:
        execute, types = base.execute, base.types
        number = base.predicates[predicate]

        def answer(type_name: str, name: str) -> Any:
            bindings = (name, types[type_name], number, YEAR)
            rows = execute(sql, bindings).fetchall()
            return finish(rows[:LIMIT])

        return answer

    return on


def _two_columns(rows: list[Any]) -> Any:
    return [list(column) for column in zip(*rows, strict=True)] or [[], []]


def _first_cells(rows: list[Any]) -> Any:
    return _loaded([row[0] for row in rows])


def _cut(order: str) -> str:
    return f" ORDER BY {order} LIMIT {LIMIT + 1}"


_HOP_FIRST: Final = (
    "SELECT name, year FROM (SELECT b.id, b.name, json_extract(b.attributes, '$.year') AS year,"
    " b.attributes" + _HOP + _LATER + _IS_NUMBER + " LIMIT -1) b" + _cut(_RANK + _BY)
)

_KIND: Final = {bool: 1, int: 2, float: 2, str: 3, list: 4, dict: 5}


def _hop_in_python(
    columns: str, made: Callable[[Base, list[Any]], Any]
) -> Callable[[Base, str], Answer]:
    """Everything but the join in Python."""
    sql = f"SELECT b.attributes, b.id, {columns}" + _HOP

    def on(base: Base, predicate: str) -> Answer:
        execute, types = base.execute, base.types
        number = base.predicates[predicate]
        loads = orjson.loads

        def answer(type_name: str, name: str) -> Any:
            found = []
            for row in execute(sql, (name, types[type_name], number)):
                attributes = loads(row[0])
                year = attributes.get("year")
                if (year.__class__ is int or year.__class__ is float) and year > YEAR:
                    found.append((_descending(attributes.get("importance")), row[1], year, row))
            return made(base, nsmallest(LIMIT + 1, found)[:LIMIT])

        return answer

    return on


def _descending(value: Any) -> tuple[Any, ...]:
    """The sort key, largest first. Values that are no numbers would be sorted apart."""
    if value is None:
        return (1,)
    kind = 0 if value is False else _KIND[value.__class__]
    return (0, -kind, -value) if kind == 2 else (0, -kind)


def _fields_of(_: Base, found: list[Any]) -> Any:
    return [[row[2] for *_, row in found], [year for _, _, year, _ in found]]


def _nodes_of(base: Base, found: list[Any]) -> Any:
    return [node(row[2:], base.type_names) for *_, row in found]


HOP: Final = (
    Form(
        "one SELECT",
        _hop(f"SELECT {_FIELDS}" + _HOP + _LATER + _IS_NUMBER + _cut(_RANK + _BY), _two_columns),
    ),
    Form("filtered, then sorted", _hop(_HOP_FIRST, _two_columns)),
    Form("filtered in Python", _hop_in_python("b.name", _fields_of)),
)
HOP_ALSO: Final = (
    Form(
        "SQL that knows only numbers",
        _hop(f"SELECT {_FIELDS}" + _HOP + _LATER + _cut(_BY), _two_columns),
    ),
)
HOP_NODES: Final = (
    Form(
        "one SELECT",
        _hop(
            f"SELECT {NODE.format(b='b')}" + _HOP + _LATER + _IS_NUMBER + _cut(_RANK + _BY),
            _first_cells,
        ),
    ),
    Form(
        "sorted, then assembled",
        _hop(
            f"SELECT (SELECT {NODE.format(b='x')} FROM concept x WHERE x.id = s.id) FROM"
            f" (SELECT b.id {_HOP}{_LATER}{_IS_NUMBER}{_cut(_RANK + _BY)}) s LIMIT -1",
            _first_cells,
        ),
    ),
    Form("filtered in Python", _hop_in_python(COLUMNS.format(b="b"), _nodes_of)),
)


# Two hops with NOT.

_TWO: Final = (
    " FROM concept a CROSS JOIN proposition p ON p.subject = a.id AND p.predicate = ?3"
    " CROSS JOIN proposition q ON q.subject = p.object AND q.predicate = ?3"
)
_NOT_KNOWN: Final = (
    " NOT EXISTS (SELECT 1 FROM proposition r WHERE r.subject = a.id AND r.predicate = ?3"
    " AND r.object = q.object)"
)
_OF: Final = " WHERE a.name = ?1 AND a.type = ?2 AND"


def _names(sql: str) -> Callable[[Base, str], Answer]:
    """A form of a single statement, with one column."""

    def on(base: Base, predicate: str) -> Answer:
        execute, types = base.execute, base.types
        number = base.predicates[predicate]

        def answer(type_name: str, name: str) -> Any:
            rows = execute(sql, (name, types[type_name], number)).fetchall()
            return [row[0] for row in rows]

        return answer

    return on


def _two_counted(base: Base, predicate: str) -> Answer:
    """Each concept once, with the number of ways to it: hubs reach the same concepts often."""
    execute, types, number = base.execute, base.types, base.predicates[predicate]
    sql = (
        "SELECT b.name, g.n FROM (SELECT q.object AS o, count(*) AS n" + _TWO + _OF + _NOT_KNOWN
    ) + " GROUP BY q.object) g CROSS JOIN concept b ON b.id = g.o"

    def answer(type_name: str, name: str) -> Any:
        found: list[str] = []
        for each, times in execute(sql, (name, types[type_name], number)):
            found += [each] * times
        return found

    return answer


TWO: Final = (
    Form(
        "NOT EXISTS",
        _names(
            "SELECT b.name" + _TWO + " CROSS JOIN concept b ON b.id = q.object" + _OF + _NOT_KNOWN
        ),
    ),
    Form(
        "NOT EXISTS, name last",
        _names(
            "SELECT (SELECT b.name FROM concept b WHERE b.id = q.object)" + _TWO + _OF + _NOT_KNOWN
        ),
    ),
    Form(
        "NOT IN",
        _names(
            "WITH a AS MATERIALIZED (SELECT id FROM concept WHERE name = ?1 AND type = ?2)"
            " SELECT b.name FROM a CROSS JOIN proposition p ON p.subject = a.id AND"
            " p.predicate = ?3 CROSS JOIN proposition q ON q.subject = p.object AND"
            " q.predicate = ?3 CROSS JOIN concept b ON b.id = q.object WHERE q.object NOT IN"
            " (SELECT r.object FROM a CROSS JOIN proposition r ON r.subject = a.id"
            " AND r.predicate = ?3)"
        ),
    ),
    Form("counted", _two_counted),
)


# Paths of one to three hops.

_START: Final = "SELECT id FROM concept WHERE name = ?1 AND type = ?2"
_LEVELS: Final = (
    "WITH l1(n) AS MATERIALIZED (SELECT object FROM proposition WHERE predicate = ?3 AND subject ="
    f" ({_START})), l2(n) AS MATERIALIZED (SELECT DISTINCT p.object FROM l1 CROSS JOIN proposition"
    " p ON p.subject = l1.n AND p.predicate = ?3), l3(n) AS (SELECT p.object FROM l2"
    " CROSS JOIN proposition p ON p.subject = l2.n AND p.predicate = ?3)"
)
_REACHED: Final = "(SELECT n FROM l1 UNION SELECT n FROM l2 UNION SELECT n FROM l3)"
_WALK: Final = (
    "WITH RECURSIVE w(n, d) AS ({start} UNION SELECT p.object, w.d + 1"
    " FROM w CROSS JOIN proposition p ON p.subject = w.n AND p.predicate = ?3"
    " WHERE unlikely(w.d < 3))"
)
_WALK_ALL: Final = _WALK.format(start="SELECT id, 0 FROM concept WHERE name = ?1 AND type = ?2")


def _path_by_level(base: Base, predicate: str) -> Answer:
    """Level by level, continuing only once from each concept."""
    execute, types, number = base.execute, base.types, base.predicates[predicate]
    first = f"SELECT object FROM proposition WHERE subject = ({_START}) AND predicate = ?3"
    step = (
        "SELECT DISTINCT p.object FROM json_each(?1) e CROSS JOIN proposition p"
        " ON p.subject = e.value AND p.predicate = ?2"
    )
    names = "SELECT b.name FROM json_each(?1) e CROSS JOIN concept b ON b.id = e.value"

    def answer(type_name: str, name: str) -> Any:
        fresh = [n for (n,) in execute(first, (name, types[type_name], number))]
        seen = set(fresh)
        for _ in range(2):
            if not fresh:
                break
            found = execute(step, (orjson.dumps(fresh).decode(), number))
            fresh = [n for (n,) in found if n not in seen]
            seen.update(fresh)
        return [n for (n,) in execute(names, (orjson.dumps(list(seen)).decode(),))]

    return answer


PATH: Final = (
    Form(
        "recursion",
        _names(
            _WALK_ALL + " SELECT b.name FROM (SELECT DISTINCT n FROM w WHERE d >= 1) r"
            " CROSS JOIN concept b ON b.id = r.n"
        ),
    ),
    Form(
        "recursion, IN",
        _names(
            _WALK_ALL + " SELECT b.name FROM concept b WHERE b.id IN (SELECT n FROM w WHERE d >= 1)"
        ),
    ),
    Form(
        "three levels",
        _names(f"{_LEVELS} SELECT b.name FROM {_REACHED} r CROSS JOIN concept b ON b.id = r.n"),
    ),
    Form(
        "three levels, the first twice",
        _names(
            f"{_LEVELS.replace('MATERIALIZED', 'NOT MATERIALIZED', 1)} SELECT b.name"
            f" FROM {_REACHED} r CROSS JOIN concept b ON b.id = r.n"
        ),
    ),
    Form("three levels, IN", _names(f"{_LEVELS} SELECT name FROM concept WHERE id IN {_REACHED}")),
    Form("level by level", _path_by_level),
)


# Over all links of a predicate.


def _counted(sql: str, finish: Callable[[Base, list[Any]], Any]) -> Callable[[Base, str], Answer]:
    def on(base: Base, predicate: str) -> Answer:
        execute, number = base.execute, base.predicates[predicate]
        return lambda *_: finish(base, execute(sql, (number,)).fetchall())

    return on


_PER_OBJECT: Final = (
    "(SELECT object AS o, count(*) AS n FROM proposition WHERE predicate = ?1 GROUP BY object) g"
    " CROSS JOIN concept b ON b.id = g.o"
)


def _merged(_: Base, rows: list[Any]) -> Any:
    totals: dict[str, int] = {}
    for name, count in rows:
        totals[name] = totals.get(name, 0) + count
    return [list(totals), list(totals.values())]


def _columns(_: Base, rows: list[Any]) -> Any:
    return _two_columns(rows)


def _spliced_and_counts(_: Base, rows: list[Any]) -> Any:
    return [_loaded([row[0] for row in rows]), [row[1] for row in rows]]


def _nodes_and_counts(base: Base, rows: list[Any]) -> Any:
    names = base.type_names
    return [[node(row[1:], names) for row in rows], [row[0] for row in rows]]


GROUP_BY_ELEMENT: Final = (
    Form(
        "JSON in SQL",
        _counted(f"SELECT {NODE.format(b='b')}, g.n FROM {_PER_OBJECT}", _spliced_and_counts),
    ),
    Form(
        "dicts",
        _counted(f"SELECT g.n, {COLUMNS.format(b='b')} FROM {_PER_OBJECT}", _nodes_and_counts),
    ),
)
_GROUP_BY_NAME: Final = _counted(
    f"SELECT b.name, sum(g.n) FROM {_PER_OBJECT} GROUP BY b.name", _columns
)
GROUP_BY_NAME_ALSO: Final = (
    Form(
        "SQL that leaves equal names to Python",
        _counted(f"SELECT b.name, g.n FROM {_PER_OBJECT}", _merged),
    ),
)
GROUP_BY_NAME: Final = (
    Form("counted, then merged", _GROUP_BY_NAME),
    Form(
        "joined, then counted",
        _counted(
            "SELECT b.name, count(*) FROM proposition p CROSS JOIN concept b ON b.id = p.object"
            " WHERE p.predicate = ?1 GROUP BY b.name",
            _columns,
        ),
    ),
)

_FIRST_TEN: Final = " ORDER BY 2 DESC, 1 LIMIT 10"
FIRST_BY_NAME: Final = (
    Form(
        "counted, then merged",
        _counted(
            f"SELECT b.name, sum(g.n) FROM {_PER_OBJECT} GROUP BY b.name{_FIRST_TEN}", _columns
        ),
    ),
    Form(
        "joined, then counted",
        _counted(
            "SELECT b.name, count(*) FROM proposition p CROSS JOIN concept b ON b.id = p.object"
            f" WHERE p.predicate = ?1 GROUP BY b.name{_FIRST_TEN}",
            _columns,
        ),
    ),
)
FIRST_BY_NAME_ALSO: Final = (
    Form(
        "SQL that assumes unique names",
        _counted(
            "SELECT b.name, g.n FROM (SELECT object AS o, count(*) AS n FROM proposition"
            " WHERE predicate = ?1 GROUP BY object ORDER BY n DESC, o LIMIT 10) g"
            f" CROSS JOIN concept b ON b.id = g.o{_FIRST_TEN}",
            _columns,
        ),
    ),
)


def _scalar(_: Base, rows: list[Any]) -> Any:
    return rows[0][0]


def _triangle(joins: str, count: str = "count(*)") -> Callable[[Base, str], Answer]:
    return _counted(
        f"SELECT {count} FROM proposition p CROSS JOIN proposition q ON q.predicate = ?1"
        f" CROSS JOIN proposition r ON r.predicate = ?1 WHERE p.predicate = ?1 AND {joins}",
        _scalar,
    )


TRIANGLE: Final = (
    Form(
        "forwards",
        _triangle("q.subject = p.object AND r.subject = q.object AND r.object = p.subject"),
    ),
    Form(
        "backwards",
        _triangle("q.object = p.subject AND r.object = q.subject AND r.subject = p.object"),
    ),
    Form(
        "each triangle once",
        _triangle(
            "q.subject = p.object AND q.subject > p.subject AND r.subject = q.object"
            " AND r.object = p.subject AND q.object > p.subject",
            "3 * count(*)",
        ),
    ),
    Form(
        "each triangle once, from its newest member",
        _triangle(
            "p.subject < p.object AND q.subject = p.object AND q.object < p.object"
            " AND r.subject = q.object AND r.object = p.subject",
            "3 * count(*)",
        ),
    ),
)
