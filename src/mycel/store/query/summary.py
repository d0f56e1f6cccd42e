"""Counts of types, predicates and attributes, for descriptions of the graph.

Each count takes a bounded time on a graph of any size. Small tables are counted. In a large table,
counting stops at a limit, and the rest is estimated from rows at even distances; `exact` is False
then. The sample of a small table is the whole table, so small graphs are described exactly.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from mycel.model.limits import INTEGER_MAX
from mycel.model.values import JsonObject, parse_object
from mycel.store.file.layout import CONCEPT_TYPE_NUMBER, PROPOSITION_TYPE_NUMBER
from mycel.store.file.rows import Row
from mycel.store.query.reader import Reader

COUNTED_ROWS_MAX: Final = 20_000
"""The number up to which rows are counted one by one (about 1 ms)."""

SAMPLE_ROWS: Final = 1_000
"""The size of a sample of a large table."""

DEGREE_MAX: Final = 1_000
"""The number up to which the links of one element are counted."""

_DEGREE: Final = " + ".join(
    f"(SELECT count(*) FROM (SELECT 1 FROM proposition WHERE {end} = c.id LIMIT {DEGREE_MAX}) l)"
    for end in ("subject", "object")
)
"""A query for the number of links of a concept `c`."""

_KINDS: Final = """
WITH RECURSIVE kinds(n) AS (
    SELECT min({column}) FROM {table}
    UNION ALL
    SELECT (SELECT min({column}) FROM {table} WHERE {column} > kinds.n) FROM kinds
    WHERE kinds.n IS NOT NULL
)
SELECT n, (SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {column} = kinds.n LIMIT ?1) k)
FROM kinds WHERE n IS NOT NULL"""

# Numbers at even distances, each replaced by the next existing row.
_SAMPLE: Final = """
WITH RECURSIVE
    bounds(low, high) AS (SELECT (SELECT min(id) FROM {table}), (SELECT max(id) FROM {table})),
    place(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM place WHERE k + 1 < ?1),
    sample(id) AS (
        SELECT DISTINCT (
            SELECT min(id) FROM {table} AND id >= low + k * (high - low) / ?1
        ) FROM place, bounds
    )
"""
_EVERYTHING: Final = "WITH sample(id) AS (SELECT id FROM {table} AND ?1 IS NOT NULL)"


class Count(NamedTuple):
    """The number of rows of one type or predicate."""

    number: int
    rows: int
    exact: bool


class Shape(NamedTuple):
    """The types that a predicate joins. The type of an end that is a link is None."""

    predicate: int
    subject_type: int | None
    object_type: int | None
    links: int
    """The number of sampled links with this shape."""


def totals(reader: Reader) -> tuple[int, int]:
    """The numbers of concepts and links."""
    concepts, links = reader.fetch_one(
        "SELECT (SELECT count(*) FROM concept), (SELECT count(*) FROM proposition)",
    )
    return concepts, links


def concepts_by_type(reader: Reader) -> list[Count]:
    """The number of concepts of each type in use, largest first."""
    return _counts(reader, "concept", "type")


def links_by_predicate(reader: Reader) -> list[Count]:
    """The number of links of each predicate in use, largest first."""
    return _counts(reader, "proposition", "predicate")


def count_up_to(reader: Reader, table: str, column: str, at: int, most: int) -> int:
    """The number of rows with a number in a column, counted up to `most`."""
    return reader.count(
        f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {column} = ? LIMIT ?) k",
        (at, most),
    )


def shapes(reader: Reader) -> list[Shape]:
    """The types that predicates join, most frequent first, from a sample of links."""
    rows = reader.fetch_all(
        f"{_sample(reader, 'proposition')}"
        " SELECT p.predicate, s.type, o.type, count(*) FROM sample"
        " JOIN proposition p ON p.id = sample.id"
        " LEFT JOIN concept s ON s.id = p.subject LEFT JOIN concept o ON o.id = p.object"
        " GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3",
        (SAMPLE_ROWS,),
    )
    return [Shape(*row) for row in rows]


def definitions(
    reader: Reader,
    meta: int,
    *,
    after: str = "",
    limit: int = INTEGER_MAX,
) -> list[str]:
    """The names of the defined types (or predicates), in order."""
    source = reader.tables.concepts("c")
    query = f"SELECT c.name FROM {source} WHERE c.type = ? AND c.name > ? ORDER BY c.name LIMIT ?"
    return reader.column(query, (meta, after, limit))


def definition(reader: Reader, meta: int, name: str) -> JsonObject:
    """The attributes of the concept that defines a type or predicate; empty if there is none."""
    query = (
        f"SELECT c.attributes FROM {reader.tables.concepts('c')} WHERE c.name = ? AND c.type = ?"
    )
    row = reader.fetch_first(query, (name, meta))
    return {} if row is None else parse_object(row[0])


# Domains.


class Domain(NamedTuple):
    """A domain, and the number of its members."""

    number: int
    name: str
    attributes_json: str
    members: int
    """The number of members, counted up to `DEGREE_MAX`."""


def domains(reader: Reader, domain_type: int, membership: int, limit: int) -> list[Domain]:
    """The domains, those with the most members first."""
    rows = reader.fetch_all(
        "SELECT id, name, attributes, (SELECT count(*) FROM (SELECT 1 FROM proposition"
        " WHERE predicate = ?2 AND object = c.id LIMIT ?3) m) AS members"
        " FROM concept c WHERE type = ?1 ORDER BY members DESC, name LIMIT ?4",
        (domain_type, membership, DEGREE_MAX, limit),
    )
    return [Domain(*row) for row in rows]


def defined_in(reader: Reader, membership: int) -> list[tuple[int, int, str]]:
    """Definitions that belong to a domain. Each: the domain, the meta-type and the name."""
    # The join begins at the few definitions, not at the many members of the domains.
    rows = reader.fetch_all(
        "SELECT p.object, c.type, c.name FROM concept c"
        " CROSS JOIN proposition p WHERE p.subject = c.id AND p.predicate = ?1"
        " AND c.type IN (?2, ?3) ORDER BY c.name",
        (membership, CONCEPT_TYPE_NUMBER, PROPOSITION_TYPE_NUMBER),
    )
    return [(domain, meta, name) for domain, meta, name in rows]


def member_types(
    reader: Reader, membership: int, domain: int, sample: int
) -> list[tuple[int, int]]:
    """The types of the first members of a domain, the most frequent first.

    Definitions are left out; `defined_in` has those.
    """
    rows = reader.fetch_all(
        "SELECT c.type, count(*) FROM (SELECT subject FROM proposition"
        " WHERE predicate = ?1 AND object = ?2 LIMIT ?3) m JOIN concept c ON c.id = m.subject"
        " WHERE c.type NOT IN (?4, ?5) GROUP BY 1 ORDER BY 2 DESC, 1",
        (membership, domain, sample, CONCEPT_TYPE_NUMBER, PROPOSITION_TYPE_NUMBER),
    )
    return [(type_number, count) for type_number, count in rows]


def key_members(
    reader: Reader, membership: int, domain: int, sample: int, limit: int
) -> list[tuple[int, str]]:
    """The most linked concepts among the first members of a domain: type and name."""
    rows = reader.fetch_all(
        f"SELECT c.type, c.name, {_DEGREE} FROM (SELECT subject FROM proposition"
        " WHERE predicate = ?1 AND object = ?2 LIMIT ?3) m JOIN concept c ON c.id = m.subject"
        " WHERE c.type NOT IN (?5, ?6) ORDER BY 3 DESC, c.id LIMIT ?4",
        (membership, domain, sample, limit, CONCEPT_TYPE_NUMBER, PROPOSITION_TYPE_NUMBER),
    )
    return [(type_number, name) for type_number, name, _ in rows]


# One type, one predicate.


class SampledConcept(NamedTuple):
    """A concept of a sample, and its number of links."""

    number: int
    name: str
    attributes_json: str
    links: int
    """The number of links, counted up to `DEGREE_MAX` in each direction."""


def instances(reader: Reader, type_number: int, sample: int) -> list[SampledConcept]:
    """A sample of instances over the whole range of a type, the most linked first."""
    few = count_up_to(reader, "concept", "type", type_number, sample + 1) <= sample
    chosen = (_EVERYTHING if few else _SAMPLE).format(table=f"concept WHERE type = {type_number}")
    rows = reader.fetch_all(
        f"{chosen} SELECT c.id, c.name, c.attributes, {_DEGREE} FROM sample"
        " JOIN concept c ON c.id = sample.id ORDER BY 4 DESC, c.id",
        (sample,),
    )
    return [SampledConcept(*row) for row in rows]


def relationships(
    reader: Reader, numbers: list[int], per_element: int
) -> list[tuple[str, int, int | None, int]]:
    """The links of these concepts, grouped: direction, predicate, type of the other end, count.

    Only the first links of each concept and direction are read.
    """
    seen: dict[tuple[str, int, int | None], int] = {}
    for direction, near, far in (("out", "subject", "object"), ("in", "object", "subject")):
        query = (
            f"SELECT p.predicate, c.type, count(*) FROM (SELECT predicate, {far} AS other"
            f" FROM proposition WHERE {near} = ? LIMIT ?) p"
            " LEFT JOIN concept c ON c.id = p.other GROUP BY 1, 2"
        )
        for number in numbers:
            for predicate, other, count in reader.fetch_all(query, (number, per_element)):
                key = direction, predicate, other
                seen[key] = seen.get(key, 0) + count
    ordered = sorted(seen.items(), key=lambda item: (-item[1], item[0][:2], item[0][2] or 0))
    return [(*key, count) for key, count in ordered]


class SampledLink(NamedTuple):
    """A link of a sample, and the elements that it joins.

    The type and name of an end that is itself a link are None.
    """

    number: int
    subject: int
    subject_type: int | None
    subject_name: str | None
    object: int
    object_type: int | None
    object_name: str | None
    attributes_json: str


def kinds_at(
    reader: Reader, predicate: int, end: Literal["subject", "object"], most: int
) -> list[tuple[str, int]]:
    """The types of elements at one end of a predicate's links; for links, their predicates.

    Each comes with its number of links, the most frequent first. At most `most` links are read.
    """
    rows = reader.fetch_all(
        f"SELECT coalesce(t.name, r.name), count(*) FROM (SELECT {end} AS number FROM proposition"
        " WHERE predicate = ? LIMIT ?) p LEFT JOIN concept c ON c.id = p.number"
        " LEFT JOIN type t ON t.id = c.type LEFT JOIN proposition l ON l.id = p.number"
        " LEFT JOIN predicate r ON r.id = l.predicate GROUP BY 1 ORDER BY 2 DESC, 1",
        (predicate, most),
    )
    return [(name, count) for name, count in rows]


def links_of(reader: Reader, predicate: int, sample: int) -> list[SampledLink]:
    """Some links of a predicate: from the beginning and from the end of its range."""
    rows: list[Row] = []
    for order in ("ASC", "DESC"):
        rows += reader.fetch_all(
            "SELECT p.id, p.subject, s.type, s.name, p.object, o.type, o.name, p.attributes"
            f" FROM (SELECT id FROM proposition WHERE predicate = ? ORDER BY object {order},"
            f" subject {order} LIMIT ?) m JOIN proposition p ON p.id = m.id"
            " LEFT JOIN concept s ON s.id = p.subject LEFT JOIN concept o ON o.id = p.object",
            (predicate, sample // 2),
        )
    return [SampledLink(*row) for row in {row[0]: row for row in rows}.values()]


# The surroundings of an element.


def touching(reader: Reader, number: int) -> list[tuple[int, int]]:
    """The links that have this element as an end, each with its other end."""
    rows = reader.fetch_all(
        "SELECT id, object FROM proposition WHERE subject = ?1"
        " UNION ALL SELECT id, subject FROM proposition WHERE object = ?1",
        (number,),
    )
    return [(link, other) for link, other in rows]


def _counts(reader: Reader, table: str, column: str) -> list[Count]:
    (total,) = reader.fetch_one(f"SELECT count(*) FROM {table}")
    if total <= COUNTED_ROWS_MAX:
        query = f"SELECT {column}, count(*) FROM {table} GROUP BY 1 ORDER BY 2 DESC, 1"
        return [Count(number, count, True) for number, count in reader.fetch_all(query)]
    kinds = _KINDS.format(table=table, column=column)
    cap = COUNTED_ROWS_MAX // max(1, len(reader.fetch_all(kinds, (1,))))
    sampled: dict[int, int] = dict(
        reader.fetch_all(
            f"{_sample(reader, table)} SELECT t.{column}, count(*) FROM sample"
            f" JOIN {table} t ON t.id = sample.id GROUP BY 1",
            (SAMPLE_ROWS,),
        )
    )
    share = total / max(1, sum(sampled.values()))
    counts = [
        Count(number, count, True)
        if count < cap
        else Count(number, max(cap, _rounded(sampled.get(number, 0) * share)), False)
        for number, count in reader.fetch_all(kinds, (cap,))
    ]
    return sorted(counts, key=lambda count: (-count.rows, count.number))


def _sample(reader: Reader, table: str) -> str:
    """The beginning of a query over `sample`; its one binding is the number of rows."""
    (total,) = reader.fetch_one(f"SELECT count(*) FROM {table}")
    return (_EVERYTHING if total <= SAMPLE_ROWS else _SAMPLE).format(table=f"{table} WHERE TRUE")


def _rounded(estimate: float) -> int:
    """An estimate, rounded: more digits would suggest more precision."""
    return int(float(f"{estimate:.1e}"))
