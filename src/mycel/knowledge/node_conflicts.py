"""Adds open conflicts of merges to nodes and relations that are read or written.

A merge that waits for decisions has conflicts at elements of the graph. A call that reads, changes
or reaches such an element gets the conflict, with the versions to choose from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from mycel.engine.conflict_warnings import place
from mycel.knowledge.node_values import Node, Relation
from mycel.model import ids
from mycel.store.query.merges import may_have_conflicts, open_conflicts
from mycel.store.query.reader import Reader

ElementT = TypeVar("ElementT", Node, Relation, Node | Relation)


def with_conflicts(reader: Reader, elements: Sequence[ElementT]) -> list[ElementT]:
    """Nodes and relations, each with its open conflicts."""
    if not may_have_conflicts(reader):
        return list(elements)
    numbers = [ids.parse_id(element.id) for element in elements]
    conflicts = open_conflicts(reader, numbers)
    return [
        replace(element, conflicts=tuple(conflicts[number])) if number in conflicts else element
        for number, element in zip(numbers, elements, strict=True)
    ]


def conflict_warnings(reader: Reader, names: Mapping[str, str]) -> list[str]:
    """A sentence for each open conflict at written elements; `names` has their URIs by id."""
    uris = {ids.parse_id(id_): uri for id_, uri in names.items()}
    return [
        f"{uris[number]} has an open conflict, {conflict['id']} of the merge {conflict['merge']}:"
        f" {place(conflict)}. The conflict still has to be decided."
        for number, conflicts in open_conflicts(reader, uris).items()
        for conflict in conflicts
    ]
