"""Strings in the syntax of JSON: their values, and the place of an error in them."""

from __future__ import annotations

import json
import re
from typing import Final

from mycel.syntax.diagnostics import Error, locate
from mycel.syntax.repetition import repeated
from mycel.syntax.source import Span
from mycel.syntax.tokens import Tokens

_PAIRS: Final = repeated(r'\\.[^"\\]*+')
_WHOLE: Final = re.compile(rf'"[^"\\]*+{_PAIRS}"')
_ESCAPE: Final = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}|(u[0-9a-fA-F]*|.?))')
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def is_broken(token: str) -> bool:
    """True for a token that starts like a string and is not closed."""
    return len(token) == 1 or token[-1] != '"' or _WHOLE.fullmatch(token) is None


def string_value(error: type[Error], tokens: Tokens, at: int) -> str:
    """The value of the string token at a place; raises `error` if it is no valid string."""
    token = tokens.tokens[at]
    if "\\" not in token and token[-1] == '"' and len(token) > 1:
        return token[1:-1]
    if is_broken(token):
        raise broken_string(error, tokens, at)
    try:
        value: str = json.loads(token)
    except ValueError:
        raise broken_string(error, tokens, at) from None
    if _SURROGATE.search(value):
        raise locate(
            error,
            "The string holds half of a surrogate pair.",
            tokens.text,
            tokens.span_at(at),
            "Write both halves (\\ud83d\\ude00), or the character itself.",
        )
    return value


def broken_string(error: type[Error], tokens: Tokens, at: int) -> Error:
    """The error for a string token that is no JSON string, at the character that is wrong."""
    start, stop, token = tokens.starts[at], tokens.ends[at], tokens.tokens[at]
    if not is_broken(token):
        return _bad_escape(error, tokens, start, token)
    if stop >= len(tokens.text) or tokens.text[stop] in "\r\n\\":
        return locate(
            error,
            "The string is not closed on its line.",
            tokens.text,
            Span(start, stop),
            'Close it with ". A line feed inside a string is written \\n, a quote \\" and a '
            "backslash \\\\.",
        )
    character = tokens.text[stop]
    escape = "\\t" if character == "\t" else f"\\u{ord(character):04x}"
    return locate(
        error,
        f"A control character (U+{ord(character):04X}) is inside the string.",
        tokens.text,
        Span(stop, stop + 1),
        f"Write it as {escape}.",
    )


def _bad_escape(error: type[Error], tokens: Tokens, start: int, token: str) -> Error:
    wrong = next(match for match in _ESCAPE.finditer(token) if match.group(1) is not None)
    return locate(
        error,
        f"`{wrong.group()}` is not an escape of JSON.",
        tokens.text,
        Span(start + wrong.start(), start + wrong.end()),
        'The escapes are \\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u with four hexadecimal digits; a '
        "backslash itself, as in patterns, is written \\\\.",
    )
