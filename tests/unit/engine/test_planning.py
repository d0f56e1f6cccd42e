"""The planner: what it calls columns, and when it counts again."""

from __future__ import annotations

from typing import Any

import pytest

import mycel
from mycel.engine.planning import GROWTH_MAX, SMALL, expression_name
from mycel.kip import ast, parse
from tests.unit.engine.town import counted_plannings, towns


@pytest.mark.parametrize(
    "written",
    [
        "?t",
        "?t.name",
        "?t.attributes.a.b",
        "COUNT(?t)",
        "COUNT(DISTINCT ?t)",
        "SUM(?t.attributes.a)",
    ],
)
def test_a_column_is_called_as_it_is_written(written: str) -> None:
    find = parse(f"FIND({written}) WHERE {{ ?t {{id: :id}} }}")
    assert isinstance(find, ast.Find)
    assert [expression_name(each) for each in find.expressions] == [written]


def test_a_graph_that_has_outgrown_its_plans_is_planned_for_anew() -> None:
    """What was a handful may be the larger side of a join by now."""
    command = 'FIND(?o.name) WHERE { ?s {type: "Town"} (?s, "feeds", ?o) ?o {type: "Town"} }'
    with towns(3) as db:
        before = db.execute(command).value
        with counted_plannings() as made:
            db.execute(command)
            assert made == []
            grow(db, int(db.snapshot().entries * GROWTH_MAX) + SMALL + 1)
            db.execute(command)
            assert len(made) == 1
            assert sorted(db.execute(command).value) == sorted(before)
            assert len(made) == 1


def grow(db: mycel.Nexus, count: int) -> None:
    with db.transaction() as tx:
        tx.define_type("Leaf")
        for n in range(count):
            tx.put_concept("Leaf", f"l{n}")


def order_of(db: mycel.Nexus, command: str) -> list[Any]:
    told = db.execute(f"EXPLAIN {command}").value
    assert isinstance(told, dict)
    return [step.split()[1] for step in told["steps"]]


def test_joins_begin_at_the_smaller_side() -> None:
    command = 'FIND(?l.name) WHERE { ?t {type: "Town"} (?t, "feeds", ?l) ?l {type: "Leaf"} }'
    with towns(40) as db:
        grow(db, 2)
        assert order_of(db, command)[0] == "c1"
        told = db.execute(f"EXPLAIN {command}").value
        ordered = next(stage for stage in told["plan"] if stage["stage"] == "order_joins")
        assert "variable='l'" in ordered["query"][2]
