"""The statements of KIP by their first words, for callers that have only a text."""

from __future__ import annotations

import re
from typing import Final

READING: Final = ("FIND", "SEARCH", "NEAREST", "DESCRIBE", "EXPORT", "TRAVERSE")
WRITING: Final = (
    *("UPSERT", "DELETE", "UPDATE", "MERGE"),
    *("ARCHIVE", "RESTORE", "SUPERSEDE", "SUPPORT", "CHALLENGE", "SET"),
)
EXPLAIN: Final = "EXPLAIN"
STATEMENTS: Final = frozenset((*READING, *WRITING, EXPLAIN))

_FIRST_WORD: Final = re.compile(r"(?>(?:\s++|//[^\n]*+)*)([A-Za-z_]*)")


def first_word(command: str) -> str:
    r"""The keyword that a command begins with, after white space and comments.

    >>> first_word("// who treats whom\n FIND(?x)")
    'FIND'
    """
    match = _FIRST_WORD.match(command)
    return match[1] if match else ""
