"""Creates elements: turns the values of a caller into a journal entry and a live row.

An element that was removed before is revived under its old id, with new content only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mycel.model import ids
from mycel.model.names import META_TYPES, check_identifier
from mycel.model.records import canonical_weight
from mycel.store.index.slots import NO_ENDS
from mycel.store.log.journal import Kind
from mycel.store.write.bulk import INSERT_CONCEPT, INSERT_PROPOSITION
from mycel.store.write.element_content import content, has_text
from mycel.store.write.guards import Writing
from mycel.store.write.ledger import ElementRow

DEFAULT_WEIGHT: Final = 1.0

KeyedTriple = tuple[int, int, int, bytes, bytes]
"""The subject, predicate and object of a link, with the keys of subject and object."""


def create_concept(
    tx: Writing,
    type_number: int,
    type_name: str,
    name: str,
    attributes: Mapping[str, Any] | None,
    metadata: Mapping[str, Any] | None,
    *,
    tombstone: ElementRow | None = None,
) -> str:
    """Create a concept, or revive a removed one under its old id. Returns the id."""
    ledger = tx.ledger
    attributes_text, attributes_part = content(attributes, "attributes")
    metadata_text, metadata_part = content(metadata, "metadata")
    if type_name in META_TYPES:
        check_identifier(name, "type or predicate")
    texts = attributes_text, metadata_text
    shaped = tx.guards.ask(tx, "create", None, (type_name, name), texts, _number(tombstone))
    if shaped is not None:
        attributes_text, attributes_part = content(shaped, "attributes")
    key, record = ledger.recorder.concept(
        type_name,
        name,
        (attributes_part, metadata_part),
        ledger.define(type_number, name),
    )
    if tombstone is None:
        number = ledger.head.next_concept
        ledger.head.next_concept += ids.ID_STEP
        seq = ledger.append(Kind.PUT_CONCEPT, number, None, record, "concepts", key)
    else:
        number, before = tombstone.number, ledger.record_at(tombstone.removal_seq)
        seq = ledger.append(Kind.PUT_CONCEPT, number, before, record, "concepts", key)
        ledger.end_tombstone("concept", number, seq)
    ledger.memory.keys[number] = key
    now, by = ledger.time_us, ledger.actor_number
    ledger.write(
        INSERT_CONCEPT,
        (number, type_number, name, attributes_text, metadata_text, seq, now, by, now),
    )
    ledger.properties.note(number, None, (type_number, attributes_text, NO_ENDS))
    ledger.dirty_text.add(number)
    if type_name in META_TYPES:
        tx.guards.forget()
    concept_id = ids.concept_id(number)
    ledger.memory.ends[concept_id] = number, key  # A new concept is usually linked next.
    return concept_id


def create_link(
    tx: Writing,
    triple: KeyedTriple,
    predicate: str,
    attributes: Mapping[str, Any] | None,
    metadata: Mapping[str, Any] | None,
    weight: float | None,
    *,
    tombstone: ElementRow | None = None,
) -> str:
    """Create a link, or revive a removed one under its old id. Returns the id."""
    ledger = tx.ledger
    subject, predicate_number, object_, subject_key, object_key = triple
    attributes_text, attributes_part = content(attributes, "attributes")
    metadata_text, metadata_part = content(metadata, "metadata")
    cost = DEFAULT_WEIGHT if weight is None else canonical_weight(weight)
    if tx.guards.concerned(tx, predicate, link=True):
        becomes = predicate, (ledger.reader.outer_id(subject), ledger.reader.outer_id(object_))
        texts = attributes_text, metadata_text
        shaped = tx.guards.ask(tx, "create", None, becomes, texts, _number(tombstone))
        if shaped is not None:
            attributes_text, attributes_part = content(shaped, "attributes")
    key, record = ledger.recorder.edge(
        (predicate_number, predicate),
        subject_key,
        object_key,
        (attributes_part, metadata_part),
        cost,
    )
    if tombstone is None:
        number = ledger.head.next_proposition
        ledger.head.next_proposition += ids.ID_STEP
        seq = ledger.append(Kind.ADD_EDGE, number, None, record, "edges", key)
    else:
        number, before = tombstone.number, ledger.record_at(tombstone.removal_seq)
        seq = ledger.append(Kind.ADD_EDGE, number, before, record, "edges", key)
        ledger.end_tombstone("proposition", number, seq)
    ledger.memory.keys[number] = key
    now, by = ledger.time_us, ledger.actor_number
    place = number, subject, predicate_number, object_, cost
    ledger.write(INSERT_PROPOSITION, (*place, attributes_text, metadata_text, seq, now, by, now))
    state = predicate_number, attributes_text, (subject, object_)
    ledger.properties.note(number, None, state)
    ledger.note_ends(predicate_number, subject, object_)
    if has_text(attributes_text):
        ledger.dirty_text.add(number)
    return ids.link_id(number, predicate)


def _number(tombstone: ElementRow | None) -> int | None:
    """The number of the removed element that is revived; None for a new one."""
    return None if tombstone is None else tombstone.number
