"""The planner: what it calls columns, and when it counts again."""

from __future__ import annotations

from typing import Any

import mycel
from mycel.engine.planner import GROWTH_MAX, SMALL
from mycel.kip import ast, parse
from mycel.kip.fragments import expression
from tests.cases import cases
from tests.unit.engine.town import counted_plannings, towns


@cases(
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
    assert [expression(each) for each in find.expressions] == [written]


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


def grow(db: mycel.Graph, count: int) -> None:
    with db.transaction() as tx:
        tx.define_type("Leaf")
        for n in range(count):
            tx.put_concept("Leaf", f"l{n}")


def order_of(db: mycel.Graph, command: str) -> list[Any]:
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


WALKS = [
    '(?a, "next"{1,}, ?b)',
    '(?a, "next"{0,2}, ?b)',
    '(?a, "beside"{1,2}, ?b)',
    '(?a, "beside"{0,}, ?b)',
    '?l (?a, "next"{1,3}, ?b)',
    '?l (?a, "beside"{0,1}, ?b)',
    '(?a, "about"{1,}, ?b)',
    '(?a, "about"{0,2}, ?b)',
    '?l (?a, "about"{0,2}, ?b)',
]
ENDS_ARE_CONCEPTS = WALKS[:6]


def walkable() -> mycel.Graph:
    """Towns in two rings, and links about links."""
    db = mycel.open(":memory:", core_capsules=False, actor="tester")
    db.execute(
        'UPSERT { CONCEPT { {type: "$ConceptType", name: "Stop"} }'
        ' CONCEPT { {type: "$PropositionType", name: "next"} }'
        ' CONCEPT { {type: "$PropositionType", name: "about"} }'
        ' CONCEPT { {type: "$PropositionType", name: "beside"}'
        " SET ATTRIBUTES { is_symmetric: true } } }"
    )
    with db.transaction() as tx:
        stops = [tx.put_concept("Stop", f"s{n}") for n in range(7)]
        rings = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 3)]
        links = [tx.put_proposition(stops[a], "next", stops[b]) for a, b in rings]
        for a, b in ((5, 0), (6, 5), (1, 3)):
            tx.put_proposition(stops[a], "beside", stops[b])
        tx.put_proposition(links[0], "about", stops[3])
        tx.put_proposition(links[1], "about", links[0])
        tx.put_proposition(stops[3], "about", links[4])
    return db


@cases("walk", WALKS)
def test_pages_of_walks_with_free_ends_hold_every_pair_once(walk: str) -> None:
    shown = "?a.id, ?b.id, ?l.id" if walk.startswith("?l") else "?a.id, ?b.id"
    with walkable() as db:
        command = f"FIND({shown}) WHERE {{ {walk} }}"
        whole = list(db.execute(command))
        for write_between in (False, True):
            found: list[Any] = []
            cursor: str | None = ""
            while cursor is not None:
                after = "CURSOR :after" if cursor else ""
                page = db.execute(f"{command} LIMIT 4 {after}", after=cursor)
                found += list(page)
                cursor = page.next_cursor
                if write_between:
                    put = 'UPSERT { CONCEPT { {type: "Stop", name: :name} } }'
                    db.execute(put, name=f"later {len(found)}")
            assert len(found) == len(set(found)) == len(whole)
            assert set(found) == set(whole)


@cases("walk", ENDS_ARE_CONCEPTS)
def test_a_page_of_walks_is_full_before_every_start_is_tried(walk: str) -> None:
    shown = "?a.name, ?l.id" if walk.startswith("?l") else "?a.name, ?b.name"
    with walkable() as db:
        told = db.execute(f"EXPLAIN FIND({shown}) WHERE {{ {walk} }} LIMIT 3").value
        assert "USE TEMP B-TREE FOR ORDER BY" not in told["steps"]
