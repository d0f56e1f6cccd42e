"""Hidden types and properties: listing, restoring and discarding them.

A live definition lists its hidden properties; the tombstone of a definition is a hidden type.
`discard` removes only this memory; the hidden data stays in history.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from mycel.engine.schema_guard import APPLYING
from mycel.errors import InvalidValueType, NotFound, SchemaError, did_you_mean
from mycel.migration import schema_in_force
from mycel.migration.consent import place_in_store
from mycel.migration.definition_writer import existing, place_of
from mycel.migration.lock import schema_apply_lock
from mycel.migration.row_rewrite import DROPPED
from mycel.model import times
from mycel.model.names import kind_of
from mycel.schema import load
from mycel.schema.catalog import Catalog, Dropped
from mycel.schema.formatter import format_declared
from mycel.schema.model import Interface, SchemaType, TypeKind
from mycel.schema.steps import entity
from mycel.schema.stored_declaration import PG, PG_DROPPED
from mycel.store.database import Store
from mycel.store.query import history
from mycel.store.query.bulk import instances
from mycel.store.query.reader import Reader
from mycel.store.write.transaction import Transaction

MESSAGE: Final = "schema discard"
"""The beginning of the message of a transaction that discards; the names follow."""


class Hidden(NamedTuple):
    """A type or a property that is hidden."""

    kind: TypeKind
    type_name: str
    property_name: str | None
    """None for a whole type."""
    declaration: str
    """The declaration in the schema language."""
    rows: int
    """The number of instances of a hidden type, or of instances with a hidden value of a property.
    """
    seq: int
    """The position of the journal just before the type or property was hidden."""
    time_us: int
    """The time at which the type or property was hidden."""

    @property
    def name(self) -> str:
        """The name that `restore` and `discard` take: `Team`, or `Person.city`."""
        return entity(self.kind, self.type_name, self.property_name).partition(":")[2]

    def to_dict(self) -> dict[str, Any]:
        """The entry for JSON."""
        return {
            "name": self.name,
            "kind": self.kind if self.property_name is None else "property",
            "declaration": self.declaration,
            "rows": self.rows,
            "seq": self.seq,
            "time": times.to_text(self.time_us),
        }


def list_hidden(reader: Reader) -> list[Hidden]:
    """All hidden types and properties, in the order in which they were hidden."""
    catalog = schema_in_force.read(reader, dropped=True)
    parts = [_hidden(reader, catalog, part) for part in catalog.dropped]
    return sorted(parts, key=lambda part: (part.seq, part.name))


def _hidden(reader: Reader, catalog: Catalog, dropped: Dropped) -> Hidden:
    owner, was = _owner(catalog, dropped), dropped.property
    time_us = history.time_after(reader, dropped.seq)
    rows = 0
    if not isinstance(owner, Interface):
        table, number = place_in_store(reader, owner)
        if was is None:
            rows = instances.count_retired(reader, table, number, time_us, DROPPED)
        else:
            names, seq = (dropped.attribute, was.name), dropped.seq
            rows = instances.count_hidden(reader, table, number, names, seq, besides=DROPPED)
    declaration = format_declared(owner) if was is None else f"{was.name}: {was.type}"
    return Hidden(*dropped.place(), declaration, rows, dropped.seq, time_us)


def _owner(catalog: Catalog, dropped: Dropped) -> SchemaType:
    """The hidden type, or the type of a hidden property, in force or hidden itself."""
    if dropped.declared is not None:
        return dropped.declared
    hidden = (part.declared for part in catalog.dropped if part.declared is not None)
    matches = (
        schema_type
        for schema_type in (*catalog.types, *hidden)
        if schema_type.name == dropped.type_name
    )
    return next(matches)


def with_restored(reader: Reader, names: Sequence[str]) -> Catalog:
    """The schema in force, with hidden types and properties declared as they were."""
    catalog = schema_in_force.read(reader, dropped=True)
    chosen = _chosen(catalog.dropped, names)
    for part in chosen:
        if part.declared is not None:
            catalog = _with_type(catalog, part.declared)
    # If several properties had one name, the last of them is declared again.
    properties = {part.place(): part for part in chosen if part.property is not None}
    for part in properties.values():
        catalog = _with_property(catalog, part)
    try:
        return load(catalog.format())
    except SchemaError as error:
        problem = error.message.splitlines()[0].partition(": ")[2]
        raise SchemaError(
            f"The hidden data cannot be declared as it was. {problem}",
            hint="Name the types that it needs as well; or declare it in a schema in its new form.",
        ) from None


def _with_type(catalog: Catalog, schema_type: SchemaType) -> Catalog:
    return Catalog.of((*catalog.types, schema_type), catalog.dropped)


def _with_property(catalog: Catalog, dropped: Dropped) -> Catalog:
    owner, was = catalog.type(dropped.type_name), dropped.property
    if owner is None or was is None:
        raise NotFound(
            f"{dropped.type_name} is hidden itself.",
            hint=f"Restore {dropped.type_name} as well, by naming it as well.",
        )
    if any(prop.name == was.name for prop in owner.properties):
        raise SchemaError(
            f"{owner.name}.{was.name} is declared already, and these values do not fit it.",
            hint="They come back if the property is declared with a type that fits them:"
            f" {was.type}.",
        )
    own = replace(was, inherited_from=None)
    return _with_type(catalog, replace(owner, properties=(*owner.properties, own)))


def discard(store: Store, names: Sequence[str], *, actor: str, message: str = "") -> list[Hidden]:
    """Remove the memory of hidden types and properties, as one transaction."""
    with schema_apply_lock(store.location):
        with store.reading() as reader:
            catalog = schema_in_force.read(reader, dropped=True)
            chosen = _chosen(catalog.dropped, names)
            parts = [_hidden(reader, catalog, part) for part in chosen]
        full_message = message or f"{MESSAGE} {', '.join(names)}"
        with store.transaction(actor=actor, message=full_message) as tx:
            tx.memo[APPLYING] = True
            for part in chosen:
                if part.declared is not None:
                    _forget_type(tx, part.declared)
            for part in chosen:
                if part.property is not None:
                    _forget_property(tx, _owner(catalog, part), part)
    return parts


def _forget_type(tx: Transaction, schema_type: SchemaType) -> None:
    """Remove the memory of a hidden type."""
    concept = existing(tx, schema_type)
    if concept is not None:
        tx.update(concept, drop_attributes=[PG_DROPPED])
        return
    left = tx.get_concept(*place_of(schema_type), tombstoned=True)
    if left is not None:
        others = {key: value for key, value in left.attributes.items() if key != PG}
        tx.retire(tx.put_concept(*place_of(schema_type), others), reason=DROPPED)


def _forget_property(tx: Transaction, owner: SchemaType, dropped: Dropped) -> None:
    """Remove the memory of a hidden property."""
    concept = existing(tx, owner)
    if concept is None or PG not in concept.attributes:
        raise NotFound(
            f"{owner.name} is hidden itself.",
            hint=f"Restore {owner.name} first, or discard the whole type.",
        )
    payload = dict(concept.attributes[PG])
    identity = dropped.property and dropped.property.prop_id, dropped.seq
    entries = [
        row
        for row in payload.pop("dropped", ())
        if (row["property"]["prop_id"], row["seq"]) != identity
    ]
    tx.update(concept, attributes={PG: payload | ({"dropped": entries} if entries else {})})


def _chosen(dropped: Iterable[Dropped], names: Sequence[str]) -> list[Dropped]:
    """The hidden types and properties of these names: `Team`, `Person.city`, or `edge:Likes`."""
    parts_by_name: dict[str, list[Dropped]] = {}
    for part in dropped:
        full = entity(*part.place())
        for name in (full, full.partition(":")[2]):
            parts_by_name.setdefault(name, []).append(part)
    chosen: list[Dropped] = []
    for name in names:
        if not isinstance(name, str):
            raise InvalidValueType(f"The name of hidden data is a text, not {kind_of(name)}.")
        if name not in parts_by_name:
            close = did_you_mean(name, list(parts_by_name))
            listing = "`mycel schema hidden` lists all; a property is written Type.property."
            raise NotFound(f"Nothing called {name!r} is hidden.", hint=f"{close} {listing}".strip())
        chosen += (part for part in parts_by_name[name] if part not in chosen)
    return chosen
