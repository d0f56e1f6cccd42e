"""The reference evaluator, on cases small enough to see the answer without it."""

from __future__ import annotations

from typing import Any

import pytest

from mycel import errors
from mycel.kip import ast, parse
from tests.reference import ReferenceNexus
from tests.reference.patterns import join

HARBOUR = """
UPSERT {
  CONCEPT { {type: "$ConceptType", name: "Ship"} SET ATTRIBUTES { description: "It sails." } }
  CONCEPT {
    {type: "$ConceptType", name: "Port"}
    SET ATTRIBUTES {
      description: "Ships call there.",
      instance_schema: { depth: {type: "number"}, country: {type: "string", is_required: true} },
    }
  }
  CONCEPT {
    {type: "$PropositionType", name: "calls_at"}
    SET ATTRIBUTES { description: "a", subject_types: ["Ship"], object_types: ["Port"] }
  }
  CONCEPT {
    {type: "$PropositionType", name: "escorts"}
    SET ATTRIBUTES { description: "b", subject_types: ["*"], object_types: ["*"] }
  }
  CONCEPT {
    {type: "$PropositionType", name: "sister_of"}
    SET ATTRIBUTES {
      description: "c", subject_types: ["*"], object_types: ["*"], is_symmetric: true
    }
  }
}
UPSERT {
  CONCEPT ?oslo { {type: "Port", name: "Oslo"} SET ATTRIBUTES { country: "Norway", depth: 11 } }
  CONCEPT ?riga { {type: "Port", name: "Riga"} SET ATTRIBUTES { country: "Latvia" } }
  CONCEPT ?maja { {type: "Ship", name: "Maja"} SET ATTRIBUTES { tons: 300, flag: "NO" } }
  CONCEPT ?nora { {type: "Ship", name: "Nora"} SET ATTRIBUTES { tons: 120.5 } }
  CONCEPT ?olga { {type: "Ship", name: "Olga"} SET ATTRIBUTES { tons: "300", flag: null } }
  PROPOSITION ?call { (?maja, "calls_at", ?oslo) SET ATTRIBUTES { weekly: true } }
  PROPOSITION { (?maja, "calls_at", ?riga) }
  PROPOSITION { (?nora, "calls_at", ?riga) }
  PROPOSITION { (?maja, "escorts", ?nora) }
  PROPOSITION { (?nora, "escorts", ?olga) }
  PROPOSITION { (?olga, "escorts", ?maja) }
  PROPOSITION { (?olga, "sister_of", ?maja) }
  PROPOSITION { (?olga, "escorts", ?call) }
}
"""


@pytest.fixture
def nexus() -> ReferenceNexus:
    made = ReferenceNexus()
    made.execute(HARBOUR)
    return made


def rows(result: list[list[Any]]) -> list[tuple[Any, ...]]:
    """The rows of a result with several columns, sorted; null comes last."""
    return sorted(zip(*result, strict=True), key=lambda row: [(v is None, str(v)) for v in row])


# Reading.


def test_patterns_that_share_a_variable_are_joined(nexus: ReferenceNexus) -> None:
    found = nexus.execute(
        'FIND(?a.name, ?b.name) WHERE { (?a, "calls_at", ?p) (?b, "calls_at", ?p)'
        " FILTER(?a.name < ?b.name) }"
    )
    assert rows(found) == [("Maja", "Nora")]


def test_a_row_keeps_its_place_when_an_optional_finds_nothing(nexus: ReferenceNexus) -> None:
    found = nexus.execute(
        'FIND(?s.name, ?p.name) WHERE { ?s {type: "Ship"} OPTIONAL { (?s, "calls_at", ?p) } }'
    )
    assert rows(found) == [("Maja", "Oslo"), ("Maja", "Riga"), ("Nora", "Riga"), ("Olga", None)]


def test_a_null_variable_joins_nothing(nexus: ReferenceNexus) -> None:
    found = nexus.execute(
        'FIND(?s.name, ?x.name) WHERE { ?s {type: "Ship", name: "Olga"}'
        ' OPTIONAL { (?s, "calls_at", ?p) } OPTIONAL { (?x, "calls_at", ?p) } }'
    )
    assert rows(found) == [("Olga", None)]
    assert join({"p": None}, {"p": None}) is None


def test_not_drops_rows_and_a_union_sees_nothing_outside(nexus: ReferenceNexus) -> None:
    found = nexus.execute(
        'FIND(?s.name) WHERE { ?s {type: "Ship"} NOT { (?s, "calls_at", ?p) }'
        ' UNION { ?s {type: "Port", name: "Oslo"} } }'
    )
    assert sorted(found) == ["Olga", "Oslo"]


def test_a_symmetric_link_is_found_from_both_ends_and_stored_once(nexus: ReferenceNexus) -> None:
    command = 'FIND(?l.subject) WHERE { ?l ({name: "Maja"}, "sister_of", {name: "Olga"}) }'
    (olga,) = nexus.execute('FIND(?s.id) WHERE { ?s {type: "Ship", name: "Olga"} }')
    assert nexus.execute(command) == [olga]
    both = nexus.execute('FIND(?a.name, ?b.name) WHERE { (?a, "sister_of", ?b) }')
    assert rows(both) == [("Maja", "Olga"), ("Olga", "Maja")]


@pytest.mark.parametrize(
    ("hops", "reached"),
    [
        ("{1}", ["Nora"]),
        ("{2}", ["Olga"]),
        ("{2,3}", ["Maja", "Olga"]),
        ("{0,1}", ["Maja", "Nora"]),
        ("{4,5}", ["Nora", "Olga"]),
    ],
)
def test_hops_count_walks_round_a_cycle(
    nexus: ReferenceNexus, hops: str, reached: list[str]
) -> None:
    command = (
        f'FIND(?o.name) WHERE {{ ({{name: "Maja"}}, "escorts"{hops}, ?o) ?o {{type: "Ship"}} }}'
    )
    assert sorted(nexus.execute(command)) == reached


def test_walks_without_an_upper_bound_end(nexus: ReferenceNexus) -> None:
    found = nexus.execute('FIND(COUNT(?o)) WHERE { ({name: "Maja"}, "escorts"{5,}, ?o) }')
    assert found == 4  # All three ships, and the link that one of them escorts.


def test_the_link_of_a_walk_is_its_last_and_of_no_walk_null(nexus: ReferenceNexus) -> None:
    found = nexus.execute(
        'FIND(?o.name, ?l.predicate, ?from.name) WHERE { ?l ({name: "Maja"}, "escorts"{0,2}, ?o)'
        ' OPTIONAL { ?from {type: "Ship"} FILTER(?l.subject == ?from.id) } }'
    )
    assert rows(found) == [
        ("Maja", None, None),
        ("Nora", "escorts", "Maja"),
        ("Olga", "escorts", "Nora"),
    ]


def test_a_link_can_be_the_end_of_a_link(nexus: ReferenceNexus) -> None:
    found = nexus.execute(
        'FIND(?who.name, ?port.name) WHERE { (?who, "escorts", (?ship, "calls_at", ?port)) }'
    )
    assert rows(found) == [("Olga", "Oslo")]


def test_values_of_different_kinds_are_never_equal_nor_ordered(nexus: ReferenceNexus) -> None:
    def ships(condition: str) -> list[str]:
        command = f'FIND(?s.name) WHERE {{ ?s {{type: "Ship"}} FILTER({condition}) }}'
        return sorted(nexus.execute(command))

    assert ships("?s.attributes.tons == 300.0") == ["Maja"]
    assert ships("?s.attributes.tons != 300") == ["Nora", "Olga"]
    assert ships("?s.attributes.tons < 1000") == ["Maja", "Nora"]
    assert ships("?s.attributes.flag == null") == ["Nora", "Olga"]
    assert ships("?s.attributes.flag.deeper == null") == ["Maja", "Nora", "Olga"]


def test_aggregates_group_by_the_other_expressions(nexus: ReferenceNexus) -> None:
    found = nexus.execute(
        'FIND(?p.name, COUNT(?s), SUM(?s.attributes.tons)) WHERE { ?p {type: "Port"}'
        ' OPTIONAL { (?s, "calls_at", ?p) } } ORDER BY ?p.name DESC'
    )
    assert found == [["Riga", "Oslo"], [2, 1], [420.5, 300]]


def test_aggregates_of_nothing(nexus: ReferenceNexus) -> None:
    where = 'WHERE { ?s {type: "Ship", name: "Nobody"} }'
    assert nexus.execute(f"FIND(COUNT(?s), SUM(?s.attributes.tons)) {where}") == [0, None]
    assert nexus.execute(f"FIND(?s.name, COUNT(?s)) {where}") == [[], []]


def test_null_comes_last_whichever_way_the_rows_are_sorted(nexus: ReferenceNexus) -> None:
    for direction, expected in (("ASC", [120.5, 300, "300"]), ("DESC", ["300", 300, 120.5])):
        found = nexus.execute(
            'FIND(?x.attributes.tons) WHERE { (?a, "escorts", ?x)'
            f" }} ORDER BY ?x.attributes.tons {direction}"
        )
        assert found == [*expected, None]


def test_pages_show_the_graph_of_the_first_page(nexus: ReferenceNexus) -> None:
    command = 'FIND(?s.name) WHERE { ?s {type: "Ship"} } ORDER BY ?s.name LIMIT 2'
    first = nexus.request({"command": command})
    nexus.execute('DELETE CONCEPT ?s DETACH WHERE { ?s {type: "Ship", name: "Olga"} }')
    request = {"command": f"{command} CURSOR :c", "parameters": {"c": first["next_cursor"]}}
    assert first["result"] == ["Maja", "Nora"]
    assert nexus.request(request) == {"result": ["Olga"]}
    with pytest.raises(errors.InvalidSyntax):
        nexus.execute('FIND(?s) WHERE { ?s {type: "Ship"} } CURSOR "page-1"')


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ('FIND(?s) WHERE { ?s {type: "ship"} }', errors.TypeMismatch),
        ('FIND(?s) WHERE { ?s {type: "Ship"} NOT { (?s, "sinks", ?x) } }', errors.TypeMismatch),
        ('FIND(?x) WHERE { ?s {type: "Ship"} }', errors.UnknownReference),
        (
            'FIND(?s) WHERE { ?s {type: "Ship"} FILTER(?x.id == "a") UNION { ?x {name: "a"} } }',
            errors.UnknownReference,
        ),
        ('FIND(?s.colour) WHERE { ?s {type: "Ship"} }', errors.UnknownReference),
        ('FIND(?s.name.first) WHERE { ?s {type: "Ship"} }', errors.UnknownReference),
        ('FIND(?s) WHERE { ?s {id: "P:1:calls_at"} }', errors.InvalidId),
        ("FIND(?p) WHERE { (?s, ?p, ?p) }", errors.ConstraintViolation),
        ('FIND(SUM(?s)) WHERE { ?s {type: "Ship"} }', errors.ConstraintViolation),
        ("FIND(?s) WHERE { ?s {type: :t} }", errors.UnknownReference),
        ('FIND(?s) WHERE { ?s {type: "Ship"} FILTER(REGEX(?s.name, "(")) }', errors.InvalidSyntax),
        (
            'FIND(?s.name, COUNT(?s)) WHERE { ?s {type: "Ship"} } ORDER BY ?s.attributes.tons',
            errors.UnknownReference,
        ),
    ],
)
def test_a_query_that_makes_no_sense_is_refused(
    nexus: ReferenceNexus, command: str, error: type[errors.MycelError]
) -> None:
    with pytest.raises(error):
        nexus.execute(command)


def test_a_filter_behind_a_union_is_answered_with_a_warning(nexus: ReferenceNexus) -> None:
    answer = nexus.answer(
        'FIND(?s.name) WHERE { ?s {type: "Ship"} UNION { ?s {type: "Port"} }'
        ' FILTER(?s.name == "Maja") }'
    )
    assert sorted(answer["result"]) == ["Maja", "Oslo", "Riga"]
    assert "FILTER" in answer["warnings"][0]


def test_a_tree_is_as_good_as_a_text(nexus: ReferenceNexus) -> None:
    command = "FIND(COUNT(?s)) WHERE { ?s {type: :type} }"
    tree = parse(command)
    assert isinstance(tree, ast.Find)
    assert nexus.execute(tree, {"type": "Ship"}) == nexus.execute(command, {"type": "Ship"}) == 3


# Writing.


def test_the_same_upsert_again_changes_nothing(nexus: ReferenceNexus) -> None:
    before = nexus.state()
    nexus.execute(HARBOUR)
    assert nexus.state() == before
    assert before["Ship", "Maja"]["version"] == 1


def test_inner_metadata_wins_over_outer_metadata_even_with_null(nexus: ReferenceNexus) -> None:
    nexus.execute(
        'UPSERT { CONCEPT { {type: "Ship", name: "Pia"}'
        ' SET PROPOSITIONS { ("escorts", {type: "Ship", name: "Maja"}) WITH METADATA {a: null} } }'
        " WITH METADATA {b: 2} } WITH METADATA {a: 1, b: 1, c: 1}"
    )
    state = nexus.state()
    assert state["Ship", "Pia"]["metadata"] == {"a": 1, "b": 2, "c": 1}
    link = state[("Ship", "Pia"), "escorts", ("Ship", "Maja")]
    assert link["metadata"] == {"a": None, "b": 2, "c": 1}


@pytest.mark.parametrize(
    ("blocks", "error"),
    [
        ('CONCEPT { {type: "Boat", name: "x"} }', errors.TypeMismatch),
        ('CONCEPT { {id: "C:999998"} }', errors.NotFound),
        (
            'CONCEPT { {type: "Port", name: "Bonn"} SET ATTRIBUTES { depth: "deep" } }',
            errors.InvalidValueType,
        ),
        (
            """CONCEPT ?o { {type: "Port", name: "Oslo"} } CONCEPT ?r { {type: "Port", name: "R"} }
            PROPOSITION { (?o, "calls_at", ?r) }""",
            errors.ConstraintViolation,
        ),
        (
            'CONCEPT ?p { {type: "Port", name: "Oslo"} } PROPOSITION { (?p, "escorts", ?p) }',
            errors.SelfEdgeError,
        ),
        (
            'PROPOSITION { ({type: "Ship", name: "No"}, "escorts", {type: "Port", name: "Oslo"}) }',
            errors.NotFound,
        ),
        (
            'CONCEPT { {type: "Ship", name: "x"} SET PROPOSITIONS { ("escorts", ?later) } }',
            errors.UnknownReference,
        ),
        (
            'CONCEPT ?h { {type: "Ship", name: "x"} } CONCEPT ?h { {type: "Ship", name: "y"} }',
            errors.DuplicateExists,
        ),
        ('CONCEPT { {type: "Ship", name: "Maja"} EXPECT VERSION 2 }', errors.VersionConflict),
        ('CONCEPT { {type: "Ship", name: "Maja"} EXPECT VERSION 0 }', errors.VersionConflict),
        (
            'CONCEPT { {type: "Ship", name: "x"} } WITH METADATA { _version: 3 }',
            errors.ConstraintViolation,
        ),
        ('CONCEPT { {type: "$ConceptType", name: "two words"} }', errors.InvalidIdentifier),
        (
            'CONCEPT { {type: "Domain", name: "CoreSchema"} SET ATTRIBUTES { x: 1 } }',
            errors.ImmutableTarget,
        ),
        (
            'CONCEPT { {type: "Person", name: "$self"} SET ATTRIBUTES { core_directives: [] } }',
            errors.ImmutableTarget,
        ),
    ],
)
def test_an_upsert_that_fails_leaves_nothing_behind(
    nexus: ReferenceNexus, blocks: str, error: type[errors.MycelError]
) -> None:
    before = nexus.state()
    with pytest.raises(error):
        nexus.execute(f'UPSERT {{ CONCEPT {{ {{type: "Ship", name: "First"}} }} {blocks} }}')
    assert nexus.state() == before


def test_what_a_schema_asks_for_is_a_warning_unless_the_type_is_strict(
    nexus: ReferenceNexus,
) -> None:
    answer = nexus.answer('UPSERT { CONCEPT { {type: "Port", name: "Kiel"} } }')
    assert "country" in answer["warnings"][0]
    nexus.execute(
        'UPSERT { CONCEPT { {type: "$ConceptType", name: "Port"}'
        ' SET ATTRIBUTES { schema_enforcement: "strict" } } }'
    )
    with pytest.raises(errors.ConstraintViolation, match="country"):
        nexus.execute('UPSERT { CONCEPT { {type: "Port", name: "Gdynia"} } }')


def test_a_deleted_concept_takes_links_and_links_about_links_along(nexus: ReferenceNexus) -> None:
    result = nexus.execute('DELETE CONCEPT ?p DETACH WHERE { ?p {type: "Port", name: "Oslo"} }')
    assert result == {"deleted_concepts": 1, "deleted_propositions": 2}


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ('DELETE CONCEPT ?s DETACH WHERE { ?s {type: "Ship", name: "No"} }', errors.NotFound),
        (
            'DELETE CONCEPT ?t DETACH WHERE { ?t {type: "$ConceptType", name: "Ship"} }',
            errors.ConstraintViolation,
        ),
        (
            'DELETE CONCEPT ?t DETACH WHERE { ?t {type: "$ConceptType", name: "Domain"} }',
            errors.ImmutableTarget,
        ),
        ('DELETE PROPOSITIONS ?s WHERE { ?s {type: "Ship"} }', errors.ConstraintViolation),
        (
            'DELETE PROPOSITIONS ?l WHERE { ?l (?t, "belongs_to_domain", {name: "CoreSchema"}) }',
            errors.ImmutableTarget,
        ),
        (
            'DELETE METADATA {"_version"} FROM ?s WHERE { ?s {type: "Ship"} }',
            errors.ConstraintViolation,
        ),
    ],
)
def test_a_delete_that_must_not_be_is_refused(
    nexus: ReferenceNexus, command: str, error: type[errors.MycelError]
) -> None:
    before = nexus.state()
    with pytest.raises(error):
        nexus.execute(command)
    assert nexus.state() == before


def test_deleting_keys_counts_what_had_them(nexus: ReferenceNexus) -> None:
    command = 'DELETE ATTRIBUTES {"flag", "none"} FROM ?s WHERE { ?s {type: "Ship"} }'
    assert nexus.execute(command) == {"updated_concepts": 2, "updated_propositions": 0}
    assert nexus.execute(command) == {"updated_concepts": 0, "updated_propositions": 0}


def test_an_update_computes_from_each_element_and_skips_what_is_no_number(
    nexus: ReferenceNexus,
) -> None:
    result = nexus.execute(
        "UPDATE ?s SET ATTRIBUTES { tons: ADD(?s.attributes.tons, 1),"
        " rank: COALESCE(MUL(?s.attributes.rank, 2), 7) }"
        ' WHERE { ?s {type: "Ship"} }'
    )
    assert result == {"updated": 3, "matched": 3}
    state = nexus.state()
    assert state["Ship", "Maja"]["attributes"] == {"tons": 301, "flag": "NO", "rank": 7}
    assert state["Ship", "Olga"]["attributes"]["tons"] == "300"
    assert state["Ship", "Olga"]["version"] == 2


def test_a_merge_moves_links_and_fills_what_is_missing(nexus: ReferenceNexus) -> None:
    result = nexus.execute(
        "MERGE CONCEPT ?a INTO ?b"
        ' WHERE { ?a {type: "Ship", name: "Maja"} ?b {type: "Ship", name: "Nora"} }'
    )
    # Both call at Riga, and Maja escorts Nora; her call at Oslo and two links with Olga move.
    assert result == {
        "merged": True,
        "links_repointed": 3,
        "links_deduplicated": 2,
        "attributes_filled": 1,
    }
    nora = nexus.state()["Ship", "Nora"]
    assert nora["attributes"] == {"tons": 120.5, "flag": "NO", "aliases": ["Maja"]}
    assert nora["metadata"] == {"_merged_from": ["Ship:Maja"]}
    assert ("Ship", "Maja") not in nexus.state()


def test_when_links_fall_together_the_links_about_them_do_too(nexus: ReferenceNexus) -> None:
    nexus.execute(
        'UPSERT { CONCEPT ?oslo { {type: "Port", name: "Oslo"} }'
        ' PROPOSITION ?call { ({type: "Ship", name: "Nora"}, "calls_at", ?oslo) }'
        ' PROPOSITION { ({type: "Ship", name: "Olga"}, "escorts", ?call)'
        "   SET ATTRIBUTES { armed: true } } }"
    )
    nexus.execute(
        "MERGE CONCEPT ?a INTO ?b"
        ' WHERE { ?a {type: "Ship", name: "Nora"} ?b {type: "Ship", name: "Maja"} }'
    )
    call = (("Ship", "Maja"), "calls_at", ("Port", "Oslo"))
    assert nexus.state()[("Ship", "Olga"), "escorts", call]["attributes"] == {"armed": True}


def test_a_link_that_moves_at_both_ends_ends_up_where_it_should(nexus: ReferenceNexus) -> None:
    # Nora speaks about her own call at Riga, which becomes Maja's when the two are one.
    nexus.execute(
        'UPSERT { CONCEPT ?nora { {type: "Ship", name: "Nora"} }'
        ' PROPOSITION { (?nora, "escorts", (?nora, "calls_at", {type: "Port", name: "Riga"})) } }'
    )
    nexus.execute(
        "MERGE CONCEPT ?a INTO ?b"
        ' WHERE { ?a {type: "Ship", name: "Nora"} ?b {type: "Ship", name: "Maja"} }'
    )
    call = (("Ship", "Maja"), "calls_at", ("Port", "Riga"))
    assert (("Ship", "Maja"), "escorts", call) in nexus.state()


@pytest.mark.parametrize(
    ("changes", "parameters", "error"),
    [
        ("SET METADATA { _version: 9 }", {}, errors.ConstraintViolation),
        ("SET ATTRIBUTES :all", {"all": [1]}, errors.InvalidValueType),
        ("SET ATTRIBUTES { x: ADD(?s.attributes.x, :n) }", {"n": "1"}, errors.InvalidValueType),
        ("SET ATTRIBUTES { x: ADD(?other.attributes.x, 1) }", {}, errors.UnknownReference),
        ("SET ATTRIBUTES { x: CLAMP(?s.attributes.x, 2, 1) }", {}, errors.ConstraintViolation),
    ],
)
def test_an_update_that_makes_no_sense_is_refused_even_if_it_matches_nothing(
    nexus: ReferenceNexus, changes: str, parameters: Any, error: type[errors.MycelError]
) -> None:
    where = 'WHERE { ?s {type: "Ship"} FILTER(?s.name == "Nobody") }'
    with pytest.raises(error):
        nexus.execute(f"UPDATE ?s {changes} {where}", parameters)


# Requests.


def test_a_failed_write_ends_a_batch_and_a_failed_read_does_not(nexus: ReferenceNexus) -> None:
    response = nexus.request(
        {
            "commands": [
                'FIND(?x) WHERE { ?x {type: "Boat"} }',
                "no command",
                {
                    "command": 'UPSERT { CONCEPT { {type: "Ship", name: :name} } }',
                    "parameters": {"name": "Quai"},
                },
                'UPSERT { CONCEPT { {type: "Boat", name: "x"} } }',
                'FIND(?x) WHERE { ?x {type: "Ship"} }',
            ]
        }
    )
    codes = [each.get("error", {}).get("code") for each in response["result"]]
    assert codes == ["KIP_2001", "KIP_1001", None, "KIP_2001"]
    assert ("Ship", "Quai") in nexus.state()


def test_a_dry_run_and_a_read_only_door_change_nothing(nexus: ReferenceNexus) -> None:
    request = {"command": 'UPSERT { CONCEPT { {type: "Ship", name: "Quai"} } }'}
    before = nexus.state()
    assert nexus.request(request, readonly=True)["error"]["code"] == "KIP_3004"
    assert nexus.request({**request, "dry_run": True})["result"]["blocks"] == 1
    assert nexus.state() == before


@pytest.mark.parametrize(
    "request_",
    [
        None,
        {},
        {"command": 1},
        {"command": "FIND", "commands": []},
        {"commands": "FIND"},
        {"command": "DESCRIBE DOMAINS", "parameters": []},
        {"command": "DESCRIBE DOMAINS", "dry_run": 1},
    ],
)
def test_what_is_no_request_is_answered_with_an_error(
    nexus: ReferenceNexus, request_: object
) -> None:
    assert nexus.request(request_)["error"]["code"] == "KIP_1001"


# What the graph says about itself.


def test_types_are_listed_page_by_page_and_described_by_their_definition(
    nexus: ReferenceNexus,
) -> None:
    first = nexus.answer("DESCRIBE CONCEPT TYPES LIMIT 3")
    second = nexus.answer("DESCRIBE CONCEPT TYPES LIMIT 100 CURSOR :c", {"c": first["next_cursor"]})
    names = first["result"] + second["result"]
    assert len(first["result"]) == 3
    assert {"Ship", "Port", "$ConceptType"} <= set(names)
    assert names == sorted(names)
    assert nexus.execute('DESCRIBE PROPOSITION TYPE "escorts"')["name"] == "escorts"
    with pytest.raises(errors.NotFound):
        nexus.execute('DESCRIBE CONCEPT TYPE "Boat"')


def test_an_export_makes_the_same_elements_elsewhere(nexus: ReferenceNexus) -> None:
    exported = [
        nexus.execute('EXPORT ?x WHERE { ?x {type: "$ConceptType"} NOT { (?x, ?p, ?d) } }'),
        nexus.execute('EXPORT ?x WHERE { ?x {type: "$PropositionType"} NOT { (?x, ?p, ?d) } }'),
        nexus.execute('EXPORT ?x WHERE { ?x {type: "Ship"} UNION { ?x {type: "Port"} } }'),
        nexus.execute('EXPORT ?l WHERE { ?l (?s, "calls_at" | "escorts" | "sister_of", ?o) }'),
    ]
    elsewhere = ReferenceNexus()
    for each in exported:
        elsewhere.execute(each["capsule"])
    assert elsewhere.state() == nexus.state()
    assert exported[-1]["propositions"] == 8


@pytest.mark.parametrize(
    "command",
    [
        "DESCRIBE PRIMER",
        'SEARCH CONCEPT "ship"',
        'FIND(?s) AS OF 1 WHERE { ?s {type: "Ship"} }',
        'EXPLAIN FIND(?s) WHERE { ?s {type: "Ship"} }',
    ],
)
def test_what_is_beyond_the_reference_is_said_so(nexus: ReferenceNexus, command: str) -> None:
    with pytest.raises(NotImplementedError):
        nexus.execute(command)
