"""Sessions of people in a browser: tickets that open one, and the tokens that they get.

The secret of a server is never part of a URL, and never reaches a page. `mycel serve --open` opens
a page with a ticket in the fragment, which browsers do not send. The page exchanges the ticket,
once, for a session token, which counts like the server's own until it expires or is revoked.

Tickets and tokens carry their expiry and a signature, so the server only stores which of them were
used up.
"""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from collections.abc import Callable
from hashlib import sha256
from typing import Final, Literal

TICKET_S: Final = 60
"""The lifetime of a ticket with which a browser is opened."""
COPIED_TICKET_S: Final = 15 * 60
"""The same without a browser: a person copies the address to another machine."""
SESSION_S: Final = 12 * 3600
"""The time for which a session token is valid."""

_NONCE: Final = 16
_MAC: Final = 32
_EXPIRY: Final = 8
_PREFIXES: Final = {"ticket": "myt_", "session": "mys_"}
PassKind = Literal["ticket", "session"]


class Sessions:
    """The sessions of one server."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        # A new key for each start: used and revoked tokens are not valid after a restart either.
        self._secret: Final = secrets.token_bytes(32)
        self._clock: Final = clock
        self._lock: Final = threading.Lock()
        self._used: Final[dict[bytes, int]] = {}
        """Exchanged tickets and revoked sessions, with their expiry."""

    def ticket(self, lasts_s: int = TICKET_S) -> str:
        """A ticket for one session, valid for a limited time."""
        return self._signed("ticket", lasts_s)

    def exchange(self, ticket: str) -> str | None:
        """The token of a new session; None if the ticket is wrong, used or too old."""
        return self._signed("session", SESSION_S) if self._use_up("ticket", ticket) else None

    def opens(self, authorization: str | None) -> bool:
        """True if the header of a request holds the token of a session."""
        scheme, _, sent = (authorization or "").partition(" ")
        return scheme.lower() == "bearer" and self._read("session", sent.strip()) is not None

    def revoke(self, authorization: str | None) -> bool:
        """End the session whose token the header holds. False if there is none."""
        return self._use_up("session", (authorization or "").partition(" ")[2].strip())

    def _signed(self, kind: PassKind, lasts_s: int) -> str:
        expiry = int(self._clock()) + lasts_s
        body = expiry.to_bytes(_EXPIRY, "big") + secrets.token_bytes(_NONCE)
        return _PREFIXES[kind] + urlsafe_b64encode(body + self._mac(kind, body)).decode().rstrip(
            "="
        )

    def _mac(self, kind: PassKind, body: bytes) -> bytes:
        return hmac.digest(self._secret, kind.encode() + body, sha256)

    def _read(self, kind: PassKind, text: str) -> tuple[bytes, int] | None:
        """The body and expiry of a valid ticket or token; None if it is not valid."""
        if not text.startswith(_PREFIXES[kind]) or len(text) > 100 or not text.isascii():
            return None
        try:
            packed = urlsafe_b64decode(text.removeprefix(_PREFIXES[kind]) + "==")
        except (Base64Error, ValueError):
            return None
        body, mac = packed[:-_MAC], packed[-_MAC:]
        if len(packed) != _EXPIRY + _NONCE + _MAC:
            return None
        if not hmac.compare_digest(mac, self._mac(kind, body)):
            return None
        expiry = int.from_bytes(body[:_EXPIRY], "big")
        if expiry < self._clock() or body in self._used:
            return None
        return body, expiry

    def _use_up(self, kind: PassKind, text: str) -> bool:
        with self._lock:
            content = self._read(kind, text)
            if content is None:
                return False
            now = self._clock()
            for body in [body for body, expiry in self._used.items() if expiry < now]:
                del self._used[body]
            self._used[content[0]] = content[1]
            return True
