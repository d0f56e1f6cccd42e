"""Requests to a server of another workspace: bounded in time and size, without redirects.

The server is not trusted: it may send endless answers, wrong lengths or redirects. A redirect is an
error, because the token would be sent to its target.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import Event, Timer
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import orjson

from mycel.errors import REGISTRY, AccessDenied, MycelError, NotFound, RemoteFailed
from mycel.model.names import shorten

PATH_HEADER: Final = "mycel-path"
"""The header that limits a request to the elements under a path of the workspace."""
TIMEOUT_S: Final = 30.0
"""The time for one answer, from the request to its last byte."""
JSON_BYTES_MAX: Final = 32 << 20
JOURNAL_BYTES_MAX: Final = 128 << 20
LINE_BYTES_MAX: Final = 1 << 20
SILENCE_S: Final = 60.0
"""A stream is given up after this time without a byte; a server sends a comment every 15 s."""
_CHUNK: Final = 1 << 16


class RemoteResponse(NamedTuple):
    """One answer."""

    status: int
    body: bytes
    etag: str = ""


class HttpClient:
    """A connection to one address, opened when it is needed."""

    def __init__(
        self, url: str, token: str = "", *, path: str = "", timeout_s: float = TIMEOUT_S
    ) -> None:
        """Take an address and its token; `path` limits requests to the elements under it."""
        parts = urlsplit(url)
        self._host: Final = parts.hostname or ""
        self._port: Final = parts.port
        self._is_tls: Final = parts.scheme == "https"
        self._path: Final = parts.path.rstrip("/")
        self._headers: Final = {"accept-encoding": "identity"}
        if token:
            self._headers["authorization"] = f"Bearer {token}"
        if path:
            self._headers[PATH_HEADER] = quote(path, safe="/*:@")
        self._timeout_s: Final = timeout_s
        self._connection: http.client.HTTPConnection | None = None
        self.received = 0
        """The bytes of all bodies so far."""

    def get_json(self, path: str, query: Sequence[tuple[str, Any]] = ()) -> dict[str, Any]:
        """Send a request and return the JSON of its answer; raises the error in the answer."""
        return self.json_of(self.request("GET", path, query))

    def json_of(self, response: RemoteResponse) -> dict[str, Any]:
        """The JSON of an answer; raises the error if the answer is one.

        Raises:
            MycelError: the error that the server names.
            RemoteFailed: the answer is not JSON.
        """
        try:
            payload = orjson.loads(response.body)
        except orjson.JSONDecodeError:
            payload = None
        if not isinstance(payload, dict):
            raise RemoteFailed(f"{self._host} answered {response.status}, without JSON.")
        if response.status >= 400:
            raise error_of(self._host, response.status, payload)
        return payload

    def request(
        self,
        method: str,
        path: str,
        query: Sequence[tuple[str, Any]] = (),
        *,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        bytes_max: int = JSON_BYTES_MAX,
    ) -> RemoteResponse:
        """One request.

        If the server has closed the connection, a reading request opens it again, once.

        Raises:
            RemoteFailed: there is no answer within the limits.
        """
        target = self._path + path + (f"?{urlencode(query)}" if query else "")
        sent = dict(headers or {}) | self._headers
        content = None
        if body is not None:
            content = orjson.dumps(body)
            sent["content-type"] = "application/json"
        is_fresh = self._connection is None
        try:
            return self._exchange(method, target, content, sent, bytes_max)
        except (http.client.HTTPException, ConnectionError) as error:
            self.close()
            if is_fresh or method != "GET":
                raise self._failed(error) from None
        except (OSError, ValueError) as error:
            self.close()
            raise self._failed(error) from None
        try:
            return self._exchange(method, target, content, sent, bytes_max)
        except (http.client.HTTPException, OSError, ValueError) as error:
            self.close()
            raise self._failed(error) from None

    def lines(self, path: str, query: Sequence[tuple[str, Any]] = ()) -> Iterator[bytes]:
        """The lines of an endless answer, as they arrive, on a separate connection.

        Raises:
            RemoteFailed: the connection is cut or silent for too long, or the answer has another
                form.
            MycelError: the error that the server names.
        """
        connection = self._connect(SILENCE_S)
        try:
            target = self._path + path + (f"?{urlencode(query)}" if query else "")
            connection.request("GET", target, None, self._headers)
            response = connection.getresponse()
            self._check_no_redirect(response.status)
            if response.status != 200:
                body = response.read(JSON_BYTES_MAX)
                self.json_of(RemoteResponse(response.status, body))
                raise RemoteFailed(f"{self._host} answered {response.status}.")
            while line := response.readline(LINE_BYTES_MAX):
                self.received += len(line)
                if not line.endswith(b"\n"):
                    raise RemoteFailed(f"{self._host} sent a line that does not end.")
                yield line.rstrip(b"\r\n")
        except (http.client.HTTPException, OSError, ValueError) as error:
            raise self._failed(error) from None
        finally:
            connection.close()

    def _exchange(
        self,
        method: str,
        target: str,
        content: bytes | None,
        headers: Mapping[str, str],
        bytes_max: int,
    ) -> RemoteResponse:
        deadline = time.monotonic() + self._timeout_s
        connection = self._connection = self._connection or self._connect(self._timeout_s)
        with self._cut_after(connection):
            connection.request(method, target, content, dict(headers))
            response = connection.getresponse()
        if response.status != 304:
            self._check_no_redirect(response.status)
        parts, size = [], 0
        while part := response.read1(_CHUNK):
            size += len(part)
            if size > bytes_max:
                self.close()
                raise RemoteFailed(f"{self._host} sent more than {bytes_max} bytes.")
            if time.monotonic() > deadline:
                self.close()
                raise self._too_slow()
            parts.append(part)
        response.close()  # The rest is read so that the connection can be used again.
        stated = response.getheader("content-length")
        if stated is not None and response.status != 304 and int(stated) != size:
            self.close()
            raise RemoteFailed(
                f"The connection to {self._host} was cut in the middle of an answer."
            )
        self.received += size
        return RemoteResponse(response.status, b"".join(parts), response.getheader("etag") or "")

    @contextmanager
    def _cut_after(self, connection: http.client.HTTPConnection) -> Iterator[None]:
        """Cut a connection whose answer does not begin in time.

        The timeout of a socket restarts with each byte, so a slow server could go on forever.
        """
        is_late = Event()

        def cut() -> None:
            is_late.set()
            if connection.sock is not None:
                with suppress(OSError):
                    connection.sock.shutdown(socket.SHUT_RDWR)

        timer = Timer(self._timeout_s, cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        except (http.client.HTTPException, OSError):
            if not is_late.is_set():
                raise
        finally:
            timer.cancel()
        if is_late.is_set():
            self.close()
            raise self._too_slow()

    def _too_slow(self) -> RemoteFailed:
        return RemoteFailed(f"{self._host} took more than {self._timeout_s:.3g} s.")

    def _check_no_redirect(self, status: int) -> None:
        if 300 <= status < 400:
            self.close()
            raise RemoteFailed(
                f"{self._host} redirects to another address, which is not followed.",
                hint="Register the address that it redirects to, if you trust it.",
            )

    def _connect(self, timeout_s: float) -> http.client.HTTPConnection:
        if not self._is_tls:
            return http.client.HTTPConnection(self._host, self._port, timeout=timeout_s)
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=timeout_s, context=context
        )

    def _failed(self, error: Exception) -> RemoteFailed:
        reason = str(error) or type(error).__name__
        if isinstance(error, ssl.SSLCertVerificationError):
            return RemoteFailed(
                f"The certificate of {self._host} is not trusted: {shorten(reason, 200)}.",
                hint="If an authority of your own has signed it, set SSL_CERT_FILE to its"
                " certificate.",
            )
        return RemoteFailed(f"{self._host} cannot be reached: {shorten(reason, 200)}.")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def error_of(host: str, status: int, payload: Mapping[str, Any]) -> MycelError:
    """The error in an answer as a `MycelError`."""
    told_error = payload.get("error")
    content = told_error if isinstance(told_error, dict) else {}
    message = shorten(str(content.get("message", f"{host} answered {status}.")), 500)
    hint = shorten(str(content.get("hint", "")), 500)
    data = content.get("data") if isinstance(content.get("data"), dict) else {}
    if status == 401:
        hint = "It is missing, wrong, expired or revoked; `mycel remote list` shows its source."
        return AccessDenied(f"{host} does not accept the token.", hint=hint)
    if status == 403:
        return AccessDenied(message, hint=hint)
    if status == 404:
        return NotFound(message, hint=hint, data=data)
    kind = REGISTRY.get(str(content.get("name")))
    if kind is None or status >= 500:
        return RemoteFailed(f"{host}: {message}", hint=hint)
    return kind(message, hint=hint, data=data)
