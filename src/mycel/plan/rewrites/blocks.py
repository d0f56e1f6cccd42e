"""Visits the blocks of a query, nested blocks included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mycel.ir import query as ir


def each_block(query: ir.Query, change: Callable[[ir.Block], ir.Block]) -> ir.Query:
    """The query with every block changed, inner ones first."""
    return replace(query, arms=tuple(_changed(block, change) for block in query.arms))


def _changed(block: ir.Block, change: Callable[[ir.Block], ir.Block]) -> ir.Block:
    optionals = tuple(
        ir.Optional(tuple(_changed(arm, change) for arm in optional.arms))
        for optional in block.optionals
    )
    conditions = tuple(_condition(condition, change) for condition in block.conditions)
    return change(replace(block, optionals=optionals, conditions=conditions))


def _condition(node: ir.Condition, change: Callable[[ir.Block], ir.Block]) -> ir.Condition:
    match node:
        case ir.Not(inner):
            return ir.Not(_condition(inner, change))
        case ir.Exists(arms):
            return ir.Exists(tuple(_changed(arm, change) for arm in arms))
        case _:
            return node  # NOT can only be at the top of a block; other conditions hold no blocks.
