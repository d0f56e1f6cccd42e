"""The page works in the workspaces of the graph, whatever folder its server was started in."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mycel
from tests.adapters.http.conftest import HTTP, Server

LOGIN, SESSION = "concept://shop/auth/login", "concept://shop/auth/session"


@pytest.fixture
def graphs(tmp_path: Path) -> Iterator[Server]:
    """A graph of the workspace `shop`, served from the folder `graphs`."""
    folder = tmp_path / "graphs"
    folder.mkdir()
    with mycel.open(folder / "shop.db", actor="ada") as db:
        shop = mycel.Knowledge(db, workspace="shop")
        shop.add("auth/login", name="Login")
        shop.add("auth/session", name="Session")
        shop.add("old/session", name="Session")
        shop.link("auth/login", "depends_on", "auth/session")
        db.execute('UPSERT { CONCEPT ?a { {type: "Person", name: "Ada Lovelace"} } }')
    options = ("--db", folder / "shop.db", "--root", folder, "--port", "0")
    server = Server("mycel", "serve", "--json", *options)
    try:
        server.wait_until_ready()
        yield server
    finally:
        server.end()


def post(server: Server, path: str, **given: Any) -> dict[str, Any]:
    answer = HTTP.post(f"{server.url}/api/{path}", json=given)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def test_paths_belong_to_a_workspace_of_the_graph(graphs: Server) -> None:
    about = graphs.get("/api/about").json()
    assert (about["workspace"], about["graph"]) == ("shop", "shop")
    assert about["workspaces"] == [{"name": "shop", "nodes": 3, "group": "concept://shop"}]
    node = graphs.get("/api/node", params={"id": "auth/login"}).json()
    assert node["id"] == LOGIN
    near = post(graphs, "near", id="auth/login", known=["auth/session"])
    assert near["nodes"] == []
    linked = post(graphs, "write", op="link", source=LOGIN, relation="uses", target="auth/session")
    assert linked["changed"] is True
    post(graphs, "write", op="link", source=LOGIN, relation="uses", target="auth/keys")
    post(graphs, "write", op="add", id="new", relations=[{"relation": "uses", "target": "x"}])
    post(graphs, "write", op="move", id="old/session", to="older/session")
    after = graphs.get("/api/about").json()
    assert [each["name"] for each in after["workspaces"]] == ["shop"]
    assert after["counts"]["missing"] == 2


def test_a_name_on_the_page_means_that_node(graphs: Server) -> None:
    shown = [LOGIN, SESSION, "kip:Person/Ada Lovelace"]
    for text, near, meant in [
        ("Login", None, LOGIN),
        ("login", SESSION, LOGIN),
        ("auth/login", None, LOGIN),
        ("Session", LOGIN, SESSION),  # Another one with this name is not shown.
        ("ada lovelace", LOGIN, "kip:Person/Ada Lovelace"),
        (LOGIN, None, LOGIN),
    ]:
        told = post(graphs, "identify", text=text, shown=shown, **({"near": near} if near else {}))
        assert (told["id"], told["node"]["id"]) == (meant, meant), text


def test_other_names_are_found_or_asked_about_or_new(graphs: Server) -> None:
    assert post(graphs, "identify", text="Login")["id"] == LOGIN
    several = post(graphs, "identify", text="Session")
    assert several["id"] is None
    assert {card["id"] for card in several["candidates"]} == {SESSION, "concept://shop/old/session"}
    shown = [SESSION, "concept://shop/old/session"]
    again = post(graphs, "identify", text="session", shown=shown)
    assert again["id"] is None
    assert len(again["candidates"]) == 2
    fresh = post(graphs, "identify", text="auth/devices", near=LOGIN)
    assert (fresh["id"], fresh["node"]) == ("concept://shop/auth/devices", None)
    path = post(graphs, "identify", text="Login", shown=[LOGIN], is_new=True)
    assert (path["id"], path["node"]) == ("concept://shop/Login", None)
    beside = post(graphs, "identify", text="a", near="concept://docs/b", is_new=True)
    assert beside["id"] == "concept://docs/a"
    refused = HTTP.post(f"{graphs.url}/api/identify", json={"text": "../x"})
    assert refused.status_code == 400


def test_an_empty_graph_has_the_workspace_of_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "garden"
    folder.mkdir()
    mycel.open(folder / "plants.db").close()
    options = ("--db", folder / "plants.db", "--root", folder, "--port", "0")
    server = Server("mycel", "serve", "--json", *options)
    try:
        server.wait_until_ready()
        about = server.get("/api/about").json()
        assert (about["graph"], about["workspace"]) == ("plants", "garden")
        with mycel.open(folder / "plants.db") as db:
            mycel.Knowledge(db, workspace="trees").add("oak")
        assert server.get("/api/about").json()["workspace"] == "trees"
    finally:
        server.end()
