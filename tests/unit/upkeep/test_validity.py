"""What holds now comes first, what does not is marked, and each door can ask about a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.knowledge.node_values import NewNode, NewRelation
from mycel.model import times
from tests.unit.upkeep.test_cycle import Clock, step

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


def test_values_of_two_branches_follow_each_other_by_their_times(
    tmp_path: Path, clock: Clock
) -> None:
    orders: list[list[tuple[str, str | None, str | None]]] = []
    for first, second in (("main", "side"), ("side", "main")):
        clock.now_us = times.from_text("2030-01-01")
        with mycel.open(tmp_path / f"{first}.db", clock_us=clock) as main:
            with main.transaction() as tx:
                tx.define_type("Org")
                tx.define_predicate("works_at", {"functional": True})
                tx.put_concept("Person", "ada")
                for name in ("base", "first", "second"):
                    tx.put_concept("Org", name)
                tx.put_proposition(("Person", "ada"), "works_at", ("Org", "base"))
            main.branches.create("side")
            with main.open_branch("side") as side:
                branches = {"main": main, "side": side}
                for branch, name in ((first, "first"), (second, "second")):
                    clock.turn(1)
                    branches[branch].add_edge(("Person", "ada"), "works_at", ("Org", name))
            clock.turn(1)
            assert not main.merge("side").conflicts
            command = (
                "FIND(?o.name, ?l.metadata.valid_from, ?l.metadata.valid_until)"
                ' WHERE { ?l ({type: "Person", name: "ada"}, "works_at", ?o) } ORDER BY ?o.name'
            )
            orders.append([tuple(row) for row in main.execute(command).rows])
            assert step(main.sleep(), "contradictions").asked == 0
    for (_, _, end), (_, begin, next_end), (_, last, never) in orders:
        assert end == begin is not None
        assert next_end == last is not None
        assert never is None


def test_a_value_of_the_past_ends_where_the_next_one_begins(tmp_path: Path) -> None:
    with mycel.open(tmp_path / "graph.db") as db:
        with db.transaction() as tx:
            tx.define_type("Org")
            tx.define_predicate("works_at", {"functional": True})
            for name in ("now", "before"):
                tx.put_concept("Org", name)
        for name, begins in (("now", "2020-01-01"), ("before", "2010-01-01")):
            db.execute(
                'UPSERT { PROPOSITION { ({type: "Person", name: "$self"}, "works_at",'
                ' {type: "Org", name: :name}) } WITH METADATA { valid_from: :begins } }',
                name=name,
                begins=begins,
            )
        found = db.execute(
            'FIND(?o.name, ?l.metadata.valid_until) WHERE { ?l (?p, "works_at", ?o) }'
        )
        assert dict(found.rows) == {"now": None, "before": "2020-01-01"}


MERGED = """
node Person { name: String @key }
node Org { name: String @key }
edge WorksAt: Person -> Org @functional {
    role: String? @merge("newest")
    level: I64? @merge("max")
    skills: [String]? @merge("set")
}
"""
VALUES = (
    "FIND(?o.name, ?l.attributes.role, ?l.attributes.level, ?l.attributes.skills,"
    " ?l.metadata.valid_from, ?l.metadata.valid_until)"
    ' WHERE { ?l (?p, "WorksAt", ?o) } ORDER BY ?o.name'
)


def give(db: mycel.Graph, org: str, **properties: object) -> str:
    """Write a job, and return the time of the commit."""
    ends = ("Person", "ada"), ("Org", org)
    db.write(lambda tx: tx.put_proposition(ends[0], "WorksAt", ends[1], properties))
    return times.to_text(next(db.history.log(limit=1)).time_us)


def merged_jobs(
    folder: Path, clock: Clock, into: str, *, is_same: bool
) -> tuple[list[tuple[Any, ...]], list[str]]:
    """The jobs after a merge of branches that gave other or the same values, and their times."""
    clock.now_us = times.from_text("2030-01-01")
    with mycel.open(folder / f"{into}.db", clock_us=clock) as main:
        main.schema.apply(MERGED)
        with main.transaction() as tx:
            tx.put_concept("Person", "ada", {"name": "ada"})
            for name in ("acme", "initech", "zoo"):
                tx.put_concept("Org", name, {"name": name})
        give(main, "acme", role="dev", level=1, skills=["a"])
        main.branches.create("side")
        with main.open_branch("side") as side:
            moments = []
            for db, org, level, skill in (
                (main, "initech", 5, "b"),
                (side, "initech" if is_same else "zoo", 3, "c"),
            ):
                clock.turn(1)
                give(db, "acme", level=level, skills=["a", skill])
                moments.append(give(db, org, role=f"role {skill}", level=level, skills=[skill]))
            target, source = (main, "side") if into == "main" else (side, "main")
            clock.turn(1)
            outcome = target.merge(source)
            assert not outcome.conflicts
            assert target.verify(replay=True).ok
            assert step(target.sleep(), "contradictions").asked == 0
            return [tuple(row) for row in target.execute(VALUES).rows], moments


@pytest.mark.parametrize("into", ["main", "side"])
def test_policies_of_a_schema_decide_about_a_functional_edge_and_its_values_stay_a_row(
    tmp_path: Path, clock: Clock, into: str
) -> None:
    rows, (first, second) = merged_jobs(tmp_path, clock, into, is_same=False)
    assert rows == [
        ("acme", "dev", 5, ["a", "b", "c"], None, first),
        ("initech", "role b", 5, ["b"], first, second),
        ("zoo", "role c", 3, ["c"], second, None),
    ]


@pytest.mark.parametrize("into", ["main", "side"])
def test_a_value_that_both_branches_give_begins_where_the_one_before_ends(
    tmp_path: Path, clock: Clock, into: str
) -> None:
    rows, (first, _) = merged_jobs(tmp_path, clock, into, is_same=True)
    assert rows == [
        ("acme", "dev", 5, ["a", "b", "c"], None, first),
        ("initech", "role c", 5, ["b", "c"], first, None),
    ]


def test_a_search_for_a_time_judges_by_that_time(team: mycel.Knowledge) -> None:
    for name, place in (("old", "Lyon"), ("new", "Paris")):
        team.add(f"concept://team/{name}", content=f"The office is in {place}.")
    team.supersede("concept://team/old", "concept://team/new")
    now = {hit.uri: hit.found.caveats for hit in team.search("office Lyon")}
    assert "superseded by concept://team/new" in now["concept://team/old"]
    time = "2020-01-01"
    (hit, *_) = team.search("office Lyon", for_time=time)
    assert (hit.uri, hit.found.caveats) == ("concept://team/old", ())
    (found, *_) = team.db.execute(f'SEARCH CONCEPT "office Lyon" FOR TIME "{time}"').value
    assert "_caveats" not in found["metadata"]
    nodes = team.traverse("concept://team/old", direction="both", for_time=time).nodes
    assert nodes[0].node.caveats == ()


def test_a_traversal_says_which_of_its_links_are_contested(team: mycel.Knowledge) -> None:
    db = team.db
    start = f'{{type: "Concept", name: "{ANA}"}}'
    link = f'({start}, "works_at", {{type: "Concept", name: "concept://team/initech"}})'
    db.execute(f'CHALLENGE ?l WITH {{by: "eve", confidence: 0.4}} WHERE {{ ?l {link} }}')
    doubt = "contested: 1 for (0.7), 1 against (0.4)"
    reached = db.execute(f"TRAVERSE FROM {start}").value
    doubts = {node["node"]["name"]: node["path"][0].get("doubt") for node in reached[1:]}
    assert doubts == {"concept://team/initech": doubt, "concept://team/acme": None}
    assert any(doubt in node["reason"] for node in reached)
    steps = [node.path[-1].doubt for node in db.traverse(("Concept", ANA), doubts=True).nodes[1:]]
    assert steps == [doubt, ""]
    assert any(doubt in node.reason for node in team.traverse(ANA).nodes)
