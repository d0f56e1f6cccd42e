"""Tokens of a server: create, list, revoke and recognise them.

    myc_<id>_<secret><checksum>

The id names the token and is no secret. The checksum (CRC-32) lets this server, and scanners for
leaked secrets, recognise a token without a look-up. Only the SHA-256 of the whole text is stored,
and compared in constant time. A token with an unknown id is compared with a dummy hash, so the time
reveals nothing.
"""

from __future__ import annotations

import hmac
import re
import secrets
import threading
import time
import zlib
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Any, Final, NamedTuple

import orjson

from mycel.errors import ConstraintViolation, InvalidIdentifier, NotFound
from mycel.knowledge.uris import check_workspace
from mycel.model import times
from mycel.model.names import shorten
from mycel.sharing.scopes import Grant, parse_scope, parse_scopes
from mycel.store.log.server_records import ServerRecords, TokenRow

PREFIX: Final = "myc_"
LAST_USE_S: Final = 60
"""The precision of the stored time of the last use."""

_ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ID_LENGTH: Final = 10
_SECRET_LENGTH: Final = 43
"""The length of 256 bits in the text."""
_CHECK_LENGTH: Final = 6
_FORM: Final = re.compile(
    rf"myc_([0-9A-Za-z]{{{_ID_LENGTH}}})_[0-9A-Za-z]{{{_SECRET_LENGTH + _CHECK_LENGTH}}}", re.ASCII
)
_ACTOR: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+ -]{0,63}", re.ASCII)
_NOBODY: Final = b"\x00" * 32
_US: Final = 1_000_000


class TokenInfo(NamedTuple):
    """A token as an administrator sees it, without the secret."""

    id: str
    actor: str
    note: str
    scopes: tuple[str, ...]
    workspaces: tuple[str, ...] | None
    created: int
    expires: int | None
    revoked: int | None
    last_use: int | None
    requests_per_minute: int
    body_bytes_max: int

    def to_dict(self) -> dict[str, Any]:
        payload = self._asdict() | {"scopes": list(self.scopes)}
        payload["workspaces"] = None if self.workspaces is None else list(self.workspaces)
        for field in ("created", "expires", "revoked", "last_use"):
            at = payload[field]
            payload[field] = None if at is None else times.to_text(at)
        return payload


class TokenBook:
    """The tokens of one server."""

    def __init__(
        self, records: ServerRecords, clock_us: Callable[[], int] = lambda: time.time_ns() // 1000
    ) -> None:
        self._records: Final = records
        self._clock_us: Final = clock_us
        self._lock: Final = threading.Lock()
        self._known: dict[str, tuple[TokenRow, Grant]] = {}
        self._version: object = None
        self._uses: Final[dict[str, int]] = {}

    @property
    def is_used(self) -> bool:
        """True if there ever was a token; each request then needs a token."""
        return self._records.has_tokens()

    def create(
        self,
        actor: str,
        scopes: Iterable[str],
        *,
        workspaces: Iterable[str] | None = None,
        note: str = "",
        lasts_s: int | None = None,
        requests_per_minute: int = 0,
        body_bytes_max: int = 0,
    ) -> tuple[str, TokenInfo]:
        """Make a token. The text of the token is returned, and not stored.

        Raises:
            InvalidIdentifier: no actor can have this name.
            ConstraintViolation: a scope is wrong.
        """
        if not _ACTOR.fullmatch(actor):
            raise InvalidIdentifier(
                f"{shorten(repr(actor))} cannot name an actor.",
                hint="Use up to 64 letters, digits, spaces and . _ @ + - with a letter or digit"
                " first: `alice` or `ci@example.org`.",
            )
        rules = parse_scopes(scopes)
        names = None if workspaces is None else sorted({check_workspace(w) for w in workspaces})
        if names is not None and not names:
            raise ConstraintViolation("A token is for at least one workspace.")
        id_ = _random(_ID_LENGTH)
        text = _text_of(id_)
        now = self._clock_us()
        row = TokenRow(
            id_,
            _digest(text),
            actor,
            note[:200],
            "\n".join(map(str, rules)),
            None if names is None else orjson.dumps(names).decode(),
            now,
            None if lasts_s is None else now + lasts_s * _US,
            None,
            None,
            requests_per_minute,
            body_bytes_max,
        )
        self._records.add_token(row)
        self._forget()
        return text, _info(row)

    def tokens(self) -> list[TokenInfo]:
        """All tokens, oldest first."""
        return [_info(row) for row in self._records.tokens()]

    def revoke(self, id_: str) -> TokenInfo:
        """Revoke a token, at once and for good.

        Raises:
            NotFound: there is no such token.
        """
        self._find(id_)
        self._records.revoke_token(id_, self._clock_us())
        self._forget()
        return _info(self._find(id_))

    def rotate(self, id_: str) -> tuple[str, TokenInfo]:
        """Give a token another secret; the old secret is no longer valid.

        Raises:
            NotFound: there is no such token, or it is revoked.
        """
        row = self._find(id_)
        if row.revoked is not None:
            raise NotFound(f"The token {id_} is revoked.", hint="Create another one.")
        text = _text_of(id_)
        self._records.replace_secret(id_, _digest(text))
        self._forget()
        return text, _info(row)

    def _find(self, id_: str) -> TokenRow:
        row = self._records.token(id_)
        if row is None:
            raise NotFound(
                f"There is no token {shorten(repr(id_), 40)}.",
                hint="`mycel token list` shows the ids.",
            )
        return row

    def _forget(self) -> None:
        with self._lock:
            self._version = None

    def grant(self, text: str) -> Grant | None:
        """The grant of a token; None if it is not valid now."""
        match = _FORM.fullmatch(text)
        current = None
        if match is not None and _checksum(text[:-_CHECK_LENGTH]) == text[-_CHECK_LENGTH:]:
            current = self._current().get(match[1])
        digest = _NOBODY if current is None else current[0].digest
        is_same = hmac.compare_digest(_digest(text), digest)
        if current is None or not is_same:
            return None
        row, grant = current
        now = self._clock_us()
        if row.revoked is not None or (row.expires is not None and row.expires <= now):
            return None
        self._uses[row.id] = now
        return grant

    def _current(self) -> dict[str, tuple[TokenRow, Grant]]:
        """The tokens by id, read again when another process has written."""
        with self._lock:
            version = self._records.version
            if version != self._version:
                self._known = {row.id: (row, _grant(row)) for row in self._records.tokens()}
                self._version = version
            return self._known

    def save_uses(self) -> None:
        """Store the times of the last use of tokens, where the stored time is old."""
        with self._lock:
            uses, infos = dict(self._uses), self._known
            self._uses.clear()
        old = [
            (id_, at)
            for id_, at in uses.items()
            if id_ in infos and (infos[id_][0].last_use or 0) < at - LAST_USE_S * _US
        ]
        if old:
            self._records.note_uses(old)
            self._forget()


def _grant(row: TokenRow) -> Grant:
    names = None if row.workspaces is None else frozenset(orjson.loads(row.workspaces))
    scopes = tuple(map(parse_scope, row.scopes.split("\n")))
    return Grant(row.actor, row.id, scopes, names, row.requests_per_minute, row.body_bytes_max)


def _info(row: TokenRow) -> TokenInfo:
    names = None if row.workspaces is None else tuple(orjson.loads(row.workspaces))
    scopes = tuple(row.scopes.split("\n"))
    return TokenInfo(row.id, row.actor, row.note, scopes, names, *row[6:])


def _text_of(id_: str) -> str:
    start = f"{PREFIX}{id_}_{_random(_SECRET_LENGTH)}"
    return start + _checksum(start)


def _random(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


def _checksum(text: str) -> str:
    number, digits = zlib.crc32(text.encode()), []
    for _ in range(_CHECK_LENGTH):
        number, digit = divmod(number, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))


def _digest(text: str) -> bytes:
    return sha256(text.encode(errors="replace")).digest()
