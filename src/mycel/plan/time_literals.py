"""Rewrites times in a FILTER to the spelling that properties have.

A DateTime has one spelling in the graph, and DateTimes are compared as texts. If a text is compared
with a property that a schema declares as a DateTime, it is brought into that spelling: here for a
literal, at each execution for a parameter. A text that is no time stays as it is.

The type of the element has to be known: its pattern names it, or it is the end of a declared edge.
If there are several predicates, or arms of an OPTIONAL, all have to agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import orjson

from mycel.ir import query as ir
from mycel.ir.facts import atom_variables
from mycel.plan.catalog import DefinedNames

Times = frozenset[tuple[str, bool]]
"""The names of properties that are times, each with whether it is a list."""
Known = Mapping[ir.Variable, Times]

_NONE: Final[Times] = frozenset()


def spell_moments(query: ir.Query, catalog: DefinedNames) -> ir.Query:
    """The query with times spelled as the properties that they are compared with."""
    spelling = _Spelling(catalog)
    return replace(query, arms=tuple(spelling.block(arm, {}) for arm in query.arms))


class _Spelling:
    def __init__(self, catalog: DefinedNames) -> None:
        self._catalog: Final = catalog

    def block(self, block: ir.Block, around: Known) -> ir.Block:
        if not block.conditions and not block.optionals:
            return block
        moments = {} if block.independent else dict(around)
        for variable, times in self._of_atoms(block).items():
            moments[variable] = moments.get(variable, _NONE) | times
        bound = _bound(block) if block.independent else _bound(block) | block.sees
        optionals = []
        for optional in block.optionals:
            spelled = tuple(self.block(arm, moments) for arm in optional.arms)
            optionals.append(ir.Optional(spelled))
            moments |= self._of_optional(optional, bound)
            bound |= _bound_names(optional)
        conditions = tuple(self._condition(condition, moments) for condition in block.conditions)
        return replace(block, optionals=tuple(optionals), conditions=conditions)

    # What is known.

    def _of_block(self, block: ir.Block) -> Known:
        """The properties that are times, of the variables that a block binds."""
        moments, bound = self._of_atoms(block), _bound(block)
        for optional in block.optionals:
            moments |= self._of_optional(optional, bound)
            bound |= _bound_names(optional)
        return moments

    def _of_optional(self, optional: ir.Optional, bound: frozenset[ir.Variable]) -> Known:
        """The properties that are times, of the new variables of an OPTIONAL."""
        arms = [(arm.binds, self._of_block(arm)) for arm in optional.arms]
        return {
            name: _common(
                arm_moments.get(name, _NONE) for binds, arm_moments in arms if name in binds
            )
            for name in _bound_names(optional) - bound
        }

    def _of_atoms(self, block: ir.Block) -> dict[ir.Variable, Times]:
        by_variable: dict[ir.Variable, Times] = {}
        for variable, times in self._variable_times(block):
            by_variable[variable] = by_variable.get(variable, _NONE) | times
        return by_variable

    def _variable_times(self, block: ir.Block) -> Iterator[tuple[ir.Variable, Times]]:
        for atom in block.atoms:
            match atom:
                case ir.ConceptAtom(variable, int() as type_number):
                    yield variable, self._times(type_number, link=False)
                case ir.LinkAtom(link, subject, object_, tuple() as predicates, _, mirrored):
                    yield (
                        link,
                        _common(self._times(predicate, link=True) for predicate in predicates),
                    )
                    if not mirrored:
                        yield from self._at_ends(subject, object_, predicates)
                case ir.WalkAtom(subject, object_, predicate, minimum, _, False) if minimum > 0:
                    yield from self._at_ends(subject, object_, (predicate,))
                case _:
                    pass

    def _at_ends(
        self, subject: ir.Variable, object_: ir.Variable, predicates: tuple[int, ...]
    ) -> Iterator[tuple[ir.Variable, Times]]:
        ends = [self._catalog.ends(predicate) for predicate in predicates]
        for side, variable in enumerate((subject, object_)):
            types = [None if end is None else end[side] for end in ends]
            yield (
                variable,
                _common(
                    _NONE if type_name is None else self._times(type_name, link=False)
                    for type_name in types
                ),
            )

    def _times(self, owner: int, *, link: bool) -> Times:
        return frozenset(
            (name, lists)
            for lists in (False, True)
            for name in self._catalog.moments(owner, link=link, lists=lists)
        )

    # What is compared.

    def _condition(self, node: ir.Condition, moments: Known) -> ir.Condition:
        match node:
            case ir.Compare(operator, ir.Field() as field, ir.Constant() | ir.Parameter() as value):
                return ir.Compare(operator, field, self._value(field, value, moments))
            case ir.Compare(operator, ir.Constant() | ir.Parameter() as value, ir.Field() as field):
                return ir.Compare(operator, self._value(field, value, moments), field)
            case ir.In(ir.Field() as field, values):
                return ir.In(field, self._value(field, values, moments))
            case ir.TextCondition(
                "CONTAINS", ir.Field() as field, ir.Constant() | ir.Parameter() as value
            ):
                # CONTAINS on a list compares items; on a single time it searches a part of the
                # text.
                return ir.TextCondition(
                    "CONTAINS", field, self._value(field, value, moments, lists=True)
                )
            case ir.Not(inner):
                return ir.Not(self._condition(inner, moments))
            case ir.And(conditions):
                return ir.And(
                    tuple(self._condition(condition, moments) for condition in conditions)
                )
            case ir.Or(conditions):
                return ir.Or(tuple(self._condition(condition, moments) for condition in conditions))
            case ir.Exists(arms):
                return ir.Exists(tuple(self.block(arm, moments) for arm in arms))
            case _:
                return node

    def _value(
        self, field: ir.Field, value: ir.Value, known_moments: Known, *, lists: bool = False
    ) -> ir.Value:
        if not self._is_moment(field, known_moments, lists=lists):
            return value
        match value:
            case ir.Parameter(parameter, "text" as kind):
                return ir.Parameter(parameter, kind, "moment")
            case ir.Parameter(parameter, "texts" as kind):
                return ir.Parameter(parameter, kind, "moments")
            case ir.Constant(text, "text"):
                return ir.Constant(as_moment(text), "text")
            case ir.Constant(items, "texts" | "values" as kind):
                moments = [as_moment(load) for load in orjson.loads(items)]
                return ir.Constant(ir.canonical(moments), kind)
            case _:
                return value

    @staticmethod
    def _is_moment(field: ir.Field, moments: Known, *, lists: bool) -> bool:
        match field.path:
            case ("attributes", name):
                return (name, lists) in moments.get(field.variable, _NONE)
            case _:
                return False


def as_moment(value: Any) -> Any:
    """A text as it is compared with stored moments; any other value as it is."""
    # Imported here: few commands compare moments, and starting should be quick.
    from mycel.schema.property_values import moment_to_compare  # noqa: PLC0415

    return moment_to_compare(value) if value.__class__ is str else value


def _common(alternatives: Iterable[Times]) -> Times:
    first, *others = alternatives
    return first.intersection(*others)


def _bound(block: ir.Block) -> frozenset[ir.Variable]:
    return frozenset(name for atom in block.atoms for name in atom_variables(atom))


def _bound_names(optional: ir.Optional) -> frozenset[ir.Variable]:
    return frozenset(name for arm in optional.arms for name in arm.binds)
