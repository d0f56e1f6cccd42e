r"""A schema's text as tokens.

One regular expression splits the whole text: three parallel lists hold what each token says and
where it starts and ends. A token's first character says what it is.

    first character      the token is
    "                    a string, or what there is of one that is broken
    a letter, digit, _   a word: a name, a keyword, a value of an enum, or a number; also one that
    $ - + or a dot       wants to be that and is wrong (checked where it is used)
    ->  ..               an arrow, the dots of a range
    /*                   a comment that is not closed, up to the end
    \n                   the end
    anything else        punctuation, or a character that has no business there

White space and comments are dropped. A byte order mark at the start is as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate
from typing import Final

from mycel.errors import ResourceExhausted, SchemaError
from mycel.model.limits import SCHEMA_BYTES_MAX
from mycel.syntax.diagnostics import locate
from mycel.syntax.source import Span

new_span: Callable[[type[Span], tuple[int, int]], Span] = tuple.__new__
"""`Span` itself goes through Python code; trees have so many spans that it counts."""

END: Final = "\n"
"""The token after the last one. White space is never a token, so nothing else can equal it."""
BYTE_ORDER_MARK: Final = "\ufeff"

# A word takes more than the rules allow, so that `foo.bar` is one wrong name; but a dot before
# another dot belongs to a range, and a dash before `>` to an arrow. A comment that is not closed
# takes the rest: looking for its end again and again would take quadratic time.
_TOKEN = re.compile(
    r"""
    ((?: [ \t\r\n]++ | //[^\n]*+ | /\*[^*]*+\*++(?:[^/*][^*]*+\*++)*+/ )*+)
    (
      [{}()\[\],:?@*]
    | "[^"\\\x00-\x1f]*+"
    | (?: [\w$]++ | -(?!>) | \+(?=[0-9.]) | \.(?=\w) )++
    | \.\. | ->
    | "[^"\\\x00-\x1f]*+(?:\\[^\x00-\x1f][^"\\\x00-\x1f]*+)*+"?
    | /\*(?s:.)*+
    | [^ \t\r\n]
    | \Z
    )
    """,
    re.VERBOSE,
)


class Tokens:
    """The tokens of a text, and the place of the next one to read."""

    __slots__ = ("at", "ends", "starts", "text", "tokens")

    def __init__(self, text: str) -> None:
        # An empty piece, what is skipped, and the token, over and over.
        pieces = _TOKEN.split(text)
        offsets = list(accumulate(map(len, pieces)))
        self.text = text
        self.tokens: list[str] = pieces[2::3]
        self.starts: list[int] = offsets[1::3]
        self.ends: list[int] = offsets[2::3]
        # The end matches as an empty token: once, or twice when white space stands before it. The
        # parser looks up to three tokens ahead. The end stands right after the last token, where
        # something that is missing belongs.
        count = len(self.tokens) - 1
        if count and not self.tokens[count - 1]:
            count -= 1
        last = self.ends[count - 1] if count else 0
        self.tokens[count:] = (END,) * 4
        self.starts[count:] = self.ends[count:] = (last,) * 4
        self.at = 0

    def span(self, first: int) -> Span:
        """From a token to the one before the next to read."""
        return new_span(Span, (self.starts[first], self.ends[self.at - 1]))

    def span_at(self, at: int) -> Span:
        """The span of one token."""
        return new_span(Span, (self.starts[at], self.ends[at]))


def read(text: object) -> Tokens:
    """The tokens of a schema.

    Raises:
        SchemaError: it is no text, or holds a lone surrogate.
        ResourceExhausted: it is too long.
    """
    if not isinstance(text, str):
        raise SchemaError(
            f"A schema is text, not {type(text).__name__}.", hint="Pass the text of the schema."
        )
    size = len(text)
    if size <= SCHEMA_BYTES_MAX and not text.isascii():
        try:
            size = len(text.encode())
        except UnicodeEncodeError as problem:
            raise locate(
                SchemaError,
                "This is half of a surrogate pair, and no character.",
                text,
                Span(problem.start, problem.start + 1),
                "Save the schema as valid UTF-8.",
            ) from None
    if size > SCHEMA_BYTES_MAX:
        raise ResourceExhausted(
            f"The schema is longer than {SCHEMA_BYTES_MAX} bytes of UTF-8.",
            hint="Declare fewer types, or say less in their annotations.",
        )
    return Tokens(text.removeprefix(BYTE_ORDER_MARK))
