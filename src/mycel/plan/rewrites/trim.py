"""Drops OPTIONALs and negations that change nothing.

An OPTIONAL that binds no new variable neither adds nor removes a solution. Inside a NOT, an
OPTIONAL counts only where its variables are used. A NOT without patterns is the negation of its
conditions, and a double negation is dropped.
"""

from __future__ import annotations

from dataclasses import replace

from mycel.ir import query as ir
from mycel.ir.facts import atom_variables, block_variables, condition_variables
from mycel.plan.catalog import Statistics
from mycel.plan.rewrites.blocks import each_block


def trim(query: ir.Query, _: Statistics) -> ir.Query:
    """Drop OPTIONALs whose variables are all bound before them; flatten nested negations."""
    return each_block(query, _trimmed)


def _trimmed(block: ir.Block) -> ir.Block:
    bound = set(block.sees) | {name for atom in block.atoms for name in atom_variables(atom)}
    remaining = []
    for optional in block.optionals:
        binds = frozenset().union(*(arm.binds for arm in optional.arms))
        if not binds <= bound:
            remaining.append(optional)
            bound |= binds
    conditions = tuple(_plain(condition) for condition in block.conditions)
    return replace(block, optionals=tuple(remaining), conditions=conditions)


def _plain(condition: ir.Condition) -> ir.Condition:
    match condition:
        case ir.Not(ir.Exists((block,))) if not (block.atoms or block.optionals):
            return _inverse(_all(block.conditions))
        case ir.Not(ir.Exists(arms)):
            return ir.Not(ir.Exists(tuple(_looked_at(block) for block in arms)))
        case _:
            return condition


def _looked_at(block: ir.Block) -> ir.Block:
    """A block that is only tested for a solution, without OPTIONALs that change nothing."""
    if block.independent:
        # The variables of an independent block are compared with those of the block around it.
        return block
    used = frozenset().union(*map(condition_variables, block.conditions))
    remaining: list[ir.Optional] = []
    for optional in reversed(block.optionals):
        if used & frozenset().union(*(arm.binds for arm in optional.arms)):
            remaining.insert(0, optional)
            used = used.union(*map(block_variables, optional.arms))
    return replace(block, optionals=tuple(remaining))


def _all(conditions: tuple[ir.Condition, ...]) -> ir.Condition:
    return conditions[0] if len(conditions) == 1 else ir.And(conditions)


def _inverse(condition: ir.Condition) -> ir.Condition:
    return condition.condition if isinstance(condition, ir.Not) else ir.Not(condition)
