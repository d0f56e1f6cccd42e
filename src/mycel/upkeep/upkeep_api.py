"""`db.upkeep`: archive, restore and supersede elements, set retention, and read the health."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeVar

import orjson

from mycel.engine.archive import archive_element, restore_element
from mycel.engine.retention import set_element_retention, set_type_retention
from mycel.engine.supersede import supersede_element
from mycel.errors import ConstraintViolation
from mycel.model.retention import RETENTION, retention_in_words
from mycel.store.database import Store
from mycel.store.query import retention
from mycel.store.query.refs import Ref
from mycel.store.write.transaction import Transaction
from mycel.upkeep.health import SHOWN_DEFAULT, Health, read_health

T = TypeVar("T")


class RetentionRule(NamedTuple):
    """A rule of retention and its subject; `words` is empty if the rule is invalid."""

    kind: Literal["type", "predicate", "element"]
    target: str
    words: str
    rule: Any


class UpkeepApi:
    """ARCHIVE, RESTORE, SUPERSEDE and SET RETENTION of KIP as methods, and the health."""

    def __init__(self, store: Store, write: Callable[..., Any]) -> None:
        self._store: Final = store
        self._write: Final = write

    def archive(self, ref: Ref, reason: str = "", *, by: str | None = None) -> bool:
        """Take an element out of ordinary answers; False if it was archived already.

        Raises:
            NotFound: there is no such element.
            ImmutableTarget: the element is a definition, or protected.
        """
        return self._run(
            lambda tx: archive_element(tx, tx.get(ref), reason), by, f"Archive: {reason}"
        )

    def restore(self, ref: Ref, *, by: str | None = None) -> bool:
        """Bring an archived element back, with its links; False if it was not archived.

        An `expires_at` in the past is removed, so the element does not expire again.

        Raises:
            NotFound: there is no such element.
        """
        return self._run(lambda tx: restore_element(tx, tx.get(ref)), by, "Restore")

    def supersede(
        self,
        old: Ref,
        new: Ref,
        reason: str = "",
        *,
        valid_until: str = "",
        by: str | None = None,
    ) -> str:
        """Let an element take the place of another; returns the id of the link `supersedes`.

        The old element holds until `valid_until`, or else until the `valid_from` of the new
        element, or else until now.

        Raises:
            InvalidSyntax: `valid_until` is no time.
            NotFound: one of them does not exist.
            SelfEdgeError: both are the same element.
            ConstraintViolation: the old element supersedes the new one already.
        """
        return self._run(
            lambda tx: supersede_element(tx, tx.get(old), tx.get(new), reason, valid_until).link,
            by,
            f"Supersede: {reason}",
        )

    def set_retention(
        self,
        rule: Mapping[str, Any] | str,
        *,
        type: str | None = None,  # noqa: A002 - the word for it
        predicate: str | None = None,
        ref: Ref | None = None,
        by: str | None = None,
    ) -> bool:
        """Set how long the instances of a type or predicate, or one element, are kept.

        A rule has `after`, `from`, `then` and `keep_if`, or is a text: "archive 90d after updated
        unless linked", or "never". Returns False if the rule was set already.

        Raises:
            TypeMismatch: there is no such type or predicate.
            NotFound: there is no such element.
            InvalidSyntax, ConstraintViolation: the rule is malformed, or the call has not exactly
                one target.
        """
        if sum(target is not None for target in (type, predicate, ref)) != 1:
            raise ConstraintViolation(
                "A rule of retention is for one target.",
                hint="Pass one of type, predicate and ref.",
            )
        value = rule if isinstance(rule, str) else dict(rule)

        def work(tx: Transaction) -> bool:
            if ref is not None:
                return set_element_retention(tx, tx.get(ref), value)
            if type is not None:
                return set_type_retention(tx, type, value, is_link=False)
            return set_type_retention(tx, predicate or "", value, is_link=True)

        return self._run(work, by, "Set retention")

    def retention_rules(self) -> list[RetentionRule]:
        """All rules: those of types and predicates, and those of single elements."""
        with self._store.reading() as reader:
            rules = [
                RetentionRule("predicate" if rule.is_link else "type", rule.name, *_read(rule.text))
                for rule in retention.stored_rules(reader)
            ]
            for element in reader.elements(retention.with_own_rule(reader)).values():
                own = element.metadata.get(RETENTION)
                if own is not None:
                    rules.append(RetentionRule("element", element.id, retention_in_words(own), own))
        return rules

    def health(self, *, limit: int = SHOWN_DEFAULT) -> Health:
        """Stale, contested, duplicate and orphaned elements, the growth of the graph, and the log.

        Contested and duplicate elements are those of open tasks of the last cycle.
        """
        with self._store.reading() as reader:
            return read_health(reader, dict(self._store.use_counts.uses()), limit)

    def _run(self, work: Callable[[Transaction], T], by: str | None, message: str) -> T:
        result: T = self._write(work, actor=by, message=message.removesuffix(": "))
        return result


def _read(text: str) -> tuple[str, Any]:
    """The words and the value of a rule, from its stored JSON."""
    value = orjson.loads(text)
    return retention_in_words(value), value
