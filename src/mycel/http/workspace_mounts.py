"""The workspaces of a server of many, each an application of its own below `/ws/NAME`.

A workspace has everything that a server of one graph has: the application is the same. It is opened
by its first request and closed when nobody has used it for a while (`api.open_pool`), so
an idle workspace costs nothing.

The rights of a request decide, before its body is read, which application answers. A request that
may write gets the whole application; one that may only read gets that of a read-only server. A
request that may not see a workspace gets the answer for a workspace that does not exist. All
threads of a request work with its permission (`model.permission`); work without a request has none.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import Context
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from mycel.api.graph import Graph
from mycel.api.open_branches import OpenBranches
from mycel.api.open_pool import OpenPool
from mycel.errors import AccessDenied, DuplicateExists, InternalError, MycelError, NotFound
from mycel.http.policy import Policy
from mycel.http.request_guard import GRANT
from mycel.http.responses import refusal
from mycel.http.worker_pool import PERMISSION, Workers
from mycel.model.permission import permitted
from mycel.remote.http_client import PATH_HEADER
from mycel.sharing.scoped_copy import FOLDER, MainAlone, ScopedCopy
from mycel.sharing.scopes import ALL, Grant, Pattern, WorkspaceAccess
from mycel.sharing.workspace_folder import WorkspaceFolder, unknown_workspace
from mycel.store.file.branch_files import MAIN

PREFIX: Final = "/ws/"
OPEN_MAX: Final = 64
"""The maximum number of open workspaces, used or not. Each has its own files, caches and index."""
WORKSPACE: Final = "mycel.workspace"
"""The key of a scope for the name of its workspace."""


class OpenGraph(NamedTuple):
    """The graph of a workspace, its open branches, and other resources to close with it."""

    graph: Graph
    branches: OpenBranches
    end: Callable[[], object] = lambda: None


AppMaker = Callable[[str, OpenGraph, Policy], Starlette]
"""Makes the application of a workspace, for a policy."""


def local_path(path: str) -> str:
    """The path inside a workspace.

    >>> local_path("/ws/shop/kip"), local_path("/ws/shop"), local_path("/metrics")
    ('/kip', '', '/metrics')
    """
    if not path.startswith(PREFIX):
        return path
    name = path[len(PREFIX) :].partition("/")[0]
    return path[len(PREFIX) + len(name) :]


class OpenWorkspace:
    """One workspace that is open, with its applications."""

    def __init__(
        self, name: str, opened: OpenGraph, policy: Policy, make_app: AppMaker, loop: Any
    ) -> None:
        self.name: Final = name
        self.graph: Final = opened.graph
        self.copy: ScopedCopy | None = None
        """The filtered copy, if this one serves callers who may read some paths only."""
        self._opened: Final = opened
        self._policy: Final = policy
        self._make_app: Final = make_app
        self._loop: Final[asyncio.AbstractEventLoop] = loop
        self._apps: Final[dict[bool, _RunningApp]] = {}

    async def app(self, *, readonly: bool) -> Starlette:
        """The application for requests that may write, or for those that only read."""
        running = self._apps.get(readonly)
        if running is None:
            policy = self._policy
            if readonly and not policy.readonly:
                policy = replace(policy, readonly=True)
            running = self._apps[readonly] = _RunningApp(
                self._make_app(self.name, self._opened, policy)
            )
        await running.ready()
        return running.app

    def close(self) -> None:
        """End the applications, then close branches and graph. Must not run in the event loop."""
        if self._apps and not self._loop.is_closed():
            asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._opened.end()
        self._opened.branches.close()
        self._opened.graph.close()

    async def _stop(self) -> None:
        for running in self._apps.values():
            await running.stop()


class _RunningApp:
    """An application whose lifespan runs in a task of its own."""

    def __init__(self, app: Starlette) -> None:
        self.app: Final = app
        self._ready: Final = asyncio.Event()
        self._ending: Final = asyncio.Event()
        # The task must not inherit the permission of the first request.
        self._task: Final = asyncio.get_running_loop().create_task(self._run(), context=Context())

    async def _run(self) -> None:
        with permitted(_NOBODY):
            async with self.app.router.lifespan_context(self.app):
                self._ready.set()
                await self._ending.wait()

    async def ready(self) -> None:
        await self._ready.wait()

    async def stop(self) -> None:
        self._ending.set()
        await self._task


_NOBODY: Final = WorkspaceAccess("nobody", "", ())
"""The permission of work without a request: it may do nothing."""


class WorkspaceMounts:
    """The ASGI application of all paths below `/ws/`."""

    def __init__(
        self,
        folder: WorkspaceFolder,
        policy: Policy,
        workers: Workers,
        *,
        public: ASGIApp,
        open_graph: Callable[[str], OpenGraph],
        create_graph: Callable[[str], object],
        make_app: AppMaker,
    ) -> None:
        """Take the functions to open a graph and make its application; `public` needs no token."""
        self._folder: Final = folder
        self._public: Final = public
        self._policy: Final = policy
        self._workers: Final = workers
        self._open_graph: Final = open_graph
        self._create_graph: Final = create_graph
        self._make_app: Final = make_app
        self.open: Final[OpenPool[OpenWorkspace]] = OpenPool("workspaces", open_max=OPEN_MAX)
        self.copies: Final[OpenPool[OpenWorkspace]] = OpenPool("workspaces", open_max=OPEN_MAX)
        """Copies of open workspaces, by name and patterns. Each copy counts as a user of its
        workspace."""

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Close all workspaces at the end."""
        try:
            yield
        finally:
            await asyncio.to_thread(self.copies.close)
            await asyncio.to_thread(self.open.close)

    def visible(self, grant: Grant) -> list[WorkspaceAccess]:
        """The workspaces that a caller may see, by name."""
        accesses = (grant.access(name) for name in self._folder.names())
        return [access for access in accesses if access is not None]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name, slash, _ = scope["path"][len(PREFIX) :].partition("/")
        scope[WORKSPACE] = name
        grant: Grant | None = scope.get(GRANT)
        # The page is the same for every name, so it does not reveal that a workspace exists.
        if grant is None:
            await self._public(_inside(scope, name), receive, send)
            return
        try:
            access = grant.access(name)
            if access is None:
                raise unknown_workspace(name)
            if not slash:
                raise NotFound("There is nothing at this path.", hint=f"GET {PREFIX}{name}/")
            path_header = _path_header(scope)
            if path_header:
                access = access.narrowed(path_header)
            patterns = _visible_patterns(access)
            path = await self._find(scope, name, access)
            if patterns == (ALL,):
                place, opened = self.open, await self._open_whole(scope, name, path)
            else:
                place = self.copies
                opened = await self._open_copy(
                    scope, name, path, patterns, is_asked=bool(path_header)
                )
        except MycelError as error:
            await refusal(error)(scope, receive, send)
            return
        try:
            app = await opened.app(readonly=not access.may_ever("write"))
            inner = _inside(scope, name) | {PERMISSION: access}
            with permitted(access):
                await app(inner, receive, send)
        finally:
            place.give(opened)

    async def _find(self, scope: Scope, name: str, access: WorkspaceAccess) -> Path | str:
        """The file or URL of a workspace. It is looked up each time, because it may be gone.

        A submission to a missing workspace creates it, if the policy allows that.

        Raises:
            NotFound: there is no such workspace.
        """
        try:
            return self._folder.find(name)
        except NotFound:
            is_submission = scope["method"] == "POST" and local_path(scope["path"]) == "/submit"
            may_create = self._policy.creates_workspaces and not self._policy.readonly
            if not (is_submission and may_create) or access.patterns("write", MAIN) != (ALL,):
                raise
        await self._workers.run(scope, lambda: self._create(name))
        return self._folder.find(name)

    def _create(self, name: str) -> None:
        with suppress(DuplicateExists):  # Another request was faster.
            self._folder.create(name, self._create_graph)

    async def _open_whole(self, scope: Scope, name: str, path: Path | str) -> OpenWorkspace:
        """Begin to use a workspace."""
        opened = self.open.take_open(name)
        if opened is None:
            loop = asyncio.get_running_loop()
            opened = await self._workers.run(scope, lambda: self._take(name, path, loop))
        return opened

    async def _open_copy(
        self,
        scope: Scope,
        name: str,
        path: Path | str,
        patterns: tuple[Pattern, ...],
        *,
        is_asked: bool,
    ) -> OpenWorkspace:
        """Begin to use the filtered copy of a workspace for some patterns, in its present state."""
        loop = asyncio.get_running_loop()

        def take() -> OpenWorkspace:
            opened = self._take_copy(name, path, patterns, loop, is_asked=is_asked)
            try:
                if opened.copy is not None:
                    opened.copy.follow()
            except BaseException:
                if opened.copy is not None and opened.copy.is_outdated:
                    self.copies.discard(opened)
                self.copies.give(opened)
                raise
            return opened

        def take_again() -> OpenWorkspace:
            try:
                return take()
            except InternalError:  # The copy had to be made again.
                return take()

        return await self._workers.run(scope, take_again)

    def _take_copy(
        self,
        name: str,
        path: Path | str,
        patterns: tuple[Pattern, ...],
        loop: asyncio.AbstractEventLoop,
        *,
        is_asked: bool,
    ) -> OpenWorkspace:
        def open_() -> OpenWorkspace:
            source = self._take(name, path, loop)
            try:
                copy = ScopedCopy(
                    source.graph,
                    self._folder.path / FOLDER / name,
                    patterns,
                    readonly=self._policy.readonly,
                    timeout_s=self._policy.timeout_s,
                    is_asked=is_asked,
                )
            except BaseException:
                self.open.give(source)
                raise

            def end() -> None:
                copy.close()
                self.open.give(source)

            opened = OpenGraph(copy.graph, MainAlone(copy.graph), end)
            filtered = OpenWorkspace(name, opened, self._policy, self._make_app, loop)
            filtered.copy = copy
            return filtered

        return self.copies.take((name, patterns), open_)

    def _take(self, name: str, path: Path | str, loop: asyncio.AbstractEventLoop) -> OpenWorkspace:
        def open_() -> OpenWorkspace:
            return OpenWorkspace(
                name, self._open_graph(str(path)), self._policy, self._make_app, loop
            )

        return self.open.take(name, open_)


def _inside(scope: Scope, name: str) -> dict[str, Any]:
    """The scope of a request for the application of a workspace."""
    return dict(scope) | {"root_path": scope.get("root_path", "") + PREFIX + name}


def _path_header(scope: Scope) -> str:
    """The path that a request concerns; empty for all."""
    values = [value for name, value in scope["headers"] if name == PATH_HEADER.encode()]
    return unquote(values[0].decode("latin-1")) if values else ""


def _visible_patterns(access: WorkspaceAccess) -> tuple[Pattern, ...]:
    """The patterns that a caller may read: all of every branch, or some paths of main.

    Raises:
        AccessDenied: the caller may read some paths of some branches, so each branch hides others.
    """
    patterns = access.patterns("read", MAIN)
    if not patterns or (patterns == (ALL,) and not access.reads_everything):
        raise AccessDenied(
            "The token may read some paths of some branches only, which cannot be kept apart.",
            hint="Give it the scope `read:/**@main`, or one of paths on every branch.",
        )
    return patterns
