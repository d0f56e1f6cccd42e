"""UPDATE: the same change for many elements, and values that are computed from each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.errors import (
    ConstraintViolation,
    InvalidValueType,
    NotFound,
    UnknownReference,
)
from mycel.store.database import Store
from mycel.store.write.guards import Change
from tests.unit.engine.commands import Graph


@pytest.fixture
def graph() -> Graph:
    """Four cities, which have a number, a word, null and nothing as `n`."""
    graph = Graph()
    graph.run("""UPSERT {
        CONCEPT ?a { {type: "City", name: "number"} SET ATTRIBUTES { n: 5, deep: {x: 1.5} } }
        CONCEPT ?b { {type: "City", name: "word"} SET ATTRIBUTES { n: "five" } }
        CONCEPT ?c { {type: "City", name: "null"} SET ATTRIBUTES { n: null } }
        CONCEPT ?d { {type: "City", name: "nothing"}
          SET PROPOSITIONS { ("near", ?a) ("near", ?b) } } }""")
    return graph


def computed(graph: Graph, change: str, name: str = "number", **parameters: object) -> Any:
    """What a change gives to the key `r` of one city; None if it leaves the key alone."""
    graph.run(
        f'UPDATE ?t SET ATTRIBUTES {{ r: {change} }} WHERE {{ ?t {{type: "City"}} }}',
        **parameters,
    )
    return graph.concept(name).attributes.get("r")


def test_every_match_gets_the_values(graph: Graph) -> None:
    result = graph.run(
        """UPDATE ?t SET ATTRIBUTES { n: null, tags: [1, :x] } SET METADATA { m: 1 }
        WHERE { ?t {type: "City"} }""",
        x={"y": 2},
    )
    assert result == {"updated": 4, "matched": 4}
    for name in ("number", "word", "null", "nothing"):
        city = graph.concept(name)
        assert (city.attributes["n"], city.attributes["tags"]) == (None, [1, {"y": 2}])
        assert (city.metadata, city.version) == ({"m": 1}, 2)


def test_what_is_the_same_already_is_matched_but_not_updated(graph: Graph) -> None:
    command = 'UPDATE ?t SET ATTRIBUTES { n: 5 } WHERE { ?t {type: "City"} }'
    assert graph.run(command) == {"updated": 3, "matched": 4}
    before = graph.entries
    assert graph.run(command) == {"updated": 0, "matched": 4}
    assert graph.entries == before


def test_links_are_updated_too(graph: Graph) -> None:
    command = 'UPDATE ?l SET METADATA { seen: true } WHERE { ?l (?s, "near", ?o) }'
    assert graph.run(command) == {"updated": 2, "matched": 2}


def test_a_limit_takes_the_first(graph: Graph) -> None:
    command = 'UPDATE ?t SET ATTRIBUTES { r: 1 } WHERE { ?t {type: "City"} } LIMIT :n'
    assert graph.run(command, n=2) == {"updated": 2, "matched": 2}
    assert "r" in graph.concept("word").attributes
    assert "r" not in graph.concept("null").attributes
    graph.refuses(ConstraintViolation, command, n=0)
    graph.refuses(InvalidValueType, command, n=1.5)


def test_a_null_target_does_not_count_towards_the_limit(graph: Graph) -> None:
    result = graph.run("""UPDATE ?o SET ATTRIBUTES { r: 1 } WHERE {
        ?s {type: "City"} OPTIONAL { ?l (?s, "near", ?o) } } LIMIT 2""")
    assert result == {"updated": 2, "matched": 2}


@pytest.mark.parametrize(
    ("change", "result"),
    [
        ("ADD(?t.attributes.n, 1)", 6),
        ("ADD(?t.attributes.n, 0.5)", 5.5),
        ("MUL(?t.attributes.n, -2)", -10),
        ("MUL(?t.attributes.deep.x, 2)", 3.0),
        ("ADD(?t.metadata._version, 10)", 11),
        ("CLAMP(?t.attributes.n, 0, 3)", 3),
        ("CLAMP(?t.attributes.n, 6, 9)", 6),
        ("CLAMP(?t.attributes.n, 0, 9)", 5),
        ("COALESCE(?t.attributes.n, 7)", 5),
        ("COALESCE(?t.attributes.none, 7)", 7),
        ("ADD(COALESCE(?t.attributes.none, 0), MUL(?t.attributes.n, :two))", 10),
        ("COALESCE(ADD(?t.attributes.none, 1), 8)", 8),
        ("ADD(18446744073709551615, 1)", 18446744073709551616.0),
        ("ADD(9223372036854775807, 1)", 9223372036854775808),
        ("MUL(18446744073709551615, 1)", 18446744073709551615),
        ("CLAMP(18446744073709551615, 0, 18446744073709551614)", 18446744073709551614),
    ],
)
def test_values_are_computed_from_the_element(graph: Graph, change: str, result: Any) -> None:
    found = computed(graph, change, two=2)
    assert found == result
    assert type(found) is type(result)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ("ADD(?t.attributes.n, 1)", "word"),
        ("ADD(?t.attributes.n, 1)", "null"),
        ("ADD(?t.attributes.n, 1)", "nothing"),
        ("COALESCE(?t.attributes.n, 1)", "word"),
        ("COALESCE(?t.attributes.none, ?t.attributes.none)", "number"),
        ("ADD(?t.attributes.none, ?t.attributes.n)", "word"),
        ("COALESCE(ADD(?t.attributes.none, ?t.attributes.n), 1)", "word"),
        ("ADD(?t.attributes.deep, 1)", "number"),
        ("ADD(?t.attributes.n.x, 1)", "number"),
        ("ADD(?t.name, 1)", "number"),
        ("MUL(1e308, 10)", "number"),
        ("CLAMP(1, ?t.attributes.n, 2)", "number"),
    ],
)
def test_what_cannot_be_computed_leaves_the_key_alone(graph: Graph, change: str, name: str) -> None:
    assert computed(graph, change, name) is None
    assert "r" not in graph.concept(name).attributes


def test_a_key_that_is_skipped_does_not_stop_the_others(graph: Graph) -> None:
    result = graph.run("""UPDATE ?t SET ATTRIBUTES { n: ADD(?t.attributes.n, 1), ok: true }
        WHERE { ?t {type: "City"} }""")
    assert result == {"updated": 4, "matched": 4}
    assert graph.concept("word").attributes == {"n": "five", "ok": True}


def test_all_values_are_computed_from_the_state_before(graph: Graph) -> None:
    graph.run("""UPDATE ?t SET ATTRIBUTES { n: ADD(?t.attributes.n, 1), r: MUL(?t.attributes.n, 2) }
        WHERE { ?t {name: "number"} }""")
    assert graph.concept("number").attributes["r"] == 10


def test_a_whole_map_may_be_a_parameter(graph: Graph) -> None:
    command = 'UPDATE ?t SET ATTRIBUTES :a SET METADATA :m WHERE { ?t {name: "number"} }'
    graph.run(command, a={"n": "ADD(1, 2)"}, m={"k": None})
    assert graph.concept("number").attributes["n"] == "ADD(1, 2)"
    assert graph.concept("number").metadata == {"k": None}
    graph.refuses(ConstraintViolation, command, a={}, m={"_version": 9})
    graph.refuses(InvalidValueType, command, a=[1], m={})


def test_mistakes_are_told_even_when_nothing_matches(graph: Graph) -> None:
    nobody = 'WHERE { ?t {name: "nobody"} }'
    cases = [
        (ConstraintViolation, "SET METADATA { _version: 1 }"),
        (ConstraintViolation, "SET METADATA { _x: ADD(1, 1) }"),
        (ConstraintViolation, "SET ATTRIBUTES { r: CLAMP(1, 5, :two) }"),
        (UnknownReference, "SET ATTRIBUTES { r: ADD(?s.attributes.n, 1) }"),
        (UnknownReference, "SET ATTRIBUTES { r: ADD(?t.n, 1) }"),
        (UnknownReference, "SET ATTRIBUTES { r: ADD(:missing, 1) }"),
        (InvalidValueType, "SET ATTRIBUTES { r: ADD(:word, 1) }"),
    ]
    for error, change in cases:
        graph.refuses(error, f"UPDATE ?t {change} {nobody}", two=2, word="x")
    assert graph.run(f"UPDATE ?t SET ATTRIBUTES {{ r: 1 }} {nobody}") == {
        "updated": 0,
        "matched": 0,
    }


def test_a_target_that_is_named_outright_has_to_exist(graph: Graph) -> None:
    command = "UPDATE ?t SET ATTRIBUTES { r: 1 } WHERE { %s }"
    graph.refuses(NotFound, command % '?t {id: "C:99998"}')
    graph.refuses(NotFound, command % '?t {type: "City", name: "Basel"}')


class Echo:
    """A guard that changes what is named in the attributes of what is changed."""

    in_bulk = False

    def concerns(self, tx: mycel.Transaction, type_or_predicate: str, *, link: bool) -> bool:
        return type_or_predicate == "Cell"

    def check(self, tx: mycel.Transaction, change: Change) -> None:
        other = change.attributes.get("echo")
        if change.kind == "update" and isinstance(other, str):
            tx.update(other, attributes={"heard": change.attributes["n"]})

    def check_commit(self, tx: mycel.Transaction) -> None:
        """Nothing to say."""


def test_what_a_guard_changes_along_the_way_is_changed_as_it_is_then(tmp_path: Path) -> None:
    store = Store(tmp_path / "graph.db", durability="off", guards=[Echo()])
    with mycel.Graph(store, actor="tester") as db:
        with db.transaction() as tx:
            tx.define_type("Cell")
            a, b, c = (tx.put_concept("Cell", name, {"n": 1}) for name in "abc")
        db.write(lambda tx: tx.update(a, attributes={"echo": c}))
        told = db.execute(
            'UPDATE ?c SET ATTRIBUTES { n: ADD(?c.attributes.n, 1) } WHERE { ?c {type: "Cell"} }'
        )
        assert told.value == {"updated": 3, "matched": 3}
        assert [db.get(each).attributes["n"] for each in (a, b, c)] == [2, 2, 2]
        last = db.get(c)
        assert last.attributes == {"n": 2, "heard": 2}
        assert last.version == 4
        assert db.verify().problems == ()
