"""Tokens of an external issuer: what they open, and those that open nothing."""

import base64
import json
import time
from collections.abc import Iterator
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from mycel.errors import MycelError
from mycel.sharing.oauth import TrustedIssuers, read_settings
from tests.adapters.http.issuer import KEYS, Issuer, running_issuer
from tests.adapters.http.team import Team, team
from tests.adapters.http.test_workspaces import CONCEPT, NODE
from tests.adapters.remote.test_clones import lying

__all__ = ["team"]

RESOURCE = "https://graph.example.org"
FIND = 'FIND(?c.name) WHERE { ?c {type: "Concept"} }'
URI = {"uri": "concept://shop/infra/db", "text": "x"}
SETTINGS = """
resource = "{resource}"
[[issuer]]
issuer = "{issuer}"
claims = ["scope", "roles"]
[issuer.scopes]
"graph:read" = ["read:/**"]
"graph:admin" = ["admin:/**"]
"infra" = ["read:/**", "write:/infra/**@main"]
"""


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with running_issuer() as issuer:
        yield issuer


def serve(team: Team, issuer: Issuer, tmp_path: Path) -> None:
    settings = tmp_path / "oauth.toml"
    settings.write_text(SETTINGS.format(resource=RESOURCE, issuer=issuer.url))
    team.serve("--oauth", str(settings))


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def test_a_token_of_the_issuer_opens_what_its_claims_say(
    team: Team, issuer: Issuer, tmp_path: Path
) -> None:
    team.add("shop", "ops")
    local = team.token("root", "admin:/**")
    serve(team, issuer, tmp_path)
    assert team.kip(local, "shop", CONCEPT).is_success
    reader = issuer.token(aud=RESOURCE, scope="openid graph:read")
    assert team.kip(reader, "shop", FIND).json()["result"] == []
    assert team.kip(reader, "shop", NODE, **URI).status_code == 403
    for algorithm in KEYS:
        writer = issuer.token(
            algorithm=algorithm, aud=[RESOURCE, "other"], scope="", roles=["infra"], sub="bob"
        )
        assert team.kip(writer, "shop", NODE, **URI | {"text": algorithm}).status_code == 200
    outside = {"uri": "concept://shop/other", "text": "x"}
    assert team.kip(writer, "shop", NODE, **outside).status_code == 403
    log = team.ask("POST", "/ws/shop/kip", reader, json={"method": "list_logs"}).json()["result"]
    assert log[0]["actor"] == "bob@127.0.0.1"
    # A token for one workspace opens that one alone.
    narrow = issuer.token(aud=f"{RESOURCE}/ws/shop/mcp", scope="graph:read")
    assert team.kip(narrow, "shop", FIND).status_code == 200
    assert team.ask("GET", "/ws/ops/", narrow).status_code == 404
    assert [w["workspace"] for w in team.ask("GET", "/ws", narrow).json()["workspaces"]] == ["shop"]
    # Unknown scopes mean nothing.
    assert team.ask("GET", "/ws/shop/", issuer.token(aud=RESOURCE, scope="x")).status_code == 404
    admin = issuer.token(aud=RESOURCE, scope="graph:admin")
    entries = team.ask("GET", "/audit", admin).json()["entries"]
    assert any(entry["token"].startswith("oauth-") for entry in entries)


def test_a_client_is_told_where_tokens_come_from(
    team: Team, issuer: Issuer, tmp_path: Path
) -> None:
    team.add("shop")
    serve(team, issuer, tmp_path)
    known = f"{RESOURCE}/.well-known/oauth-protected-resource"
    for path, suffix in (("/ws/shop/mcp", "/ws/shop/mcp"), ("/audit", "")):
        refused = team.ask("GET", path)
        assert refused.status_code == 401
        challenge = refused.headers["www-authenticate"]
        assert f'resource_metadata="{known}{suffix}"' in challenge
        assert 'scope="graph:admin graph:read infra"' in challenge
        assert "error=" not in challenge
        metadata = team.ask("GET", f"/.well-known/oauth-protected-resource{suffix}").json()
        assert metadata["resource"] == f"{RESOURCE}{suffix}"
        assert metadata["authorization_servers"] == [issuer.url]
        assert metadata["scopes_supported"] == ["graph:admin", "graph:read", "infra"]
    wrong = team.ask("GET", "/ws/shop/mcp", "nonsense")
    assert 'error="invalid_token"' in wrong.headers["www-authenticate"]
    reader = issuer.token(aud=RESOURCE, scope="graph:read")
    refused = team.kip(reader, "shop", CONCEPT)
    assert refused.status_code == 403
    assert 'error="insufficient_scope"' in refused.headers["www-authenticate"]
    # Whether there is a workspace is not told without a token.
    there, absent = (
        team.ask("GET", f"/.well-known/oauth-protected-resource/ws/{name}").text
        for name in ("shop", "shoq")
    )
    assert there == absent.replace("shoq", "shop")


def test_tokens_that_are_forged_old_or_for_others_open_nothing(
    team: Team, issuer: Issuer, tmp_path: Path
) -> None:
    team.add("shop")
    serve(team, issuer, tmp_path)
    now = int(time.time())
    good = {"aud": RESOURCE, "scope": "graph:admin"}
    right = issuer.token(**good)
    assert team.ask("GET", "/ws/shop/", right).status_code == 200
    head, body, signature = right.split(".")
    claims = {"iss": issuer.url, "sub": "eve", "iat": now, "exp": now + 300} | good
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = (
        KEYS["RS256"]
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )

    def by_hand(header: dict[str, object], key: bytes) -> str:
        """A token with a shared secret, which no library would sign with a public key."""
        signed = f"{part(header)}.{part(claims)}"
        made = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
        raw = made.sign(signed.encode(), key)
        return f"{signed}.{base64.urlsafe_b64encode(raw).rstrip(b'=').decode()}"

    with running_issuer() as other:
        wrong = {
            "no signature": f"{part({'alg': 'none'})}.{part(claims)}.",
            "none, written otherwise": f"{part({'alg': 'nOnE', 'kid': 'key-RS256'})}.{body}.",
            "another key": issuer.token(key=stranger, **good),
            "public key as a secret": by_hand({"alg": "HS256", "kid": "key-RS256"}, public),
            "id as a secret": by_hand({"alg": "HS256", "kid": "key-RS256"}, b"key-RS256"),
            "key of another kind": issuer.token(headers={"kid": "key-ES256"}, **good),
            "unknown key": issuer.token(headers={"kid": "../jwks"}, **good),
            "key in the token": issuer.token(
                key=stranger, headers={"kid": "key-x", "jku": f"{other.url}/jwks"}, **good
            ),
            "critical extension": issuer.token(headers={"crit": ["x"], "x": 1}, **good),
            "another type": issuer.token(headers={"typ": "logout+jwt"}, **good),
            "another audience": issuer.token(**good | {"aud": "https://other.example.org"}),
            "audience that begins alike": issuer.token(**good | {"aud": f"{RESOURCE}.evil.org"}),
            "no audience": issuer.token(**good | {"aud": None}),
            "another issuer": other.token(**good),
            "issuer in name alone": other.token(key=stranger, iss=issuer.url, **good),
            "expired": issuer.token(exp=now - 60, **good),
            "no end": issuer.token(exp=None, **good),
            "not yet": issuer.token(nbf=now + 600, **good),
            "no subject": issuer.token(sub=None, **good),
            "an actor of the system": issuer.token(sub="\n$self", **good),
            "truncated": right[:-2],
            "without signature": f"{head}.{body}.",
            "other claims": f"{head}.{part(claims)}.{signature}",
            "too long": right + "A" * 9000,
            "no JSON": f"{part([])}.{body}.{signature}",
        }
        statuses = {
            name: team.ask("GET", "/ws/shop/", text).status_code for name, text in wrong.items()
        }
        # Many wrong tokens from one address are slowed down, and still open nothing.
        assert set(statuses.values()) <= {401, 429}, statuses
        assert not other.asked  # Nobody is asked whom a token names.


def test_a_key_that_is_taken_back_counts_no_more_and_a_new_one_does(
    team: Team, issuer: Issuer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mycel.sharing import oauth

    monkeypatch.setattr(oauth, "RETRY_S", 0.0)
    monkeypatch.setattr(oauth, "REFRESH_S", 0.0)
    path = tmp_path / "oauth.toml"
    path.write_text(SETTINGS.format(resource=RESOURCE, issuer=issuer.url))
    issuers = oauth.TrustedIssuers(read_settings(path))
    issuers.wait()
    old = issuer.token(aud=RESOURCE, scope="graph:read")
    assert issuers.grant(old) is not None
    fresh = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    issuer.keys = {"key-new": ("RS256", fresh)}
    new = issuer.token(key=fresh, headers={"kid": "key-new"}, aud=RESOURCE, scope="graph:read")
    assert issuers.grant(new) is None
    issuers.wait()
    assert issuers.grant(new) is not None
    issuers.wait()
    assert issuers.grant(old) is None


def test_settings_that_trust_something_unsafe_are_refused(tmp_path: Path, issuer: Issuer) -> None:
    right = SETTINGS.format(resource=RESOURCE, issuer=issuer.url)
    wrong = {
        "no TOML": "x",
        "no issuer": 'resource = "https://a"',
        "no TLS": right.replace(issuer.url, "http://login.example.org"),
        "no resource": right.replace(RESOURCE, ""),
        "unknown key": right.replace("claims", "claim"),
        "wrong scope": right.replace("read:/**", "read:/../**"),
        "no list": right.replace('["scope", "roles"]', "1"),
    }
    for text in wrong.values():
        path = tmp_path / "oauth.toml"
        path.write_text(text)
        with pytest.raises(MycelError):
            read_settings(path)
    # Metadata about another issuer gives no keys.
    issuer.metadata["issuer"] = "http://127.0.0.1:1"
    path.write_text(right)
    issuers = TrustedIssuers(read_settings(path))
    issuers.wait()
    assert issuers.grant(issuer.token(aud=RESOURCE, scope="graph:read")) is None


def test_an_issuer_that_lies_gives_no_keys_and_breaks_nothing(
    tmp_path: Path, issuer: Issuer
) -> None:
    path = tmp_path / "oauth.toml"
    token = issuer.token(aud=RESOURCE, scope="graph:read")
    keys = json.dumps(issuer.jwks()).encode()
    broken = [{"kty": "RSA", "kid": ["x"], "n": 7}, {"kty": "EC", "crv": "P-256", "x": "?"}, 7]
    some = json.dumps({"keys": [*broken, *issuer.jwks()["keys"]]}).encode()
    elsewhere = {"location": f"{issuer.url}/jwks"}
    for answer, is_read in (
        ((200, {}, keys), True),
        ((200, {}, some), True),  # A broken key does not take the others with it.
        ((302, elsewhere, b""), False),
        ((301, {"location": "file:///etc/passwd"}, b""), False),
        ((200, {}, b" " * (2 << 20) + keys), False),
        ((200, {"content-length": "99999"}, keys[:-10]), False),
        ((200, {}, b"[" * 100_000), False),
        ((200, {}, b"[]"), False),
        ((200, {}, b'{"keys": 7}'), False),
        ((500, {}, keys), False),
    ):
        with lying(lambda _, answer=answer: answer) as url:  # type: ignore[misc]
            text = SETTINGS.format(resource=RESOURCE, issuer=issuer.url)
            path.write_text(text.replace("claims =", f'jwks_uri = "{url}/jwks"\nclaims ='))
            issuers = TrustedIssuers(read_settings(path))
            issuers.wait()
            assert (issuers.grant(token) is not None) == is_read, answer[:2]
    assert not issuer.asked
    for address in ("file:///etc/passwd", "http://169.254.169.254/jwks", "ftp://x/y", None, 7):
        issuer.metadata["jwks_uri"] = address
        path.write_text(SETTINGS.format(resource=RESOURCE, issuer=issuer.url))
        issuers = TrustedIssuers(read_settings(path))
        issuers.wait()
        assert issuers.grant(token) is None, address
