"""What every source becomes: rows for nodes, and rows for edges."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from mycel.model.values import JsonObject
from mycel.transfer.load_targets import EdgeTarget, NodeTarget

End: TypeAlias = tuple[str, str] | tuple[str, "End", "End"]
"""What an edge joins, by identity: type and name of a concept, or predicate and ends of a link."""


class NodeRow(NamedTuple):
    """A concept to load."""

    line: int
    target: NodeTarget
    name: str
    attributes: JsonObject
    metadata: JsonObject | None = None


class EdgeRow(NamedTuple):
    """A link to load."""

    line: int
    target: EdgeTarget
    subject: End
    object: End
    attributes: JsonObject
    metadata: JsonObject | None = None
    weight: float | None = None


Row: TypeAlias = NodeRow | EdgeRow


def end_shown(end: End) -> str:
    """An end for a message.

    >>> end_shown(("Person", "ada"))
    "Person 'ada'"
    """
    if len(end) == 2:
        return f"{end[0]} {end[1]!r}"
    return f"the link {end[0]!r} from {end_shown(end[1])} to {end_shown(end[2])}"
