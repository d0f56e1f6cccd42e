"""Other workspaces: reached in few requests, checked, and said as what they are."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.errors import RemoteFailed
from mycel.knowledge.elsewhere import Elsewhere
from mycel.knowledge.node_traversal import distant_starts
from mycel.mcp import node_text
from mycel.remote.registry import RemoteEntry, RemoteRegistry
from mycel.store.file.workspace_databases import database_of
from tests.adapters.cli.conftest import Run, run
from tests.adapters.http.team import Team, team
from tests.adapters.mcp.clients import connected
from tests.adapters.remote.test_clones import altered, honest, lying, write
from tests.prepared import NEW

__all__ = ["run", "team"]


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
    assert answer.data["distant"] == [{"uri": "concept://ops/team", "state": "fetched", "cost": 0}]
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
        assert "concept://ops/topic" in told
        assert "submission" not in text("use_knowledge", task="x")
        RemoteRegistry().path.write_text("[workspaces", encoding="utf-8")
        assert text("record_learnings") == alone


def test_changes_are_submitted_to_a_workspace_without_a_clone(
    team: Team, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    team.add("ops")
    mycel.open(tmp_path / "share.db").close()
    monkeypatch.setenv("OPS", team.token("ada", "write:/**"))
    monkeypatch.setenv("EVE", team.token("eve", "read:/**", "propose:/**"))
    team.serve()
    assert team.server is not None
    for name, url, token in (
        ("ops", f"{team.server.url}/ws/ops", "OPS"),
        ("eve", f"{team.server.url}/ws/ops", "EVE"),
        ("share", str(tmp_path / "share.db"), ""),
    ):
        RemoteRegistry().add(RemoteEntry(name, url, token))
    file = tmp_path / "changes.json"

    def submit(remote: str, text: str, *options: str) -> Any:
        node = {"node": f"concept://{'share' if remote == 'share' else 'ops'}/a"}
        file.write_text(json.dumps([node | {"attributes": {"content": text}}]))
        return run("submit", str(file), "--remote", remote, "--json", *options)

    for remote in ("ops", "share"):
        made = submit(remote, "one", "--key", "key-of-one")
        assert made.object["status"] == "committed", made.stderr
        again = submit(remote, "one", "--key", "key-of-one")  # Its answer was lost.
        assert again.object == made.object
        assert submit(remote, "two", "--base", made.object["commit"]).status == 0
        clash = submit(remote, "three", "--base", made.object["commit"], "--on-conflict", "merge")
        assert (clash.status, clash.object["status"]) == (1, "conflicts")
        assert clash.object["conflicts"][0]["ours"] == "two"
        stale = submit(remote, "four", "--base", made.object["commit"])
        assert (stale.status, "not the head" in stale.stderr) == (1, True)
    assert submit("eve", "five").object["status"] == "proposed"
    assert submit("nobody", "six").status == 1
    with mycel.open(tmp_path / "mine.db") as db:
        assert not mycel.Knowledge(db, workspace="mine").has("concept://ops/a")
    with connected(tmp_path / "mine.db", "--root", str(tmp_path)) as session:
        node = {"node": "concept://ops/b", "attributes": {"content": "of a model"}}
        how = {"action": "submit", "changes": [node]}
        waits = session.ok("manage_history", name="ops", **how)
        made = session.ok("manage_history", name="ops", policy="merge", **how)
        unknown = session.call("manage_history", name="nobody", **how)
    assert (waits.data["status"], made.data["status"]) == ("proposed", "committed")
    assert (unknown.failed, "mycel remote add" in unknown.text) == (True, True)
    with connected(tmp_path / "mine.db", "--root", str(tmp_path), "--readonly") as session:
        assert session.call("manage_history", name="ops", **how).failed
    assert team.server.stop()[0] == 0
    with mycel.open(team.folder / "ops.db") as db:
        shop = mycel.Knowledge(db, workspace="ops")
        assert [shop.get(name).content for name in "ab"] == ["two", "of a model"]
        assert [proposal.actor for proposal in db.proposals.list()] == ["ada", "eve"]
        assert {entry.actor for entry in db.history.log(limit=3)} == {"ada"}


def test_an_outcome_that_is_none_is_refused(registry: RemoteRegistry) -> None:
    for body in (
        *("[]", "{}", '{"status": "ok"}', '{"status": "committed", "head": "x", "counts": 7}'),
        *('{"status": "proposed"}', '{"status": "conflicts", "head": "", "conflicts": [7]}'),
        '{"status": "unchanged", "head": "x", "counts": {"a": {}}, "warnings": []}',
    ):
        with lying(lambda _, body=body: (200, {}, body.encode())) as url:  # type: ignore[misc]
            registry.add(RemoteEntry("liar", url))
            with pytest.raises(RemoteFailed):
                Elsewhere(registry).submit("liar", [{"node": "concept://liar/a"}])
            registry.remove("liar")


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


def test_get_search_and_traverse_cross_to_remotes_through_every_door(
    team: Team, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("OPS_TOKEN", team.token("ada", "read:/crew/**"))
    monkeypatch.setenv("WRONG_TOKEN", "myc_wrong")
    with mycel.open(team.folder / "ops.db", actor="ben") as db:
        ops = mycel.Knowledge(db, workspace="ops")
        names = ("crew/team", "crew/gone", "secret/pay")
        ops.remember([{"uri": name, "content": f"Kettles: {name}."} for name in names])
        ops.delete("crew/gone", reason="split up")
    team.serve()
    assert team.server is not None
    registry = RemoteRegistry()
    registry.add(RemoteEntry("ops", f"{team.server.url}/ws/ops", token_env="OPS_TOKEN"))
    registry.add(RemoteEntry("locked", f"{team.server.url}/ws/ops", token_env="WRONG_TOKEN"))
    registry.add(RemoteEntry("away", "http://127.0.0.1:1/ws/away"))
    here = database_of(tmp_path, "shop")
    here.parent.mkdir()
    #: Each URI that leads nowhere, with the word for why.
    refusals = {
        "concept://ops/crew/gone": "removed",
        "concept://ops/secret/pay": "unknown",
        "concept://locked/x": "forbidden",
        "concept://away/x": "unreachable",
        "concept://nobody/x": "not registered",
    }
    with mycel.open(here) as db:
        shop = mycel.Knowledge(db, workspace="shop", elsewhere=Elsewhere())
        shop.add("tea", content="Kettles boil water for tea.")
        shop.link("tea", "made_by", "concept://ops/crew/team", weight=0.2)
        shop.link("tea", "seen_by", "concept://ops/secret/pay", weight=0.2)
        node = shop.get("concept://ops/crew/team")
        assert node.content == "Kettles: crew/team."
        assert "by ben at http" in node.caveats[0]
        assert "to judge and not to follow" in node.caveats[0]
        assert shop.search("concept://ops/crew/team")[0].uri == node.uri
        for uri, state in refusals.items():
            with pytest.raises(mycel.errors.NotFound) as caught:
                shop.get(uri)
            assert f"It is {state}. " in caught.value.hint
            with pytest.raises(mycel.errors.NotFound) as caught:
                shop.traverse(uri)
            assert f"It is {state}. " in caught.value.hint
        near = shop.traverse("concept://ops/crew/team").distant
        assert [node.uri for node in near] == ["concept://ops/crew/team"]
        some = shop.traverse("tea", relation_types=["made_by"]).distant
        assert [node.uri for node in some] == ["concept://ops/crew/team"]
        recalled = shop.recall("what boils water for tea?")
        assert {node.uri: node.state for node in recalled.distant} == {
            "concept://ops/crew/team": "fetched",
            "concept://ops/secret/pay": "unknown",
        }

    ours = ("--workspace", "shop")
    both = ("--workspace", "shop,ops,away,locked")
    hits = run("search", *both, "kettles", "--json")
    assert {(hit["workspace"], hit["uri"]) for hit in hits.objects} == {
        ("shop", "concept://shop/tea"),
        ("ops", "concept://ops/crew/team"),
    }
    assert "away is unreachable" in hits.stderr
    assert "locked is forbidden" in hits.stderr
    assert run("search", *both, "kettles", "--as-of", "2026-01-01").status == 2
    assert [hit["workspace"] for hit in run("search", "--all", "kettles", "--json").objects] == [
        "shop"
    ]
    for words in (ours, both):
        shown = run("show", *words, "concept://ops/crew/team")
        assert "Kettles: crew/team." in shown.stdout, shown.stderr
        near = {
            node["uri"]: node
            for node in run("traverse", *words, "concept://shop/tea", "--json").objects
            if "uri" in node
        }
        assert near["concept://ops/crew/team"]["state"] == "fetched"
        assert near["concept://ops/secret/pay"]["state"] == "unknown"
        there = run("traverse", *words, "concept://ops/crew/team", "--json").objects
        assert "fetched" in [near.get("state") for near in there]
    for uri, state in refusals.items():
        for command in ("show", "traverse"):
            refused = run(command, *ours, uri)
            if uri == "concept://ops/secret/pay" and command == "traverse":
                assert state in refused.stdout  # A link of ours leads to it.
                continue
            assert (refused.status, f"It is {state}. " in refused.stderr) == (1, True), (
                uri,
                command,
            )
    assert "crew/team" in run("search", "--workspace", "ops", "kettles").stdout

    with connected(here, "--root", str(tmp_path)) as session:
        several = "shop,ops,away"
        found = session.ok("search_knowledge", query="kettles", workspaces=several)
        got = session.ok("get_nodes", uris=["concept://ops/crew/team"], workspaces=several)
        start = session.ok("traverse_graph", start="concept://ops/crew/team", workspaces=several)
        alone = session.ok("traverse_graph", start="concept://ops/crew/team")
        context = session.ok("search_knowledge", query="tea water", context_tokens=2000)
    assert {hit["uri"] for hit in found.data["hits"]} == {
        "concept://shop/tea",
        "concept://ops/crew/team",
    }
    assert "away is unreachable" in found.text
    assert "secret" not in found.text
    for answer in (found, got):
        assert "by ben at http" in answer.text
    assert start.data["nodes"][0]["state"] == "fetched"
    assert alone.data["distant"][0]["uri"] == "concept://ops/crew/team"
    assert "Kettles: crew/team." in context.text


def test_a_search_of_a_server_that_lies_is_not_believed(
    tmp_path: Path, registry: RemoteRegistry
) -> None:
    from mycel.http.responses import encode
    from mycel.knowledge.subgraph import read_hits

    write(tmp_path / "true.db", "a", "true words")
    with mycel.open(tmp_path / "true.db") as db:
        know = mycel.Knowledge(db, workspace="shop")
        honestly = encode(read_hits(know, "words", limit=5)[0])
        for lie in (
            honestly,
            honestly.replace(b"true words", b"lies words"),
            honestly.replace(b'"score":', b'"score":7'),
            honestly.replace(b"concept://shop/a", b"concept://shop/b"),
            b'{"hits": 7}',
            b"{}",
        ):
            with lying(lambda _, lie=lie: (200, {}, lie)) as url:  # type: ignore[misc]
                entry = RemoteEntry("shop", url)
                if entry.name in Elsewhere(registry).workspaces():
                    registry.remove(entry.name)
                registry.add(entry)
                warnings: list[str] = []
                answers = Elsewhere(registry).search(["shop"], "words", limit=5, warnings=warnings)
            if lie is honestly:
                ((_, hits),) = answers
                assert isinstance(hits, list)
                assert [hit.found.uri for hit in hits] == ["concept://shop/a"]
            else:
                assert answers == []
                assert "shop is untrusted" in warnings[0]


def test_workspaces_of_a_round_are_asked_at_the_same_time(registry: RemoteRegistry) -> None:
    both_are_asked = threading.Barrier(2, timeout=30)

    def answer(_path: str) -> tuple[int, dict[str, str], bytes]:
        both_are_asked.wait()  # Fails if one was asked after the other.
        return 404, {}, b'{"error": {"name": "NotFound", "message": "both were asked"}}'

    with lying(answer) as url:
        for name in ("one", "two"):
            registry.add(RemoteEntry(name, url))
        elsewhere = Elsewhere(registry)
        nodes = elsewhere.reach({"concept://one/a": 0, "concept://two/a": 0}, max_cost=1)
        assert ["both were asked" in node.advice for node in nodes] == [True, True]
        warnings: list[str] = []
        elsewhere.search(["one", "two"], "a", limit=1, warnings=warnings)
        assert ["both were asked" in warning for warning in warnings] == [True, True]


def test_an_answer_that_is_young_enough_is_not_asked_for_again(
    team: Team, registry: RemoteRegistry
) -> None:
    write(team.folder / "shop.db", "a", "one")
    team.serve()
    assert team.server is not None
    registry.add(RemoteEntry("shop", f"{team.server.url}/ws/shop", cache_s=3600))
    elsewhere = Elsewhere(registry)
    states = [elsewhere.node("concept://shop/a").state for _ in range(2)]
    assert (states, elsewhere.requests) == (["fetched", "kept"], 1)
    team.server.end()
    assert elsewhere.node("concept://shop/a").content == "one"


def test_changes_of_the_registry_at_the_same_time_are_all_kept(registry: RemoteRegistry) -> None:
    def work(number: int) -> None:
        mine = RemoteRegistry(registry.path)
        mine.add(RemoteEntry(f"w{number}", "https://host/ws/x"))
        mine.pin(f"w{number}", number + 1, "ab" * 32)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(24)))
    assert {entry.name: entry.entries for entry in registry} == {
        f"w{number}": number + 1 for number in range(24)
    }
