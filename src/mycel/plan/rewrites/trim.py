"""Drops OPTIONALs and negations that change nothing.

An OPTIONAL that binds nothing neither adds nor removes a solution. Inside a NOT, an OPTIONAL counts
only where its variables are used. A NOT without patterns is the negation of its conditions, and a
double negation is dropped.
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
    optionals = []
    for attempt in block.attempts:
        binds = frozenset().union(*(branch.binds for branch in attempt.branches))
        if not binds <= bound:
            optionals.append(attempt)
            bound |= binds
    conditions = tuple(_plain(condition) for condition in block.conditions)
    return replace(block, attempts=tuple(optionals), conditions=conditions)


def _plain(condition: ir.Condition) -> ir.Condition:
    match condition:
        case ir.Not(ir.Exists((block,))) if not (block.atoms or block.attempts):
            return _inverse(_all(block.conditions))
        case ir.Not(ir.Exists(branches)):
            return ir.Not(ir.Exists(tuple(_looked_at(block) for block in branches)))
        case _:
            return condition


def _looked_at(block: ir.Block) -> ir.Block:
    """A block that is only tested for a solution, without OPTIONALs that change nothing."""
    if block.independent:
        return block  # Its variables are compared with those of the block around it.
    used = frozenset().union(*map(condition_variables, block.conditions))
    optionals: list[ir.Optional] = []
    for attempt in reversed(block.attempts):
        if used & frozenset().union(*(branch.binds for branch in attempt.branches)):
            optionals.insert(0, attempt)
            used = used.union(*map(block_variables, attempt.branches))
    return replace(block, attempts=tuple(optionals))


def _all(conditions: tuple[ir.Condition, ...]) -> ir.Condition:
    return conditions[0] if len(conditions) == 1 else ir.And(conditions)


def _inverse(condition: ir.Condition) -> ir.Condition:
    return condition.condition if isinstance(condition, ir.Not) else ir.Not(condition)
