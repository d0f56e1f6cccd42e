"""Branches and open merges through the explorer's endpoints."""

from pathlib import Path
from typing import Any

import mycel
from tests.adapters.http.conftest import HTTP, Server, Start


def post(server: Server, path: str, **given: Any) -> Any:
    return HTTP.post(f"{server.url}/api/{path}", json=given)


def test_conflicts_are_shown_decided_and_committed(start: Start, graph: Path) -> None:
    with mycel.open(graph) as db:
        knowledge = mycel.Knowledge(db, workspace="shop")
        knowledge.add("a", name="A", content="first")
        db.branches.create("draft")
        with db.open_branch("draft") as draft:
            theirs = mycel.Knowledge(draft, workspace="shop")
            theirs.update("a", content="theirs")
            theirs.add("b", name="B")
        knowledge.update("a", content="ours")
        assert db.merge("draft").status == "conflicts"
    server = start()
    assert server.get("/api/about").json()["conflicts"] == 1
    (merge,) = server.get("/api/conflicts").json()["merges"]
    (conflict,) = merge["conflicts"]
    assert (merge["source"], merge["into"], merge["open"]) == ("draft", "main", 1)
    assert (conflict["ours"], conflict["theirs"]) == ("ours", "theirs")
    assert conflict["card"]["id"] == "concept://shop/a"
    (card,) = post(server, "links", ids=["concept://shop/a"]).json()["nodes"]
    assert card["conflicts"] == 1
    early = post(server, "conflicts/commit", merge=merge["id"])
    assert early.status_code == 400, early.text
    hint = "Decide with POST /merges/ID, or give up with DELETE /merges/ID."
    assert early.json()["error"]["hint"] == hint
    choice = {"conflict": conflict["id"], "choice": "value", "value": "both"}
    decided = post(server, "conflicts/resolve", merge=merge["id"], resolutions=[choice]).json()
    assert decided["merges"][0]["open"] == 0
    assert server.get("/api/about").json()["conflicts"] == 0
    done = post(server, "conflicts/commit", merge=merge["id"], message="together").json()
    assert (done["merges"], done["commit"]["message"]) == ([], "together")
    node = server.get("/api/node", params={"id": "concept://shop/a"}).json()
    assert node["content"] == "both"
    assert "conflicts" not in node
    none = post(server, "conflicts/abort")
    assert (none.status_code, none.json()["error"]["hint"]) == (404, "GET /merges lists them.")
    # The two branches, side by side.
    changed = server.get("/api/diff", params={"from": "draft", "to": "main"}).json()
    assert changed["from"]["branch"] == "draft"
    assert [card["id"] for card in changed["nodes"]] == ["concept://shop/a"]
    there = server.get("/api/node", params={"id": "concept://shop/a", "branch": "draft"}).json()
    assert there["content"] == "theirs"
    names = [each["name"] for each in server.get("/api/about").json()["branches"]]
    assert names == ["main", "draft"]
