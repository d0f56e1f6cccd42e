"""`mycel explore`: a page in a browser, and files that stand alone."""

import json
import os
import signal
import stat
import time
from base64 import urlsafe_b64decode
from pathlib import Path
from xml.etree import ElementTree

import mycel
from tests.adapters.cli.conftest import Run, needs_posix
from tests.adapters.http.conftest import HTTP, Server

HOSTILE = '</script><script>alert(1)</script><b onclick="x">&'


def graph_with_markup(path: Path) -> Path:
    with mycel.open(path) as db:
        knowledge = mycel.Knowledge(db, workspace="shop")
        knowledge.add("a", name=HOSTILE, content=HOSTILE)
        knowledge.link("a", "needs", "missing/b")
    return path


def test_an_export_stands_alone_and_markup_in_it_is_text(run: Run, tmp_path: Path) -> None:
    graph = graph_with_markup(tmp_path / "graph.db")
    data, page, drawing = (tmp_path / f"graph.{kind}" for kind in ("json", "html", "svg"))
    for target in (data, page, drawing):
        done = run("explore", "--db", graph, "--export", target, "--json")
        assert (done.status, done.stderr) == (0, "")
        assert json.loads(done.stdout) == {"path": str(target), "nodes": 2, "of": 2, "links": 1}
    told = json.loads(data.read_bytes())
    assert {card["kind"] for card in told["nodes"]} == {"concept", "missing"}
    assert told["details"]["concept://shop/a"]["content"] == HOSTILE
    assert told["about"]["writable"] is False
    _, _, embedded = page.read_text(encoding="utf-8").partition('id="mycel-data">')
    assert json.loads(embedded.partition("</script>")[0])["nodes"] == told["nodes"]
    root = ElementTree.fromstring(drawing.read_text(encoding="utf-8"))
    assert HOSTILE[:20] in "".join(root.itertext())
    assert not [each for each in root.iter() if each.tag.endswith("script")]


def test_an_export_may_show_one_node_and_a_past_state(run: Run, tmp_path: Path) -> None:
    graph = tmp_path / "graph.db"
    with mycel.open(graph) as db:
        knowledge = mycel.Knowledge(db, workspace="shop")
        for name in ("a", "b", "c", "d"):
            knowledge.add(name)
        knowledge.link("a", "needs", "b")
        before = db.snapshot().entries
        knowledge.link("b", "needs", "c")
    target = tmp_path / "part.json"
    for given, wanted in (((), "abc"), (("--at", str(before)), "ab"), (("--limit", "2"), "ab")):
        options = ("--center", "concept://shop/a", *given)
        run("explore", "--db", graph, "--export", target, *options)
        ids = {card["id"] for card in json.loads(target.read_bytes())["nodes"]}
        assert ids == {f"concept://shop/{name}" for name in wanted}


def test_an_export_has_what_it_shows_and_nothing_else(run: Run, tmp_path: Path) -> None:
    graph = tmp_path / "graph.db"
    secrets = ("zebra-node", "zebra-reason", "zebra-relation", "zebra-gone", "zebra-actor")
    node, reason, relation, gone, actor = secrets
    with mycel.open(graph, actor="ada") as db:
        knowledge = mycel.Knowledge(db, workspace="shop")
        for name in ("a", "b"):
            knowledge.add(name, content=f"The text of {name}.")
        knowledge.link("a", "needs", "b")
        before = db.snapshot().entries
        knowledge.update("a", content="A later secret.", message="a later reason")
        db.actor = actor
        knowledge.add(node, message=reason)
        knowledge.link(node, relation.replace("-", "_"), gone)
        db.branches.create("zebra-branch")
    for kind in ("html", "json", "svg"):
        target = tmp_path / f"part.{kind}"
        options = ("--center", "concept://shop/a", "--limit", "2", "--at", str(before))
        done = run("explore", "--db", graph, "--export", target, *options)
        assert done.status == 0, done.stderr
        text = target.read_text(encoding="utf-8")
        for word in ("zebra", "later secret", "later reason"):
            assert word not in text, (kind, word)
        if os.name == "posix":
            assert stat.S_IMODE(target.stat().st_mode) == 0o600
    told = json.loads((tmp_path / "part.json").read_bytes())
    assert told["about"]["counts"]["nodes"] == 2
    assert [commit["actor"] for commit in told["commits"]] == ["ada", "ada"]


def test_the_center_of_an_export_is_named_as_everywhere(run: Run, tmp_path: Path) -> None:
    graph = graph_with_markup(tmp_path / "graph.db")
    with mycel.open(graph) as db:
        id_ = mycel.Knowledge(db, workspace="shop").get("a").id
    target = tmp_path / "part.json"
    for center in ("concept://shop/a", id_):
        done = run("explore", "--db", graph, "--export", target, "--center", center, "--shared")
        assert done.status == 0, done.stderr
        assert "concept://shop/a" in target.read_text()


def test_what_cannot_be_exported_is_said(run: Run, tmp_path: Path) -> None:
    graph = graph_with_markup(tmp_path / "graph.db")
    for target, said in [("graph.pdf", ".svg"), ("no/such/folder/graph.svg", "No such file")]:
        done = run("explore", "--db", graph, "--export", tmp_path / target)
        assert done.status == 2
        assert said in done.stderr
    assert run("explore", "--db", graph, "--center", "a").status == 2
    absent = run("explore", "--db", tmp_path / "absent.db")
    assert (absent.status, (tmp_path / "absent.db").exists()) == (1, False)
    assert "no database" in absent.stderr


@needs_posix
def test_one_command_starts_opens_and_stops(tmp_path: Path) -> None:
    graph = graph_with_markup(tmp_path / "graph.db")
    address = tmp_path / "address"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {address}.new\nmv {address}.new {address}\n')
    browser.chmod(0o700)
    server = Server("mycel", "explore", "--json", "--db", graph, BROWSER=f"{browser} %s")
    try:
        server.wait_until_ready()
        while not address.exists():
            assert server.process.poll() is None
        page, _, ticket = address.read_text().partition("#ticket=")
        assert (
            server.get("/ui/").headers["content-security-policy"].startswith("default-src 'none'")
        )
        assert (page, server.get("/api/about").status_code) == (server.ready["explorer"], 401)
        token = HTTP.post(f"{server.url}/api/ticket", json={"ticket": ticket}).json()["token"]
        allowed = {"authorization": f"Bearer {token}"}
        assert server.get("/api/about", headers=allowed).json()["counts"]["missing"] == 1
        status, said, complained = server.stop(signal.SIGINT)
    finally:
        server.end()
    assert (status, complained) == (0, "")
    assert json.loads(said.splitlines()[-1]) == {"event": "stopped"}


@needs_posix
def test_without_a_browser_there_is_time_to_copy_the_address(tmp_path: Path) -> None:
    graph = graph_with_markup(tmp_path / "graph.db")
    browser = tmp_path / "browser"
    browser.write_text("#!/bin/sh\nexit 1\n")
    browser.chmod(0o700)
    environment = {"BROWSER": f"{browser} %s", "PATH": str(tmp_path), "DISPLAY": ""}
    server = Server("mycel", "explore", "--json", "--db", graph, **environment)
    try:
        server.wait_until_ready()
        assert server.process.stderr is not None
        said = server.process.stderr.readline()
        page, _, ticket = said.partition("Open ")[2].partition(" ")[0].partition("#ticket=")
        assert page == server.ready["explorer"]
        assert "within 15 minutes" in said
        expiry = int.from_bytes(urlsafe_b64decode(ticket.removeprefix("myt_") + "==")[:8], "big")
        assert 14 * 60 < expiry - time.time() <= 15 * 60
        assert HTTP.post(f"{server.url}/api/ticket", json={"ticket": ticket}).json()["token"]
    finally:
        server.end()


def test_the_center_of_an_export_is_whatever_a_traversal_may_begin_with(
    run: Run, tmp_path: Path
) -> None:
    graph = tmp_path / "graph.db"
    with mycel.open(graph) as db:
        shop = mycel.Knowledge(db, workspace="shop")
        shop.add("auth/login", name="Login")
        shop.add("file://shop/src/login.py")
        shop.link("auth/login", "implemented_in", "file://shop/src/login.py")
        db.execute('UPSERT { CONCEPT ?a { {type: "Person", name: "Ada"} } }')
    target = tmp_path / "part.json"
    for center, meant in [
        ("auth/login", "concept://shop/auth/login"),
        ("Login", "concept://shop/auth/login"),
        ("src/login.py", "file://shop/src/login.py"),
        ("login.py", "file://shop/src/login.py"),
        ("Person:Ada", "kip:Person/Ada"),
    ]:
        done = run("traverse", "--db", graph, center, "--json")
        assert done.status == 0, (center, done.stderr)
        options = ("--export", target, "--center", center, "--limit", "1")
        done = run("explore", "--db", graph, *options)
        assert done.status == 0, (center, done.stderr)
        assert [card["id"] for card in json.loads(target.read_bytes())["nodes"]] == [meant], center
