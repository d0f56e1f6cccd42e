"""Gives new natural keys to the links on elements whose own keys change.

The key of a concept is made from type and name, that of a link from its predicate and the keys of
its ends. When an element moves (another name, other ends), every link on it gets another key, and
so do the links about those links, both live ones and tombstones. Nothing else about these links
changes. Each gets an entry of its own, with the record before and the record with the new keys. The
present keys can always be computed from the present state.

There are three steps, in this order. `hanging_on` finds the links. `uproot` removes their leaves
from the state trees, while their old keys can still be computed. `settle` gives each its entry and
its new leaf, once the elements at its ends have theirs. All leaves are removed before any is added,
because the old key of one element may be the new key of another.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple, Protocol

from mycel.errors import DatabaseCorrupt
from mycel.model import ids
from mycel.model.records import concept_key, link_key, with_ends
from mycel.store.file.layout import OPEN_END
from mycel.store.file.rows import fetch_all, fetch_one, json_array
from mycel.store.log.journal import Kind
from mycel.store.log.topological import all_about, inside_out
from mycel.store.write.bitset import LinkSet
from mycel.store.write.ledger import Ledger

CHUNK_LINKS: Final = 2000
"""The number of links that are read together."""

_TABLES: Final = (
    ("proposition", "seq", 1, ""),
    ("proposition_past", "from_seq", 0, f" AND to_seq = {OPEN_END}"),
)
"""The tables of live links and of tombstones."""
_HANGING: Final = " UNION ALL ".join(
    f"SELECT id FROM {table} WHERE {end} = ?1{current}"
    for table, _, _, current in _TABLES
    for end in ("subject", "object")
)
_LINKS: Final = " UNION ALL ".join(
    f"SELECT p.id, subject, predicate, object, {seq}, {live} FROM json_each(?1) j"
    f" CROSS JOIN {table} p WHERE p.id = j.value{current}"
    for table, seq, live, current in _TABLES
)
_CONCEPT_IDENTITY: Final = (
    f"SELECT type, name FROM concept_past WHERE id = ? AND to_seq = {OPEN_END}"
)
_LINK_IDENTITY: Final = (
    f"SELECT subject, predicate, object FROM proposition_past WHERE id = ? AND to_seq = {OPEN_END}"
)
_SAME_TOMBSTONE: Final = (
    "INSERT INTO proposition_past SELECT id, subject, predicate, object, weight, attributes,"
    " metadata, version, ?2, created_at, created_by, updated_at,"
    f" {OPEN_END}, tombstoned_at, tombstoned_by, tombstoned_reason"
    " FROM proposition_past WHERE id = ?1 AND to_seq = ?2"
)


class Waiting(Protocol):
    """The links that have left their leaves and wait for their new keys."""

    def __contains__(self, number: object, /) -> bool: ...

    def __iter__(self) -> Iterator[int]: ...


class _Link(NamedTuple):
    """A link on an element that has moved."""

    number: int
    subject: int
    predicate: int
    object: int
    seq: int
    """The entry that wrote its present record."""
    is_live: bool
    """True for a live link, False for a tombstone in force."""


def hanging_on(
    ledger: Ledger, numbers: Iterable[int], except_for: Container[int] = ()
) -> dict[int, None]:
    """The links on these elements, the links about those, and so on, except links already found."""

    def hanging(number: int) -> Iterable[int]:
        return ledger.reader.column(_HANGING, (number,))

    return dict.fromkeys(all_about(numbers, hanging, except_for))


def uproot(ledger: Ledger, numbers: Collection[int]) -> None:
    """Remove the leaves of elements whose keys are about to change, and forget the keys."""
    for number in numbers:
        tree = ledger.changes["concepts" if ids.is_concept(number) else "edges"]
        tree.set(present_key(ledger, number), None)
    for number in numbers:
        ledger.memory.forget_element(number)


def settle(ledger: Ledger, waiting: Waiting) -> None:
    """Give each link its entry, and its leaf under the new key.

    Only the numbers of the links are kept in memory: there may be millions.
    """
    finished = LinkSet()
    numbers = iter(waiting)
    while chunk := list(islice(numbers, CHUNK_LINKS)):
        links = _links(ledger, chunk)
        for number in chunk:
            for link in _ends_first(ledger, number, links, waiting, finished):
                _settle(ledger, link)
                finished.add(link.number)


def _settle(ledger: Ledger, link: _Link) -> None:
    subject, object_ = (present_key(ledger, end) for end in (link.subject, link.object))
    key = link_key(subject, _predicate(ledger, link.predicate), object_)
    before = ledger.record_at(link.seq)
    if before is None:
        raise DatabaseCorrupt(f"The journal has no entry {link.seq}.")
    number, record = link.number, with_ends(before, link.predicate, subject, object_)
    seq = ledger.append(Kind.RELINK_EDGE, number, before, record, "edges", key)
    if link.is_live:
        ledger.supersede("proposition", number, seq)
        ledger.write("UPDATE proposition SET seq = ? WHERE id = ?", (seq, number))
    else:
        ledger.end_tombstone("proposition", number, seq)
        ledger.write(_SAME_TOMBSTONE, (number, seq))


def _links(ledger: Ledger, numbers: list[int]) -> dict[int, _Link]:
    rows = fetch_all(ledger.connection, _LINKS, (json_array(numbers),))
    return {row[0]: _Link(*row) for row in rows}


def _ends_first(
    ledger: Ledger, number: int, links: dict[int, _Link], waiting: Waiting, finished: Container[int]
) -> Iterator[_Link]:
    """Yield a link after the waiting links among its ends; finished links are left out."""

    def needs(link: int) -> list[int]:
        if link not in links:
            links.update(_links(ledger, [link]))
        ends = (links[link].subject, links[link].object)
        return [end for end in ends if end & 1 and end in waiting and end not in finished]

    if number not in finished:
        for link in inside_out(number, needs):
            yield links[link]


def present_key(ledger: Ledger, number: int) -> bytes:
    """The natural key of an element that is live or whose tombstone is in force."""
    key = ledger.find_key(number)
    if key is not None:
        return key
    if ids.is_concept(number):
        type_number, name = fetch_one(ledger.connection, _CONCEPT_IDENTITY, (number,))
        return concept_key(ledger.registry.types.name(ledger.connection, type_number), name)
    subject, predicate, object_ = fetch_one(ledger.connection, _LINK_IDENTITY, (number,))
    ends = present_key(ledger, subject), present_key(ledger, object_)
    return link_key(ends[0], _predicate(ledger, predicate), ends[1])


def _predicate(ledger: Ledger, number: int) -> str:
    return ledger.registry.predicates.name(ledger.connection, number)
