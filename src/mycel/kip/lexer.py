r"""A command's text as tokens. The first character of a token says what it is.

    first character            the token is
    "                          a string, or what there is of one that is broken
    ?                          a variable or a dot path (checked where it is used)
    letter or _                a keyword, a bare key or the name of a placeholder
    digit, or a sign or dot    a number (checked where it is used)
    \n                         the end
    anything else              punctuation, or a character that has no business there

A placeholder is a colon and a word right after it. The two stay separate tokens because `{a:true}`
is a key and a value: only the parser knows where a value may stand.
"""

from __future__ import annotations

import re
from typing import Final

from mycel.errors import InvalidSyntax
from mycel.syntax import tokens
from mycel.syntax.tokens import TextRules, checked_text

_RULES: Final = TextRules(
    "command",
    InvalidSyntax,
    if_no_text="Send the command as a string.",
    if_no_unicode="Send the text as valid Unicode; write characters beyond U+FFFF as themselves.",
    if_too_long="Split it into several commands, or pass long values as parameters.",
)

# White space and comments before a token, then the token. Possessive quantifiers (`*+`): a comment
# must not be given back to be read as tokens. Words and numbers take more than the rules allow, so
# that `foo-bar` or `9x` is one wrong name and not a puzzle of right ones. A string that is not
# closed goes as far as it could; giving it back would make a text of quotes take quadratic time.
_TOKEN = re.compile(
    r"""
    ([ \t\r\n]*+(?>(?://[^\n]*+[ \t\r\n]*+)*))
    (
      [{}()\[\],:]
    | "[^"\\\x00-\x1f]*+"
    | [?A-Za-z_][\w.$-]*+
    | [-+]?\.?[0-9](?>(?:[eE][-+]|[\w.$])*)
    | && | \|\| | [=!<>]=?
    | "[^"\\\x00-\x1f]*+(?>(?:\\[^\x00-\x1f][^"\\\x00-\x1f]*+)*)"?
    | [^\W\d][\w.$-]*+
    | [^ \t\r\n]
    | \Z
    )
    """,
    re.VERBOSE,
)


class Tokens(tokens.Tokens):
    """The tokens of a command; the parser looks up to two of them ahead."""

    __slots__ = ("names",)

    def __init__(self, text: str) -> None:
        super().__init__(text, _TOKEN, 2)
        self.names: dict[str, tuple[str, tuple[str, ...]]] = {}


def read(text: object, bytes_max: int) -> Tokens:
    """The tokens of a command.

    Raises:
        InvalidSyntax: it is no text, or holds a lone surrogate.
        ResourceExhausted: it is longer than `bytes_max`.
    """
    return Tokens(checked_text(text, bytes_max, _RULES))
