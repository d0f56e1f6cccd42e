"""The routes of the server, and applications of other layers.

Other layers add applications as a `Mount`: `http` does not know MCP, and `mycel serve` brings them
together. One `RequestGate` is in front of all.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from mycel import __version__
from mycel.api.graph import Graph
from mycel.api.open_branches import OpenBranches, check_sees
from mycel.errors import (
    DatabaseError,
    InvalidIdentifier,
    InvalidSyntax,
    MycelError,
    NotFound,
)
from mycel.explorer.open_explorers import OpenExplorers
from mycel.http import branch_openapi, openapi
from mycel.http.endpoints import Served, routes
from mycel.http.explorer_routes import ExplorerRoutes
from mycel.http.jobs import job_of
from mycel.http.kip_endpoint import GONE_STATUS, METHODS, respond
from mycel.http.page_routes import PAGE, is_public, wants_page
from mycel.http.policy import Policy
from mycel.http.query_routes import described
from mycel.http.remote_routes import REMOTE_ENDPOINTS
from mycel.http.request_guard import HEALTH, RequestGate
from mycel.http.responses import JSON, answer, error_handlers, refusal, stopping
from mycel.http.worker_pool import Workers
from mycel.merkle.proofs import Snapshot
from mycel.model.allowance import shortage
from mycel.model.limits import BATCH_COMMANDS_MAX
from mycel.remote.signing import HeadSigner

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

KIP_VERSION = "1.0-RC6"
_HEALTH_TIMEOUT_S = 5.0
LOAD_AFTER_S: Final = 10.0
"""An unused mount is loaded after this time, so that its first user need not wait."""


@dataclass(frozen=True, slots=True)
class Mount:
    """An application of another layer at one path, with its lifespan."""

    path: str
    name: str
    load: Callable[[], Starlette]
    """Makes the application. It may take long, so a thread calls it after the server is ready."""
    body_bytes_max: int
    """The largest body of a request to the application."""


def build_app(
    db: Graph,
    policy: Policy | None = None,
    *,
    mounts: Sequence[Mount] = (),
    branches: OpenBranches | None = None,
    workspace: str = "graph",
    root: Path | None = None,
    workers: Workers | None = None,
    signer: HeadSigner | None = None,
    opens_page: bool = False,
) -> RequestGate:
    """The whole server of one graph as an ASGI application.

    `workspace` is the workspace of paths without a scheme in the explorer. The explorer shows files
    below `root` if files may be read. `workers` run the work of all routes; the mounts have to use
    the same ones. With `opens_page`, the first data of the explorer is computed at the start. The
    caller closes the graph and its `branches`.
    """
    policy = Policy() if policy is None else policy
    branches = OpenBranches(db) if branches is None else branches
    workers = Workers() if workers is None else workers
    app = graph_app(
        db,
        policy,
        mounts=mounts,
        branches=branches,
        workspace=workspace,
        root=root,
        workers=workers,
        signer=signer,
        opens_page=opens_page,
        load_after_s=LOAD_AFTER_S,
    )

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.push_async_callback(workers.close)
            await stack.enter_async_context(app_lifespan(app))
            yield

    app_lifespan, app.router.lifespan_context = app.router.lifespan_context, lifespan
    return RequestGate(
        app, policy, workers, {mount.path: mount.body_bytes_max for mount in mounts}, is_public
    )


def graph_app(
    db: Graph,
    policy: Policy,
    *,
    mounts: Sequence[Mount],
    branches: OpenBranches,
    workspace: str,
    root: Path | None,
    workers: Workers,
    signer: HeadSigner | None = None,
    opens_page: bool = False,
    load_after_s: float | None = None,
) -> Starlette:
    """The routes of one graph, without a gate, for the server of one graph or of many.

    `signer` signs heads. With `load_after_s`, mounts are loaded after this time even if nobody has
    used them.
    """
    opened = [_MountedApp(mount, load_after_s) for mount in mounts]
    pages = _Pages(db, policy, opened, branches, workers)
    explorers = OpenExplorers(
        workspace,
        readonly=policy.readonly,
        timeout_s=policy.timeout_s,
        root=root if policy.files else None,
    )
    served = Served(policy, branches, workers, workspace, signer, explorers)
    explorer = ExplorerRoutes(db, served)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with pages.lifespan(app):
            if opens_page:
                explorer.warm()
            yield

    app = Starlette(
        routes=[
            Route("/", pages.information, methods=["GET"]),
            Route("/kip", pages.kip, methods=["POST"]),
            Route(HEALTH, pages.health, methods=["GET"]),
            Route("/openapi.json", pages.description, methods=["GET"]),
            *(Route(mounted.mount.path, mounted) for mounted in opened),
            *routes(branch_openapi.ENDPOINTS, served),
            *explorer.routes(),
        ],
        exception_handlers=error_handlers("GET / lists the paths."),
        lifespan=lifespan,
    )
    # A path with a trailing slash is another path. There is no redirect: not every client follows
    # one with a POST.
    app.router.redirect_slashes = False
    return app


class _MountedApp:
    """The application at a mount.

    It is loaded when it is first used, or a while after the start. If loading fails, the next
    request tries again.
    """

    def __init__(self, mount: Mount, load_after_s: float | None) -> None:
        self.mount: Final = mount
        self._load_after_s: Final = load_after_s
        self._wanted: Final = asyncio.Event()
        self._closing: Final = asyncio.Event()

    @cached_property
    def _app(self) -> asyncio.Future[Starlette]:
        return asyncio.get_running_loop().create_future()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._wanted.set()
        app = await asyncio.shield(self._app)
        await app(scope, receive, send)

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Load and run the application, in a task of its own, for the time of the block."""
        running = asyncio.create_task(self._run())
        yield
        self._closing.set()
        self._wanted.set()
        await running

    async def _run(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._load_after_s):
                await self._wanted.wait()
        while not self._closing.is_set():
            try:
                app = await asyncio.to_thread(self.mount.load)
            except Exception as error:  # noqa: BLE001 - It is of those who use the mount.
                await self._fail(error)
                continue
            async with app.router.lifespan_context(app):
                self._app.set_result(app)
                await self._closing.wait()

    async def _fail(self, error: Exception) -> None:
        """Raise the error in waiting requests, then wait for the next request to try again."""
        self._app.set_exception(error)
        self._app.exception()  # Nobody may be waiting for the error.
        del self._app
        if not self._closing.is_set():
            self._wanted.clear()
            await self._wanted.wait()


class _Look(NamedTuple):
    """The state of a branch, for `GET /` and `GET /healthz`."""

    snapshot: Snapshot
    replica_lag_s: float | None
    """The seconds by which a replica is behind; None if the database is no replica."""


class _Pages:
    """The handlers of the routes."""

    def __init__(
        self,
        db: Graph,
        policy: Policy,
        mounts: Sequence[_MountedApp],
        branches: OpenBranches,
        workers: Workers,
    ) -> None:
        self._db = db
        self._branches = branches
        self._policy = policy
        self._mounted = mounts
        self._workers = workers
        self._looking: dict[str | None, asyncio.Future[_Look]] = {}
        self._description = openapi.document(
            version=__version__,
            body_bytes_max=policy.body_bytes_max,
            wants_token=policy.wants_token,
            mounts={mounted.mount.path: mounted.mount.name for mounted in mounts},
        )

    @asynccontextmanager
    async def lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for mounted in self._mounted:
                await stack.enter_async_context(mounted.lifespan())
            yield

    async def information(self, request: Request) -> Response:
        """`GET /`; browsers are sent to the explorer."""
        if wants_page(request.headers.get("accept", "")):
            return RedirectResponse(request.scope["root_path"] + PAGE, 307, {"vary": "accept"})
        branch = request.query_params.get("branch")
        try:
            snapshot, lag_s = await self._look(branch)
        except (InvalidIdentifier, NotFound):
            raise
        except MycelError as error:
            return refusal(error, GONE_STATUS)
        server = f"{request.url.scheme}://{request.headers['host']}"
        base = server + request.scope["root_path"]
        endpoints = {"kip": "/kip", "health": HEALTH, "openapi": "/openapi.json"}
        endpoints |= {"branches": "/branches", "merges": "/merges", "explorer": PAGE}
        endpoints |= {"queries": "/queries", "submit": "/submit", "proposals": "/proposals"}
        endpoints |= {endpoint.path[1:]: endpoint.path for endpoint in REMOTE_ENDPOINTS}
        endpoints |= {mounted.mount.name: mounted.mount.path for mounted in self._mounted}
        payload: dict[str, Any] = {
            "name": "mycel",
            "version": __version__,
            "kip": KIP_VERSION,
            "capabilities": [*self._methods(), *(mounted.mount.name for mounted in self._mounted)],
            "endpoints": {name: base + path for name, path in endpoints.items()},
            "limits": {
                "body_bytes": self._policy.body_bytes_max,
                "batch_commands": BATCH_COMMANDS_MAX,
                "timeout_s": self._policy.timeout_s,
            },
            "graph": {
                "branch": self._db.branch if branch is None else branch,
                "entries": snapshot.entries,
                "overall_root": snapshot.overall_root.hex(),
                **({} if lag_s is None else {"replica_lag_s": round(lag_s, 3)}),
            },
        }
        return answer(payload)

    def _methods(self) -> list[str]:
        """The methods that this server has: a read-only server has no `execute_kip`."""
        return [
            method for method in METHODS if not (self._policy.readonly and method == "execute_kip")
        ]

    async def kip(self, request: Request) -> Response:
        """`POST /kip`."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        # Only JSON is taken: a browser sends other types from any page without a preflight request.
        if kind != JSON and not (kind.startswith("application/") and kind.endswith("+json")):
            error = InvalidSyntax(
                "The body must be JSON, with its content type.",
                hint=f"Send `Content-Type: {JSON}`.",
            )
            return refusal(error, 415)
        body = await request.body()
        response = await self._workers.run(
            request.scope, partial(self._respond, request.query_params.get("branch"), body)
        )
        is_cut = job_of(request.scope).is_aborted and response.status_code != 200
        return stopping() if is_cut else response

    def _respond(self, branch: str | None, body: bytes) -> Response:
        with self._branches.using(branch) as db:
            return respond(db, body, readonly=self._policy.readonly)

    async def health(self, _request: Request) -> Response:
        """`GET /healthz`."""
        try:
            await self._look()
        except MycelError as error:
            if not self._policy.wants_token:
                return refusal(error, GONE_STATUS)
            # The caller may have no token, so the answer has no path of the file.
            database_error = DatabaseError(
                "The graph cannot be read: its file is gone, or was replaced, or is busy.",
                hint="GET / says more if the request has the token.",
            )
            return refusal(database_error, GONE_STATUS)
        return answer({"status": "ok"})

    async def description(self, request: Request) -> Response:
        """`GET /openapi.json`: the description, with an operation for each named query."""
        branch = request.query_params.get("branch")

        def operations() -> dict[str, Any]:
            with self._branches.using(branch) as db:
                return openapi.query_paths(described(db, readonly=self._policy.readonly))

        paths = await self._workers.run(request.scope, operations)
        servers = [{"url": request.scope["root_path"] or "/"}]
        paths = self._description["paths"] | paths
        return answer(self._description | {"servers": servers, "paths": paths})

    async def _look(self, branch: str | None = None) -> _Look:
        """The state of a branch, read outside of the worker pool, which may be busy.

        Requests about a branch at the same time share one read, because they may come without a
        token.
        """
        self._db.check_in_place()
        # The right to see the branch is checked for each request, because the read is shared.
        check_sees(self._db.branch if branch is None else branch)
        looking = self._looking.get(branch)
        if looking is None:

            def look() -> _Look:
                with self._branches.using(branch) as db:
                    with db.reading() as reader:
                        lag_s = reader.replica_lag_s()
                    return _Look(db.snapshot(), lag_s)

            looking = self._looking[branch] = asyncio.ensure_future(asyncio.to_thread(look))
            looking.add_done_callback(lambda _: self._looking.pop(branch))
        try:
            async with asyncio.timeout(_HEALTH_TIMEOUT_S):
                return await asyncio.shield(looking)
        except Exception as error:
            if not isinstance(error, TimeoutError) and shortage(error) is None:
                raise
            raise DatabaseError(
                "The graph cannot be read at the moment.", hint="Retry later."
            ) from None
