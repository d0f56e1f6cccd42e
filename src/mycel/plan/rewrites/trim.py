"""An OPTIONAL that binds nothing neither adds nor removes a solution."""

from __future__ import annotations

from dataclasses import replace

from mycel.ir import query as ir
from mycel.ir.facts import atom_variables
from mycel.plan.catalog import Statistics
from mycel.plan.rewrites.blocks import each_block


def trim(query: ir.Query, _: Statistics) -> ir.Query:
    """Drop every OPTIONAL all of whose variables are bound before it."""
    return each_block(query, _trimmed)


def _trimmed(block: ir.Block) -> ir.Block:
    bound = set(block.sees) | {name for atom in block.atoms for name in atom_variables(atom)}
    kept = []
    for attempt in block.attempts:
        binds = frozenset().union(*(branch.binds for branch in attempt.branches))
        if not binds <= bound:
            kept.append(attempt)
            bound |= binds
    return replace(block, attempts=tuple(kept))
