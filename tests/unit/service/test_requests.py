"""Requests to a real graph: what a model would send, from the first primer to a capsule."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import mycel
from tests.prepared import NEW

TYPES = """UPSERT {
    CONCEPT { {type: "$ConceptType", name: "River"} SET ATTRIBUTES { description: "It flows" } }
    CONCEPT { {type: "$PropositionType", name: "flows_into"}
        SET ATTRIBUTES { description: "Where it ends", is_transitive: true } }
}"""
RIVERS = """UPSERT {
    CONCEPT ?main { {type: "River", name: "Main"} SET ATTRIBUTES { km: 527 } }
    CONCEPT ?rhine { {type: "River", name: "Rhine"} SET ATTRIBUTES { km: 1233 } }
    PROPOSITION { (?main, "flows_into", ?rhine) SET ATTRIBUTES { at: "Mainz" } }
} WITH METADATA { source: "atlas" }"""
LIST = 'FIND(?r.name) WHERE { ?r {type: "River"} } ORDER BY ?r.name'


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with NEW.opened() as db:
        yield db


def ask(db: mycel.Graph, command: str, **parameters: Any) -> Any:
    response = db.request({"command": command, "parameters": parameters})
    json.dumps(response, ensure_ascii=False)
    assert "error" not in response, response
    return response["result"]


def learn(db: mycel.Graph) -> None:
    assert all("result" in each for each in db.request({"commands": [TYPES, RIVERS]})["result"])


def test_a_batch_defines_writes_and_reads(db: mycel.Graph) -> None:
    response = db.request({"commands": [TYPES, RIVERS, LIST]})
    assert response["result"][2] == {"result": ["Main", "Rhine"]}


def test_a_write_that_fails_keeps_what_came_before_and_stops_what_comes_after(
    db: mycel.Graph,
) -> None:
    wrong = 'UPSERT { CONCEPT { {type: "Lake", name: "Constance"} } }'
    response = db.request({"commands": [TYPES, wrong, RIVERS]})
    assert [list(each) for each in response["result"]] == [["result"], ["error"]]
    assert response["result"][1]["error"]["code"] == "KIP_2001"
    assert ask(db, LIST) == []


def test_a_dry_run_writes_nothing_and_still_finds_what_is_wrong(db: mycel.Graph) -> None:
    entries = db.snapshot().entries
    assert "result" in db.request({"command": TYPES, "dry_run": True})
    response = db.request({"command": RIVERS, "dry_run": True})
    assert response["error"]["code"] == "KIP_2001"
    assert db.snapshot().entries == entries


def test_a_read_only_request_runs_nothing_if_one_command_writes(db: mycel.Graph) -> None:
    learn(db)
    entries = db.snapshot().entries
    for request in ({"command": RIVERS}, {"commands": [LIST, RIVERS]}):
        response = db.request(request, readonly=True)
        first = response if "error" in response else response["result"][0]
        assert first["error"]["code"] == "KIP_3004"
    assert db.snapshot().entries == entries
    assert db.request({"command": LIST}, readonly=True) == {"result": ["Main", "Rhine"]}


def test_every_example_of_the_primer_runs(db: mycel.Graph) -> None:
    for known in (False, True):
        if known:
            learn(db)
        for example in ask(db, "DESCRIBE PRIMER")["how_to"]["examples"]:
            ask(db, example, words="rhine", name="Nahe", description="A river", source="atlas")


def test_examples_of_described_types_run(db: mycel.Graph) -> None:
    learn(db)
    for command in ('DESCRIBE CONCEPT TYPE "River"', 'DESCRIBE PROPOSITION TYPE "flows_into"'):
        assert ask(db, ask(db, command)["example"])


def test_words_lead_to_an_id_and_an_id_to_the_element(db: mycel.Graph) -> None:
    learn(db)
    (found, *_) = ask(db, "SEARCH CONCEPT :q LIMIT 1", q="rhine")
    assert ask(db, "FIND(?x.attributes.km) WHERE { ?x {id: :id} }", id=found["id"]) == [1233]
    (link, *_) = ask(db, 'SEARCH PROPOSITION "mainz"')
    assert ask(db, "FIND(?l.predicate) WHERE { ?l (id: :id) }", id=link["id"]) == ["flows_into"]


def test_what_is_exported_here_is_known_there(db: mycel.Graph) -> None:
    learn(db)
    types = 'EXPORT ?t WHERE { ?t {name: "River"} UNION { ?t {name: "flows_into"} } }'
    with NEW.opened() as other:
        for command in (types, 'EXPORT ?r WHERE { ?r {type: "River"} }'):
            ask(other, ask(db, command)["capsule"])
        query = 'FIND(?a.name, ?l.attributes.at) WHERE { ?l (?a, "flows_into", {name: "Rhine"}) }'
        assert ask(other, query) == ask(db, query) == [["Main"], ["Mainz"]]
        assert ask(other, LIST) == ["Main", "Rhine"]
