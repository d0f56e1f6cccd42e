"""Open conflicts of merges at the nodes and relations that are read or written.

A merge that waits for decisions has conflicts at elements of the graph. Whoever reads, changes or
reaches such an element is told, with the versions to choose from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from mycel.history.conflict_text import place
from mycel.knowledge.node_values import Node, Relation
from mycel.model import ids
from mycel.model.values import JsonObject
from mycel.store.query.merges import may_have_conflicts, open_conflicts
from mycel.store.query.reader import Reader

Found = TypeVar("Found", Node, Relation, Node | Relation)


def undecided(reader: Reader, numbers: Sequence[int]) -> dict[int, tuple[JsonObject, ...]]:
    """The conflicts that nobody has decided about, by the number of their element."""
    return _undecided(reader, numbers) if may_have_conflicts(reader) else {}


def with_conflicts(reader: Reader, found: Sequence[Found]) -> list[Found]:
    """Nodes and relations, each with the open conflicts that it is part of."""
    if not may_have_conflicts(reader):
        return list(found)
    numbers = [ids.parse_id(each.id) for each in found]
    known = _undecided(reader, numbers)
    if not known:
        return list(found)
    return [
        replace(each, conflicts=known[number]) if number in known else each
        for number, each in zip(numbers, found, strict=True)
    ]


def conflict_warnings(reader: Reader, names: Mapping[str, str]) -> list[str]:
    """A sentence for each open conflict at elements that were written; `names` has URIs by id."""
    known = _undecided(reader, [ids.parse_id(each) for each in names])
    uris = {ids.parse_id(id_): uri for id_, uri in names.items()}
    return [
        f"{uris[number]} has an open conflict, {told['id']} of the merge {told['merge']}:"
        f" {place(told)}. It has to be decided all the same."
        for number, conflicts in known.items()
        for told in conflicts
    ]


def _undecided(reader: Reader, numbers: Sequence[int]) -> dict[int, tuple[JsonObject, ...]]:
    found = {
        number: tuple(each for each in conflicts if not each.get("resolution"))
        for number, conflicts in open_conflicts(reader, numbers).items()
    }
    return {number: conflicts for number, conflicts in found.items() if conflicts}
