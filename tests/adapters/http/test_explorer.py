"""The explorer's endpoints, through a real server and a real client."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import mycel
from tests.adapters.http.conftest import HTTP, Server, Start

TOKEN = "a-secret-of-the-server"
HOSTILE = '<img src=x onerror="alert(1)">\u202etxt'


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server on a small graph of URIs and of plain concepts; tests add to it."""
    path = tmp_path_factory.mktemp("served") / "shop" / "graph.db"
    path.parent.mkdir()
    with mycel.open(path, actor="ada") as db:
        knowledge = mycel.Knowledge(db, workspace="shop")
        knowledge.add("auth/login", name="Login", content="# Login\n\nWith a passkey.")
        knowledge.add("auth/session", name="Session")
        knowledge.link("auth/login", "depends_on", "auth/session", weight=0.5)
        knowledge.link("auth/login", "depends_on", "auth/recovery", message="to be written")
        knowledge.add("notes/hostile", name=HOSTILE, content="<script>alert(1)</script>")
        db.execute(
            'UPSERT { CONCEPT ?a { {type: "Person", name: "Ada Lovelace"} }'
            ' CONCEPT ?b { {type: "Domain", name: "People"} }'
            ' PROPOSITION { (?a, "belongs_to_domain", ?b) } }'
        )
    server = Server("mycel", "serve", "--json", "--db", path, "--port", "0", "--root", path.parent)
    try:
        server.wait_until_ready()
        yield server
    finally:
        server.end()


def ask(server: Server, view: str, **given: Any) -> dict[str, Any]:
    answer = server.get(f"/api/{view}", params=given)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    assert isinstance(told["position"], int)
    return told


def write(server: Server, **given: Any) -> httpx.Response:
    return HTTP.post(f"{server.url}/api/write", json=given)


def ids(cards: list[dict[str, Any]]) -> list[str]:
    return [card["id"] for card in cards]


LOGIN, SESSION = "concept://shop/auth/login", "concept://shop/auth/session"
RECOVERY = "concept://shop/auth/recovery"


def test_a_graph_says_what_is_in_it(shop: Server) -> None:
    told = ask(shop, "about")
    assert told["writable"] is True
    assert told["counts"]["types"]["Person"] == 1
    assert told["counts"]["missing"] == 1
    assert told["counts"]["relations"]["depends_on"] == 2
    assert "shop" in [each["name"] for each in told["workspaces"]]


def test_beginnings_of_words_and_segments_find_nodes(shop: Server) -> None:
    for typed, found in [
        ("lo", LOGIN),
        ("LOG", LOGIN),
        ("auth ses", SESSION),
        ("concept://shop/auth/lo", LOGIN),
        ("love", "kip:Person/Ada Lovelace"),
        ("recov", RECOVERY),
        ("auth", LOGIN),
    ]:
        assert found in ids(ask(shop, "suggest", q=typed)["hits"]), typed
    assert ask(shop, "suggest", q="zzzz")["hits"] == []


def test_neighbours_come_in_turn_and_never_twice(shop: Server) -> None:
    first = ask(shop, "near", id=LOGIN, limit=1)
    assert (first["total"], first["left"], len(first["nodes"])) == (2, 1, 1)
    rest = ask(shop, "near", id=LOGIN, limit=25, known=ids(first["nodes"]))
    assert rest["left"] == 0
    assert not set(ids(first["nodes"])) & set(ids(rest["nodes"]))
    assert {each["target"] for each in rest["links"]} == {SESSION, RECOVERY}
    missing = [each for each in rest["links"] if each.get("missing")]
    assert [each["target"] for each in missing] == [RECOVERY]
    long = HTTP.post(f"{shop.url}/api/near", json={"id": LOGIN, "known": [SESSION] * 3000})
    assert ids(long.json()["nodes"]) == [RECOVERY]
    assert ask(shop, "near", id=LOGIN, types="Missing")["total"] == 1


def test_an_overview_groups_by_folder_domain_and_type(shop: Server) -> None:
    folders = ask(shop, "overview")
    assert "concept://shop/auth" in ids(folders["groups"])
    assert LOGIN in ids(folders["nodes"])
    inside = ask(shop, "overview", group="concept://shop/auth")
    assert {LOGIN, SESSION, RECOVERY} <= set(ids(inside["nodes"]))
    assert len(inside["edges"]) == 2
    types = ask(shop, "overview", by="type")
    assert {"Person", "Concept", "Missing"} <= set(ids(types["groups"]))
    domains = ask(shop, "overview", by="domain")
    people = [each for each in domains["groups"] if each["name"] == "People"]
    assert people[0]["nodes"] == 1
    assert shop.get("/api/overview", params={"group": "nowhere"}).status_code == 404


def test_a_node_is_shown_with_relations_history_and_proof(shop: Server) -> None:
    node = ask(shop, "node", id=LOGIN)
    assert (node["name"], node["content"][:7], node["commit"]["actor"]) == (
        "Login",
        "# Login",
        "ada",
    )
    relations = ask(shop, "relations", id=LOGIN, limit=1)
    more = ask(shop, "relations", id=LOGIN, limit=1, cursor=relations["next_cursor"])
    assert {each["relations"][0]["other"]["id"] for each in (relations, more)} == {
        SESSION,
        RECOVERY,
    }
    assert relations["total"] == 2
    assert ask(shop, "history", id=LOGIN)["versions"][0]["kind"] == "put_concept"
    proof = ask(shop, "proof", id=LOGIN)
    assert (proof["verified"], proof["root"]) == (True, ask(shop, "about")["root"])
    plain = ask(shop, "node", id="kip:Person/Ada Lovelace")
    assert (plain["type"], plain["kind"]) == ("Person", "concept")
    missing = ask(shop, "missing")["missing"]
    assert [each["id"] for each in missing] == [RECOVERY]
    assert missing[0]["from"][0]["id"] == LOGIN


def test_names_with_markup_are_data(shop: Server) -> None:
    answer = shop.get("/api/node", params={"id": "concept://shop/notes/hostile"})
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.json()["name"] == HOSTILE


def test_wrong_parameters_are_named(shop: Server) -> None:
    for view, given, status, said in [
        ("near", {"id": LOGIN, "limit": "many"}, 400, "limit"),
        ("near", {"id": LOGIN, "limit": 100_000}, 400, "limit"),
        ("near", {}, 400, "'id'"),
        ("near", {"id": LOGIN, "knwon": "x"}, 400, "knwon"),
        ("node", {"id": "concept://shop/auth/logni"}, 404, "logni"),
        ("node", {"id": "C:999998"}, 404, "C:999998"),
        ("node", {"id": LOGIN, "at": "99999999"}, 400, "99999999"),
        ("node", {"id": LOGIN, "at": "yesterday"}, 400, "yesterday"),
        ("overview", {"by": "colour"}, 400, "colour"),
        ("relations", {"id": LOGIN, "cursor": "x"}, 400, "cursor"),
        ("suggest", {"q": "x" * 1000}, 400, "q"),
        ("diff", {"from": "-1"}, 400, "-1"),
    ]:
        answer = shop.get(f"/api/{view}", params=given)
        assert answer.status_code == status, (view, given, answer.text)
        assert said in answer.json()["error"]["message"] + answer.json()["error"]["hint"]
    assert HTTP.post(f"{shop.url}/api/near", content=b"[]").status_code == 400


def test_the_past_is_shown_as_it_was(shop: Server) -> None:
    before = ask(shop, "about")["position"]
    made = write(shop, op="add", id="past/one", name="One", content="first").json()
    then = made["position"]
    write(shop, op="update", id="past/one", content="second", expect_version=1)
    write(shop, op="link", source="past/one", relation="depends_on", target="auth/login")
    now = write(shop, op="delete", id="past/one", reason="enough", message="gone").json()
    one = made["id"]
    assert shop.get("/api/node", params={"id": one, "at": str(before)}).status_code == 404
    assert ask(shop, "node", id=one, at=str(then))["content"] == "first"
    gone = ask(shop, "node", id=one)
    assert (gone["deleted"], gone["reason"], gone["content"]) == (True, "enough", "second")
    assert one in ids(ask(shop, "suggest", q="one", at=str(then))["hits"])
    assert one not in ids(ask(shop, "suggest", q="one")["hits"])
    assert ids(ask(shop, "search", q="One", at=str(then))["hits"])[0] == one
    linked = now["commit"]["before"]
    assert one in ids(ask(shop, "near", id=LOGIN, at=str(linked))["nodes"])
    assert one not in ids(ask(shop, "near", id=LOGIN)["nodes"])
    past = ask(shop, "overview", at=str(linked), group="concept://shop/past")
    assert ids(past["nodes"]) == [one]
    changed = ask(shop, "diff", **{"from": str(then), "to": str(linked)})
    assert changed["counts"] == {"added": 1, "removed": 0, "changed": 1, "moved": 0}
    assert changed["nodes"][0]["values"][0]["new"] == "second"
    assert changed["from"]["time"] < changed["to"]["time"]
    assert [each["version"] for each in ask(shop, "history", id=one)["versions"]][-1] == 1
    spans = ask(shop, "timeline", buckets=10)
    assert spans["buckets"][-1]["to_seq"] == now["position"]
    assert sum(each["count"] for each in spans["buckets"]) == now["position"] - spans["from"]["seq"]


def test_every_write_names_its_commit(shop: Server) -> None:
    added = write(shop, op="add", id="edit/a", name="A", message="for a test").json()
    assert added["commit"]["message"] == "for a test"
    assert added["commit"]["actor"] == "$self:explorer"
    listed = ask(shop, "commits", limit=1)["commits"]
    assert listed[0]["commit"] == added["commit"]["commit"]
    again = write(shop, op="add", id="edit/a", name="A").json()
    assert (again["changed"], again["commit"]) == (False, None)
    stale = write(shop, op="update", id="edit/a", name="B", expect_version=7)
    assert (stale.status_code, stale.json()["error"]["data"]["actual"]) == (409, 1)
    moved = write(shop, op="move", id="edit/a", to="edit/b", expect_version=1).json()
    assert moved["id"] == "concept://shop/edit/b"
    undone = write(shop, op="revert", commit=moved["commit"]["seq"]).json()
    assert (undone["changed"], undone["counts"]["moved"]) == (True, 1)
    assert ask(shop, "node", id="edit/a")["name"] == "A"
    plain = write(shop, op="add", id="kip:Person/Grace", attributes={"born": 1906}).json()
    assert plain["node"]["type"] == "Person"
    renamed = write(shop, op="move", id="kip:Person/Grace", to="Grace Hopper").json()
    assert renamed["id"] == "kip:Person/Grace Hopper"
    assert write(shop, op="add", id="kip:Planet/Mars").status_code == 400
    assert write(shop, op="explode").status_code == 400
    assert write(shop, op="delete", id="edit/nothing").status_code == 404


def test_a_page_needs_no_token_and_its_data_does(start: Start, tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text(TOKEN)
    secret.chmod(0o600)
    server = start("--token-file", secret, "--readonly")
    browser = {"accept": "text/html,*/*;q=0.8"}
    home = server.get("/", headers=browser)
    assert (home.status_code, home.headers["location"]) == (307, "/ui/")
    assert server.get("/").status_code == 401
    assert server.get("/ui/").status_code == 200
    assert server.get("/ui/../api/about").status_code == 401
    assert server.get("/api/about").status_code == 401
    allowed = {"authorization": f"Bearer {TOKEN}"}
    assert server.get("/api/about", headers=allowed).json()["writable"] is False
    refused = HTTP.post(
        f"{server.url}/api/write", json={"op": "add", "id": "kip:Plant/X"}, headers=allowed
    )
    assert refused.status_code == 403
    wrong = HTTP.post(f"{server.url}/api/ticket", json={"ticket": "myt_" + "A" * 75})
    assert wrong.status_code == 401
    assert json.loads(wrong.content)["error"]["hint"]


def test_every_view_answers_as_it_is_described(shop: Server) -> None:
    described = shop.get("/openapi.json").json()["paths"]
    asked = 0
    for path, methods in described.items():
        needed = [
            each for each in methods.get("get", {}).get("parameters", ()) if each.get("required")
        ]
        if path.startswith("/api/") and "get" in methods and not needed and path != "/api/changes":
            assert ask(shop, path.removeprefix("/api/"))["position"] > 0
            asked += 1
    assert asked >= 6


def test_files_of_the_page_are_kept_as_their_names_allow(shop: Server) -> None:
    page = shop.get("/ui/", headers={"accept-encoding": "gzip"})
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["cache-control"] == "no-cache"
    assert "trusted-types dompurify mycel" in page.headers["content-security-policy"]
    assert page.headers["referrer-policy"] == "no-referrer"
    again = shop.get("/ui/", headers={"if-none-match": page.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    scripts = re.findall(r'(?:src|href)="([^"]+\.(?:js|css))"', page.text)
    assert scripts
    for name in scripts:
        file = shop.get(f"/ui/{name.rpartition('/')[2]}", headers={"accept-encoding": "gzip"})
        assert file.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert file.headers["content-encoding"] == "gzip"
        assert "javascript" in file.headers["content-type"] or "css" in file.headers["content-type"]
    for name in ("manifest.json", "..%2fexplorer.py", "nothing.js", "%00"):
        assert shop.get(f"/ui/{name}").status_code == 404, name
    assert shop.get("/ui").headers["location"] == "/ui/"
