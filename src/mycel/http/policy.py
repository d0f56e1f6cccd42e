"""The policy of a server: hosts, origins, token and limits.

Every request passes three checks, each against one attack. The check of `Host` stops a web page
whose host name resolves to this machine (DNS rebinding), since its requests carry that name. The
check of `Origin` stops a page of another site that calls this server from a browser. The token
stops every other program that can reach the address.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlsplit

from mycel.engine.write_defaults import DEFAULT_ACTOR
from mycel.errors import ConstraintViolation
from mycel.http.sessions import Sessions
from mycel.sharing.scopes import Grant, everything
from mycel.sharing.tokens import TokenBook

if TYPE_CHECKING:
    from mycel.sharing.oauth import TrustedIssuers

BODY_BYTES_MAX: Final = 4 << 20
"""The largest body of one request."""
BODIES_BYTES_MAX: Final = 128 << 20
"""The largest total of the bodies of all requests in progress."""
PIECES_MAX: Final = 1024
"""With more pieces (chunks or packets) than this, the average size of the pieces is checked."""
PIECE_BYTES_MIN: Final = 64
"""The least average size of the pieces of a body that has many."""
HEAD_BYTES_MAX: Final = 16 << 10
"""The largest size of the first line of a request with all its headers."""
TARGET_BYTES_MAX: Final = 8 << 10
"""The longest path of a request with its query."""
HEAD_TIMEOUT_S: Final = 10.0
"""The time for the head to arrive."""
DISCARDED_BYTES_MAX: Final = 64 << 20
"""The maximum number of bytes of a refused body that are dropped, so that the client reads the
answer."""
LINGERING_S: Final = 2.0
"""The time that a refused connection stays open for the refusal to arrive."""
CONNECTIONS_MAX: Final = 512
KEEP_ALIVE_S: Final = 30
REQUESTS_MAX: Final = 64
"""The default number of requests in progress."""
PUBLIC_REQUESTS_MAX: Final = 64
"""The maximum number of requests in progress that need no token; they are counted apart from the
others."""
PUBLIC_BODY_BYTES_MAX: Final = 4096
"""The largest body of a request that needs no token: it holds a ticket."""
PUBLIC_BODY_S: Final = 5.0
"""The time for a body without a token to arrive."""
PUBLIC_BODIES_MAX: Final = 32
"""The maximum number of bodies without a token that may be arriving. Beyond it, the oldest request
is refused."""
TIMEOUT_S: Final = 30.0
"""The default time for a request: for its body to arrive, and for its commands to run."""
WRITE_S: Final = 5.0
"""The time for which one transaction may keep others from writing. After it, it is rolled back."""
ANSWER_MARGIN_S: Final = 1.0
"""The server waits this much longer than the engine, whose own error says more."""
ANSWER_BYTES_MAX: Final = 64 << 20
"""The largest answer."""
ANSWERS_BYTES_MAX: Final = 256 << 20
"""The largest total of all answers that are being made or sent."""
STALLED_S: Final = 10.0
"""The time in which a client has to read some of its answer."""
READING_S: Final = 30.0
"""The time in which a client has to read its whole answer, plus the time of the next constant."""
READING_BYTES_PER_S: Final = 1 << 20
"""A client gets one more second for each such number of bytes."""
STREAMS_MAX: Final = 64
"""The maximum number of open streams of events; one client address may have a quarter of them."""
STREAM_S: Final = 900.0
"""The lifetime of a stream; after it, its client opens a new one."""
GRACE_S: Final = 10.0
"""The time for requests in progress to end when the server stops."""
QUICK_WORKERS: Final = 8
"""Threads that run short requests. Several of them help writers, because concurrent writes share
commits."""
LOG_PAGE: Final = 100
LOG_PAGE_MAX: Final = 1000
TOKEN_CHARACTERS_MIN: Final = 16
RESOURCE_METADATA: Final = "/.well-known/oauth-protected-resource"
"""The path at which a server says who issues tokens for it (RFC 9728)."""

_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*", re.ASCII)
"""The form of a token after `Bearer` (RFC 6750)."""
_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:/@?#\s]+)(?::[0-9]{0,5})?")
_LOOPBACK: Final = frozenset(("localhost", "127.0.0.1", "::1"))


_OWNER: Final = everything(DEFAULT_ACTOR)
"""The rights of the person who started the server."""


class Token:
    """The secret of a server. Only its hash is kept."""

    __slots__ = ("_digest",)

    def __init__(self, secret: str) -> None:
        """Take the secret.

        Raises:
            ConstraintViolation: the secret is too short, or a header cannot carry it.
        """
        if len(secret) < TOKEN_CHARACTERS_MIN or not _TOKEN.fullmatch(secret):
            raise ConstraintViolation(
                f"The token has to be at least {TOKEN_CHARACTERS_MIN} characters long, of letters,"
                " digits and -._~+/ only.",
                hint='Make one: python -c "import secrets; print(secrets.token_urlsafe(32))"',
            )
        self._digest = _digest(secret)

    def opens(self, authorization: str | None) -> bool:
        """True if the header of a request holds the token. Compares in constant time."""
        scheme, _, sent = (authorization or "").partition(" ")
        is_equal = hmac.compare_digest(_digest(sent.strip()), self._digest)
        return is_equal and scheme.lower() == "bearer"


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of one server."""

    hosts: frozenset[str] = _LOOPBACK
    """Host names, in lower case, that requests may use; the address that was reached is always
    allowed."""
    origins: frozenset[str] = frozenset()
    """Other origins whose pages may send requests."""
    token: Token | None = None
    tokens: TokenBook | None = None
    """The tokens with scopes; only on a server of many workspaces."""
    issuers: TrustedIssuers | None = None
    """The issuers whose tokens are accepted; only on a server of many workspaces."""
    sessions: Sessions = field(default_factory=Sessions)
    """Sessions in browsers, whose tokens are accepted like that of the server."""
    readonly: bool = False
    """True if nothing may be written."""
    creates_workspaces: bool = False
    """True if the first submission to a workspace may create it, on a server of many workspaces."""
    files: bool = False
    """True if files of the workspace may be read."""
    body_bytes_max: int = BODY_BYTES_MAX
    requests_max: int = REQUESTS_MAX
    timeout_s: float = TIMEOUT_S
    connections_max: int = CONNECTIONS_MAX
    write_s: float = WRITE_S
    answers_bytes_max: int = ANSWERS_BYTES_MAX
    streams_max: int = STREAMS_MAX
    stream_s: float = STREAM_S
    certificate: tuple[Path, Path] | None = None
    """The files of a certificate and its key, if the server itself uses TLS."""
    processes: int = 1
    """The number of processes that serve the graph; the other limits apply to each process."""

    @property
    def scheme(self) -> str:
        """The scheme of the server's URLs."""
        return "http" if self.certificate is None else "https"

    @property
    def head_timeout_s(self) -> float:
        return min(HEAD_TIMEOUT_S, self.timeout_s)

    @property
    def stalled_s(self) -> float:
        return min(STALLED_S, self.timeout_s)

    @property
    def wants_token(self) -> bool:
        """True if requests need a token."""
        is_used = self.tokens is not None and self.tokens.is_used
        return self.token is not None or self.issuers is not None or is_used

    def grant(self, authorization: str | None) -> Grant | None:
        """The rights of a request with this header; None if the token is not valid here."""
        if not self.wants_token:
            return _OWNER
        if self.token is not None and self.token.opens(authorization):
            return _OWNER
        if self.sessions.opens(authorization):
            return _OWNER
        scheme, _, sent = (authorization or "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        grant = None if self.tokens is None else self.tokens.grant(sent.strip())
        if grant is None and self.issuers is not None:
            grant = self.issuers.grant(sent.strip())
        return grant

    def challenge(self, path: str, error: str = "") -> str:
        """The value of `WWW-Authenticate` for a request to a path (RFC 6750, RFC 9728)."""
        parts = ['realm="mycel"'] + ([f'error="{error}"'] if error else [])
        if self.issuers is not None:
            settings = self.issuers.settings
            base = urlsplit(settings.resource)
            suffix = base.path + (quote(path) if path.startswith("/ws/") else "")
            address = f"{base.scheme}://{base.netloc}{RESOURCE_METADATA}{suffix}"
            parts.append(f'resource_metadata="{address}"')
            if settings.scopes:
                parts.append(f'scope="{" ".join(settings.scopes)}"')
        return f"Bearer {', '.join(parts)}"

    def admits(self, authorization: str | None) -> bool:
        """True if the header of a request opens this server."""
        return self.grant(authorization) is not None

    def knows_host(self, header: str | None, reached: str | None) -> bool:
        """True if a request may name this host; `reached` is the address it was sent to.

        The port is ignored, because that of a tunnel may differ.
        """
        name = host_name(header or "")
        if name is None:
            return False
        return name in self.hosts or (reached is not None and name == _address(reached))

    def knows_origin(self, origin: str, host_header: str) -> bool:
        """True if pages of this origin may send requests: our own origin, and allowed ones."""
        if origin in self.origins:
            return True
        scheme, separator, place = origin.partition("://")
        return bool(separator) and scheme in ("http", "https") and place == host_header.lower()


def names_of(host: str, allowed: Iterable[str] = ()) -> frozenset[str]:
    """The names for `Policy.hosts` of a server that listens on a host.

    >>> sorted(names_of("127.0.0.1", ["graph.example.org:443"]))
    ['127.0.0.1', '::1', 'graph.example.org', 'localhost']

    Raises:
        ConstraintViolation: an allowed name is not the name of a host.
    """
    names = set(_LOOPBACK)
    # An IPv6 address gets brackets and loses its zone, which only this machine knows.
    for text in (f"[{host.partition('%')[0]}]" if ":" in host else host, *allowed):
        name = host_name(text)
        if name is None:
            raise ConstraintViolation(
                f"{text!r} is not the name of a host.",
                hint="Give a name such as graph.example.org.",
            )
        names.add(name)
    return frozenset(names)


def origins_of(allowed: Iterable[str]) -> frozenset[str]:
    """Origins for `Policy.origins`.

    >>> sorted(origins_of(["https://App.example.org/", "null"]))
    ['https://app.example.org', 'null']

    Raises:
        ConstraintViolation: a text is no origin.
    """
    return frozenset(_origin(text) for text in allowed)


def host_name(header: str) -> str | None:
    """The name in a `Host` header, without its port; None if it is malformed.

    >>> host_name("LocalHost:80"), host_name("[::1]:80"), host_name("a b"), host_name("")
    ('localhost', '::1', None, None)
    """
    match = _HOST.fullmatch(header)
    return match[1].strip("[]").lower().removesuffix(".") if match else None


def _origin(text: str) -> str:
    if text == "null":
        return text
    parts = urlsplit(text)
    plain = parts.path in ("", "/") and not (parts.query or parts.fragment or parts.username)
    if not (parts.scheme and parts.hostname and plain):
        raise ConstraintViolation(
            f"{text!r} is no origin.", hint="Give a scheme and a host: https://app.example.org"
        )
    return f"{parts.scheme}://{parts.netloc}".lower()


def _address(text: str) -> str:
    """An address in its usual form: IPv4 inside IPv6 becomes IPv4, and the zone is dropped."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return text.lower()
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def _digest(text: str) -> bytes:
    return sha256(text.encode(errors="replace")).digest()
