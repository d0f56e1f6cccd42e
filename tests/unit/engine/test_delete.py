"""DELETE: keys, links, concepts; what goes with them; and targets that do not exist."""

from __future__ import annotations

import pytest

from mycel.errors import ConstraintViolation, ImmutableTarget, NotFound, TypeMismatch
from tests.unit.engine.commands import Graph


@pytest.fixture
def graph() -> Graph:
    """Bern, Thun and the Aare, links between them, and links about links."""
    graph = Graph()
    graph.run("""UPSERT {
        CONCEPT ?bern { {type: "City", name: "Bern"} SET ATTRIBUTES { a: 1, b: 2 } }
        CONCEPT ?thun { {type: "City", name: "Thun"} SET ATTRIBUTES { b: 3 } }
        CONCEPT ?aare { {type: "River", name: "Aare"} SET ATTRIBUTES { c: 4 }
          SET PROPOSITIONS { ("flows_through", ?bern) ("flows_through", ?thun) } }
        PROPOSITION ?near { (?bern, "near", ?thun) SET ATTRIBUTES { b: 1 } }
        PROPOSITION ?said { (?aare, "says", ?near) }
        PROPOSITION { (?bern, "says", ?said) }
    } WITH METADATA { source: "atlas", level: 2 }""")
    return graph


def test_attributes_are_deleted_where_they_are(graph: Graph) -> None:
    command = 'DELETE ATTRIBUTES {"b", "unknown"} FROM ?x WHERE { ?x {type: "City"} }'
    assert graph.run(command) == {"updated_concepts": 2, "updated_propositions": 0}
    assert graph.concept("Bern").attributes == {"a": 1}
    assert graph.concept("Bern").version == 2
    before = graph.entries
    assert graph.run(command) == {"updated_concepts": 0, "updated_propositions": 0}
    assert graph.entries == before


def test_elements_of_both_kinds_are_counted_apart(graph: Graph) -> None:
    result = graph.run("""DELETE METADATA {"level"} FROM ?x WHERE {
        ?x {type: "City"} UNION { ?x (?s, "near", ?o) } }""")
    assert result == {"updated_concepts": 2, "updated_propositions": 1}
    assert graph.concept("Thun").metadata == {"source": "atlas"}


def test_keys_may_be_parameters(graph: Graph) -> None:
    graph.run('DELETE ATTRIBUTES {:key} FROM ?x WHERE { ?x {name: "Aare"} }', key="c")
    assert graph.concept("Aare", "River").attributes == {}


def test_keys_of_the_engine_stay_even_when_nothing_matches(graph: Graph) -> None:
    command = 'DELETE METADATA {"_version"} FROM ?x WHERE { ?x {name: "nobody"} }'
    assert "reserved" in graph.refuses(ConstraintViolation, command).message


def test_links_go_with_the_links_about_them(graph: Graph) -> None:
    result = graph.run('DELETE PROPOSITIONS ?l WHERE { ?l (?s, "near", ?o) }')
    assert result == {"deleted_propositions": 3}
    assert graph.links() == {"Aare flows_through Bern", "Aare flows_through Thun"}


def test_a_link_that_goes_with_another_target_is_counted_once(graph: Graph) -> None:
    result = graph.run("""DELETE PROPOSITIONS ?l WHERE {
        ?l (?s, "near", ?o) UNION { ?l (?s, "says", ?o) } }""")
    assert result == {"deleted_propositions": 3}


def test_a_concept_goes_with_everything_that_hangs_on_it(graph: Graph) -> None:
    result = graph.run('DELETE CONCEPT ?c DETACH WHERE { ?c {type: "City", name: "Thun"} }')
    assert result == {"deleted_concepts": 1, "deleted_propositions": 4}
    assert graph.links() == {"Aare flows_through Bern"}


def test_a_target_of_the_other_kind_is_refused(graph: Graph) -> None:
    error = graph.refuses(
        ConstraintViolation,
        'DELETE PROPOSITIONS ?x WHERE { ?x (?s, "near", ?o) UNION { ?x {type: "City"} } }',
    )
    assert "DELETE CONCEPT" in error.hint
    error = graph.refuses(
        ConstraintViolation, 'DELETE CONCEPT ?x DETACH WHERE { ?x (?s, "near", ?o) }'
    )
    assert "DELETE PROPOSITIONS" in error.hint


@pytest.mark.parametrize(
    "where",
    [
        '?x {type: "City", name: "Basel"}',
        "?x {id: :concept}",
        '?x {type: "City", name: "Basel"} (?x, "near", ?y)',
    ],
)
def test_a_concept_that_is_named_outright_has_to_exist(graph: Graph, where: str) -> None:
    for command in (
        "DELETE CONCEPT ?x DETACH",
        'DELETE ATTRIBUTES {"a"} FROM ?x',
        'DELETE METADATA {"a"} FROM ?x',
    ):
        graph.refuses(NotFound, f"{command} WHERE {{ {where} }}", concept="C:99998")


def test_a_link_that_is_named_outright_has_to_exist(graph: Graph) -> None:
    command = "DELETE PROPOSITIONS ?x WHERE { ?x (id: :id) }"
    assert "P:99999:near" in graph.refuses(NotFound, command, id="P:99999:near").message


@pytest.mark.parametrize(
    "where",
    [
        '?x {type: "City"} FILTER(?x.name == "Basel")',
        '?x {name: "Basel"}',
        '?x {type: "City", name: "Bern"} FILTER(?x.attributes.a > 100)',
        '?y {type: "City", name: "Basel"} (?x, "near", ?y)',
        '?r {type: "River"} OPTIONAL { (?x, "near", ?r) }',
    ],
)
def test_a_pattern_that_matches_nothing_deletes_nothing(graph: Graph, where: str) -> None:
    before = graph.entries
    result = graph.run(f"DELETE CONCEPT ?x DETACH WHERE {{ {where} }}")
    assert result == {"deleted_concepts": 0, "deleted_propositions": 0}
    assert graph.entries == before


def test_a_type_that_is_not_defined_is_an_error(graph: Graph) -> None:
    graph.refuses(TypeMismatch, 'DELETE CONCEPT ?x DETACH WHERE { ?x {type: "Cty"} }')


def test_a_definition_in_use_stays_and_goes_together_with_its_uses(graph: Graph) -> None:
    definition = '?x {type: "$ConceptType", name: "City"}'
    error = graph.refuses(ConstraintViolation, f"DELETE CONCEPT ?x DETACH WHERE {{ {definition} }}")
    assert "'City' is still in use by 2 concepts: " in error.message
    assert error.data["count"] == len(error.data["users"]) == 2
    users = 'FIND(?x) WHERE { ?x {type: "City"} }'
    assert error.hint.startswith(f"{users} shows them all.")
    assert 'DELETE CONCEPT ?x DETACH WHERE { ?x {type: "City"} }' in error.hint
    result = graph.run(
        f'DELETE CONCEPT ?x DETACH WHERE {{ {definition} UNION {{ ?x {{type: "City"}} }} }}'
    )
    assert result == {"deleted_concepts": 3, "deleted_propositions": 5}


def test_the_foundation_stays(graph: Graph) -> None:
    graph.refuses(
        ImmutableTarget,
        'DELETE CONCEPT ?x DETACH WHERE { ?x {type: "$ConceptType", name: "$PropositionType"} }',
    )
