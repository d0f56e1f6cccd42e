"""FIND (KIP §3)."""

from __future__ import annotations

from mycel.kip import ast, foreign_idioms, values
from mycel.kip.keywords import WORDS
from mycel.kip.lexer import KipTokens
from mycel.kip.syntax_errors import expect, fail, separated, unexpected
from mycel.kip.where import cursor, limit, where
from mycel.model.aggregates import AGGREGATES
from mycel.model.names import is_identifier, shorten


def find(tokens: KipTokens) -> ast.Find:
    """`FIND(…) [AS OF …] [FOR TIME …] [INCLUDE ARCHIVED] WHERE { … } [ORDER BY …] [LIMIT …] …`."""
    texts = tokens.tokens
    first = tokens.at
    tokens.at = first + 1
    expressions = _expressions(tokens)
    moment, time, archived = None, None, False
    while True:  # The clauses come in any order, each at most once.
        match texts[tokens.at]:
            case "AS" if moment is None:
                moment = as_of(tokens)
            case "FOR" if time is None:
                time = for_time(tokens)
            case "INCLUDE" if not archived:
                archived = include_archived(tokens)
            case _:
                break
    options = {"AS OF": moment, "FOR TIME": time, "INCLUDE ARCHIVED": archived or None}
    clauses = where(tokens, *(f"`{word}`" for word, clause in options.items() if clause is None))
    order_by = _order_by(tokens) if texts[tokens.at] == "ORDER" else ()
    rows = limit(tokens)
    page = cursor(tokens)
    return ast.Find(
        expressions=expressions,
        where=clauses,
        order_by=order_by,
        limit=rows,
        cursor=page,
        as_of=moment,
        for_time=time,
        include_archived=archived,
        span=tokens.span(first),
    )


def _expressions(tokens: KipTokens) -> tuple[ast.Expression, ...]:
    texts = tokens.tokens
    if texts[tokens.at] != "(":
        form = "Put what to find into parentheses: FIND(?x, ?y.name)."
        if texts[tokens.at] == "DISTINCT":
            form = f"Put what to find into parentheses. {foreign_idioms.distinct(tokens)}"
        raise unexpected(tokens, "(", hint=form)
    tokens.at += 1
    if texts[tokens.at] == ")":
        raise fail(tokens, "FIND has no expressions.", "Name at least one variable: FIND(?x).")
    expressions = separated(tokens, ",", expression)
    if texts[tokens.at] != ")":
        raise unexpected(tokens, ",", ")")
    tokens.at += 1
    return expressions


def expression(tokens: KipTokens) -> ast.Expression:
    """A path, or an aggregate over one."""
    texts = tokens.tokens
    first = tokens.at
    token = texts[first]
    if token[0] == "?":
        return values.path(tokens)
    if token == "BELIEF":
        return values.belief(tokens)
    if token not in AGGREGATES:
        raise unexpected(
            tokens,
            "a variable or path such as `?x.name`",
            *sorted(AGGREGATES),
            suggestion=_bare_word(tokens),
            hint=_expression_hint(tokens),
        )
    tokens.at = first + 1
    expect(tokens, "(", hint=f"An aggregate is {token}(?x) or {token}(DISTINCT ?x).")
    distinct = texts[tokens.at] == "DISTINCT"
    if distinct:
        tokens.at += 1
    if texts[tokens.at][0] != "?":
        raise unexpected(
            tokens,
            "a variable or path such as `?x.name`",
            *(() if distinct else ("DISTINCT",)),
            hint="Name what to count: COUNT(?x)." if texts[tokens.at] == "*" else None,
        )
    argument = values.path(tokens)
    expect(tokens, ")", hint=f"{token} takes one variable or path.")
    return ast.Aggregate(token, argument, distinct, span=tokens.span(first))


def _bare_word(tokens: KipTokens) -> str | None:
    """A hint about a word in the place of an expression, such as a column or an alias."""
    token, following = tokens.tokens[tokens.at : tokens.at + 2]
    if not is_identifier(token) or token.upper() in {*WORDS, "ASC", "DESC"} or following == "(":
        return None
    word = shorten(token)
    if "WHERE" not in tokens.tokens[: tokens.at]:
        return f"A variable is written ?{word}, and its name ?{word}.name."
    totals = [at for at, earlier in enumerate(tokens.tokens[: tokens.at]) if earlier in AGGREGATES]
    again = foreign_idioms.path_from(tokens, 0)
    if totals and token.upper() in {*AGGREGATES, "N", "C", "CNT", "TOTAL", "NUM"}:
        again = f"{tokens.tokens[totals[0]]}({foreign_idioms.path_from(tokens, totals[0])})"
    return f"ORDER BY takes no names of columns, but an expression of FIND: ORDER BY {again}."


def _expression_hint(tokens: KipTokens) -> str | None:
    word = tokens.tokens[tokens.at].upper()
    if word == "DISTINCT":
        return foreign_idioms.distinct(tokens)
    if word in {"ASC", "DESC"}:
        name = foreign_idioms.path_from(tokens, tokens.at)
        return f"The direction comes last: ORDER BY {name} {word}."
    return None


def as_of(tokens: KipTokens) -> ast.Literal | ast.Placeholder | None:
    """`AS OF …`, if it is there."""
    texts = tokens.tokens
    if texts[tokens.at] != "AS":
        return None
    tokens.at += 1
    expect(tokens, "OF", hint="FIND has no aliases; AS OF asks for a past state.")
    return moment(tokens, "AS OF")


def for_time(tokens: KipTokens) -> ast.Text | None:
    """`FOR TIME "…"`, if it is there."""
    if tokens.tokens[tokens.at] != "FOR":
        return None
    tokens.at += 1
    expect(
        tokens,
        "TIME",
        hint='FOR TIME "2026-01-31" leaves out elements that do not hold at that time.',
    )
    return values.text(tokens, "a time")


def include_archived(tokens: KipTokens) -> bool:
    """`INCLUDE ARCHIVED`, if it is there."""
    if tokens.tokens[tokens.at] != "INCLUDE":
        return False
    tokens.at += 1
    expect(tokens, "ARCHIVED", hint="INCLUDE ARCHIVED finds archived elements too.")
    return True


def moment(tokens: KipTokens, word: str) -> ast.Literal | ast.Placeholder:
    """A moment after a word: a time, a commit or a tag as text, or a position in the journal."""
    text = tokens.tokens[tokens.at]
    if text[0] == '"':
        return values.text(tokens, "a time")
    if text != ":" and not values.is_number(text):
        raise unexpected(
            tokens,
            f"a time in double quotes, an integer from 0 up or a placeholder after {word}",
            hint=f'A past state is chosen by a time, {word} "2026-01-31T10:30:00Z", or by a'
            f" position in the journal, {word} 12.",
        )
    return values.integer(tokens, word, 0)


def _order_by(tokens: KipTokens) -> tuple[ast.OrderKey, ...]:
    tokens.at += 1
    expect(tokens, "BY", hint="Sort with ORDER BY ?x.name, ?y.name DESC.")
    return separated(tokens, ",", _order_key)


def _order_key(tokens: KipTokens) -> ast.OrderKey:
    first = tokens.at
    sorted_by = expression(tokens)
    direction = tokens.tokens[tokens.at]
    if direction in {"ASC", "DESC"}:
        tokens.at += 1
    return ast.OrderKey(sorted_by, direction == "DESC", span=tokens.span(first))
