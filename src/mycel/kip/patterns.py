"""Concept matchers and link patterns (KIP §3.4.1, §3.4.2, §4.1).

A pattern of UPSERT identifies one element: with `exact`, a matcher is `{type, name}` or `{id}`, and
a predicate is one name.
"""

from __future__ import annotations

from mycel.kip import ast, foreign_idioms, values
from mycel.kip.lexer import KipTokens
from mycel.kip.syntax_errors import expect, fail, too_deep, unexpected
from mycel.model.limits import HOP_BOUND_MAX, NESTING_DEPTH_MAX
from mycel.model.names import shorten

_KEYS = ("type", "name", "id")
_MATCHERS = '`{id: "…"}`, `{type: "…"}`, `{name: "…"}` or `{type: "…", name: "…"}`'
_EXACT_MATCHERS = '`{type: "…", name: "…"}` or `{id: "…"}`'
_PATTERN = '`(subject, "predicate", object)` or `(id: "P:…")`'
_HOPS = "Hops are {m}, {m,n} or {m,}."
_NAME_ALONE = "Here the predicate is a single name: no hops and no alternatives."
_VARIABLE_ALONE = "A predicate variable takes no hops and no alternatives."
_NO_HOPS = "Alternatives take no hops."
_CHOICE_ALONE = "Use one predicate with hops, or one UNION block for each predicate."


# Concepts.


def matcher(tokens: KipTokens, *, exact: bool = False) -> ast.ConceptMatcher:
    """`{type: …, name: …}` and the like, where the next token is the brace."""
    texts = tokens.tokens
    opened = tokens.at
    tokens.at = opened + 1
    fields: dict[str, ast.Text] = {}
    while (token := texts[tokens.at]) != "}":
        if texts[tokens.at + 1] != ":" or token not in _KEYS or token in fields:
            raise _no_matcher_key(tokens, token, opened, exact=exact)
        tokens.at += 2
        if texts[tokens.at][0] in "?[":
            suggestion = foreign_idioms.matcher_choice(tokens, opened, token)
            raise unexpected(
                tokens, f"the {token} in double quotes, or a placeholder", suggestion=suggestion
            )
        fields[token] = values.text(tokens, f"the {token}")
        key, token = token, texts[tokens.at]
        if token == ",":
            tokens.at += 1
        elif token != "}":
            suggestion = foreign_idioms.matcher_choice(tokens, opened, key)
            raise unexpected(tokens, ",", "}", suggestion=suggestion)
    tokens.at += 1
    concept_matcher = ast.ConceptMatcher(**fields, span=tokens.span(opened))
    if fields.keys() != {"type", "name"}:
        _check_matcher(tokens, concept_matcher, opened, exact=exact)
    return concept_matcher


def _check_matcher(
    tokens: KipTokens, node: ast.ConceptMatcher, opened: int, *, exact: bool
) -> None:
    has_both = node.type is not None and node.name is not None
    something = node.type is not None or node.name is not None
    if node.id is not None and something:
        problem = "An id is enough: type and name cannot be given with it."
    elif node.id is not None or has_both or (something and not exact):
        return
    elif something:
        problem = "This matcher does not identify a concept."
    else:
        problem = "The matcher is empty."
    raise fail(
        tokens,
        problem,
        f"Write {_EXACT_MATCHERS if exact else _MATCHERS}.",
        at=opened,
        length=tokens.at - opened,
    )


def _no_matcher_key(tokens: KipTokens, token: str, opened: int, *, exact: bool) -> Exception:
    forms = _EXACT_MATCHERS if exact else _MATCHERS
    if token in _KEYS:
        if tokens.tokens[tokens.at + 1] != ":":
            tokens.at += 1
            return unexpected(tokens, ":", hint=f"A matcher is {forms}.")
        return fail(tokens, f"`{token}` is given twice.", "Keep one of the two.")
    if token[0] == '"' and token[1:-1] in _KEYS:
        return fail(tokens, "Keys of a matcher have no quotes.", f"Write `{token[1:-1]}:`.")
    if token.lower() in _KEYS:
        return fail(tokens, "Keys of a matcher are lower case.", f"Write `{token.lower()}:`.")
    if token[0].isalpha() or (token[0] in '"_' and len(token) > 1):
        key = shorten(token.strip('"'))
        return fail(
            tokens,
            f"A matcher has no key `{key}`.",
            f"A matcher is {forms}. {foreign_idioms.matcher_value(tokens, opened, exact=exact)}",
        )
    return unexpected(tokens, "type", "name", "id", hint=f"A matcher is {forms}.")


# Links.


def link(tokens: KipTokens, depth: int, *, exact: bool = False) -> ast.LinkPattern | ast.LinkById:
    """`(subject, predicate, object)` or `(id: …)`, where the next token is the parenthesis."""
    if depth > NESTING_DEPTH_MAX:
        raise too_deep(tokens)
    texts = tokens.tokens
    opened = tokens.at
    tokens.at = opened + 1
    if texts[opened + 1] == "id" and texts[opened + 2] == ":":
        tokens.at = opened + 3
        identity = values.text(tokens, "the id")
        expect(tokens, ")", hint='A link is given by its id alone: `(id: "P:…")`.')
        return ast.LinkById(identity, span=tokens.span(opened))
    if suggestion := foreign_idioms.concept_in_parentheses(tokens, opened):
        raise unexpected(tokens, "a variable, `{` or `(` as the subject", suggestion=suggestion)
    if texts[opened + 2] in {")", ":"} and (suggestion := foreign_idioms.arrow(tokens, opened)):
        tokens.at += texts[opened + 1][0] == "?"
        raise unexpected(tokens, 'a link such as `(?a, "p", ?b)`', suggestion=suggestion)
    subject = endpoint(tokens, depth, "subject", exact=exact)
    _comma(tokens, "subject")
    predicate = values.text(tokens, "a predicate") if exact else _predicate(tokens)
    _comma(tokens, "predicate", exact=exact)
    target = endpoint(tokens, depth, "object", exact=exact)
    expect(tokens, ")", hint=f"A link pattern is {_PATTERN}.")
    return ast.LinkPattern(subject, predicate, target, span=tokens.span(opened))


def _comma(tokens: KipTokens, after: str, *, exact: bool = True) -> None:
    if tokens.tokens[tokens.at] != ",":
        raise unexpected(
            tokens,
            f"`,` after the {after}",
            hint=_comma_hint(tokens, after),
            suggestion=None if after == "subject" else _hops_meant(tokens, exact=exact),
        )
    tokens.at += 1


def _hops_meant(tokens: KipTokens, *, exact: bool) -> str | None:
    if tokens.tokens[tokens.at] not in {"+", "*", "?", "/"}:
        return None
    if exact:
        return _NAME_ALONE
    if tokens.tokens[tokens.at - 1][0] == "?":
        return _VARIABLE_ALONE
    return _CHOICE_ALONE if tokens.tokens[tokens.at - 2] == "|" else foreign_idioms.hops(tokens)


def _comma_hint(tokens: KipTokens, after: str) -> str | None:
    token = tokens.tokens[tokens.at]
    if after == "subject" and token == "{":
        return (
            "An endpoint is a variable or a matcher, not both: write `?x {…}` as a clause of its "
            "own and `?x` here."
        )
    if after == "predicate" and token in {"{", "|"}:
        return _VARIABLE_ALONE if tokens.tokens[tokens.at - 1][0] == "?" else _NAME_ALONE
    return f"A link pattern is {_PATTERN}." if token == ")" else None


def endpoint(tokens: KipTokens, depth: int, role: str, *, exact: bool = False) -> ast.Endpoint:
    """A variable, a matcher or a nested pattern."""
    token = tokens.tokens[tokens.at]
    first = token[0]
    if first == "?":
        return values.variable(tokens)
    if first == "{":
        return matcher(tokens, exact=exact)
    if first == "(":
        return link(tokens, depth + 1, exact=exact)
    if first == '"' or token == ":":
        hint = (
            f'A concept as {role} is written {{type: "…", name: "…"}}; a placeholder may stand '
            "for the type, the name or the id."
        )
    else:
        hint = None
    raise unexpected(tokens, f"a variable, `{{` or `(` as the {role}", hint=hint)


def _predicate(tokens: KipTokens) -> ast.Predicate:
    """A name, a name with hops, alternatives, or a variable."""
    texts = tokens.tokens
    first = tokens.at
    token = texts[first]
    if token[0] == "?":
        return values.variable(tokens)
    if token[0] != '"' and token != ":":
        raise unexpected(
            tokens,
            "a predicate in double quotes, a placeholder or a variable",
            hint=_predicate_hint(token),
        )
    name = values.text(tokens, "a predicate")
    token = texts[tokens.at]
    if token == "{":
        minimum, maximum = _hops(tokens)
        if texts[tokens.at] == "|":
            raise fail(tokens, _NO_HOPS, foreign_idioms.hops_and_alternatives(tokens, first))
        return ast.PredicateHops(name, minimum, maximum, span=tokens.span(first))
    if token != "|":
        return name
    names = [name]
    while texts[tokens.at] == "|":
        tokens.at += 1
        names.append(values.text(tokens, "a predicate"))
    if texts[tokens.at] == "{":
        raise fail(tokens, _NO_HOPS, foreign_idioms.hops_and_alternatives(tokens, first))
    return ast.PredicateChoice(tuple(names), span=tokens.span(first))


def _predicate_hint(token: str) -> str | None:
    if token == "^":
        return "Write the pattern the other way round: (object, predicate, subject)."
    if token in {"(", "["}:
        return 'Alternatives have no brackets and no hops: (?a, "p" | "q", ?b).'
    return None


def _hops(tokens: KipTokens) -> tuple[int, int | None]:
    """`{m}`, `{m,n}` or `{m,}`, where the next token is the brace."""
    texts = tokens.tokens
    opened = tokens.at
    tokens.at += 1
    minimum = _bound(tokens, opened)
    maximum: int | None = minimum
    if texts[tokens.at] == ",":
        tokens.at += 1
        maximum = None if texts[tokens.at] == "}" else _bound(tokens, opened)
    if texts[tokens.at] != "}":
        suggestion = foreign_idioms.hop_range(tokens, opened)
        raise unexpected(tokens, ",", "}", hint=_HOPS, suggestion=suggestion)
    tokens.at += 1
    if maximum is not None and minimum > maximum:
        raise fail(
            tokens,
            f"The hops run from {minimum} to {maximum}, but the first must not be larger.",
            f"Write {{{maximum},{minimum}}}.",
            at=opened,
            length=tokens.at - opened,
        )
    return minimum, maximum


def _bound(tokens: KipTokens, opened: int) -> int:
    token = tokens.tokens[tokens.at]
    if not (token.isascii() and token.isdigit()):
        suggestion = foreign_idioms.hop_range(tokens, opened)
        raise unexpected(tokens, "a number of hops", hint=_HOPS, suggestion=suggestion)
    value = values.number_at(tokens, tokens.at)
    if not isinstance(value, int) or value > HOP_BOUND_MAX:
        raise fail(
            tokens,
            f"A hop bound is at most {HOP_BOUND_MAX}.",
            "Leave the upper bound out for any number of hops: {1,}.",
        )
    tokens.at += 1
    return value
