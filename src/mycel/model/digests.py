"""SHA-256 of what is short: keys, entries, nodes of the log, most records.

That of `hashlib` comes from OpenSSL, which is made for long texts. It takes half a microsecond to
begin, and touches memory that a writer has to fetch anew after every commit: the twenty hashes of a
small transaction cost 3% of it. The interpreter brings one of its own that begins at once. Longer
texts, and the records of a load, go to `hashlib`: where the processor knows SHA-256, OpenSSL is
faster.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib import import_module
from typing import Final, Protocol

SHORT_MAX: Final = 256
"""Up to so many bytes, what begins sooner ends sooner."""


class Hashed(Protocol):
    """What a hash function gives."""

    def digest(self) -> bytes: ...


def _own_sha256() -> Callable[[bytes], Hashed]:
    """The interpreter's own, which has had two homes; that of `hashlib`, if it was left out."""
    for home in ("_sha2", "_sha256"):
        try:
            own: Callable[[bytes], Hashed] = import_module(home).sha256
        except ImportError:
            continue
        return own
    return hashlib.sha256


short_sha256: Final = _own_sha256()


def sha256_of(data: bytes) -> bytes:
    """The hash of what may be long."""
    return (short_sha256 if len(data) <= SHORT_MAX else hashlib.sha256)(data).digest()
