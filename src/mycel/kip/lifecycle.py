"""ARCHIVE, RESTORE, SUPERSEDE, SUPPORT, CHALLENGE and SET RETENTION, which are ours."""

from __future__ import annotations

from typing import Any

from mycel.kip import ast, values
from mycel.kip.lexer import KipTokens
from mycel.kip.syntax_errors import expect
from mycel.kip.where import limit, where
from mycel.model.evidence import Stance

_ARCHIVE = 'ARCHIVE ?x BECAUSE "…" WHERE { ?x {…} }.'
_RESTORE = "RESTORE ?x WHERE { ?x {…} }."
_RETENTION = (
    'SET RETENTION {after: "180d", then: "archive"} FOR CONCEPT TYPE "Event", or FOR ?x WHERE'
    " { ?x {…} }."
)
_STANCES: dict[str, Stance] = {"SUPPORT": "supports", "CHALLENGE": "challenges"}
_STANCE = 'CHALLENGE ?l WITH {by: "ana", confidence: 0.8} BECAUSE "…" WHERE { ?l (…) }.'
_SUPERSEDE = "SUPERSEDE ?old WITH ?new WHERE { ?old {…} ?new {…} }."


def archive(tokens: KipTokens) -> ast.Archive:
    """`ARCHIVE ?t [BECAUSE "…"] WHERE { … } [LIMIT n]`."""
    first = tokens.at
    tokens.at = first + 1
    target = values.variable(tokens, hint=f"Name what to archive with a variable: {_ARCHIVE}")
    reason = _because(tokens)
    clauses = where(tokens, *(("BECAUSE",) if reason is None else ()))
    rows = limit(tokens)
    return ast.Archive(target, clauses, reason, rows, span=tokens.span(first))


def restore(tokens: KipTokens) -> ast.Restore:
    """`RESTORE ?t WHERE { … } [LIMIT n]`."""
    first = tokens.at
    tokens.at = first + 1
    target = values.variable(tokens, hint=f"Name what to restore with a variable: {_RESTORE}")
    clauses = where(tokens)
    rows = limit(tokens)
    return ast.Restore(target, clauses, rows, span=tokens.span(first))


def supersede(tokens: KipTokens) -> ast.Supersede:
    """`SUPERSEDE ?old WITH ?new [UNTIL "…"] [BECAUSE "…"] WHERE { … }`."""
    first = tokens.at
    tokens.at = first + 1
    old = values.variable(tokens, hint=_SUPERSEDE)
    expect(tokens, "WITH", hint=_SUPERSEDE)
    new = values.variable(tokens, hint=_SUPERSEDE)
    until = None
    if tokens.tokens[tokens.at] == "UNTIL":
        tokens.at += 1
        until = values.text(tokens, "the time until which the old one holds")
    reason = _because(tokens)
    missing = () if reason is not None else ("BECAUSE",) if until else ("UNTIL", "BECAUSE")
    clauses = where(tokens, *missing)
    return ast.Supersede(old, new, clauses, until, reason, span=tokens.span(first))


def take_stance(tokens: KipTokens) -> ast.TakeStance:
    """`SUPPORT|CHALLENGE ?l [WITH {…}] [BECAUSE "…"] WHERE { … } [LIMIT n]`."""
    first = tokens.at
    stance = _STANCES[tokens.tokens[first]]
    tokens.at = first + 1
    target = values.variable(tokens, hint=f"Name the link with a variable: {_STANCE}")
    details = None
    if tokens.tokens[tokens.at] == "WITH":
        tokens.at += 1
        details = values.mapping(tokens, "WITH")
    reason = _because(tokens)
    missing = () if reason is not None else ("BECAUSE",) if details else ("WITH", "BECAUSE")
    clauses = where(tokens, *missing)
    rows = limit(tokens)
    return ast.TakeStance(stance, target, clauses, details, reason, rows, span=tokens.span(first))


def set_retention(tokens: KipTokens) -> ast.SetTypeRetention | ast.SetRetention:
    """`SET RETENTION rule FOR …`: a type, a predicate, or single elements."""
    texts = tokens.tokens
    first = tokens.at
    tokens.at = first + 1
    expect(tokens, "RETENTION", hint=f"A command begins with SET only in {_RETENTION}")
    rule = values.value(tokens)
    expect(tokens, "FOR", hint=_RETENTION)
    kind: Any = texts[tokens.at]
    if kind in {"CONCEPT", "PROPOSITION"}:
        tokens.at += 1
        expect(tokens, "TYPE", hint=_RETENTION)
        name = values.text(tokens, "the name of the type")
        return ast.SetTypeRetention(rule, kind, name, span=tokens.span(first))
    target = values.variable(tokens, hint=_RETENTION)
    clauses = where(tokens)
    rows = limit(tokens)
    return ast.SetRetention(rule, target, clauses, rows, span=tokens.span(first))


def _because(tokens: KipTokens) -> ast.Text | None:
    if tokens.tokens[tokens.at] != "BECAUSE":
        return None
    tokens.at += 1
    return values.text(tokens, "the reason")
