"""SUPERSEDE: one element takes the place of another.

A link `supersedes` leads from the new element to the old one. The old element gets the status
`superseded`, and its validity ends where that of the new one begins; a query can ask for either
(`FOR TIME`). Answers show the old element after the new one, with the name of its successor.
"""

from __future__ import annotations

from typing import Final

from mycel.engine.outcome import Outcome, all_or_nothing
from mycel.engine.values import Values
from mycel.engine.where_targets import only_target
from mycel.errors import ConstraintViolation, SelfEdgeError
from mycel.kip import ast
from mycel.model import times
from mycel.model.elements import Element
from mycel.model.limits import REASON_BYTES_MAX
from mycel.model.names import check_text
from mycel.model.values import JsonObject
from mycel.store.index.lifetimes import VALID_FROM, VALID_UNTIL
from mycel.store.write.transaction import Transaction

SUPERSEDES: Final = "supersedes"
SUPERSEDED: Final = "superseded"


def supersede(tx: Transaction, node: ast.Supersede, values: Values) -> Outcome:
    """Run a SUPERSEDE of the one element that each variable is bound to."""
    reason = "" if node.reason is None else values.text(node.reason, "reason of SUPERSEDE")
    old, new = (
        only_target(tx, node.where, values, variable) for variable in (node.target, node.successor)
    )
    with all_or_nothing(tx):
        link = supersede_element(tx, old, new, reason)
    return Outcome({"superseded": old.id, "by": new.id, "link": link})


def supersede_element(tx: Transaction, old: Element, new: Element, reason: str = "") -> str:
    """Let an element take the place of another. Returns the id of the link that says so.

    Raises:
        SelfEdgeError: the two are one.
        ConstraintViolation: the old one supersedes the new one.
    """
    check_text(reason, "reason", REASON_BYTES_MAX)
    if old.number == new.number:
        raise SelfEdgeError(f"{old.id} cannot supersede itself.")
    _check_order(tx, old, new)
    metadata: JsonObject = {"reason": reason} if reason else {}
    link = tx.put_proposition(new.id, SUPERSEDES, old.id, metadata=metadata)
    begins = new.metadata.get(VALID_FROM)
    until = begins if times.is_time(begins) else times.to_text(tx.time_us)
    changes: JsonObject = {"status": SUPERSEDED}
    if not times.is_time(old.metadata.get(VALID_UNTIL)) or not times.is_past(
        old.metadata[VALID_UNTIL], times.from_text(until)
    ):
        changes[VALID_UNTIL] = until
    tx.update_found(tx.get(old.id), metadata=changes)
    return link


def _check_order(tx: Transaction, old: Element, new: Element) -> None:
    """Refuse a circle: an element cannot supersede its own successor."""
    reader = tx.reader
    predicate = reader.find_predicate(SUPERSEDES)
    replaced, waiting = {old.number}, [old.number]
    while predicate is not None and waiting:
        for number in reader.neighbours((waiting.pop(),), ("out",), (predicate,)):
            if number == new.number:
                raise ConstraintViolation(
                    f"{old.id} supersedes {new.id} already.",
                    hint="Remove the link `supersedes` between them first, if it was wrong.",
                )
            if number not in replaced:
                replaced.add(number)
                waiting.append(number)
