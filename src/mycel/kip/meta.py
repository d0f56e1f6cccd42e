"""DESCRIBE, SEARCH and EXPORT (KIP §5 and its additions), and our NEAREST and TRAVERSE."""

from __future__ import annotations

from typing import Any

from mycel.errors import did_you_mean
from mycel.kip import ast, foreign_idioms, values
from mycel.kip.keywords import KEYWORDS
from mycel.kip.kql import as_of, for_time, include_archived, moment
from mycel.kip.lexer import KipTokens
from mycel.kip.patterns import link, matcher
from mycel.kip.syntax_errors import expect, fail, separated, unexpected
from mycel.kip.where import cursor, limit, where
from mycel.model.directions import DIRECTIONS
from mycel.model.names import is_identifier, shorten

SEARCH_MODES = ("keyword", "semantic", "hybrid")
SEARCH_KINDS = ("notes", "code", "any")
SEARCH_OPTIONS = (
    "WITH", "KIND", "MODE", "THRESHOLD", "UNDER", "WORKSPACE", "ACTOR", "SINCE", "UNTIL",
    "METADATA", "NEAR", "AS", "FOR", "INCLUDE", "LIMIT",
)  # fmt: skip
NEAREST_OPTIONS = (
    "WITH", "BY", "THRESHOLD", "UNDER", "WORKSPACE", "ACTOR", "SINCE", "UNTIL", "METADATA", "LIMIT"
)  # fmt: skip

_TEXTS = {
    "UNDER": 'a path such as "concept://shop/auth"',
    "WORKSPACE": "the name of a workspace",
    "ACTOR": "the name of an actor",
    "SINCE": "a time",
    "UNTIL": "a time",
    "NEAR": "a URI or an id",
    "BY": "a property that is a vector",
}
HISTORY_OPTIONS = ("UNDER", "ACTOR", "SINCE", "UNTIL", "LIMIT")
TRAVERSE_OPTIONS = (
    "ALONG", "DIRECTION", "MAX_COST", "MAX_TOKENS", "LIMIT", "AS", "FOR", "INCLUDE"
)  # fmt: skip
_FIELDS = {
    "WITH": "type",
    "UNDER": "path",
    "AS": "as_of",
    "FOR": "for_time",
    "INCLUDE": "include_archived",
}
"""The fields of the tree whose names differ from those of their options."""
_EXPORT_OPTION = "EXPORT … WITH DEFINITIONS adds the types and predicates that are used."
_KINDS = 'The kinds are "notes", "code" and "any".'
_MODES = 'The modes are "keyword", "semantic" and "hybrid".'
_DIRECTIONS = 'It is "out" (along the links), "in" (against them) or "both".'
_NEAREST = 'NEAREST CONCEPT TO :vector WITH TYPE "…" BY "…"'
_START = 'TRAVERSE FROM {type: "…", name: "…"}'


def describe(tokens: KipTokens) -> ast.Describe:
    """All forms of DESCRIBE."""
    texts = tokens.tokens
    first = tokens.at
    tokens.at = first + 1
    target: Any = texts[tokens.at]
    if target == "CHANGES":
        return _changes(tokens, first)
    if target == "HISTORY":
        tokens.at += 1
        options = _options(tokens, HISTORY_OPTIONS)
        page = cursor(tokens)
        return ast.DescribeHistory(**options, cursor=page, span=tokens.span(first))
    if target not in {"PRIMER", "DOMAINS", "CAPABILITIES", "CONCEPT", "PROPOSITION"}:
        raise unexpected(
            tokens,
            "PRIMER",
            "DOMAINS",
            "CONCEPT",
            "PROPOSITION",
            "CHANGES",
            "CAPABILITIES",
            "HISTORY",
            hint=_described_type(tokens)
            or "DESCRIBE PRIMER, CAPABILITIES, DOMAINS, CONCEPT TYPES, PROPOSITION TYPES, "
            'CONCEPT TYPE "…", PROPOSITION TYPE "…", HISTORY or CHANGES FROM ….',
        )
    tokens.at += 1
    if target == "PRIMER":
        return ast.DescribePrimer(span=tokens.span(first))
    if target == "CAPABILITIES":
        return ast.DescribeCapabilities(span=tokens.span(first))
    if target == "DOMAINS":
        return ast.DescribeDomains(span=tokens.span(first))
    word = texts[tokens.at]
    if word == "TYPES":
        tokens.at += 1
        rows, page = limit(tokens), cursor(tokens)
        return ast.DescribeTypes(target, rows, page, span=tokens.span(first))
    if word == "TYPE":
        tokens.at += 1
        name = values.text(tokens, "the name of the type")
        return ast.DescribeType(target, name, span=tokens.span(first))
    raise unexpected(tokens, "TYPES", "TYPE", hint=_described_type(tokens, target))


def _described_type(tokens: KipTokens, kind: str = "CONCEPT") -> str | None:
    """A hint about `DESCRIBE Drug`, `DESCRIBE TYPE "Drug"` and `DESCRIBE CONCEPT "Drug"`."""
    token = tokens.tokens[tokens.at]
    if token in {"TYPE", "TYPES"}:
        token = tokens.tokens[tokens.at + 1]
    name = token.strip('"')
    if not is_identifier(name) or name.upper() in {*KEYWORDS, "SCHEMA", "TABLES", "GRAPH"}:
        return None
    return f'Write DESCRIBE {kind} TYPE "{shorten(name)}".'


def _changes(tokens: KipTokens, first: int) -> ast.DescribeChanges:
    """`DESCRIBE CHANGES FROM … [TO …] [UNDER "…"]`."""
    texts = tokens.tokens
    tokens.at += 1
    expect(tokens, "FROM", hint='Name the first moment: DESCRIBE CHANGES FROM "2026-01-31".')
    since, until, under = moment(tokens, "FROM"), None, None
    if texts[tokens.at] == "TO":
        tokens.at += 1
        until = moment(tokens, "TO")
    if texts[tokens.at] == "UNDER":
        tokens.at += 1
        under = values.text(tokens, "the path")
    return ast.DescribeChanges(since, until, under, span=tokens.span(first))


def search(tokens: KipTokens) -> ast.Search:
    """`SEARCH CONCEPT|PROPOSITION "…"` and its options, in any order and each at most once."""
    texts = tokens.tokens
    first = tokens.at
    tokens.at = first + 1
    element: Any = texts[tokens.at]
    if element not in {"CONCEPT", "PROPOSITION"}:
        raise unexpected(
            tokens,
            "CONCEPT",
            "PROPOSITION",
            hint='Name the kind of element: SEARCH CONCEPT "…" or SEARCH PROPOSITION "…".',
        )
    tokens.at += 1
    term = values.text(tokens, "what to search for")
    options = _options(tokens, SEARCH_OPTIONS)
    options["types"] = options.pop("type", ())
    return ast.Search(element, term, **options, span=tokens.span(first))


def nearest(tokens: KipTokens) -> ast.Nearest:
    """`NEAREST CONCEPT TO …` and its options, in any order and each at most once."""
    first = tokens.at
    tokens.at = first + 1
    for word in ("CONCEPT", "TO"):
        expect(tokens, word, hint=f"Write {_NEAREST}.")
    to = values.value(tokens)
    options = _options(tokens, NEAREST_OPTIONS)
    match options.get("type"):
        case (only,):
            options["type"] = only
        case (_, *_):
            raise fail(tokens, "NEAREST compares the vectors of one type.", f"Write {_NEAREST}.")
    for option, name in ("WITH", "type"), ("BY", "by"):
        if name not in options:
            raise unexpected(tokens, option, hint=f"Say which vectors: {_NEAREST}.")
    return ast.Nearest(to, **options, span=tokens.span(first))


def _options(tokens: KipTokens, option_names: tuple[str, ...]) -> dict[str, Any]:
    """Options in any order, each at most once, under the names of their fields in the tree."""
    options: dict[str, Any] = {}
    while (token := tokens.tokens[tokens.at]) in option_names:
        name = _FIELDS.get(token, token.lower())
        if name in options:
            raise fail(tokens, f"{token} is given twice.", "Keep one of the two.")
        options[name] = _option(tokens, token)
    return options


def _option(tokens: KipTokens, option: str) -> Any:
    if option == "LIMIT":
        return limit(tokens)
    if option == "AS":
        return as_of(tokens)
    if option == "FOR":
        return for_time(tokens)
    if option == "INCLUDE":
        return include_archived(tokens)
    tokens.at += 1
    match option:
        case "THRESHOLD" | "MAX_COST":
            return values.number(tokens, f"after {option}")
        case "MAX_TOKENS":
            return values.integer(tokens, option, 1)
        case "MODE":
            return _choice(tokens, "search mode", SEARCH_MODES, _MODES)
        case "KIND":
            return _choice(tokens, "kind", SEARCH_KINDS, _KINDS)
        case "DIRECTION":
            return _choice(tokens, "direction", DIRECTIONS, _DIRECTIONS)
        case "METADATA":
            return values.mapping(tokens, option)
        case "ALONG":
            return _along(tokens)
        case "WITH":
            expect(tokens, "TYPE", hint='Narrow a search with WITH TYPE "…".')
            return _alternatives(tokens, "the type", 'WITH TYPE "Risk" | "Decision"')
        case _:
            return values.text(tokens, _TEXTS[option])


def _choice(tokens: KipTokens, noun: str, choices: tuple[str, ...], hint: str) -> ast.Text:
    """One of the known texts, or a placeholder."""
    at = tokens.at
    choice = values.text(tokens, f"the {noun}")
    if isinstance(choice, ast.Literal) and choice.value not in choices:
        message = f'There is no {noun} "{shorten(choice.value)}".'
        close = did_you_mean(choice.value, choices)
        raise fail(tokens, message, f"{hint} {close}".rstrip(), at=at)
    return choice


def export(tokens: KipTokens) -> ast.Export:
    """`EXPORT ?t [INCLUDE ARCHIVED] WHERE { … } [WITH DEFINITIONS] [LIMIT n] [CURSOR c]`."""
    first = tokens.at
    tokens.at = first + 1
    if tokens.tokens[tokens.at][0] != "?":
        name = foreign_idioms.path_from(tokens, tokens.at).split(".")[0]
        hint = f'Name what to export: EXPORT {name} WHERE {{ {name} {{type: "…"}} }}.'
        raise unexpected(tokens, "a variable such as `?x`", hint=hint)
    target = values.variable(tokens)
    archived = include_archived(tokens)
    clauses = where(tokens)
    definitions = tokens.tokens[tokens.at] == "WITH"
    if definitions:
        if tokens.tokens[tokens.at + 1] != "DEFINITIONS":
            tokens.at += 1
            raise unexpected(tokens, "DEFINITIONS", hint=_EXPORT_OPTION)
        tokens.at += 2
    rows, page = limit(tokens), cursor(tokens)
    return ast.Export(target, clauses, rows, page, definitions, archived, span=tokens.span(first))


def traverse(tokens: KipTokens) -> ast.Traverse:
    """`TRAVERSE FROM {…}` and its options, in any order and each at most once."""
    first = tokens.at
    tokens.at = first + 1
    expect(tokens, "FROM", hint=f"Say where to start: {_START}.")
    start = _start(tokens)
    options = _options(tokens, TRAVERSE_OPTIONS)
    return ast.Traverse(start, **options, span=tokens.span(first))


def _start(tokens: KipTokens) -> ast.ConceptMatcher | ast.LinkById:
    token = tokens.tokens[tokens.at]
    if token == "{":
        return matcher(tokens, exact=True)
    opened = tokens.at
    if token == "(":
        node = link(tokens, 1, exact=True)
        if isinstance(node, ast.LinkById):
            return node
        raise fail(
            tokens,
            "A traversal starts at a concept, or at a link by its id.",
            f'Write {_START}, or FROM (id: "P:…").',
            at=opened,
            length=tokens.at - opened,
        )
    if token[0] == "?":
        hint = f"A traversal starts at one named element: {_START}. Use FIND to find its name."
    else:
        hint = f'Write {_START}, FROM {{id: "C:…"}} or FROM (id: "P:…").'
    raise unexpected(tokens, "a matcher such as `{…}`, or `(id: …)`", hint=hint)


def _alternatives(tokens: KipTokens, expected: str, example: str) -> tuple[ast.Text, ...]:
    names = separated(tokens, "|", lambda tokens: values.text(tokens, expected))
    if tokens.tokens[tokens.at] == ",":
        raise unexpected(tokens, "|", hint=f"Alternatives: {example}.")
    return names


def _along(tokens: KipTokens) -> tuple[ast.Text, ...]:
    names = _alternatives(tokens, "a predicate", 'ALONG "depends_on" | "imports"')
    if tokens.tokens[tokens.at] == "{":
        raise fail(
            tokens,
            "A traversal has no hops: it goes as far as MAX_COST lets it.",
            "Leave the braces out, and write MAX_COST 2 for two links of weight 1.",
        )
    return names
