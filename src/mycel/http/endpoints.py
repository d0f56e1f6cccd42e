"""Endpoints of a graph: tables, from which the routes and their description are made.

Every endpoint works on the branch that `?branch=` names, or the body of a POST. It runs in a
thread. Its errors become responses in one place of the application (`app`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mycel.api.graph import Graph
from mycel.api.open_branches import OpenBranches
from mycel.errors import AccessDenied, DatabaseReadOnly
from mycel.explorer.open_explorers import OpenExplorers
from mycel.explorer.parameters import Argument, Parameters, checked
from mycel.http.policy import Policy
from mycel.http.request_values import given_parameters
from mycel.http.responses import JSON, encode
from mycel.http.worker_pool import PERMISSION, Workers
from mycel.knowledge.knowledge_view import KnowledgeView
from mycel.remote.signing import HeadSigner
from mycel.sharing.scopes import WorkspaceAccess

MESSAGE: Final = Argument("text", "The reason, for the journal", "")


class Served(NamedTuple):
    """The graph that endpoints serve."""

    policy: Policy
    branches: OpenBranches
    workers: Workers
    workspace: str
    signer: HeadSigner | None
    """The signer of heads, if the workspace has a key."""
    explorers: OpenExplorers


class EndpointCall(NamedTuple):
    """One request: the graph of its branch, its rights, and its parameters."""

    db: Graph
    served: Served
    name: str
    """The last part of the path, where it is a name or an id."""
    values: Mapping[str, Any]
    access: WorkspaceAccess | None

    @property
    def view(self) -> KnowledgeView:
        return KnowledgeView(self.db, workspace=self.served.workspace)


class EndpointReply(NamedTuple):
    """The body of a response, and its ETag if it has one."""

    body: bytes
    status: int = 200
    etag: str = ""
    media_type: str = JSON


def reply(payload: Any, status: int = 200, etag: str = "") -> EndpointReply:
    """A reply in JSON. It is made in the thread of the request, because it may be large."""
    return EndpointReply(encode(payload), status, etag)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method of one path."""

    method: str
    path: str
    summary: str
    run: Callable[[EndpointCall], EndpointReply]
    parameters: Parameters
    is_checked: bool = True
    """True if the parameters are checked before `run`; False if `run` does so."""
    writes: bool = False
    is_for_proposers: bool = False
    """True if it also serves callers who may not write: the store checks their rights."""
    statuses: tuple[int, ...] = (200,)
    """The statuses of success."""
    answer: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})
    """The JSON Schema of the response."""


def routes(endpoints: Iterable[Endpoint], served: Served) -> list[Route]:
    """The routes of endpoints."""

    async def serve(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        endpoint = by_path[request.scope["route"].path][method]
        branch, values = await given_parameters(request)
        access = request.scope.get(PERMISSION)
        has_rights = endpoint.is_for_proposers and access is not None
        if endpoint.writes and served.policy.readonly and not has_rights:
            raise read_only()
        if endpoint.is_checked:
            values = checked(f"{method} {endpoint.path}", endpoint.parameters, values)
        name = request.path_params.get("name", "")

        def run() -> EndpointReply:
            with served.branches.using(branch) as db:
                db.check_in_place()
                try:
                    return endpoint.run(EndpointCall(db, served, name, values, access))
                except DatabaseReadOnly:
                    raise read_only() from None

        content = await served.workers.run(request.scope, run)
        headers = {"etag": f'"{content.etag}"'} if content.etag else {}
        if content.etag and _matches(request.headers.get("if-none-match", ""), content.etag):
            return Response(None, 304, headers)
        return Response(content.body, content.status, headers, media_type=content.media_type)

    by_path: dict[str, dict[str, Endpoint]] = {}
    for endpoint in endpoints:
        by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    return [Route(path, serve, methods=list(methods)) for path, methods in by_path.items()]


def read_only() -> AccessDenied:
    """The error for a write on a server that only reads."""
    return AccessDenied("This server is read-only.", hint="Start it without --readonly.")


def _matches(header: str, etag: str) -> bool:
    """True if a header `If-None-Match` names an ETag."""
    return any(tag.strip().removeprefix("W/") == f'"{etag}"' for tag in header.split(","))
