"""A server of many workspaces, as one ASGI application.

GET /            what there is
GET, POST /ws    the workspaces that the caller may see; a new one
/ws/NAME/…       a workspace (`workspace_mounts`)
GET /audit       the audit log, for administrators
GET /metrics     counters, for administrators
GET /status      the same for people, with the sizes of workspaces
GET /healthz, GET /openapi.json
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, Final

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from mycel import __version__
from mycel.errors import AccessDenied, InvalidSyntax, MycelError, ResourceExhausted
from mycel.explorer.parameters import checked, integer_parameter
from mycel.http import openapi
from mycel.http.endpoints import read_only
from mycel.http.metrics import CONTENT_TYPE, CommitCount, RequestMetrics
from mycel.http.page_routes import is_public, public_routes
from mycel.http.policy import RESOURCE_METADATA, Policy
from mycel.http.request_guard import GRANT, HEALTH, RequestGate
from mycel.http.request_values import given_parameters
from mycel.http.responses import answer, error_handlers, error_response, refusal
from mycel.http.worker_pool import Workers
from mycel.http.workspace_mounts import (
    PREFIX,
    WORKSPACE,
    AppMaker,
    OpenGraph,
    WorkspaceMounts,
    local_path,
)
from mycel.model import times
from mycel.sharing.audit_log import PAGE_MAX, AuditLog
from mycel.sharing.scopes import ACTIONS, Grant, WorkspaceAccess
from mycel.sharing.tokens import TokenBook
from mycel.sharing.workspace_folder import WorkspaceFolder

USES_SAVED_S: Final = 30.0
"""The time between two records of the last uses of tokens."""
_FOR_ADMINISTRATORS: Final = {"audit": "/audit", "metrics": "/metrics", "status": "/status"}
_READING: Final = frozenset(("GET", "HEAD", "OPTIONS"))


def build_team_app(
    folder: WorkspaceFolder,
    policy: Policy,
    *,
    open_graph: Callable[[str], OpenGraph],
    create_graph: Callable[[str], object],
    make_app: AppMaker,
    audit: AuditLog,
    workers: Workers,
    mount_names: dict[str, str],
    body_limits: dict[str, int],
    commits: CommitCount,
) -> RequestGate:
    """The whole server of many workspaces as an ASGI application.

    `mount_names` maps paths inside a workspace to names of applications of other layers. `commits`
    is a guard of every graph that `open_graph` opens. The caller closes the audit log.
    """
    metrics = RequestMetrics(commits)
    pages = _TeamPages(folder, policy, create_graph, audit, workers, mount_names, metrics=metrics)
    public = Starlette(
        routes=public_routes(policy, workers), exception_handlers={MycelError: error_response}
    )
    mounts = WorkspaceMounts(
        folder,
        policy,
        workers,
        public=public,
        open_graph=open_graph,
        create_graph=create_graph,
        make_app=make_app,
    )
    pages.mounts = mounts

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.push_async_callback(workers.close)
            await stack.enter_async_context(mounts.lifespan())
            await stack.enter_async_context(pages.noting_uses())
            yield

    site = Starlette(
        routes=[
            Route("/", pages.information, methods=["GET"]),
            Route("/ws", pages.workspaces, methods=["GET"]),
            Route("/ws", pages.create, methods=["POST"]),
            Route("/audit", pages.audit_log, methods=["GET"]),
            Route("/metrics", pages.metrics_text, methods=["GET"]),
            Route("/status", pages.status, methods=["GET"]),
            Route(HEALTH, pages.health, methods=["GET"]),
            Route("/openapi.json", pages.description, methods=["GET"]),
            Route(RESOURCE_METADATA, pages.resource_metadata, methods=["GET"]),
            Route(f"{RESOURCE_METADATA}/{{path:path}}", pages.resource_metadata, methods=["GET"]),
        ],
        exception_handlers=error_handlers("GET / lists the paths; a workspace is below /ws/NAME."),
        lifespan=lifespan,
    )
    site.router.redirect_slashes = False
    gate = RequestGate(
        _Dispatch(site, mounts, RateLimits()),
        policy,
        workers,
        body_limits,
        _is_public,
        local_path=local_path,
        observer=pages.observe,
    )
    pages.gate = gate
    return gate


def _is_public(method: str, path: str, accept: str) -> bool:
    """True for the page of a workspace, and for the metadata that names the issuers of tokens."""
    if method == "GET" and (path == RESOURCE_METADATA or path.startswith(f"{RESOURCE_METADATA}/")):
        return True
    return is_public(method, path, accept)


class RateLimits:
    """The requests of each token within the last minute, as a bucket that fills again."""

    def __init__(self) -> None:
        self._left: Final[dict[str, tuple[float, float]]] = {}

    def take(self, grant: Grant) -> float:
        """Count a request. Returns 0, or the seconds to wait if there were too many."""
        most = grant.requests_per_minute
        if not most:
            return 0.0
        now = time.monotonic()
        left, since = self._left.get(grant.token, (float(most), now))
        left = min(float(most), left + (now - since) * most / 60)
        if left < 1:
            self._left[grant.token] = left, now
            return (1 - left) * 60 / most
        self._left[grant.token] = left - 1, now
        return 0.0


class _Dispatch:
    """Sends a request to its workspace, or to the pages of the server."""

    def __init__(self, site: ASGIApp, mounts: WorkspaceMounts, limits: RateLimits) -> None:
        self._site: Final = site
        self._mounts: Final = mounts
        self._limits: Final = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (refused := self._limit(scope)) is not None:
            await refused(scope, receive, send)
        elif scope["type"] == "http" and scope["path"].startswith(PREFIX):
            await self._mounts(scope, receive, send)
        else:
            await self._site(scope, receive, send)

    def _limit(self, scope: Scope) -> Response | None:
        """The refusal of a request beyond the rate limit of its token; None within it."""
        grant: Grant | None = scope.get(GRANT)
        if grant is None:
            return None
        wait_s = self._limits.take(grant)
        if wait_s:
            error = ResourceExhausted(
                f"The token may send {grant.requests_per_minute} requests a minute.",
                hint="Wait, or send several changes in one submission.",
            )
            return refusal(error, 429, {"retry-after": str(int(wait_s) + 1)})
        lengths = [value for name, value in scope["headers"] if name == b"content-length"]
        if grant.body_bytes_max and (not lengths or int(lengths[0]) > grant.body_bytes_max):
            if scope["method"] in _READING:
                return None
            error = ResourceExhausted(
                f"The token may send bodies of up to {grant.body_bytes_max} bytes, with their"
                " length announced.",
                hint="Send fewer changes at once.",
            )
            return refusal(error, 413)
        return None


class _TeamPages:
    """The handlers of the server's own routes."""

    mounts: WorkspaceMounts
    gate: RequestGate

    def __init__(
        self,
        folder: WorkspaceFolder,
        policy: Policy,
        create_graph: Callable[[str], object],
        audit: AuditLog,
        workers: Workers,
        mount_names: dict[str, str],
        *,
        metrics: RequestMetrics,
    ) -> None:
        self._folder: Final = folder
        self._policy: Final = policy
        self._create_graph: Final = create_graph
        self._audit: Final = audit
        self._workers: Final = workers
        self._mount_names: Final = mount_names
        self._metrics: Final = metrics
        self._started_us: Final = time.time_ns() // 1_000

    @asynccontextmanager
    async def noting_uses(self) -> AsyncIterator[None]:
        """Record the last uses of tokens from time to time, and at the end."""
        tokens = self._policy.tokens
        if tokens is None:
            yield
            return

        async def note(tokens: TokenBook) -> None:
            while True:
                await asyncio.sleep(USES_SAVED_S)
                await asyncio.to_thread(tokens.save_uses)

        task = asyncio.create_task(note(tokens))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.to_thread(tokens.save_uses)

    def observe(
        self, scope: Scope, client: str, status: int, took_s: float, refusal_body: bytes
    ) -> None:
        """Count a request that has ended, and record it in the audit log if it belongs there."""
        path = scope["path"]
        path_kind = local_path(path).strip("/").partition("/")[0]
        self._metrics.count(path_kind, scope["method"], status, took_s)
        is_refused = status in (401, 403, 429)
        if scope["method"] in _READING and not is_refused:
            return
        grant: Grant | None = scope.get(GRANT)
        if grant is None and not is_refused:
            return
        self._audit.add(
            actor="" if grant is None else grant.actor,
            token="" if grant is None else grant.token,
            client=client,
            action=f"{scope['method']} {scope.get('raw_path', b'').decode('ascii', 'replace')}",
            workspace=scope.get(WORKSPACE, "") if status != 404 else "",
            status=status,
            reason=_message(refusal_body),
        )

    async def information(self, request: Request) -> Response:
        """`GET /`."""
        base = f"{request.url.scheme}://{request.headers['host']}"
        paths = {"workspaces": "/ws", "health": HEALTH, "openapi": "/openapi.json"}
        paths |= dict(_FOR_ADMINISTRATORS) if _grant(request).is_admin else {}
        payload = {
            "name": "mycel",
            "version": __version__,
            "endpoints": {name: base + path for name, path in paths.items()},
            "actor": _grant(request).actor,
        }
        return answer(payload)

    async def workspaces(self, request: Request) -> Response:
        """`GET /ws`."""
        accesses = await self._workers.run(
            request.scope, partial(self.mounts.visible, _grant(request))
        )
        payload = {"workspaces": [_described(access) for access in accesses]}
        return answer(payload | {"is_admin": _grant(request).is_admin})

    async def create(self, request: Request) -> Response:
        """`POST /ws`."""
        _, values = await given_parameters(request)
        name = values.get("name")
        if not isinstance(name, str):
            raise InvalidSyntax(
                'The body has no name: {"name": "shop"}.',
                hint="Send an object in JSON with this key.",
            )
        access = _grant(request).access(name)
        if access is None or not access.allows("admin", ""):
            raise AccessDenied(
                "The token may not create this workspace.",
                hint="An administrator creates it, with the scope `admin:/**`.",
            )
        if self._policy.readonly:
            raise read_only()
        await self._workers.run(
            request.scope, partial(self._folder.create, name, self._create_graph)
        )
        return answer(_described(access), 201)

    async def audit_log(self, request: Request) -> Response:
        """`GET /audit`."""
        _check_admin(request)
        _, texts = await given_parameters(request)
        parameters = {
            "before": integer_parameter("A record", None, 1 << 62, 1),
            "limit": integer_parameter("The maximum number of records", 100, PAGE_MAX, 1),
        }
        values = checked("audit", parameters, texts)
        return answer(await self._workers.run(request.scope, partial(self._audit.page, **values)))

    async def metrics_text(self, request: Request) -> Response:
        """`GET /metrics`."""
        _check_admin(request)
        sizes = await self._workers.run(request.scope, self._folder.sizes)
        gauges = {
            "mycel_streams": ("Streams that are open.", float(self.gate.streams)),
            "mycel_bytes": ("Bytes of the files of all workspaces.", float(sum(sizes.values()))),
            "mycel_workspaces_open": ("Workspaces that are open.", float(len(self.mounts.open))),
            "mycel_workspaces": ("Workspaces in the folder.", float(len(sizes))),
        }
        return Response(self._metrics.text(gauges), media_type=CONTENT_TYPE)

    async def status(self, request: Request) -> Response:
        """`GET /status`."""
        _check_admin(request)
        sizes = await self._workers.run(request.scope, self._folder.sizes)
        open_names = set(self.mounts.open.keys())
        payload = {
            "version": __version__,
            "started_at": times.to_text(self._started_us),
            "streams": self.gate.streams,
            "doors": self._metrics.summary(),
            "workspaces": [
                {"workspace": name, "bytes": size, "is_open": name in open_names}
                for name, size in sizes.items()
            ],
        }
        return answer(payload)

    async def health(self, _request: Request) -> Response:
        """`GET /healthz`."""
        return answer({"status": "ok"})

    async def description(self, _request: Request) -> Response:
        """`GET /openapi.json`."""
        return answer(
            openapi.team_document(
                version=__version__,
                body_bytes_max=self._policy.body_bytes_max,
                wants_token=self._policy.wants_token,
                mounts=self._mount_names,
            )
        )

    async def resource_metadata(self, request: Request) -> Response:
        """`GET /.well-known/oauth-protected-resource`, for the server or a path of it.

        The answer is the same for every path, whether it exists or not.
        """
        issuers = self._policy.issuers
        if issuers is None:
            raise HTTPException(404)
        path = request.path_params.get("path", "")
        return answer(issuers.settings.metadata(f"/{path}" if path else ""))


def _grant(request: Request) -> Grant:
    grant: Grant = request.scope[GRANT]
    return grant


def _check_admin(request: Request) -> None:
    if not _grant(request).is_admin:
        raise AccessDenied(
            "This is for administrators.", hint="It needs a token with the scope `admin:/**`."
        )


def _described(access: WorkspaceAccess) -> dict[str, Any]:
    """The description of a workspace, as far as the caller may see it."""
    can = [action for action in ACTIONS if access.may_ever(action)]
    return {"workspace": access.workspace, "path": PREFIX + access.workspace, "can": can}


def _message(body: bytes) -> str:
    """The message of an error's body, for the audit log."""
    try:
        message = orjson.loads(body)["error"]["message"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return ""
    return str(message)
