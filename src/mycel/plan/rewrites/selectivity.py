"""Estimates of the share of an index that a look-up finds.

The values of parameters are unknown when a command is planned, so a range counts as a fixed share;
the index gives the number of elements with one value.
"""

from __future__ import annotations

from typing import Final

from mycel.ir import query as ir
from mycel.plan.catalog import Statistics

_RANGE: Final = 0.3
_LISTED: Final = 5.0
"""The assumed length of a list of IN."""


def share(index: ir.PropertyIndex, operator: ir.ProbeOperator, statistics: Statistics) -> float:
    """The share of the entries of an index within one bound."""
    if operator not in ("==", "in"):
        return _RANGE
    elements, values = statistics.entries(index.slot)
    one = 1.0 / max(elements if index.is_unique else values, 1.0)
    return one if operator == "==" else min(one * _LISTED, 1.0)


def count_entries(probe: ir.Probe, statistics: Statistics) -> float:
    """The number of entries that a probe reads."""
    rows = statistics.entries(probe.index.slot).elements
    for bound in probe.bounds:
        rows *= share(probe.index, bound.operator, statistics)
    return rows
