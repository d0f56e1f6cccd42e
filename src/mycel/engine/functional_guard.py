"""The guard of functional predicates: one value for a subject at a time.

A definition says `functional: true`. A new link with such a predicate does not replace an older one
of the same subject. The older one ends where the new one begins: at its `valid_from`, or now. Both
can be asked for (`FOR TIME`). A link that has ended by then is left alone. If a link of the subject
begins later than the new one, the new one ends there. So the values of two merged branches follow
each other in the order of their times.
"""

from __future__ import annotations

from typing import Final

from mycel.model import times
from mycel.model.elements import Proposition
from mycel.model.values import JsonObject, parse_object
from mycel.store.file.layout import PROPOSITION_TYPE_NUMBER
from mycel.store.index.lifetimes import ARCHIVED_AT, VALID_FROM, VALID_UNTIL
from mycel.store.write.guards import Change
from mycel.store.write.transaction import Transaction

FUNCTIONAL: Final = "functional"


def is_functional(attributes: JsonObject) -> bool:
    """True if the definition of a predicate allows one value for a subject at a time."""
    return attributes.get(FUNCTIONAL) is True


class FunctionalGuard:
    """Ends the validity of the link that a new one of a functional predicate follows."""

    in_bulk = False

    def concerns(self, tx: Transaction, type_or_predicate: str, *, link: bool) -> bool:
        """True for a functional predicate."""
        if not link:
            return False
        attributes = tx.definition(PROPOSITION_TYPE_NUMBER, type_or_predicate)
        return attributes is not None and is_functional(parse_object(attributes))

    def check(self, tx: Transaction, change: Change) -> None:
        """Note the new link, whose number is not known yet."""
        if change.kind == "create" and not isinstance(change.name_or_ends, str):
            subject, object_ = change.name_or_ends
            noted = tx.memo.setdefault(FunctionalGuard, {})
            noted[subject, change.type_or_predicate, object_] = change.metadata

    def check_commit(self, tx: Transaction) -> None:
        """End the validity of what the new links follow, in the order in which they came."""
        for place, metadata in tx.memo.pop(FunctionalGuard, {}).items():
            link = tx.get_edge(*place)
            if link is not None and link.metadata.get(ARCHIVED_AT) is None:
                _end_others(tx, link, metadata)


def _end_others(tx: Transaction, new: Proposition, metadata: JsonObject) -> None:
    begins = metadata.get(VALID_FROM)
    until = begins if times.is_time(begins) else times.to_text(tx.time_us)
    until_us = times.from_text(until)
    changes: JsonObject = {}
    ends = metadata.get(VALID_UNTIL)
    for other in tx.reader.touching_links(new.ends[0]):
        if (
            other.number == new.number
            or other.predicate != new.predicate
            or other.subject != new.subject
            or other.metadata.get(ARCHIVED_AT) is not None
        ):
            continue
        later = other.metadata.get(VALID_FROM)
        if times.is_time(later) and times.from_text(later) > until_us:
            if not times.is_time(ends) or times.from_text(ends) > times.from_text(later):
                ends = changes[VALID_UNTIL] = later
        elif not times.is_past(other.metadata.get(VALID_UNTIL), until_us) and later != until:
            tx.update_found(other, metadata={VALID_UNTIL: until})
            if begins != until:
                changes[VALID_FROM] = until
    if changes:
        tx.update_found(new, metadata=changes)
