"""Reads rows of a state in bulk: contents of concepts, and their links.

Rows, not elements: types and predicates are numbers, attributes and metadata are canonical JSON.
Every function reads the state of its reader, the live one or one of the past.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, NamedTuple

from mycel.store.file.layout import SUBJECT_SIDE
from mycel.store.file.rows import Row, json_array, text_array
from mycel.store.query.reader import Reader

_CONCEPT: Final = "e.id, e.type, e.name, e.attributes, e.metadata"
_LINK: Final = (
    "e.id, e.subject, e.predicate, e.object, e.weight, e.attributes, e.metadata, e.version"
)


class StoredConcept(NamedTuple):
    number: int
    type: int
    name: str
    attributes: str
    metadata: str


StoredLink = tuple[int, int, int, int, float, str, str, int]
"""A link as it is stored.

Number, subject, predicate, object, weight, attributes, metadata and version. It is a plain tuple,
because links are read by the million.
"""


def page(reader: Reader, after: int, limit: int) -> list[StoredConcept]:
    """Concepts by number, after the last one that the caller has seen."""
    query = _select(reader, "concept", _CONCEPT, "", "e.id > ?1") + " ORDER BY 1 LIMIT ?2"
    return list(map(StoredConcept._make, reader.fetch_all(query, (after, limit))))


def concepts(reader: Reader, numbers: Collection[int]) -> list[StoredConcept]:
    """The concepts with these numbers."""
    return list(map(StoredConcept._make, _among(reader, "concept", _CONCEPT, "id", numbers)))


def concepts_named(reader: Reader, names: Collection[str]) -> list[StoredConcept]:
    """The concepts with these names, of any type."""
    return list(map(StoredConcept._make, _among(reader, "concept", _CONCEPT, "name", names)))


def names(reader: Reader, numbers: Collection[int]) -> list[tuple[int, int, str]]:
    """Number, type and name of these concepts."""
    rows = _among(reader, "concept", "e.id, e.type, e.name", "id", numbers)
    return [(number, kind, name) for number, kind, name in rows]


def links(reader: Reader, numbers: Collection[int]) -> list[StoredLink]:
    """The links with these numbers."""
    rows: list[StoredLink] = _among(reader, "proposition", _LINK, "id", numbers)
    return rows


def links_leaving(reader: Reader, numbers: Collection[int]) -> list[StoredLink]:
    """The links that leave these elements."""
    rows: list[StoredLink] = _among(reader, "proposition", _LINK, "subject", numbers)
    return rows


def subjects_linked_to(reader: Reader, numbers: Collection[int]) -> set[int]:
    """The subjects of the links to these elements."""
    return {subject for (subject,) in _among(reader, "proposition", "e.subject", "object", numbers)}


def shared_names(reader: Reader) -> list[str]:
    """The names that several concepts of different types have."""
    query = (
        _select(reader, "concept", "e.name", "", "TRUE") + " GROUP BY e.name HAVING count(*) > 1"
    )
    return reader.column(query)


def has_links_on_links(reader: Reader) -> bool:
    """True if a link is, or once was, the subject of another one."""
    query = "SELECT 1 FROM link_end WHERE side = ? LIMIT 1"
    return reader.fetch_first(query, (SUBJECT_SIDE,)) is not None


def _among(
    reader: Reader, table: str, columns: str, key: str, values: Collection[Any]
) -> list[Row]:
    """A condition that the column `key` of a table has one of these values."""
    query = _select(reader, table, columns, "json_each(?1) j CROSS JOIN ", f"e.{key} = j.value")
    return reader.fetch_all(query, (text_array(values) if key == "name" else json_array(values),))


def _select(reader: Reader, table: str, columns: str, joined: str, where: str) -> str:
    return f"{reader.tables_text}SELECT {columns} FROM {joined}{table} e WHERE {where}"
