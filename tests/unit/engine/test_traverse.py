"""TRAVERSE through the language: results, warnings, the past, and every way to get it wrong."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.errors import MycelError
from tests.cases import cases

TRAVERSE = 'TRAVERSE FROM {type: "Stop", name: :name}'


@pytest.fixture
def db(tmp_path: Path) -> Iterator[mycel.Graph]:
    """Three stops in a row, the last of which is referred to by a note about a link."""
    with mycel.open(tmp_path / "graph.db") as db:
        with db.transaction() as tx:
            tx.define_type("Stop")
            tx.define_predicate("leads_to")
            a, b, c = (tx.put_concept("Stop", name) for name in ("a", "b", "c"))
            tx.put_proposition(a, "leads_to", b, weight=0.5)
            link = tx.put_proposition(b, "leads_to", c, weight=0.25)
            tx.put_proposition(a, "references", link, weight=0.125)
        yield db


def names(result: mycel.Result) -> list[str]:
    return [each["node"].get("name", each["node"]["id"]) for each in result.value]


def test_elements_come_as_find_gives_them_with_cost_and_way(db: mycel.Graph) -> None:
    found = db.execute(f"{TRAVERSE} MAX_COST 0.6", name="a").value
    stops = db.execute('FIND(?s) WHERE { ?s {type: "Stop"} } ORDER BY ?s.name').value
    link = db.execute('FIND(?l) WHERE { ?l ({type: "Stop", name: "b"}, "leads_to", ?c) }').value
    assert [each["node"] for each in found] == [stops[0], link[0], stops[1]]
    assert found[2] == {
        "node": stops[1],
        "cost": 0.5,
        "hops": 1,
        "path": [
            {
                "relation": "leads_to",
                "weight": 0.5,
                "direction": "out",
                "node": stops[1]["id"],
                "name": "b",
            }
        ],
        "reason": "reached over leads_to (0.5) from a",
    }


def test_what_a_budget_cut_off_is_a_warning(db: mycel.Graph) -> None:
    result = db.execute(f'{TRAVERSE} ALONG "leads_to" LIMIT 2', name="a")
    assert names(result) == ["a", "b"]
    (warning,) = result.warnings
    assert warning.startswith("The budget of 2 nodes is used up: 1 element is left out that lies")
    (warning,) = db.execute(f"{TRAVERSE} MAX_TOKENS 1", name="a").warnings
    assert warning.startswith("The budget of 1 token is used up")


def test_a_start_may_be_an_id(db: mycel.Graph) -> None:
    by_name = db.execute(TRAVERSE, name="b")
    concept = db.get_concept("Stop", "b")
    assert concept is not None
    assert db.execute("TRAVERSE FROM {id: :id}", id=concept.id).value == by_name.value
    link = next(db.edges_out(concept.id))
    assert names(db.execute("TRAVERSE FROM (id: :id)", id=link.id)) == [link.id]


def test_every_value_may_be_a_parameter(db: mycel.Graph) -> None:
    command = (
        "TRAVERSE FROM {type: :type, name: :name} ALONG :along DIRECTION :way MAX_COST :cost"
        " MAX_TOKENS :tokens LIMIT :limit AS OF :then"
    )
    given = {
        "type": "Stop",
        "name": "c",
        "along": "leads_to",
        "way": "in",
        "cost": 2,
        "tokens": 1000,
        "limit": 2,
        "then": db.snapshot().seq,
    }
    assert names(db.execute(command, given)) == ["c", "b"]


def test_as_of_shows_the_past(db: mycel.Graph) -> None:
    then = db.snapshot().seq
    db.execute('DELETE CONCEPT ?b DETACH WHERE { ?b {type: "Stop", name: "b"} }')
    assert names(db.execute(TRAVERSE, name="a")) == ["a"]
    assert names(db.execute(f'{TRAVERSE} ALONG "leads_to" AS OF :then', name="a", then=then)) == [
        "a",
        "b",
        "c",
    ]


def test_explain_says_what_it_would_do(db: mycel.Graph) -> None:
    told = db.explain(f'{TRAVERSE} MAX_COST 2 ALONG "leads_to"', name="a")
    assert told["command"].startswith("TRAVERSE FROM")
    assert told["traversal"] == {
        "start": "C:" + str(db.get_concept("Stop", "a").number),  # type: ignore[union-attr]
        "order": ["cost", "hops", "predicate number", "id"],
        "max_cost": 2,
        "max_nodes": 100,
        "max_tokens": None,
        "direction": "out",
        "relation_types": ("leads_to",),
    }
    analyzed = db.explain(TRAVERSE, name="a", analyze=True)
    assert len(analyzed["analyze"]["result"]) == 4


def test_it_may_be_asked_through_a_door_for_reading(db: mycel.Graph) -> None:
    request = {"command": TRAVERSE, "parameters": {"name": "a"}}
    assert len(db.request(request, readonly=True)["result"]) == 4
    assert db.request({**request, "dry_run": True})["result"] == {"valid": True}


def test_a_dry_run_of_a_batch_sees_what_came_before(db: mycel.Graph) -> None:
    commands = ['UPSERT { CONCEPT { {type: "Stop", name: "new"} } }', TRAVERSE]
    answer = db.request({"commands": commands, "parameters": {"name": "new"}, "dry_run": True})
    assert [set(each) & {"error"} for each in answer["result"]] == [set(), set()]
    assert db.get_concept("Stop", "new") is None


@cases(
    ("command", "code", "says"),
    [
        ('TRAVERSE FROM {type: "Stop", name: "d"}', "KIP_3002", "SEARCH CONCEPT"),
        ('TRAVERSE FROM {type: "Person", name: "a"}', "KIP_3002", "with that name: Stop."),
        ('TRAVERSE FROM {type: "Stopp", name: "a"}', "KIP_2001", "Did you mean 'Stop'?"),
        ('TRAVERSE FROM {id: "C:99998"}', "KIP_3002", "removed"),
        ('TRAVERSE FROM {id: "P:3:leads_to"}', "KIP_1001", "C:12"),
        ('TRAVERSE FROM (id: "P:99999:leads_to")', "KIP_3002", "removed"),
        (f'{TRAVERSE} ALONG "leads_too"', "KIP_2001", "Did you mean 'leads_to'"),
        (f"{TRAVERSE} MAX_COST -1", "KIP_2002", "costs its weight"),
        (f"{TRAVERSE} LIMIT 100000000", "KIP_2002", "max_cost"),
        (f"{TRAVERSE} LIMIT :zero", "KIP_2002", ""),
        (f"{TRAVERSE} MAX_TOKENS :zero", "KIP_2002", ""),
        (f"{TRAVERSE} DIRECTION :name", "KIP_2002", '"both"'),
        (f"{TRAVERSE} MAX_COST :name", "KIP_2003", ""),
        (f"{TRAVERSE} AS OF 99999999", "KIP_2002", ""),
        ("TRAVERSE FROM {id: :missing}", "KIP_3001", "missing"),
    ],
)
def test_what_is_wrong_is_told_with_a_next_step(
    db: mycel.Graph, command: str, code: str, says: str
) -> None:
    given: dict[str, Any] = {"name": "a", "zero": 0}
    with pytest.raises(MycelError) as refused:
        db.execute(command, given)
    error = refused.value
    assert (error.code, says in (error.hint or "")) == (code, True), (error.message, error.hint)


def test_names_defined_and_removed_by_others_between_two_traversals_count(
    db: mycel.Graph, tmp_path: Path
) -> None:
    assert names(db.execute(TRAVERSE, name="a"))[0] == "a"
    with mycel.open(tmp_path / "graph.db") as other:
        with other.transaction() as tx:
            tx.define_type("Quay")
            tx.define_predicate("ferries_to")
            tx.put_proposition(
                tx.put_concept("Quay", "q"), "ferries_to", tx.put_concept("Quay", "r")
            )
        command = 'TRAVERSE FROM {type: "Quay", name: "q"} ALONG "ferries_to"'
        assert names(db.execute(command)) == ["q", "r"]
        for name in ("q", "r"):
            other.execute(
                f'DELETE CONCEPT ?q DETACH WHERE {{ ?q {{type: "Quay", name: "{name}"}} }}'
            )
        other.execute(
            'DELETE CONCEPT ?p DETACH WHERE { ?p {type: "$PropositionType", name: "ferries_to"} }'
        )
    with pytest.raises(MycelError, match="ferries_to"):
        db.execute(f'{TRAVERSE} ALONG "ferries_to"', name="a")
