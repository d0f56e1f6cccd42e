"""Gives a link other ends or another predicate; its number stays.

The natural key of a link is made of its ends and its predicate, so it changes: the leaf under the
old key is removed, and one under the new key is added. Three things follow.

- Links about it, and links about those, get other keys too: `rekey`.
- The tombstone of a removed link may have the new key. The two exchange their keys, so that the
  tombstone shows that a link was removed at the old place, and no two elements have one key.
- A link cannot get an end that is a link about this very link: its key could not be computed.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from mycel.errors import ConstraintViolation, DuplicateExists, SelfEdgeError
from mycel.model.elements import Proposition
from mycel.model.records import Tombstone, link_key, record_of_link
from mycel.store.file.layout import OPEN_END
from mycel.store.log.journal import Kind
from mycel.store.write.ledger import Ledger
from mycel.store.write.rekey import hanging_on, present_key, settle, uproot

REASON: Final = "re-pointed"
"""The reason in the tombstone that a re-pointed link leaves at its old place."""

_MOVE: Final = (
    "UPDATE proposition SET subject = ?, predicate = ?, object = ?, attributes = ?,"
    " version = ?, seq = ?, updated_at = ? WHERE id = ? AND seq = ?"
)
_MOVE_TOMBSTONE: Final = (
    "INSERT INTO proposition_past SELECT id, ?3, ?4, ?5, weight, attributes, metadata,"
    f" version, ?2, created_at, created_by, updated_at, {OPEN_END}, ?6, ?7, ?8"
    " FROM proposition_past WHERE id = ?1 AND to_seq = ?2"
)


class Triple(NamedTuple):
    """The subject, predicate and object of a link, as numbers."""

    subject: int
    predicate: int
    object: int


def place_of(link: Proposition) -> Triple:
    """The ends and predicate of a link."""
    subject, object_ = link.ends
    return Triple(subject, link.type, object_)


def relink(ledger: Ledger, link: Proposition, place: Triple, attributes_text: str) -> None:
    """Move a live link to other ends, which are live, and perhaps give it other attributes.

    Raises:
        SelfEdgeError: both ends are the same element.
        DuplicateExists: there is a live link already.
        ConstraintViolation: an end is a link about this link.
    """
    if place.subject == place.object:  # Two references may name the same element.
        end = ledger.reader.outer_id(place.subject)
        raise SelfEdgeError(f"{end!r} cannot be linked to itself.")
    hanging = hanging_on(ledger, (link.number,))
    if not {place.subject, place.object}.isdisjoint((link.number, *hanging)):
        raise ConstraintViolation(f"{link.id} cannot lead to a link about itself.")
    occupant = ledger.reader.link_between(*place, tombstoned=True)
    if occupant is not None and not occupant.tombstoned:
        raise DuplicateExists(f"There is already a link {occupant.id} between these ends.")
    moving = [link.number]
    if occupant is not None:
        moving.append(occupant.number)
        hanging |= hanging_on(ledger, (occupant.number,), hanging)
    uproot(ledger, [*moving, *hanging])
    after = link._replace(
        attributes_json=attributes_text, version=link.version + 1, updated_us=ledger.time_us
    )
    _write(ledger, link, after, place)
    if occupant is not None:
        _write_tombstone(ledger, occupant, place_of(link))
    settle(ledger, hanging)


def _write(ledger: Ledger, before: Proposition, after: Proposition, place: Triple) -> None:
    """Write a link with its new ends or predicate: the one place that changes them."""
    number = before.number
    seq = _append(ledger, after, place, None)
    ledger.supersede("proposition", number, seq)
    written = after.attributes_json, after.version, seq, after.updated_us
    ledger.write_over(before, _MOVE, (*place, *written))
    state = place.predicate, after.attributes_json, (place.subject, place.object)
    ledger.properties.note(number, ledger.state_of(before), state)
    ledger.note_ends(place.predicate, place.subject, place.object)
    if before.attributes_json != after.attributes_json:
        ledger.dirty_text.add(number)


def _write_tombstone(ledger: Ledger, link: Proposition, place: Triple) -> None:
    """Move the tombstone to another place, as a tombstone that was set just now."""
    tombstone = Tombstone(ledger.time_us, ledger.actor, REASON)
    seq = _append(ledger, link, place, tombstone)
    ledger.end_tombstone("proposition", link.number, seq)
    ledger.write(
        _MOVE_TOMBSTONE, (link.number, seq, *place, ledger.time_us, ledger.actor_number, REASON)
    )


def _append(ledger: Ledger, link: Proposition, place: Triple, tombstone: Tombstone | None) -> int:
    ends = present_key(ledger, place.subject), present_key(ledger, place.object)
    record = record_of_link(link, place.predicate, *ends, tombstone)
    predicate = ledger.registry.predicates.name(ledger.connection, place.predicate)
    key = link_key(ends[0], predicate, ends[1])
    before = ledger.record_at(link.seq)
    return ledger.append(Kind.RELINK_EDGE, link.number, before, record, "edges", key)
