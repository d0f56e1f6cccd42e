"""The aggregates of a query: the one list of their names."""

from __future__ import annotations

from typing import Final, Literal, get_args

AggregateName = Literal["COUNT", "SUM", "AVG", "MIN", "MAX"]

AGGREGATES: Final[tuple[AggregateName, ...]] = get_args(AggregateName)
