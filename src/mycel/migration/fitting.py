"""What of the data does not satisfy a schema, in words.

A change of a schema may only be applied if what is stored satisfies it. People who have to mend
their data need more than the first offender: up to `LISTED_MAX` are named, and all are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from mycel.schema.catalog import Catalog
from mycel.schema.model import (
    Cardinality,
    EdgeType,
    InstanceType,
    Interface,
    SchemaType,
    kind_of_type,
)
from mycel.schema.steps import UnsupportedChange
from mycel.store import instances
from mycel.store.transaction import Transaction

LISTED_MAX: Final = 20
"""How many violations of one type are named."""
CONFLICTS_MAX: Final = 1000
"""How many values that are not unique are looked for."""


class Findings:
    """Violations, by type."""

    def __init__(self) -> None:
        self._listed: Final[dict[str, list[dict[str, Any]]]] = {}
        self._counts: Final[dict[str, int]] = {}

    def add(self, declared: SchemaType, message: str, who: Callable[[], str]) -> None:
        """Note that an instance does not satisfy a type; `who` tells which, if it is listed."""
        entity = f"{kind_of_type(declared)}:{declared.name}"
        self._counts[entity] = self._counts.get(entity, 0) + 1
        listed = self._listed.setdefault(entity, [])
        if len(listed) < LISTED_MAX:
            listed.append({"instance": who(), "message": message})

    def __bool__(self) -> bool:
        return bool(self._counts)

    def steps(self) -> list[UnsupportedChange]:
        """As steps of a plan that is not supported."""
        return [
            UnsupportedChange(
                entity, _reason(count, self._listed[entity]), tuple(self._listed[entity]), count
            )
            for entity, count in self._counts.items()
        ]


def _reason(count: int, listed: list[dict[str, Any]]) -> str:
    first = listed[0]
    more = f" (and {count - 1} more)" if count > 1 else ""
    return f"existing data does not satisfy it: {first['instance']}: {first['message']}{more}"


def shown(tx: Transaction, number: int) -> str:
    """An element as people know it: a concept by its name, a link by its ends."""
    reader = tx.ledger.reader
    link = reader.proposition(number) if number & 1 else None
    if link is None:
        concept = reader.concept(number)
        return reader.outer_id(number) if concept is None else repr(concept.name)
    ends = [tx.get(end) for end in (link.subject, link.object)]
    return " -> ".join(repr(getattr(end, "name", end.id)) for end in ends)


def check_interface(tx: Transaction, declared: Interface, number: int, findings: Findings) -> None:
    """An interface has no instances."""
    for each in instances.numbers(tx.ledger.connection, "concept", number):
        findings.add(declared, "an interface has no instances", lambda at=each: shown(tx, at))  # type: ignore[misc]


def check_ends(tx: Transaction, declared: EdgeType, catalog: Catalog, findings: Findings) -> None:
    """Every link leads from the one type to the other."""
    ledger = tx.ledger
    types = [catalog.nodes[name].kip_name for name in (declared.from_type, declared.to_type)]
    from_type, to_type = (ledger.registry.type_number(ledger.connection, name) for name in types)
    predicate = ledger.registry.predicate_number(ledger.connection, declared.kip_name)
    message = f"edge {declared.name} leads from {declared.from_type} to {declared.to_type}"
    wrong = instances.links_elsewhere(ledger.connection, predicate, from_type, to_type)
    for number, _, _ in wrong:
        findings.add(declared, message, lambda at=number: shown(tx, at))  # type: ignore[misc]


def check_cardinality(tx: Transaction, declared: EdgeType, findings: Findings) -> None:
    """No source has too many edges, or too few."""
    card = declared.cardinality
    if card == Cardinality():
        return
    ledger = tx.ledger
    predicate = ledger.registry.predicate_number(ledger.connection, declared.kip_name)
    beyond = instances.sources_beyond(ledger.connection, predicate, card.minimum, card.maximum)
    for source, count in beyond:
        bound = f"min {card.minimum}" if count < card.minimum else f"max {card.maximum}"
        findings.add(
            declared,
            f"@card violation on edge {declared.name}: source {shown(tx, source)}"
            f" has {count} edges ({bound})",
            lambda at=source: shown(tx, at),  # type: ignore[misc]
        )


def check_unique(
    tx: Transaction, types: Sequence[tuple[InstanceType, int]], findings: Findings
) -> None:
    """No two instances hold the same tuple. Each type comes with its number in the store."""
    owners = {(isinstance(each, EdgeType), number): each for each, number in types}
    for conflict in tx.ledger.properties.conflicts(CONFLICTS_MAX):
        slot = conflict.slot
        declared = owners.get((slot.is_link, slot.owner))
        if declared is None:
            continue
        holders = [shown(tx, each) for each in conflict.elements[:2]]
        value = ", ".join(map(str, conflict.values))
        findings.add(
            declared,
            f"@unique violation on {declared.name}.({', '.join(slot.columns)}):"
            f" value {value!r} held by {' and '.join(holders)}",
            lambda at=holders[0]: at,  # type: ignore[misc]
        )
