"""Warnings about open conflicts of merges at the elements that a result shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, Final

from mycel.engine.result import Result
from mycel.errors import InvalidId, MycelError
from mycel.model import ids
from mycel.store.database import Store
from mycel.store.query import merges

WIRE_TYPES: Final = ("ConceptNode", "PropositionLink")
"""The `_type` of whole elements in results."""
CONFLICTS_TOLD_MAX: Final = 20
"""The maximum number of conflicts that the warnings of one result name."""


def conflict_warnings(store: Store, result: Result) -> tuple[str, ...]:
    """A sentence for each undecided conflict at the whole elements of a result."""
    try:
        with store.lending() as reader:
            if not merges.may_have_conflicts(reader) or not merges.count_undecided(reader):
                return ()
            value = result.value
            if not isinstance(value, list):
                return ()
            conflicts = merges.open_conflicts(reader, set(_whole_elements(value)))
    except MycelError:  # The store is closed or busy. The result is valid without warnings.
        return ()
    undecided = (conflict for some in conflicts.values() for conflict in some)
    return tuple(
        f"{place(conflict)}: an open conflict, {conflict['id']} of the merge {conflict['merge']}."
        for conflict in islice(undecided, CONFLICTS_TOLD_MAX)
    )


def place(conflict: Mapping[str, Any]) -> str:
    """The element of a conflict, and the value in it."""
    where = ".".join((*filter(None, (conflict.get("field", ""),)), *conflict.get("path", ())))
    return f"{conflict['label']}, {where}" if where else str(conflict["label"])


def _whole_elements(rows: Sequence[Any]) -> Iterator[int]:
    """The numbers of the whole elements in the rows of a result."""
    for row in rows:
        for cell in row if isinstance(row, list) else (row,):
            if not isinstance(cell, dict):
                continue
            # TRAVERSE nests elements in its results.
            element = cell.get("node", cell) if "_type" not in cell else cell
            if isinstance(element, dict) and element.get("_type") in WIRE_TYPES:
                with suppress(InvalidId):  # This value of an attribute only looks like an element.
                    yield ids.parse_id(element.get("id"))
