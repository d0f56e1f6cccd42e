"""Makes the terms of a text, in the form in which the text index stores them."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from mycel.store.backend.tokens import tokens_of

_TERM_BYTES_MAX: Final = 1_000
"""Longer terms are stored as their first bytes and a hash: an index of PostgreSQL takes at most
some 2,700 bytes."""
_KEPT_CHARACTERS: Final = 200


def terms_of(text: str) -> list[str]:
    """The terms of a text in their order, in the stored form."""
    return [term if len(term) < _TERM_BYTES_MAX // 4 else _cut(term) for term in tokens_of(text)]


def _cut(term: str) -> str:
    encoded = term.encode()
    if len(encoded) <= _TERM_BYTES_MAX:
        return term
    return f"{term[:_KEPT_CHARACTERS]}\x01{sha256(encoded).hexdigest()}"
