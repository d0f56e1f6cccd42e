"""Small look-ups: concepts by name, links by their ends and predicates."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

import apsw
import orjson

from mycel.model.values import JsonObject, parse_object
from mycel.store.file.layout import FURNITURE
from mycel.store.file.rows import Row, every, first
from mycel.store.query.reader import Direction

_LAST_CHARACTER: Final = "\U0010ffff"


def named_from(
    connection: apsw.Connection, beginning: str, type_number: int | None, limit: int
) -> list[int]:
    """Concepts whose names begin so, by name; the one that is called exactly so comes first."""
    kind = "" if type_number is None else "AND type = ?4"
    bindings: Row = (beginning, beginning + _LAST_CHARACTER, limit)
    rows = every(
        connection,
        f"SELECT id FROM concept WHERE name >= ?1 AND name < ?2 {kind}"
        " ORDER BY name, type LIMIT ?3",
        bindings if type_number is None else (*bindings, type_number),
    )
    return [number for (number,) in rows]


def named(connection: apsw.Connection, names: Collection[str]) -> list[tuple[int, int, str]]:
    """The concepts that have one of these names, of whatever type: number, type and name."""
    query = (
        "SELECT c.id, c.type, c.name FROM json_each(?) j CROSS JOIN concept c ON c.name = j.value"
    )
    found = every(connection, query, (orjson.dumps(list(names)).decode(),))
    return [(number, type_number, name) for number, type_number, name in found]


def named_below(
    connection: apsw.Connection,
    path: str,
    *,
    after: str = "",
    limit: int = -1,
    without: Collection[int] = (),
) -> list[tuple[int, int, str]]:
    """The concepts whose names continue a path after a slash, by name: number, type and name.

    On request only so many of them, from after a name, and `without` some types.
    """
    query = (
        "SELECT id, type, name FROM concept WHERE name > max(?1 || '/', ?2) AND name < ?1 || '0'"
        " AND type NOT IN (SELECT value FROM json_each(?4)) ORDER BY name, type LIMIT ?3"
    )
    types = orjson.dumps(list(without)).decode()
    found = every(connection, query, (path, after, limit, types))
    return [(number, type_number, name) for number, type_number, name in found]


def furniture(connection: apsw.Connection) -> frozenset[int]:
    """Definitions and what else the core capsules bring, by number."""
    return frozenset(number for (number,) in every(connection, FURNITURE))


def links_towards(
    connection: apsw.Connection, numbers: Collection[int], limit: int
) -> dict[int, int]:
    """How many links lead to each of these elements, counted up to a limit."""
    query = (
        "SELECT j.value, (SELECT count(*) FROM"
        " (SELECT 1 FROM proposition WHERE object = j.value LIMIT ?2)) FROM json_each(?1) j"
    )
    found = every(connection, query, (orjson.dumps(list(numbers)).decode(), limit))
    return dict(found)


def had_name(connection: apsw.Connection, number: int, name: str) -> bool:
    """Whether a concept was once called so."""
    query = "SELECT 1 FROM concept_past WHERE id = ? AND name = ? LIMIT 1"
    return first(connection, query, (number, name)) is not None


def twins(
    connection: apsw.Connection,
    type_number: int,
    names: Collection[str],
    *,
    other: int | None = None,
) -> list[tuple[int, int]]:
    """Pairs of concepts with one of these names: one of the type, and one of another.

    `other` is the type of the second one, if that matters.
    """
    found = every(
        connection,
        "SELECT m.id, min(c.id) FROM json_each(?2) j CROSS JOIN concept m ON m.name = j.value"
        " AND m.type = ?1 CROSS JOIN concept c ON c.name = m.name AND c.type <> ?1"
        " AND coalesce(c.type = ?3, 1) GROUP BY m.id",
        (type_number, orjson.dumps(list(names)).decode(), other),
    )
    return [(one, other) for one, other in found]


def types_named(connection: apsw.Connection, name: str, limit: int) -> list[int]:
    """The types, by number, of concepts with a name."""
    query = "SELECT type FROM concept WHERE name = ? LIMIT ?"
    return [number for (number,) in every(connection, query, (name, limit))]


def names_of_type(connection: apsw.Connection, type_number: int | None, limit: int) -> list[str]:
    """Names of some concepts of a type, or of any."""
    of_type = "" if type_number is None else "WHERE type = ?2"
    query = f"SELECT name FROM concept {of_type} LIMIT ?1"
    bindings = (limit,) if type_number is None else (limit, type_number)
    return [name for (name,) in every(connection, query, bindings)]


def attributes_of_type(
    connection: apsw.Connection, type_number: int, limit: int
) -> list[JsonObject]:
    """The attributes of some concepts of a type."""
    query = "SELECT attributes FROM concept WHERE type = ? LIMIT ?"
    return [parse_object(each) for (each,) in every(connection, query, (type_number, limit))]


def names_from(
    connection: apsw.Connection, beginning: str, type_number: int | None, limit: int
) -> list[str]:
    """Of so many names that begin so, those of a type, or all: the index knows names, not types."""
    query = (
        "SELECT name FROM (SELECT name, type FROM concept WHERE name >= ?1 AND name < ?2 LIMIT ?3)"
        " WHERE ?4 IS NULL OR type = ?4"
    )
    bindings = (beginning, beginning + _LAST_CHARACTER, limit, type_number)
    return [name for (name,) in every(connection, query, bindings)]


def links_with(connection: apsw.Connection, predicate: int, limit: int) -> list[int]:
    """Some links of a predicate."""
    query = "SELECT id FROM proposition WHERE predicate = ? ORDER BY object, subject LIMIT ?"
    return [number for (number,) in every(connection, query, (predicate, limit))]


class Around(NamedTuple):
    """A link at an element."""

    link: int
    predicate: int
    other: int
    """Its other end."""


def links_around(
    connection: apsw.Connection, number: int, predicate: int | None, limit: int
) -> list[Around]:
    """Some links that leave or reach an element, perhaps of one predicate only."""
    kind = "" if predicate is None else "AND predicate = ?3"
    bindings: Row = (number, limit) if predicate is None else (number, limit, predicate)
    return [
        Around(*row)
        for near, far in (("subject", "object"), ("object", "subject"))
        for row in every(
            connection,
            f"SELECT id, predicate, {far} FROM proposition WHERE {near} = ?1 {kind} LIMIT ?2",
            bindings,
        )
    ]


def links_after(
    connection: apsw.Connection,
    number: int,
    direction: Direction,
    predicates: Collection[int] | None,
    after: tuple[int, int],
    limit: int,
) -> list[tuple[int, int, int]]:
    """Links that leave (or reach) an element: each with its predicate and other end, in this order.

    They begin after a predicate and other end that were seen before; (0, 0) comes before all.
    """
    near, far = ("subject", "object") if direction == "out" else ("object", "subject")
    kind = ""
    bindings: Row = (number, *after, limit)
    if predicates is not None:
        kind = "AND predicate IN (SELECT value FROM json_each(?5))"
        bindings = (*bindings, orjson.dumps(list(predicates)).decode())
    found = every(
        connection,
        f"SELECT id, predicate, {far} FROM proposition WHERE {near} = ?1"
        f" AND (predicate, {far}) > (?2, ?3) {kind} ORDER BY predicate, {far} LIMIT ?4",
        bindings,
    )
    return [(link, predicate, other) for link, predicate, other in found]


def links_between(
    connection: apsw.Connection, places: Collection[tuple[int, int, int]]
) -> dict[tuple[int, int, int], int]:
    """The live links with these subjects, predicates and objects, by number."""
    found = every(
        connection,
        "SELECT p.subject, p.predicate, p.object, p.id FROM json_each(?1) j CROSS JOIN proposition"
        " p ON p.subject = j.value ->> 0 AND p.predicate = j.value ->> 1"
        " AND p.object = j.value ->> 2",
        (orjson.dumps(list(places)).decode(),),
    )
    return {(subject, predicate, object_): link for subject, predicate, object_, link in found}


def links_at_named(
    connection: apsw.Connection, beginnings: Mapping[int, str], after: int, limit: int
) -> list[int]:
    """Links that leave or reach concepts of some types, whose names begin as stated for the type.

    By number, after one that was seen before.
    """
    at = (
        "SELECT p.id FROM json_each(?1) j CROSS JOIN concept c ON c.type = j.value ->> 0"
        " AND substr(c.name, 1, length(j.value ->> 1)) = j.value ->> 1"
        " CROSS JOIN proposition p ON p.{end} = c.id"
    )
    found = every(
        connection,
        f"SELECT id FROM ({at.format(end='subject')} UNION {at.format(end='object')})"
        " WHERE id > ?2 ORDER BY id LIMIT ?3",
        (orjson.dumps(list(beginnings.items())).decode(), after, limit),
    )
    return [link for (link,) in found]
