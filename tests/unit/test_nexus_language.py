"""KIP through the facade: commands, parameters, requests and capsules."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import mycel
from mycel.errors import (
    DatabaseClosed,
    DatabaseReadOnly,
    InvalidSyntax,
    MycelError,
    ResourceExhausted,
)
from mycel.model.limits import COMMAND_BYTES_MAX
from tests.unit.engine.town import towns

BY_NAME = 'FIND(?t.name) WHERE { ?t {type: "Town", name: :name} }'
UPSERT = 'UPSERT { CONCEPT { {type: "Town", name: :name} } }'


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with towns() as db:
        yield db


def test_parameters_are_a_mapping_or_named_or_both(db: mycel.Graph) -> None:
    command = BY_NAME.replace("}", "} FILTER(?t.attributes.size == :size)", 1)
    for result in (
        db.execute(command, {"name": "t1", "size": 1}),
        db.execute(command, name="t1", size=1),
        db.execute(command, {"name": "t1", "size": 9}, size=1),
        db.execute(command, MappingProxyType({"name": "t1", "size": 1})),
    ):
        assert result.value == ["t1"]


def test_a_parameter_may_be_called_as_an_argument_is(db: mycel.Graph) -> None:
    command = 'FIND(?t.name) WHERE { ?t {type: "Town", name: :command} FILTER(?t.name != :self) }'
    found = db.execute(command, {"command": "t1", "self": "x"})
    assert found.value == ["t1"]
    assert db.execute(command, command="t1", self="x").value == ["t1"]


@pytest.mark.parametrize("parameters", [[], "name", 5, [("name", "t1")]])
def test_parameters_that_are_no_mapping_are_refused(db: mycel.Graph, parameters: Any) -> None:
    with pytest.raises(MycelError) as caught:
        db.execute(BY_NAME, parameters)
    assert caught.value.code == "KIP_2003"


def test_the_values_of_parameters_are_left_alone(db: mycel.Graph) -> None:
    given = {"name": "t1", "values": [1, {"a": [2]}]}
    before = json.dumps(given)
    command = BY_NAME.replace("}", "} FILTER(?t.attributes.size != :values)", 1)
    db.execute(command, given)
    assert json.dumps(given) == before


@pytest.mark.parametrize("command", [None, 5, b"FIND"])
def test_a_command_that_is_no_text_is_refused(db: mycel.Graph, command: Any) -> None:
    with pytest.raises(MycelError) as caught:
        db.execute(command)
    assert caught.value.code in ("KIP_1001", "KIP_2003")


def test_an_error_shows_its_place_in_the_command(db: mycel.Graph) -> None:
    with pytest.raises(MycelError) as caught:
        db.execute('FIND(?t.name)\nWHERE {\n  ?t {type: "Tovn"}\n}')
    assert caught.value.data["line"] == 3
    assert "Town" in (caught.value.hint or "")
    assert "^" in caught.value.message


def test_an_error_of_a_command_asked_twice_shows_its_place_both_times(db: mycel.Graph) -> None:
    seen = []
    for _ in range(2):
        with pytest.raises(MycelError) as caught:
            db.execute(BY_NAME)
        seen.append((caught.value.message, caught.value.data["column"]))
    assert seen[0] == seen[1]


def test_an_error_says_where_it_is_only_once(db: mycel.Graph) -> None:
    command = 'FIND(?t) WHERE { ?t {type: "Tovn"} }'
    for text in (command, f"EXPLAIN ANALYZE {command}"):
        with pytest.raises(MycelError) as caught:
            db.execute(text)
        assert caught.value.message.count("Line 1") == 1


def test_commands_of_an_actor_are_the_actors(tmp_path: Path) -> None:
    with mycel.open(tmp_path / "graph.db", actor="ada") as db:
        db.execute('UPSERT { CONCEPT { {type: "Person", name: "Ada"} } }')
        entry = next(db.history.log(limit=1))
        assert (entry.actor, entry.message) == ("ada", "add 1 Person")


def test_a_request_answers_as_execute_does(db: mycel.Graph) -> None:
    answer = db.request({"command": BY_NAME, "parameters": {"name": "t1"}})
    assert answer["result"] == db.execute(BY_NAME, name="t1").value


def test_a_rehearsal_changes_nothing(db: mycel.Graph) -> None:
    before = db.snapshot()
    request = {"command": UPSERT, "parameters": {"name": "new"}, "dry_run": True}
    answer = db.request(request)["result"]
    assert answer["valid"] is True
    assert db.snapshot() == before
    assert db.execute(BY_NAME, name="new").value == []


def test_a_rehearsed_question_is_checked_and_not_run(db: mycel.Graph) -> None:
    request = {"command": BY_NAME, "parameters": {"name": "t1"}, "dry_run": True}
    assert db.request(request)["result"] == {"valid": True}
    wrong = {**request, "command": BY_NAME.replace("Town", "Tower")}
    assert db.request(wrong)["error"]["code"] == "KIP_2001"


def test_a_graph_opened_for_reading_answers_and_does_not_change(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    towns(path=str(path)).close()
    with mycel.open(path, readonly=True) as db:
        assert db.execute(BY_NAME, name="t1").value == ["t1"]
        with pytest.raises(DatabaseReadOnly):
            db.execute(UPSERT, name="new")


def test_a_closed_graph_answers_nothing(db: mycel.Graph) -> None:
    db.execute(BY_NAME, name="t1")
    db.close()
    for command in (BY_NAME, UPSERT, "DESCRIBE PRIMER"):
        with pytest.raises(DatabaseClosed):
            db.execute(command, name="t1")


def test_a_capsule_may_be_larger_than_a_command(db: mycel.Graph) -> None:
    blocks = "".join(
        f'CONCEPT {{ {{type: "Town", name: "c{n}"}} SET ATTRIBUTES {{ text: "{"x" * 1000}" }} }}\n'
        for n in range(300)
    )
    capsule = f"UPSERT {{ {blocks} }}"
    assert len(capsule) > COMMAND_BYTES_MAX
    with pytest.raises(ResourceExhausted):
        db.execute(capsule)
    assert db.apply_capsule(capsule, dry_run=True).value["valid"] is True
    assert db.execute(BY_NAME, name="c7").value == []
    assert db.apply_capsule(capsule).value["blocks"] == 300
    assert db.execute(BY_NAME, name="c299").value == ["c299"]


def test_what_is_no_capsule_is_refused(db: mycel.Graph) -> None:
    for text in (
        BY_NAME,
        "DESCRIBE PRIMER",
        'DELETE CONCEPT ?t DETACH WHERE { ?t {type: "Town"} }',
    ):
        with pytest.raises(InvalidSyntax):
            db.apply_capsule(text)


def test_a_capsule_takes_parameters(db: mycel.Graph) -> None:
    db.apply_capsule(UPSERT, {"name": "given"})
    assert db.execute(BY_NAME, name="given").value == ["given"]


def test_what_a_command_writes_the_python_api_sees_and_the_other_way_round(
    db: mycel.Graph,
) -> None:
    id_ = db.execute(UPSERT, name="both").value["upsert_concept_nodes"][0]
    concept = db.get_concept("Town", "both")
    assert concept is not None
    assert concept.id == id_
    first = db.get_concept("Town", "t0")
    assert first is not None
    link = db.add_edge(concept, "feeds", first)
    command = 'FIND(?l.id) WHERE { ?l ({id: :id}, "feeds", {type: "Town", name: "t0"}) }'
    assert db.execute(command, id=id_).value == [link]
    db.remove_edge(concept, "feeds", first)
    assert db.execute(command, id=id_).value == []


def test_a_question_about_the_past_agrees_with_the_view_of_it(db: mycel.Graph) -> None:
    then = db.snapshot().entries
    db.execute('DELETE CONCEPT ?t DETACH WHERE { ?t {type: "Town", name: "t1"} }')
    past = db.as_of(then).get_concept("Town", "t1")
    assert past is not None
    command = 'FIND(?t.id) AS OF :then WHERE { ?t {type: "Town", name: "t1"} }'
    assert db.execute(command, then=then).value == [past.id]
    assert db.execute(command, then=db.snapshot().entries).value == []
