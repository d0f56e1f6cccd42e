"""Counts each circle of links once.

Three elements in a circle are three solutions of `(?a, "p", ?b) (?b, "p", ?c) (?c, "p", ?a)`. If
solutions are only counted, only one of the three is searched for, and it counts three times: the
solution in which the element with the largest number is the object of the first pattern.

This holds for circles of two and three, whose members are all different. In a longer circle an
element may occur twice.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from mycel.ir import query as ir
from mycel.plan.catalog import Statistics

_LENGTHS: Final = (2, 3)


def count_once(query: ir.Query, _: Statistics) -> ir.Query:
    """Let a query that counts the circles of a predicate find each once."""
    if len(query.arms) != 1 or len(query.outputs) != 1 or query.sort:
        return query
    (block,), (aggregate,) = query.arms, query.outputs
    if (
        not isinstance(aggregate, ir.Aggregate)
        or aggregate.function != "COUNT"
        or aggregate.distinct
        or aggregate.argument.path
        or block.optionals
        or any(
            not isinstance(condition, ir.Earlier) for condition in block.conditions
        )  # This rewrite itself adds `Earlier`.
    ):
        return query
    circle = _circle(block.atoms)
    if not circle:
        return query
    largest = circle[0].object
    others = (link.object for link in circle[1:])
    conditions = tuple(ir.Earlier(other, largest) for other in others)
    return replace(
        query,
        arms=(replace(block, atoms=circle, conditions=conditions),),
        outputs=(replace(aggregate, times=len(circle)),),
    )


def _circle(atoms: tuple[ir.Atom, ...]) -> tuple[ir.LinkAtom, ...]:
    """The links of a circle, each beginning where the last link ends; empty without a circle."""
    links = [atom for atom in atoms if isinstance(atom, ir.LinkAtom)]
    leaving = {link.subject: link for link in links}
    names = {link.link for link in links} | leaving.keys()
    kinds = {(link.predicates, link.predicate_variable, link.mirrored) for link in links}
    if not (
        len(atoms) == len(links) in _LENGTHS
        and len(names) == 2 * len(links)
        and leaving.keys() == {link.object for link in links}
        and len(kinds) == 1
    ):
        return ()
    ((predicates, predicate_variable, mirrored),) = kinds
    if predicates is None or predicate_variable is not None or mirrored:
        return ()
    circle = [links[0]]
    while (after := leaving[circle[-1].object]) is not links[0]:
        circle.append(after)
    return tuple(circle) if len(circle) == len(links) else ()
