"""WHERE and its clauses (KIP §3.4), and the modifiers at the end of several statements."""

from __future__ import annotations

from mycel.kip import ast, foreign_idioms, values
from mycel.kip.conditions import OPERATORS, TESTS, condition
from mycel.kip.keywords import CLAUSES, KEYWORDS
from mycel.kip.lexer import KipTokens
from mycel.kip.patterns import link, matcher
from mycel.kip.syntax_errors import expect, fail, misplaced, too_deep, unexpected
from mycel.model.limits import NESTING_DEPTH_MAX
from mycel.model.names import shorten
from mycel.syntax.tokens import END

_BLOCKS: dict[str, type[ast.Not] | type[ast.Optional] | type[ast.Union]] = {
    "NOT": ast.Not,
    "OPTIONAL": ast.Optional,
    "UNION": ast.Union,
}


def where(tokens: KipTokens, *also: str) -> ast.Block:
    """`WHERE { … }`; `also` are keywords that could have come before it."""
    if tokens.tokens[tokens.at] != "WHERE":
        if tokens.tokens[tokens.at] == "{":
            raise unexpected(tokens, "WHERE", *also, hint="Put WHERE before the braces.")
        ended = tokens.tokens[tokens.at] == END
        hint = (
            "Describe what to find: WHERE { … } is required, and comes before ORDER BY and LIMIT."
        )
        raise unexpected(tokens, "WHERE", *also, hint=hint if ended else misplaced(tokens, hint))
    tokens.at += 1
    return block(tokens, 1, "WHERE")


def block(tokens: KipTokens, depth: int, name: str) -> ast.Block:
    """`{ clause … }`: clauses one after another, at least one."""
    if depth > NESTING_DEPTH_MAX:
        raise too_deep(tokens)
    texts = tokens.tokens
    opened = tokens.at
    if texts[opened] != "{":
        clause = "…" if name == "WHERE" else foreign_idioms.clause(tokens, opened)
        hint = f"{name} is followed by a block: {name} {{ {clause} }}."
        raise unexpected(tokens, "{", hint=hint)
    tokens.at = opened + 1
    clauses: list[ast.Clause] = []
    while (token := texts[tokens.at]) != "}":
        first = tokens.at
        character = token[0]
        if character == "?":
            if "." in token and texts[first + 1] in {*OPERATORS, "="}:
                raise _bare_condition(tokens)
            clauses.append(_bound(tokens, depth + 1))
        elif character == "(":
            pattern = link(tokens, depth + 1)
            clauses.append(ast.LinkClause(None, pattern, span=pattern.span))
        elif token == "FILTER":
            clauses.append(_filter(tokens, depth + 1))
        elif token in _BLOCKS:
            tokens.at = first + 1
            inner = block(tokens, depth + 1, token)
            clauses.append(_BLOCKS[token](inner, span=tokens.span(first)))
        else:
            raise _no_clause(tokens)
    tokens.at += 1
    if not clauses:
        raise fail(
            tokens,
            f"The block of {name} is empty.",
            'Put at least one clause into it, such as ?x {type: "…"} or (?x, "…", ?y).',
            at=opened,
            length=tokens.at - opened,
        )
    return tuple(clauses)


def _bound(tokens: KipTokens, depth: int) -> ast.ConceptClause | ast.LinkClause:
    """A clause that starts with a variable."""
    first = tokens.at
    name = values.variable(tokens)
    token = tokens.tokens[tokens.at]
    if token == "{":
        concept_matcher = matcher(tokens)
        return ast.ConceptClause(name, concept_matcher, span=tokens.span(first))
    if token == "(":
        pattern = link(tokens, depth)
        return ast.LinkClause(name, pattern, span=tokens.span(first))
    label = f"?{shorten(name.name)}"
    raise unexpected(
        tokens,
        "{",
        "(",
        suggestion=foreign_idioms.triple(tokens, label),
        hint=f'Describe the variable: {label} {{type: "…"}} for a concept, or '
        f'{label} (?s, "…", ?o) for a link.',
    )


def _bare_condition(tokens: KipTokens) -> Exception:
    """The error for a condition without FILTER, where the next token is its path."""
    path, operator = tokens.tokens[tokens.at : tokens.at + 2]
    value = foreign_idioms.scalar(tokens, tokens.at + 2)
    variable, _, field = path.partition(".")
    test = f"FILTER({shorten(path)} {'==' if operator == '=' else operator} {value})"
    hint = f"Conditions belong in a filter: {test}."
    if field in {"type", "name"} and operator in {"==", "="}:
        hint = f"Write {shorten(variable)} {{{field}: {value}}}, or {test}."
    return unexpected(tokens, "a clause", "FILTER", suggestion=hint)


def _filter(tokens: KipTokens, depth: int) -> ast.Filter:
    first = tokens.at
    tokens.at = first + 1
    if tokens.tokens[first + 1] != "(":
        raise unexpected(tokens, "(", hint=_filter_hint(tokens))
    tokens.at = first + 2
    test = condition(tokens, depth)
    expect(tokens, ")", "&&", "||")
    return ast.Filter(test, span=tokens.span(first))


def _filter_hint(tokens: KipTokens) -> str:
    match tokens.tokens[tokens.at].upper():
        case "NOT":
            return "Exclude a pattern with NOT { … }, without FILTER and EXISTS."
        case "EXISTS":
            return "Require a pattern by writing it as it is, without FILTER, EXISTS and braces."
        case _:
            return "A filter is FILTER(condition)."


def _no_clause(tokens: KipTokens) -> Exception:
    token = tokens.tokens[tokens.at]
    hint = None
    if token == "{":
        hint = foreign_idioms.group(tokens) or 'Give the concept a variable: ?x {type: "…"}.'
    elif token in {",", "."}:
        hint = "Clauses follow one another, with nothing between them."
    elif token in {"WHERE", "ORDER", "LIMIT", "CURSOR"}:
        hint = f"Close the block with `}}` before {token}."
    elif token in TESTS:
        hint = f"Conditions belong in a filter: FILTER({token}(…))."
    elif token[0].isalpha():
        hint = CLAUSES.get(token.upper())
        if hint is None and token not in KEYWORDS and tokens.tokens[tokens.at + 1] in {"{", "("}:
            hint = f"A variable is written ?{shorten(token)}."
    expected = ("a clause", "FILTER", "NOT", "OPTIONAL", "UNION", "}")
    return unexpected(tokens, *expected, hint=hint, suggestion=foreign_idioms.junction(tokens))


# Modifiers.


def limit(tokens: KipTokens) -> ast.Number | None:
    """`LIMIT n`, if it is there."""
    if tokens.tokens[tokens.at] != "LIMIT":
        return None
    tokens.at += 1
    return values.integer(tokens, "LIMIT", 1)


def cursor(tokens: KipTokens) -> ast.Text | None:
    """`CURSOR "…"`, if it is there."""
    if tokens.tokens[tokens.at] != "CURSOR":
        return None
    tokens.at += 1
    return values.text(tokens, "the cursor")
