"""ARCHIVE and RESTORE: hide elements from ordinary answers, and show them again.

An archived element stays in the graph, in the journal and in proofs. A command that gives its id,
or its type and name, still finds it. The links at it are hidden and shown with it
(`store.index.lifetimes`).
"""

from __future__ import annotations

from typing import Final

from mycel.engine.outcome import Outcome, all_or_nothing
from mycel.engine.protection_guard import check_removal
from mycel.engine.values import Values
from mycel.engine.where_targets import named_targets, to_change
from mycel.errors import ImmutableTarget
from mycel.kip import ast
from mycel.model import times
from mycel.model.elements import Concept, Element
from mycel.model.limits import REASON_BYTES_MAX
from mycel.model.names import META_TYPES, check_text, shorten
from mycel.store.index.lifetimes import ARCHIVED_AT, EXPIRES_AT
from mycel.store.write.transaction import Transaction

ARCHIVED_BECAUSE: Final = "archived_because"
RESTORED_AT: Final = "restored_at"
"""The key of the time at which an element was restored; retention counts from then."""


def archive(tx: Transaction, node: ast.Archive, values: Values) -> Outcome:
    """Run an ARCHIVE; `archived` counts the elements that were not archived before."""
    reason = "" if node.reason is None else values.text(node.reason, "reason of ARCHIVE")
    limit = None if node.limit is None else values.positive(node.limit, "LIMIT")
    with all_or_nothing(tx):
        numbers = named_targets(tx, node, values, limit=limit)
        archived = sum(archive_element(tx, element, reason) for element in to_change(tx, numbers))
    return Outcome({"archived": archived, "matched": len(numbers)})


def restore(tx: Transaction, node: ast.Restore, values: Values) -> Outcome:
    """Run a RESTORE; `restored` counts the elements that were archived before."""
    limit = None if node.limit is None else values.positive(node.limit, "LIMIT")
    with all_or_nothing(tx):
        numbers = named_targets(tx, node, values, limit=limit)
        restored = sum(restore_element(tx, element) for element in to_change(tx, numbers))
    return Outcome({"restored": restored, "matched": len(numbers)})


def archive_element(tx: Transaction, element: Element, reason: str = "") -> bool:
    """Archive an element that was just read. Returns False if it is archived already.

    Raises:
        ImmutableTarget: the element is a definition, or protected.
    """
    check_text(reason, "reason", REASON_BYTES_MAX)
    if isinstance(element, Concept):
        check_removal(element)
        if element.type in META_TYPES:
            raise ImmutableTarget(
                f"{element.name!r} is a definition, and cannot be archived.",
                hint="Archive the elements that use it, or delete it once no element uses it.",
            )
    if element.metadata.get(ARCHIVED_AT) is not None:
        return False
    because = {ARCHIVED_BECAUSE: reason} if reason else {}
    return tx.update_found(
        element,
        metadata={ARCHIVED_AT: times.to_text(tx.time_us), **because},
        drop_metadata=(RESTORED_AT,),
    )


def restore_element(tx: Transaction, element: Element) -> bool:
    """Bring back an element that was just read. Returns False if it is not archived.

    An `expires_at` in the past is removed, so that the element is not archived again at once.
    """
    metadata = element.metadata
    if metadata.get(ARCHIVED_AT) is None:
        return False
    drop = [ARCHIVED_AT, ARCHIVED_BECAUSE]
    now = times.to_text(tx.time_us)
    if times.is_past(metadata.get(EXPIRES_AT), tx.time_us):
        drop.append(EXPIRES_AT)
        name = element.name if isinstance(element, Concept) else element.id
        tx.warnings.append(
            f"{shorten(name)} had expired, so its expires_at {metadata[EXPIRES_AT]} is removed, and"
            " it does not expire again unless it gets a new one."
        )
    return tx.update_found(element, metadata={RESTORED_AT: now}, drop_metadata=drop)
