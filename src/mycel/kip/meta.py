"""DESCRIBE, SEARCH and EXPORT (KIP §5 and its additions)."""

from __future__ import annotations

from typing import Any

from mycel.errors import did_you_mean
from mycel.kip import ast, idioms, values
from mycel.kip.complaints import fail, unexpected
from mycel.kip.lexer import Tokens
from mycel.kip.where import cursor, limit, where
from mycel.model.names import shorten

SEARCH_MODES = ("keyword", "semantic", "hybrid")


def describe(tokens: Tokens) -> ast.Describe:
    """All forms of DESCRIBE."""
    texts = tokens.tokens
    first = tokens.at
    tokens.at = first + 1
    target: Any = texts[tokens.at]
    if target not in {"PRIMER", "DOMAINS", "CONCEPT", "PROPOSITION"}:
        raise unexpected(
            tokens,
            "PRIMER",
            "DOMAINS",
            "CONCEPT",
            "PROPOSITION",
            hint="DESCRIBE PRIMER, DOMAINS, CONCEPT TYPES, PROPOSITION TYPES, "
            'CONCEPT TYPE "…" or PROPOSITION TYPE "…".',
        )
    tokens.at += 1
    if target == "PRIMER":
        return ast.DescribePrimer(tokens.span(first))
    if target == "DOMAINS":
        return ast.DescribeDomains(tokens.span(first))
    what = texts[tokens.at]
    if what == "TYPES":
        tokens.at += 1
        rows, page = limit(tokens), cursor(tokens)
        return ast.DescribeTypes(target, rows, page, tokens.span(first))
    if what == "TYPE":
        tokens.at += 1
        name = values.text(tokens, "the name of the type")
        return ast.DescribeType(target, name, tokens.span(first))
    raise unexpected(tokens, "TYPES", "TYPE")


def search(tokens: Tokens) -> ast.Search:
    """`SEARCH CONCEPT|PROPOSITION "…"` and its options, in any order and each at most once."""
    texts = tokens.tokens
    first = tokens.at
    tokens.at = first + 1
    kind: Any = texts[tokens.at]
    if kind not in {"CONCEPT", "PROPOSITION"}:
        raise unexpected(
            tokens,
            "CONCEPT",
            "PROPOSITION",
            hint='Say what to search: SEARCH CONCEPT "…" or SEARCH PROPOSITION "…".',
        )
    tokens.at += 1
    term = values.text(tokens, "what to search for")
    options: dict[str, Any] = {}
    while (token := texts[tokens.at]) in {"WITH", "MODE", "THRESHOLD", "LIMIT"}:
        if token in options:
            raise fail(tokens, f"{token} stands here twice.", "Keep one of the two.")
        options[token] = _option(tokens, token)
    return ast.Search(
        kind,
        term,
        options.get("WITH"),
        options.get("MODE"),
        options.get("THRESHOLD"),
        options.get("LIMIT"),
        tokens.span(first),
    )


def _option(tokens: Tokens, option: str) -> Any:
    if option == "LIMIT":
        return limit(tokens)
    tokens.at += 1
    if option == "THRESHOLD":
        return values.number(tokens, "after THRESHOLD")
    if option == "MODE":
        return _mode(tokens)
    if tokens.tokens[tokens.at] != "TYPE":
        raise unexpected(tokens, "TYPE", hint='Narrow a search with WITH TYPE "…".')
    tokens.at += 1
    return values.text(tokens, "the type")


def _mode(tokens: Tokens) -> ast.Text:
    at = tokens.at
    mode = values.text(tokens, "the mode")
    if isinstance(mode, ast.Literal) and mode.value not in SEARCH_MODES:
        raise fail(
            tokens,
            f'There is no search mode "{shorten(mode.value)}".',
            f'The modes are "keyword", "semantic" and "hybrid". '
            f"{did_you_mean(mode.value, list(SEARCH_MODES))}".rstrip(),
            at=at,
        )
    return mode


def export(tokens: Tokens) -> ast.Export:
    """`EXPORT ?t WHERE { … } [LIMIT n] [CURSOR c]`."""
    first = tokens.at
    tokens.at = first + 1
    if tokens.tokens[tokens.at][0] != "?":
        name = idioms.path_from(tokens, tokens.at).split(".")[0]
        hint = f'Name what to export: EXPORT {name} WHERE {{ {name} {{type: "…"}} }}.'
        raise unexpected(tokens, "a variable such as `?x`", hint=hint)
    target = values.variable(tokens)
    clauses = where(tokens)
    rows, page = limit(tokens), cursor(tokens)
    return ast.Export(target, clauses, rows, page, tokens.span(first))
