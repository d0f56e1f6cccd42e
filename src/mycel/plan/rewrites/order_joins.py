"""Puts patterns into the order that is cheapest by the statistics.

The cost is the number of rows that are read. For up to `EXACT_MAX` patterns every order is
considered (dynamic programming over subsets); for more, the cheapest next pattern is taken each
time.

A pattern keeps its probe only if the probe is cheaper: not if its element is already bound, nor if
the bound end of a link has fewer links than the index has entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from heapq import heapify, heappop, heappush
from typing import Final, NamedTuple, assert_never

from mycel.ir import query as ir
from mycel.ir.facts import atom_variables, condition_variables
from mycel.plan.catalog import Spread, Statistics
from mycel.plan.rewrites.blocks import each_block
from mycel.plan.rewrites.selectivity import count_entries, share
from mycel.plan.rewrites.use_indexes import restriction

EXACT_MAX: Final = 8

_EQUAL: Final = 0.1
_OTHER: Final = 0.4
_NEARBY: Final = 0.6
_UNBOUNDED_HOPS: Final = 6
_REACH_MAX: Final = 1e6


class _Step(NamedTuple):
    """The effect of joining an atom to one row: rows in the result, and rows that are read."""

    rows: float
    looked_at: float


class _Order(NamedTuple):
    cost: float
    rows: float
    places: tuple[int, ...]


def order_joins(query: ir.Query, statistics: Statistics) -> ir.Query:
    """Put the atoms of every block into order, and leave out the probes that do not pay in it."""
    estimate = _Estimate(statistics)
    return each_block(query, lambda block: _ordered(block, estimate))


def _ordered(block: ir.Block, estimate: _Estimate) -> ir.Block:
    outer = frozenset() if block.independent else block.sees
    if len(block.atoms) < 2:
        return _settled(block, outer, estimate)
    probes = _probes(block.atoms)
    filters = [
        (condition_variables(condition), _selectivity(condition, probes, estimate))
        for condition in block.conditions
        if not isinstance(condition, ir.Not)
    ]
    search = _exact if len(block.atoms) <= EXACT_MAX else _greedy
    places = search(block.atoms, outer, filters, estimate)
    ordered = replace(block, atoms=tuple(block.atoms[place] for place in places))
    return _settled(ordered, outer, estimate) if probes else ordered


Probes = Mapping[tuple[ir.Variable, str], ir.Probe]


def _probes(atoms: Sequence[ir.Atom]) -> Probes:
    """The probes of all atoms, by variable and property."""
    probes = {}
    for atom in atoms:
        match atom:
            case ir.ConceptAtom(variable, probe=ir.Probe() as probe) | ir.LinkAtom(
                variable, probe=ir.Probe() as probe
            ):
                probes[variable, probe.index.property] = probe
            case _:
                pass
    return probes


def _settled(block: ir.Block, outer: frozenset[ir.Variable], estimate: _Estimate) -> ir.Block:
    """The block without the probes that do not pay in this order of atoms."""
    bound = set(outer)
    atoms: list[ir.Atom] = []
    for atom in block.atoms:
        match atom:
            case ir.ConceptAtom(probe=ir.Probe()) | ir.LinkAtom(probe=ir.Probe()):
                atoms.append(atom if estimate.pays(atom, bound) else replace(atom, probe=None))
            case _:
                atoms.append(atom)
        bound |= set(atom_variables(atom))
    return replace(block, atoms=tuple(atoms))


Filters = Sequence[tuple[frozenset[ir.Variable], float]]


def _extended(
    order: _Order,
    place: int,
    atoms: Sequence[ir.Atom],
    outer: frozenset[ir.Variable],
    filters: Filters,
    estimate: _Estimate,
) -> _Order:
    before = outer.union(*(atom_variables(atoms[at]) for at in order.places))
    after = before.union(atom_variables(atoms[place]))
    step = estimate.step(atoms[place], before)
    if order.places and _follows_scan(atoms[place], before, atoms[order.places[0]], outer):
        step = _Step(step.rows, step.looked_at * _NEARBY)
    rows = order.rows * step.rows
    for variables, fraction in filters:
        if variables <= after and not variables <= before:
            rows *= fraction
    cost = order.cost + order.rows * step.looked_at + rows
    return _Order(cost, max(rows, 1e-9), (*order.places, place))


def _follows_scan(
    atom: ir.Atom, bound: frozenset[ir.Variable], first: ir.Atom, outer: frozenset[ir.Variable]
) -> bool:
    """True if look-ups of single links come in the order of the first scan.

    Links of a predicate are scanned by their objects. A look-up that begins with such an object
    then finds its pages in the cache, because the look-up before read them.
    """
    return (
        isinstance(first, ir.LinkAtom)
        and not {first.link, first.subject, first.object} & outer
        and isinstance(atom, ir.LinkAtom)
        and atom.subject == first.object
        and atom.object in bound
    )


def _exact(
    atoms: Sequence[ir.Atom], outer: frozenset[ir.Variable], filters: Filters, estimate: _Estimate
) -> tuple[int, ...]:
    best: dict[int, _Order] = {0: _Order(0.0, 1.0, ())}
    for mask in range(1, 1 << len(atoms)):
        candidates = [
            _extended(best[mask & ~(1 << at)], at, atoms, outer, filters, estimate)
            for at in range(len(atoms))
            if mask >> at & 1
        ]
        best[mask] = min(candidates, key=lambda order: (order.cost, order.places))
    return best[(1 << len(atoms)) - 1].places


def _greedy(
    atoms: Sequence[ir.Atom], outer: frozenset[ir.Variable], filters: Filters, estimate: _Estimate
) -> tuple[int, ...]:
    """The numbers of atoms in the order of joins: at each step, the atom that costs least.

    The cost of joining an atom changes only when one of its variables is bound. A heap therefore
    keeps all costs, and outdated costs are skipped when they come up.
    """
    variables = [frozenset(atom_variables(atom)) for atom in atoms]
    beside = _beside(variables, filters)
    bound = set(outer)

    def cost(at: int) -> float:
        step = estimate.step(atoms[at], bound)
        rows = step.rows
        for names, fraction in beside.filters(variables[at]):
            if names <= bound | variables[at] and not names <= bound:
                rows *= fraction
        return step.looked_at + rows

    costs = {at: cost(at) for at in range(len(atoms))}
    heap = [(price, at) for at, price in costs.items()]
    heapify(heap)
    places: list[int] = []
    while heap:
        price, at = heappop(heap)
        if costs.get(at) != price:
            continue
        del costs[at]
        places.append(at)
        new = variables[at] - bound
        bound |= new
        for other in beside.atoms(new):
            if other in costs:
                costs[other] = cost(other)
                heappush(heap, (costs[other], other))
    return tuple(places)


class _Beside(NamedTuple):
    """The atoms and filters of each variable."""

    filters_: Filters
    atoms_with: dict[ir.Variable, set[int]]
    filters_with: dict[ir.Variable, set[int]]

    def atoms(self, names: Iterable[ir.Variable]) -> set[int]:
        """Atoms whose cost depends on whether one of the variables is bound."""
        near = set(names).union(*(variables for variables, _ in self.filters(names)))
        return {at for name in near for at in self.atoms_with.get(name, ())}

    def filters(self, names: Iterable[ir.Variable]) -> Filters:
        """Filters that mention one of the variables."""
        places = {at for name in names for at in self.filters_with.get(name, ())}
        return [self.filters_[at] for at in sorted(places)]


def _beside(variables: Sequence[frozenset[ir.Variable]], filters: Filters) -> _Beside:
    beside = _Beside(filters, {}, {})
    for at, names in enumerate(variables):
        for name in names:
            beside.atoms_with.setdefault(name, set()).add(at)
    for at, (names, _) in enumerate(filters):
        for name in names:
            beside.filters_with.setdefault(name, set()).add(at)
    return beside


def _selectivity(condition: ir.Condition, probes: Probes, estimate: _Estimate) -> float:
    restricted = restriction(condition) if probes else None
    if restricted is not None:
        probe = probes.get((restricted.variable, restricted.property))
        if probe is not None:
            return share(probe.index, restricted.bound.operator, estimate.statistics)
    match condition:
        case ir.Compare("==", _, _):
            return _EQUAL
        case _:
            return _OTHER


class _Estimate:
    """Estimates the effect of one join from statistics."""

    def __init__(self, statistics: Statistics) -> None:
        self.statistics: Final = statistics

    def step(self, atom: ir.Atom, bound: Set[ir.Variable]) -> _Step:
        match atom:
            case ir.ConceptAtom():
                return self._concept(atom, bound)
            case ir.LinkAtom():
                return self._link(atom, bound)
            case ir.LinkByNumber():
                return _Step(1.0, 1.0)
            case ir.WalkAtom():
                return self._walk(atom, bound)
            case _:
                assert_never(atom)

    def pays(self, atom: ir.ConceptAtom | ir.LinkAtom, bound: Set[ir.Variable]) -> bool:
        """True if the probe of an atom is cheaper, given the variables bound before it."""
        if isinstance(atom, ir.ConceptAtom):
            return atom.variable not in bound
        if atom.probe is None or atom.link in bound:
            return False
        if not {atom.subject, atom.object} & bound:
            return True
        without = self._link(replace(atom, probe=None), bound)
        return count_entries(atom.probe, self.statistics) + 1.0 < without.looked_at

    def _concept(self, atom: ir.ConceptAtom, bound: Set[ir.Variable]) -> _Step:
        of_type = self.statistics.concepts(atom.type)
        if atom.variable in bound:
            if atom.number is not None or atom.name is not None:
                return _Step(1.0 / of_type, 1.0)
            share = min(of_type / self.statistics.concepts(None), 1.0)
            # The ends of a predicate have few types, so a type excludes few of them.
            return _Step(max(share, 1e-6) ** 0.5, 1.0)
        if atom.number is not None or (atom.name is not None and atom.type is not None):
            return _Step(1.0, 1.0)
        if atom.probe is not None:
            # The conditions account for the share that passes them.
            return _Step(of_type, count_entries(atom.probe, self.statistics))
        return _Step(2.0, 2.0) if atom.name is not None else _Step(of_type, of_type)

    def _spread(self, predicates: tuple[int, ...] | None) -> Spread:
        if predicates is None:
            return self.statistics.links(None)
        parts = [self.statistics.links(predicate) for predicate in predicates]
        return Spread(*(sum(column) for column in zip(*parts, strict=True)))

    def _link(self, atom: ir.LinkAtom, bound: Set[ir.Variable]) -> _Step:
        if atom.probe is not None and self.pays(atom, bound):
            without = self._link(replace(atom, probe=None), bound)
            return _Step(without.rows, count_entries(atom.probe, self.statistics) + 1.0)
        spread = self._spread(atom.predicates)
        ways = 2.0 if atom.mirrored else 1.0
        if atom.link in bound:
            return _Step(1.0, 1.0)
        match atom.subject in bound, atom.object in bound:
            case True, True:
                return _Step(min(spread.links / (spread.subjects * spread.objects), 1.0), ways)
            case True, False:
                rows = spread.links / spread.subjects * ways
            case False, True:
                rows = spread.links / spread.objects * ways
            case _:
                rows = spread.links * ways
        return _Step(rows, rows + 1.0)

    def _walk(self, atom: ir.WalkAtom, bound: Set[ir.Variable]) -> _Step:
        spread = self.statistics.links(atom.predicate)
        forward = atom.subject in bound or atom.object not in bound
        fan = spread.links / (spread.subjects if forward else spread.objects)
        fan *= 2.0 if atom.mirrored else 1.0
        hops = _UNBOUNDED_HOPS if atom.maximum is None else min(atom.maximum, _UNBOUNDED_HOPS)
        reach = min(sum(fan**hop for hop in range(1, hops + 1)), spread.links, _REACH_MAX) + 1.0
        match atom.subject in bound, atom.object in bound:
            case True, True:
                return _Step(0.5, reach)
            case False, False:
                return _Step(spread.subjects * reach, spread.subjects * reach)
            case _:
                return _Step(reach, reach)
