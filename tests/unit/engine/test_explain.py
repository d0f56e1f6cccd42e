"""EXPLAIN tells what a command becomes; with ANALYZE also what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import mycel
from mycel.errors import TypeMismatch
from tests.unit.engine.town import towns

FIND = 'FIND(?t.name) WHERE { ?t {type: "Town", name: "t1"} }'
BY_NAME = FIND.replace('"t1"', ":name")
MERGE = 'MERGE CONCEPT ?a INTO ?b WHERE { ?a {name: "t0"} ?b {type: "Town", name: "t1"} }'
LIMITED = (
    "UPDATE ?t SET ATTRIBUTES { size: 1 }",
    'ARCHIVE ?t BECAUSE "gone"',
    "RESTORE ?t",
    "SUPPORT ?t WITH {confidence: 0.5}",
    'SET RETENTION {after: "1d"} FOR ?t',
)
TOWNS = 'WHERE { ?t {type: "Town"} }'
LIMITED = (
    f"UPDATE ?t SET ATTRIBUTES {{ size: 9 }} {TOWNS}",
    f'ARCHIVE ?t BECAUSE "gone" {TOWNS}',
    f"RESTORE ?t {TOWNS}",
    'SUPPORT ?l WITH {confidence: 0.5} WHERE { ?l (?a, "feeds", ?b) }',
    f'SET RETENTION {{after: "1d"}} FOR ?t {TOWNS}',
)
SUPERSEDE = (
    'SUPERSEDE ?t WITH ?u WHERE { ?t {type: "Town", name: "t1"} ?u {type: "Town", name: "t2"} }'
)
SET_TYPE_RETENTION = 'SET RETENTION {after: "1d"} FOR CONCEPT TYPE "Town"'
DEFINE = 'UPSERT { CONCEPT { {type: "$PropositionType", name: "supersedes"} SET ATTRIBUTES { } } }'
UPSERT = 'UPSERT { CONCEPT { {type: "Town", name: "new"} } }'


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with towns() as db:
        yield db


def told(db: mycel.Graph, command: str, **parameters: Any) -> dict[str, Any]:
    value = db.execute(f"EXPLAIN {command}", parameters).value
    assert isinstance(value, dict)
    return value


def test_every_stage_is_told(db: mycel.Graph) -> None:
    stages = told(db, FIND)
    assert stages.keys() == {"command", "plan", "sql", "bindings", "steps"}
    assert stages["plan"][0]["stage"] == "bind"
    assert stages["bindings"] == ["t1", 3]
    assert "SEARCH" in stages["steps"][0]


def test_the_statement_that_is_told_gives_the_rows(db: mycel.Graph) -> None:
    stages = told(db, FIND)
    with db._store.reading() as reader:
        rows = reader.connection.execute(stages["sql"], tuple(stages["bindings"])).fetchall()
    assert rows == db.execute(FIND).rows


def test_parameters_are_told_by_name_and_not_by_value(db: mycel.Graph) -> None:
    stages = told(db, BY_NAME, name="secret")
    assert stages["bindings"] == [":name", 3]
    assert "secret" not in str(stages)


@pytest.mark.parametrize(
    "command",
    [
        UPSERT,
        'UPDATE ?t SET ATTRIBUTES { size: 1 } WHERE { ?t {type: "Town"} }',
        'DELETE CONCEPT ?t DETACH WHERE { ?t {type: "Town"} }',
        MERGE,
    ],
)
def test_without_analyze_nothing_runs(db: mycel.Graph, command: str) -> None:
    before = db.snapshot()
    stages = told(db, command)
    assert "analyze" not in stages
    assert ("sql" in stages) == (not command.startswith("UPSERT"))
    assert db.snapshot() == before


def test_with_analyze_the_command_runs(db: mycel.Graph) -> None:
    analyzed = told(db, f"ANALYZE {FIND}")["analyze"]
    assert analyzed["result"] == ["t1"]
    assert analyzed["took_ms"] >= 0
    again = told(db, f"ANALYZE {BY_NAME}", name="t2")["analyze"]
    assert again["result"] == ["t2"]


def test_with_analyze_a_change_is_made_once(db: mycel.Graph) -> None:
    before = db.snapshot().entries
    made = told(db, f"ANALYZE {UPSERT}")["analyze"]["result"]
    assert len(made["upsert_concept_nodes"]) == 1
    assert db.snapshot().entries == before + 2


def test_with_analyze_a_page_has_its_cursor(db: mycel.Graph) -> None:
    command = 'FIND(?t.name) WHERE { ?t {type: "Town"} } LIMIT 2'
    analyzed = told(db, f"ANALYZE {command}")["analyze"]
    rest = db.execute(f"{command} CURSOR :cursor", cursor=analyzed["next_cursor"])
    assert len({*analyzed["result"], *rest.value}) == 4


def test_what_means_nothing_is_refused_as_it_would_be(db: mycel.Graph) -> None:
    for word in ("", "ANALYZE "):
        with pytest.raises(TypeMismatch):
            db.execute(f"EXPLAIN {word}{FIND.replace('Town', 'Tower')}")


@pytest.mark.parametrize("command", LIMITED)
def test_an_explained_limit_is_that_of_the_command(db: mycel.Graph, command: str) -> None:
    before = db.snapshot()
    assert "LIMIT ?" not in told(db, command)["sql"]
    assert told(db, f"{command} LIMIT 2")["sql"].endswith("LIMIT ?2")
    assert db.snapshot() == before


@pytest.mark.parametrize(
    ("command", "targets"),
    [*((f"{command} LIMIT 1", 2) for command in LIMITED), (SUPERSEDE, 2), (SET_TYPE_RETENTION, 0)],
)
def test_an_explained_change_tells_its_targets_and_a_dry_run_its_result(
    db: mycel.Graph, command: str, targets: int
) -> None:
    db.execute(DEFINE)
    if command.startswith("RESTORE"):
        db.execute('ARCHIVE ?t WHERE { ?t {type: "Town"} }')
    if command.startswith("SUPERSEDE"):  # Otherwise its result has the time of the command.
        db.execute(
            'UPDATE ?t SET METADATA { valid_from: "2020-01-01" } WHERE { ?t {type: "Town"} }'
        )
    before = db.snapshot()
    stages = told(db, command)
    assert ("sql" in stages) == bool(targets)
    if targets:
        bindings = [2 if value == ":#limit" else value for value in stages["bindings"]]
        with db._store.reading() as reader:
            rows = reader.connection.execute(stages["sql"], tuple(bindings)).fetchall()
        assert len({number for row in rows for number in row}) == targets
    rehearsed = db.execute(f"EXPLAIN ANALYZE {command}", dry_run=True).value["would"]
    assert db.snapshot() == before
    analyzed = told(db, f"ANALYZE {command}")["analyze"]
    # A dry run of a rule of retention counts what would be due, too.
    due = {"due": 0} if command.startswith("SET RETENTION") else {}
    assert analyzed["result"] | due == rehearsed
    assert db.snapshot() != before


def test_explaining_a_change_needs_no_right_to_write(db: mycel.Graph) -> None:
    request = {"command": f"EXPLAIN {UPSERT}"}
    assert "result" in db.request(request, readonly=True)
    refused = db.request({"command": f"EXPLAIN ANALYZE {UPSERT}"}, readonly=True)
    assert refused["error"]["code"] == "KIP_3004"
