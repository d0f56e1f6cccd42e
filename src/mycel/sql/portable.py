"""SQL that is the same in both dialects. It calls functions that each backend provides.

SQL in which the databases differ is in a dialect (`dialect`).
"""

from __future__ import annotations

from typing import Final

JOIN_IN_ORDER: Final = " CROSS JOIN "
"""A join that the database runs in the order in which it is written."""

KEPT: Final = "MATERIALIZED"
INLINE: Final = "NOT MATERIALIZED"
"""Hints for a common table expression: whether it is merged into the query."""

LARGE: Final = "9223372036854775808.0"
"""From this integer on SQLite reads integers in a document as floats, so two that differ may
seem equal."""


def walks(*arguments: object) -> str:
    """An array of the walks from an element, each with its end and its last link."""
    return f"mycel_walks({', '.join(map(str, arguments))})"


def circles(*arguments: object) -> str:
    """An array of the elements that lie on a circle of links of one predicate."""
    return f"mycel_circles({', '.join(map(str, arguments))})"


def belief(metadata: str) -> str:
    """The status of a link with this metadata (`model.evidence`)."""
    return f"mycel_belief_status({metadata})"


def json_equal(one: str, other: str) -> str:
    """The condition that two JSON texts are the same value."""
    return f"mycel_json_equal({one}, {other})"


def json_member(value: str, array: str) -> str:
    """The condition that a JSON value is an item of an array."""
    return f"mycel_json_member({value}, {array})"


def compared(one: str, other: str) -> str:
    """A number below 0, 0 or above 0: the exact order of two numbers given as JSON texts."""
    return f"mycel_compare({one}, {other})"
