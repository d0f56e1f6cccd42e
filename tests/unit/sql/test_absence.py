"""NOT of a link from a known element: the same answer whether it has few links or many."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import mycel
from mycel.sql.negation import FEW

Links = set[tuple[int, int]]


@pytest.fixture(params=[FEW - 1, FEW, FEW + 1, 3 * FEW])
def graph(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[mycel.Graph, Links]]:
    """A hub `0` with as many links as are asked for, to towns that are linked among each other."""
    towns = range(1, request.param + 1)
    links = {(0, town) for town in towns}
    links |= {(town, (town * 7) % 90) for town in towns if town != (town * 7) % 90}
    links |= {(town, 91) for town in towns if town % 3 == 0}
    with mycel.open(tmp_path / "towns.db", core_capsules=False, durability="off") as db:
        with db.transaction() as tx:
            tx.define_type("Town")
            tx.define_predicate("leads_to")
            ids = tx.put_concepts(mycel.ConceptRow("Town", str(n), {"n": n}) for n in range(92))
            tx.put_propositions(
                mycel.PropositionRow(ids[one], "leads_to", ids[other]) for one, other in links
            )
        yield db, links


def test_what_a_town_does_not_lead_to_itself(graph: tuple[mycel.Graph, Links]) -> None:
    db, links = graph
    command = (
        'FIND(?c.name) WHERE { ?a {type: "Town", name: "0"} (?a, "leads_to", ?b)'
        ' (?b, "leads_to", ?c) NOT { (?a, "leads_to", ?c) } }'
    )
    assert "NOT IN" in db.explain(command)["sql"]
    second = [c for a, b in links if a == 0 for d, c in links if d == b and (0, c) not in links]
    assert sorted(db.execute(command).value) == sorted(map(str, second))
    assert second


def test_what_does_not_lead_to_a_town_itself(graph: tuple[mycel.Graph, Links]) -> None:
    db, links = graph
    command = (
        'FIND(?c.name) WHERE { ?a {type: "Town", name: "91"} (?b, "leads_to", ?a)'
        ' (?c, "leads_to", ?b) NOT { (?c, "leads_to", ?a) } }'
    )
    assert "NOT IN" in db.explain(command)["sql"]
    second = [c for b, a in links if a == 91 for c, d in links if d == b and (c, 91) not in links]
    assert sorted(db.execute(command).value) == sorted(map(str, second))
    assert second


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (
            (
                'FIND(?c.name) WHERE { ?a {type: "Town", name: "0"} (?a, "leads_to", ?b)'
                ' (?b, "leads_to", ?c) NOT { (?a, "leads_to", ?c) } } LIMIT 3'
            ),
            "a page may be full long before all links of the hub are met",
        ),
        (
            (
                'FIND(?c.name) WHERE { ?a {type: "Town", name: "0"} ?c {type: "Town", name: "5"}'
                ' NOT { (?a, "leads_to", ?c) } }'
            ),
            "nothing runs through the links of the hub",
        ),
        (
            (
                'FIND(?c.name) WHERE { ?a {type: "Town", name: "0"} (?a, "leads_to", ?b)'
                ' OPTIONAL { (?b, "leads_to", ?c) } NOT { (?a, "leads_to", ?c) } }'
            ),
            "what is not bound is in no set, and not outside of it either",
        ),
    ],
)
def test_where_a_set_would_cost_or_be_wrong_each_is_asked_about(
    graph: tuple[mycel.Graph, Links], command: str, why: str
) -> None:
    assert "NOT IN" not in graph[0].explain(command)["sql"], why
