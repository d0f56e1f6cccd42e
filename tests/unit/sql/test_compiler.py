"""Statements: values are bound, rows distinct where they must be, joins as long as needed."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mycel
from mycel.ir import query as ir
from mycel.sql.compiler import compile_numbers, compile_query
from mycel.sql.patterns import TABLES_JOINED_MAX
from mycel.sql.scope import Bindings
from tests.cases import cases
from tests.unit.plan.compiled import bound, rewritten

ROWS = 'FIND(?t.name, ?r.name) WHERE { ?t {type: "Town"} (?t, "feeds", ?r) }'


def test_equal_values_share_a_place_and_values_of_other_types_do_not() -> None:
    bindings = Bindings()
    values = [ir.Constant(1, "number"), ir.Constant(1.0, "number"), ir.Constant(True, "true")]
    places = [bindings.add(value) for value in (*values, *values)]
    assert places == ["?1", "?2", "?3", "?1", "?2", "?3"]


def test_a_given_value_is_not_the_constant_of_the_same_name() -> None:
    bindings = Bindings()
    places = {
        bindings.add(ir.Constant("n", "text")),
        bindings.add(ir.Parameter("n", "text")),
        bindings.add(ir.Parameter("n", "text", "pattern")),
    }
    assert len(places) == 3


def test_places_that_are_not_used_are_not_bound() -> None:
    bindings = Bindings([ir.Constant(value, "number") for value in range(12)])
    text, values = bindings.used_in("?3 + ?11 + ?3 + ?1")
    assert text == "?2 + ?3 + ?2 + ?1"
    assert [value.value for value in values if isinstance(value, ir.Constant)] == [0, 2, 10]


@given(
    value=st.text()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(max_value=2.0**62, allow_nan=False, allow_infinity=False)
)
def test_no_value_of_a_command_is_part_of_its_statement(value: Any) -> None:
    text = (
        "FIND(?t) WHERE { ?t {type: :type, name: :name}"
        " FILTER(?t.attributes.a == :v || IN(?t.attributes.a, :list)) }"
    )
    given_ = {"type": "Town", "name": "Ulm", "v": value, "list": [value]}
    one = compile_query(bound(text, **given_).query)
    other = compile_query(
        bound(text, **{**given_, "v": type(value)(), "list": [type(value)()]}).query
    )
    assert one.text == other.text


@cases("word", ["x'); DROP TABLE concept; --", "?1", "'", '"', "\0", "😀"])
def test_a_constant_of_a_command_is_bound_and_not_written(word: str) -> None:
    query = ir.Query(
        (ir.Block((ir.ConceptAtom("t", 3, ir.Constant(word, "text")),), binds=frozenset({"t"})),),
        (ir.Field("t", ("name",)),),
        variables=("t",),
    )
    statement = compile_query(query)
    assert statement.text == "SELECT c1.name FROM concept c1 WHERE c1.name = ?1 AND c1.type = ?2"
    assert statement.bindings == (ir.Constant(word, "text"), ir.Constant(3, "number"))


def test_commands_about_other_types_and_predicates_share_a_statement() -> None:
    other = ROWS.replace('"Town"', '"River"').replace('"feeds"', '"says"')
    assert compile_query(bound(ROWS).query).text == compile_query(bound(other).query).text


def test_solutions_are_compared_only_where_joins_can_repeat_them() -> None:
    assert "DISTINCT" not in compile_query(rewritten(ROWS)).text
    choice = ROWS.replace('"feeds"', '"feeds" | "says"')
    assert "SELECT DISTINCT" in compile_query(rewritten(choice)).text


def test_elements_are_assembled_after_the_cut() -> None:
    text = 'FIND(?t) WHERE { ?t {type: "Town"} } ORDER BY ?t.attributes.size'
    page = compile_query(rewritten(text), limited=True).text
    assert page.index("ConceptNode") < page.index("LIMIT ?2")
    assert re.search(r"ConceptNode.* FROM \(SELECT c1.id AS k0 .*LIMIT \?2 OFFSET \?3\) s", page)


def test_a_page_is_in_a_total_order() -> None:
    statement = compile_query(rewritten(ROWS), limited=True)
    assert set(statement.ties) == {"t", "r"}
    other = compile_query(rewritten(ROWS), limited=True, ties=("t", "r"))
    assert other.ties == ("t", "r")
    assert "ORDER BY" in other.text


def test_sums_go_beyond_64_bits_only_where_asked_to() -> None:
    query = rewritten('FIND(SUM(?t.attributes.size)) WHERE { ?t {type: "Town"} }')
    assert "mycel_sum" not in compile_query(query).text
    assert "mycel_sum" in compile_query(query, exact=True).text


def test_numbers_of_targets_come_once_and_in_order() -> None:
    statement = compile_numbers(rewritten('FIND(?t) WHERE { (?t, "feeds", ?r) }'), limited=True)
    assert statement.text.startswith("SELECT * FROM (SELECT DISTINCT")
    assert statement.text.endswith("ORDER BY 1 LIMIT ?2")


# More tables than SQLite joins.


@pytest.fixture(scope="module")
def ring() -> mycel.Graph:
    db = mycel.open(":memory:", core_capsules=False)
    with db.transaction() as tx:
        tx.define_type("Town")
        tx.define_predicate("feeds")
        tx.define_predicate("near", {"is_symmetric": True})
        towns = [tx.put_concept("Town", f"t{n}", {"n": n}) for n in range(7)]
        for n, town in enumerate(towns):
            tx.add_edge(town, "feeds", towns[(n + 1) % 7])
    db.execute('UPSERT { CONCEPT { {type: "Town", name: "later"} } }')
    return db


def chain(predicate: str, count: int) -> str:
    return " ".join(f'(?t{n}, "{predicate}", ?t{n + 1})' for n in range(count))


@pytest.mark.parametrize("count", [TABLES_JOINED_MAX - 1, TABLES_JOINED_MAX, 64, 100])
@pytest.mark.parametrize("moment", ["", "AS OF :seq "])
def test_a_chain_longer_than_sqlite_joins_is_found(
    ring: mycel.Graph, count: int, moment: str
) -> None:
    command = (
        f"FIND(?t0.name, ?t{count}.attributes.n) {moment}WHERE {{ {chain('feeds', count)}"
        f' ?t0 {{type: "Town", name: "t0"}} FILTER(?t{count}.attributes.n == {count % 7}) }}'
    )
    seq = ring.snapshot().entries - 2
    assert ring.execute(command, seq=seq).value == [["t0"], [count % 7]]


@pytest.mark.parametrize("block", ["OPTIONAL", "NOT"])
def test_a_long_chain_inside_a_block_is_found(ring: mycel.Graph, block: str) -> None:
    start = '?t0 {type: "Town", name: "t0"}'
    command = f"FIND(?t0.name) WHERE {{ {start} {block} {{ {chain('feeds', 70)} }} }}"
    assert ring.execute(command).value == ([] if block == "NOT" else ["t0"])


def test_fifty_optionals_are_joined(ring: mycel.Graph) -> None:
    optionals = " ".join(f'OPTIONAL {{ (?t{n}, "feeds", ?t{n + 1}) }}' for n in range(50))
    command = f'FIND(?t50.name) WHERE {{ ?t0 {{type: "Town", name: "t0"}} {optionals} }}'
    assert ring.execute(command).value == ["t1"]


def test_two_hundred_conditions_are_tested(ring: mycel.Graph) -> None:
    either = " || ".join(f"?t.attributes.n == {n}" for n in range(5, 205))
    both = " && ".join(f"?t.attributes.n != {n}" for n in range(7, 207))
    command = f'FIND(?t.name) WHERE {{ ?t {{type: "Town"}} FILTER(({either}) && {both}) }}'
    assert sorted(ring.execute(command).value) == ["t5", "t6"]


def test_thousands_of_values_each_have_a_place() -> None:
    bindings = Bindings()
    places = [bindings.add(ir.Constant(n % 5_000, "number")) for n in range(10_000)]
    assert places[:5_000] == places[5_000:]
    assert len(bindings.values) == 5_000
