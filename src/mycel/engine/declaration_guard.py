"""Rules on definitions that a schema wrote: KIP neither changes nor removes them.

A definition that KIP writes under the name of a hidden type keeps the memory of that type, so that
it can be restored.
"""

from __future__ import annotations

from typing import Final

from mycel.errors import ImmutableTarget
from mycel.model.elements import Concept
from mycel.model.names import META_TYPES
from mycel.model.values import JsonObject
from mycel.schema.definitions import is_unchanged
from mycel.schema.model import SchemaType
from mycel.schema.stored_declaration import (
    PG,
    PG_DROPPED,
    declaration,
    owned_attributes,
    remembered,
    type_memory,
)
from mycel.store.query import history
from mycel.store.write.guards import Change
from mycel.store.write.transaction import Transaction

_APPLY: Final = "Change the schema and apply it: db.schema.apply(text), or `mycel schema apply`."


def check_removal(concept: Concept) -> None:
    """Raise ImmutableTarget if a schema declares the definition; called before uses are counted."""
    schema_type = declaration(concept.attributes) if concept.type in META_TYPES else None
    if schema_type is not None:
        raise _declared(schema_type, concept.type, concept.name)


def _check_undeclared(change: Change, before: JsonObject, name: str) -> None:
    """Refuse attributes that only the application of a schema may write to a definition."""
    for key in (PG, PG_DROPPED):
        is_said = change.attributes.get(key) is not None or remembered({key: before.get(key)})
        if is_said and not is_unchanged(key, change.attributes, before):
            raise _immutable(
                f"The attribute {key!r} of {name!r} is written by applying a schema",
                change.type_or_predicate,
                name,
            )


def check_definition(tx: Transaction, change: Change, name: str) -> JsonObject | None:
    """Refuse to change the part of a definition that a schema declares.

    If the definition takes the name of a hidden type, returns the attributes to write instead.
    """
    meta_type = change.type_or_predicate
    before = {} if change.before is None else change.before.attributes
    schema_type = declaration(before)
    if schema_type is None:
        if change.kind != "retire":
            _check_undeclared(change, before, name)
        memory = _hidden_type(tx, meta_type, name) if change.kind == "create" else None
        return None if memory is None else {**change.attributes, PG_DROPPED: memory}
    if change.kind == "retire":
        raise _declared(schema_type, meta_type, name)
    for key in owned_attributes(schema_type):
        is_there = key in before or key in change.attributes
        if is_there and not is_unchanged(key, change.attributes, before):
            part = "declaration" if key == PG else repr(key)
            raise _immutable(
                f"{schema_type.name} is declared by the schema, and its {part} changes only with"
                " the schema",
                meta_type,
                name,
            )
    return None


def _hidden_type(tx: Transaction, meta_type: str, name: str) -> JsonObject | None:
    """The declaration of a hidden type, which the tombstone of its definition keeps."""
    left = tx.get_concept(meta_type, name, tombstoned=True)
    if left is None:
        return None
    payload = left.attributes
    if declaration(payload) is not None:
        seq = history.seq_before(tx.reader, left.seq)
        return type_memory(payload[PG], seq, left.tombstoned_us or 0)
    return payload[PG_DROPPED] if remembered(payload) is not None else None


def _declared(schema_type: SchemaType, meta_type: str, name: str) -> ImmutableTarget:
    return _immutable(
        f"{schema_type.name} is declared by the schema and cannot be removed", meta_type, name
    )


def _immutable(message: str, meta_type: str, name: str) -> ImmutableTarget:
    return ImmutableTarget(f"{message}.", hint=_APPLY, data={"type": meta_type, "name": name})
