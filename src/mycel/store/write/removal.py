"""Removes elements: they become tombstones, gone from the live state and kept in history.

Links on a removed element, and links about those links, are removed with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mycel.errors import ConstraintViolation, ImmutableTarget
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.limits import REASON_BYTES_MAX
from mycel.model.names import CONCEPT_TYPE, META_TYPES, check_text, shorten
from mycel.model.records import Tombstone, concept_key, link_key, record_of, record_of_link
from mycel.store.file.rows import fetch_all, fetch_one
from mycel.store.log.journal import Kind
from mycel.store.log.topological import all_about
from mycel.store.query.reader import Reader
from mycel.store.write.guards import Writing
from mycel.store.write.ledger import Ledger

USERS_SHOWN: Final = 3
"""The maximum number of users of a definition that an error names."""


def links_about(ledger: Ledger, number: int) -> list[Proposition]:
    """The live links on an element, the live links about those links, and so on."""
    about = all_about([number], ledger.reader.touching)
    return [link for n in about if (link := ledger.reader.link(n))]


def check_removal(tx: Writing, elements: Sequence[Element], reason: str) -> None:
    """Ask the guards about all elements of a removal, before the first of them is removed."""
    check_text(reason, "reason", REASON_BYTES_MAX)
    for element in elements:
        tx.guards.check_removal(tx, element)


def retire_links(tx: Writing, links: Sequence[Proposition], reason: str) -> None:
    """Remove links whose removal `check_removal` has allowed."""
    ledger = tx.ledger
    # The keys are read first, because a link may be about another one that is removed with it.
    keys = [list(map(ledger.live_key, link.ends)) for link in links]
    tombstone = Tombstone(ledger.time_us, ledger.actor, reason)
    for link, (subject_key, object_key) in zip(links, keys, strict=True):
        record = record_of_link(link, link.type, subject_key, object_key, tombstone)
        key = link_key(subject_key, link.predicate, object_key)
        ledger.entomb(Kind.REMOVE_EDGE, link, record, key, reason)


def retire_concept(tx: Writing, concept: Concept, reason: str) -> None:
    """Remove a concept without links, whose removal `check_removal` has allowed."""
    ledger = tx.ledger
    tombstone = Tombstone(ledger.time_us, ledger.actor, reason)
    record = record_of(concept, tombstone=tombstone, number=ledger.number_defined_by(concept))
    key = concept_key(concept.type, concept.name)
    ledger.entomb(Kind.RETIRE_CONCEPT, concept, record, key, reason)


def check_not_in_use(ledger: Ledger, concept: Concept) -> None:
    """Refuse to remove the definition of a type or predicate that is still in use.

    Raises:
        ImmutableTarget: the concept defines one of the two meta-types.
        ConstraintViolation: the concept defines a type or predicate that is still in use.
    """
    if concept.type not in META_TYPES:
        return
    if concept.type == CONCEPT_TYPE and concept.name in META_TYPES:
        raise ImmutableTarget(f"The meta-type {concept.name!r} cannot be removed.")
    table, column = (
        ("concept", "type") if concept.type == CONCEPT_TYPE else ("proposition", "predicate")
    )
    number = ledger.number_defined_by(concept)
    users = f"FROM {table} WHERE {column} = ?"
    some = fetch_all(
        ledger.connection, f"SELECT id {users} ORDER BY id LIMIT ?", (number, USERS_SHOWN)
    )
    if not some:
        return
    (count,) = fetch_one(ledger.connection, f"SELECT count(*) {users}", (number,))
    noun = table if count == 1 else f"{table}s"
    listing = ", ".join(_describe_element(ledger.reader, user) for (user,) in some)
    raise ConstraintViolation(
        f"{concept.name!r} is still in use by {count} {noun}:"
        f" {listing}{', …' if count > USERS_SHOWN else ''}.",
        hint=f"Remove every {table} that uses it first.",
        data={"count": count, "users": [ledger.reader.outer_id(user) for (user,) in some]},
    )


def _describe_element(reader: Reader, number: int) -> str:
    """A description of an element for a message: its id, and its name or the names of its ends."""
    element = reader.element(number)
    if isinstance(element, Proposition):
        ends = map(reader.element, element.ends)
        names = [shorten(end.name) if isinstance(end, Concept) else "a link" for end in ends]
        return f"{element.id} (from {names[0]} to {names[1]})"
    return "" if element is None else f"{element.id} ({shorten(element.name)})"
