"""Blocks as joins: atoms in the planned order, then optional blocks; conditions come early.

The planner decides the order of joins: `CROSS JOIN` keeps SQLite from choosing another. An OPTIONAL
of one atom is a LEFT JOIN. A larger OPTIONAL cannot be joined directly, because a subquery in FROM
may not refer to its neighbours. A table-valued function may, so such an OPTIONAL, and likewise a
walk, is gathered into a JSON array of numbers that `json_each` opens again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, assert_never

from mycel.errors import InternalError
from mycel.ir import query as ir
from mycel.ir.facts import atom_variables, condition_variables
from mycel.model import allowance
from mycel.sql import conditions, negation, walks
from mycel.sql.fields import Access, Fields
from mycel.sql.scope import Aliases, Bindings, Cell, CellKind, Scope
from mycel.sql.select_builder import Select
from mycel.sql.state_tables import StateTables

TABLES_JOINED_MAX: Final = 40
"""The maximum number of tables in a join.

SQLite allows 64; the rest is for tables that are joined only to read cells.
"""
PAST_TABLES_JOINED_MAX: Final = 4
"""The maximum number of tables in a join over a past state.

SQLite splits every table into two halves and considers all combinations, so that preparing a join
of thirty would take ten seconds.
"""


class Patterns:
    """Compiles blocks of one statement."""

    def __init__(self, sources: StateTables, bindings: Bindings, *, is_eager: bool = True) -> None:
        """With `is_eager` all solutions are computed, even if only some are returned."""
        self.sources: Final = sources
        self.dialect: Final = sources.dialect
        is_whole = not (sources.is_past or sources.is_filtered)
        self._is_eager: Final = is_eager and is_whole
        self._is_page: Final = not is_eager and is_whole
        self.bindings: Final = bindings
        self.names: Final = Aliases()
        self.fields: Final = Fields(sources, bindings)
        self._tables_max: Final = PAST_TABLES_JOINED_MAX if sources.is_past else TABLES_JOINED_MAX

    def select(
        self, block: ir.Block, scope: Scope, needed: frozenset[ir.Variable] | None = None
    ) -> Select:
        """A block joined to the query around it (`scope`).

        For an arm of the whole query, `needed` are the variables that later steps read.
        """
        if block.independent:
            return self._independent(block, scope)
        select = Select(self.dialect, dict(scope), outer=scope)
        waiting = list(block.conditions)
        waiting = self._settle(select, waiting, block, *block.atoms[:1])
        for at, atom in enumerate(block.atoms, 1):
            upcoming = block.atoms[at : at + 1]
            if needed is None or not self._only_begins(select, block, at - 1, needed):
                if self._begin_walk(select, atom, waiting):
                    waiting = self._settle(select, waiting, block, *upcoming)
                self._atom(select, atom)
            waiting = self._settle(select, waiting, block, *upcoming)
        for optional in block.optionals:
            self._attempt(select, optional)
        for condition in waiting:
            select.where.append(self.condition(select, condition))
        return select

    def _independent(self, block: ir.Block, scope: Scope) -> Select:
        """An arm of a UNION inside another block: it runs alone, and is then joined by name."""
        firm = {name for atom in block.atoms for name in atom_variables(atom) if ir.is_named(name)}
        inner = {name: cell for name, cell in scope.items() if name in firm}
        select = self.select(replace(block, independent=False), inner)
        for name in (block.binds & scope.keys()) - firm:
            select.where.append(f"{select.scope[name].number} = {scope[name].number}")
        return select

    def _settle(
        self,
        select: Select,
        waiting: list[ir.Condition],
        block: ir.Block,
        upcoming: ir.Atom | None = None,
    ) -> list[ir.Condition]:
        """Test every condition whose variables are all bound; return the others.

        A condition about a concept whose row is joined next waits for that row, because it would be
        read twice otherwise.
        """
        visible = block.binds | block.sees
        soon = {upcoming.variable} if isinstance(upcoming, ir.ConceptAtom) else set()
        later = []
        for condition in waiting:
            variables = condition_variables(condition)
            if variables & visible <= select.scope.keys() and not variables & soon:
                select.where.append(self.condition(select, condition))
            else:
                later.append(condition)
        return later

    # Atoms.

    def _atom(self, select: Select, atom: ir.Atom) -> None:
        select.make_room(self._tables_max)
        match atom:
            case ir.ConceptAtom():
                self._concept(select, atom)
            case ir.LinkAtom():
                self._link(select, atom)
            case ir.LinkByNumber():
                row = self.names.fresh("p")
                select.join(self.sources.links(row))
                select.where += self._by_number(row, atom)
                self._bind_link(select, atom.link, row)
            case ir.WalkAtom():
                self._walk(select, atom)
            case _:
                assert_never(atom)

    def _concept(self, select: Select, atom: ir.ConceptAtom) -> None:
        bound_cell = select.scope.get(atom.variable)
        if bound_cell is not None and bound_cell.kind == "concept" and bound_cell.row is not None:
            select.where += self._concept_tests(bound_cell.row, atom)
            return
        entry = None if bound_cell is not None else self._probe(select, atom.probe)
        row = self.names.fresh("c")
        select.join(self.sources.concepts(row))
        if bound_cell is not None:
            select.where.append(f"{row}.id = {bound_cell.number}")
        elif entry is not None:
            select.where.append(f"{row}.id = {entry}.element")
        select.where += self._concept_tests(row, atom, is_found=entry is not None)
        select.where += self._shown_tests(row, atom)
        select.scope[atom.variable] = Cell(
            f"{row}.id", "concept", row, self._ground(atom), is_named=atom.name is not None
        )

    def _only_begins(
        self, select: Select, block: ir.Block, at: int, needed: frozenset[ir.Variable]
    ) -> bool:
        """True if an atom is one given concept that only starts the next atom's walk.

        Such an atom needs no join: the walk looks the concept up, and finds nothing if there is
        none.
        """
        match block.atoms[at : at + 2]:
            case [
                ir.ConceptAtom(variable) as atom,
                ir.WalkAtom(subject, object_, link=None),
            ] if variable in (subject, object_):
                other = object_ if subject == variable else subject
            case _:
                return False
        if (
            self.sources.is_past
            or select.scope.keys() & {variable, other}
            or variable in {other, *needed}
            or block.optionals
            or sum(variable in atom_variables(atom) for atom in block.atoms) != 2
            or any(variable in condition_variables(condition) for condition in block.conditions)
        ):
            return False
        ground = self._ground(atom)
        if ground is not None:
            select.scope[variable] = Cell(ground, "concept", ground=ground)
        return ground is not None

    def _ground(self, atom: ir.ConceptAtom) -> str | None:
        if atom.number is None and (atom.type is None or atom.name is None):
            return None
        tests = " AND ".join((*self._concept_tests("g", atom), *self._shown_tests("g", atom)))
        return f"(SELECT g.id FROM {self.sources.concepts('g')} WHERE {tests})"

    def _shown_tests(self, row: str, atom: ir.ConceptAtom) -> list[str]:
        """The conditions on archived elements and on times, for a concept."""
        return [] if atom.is_addressed else self.sources.concept_tests(row)

    def _probe(self, select: Select, probe: ir.Probe | None) -> str | None:
        """The entries of an index, joined; a past state has none."""
        if probe is None or self.sources.is_past:
            return None
        entry = self.names.fresh("q")
        select.join(f"property {entry}")
        select.where += self._probe_tests(entry, probe)
        return entry

    def _probe_tests(self, entry: str, probe: ir.Probe) -> list[str]:
        within = []
        for bound in probe.bounds:
            real = self.bindings.add(_as_float(bound.value)) if bound.value.kind == "large" else ""
            place = self.bindings.add(bound.value)
            within.append(conditions.bounded(self.dialect, f"{entry}.value", bound, place, real))
        return [f"{entry}.slot = {probe.index.slot}", *within]

    def _concept_tests(
        self, row: str, atom: ir.ConceptAtom, *, is_found: bool = False
    ) -> list[str]:
        """The conditions of a concept row; with `is_found`, of one that is joined by its number."""
        tests = []
        if atom.number is not None:
            tests.append(f"{row}.id = {self.bindings.add(atom.number)}")
        if atom.name is not None:
            tests.append(f"{row}.name = {self.bindings.add(atom.name)}")
        if atom.type is not None:
            # A number gives at most one row: the plus keeps SQLite from the index on types.
            is_found = is_found or atom.number is not None
            column = f"+{row}.type" if is_found else f"{row}.type"
            tests.append(f"{column} = {self._number(atom.type)}")
        return tests

    def _by_number(self, row: str, atom: ir.LinkByNumber) -> list[str]:
        name = self.bindings.add(atom.predicate)
        return [
            f"{row}.id = {self.bindings.add(atom.number)}",
            f"+{row}.predicate = (SELECT r.id FROM predicate r WHERE r.name = {name})",
        ]

    def _bind_link(self, select: Select, link: ir.Variable, row: str) -> None:
        bound_cell = select.scope.get(link)
        if bound_cell is not None:
            select.where.append(f"{row}.id = {bound_cell.number}")
        select.scope[link] = Cell(f"{row}.id", "link", row)

    def _among(
        self, row: str, predicates: tuple[int, ...] | None, *, apart: bool = False
    ) -> list[str]:
        """The link has one of these predicates.

        With `apart` the condition is written differently. SQLite factors out a condition that both
        sides of an OR share, and would then read all links of the predicate, not those of the known
        end.
        """
        if predicates is None:
            return []
        if len(predicates) == 1:
            return [f"{row}.predicate = {self._number(predicates[0])}{' + 0' if apart else ''}"]
        return [f"{row}.predicate IN ({', '.join(map(str, predicates))})"]

    def _number(self, number: int) -> str:
        """The number of a type or predicate: bound, so that other names share the statement."""
        return self.bindings.add(ir.Constant(number, "number"))

    def _link(self, select: Select, atom: ir.LinkAtom) -> None:
        entry = None if atom.link in select.scope else self._probe(select, atom.probe)
        row = self.names.fresh("p")
        select.join(self.sources.links(row))
        if entry is not None:
            select.scope[atom.link] = Cell(f"{entry}.element", "link")
        select.where += [*self._link_tests(select, atom, row), *self.sources.link_tests(row)]

    def _link_tests(self, select: Select, atom: ir.LinkAtom, row: str) -> list[str]:
        """The conditions of a link row; binds its new variables."""
        scope = select.scope
        tests = []
        bound_cell = scope.get(atom.link)
        if bound_cell is not None:
            tests.append(f"{row}.id = {bound_cell.number}")
        if atom.mirrored:
            tests.append(self._mirrored_ends(select, atom, row))
        else:
            tests += self._among(row, atom.predicates)
            if self._is_eager:
                select.fans.update(
                    negation.fans_of(atom, scope.get(atom.subject), scope.get(atom.object))
                )
            # The object comes first, because the index by predicate gives new variables in this
            # order.
            for variable, column, kind in (
                (atom.object, "object", _kind(atom.concepts.object)),
                (atom.subject, "subject", _kind(atom.concepts.subject)),
            ):
                end = scope.get(variable)
                if end is None:
                    scope[variable] = Cell(f"{row}.{column}", kind, is_present=True)
                else:
                    tests.append(f"{row}.{column} = {end.number}")
        if atom.predicate_variable is not None:
            bound = scope.get(atom.predicate_variable)
            if bound is None:
                scope[atom.predicate_variable] = Cell(f"{row}.predicate", "predicate")
            else:
                tests.append(f"{row}.predicate = {bound.number}")
        if atom.link in (atom.subject, atom.object):  # No link is its own end.
            tests.append(conditions.NEVER)
        scope[atom.link] = Cell(f"{row}.id", "link", row)
        return tests

    def _mirrored_ends(self, select: Select, atom: ir.LinkAtom, row: str) -> str:
        """The ends in either order. Each order has its own test, which can use its own index."""
        scope, kind = select.scope, _kind(atom.concepts.subject and atom.concepts.object)
        straight = self._among(row, atom.predicates)
        subject, object_ = scope.get(atom.subject), scope.get(atom.object)
        turned = self._among(row, atom.mirrored, apart=subject is not None or object_ is not None)
        if subject is None and object_ is None:
            way = self.names.fresh("t")
            select.join(f"(SELECT 0 AS turned UNION ALL SELECT 1) {way}")
            for variable, near, far in (
                (atom.subject, "subject", "object"),
                (atom.object, "object", "subject"),
            ):
                number = f"CASE {way}.turned WHEN 0 THEN {row}.{near} ELSE {row}.{far} END"
                scope.setdefault(variable, Cell(number, kind, is_present=True))
            straight.append(f"{way}.turned = 0")
            turned.append(f"{way}.turned = 1")
            if atom.object == atom.subject:
                straight.append(conditions.NEVER)
                turned.append(conditions.NEVER)
        if subject is not None:
            straight.append(f"{row}.subject = {subject.number}")
            turned.append(f"{row}.object = {subject.number}")
            if object_ is None:
                scope[atom.object] = _other_end(row, subject, kind)
        if object_ is not None:
            straight.append(f"{row}.object = {object_.number}")
            turned.append(f"{row}.subject = {object_.number}")
            if subject is None:
                scope[atom.subject] = _other_end(row, object_, kind)
        return f"(({' AND '.join(straight)}) OR ({' AND '.join(turned)}))"

    # Walks.

    def _begin_walk(self, select: Select, atom: ir.Atom, waiting: Sequence[ir.Condition]) -> bool:
        """Bind one end of a walk whose ends are both unknown: if possible, one that has conditions.

        The conditions are then tested before the walk. Returns False if the atom is no such walk.
        """
        scope = select.scope
        if not isinstance(atom, ir.WalkAtom) or scope.keys() & {atom.subject, atom.object}:
            return False
        tested = frozenset().union(*map(condition_variables, waiting))
        # An index lists the objects of a predicate's links; the last link is found from a subject.
        forward = atom.link is not None or (atom.subject in tested and atom.object not in tested)
        walk = walks.Walk(self.sources, atom, self._number(atom.predicate), forward)
        row = self.names.fresh("d")
        table, number, tests = walk.starts(row, in_order=self._is_page)
        select.join(table)
        select.where += tests
        kind = _kind(atom.concepts.subject if forward else atom.concepts.object)
        start = atom.subject if forward else atom.object
        scope[start] = Cell(number, kind, is_present=True)
        return True

    def _walk(self, select: Select, atom: ir.WalkAtom) -> None:
        scope = select.scope
        subject, object_ = scope.get(atom.subject), scope.get(atom.object)
        if subject is None or (object_ is not None and _is_fewer(object_, subject)):
            start, end, forward = object_, subject, False
        else:
            start, end, forward = subject, object_, True
        if start is None:
            raise InternalError("A walk begins at an element that is not bound.")
        if atom.minimum == 0:  # If the walk has several hops, each of its links is tested instead.
            select.where += self.sources.shown_tests(start.number)
        walk = walks.Walk(self.sources, atom, self._number(atom.predicate), forward)
        if atom.link is not None:
            # From the subject, the walks give the last link, but few of them lead to the object.
            if object_ is not None:
                self._walk(select, replace(atom, link=None))
            self._walk_with_link(select, atom)
        elif end is not None:
            select.where.append(self._joined_by(walk, start, end))
        elif start.ground is not None or walk.has_few_levels:
            name, row = self.names.fresh("w"), self.names.fresh("j")
            is_concept = start.kind == "concept"
            reached = walk.reached(name, start.ground or start.number, is_concept=is_concept)
            if start.ground is not None:  # The walk is then not gathered again for every row.
                select.join(f"({reached}) {row}")
                number = f"{row}.n"
            else:
                select.join(
                    self.dialect.opened(self.dialect.gathered(["n"], f"({reached}) r"), row)
                )
                number = self.dialect.item(row)
            self._bind_end(scope, atom, number, forward=forward)
        else:
            level, row = self.names.fresh("v"), self.names.fresh("j")
            select.join(walk.search(level, start.number))
            select.join(self.dialect.opened(f"{level}.elements", row))
            self._bind_end(scope, atom, self.dialect.item(row), forward=forward)

    @staticmethod
    def _bind_end(scope: Scope, atom: ir.WalkAtom, number: str, *, forward: bool) -> None:
        end = atom.object if forward else atom.subject
        kind = _kind(atom.concepts.object if forward else atom.concepts.subject)
        scope[end] = Cell(number, kind, is_present=True)

    def _joined_by(self, walk: walks.Walk, start: Cell, end: Cell) -> str:
        """The condition that a walk joins two known elements."""
        if start.ground is not None:  # From a single element, SQLite collects the ends only once.
            name, is_concept = self.names.fresh("w"), start.kind == "concept"
            reached = walk.reached(name, start.ground, is_concept=is_concept)
            return f"{end.number} IN ({reached})"
        return walk.joins(self.bindings.add(walks.RUN), start.number, end.number)

    def _walk_with_link(self, select: Select, atom: ir.WalkAtom) -> None:
        scope = select.scope
        row = self.names.fresh("j")
        walk = walks.Walk(self.sources, atom, self._number(atom.predicate), forward=True)
        select.join(self.dialect.opened(walk.last_links(scope[atom.subject].number), row))
        ends: tuple[tuple[ir.Variable | None, CellKind], ...] = (
            (atom.object, _kind(atom.concepts.object)),
            (atom.link, "link"),
        )
        for place, (variable, kind) in enumerate(ends):
            number = self.dialect.item(row, place)
            if variable in scope:
                select.where.append(f"{number} = {scope[variable].number}")
            elif variable is not None:
                scope[variable] = Cell(number, kind)

    # Optional blocks.

    def _attempt(self, select: Select, optional: ir.Optional) -> None:
        fresh = dict.fromkeys(
            name
            for block in optional.arms
            for name in sorted(block.binds)
            if name not in select.scope
        )
        if not fresh:
            return  # An OPTIONAL without new variables changes no solution.
        allowance.check()
        select.make_room(self._tables_max)
        single = None if self.sources.is_past else _single_atom(optional)
        if single is not None:
            self._left_join(select, single, optional.arms[0])
            return
        row = self.names.fresh("j")
        rows = " UNION ".join(
            self._gather(block, select.scope, list(fresh)) for block in optional.arms
        )
        count = len(fresh)
        columns = [f"g.v{at}" for at in range(count)]
        select.left_join(
            self.dialect.opened(self.dialect.gathered(columns, f"({rows}) g"), row), "TRUE"
        )
        kinds = self._kinds(optional, fresh)
        for at, name in enumerate(fresh):
            number = self.dialect.item(row, None if count == 1 else at)
            select.scope[name] = Cell(number, "predicate" if name in kinds else "element")

    def _gather(self, block: ir.Block, scope: Scope, fresh: list[ir.Variable]) -> str:
        inner = self.select(block, scope)
        columns = ", ".join(
            f"{inner.scope[name].number if name in inner.scope else self.dialect.NOTHING} AS v{at}"
            for at, name in enumerate(fresh)
        )
        text = inner.text(columns)
        # In a past state the rows are gathered once, in a subquery that SQLite does not merge into
        # the query around it.
        return f"SELECT * FROM ({text}{self.dialect.APART}) u" if self.sources.is_past else text

    @staticmethod
    def _kinds(optional: ir.Optional, fresh: dict[ir.Variable, None]) -> set[ir.Variable]:
        """The new variables that are names of predicates."""
        variables: set[ir.Variable] = set()
        waiting = list(optional.arms)
        while waiting:
            block = waiting.pop()
            waiting += [arm for inner in block.optionals for arm in inner.arms]
            variables |= {
                atom.predicate_variable
                for atom in block.atoms
                if isinstance(atom, ir.LinkAtom) and atom.predicate_variable in fresh
            }
        return variables

    def _left_join(
        self, select: Select, atom: ir.ConceptAtom | ir.LinkAtom, block: ir.Block
    ) -> None:
        inner = Select(self.dialect, dict(select.scope))
        if isinstance(atom, ir.ConceptAtom):
            row = self.names.fresh("c")
            table, tests = self.sources.concepts(row), self._among_entries(row, atom.probe)
            tests += self._concept_tests(row, atom, is_found=bool(tests))
            tests += self._shown_tests(row, atom)
            inner.scope[atom.variable] = Cell(f"{row}.id", "concept", row)
        else:
            row = self.names.fresh("p")
            table, tests = self.sources.links(row), self._among_entries(row, atom.probe)
            tests += [*self._link_tests(inner, atom, row), *self.sources.link_tests(row)]
        tests += [
            self.condition(inner, condition, by_number=True) for condition in block.conditions
        ]
        select.left_join(table, " AND ".join(tests) or "TRUE")
        for name in inner.scope.keys() - select.scope.keys():
            select.scope[name] = replace(inner.scope[name], is_present=False)

    def _among_entries(self, row: str, probe: ir.Probe | None) -> list[str]:
        """Like `_probe`, for a row of a LEFT JOIN, which takes one table only."""
        if probe is None:
            return []
        tests = " AND ".join(self._probe_tests("q", probe))
        return [f"{row}.id IN (SELECT q.element FROM property q WHERE {tests})"]

    # Conditions.

    def condition(self, select: Select, node: ir.Condition, *, by_number: bool = False) -> str:
        """A condition; with `by_number`, no table is joined for it."""
        match node:
            case ir.Compare(operator, left, right):
                return conditions.compare(
                    self.dialect,
                    operator,
                    self._operand(select, left, by_number),
                    self._operand(select, right, by_number),
                )
            case ir.In(operand, values):
                access = self._operand(select, operand, by_number)
                return conditions.one_of(self.dialect, access, values, self.bindings.add(values))
            case ir.IsNull(operand):
                return f"{self._operand(select, operand, by_number).value} IS NULL"
            case ir.TextCondition(function, operand, argument):
                return conditions.text_test(
                    self.dialect,
                    function,
                    self._operand(select, operand, by_number),
                    self._operand(select, argument, by_number),
                )
            case ir.Earlier(first, second):
                return f"{select.scope[first].number} < {select.scope[second].number}"
            case ir.Never():
                return conditions.NEVER
            case ir.Not(ir.Exists(arms)):
                return conditions.all_of([self._lack(select, block) for block in arms])
            case ir.Not(inner):
                return conditions.negated(self.condition(select, inner, by_number=by_number))
            case ir.And(inner):
                tests = [self.condition(select, part, by_number=by_number) for part in inner]
                return f"({conditions.all_of([f'({test})' for test in tests])})"
            case ir.Or(inner):
                return conditions.any_of(
                    [self.condition(select, part, by_number=by_number) for part in inner]
                )
            case ir.Exists(arms):
                return conditions.any_of(self._exist(select, arms))
            case _:
                assert_never(node)

    def _exist(self, select: Select, arms: tuple[ir.Block, ...]) -> list[str]:
        return [f"EXISTS ({self.select(block, select.scope).text('1')})" for block in arms]

    def _lack(self, select: Select, block: ir.Block) -> str:
        (exists,) = self._exist(select, (block,))
        gathered = negation.gathered(block, select.scope, select.fans)
        if gathered is None:
            return f"NOT {exists}"
        fan, end = gathered
        return fan.lacks(end, self._number(fan.predicate), f"NOT {exists}")

    def _operand(self, select: Select, operand: ir.Operand, by_number: bool) -> Access:
        if isinstance(operand, ir.Field):
            cell = select.scope[operand.variable]
            return self.fields.access(
                cell if by_number else self.at_hand(select, cell, operand.path), operand.path
            )
        placeholder = self.bindings.add(operand)
        kind = "document" if operand.kind == "json" else operand.kind
        if kind in ("text", "number", "large", "true", "false", "null", "document"):
            return Access(kind, "NULL" if kind == "null" else placeholder, is_constant=True)
        raise InternalError("A list is compared where a single value is expected.")

    def at_hand(self, select: Select, cell: Cell, path: tuple[str, ...]) -> Cell:
        """The cell with a row to read columns from; the row is joined if there is none.

        Rows of a past state are looked up by number, because SQLite would copy the whole state for
        a LEFT JOIN.
        """
        if self.sources.is_past:
            return cell
        if cell.row is not None or cell.kind in ("link", "predicate") or path in ((), ("id",)):
            return cell
        if path[0] in ("subject", "predicate", "object", "weight"):
            return cell
        half = select.halves.get(cell.number)
        if half is None:
            half = self.names.fresh("h")
            if cell.kind == "concept" and cell.is_present:
                select.join(self.sources.concepts(half))
                select.where.append(f"{half}.id = {cell.number}")
            else:
                select.left_join(self.sources.concepts(half), f"{half}.id = {cell.number}")
            select.halves[cell.number] = half
        return replace(cell, row=half)


def _as_float(value: ir.Value) -> ir.Value:
    """A large number as SQLite has it."""
    if isinstance(value, ir.Constant):
        return ir.Constant(float(value.value), "number")
    return ir.Parameter(value.parameter, "number", "real")


def _is_fewer(one: Cell, other: Cell) -> bool:
    """True if the patterns show that a cell has fewer values than another."""
    if (one.ground is None) != (other.ground is None):
        return one.ground is not None
    return one.is_named and not other.is_named


def _kind(is_concept: bool) -> CellKind:
    return "concept" if is_concept else "element"


def _other_end(row: str, end: Cell, kind: CellKind) -> Cell:
    """The end of a link that is not this one.

    It is computed as a sum, which names the known end only once: in a chain of such links, a CASE
    would double in length with every step.
    """
    return Cell(f"({row}.subject + {row}.object - {end.number})", kind, is_present=True)


def _single_atom(optional: ir.Optional) -> ir.ConceptAtom | ir.LinkAtom | None:
    """The only atom of an OPTIONAL that can be joined as it is."""
    block = optional.arms[0]
    if len(optional.arms) > 1 or len(block.atoms) > 1 or block.optionals or block.independent:
        return None
    match block.atoms:
        case (ir.ConceptAtom() as atom,):
            return atom
        case (ir.LinkAtom() as atom,) if not atom.mirrored:
            return atom
        case _:
            return None
