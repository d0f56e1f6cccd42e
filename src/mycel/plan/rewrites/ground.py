"""`FILTER(?x.name == "…")` says what `?x {name: "…"}` says, and an index can find the latter."""

from __future__ import annotations

from dataclasses import replace

from mycel.ir import query as ir
from mycel.plan.catalog import Statistics
from mycel.plan.rewrites.blocks import each_block


def ground(query: ir.Query, _: Statistics) -> ir.Query:
    """Move equality with a name into the concept's own pattern."""
    return each_block(query, _grounded)


def _grounded(block: ir.Block) -> ir.Block:
    atoms = list(block.atoms)
    conditions = []
    for condition in block.conditions:
        named = _names(condition)
        at = None if named is None else _nameless(atoms, named[0])
        if named is None or at is None:
            conditions.append(condition)
        else:
            atom = atoms[at]
            if isinstance(atom, ir.ConceptAtom):
                atoms[at] = replace(atom, name=named[1])
    return replace(block, atoms=tuple(atoms), conditions=tuple(conditions))


def _names(condition: ir.Condition) -> tuple[ir.Variable, ir.Value] | None:
    match condition:
        case ir.Compare("==", ir.Field(variable, ("name",)), ir.Known() | ir.Given() as value):
            pass
        case ir.Compare("==", ir.Known() | ir.Given() as value, ir.Field(variable, ("name",))):
            pass
        case _:
            return None
    return (variable, value) if value.kind == "text" else None


def _nameless(atoms: list[ir.Atom], variable: ir.Variable) -> int | None:
    for at, atom in enumerate(atoms):
        if isinstance(atom, ir.ConceptAtom) and atom.variable == variable and atom.name is None:
            return at
    return None
