"""`db.schema`: what callers are told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import mycel
from mycel.migration import apply
from mycel.migration.consent import Consent
from mycel.schema import load
from mycel.schema.catalog import Catalog
from mycel.schema.planner import Plan, plan
from tests.prepared import NEW


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with NEW.opened() as db:
        yield db


def test_messages_of_other_writes_are_no_versions() -> None:
    with NEW.opened() as db:
        db.schema.apply("node Person { age: I32? }")
        (first,) = db.schema.history()
        for at, said in enumerate(("rubbish", first.ir_hash, f"sha256:{64 * '0'}")):
            db.write(
                lambda tx, at=at: tx.put_concept("Person", f"p{at}"),  # type: ignore[misc]
                message=f"schema apply {said}",
            )
        db.schema.apply("node Person { age: I32?  name: String? }")
        versions = db.schema.history()
        assert [[step["kind"] for step in each.steps] for each in versions] == [
            ["add_type"],
            ["add_property"],
        ]
        assert versions[-1].ir_hash == db.schema.catalog.ir_hash


def test_a_plan_that_looks_at_the_data_is_made_once(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Catalog] = []

    def counted(accepted: Catalog, desired: Catalog, **options: Any) -> Plan:
        made.append(desired)
        return plan(accepted, desired, **options)

    monkeypatch.setattr(apply, "plan", counted)
    assert db.schema.plan("node Once { x: I32 }").supported
    assert len(made) == 1


def test_a_plan_is_made_again_when_the_schema_has_changed_meanwhile(db: mycel.Graph) -> None:
    wanted = load("node Once { x: I32? }")
    earlier = apply.plan_for(db._store, wanted, Consent())
    db.schema.apply("node Once { x: I32? }")
    assert apply.plan_for(db._store, wanted, Consent(), earlier).plan.changes == ()
