"""Regular expressions that take time linear in the text, whatever the pattern (RE2).

Patterns come from untrusted callers, so everything about them is bounded: their length, the size of
the compiled program (and with it the time and memory of compiling), the memory of matching, and the
work of matching one text. Groups are not captured, because RE2 would keep the bounds of every group
for each state of the program, which is quadratic in the pattern.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from mycel.errors import InvalidSyntax, ResourceExhausted
from mycel.model.limits import PATTERN_BYTES_MAX
from mycel.model.names import shorten

PATTERNS_CACHED_MAX: Final = 64
PROGRAM_BYTES_MAX: Final = 2 << 20
"""Memory of one compiled pattern with its states; about 21,000 instructions fit.

RE2 compiles some patterns in time quadratic in their instructions: at most half a second here.
"""

WORK_MAX: Final = 1 << 27
"""Instructions of a program, times the characters of a text to match: at worst about a second,
during which no deadline is checked.
"""


@lru_cache(PATTERNS_CACHED_MAX)
def matcher(pattern: str) -> Callable[[str], bool]:
    """A function that says if a text has a match of a pattern anywhere; compiled once.

    A set of one pattern only answers yes or no, in a seventh of the time of a search. It may run
    out of memory and answer no, so a search checks every no. The search cannot run out: when its
    memory is used up, it follows all states of the program at once, which is slower. Either may
    read the whole program for each byte, so the function raises ResourceExhausted if the text is
    too long for a large program.

    Raises:
        InvalidSyntax: the pattern is not RE2.
        ResourceExhausted: the pattern is too long, or compiles to too much.
    """
    import re2  # noqa: PLC0415 - few commands need it, and starting should be quick.

    if len(pattern.encode(errors="replace")) > PATTERN_BYTES_MAX:
        raise ResourceExhausted(
            f"The pattern {shorten(pattern)!r} has more than {PATTERN_BYTES_MAX:,} bytes.",
            hint="Look for several shorter patterns, joined with ||.",
        )
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = PROGRAM_BYTES_MAX
    try:
        searched = re2.compile(pattern, options=options)
    except re2.error as error:
        raise _refusal(pattern, error) from None
    search, length_max = searched.search, WORK_MAX // searched.programsize
    quick = re2.Set.SearchSet(options)
    try:
        quick.Add(pattern)
        quick.Compile()
        match = quick.Match
    except re2.error:  # Sets need a little more memory.
        match = search

    def matches(text: str) -> bool:
        if len(text) > length_max:
            raise ResourceExhausted(
                f"A text of {len(text):,} characters is too long for the pattern "
                f"{shorten(pattern)!r}; the limit for a pattern of that size is {length_max:,}.",
                hint="Use fewer or smaller repetitions and classes, or filter on a shorter text.",
            )
        return match(text) is not None or search(text) is not None

    return matches


def _refusal(pattern: str, error: Exception) -> InvalidSyntax | ResourceExhausted:
    reason = error.args[0] if error.args else ""
    text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
    if "too large" in text:
        return ResourceExhausted(
            f"The pattern {shorten(pattern)!r} compiles to more than {PROGRAM_BYTES_MAX:,} bytes.",
            hint="Use fewer or smaller repetitions ({n,m}) and classes.",
        )
    return InvalidSyntax(
        f"REGEX cannot use the pattern {shorten(pattern)!r}: {text}.",
        hint="Write it in RE2 syntax: no look-around and no back-references.",
    )
