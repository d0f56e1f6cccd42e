"""Cut groups by their count before what the elements say is read.

`FIND(?o.name, COUNT(?s)) WHERE { (?s, "p", ?o) } ORDER BY COUNT(?s) DESC LIMIT 10` is counted by
element first (`gather_early`). Only elements whose count is among the first ten, or equals the
tenth, can be in the answer, so only their names are read.

This holds where each element is a group of its own: grouped by id, or by name where the type is
given or is a key as well. Two concepts of different types may have the same name, and then their
counts add up. Grouped by name alone, all concepts that share their name with another are kept, and
the others are cut. To find those takes a look at the names of all concepts, so this is done only
for the links of a predicate as a whole, if they lead to a good part of all concepts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from mycel.ir import query as ir
from mycel.plan.catalog import Statistics

_ID, _NAME, _TYPE = ("id",), ("name",), ("type",)

SHARE_MIN: Final = 0.25
"""A look at all names pays if so many of the concepts are counted: it takes 0.1 µs for each name,
and 1.2 µs are spared for each concept that is counted."""


def cut_early(query: ir.Query, statistics: Statistics) -> ir.Query:
    """Mark a query whose groups can be cut before they are complete."""
    if not query.gathers_early or not query.sort:
        return query
    first = query.sort[0].output
    if not isinstance(first, ir.Total) or first.function != "COUNT":
        return query
    keys = [output for output in query.outputs if isinstance(output, ir.Field)]
    variables = {key.variable for key in keys}
    if len(variables) > 1:
        return query
    (variable,), paths = variables, {key.path for key in keys}
    if _ID in paths:
        return replace(query, cut="elements")
    if _NAME not in paths or not all(_is_concept(variable, each) for each in query.branches):
        return query
    if _TYPE in paths or all(_has_type(variable, each) for each in query.branches):
        return replace(query, cut="elements")
    counted = sum(_counted(variable, each, statistics) for each in query.branches)
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
    """How many elements a variable stands for, if the block is one pattern of links; else 0."""
    match block:
        case ir.Block((ir.LinkAtom() as link,), attempts=(), conditions=()):
            spreads = [statistics.links(each) for each in link.predicates or (None,)]
            if variable == link.subject:
                return sum(spread.subjects for spread in spreads)
            return sum(spread.objects for spread in spreads)
        case _:
            return 0.0
