"""Cursors of commands whose pages have a fixed order.

A cursor holds a place in that order and a checksum of its command. A cursor that was changed, or
that belongs to another command, is refused.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import Any, Final

import orjson

from mycel.errors import InvalidSyntax
from mycel.model.names import shorten

_CHECK_BYTES: Final = 6


def cursor_after(purpose: str, place: Any) -> str:
    """A cursor that continues after a place.

    >>> place_of(cursor_after("DESCRIBE CONCEPT TYPES", "Drug"), "DESCRIBE CONCEPT TYPES")
    'Drug'
    """
    content = orjson.dumps(place)
    return _text(_check(purpose, content) + content)


def place_of(cursor: str, purpose: str) -> Any:
    """The place after which a cursor continues; a damaged or foreign cursor is refused."""
    try:
        raw = urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4))
        check, content = raw[:_CHECK_BYTES], raw[_CHECK_BYTES:]
        if check == _check(purpose, content) and cursor == _text(raw):
            return orjson.loads(content)
    except ValueError:  # The cursor is no base64 or no JSON.
        pass
    raise InvalidSyntax(
        f"The cursor {shorten(cursor)!r} does not belong to this command.",
        hint="Pass next_cursor of the previous page unchanged, with the same command;"
        " leave CURSOR out to begin again.",
    )


def _text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def _check(purpose: str, content: bytes) -> bytes:
    return sha256(purpose.encode(errors="surrogatepass") + b"\0" + content).digest()[:_CHECK_BYTES]
