"""A part of a graph as a self-contained value, and as a page in one file.

The page is the App of the bundle with the value inside: it needs no server and no network.

A snapshot contains only the content that it shows, because it is sent to others: the nodes and the
links among them, their texts, and the commits that wrote them. Counts, missing concepts, branches
and actors of the rest of the graph are left out, and so are all later changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import orjson

from mycel.errors import InternalError
from mycel.explorer import bundle
from mycel.explorer.explorer import Explorer
from mycel.model.values import JsonObject

NODES: Final = 300
"""The default number of nodes of a snapshot."""
NODES_MAX: Final = 2_000
CONTENT_CHARACTERS_MAX: Final = 100_000
"""The maximum number of characters of content; longer content is cut, with a remark."""

_PLACE: Final = b'<script type="application/json" id="mycel-data"></script>'


def snapshot(
    explorer: Explorer, *, center: str | None = None, limit: int = NODES, at: str | None = None
) -> JsonObject:
    """The most linked nodes of a graph, or the nodes around one, with all links among them."""
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
        "about": _about(explorer, drawn),
        "nodes": drawn["nodes"],
        "links": drawn["links"],
        "details": details,
        "missing": _missing(drawn),
        "commits": _commits(details),
    }


def _about(explorer: Explorer, drawn: JsonObject) -> JsonObject:
    """The description of the graph, with counts of the shown nodes and links only."""
    about = explorer.view("about", {})
    kinds = Counter(card["kind"] for card in drawn["nodes"])
    return {
        "name": about["name"],
        "graph": about["graph"],
        "version": about["version"],
        "workspace": about["workspace"],
        "workspaces": [{"name": about["workspace"], "nodes": len(drawn["nodes"])}],
        "branch": about["branch"],
        "branches": [],
        "position": drawn["position"],
        "writable": False,
        "conflicts": 0,
        "counts": {
            "nodes": len(drawn["nodes"]) - kinds["missing"],
            "links": len(drawn["links"]),
            "missing": kinds["missing"],
            "types": dict(Counter(card["type"] for card in drawn["nodes"])),
            "relations": dict(Counter(link["relation"] for link in drawn["links"])),
        },
    }


def _missing(drawn: JsonObject) -> JsonObject:
    """The shown missing concepts, with the shown nodes that link to them."""
    cards = {card["id"]: card for card in drawn["nodes"]}
    missing = []
    for card in drawn["nodes"]:
        if card["kind"] == "missing":
            links = [link for link in drawn["links"] if link["target"] == card["id"]]
            fields = {
                "links": len(links),
                "from": [cards[link["source"]] for link in links if link["source"] in cards],
                "relations": sorted({link["relation"] for link in links}),
            }
            missing.append(card | fields)
    return {"position": drawn["position"], "missing": missing, "total": len(missing)}


def _commits(details: Mapping[str, JsonObject]) -> list[JsonObject]:
    """The commits that wrote the shown versions of nodes, newest first."""
    written = (node.get("commit") for node in details.values())
    commits = {commit["seq"]: commit for commit in written if commit}
    return [commits[seq] for seq in sorted(commits, reverse=True)]


def _chosen(explorer: Explorer, center: str | None, limit: int, at: str | None) -> list[str]:
    """The ids of the nodes of a snapshot."""
    if center is None:
        return explorer.most_linked(limit, at)
    first = explorer.view("near", {"id": center, "limit": 1, "at": at})["center"]["id"]
    chosen = [first]
    waiting = [first]
    while waiting and len(chosen) < limit:
        id_ = waiting.pop(0)
        most = min(limit - len(chosen), 500)
        arguments = {"id": id_, "known": chosen, "limit": most, "at": at}
        neighbours = [card["id"] for card in explorer.view("near", arguments)["nodes"]]
        chosen += neighbours
        waiting += neighbours
    return chosen


def page(data: JsonObject) -> bytes:
    """A snapshot as a page in one file.

    Raises:
        NotFound: the explorer is not part of this installation.
    """
    app = bundle.asset(bundle.APP).content
    if app.count(_PLACE) != 1:
        raise InternalError("The App of the explorer has no place for data.")
    # Only `<` could end the script element.
    text = orjson.dumps(data).replace(b"<", b"\\u003c")
    return app.replace(_PLACE, _PLACE.replace(b"></", b">" + text + b"</"))
