"""Cuts groups by their count before the attributes of elements are read.

`FIND(?o.name, COUNT(?s)) WHERE { (?s, "p", ?o) } ORDER BY COUNT(?s) DESC LIMIT 10` is counted by
element first (`gather_early`). Only elements whose count is among the first ten, or equals the
tenth, can be in the answer, so only their names are read.

This holds if each element is a group: grouped by id, or by name and type. If only the name groups
them, concepts that share a name are kept as well. To find them, the names of all concepts are read,
which pays only if the links lead to many of the concepts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from mycel.ir import query as ir
from mycel.plan.catalog import Statistics

_ID, _NAME, _TYPE = ("id",), ("name",), ("type",)

SHARE_MIN: Final = 0.25
"""From this share of all concepts on, reading all names pays."""


def cut_early(query: ir.Query, statistics: Statistics) -> ir.Query:
    """Mark a query whose groups can be cut before they are complete."""
    if not query.gathers_early or not query.sort:
        return query
    first = query.sort[0].output
    if not isinstance(first, ir.Aggregate) or first.function != "COUNT":
        return query
    keys = [output for output in query.outputs if isinstance(output, ir.Field)]
    variables = {key.variable for key in keys}
    if len(variables) > 1:
        return query
    (variable,), paths = variables, {key.path for key in keys}
    if _ID in paths:
        return replace(query, cut="elements")
    if _NAME not in paths or not all(_is_concept(variable, arm) for arm in query.arms):
        return query
    if _TYPE in paths or all(_has_type(variable, arm) for arm in query.arms):
        return replace(query, cut="elements")
    counted = sum(_counted(variable, arm, statistics) for arm in query.arms)
    pays = counted >= SHARE_MIN * statistics.concepts(None)
    return replace(query, cut="names") if pays else query


def _is_concept(variable: ir.Variable, block: ir.Block) -> bool:
    """True if a pattern binds the variable to a concept; a link has no name."""
    for atom in block.atoms:
        match atom:
            case ir.ConceptAtom() if atom.variable == variable:
                return True
            case ir.LinkAtom() | ir.WalkAtom():
                ends = zip((atom.subject, atom.object), atom.concepts, strict=True)
                if (variable, True) in ends:
                    return True
            case _:
                pass
    return False


def _has_type(variable: ir.Variable, block: ir.Block) -> bool:
    return any(
        isinstance(atom, ir.ConceptAtom) and atom.variable == variable and atom.type is not None
        for atom in block.atoms
    )


def _counted(variable: ir.Variable, block: ir.Block, statistics: Statistics) -> float:
    """The number of elements of a variable, if the block is one pattern of links; else 0."""
    match block:
        case ir.Block((ir.LinkAtom() as link,), optionals=(), conditions=()):
            spreads = [statistics.links(predicate) for predicate in link.predicates or (None,)]
            if variable == link.subject:
                return sum(spread.subjects for spread in spreads)
            return sum(spread.objects for spread in spreads)
        case _:
            return 0.0
