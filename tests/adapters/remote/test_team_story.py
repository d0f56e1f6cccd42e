"""A team at work: two servers, three clones, five tokens, and agents that submit at once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import mycel
from mycel.errors import AccessDenied
from mycel.knowledge.elsewhere import Elsewhere
from mycel.remote.copying import clone, pull, push
from mycel.remote.registry import RemoteEntry, RemoteRegistry
from mycel.remote.sources import open_source
from tests.adapters.http.team import Team

AGENTS = 20
TURNS = 2


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[tuple[Team, Team]]:
    """A server of the product team and one of the operators."""
    teams = []
    for name, workspace in (("product", "shop"), ("operators", "ops")):
        folder = tmp_path / name
        folder.mkdir()
        team = Team(folder)
        team.add(workspace)
        teams.append(team)
    yield teams[0], teams[1]
    for team in teams:
        team.end()


def test_a_team_works_on_one_graph_and_nothing_is_lost(
    servers: tuple[Team, Team], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    product, operators = servers
    registry = RemoteRegistry(tmp_path / "workspaces.toml")
    scopes = {"ada": "write:/**", "ben": "write:/**", "eve": "propose:/**", "max": "read:/**"}
    for actor, scope in scopes.items():
        monkeypatch.setenv(f"TOKEN_{actor.upper()}", product.token(actor, scope))
    agents = product.token("agents", "write:/**")
    monkeypatch.setenv("TOKEN_OPS", operators.token("ada", "read:/**"))
    with mycel.open(operators.folder / "ops.db", actor="olaf") as db:
        mycel.Knowledge(db, workspace="ops").add("team", content="Olaf and Oda.")
    product.serve()
    operators.serve()
    assert product.server is not None
    assert operators.server is not None
    url = f"{product.server.url}/ws/shop"
    registry.add(RemoteEntry("ops", f"{operators.server.url}/ws/ops", token_env="TOKEN_OPS"))
    remotes = {
        actor: RemoteEntry("shop", url, token_env=f"TOKEN_{actor.upper()}") for actor in scopes
    }
    clones = {actor: tmp_path / f"{actor}.db" for actor in ("ada", "ben", "eve")}
    for actor, path in clones.items():
        with open_source(remotes[actor]) as source:
            clone(source, path)

    def agent(number: int) -> list[str]:
        commits = []
        for turn in range(TURNS):
            node = {"node": f"concept://shop/log/{number}-{turn}", "attributes": {"content": "x"}}
            body = {"changes": [node], "on_conflict": "merge", "key": f"agent-{number}-{turn}"}
            for _ in range(2):  # The first answer is lost.
                answer = product.ask("POST", "/ws/shop/submit", agents, json=body)
                assert answer.status_code == 200, answer.text
            commits.append(answer.json()["commit"])
        return commits

    with ThreadPoolExecutor(AGENTS) as pool:
        made = [commit for commits in pool.map(agent, range(AGENTS)) for commit in commits]
    assert len(set(made)) == AGENTS * TURNS
    for actor, path in clones.items():
        with mycel.open(path, actor=actor) as copy:
            know = mycel.Knowledge(copy, workspace="shop", elsewhere=Elsewhere(registry))
            know.add(f"{actor}/plan", content=f"A plan of {actor}.")
            know.link(f"{actor}/plan", "run_by", "concept://ops/team", weight=0.2)
            (team,) = know.traverse(f"{actor}/plan").distant
            assert (team.content, team.author, team.is_proven) == ("Olaf and Oda.", "olaf", True)
            with open_source(remotes[actor]) as source:
                assert pull(copy, source).status == "merged"
                expected = "proposed" if actor == "eve" else "committed"
                assert push(copy, source).status == expected
                if actor != "eve":
                    pull(copy, source)
    with mycel.open(clones["ada"]) as copy, open_source(remotes["max"]) as source:
        pull(copy, source)
        mycel.Knowledge(copy, workspace="shop").add("late", content="Max may not write.")
        with pytest.raises(AccessDenied):
            push(copy, source)
    listed = product.ask("GET", "/ws/shop/proposals", agents).json()["proposals"]
    assert [proposal["actor"] for proposal in listed] == ["eve"]
    place = f"/ws/shop/proposals/{listed[0]['id']}"
    assert product.ask("POST", place, agents, json={"action": "accept"}).status_code == 200
    assert product.server.stop()[0] == 0
    with mycel.open(product.folder / "shop.db") as db:
        know = mycel.Knowledge(db, workspace="shop")
        assert {know.get(f"{actor}/plan").content for actor in clones} == {
            f"A plan of {actor}." for actor in clones
        }
        assert len(know.children("log")) == AGENTS * TURNS
        actors = {entry.actor for entry in db.history.log()}
        assert {"ada", "ben", "eve", "agents"} <= actors
        assert "max" not in actors
        assert db.verify().problems == ()
    for path in clones.values():
        with mycel.open(path) as copy:
            assert copy.verify().problems == ()
