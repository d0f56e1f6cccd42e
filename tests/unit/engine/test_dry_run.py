"""Dry runs of batches: each command sees what those before it would have written."""

from collections.abc import Iterator
from typing import Any

import pytest

import mycel
from tests.prepared import NEW

DEFINE = """UPSERT {
  CONCEPT { {type: "$ConceptType", name: "Boat"} SET ATTRIBUTES { description: "It floats." } }
}"""
PUT = 'UPSERT { CONCEPT { {type: "Boat", name: "Tern"} } }'
ASK = 'FIND(?b.name) WHERE { ?b {type: "Boat"} }'
DROP = 'DELETE CONCEPT ?b DETACH WHERE { ?b {type: "Boat", name: "Tern"} }'


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with NEW.opened() as db:
        yield db


def rehearse(db: mycel.Graph, *commands: str) -> list[dict[str, Any]]:
    before = db.snapshot()
    responses: list[dict[str, Any]] = db.request({"commands": commands, "dry_run": True})["result"]
    assert db.snapshot() == before
    return responses


def test_a_command_sees_what_those_before_it_would_have_written(db: mycel.Graph) -> None:
    defined, put, asked, dropped = rehearse(db, DEFINE, PUT, ASK, DROP)
    assert defined["result"]["valid"]
    assert put["result"]["would"]["blocks"] == 1
    assert asked["result"] == {"valid": True}
    assert dropped["result"]["would"] == {"deleted_concepts": 1, "deleted_propositions": 0}


def test_nothing_of_it_is_kept(db: mycel.Graph) -> None:
    rehearse(db, DEFINE, PUT)
    assert db.request({"command": ASK})["error"]["code"] == "KIP_2001"
    assert "result" in db.request({"commands": [DEFINE, PUT, ASK]})
    assert db.execute(ASK).value == ["Tern"]
    assert db.verify().ok


def test_what_would_fail_ends_the_batch(db: mycel.Graph) -> None:
    responses = rehearse(db, PUT, DEFINE)
    assert [each.get("error", {}).get("code") for each in responses] == ["KIP_2001"]


def test_questions_that_mean_nothing_are_told_in_their_place(db: mycel.Graph) -> None:
    responses = rehearse(db, DEFINE, ASK.replace("?b.name", "?x"), "FIND", PUT)
    codes = [each.get("error", {}).get("code") for each in responses]
    assert codes == [None, "KIP_3001", "KIP_1001", None]


def test_warnings_stand_beside_the_command_that_caused_them(db: mycel.Graph) -> None:
    event = 'UPSERT { CONCEPT { {type: "Event", name: "launch"} } }'
    quiet, loud = rehearse(db, DEFINE, event)
    assert "warnings" not in quiet
    assert loud["warnings"]


def test_descriptions_exports_and_searches_are_checked_too(db: mycel.Graph) -> None:
    responses = rehearse(
        db,
        DEFINE,
        'DESCRIBE CONCEPT TYPE "Boat"',
        "DESCRIBE PRIMER",
        f"EXPLAIN {ASK}",
        'EXPORT ?b WHERE { ?b {type: "Boat"} }',
        'SEARCH CONCEPT "tern"',
        'DESCRIBE CONCEPT TYPE "Raft"',
    )
    assert [each.get("result") for each in responses[1:6]] == [{"valid": True}] * 5
    assert responses[6]["error"]["code"] == "KIP_3002"


def test_an_explanation_writes_nothing_that_later_commands_would_see(db: mycel.Graph) -> None:
    _, explained, asked = rehearse(db, f"EXPLAIN {DEFINE}", 'DESCRIBE CONCEPT TYPE "Boat"', ASK)
    assert explained["error"]["code"] == "KIP_3002"
    assert asked["error"]["code"] == "KIP_2001"


def test_what_a_caller_does_to_a_result_changes_no_later_one(db: mycel.Graph) -> None:
    command = "DESCRIBE CONCEPT TYPES"
    db.execute(command, dry_run=True).value["valid"] = False
    assert db.execute(command, dry_run=True).value == {"valid": True}
