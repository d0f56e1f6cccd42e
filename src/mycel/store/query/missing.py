"""Placeholders of missing concepts, by the number of links at them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from mycel.sql.state_tables import StateTables
from mycel.store.file.rows import listed
from mycel.store.query.reader import Reader


def placeholders(
    reader: Reader, beginnings: Mapping[int, str], start: int, limit: int
) -> tuple[int, list[tuple[int, int]]]:
    """The number of placeholders, and some of them with their number of links, most first.

    They are concepts of some types whose names begin as stated for the type.
    """
    tables = StateTables.of(reader.state)
    chosen = (
        f"FROM json_each(?1) j CROSS JOIN {tables.concepts('c')} ON c.type = j.value ->> 0"
        " AND substr(c.name, 1, length(j.value ->> 1)) = j.value ->> 1"
    )
    given = listed(beginnings.items())
    (total,) = reader.only(f"SELECT count(*) {chosen}", (given,))
    links = " + ".join(
        f"(SELECT count(*) FROM {table} WHERE q.{end} = c.id{in_force})"
        for end in ("subject", "object")
        for table, in_force in tables.link_halves("q")
    )
    rows = reader.every(
        f"SELECT c.id, {links} AS links {chosen} ORDER BY links DESC, c.name LIMIT ?2 OFFSET ?3",
        (given, limit, start),
    )
    return total, [(number, count) for number, count in rows]


def sources(reader: Reader, numbers: Collection[int], limit: int) -> list[tuple[int, int, int]]:
    """Some links at each of these elements: the element, the other end, the predicate."""
    tables = StateTables.of(reader.state)
    found: list[tuple[int, int, int]] = []
    queries = [
        f"SELECT q.{far}, q.predicate FROM {table} WHERE q.{near} = ?1{in_force}"
        for near, far in (("object", "subject"), ("subject", "object"))
        for table, in_force in tables.link_halves("q")
    ]
    query = f"SELECT * FROM ({' UNION ALL '.join(queries)}) LIMIT ?2"
    for number in numbers:
        found += [(number, end, kind) for end, kind in reader.every(query, (number, limit))]
    return found
