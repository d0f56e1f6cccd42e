"""Changing what an element says: its attributes, metadata and weight."""

from __future__ import annotations

from mycel.errors import NotFound
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.names import META_TYPES
from mycel.model.records import concept_key, concept_record, edge_record, proposition_key
from mycel.model.values import object_text, parse_object
from mycel.store.log.journal import Kind
from mycel.store.write.guards import Writing, change_of
from mycel.store.write.ledger import Ledger


def change_concept(
    tx: Writing, before: Concept | None, attributes_text: str, metadata_text: str
) -> bool:
    """Write other attributes or metadata of a concept. False if they are the same."""
    ledger = tx.ledger
    if before is None:
        raise NotFound("The concept is gone.")
    number = before.number
    if (before.attributes_json, before.metadata_json) == (attributes_text, metadata_text):
        return False
    if tx.guards.concerned(tx, before.type, link=False):
        texts = attributes_text, metadata_text
        change = change_of("update", before, before.type, before.name, texts, number)
        shaped = tx.guards.shape(tx, change)
        if shaped is not None:
            attributes_text = object_text(shaped, "attributes")
            if (before.attributes_json, before.metadata_json) == (
                attributes_text,
                metadata_text,
            ):
                return False
    record = concept_record(
        before.type,
        before.name,
        parse_object(attributes_text),
        parse_object(metadata_text),
        created_us=before.created_us,
        created_by=before.created_by,
        version=before.version + 1,
        updated_us=ledger.time_us,
        number=tx.ledger.number_defined_by(before),
    )
    key = concept_key(before.type, before.name)
    old_record = ledger.record_at(before.seq)
    seq = ledger.append(Kind.PUT_CONCEPT, number, old_record, record, "concepts", key)
    ledger.supersede("concept", number, seq)
    ledger.write_over(
        before,
        "UPDATE concept SET attributes = ?, metadata = ?, version = version + 1, seq = ?,"
        " updated_at = ? WHERE id = ? AND seq = ?",
        (attributes_text, metadata_text, seq, ledger.time_us),
    )
    if before.type in META_TYPES:
        tx.guards.forget()
        ledger.head.definitions = seq
    _attributes_changed(ledger, before, attributes_text)
    return True


def _attributes_changed(ledger: Ledger, before: Element, attributes_text: str) -> None:
    """Let the indexes learn of it, if they have."""
    if before.attributes_json != attributes_text:
        state = ledger.state_of(before)
        ledger.properties.note(before.number, state, (state[0], attributes_text, state[2]))
        ledger.retext.add(before.number)


def change_proposition(
    tx: Writing,
    before: Proposition | None,
    attributes_text: str,
    metadata_text: str,
    weight: float,
) -> bool:
    """Write other attributes, metadata or weight of a link. False if they are the same."""
    ledger = tx.ledger
    if before is None:
        raise NotFound("The link is gone.")
    number = before.number
    same = (before.attributes_json, before.metadata_json, before.weight)
    if same == (attributes_text, metadata_text, weight):
        return False
    if tx.guards.concerned(tx, before.predicate, link=True):
        ends, texts = (before.subject, before.object), (attributes_text, metadata_text)
        change = change_of("update", before, before.predicate, ends, texts, number)
        shaped = tx.guards.shape(tx, change)
        if shaped is not None:
            attributes_text = object_text(shaped, "attributes")
            if same == (attributes_text, metadata_text, weight):
                return False
    _, subject_key = ledger.end(before.subject)
    _, object_key = ledger.end(before.object)
    record = edge_record(
        before.type,
        subject_key,
        object_key,
        parse_object(attributes_text),
        parse_object(metadata_text),
        created_us=before.created_us,
        created_by=before.created_by,
        weight=weight,
        version=before.version + 1,
        updated_us=ledger.time_us,
    )
    key = proposition_key(subject_key, before.predicate, object_key)
    old_record = ledger.record_at(before.seq)
    seq = ledger.append(Kind.UPDATE_EDGE, number, old_record, record, "edges", key)
    ledger.supersede("proposition", number, seq)
    ledger.write_over(
        before,
        "UPDATE proposition SET weight = ?, attributes = ?, metadata = ?,"
        " version = version + 1, seq = ?, updated_at = ? WHERE id = ? AND seq = ?",
        (weight, attributes_text, metadata_text, seq, ledger.time_us),
    )
    _attributes_changed(ledger, before, attributes_text)
    return True
