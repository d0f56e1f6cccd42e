"""The server over HTTP: an application for one path of a larger one.

The larger application has to check hosts, origins and tokens. Requests are independent, so any
number of processes may serve one graph; an active context is a handle that the caller passes back.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio.to_thread
from mcp.server.transport_security import TransportSecuritySettings

from mycel.api.graph import Graph
from mycel.api.open_branches import OpenBranches
from mycel.knowledge.active_context import Contexts
from mycel.knowledge.knowledge import Knowledge
from mycel.mcp.messages import NoMessage, encode_message, read
from mycel.mcp.server import Runner, build_server

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

INLINE_BYTES_MAX: Final = 1 << 16
"""Larger bodies are parsed in a thread, off the event loop."""
_JSON: Final = [(b"content-type", b"application/json")]


def http_app(
    db: Graph,
    *,
    path: str,
    body_bytes_max: int,
    workspace: str,
    root: Path | None,
    contexts: Contexts,
    readonly: bool,
    branches: OpenBranches,
    runner: Runner,
    sampling: bool,
) -> Starlette:
    """An application that speaks MCP at a path.

    The caller has to run its lifespan. With `root`, files below it are shown if `PublishedFiles`
    allows them. `runner` runs functions on the graph in threads of the larger application.
    """
    rule = None
    if root is not None:
        # Imported late: it loads parsers of many languages.
        from mycel.knowledge.bootstrap.published_files import PublishedFiles  # noqa: PLC0415

        rule = PublishedFiles(root)
    server = build_server(
        db,
        Knowledge(db, workspace=workspace, root=root, file_rule=rule),
        contexts=contexts,
        readonly=readonly,
        branches=branches,
        runner=runner,
        sampling=sampling,
    )
    app = server.streamable_http_app(
        streamable_http_path=path,
        stateless_http=True,
        max_request_body_size=body_bytes_max,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    app.add_middleware(_Messages)
    _let_answers_be_given()
    return app


def _let_answers_be_given() -> None:
    """Keep streams open during shutdown until their calls are answered.

    sse_starlette would end all of them at once. The surrounding server ends the endless ones.
    """
    from sse_starlette.sse import AppStatus  # noqa: PLC0415 - only where HTTP is served

    keep_open = getattr(AppStatus, "disable_automatic_graceful_drain", None)
    if keep_open is not None:  # Older versions lack this function.
        keep_open()


class _Messages:
    """Middleware that answers an invalid message before the SDK does."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body = await _read_body(receive)
        if body is None:
            return  # The client disconnected.
        status = 400
        try:
            if not _says_json(scope):
                status = 415
                raise NoMessage(None, "Send `Content-Type: application/json`.")
            if len(body) > INLINE_BYTES_MAX:
                await anyio.to_thread.run_sync(read, body)
            else:
                read(body)
        except NoMessage as mistake:
            error_body = encode_message(mistake.answer)
            await send({"type": "http.response.start", "status": status, "headers": _JSON})
            await send({"type": "http.response.body", "body": error_body})
            return
        await self._app(scope, _replayed(body, receive), send)


def _says_json(scope: Scope) -> bool:
    kinds = [value for name, value in scope["headers"] if name == b"content-type"]
    return any(kind.partition(b";")[0].strip().lower() == b"application/json" for kind in kinds)


async def _read_body(receive: Receive) -> bytes | None:
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A receive function that first returns the body again, and then further messages."""
    left = [body]

    async def replay() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return replay
