"""The routes of the explorer: its views, its writes, and the stream of commits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from mycel.api.graph import Graph
from mycel.api.open_branches import OpenBranches
from mycel.errors import MycelError
from mycel.explorer import saved
from mycel.explorer.conflicts import ACTIONS
from mycel.explorer.explorer import VIEWS, Explorer
from mycel.explorer.feed import format_event
from mycel.explorer.open_explorers import OpenExplorers
from mycel.explorer.parameters import checked, integer_parameter
from mycel.http.live_stream import Watcher
from mycel.http.page_routes import API, page_routes
from mycel.http.policy import Policy
from mycel.http.request_values import given_parameters
from mycel.http.responses import JSON, encode, refusal
from mycel.http.worker_pool import Workers

NAMES_AFTER_S: Final = 1.0
"""Indexing of names begins this long after that of counts, so that the page can be drawn first."""

T = TypeVar("T")


class ExplorerRoutes:
    """The handlers of the explorer's routes."""

    def __init__(
        self,
        db: Graph,
        policy: Policy,
        branches: OpenBranches,
        workers: Workers,
        workspace: str,
        root: Path | None,
    ) -> None:
        self._db: Final = db
        self._policy: Final = policy
        self._branches: Final = branches
        self._workers: Final = workers
        self._explorers: Final = OpenExplorers(
            workspace, readonly=policy.readonly, timeout_s=policy.timeout_s, root=root
        )
        self._watchers: Final[dict[str, Watcher]] = {}
        self._warming: set[asyncio.Task[None]] = set()

    def routes(self) -> list[Route]:
        views = [
            Route(
                f"{API}/{name}",
                partial(self._view, name),
                methods=["GET", "POST"] if view.has_body else ["GET"],
            )
            for name, view in VIEWS.items()
        ]
        return [
            *page_routes(self._policy, self._workers, self.warm),
            Route(f"{API}/changes", self._changes, methods=["GET"]),
            Route(f"{API}/write", self._write, methods=["POST"]),
            *(
                Route(f"{API}/conflicts/{action}", partial(self._act, action), methods=["POST"])
                for action in ACTIONS
            ),
            *(
                Route(f"{API}/saved/{action}", partial(self._save, action), methods=["POST"])
                for action in saved.ACTIONS
            ),
            *views,
        ]

    # Warming up.

    def warm(self) -> None:
        """Compute the first data of the page in the background."""
        if self._warming:
            return

        async def warm() -> None:
            try:
                await self._run(None, lambda db: self._explorers.of(db).warm())
                await asyncio.sleep(NAMES_AFTER_S)
                await self._run(None, lambda db: self._explorers.of(db).warm_names())
            except MycelError:
                return  # The next request reports the error.

        task = asyncio.create_task(warm())
        self._warming.add(task)
        task.add_done_callback(self._warming.discard)

    # Views and writes.

    async def _view(self, name: str, request: Request) -> Response:
        try:
            branch, given = await given_parameters(request)
            return await self._answer(request, branch, lambda explorer: explorer.view(name, given))
        except MycelError as error:
            return refusal(error)

    async def _write(self, request: Request) -> Response:
        try:
            branch, given = await given_parameters(request)
            return await self._answer(request, branch, lambda explorer: explorer.write(given))
        except MycelError as error:
            return refusal(error)

    async def _act(self, action: str, request: Request) -> Response:
        try:
            branch, given = await given_parameters(request)
            return await self._answer(request, branch, lambda explorer: explorer.act(action, given))
        except MycelError as error:
            return refusal(error)

    async def _save(self, action: str, request: Request) -> Response:
        try:
            branch, given = await given_parameters(request)
            return await self._answer(
                request, branch, lambda explorer: explorer.change_saved(action, given)
            )
        except MycelError as error:
            return refusal(error)

    async def _answer(
        self,
        request: Request,
        branch: str | None,
        work: Callable[[Explorer], Mapping[str, Any]],
    ) -> Response:
        def run(db: Graph) -> bytes:
            db.check_in_place()
            return encode(work(self._explorers.of(db)))

        return Response(await self._run(branch, run, request), media_type=JSON)

    async def _run(
        self, branch: str | None, work: Callable[[Graph], T], request: Request | None = None
    ) -> T:
        """Run work in a thread, for one request or for the streams together."""

        def run() -> T:
            with self._branches.using(branch) as db:
                return work(db)

        if request is None:
            return await self._workers.run_apart(run, timeout_s=self._policy.timeout_s)
        return await self._workers.run(request.scope, run)

    # The stream of commits.

    async def _changes(self, request: Request) -> Response:
        try:
            branch, given = await given_parameters(request)
            given.setdefault("after", request.headers.get("last-event-id"))
            after = checked(
                "changes", {"after": integer_parameter("A position", None, 1 << 62, 0)}, given
            )
            await self._run(branch, lambda db: db.check_in_place(), request)
        except MycelError as error:
            return refusal(error)
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
                    if not self._policy.admits(authorization):
                        yield format_event("bye", {"reason": "revoked"})
                        return
                    yield event
        except MycelError:
            yield format_event("bye", {"reason": "gone"})
