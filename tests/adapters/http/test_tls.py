"""A server that speaks TLS itself."""

import datetime
import ssl
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from mycel.errors import RemoteFailed
from mycel.remote.http_client import HttpClient
from tests.adapters.cli.conftest import in_process
from tests.adapters.http.conftest import Server


def write_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate of this machine, signed by itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "cert.pem", folder / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return paths


def test_a_server_speaks_tls_with_the_certificate_that_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = write_certificate(tmp_path)
    db = tmp_path / "g.db"
    options = ("--port", "0", "--tls-cert", certificate, "--tls-key", key)
    server = Server("mycel", "serve", "--json", "--db", db, *options)
    try:
        server.wait_until_ready()
        assert server.url.startswith("https://")
        trusted = ssl.create_default_context(cafile=certificate)
        url = server.url.replace("127.0.0.1", "localhost")
        with httpx.Client(verify=trusted) as client:
            information = client.get(f"{url}/").json()
            assert information["endpoints"]["kip"].startswith("https://")
            answer = client.post(f"{url}/kip", json={"command": "DESCRIBE PRIMER"})
            assert answer.status_code == 200
        with (
            closing(HttpClient(url)) as stranger,
            pytest.raises(RemoteFailed, match="is not trusted") as refusal,
        ):
            stranger.get_json("/refs")
        assert "SSL_CERT_FILE" in refusal.value.hint
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with closing(HttpClient(url)) as friend:
            assert friend.get_json("/refs")["branches"]
        try:
            plain = httpx.get(url.replace("https", "http") + "/").status_code
        except httpx.HTTPError:
            plain = 0
        assert plain == 0
    finally:
        server.end()
    other = tmp_path / "other.pem"
    other.write_text("no key")
    for words in (("--tls-cert", certificate), ("--tls-cert", certificate, "--tls-key", other)):
        refused = in_process("serve", "--db", db, "--port", "0", *words)
        assert refused.status in (1, 2)
        assert "Traceback" not in refused.stderr
