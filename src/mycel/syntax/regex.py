"""Regular expressions that take time linear in the text, whatever the pattern (RE2)."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from mycel.errors import InvalidSyntax
from mycel.model.names import shorten

PATTERNS_CACHED_MAX: Final = 256
PROGRAM_BYTES_MAX: Final = 8 << 20
"""What a compiled pattern may take."""


@lru_cache(PATTERNS_CACHED_MAX)
def compiled(pattern: str) -> Any:
    """A pattern, compiled once.

    Raises:
        InvalidSyntax: it cannot be compiled.
    """
    import re2  # noqa: PLC0415 - few commands need it, and starting should be quick.

    options = re2.Options()
    options.log_errors = False
    options.max_mem = PROGRAM_BYTES_MAX
    try:
        return re2.compile(pattern, options=options)
    except re2.error as error:
        said = error.args[0] if error.args else ""
        said = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
        raise InvalidSyntax(
            f"REGEX cannot use the pattern {shorten(pattern)!r}: {said}.",
            hint="Write it in RE2 syntax: no look-around and no back-references.",
        ) from None


@lru_cache(PATTERNS_CACHED_MAX)
def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a text has a match of a pattern anywhere, for very many texts.

    A set of one pattern says no more than yes or no, in a seventh of the time that a match takes.
    It may run out of memory and say no, so a no is asked for again.

    Raises:
        InvalidSyntax: the pattern cannot be compiled.
    """
    search = compiled(pattern).search

    import re2  # noqa: PLC0415 - as above

    options = re2.Options()
    options.log_errors = False
    options.max_mem = PROGRAM_BYTES_MAX
    quick = re2.Set.SearchSet(options)
    try:
        quick.Add(pattern)
        quick.Compile()
    except re2.error:  # Sets need a little more memory.
        return lambda text: search(text) is not None
    match = quick.Match
    return lambda text: match(text) is not None or search(text) is not None
