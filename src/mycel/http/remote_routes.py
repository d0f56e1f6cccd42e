"""The reading part of the protocol between workspaces (docs/remote-protocol.md).

`/refs`, `/commits`, `/diff`, `/journal`, `/purges`, `/consistency`, `/subgraph` and `/search`, each
of the branch that `?branch=` names.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from mycel.errors import ConstraintViolation
from mycel.explorer.parameters import Argument, integer_parameter
from mycel.http.endpoints import Endpoint, EndpointCall, EndpointReply, reply
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
from mycel.search.modes import HYBRID, MODES
from mycel.sharing.scopes import ACTIONS, readable_text
from mycel.text.kinds import KINDS

CBOR: Final = "application/cbor"


def _refs(call: EndpointCall) -> EndpointReply:
    payload = {"workspace": call.served.workspace} | pages.refs(call.db)
    paths: list[str] = []
    heads = "".join(head["name"] + head["overall_root"] for head in payload["branches"])
    access = call.access
    payload["can"] = [action for action in ACTIONS if access is None or access.may_ever(action)]
    if access is not None and not access.reads_everything:
        payload["paths"] = paths = readable_text(access.patterns("read", call.db.branch))
    if call.served.signer is not None:
        payload["key"] = call.served.signer.key
        for head in payload["branches"]:
            head["signature"] = call.served.signer.sign(
                head["name"], paths, head["entries"], head["overall_root"]
            )
    digest = sha256(f"{heads}{sorted(payload['tags'].items())}{payload['can']}".encode())
    return reply(payload, etag=digest.hexdigest())


def _commits(call: EndpointCall) -> EndpointReply:
    return reply(pages.commits_page(call.db, **call.values))


def _diff(call: EndpointCall) -> EndpointReply:
    cursor = call.values["cursor"]
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 16):
        raise ConstraintViolation(
            "The cursor is not of this list.", hint="Pass `next` of the page before."
        )
    page = pages.diff_page(
        call.db,
        call.values["from"],
        call.values["to"],
        paths=call.values["path"],
        cursor=int(cursor),
        limit=call.values["limit"],
    )
    return reply(page)


def _journal(call: EndpointCall) -> EndpointReply:
    page = pages.journal_page(call.db, call.values["after"], call.values["limit"])
    return EndpointReply(page, media_type=CBOR)


def _purges(call: EndpointCall) -> EndpointReply:
    return EndpointReply(pages.purges_page(call.db, call.values["after"]), media_type=CBOR)


def _consistency(call: EndpointCall) -> EndpointReply:
    return reply(pages.consistency(call.db, call.values["from"], call.values["to"]).to_dict())


def _subgraph(call: EndpointCall) -> EndpointReply:
    values = call.values
    try:
        costs = [float(cost) for cost in values["cost"]]
    except ValueError:
        raise ConstraintViolation("cost is a list of numbers.") from None
    if any(not 0 <= cost <= values["max_cost"] for cost in costs):
        raise ConstraintViolation("A cost so far is a number from 0 to max_cost.")
    request = SubgraphRequest(
        values["start"],
        costs,
        values["max_cost"],
        values["max_nodes"],
        values["direction"],
        values["relation"] or None,
        values["proofs"],
    )
    payload, digest = read_subgraph(call.view, request)
    return reply(payload, etag=digest)


def _search(call: EndpointCall) -> EndpointReply:
    filters = dict(call.values)
    metadata = filters.pop("metadata")
    if metadata is not None:
        try:
            filters["metadata"] = read_json(metadata)
        except ValueError:
            raise ConstraintViolation("metadata is a JSON object.") from None
    payload, digest = read_hits(call.view, filters.pop("q"), **filters)
    return reply(payload, etag=digest)


def _position(description: str, default: int | None, least: int = 0) -> Argument:
    return integer_parameter(description, default, INTEGER_MAX, least)


REMOTE_ENDPOINTS: Final = (
    Endpoint("GET", "/refs", "The branches with their heads and roots, and the tags", _refs, {}),
    Endpoint(
        "GET",
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
    Endpoint(
        "GET",
        "/diff",
        "The elements that differ between two commits",
        _diff,
        {
            "from": Argument("text", "A commit, or 0 for the empty graph", required=True),
            "to": Argument("text", "A commit; the head if left out"),
            "path": Argument("texts", "Only elements under these URIs", (), most=100),
            "cursor": Argument("text", "`next` of the page before", "0"),
            "limit": integer_parameter(
                "The maximum number of changes", pages.CHANGES_MAX, pages.CHANGES_MAX
            ),
        },
    ),
    Endpoint(
        "GET",
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
    Endpoint(
        "GET",
        "/purges",
        "The purges in the journal after a position, as CBOR",
        _purges,
        {"after": _position("The position of an entry, or 0", 0)},
    ),
    Endpoint(
        "GET",
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
    Endpoint(
        "GET",
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
    Endpoint(
        "GET",
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
            "path": Argument("text", "Only elements at or below this URI"),
            "workspace": Argument("text", "Only nodes of this workspace"),
            "actor": Argument("text", "Only elements that this actor created, or wrote last"),
            "since": Argument("text", "Only elements last written at this time or later"),
            "until": Argument("text", "Only elements last written before this time"),
            "metadata": Argument("text", "Only with these values: a JSON object"),
            "near": Argument("text", "Prefer elements close to this node"),
            "for_time": Argument("text", "Only elements that hold at this time"),
            "include_archived": Argument("flag", "Also archived elements", False),
        },
    ),
)
