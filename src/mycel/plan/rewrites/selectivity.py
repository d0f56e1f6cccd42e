"""How much of an index a look-up finds, roughly.

Values that come with the command are not known when it is planned, so a range is taken for a fixed
share; how many elements have one value is told by the index itself.
"""

from __future__ import annotations

from typing import Final

from mycel.ir import query as ir
from mycel.plan.catalog import Statistics

_RANGE: Final = 0.3
_LISTED: Final = 5.0
"""How many values a list of IN is taken to have."""


def share(index: ir.Index, operator: ir.ProbeOperator, statistics: Statistics) -> float:
    """Which part of an index's entries is within one bound."""
    if operator not in ("==", "in"):
        return _RANGE
    elements, values = statistics.entries(index.slot)
    one = 1.0 / max(elements if index.is_unique else values, 1.0)
    return one if operator == "==" else min(one * _LISTED, 1.0)


def found(probe: ir.Probe, statistics: Statistics) -> float:
    """How many entries a probe looks at."""
    rows = statistics.entries(probe.index.slot).elements
    for bound in probe.bounds:
        rows *= share(probe.index, bound.operator, statistics)
    return rows
