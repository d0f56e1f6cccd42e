"""Errors at tokens, and advice that does not depend on the language."""

from __future__ import annotations

from typing import Final
from unicodedata import category
from unicodedata import name as character_name

from mycel.model.names import shorten
from mycel.syntax.diagnostics import Error, locate
from mycel.syntax.source import Source, Span
from mycel.syntax.tokens import END, Tokens

CLOSING: Final = {"(": ")", "[": "]", "{": "}"}


def error_at(
    error: type[Error],
    tokens: Tokens,
    message: str,
    hint: str | None,
    at: int | None,
    length: int,
) -> Error:
    """An error at the next token, or at `length` tokens from `at` on."""
    first = tokens.at if at is None else at
    start, end = tokens.starts[first], tokens.ends[first + length - 1]
    # The caret has a place even at the end of the text.
    return locate(error, message, tokens.text, Span(start, max(end, start + 1)), hint)


def describe_token(token: str, text: str) -> str:
    """A token in a message about a `text`: a command, a schema."""
    if token == END:
        return f"the end of the {text}"
    return shorten(token, 40) if token[0] == '"' else f"`{shorten(token, 40)}`"


def open_brackets(tokens: Tokens) -> list[int]:
    """The places of the brackets that are open before the next token, outermost first."""
    open_at: list[int] = []
    for at, token in enumerate(tokens.tokens[: tokens.at]):
        if token in CLOSING:
            open_at.append(at)
        elif token in CLOSING.values() and open_at:
            open_at.pop()
    return open_at


def close_it(tokens: Tokens, opened: int) -> str:
    """Advice to close the bracket at a place, without a period."""
    bracket = tokens.tokens[opened]
    line, column = Source(tokens.text).position(tokens.starts[opened])
    return f"Close the `{bracket}` of line {line}, column {column} with `{CLOSING[bracket]}`"


def about_end(tokens: Tokens, token: str) -> str | None:
    """Advice about a bracket that is open at the end of the text, or where another one closes."""
    if token != END and token not in CLOSING.values():
        return None
    open_at = open_brackets(tokens)
    if not open_at:
        return "There is no bracket left to close; remove it." if token != END else None
    is_its_own = token == CLOSING[tokens.tokens[open_at[-1]]]
    return None if is_its_own else f"{close_it(tokens, open_at[-1])} first."


def about_invisible(token: str) -> str | None:
    """Advice about a character that looks like white space, or is invisible."""
    if len(token) == 1 and not token.isascii() and category(token)[0] in "CZ":
        label = character_name(token, "no character")
        return f"U+{ord(token):04X} ({label}) is no white space here; remove it."
    return None
