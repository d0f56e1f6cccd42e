"""The neighbours of elements in a state, the links among them, and short rows of concepts.

Also placeholders of missing concepts, and the links at them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from mycel.model.directions import Direction
from mycel.store.file.rows import json_array, json_rows
from mycel.store.query.outline import READABLE_NAME
from mycel.store.query.reader import Reader


class ConceptCard(NamedTuple):
    """A concept in short, without its content."""

    number: int
    type: int
    name: str
    version: int
    label: str | None
    """The readable name of the concept."""
    symbol: str | None
    """The attribute `kind` of a symbol of a source file: class, method and so on."""
    is_gone: bool
    """True for a file that no longer exists, and for symbols and sections in it."""


class WeightedLink(NamedTuple):
    number: int
    subject: int
    predicate: int
    object: int
    weight: float
    version: int


class Neighbour(NamedTuple):
    """An element at the other end of at least one link."""

    number: int
    weight: float
    """The least weight of the links between them."""


def concept_rows(
    reader: Reader, numbers: Collection[int], symbol_type: int | None = None
) -> dict[int, ConceptCard]:
    """The concepts among these numbers that are part of the state, by number."""
    rows = reader.execute(
        f"SELECT c.id, c.type, c.name, c.version, {READABLE_NAME.format(c='c')},"
        " CASE c.type WHEN ? THEN c.attributes ->> '$.kind' END,"
        " c.attributes ->> '$.missing_since' IS NOT NULL"
        f" FROM json_each(?) j CROSS JOIN {reader.tables.concepts('c')} WHERE c.id = j.value",
        (symbol_type, json_array(numbers)),
    )
    return {row[0]: ConceptCard(*row) for row in rows}


def neighbours(
    reader: Reader,
    number: int,
    direction: Direction = "both",
    *,
    predicates: Collection[int] | None = None,
    types: Collection[int] | None = None,
) -> list[Neighbour]:
    """The elements linked to an element, each once, under the conditions."""
    sides = {"out": [("subject", "object")], "in": [("object", "subject")]}
    ends = sides.get(direction) or [*sides["out"], *sides["in"]]
    kind = (
        ""
        if predicates is None
        else " AND q.predicate IN (SELECT value FROM json_each(:predicates))"
    )
    queries = [
        f"SELECT q.{far} AS other, q.weight AS weight FROM {table}"
        f" WHERE q.{near} = :number{kind}{in_force}"
        for near, far in ends
        for table, in_force in reader.tables.link_halves()
    ]
    query = f"SELECT other, min(weight) FROM ({' UNION ALL '.join(queries)}) q GROUP BY other"
    if types is not None:
        query = (
            f"SELECT n.* FROM ({query}) n CROSS JOIN {reader.tables.concepts('c')}"
            " WHERE c.id = n.other AND c.type IN (SELECT value FROM json_each(:types))"
        )
    bindings = {
        "number": number,
        "predicates": json_array(predicates or ()),
        "types": json_array(types or ()),
    }
    return [Neighbour(*row) for row in reader.execute(query, bindings)]


def links_between(
    reader: Reader, some: Collection[int], others: Collection[int], limit: int
) -> list[WeightedLink]:
    """The links between an element of one set and one of the other, in either direction."""
    queries = [
        "SELECT q.id, q.subject, q.predicate, q.object, q.weight, q.version"
        f" FROM json_each(?1) j CROSS JOIN {table} WHERE q.{near} = j.value"
        f" AND q.{far} IN (SELECT value FROM json_each(?2)){in_force}"
        for near, far in (("subject", "object"), ("object", "subject"))
        for table, in_force in reader.tables.link_halves()
    ]
    rows = reader.execute(
        f"{' UNION '.join(queries)} LIMIT ?3", (json_array(some), json_array(others), limit)
    )
    return [WeightedLink(*row) for row in rows]


def degrees(reader: Reader, numbers: Collection[int]) -> dict[int, int]:
    """The number of links that leave or reach each of these elements."""
    counts = [
        f"(SELECT count(*) FROM {table} WHERE q.{near} = j.value{in_force})"
        for near in ("subject", "object")
        for table, in_force in reader.tables.link_halves()
    ]
    rows = reader.execute(
        f"SELECT j.value, {' + '.join(counts)} FROM json_each(?) j", (json_array(numbers),)
    )
    return dict(rows)


def counts_by_predicate(reader: Reader, number: int) -> list[tuple[int, str, int]]:
    """The number of links at an element for each predicate and direction ("out" or "in")."""
    queries = [
        f"SELECT q.predicate AS predicate, '{way}' AS way FROM {table}"
        f" WHERE q.{near} = ?1{in_force}"
        for way, near in (("out", "subject"), ("in", "object"))
        for table, in_force in reader.tables.link_halves()
    ]
    rows = reader.fetch_all(
        f"SELECT predicate, way, count(*) FROM ({' UNION ALL '.join(queries)}) q GROUP BY 1, 2"
        " ORDER BY 1, 2 DESC",
        (number,),
    )
    return [(predicate, way, count) for predicate, way, count in rows]


def names_holding(reader: Reader, text: str, limit: int) -> list[int]:
    """Concepts of a state whose name or readable name contains a text, in any case.

    It reads all names. It is for states of the past, which have no index of names.
    """
    return reader.column(
        f"SELECT c.id FROM {reader.tables.concepts('c')}"
        " WHERE instr(lower(c.name), lower(?1)) > 0 OR"
        f" instr(lower({READABLE_NAME.format(c='c')}), lower(?1)) > 0 LIMIT ?2",
        (text, limit),
    )


def placeholders(
    reader: Reader, beginnings: Mapping[int, str], start: int, limit: int
) -> tuple[int, list[tuple[int, int]]]:
    """The number of placeholders; and some of them with their number of links, most linked first.

    `beginnings` has, by type number, the text with which the names of placeholders begin.
    """
    tables = reader.tables
    chosen = (
        f"FROM json_each(?1) j CROSS JOIN {tables.concepts('c')}"
        " WHERE c.type = CAST(j.value ->> 0 AS BIGINT)"
        " AND substr(c.name, 1, length(j.value ->> 1)) = j.value ->> 1"
    )
    beginning_rows = json_rows(beginnings.items())
    (total,) = reader.fetch_one(f"SELECT count(*) {chosen}", (beginning_rows,))
    links = " + ".join(
        f"(SELECT count(*) FROM {table} WHERE q.{end} = c.id{in_force})"
        for end in ("subject", "object")
        for table, in_force in tables.link_halves()
    )
    rows = reader.fetch_all(
        f"SELECT c.id, {links} AS links {chosen} ORDER BY links DESC, c.name LIMIT ?2 OFFSET ?3",
        (beginning_rows, limit, start),
    )
    return total, [(number, count) for number, count in rows]


def sources(reader: Reader, numbers: Collection[int], limit: int) -> list[tuple[int, int, int]]:
    """Some links at each of these elements: the element, the other end and the predicate."""
    tables = reader.tables
    rows: list[tuple[int, int, int]] = []
    queries = [
        f"SELECT q.{far}, q.predicate FROM {table} WHERE q.{near} = ?1{in_force}"
        for near, far in (("object", "subject"), ("subject", "object"))
        for table, in_force in tables.link_halves()
    ]
    query = f"SELECT * FROM ({' UNION ALL '.join(queries)}) q LIMIT ?2"
    for number in numbers:
        rows += [(number, end, kind) for end, kind in reader.fetch_all(query, (number, limit))]
    return rows
