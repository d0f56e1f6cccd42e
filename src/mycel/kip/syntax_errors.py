"""Errors for a token that the parser did not expect, with the text to write instead.

The parser says what it expected. These functions examine the token: a misspelt keyword, a word of
another language, a missing comma, an open bracket. Each returns the error, for the parser to raise.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import TypeVar

from mycel.errors import InvalidSyntax, MycelError, ResourceExhausted
from mycel.kip.foreign_idioms import subscript
from mycel.kip.keywords import CHARACTERS, FUNCTIONS, KEYWORDS, WORDS
from mycel.kip.lexer import KipTokens
from mycel.model.limits import NESTING_DEPTH_MAX
from mycel.model.names import shorten
from mycel.syntax.strings import broken_string, is_broken
from mycel.syntax.token_errors import (
    CLOSING,
    about_end,
    about_invisible,
    close_it,
    describe_token,
    error_at,
    open_brackets,
)
from mycel.syntax.tokens import END

T = TypeVar("T")

_OUTSIDE = frozenset(
    ("WHERE", "ORDER", "LIMIT", "CURSOR", "FILTER", "NOT", "OPTIONAL", "UNION", "SET", "WITH")
)
"""Keywords that are never inside parentheses or values."""
_COMPARED_CHARACTERS_MAX = 40
"""The number of characters of a word that are compared with keywords.

No keyword is half as long.
"""


def fail(
    tokens: KipTokens,
    message: str,
    hint: str | None = None,
    *,
    error: type[MycelError] = InvalidSyntax,
    at: int | None = None,
    length: int = 1,
) -> MycelError:
    """An error at the next token, or at `length` tokens from `at` on."""
    return error_at(error, tokens, message, hint, at, length)


def too_deep(tokens: KipTokens) -> MycelError:
    """The error for a next token that opens one level too many."""
    return fail(
        tokens,
        f"This nests deeper than {NESTING_DEPTH_MAX} levels.",
        "Flatten it, split the command, or pass deep values as parameters.",
        error=ResourceExhausted,
    )


# Errors for an unexpected token.


def expect(tokens: KipTokens, token: str, *also: str, hint: str | None = None) -> None:
    """Read a token, or raise an error; `also` are other tokens that would be valid here."""
    if tokens.tokens[tokens.at] != token:
        raise unexpected(tokens, token, *also, hint=hint)
    tokens.at += 1


def separated(tokens: KipTokens, sign: str, read: Callable[[KipTokens], T]) -> tuple[T, ...]:
    """One or more items with a sign between them."""
    items = [read(tokens)]
    while tokens.tokens[tokens.at] == sign:
        tokens.at += 1
        items.append(read(tokens))
    return tuple(items)


def unexpected(
    tokens: KipTokens, *expected: str, hint: str | None = None, suggestion: str | None = None
) -> MycelError:
    """The error for a next token that is not one of the expected.

    `expected` are keywords and signs, which may be misspelt, and phrases (with a space in them).
    `hint` is used unless the token itself suggests a better hint. `suggestion`, which the parser
    passes if it has recognised the intention, comes before both, except at a broken string.
    """
    token = tokens.tokens[tokens.at]
    if token[0] == '"' and is_broken(token):
        return broken_string(InvalidSyntax, tokens, tokens.at)
    advice = (
        suggestion
        or subscript(tokens)
        or _about_character(tokens, token)
        or about_end(tokens, token)
        or _about_unclosed(tokens, token, expected)
        or _about_date(tokens, token)
        or _about_spelling(token, expected)
        or hint
        or _about_word(tokens, token, expected)
        or _about_missing(tokens, token, expected)
    )
    return fail(
        tokens,
        f"Expected {list_expected(expected)}, found {describe_token(token, 'command')}.",
        advice,
    )


def list_expected(expected: tuple[str, ...]) -> str:
    """The expected tokens, for a message."""
    names = [expectation if " " in expectation else f"`{expectation}`" for expectation in expected]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _about_character(tokens: KipTokens, token: str) -> str | None:
    """A hint about a sign that has no meaning in KIP."""
    start = tokens.starts[tokens.at]
    if tokens.text.startswith("```", start):
        return "Remove the Markdown fence, and send the command alone."
    following = tokens.text[start : start + 2]
    if following in {"/*", "--"} or token == "#":
        return "Comments start with // and end with the line."
    if following in {"->", "-[", "<-"}:
        return 'A link is written (?a, "predicate", ?b).'
    if token in CHARACTERS:
        return CHARACTERS[token]
    return about_invisible(token)


def _about_unclosed(tokens: KipTokens, token: str, expected: tuple[str, ...]) -> str | None:
    """A hint about a bracket that is open before a keyword that cannot be inside it."""
    after = tokens.tokens[tokens.at + 1]
    open_at = open_brackets(tokens)
    if not open_at or CLOSING[tokens.tokens[open_at[-1]]] not in expected:
        return None
    is_find = open_at[0] == 1 and tokens.tokens[0] == "FIND"
    if token == "{" and is_find:
        token = "WHERE"  # WHERE was forgotten together with the parenthesis.
    elif token not in _OUTSIDE or after == ":":
        return None
    if not is_find:
        return f"{close_it(tokens, open_at[-1])} before {token}."
    written = tokens.text[tokens.starts[1] : tokens.ends[tokens.at - 1]]
    closed = f"FIND{written}{')' * len(open_at)}" if len(written) <= 60 else "FIND(…)"
    return f"{close_it(tokens, open_at[-1])}: write {closed} {token} …"


def _about_date(tokens: KipTokens, token: str) -> str | None:
    """A hint about the rest of a date or a time that began like a number."""
    before = tokens.at - 1
    if (
        before >= 0
        and token[0] in ":-"
        and tokens.tokens[before][0].isdigit()
        and tokens.ends[before] == tokens.starts[tokens.at]
    ):
        return 'Dates and times are texts in double quotes: "2026-01-31T10:30:00Z".'
    return None


def _about_spelling(token: str, expected: tuple[str, ...]) -> str | None:
    """A hint about an expected keyword in another case or misspelt."""
    if not (token[0].isalpha() or token[0] == "_"):
        return None
    keywords = [word for word in expected if word.isidentifier()]
    if token in KEYWORDS:
        return None
    if token.upper() in keywords:
        return f"Keywords are upper case: write {token.upper()}."
    close = get_close_matches(token[:_COMPARED_CHARACTERS_MAX].upper(), keywords, n=1, cutoff=0.7)
    return f"Did you mean {close[0]}?" if close else None


def _about_word(tokens: KipTokens, token: str, expected: tuple[str, ...]) -> str | None:
    """A hint about a word that is valid elsewhere, in KIP or in another language."""
    if not (token[0].isalpha() or token[0] == "_"):
        return None
    if token.upper() in WORDS:
        return WORDS[token.upper()]
    is_called = tokens.tokens[tokens.at + 1] == "("
    if is_called and token.upper() in FUNCTIONS:
        return FUNCTIONS[token.upper()]
    if not is_called and any(
        "double quotes" in expectation or "JSON value" in expectation for expectation in expected
    ):
        return f'Put text into double quotes: "{shorten(token, 40)}".'
    if token in KEYWORDS:
        return None
    if token.upper() in KEYWORDS:
        return f"Keywords are upper case: write {token.upper()}."
    close = get_close_matches(
        token[:_COMPARED_CHARACTERS_MAX].upper(), sorted(KEYWORDS), n=1, cutoff=0.75
    )
    if close:
        return f"Did you mean {close[0]}?"
    return f"KIP has no function {shorten(token, 40)}." if is_called else None


def _about_missing(tokens: KipTokens, token: str, expected: tuple[str, ...]) -> str | None:
    """A hint about a sign that was left out before a token that would be valid after the sign."""
    if token == END or token in CLOSING.values():
        return None
    for sign, sign_name in (",", "comma"), (":", "colon"), ("(", "parenthesis"), ("{", "brace"):
        if sign in expected or f"`{sign}`" in expected[0]:
            return (
                f"A {sign_name} is missing: put `{sign}` before {describe_token(token, 'command')}."
            )
    if ")" in expected or "}" in expected:
        sign = ")" if ")" in expected else "}"
        return (
            f"If a bracket should end here, put `{sign}` before {describe_token(token, 'command')}."
        )
    return None


def misplaced(tokens: KipTokens, hint: str) -> str | None:
    """A hint if the next token is a keyword in the wrong place."""
    return hint if tokens.tokens[tokens.at] in KEYWORDS else None
