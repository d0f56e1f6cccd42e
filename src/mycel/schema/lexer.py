r"""Splits the text of a schema into tokens. The first character of a token determines its kind.

    first character      the token is
    "                    a string, or the part of a broken one
    a letter, digit, _   a word: a name, a keyword, a value of an enum, or a number; also one that
    $ - + or a dot       is malformed (checked where it is used)
    ->  ..               an arrow, the dots of a range
    /*                   a comment that is not closed, up to the end
    \n                   the end
    anything else        punctuation, or an unexpected character

White space and comments are dropped, and so is a byte order mark at the start.
"""

from __future__ import annotations

import re
from typing import Final

from mycel.errors import SchemaError
from mycel.model.limits import SCHEMA_BYTES_MAX
from mycel.syntax import tokens
from mycel.syntax.repetition import repeated
from mycel.syntax.tokens import TextRules, checked_text

BYTE_ORDER_MARK: Final = "\ufeff"

_RULES: Final = TextRules(
    "schema",
    SchemaError,
    if_no_text="Pass the text of the schema.",
    if_no_unicode="Save the schema as valid UTF-8.",
    if_too_long="Declare fewer types, or shorten their annotations.",
)

# A word matches more characters than the rules allow, so that `foo.bar` is one wrong name; but a
# dot before another dot belongs to a range, and a dash before `>` to an arrow. An unclosed comment
# takes the rest of the text: repeated searches for its end would take quadratic time. A repeated
# group is atomic, `(?>(...)*)`, and not possessive: before Python 3.11.5, `(...)*+` keeps the text
# of its last try even if that failed.
_STARRED = repeated(r"[^/*][^*]*+\*++")
_SKIPPED = repeated(rf"[ \t\r\n]++|//[^\n]*+|/\*[^*]*+\*++{_STARRED}/")
_WORD = repeated(r"[\w$]++|-(?!>)|\+(?=[0-9.])|\.(?=\w)", once=True)
_ESCAPES = repeated(r'\\[^\x00-\x1f][^"\\\x00-\x1f]*+')
_TOKEN = re.compile(
    rf"""
    ({_SKIPPED})
    (
      [{{}}()\[\],:?@*]
    | "[^"\\\x00-\x1f]*+"
    | {_WORD}
    | \.\. | ->
    | "[^"\\\x00-\x1f]*+{_ESCAPES}"?
    | /\*(?s:.)*+
    | [^ \t\r\n]
    | \Z
    )
    """,
    re.VERBOSE,
)


class SchemaTokens(tokens.Tokens):
    """The tokens of a schema; the parser looks up to three of them ahead."""

    __slots__ = ()

    def __init__(self, text: str) -> None:
        super().__init__(text, _TOKEN, 3)

    @property
    def next(self) -> str:
        """The next token to read."""
        return self.tokens[self.at]


def read(text: object) -> SchemaTokens:
    """The tokens of a schema; raises an error if the schema is no string, or too long."""
    return SchemaTokens(checked_text(text, SCHEMA_BYTES_MAX, _RULES).removeprefix(BYTE_ORDER_MARK))
