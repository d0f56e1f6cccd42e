"""Violations of a schema by stored data.

A schema is applied only if the stored data satisfies it. Of each type, up to `LISTED_MAX`
violations are listed, with type, property, value and constraint, in the words of a refused write.
All violations are counted, except that the search for values that are not unique ends at
`CONFLICTS_MAX`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from mycel.engine.schema_guard import card_violation, is_actor, shown_element, unique_violation
from mycel.engine.violation_list import LISTED_MAX, entry
from mycel.errors import ConstraintViolation, MycelError
from mycel.schema.catalog import Catalog
from mycel.schema.model import (
    Cardinality,
    EdgeType,
    InstanceType,
    Interface,
    NodeType,
    SchemaType,
)
from mycel.schema.steps import UnsupportedChange, entity
from mycel.store.query.bulk import instances
from mycel.store.write.transaction import Transaction

CONFLICTS_MAX: Final = 1000
"""The number of repeated values after which the search for them ends."""


class Findings:
    """Violations, by type."""

    def __init__(self) -> None:
        self._listed: Final[dict[str, list[dict[str, Any]]]] = {}
        self._counts: Final[dict[str, int]] = {}
        self.uncounted: Final[set[str]] = set()
        """Types with more violations than were counted."""

    def add(self, tx: Transaction, schema_type: SchemaType, error: MycelError, number: int) -> None:
        """Note that an instance does not satisfy a type."""
        place = _place(schema_type)
        self._counts[place] = self._counts.get(place, 0) + 1
        violations = self._listed.setdefault(place, [])
        if len(violations) < LISTED_MAX:
            instance = {"instance": shown_element(tx, number)}
            outer = {"id": tx.reader.outer_id(number), "type": schema_type.name}
            violations.append(instance | outer | entry(error))

    def refuse(self, schema_type: SchemaType, message: str) -> None:
        """Note that a type itself is impossible."""
        place = _place(schema_type)
        self._counts[place] = 1
        self._listed[place] = [{"instance": schema_type.name, "message": message}]

    def __bool__(self) -> bool:
        return bool(self._counts)

    def steps(self) -> list[UnsupportedChange]:
        """The violations as steps of a plan that is not supported."""
        return [self._step(place, count) for place, count in self._counts.items()]

    def _step(self, place: str, count: int) -> UnsupportedChange:
        violations, has_more = self._listed[place], place in self.uncounted
        others = f"more than {count - 1} others" if has_more else f"{count - 1} more"
        others = f" (and {others})" if count > 1 else ""
        first = f"{violations[0]['instance']}: {violations[0]['message']}"
        reason = f"existing data does not satisfy it: {first}{others}"
        return UnsupportedChange(place, reason, tuple(violations), count, has_more)


def _place(schema_type: SchemaType) -> str:
    return entity(schema_type.kind, schema_type.name)


def check_interface(tx: Transaction, interface: Interface, number: int, findings: Findings) -> None:
    """Check that an interface has no instances."""
    for instance in instances.numbers(tx.reader, "concept", number):
        findings.add(tx, interface, ConstraintViolation("an interface has no instances"), instance)


def check_ends(tx: Transaction, edge_type: EdgeType, catalog: Catalog, findings: Findings) -> None:
    """Check that every link leads from the declared subject type to the declared object type."""
    types = [catalog.nodes[name].kip_name for name in (edge_type.from_type, edge_type.to_type)]
    from_type, to_type = (tx.reader.type_number(name) for name in types)
    predicate = tx.reader.predicate_number(edge_type.kip_name)
    leads = f"edge {edge_type.name}: {edge_type.from_type} -> {edge_type.to_type}"
    error = ConstraintViolation(
        f"edge {edge_type.name} leads from {edge_type.from_type} to {edge_type.to_type}",
        data={"constraint": leads},
    )
    wrong = instances.links_elsewhere(tx.reader, predicate, from_type, to_type)
    for number, _, _ in wrong:
        findings.add(tx, edge_type, error, number)


def check_cardinality(tx: Transaction, edge_type: EdgeType, findings: Findings) -> None:
    """Check that no source has too many or too few edges."""
    card = edge_type.cardinality
    if card == Cardinality():
        return
    predicate = tx.reader.predicate_number(edge_type.kip_name)
    beyond = instances.sources_beyond(tx.reader, predicate, card.minimum, card.maximum)
    for source, count in beyond:
        error = card_violation(tx, edge_type.name, card, source, count)
        findings.add(tx, edge_type, error, source)


def check_unique(
    tx: Transaction, types: Sequence[tuple[InstanceType, int]], findings: Findings
) -> None:
    """Check that no two instances have the same unique tuple.

    Each type comes with its number in the store. Equal keys are found elsewhere, when rows are
    named.
    """
    owners = {(isinstance(declared, EdgeType), number): declared for declared, number in types}
    for at, conflict in enumerate(tx.conflicts(CONFLICTS_MAX + 1)):
        slot = conflict.slot
        declared = owners.get((slot.is_link, slot.owner))
        holders = [element for element in conflict.elements if not is_actor(tx, element)]
        key = declared.key if isinstance(declared, NodeType) else ()
        if declared is None or set(key) == set(slot.columns) or len(holders) < 2:
            continue
        if at == CONFLICTS_MAX:
            findings.uncounted.add(_place(declared))
            return
        error = unique_violation(tx, declared.name, conflict, holders)
        findings.add(tx, declared, error, holders[0])
