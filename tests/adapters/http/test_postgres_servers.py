"""Two servers of one PostgreSQL database, as two hosts would run them."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import mycel
from mycel.errors import HistoryRewritten, MycelError
from mycel.http import live_stream
from mycel.http.live_stream import Watcher
from mycel.remote import sources
from mycel.remote.copying import clone, pull, push
from mycel.remote.registry import RemoteEntry, RemoteRegistry
from mycel.remote.signing import create_key, key_file
from mycel.remote.sources import open_source
from mycel.remote.witness import Witness
from mycel.store.opening import workspaces_in
from tests.adapters.http.conftest import Server
from tests.adapters.http.team import Team
from tests.adapters.http.test_explorer_live import stream
from tests.postgres_server import PostgresServer

PLANT = 'UPSERT { CONCEPT { {type: "Plant", name: :name} } }'
DEFINE = 'UPSERT { CONCEPT { {type: "$ConceptType", name: "Plant"} } }'


class Mounted(NamedTuple):
    """A workspace below the address of a server."""

    url: str


@pytest.fixture
def database(postgres_server: PostgresServer) -> str:
    """The URL of a database of its own."""
    name = "servers"
    postgres_server.query(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    postgres_server.query(f"CREATE DATABASE {name}")
    return postgres_server.url("x", name).removesuffix("&workspace=x")


@pytest.fixture
def teams(tmp_path: Path, database: str) -> Iterator[tuple[Team, Team]]:
    """Two servers, each with tokens of its own, that know the same workspaces."""
    made = []
    for name in ("one", "other"):
        folder = tmp_path / name
        folder.mkdir()
        made.append(Team(folder))
        made[-1].serve("--database", database)
    yield made[0], made[1]
    for team in made:
        team.end()


def names(team: Team, token: str = "") -> list[Any]:
    return [shown["workspace"] for shown in team.ask("GET", "/ws", token).json()["workspaces"]]


def test_what_one_server_writes_arrives_in_the_streams_of_the_other(
    teams: tuple[Team, Team], database: str
) -> None:
    one, other = teams
    assert one.ask("POST", "/ws", json={"name": "shop"}).status_code == 201
    assert one.ask("POST", "/ws", json={"name": "shop"}).status_code == 409
    assert one.ask("POST", "/ws", json={"name": "a..b"}).status_code == 400
    assert one.kip("", "shop", DEFINE).status_code == 200
    while names(other) != ["shop"]:  # It asks once a second.
        pass
    assert other.kip("", "none", DEFINE).status_code == 404
    assert other.server is not None
    with stream(Mounted(f"{other.server.url}/ws/shop")) as events:  # type: ignore[arg-type]
        assert next(events)[0] == "hello"
        assert one.kip("", "shop", PLANT, name="Elm").status_code == 200
        with mycel.open(workspaces_in(database).url_of("shop"), actor="eve") as db:
            db.execute(PLANT, name="Oak")
        changes = [next(events) for _ in range(2)]
    assert [kind for kind, _ in changes] == ["change", "change"]
    assert [data["added"] for _, data in changes] == [["kip:Plant/Elm"], ["kip:Plant/Oak"]]
    metrics = one.ask("GET", "/metrics").text
    assert "mycel_workspaces 1" in metrics


def test_a_clone_follows_through_another_server_than_the_one_that_writes(
    teams: tuple[Team, Team], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    one, other = teams
    for team in teams:
        assert team.server is not None
    token = one.token("ada", "admin:/**", "read:/**", "write:/**")
    monkeypatch.setenv("SHOP_TOKEN", other.token("ada", "read:/**"))
    assert one.ask("POST", "/ws", token, json={"name": "shop"}).status_code == 201
    assert one.kip(token, "shop", DEFINE).status_code == 200
    while names(other, os.environ["SHOP_TOKEN"]) != ["shop"]:
        pass
    mine = tmp_path / "mine.db"
    assert other.server is not None
    remote = RemoteEntry("shop", f"{other.server.url}/ws/shop", "SHOP_TOKEN", graph=str(mine))
    with open_source(remote) as source:
        clone(source, mine)
    RemoteRegistry().add(remote)
    follower = Server(
        "mycel", "follow", "--json", "--db", mine, SHOP_TOKEN=os.environ["SHOP_TOKEN"]
    )
    try:
        assert follower.event()["status"] == "up_to_date"
        for name in ("Elm", "Oak"):
            assert one.kip(token, "shop", PLANT, name=name).status_code == 200
            assert follower.event()["status"] == "forward"
    finally:
        follower.end()
    with mycel.open(mine) as db:
        assert db.verify(replay=True).ok
        find = 'FIND(?p.name) WHERE { ?p {type: "Plant"} } ORDER BY ?p.name'
        assert db.execute(find).value == ["Elm", "Oak"]


def test_a_part_of_a_workspace_is_shown_to_a_token_for_that_part(
    teams: tuple[Team, Team], database: str
) -> None:
    one, _ = teams
    token = one.token("ada", "admin:/**", "read:/**", "write:/**")
    part = one.token("bob", "read:/open/**")
    assert one.ask("POST", "/ws", token, json={"name": "shop"}).status_code == 201
    with mycel.open(workspaces_in(database).url_of("shop")) as db:
        for path in ("open/a", "secret"):
            mycel.Knowledge(db, workspace="shop").add(path, content=path)
    find = 'FIND(?p.name) WHERE { ?p {type: "Concept"} } ORDER BY ?p.name'
    answer = one.kip(part, "shop", find)
    assert answer.json().get("result") == ["concept://shop/open/a"], answer.text


def test_a_workspace_is_a_remote_without_a_server_too(database: str, tmp_path: Path) -> None:
    url = workspaces_in(database).url_of("shop")
    with mycel.open(url) as db:
        mycel.Knowledge(db, workspace="shop").add("a", content="one")
    entry = RemoteEntry("shop", url)
    RemoteRegistry(tmp_path / "registry.toml").add(entry)
    witness = Witness(tmp_path / "seen.jsonl", url)
    with open_source(entry, readonly=True) as source:
        first = witness.look(source, 0)
        clone(source, tmp_path / "mine.db")
    with mycel.open(tmp_path / "mine.db") as copy, open_source(entry, actor="ada") as source:
        mycel.Knowledge(copy, workspace="shop").add("b", content="two")
        assert push(copy, source).status == "committed"
        assert pull(copy, source).status == "merged"
        assert witness.look(source, 0).entries > first.entries
    with mycel.open(url) as db:
        assert mycel.Knowledge(db, workspace="shop").get("b").content == "two"
        assert next(iter(db.history.log(limit=1))).actor == "ada"
    with mycel.open(workspaces_in(database).url_of("other")) as db:
        mycel.Knowledge(db, workspace="shop").add("a", content="another history")
    with (
        open_source(
            RemoteEntry("shop", workspaces_in(database).url_of("other")), readonly=True
        ) as source,
        pytest.raises(HistoryRewritten),
    ):
        witness.look(source, 0)
    with pytest.raises(MycelError, match="password"):
        RemoteRegistry(tmp_path / "registry.toml").add(
            RemoteEntry("x", "postgresql://ada:secret@db/team?workspace=shop")
        )


def test_servers_of_one_database_sign_with_the_key_of_their_folders(
    teams: tuple[Team, Team], tmp_path: Path
) -> None:
    one, other = teams
    signer = create_key(key_file(one.folder / "shop.db"))
    shutil.copy2(key_file(one.folder / "shop.db"), other.folder)
    assert one.ask("POST", "/ws", json={"name": "shop"}).status_code == 201
    assert other.ask("POST", "/ws", json={"name": "shop"}).status_code == 409
    witness = Witness(tmp_path / "seen.jsonl", "shop")
    for team in teams:
        assert team.server is not None
        entry = RemoteEntry("shop", f"{team.server.url}/ws/shop", key=signer.key)
        with open_source(entry) as source:
            assert witness.look(source, 0).key == signer.key
        assert team.kip("", "shop", DEFINE).status_code == 200


@pytest.fixture
def without_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody look at a journal who was not told of a commit."""
    for module, name in (
        (live_stream, "INTERVAL_S"), (live_stream, "TOLD_INTERVAL_S"),
        (sources, "FILE_LOOK_S"), (sources, "TOLD_LOOK_S"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, 3600)


@pytest.mark.usefixtures("without_asking")
def test_commits_of_other_processes_are_told_also_after_the_connection_was_lost(
    database: str, postgres_server: PostgresServer
) -> None:
    """The watcher never asks: what it sees it was told, or found when it could listen again."""
    url = workspaces_in(database).url_of("shop")
    listening = "SELECT pid FROM pg_stat_activity WHERE application_name = 'mycel notices'"

    def plant(name: str) -> None:
        words = ["-m", "mycel", "--db", url, "kip", PLANT, "--param", f"name={name}"]
        subprocess.run([sys.executable, *words], check=True, capture_output=True)

    def cut() -> None:
        postgres_server.query(f"SELECT pg_terminate_backend(pid) FROM ({listening}) l")

    def is_told() -> bool:
        return bool(postgres_server.rows(listening))

    async def read(db: mycel.Graph) -> list[str]:
        async def run(work: Callable[[mycel.Graph], Any]) -> Any:
            return await asyncio.to_thread(work, db)

        added = []
        async with aclosing(Watcher(run).events(None)) as events:
            assert b"hello" in await anext(events)
            await asyncio.to_thread(plant, "Elm")
            added.append(await anext(events))
            cut()
            await asyncio.to_thread(plant, "Oak")
            added.append(await anext(events))
            await asyncio.to_thread(plant, "Ash")
            added.append(await anext(events))
        return [name for event in added for name in json.loads(event.split(b"data: ")[1])["added"]]

    with mycel.open(url) as db:
        db.execute(DEFINE)
        assert asyncio.run(read(db)) == ["kip:Plant/Elm", "kip:Plant/Oak", "kip:Plant/Ash"]
        while is_told():  # Nobody waits for commits any more.
            pass
        with open_source(RemoteEntry("shop", url)) as source:
            positions = source.positions(0)
            first = next(positions)
            plant("Yew")
            assert next(positions) > first
            positions.close()


def test_a_server_without_its_database_or_rights_says_so(
    database: str, postgres_server: PostgresServer
) -> None:
    url = f"{database}&workspace=down"
    mycel.open(url).close()
    mycel.open(f"{database}&workspace=closed").close()
    postgres_server.query("CREATE ROLE onlooker LOGIN")
    import psycopg

    place = database.replace("postgresql:///servers?", "").replace("&", " ").replace("%2F", "/")
    with psycopg.connect(f"dbname=servers {place}", autocommit=True) as owner:
        for schema in ('"mycel_down"', "mycel"):
            owner.execute(f"GRANT USAGE ON SCHEMA {schema} TO onlooker")
            owner.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO onlooker")
    theirs = database.replace("user=mycel", "user=onlooker")
    assert workspaces_in(theirs).names() == ["down"]
    server = Server("mycel", "--db", f"{theirs}&workspace=down", "serve", "--json", "--port", "0")
    try:
        server.wait_until_ready()
        assert server.ask({"command": "DESCRIBE PRIMER"}).status_code == 200
        assert server.get("/api/about").json()["writable"] is False
        refused = server.ask({"command": DEFINE})
        assert (refused.status_code, refused.json()["error"]["name"]) == (403, "DatabaseReadOnly")
        postgres_server.stop("immediate")
        try:
            for _ in range(3):  # The first ones meet connections that were cut.
                answers = [
                    server.ask({"command": "DESCRIBE PRIMER"}),
                    server.get("/api/about"),
                    server.get("/branches"),
                ]
                assert [answer.status_code for answer in answers] == [503] * 3
                assert {answer.headers["retry-after"] for answer in answers} == {"5"}
        finally:
            postgres_server.start(postgres_server.folder)
        server.ask({"command": "DESCRIBE PRIMER"})
        assert server.ask({"command": "DESCRIBE PRIMER"}).status_code == 200
    finally:
        server.end()
