"""SUPPORT and CHALLENGE: add a source that speaks for or against links (`model.evidence`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mycel.engine.outcome import Outcome, all_or_nothing
from mycel.engine.values import Values
from mycel.engine.where_targets import named_targets, to_change
from mycel.errors import ConstraintViolation, InvalidValueType, MycelError
from mycel.kip import ast
from mycel.model import times
from mycel.model.elements import Element, Proposition
from mycel.model.evidence import EVIDENCE, Stance, belief, next_source, with_source
from mycel.model.names import shorten
from mycel.model.periods import present_period
from mycel.model.values import JsonObject
from mycel.store.write.transaction import Transaction
from mycel.syntax.diagnostics import located

SOURCE_CHARACTERS: Final = 60


def take_stance(tx: Transaction, node: ast.TakeStance, values: Values) -> Outcome:
    """Run a SUPPORT or CHALLENGE; `belief` counts the links by their status afterwards."""
    reason = "" if node.reason is None else values.text(node.reason, "reason")
    details = {} if node.details is None else values.value(node.details)
    if not isinstance(details, dict):
        raise InvalidValueType("WITH takes an object.", hint='WITH {by: "ana", confidence: 0.8}.')
    limit = None if node.limit is None else values.positive(node.limit, "LIMIT")
    statuses: dict[str, int] = {}
    with all_or_nothing(tx):
        numbers = named_targets(tx, node, values, limit=limit)
        for element in to_change(tx, numbers):
            try:
                status = add_source(tx, element, node.stance, details, reason)
            except MycelError as error:
                raise error if node.details is None else located(error, node.details.span) from None
            statuses[status] = statuses.get(status, 0) + 1
    return Outcome({"belief": statuses, "matched": len(numbers)})


def add_source(
    tx: Transaction, element: Element, stance: Stance, details: JsonObject, reason: str = ""
) -> str:
    """Add a source to a link that was just read. Returns the status of the link afterwards.

    `by` defaults to the actor of the transaction, `at` to the present.

    Raises:
        ConstraintViolation: the element is a concept, or the details are invalid.
    """
    if not isinstance(element, Proposition):
        raise ConstraintViolation(
            f"{element.id} is a concept; evidence is for or against a link.",
            hint='Bind the link: CHALLENGE ?l WHERE { ?l (?s, "works_at", ?o) }.',
        )
    source = {"by": tx.actor, **details}
    sources = with_source(element.metadata, stance, source, reason, times.to_text(tx.time_us))
    tx.update_found(element, metadata={EVIDENCE: sources})
    return belief({**element.metadata, EVIDENCE: sources}).status


def update_from_source(
    tx: Transaction,
    link: Proposition,
    *,
    attributes: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    weight: float | None = None,
) -> tuple[bool, str]:
    """Change a link that was just read; another source than its own becomes evidence.

    Returns True if the link changed, and a sentence about the source that was added, or nothing.

    Raises:
        ConstraintViolation: the source is invalid, or the link has too many.
    """
    step = next_source(link.metadata, metadata or {})
    changes = step.metadata
    sentence = ""
    if step.entry:
        at = times.to_text(tx.time_us if step.dropped is None else link.updated_us)
        by = {"by": tx.actor} if step.dropped is None else {}
        before = {**link.metadata, **changes}
        sources = with_source(before, "supports", {**by, **step.entry}, "", at)
        if sources != before.get(EVIDENCE):
            sentence = _added(link, sources[-1], is_new=step.dropped is None)
        changes = {**changes, EVIDENCE: sources}
    changed = tx.update_found(
        link,
        attributes=attributes,
        metadata=changes,
        weight=weight,
        drop_metadata=step.dropped or (),
    )
    return changed, sentence


def _added(link: Proposition, entry: JsonObject, *, is_new: bool) -> str:
    name = shorten(str(entry.get("source", entry.get("by", "unnamed"))), SOURCE_CHARACTERS)
    period = present_period(entry)
    of = f", for the time {period.words}" if period.is_dated else ""
    if not is_new:
        return f"{link.id} has a new source; {name}{of} stays in its evidence."
    return (
        f"{link.id} keeps its own source and confidence; {name}{of} is added to its evidence as"
        " a further source."
    )
