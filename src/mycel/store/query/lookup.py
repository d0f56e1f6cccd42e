"""Looks up concepts by name, and links by their ends and predicates."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from mycel.model.directions import Way
from mycel.model.evidence import EVIDENCE
from mycel.model.limits import INTEGER_MAX
from mycel.model.state import ORDINARY, Visibility
from mycel.model.values import JsonObject, parse_object
from mycel.store.file.layout import (
    CONCEPT_TYPE_NUMBER,
    CORE_CONCEPTS,
    OPEN_END,
    PROPOSITION_TYPE_NUMBER,
)
from mycel.store.file.rows import Row, json_array, json_rows, text_array
from mycel.store.query.filters import ALL, Condition
from mycel.store.query.reader import Reader

_LAST_CHARACTER: Final = "\U0010ffff"

MERGED_FROM: Final = "_merged_from"
"""The metadata key with the sources that were merged into a concept."""
FORMER_NAMES_MAX: Final = 20


def named_from(reader: Reader, beginning: str, limit: int, condition: Condition = ALL) -> list[int]:
    """Concepts whose names begin with a text, by name; an exact match comes first."""
    return reader.column(
        f"{reader.tables_text}SELECT e.id FROM concept e"
        f" WHERE e.name >= :low AND e.name < :high{condition.sql}"
        " ORDER BY e.name, e.type LIMIT :limit",
        {
            "low": beginning,
            "high": beginning + _LAST_CHARACTER,
            "limit": limit,
            **condition.bindings,
        },
    )


def find_by_name(reader: Reader, names: Collection[str]) -> list[tuple[int, int, str]]:
    """The concepts that have one of these names, of any type: number, type and name."""
    query = (
        "SELECT c.id, c.type, c.name FROM json_each(?) j"
        f" CROSS JOIN {reader.tables.concepts('c')} WHERE c.name = j.value"
    )
    rows = reader.fetch_all(query, (text_array(names),))
    return [(number, type_number, name) for number, type_number, name in rows]


def numbers_named(reader: Reader, type_number: int, names: Collection[str]) -> dict[str, int]:
    """The concepts of a type that have one of these names: a number for each name."""
    # CROSS JOIN keeps SQLite to this order: one look-up in the index for each name.
    query = (
        "SELECT c.name, c.id FROM json_each(?2) j CROSS JOIN concept c"
        " WHERE c.name = j.value AND c.type = ?1"
    )
    return dict(reader.fetch_all(query, (type_number, text_array(names))))


def concepts_at_most(reader: Reader) -> int:
    """An upper bound of the number of concepts, from the largest id, without reading all rows."""
    return reader.count("SELECT coalesce(max(id), 0) / 2 FROM concept")


def definitions(reader: Reader) -> set[int]:
    """All live definitions of types and predicates, by number."""
    query = "SELECT id FROM concept WHERE type IN (?, ?)"
    return set(reader.column(query, (CONCEPT_TYPE_NUMBER, PROPOSITION_TYPE_NUMBER)))


def type_of(reader: Reader, number: int) -> int | None:
    """The type of a live concept, by number."""
    row = reader.fetch_first("SELECT type FROM concept WHERE id = ?", (number,))
    return None if row is None else row[0]


def types_between(reader: Reader, start: int, stop: int) -> list[tuple[int, int]]:
    """The live concepts with numbers from `start` on and below `stop`, each with its type."""
    query = "SELECT id, type FROM concept WHERE id >= ? AND id < ?"
    return [(number, kind) for number, kind in reader.fetch_all(query, (start, stop))]


def heirs(reader: Reader, key: str, sources: Collection[str]) -> dict[str, int]:
    """Live concepts by the texts in a list of their metadata, for these texts.

    If several concepts have a text, the newest counts.
    """
    query = (
        "SELECT value, c.id FROM concept c, json_each(c.metadata, ?1)"
        " WHERE instr(c.metadata, ?2) > 0 AND value IN (SELECT value FROM json_each(?3))"
        " ORDER BY c.seq"
    )
    return dict(reader.fetch_all(query, (f"$.{key}", key, text_array(sources)))) if sources else {}


class FormerName(NamedTuple):
    """A concept that had a name in the past."""

    number: int
    type_number: int
    """The type that the concept had under that name."""
    is_removed: bool


def former_names(
    reader: Reader, names: Collection[str], without: Collection[int] = ()
) -> dict[str, FormerName]:
    """For each name, the last concept that had it in the past; types in `without` do not count."""
    query = (
        "SELECT j.value, p.id, p.type, p.to_seq = ?2 FROM json_each(?1) j"
        " CROSS JOIN concept_past p WHERE p.name = j.value"
        " AND p.type NOT IN (SELECT value FROM json_each(?3))"
        " ORDER BY CASE p.to_seq WHEN ?2 THEN p.from_seq ELSE p.to_seq END"
    )
    rows = reader.fetch_all(query, (text_array(names), OPEN_END, json_array(without)))
    return {
        name: FormerName(number, kind, bool(is_removed)) for name, number, kind, is_removed in rows
    }


def former_names_ending(reader: Reader, root: str, ends: Collection[str]) -> list[str]:
    """The past names below the path `root` that end with one of the segments `ends`."""
    # rtrim with all characters but slashes leaves the part of a name before its last segment.
    query = (
        "SELECT DISTINCT name FROM concept_past WHERE name > ?1 || '/' AND name < ?1 || '0'"
        " AND substr(name, length(rtrim(name, replace(name, '/', ''))) + 1)"
        " IN (SELECT value FROM json_each(?2)) ORDER BY name"
    )
    return reader.column(query, (root, text_array(ends)))


def names_once_ending(reader: Reader, end: str) -> list[str]:
    """Past names of concepts that end with a text; at most a few."""
    query = (
        "SELECT DISTINCT name FROM concept_past"
        " WHERE substr(name, length(name) - length(?1) + 1) = ?1 ORDER BY name LIMIT ?2"
    )
    return reader.column(query, (end, FORMER_NAMES_MAX))


def named_below(
    reader: Reader,
    path: str,
    *,
    after: str = "",
    limit: int = INTEGER_MAX,
    without: Collection[int] = (),
) -> list[tuple[int, int, str]]:
    """Concepts below a path, by name: number, type and name of each.

    The page begins after a name, has at most `limit` concepts, and leaves out some types.
    """
    query = (
        "SELECT id, type, name FROM concept WHERE name > ?1 || '/' AND name > ?2 AND name < ?1 ||"
        " '0'"
        " AND type NOT IN (SELECT value FROM json_each(?4)) ORDER BY name, type LIMIT ?3"
    )
    types = json_array(without)
    rows = reader.fetch_all(query, (path, after, limit, types))
    return [(number, type_number, name) for number, type_number, name in rows]


def count_below(reader: Reader, path: str, without: Collection[int] = ()) -> int:
    """The number of concepts at a path or below it."""
    query = (
        "SELECT count(*) FROM concept WHERE (name = ?1 OR (name > ?1 || '/' AND name < ?1 || '0'))"
        " AND type NOT IN (SELECT value FROM json_each(?2))"
    )
    return reader.count(query, (path, json_array(without)))


class Segment(NamedTuple):
    """One part of a path: its concept, if there is one, and the number of concepts below it."""

    name: str
    below: int
    number: int | None
    type_number: int | None


def segments_below(reader: Reader, path: str, *, without: Collection[int] = ()) -> list[Segment]:
    """The parts directly below a path, by name; concepts of the types `without` do not count."""
    query = (
        "WITH part AS (SELECT id, type, substr(name, length(?1) + 2) AS rest FROM concept"
        " WHERE name > ?1 || '/' AND name < ?1 || '0'"
        " AND type NOT IN (SELECT value FROM json_each(?2))),"
        " cut AS (SELECT id, type, rest, instr(rest, '/') AS slash FROM part)"
        " SELECT CASE slash WHEN 0 THEN rest"
        " ELSE substr(rest, 1, CAST(slash - 1 AS INTEGER)) END AS segment,"
        " sum(CASE WHEN slash > 0 THEN 1 ELSE 0 END), min(CASE slash WHEN 0 THEN id END), min(CASE"
        " slash WHEN 0 THEN type END)"
        " FROM cut GROUP BY segment ORDER BY segment"
    )
    return list(map(Segment._make, reader.fetch_all(query, (path, json_array(without)))))


def has_any_of(reader: Reader, types: Collection[str]) -> bool:
    """True if the state has a concept of one of these types."""
    numbers = [number for name in types if (number := reader.find_type(name)) is not None]
    query = (
        f"{reader.tables_text}SELECT 1 FROM json_each(?) j"
        " CROSS JOIN concept c WHERE c.type = j.value LIMIT 1"
    )
    return bool(numbers) and reader.fetch_first(query, (json_array(numbers),)) is not None


def hidden_among(reader: Reader, numbers: Collection[int]) -> frozenset[int]:
    """The elements among these that are archived, or that are links at an archived element."""
    if not numbers or not reader.has_hidden():
        return frozenset()
    (test,) = reader.tables_of(ORDINARY).shown_tests("j.value")
    query = f"SELECT j.value FROM json_each(?) j WHERE NOT ({test})"
    return frozenset(reader.column(query, (json_array(numbers),)))


def core_concepts(reader: Reader) -> frozenset[int]:
    """The numbers of definitions and of all other concepts that the core capsules bring."""
    position = -1 if reader.is_writer else reader.position
    if reader.core_concepts is None or reader.core_concepts[0] != position or reader.is_writer:
        reader.core_concepts = (
            position,
            frozenset(reader.column(reader.tables_text + CORE_CONCEPTS)),
        )
    return reader.core_concepts[1]


def links_towards(reader: Reader, numbers: Collection[int], limit: int) -> dict[int, int]:
    """The number of links to each of these elements, counted up to a limit."""
    query = (
        f"{reader.tables_text}SELECT j.value, (SELECT count(*) FROM"
        " (SELECT 1 FROM proposition WHERE object = j.value LIMIT ?2) l) FROM json_each(?1) j"
    )
    rows = reader.fetch_all(query, (json_array(numbers), limit))
    return dict(rows)


def had_name(reader: Reader, number: int, name: str) -> bool:
    """True if a concept once had this name."""
    query = "SELECT 1 FROM concept_past WHERE id = ? AND name = ? LIMIT 1"
    return reader.fetch_first(query, (number, name)) is not None


def twins(
    reader: Reader,
    type_number: int,
    names: Collection[str],
    *,
    others: Collection[int | None] | None = None,
) -> list[tuple[int, int]]:
    """Pairs of concepts that share one of these names: one of the type, the other of a second type.

    With `others`, the second type is one of those.
    """
    bindings: tuple[Any, ...] = (type_number, text_array(names))
    among = ""
    if others is not None:
        among = " AND c.type IN (SELECT value FROM json_each(?3))"
        bindings += (json_array(filter(None, others)),)
    rows = reader.fetch_all(
        "SELECT m.id, min(c.id) FROM json_each(?2) j CROSS JOIN concept m"
        " CROSS JOIN concept c WHERE m.name = j.value AND m.type = ?1"
        f" AND c.name = m.name AND c.type <> ?1{among} GROUP BY m.id",
        bindings,
    )
    return [(one, other) for one, other in rows]


def types_named(reader: Reader, name: str, limit: int) -> list[int]:
    """The types, by number, of concepts with a name."""
    query = "SELECT type FROM concept WHERE name = ? LIMIT ?"
    return reader.column(query, (name, limit))


def names_of_type(reader: Reader, type_number: int | None, limit: int) -> list[str]:
    """Names of some concepts of a type, or of any type."""
    of_type = "" if type_number is None else "WHERE type = ?2"
    query = f"SELECT name FROM concept {of_type} LIMIT ?1"
    bindings = (limit,) if type_number is None else (limit, type_number)
    return reader.column(query, bindings)


def attributes_of_type(reader: Reader, type_number: int, limit: int) -> list[JsonObject]:
    """The attributes of some concepts of a type."""
    query = "SELECT attributes FROM concept WHERE type = ? LIMIT ?"
    return [parse_object(text) for (text,) in reader.fetch_all(query, (type_number, limit))]


def names_from(reader: Reader, beginning: str, type_number: int | None, limit: int) -> list[str]:
    """Names with a prefix, of one type or of all. The number is limited: the index has no types."""
    query = (
        "SELECT name FROM (SELECT name, type FROM concept WHERE name >= ?1 AND name < ?2 LIMIT ?3)"
        " n"
        # In this order, because the first use of a value sets its type.
        " WHERE type = ?4 OR ?4 IS NULL"
    )
    bindings = (beginning, beginning + _LAST_CHARACTER, limit, type_number)
    return reader.column(query, bindings)


def count_out(reader: Reader, subject: int, predicate: int) -> int:
    """The number of live links of a predicate that leave an element."""
    query = "SELECT count(*) FROM proposition WHERE subject = ? AND predicate = ?"
    return reader.count(query, (subject, predicate))


def links_with(reader: Reader, predicate: int, limit: int, condition: Condition = ALL) -> list[int]:
    """Some of the links with a predicate."""
    query = (
        f"{reader.tables_text}SELECT e.id FROM proposition e"
        f" WHERE e.predicate = :predicate{condition.sql}"
        " ORDER BY e.object, e.subject LIMIT :limit"
    )
    bindings = {"predicate": predicate, "limit": limit, **condition.bindings}
    return reader.column(query, bindings)


class Around(NamedTuple):
    """A link at an element."""

    link: int
    predicate: int
    other: int
    """The end of the link that is not the element."""


def links_around_each(
    reader: Reader, numbers: Collection[int], limit: int
) -> list[tuple[int, Around]]:
    """Links that leave or reach these elements, at most `limit` in each direction."""
    number_list = json_array(numbers)
    return [
        (number, Around(*row))
        for near, far in (("subject", "object"), ("object", "subject"))
        for number, *row in reader.fetch_all(
            f"SELECT given.value, p.id, p.predicate, p.{far} FROM json_each(?) given"
            f" CROSS JOIN proposition p WHERE p.{near} = given.value LIMIT ?",
            (number_list, limit),
        )
    ]


def links_around(
    reader: Reader, number: int, predicate: int | None, limit: int, condition: Condition = ALL
) -> list[Around]:
    """Some links that leave or reach an element; with a predicate, only its links."""
    kind = "" if predicate is None else "AND e.predicate = :predicate"
    bindings = {"number": number, "limit": limit, "predicate": predicate, **condition.bindings}
    return [
        Around(*row)
        for near, far in (("subject", "object"), ("object", "subject"))
        for row in reader.fetch_all(
            f"{reader.tables_text}SELECT e.id, e.predicate, e.{far} FROM proposition e"
            f" WHERE e.{near} = :number {kind}{condition.sql}"
            f" ORDER BY e.predicate, e.{far} LIMIT :limit",
            bindings,
        )
    ]


def links_after(
    reader: Reader,
    number: int,
    direction: Way,
    predicates: Collection[int] | None,
    after: tuple[int, int],
    limit: int,
    *,
    without: Collection[int] = (),
    time_us: int | None = None,
) -> list[tuple[int, int, int]]:
    """Links that leave (or reach) an element: each with its predicate and other end, in this order.

    The result begins after the predicate and other end that a caller saw last; (0, 0) comes before
    all. Links of the predicates in `without` are left out; with `time_us`, also those that do not
    hold at that time.
    """
    near, far = ("subject", "object") if direction == "out" else ("object", "subject")
    kind = "AND predicate NOT IN (SELECT value FROM json_each(?5))"
    bindings: Row = (number, *after, limit, json_array(without))
    if predicates is not None:
        kind += " AND predicate IN (SELECT value FROM json_each(?6))"
        bindings = (*bindings, json_array(predicates))
    tables = reader.tables_of(Visibility(include_archived=True, valid_at_us=time_us))
    kind += "".join(f" AND {test}" for test in tables.link_tests("p"))
    rows = reader.fetch_all(
        f"SELECT id, predicate, {far} FROM {tables.links('p')}"
        f" WHERE {near} = ?1 AND (predicate, {far}) > (?2, ?3) {kind}"
        f" ORDER BY predicate, {far} LIMIT ?4",
        bindings,
    )
    return [(link, predicate, other) for link, predicate, other in rows]


def links_between(
    reader: Reader, places: Collection[tuple[int, int, int]]
) -> dict[tuple[int, int, int], int]:
    """The numbers of the links with these subjects, predicates and objects."""
    rows = reader.fetch_all(
        f"{reader.tables_text}SELECT p.subject, p.predicate, p.object, p.id FROM json_each(?1) j"
        " CROSS JOIN proposition p WHERE p.subject = CAST(j.value ->> 0 AS BIGINT)"
        " AND p.predicate = CAST(j.value ->> 1 AS BIGINT)"
        " AND p.object = CAST(j.value ->> 2 AS BIGINT)",
        (json_rows(places),),
    )
    return {(subject, predicate, object_): link for subject, predicate, object_, link in rows}


def metadata_with_evidence(
    reader: Reader, places: Collection[tuple[int, int, int]]
) -> dict[tuple[int, int, int], JsonObject]:
    """The metadata of links with these places, for the links that have evidence."""
    rows = reader.fetch_all(
        f"{reader.tables_text}SELECT p.subject, p.predicate, p.object, p.metadata"
        " FROM json_each(?1) j CROSS JOIN proposition p"
        " WHERE p.subject = CAST(j.value ->> 0 AS BIGINT)"
        " AND p.predicate = CAST(j.value ->> 1 AS BIGINT)"
        " AND p.object = CAST(j.value ->> 2 AS BIGINT)"
        f" AND instr(p.metadata, '\"{EVIDENCE}\"') > 0",
        (json_rows(places),),
    )
    return {
        (subject, predicate, object_): parse_object(text)
        for subject, predicate, object_, text in rows
    }


def links_at_named(
    reader: Reader, beginnings: Mapping[int, str], after: int, limit: int
) -> list[int]:
    """Links that leave or reach concepts with a given type and beginning of the name.

    `beginnings` has the beginning for each type. The links come by number, after the last one seen.
    """
    tables = reader.tables
    at = (
        f"SELECT p.id FROM json_each(?1) j CROSS JOIN {tables.concepts('c')}"
        f" CROSS JOIN {tables.links('p')} WHERE c.type = CAST(j.value ->> 0 AS BIGINT)"
        " AND substr(c.name, 1, length(j.value ->> 1)) = j.value ->> 1"
        " AND p.{end} = c.id"
    )
    return reader.column(
        f"SELECT id FROM ({at.format(end='subject')} UNION {at.format(end='object')}) u"
        " WHERE id > ?2 ORDER BY id LIMIT ?3",
        (json_rows(beginnings.items()), after, limit),
    )


def links_to_named(
    reader: Reader, numbers: Collection[int], beginnings: Mapping[int, str]
) -> dict[int, int]:
    """The number of links from each of these elements to concepts as in `links_at_named`.

    Elements without such a link are left out.
    """
    tables = reader.tables
    rows: list[tuple[int, int]] = reader.fetch_all(
        f"SELECT p.subject, count(*) FROM json_each(?1) n CROSS JOIN {tables.links('p')}"
        f" CROSS JOIN {tables.concepts('c')} WHERE p.subject = n.value AND c.id = p.object"
        " AND EXISTS (SELECT 1 FROM json_each(?2) j WHERE c.type = CAST(j.value ->> 0 AS BIGINT)"
        " AND substr(c.name, 1, length(j.value ->> 1)) = j.value ->> 1) GROUP BY p.subject",
        (json_array(numbers), json_rows(beginnings.items())),
    )
    return dict(rows)


_EVER_ABOUT: Final = (
    "SELECT id FROM proposition WHERE subject = ?1"
    " UNION SELECT id FROM proposition WHERE object = ?1"
    " UNION SELECT id FROM proposition_past WHERE subject = ?1"
    " UNION SELECT id FROM proposition_past WHERE object = ?1 ORDER BY id"
)


def ever_about(reader: Reader, number: int) -> list[int]:
    """The links, live or past, that have or had an element as an end."""
    return reader.column(_EVER_ABOUT, (number,))
