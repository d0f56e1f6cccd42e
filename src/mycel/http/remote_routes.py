"""The reading part of the protocol between workspaces (docs/remote-protocol.md).

`/refs`, `/commits`, `/diff`, `/journal`, `/purges`, `/consistency`, `/subgraph` and `/search`, each
of the branch that `?branch=` names. The routes and their description are made from
`REMOTE_ENDPOINTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mycel.api.graph import Graph
from mycel.api.open_branches import OpenBranches
from mycel.errors import ConstraintViolation, MycelError, VersionConflict
from mycel.explorer.parameters import Argument, Parameters, checked, integer_parameter
from mycel.http.request_values import given_parameters
from mycel.http.responses import JSON, encode, refusal
from mycel.http.worker_pool import PERMISSION, Workers
from mycel.knowledge.knowledge_view import KnowledgeView
from mycel.knowledge.subgraph import (
    HITS_MAX,
    NODES_MAX,
    STARTS_MAX,
    WORDS_CHARACTERS_MAX,
    SubgraphRequest,
    read_hits,
    read_subgraph,
)
from mycel.model.directions import DIRECTIONS
from mycel.model.json_text import read_json
from mycel.model.limits import INTEGER_MAX
from mycel.remote import pages
from mycel.remote.signing import HeadSigner
from mycel.search.modes import HYBRID, MODES
from mycel.sharing.scopes import ACTIONS, WorkspaceAccess, readable_text
from mycel.text.kinds import KINDS

CBOR: Final = "application/cbor"


class RemoteAnswer(NamedTuple):
    """The body of an answer, and its ETag if it has one."""

    body: bytes
    etag: str = ""
    media_type: str = JSON


class _RemoteCall(NamedTuple):
    """One request: the graph of its branch, its rights, and its parameters."""

    db: Graph
    workspace: str
    access: WorkspaceAccess | None
    given: Mapping[str, Any]
    signer: HeadSigner | None


@dataclass(frozen=True, slots=True)
class RemoteEndpoint:
    """One path of the protocol."""

    path: str
    summary: str
    run: Callable[[_RemoteCall], RemoteAnswer]
    parameters: Parameters
    method: str = "GET"
    statuses: tuple[int, ...] = (200,)


def _refs(call: _RemoteCall) -> RemoteAnswer:
    payload = {"workspace": call.workspace} | pages.refs(call.db)
    paths: list[str] = []
    heads = "".join(head["name"] + head["overall_root"] for head in payload["branches"])
    access = call.access
    payload["can"] = [action for action in ACTIONS if access is None or access.may_ever(action)]
    if access is not None and not access.reads_everything:
        payload["paths"] = paths = readable_text(access.patterns("read", call.db.branch))
    if call.signer is not None:
        payload["key"] = call.signer.key
        for head in payload["branches"]:
            head["signature"] = call.signer.sign(
                head["name"], paths, head["entries"], head["overall_root"]
            )
    digest = sha256(f"{heads}{sorted(payload['tags'].items())}{payload['can']}".encode())
    return RemoteAnswer(encode(payload), digest.hexdigest())


def _commits(call: _RemoteCall) -> RemoteAnswer:
    return RemoteAnswer(encode(pages.commits_page(call.db, **call.given)))


def _diff(call: _RemoteCall) -> RemoteAnswer:
    cursor = call.given["cursor"]
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 16):
        raise ConstraintViolation(
            "The cursor is not of this list.", hint="Pass `next` of the page before."
        )
    page = pages.diff_page(
        call.db,
        call.given["from"],
        call.given["to"],
        paths=call.given["path"],
        cursor=int(cursor),
        limit=call.given["limit"],
    )
    return RemoteAnswer(encode(page))


def _journal(call: _RemoteCall) -> RemoteAnswer:
    page = pages.journal_page(call.db, call.given["after"], call.given["limit"])
    return RemoteAnswer(page, media_type=CBOR)


def _purges(call: _RemoteCall) -> RemoteAnswer:
    return RemoteAnswer(pages.purges_page(call.db, call.given["after"]), media_type=CBOR)


def _consistency(call: _RemoteCall) -> RemoteAnswer:
    return RemoteAnswer(
        encode(pages.consistency(call.db, call.given["from"], call.given["to"]).to_dict())
    )


def _subgraph(call: _RemoteCall) -> RemoteAnswer:
    given = call.given
    try:
        costs = [float(cost) for cost in given["cost"]]
    except ValueError:
        raise ConstraintViolation("cost is a list of numbers.") from None
    if any(not 0 <= cost <= given["max_cost"] for cost in costs):
        raise ConstraintViolation("A cost so far is a number from 0 to max_cost.")
    request = SubgraphRequest(
        given["start"],
        costs,
        given["max_cost"],
        given["max_nodes"],
        given["direction"],
        given["relation"] or None,
        given["proofs"],
    )
    payload, digest = read_subgraph(KnowledgeView(call.db, workspace=call.workspace), request)
    return RemoteAnswer(encode(payload), digest)


def _search(call: _RemoteCall) -> RemoteAnswer:
    given = dict(call.given)
    metadata = given.pop("metadata")
    if metadata is not None:
        try:
            given["metadata"] = read_json(metadata)
        except ValueError:
            raise ConstraintViolation("metadata is a JSON object.") from None
    view = KnowledgeView(call.db, workspace=call.workspace)
    payload, digest = read_hits(view, given.pop("q"), **given)
    return RemoteAnswer(encode(payload), digest)


def _position(description: str, default: int | None, least: int = 0) -> Argument:
    return integer_parameter(description, default, INTEGER_MAX, least)


REMOTE_ENDPOINTS: Final = (
    RemoteEndpoint("/refs", "The branches with their heads and roots, and the tags", _refs, {}),
    RemoteEndpoint(
        "/commits",
        "Commits after or before a position",
        _commits,
        {
            "after": _position("Those that ended after this position, oldest first", None),
            "before": _position("Those that ended before this position, newest first", None, 1),
            "limit": integer_parameter(
                "The maximum number of commits", pages.COMMITS_DEFAULT, pages.COMMITS_MAX
            ),
        },
    ),
    RemoteEndpoint(
        "/diff",
        "The elements that differ between two commits",
        _diff,
        {
            "from": Argument("text", "A commit, or 0 for the empty graph", required=True),
            "to": Argument("text", "A commit; the head if left out"),
            "path": Argument("texts", "What is under these URIs alone", (), most=100),
            "cursor": Argument("text", "`next` of the page before", "0"),
            "limit": integer_parameter(
                "The maximum number of changes", pages.CHANGES_MAX, pages.CHANGES_MAX
            ),
        },
    ),
    RemoteEndpoint(
        "/journal",
        "The journal after a position, as CBOR, for exact copies",
        _journal,
        {
            "after": _position("The position of a commit, or 0", 0),
            "limit": integer_parameter(
                "The maximum number of transactions", pages.COMMITS_MAX, pages.COMMITS_MAX
            ),
        },
    ),
    RemoteEndpoint(
        "/purges",
        "The purges in the journal after a position, as CBOR",
        _purges,
        {"after": _position("The position of an entry, or 0", 0)},
    ),
    RemoteEndpoint(
        "/consistency",
        "The proof that an older journal is the beginning of this one",
        _consistency,
        {
            "from": _position("The entries of the older journal", 0),
            "to": _position(
                "The position of the commit that continues it; the head if left out", None
            ),
        },
    ),
    RemoteEndpoint(
        "/subgraph",
        "The neighbourhood of nodes, for traversal from another workspace",
        _subgraph,
        {
            "start": Argument("texts", "URIs to start from", required=True, most=STARTS_MAX),
            "cost": Argument("texts", "The cost so far of each start", (), most=STARTS_MAX),
            "max_cost": Argument("number", "The largest cost of a path", 1.0),
            "max_nodes": integer_parameter("The maximum number of nodes", 100, NODES_MAX),
            "direction": Argument("text", "Of the links", "both", words=DIRECTIONS),
            "relation": Argument("texts", "Relation types to follow", (), most=100),
            "proofs": Argument("flag", "With proofs of the nodes", False),
        },
    ),
    RemoteEndpoint(
        "/search",
        "The nodes that fit a question, with proofs, for search from another workspace",
        _search,
        {
            "q": Argument("text", "The question", required=True, most=WORDS_CHARACTERS_MAX),
            "limit": integer_parameter("The maximum number of hits", 10, HITS_MAX),
            "type": Argument("texts", "Types of nodes; all if left out", None, most=100),
            "without": Argument("texts", "Types to leave out", None, most=100),
            "mode": Argument("text", "How", HYBRID, words=MODES),
            "kind": Argument("text", "Only notes, or only code", "any", words=KINDS),
            "path": Argument("text", "Only what is at or below this URI"),
            "workspace": Argument("text", "Only nodes of this workspace"),
            "actor": Argument("text", "Only what this actor created, or wrote last"),
            "since": Argument("text", "Only what was written last at this time or later"),
            "until": Argument("text", "Only what was written last before this time"),
            "metadata": Argument("text", "Only with these values: a JSON object"),
            "near": Argument("text", "Prefer what is close to this node"),
            "for_time": Argument("text", "Only what holds at this time"),
            "include_archived": Argument("flag", "What is archived too", False),
        },
    ),
)


def remote_routes(
    branches: OpenBranches, workers: Workers, workspace: str, signer: HeadSigner | None
) -> list[Route]:
    """The routes of all endpoints; heads are signed if the workspace has a key."""

    def route(endpoint: RemoteEndpoint) -> Route:
        async def serve(request: Request) -> Response:
            try:
                branch, given = await given_parameters(request)
                known = checked(f"GET {endpoint.path}", endpoint.parameters, given)

                def run() -> RemoteAnswer:
                    with branches.using(branch) as db:
                        db.check_in_place()
                        access = request.scope.get(PERMISSION)
                        return endpoint.run(_RemoteCall(db, workspace, access, known, signer))

                content = await workers.run(request.scope, run)
            except VersionConflict as error:
                return refusal(error, 409)
            except MycelError as error:
                return refusal(error)
            headers = {"etag": f'"{content.etag}"'} if content.etag else {}
            if content.etag and _matches(request.headers.get("if-none-match", ""), content.etag):
                return Response(None, 304, headers)
            return Response(content.body, 200, headers, media_type=content.media_type)

        return Route(endpoint.path, serve, methods=[endpoint.method])

    return [route(endpoint) for endpoint in REMOTE_ENDPOINTS]


def _matches(header: str, etag: str) -> bool:
    """True if a header `If-None-Match` names an ETag."""
    return any(tag.strip().removeprefix("W/") == f'"{etag}"' for tag in header.split(","))
