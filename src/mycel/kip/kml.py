"""DELETE, UPDATE and MERGE (KIP §4.2 and its additions)."""

from __future__ import annotations

from typing import Any

from mycel.kip import ast, values
from mycel.kip.complaints import fail, misplaced, too_deep, unexpected
from mycel.kip.lexer import Tokens
from mycel.kip.where import limit, where
from mycel.model.limits import NESTING_DEPTH_MAX
from mycel.model.names import shorten

_ARITY = {"ADD": 2, "MUL": 2, "CLAMP": 3, "COALESCE": 2}

Changes = tuple[tuple[str, ast.Change], ...] | ast.Placeholder


# DELETE.


def delete(tokens: Tokens) -> ast.DeleteKeys | ast.DeletePropositions | ast.DeleteConcept:
    """The four forms of DELETE."""
    first = tokens.at
    part = tokens.tokens[first + 1]
    tokens.at = first + 1
    if part == "ATTRIBUTES" or part == "METADATA":  # noqa: PLR1714  For the type checker.
        tokens.at += 1
        return _delete_keys(tokens, part, first)
    if part == "PROPOSITIONS":
        tokens.at += 1
        target = values.variable(tokens)
        clauses = where(tokens)
        return ast.DeletePropositions(target, clauses, tokens.span(first))
    if part == "CONCEPT":
        tokens.at += 1
        return _delete_concept(tokens, first)
    hint = {
        "PROPOSITION": "Write DELETE PROPOSITIONS ?link WHERE { … }, also for a single one.",
        "CONCEPTS": "Write DELETE CONCEPT ?node DETACH WHERE { … }, also for several.",
    }.get(part)
    raise unexpected(tokens, "ATTRIBUTES", "METADATA", "PROPOSITIONS", "CONCEPT", hint=hint)


def _delete_keys(tokens: Tokens, part: Any, first: int) -> ast.DeleteKeys:
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
    if texts[tokens.at] != "FROM":
        raise unexpected(tokens, "FROM", hint="Say whose keys they are: FROM ?target WHERE { … }.")
    tokens.at += 1
    target = values.variable(tokens)
    clauses = where(tokens)
    return ast.DeleteKeys(part, tuple(keys), target, clauses, tokens.span(first))


def _delete_concept(tokens: Tokens, first: int) -> ast.DeleteConcept:
    target = values.variable(tokens)
    if tokens.tokens[tokens.at] != "DETACH":
        raise unexpected(
            tokens,
            "DETACH",
            hint="DETACH confirms that the links of the concept go with it: "
            f"DELETE CONCEPT ?{shorten(target.name)} DETACH WHERE {{ … }}.",
        )
    tokens.at += 1
    clauses = where(tokens)
    return ast.DeleteConcept(target, clauses, tokens.span(first))


# UPDATE.


def update(tokens: Tokens) -> ast.Update:
    """`UPDATE ?t SET ATTRIBUTES { … } SET METADATA { … } WHERE { … } [LIMIT n]`."""
    texts = tokens.tokens
    first = tokens.at
    tokens.at = first + 1
    target = values.variable(tokens)
    changes: dict[str, Changes] = {}
    while texts[tokens.at] == "SET":
        part = texts[tokens.at + 1]
        tokens.at += 1
        if part not in {"ATTRIBUTES", "METADATA"}:
            raise unexpected(tokens, "ATTRIBUTES", "METADATA")
        if part in changes:
            raise fail(tokens, f"SET {part} stands here twice.", "Put all keys into one of them.")
        tokens.at += 1
        changes[part] = _changes(tokens, target.name)
    if not changes:
        raise unexpected(tokens, "SET", hint=misplaced(tokens, "SET stands before WHERE."))
    clauses = where(tokens, *(("SET",) if len(changes) < 2 else ()))
    rows = limit(tokens)
    return ast.Update(
        target,
        clauses,
        changes.get("ATTRIBUTES"),
        changes.get("METADATA"),
        rows,
        tokens.span(first),
    )


def _changes(tokens: Tokens, target: str) -> Changes:
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
            raise unexpected(tokens, ",", "}")
    tokens.at += 1
    return tuple(entries.items())


def _change(tokens: Tokens, target: str) -> ast.Change:
    token = tokens.tokens[tokens.at]
    if token in _ARITY:
        return _arithmetic(tokens, 2)
    if token[0] == "?":
        raise unexpected(
            tokens,
            "a JSON value, a placeholder",
            *_ARITY,
            hint=f"Paths stand inside a function: COALESCE(?{shorten(target)}.attributes.key, 0).",
        )
    if token[0].isalpha() and tokens.tokens[tokens.at + 1] == "(":
        raise unexpected(tokens, "a JSON value, a placeholder", *_ARITY)
    return values.value(tokens)


def _arithmetic(tokens: Tokens, depth: int) -> ast.Arithmetic:
    """`ADD(…)` and the like, where the next token is the function's name."""
    if depth > NESTING_DEPTH_MAX:
        raise too_deep(tokens)
    texts = tokens.tokens
    first = tokens.at
    function: Any = texts[first]
    arity = _ARITY[function]
    tokens.at = first + 1
    if texts[tokens.at] != "(":
        raise unexpected(tokens, "(")
    tokens.at += 1
    arguments = [_argument(tokens, depth)]
    while texts[tokens.at] == ",":
        tokens.at += 1
        arguments.append(_argument(tokens, depth))
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
    return ast.Arithmetic(function, tuple(arguments), tokens.span(first))


def _argument(tokens: Tokens, depth: int) -> ast.Arithmetic | ast.Path | ast.Number:
    token = tokens.tokens[tokens.at]
    if token in _ARITY:
        return _arithmetic(tokens, depth + 1)
    if token[0] != "?":
        if token != ":" and not values.is_number(token):
            raise unexpected(tokens, "a number, a placeholder, a path", *_ARITY)
        return values.number(tokens, "")
    found = values.path(tokens)
    if not found.fields:
        tokens.at -= 1
        raise fail(
            tokens,
            f"`{shorten(token)}` is a whole element, and no number.",
            f"Name one of its values: {shorten(token)}.attributes.key.",
        )
    return found


# MERGE.


def merge(tokens: Tokens) -> ast.Merge:
    """`MERGE CONCEPT ?source INTO ?target WHERE { … }`."""
    texts = tokens.tokens
    first = tokens.at
    tokens.at = first + 1
    if texts[tokens.at] != "CONCEPT":
        raise unexpected(tokens, "CONCEPT", hint="MERGE CONCEPT ?source INTO ?target WHERE { … }.")
    tokens.at += 1
    source = values.variable(tokens)
    if texts[tokens.at] != "INTO":
        raise unexpected(tokens, "INTO", hint="MERGE CONCEPT ?source INTO ?target WHERE { … }.")
    tokens.at += 1
    target = values.variable(tokens)
    clauses = where(tokens)
    return ast.Merge(source, target, clauses, tokens.span(first))
