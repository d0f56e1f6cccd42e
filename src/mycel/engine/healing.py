"""Links to what nobody has written yet, and how they heal, whatever door the concept comes through.

A relation of the knowledge engine may lead to a concept that is not there. It then leads to a
*placeholder* under the concept's URI: a concept of the type `Missing`. As soon as a concept of that
name is written, in KIP, by a load or in Python, the links on the placeholder are its own, and the
placeholder goes. The guard here only notes names; it heals once, just before the commit.

Graphs that never had a placeholder pay nothing.
"""

from __future__ import annotations

from typing import Final

from mycel.errors import DuplicateExists
from mycel.model import ids
from mycel.model.elements import Concept, Element
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE
from mycel.store import lookup
from mycel.store.guards import Change
from mycel.store.transaction import Transaction

MISSING: Final = "Missing"
"""The type of placeholders."""

SCHEME: Final = "concept://"
"""What their names begin with; whatever else is of this type is somebody's own."""


def is_placeholder(element: Element | None) -> bool:
    """Whether an element only keeps a place for a concept that nobody has written yet."""
    return (
        isinstance(element, Concept) and element.type == MISSING and element.name.startswith(SCHEME)
    )


def merge_placeholder(tx: Transaction, placeholder: int, into: Concept) -> None:
    """Let the links on a placeholder lead to a concept instead, and remove the placeholder.

    A link that the concept has already, or that would lead from it to itself, goes.
    """
    outer = ids.concept_id(placeholder)
    for number in tx.ledger.reader.touching(placeholder):
        link = tx.ledger.reader.proposition(number)
        if link is None:
            continue
        source = into.id if link.subject == outer else None
        target = into.id if link.object == outer else None
        if (source or link.subject) == (target or link.object):
            continue
        try:
            tx.relink(link.id, subject=source, object_=target)
        except DuplicateExists:
            continue
    tx.retire(outer, reason=f"written as {into.id}")


class HealingGuard:
    """Gives the links of a placeholder to the concept that was missing."""

    in_bulk = True  # It looks at names only.

    def concerns(self, tx: Transaction, type_or_predicate: str, *, link: bool) -> bool:
        """Whether concepts of this type may be what was missing."""
        if link or type_or_predicate in (MISSING, CONCEPT_TYPE, PROPOSITION_TYPE):
            return False
        ledger = tx.ledger
        return ledger.registry.types.number(ledger.connection, MISSING) is not None

    def check(self, tx: Transaction, change: Change) -> None:
        """Note the name of a concept that is new, or has another name or type."""
        name, before = change.name_or_ends, change.before
        if change.kind == "retire" or not isinstance(name, str) or not name.startswith(SCHEME):
            return
        if isinstance(before, Concept) and (before.name, before.type) == (
            name,
            change.type_or_predicate,
        ):
            return
        tx.memo.setdefault(HealingGuard, set()).add(name)

    def check_commit(self, tx: Transaction) -> None:
        """Heal what can be healed now."""
        names = tx.memo.pop(HealingGuard, ())
        if not names:
            return
        ledger = tx.ledger
        number = ledger.registry.types.number(ledger.connection, MISSING)
        if number is None:
            return
        for placeholder, written in lookup.twins(ledger.connection, number, names):
            into = ledger.reader.concept(written)
            if into is not None and is_placeholder(ledger.reader.concept(placeholder)):
                merge_placeholder(tx, placeholder, into)
