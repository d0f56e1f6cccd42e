"""DELETE, UPDATE and MERGE (KIP §4.2 and its additions)."""

from __future__ import annotations

from typing import Any

from mycel.kip import ast, foreign_idioms, values
from mycel.kip.keywords import KEYWORDS
from mycel.kip.lexer import KipTokens
from mycel.kip.syntax_errors import (
    expect,
    fail,
    misplaced,
    separated,
    too_deep,
    unexpected,
)
from mycel.kip.where import limit, where
from mycel.model.limits import NESTING_DEPTH_MAX
from mycel.model.names import shorten

_CONCEPT_TARGET = "Name the concept with a variable: DELETE CONCEPT ?x DETACH WHERE { ?x {…} }."
_LINK_TARGET = "Name the link with a variable: DELETE PROPOSITIONS ?p WHERE { ?p (…) }."
_MERGE = "MERGE CONCEPT ?source INTO ?target WHERE { ?source {…} ?target {…} }."
_ARITY = {"ADD": 2, "MUL": 2, "CLAMP": 3, "COALESCE": 2}

Changes = tuple[tuple[str, ast.Change], ...] | ast.Placeholder


# DELETE.


def delete(tokens: KipTokens) -> ast.DeleteKeys | ast.DeletePropositions | ast.DeleteConcept:
    """The four forms of DELETE."""
    first = tokens.at
    part = tokens.tokens[first + 1]
    tokens.at = first + 1
    if part == "ATTRIBUTES" or part == "METADATA":  # noqa: PLR1714  For the type checker.
        tokens.at += 1
        return _delete_keys(tokens, part, first)
    if part == "PROPOSITIONS":
        tokens.at += 1
        target = values.variable(tokens, hint=_LINK_TARGET)
        clauses = where(tokens)
        return ast.DeletePropositions(target, clauses, span=tokens.span(first))
    if part == "CONCEPT":
        tokens.at += 1
        return _delete_concept(tokens, first)
    hint = _delete_hint(tokens, part)
    raise unexpected(tokens, "ATTRIBUTES", "METADATA", "PROPOSITIONS", "CONCEPT", hint=hint)


def _delete_hint(tokens: KipTokens, part: str) -> str:
    if part == "PROPOSITION":
        return "Write DELETE PROPOSITIONS ?link WHERE { … }, also for a single one."
    if part == "CONCEPTS":
        return "Write DELETE CONCEPT ?node DETACH WHERE { … }, also for several."
    of_type = tokens.tokens[tokens.at + 1] if part == "FROM" else part
    if of_type.isidentifier() and of_type not in KEYWORDS:
        return (
            f'Write DELETE CONCEPT ?x DETACH WHERE {{ ?x {{type: "{shorten(of_type)}"}} … }}; '
            "DETACH deletes its links too."
        )
    name = shorten(part) if part[0] == "?" and len(part) > 1 else "?x"
    return (
        f"Name what to delete: DELETE CONCEPT {name} DETACH WHERE {{ … }}, DELETE PROPOSITIONS"
        f" {name} "
        f'WHERE {{ … }} or DELETE ATTRIBUTES {{"key"}} FROM {name} WHERE {{ … }}.'
    )


def _delete_keys(tokens: KipTokens, part: Any, first: int) -> ast.DeleteKeys:
    texts = tokens.tokens
    if texts[tokens.at] != "{":
        hint = f'DELETE {part} {{"key", …}} FROM ?target WHERE {{ … }}.'
        raise unexpected(tokens, "{", hint=hint)
    tokens.at += 1
    keys: list[ast.Text] = []
    while texts[tokens.at] != "}" or not keys:
        keys.append(values.text(tokens, "a key"))
        if texts[tokens.at] == ",":
            tokens.at += 1
        elif texts[tokens.at] != "}":
            raise unexpected(tokens, ",", "}")
    tokens.at += 1
    expect(tokens, "FROM", hint="Name the elements that lose the keys: FROM ?target WHERE { … }.")
    target = values.variable(tokens)
    clauses = where(tokens)
    return ast.DeleteKeys(part, tuple(keys), target, clauses, span=tokens.span(first))


def _delete_concept(tokens: KipTokens, first: int) -> ast.DeleteConcept:
    target = values.variable(tokens, hint=_CONCEPT_TARGET)
    expect(
        tokens,
        "DETACH",
        hint="DETACH confirms that the links of the concept are deleted with it: "
        f"DELETE CONCEPT ?{shorten(target.name)} DETACH WHERE {{ … }}.",
    )
    clauses = where(tokens)
    return ast.DeleteConcept(target, clauses, span=tokens.span(first))


# UPDATE.


def update(tokens: KipTokens) -> ast.Update:
    """`UPDATE ?t SET ATTRIBUTES { … } SET METADATA { … } SET WEIGHT w WHERE { … } [LIMIT n]`."""
    texts = tokens.tokens
    first = tokens.at
    tokens.at = first + 1
    if texts[tokens.at][0] != "?":
        raise unexpected(tokens, "a variable such as `?x`", hint=_update_hint(texts[tokens.at]))
    target = values.variable(tokens)
    changes: dict[str, Changes] = {}
    weight: ast.Number | ast.Arithmetic | None = None
    while texts[tokens.at] == "SET":
        part = texts[tokens.at + 1]
        tokens.at += 1
        if part not in {"ATTRIBUTES", "METADATA", "WEIGHT"}:
            hint = foreign_idioms.assignment(tokens, target.name)
            raise unexpected(tokens, "ATTRIBUTES", "METADATA", "WEIGHT", hint=hint)
        if part in changes or (part == "WEIGHT" and weight is not None):
            raise fail(tokens, f"SET {part} is given twice.", "Put all of it into one of them.")
        tokens.at += 1
        if part == "WEIGHT":
            weight = _weight(tokens)
        else:
            changes[part] = _changes(tokens, target.name)
    if not changes and weight is None:
        form = f"UPDATE ?{shorten(target.name)} SET ATTRIBUTES {{ … }} WHERE {{ … }}."
        raise unexpected(
            tokens, "SET", hint=misplaced(tokens, f"SET comes before WHERE: {form}") or form
        )
    clauses = where(tokens, *(("SET",) if len(changes) < 2 or weight is None else ()))
    rows = limit(tokens)
    return ast.Update(
        target,
        clauses,
        changes.get("ATTRIBUTES"),
        changes.get("METADATA"),
        rows,
        weight,
        span=tokens.span(first),
    )


def _update_hint(word: str) -> str:
    of_type = shorten(word) if word.isidentifier() and word not in KEYWORDS else "…"
    return (
        "Name what to update with a variable: UPDATE ?x SET ATTRIBUTES { … } "
        f'WHERE {{ ?x {{type: "{of_type}"}} … }}.'
    )


def _changes(tokens: KipTokens, target: str) -> Changes:
    texts = tokens.tokens
    if texts[tokens.at] == ":":
        return values.placeholder(tokens)
    if texts[tokens.at] != "{":
        raise unexpected(tokens, "`{` or a placeholder")
    tokens.at += 1
    entries: dict[str, ast.Change] = {}
    while (token := texts[tokens.at]) != "}":
        name = values.key(tokens, token, entries)
        entries[name] = _change(tokens, target)
        if texts[tokens.at] == ",":
            tokens.at += 1
        elif texts[tokens.at] != "}":
            raise unexpected(
                tokens, ",", "}", suggestion=foreign_idioms.arithmetic(tokens, tokens.at - 1)
            )
    tokens.at += 1
    return tuple(entries.items())


def _change(tokens: KipTokens, target: str) -> ast.Change:
    token = tokens.tokens[tokens.at]
    if token in _ARITY:
        return _arithmetic(tokens, 2)
    if token[0] == "?":
        raise unexpected(
            tokens,
            "a JSON value, a placeholder",
            *_ARITY,
            hint=f"Paths belong in a function: COALESCE(?{shorten(target)}.attributes.key, 0).",
            suggestion=foreign_idioms.arithmetic(tokens, tokens.at),
        )
    if token[0].isalpha() and tokens.tokens[tokens.at + 1] == "(":
        raise unexpected(tokens, "a JSON value, a placeholder", *_ARITY)
    return values.value(tokens)


def _weight(tokens: KipTokens) -> ast.Number | ast.Arithmetic:
    token = tokens.tokens[tokens.at]
    if token in _ARITY:
        return _arithmetic(tokens, 2)
    if token != ":" and not values.is_number(token):
        raise unexpected(tokens, "a number, a placeholder", *_ARITY)
    return values.number(tokens, "SET WEIGHT")


def _arithmetic(tokens: KipTokens, depth: int) -> ast.Arithmetic:
    """`ADD(…)`, `MUL(…)`, `CLAMP(…)` or `COALESCE(…)`; the next token is the function's name."""
    if depth > NESTING_DEPTH_MAX:
        raise too_deep(tokens)
    texts = tokens.tokens
    first = tokens.at
    function: Any = texts[first]
    arity = _ARITY[function]
    tokens.at = first + 1
    expect(tokens, "(")
    arguments = separated(tokens, ",", lambda tokens: _argument(tokens, depth))
    if texts[tokens.at] != ")":
        raise unexpected(tokens, ",", ")")
    tokens.at += 1
    if len(arguments) != arity:
        raise fail(
            tokens,
            f"{function} takes {arity} arguments, not {len(arguments)}.",
            "ADD(a, b), MUL(a, b), CLAMP(x, low, high), COALESCE(x, otherwise).",
            at=first,
            length=tokens.at - first,
        )
    return ast.Arithmetic(function, arguments, span=tokens.span(first))


def _argument(tokens: KipTokens, depth: int) -> ast.Arithmetic | ast.Path | ast.Number:
    token = tokens.tokens[tokens.at]
    if token in _ARITY:
        return _arithmetic(tokens, depth + 1)
    if token[0] != "?":
        if token != ":" and not values.is_number(token):
            raise unexpected(tokens, "a number, a placeholder, a path", *_ARITY)
        return values.number(tokens, "")
    path = values.path(tokens)
    if not path.fields:
        tokens.at -= 1
        raise fail(
            tokens,
            f"`{shorten(token)}` is a whole element, not a number.",
            f"Name one of its values: {shorten(token)}.attributes.key.",
        )
    return path


# MERGE.


def merge(tokens: KipTokens) -> ast.MergeConcept:
    """`MERGE CONCEPT ?source INTO ?target WHERE { … }`."""
    first = tokens.at
    tokens.at = first + 1
    if suggestion := foreign_idioms.creation(tokens):
        raise unexpected(tokens, "CONCEPT", suggestion=suggestion)
    expect(tokens, "CONCEPT", hint=_MERGE)
    source = values.variable(tokens, hint=_MERGE)
    expect(tokens, "INTO", hint=_MERGE)
    target = values.variable(tokens, hint=_MERGE)
    clauses = where(tokens)
    return ast.MergeConcept(source, target, clauses, span=tokens.span(first))
