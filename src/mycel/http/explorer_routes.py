"""The routes of the explorer: its views, its writes, and the stream of commits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from mycel.api.graph import Graph
from mycel.errors import MycelError
from mycel.explorer import saved
from mycel.explorer.conflicts import ACTIONS
from mycel.explorer.edits import COMMON, OPERATIONS
from mycel.explorer.explorer import VIEWS, Explorer, View
from mycel.explorer.feed import format_event
from mycel.explorer.parameters import Argument, Parameters, checked, integer_parameter
from mycel.http.endpoints import Endpoint, EndpointCall, EndpointReply, Served, reply
from mycel.http.live_stream import Watcher
from mycel.http.page_routes import API, page_routes
from mycel.http.request_values import given_parameters

NAMES_AFTER_S: Final = 1.0
"""Indexing of names begins this long after that of counts, so that the page can be drawn first."""

T = TypeVar("T")

_ANSWER: Final = {
    "type": "object",
    "description": "The view; `position` is the journal position of the shown state.",
    "properties": {"position": {"type": ["integer", "null"]}},
    "required": ["position"],
}


def _by_explorer(work: Callable[..., Mapping[str, Any]]) -> Callable[[EndpointCall], EndpointReply]:
    """Run a method of the explorer, which checks its parameters."""
    return lambda call: reply(work(call.served.explorers.of(call.db), arguments=call.values))


def _view(method: str, name: str, view: View) -> Endpoint:
    run, path = _by_explorer(partial(Explorer.view, name=name)), f"{API}/{name}"
    return Endpoint(
        method, path, view.description, run, view.parameters, is_checked=False, answer=_ANSWER
    )


def _write(
    path: str, summary: str, parameters: Parameters, work: Callable[..., Mapping[str, Any]]
) -> Endpoint:
    run = _by_explorer(work)
    return Endpoint("POST", f"{API}/{path}", summary, run, parameters, is_checked=False)


_VALUES_OF_WRITES: Final = {
    key: replace(parameter, required=False)
    for parameters in (COMMON, *(operation.parameters for operation in OPERATIONS.values()))
    for key, parameter in parameters.items()
}
_WRITE: Final = {
    "op": Argument("text", "The kind of write", words=tuple(OPERATIONS), required=True)
} | _VALUES_OF_WRITES

EXPLORER_ENDPOINTS: Final = (
    *(_view("GET", name, view) for name, view in VIEWS.items()),
    *(_view("POST", name, view) for name, view in VIEWS.items() if view.has_body),
    *(
        _write(
            f"conflicts/{action}",
            f"{action.capitalize()} an open merge, or its conflicts",
            parameters,
            partial(Explorer.act, action=action),
        )
        for action, parameters in ACTIONS.items()
    ),
    *(
        _write(
            f"saved/{action}",
            f"{action.capitalize()} a saved view",
            parameters,
            partial(Explorer.change_saved, action=action),
        )
        for action, parameters in saved.ACTIONS.items()
    ),
    _write("write", "Write, and get the commit", _WRITE, Explorer.write),
)


class ExplorerRoutes:
    """The other routes of the explorer: its page, and the stream of commits."""

    def __init__(self, db: Graph, served: Served) -> None:
        self._db: Final = db
        self._served: Final = served
        self._watchers: Final[dict[str, Watcher]] = {}
        self._warming: set[asyncio.Task[None]] = set()

    def routes(self) -> list[Route]:
        return [
            *page_routes(self._served.policy, self._served.workers, self.warm),
            Route(f"{API}/changes", self._changes, methods=["GET"]),
        ]

    # Warming up.

    def warm(self) -> None:
        """Compute the first data of the page in the background."""
        if self._warming:
            return

        async def warm() -> None:
            try:
                await self._run(None, lambda db: self._served.explorers.of(db).warm())
                await asyncio.sleep(NAMES_AFTER_S)
                await self._run(None, lambda db: self._served.explorers.of(db).warm_names())
            except MycelError:
                return  # The next request reports the error.

        task = asyncio.create_task(warm())
        self._warming.add(task)
        task.add_done_callback(self._warming.discard)

    async def _run(
        self, branch: str | None, work: Callable[[Graph], T], request: Request | None = None
    ) -> T:
        """Run work in a thread, for one request or for the streams together."""

        def run() -> T:
            with self._served.branches.using(branch) as db:
                return work(db)

        if request is None:
            timeout_s = self._served.policy.timeout_s
            return await self._served.workers.run_apart(run, timeout_s=timeout_s)
        return await self._served.workers.run(request.scope, run)

    # The stream of commits.

    async def _changes(self, request: Request) -> Response:
        branch, values = await given_parameters(request)
        values.setdefault("after", request.headers.get("last-event-id"))
        after = checked(
            "changes", {"after": integer_parameter("A position", None, 1 << 62, 0)}, values
        )
        await self._run(branch, lambda db: db.check_in_place(), request)
        return StreamingResponse(
            self._stream(branch, after["after"], request.headers.get("authorization")),
            media_type="text/event-stream",
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )

    async def _stream(
        self, branch: str | None, after: int | None, authorization: str | None
    ) -> AsyncIterator[bytes]:
        """The events of one stream, until its session is revoked."""
        name = branch or self._db.branch
        watcher = self._watchers.get(name)
        if watcher is None:
            run: Callable[[Callable[[Graph], Any]], Awaitable[Any]] = partial(self._run, branch)
            watcher = self._watchers[name] = Watcher(run)
        try:
            async with aclosing(watcher.events(after)) as events:
                async for event in events:
                    if not self._served.policy.admits(authorization):
                        yield format_event("bye", {"reason": "revoked"})
                        return
                    yield event
        except MycelError:
            yield format_event("bye", {"reason": "gone"})
