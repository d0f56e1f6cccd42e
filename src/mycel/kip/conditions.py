"""The conditions of FILTER (KIP §3.4.3).

`||` binds loosest, then `&&`, then `!`. A comparison has a path or a value on either side. Each
level of binding has a function: `condition` reads disjunctions, `_conjunction` conjunctions,
`_unary` the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

from mycel.kip import ast, foreign_idioms, values
from mycel.kip.lexer import KipTokens
from mycel.kip.syntax_errors import expect, fail, too_deep, unexpected
from mycel.model.limits import NESTING_DEPTH_MAX
from mycel.model.names import shorten

OPERATORS = frozenset(get_args(ast.ComparisonOperator))
_TEXT_TESTS = frozenset({"CONTAINS", "STARTS_WITH", "ENDS_WITH", "REGEX"})

TESTS = _TEXT_TESTS | {"IN", "IS_NULL", "IS_NOT_NULL"}
"""The functions that return true or false."""


def condition(tokens: KipTokens, depth: int) -> ast.Condition:
    """A whole condition."""
    return _chain(tokens, depth, "||", _conjunction, ast.Disjunction)


def _conjunction(tokens: KipTokens, depth: int) -> ast.Condition:
    return _chain(tokens, depth, "&&", _unary, ast.Conjunction)


def _chain(
    tokens: KipTokens,
    depth: int,
    operator: str,
    part: Callable[[KipTokens, int], ast.Condition],
    node_type: type[ast.Conjunction] | type[ast.Disjunction],
) -> ast.Condition:
    """Several parts with an operator between them, or a single part alone."""
    texts = tokens.tokens
    first = tokens.at
    only_part = part(tokens, depth)
    if texts[tokens.at] != operator:
        return only_part
    parts: list[ast.Condition] = []
    _join(parts, only_part, node_type)
    while texts[tokens.at] == operator:
        tokens.at += 1
        _join(parts, part(tokens, depth), node_type)
    return node_type(tuple(parts), span=tokens.span(first))


def _join(
    parts: list[ast.Condition],
    part: ast.Condition,
    kind: type[ast.Conjunction] | type[ast.Disjunction],
) -> None:
    """Add a part. If it is in parentheses and of the same kind, add its parts instead."""
    if isinstance(part, kind):
        parts.extend(part.conditions)
    else:
        parts.append(part)


def _unary(tokens: KipTokens, depth: int) -> ast.Condition:
    if depth > NESTING_DEPTH_MAX:
        raise too_deep(tokens)
    texts = tokens.tokens
    first = tokens.at
    token = texts[first]
    if token == "!":
        tokens.at = first + 1
        # `!(…)` counts as one level, not two, so that formatting a condition never makes it deeper.
        inner = (
            _parenthesised(tokens, depth) if texts[first + 1] == "(" else _unary(tokens, depth + 1)
        )
        return ast.Negation(inner, span=tokens.span(first))
    if token == "(":
        return _parenthesised(tokens, depth)
    if texts[first + 1] == "(" and token[0].isalpha() and token != "BELIEF":
        return _test(tokens)
    return _comparison(tokens)


def _parenthesised(tokens: KipTokens, depth: int) -> ast.Condition:
    tokens.at += 1
    inner = condition(tokens, depth + 1)
    expect(tokens, ")", "&&", "||")
    return inner


def _comparison(tokens: KipTokens) -> ast.Condition:
    texts = tokens.tokens
    first = tokens.at
    left = operand(tokens)
    operator = texts[tokens.at]
    if operator not in OPERATORS:
        suggestion = foreign_idioms.comparison(tokens, first)
        raise unexpected(
            tokens, *sorted(OPERATORS), hint=_operator_hint(tokens, first), suggestion=suggestion
        )
    if operator == "<" and tokens.text.startswith("<>", tokens.starts[tokens.at]):
        raise unexpected(tokens, *sorted(OPERATORS), suggestion="Write != for not equal.")
    tokens.at += 1
    right = operand(tokens)
    if texts[tokens.at] in OPERATORS:
        raise fail(
            tokens,
            "Comparisons cannot be chained.",
            "Join two comparisons with &&, as in ?x.attributes.n > 1 && ?x.attributes.n < 5.",
        )
    return ast.Comparison(operator, left, right, span=tokens.span(first))  # type: ignore[arg-type]


def _operator_hint(tokens: KipTokens, first: int) -> str | None:
    token = tokens.tokens[tokens.at]
    operand_text = shorten(tokens.text[tokens.starts[first] : tokens.ends[tokens.at - 1]])
    if token in {")", "&&", "||"}:
        return (
            f"A value alone is no condition: write IS_NOT_NULL({operand_text}) if it must"
            f" exist, {operand_text} == true if it must be true."
        )
    if token in _TEXT_TESTS or token == "IN":
        return f"Functions come first: {token}({operand_text}, …)."
    return None


def operand(tokens: KipTokens) -> ast.Operand:
    """A path or a value."""
    token = tokens.tokens[tokens.at]
    first = token[0]
    if token == "BELIEF":
        return values.belief(tokens)
    if first == "?":
        return values.path(tokens)
    if first == '"':
        return values.text(tokens, "a value")
    return values.value(tokens)


def _test(tokens: KipTokens) -> ast.Condition:
    """A function that returns true or false; the next tokens are its name and `(`."""
    first = tokens.at
    name = tokens.tokens[first]
    if name not in TESTS:
        others = ("IN", "IS_NULL", "IS_NOT_NULL")
        suggestion = foreign_idioms.aggregate(tokens)
        raise unexpected(
            tokens, "a condition", *sorted(_TEXT_TESTS), *others, suggestion=suggestion
        )
    tokens.at = first + 2
    subject = operand(tokens)
    if name in {"IS_NULL", "IS_NOT_NULL"}:
        expect(tokens, ")", hint=f"{name} takes one argument.")
        return ast.NullTest(subject, name == "IS_NOT_NULL", span=tokens.span(first))
    hint = f"{name} takes two arguments."
    expect(tokens, ",", hint=hint)
    if name == "IN":
        choices = _choices(tokens)
        expect(tokens, ")", hint=hint)
        return ast.Membership(subject, choices, span=tokens.span(first))
    argument = operand(tokens)
    if name == "REGEX" and tokens.tokens[tokens.at] == ",":
        hint = 'REGEX takes two arguments; flags are part of the pattern: "(?i)…" ignores case.'
    expect(tokens, ")", hint=hint)
    return ast.TextTest(name, subject, argument, span=tokens.span(first))  # type: ignore[arg-type]


def _choices(tokens: KipTokens) -> ast.Value:
    """The list of IN: an array, or a placeholder."""
    if tokens.tokens[tokens.at] not in {"[", ":"}:
        raise unexpected(
            tokens, "`[` or a placeholder", hint='IN takes a list: IN(?x.name, ["a", "b"]).'
        )
    return values.value(tokens)
