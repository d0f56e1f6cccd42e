"""Nodes within a cost, and cheapest paths: the same answers as a traversal, at every budget."""

import itertools
import json
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest

import mycel
from mycel.errors import MycelError
from mycel.explorer.explorer import Explorer
from tests.adapters.warm import warm_command

NODES = 40
WAYS = ("out", "in", "both")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random links with weights from 0 to 1, some of them equal, and an island."""
    chance = Random(7)
    place = tmp_path_factory.mktemp("routes") / "graph.db"
    with mycel.open(place, actor="ada") as db:
        nodes = [{"uri": uri(i), "name": f"Node {i}"} for i in range(NODES)]
        links = [
            {
                "source": uri(chance.randrange(NODES - 1)),
                "target": uri(chance.randrange(NODES - 1)),
                "relation": chance.choice(("knows", "uses")),
                "weight": chance.choice((0, 0.1, 0.2, 0.25, 0.5, 1)),
            }
            for _ in range(3 * NODES)
        ]
        links = [each for each in links if each["source"] != each["target"]]
        mycel.Knowledge(db, workspace="w").remember(nodes, links)
    return place


@pytest.fixture
def explorer(path: Path) -> Any:
    with mycel.open(path) as db:
        yield Explorer(db, mycel.Knowledge(db, workspace="w"))


def uri(place: int) -> str:
    return f"concept://w/n{place:02}"


def test_what_is_reached_is_what_the_command_traverse_gives(explorer: Explorer, path: Path) -> None:
    for cost, way, most in ((0.3, "out", 100), (1, "both", 100), (2.5, "in", 7), (0, "both", 3)):
        options = ["--max-cost", str(cost), "--direction", way, "--max-nodes", str(most)]
        command = [*warm_command("mycel"), "traverse", uri(0), "--db", path, "--json"]
        told = subprocess.run([*command, *options], check=True, capture_output=True, text=True)
        rows = [json.loads(line) for line in told.stdout.splitlines()]
        expected = [(row["node"]["id"], row["cost"]) for row in rows if "node" in row]
        given = {"id": uri(0), "max_cost": cost, "direction": way, "max_nodes": most}
        reached = explorer.view("reach", given)
        assert [(node["ref"], node["cost"]) for node in reached["nodes"]] == expected
        assert len(expected) > 1 or cost == 0


def test_a_smaller_budget_reaches_the_beginning_of_what_a_larger_one_reaches(
    explorer: Explorer,
) -> None:
    """The page asks once and moves its slider over the answer."""
    for most in (5, 20, 100):
        given = {"id": uri(0), "max_nodes": most, "direction": "both"}
        whole = explorer.view("reach", given | {"max_cost": 3})["nodes"]
        for tenths in range(31):
            part = explorer.view("reach", given | {"max_cost": tenths / 10})["nodes"]
            within = [node for node in whole if node["cost"] <= tenths / 10]
            assert [(n["id"], n["cost"]) for n in part] == [(n["id"], n["cost"]) for n in within]


def test_a_path_costs_what_a_traversal_says_and_its_links_are_in_the_graph(
    explorer: Explorer,
) -> None:
    for way in WAYS:
        given = {"id": uri(0), "max_cost": 1000, "max_nodes": 2000, "direction": way}
        reached = {node["id"]: node for node in explorer.view("reach", given)["nodes"]}
        for place in range(NODES):
            asked = {"from": uri(0), "to": uri(place), "direction": way}
            found = explorer.view("path", asked)
            assert found["found"] is (uri(place) in reached)
            assert found["complete"] is True
            if not found["found"]:
                assert [node["id"] for node in found["nodes"]] == [uri(0), uri(place)]
                assert found["cost"] is None
                continue
            assert found["cost"] == reached[uri(place)]["cost"]
            check_chain(found, way)


def check_chain(found: dict[str, Any], way: str) -> None:
    """Each node of a path is joined to the one before by a link of the graph."""
    nodes = found["nodes"]
    links = {(k["source"], k["relation"], k["target"]): k["weight"] for k in found["links"]}
    for before, node in itertools.pairwise(nodes):
        via = node["via"]
        assert links[via["source"], via["relation"], via["target"]] == via["weight"]
        assert node["cost"] == pytest.approx(before["cost"] + via["weight"], abs=1e-9)
        ends = (via["source"], via["target"])
        along, against = (before["id"], node["id"]), (node["id"], before["id"])
        assert ends in {"out": (along,), "in": (against,), "both": (along, against)}[way]


def test_a_path_of_the_past_knows_nothing_of_later_links(explorer: Explorer, path: Path) -> None:
    island = uri(NODES - 1)
    before = explorer.view("about", {})["position"]
    asked = {"from": uri(0), "to": island}
    assert explorer.view("path", asked)["found"] is False
    with mycel.open(path) as db:
        mycel.Knowledge(db, workspace="w").link(uri(0), "knows", island, weight=0.75)
    assert explorer.view("path", asked)["cost"] == 0.75
    assert explorer.view("path", asked | {"at": str(before)})["found"] is False
    assert explorer.view("path", asked | {"relations": ["uses"]})["found"] is False


def test_wrong_bounds_and_ends_are_refused_in_words(explorer: Explorer) -> None:
    refused = {
        "NaN": ("reach", {"id": uri(0), "max_cost": "NaN"}),
        "-1": ("reach", {"id": uri(0), "max_cost": -1}),
        "'far'": ("reach", {"id": uri(0), "max_cost": "far"}),
        "max_nodes is 0": ("reach", {"id": uri(0), "max_nodes": 0}),
        "n99": ("path", {"from": uri(0), "to": uri(99)}),
        "'to'": ("path", {"from": uri(0)}),
        "sideways": ("path", {"from": uri(0), "to": uri(1), "direction": "sideways"}),
    }
    for words, (view, given) in refused.items():
        with pytest.raises(MycelError, match=words):
            explorer.view(view, given)
