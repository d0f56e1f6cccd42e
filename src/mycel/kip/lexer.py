r"""A command's text as tokens.

One regular expression splits the whole text at once: three parallel lists hold what each token says
and where it starts and ends. There are no token objects and no token kinds: a token's first
character says what it is, and punctuation and keywords are compared as they are. That is what makes
parsing a capsule of megabytes a matter of a second.

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
from collections.abc import Callable
from itertools import accumulate
from typing import Final

from mycel.errors import InvalidSyntax, ResourceExhausted
from mycel.syntax.diagnostics import locate
from mycel.syntax.source import Span

new_span: Callable[[type[Span], tuple[int, int]], Span] = tuple.__new__
"""`Span` itself goes through Python code; nodes have so many spans that it counts."""

END: Final = "\n"
"""The token after the last one. White space is never a token, so nothing else can equal it."""

# White space and comments before a token, then the token. Possessive quantifiers (`*+`): a comment
# must not be given back to be read as tokens. Words and numbers take more than the rules allow, so
# that `foo-bar` or `9x` is one wrong name and not a puzzle of right ones. A string that is not
# closed goes as far as it could; giving it back would make a text of quotes take quadratic time.
_TOKEN = re.compile(
    r"""
    ([ \t\r\n]*+(?://[^\n]*+[ \t\r\n]*+)*+)
    (
      [{}()\[\],:]
    | "[^"\\\x00-\x1f]*+"
    | [?A-Za-z_][\w.$-]*+
    | [-+]?\.?[0-9](?:[eE][-+]|[\w.$])*+
    | && | \|\| | [=!<>]=?
    | "[^"\\\x00-\x1f]*+(?:\\[^\x00-\x1f][^"\\\x00-\x1f]*+)*+"?
    | [^\W\d][\w.$-]*+
    | [^ \t\r\n]
    | \Z
    )
    """,
    re.VERBOSE,
)


class Tokens:
    """The tokens of a text, and the place of the next one to read."""

    __slots__ = ("at", "ends", "names", "starts", "text", "tokens")

    def __init__(self, text: str) -> None:
        # An empty piece, what is skipped, and the token, over and over.
        pieces = _TOKEN.split(text)
        offsets = list(accumulate(map(len, pieces)))
        self.text = text
        self.tokens: list[str] = pieces[2::3]
        self.starts: list[int] = offsets[1::3]
        self.ends: list[int] = offsets[2::3]
        # The end matches as an empty token: once, or twice when white space stands before it.
        # There are as many ends as a parser that looks two tokens ahead may come across, and they
        # stand right after the last token, where something that is missing belongs.
        count = len(self.tokens) - 1
        if count and not self.tokens[count - 1]:
            count -= 1
        last = self.ends[count - 1] if count else 0
        self.tokens[count:] = (END,) * 3
        self.starts[count:] = self.ends[count:] = (last,) * 3
        self.at = 0
        self.names: dict[str, tuple[str, tuple[str, ...]]] = {}

    def span(self, first: int) -> Span:
        """From a token to the one before the next to read."""
        return new_span(Span, (self.starts[first], self.ends[self.at - 1]))


def read(text: object, bytes_max: int) -> Tokens:
    """The tokens of a command.

    Raises:
        InvalidSyntax: it is no text, or holds a lone surrogate.
        ResourceExhausted: it is longer than `bytes_max`.
    """
    if not isinstance(text, str):
        raise InvalidSyntax(
            f"A command is text, not {type(text).__name__}.", hint="Send the command as a string."
        )
    size = len(text)
    if size <= bytes_max and not text.isascii():
        try:
            size = len(text.encode())
        except UnicodeEncodeError as problem:
            raise locate(
                InvalidSyntax,
                "This is half of a surrogate pair, and no character.",
                text,
                Span(problem.start, problem.start + 1),
                "Send the text as valid Unicode; write characters beyond U+FFFF as themselves.",
            ) from None
    if size > bytes_max:
        raise ResourceExhausted(
            f"The command is longer than {bytes_max} bytes of UTF-8.",
            hint="Split it into several commands, or pass long values as parameters.",
        )
    return Tokens(text)
