"""Concepts of some types, and the links between them.

The queries give rows and not elements: a caller that shows thousands of concepts needs only names
and attributes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final, NamedTuple

import orjson

from mycel.store.file.layout import PROPOSITION_TYPE_NUMBER
from mycel.store.file.rows import Row, json_array, text_array
from mycel.store.query.reader import Reader


class Member(NamedTuple):
    """A concept of one of the types."""

    number: int
    name: str
    attributes: str
    """The attributes as JSON."""
    created_us: int
    type_number: int


_COLUMNS: Final = "c.id, c.name, c.attributes, c.created_at, c.type"
_LINKS: Final = (
    "SELECT p.created_at AS at, p.id, s.name AS subject, p.predicate, o.name AS object"
    " FROM json_each(?1) j CROSS JOIN proposition p CROSS JOIN concept s CROSS JOIN concept o"
    " WHERE p.{near} = j.value AND s.id = p.subject AND s.type IN ({types})"
    " AND o.id = p.object AND o.type IN ({types})"
)


def _types(type_numbers: Collection[int]) -> str:
    return ", ".join(map(str, sorted(type_numbers))) or "NULL"


def page(reader: Reader, type_numbers: Collection[int], after: int, limit: int) -> list[Member]:
    """Some concepts of the types, by number, after the last one that the caller has seen."""
    query = (
        f"SELECT {_COLUMNS} FROM concept c WHERE type IN ({_types(type_numbers)}) AND id > ?"
        " ORDER BY id LIMIT ?"
    )
    return list(map(Member._make, reader.fetch_all(query, (after, limit))))


def find_by_name(
    reader: Reader, type_numbers: Collection[int], names: Collection[str]
) -> list[Member]:
    """Each concept of the types that has one of these names, once."""
    query = (
        f"SELECT {_COLUMNS} FROM json_each(?1) j CROSS JOIN concept c WHERE c.name = j.value"
        f" AND c.type IN ({_types(type_numbers)})"
    )
    return list(map(Member._make, reader.fetch_all(query, (text_array(set(names)),))))


def containing(reader: Reader, type_numbers: Collection[int], text: str) -> Iterator[Member]:
    """The concepts of the types that may hold a text in lower case, by number, one at a time.

    SQLite reads all concepts: 13 ms for 10,000. It ignores case only for ASCII letters. For a text
    with other letters, every concept is returned and the caller compares.
    """
    query = f"SELECT {_COLUMNS} FROM concept c WHERE type IN ({_types(type_numbers)})"
    bindings: Row = ()
    if text.isascii():
        query += " AND (instr(lower(name), ?1) > 0 OR instr(lower(attributes), ?2) > 0)"
        bindings = (text, orjson.dumps(text).decode()[1:-1])
    for row in reader.connection.execute(f"{query} ORDER BY id", bindings):
        yield Member(*row)


def links(
    reader: Reader,
    type_numbers: Collection[int],
    numbers: Collection[int],
    *,
    both_ways: bool,
) -> list[list[Any]]:
    """The links from these concepts to others of the types, in order of creation.

    With `both_ways`, also the links to these concepts. Each link is a list: time of creation,
    number, name of the subject, number of the predicate, name of the object. The lists come as one
    JSON text: as rows, tens of thousands would take half as long again.
    """
    types = _types(type_numbers)
    query = _LINKS.format(near="subject", types=types)
    if both_ways:
        query = f"{query} UNION {_LINKS.format(near='object', types=types)}"
    (text,) = reader.fetch_one(
        reader.dialect.rows_text("at, id, subject, predicate, object", query),
        (json_array(numbers),),
    )
    rows: list[list[Any]] = orjson.loads(text)
    rows.sort()
    return rows


def predicate_names(reader: Reader, numbers: Collection[int], said_as: str) -> dict[int, str]:
    """The display names of predicates: the attribute `said_as` of the definition, or its name."""
    query = (
        "SELECT r.id, coalesce(d.attributes ->> ?2, r.name)"
        " FROM json_each(?1) j CROSS JOIN predicate r"
        f" LEFT JOIN concept d ON d.name = r.name AND d.type = {PROPOSITION_TYPE_NUMBER}"
        " WHERE r.id = j.value"
    )
    bindings = (json_array(numbers), f"$.{said_as}")
    return dict(reader.fetch_all(query, bindings))
