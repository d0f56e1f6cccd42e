"""Candidates for a search: elements whose text, name, predicate or ends match a question.

Filters are part of each query, so a limit counts what passes them. How good a candidate is in the
end, the caller decides; from here it gets BM25 and the share of the question's terms that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import closing
from typing import Any, Final, Literal, NamedTuple
from weakref import WeakSet

import apsw
import orjson

from mycel.model import ids
from mycel.model.values import JsonObject, parse_object
from mycel.search.analysis import document_text
from mycel.store import text
from mycel.store.layout import FTS
from mycel.store.reader import Direction
from mycel.store.rows import Row, every, first

Table = Literal["concept", "proposition"]

_LAST_CHARACTER: Final = "\U0010ffff"
_KIND: Final[dict[Table, str]] = {"concept": "type", "proposition": "predicate"}
_KNOW_COVERAGE: Final[WeakSet[apsw.Connection]] = WeakSet()


class Match(NamedTuple):
    """An element that has some of the terms."""

    number: int
    bm25: float
    """Greater is better."""
    coverage: float
    """The share of the terms that it has."""


def matches(
    connection: apsw.Connection, expression: str, table: Table, kind: int | None, limit: int
) -> list[Match]:
    """Concepts or links whose text matches an FTS5 expression, best first.

    `kind` is the number of a type or predicate that they must have. Elements that are not folded
    into the index yet are found too; how they rank against the others is then an estimate.
    """
    aside = {number for number in text.pending(connection) if _is_of(number, table)}
    found = _match(connection, expression, limit + len(aside), table, kind)
    found = [each for each in found if each.number not in aside]
    if aside:
        wanted = (number for number in sorted(aside) if _has_kind(connection, number, table, kind))
        documents = ((number, text.live_text(connection, number)) for number in wanted)
        found += rank(documents, expression, limit)
    return sorted(found, key=lambda each: (-each.bm25, each.number))[:limit]


def rank(documents: Iterable[tuple[int, str]], expression: str, limit: int) -> list[Match]:
    """The best among documents that are in no index."""
    with closing(apsw.Connection(":memory:")) as connection:
        connection.execute(FTS)
        text.index(connection, documents)
        return _match(connection, expression, limit)


def _match(
    connection: apsw.Connection,
    expression: str,
    limit: int,
    table: Table | None = None,
    kind: int | None = None,
) -> list[Match]:
    if connection not in _KNOW_COVERAGE:  # FTS5 would keep every registration, side by side.
        connection.register_fts5_function("coverage", _coverage)
        _KNOW_COVERAGE.add(connection)
    # Joined, never asked with IN: FTS5 would look up each element of the list, term by term.
    join = "" if kind is None else f"CROSS JOIN {table} e ON e.id = text.rowid"
    conditions = ["text MATCH ?1"]
    if table is not None:
        conditions.append(f"text.rowid & 1 = {0 if table == 'concept' else 1}")
    if table is not None and kind is not None:
        conditions.append(f"e.{_KIND[table]} = ?3")
    rows = every(
        connection,
        f"SELECT text.rowid, -bm25(text), coverage(text) FROM text {join}"
        f" WHERE {' AND '.join(conditions)} ORDER BY rank LIMIT ?2",
        (expression, limit) if kind is None else (expression, limit, kind),
    )
    return [Match(*row) for row in rows]


def _coverage(api: apsw.FTS5ExtensionApi, *_: Any) -> float:
    """The share of a query's phrases that a row has. Asked for rows of the result only."""
    phrases = api.phrase_count
    return sum(bool(api.phrase_columns(phrase)) for phrase in range(phrases)) / phrases


def _is_of(number: int, table: Table) -> bool:
    return ids.is_concept(number) == (table == "concept")


def _has_kind(connection: apsw.Connection, number: int, table: Table, kind: int | None) -> bool:
    if kind is None:
        return True
    query = f"SELECT 1 FROM {table} WHERE id = ? AND {_KIND[table]} = ?"
    return first(connection, query, (number, kind)) is not None


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


def links_at(
    connection: apsw.Connection, number: int, predicate: int | None, limit: int
) -> list[int]:
    """Some links that leave or reach an element, perhaps of one predicate only."""
    kind = "" if predicate is None else "AND predicate = ?3"
    bindings: Row = (number, limit) if predicate is None else (number, limit, predicate)
    found: list[int] = []
    for near in ("subject", "object"):
        query = f"SELECT id FROM proposition WHERE {near} = ?1 {kind} LIMIT ?2"
        found += [link for (link,) in every(connection, query, bindings)]
    return found


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


def link_text(
    connection: apsw.Connection, number: int, predicate_name: Callable[[int], str]
) -> str:
    """A link as a sentence: its subject, predicate and object by name, then its attributes."""
    row = first(
        connection,
        "SELECT p.predicate, s.name, o.name, p.attributes FROM proposition p"
        " LEFT JOIN concept s ON s.id = p.subject LEFT JOIN concept o ON o.id = p.object"
        " WHERE p.id = ?",
        (number,),
    )
    if row is None:
        return ""
    predicate, subject, object_, attributes = row
    words = (subject or "", predicate_name(predicate), object_ or "")
    return document_text(" ".join(words), parse_object(attributes))
