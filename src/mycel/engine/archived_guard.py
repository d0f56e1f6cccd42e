"""The guard that warns about writes to archived elements, which ordinary answers leave out."""

from __future__ import annotations

from typing import Final

from mycel.model.elements import Concept
from mycel.model.names import SYSTEM_ACTOR, shorten
from mycel.store.index.lifetimes import ARCHIVED_AT
from mycel.store.write.guards import Change
from mycel.store.write.transaction import Transaction

NAMED_MAX: Final = 3


class ArchivedGuard:
    """Warns about changes of archived elements that stay archived."""

    # The check needs only the version before the change, so new rows may come in bulk.
    in_bulk = True

    def concerns(self, tx: Transaction, type_or_predicate: str, *, link: bool) -> bool:
        """True if any element of the graph is archived."""
        return tx.reader.has_hidden()

    def check(self, tx: Transaction, change: Change) -> None:
        """Note an archived element that is changed."""
        before = change.before
        if (
            before is None
            or change.kind == "retire"
            or tx.actor == SYSTEM_ACTOR
            or before.metadata.get(ARCHIVED_AT) is None
            or change.metadata.get(ARCHIVED_AT) is None
        ):
            return
        label = before.name if isinstance(before, Concept) else before.id
        tx.memo.setdefault(ArchivedGuard, {})[label] = None

    def check_commit(self, tx: Transaction) -> None:
        """Warn about the archived elements that were noted and are still archived."""
        names = list(tx.memo.pop(ArchivedGuard, ()))
        if names:
            labels = ", ".join(shorten(repr(name)) for name in names[:NAMED_MAX])
            tx.warnings.append(
                f"{labels}{' and others' if len(names) > NAMED_MAX else ''}: archived, so search,"
                " traversal and FIND do not show the change; RESTORE ?x WHERE { … } restores it."
            )
