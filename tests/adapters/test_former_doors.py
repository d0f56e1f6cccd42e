"""A value that comes back holds in both of its times, through every door.

Ada lives in Oslo from 2019, in Bergen from March 2021, and in Oslo again from 2024.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import mycel
from mycel import Knowledge
from mycel.explorer.explorer import Explorer
from mycel.knowledge.node_values import NewNode, NewRelation
from tests.adapters.cli.conftest import in_process
from tests.adapters.mcp.clients import connected
from tests.prepared import Prepared

STORY = (("oslo", "2019-01-01"), ("bergen", "2021-03-01"), ("oslo", "2024-01-01"))
HOMES = {"2018": [], "2020": ["oslo"], "2022": ["bergen"], "2025": ["oslo"]}
FORMER = "also held from 2019-01-01 until 2021-03-01"
ADA, OSLO, BERGEN = (f"concept://town/{name}" for name in ("ada", "oslo", "bergen"))


def prepare(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.define_predicate("lives_in", {"functional": True})
    notes = Knowledge(db, workspace="town")
    notes.remember(
        [NewNode(name, content=f"{name}, a note.") for name in ("ada", "oslo", "bergen")]
    )


TOWN = Prepared(prepare)


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "graph.db"
    TOWN.put(path)
    yield path
    with mycel.open(path) as db:
        assert homes(db) == HOMES
        assert not db.verify(replay=True).problems


def homes(db: mycel.Graph) -> dict[str, list[str]]:
    query = f'FIND(?c.name) FOR TIME :time WHERE {{ ({{name: "{ADA}"}}, "lives_in", ?c) }}'
    return {
        year: [
            name.rpartition("/")[2] for (name,) in db.execute(query, {"time": f"{year}-07-01"}).rows
        ]
        for year in HOMES
    }


def test_over_kip_on_the_command_line(graph: Path) -> None:
    def kip(command: str) -> str:
        done = in_process("kip", command, "--db", str(graph))
        assert done.status == 0, done.stderr
        return done.stdout + done.stderr

    for city, begins in STORY:
        said = kip(
            f'UPSERT {{ PROPOSITION {{ ({{name: "{ADA}", type: "Concept"}}, "lives_in",'
            f' {{type: "Concept", name: "concept://town/{city}"}}) }}'
            f' WITH METADATA {{ valid_from: "{begins}" }} }}'
        )
    assert FORMER in said
    assert FORMER in in_process("show", ADA, "--db", str(graph)).stdout
    found = in_process("search", "oslo", "--for-time", "2020-01-01", "--db", str(graph))
    assert "oslo" in found.stdout
    for year, cities in HOMES.items():
        walk = ("traverse", ADA, "--for-time", f"{year}-07-01", "--db", str(graph), "--json")
        names = [found["node"]["name"].rpartition("/")[2] for found in in_process(*walk).objects]
        assert names == ["ada", *cities]


def test_in_python_and_in_the_explorer(graph: Path) -> None:
    with mycel.open(graph) as db:
        notes = Knowledge(db, workspace="town")
        for city, begins in STORY:
            known = db.snapshot().seq
            written = notes.remember(
                [], [NewRelation("ada", "lives_in", city, metadata={"valid_from": begins})]
            )
        assert any(FORMER in warning for warning in written.warnings)
        oslo = next(link for link in notes.relations(ADA).items if link.target == OSLO)
        assert oslo.caveats == (FORMER,)
        for year, cities in HOMES.items():
            time = f"{year}-07-01"
            near = notes.traverse(ADA, for_time=time).nodes[1:]
            assert [node.node.uri.rpartition("/")[2] for node in near] == cities
            hits = notes.search("ada lives in", element="relation", for_time=time)
            assert [hit.found.target.rpartition("/")[2] for hit in hits] == cities
        # Before the last write, Oslo held in its first time alone.
        before = notes.traverse(ADA, for_time="2025-07-01", as_of=known).nodes[1:]
        assert [node.node.uri.rpartition("/")[2] for node in before] == ["bergen"]
        explorer = Explorer(db, notes)
        ids = {"ids": [ADA, OSLO, BERGEN]}
        answer = explorer.view("not_holding", {**ids, "time": "2020-07-01"})
        assert [link["target"] for link in answer["links"]] == [BERGEN]
        assert explorer.view("node", {"id": oslo.id})["caveats"] == [FORMER]
        rows = explorer.view("relations", {"id": ADA})["relations"]
        assert {row["target"]: (row["holds"], row.get("caveats")) for row in rows} == {
            OSLO: ("from 2024-01-01", [FORMER]),
            BERGEN: (
                "from 2021-03-01 until 2024-01-01",
                ["no longer valid since 2024-01-01"],
            ),
        }


def test_over_mcp(graph: Path) -> None:
    with connected(graph) as session:
        for city, begins in STORY:
            link = {"source": ADA, "relation": "lives_in", "target": f"concept://town/{city}"}
            answer = session.ok(
                "remember_knowledge", relations=[{**link, "metadata": {"valid_from": begins}}]
            )
        assert FORMER in answer.text
        shown = session.ok("get_nodes", uris=[ADA]).text
        assert f"{OSLO} [{FORMER}] [valid from 2024-01-01]" in shown
        for year, cities in HOMES.items():
            near = session.ok("traverse_graph", start=ADA, for_time=f"{year}-07-01").data["nodes"]
            assert [node["uri"].rpartition("/")[2] for node in near] == ["ada", *cities]
