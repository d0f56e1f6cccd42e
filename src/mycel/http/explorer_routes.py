"""The routes of the explorer: its page, its views, its writes, and the stream of commits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from mycel.api.graph import Graph
from mycel.api.open_branches import OpenBranches
from mycel.errors import (
    AccessDenied,
    MycelError,
)
from mycel.explorer import bundle, saved
from mycel.explorer.conflicts import ACTIONS
from mycel.explorer.explorer import VIEWS, Explorer
from mycel.explorer.feed import format_event
from mycel.explorer.open_explorers import OpenExplorers
from mycel.explorer.parameters import checked, integer_parameter
from mycel.http.live_stream import Watcher
from mycel.http.policy import Policy
from mycel.http.request_values import given_parameters
from mycel.http.responses import JSON, answer, encode, refusal
from mycel.http.sessions import SESSION_S
from mycel.http.worker_pool import Workers

PAGE: Final = "/ui/"
API: Final = "/api"
TICKET: Final = f"{API}/ticket"
NAMES_AFTER_S: Final = 1.0
"""The names are indexed so long after the counts: the page is drawn meanwhile."""

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'; require-trusted-types-for 'script';"
    " trusted-types dompurify mycel"
)
_PAGE_HEADERS: Final = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
}
_FOREVER: Final = "public, max-age=31536000, immutable"

T = TypeVar("T")


def is_public(method: str, path: str, accept: str) -> bool:
    """True for a request that needs no token: the page itself, and the exchange of a ticket."""
    if method == "POST":
        return path == TICKET
    return path in ("/ui", PAGE) or path.startswith(PAGE) or (path == "/" and wants_page(accept))


def wants_page(accept: str) -> bool:
    """True if a request is that of a browser which opens an address.

    >>> wants_page("text/html,application/xhtml+xml,*/*;q=0.8"), wants_page("*/*")
    (True, False)
    """
    return any(part.partition(";")[0].strip().lower() == "text/html" for part in accept.split(","))


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
        """All routes."""
        views = [
            Route(
                f"{API}/{name}",
                partial(self._view, name),
                methods=["GET", "POST"] if view.has_body else ["GET"],
            )
            for name, view in VIEWS.items()
        ]
        return [
            Route("/ui", self._to_page, methods=["GET"]),
            Route(PAGE, self._page, methods=["GET"]),
            Route(f"{PAGE}{{name}}", self._page, methods=["GET"]),
            Route(TICKET, self._ticket, methods=["POST"]),
            Route(f"{API}/signout", self._sign_out, methods=["POST"]),
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

    # The page.

    async def _to_page(self, _request: Request) -> Response:
        return RedirectResponse(PAGE, 307)

    async def _page(self, request: Request) -> Response:
        """A file of the page; a look at the page makes the counts that it asks for next."""
        name = request.path_params.get("name", bundle.INDEX)
        try:
            # In a thread: a file is read and packed when it is first asked for.
            asset = await self._workers.run(request.scope, partial(bundle.asset, name))
        except MycelError as error:
            return refusal(error)
        headers = {"etag": f'"{asset.tag}"', "vary": "accept-encoding"}
        headers["cache-control"] = _FOREVER if asset.is_hashed else "no-cache"
        if asset.is_page:
            headers |= _PAGE_HEADERS
            self.warm()
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        accepted = request.headers.get("accept-encoding", "")
        if asset.gzipped is not None and "gzip" in accepted:
            headers["content-encoding"] = "gzip"
            return Response(asset.gzipped, headers=headers, media_type=asset.kind)
        return Response(asset.content, headers=headers, media_type=asset.kind)

    def warm(self) -> None:
        """Make what the page asks for first, in the background."""
        if self._warming:
            return

        async def warm() -> None:
            try:
                await self._run(None, lambda db: self._explorers.of(db).warm())
                await asyncio.sleep(NAMES_AFTER_S)
                await self._run(None, lambda db: self._explorers.of(db).warm_names())
            except MycelError:
                return  # Whoever asks next is told.

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
        """Run work in a thread, for a request or for all streams."""

        def run() -> T:
            with self._branches.using(branch) as db:
                return work(db)

        if request is None:
            return await self._workers.run_apart(run, timeout_s=self._policy.timeout_s)
        return await self._workers.run(request.scope, run)

    # Sessions.

    async def _ticket(self, request: Request) -> Response:
        try:
            _, given = await given_parameters(request)
        except MycelError as error:
            return refusal(error)
        ticket = given.get("ticket")
        token = self._policy.sessions.exchange(ticket) if isinstance(ticket, str) else None
        if token is None:
            refused = AccessDenied(
                "The ticket is wrong, too old, or was used before.",
                hint="Open the address that `mycel serve --open` opens again, or give the token.",
            )
            return refusal(refused, 401)
        return answer({"token": token, "expires_in": SESSION_S})

    async def _sign_out(self, request: Request) -> Response:
        revoked = self._policy.sessions.revoke(request.headers.get("authorization"))
        return answer({"revoked": revoked})

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
