"""Bounds of costs, whatever number is given."""

from math import inf, nan

import pytest

from mycel.errors import ConstraintViolation
from mycel.graph.costs import as_units


def test_a_cost_out_of_range_is_refused_however_large_it_is() -> None:
    for cost in (-1, 1_000_001, inf, -inf, nan, 10**400, -(10**400), 10**5000):
        with pytest.raises(ConstraintViolation, match=r"max_cost is .*; it must be between 0 and"):
            as_units(cost)
    assert as_units(0.5) * 2 == as_units(1)
