"""A server with the embeddings API of OpenAI, which can be told to fail in several ways."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Event, Thread
from typing import Any

WORDS = ("car", "bee", "mill", "ice")


def vector_of(text: str) -> list[float]:
    """The counts of a few words in a text, and one more number, so that no vector is zero."""
    return [*(float(text.lower().count(word)) for word in WORDS), 0.1]


class Server(ThreadingHTTPServer):
    """Answers with `vector_of` each text, after the answers that are `planned`.

    A plan is a status with a body and headers; or "hang", which answers when the server ends.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.planned: list[Any] = []
        self.always: Any = None
        self.requests: list[dict[str, Any]] = []
        self.arrival = Condition()
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.ended = Event()
        self.answering = Event()
        """Requests wait while it is clear."""
        self.answering.set()

    @property
    def address(self) -> str:
        """The choice of its model "tiny"."""
        return f"http://127.0.0.1:{self.server_port}/v1#tiny"

    def wait_for_requests(self, count: int) -> None:
        """Returns once it has read this many requests, or after ten seconds."""
        with self.arrival:
            self.arrival.wait_for(lambda: len(self.requests) >= count, timeout=10)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone away is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with server.arrival:
            server.requests.append(body)
            server.arrival.notify_all()
        server.paths.append(self.path)
        server.headers.append(dict(self.headers))
        server.answering.wait()
        plan = server.planned.pop(0) if server.planned else server.always
        if plan == "hang":
            server.ended.wait()
            return
        status, content, headers = plan or (200, answer(body["input"]), {})
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name there
        pass


def answer(texts: Sequence[str]) -> bytes:
    """The answer to a request, with the vectors in another order than the texts."""
    data = [{"index": at, "embedding": vector_of(text)} for at, text in enumerate(texts)]
    return json.dumps({"object": "list", "data": data[::-1]}).encode()


@contextmanager
def serving() -> Iterator[Server]:
    """A server that runs."""
    with Server() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.ended.set()
            server.answering.set()
            server.shutdown()
            thread.join()
