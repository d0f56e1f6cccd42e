"""A FILTER on an indexed property becomes the probe of its pattern.

`?p {type: "Person"} FILTER(?p.attributes.email == :e)` then reads the entries of the index instead
of every person. The condition stays, so the probe may find elements that do not pass, but must miss
none that do.

Conditions inside OR or NOT do not count. Of several indexes, the one with the fewest entries to
read is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from mycel.ir import query as ir
from mycel.plan.catalog import Statistics
from mycel.plan.rewrites.blocks import each_block
from mycel.plan.rewrites.selectivity import count_entries

_STRAIGHT: Final[dict[str, ir.ProbeOperator]] = {
    "==": "==",
    "<": "<",
    ">": ">",
    "<=": "<=",
    ">=": ">=",
}
_TURNED: Final[dict[str, ir.ProbeOperator]] = {
    "==": "==",
    "<": ">",
    ">": "<",
    "<=": ">=",
    ">=": "<=",
}
_ORDERED: Final = ("number", "text")
_EQUAL: Final = ("number", "large", "text", "true", "false")
_LISTED: Final = ("numbers", "texts")


class Restriction(NamedTuple):
    """A property of a variable's element, and what its value has to be."""

    variable: ir.Variable
    property: str
    bound: ir.Bound


def use_indexes(query: ir.Query, statistics: Statistics) -> ir.Query:
    """Give a probe to every pattern whose element an index can find."""
    if not query.indexes:
        return query
    indexes = {(index.owner, index.is_link, index.property): index for index in query.indexes}
    return each_block(query, lambda block: _probed(block, indexes, statistics))


Indexes = Mapping[tuple[int, bool, str], ir.PropertyIndex]


def _probed(block: ir.Block, indexes: Indexes, statistics: Statistics) -> ir.Block:
    restrictions = [
        candidate for candidate in map(restriction, block.conditions) if candidate is not None
    ]
    if not restrictions:
        return block
    atoms = tuple(_with_probe(atom, restrictions, indexes, statistics) for atom in block.atoms)
    return replace(block, atoms=atoms)


def _with_probe(
    atom: ir.Atom, restrictions: Sequence[Restriction], indexes: Indexes, statistics: Statistics
) -> ir.Atom:
    match atom:
        case ir.ConceptAtom(variable, int() as owner, None, None):
            is_link = False
        case ir.LinkAtom(variable, _, _, (owner,)):
            is_link = True
        case _:
            return atom
    bounds: dict[ir.PropertyIndex, list[ir.Bound]] = {}
    for name, key, bound in restrictions:
        index = indexes.get((owner, is_link, key))
        if name == variable and index is not None:
            bounds.setdefault(index, []).append(bound)
    probes = [ir.Probe(index, _tightest(limits)) for index, limits in bounds.items()]
    if not probes:
        return atom
    best = probes[0]
    if len(probes) > 1:
        best = min(probes, key=lambda probe: count_entries(probe, statistics))
    return replace(atom, probe=best)


def _tightest(bounds: Sequence[ir.Bound]) -> tuple[ir.Bound, ...]:
    """One equality if there is one, or else one list, or else at most one bound for each side."""
    for operator in ("==", "in"):
        for bound in bounds:
            if bound.operator == operator:
                return (bound,)
    sides = {bound.operator[0]: bound for bound in reversed(bounds)}
    return tuple(sides[side] for side in sorted(sides, reverse=True))


def restriction(condition: ir.Condition) -> Restriction | None:
    """The restriction of a condition to some values of a property, if it is one."""
    match condition:
        case ir.In(ir.Field(variable, ("attributes", key)), values):
            if values.kind in _LISTED:
                return Restriction(variable, key, ir.Bound("in", values))
        case ir.Compare(operator, ir.Field() as field, ir.Constant() | ir.Parameter() as value):
            return _compared(field, _STRAIGHT.get(operator), value)
        case ir.Compare(operator, ir.Constant() | ir.Parameter() as value, ir.Field() as field):
            return _compared(field, _TURNED.get(operator), value)
        case _:
            pass
    return None


def _compared(
    field: ir.Field, operator: ir.ProbeOperator | None, value: ir.Value
) -> Restriction | None:
    if operator is None or value.kind not in (_EQUAL if operator == "==" else _ORDERED):
        return None
    match field.path:
        case ("attributes", key):
            return Restriction(field.variable, key, ir.Bound(operator, value))
        case _:
            return None
