"""The aggregates of a query: the only list of their names, with the properties of each.

A new aggregate is a name in `AggregateName`. The type checker then asks for its SQL, in both
dialects (`sql.sqlite`, `sql.postgres`) and in `sql.aggregates`. A function that a database lacks is
registered in `store.backend.sqlite.functions` and written in `store.backend.postgres.library`.
"""

from __future__ import annotations

from typing import Final, Literal, assert_never, get_args

AggregateName = Literal["COUNT", "SUM", "AVG", "MIN", "MAX"]

AGGREGATES: Final[tuple[AggregateName, ...]] = get_args(AggregateName)


def is_mergeable(function: AggregateName) -> bool:
    """True if the aggregate of a group can be computed from aggregates of parts of the group.

    AVG can be computed from sums and counts, but a median not from medians.
    """
    match function:
        case "COUNT" | "SUM" | "AVG" | "MIN" | "MAX":
            return True
        case _:
            assert_never(function)


def is_extreme(function: AggregateName) -> bool:
    """True if the aggregate is one of the values of its group."""
    match function:
        case "MIN" | "MAX":
            return True
        case "COUNT" | "SUM" | "AVG":
            return False
        case _:
            assert_never(function)


def is_sum(function: AggregateName) -> bool:
    """True if the aggregate adds values, so that it may leave the range of a float."""
    match function:
        case "SUM" | "AVG":
            return True
        case "COUNT" | "MIN" | "MAX":
            return False
        case _:
            assert_never(function)
