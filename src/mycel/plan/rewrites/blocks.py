"""Going through the blocks of a query, nested ones included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mycel.ir import query as ir


def each_block(query: ir.Query, change: Callable[[ir.Block], ir.Block]) -> ir.Query:
    """The query with every block changed, inner ones first."""
    return replace(query, branches=tuple(_changed(block, change) for block in query.branches))


def _changed(block: ir.Block, change: Callable[[ir.Block], ir.Block]) -> ir.Block:
    attempts = tuple(
        ir.Optional(tuple(_changed(branch, change) for branch in attempt.branches))
        for attempt in block.attempts
    )
    conditions = tuple(_condition(condition, change) for condition in block.conditions)
    return change(replace(block, attempts=attempts, conditions=conditions))


def _condition(node: ir.Condition, change: Callable[[ir.Block], ir.Block]) -> ir.Condition:
    match node:
        case ir.Not(inner):
            return ir.Not(_condition(inner, change))
        case ir.Exists(branches):
            return ir.Exists(tuple(_changed(branch, change) for branch in branches))
        case _:
            return node  # NOT is at the top of a block; other conditions hold no blocks.
