"""Which patterns are found by an index on a property, and by which."""

from __future__ import annotations

from typing import Any

import pytest

from mycel.ir import query as ir
from mycel.plan.catalog import Entries, Spread
from mycel.plan.rewrites import rewrite
from mycel.sql.compiler import compile_numbers, compile_query
from tests.cases import cases
from tests.unit.plan.compiled import Counts, bound, rewritten

TOWNS = 'FIND(?t) WHERE {{ ?t {{type: "Town"}} FILTER({}) }}'


def block_of(query: ir.Query) -> ir.Block:
    (block,) = query.arms
    return block


def probes(query: ir.Query) -> dict[str, ir.Probe]:
    """The probe of each pattern that has one, by its variable."""
    found = {}
    for atom in block_of(query).atoms:
        match atom:
            case ir.ConceptAtom(variable, probe=ir.Probe() as probe) | ir.LinkAtom(
                variable, probe=ir.Probe() as probe
            ):
                found[variable] = probe
            case _:
                pass
    return found


def shown(text: str, **parameters: Any) -> dict[str, tuple[str, list[tuple[str, Any]]]]:
    """The index of each probe, and its bounds."""
    query = rewrite(bound(text, **parameters).query, Counts())
    return {
        name: (
            probe.index.title,
            [
                (each.operator, each.value.value)
                if isinstance(each.value, ir.Constant)
                else (each.operator, f":{each.value.parameter}")
                for each in probe.bounds
            ],
        )
        for name, probe in probes(query).items()
    }


@cases(
    ("condition", "title", "bounds"),
    [
        ('?t.attributes.code == "ULM"', "Town.code", [("==", "ULM")]),
        ('"ULM" == ?t.attributes.code', "Town.code", [("==", "ULM")]),
        ("?t.attributes.size > 5", "Town.size", [(">", 5)]),
        ("5 >= ?t.attributes.size", "Town.size", [("<=", 5)]),
        ("5 < ?t.attributes.size", "Town.size", [(">", 5)]),
        ("?t.attributes.is_port == true", "Town.is_port", [("==", True)]),
        ("IN(?t.attributes.size, [1, 2])", "Town.size", [("in", "[1,2]")]),
        ('IN(?t.attributes.code, ["A"])', "Town.code", [("in", '["A"]')]),
        (
            "?t.attributes.size >= 5 && ?t.attributes.size < 9",
            "Town.size",
            [(">=", 5), ("<", 9)],
        ),
        ("?t.attributes.size < 9 && ?t.attributes.size == 5", "Town.size", [("==", 5)]),
        ("?t.attributes.size < 9 && ?t.attributes.size < 5", "Town.size", [("<", 9)]),
    ],
)
def test_a_condition_on_an_indexed_property_says_where_to_look(
    condition: str, title: str, bounds: list[tuple[str, Any]]
) -> None:
    assert shown(TOWNS.format(condition)) == {"t": (title, bounds)}
    query = rewritten(TOWNS.format(condition))
    assert block_of(query).conditions == block_of(bound(TOWNS.format(condition)).query).conditions


@cases(
    "condition",
    [
        '?t.attributes.code != "ULM"',
        '!(?t.attributes.code == "ULM")',
        '?t.attributes.code == "ULM" || ?t.attributes.size == 5',
        "?t.attributes.code == null",
        "?t.attributes.code == [1]",
        "?t.attributes.code == ?t.attributes.size",
        "?t.attributes.is_port < true",
        'IN(?t.attributes.code, [1, "A"])',
        '?t.attributes.code.part == "ULM"',
        '?t.metadata.code == "ULM"',
        '?t.attributes.mayor == "Ulm"',
        'STARTS_WITH(?t.attributes.code, "U")',
    ],
)
def test_what_leads_to_no_entries_leaves_the_pattern_as_it_is(condition: str) -> None:
    assert shown(TOWNS.format(condition)) == {}


@cases(
    ("given", "bounds"),
    [
        ("ULM", [("==", ":v")]),
        (5, [("==", ":v")]),
        (0.5, [("==", ":v")]),
        (True, [("==", True)]),
        (None, None),
        (["ULM"], None),
    ],
)
def test_a_parameter_probes_if_its_kind_of_value_can_be_an_entry(given: Any, bounds: Any) -> None:
    found = shown(TOWNS.format("?t.attributes.code == :v"), v=given)
    assert found == ({} if bounds is None else {"t": ("Town.code", bounds)})


@pytest.mark.parametrize(
    ("condition", "title"),
    [
        ('?t.attributes.size == 5 && ?t.attributes.code == "ULM"', "Town.code"),
        (
            "?t.attributes.size > 5 && ?t.attributes.size < 7 && ?t.attributes.is_port == true",
            "Town.size",
        ),
        ("?t.attributes.size > 5 && IN(?t.attributes.code, :codes)", "Town.code"),
        ("?t.attributes.is_port == false && ?t.attributes.size == 5", "Town.size"),
    ],
)
def test_the_index_with_the_fewest_entries_to_look_at_is_taken(condition: str, title: str) -> None:
    found = shown(TOWNS.format(condition), codes=["A"])
    assert found["t"][0] == title


@cases(
    "pattern",
    [
        '?t {type: "Town", name: "Ulm"}',
        '?t {id: "C:6"}',
        '?t {type: "River"}',
        '?t {name: "Ulm"}',
        '(?t, "near", ?r)',
    ],
)
def test_a_pattern_that_is_found_otherwise_or_has_no_index_gets_no_probe(pattern: str) -> None:
    text = f'FIND(?t) WHERE {{ {pattern} FILTER(?t.attributes.code == "ULM") }}'
    assert shown(text) == {}


def test_a_link_is_found_by_its_own_property() -> None:
    text = 'FIND(?l) WHERE { ?l (?a, "feeds", ?b) FILTER(?l.attributes.since == 1900) }'
    assert shown(text) == {"l": ("feeds.since", [("==", 1900)])}
    choice = text.replace('"feeds"', '"feeds" | "says"')
    assert shown(choice) == {}
    assert shown(text.replace('"feeds"', "?p")) == {}


def test_conditions_of_an_inner_block_are_not_probes_of_the_outer_one() -> None:
    negated = (
        'FIND(?t) WHERE { ?t {type: "Town"}'
        ' NOT { ?t {type: "Town"} FILTER(?t.attributes.code == "ULM") } }'
    )
    query = rewritten(negated)
    assert probes(query) == {}
    (condition,) = block_of(query).conditions
    assert isinstance(condition, ir.Not)
    assert isinstance(condition.condition, ir.Exists)
    (inner,) = condition.condition.arms
    # The town is known by then, so it is not looked up in the index either.
    assert inner.atoms == (ir.ConceptAtom("t", 3),)


def test_an_optional_of_its_own_is_found_by_its_index() -> None:
    text = (
        'FIND(?r, ?t) WHERE { ?r {type: "River"}'
        ' OPTIONAL { ?t {type: "Town"} FILTER(?t.attributes.code == "ULM") } }'
    )
    (optional,) = block_of(rewritten(text)).optionals
    (inner,) = optional.arms
    (atom,) = inner.atoms
    assert isinstance(atom, ir.ConceptAtom)
    assert atom.probe is not None
    assert "c2.id IN (SELECT q.element FROM property q WHERE q.slot = 1 AND q.value = ?2)" in (
        compile_query(rewritten(text)).text
    )


# The order of joins.

JOINED = 'FIND(?t, ?r) WHERE { ?t {type: "Town"} (?t, "near", ?r) ?r {type: "River"} FILTER(%s) }'


def variables(query: ir.Query) -> list[str]:
    return [
        atom.variable if isinstance(atom, ir.ConceptAtom) else "link"
        for atom in block_of(query).atoms
    ]


def test_joins_begin_at_what_a_unique_index_finds() -> None:
    assert variables(rewritten(JOINED % "?t.attributes.mayor == 1"))[0] == "r"
    query = rewritten(JOINED % '?t.attributes.code == "ULM"')
    assert variables(query)[:2] == ["t", "link"]
    assert probes(query)["t"].index.property == "code"


def test_an_index_that_finds_too_much_is_not_looked_at() -> None:
    """Half of all towns are ports: it takes less to begin at the rivers."""
    query = rewritten(JOINED % "?t.attributes.is_port == true")
    assert variables(query)[0] == "r"
    assert probes(query) == {}


LINKED = (
    'FIND(?l) WHERE { ?a {type: "River", name: "Po"} ?l (?a, "feeds", ?b)'
    " FILTER(?l.attributes.since == 1900) }"
)


@pytest.mark.parametrize(("degree", "probed"), [(3.0, False), (300.0, True)])
def test_a_link_is_looked_up_in_the_index_where_its_end_has_more_neighbours(
    degree: float, probed: bool
) -> None:
    class Degrees(Counts):
        def links(self, predicate: int | None) -> Spread:
            return Spread(300.0, 300.0 / degree, 300.0 / degree)

    query = rewrite(bound(LINKED).query, Degrees())
    assert bool(probes(query)) is probed


def test_indexes_are_not_counted_where_there_is_nothing_to_choose() -> None:
    class Uncounted(Counts):
        def entries(self, slot: int) -> Entries:
            raise AssertionError(slot)

    query = rewrite(bound(TOWNS.format('?t.attributes.code == "ULM"')).query, Uncounted())
    assert "t" in probes(query)
    rewrite(bound(JOINED % "?t.attributes.mayor == 1").query, Uncounted())


# The statement.


def test_entries_are_joined_before_the_row_they_lead_to() -> None:
    text = 'FIND(?t.name) WHERE { ?t {type: "Town"} FILTER(?t.attributes.code == :c) }'
    statement = compile_query(rewrite(bound(text, c="ULM").query, Counts()))
    assert statement.text == (
        "SELECT c2.name FROM property q1 CROSS JOIN concept c2 WHERE q1.slot = 1 AND q1.value = ?1"
        " AND c2.id = q1.element AND +c2.type = ?2"
        " AND (json_extract(c2.attributes, '$.code') = ?1"
        " AND json_type(c2.attributes, '$.code') = 'text')"
    )
    assert statement.bindings == (ir.Parameter("c", "text"), ir.Constant(3, "number"))


def test_booleans_are_numbers_in_an_index() -> None:
    for word, number in (("true", 1), ("false", 0)):
        text = compile_query(rewritten(TOWNS.format(f"?t.attributes.is_port == {word}"))).text
        assert f"q1.slot = 3 AND q1.value = {number} AND" in text


def test_both_ends_of_a_range_bound_the_entries() -> None:
    condition = "?t.attributes.size >= 5 && ?t.attributes.size < 9"
    text = compile_query(rewritten(TOWNS.format(condition))).text
    assert "q1.slot = 2 AND q1.value >= ?1 AND q1.value < ?2 AND" in text


def test_a_list_is_looked_up_value_by_value() -> None:
    text = compile_query(rewritten(TOWNS.format("IN(?t.attributes.size, [1, 2])"))).text
    assert "q1.slot = 2 AND q1.value IN (SELECT e.value FROM json_each(?1) e)" in text


def test_an_index_never_makes_rows_to_be_compared() -> None:
    """An element has one entry at most, so joining it repeats no solution."""
    for condition in ("?t.attributes.size > 5", "IN(?t.attributes.size, [1, 2])"):
        assert "DISTINCT" not in compile_query(rewritten(TOWNS.format(condition))).text


def test_a_link_is_found_through_its_entry() -> None:
    text = 'FIND(?b.name) WHERE { ?l (?a, "feeds", ?b) FILTER(?l.attributes.since == 1900) }'
    statement = compile_query(rewritten(text)).text
    assert " FROM property q1 CROSS JOIN proposition p2 " in statement
    assert "q1.slot = 4 AND q1.value = ?1 AND p2.id = q1.element AND" in statement


def test_the_past_has_no_index() -> None:
    query = rewritten(TOWNS.format('?t.attributes.code == "ULM"'))
    assert "property" in compile_query(query).text
    assert "property" not in compile_query(query, past=True).text


def test_targets_of_a_change_are_found_by_the_index() -> None:
    query = rewritten(TOWNS.format('?t.attributes.code == "ULM"'))
    assert "FROM property q1 CROSS JOIN concept" in compile_numbers(query).text


def test_a_variable_that_is_known_is_not_looked_up_even_if_nothing_settled_it() -> None:
    text = 'FIND(?t) WHERE { (?r, "near", ?t) ?t {type: "Town"} FILTER(?t.attributes.code == "U") }'
    statement = compile_query(rewritten(text, off=["order_joins"])).text
    assert "property" not in statement
