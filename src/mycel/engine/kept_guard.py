"""The guard of pinned and held elements, which nothing removes or archives.

It is asked about every removal and about every change of metadata, so no door, rule or merge goes
past it. Everything else about such an element may change, also its name, its ends, and whether
another one supersedes it; a write that changes values of a held element gets a warning. A pin or
hold is lifted by writing `pinned: false` or `hold: false`; then the element may go, also in the
same transaction.
"""

from __future__ import annotations

from typing import Final

from mycel.errors import ConstraintViolation
from mycel.model.elements import Concept, Element
from mycel.model.names import first_few, shorten
from mycel.model.retention import HOLD, PINNED, marks_to_stay
from mycel.store.index.lifetimes import ARCHIVED_AT
from mycel.store.write.guards import Change
from mycel.store.write.transaction import Transaction

NAMED_MAX: Final = 5
"""The number of changed values of a held element that a warning names."""


class KeptGuard:
    """Refuses to remove, purge or archive an element that is pinned or held."""

    in_bulk = True  # New elements are not removed.

    def concerns(self, _tx: Transaction, _type_or_predicate: str, *, link: bool) -> bool:
        """Always False: elements are pinned or held, and not types."""
        return False

    def concerns_element(self, before: Element) -> bool:
        """True if the metadata may have a pin or a hold."""
        text = before.metadata_json
        return f'"{PINNED}"' in text or f'"{HOLD}"' in text

    def check(self, tx: Transaction, change: Change) -> None:
        """Refuse a removal, and a change that archives the element; warn of lost values."""
        before = change.before
        if before is None:
            return
        metadata = before.metadata
        leaves = change.kind == "retire" or (
            change.metadata.get(ARCHIVED_AT) is not None and metadata.get(ARCHIVED_AT) is None
        )
        if leaves and (error := stay_error(before)) is not None:
            raise error
        after = change.attributes
        lost = [key for key, value in before.attributes.items() if after.get(key) != value]
        if lost and metadata.get(HOLD) not in (None, False, ""):
            tx.warnings.append(
                f"{_label(before)} is held, and {', '.join(first_few(lost, NAMED_MAX))} of it"
                " changed. The former values stay in its history."
            )

    def check_commit(self, tx: Transaction) -> None:
        """Do nothing: forbidden changes were refused at once."""


def _label(element: Element) -> str:
    """The type and name of a concept, or the id of a link, as messages name it."""
    if isinstance(element, Concept):
        return f"{element.type} {shorten(element.name)!r}"
    return f"The link {element.id}"


def stay_error(element: Element) -> ConstraintViolation | None:
    """The error of removing an element that is pinned or held; None if it is neither."""
    marks = marks_to_stay(element.metadata)
    if not marks:
        return None
    return ConstraintViolation(
        f"{_label(element)} is {'; '.join(marks)}, so it stays.",
        hint="If it is to go all the same, lift the mark first: write pinned: false or hold: false"
        " to its metadata (UPDATE ?x SET METADATA { pinned: false } WHERE { … } in KIP,"
        " update_node with metadata over MCP).",
        data={"id": element.id, "marks": marks},
    )
