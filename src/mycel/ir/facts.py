"""Facts about an IR: its variables, and whether rows can repeat."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from mycel.ir import query as ir


def atom_variables(atom: ir.Atom) -> tuple[ir.Variable, ...]:
    """Every variable of an atom, named or not."""
    match atom:
        case ir.ConceptAtom(variable):
            return (variable,)
        case ir.LinkByNumber(link):
            return (link,)
        case ir.LinkAtom():
            names = (atom.link, atom.subject, atom.object, atom.predicate_variable)
            return tuple(name for name in names if name is not None)
        case ir.WalkAtom():
            return tuple(n for n in (atom.subject, atom.object, atom.link) if n is not None)
        case _:
            assert_never(atom)


def condition_variables(condition: ir.Condition) -> frozenset[ir.Variable]:
    """Every variable that a condition mentions, inside nested blocks too."""
    match condition:
        case ir.Compare(_, left, right) | ir.TextCondition(_, left, right):
            return _operands((left, right))
        case ir.In(operand, _) | ir.IsNull(operand):
            return _operands((operand,))
        case ir.Earlier(first, second):
            return frozenset((first, second))
        case ir.Never():
            return frozenset()
        case ir.Not(inner):
            return condition_variables(inner)
        case ir.And(conditions) | ir.Or(conditions):
            return frozenset().union(*map(condition_variables, conditions))
        case ir.Exists(arms):
            return frozenset().union(*map(block_variables, arms))
        case _:
            assert_never(condition)


def block_variables(block: ir.Block) -> frozenset[ir.Variable]:
    """Every variable that a block mentions, inside nested blocks too."""
    variables = {name for atom in block.atoms for name in atom_variables(atom)}
    for optional in block.optionals:
        for arm in optional.arms:
            variables |= block_variables(arm)
    for condition in block.conditions:
        variables |= condition_variables(condition)
    return frozenset(variables)


def _operands(operands: Iterable[ir.Operand]) -> frozenset[ir.Variable]:
    return frozenset(operand.variable for operand in operands if isinstance(operand, ir.Field))


def is_determined(block: ir.Block, bound: frozenset[ir.Variable]) -> bool:
    """True if each binding of the known variables comes from one row of the joins at most.

    In that case solutions need not be made distinct. A concept is determined by its type and name,
    a link by its ends and its only predicate.
    """
    determined = set(bound)
    grown = True
    while grown:
        before = len(determined)
        for atom in block.atoms:
            determined |= _follows(atom, determined)
        grown = len(determined) > before
    if not all(determined.issuperset(atom_variables(atom)) for atom in block.atoms):
        return False
    return all(
        len(optional.arms) == 1 and is_determined(optional.arms[0], frozenset(determined))
        for optional in block.optionals
    )


def _follows(atom: ir.Atom, determined: set[ir.Variable]) -> set[ir.Variable]:
    match atom:
        case ir.ConceptAtom(variable):
            unique = atom.number is not None or (atom.type is not None and atom.name is not None)
            return {variable} if unique else set()
        case ir.LinkByNumber(link):
            return {link}
        case ir.LinkAtom():
            variables: set[ir.Variable] = set()
            if atom.link in determined:
                if atom.predicate_variable is not None:
                    variables.add(atom.predicate_variable)
                if not atom.mirrored or {atom.subject, atom.object} & determined:
                    variables |= {atom.subject, atom.object}
            single = (
                atom.predicates is not None and len(atom.predicates) == 1
            ) or atom.predicate_variable in determined
            if single and not atom.mirrored and {atom.subject, atom.object} <= determined:
                variables.add(atom.link)
            return variables
        case ir.WalkAtom():
            ends = {atom.subject, atom.object} <= determined
            return {atom.link} if ends and atom.link is not None else set()
        case _:
            assert_never(atom)
