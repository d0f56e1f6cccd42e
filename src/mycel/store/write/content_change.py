"""Changes the content of an element: its attributes, metadata and weight."""

from __future__ import annotations

from mycel.errors import NotFound
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.names import META_TYPES
from mycel.model.records import concept_key, link_key, record_of, record_of_link
from mycel.model.values import object_text
from mycel.store.log.journal import Kind
from mycel.store.write.guards import Writing, identity_of
from mycel.store.write.ledger import Ledger

_SET_CONCEPT = (
    "UPDATE concept SET attributes = ?, metadata = ?, version = version + 1, seq = ?,"
    " updated_at = ? WHERE id = ? AND seq = ?"
)
_SET_PROPOSITION = (
    "UPDATE proposition SET weight = ?, attributes = ?, metadata = ?, version = version + 1,"
    " seq = ?, updated_at = ? WHERE id = ? AND seq = ?"
)


def change_content(
    tx: Writing,
    before: Element | None,
    attributes_text: str,
    metadata_text: str,
    weight: float | None = None,
) -> bool:
    """Write new attributes or metadata of an element, or a new weight of a link.

    Returns False, and writes nothing, if all of them are the same.
    """
    if before is None:
        raise NotFound("The element is gone.")
    is_same_weight = weight is None or isinstance(before, Concept) or before.weight == weight
    old_texts = before.attributes_json, before.metadata_json
    if is_same_weight and old_texts == (attributes_text, metadata_text):
        return False
    texts = attributes_text, metadata_text
    shaped = tx.guards.ask(tx, "update", before, identity_of(before), texts, before.number)
    if shaped is not None:
        attributes_text = object_text(shaped, "attributes")
        if is_same_weight and old_texts == (attributes_text, metadata_text):
            return False
    after = before._replace(
        attributes_json=attributes_text,
        metadata_json=metadata_text,
        version=before.version + 1,
        updated_us=tx.ledger.time_us,
    )
    if isinstance(after, Concept):
        _write_concept(tx, before, after)
    else:
        link = after if weight is None else after._replace(weight=weight)
        _write_link(tx.ledger, before, link)
    if old_texts[0] != attributes_text:
        state = tx.ledger.state_of(before)
        tx.ledger.properties.note(before.number, state, (state[0], attributes_text, state[2]))
        tx.ledger.dirty_text.add(before.number)
    return True


def _write_concept(tx: Writing, before: Element, after: Concept) -> None:
    ledger = tx.ledger
    record = record_of(after, number=ledger.number_defined_by(after))
    key = concept_key(after.type, after.name)
    old_record = ledger.record_at(before.seq)
    seq = ledger.append(Kind.PUT_CONCEPT, after.number, old_record, record, "concepts", key)
    ledger.supersede("concept", after.number, seq)
    texts = after.attributes_json, after.metadata_json
    ledger.write_over(before, _SET_CONCEPT, (*texts, seq, after.updated_us))
    if after.type in META_TYPES:
        tx.guards.forget()
        ledger.head.definitions = seq


def _write_link(ledger: Ledger, before: Element, after: Proposition) -> None:
    (_, subject_key), (_, object_key) = ledger.end(after.subject), ledger.end(after.object)
    record = record_of_link(after, after.type, subject_key, object_key)
    key = link_key(subject_key, after.predicate, object_key)
    old_record = ledger.record_at(before.seq)
    seq = ledger.append(Kind.UPDATE_EDGE, after.number, old_record, record, "edges", key)
    ledger.supersede("proposition", after.number, seq)
    values = after.weight, after.attributes_json, after.metadata_json, seq, after.updated_us
    ledger.write_over(before, _SET_PROPOSITION, values)
