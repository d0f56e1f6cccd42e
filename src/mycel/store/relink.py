"""Pointing a link elsewhere while it stays the link that it is.

A link's natural key says where it leads, so a link that is re-pointed keeps its number and gets
another key: the leaf under the old one goes, one under the new one comes. Three things follow.

- Links about it, and links about those, have keys that are made from its key. Each of them gets
  an entry of its own, tombstones too, so that the keys of everything that is in force can always be
  computed from what is in force.
- Where the link now leads, a tombstone may be in force: of another link, once removed there. The
  two change places. What stands where the link was says truly that a link was taken away from
  there, and no two elements ever have one key.
- A link cannot be pointed at a link about itself: such keys could not be computed.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from mycel.errors import ConstraintViolation, DatabaseCorrupt, DuplicateExists
from mycel.model import ids
from mycel.model.elements import Proposition
from mycel.model.records import Tombstone, concept_key, edge_record, proposition_key
from mycel.store.journal import Kind
from mycel.store.layout import OPEN_END
from mycel.store.ledger import Ledger
from mycel.store.rows import every, only

REASON: Final = "re-pointed"
"""Why there is a tombstone where a re-pointed link was, if there is one."""

_ABOUT: Final = " UNION ".join(
    f"SELECT id, subject, object FROM {table} WHERE {end} = ?1{current}"
    for table, current in (("proposition", ""), ("proposition_past", f" AND to_seq = {OPEN_END}"))
    for end in ("subject", "object")
)
_MOVE_TOMBSTONE: Final = (
    "INSERT INTO proposition_past SELECT id, ?3, predicate, ?4, weight, attributes, metadata,"
    f" version, ?2, created_at, created_by, updated_at, {OPEN_END}, ?5, ?6, ?7"
    " FROM proposition_past WHERE id = ?1 AND to_seq = ?2"
)

Ends = tuple[int, int]


class _Move(NamedTuple):
    """One link that gets another key: where it leads from now on."""

    link: Proposition
    ends: Ends
    keys: tuple[bytes, bytes]
    """The natural keys of its ends from now on."""
    key: bytes


def relink(ledger: Ledger, link: Proposition, ends: Ends) -> None:
    """Point a live link to other ends, all of them live.

    Raises:
        DuplicateExists: there is a live link in its new place.
        ConstraintViolation: an end is a link about this link.
    """
    there = ledger.reader.link(ends[0], link.type, ends[1], tombstoned=True)
    if there is not None and not there.tombstoned:
        raise DuplicateExists(f"There is already a link {there.id} between the new ends.")
    moved = {link.number: ends}
    if there is not None:
        moved[there.number] = (ids.parse_id(link.subject), ids.parse_id(link.object))
    affected = _affected(ledger, moved)
    if not affected.keys().isdisjoint(ends):
        raise ConstraintViolation(f"{link.id} cannot lead to a link about itself.")
    for number in affected:
        ledger.changes["edges"].set(_present_key(ledger, number), None)
    moves = _moves(ledger, affected)
    for number in affected:
        ledger.memory.forget_element(number)
    for move in moves:
        if move.link.number == link.number:
            _write_live(ledger, move, link.version + 1, ledger.time_us)
            ledger.note_link(move.ends[0], link.type, move.ends[1])
        elif not move.link.tombstoned:
            _write_live(ledger, move, move.link.version, move.link.updated_us)
        elif move.link.number in moved:
            _write_tombstone(ledger, move, Tombstone(ledger.time_us, ledger.actor, REASON))
        else:
            _write_tombstone(ledger, move, _tombstone(move.link))


def _affected(ledger: Ledger, moved: dict[int, Ends]) -> dict[int, Ends]:
    """The links whose key changes, with their ends from now on; ends stand before links on them."""
    about: dict[int, Ends] = {}
    children: dict[int, list[int]] = {}
    waiting = list(moved)
    while waiting:
        number = waiting.pop()
        if number in children:
            continue
        rows = every(ledger.connection, _ABOUT, (number,))
        children[number] = [child for child, _, _ in rows]
        about.update((child, (subject, object_)) for child, subject, object_ in rows)
        waiting += children[number]
    ordered = dict(moved)
    waiting = list(moved)
    while waiting:
        for child in children[waiting.pop()]:
            ends = about[child]
            if child not in ordered and all(e in ordered or e not in children for e in ends):
                ordered[child] = ends
                waiting.append(child)
    return ordered


def _moves(ledger: Ledger, affected: dict[int, Ends]) -> list[_Move]:
    """What each of the links becomes, ends before the links on them."""
    moves: list[_Move] = []
    fresh: dict[int, bytes] = {}
    for number, ends in affected.items():
        link = ledger.reader.proposition(number, tombstoned=True)
        if link is None:
            raise DatabaseCorrupt(f"The indexes know a link {number} that is not there.")
        keys = tuple(fresh.get(end) or _present_key(ledger, end) for end in ends)
        fresh[number] = proposition_key(keys[0], link.predicate, keys[1])
        moves.append(_Move(link, ends, (keys[0], keys[1]), fresh[number]))
    return moves


def _present_key(ledger: Ledger, number: int) -> bytes:
    """The natural key of an element that is live or whose tombstone is in force."""
    key = ledger.find_key(number)
    if key is not None:
        return key
    if ids.is_concept(number):
        type_number, name = only(
            ledger.connection,
            f"SELECT type, name FROM concept_past WHERE id = ? AND to_seq = {OPEN_END}",
            (number,),
        )
        return concept_key(ledger.registry.types.name(ledger.connection, type_number), name)
    subject, predicate, object_ = only(
        ledger.connection,
        "SELECT subject, predicate, object FROM proposition_past"
        f" WHERE id = ? AND to_seq = {OPEN_END}",
        (number,),
    )
    return proposition_key(
        _present_key(ledger, subject),
        ledger.registry.predicates.name(ledger.connection, predicate),
        _present_key(ledger, object_),
    )


def _write_live(ledger: Ledger, move: _Move, version: int, updated_us: int) -> None:
    number = move.link.number
    seq = _append(ledger, move, version, updated_us, None)
    ledger.supersede("proposition", number, seq)
    ledger.write(
        "UPDATE proposition SET subject = ?, object = ?, version = ?, seq = ?, updated_at = ?"
        " WHERE id = ?",
        (*move.ends, version, seq, updated_us, number),
    )


def _write_tombstone(ledger: Ledger, move: _Move, tombstone: Tombstone) -> None:
    link = move.link
    seq = _append(ledger, move, link.version, link.updated_us, tombstone)
    ledger.end_tombstone("proposition", link.number, seq)
    by = ledger.registry.actors.number(ledger.connection, tombstone.by) or ledger.actor_number
    ledger.write(
        _MOVE_TOMBSTONE, (link.number, seq, *move.ends, tombstone.at_us, by, tombstone.reason)
    )


def _append(
    ledger: Ledger, move: _Move, version: int, updated_us: int, tombstone: Tombstone | None
) -> int:
    link = move.link
    record = edge_record(
        link.type,
        *move.keys,
        link.attributes,
        link.metadata,
        created_us=link.created_us,
        created_by=link.created_by,
        weight=link.weight,
        version=version,
        updated_us=updated_us,
        tombstone=tombstone,
    )
    before = ledger.record_at(link.seq)
    return ledger.append(Kind.RELINK_EDGE, link.number, before, record, "edges", move.key)


def _tombstone(link: Proposition) -> Tombstone:
    return Tombstone(
        link.tombstoned_us or 0, link.tombstoned_by or "", link.tombstoned_reason or ""
    )
