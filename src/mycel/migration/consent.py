"""Consent of the caller to the removals of a schema.

A text that declares one type of ten is more often a part of a schema than a request to remove nine
types, so types are removed only if the caller agrees. A property that is missing from a declared
type is removed without consent, because the declaration of its type is complete.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

from mycel.engine.protection_guard import ACTORS
from mycel.errors import SchemaError
from mycel.migration.definition_writer import table_of
from mycel.migration.row_rewrite import DROPPED
from mycel.schema.catalog import Catalog
from mycel.schema.model import EdgeType, Interface, SchemaType
from mycel.schema.planner import Plan
from mycel.schema.steps import RemoveType
from mycel.store.file.layout import Table
from mycel.store.query.bulk import instances
from mycel.store.query.reader import Reader

_SHOWN_MAX: Final = 10
"""The number of removed types that a refusal names."""


class Consent(NamedTuple):
    """Permissions that the caller gives."""

    removals: bool = False
    """Types that are no longer declared may be removed."""
    data_loss: bool = False
    """Removed types and properties are dropped for good instead of hidden."""


def refuse_removals(reader: Reader, planned: Plan) -> None:
    """Raise SchemaError if a plan removes types and the caller has not agreed."""
    removals = [_counted(reader, removal) for removal in planned.removals]
    if not removals:
        return
    listing = "; ".join(removal.describe() for removal in removals[:_SHOWN_MAX])
    others = f"; and {len(removals) - _SHOWN_MAX} more" if len(removals) > _SHOWN_MAX else ""
    raise SchemaError(
        "The schema does not declare every type that is in force. Applying it would remove types:"
        f" {listing}{others}.",
        hint="Nothing was changed. Declare these types as well (`mycel schema show` prints all"
        " types in force); write @rename_from on a renamed type; or agree to the removal:"
        " allow_removals=True, on the command line --allow-removals.",
        data={"removals": [removal.to_dict() for removal in removals]},
    )


def _counted(reader: Reader, step: RemoveType) -> RemoveType:
    if isinstance(step.before, Interface):
        return step
    table, number = place_in_store(reader, step.before)
    rows = instances.count(reader, table, number)
    actors = [name for type_name, name in ACTORS if type_name == step.before.kip_name]
    if actors and table == "concept":  # They stay.
        rows -= instances.count_named(reader, number, actors)
    return replace(step, rows=rows)


def has_rows(reader: Reader, accepted: Catalog, schema_type: SchemaType) -> bool:
    """True if a type has instances, or had some when it was hidden."""
    table, number = place_in_store(reader, schema_type)
    is_hidden = accepted.type(schema_type.name) is None
    return instances.are_there(reader, table, number, DROPPED if is_hidden else None)


def place_in_store(reader: Reader, schema_type: SchemaType) -> tuple[Table, int]:
    """The table of a type's instances, and its number there; -1 if it was never defined."""
    find = reader.find_predicate if isinstance(schema_type, EdgeType) else reader.find_type
    number = find(schema_type.kip_name)
    return table_of(schema_type), -1 if number is None else number
