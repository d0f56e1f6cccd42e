"""An issuer of tokens: a server of its own with metadata, keys, and tokens that it signs."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

KEYS: dict[str, Any] = {
    "RS256": rsa.generate_private_key(public_exponent=65537, key_size=2048),
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate(),
}
_MAKERS: dict[str, Any] = {"RS256": RSAAlgorithm, "ES256": ECAlgorithm, "EdDSA": OKPAlgorithm}


class Issuer:
    """A running issuer."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.keys = {f"key-{name}": (name, key) for name, key in KEYS.items()}
        self.asked: list[str] = []
        self.metadata: dict[str, Any] = {"issuer": url, "jwks_uri": f"{url}/jwks"}

    def jwks(self) -> dict[str, Any]:
        keys = []
        for id_, (algorithm, key) in self.keys.items():
            public = json.loads(_MAKERS[algorithm].to_jwk(key.public_key()))
            keys.append(public | {"kid": id_, "alg": algorithm, "use": "sig"})
        return {"keys": keys}

    def token(self, *, algorithm: str = "RS256", key: Any = None, **given: Any) -> str:
        """A token; None as a claim leaves it out, and `headers` are those of the token."""
        now = int(time.time())
        headers = {"kid": f"key-{algorithm}", "typ": "at+jwt"} | given.pop("headers", {})
        claims = {"iss": self.url, "sub": "ada", "iat": now, "exp": now + 300, **given}
        claims = {name: value for name, value in claims.items() if value is not None}
        signer = key if key is not None else self.keys[f"key-{algorithm}"][1]
        return jwt.encode(claims, signer, algorithm=algorithm, headers=headers)


@contextmanager
def running_issuer() -> Iterator[Issuer]:
    """An issuer on a free port of this machine."""
    issuer: Issuer

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.asked.append(self.path)
            answers = {
                "/.well-known/oauth-authorization-server": issuer.metadata,
                "/jwks": issuer.jwks(),
            }
            body = json.dumps(answers.get(self.path, {})).encode()
            self.send_response(200 if self.path in answers else 404)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        issuer = Issuer(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield issuer
        finally:
            server.shutdown()
            thread.join()
