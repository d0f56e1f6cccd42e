"""The whole graph in outline: every concept and link by number, and what changed since a moment.

It is for counts over the whole graph that are kept in memory and follow the journal.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mycel.model.state import Visibility
from mycel.store.file.rows import json_array
from mycel.store.log.journal import Kind, newest
from mycel.store.query.reader import Reader

if TYPE_CHECKING:
    from numpy.typing import NDArray

READABLE_NAME: Final = (
    "CASE json_type({c}.attributes, '$.name') WHEN 'text' THEN {c}.attributes ->> '$.name' END"
)
"""The readable name of a concept, where it has one."""
_CONCEPT: Final = f"c.id, c.type, c.name, {READABLE_NAME.format(c='c')}"


class ConceptLine(NamedTuple):
    """A concept: its number, type, name, and readable name."""

    number: int
    type: int
    name: str
    label: str | None


class LinkLine(NamedTuple):
    """A link: its number, ends and predicate."""

    number: int
    subject: int
    predicate: int
    object: int


class ChangedElements(NamedTuple):
    """The elements that changed between two positions of the journal."""

    position: int
    concepts: frozenset[int]
    links: frozenset[int]


def purges(reader: Reader) -> int:
    """The number of purges so far. Data derived before the last purge may hold purged content."""
    return reader.count("SELECT count(*) FROM journal WHERE kind = 6")


def links_end(reader: Reader) -> int:
    """The number of the next new link."""
    (number,) = newest(reader.connection, "next_proposition")
    return int(number)


def concepts(reader: Reader) -> Iterator[ConceptLine]:
    """All concepts of a state."""
    query = f"SELECT {_CONCEPT} FROM {reader.tables.concepts('c')}"
    return map(ConceptLine._make, reader.execute(query))


def links(reader: Reader) -> Iterator[tuple[int, int, int]]:
    """Subject, predicate and object of all links of a state."""
    return reader.execute(
        f"SELECT p.subject, p.predicate, p.object FROM {reader.tables.links('p')}"
    )


def link_columns(reader: Reader) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Subjects, predicates and objects of all links of a state, as arrays.

    The database writes each column as one text; rows would take four times as long.
    """
    import numpy as np  # noqa: PLC0415 - only those who need it wait for it

    source = reader.tables.links("p")
    columns = ("p.subject", "p.predicate", "p.object")
    listed_columns = ", ".join(f"string_agg(CAST({column} AS text), ',')" for column in columns)
    (texts,) = reader.execute(f"SELECT {listed_columns} FROM {source}")
    subjects, predicates, objects = (np.fromstring(text or "", np.int64, sep=",") for text in texts)
    return subjects, predicates, objects


def changes_since(reader: Reader, since: int) -> ChangedElements | None:
    """The elements that changed after a position; None if a purge hides some of them."""
    until = reader.position
    query = "SELECT kind, element FROM journal WHERE seq > ? AND seq <= ?"
    by_kind: tuple[set[int], set[int]] = (set(), set())
    for kind, element in reader.execute(query, (since, until)):
        if kind == Kind.PURGE:
            return None
        if kind != Kind.MARK:
            by_kind[element & 1].add(element)
    return ChangedElements(until, frozenset(by_kind[0]), frozenset(by_kind[1]))


def concepts_among(reader: Reader, numbers: Collection[int]) -> list[ConceptLine]:
    """The concepts among these that are part of a state."""
    source = reader.tables.concepts("c")
    query = f"SELECT {_CONCEPT} FROM json_each(?) j CROSS JOIN {source} WHERE c.id = j.value"
    return list(map(ConceptLine._make, reader.fetch_all(query, (json_array(numbers),))))


def links_among(reader: Reader, numbers: Collection[int]) -> list[LinkLine]:
    """The links among these that are part of a state."""
    return _links(reader, ("id",), numbers)


def holding(reader: Reader, numbers: Collection[int], time_us: int) -> set[int]:
    """The elements among these that are part of a state and hold at a time, even if archived."""
    tables = reader.tables_of(Visibility(include_archived=True, valid_at_us=time_us))
    queries = (
        f"SELECT e.id FROM json_each(?1) j CROSS JOIN {source}"
        f" WHERE e.id = j.value AND {' AND '.join(tests)}"
        for source, tests in (
            (tables.concepts("e"), tables.concept_tests("e")),
            (tables.links("e"), tables.link_tests("e")),
        )
    )
    return set(reader.column(" UNION ALL ".join(queries), (json_array(numbers),)))


def links_at(reader: Reader, numbers: Collection[int]) -> list[LinkLine]:
    """The links of a state that leave or reach one of these elements."""
    return _links(reader, ("subject", "object"), numbers)


def _links(reader: Reader, columns: Sequence[str], numbers: Collection[int]) -> list[LinkLine]:
    """The links with one of these numbers in one of the columns."""
    query = " UNION ".join(
        "SELECT p.id, p.subject, p.predicate, p.object"
        f" FROM json_each(?1) j CROSS JOIN {reader.tables.links('p')} WHERE p.{column} = j.value"
        for column in columns
    )
    return list(map(LinkLine._make, reader.fetch_all(query, (json_array(numbers),))))
