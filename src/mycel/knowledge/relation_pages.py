"""Reads pages of the relations of a node, in the order in which a reader needs them.

    1  relations of notes: about, supersedes, and every relation type that somebody defined
    2  references, depends_on, tagged: written by people and by a bootstrap
    3  relations of the code: defines, calls, imports
    4  may_call: guesses

Within each group, outgoing relations come before incoming ones; then the order is by relation type
and other end. The relation type determines the group, so a cursor only names the last relation.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from mycel.errors import InvalidSyntax
from mycel.knowledge.node_lookup import as_relation
from mycel.knowledge.node_values import Page, Relation
from mycel.knowledge.vocabulary import DEPENDS_ON, MAY_CALL, REFERENCES, RELATIONS, TAGGED
from mycel.model.directions import Direction, Way, ways_of
from mycel.model.elements import Concept
from mycel.model.names import shorten
from mycel.store.query import lookup
from mycel.store.query.reader import Reader

_SHARED: Final = (REFERENCES, DEPENDS_ON, TAGGED)
_GUESSED: Final = (MAY_CALL,)
_READ: Final = tuple(RELATIONS.keys() - {*_SHARED, *_GUESSED})


class LinkPlace(NamedTuple):
    """A link of a node: its direction, number, predicate and other end."""

    way: Way
    link: int
    predicate: int
    other: int


def links_page(
    reader: Reader,
    number: int,
    direction: Direction,
    predicates: Collection[int] | None,
    limit: int,
    cursor: str | None,
    *,
    time_us: int | None = None,
) -> Page[LinkPlace]:
    """A page of the links of an element: links of notes first, guesses last.

    With `time_us`, only links that hold at that time.
    """
    ways = ways_of(direction)
    last = _read_cursor(cursor, ways)
    groups = _predicate_groups(reader, predicates)
    places: list[LinkPlace] = []
    for group in groups:
        if last is not None and not group.has(last.predicate):
            continue
        for way in ways if last is None else ways[ways.index(last.way) :]:
            since = (0, 0) if last is None else (last.predicate, last.other)
            last = None
            room = limit + 1 - len(places)
            if room and not group.is_empty:
                rows = lookup.links_after(
                    reader,
                    number,
                    way,
                    group.predicates,
                    since,
                    room,
                    without=group.without,
                    time_us=time_us,
                )
                places += [LinkPlace(way, *row) for row in rows]
    if len(places) <= limit:
        return Page(tuple(places))
    way, _, predicate, other = places[limit - 1]
    return Page(tuple(places[:limit]), f"{way}.{predicate}.{other}")


class _PredicateGroup(NamedTuple):
    """The predicates of a group: some predicates, or all `without` those of the other groups."""

    predicates: frozenset[int] | None
    without: frozenset[int] = frozenset()

    @property
    def is_empty(self) -> bool:
        return self.predicates is not None and not self.predicates

    def has(self, predicate: int) -> bool:
        """True if a predicate belongs to this group."""
        return predicate in (self.predicates or ()) or (
            self.predicates is None and predicate not in self.without
        )


def _predicate_groups(
    reader: Reader, predicates: Collection[int] | None
) -> tuple[_PredicateGroup, ...]:
    """The groups of predicates, in order; with `predicates`, reduced to these."""
    grouped = [
        frozenset(
            predicate for name in names if (predicate := reader.find_predicate(name)) is not None
        )
        for names in (_SHARED, _READ, _GUESSED)
    ]
    others = frozenset[int]().union(*grouped)
    if predicates is None:
        return (_PredicateGroup(None, others), *map(_PredicateGroup, grouped))
    allowed = frozenset(predicates)
    return tuple(
        _PredicateGroup(group) for group in (allowed - others, *(allowed & k for k in grouped))
    )


def relations_page(
    reader: Reader,
    node: Concept,
    direction: Direction,
    relation_types: Collection[str] | None,
    limit: int,
    cursor: str | None,
    *,
    time_us: int | None = None,
) -> Page[Relation]:
    """A page of the relations of a node: relations of notes first, guesses last.

    With `time_us`, only relations that hold at that time.
    """
    predicates = None
    if relation_types is not None:
        predicates = [reader.predicate_number(name) for name in relation_types]
    page = links_page(reader, node.number, direction, predicates, limit, cursor, time_us=time_us)
    items = tuple(
        as_relation(reader, link, node)
        for place in page
        if (link := reader.link(place.link)) is not None
    )
    return Page(items, page.next_cursor)


def _read_cursor(cursor: object, ways: tuple[Way, ...]) -> LinkPlace | None:
    """The last link of the page before, without its number."""
    if cursor is None:
        return None
    parts = cursor.split(".") if isinstance(cursor, str) else []
    for way in ways:
        if len(parts) == 3 and parts[0] == way and all(is_number(part) for part in parts[1:]):
            return LinkPlace(way, 0, int(parts[1]), int(parts[2]))
    raise bad_cursor(cursor)


def is_number(text: object) -> bool:
    """True if a text from a cursor is a number."""
    return isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) < 19


def bad_cursor(cursor: object) -> InvalidSyntax:
    """The error for a cursor that belongs to another query."""
    return InvalidSyntax(
        f"{shorten(repr(cursor))} is no cursor of this query.",
        hint="Pass next_cursor of the page before, with the same arguments, or none.",
    )
