"""Times in a FILTER, spelled as properties hold them.

A DateTime has one spelling in the graph, and comparing two is comparing texts. A command may spell
the same time otherwise: without milliseconds, or with an offset. So what is compared with a
property that a schema declares as a DateTime is brought into that spelling: here if the command
says it, at each execution if it is a parameter. What is no time stays as it is.

That takes the type of the element: its pattern names it, or it stands at the end of a link whose
edge is declared. Of an element of any other type nothing is known, and texts are texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import orjson

from mycel.ir import query as ir
from mycel.plan.catalog import Catalog
from mycel.schema.values import moment_to_compare

Owner = tuple[int, bool]
"""The number of a type, or of a predicate; and whether it is one."""
Owners = Mapping[ir.Variable, frozenset[Owner]]


def spell_moments(query: ir.Query, catalog: Catalog) -> ir.Query:
    """The query with times spelled as the properties that they are compared with."""
    spelling = _Spelling(catalog)
    return replace(query, branches=tuple(spelling.block(each, {}) for each in query.branches))


class _Spelling:
    def __init__(self, catalog: Catalog) -> None:
        self._catalog: Final = catalog

    def block(self, block: ir.Block, around: Owners) -> ir.Block:
        if not block.conditions and not block.attempts:
            return block
        known = {} if block.independent else dict(around)
        for variable, owner in self._owners(block):
            known[variable] = known.get(variable, frozenset()) | {owner}
        attempts = tuple(
            ir.Attempt(tuple(self.block(each, known) for each in attempt.branches))
            for attempt in block.attempts
        )
        conditions = tuple(self._condition(each, known) for each in block.conditions)
        return replace(block, attempts=attempts, conditions=conditions)

    def _owners(self, block: ir.Block) -> Iterator[tuple[ir.Variable, Owner]]:
        """What the variables of a block are instances of, those of its OPTIONALs included."""
        for atom in block.atoms:
            match atom:
                case ir.ConceptAtom(variable, int() as type_number):
                    yield variable, (type_number, False)
                case ir.LinkAtom(link, subject, object_, (predicate,), _, mirrored):
                    yield link, (predicate, True)
                    if not mirrored:
                        yield from self._at_ends(subject, object_, predicate)
                case ir.WalkAtom(subject, object_, predicate, minimum, _, False) if minimum > 0:
                    yield from self._at_ends(subject, object_, predicate)
                case _:
                    pass
        for attempt in block.attempts:
            for branch in attempt.branches:
                yield from self._owners(branch)

    def _at_ends(
        self, subject: ir.Variable, object_: ir.Variable, predicate: int
    ) -> Iterator[tuple[ir.Variable, Owner]]:
        ends = self._catalog.ends(predicate)
        if ends is not None:
            yield subject, (ends[0], False)
            yield object_, (ends[1], False)

    def _condition(self, node: ir.Condition, known: Owners) -> ir.Condition:
        match node:
            case ir.Compare(operator, ir.Field() as field, ir.Known() | ir.Given() as value):
                return ir.Compare(operator, field, self._value(field, value, known))
            case ir.Compare(operator, ir.Known() | ir.Given() as value, ir.Field() as field):
                return ir.Compare(operator, self._value(field, value, known), field)
            case ir.OneOf(ir.Field() as field, values):
                return ir.OneOf(field, self._value(field, values, known))
            case ir.TextTest("CONTAINS", ir.Field() as field, ir.Known() | ir.Given() as value):
                # Of a list. A single moment is searched for a part of its text.
                return ir.TextTest("CONTAINS", field, self._value(field, value, known, lists=True))
            case ir.Inverse(inner):
                return ir.Inverse(self._condition(inner, known))
            case ir.All(conditions):
                return ir.All(tuple(self._condition(each, known) for each in conditions))
            case ir.AnyOf(conditions):
                return ir.AnyOf(tuple(self._condition(each, known) for each in conditions))
            case ir.Exists(branches):
                return ir.Exists(tuple(self.block(each, known) for each in branches))
            case _:
                return node

    def _value(
        self, field: ir.Field, value: ir.Value, known: Owners, *, lists: bool = False
    ) -> ir.Value:
        if value.kind not in ("text", "texts") or not self._is_moment(field, known, lists=lists):
            return value
        match value:
            case ir.Given(parameter, kind):
                return ir.Given(parameter, kind, "moment" if kind == "text" else "moments")
            case ir.Known(text, "text"):
                return ir.Known(moment_to_compare(text), "text")
            case ir.Known(texts, kind):
                spelled = [moment_to_compare(each) for each in orjson.loads(texts)]
                return ir.Known(orjson.dumps(spelled).decode(), kind)

    def _is_moment(self, field: ir.Field, known: Owners, *, lists: bool) -> bool:
        match field.path:
            case ("attributes", name):
                owners = known.get(field.variable, ())
                return any(
                    name in self._catalog.moments(owner, link=link, lists=lists)
                    for owner, link in owners
                )
            case _:
                return False
