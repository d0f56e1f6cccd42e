"""Tests patterns that only have to exist, instead of joining them.

In `?d {type: "Drug"} (?d, "treats", {type: "Symptom"})` the symptom has no variable. Joining it
would make one row for each symptom, and the rows would have to be made distinct afterwards; a test
of existence stops at the first symptom.
"""

from __future__ import annotations

from dataclasses import replace

from mycel.ir import query as ir
from mycel.ir.facts import atom_variables, is_determined
from mycel.plan.catalog import Statistics
from mycel.plan.rewrites.blocks import each_block


def semijoin(query: ir.Query, _: Statistics) -> ir.Query:
    """Turn groups of atoms that share unnamed variables into tests of existence."""
    return each_block(query, _tested)


def _tested(block: ir.Block) -> ir.Block:
    block_variables = block.binds | block.sees
    if not block.atoms or is_determined(replace(block, optionals=()), block_variables):
        return block
    atoms, conditions = list(block.atoms), list(block.conditions)
    for group in _groups(block.atoms):
        inner = replace(block, atoms=tuple(group), optionals=(), conditions=())
        if is_determined(inner, block_variables):
            continue
        rest = [atom for atom in atoms if atom not in group]
        bound = {name for atom in rest for name in atom_variables(atom)} | block.sees
        variables = {name for atom in group for name in atom_variables(atom) if ir.is_named(name)}
        # A group that shares two variables with the block joins them, which a test cannot do.
        if variables and variables <= bound and len(variables - block.sees) == 1:
            atoms = rest
            seen = ir.Block(tuple(group), sees=frozenset(bound | block_variables))
            conditions.append(ir.Exists((seen,)))
    return replace(block, atoms=tuple(atoms), conditions=tuple(conditions))


def _groups(atoms: tuple[ir.Atom, ...]) -> list[list[ir.Atom]]:
    """Atoms that share unnamed variables, directly or through others."""
    groups: list[tuple[set[ir.Variable], list[ir.Atom]]] = []
    for atom in atoms:
        unnamed = {name for name in atom_variables(atom) if not ir.is_named(name)}
        joined = [group for group in groups if group[0] & unnamed]
        others = [group for group in groups if not group[0] & unnamed]
        names = unnamed.union(*(group[0] for group in joined))
        members = [member for group in joined for member in group[1]] + [atom]
        groups = [*others, (names, members)]
    return [members for _, members in groups]
