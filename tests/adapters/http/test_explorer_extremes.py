"""The explorer on graphs that are hard to show: a hub, long content, elements that go away."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.explorer.limits import LINKS_MAX, NEIGHBOURS_MAX
from mycel.store.write.bulk import ConceptRow, PropositionRow
from tests.adapters.http.conftest import HTTP, Server

SPOKES = 10_000
LONG = "<p>" + "long " * 200_000


@pytest.fixture(scope="module")
def extremes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    path = tmp_path_factory.mktemp("extremes") / "graph.db"
    with mycel.open(path) as db:
        knowledge = mycel.Knowledge(db, workspace="big")
        knowledge.add("hub", name="Hub")
        knowledge.add("long", content=LONG)
        knowledge.link("long", "spoke", "hub")
        with db.transaction() as tx:
            hub = knowledge.get("hub").id
            ends = tx.put_concepts(
                [ConceptRow("Concept", f"concept://big/s/{n}") for n in range(SPOKES)]
            )
            tx.put_propositions([PropositionRow(hub, "spoke", end) for end in ends])
            # A circle, and a link on a link.
            tx.put_propositions([PropositionRow(ends[n], "spoke", ends[n - 1]) for n in range(3)])
            about = tx.add_edge(ends[0], "references", ends[1])
            tx.add_edge(ends[2], "references", about)
    server = Server("mycel", "serve", "--json", "--db", path, "--port", "0")
    try:
        server.wait_until_ready()
        yield server, path
    finally:
        server.end()


def ask(server: Server, view: str, **given: Any) -> dict[str, Any]:
    answer = HTTP.post(f"{server.url}/api/{view}", json=given) if "known" in given else None
    answer = answer or server.get(f"/api/{view}", params=given)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def test_a_hub_is_shown_in_parts_that_say_how_much_is_left(extremes: tuple[Server, Path]) -> None:
    server, _ = extremes
    hub = "concept://big/hub"
    first = ask(server, "near", id=hub)
    assert (first["total"], first["left"]) == (SPOKES + 1, SPOKES + 1 - 25)
    assert first["center"]["degree"] == SPOKES + 1
    known = [card["id"] for card in first["nodes"]]
    more = ask(server, "near", id=hub, known=known, limit=NEIGHBOURS_MAX)
    assert len(more["nodes"]) == NEIGHBOURS_MAX
    assert not {card["id"] for card in more["nodes"]} & set(known)
    page = ask(server, "relations", id=hub, limit=1000)
    assert (len(page["relations"]), page["total"]) == (1000, SPOKES + 1)
    assert "next_cursor" in page
    inside = ask(server, "overview", group="concept://big/s", limit=2000)
    assert (inside["shown"], inside["total"]) == (2000, SPOKES)
    assert len(inside["edges"]) <= LINKS_MAX
    outgoing = ask(server, "near", id=hub, direction="in")
    assert [card["id"] for card in outgoing["nodes"]] == ["concept://big/long"]


def test_long_content_is_in_its_node_alone(extremes: tuple[Server, Path]) -> None:
    server, _ = extremes
    near = server.get("/api/near", params={"id": "concept://big/hub", "direction": "in"})
    assert len(near.content) < 5_000
    assert ask(server, "node", id="concept://big/long")["content"] == LONG


def test_circles_and_links_on_links_are_shown(extremes: tuple[Server, Path]) -> None:
    server, _ = extremes
    circle = ask(server, "near", id="concept://big/s/0", relations="spoke", direction="out")
    assert circle["nodes"][0]["id"] == f"concept://big/s/{SPOKES - 1}"
    kinds = {card["kind"]: card for card in ask(server, "near", id="concept://big/s/2")["nodes"]}
    assert kinds["link"]["name"] == "0 —references→ 1"
    link = ask(server, "node", id=kinds["link"]["id"])
    assert (link["kind"], link["type"]) == ("link", "references")


def test_what_is_gone_is_said_everywhere(extremes: tuple[Server, Path]) -> None:
    server, path = extremes
    with mycel.open(path) as db:
        knowledge = mycel.Knowledge(db, workspace="big")
        knowledge.add("hidden/secret", content="nobody may read this")
        before = db.snapshot().entries
        shown = ask(server, "overview", at=str(before), group="concept://big/hidden")["nodes"]
        assert "concept://big/hidden/secret" in [card["id"] for card in shown]
        knowledge.add("old", content="as it was")
        knowledge.delete("old", reason="enough")
        db.purge(knowledge.get("hidden/secret").id, "a test")
    for state in (True, False):
        then = {} if state else {"at": str(before)}
        groups = ask(server, "overview", **then)["groups"]
        assert "concept://big/hidden" not in [group["id"] for group in groups]
    gone = HTTP.post(
        f"{server.url}/api/links",
        json={"ids": ["concept://big/old", "C:999998", "", "%%", "P:1:x"]},
    ).json()
    assert (gone["nodes"], len(gone["gone"])) == ([], 5)
    assert ask(server, "node", id="concept://big/old")["deleted"] is True
    for view in ("node", "history", "near", "relations", "proof"):
        answer = server.get(f"/api/{view}", params={"id": "concept://big/hidden/secret"})
        assert answer.status_code == 404, (view, answer.text)
        assert "nobody may read" not in answer.text
    assert ask(server, "overview", by="type")["counts"]["nodes"] == SPOKES + 2
