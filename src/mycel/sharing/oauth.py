"""Access tokens of an external issuer (OAuth 2.1), checked by its public keys.

The server is a resource server: an issuer signs in people and programs, and signs JWTs for them.
This module checks signature, issuer, audience and times of a token, and turns claims into scopes.
PyJWT does the cryptography. A file says whom the server trusts:

    resource = "https://graph.example.org"     the server's own URL, the audience of tokens

    [[issuer]]
    issuer = "https://login.example.org"
    jwks_uri = "https://login.example.org/jwks"    found by discovery, if left out
    actor = "email"                                a claim; by default `sub@login.example.org`
    claims = ["scope", "roles"]                    claims that have scopes; by default `scope`

    [issuer.scopes]                                what they mean here
    "graph:read" = ["read:/**"]
    "infra-team" = ["read:/**", "write:/infra/**@main"]

Only signatures by private keys are accepted (`ALGORITHMS`), each with a key that is meant for the
algorithm. A token without a signature, or one that uses a public key as a shared secret, is
refused. Keys are fetched in a thread, so no request waits for the issuer. A new key works some
seconds after the first token that is signed with it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import tomllib
import urllib.request
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from time import monotonic
from typing import Any, Final
from urllib.parse import urlsplit

import jwt

from mycel.errors import ConstraintViolation, InvalidSyntax, MycelError
from mycel.model.names import shorten
from mycel.sharing.scopes import Grant, ScopeRule, parse_scopes
from mycel.store.file.plain_files import read_bounded

ALGORITHMS: Final = ("RS256", "PS256", "ES256", "ES384", "EdDSA")
"""The accepted signatures; none uses a shared secret."""
TYPES: Final = frozenset(("at+jwt", "application/at+jwt", "jwt"))
"""The accepted types of tokens, in lower case; a token without a type is accepted too."""
LEEWAY_S: Final = 30
"""The tolerated difference between clocks."""
REFRESH_S: Final = 3600.0
RETRY_S: Final = 5.0
"""The time between two fetches of keys, if a token has an unknown one."""
TOKEN_CHARACTERS_MAX: Final = 8192
ANSWER_BYTES_MAX: Final = 1 << 20
SETTINGS_BYTES_MAX: Final = 1 << 20
FETCH_S: Final = 10.0
ACTOR_CHARACTERS_MAX: Final = 200

_UNREADABLE: Final = (OSError, HTTPException, ValueError, RecursionError)
"""The errors of an answer that does not arrive, or cannot be read."""
_DISCOVERY: Final = ("oauth-authorization-server", "openid-configuration")
_KEYS: Final = frozenset(("resource", "issuer"))
_ISSUER_KEYS: Final = frozenset(("issuer", "jwks_uri", "actor", "claims", "scopes"))

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IssuerSettings:
    """An issuer that the server trusts, and the meaning of its claims."""

    issuer: str
    jwks_uri: str | None
    actor: str | None
    claims: tuple[str, ...]
    scopes: Mapping[str, tuple[ScopeRule, ...]]


@dataclass(frozen=True, slots=True)
class OAuthSettings:
    """The server's own URL, and the issuers that it trusts."""

    resource: str
    issuers: tuple[IssuerSettings, ...]

    def metadata(self, path: str) -> dict[str, object]:
        """The metadata of a part of the server: the issuers, and the scopes to ask them for."""
        return {
            "resource": f"{self.resource}{path}",
            "authorization_servers": [issuer.issuer for issuer in self.issuers],
            "scopes_supported": self.scopes,
            "bearer_methods_supported": ["header"],
            "resource_name": "Mycel",
        }

    @property
    def scopes(self) -> list[str]:
        """The scopes that a client may ask an issuer for."""
        return sorted({name for issuer in self.issuers for name in issuer.scopes})


def read_settings(path: Path) -> OAuthSettings:
    """The settings in a TOML file.

    Raises:
        InvalidSyntax, ConstraintViolation: the file has another form, or trusts an unsafe address.
    """
    try:
        content = tomllib.loads(read_bounded(path, SETTINGS_BYTES_MAX).decode())
    except (OSError, ValueError) as error:
        raise InvalidSyntax(
            f"{path} cannot be read as TOML: {error}.",
            hint="Correct the file; docs/team.md has an example.",
        ) from None
    _check_keys(content, _KEYS, path)
    resource = _url(content.get("resource"), "resource")
    tables = content.get("issuer")
    if not isinstance(tables, list) or not tables:
        raise ConstraintViolation(f"{path} has no [[issuer]].", hint="docs/team.md has an example.")
    return OAuthSettings(resource, tuple(_issuer(issuer, path) for issuer in tables))


def _issuer(table: Any, path: Path) -> IssuerSettings:
    if not isinstance(table, dict):
        raise InvalidSyntax(
            f"An issuer of {path} is no table: write [[issuer]].",
            hint="docs/team.md has an example.",
        )
    _check_keys(table, _ISSUER_KEYS, path)
    scopes = table.get("scopes", {})
    claims = table.get("claims", ["scope"])
    actor = table.get("actor")
    is_right = isinstance(scopes, dict) and isinstance(claims, list)
    if not is_right or not (actor is None or isinstance(actor, str)):
        raise InvalidSyntax(
            f"{path}: `scopes` is a table, `claims` a list, `actor` a text.",
            hint="docs/team.md has an example.",
        )
    jwks_uri = table.get("jwks_uri")
    return IssuerSettings(
        _url(table.get("issuer"), "issuer"),
        None if jwks_uri is None else _url(jwks_uri, "jwks_uri"),
        actor,
        tuple(map(str, claims)),
        {name: parse_scopes(_texts(texts, name)) for name, texts in scopes.items()},
    )


def _check_keys(table: Mapping[str, Any], allowed: Iterable[str], path: Path) -> None:
    unknown = sorted(table.keys() - set(allowed))
    if unknown:
        raise ConstraintViolation(
            f"{path} has {unknown[0]!r}, which means nothing.",
            hint=f"It may have: {', '.join(sorted(allowed))}.",
        )


def _texts(value: Any, name: str) -> list[str]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InvalidSyntax(
            f"The scopes of {name!r} are a list of texts.", hint="docs/team.md has an example."
        )
    return texts


def _url(value: Any, noun: str) -> str:
    """A URL over TLS, or on this machine."""
    parts = urlsplit(value) if isinstance(value, str) else urlsplit("")
    is_here = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if not parts.hostname or not (parts.scheme == "https" or (parts.scheme == "http" and is_here)):
        raise ConstraintViolation(
            f"{shorten(repr(value))} cannot be the {noun}.",
            hint="Give a URL that begins with https://.",
        )
    return str(value).rstrip("/") if noun == "resource" else str(value)


class TrustedIssuers:
    """The issuers that one server trusts, with their keys."""

    def __init__(self, settings: OAuthSettings) -> None:
        """Take the settings, and begin to fetch the keys."""
        self.settings: Final = settings
        self._keys: Final = {
            issuer.issuer: _Keys(issuer.issuer, issuer.jwks_uri) for issuer in settings.issuers
        }
        self._issuers: Final = {issuer.issuer: issuer for issuer in settings.issuers}
        for keys in self._keys.values():
            keys.refresh()

    def wait(self) -> None:
        """Wait until the keys were fetched, or could not be."""
        for keys in self._keys.values():
            keys.wait()

    def grant(self, text: str) -> Grant | None:
        """The grant of a token; None if it is not valid now."""
        if len(text) > TOKEN_CHARACTERS_MAX or text.count(".") != 2:
            return None
        try:
            claims = self._claims(text)
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            _log.info("A token of an issuer is refused: %s", error)
            return None
        if claims is None:
            return None
        issuer = self._issuers[claims["iss"]]
        actor = _actor(issuer, claims)
        if actor is None:
            return None
        rules = dict.fromkeys(
            rule for name in _names(issuer, claims) for rule in issuer.scopes.get(name, ())
        )
        subject = hashlib.sha256(f"{issuer.issuer}\n{claims['sub']}".encode()).hexdigest()[:12]
        return Grant(actor, f"oauth-{subject}", tuple(rules), self._workspaces(claims))

    def _claims(self, text: str) -> dict[str, Any] | None:
        """The claims of a token, after all checks."""
        header = jwt.get_unverified_header(text)
        if str(header.get("typ", "jwt")).lower() not in TYPES or "crit" in header:
            return None
        untrusted = jwt.decode(text, options={"verify_signature": False})
        issuer = untrusted.get("iss")
        keys = self._keys.get(issuer) if isinstance(issuer, str) else None
        if keys is None:
            return None
        key = keys.find(header.get("kid"))
        if key is None or key.algorithm_name not in ALGORITHMS:
            return None
        claims: dict[str, Any] = jwt.decode(
            text,
            key,
            algorithms=[key.algorithm_name],
            audience=self._audiences(untrusted) or [self.settings.resource],
            issuer=issuer,
            leeway=LEEWAY_S,
            options={"require": ["exp", "iat", "iss", "aud", "sub"]},
        )
        return claims

    def _audiences(self, claims: Mapping[str, Any]) -> list[str]:
        """The audiences of a token that name this server or one of its workspaces."""
        claim = claims.get("aud")
        audiences = [claim] if isinstance(claim, str) else claim
        if not isinstance(audiences, list):
            return []
        start = f"{self.settings.resource}/ws/"
        return [
            audience
            for audience in audiences
            if isinstance(audience, str)
            and (audience.rstrip("/") == self.settings.resource or audience.startswith(start))
        ]

    def _workspaces(self, claims: Mapping[str, Any]) -> frozenset[str] | None:
        """The workspaces that a token is for; None for all."""
        start = f"{self.settings.resource}/ws/"
        audiences = self._audiences(claims)
        if any(not audience.startswith(start) for audience in audiences):
            return None
        return frozenset(audience.removeprefix(start).split("/")[0] for audience in audiences)


def _actor(issuer: IssuerSettings, claims: Mapping[str, Any]) -> str | None:
    """The actor of writes with a token; None if the claim is no valid name."""
    if issuer.actor is None:
        actor: Any = f"{claims['sub']}@{urlsplit(issuer.issuer).hostname}"
    else:
        actor = claims.get(issuer.actor)
    if not isinstance(actor, str) or not actor.isprintable() or actor.startswith("$"):
        return None
    return actor if 0 < len(actor) <= ACTOR_CHARACTERS_MAX else None


def _names(issuer: IssuerSettings, claims: Mapping[str, Any]) -> list[str]:
    """The scopes of a token, as its issuer names them."""
    names: list[str] = []
    for claim in issuer.claims:
        value = claims.get(claim)
        if isinstance(value, str):
            names += value.split()
        elif isinstance(value, list):
            names += [name for name in value if isinstance(name, str)]
    return names


class _Keys:
    """The public keys of an issuer, fetched in a thread."""

    def __init__(self, issuer: str, jwks_uri: str | None) -> None:
        self._issuer: Final = issuer
        self._jwks_uri = jwks_uri
        self._known: dict[str | None, jwt.PyJWK] = {}
        self._lock: Final = threading.Lock()
        self._fetched_at = float("-inf")
        self._thread: threading.Thread | None = None

    def find(self, id_: Any) -> jwt.PyJWK | None:
        """A key by its id; without one, the only key there is."""
        keys = self._known
        key = None
        if isinstance(id_, str):
            key = keys.get(id_)
        elif id_ is None and len(keys) == 1:
            key = next(iter(keys.values()))
        age_s = monotonic() - self._fetched_at
        if age_s > REFRESH_S or (key is None and age_s > RETRY_S):
            self.refresh()
        return key

    def refresh(self) -> None:
        """Fetch the keys in a thread, unless a thread is fetching them already."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return
            self._fetched_at = monotonic()
            self._thread = threading.Thread(target=self._fetch, name="mycel-jwks", daemon=True)
            self._thread.start()

    def wait(self) -> None:
        """Wait for the running fetch."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def _fetch(self) -> None:
        try:
            if self._jwks_uri is None:
                self._jwks_uri = _discover(self._issuer)
            keys = _read_json(self._jwks_uri).get("keys")
            key_set: dict[str | None, jwt.PyJWK] = {}
            for stored in keys if isinstance(keys, list) else ():
                if not isinstance(stored, dict) or stored.get("use", "sig") != "sig":
                    continue
                try:
                    key_set[stored.get("kid")] = jwt.PyJWK.from_dict(stored)
                except (jwt.PyJWTError, ValueError, TypeError, KeyError):
                    continue  # It is broken, or of a kind that PyJWT does not know.
            self._known = key_set
        except (*_UNREADABLE, MycelError) as error:
            _log.warning("The keys of %s could not be fetched: %s", self._issuer, error)


def _discover(issuer: str) -> str:
    """The address of the keys of an issuer, from its metadata (RFC 8414, OpenID Connect)."""
    parts = urlsplit(issuer)
    path = parts.path.rstrip("/")
    addresses = [
        f"{parts.scheme}://{parts.netloc}/.well-known/{_DISCOVERY[0]}{path}",
        f"{issuer.rstrip('/')}/.well-known/{_DISCOVERY[1]}",
    ]
    for address in addresses:
        try:
            metadata = _read_json(address)
        except _UNREADABLE:
            continue
        if metadata.get("issuer") != issuer:
            raise ConstraintViolation(
                f"{address} is about another issuer.",
                hint="Correct the address of the issuer, or ask its operator.",
            )
        return _url(metadata.get("jwks_uri"), "jwks_uri")
    raise ConstraintViolation(f"{issuer} has no metadata.", hint="Give its `jwks_uri`.")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, so that keys come only from a trusted address."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _read_json(address: str) -> dict[str, Any]:
    opener = urllib.request.build_opener(_NoRedirect)
    with opener.open(address, timeout=FETCH_S) as answer:
        content = answer.read(ANSWER_BYTES_MAX + 1)
    if len(content) > ANSWER_BYTES_MAX:
        raise ValueError("The answer is too large.")
    parsed = json.loads(content)
    if not isinstance(parsed, dict):
        raise ValueError("The answer is no JSON object.")  # noqa: TRY004 - of another program
    return parsed
