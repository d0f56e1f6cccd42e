"""Warnings about open conflicts of merges at elements that a command shows or writes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mycel.cli.console.context import Invocation
from mycel.engine.conflict_warnings import place

if TYPE_CHECKING:
    from mycel.api.graph import Graph


def warn_conflicts(session: Invocation, db: Graph, elements: Iterable[str]) -> None:
    """Print a warning for each open conflict at elements, which are given by their ids."""
    from mycel.model import ids
    from mycel.store.query.merges import open_conflicts

    with db.reading() as reader:
        by_element = open_conflicts(reader, {ids.parse_id(element) for element in elements})
    session.out.warn(
        f"In conflict: {place(conflict)}. `mycel conflicts {conflict['id']}` shows the versions."
        for conflicts in by_element.values()
        for conflict in conflicts
    )
