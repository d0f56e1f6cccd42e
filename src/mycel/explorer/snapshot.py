"""A part of a graph as a value that stands alone, and as a page in one file.

The page is the App of the bundle with the value inside: it needs no server, and asks nothing of
the network.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from mycel.errors import InternalError
from mycel.explorer import bundle
from mycel.explorer.explorer import Explorer
from mycel.model.values import JsonObject

NODES: Final = 300
"""Nodes of a snapshot, unless more are asked for."""
NODES_MAX: Final = 2_000
CONTENT_CHARACTERS_MAX: Final = 100_000
"""Longer content is cut in a snapshot, and says so."""

_PLACE: Final = b'<script type="application/json" id="mycel-data"></script>'


def snapshot(
    explorer: Explorer, *, center: str | None = None, limit: int = NODES, at: str | None = None
) -> JsonObject:
    """The most linked nodes of a graph, or those around one node, with all links among them."""
    ids = _chosen(explorer, center, limit, at)
    drawn = explorer.view("links", {"ids": ids, "at": at})
    details: dict[str, Any] = {}
    for card in drawn["nodes"]:
        node = explorer.view("node", {"id": card["id"], "at": at})
        content = node.get("content")
        if content is not None and len(content) > CONTENT_CHARACTERS_MAX:
            node["content"] = f"{content[:CONTENT_CHARACTERS_MAX]}\n\n… (cut)"
        details[card["id"]] = node
    return {
        "about": explorer.view("about", {}) | {"position": drawn["position"], "writable": False},
        "nodes": drawn["nodes"],
        "links": drawn["links"],
        "details": details,
        "missing": explorer.view("missing", {"limit": 500, "at": at}),
        "commits": explorer.view("commits", {"limit": 50})["commits"],
    }


def _chosen(explorer: Explorer, center: str | None, limit: int, at: str | None) -> list[str]:
    """The ids of the nodes of a snapshot."""
    if center is None:
        return explorer.most_linked(limit, at)
    first = explorer.view("near", {"id": center, "limit": 1, "at": at})["center"]["id"]
    known = [first]
    waiting = [first]
    while waiting and len(known) < limit:
        id_ = waiting.pop(0)
        wanted = min(limit - len(known), 500)
        asked = {"id": id_, "known": known, "limit": wanted, "at": at}
        fresh = [card["id"] for card in explorer.view("near", asked)["nodes"]]
        known += fresh
        waiting += fresh
    return known


def page(data: JsonObject) -> bytes:
    """A snapshot as a page in one file.

    Raises:
        NotFound: the explorer is not part of this installation.
    """
    app = bundle.asset(bundle.APP).content
    if app.count(_PLACE) != 1:
        raise InternalError("The App of the explorer has no place for data.")
    # Inside of a script element, only `<` could end it.
    text = orjson.dumps(data).replace(b"<", b"\\u003c")
    return app.replace(_PLACE, _PLACE.replace(b"></", b">" + text + b"</"))
