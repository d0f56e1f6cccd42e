"""Traversal into other workspaces: fetched in few requests, checked, and said as what it is."""

from pathlib import Path

import pytest

import mycel
from mycel.knowledge.elsewhere import Elsewhere
from mycel.knowledge.node_traversal import distant_starts
from mycel.mcp import node_text
from mycel.remote.registry import RemoteEntry, RemoteRegistry
from tests.adapters.http.team import Team, team
from tests.adapters.mcp.clients import connected
from tests.adapters.remote.test_clones import altered, honest, lying
from tests.prepared import NEW

__all__ = ["team"]


@pytest.fixture
def registry(tmp_path: Path) -> RemoteRegistry:
    return RemoteRegistry(tmp_path / "config" / "workspaces.toml")


def test_a_traversal_goes_on_in_another_workspace(team: Team, registry: RemoteRegistry) -> None:
    team.add("ops")
    place = team.folder / "ops.db"
    with mycel.open(place, actor="ben") as db:
        know = mycel.Knowledge(db, workspace="ops")
        links = [
            {"source": "team", "relation": "has", "target": f"m{number}", "weight": 0.5}
            for number in range(98)
        ]
        links += [
            {"source": "team", "relation": "for", "target": "concept://shop/auth", "weight": 0},
            {"source": "team", "relation": "at", "target": "concept://far/office", "weight": 0.1},
        ]
        nodes = [{"uri": name, "content": name} for name in ("team", "gone", "old")]
        nodes += [{"uri": f"m{number}", "content": "a member"} for number in range(98)]
        know.remember(nodes, links)
        know.delete("gone", reason="split up")
        know.move("old", "new")
    team.serve()
    assert team.server is not None
    registry.add(RemoteEntry("ops", f"{team.server.url}/ws/ops"))
    registry.add(RemoteEntry("dead", "http://127.0.0.1:1/ws/dead"))
    elsewhere = Elsewhere(registry)
    with NEW.opened() as db:
        know = mycel.Knowledge(db, workspace="shop")
        targets = ["ops/team", "ops/gone", "ops/old", "ops/never", "nobody/x", "dead/y"]
        know.remember(
            [{"uri": "auth"}],
            [
                {
                    "source": "auth",
                    "relation": "owned_by",
                    "target": f"concept://{target}",
                    "weight": 0.2,
                }
                for target in targets
            ],
        )
        starts = distant_starts(know.traverse("auth").nodes, "shop")
    assert set(starts) == {f"concept://{target}" for target in targets}
    found = {node.uri: node for node in elsewhere.reach(starts, max_cost=1, max_nodes=120)}
    states = {uri.removeprefix("concept://"): node.state for uri, node in found.items()}
    assert {uri: states[uri] for uri in targets} == {
        "ops/team": "fetched",
        "ops/gone": "removed",
        "ops/old": "moved",
        "ops/never": "unknown",
        "nobody/x": "not registered",
        "dead/y": "unreachable",
    }
    assert states["far/office"] == "not registered"
    reached = found["concept://ops/team"]
    assert (reached.author, reached.is_proven, reached.content) == ("ben", True, "team")
    assert found["concept://ops/m7"].cost == 0.7
    assert "split up" in found["concept://ops/gone"].advice
    assert "concept://ops/new" in found["concept://ops/old"].advice
    assert all(node.advice for node in found.values() if node.state != "fetched")
    assert len([node for node in found.values() if node.workspace == "ops"]) >= 100
    start = {"concept://ops/team": 0.2}
    fresh = Elsewhere(registry)
    assert len(fresh.reach(start, max_cost=0.7)) == 100
    assert fresh.requests <= 3
    before = fresh.requests
    again = fresh.reach(start, max_cost=0.7)
    assert ({node.state for node in again[:99]} - {"not registered"}, fresh.requests) == (
        {"unchanged"},
        before + 1,
    )
    with mycel.open(place) as db:
        mycel.Knowledge(db, workspace="ops").update("m7", content="left")
        mycel.Knowledge(db, workspace="ops").add("gone", content="back")
    healed = {node.uri: node for node in fresh.reach(starts | start, max_cost=1, max_nodes=120)}
    assert healed["concept://ops/m7"].content == "left"
    assert healed["concept://ops/gone"].state == "fetched"


def test_a_graph_in_a_file_needs_no_server_and_cycles_end(
    tmp_path: Path, registry: RemoteRegistry
) -> None:
    for name, other in (("one", "two"), ("two", "one")):
        path = tmp_path / f"{name}.db"
        with mycel.open(path) as db:
            mycel.Knowledge(db, workspace=name).remember(
                [{"uri": "a", "content": name}],
                [{"source": "a", "relation": "r", "target": f"concept://{other}/a", "weight": 0}],
            )
        registry.add(RemoteEntry(name, str(path)))
    elsewhere = Elsewhere(registry)
    found = elsewhere.reach({"concept://one/a": 0.0}, max_cost=1)
    assert [(node.uri, node.content) for node in found] == [
        ("concept://one/a", "one"),
        ("concept://two/a", "two"),
    ]
    assert elsewhere.requests == 2


def test_a_server_that_lies_about_a_node_is_not_believed(
    tmp_path: Path, registry: RemoteRegistry
) -> None:
    from mycel.http.responses import encode
    from mycel.knowledge.subgraph import SubgraphRequest, read_subgraph

    with mycel.open(tmp_path / "true.db") as db:
        know = mycel.Knowledge(db, workspace="far")
        know.add("a", content="true")
        true = honest(db)

        def answer(path: str) -> tuple[int, dict[str, str], bytes]:
            if not path.startswith("/subgraph"):
                return true(path)
            request = SubgraphRequest(["concept://far/a"], [0.0], proofs=True)
            body = encode(read_subgraph(know, request)[0])
            return 200, {}, body.replace(b'"content":"true"', b'"content":"lie!"')

        with lying(answer) as url:
            registry.add(RemoteEntry("far", url))
            (node,) = Elsewhere(registry).reach({"concept://far/a": 0.0}, max_cost=1)
            assert (node.state, node.content) == ("untrusted", "")
        with lying(altered(db, "/subgraph", lambda _: b"{}")) as url:
            registry.remove("far")
            registry.add(RemoteEntry("far", url))
            (node,) = Elsewhere(registry).reach({"concept://far/a": 0.0}, max_cost=1)
            assert node.state in ("untrusted", "unreachable")


def test_a_model_sees_the_origin_of_what_a_traversal_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with mycel.open(tmp_path / "ops.db", actor="ben") as db:
        mycel.Knowledge(db, workspace="ops").add("team", content="We run it.")
    RemoteRegistry().add(RemoteEntry("ops", str(tmp_path / "ops.db")))
    with mycel.open(tmp_path / "shop.db") as db:
        know = mycel.Knowledge(db, workspace="shop")
        know.add("auth")
        for target in ("concept://ops/team", "concept://nobody/x"):
            know.link("auth", "owned_by", target, weight=0.2)
    with connected(tmp_path / "shop.db", "--root", str(tmp_path)) as session:
        text = session.ok("traverse_graph", start="concept://shop/auth").text
        uris = ["concept://shop/auth", "concept://ops/team", "concept://nobody/x"]
        answer = session.ok("get_nodes", uris=uris)
        dead = session.call("get_nodes", uris=["concept://ops/never"])
    assert answer.data["distant"] == [{"uri": "concept://ops/team", "state": "fetched"}]
    assert "We run it. [by ben at" in answer.text
    assert "mycel remote add nobody URL" in answer.text
    assert (dead.failed, "It is unknown." in dead.text) == (True, True)
    assert "never instructions" in text
    assert "We run it. [by ben at" in text
    assert "concept://nobody/x: not registered." in text


def test_the_prompt_for_recording_offers_a_submission_where_workspaces_are_registered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    mycel.open(tmp_path / "shop.db").close()
    with connected(tmp_path / "shop.db", "--root", str(tmp_path)) as session:

        def text(name: str, **given: str) -> str:
            (message,) = session.ask("get_prompt", name, given).messages
            return str(message.content.text)

        alone = text("record_learnings")
        RemoteRegistry().add(RemoteEntry("ops", str(tmp_path / "ops.db")))
        told = text("record_learnings")
        assert "submission" not in alone
        assert told.startswith(alone)
        assert "registered here: ops" in told
        assert "mycel push --propose" in told
        assert "submission" not in text("use_knowledge", task="x")
        RemoteRegistry().path.write_text("[workspaces", encoding="utf-8")
        assert text("record_learnings") == alone


def test_broken_links_are_those_that_are_dead_elsewhere_and_files_that_are_gone(
    registry: RemoteRegistry, tmp_path: Path
) -> None:
    place, root = tmp_path / "ops.db", tmp_path / "project"
    root.mkdir()
    (root / "here.py").write_text("x = 1")
    with mycel.open(place) as ops:
        there = mycel.Knowledge(ops, workspace="ops")
        there.remember([{"uri": name, "content": name} for name in ("team", "gone", "old")])
        there.delete("gone", reason="split up")
        there.move("old", "new")
    registry.add(RemoteEntry("ops", str(place)))

    def broken(know: mycel.Knowledge) -> dict[str, str]:
        links, cursor = [], None
        while True:
            page = know.broken_links(limit=2, cursor=cursor, look=True)
            links += page.items
            cursor = page.next_cursor
            if cursor is None:
                return {link.target.partition("://")[2]: " ".join(link.caveats) for link in links}

    with NEW.opened() as db:
        know = mycel.Knowledge(db, workspace="shop", root=root, elsewhere=Elsewhere(registry))
        know.add("auth", content="x")
        targets = ["concept://ops/team", "concept://ops/gone", "concept://ops/old", "later"]
        targets += ["file://shop/here.py", "file://shop/gone.py", "file://shop/a/b.py", "far.py"]
        for target in targets:
            know.link("auth", "about", target)
        links = broken(know)
        assert links.keys() == {
            "ops/gone",
            "ops/old",
            "shop/later",
            "shop/gone.py",
            "shop/a/b.py",
            "shop/far.py",
        }
        assert "is removed, proven" in links["ops/gone"]
        assert "split up" in links["ops/gone"]
        assert "concept://ops/new" in links["ops/old"]
        assert "is gone" in links["shop/gone.py"]
        assert len(know.broken_links()) == 5
        lines = "\n".join(map(node_text.relation, know.broken_links(look=True)))
        assert "concept://ops/gone [missing: in the workspace ops]" in lines
        assert "concept://shop/later [missing: not written yet]" in lines
        # They heal where they are, or are led to the new place.
        (root / "gone.py").write_text("back")
        with mycel.open(place) as ops:
            mycel.Knowledge(ops, workspace="ops").add("gone", content="back")
        know.unlink("auth", "about", "concept://ops/old")
        know.link("auth", "about", "concept://ops/new")
        assert broken(know).keys() == {"shop/later", "shop/a/b.py", "shop/far.py"}
        for cursor in ("fx", "f", "x"):
            with pytest.raises(mycel.errors.InvalidSyntax):
                know.broken_links(cursor=cursor, look=True)
