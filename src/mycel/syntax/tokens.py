"""Splits a text into tokens, for parsers that read them in order.

One regular expression splits the whole text: a list holds the tokens, and two arrays their starts
and ends. There are no token objects, which keeps parsing megabytes to about a second, and arrays of
offsets take a fifth of the memory of lists.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from itertools import accumulate
from typing import Final, NamedTuple

from mycel.errors import MycelError, ResourceExhausted
from mycel.syntax.diagnostics import locate
from mycel.syntax.source import END_BITS, Span

new_span: Callable[[type[Span], int], Span] = int.__new__
"""Makes a `Span` from its number without the Python constructor, which is slow for large trees."""

END: Final = "\n"
"""The token after the last one. White space is never a token, so nothing else can equal it."""


SHARED_CHARACTERS_MIN: Final = 1 << 18
"""The length from which equal tokens share one text; in shorter texts, sharing saves nothing."""
SHARED_LENGTH_MAX: Final = 16
CUT_TOKENS: Final = 16
"""The number of tokens at the end of a window that may be cut off, or lack the tokens after them.
"""


class Tokens:
    """The tokens of a text, and the place of the next one to read."""

    __slots__ = (
        "_ahead",
        "_before",
        "_pattern",
        "_window",
        "at",
        "end",
        "ends",
        "starts",
        "text",
        "tokens",
    )

    def __init__(
        self,
        text: str,
        pattern: re.Pattern[str],
        ahead: int,
        window: int | None = None,
        start: int = 0,
    ) -> None:
        """Split a text; the parser looks at most `ahead` tokens beyond the next one.

        The pattern has two groups, the skipped text and the token, and matches the end as an empty
        token. With a `window`, this many characters are split at a time: the parser has to `refill`
        the tokens between two parts of the text. The text is read from `start` on.
        """
        self.text = text
        self.tokens: list[str] = []
        self._pattern = pattern
        self._ahead = ahead
        self._window = len(text) if window is None else window
        self._before = start
        self._split(start, self._window)

    @property
    def is_cut(self) -> bool:
        """True if some of the next tokens are missing, or may be cut off."""
        return self.end < len(self.text) and self.at > len(self.tokens) - CUT_TOKENS

    def refill(self, at: int) -> None:
        """Split the text again from a token on, and drop those before it."""
        start = self.starts[at]
        if at:
            self._before = self.ends[at - 1]
        size = self._window
        if start + size <= self.end:
            size = self._larger(start, self.end - start)
        self._split(start, size)

    def _larger(self, start: int, size: int) -> int:
        """The number of characters to split for a part that is longer than `size`."""
        return 2 * size

    def _split(self, start: int, size: int) -> None:
        text = self.text
        self.end = min(start + size, len(text))
        is_whole = self.end - start == len(text)
        # `split` returns an empty piece, the skipped text and the token, repeatedly.
        pieces = self._pattern.split(text if is_whole else text[start : self.end])
        del pieces[::3]
        offsets = array("I", accumulate(map(len, pieces), initial=start))
        del offsets[0]
        self.tokens[:] = pieces[1::2]
        del pieces
        if is_whole and len(text) >= SHARED_CHARACTERS_MIN:
            # Words and marks repeat often, so equal tokens share one text.
            shared: dict[str, str] = {}
            share = shared.setdefault
            self.tokens[:] = [
                token if len(token) > SHARED_LENGTH_MAX else share(token, token)
                for token in self.tokens
            ]
        self.starts = offsets[0::2]
        self.ends = offsets[1::2]
        # The pattern matches at the end once, or twice after white space. The last token is
        # followed by as many end tokens as the parser looks ahead; errors about anything missing
        # point at the first of them.
        count = len(self.tokens) - 1
        if count and not self.tokens[count - 1]:
            count -= 1
        last = self.ends[count - 1] if count else start
        self.tokens[count:] = (END,) * (self._ahead + 1)
        self.starts[count:] = self.ends[count:] = array("I", (last,) * (self._ahead + 1))
        self.at = 0

    def span(self, first: int) -> Span:
        """The span from a token to the last token that was read."""
        return new_span(Span, self.starts[first] << END_BITS | self.ends[self.at - 1])

    def span_from(self, start: int) -> Span:
        """The span from a character to the last token that was read."""
        end = self.ends[self.at - 1] if self.at else self._before
        return new_span(Span, start << END_BITS | end)

    def span_at(self, at: int) -> Span:
        return new_span(Span, self.starts[at] << END_BITS | self.ends[at])


class TextRules(NamedTuple):
    """The name of the texts of a language, and the hints for values that are no such text."""

    what: str
    error: type[MycelError]
    if_no_text: str
    if_no_unicode: str
    if_too_long: str


def checked_text(text: object, bytes_max: int, rules: TextRules) -> str:
    """A text that may be split into tokens, of at most `bytes_max` bytes of valid UTF-8."""
    if not isinstance(text, str):
        raise rules.error(
            f"A {rules.what} is text, not {type(text).__name__}.", hint=rules.if_no_text
        )
    size = len(text)
    if size <= bytes_max and not text.isascii():
        try:
            size = len(text.encode())
        except UnicodeEncodeError as problem:
            raise locate(
                rules.error,
                "This is half of a surrogate pair, and no character.",
                text,
                Span(problem.start, problem.start + 1),
                rules.if_no_unicode,
            ) from None
    if size > bytes_max:
        raise ResourceExhausted(
            f"The {rules.what} is longer than {bytes_max} bytes of UTF-8.", hint=rules.if_too_long
        )
    return text
