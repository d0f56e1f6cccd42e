"""Every aggregate has an implementation, and an unknown one is refused."""

from typing import Any

import pytest

from mycel.ir import query as ir
from mycel.kip import parse
from mycel.model.aggregates import AGGREGATES
from mycel.sql import aggregates, postgres, sqlite
from mycel.sql.fields import Access

NUMBER = Access("number", "v")


def two_steps(function: Any) -> tuple[list[str], str]:
    node = ir.Aggregate(function, ir.Field(0))  # type: ignore[arg-type]
    return aggregates.in_two_steps(sqlite, node, NUMBER, "k", "t")


def test_every_aggregate_of_the_list_can_be_written_and_computed() -> None:
    for function in AGGREGATES:
        for dialect in (sqlite, postgres):
            assert dialect.aggregate_function(function)
            assert dialect.exact_aggregate_function(function)
        parse(f'FIND({function}(?d.attributes.x)) WHERE {{ ?d {{type: "Drug"}} }}')
        parts, whole = two_steps(function)
        assert parts
        assert whole


def test_an_aggregate_without_two_steps_is_no_aggregate_of_aggregates() -> None:
    with pytest.raises(AssertionError):
        two_steps("MEDIAN")
