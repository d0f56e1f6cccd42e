"""Embedders behind HTTP: servers with the embeddings API of OpenAI, such as Ollama and vLLM.

`http://localhost:11434/v1#nomic-embed-text` is the base address, and the model after `#`. Texts go
out in batches as `POST <base>/embeddings`. A request is sent again after an answer 408, 425, 429 or
5xx, or a broken connection: after the seconds of `Retry-After`, or a pause that doubles each time.
Redirects are not followed, because the key is only for the named server.

The key is the value of the environment variable `MYCEL_EMBEDDER_KEY`, read at each request. It is
sent in the header Authorization and never stored, logged or shown.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
from collections.abc import Sequence
from threading import Event
from typing import Final
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from mycel.embedding.vectors import unit
from mycel.errors import EmbedderFailed, InvalidValueType
from mycel.model.names import shorten

KEY_VARIABLE: Final = "MYCEL_EMBEDDER_KEY"
TEXTS_TOGETHER: Final = 64
TIMEOUT_S: Final = 30.0
ATTEMPTS: Final = 4
PAUSE_S: Final = 0.5
"""The pause before the second attempt; it doubles before each further one."""
PAUSE_S_MAX: Final = 30.0
ANSWER_BYTES_MAX: Final = 64 << 20
_AGAIN: Final = (408, 425, 429)


class _AgainError(Exception):
    """A failure after which another attempt may succeed, and the pause that the server asks for."""

    def __init__(self, message: str, after_s: float | None = None) -> None:
        super().__init__(message)
        self.after_s = after_s


class EmbeddingEndpoint:
    """One model of one server."""

    def __init__(self, address: str) -> None:
        """Check the address; nothing is sent.

        Raises:
            InvalidValueType: the name is no address with a model, or holds a password.
        """
        base, _, model = address.partition("#")
        try:
            parts = urlsplit(base)
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if not host or not model or parts.query or "@" in parts.netloc:
            raise InvalidValueType(
                "The address of an embedder is http(s)://HOST/v1#MODEL, without user, password or"
                " query.",
                hint=f"For example http://localhost:11434/v1#nomic-embed-text. A key goes into"
                f" the environment variable {KEY_VARIABLE}.",
            )
        self._model: Final = model
        self._dimensions: int | None = None
        self._host, self._port, self._is_tls = host, port, parts.scheme == "https"
        self._path: Final = f"{parts.path.rstrip('/')}/embeddings"
        self.name: Final = f"{base.rstrip('/')}#{model}"

    @property
    def dimensions(self) -> int:
        """The number of dimensions of its vectors, known from the first answer."""
        if self._dimensions is None:
            self.embed(["dimensions"])
        return self._dimensions or 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A vector of length one for each text, in order.

        Raises:
            EmbedderFailed: the server cannot be reached, refuses, or gives another answer.
        """
        batches = [
            self._batch(texts[at : at + TEXTS_TOGETHER])
            for at in range(0, len(texts), TEXTS_TOGETHER)
        ]
        if not batches:
            return np.zeros((0, self.dimensions), np.float32)
        try:
            vectors = unit(np.concatenate(batches))
        except ValueError:
            raise self._failed("gave vectors of different lengths") from None
        self._dimensions = self._dimensions or vectors.shape[1]
        return vectors

    def _batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        body = json.dumps({"model": self._model, "input": list(texts), "encoding_format": "float"})
        pause = PAUSE_S
        for attempt in range(ATTEMPTS):
            try:
                return self._vectors(self._answer(body.encode()), len(texts))
            except _AgainError as again:
                if attempt == ATTEMPTS - 1:
                    raise self._failed(f"{again} ({ATTEMPTS} attempts)") from None
                _wait(min(pause if again.after_s is None else again.after_s, PAUSE_S_MAX))
                pause *= 2
        raise AssertionError

    def _answer(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        key = os.environ.get(KEY_VARIABLE, "").strip()
        if not (key.isascii() and key.isprintable()):
            raise self._failed(f"was not asked: the value of {KEY_VARIABLE} is no key")
        if key:
            headers["Authorization"] = f"Bearer {key}"
        connection = self._connection()
        try:
            connection.request("POST", self._path, body, headers)
            answer = connection.getresponse()
            content = answer.read(ANSWER_BYTES_MAX + 1)
        except ssl.SSLCertVerificationError:
            raise self._failed("has a certificate that is not trusted") from None
        except (ConnectionRefusedError, socket.gaierror) as error:
            raise self._failed(f"cannot be reached ({type(error).__name__})") from None
        except TimeoutError:
            raise _AgainError(f"did not answer within {TIMEOUT_S:g} seconds") from None
        except (OSError, http.client.HTTPException) as error:
            raise _AgainError(f"broke the connection ({type(error).__name__})") from None
        finally:
            connection.close()
        status = answer.status
        if status in _AGAIN or status >= 500:
            raise _AgainError(f"answered {status}", _seconds(answer.getheader("Retry-After")))
        if status != 200:
            message = "" if status in (401, 403) else _error_message(content, key)
            raise self._failed(f"answered {status}{message}")
        if len(content) > ANSWER_BYTES_MAX:
            raise self._failed(f"answered with more than {ANSWER_BYTES_MAX >> 20} MiB")
        return content

    def _connection(self) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._is_tls else http.client.HTTPConnection
        return kind(self._host, self._port, timeout=TIMEOUT_S)

    def _vectors(self, content: bytes, count: int) -> NDArray[np.float32]:
        """The vectors of an answer, in the order of the texts."""
        try:
            data = json.loads(content)["data"]
            by_index = {row["index"]: row["embedding"] for row in data}
            vectors = np.array([by_index[at] for at in range(count)], np.float32)
        except (LookupError, TypeError, ValueError, RecursionError):
            vectors = np.zeros(0, np.float32)
        if vectors.ndim != 2 or not vectors.shape[1]:
            raise self._failed("did not answer with one vector for each text")
        return vectors

    def _failed(self, problem: str) -> EmbedderFailed:
        return EmbedderFailed(
            f"The embedder {self.name!r} {problem}.",
            hint=f"Check that the server runs and has the model; a key goes into {KEY_VARIABLE}.",
        )


def _seconds(text: str | None) -> float | None:
    """The value of Retry-After in seconds; a date counts as none."""
    return float(text) if text is not None and text.strip().isdecimal() else None


def _error_message(content: bytes, key: str) -> str:
    """The message of an error in the form of OpenAI, never with the key in it."""
    try:
        message = json.loads(content)["error"]["message"]
    except (LookupError, TypeError, ValueError, RecursionError):
        return ""
    text = shorten(str(message), 200)
    return f": {text}" if text and not (key and key in str(message)) else ""


def _wait(seconds: float) -> None:
    Event().wait(seconds)
