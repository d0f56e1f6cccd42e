"""Ids of commits: names of transactions that mean the same in every copy of a graph.

A transaction closes a range of the journal. Its id is the number of entries up to and with it, and
the SHA-256 of that number and of the journal's root, in hexadecimal: `42-9f3ac1…`. The root covers
everything ever written, so two copies that have the same id share their history up to it. The
number gives the position in the journal, so no table of ids is needed.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final

from mycel.model import cbor

SHORT_DIGITS: Final = 12
"""The number of digits of the hash in tables and messages."""

_ID: Final = re.compile(r"([0-9]{1,18})-([0-9a-f]{8,64})")
_HASH: Final = re.compile(rf"\b([0-9a-f]{{{SHORT_DIGITS}}})[0-9a-f]{{{64 - SHORT_DIGITS}}}\b")


def commit_id(entries: int, journal_root: bytes) -> str:
    """The id of the transaction that ends at an entry."""
    return f"{entries}-{sha256(cbor.encode([entries, journal_root])).hexdigest()}"


def short(commit: str) -> str:
    """An id with the first digits of its hash."""
    entries, _, digest = commit.partition("-")
    return f"{entries}-{digest[:SHORT_DIGITS]}"


def with_short_hashes(message: str) -> str:
    """The message of a commit for people: only the first digits of each hash.

    >>> with_short_hashes(f"schema apply sha256:{'da' * 32} for the shop")
    'schema apply sha256:dadadadadada for the shop'
    """
    return _HASH.sub(r"\1", message)


def entry_in(text: str) -> int | None:
    """The entry that an id, whole or shortened, names; None if the text is no id."""
    match = _ID.fullmatch(text)
    return None if match is None else int(match[1])
