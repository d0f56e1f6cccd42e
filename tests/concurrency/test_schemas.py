"""Two who apply a schema at the same time: one wins, the other hears of it at once."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

import mycel
from mycel.errors import SchemaApplyInProgress
from mycel.store.write.guards import Change
from mycel.store.write.transaction import Transaction
from tests.unit.store.given import problems

OURS = "node Ship { name: String @key }"
THEIRS = "node Port { name: String @key }"
PATIENCE_S = 60

OTHER = """
import json, sys, mycel
with mycel.open(sys.argv[1]) as db:
    try:
        print(json.dumps(db.schema.apply(sys.argv[2]).to_dict()))
    except mycel.errors.MycelError as error:
        print(json.dumps(error.to_dict()))
"""


class Pausing:
    """Stops the first change of a definition until it is told to go on."""

    in_bulk = False

    def __init__(self) -> None:
        self.reached, self.go_on = Event(), Event()

    def concerns(self, tx: Transaction, type_or_predicate: str, *, link: bool) -> bool:
        return type_or_predicate == "$ConceptType"

    def check(self, tx: Transaction, change: Change) -> None:
        if change.name_or_ends == "Ship":
            self.reached.set()
            assert self.go_on.wait(PATIENCE_S)

    def check_commit(self, tx: Transaction) -> None:
        pass


def apply_elsewhere(path: Path, text: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", OTHER, str(path), text], capture_output=True, text=True, check=True
    )
    told: dict[str, object] = json.loads(done.stdout)
    return told


def test_the_second_of_two_applies_is_refused_while_the_first_runs(tmp_path: Path) -> None:
    path, pausing = tmp_path / "graph.db", Pausing()
    with mycel.open(path) as db:
        db.schema.apply("")
    with (
        mycel.open(path, guards=(pausing,)) as db,
        mycel.open(path) as another,
        ThreadPoolExecutor(1) as pool,
    ):
        first = pool.submit(db.schema.apply, OURS)
        try:
            assert pausing.reached.wait(PATIENCE_S)
            refused = apply_elsewhere(path, THEIRS)
            with pytest.raises(SchemaApplyInProgress):
                another.schema.apply(THEIRS)
            assert set(another.schema.catalog.nodes) == set()
        finally:
            pausing.go_on.set()
        assert first.result().applied
        assert refused["message"] == "schema apply is already in progress"
        assert refused["name"] == "SchemaApplyInProgress"
        later = apply_elsewhere(path, OURS + THEIRS)
        assert later["applied"] is True
        assert set(another.schema.catalog.nodes) == {"Ship", "Port"}
        assert problems(db.verify()) == []


def test_another_process_is_held_to_a_schema_that_was_just_applied(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    with mycel.open(path) as db:
        db.write(lambda tx: tx.define_type("Ship"))
        db.write(lambda tx: tx.put_concept("Ship", "Argo", {"name": "Argo"}))
        assert apply_elsewhere(path, OURS)["applied"] is True
        with pytest.raises(mycel.errors.ConstraintViolation):
            db.write(lambda tx: tx.put_concept("Ship", "Beagle", {"sails": 3}))
        assert set(db.schema.catalog.nodes) == {"Ship"}
