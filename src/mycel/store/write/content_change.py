"""Changing what an element says: its attributes, metadata and weight."""

from __future__ import annotations

from mycel.errors import NotFound
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.names import META_TYPES
from mycel.model.records import concept_key, proposition_key, record_of, record_of_link
from mycel.model.values import object_text
from mycel.store.log.journal import Kind
from mycel.store.write.guards import Writing, identity_of
from mycel.store.write.ledger import Ledger


def change_concept(
    tx: Writing, before: Concept | None, attributes_text: str, metadata_text: str
) -> bool:
    """Write other attributes or metadata of a concept. False if they are the same."""
    ledger = tx.ledger
    if before is None:
        raise NotFound("The concept is gone.")
    same = before.attributes_json, before.metadata_json
    if same == (attributes_text, metadata_text):
        return False
    attributes_text = _shaped(tx, before, attributes_text, metadata_text)
    if same == (attributes_text, metadata_text):
        return False
    after = before._replace(
        attributes_json=attributes_text,
        metadata_json=metadata_text,
        version=before.version + 1,
        updated_us=ledger.time_us,
    )
    record = record_of(after, number=ledger.number_defined_by(before))
    key = concept_key(before.type, before.name)
    old_record = ledger.record_at(before.seq)
    seq = ledger.append(Kind.PUT_CONCEPT, before.number, old_record, record, "concepts", key)
    ledger.supersede("concept", before.number, seq)
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
    same = before.attributes_json, before.metadata_json, before.weight
    if same == (attributes_text, metadata_text, weight):
        return False
    attributes_text = _shaped(tx, before, attributes_text, metadata_text)
    if same == (attributes_text, metadata_text, weight):
        return False
    after = before._replace(
        attributes_json=attributes_text,
        metadata_json=metadata_text,
        weight=weight,
        version=before.version + 1,
        updated_us=ledger.time_us,
    )
    (_, subject_key), (_, object_key) = ledger.end(before.subject), ledger.end(before.object)
    record = record_of_link(after, before.type, subject_key, object_key)
    key = proposition_key(subject_key, before.predicate, object_key)
    old_record = ledger.record_at(before.seq)
    seq = ledger.append(Kind.UPDATE_EDGE, before.number, old_record, record, "edges", key)
    ledger.supersede("proposition", before.number, seq)
    ledger.write_over(
        before,
        "UPDATE proposition SET weight = ?, attributes = ?, metadata = ?,"
        " version = version + 1, seq = ?, updated_at = ? WHERE id = ? AND seq = ?",
        (weight, attributes_text, metadata_text, seq, ledger.time_us),
    )
    _attributes_changed(ledger, before, attributes_text)
    return True


def _shaped(tx: Writing, before: Element, attributes_text: str, metadata_text: str) -> str:
    """The attributes of an element that changes, as the guards want them, unless they refuse."""
    texts = attributes_text, metadata_text
    shaped = tx.guards.ask(tx, "update", before, identity_of(before), texts, before.number)
    return attributes_text if shaped is None else object_text(shaped, "attributes")


def _attributes_changed(ledger: Ledger, before: Element, attributes_text: str) -> None:
    """Let the indexes learn of it, if they have."""
    if before.attributes_json != attributes_text:
        state = ledger.state_of(before)
        ledger.properties.note(before.number, state, (state[0], attributes_text, state[2]))
        ledger.retext.add(before.number)
