"""Rewrites change how an answer is found, never the answer."""

from __future__ import annotations

import random
from dataclasses import replace
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import mycel
from mycel.engine.values import Values
from mycel.ir import query as ir
from mycel.ir.facts import atom_variables
from mycel.kip import ast, parse
from mycel.plan.bind import bind_find
from mycel.plan.catalog import Spread
from mycel.plan.rewrites import PASSES, rewrite
from mycel.plan.rewrites.order_joins import EXACT_MAX
from mycel.store.query.vocabulary import Vocabulary
from tests.cases import cases
from tests.golden.plan.harbour import harbour as filled_harbour
from tests.properties.kip_commands import (
    CORE,
    KEYS,
    PREDICATES,
    TYPES,
    VOCABULARY,
    Command,
    finds,
    graphs,
)
from tests.unit.engine.indexes import define_indexes
from tests.unit.plan.compiled import Counts, bound, rewritten, rows

NAMES = [each.__name__ for each in PASSES]
GOLDEN = Path(__file__).parents[2] / "golden" / "plan"
SETS: list[list[str]] = [*([name] for name in NAMES), NAMES]
FINDS = [
    case
    for case in sorted((GOLDEN / "cases").glob("*.kip"))
    if case.read_text(encoding="utf-8").startswith("FIND") and case.stem != "many_tables"
]
GIVEN: dict[str, Any] = {
    "type": "Port",
    "name": "Hull",
    "berths": 5,
    "countries": ["GB", "IE"],
    "id": "C:2",
    "code": "B7",
}


@pytest.fixture(scope="module")
def harbour() -> mycel.Graph:
    return filled_harbour()


def parameters_of(case: Path) -> dict[str, Any]:
    return {**GIVEN, "id": "P:1:lies_beyond"} if case.stem == "link_by_id" else GIVEN


@cases("off", SETS)
@cases("case", FINDS)
def test_an_answer_is_the_same_without_a_rewrite(
    harbour: mycel.Graph, case: Path, off: list[str]
) -> None:
    find = parse(case.read_text(encoding="utf-8"))
    assert isinstance(find, ast.Find)
    given_ = parameters_of(case)
    with harbour._store.reading() as reader:
        assert rows(reader, find, given_, off=off) == rows(reader, find, given_)


@cases("case", FINDS)
def test_the_newest_moment_asked_as_a_past_one_answers_as_the_present(
    harbour: mycel.Graph, case: Path
) -> None:
    find = parse(case.read_text(encoding="utf-8"))
    assert isinstance(find, ast.Find)
    given_ = parameters_of(case)
    with harbour._store.reading() as reader:
        assert rows(reader, find, given_, past=True) == rows(reader, find, given_)


@given(graph=graphs(), command=finds())
def test_no_rewrite_changes_what_any_command_finds(graph: Command, command: Command) -> None:
    assert isinstance(command.tree, ast.Find)
    find = replace(command.tree, limit=None, cursor=None, as_of=None)
    with mycel.open(":memory:", core_capsules=False) as db:
        db.execute(VOCABULARY)
        for type_name in TYPES:
            define_indexes(db, type_name, **dict.fromkeys(KEYS, False))
        db.execute(CORE)
        db.execute(graph.text, graph.parameters)
        for predicate in PREDICATES:  # Filled from what is there; those of types grew with it.
            define_indexes(db, predicate, **dict.fromkeys(KEYS, False))
        with db._store.reading() as reader:
            expected = rows(reader, find, command.parameters)
            for off in SETS:
                assert rows(reader, find, command.parameters, off=off) == expected, off
            assert rows(reader, find, command.parameters, past=True) == expected


def test_a_rewrite_that_is_off_does_nothing() -> None:
    text = 'FIND(?t) WHERE { ?t {type: "Town"} FILTER(?t.name == "Ulm") }'
    assert rewritten(text, off=NAMES) == bound(text).query
    assert rewritten(text) != bound(text).query


@cases("case", FINDS)
def test_rewriting_twice_changes_nothing_more(harbour: mycel.Graph, case: Path) -> None:
    find = parse(case.read_text(encoding="utf-8"))
    assert isinstance(find, ast.Find)
    with harbour._store.reading() as reader:
        words = Vocabulary(reader)
        once = rewrite(bind_find(find, words, Values(parameters_of(case))).query, Counts())
    assert rewrite(once, Counts()) == once


# Each of them.


def block_of(query: ir.Query) -> ir.Block:
    (block,) = query.arms
    return block


@pytest.mark.parametrize(
    "condition", ['?t.name == "Ulm"', '"Ulm" == ?t.name', '?t.name == "Ulm" && ?t.name == "Ulm"']
)
def test_equality_with_a_name_becomes_part_of_the_pattern(condition: str) -> None:
    block = block_of(rewritten(f'FIND(?t) WHERE {{ ?t {{type: "Town"}} FILTER({condition}) }}'))
    assert block.atoms == (ir.ConceptAtom("t", 3, ir.Constant("Ulm", "text")),)


def test_a_second_name_stays_a_condition() -> None:
    block = block_of(
        rewritten('FIND(?t) WHERE { ?t {type: "Town", name: "Bonn"} FILTER(?t.name == "Ulm") }')
    )
    assert block.atoms == (ir.ConceptAtom("t", 3, ir.Constant("Bonn", "text"), is_addressed=True),)
    assert len(block.conditions) == 1


@cases(
    "condition",
    [
        '?t.name != "Ulm"',
        '?t.name == "Ulm" || ?t.name == "Bonn"',
        '!(?t.name == "Ulm")',
        "?t.name == 5",
        '?t.type == "Ulm"',
    ],
)
def test_what_only_resembles_a_name_stays_a_condition(condition: str) -> None:
    block = block_of(rewritten(f'FIND(?t) WHERE {{ ?t {{type: "Town"}} FILTER({condition}) }}'))
    assert block.atoms == (ir.ConceptAtom("t", 3),)
    assert len(block.conditions) == 1


def test_a_name_outside_an_optional_is_not_moved_into_it() -> None:
    block = block_of(
        rewritten(
            'FIND(?t) WHERE { ?r {type: "River"} OPTIONAL { (?r, "feeds", ?t) ?t {type: "Town"} }'
            ' FILTER(?t.name == "Ulm") }'
        )
    )
    assert len(block.conditions) == 1


def test_an_optional_that_binds_nothing_is_left_out() -> None:
    block = block_of(
        rewritten('FIND(?t) WHERE { ?t {type: "Town"} OPTIONAL { ?t {name: "Ulm"} } }')
    )
    assert block.optionals == ()


def test_an_optional_that_binds_something_stays() -> None:
    block = block_of(
        rewritten('FIND(?t) WHERE { ?t {type: "Town"} OPTIONAL { (?t, "near", ?other) } }')
    )
    assert len(block.optionals) == 1


def test_an_end_without_a_name_is_tested_and_not_joined() -> None:
    block = block_of(
        rewritten('FIND(?t) WHERE { ?t {type: "Town"} (?t, "feeds", {type: "River"}) }')
    )
    assert block.atoms == (ir.ConceptAtom("t", 3),)
    assert any(isinstance(condition, ir.Exists) for condition in block.conditions)


def test_an_end_that_joins_two_variables_is_joined() -> None:
    """As a test it would make a cross product of the two."""
    block = block_of(
        rewritten(
            'FIND(?t, ?r) WHERE { ?t {type: "Town"} ?r {type: "River"}'
            ' ((?t, "feeds", ?r), "says", {type: "Town"}) }'
        )
    )
    assert not any(isinstance(condition, ir.Exists) for condition in block.conditions)


def test_joins_begin_where_fewest_rows_are() -> None:
    block = block_of(
        rewritten(
            'FIND(?t) WHERE { ?t {type: "Town"} (?t, "near", ?r) ?r {type: "River", name: "Po"} }'
        )
    )
    assert block.atoms[0] == ir.ConceptAtom("r", 4, ir.Constant("Po", "text"), is_addressed=True)
    assert isinstance(block.atoms[1], ir.LinkAtom)


@pytest.mark.parametrize("count", [EXACT_MAX - 2, EXACT_MAX, EXACT_MAX + 1, 40])
def test_a_chain_of_joins_never_becomes_a_cross_product(count: int) -> None:
    chain = " ".join(f'(?t{n}, "near", ?t{n + 1})' for n in reversed(range(count)))
    block = block_of(rewritten(f'FIND(?t0) WHERE {{ {chain} ?t0 {{type: "Town", name: "Ulm"}} }}'))
    seen = set(atom_variables(block.atoms[0]))
    for atom in block.atoms[1:]:
        assert seen.intersection(atom_variables(atom))
        seen.update(atom_variables(atom))
    assert len(block.atoms) == count + 1


@cases(
    ("find", "early"),
    [
        ("?t.name, COUNT(?r)", True),
        ("?t.name, AVG(?r.attributes.depth)", True),
        ("?t, COUNT(?r)", False),
        ("?t.name, COUNT(DISTINCT ?r)", False),
        ("?t.name, COUNT(?t)", False),
        ("COUNT(?r)", False),
    ],
)
def test_groups_are_formed_by_element_first_where_that_gathers_rows(find: str, early: bool) -> None:
    query = rewritten(f'FIND({find}) WHERE {{ (?r, "near", ?t) }}')
    assert query.gathers_early is early


def test_groups_are_cut_before_names_are_read_where_counts_are_complete() -> None:
    link, typed = '(?r, "near", ?t)', '(?r, "near", ?t) ?t {type: "Town"}'
    asked = [
        ("?t.name, COUNT(?r)", link, "COUNT(?r) DESC", None),  # A link has no name.
        ("?t.name, COUNT(?r)", typed, "COUNT(?r) DESC", "elements"),
        ("?t.name, COUNT(?r)", typed, "COUNT(?r), ?t.name", "elements"),
        ("?t.type, ?t.name, COUNT(?r)", typed, "COUNT(?r)", "elements"),
        ("?t.id, COUNT(?r)", link, "COUNT(?r)", "elements"),
        ("?t.type, COUNT(?r)", link, "COUNT(?r)", None),
        ("?t.attributes.size, COUNT(?r)", typed, "COUNT(?r)", None),
        ("?t.name, COUNT(?r)", link, "?t.name", None),
        ("?t.name, SUM(?r.attributes.depth)", link, "SUM(?r.attributes.depth)", None),
        ("?t.name, COUNT(DISTINCT ?r)", link, "COUNT(DISTINCT ?r)", None),
        ("?t.name, ?r.name, COUNT(?u)", f'{link} (?u, "near", ?r)', "COUNT(?u)", None),
        ("?t, COUNT(?r)", link, "COUNT(?r)", None),
    ]
    for shown, where, order, cut in asked:
        query = rewritten(f"FIND({shown}) WHERE {{ {where} }} ORDER BY {order} LIMIT 10")
        assert (shown, where, query.cut) == (shown, where, cut)


def test_hundreds_of_joins_are_ordered_with_few_looks_at_each() -> None:
    """Counted, not timed: to look at all of them again for each place would be far more."""
    looks = 0

    class Looked(Counts):
        def links(self, predicate: int | None) -> Spread:
            nonlocal looks
            looks += 1
            return super().links(predicate)

    count = 490
    chain = " ".join(f'(?t{n}, "feeds", ?t{n + 1})' for n in range(count))
    rewrite(bound(f"FIND(?t0) WHERE {{ {chain} }}").query, Looked())
    assert looks < 5 * count


def test_a_filter_between_two_patterns_brings_them_together() -> None:
    """Beyond the number for which every order is tried, filters still count."""
    rivers = " ".join(f'?r{n} {{type: "River"}}' for n in range(EXACT_MAX + 2))
    block = block_of(
        rewritten(f"FIND(?r0) WHERE {{ {rivers} FILTER(?r3.name == ?r7.attributes.mouth) }}")
    )
    order = [atom.variable for atom in block.atoms if isinstance(atom, ir.ConceptAtom)]
    assert abs(order.index("r3") - order.index("r7")) == 1


def circle(length: int, predicate: str = "feeds") -> str:
    """Patterns that lead through as many elements and back to the first."""
    return " ".join(
        f'(?x{at}, "{predicate}", ?x{(at + 1) % length})' for at in reversed(range(length))
    )


@cases("length", [2, 3])
@cases("counted", ["?x0", "?x1", "?l"])
def test_of_circles_that_are_only_counted_one_turn_is_found(length: int, counted: str) -> None:
    text = f"FIND(COUNT({counted})) WHERE {{ {circle(length).replace('(?x1,', '?l (?x1,')} }}"
    query = rewritten(text)
    (total,) = query.outputs
    assert isinstance(total, ir.Aggregate)
    assert total.times == length
    block = block_of(query)
    first = block.atoms[0]
    assert isinstance(first, ir.LinkAtom)
    others = {f"x{at}" for at in range(length)} - {first.object}
    assert set(block.conditions) == {ir.Earlier(other, first.object) for other in others}


@cases(
    "text",
    [
        f"FIND(COUNT(?x0)) WHERE {{ {circle(1)} }}",
        f"FIND(COUNT(?x0)) WHERE {{ {circle(4)} }}",
        f"FIND(COUNT(?x0)) WHERE {{ {circle(5)} }}",
        f"FIND(COUNT(DISTINCT ?x0)) WHERE {{ {circle(3)} }}",
        f"FIND(COUNT(?x0.name)) WHERE {{ {circle(3)} }}",
        f"FIND(?x0) WHERE {{ {circle(3)} }}",
        f"FIND(?x0, COUNT(?x1)) WHERE {{ {circle(3)} }}",
        f"FIND(COUNT(?x0), COUNT(?x1)) WHERE {{ {circle(3)} }}",
        f"FIND(COUNT(?x0)) WHERE {{ {circle(3, 'near')} }}",
        f'FIND(COUNT(?x0)) WHERE {{ {circle(3)} ?x0 {{type: "Town"}} }}',
        f'FIND(COUNT(?x0)) WHERE {{ {circle(3)} FILTER(?x0.name != "Ulm") }}',
        f'FIND(COUNT(?x0)) WHERE {{ {circle(3)} OPTIONAL {{ (?x0, "says", ?y) }} }}',
        f"FIND(COUNT(?x0)) WHERE {{ {circle(2)} UNION {{ {circle(2, 'says')} }} }}",
        f"FIND(COUNT(?x0)) WHERE {{ {circle(2)} {circle(3).replace('?x', '?y')} }}",
        'FIND(COUNT(?a)) WHERE { (?a, "feeds", ?b) (?b, "feeds", ?c) (?a, "feeds", ?c) }',
        'FIND(COUNT(?a)) WHERE { (?a, "feeds", ?b) (?b, "feeds", ?c) (?d, "feeds", ?e) }',
        'FIND(COUNT(?a)) WHERE { (?a, "feeds", ?b) (?b, "feeds", ?c) (?c, "says", ?a) }',
        "FIND(COUNT(?a)) WHERE { (?a, ?p, ?b) (?b, ?p, ?c) (?c, ?p, ?a) }",
        'FIND(COUNT(?a)) WHERE { ?b (?a, "feeds", ?b) (?b, "feeds", ?a) }',
    ],
)
def test_other_patterns_are_counted_as_they_are(text: str) -> None:
    query = rewritten(text)
    assert all(not isinstance(each, ir.Aggregate) or each.times == 1 for each in query.outputs)


@cases("seed", range(6))
def test_a_circle_counts_for_as_many_solutions_as_it_has_members(seed: int) -> None:
    chance = random.Random(seed)
    with mycel.open(":memory:", core_capsules=False) as db:
        with db.transaction() as tx:
            tx.define_type("Thing")
            tx.define_predicate("feeds")
            tx.define_predicate("says")
            things = [tx.put_concept("Thing", f"thing {at}") for at in range(6)]
            for _ in range(40):  # Links can be members of a circle too.
                one, other = chance.sample(things[:12], 2)
                made = tx.put_proposition(one, chance.choice(("feeds", "says")), other)
                things += [made] if made not in things else []
        found = []
        with db._store.reading() as reader:
            for length, predicate in product(range(2, 6), ("feeds", 'feeds" | "says')):
                find = parse(f"FIND(COUNT(?x0)) WHERE {{ {circle(length, predicate)} }}")
                assert isinstance(find, ast.Find)
                expected = rows(reader, find, {}, off=["count_once"])
                assert rows(reader, find, {}) == rows(reader, find, {}, past=True) == expected
                found.append(expected != {(0,): 1})
        assert sum(found) > 2


def test_groups_are_gathered_early_only_for_aggregates_that_can_be_merged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = 'FIND(?t.name, MAX(?s.name)) WHERE { (?s, "feeds", ?t) }'
    assert rewritten(text).gathers_early
    # As a median would be.
    module = import_module("mycel.plan.rewrites.gather_early")
    monkeypatch.setattr(module, "is_mergeable", lambda name: name != "MAX")
    assert not rewritten(text).gathers_early
