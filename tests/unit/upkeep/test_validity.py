"""What holds now comes first, what does not is marked, and each door can ask about a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import mycel
from mycel.knowledge.node_values import NewNode, NewRelation
from tests.unit.upkeep.test_cycle import Clock

ANA = "concept://team/ana"
JOBS = {"acme": ("2020-01-01", "2024-01-01"), "initech": ("2024-01-01", None)}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def team(tmp_path: Path, clock: Clock) -> Iterator[mycel.Knowledge]:
    """Somebody who has worked at Acme, and works at Initech."""
    with mycel.open(tmp_path / "graph.db", clock_us=clock) as db:
        knowledge = mycel.Knowledge(db, workspace="team")
        relations = []
        for name, (begins, ends) in JOBS.items():
            times = {"valid_from": begins} | ({"valid_until": ends} if ends else {})
            relations.append(NewRelation(ANA, "works_at", f"concept://team/{name}", metadata=times))
        nodes = [NewNode(f"concept://team/{name}", content="Employer.") for name in ("ana", *JOBS)]
        knowledge.remember(nodes, relations)
        yield knowledge


def uris(found: mycel.knowledge.NodeTraversal) -> list[str]:
    return [node.uri.rpartition("/")[2] for node in found.nodes]


def test_a_traversal_prefers_what_holds_now_and_says_what_does_not(team: mycel.Knowledge) -> None:
    found = team.traverse(ANA)
    assert uris(found) == ["ana", "initech", "acme"]
    assert found.nodes[1].reason == "reached over works_at (1) from concept://team/ana"
    assert found.nodes[2].reason.endswith("; it does not hold now")
    assert uris(team.traverse(ANA, max_nodes=2)) == ["ana", "initech"]
    found_by_kip = team.db.execute(f'TRAVERSE FROM {{type: "Concept", name: "{ANA}"}}').value
    assert found_by_kip[2]["path"][0]["holds"] is False
    assert "holds" not in found_by_kip[1]["path"][0]
    team.update("concept://team/initech", metadata={"valid_from": "2099-01-01"})
    assert uris(team.traverse(ANA))[1:] == ["acme", "initech"], "neither holds: by their numbers"


def test_the_order_is_the_same_from_arrays_in_memory(team: mycel.Knowledge) -> None:
    before = team.db.traverse(("Concept", ANA)).to_dict()
    adjacency = team.db._adjacency
    assert adjacency is not None
    adjacency._make()
    assert adjacency.is_made
    assert team.db.traverse(("Concept", ANA)).to_dict() == before


def test_a_time_is_asked_about_at_every_door(team: mycel.Knowledge, clock: Clock) -> None:
    db, start = team.db, ("Concept", ANA)
    for time, name in (("2022-05-01", "acme"), ("2025-05-01", "initech")):
        found = db.traverse(start, for_time=time)
        assert [node.element.name.rpartition("/")[2] for node in found.nodes[1:]] == [name]
        assert uris(team.traverse(ANA, for_time=time)) == ["ana", name]
        (link,) = team.search("ana works at", element="relation", for_time=time)
        assert link.found.target == f"concept://team/{name}"
        near = team.recall("ana", limit=1, for_time=time)
        assert {name} <= {node.uri.rpartition("/")[2] for node in near.nodes}
        assert len(near.nodes) == 2


def test_with_as_of_it_is_what_was_known_then_about_then(
    team: mycel.Knowledge, clock: Clock
) -> None:
    known = team.db.snapshot().seq
    clock.turn(1)
    team.unlink(ANA, "works_at", "concept://team/acme")
    assert uris(team.traverse(ANA, for_time="2022-05-01")) == ["ana"]
    assert uris(team.traverse(ANA, for_time="2022-05-01", as_of=known)) == ["ana", "acme"]
    assert uris(team.traverse(ANA, as_of=known)) == ["ana", "initech", "acme"]


def test_archived_nodes_are_reached_only_if_they_are_asked_for(team: mycel.Knowledge) -> None:
    team.db.execute('ARCHIVE ?c WHERE { ?c {name: "concept://team/acme"} }')
    assert uris(team.traverse(ANA)) == ["ana", "initech"]
    assert uris(team.traverse(ANA, include_archived=True)) == ["ana", "initech", "acme"]
    assert len(team.db.traverse(("Concept", ANA), include_archived=True).nodes) == 3
