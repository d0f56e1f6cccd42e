"""`FILTER(?x.name == "…")` becomes `?x {name: "…"}`, which an index can find.

An end of a link or of a walk that has no pattern of its own gets one.
"""

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
        pair = _names(condition)
        if pair is None:
            conditions.append(condition)
            continue
        variable, name = pair
        at = _nameless(atoms, variable)
        if at is not None:
            atom = atoms[at]
            if isinstance(atom, ir.ConceptAtom):
                atoms[at] = replace(atom, name=name)
        elif _is_end(atoms, variable):
            atoms.append(ir.ConceptAtom(variable, name=name))
        else:
            conditions.append(condition)
    return replace(block, atoms=tuple(atoms), conditions=tuple(conditions))


def _names(condition: ir.Condition) -> tuple[ir.Variable, ir.Value] | None:
    match condition:
        case ir.Compare(
            "==", ir.Field(variable, ("name",)), ir.Constant() | ir.Parameter() as value
        ):
            pass
        case ir.Compare(
            "==", ir.Constant() | ir.Parameter() as value, ir.Field(variable, ("name",))
        ):
            pass
        case _:
            return None
    return (variable, value) if value.kind == "text" else None


def _nameless(atoms: list[ir.Atom], variable: ir.Variable) -> int | None:
    for at, atom in enumerate(atoms):
        if isinstance(atom, ir.ConceptAtom) and atom.variable == variable and atom.name is None:
            return at
    return None


def _is_end(atoms: list[ir.Atom], variable: ir.Variable) -> bool:
    """True for an end of a link or a walk. It need not be a concept, but a link has no name."""
    return any(
        isinstance(atom, ir.LinkAtom | ir.WalkAtom) and variable in (atom.subject, atom.object)
        for atom in atoms
    )
