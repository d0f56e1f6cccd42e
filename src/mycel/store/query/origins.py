"""Origins of values: the time and actor of the write itself, through any number of merges.

A merge is one commit, and its actor is whoever merged. For each element that it changes, the merge
keeps the origins of the values from its source (`log.merges`), even if the source is deleted later.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from mycel.model.elements import Element
from mycel.store.file.rows import json_array
from mycel.store.log import merges
from mycel.store.log.journal import Kind
from mycel.store.query.history import value_since
from mycel.store.query.reader import Reader

EVERYWHERE = ""
"""The place of an origin that holds for all values that a merge took from its source."""


class Origin(NamedTuple):
    """The time and actor of the commit that gave a value to an element."""

    time_us: int
    actor: str


UNKNOWN_ORIGIN = Origin(0, "")


def origin_of(reader: Reader, number: int, place: str, read: Callable[[Element], object]) -> Origin:
    """The origin of the value at a place of an element. `read` returns the value in a version."""
    entry = value_since(reader, number, read)
    return UNKNOWN_ORIGIN if entry is None else written_by(reader, number, entry, place)


def written_by(reader: Reader, number: int, entry: int, place: str) -> Origin:
    """The origin of a value that an entry wrote."""
    seq, time_us, actor = reader.fetch_one(
        "SELECT seq, time, actor FROM tx WHERE seq >= ? ORDER BY seq LIMIT 1", (entry,)
    )
    if merges.have_origins(reader.connection):
        first = reader.fetch_first(
            "SELECT time, actor FROM merge_origin WHERE number = ? AND seq = ? AND place IN (?, ?)"
            " ORDER BY place DESC LIMIT 1",
            (number, seq, EVERYWHERE, place),
        )
        if first is not None:
            return Origin(*first)
    return Origin(time_us, reader.registry.actors.name(reader.connection, actor))


def written_once(reader: Reader, numbers: Iterable[int], after: int) -> Mapping[int, Origin]:
    """The origins of elements that only one entry has written since a given entry.

    Elements whose entry belongs to a merge with several kinds of origins are left out.
    """
    distinct = {*numbers}
    entries: dict[int, int] = {}
    several: set[int] = set()
    query = "SELECT seq, element FROM journal WHERE seq > ? AND seq <= ? AND kind NOT IN (?, ?)"
    for seq, element in reader.fetch_all(query, (after, reader.position, Kind.PURGE, Kind.MARK)):
        if element in distinct and entries.setdefault(element, seq) != seq:
            several.add(element)
    once = {element: seq for element, seq in entries.items() if element not in several}
    written = reader.fetch_all(
        "SELECT seq, time, actor FROM tx WHERE seq > ? ORDER BY seq", (after,)
    )
    ends = [seq for seq, _, _ in written]
    merge_origins = _merge_origins(reader, once)
    by_element: dict[int, Origin] = {}
    for element, entry in once.items():
        seq, time_us, actor = written[bisect_left(ends, entry)]
        origins = merge_origins.get((element, seq))
        if origins is None:
            by_element[element] = Origin(
                time_us, reader.registry.actors.name(reader.connection, actor)
            )
        elif origins.keys() == {EVERYWHERE}:
            by_element[element] = origins[EVERYWHERE]
    return by_element


def _merge_origins(
    reader: Reader, numbers: Iterable[int]
) -> Mapping[tuple[int, int], Mapping[str, Origin]]:
    """The origins that merges have kept, by element and merge."""
    by_version: dict[tuple[int, int], dict[str, Origin]] = {}
    if merges.have_origins(reader.connection):
        query = (
            "SELECT number, seq, place, time, actor FROM json_each(?) AS wanted"
            " CROSS JOIN merge_origin WHERE number = wanted.value"
        )
        for number, seq, place, time_us, actor in reader.fetch_all(query, (json_array(numbers),)):
            by_version.setdefault((number, seq), {})[place] = Origin(time_us, actor)
    return by_version
