"""The capsules that are shipped: that they are KIP, and that they say what the table says."""

from collections.abc import Iterator
from typing import Any

import pytest

from mycel import capsules
from mycel.capsules.former import FORMER_VALUES
from mycel.kip import ast, parse
from mycel.kip import format as format_command
from mycel.schema.definitions import check_values, concept_definition, missing, unexpected
from mycel.store.file.layout import BUILT_IN_PREDICATES
from tests.cases import cases

FOUNDATION = {
    ("$ConceptType", "$ConceptType"),
    ("$ConceptType", "$PropositionType"),
    ("$ConceptType", "Domain"),
    ("$PropositionType", "belongs_to_domain"),
    ("Domain", "CoreSchema"),
}

# As in the notes on KIP: `*` required, `[]` array, `{}` object.
ATTRIBUTES = {
    "Event": "event_class* start_time* content_summary* end_time participants[] key_concepts[]"
    " context{} outcome raw_content_ref salience_score salience_scored_at consolidation_status",
    "Person": "id* person_class* name handle avatar{} persona status identity_narrative"
    " core_mission core_directives[] values[] strengths[] weaknesses[] capabilities[]"
    " behavior_preferences[] relationship_to_self interaction_summary{} privacy_settings{}"
    " service_endpoints[] growth_log[] cognitive_state last_sleep_cycle maintenance_log[]",
    "Preference": "description* category confidence evidence_count first_observed last_observed"
    " source_event",
    "Insight": "description* insight_class* trigger correction context aliases[] confidence"
    " evidence_count first_observed last_observed",
    "SleepTask": "target_type* target_name* requested_action* reason* status priority result",
    "Commitment": "commitment_class* description* due_at status fulfilled_at outcome beneficiary",
    "Experience": "experience_class* goal* initial_state{}* status* started_at* ended_at outcome"
    " success prediction_error surprise_score learning_value learning_value_scored_at"
    " salience_score context{} raw_trace_ref consolidation_status",
    "ExperienceStep": "index* kind* summary* timestamp state{} decision_rationale tool"
    " expected_observation actual_observation prediction_error success raw_data_ref",
    "Skill": "skill_class* description* goal* trigger_conditions[]* procedure[]* expected_outcome*"
    " preconditions[] decision_rules[] success_criteria[] failure_signals[] recovery_strategy"
    " execution_mode implementation_ref maturity utility evidence_count success_count"
    " failure_count last_validated_at applicability_context{}",
}
PREDICATES = {
    "belongs_to_domain": (["*"], ["Domain"]),
    "involves": (["Event", "Experience"], ["Person"]),
    "mentions": (["Event", "Experience"], ["*"]),
    "consolidated_to": (["Event", "Experience"], ["*"]),
    "prefers": (["Person"], ["Preference"]),
    "learned": (["Person"], ["Insight"]),
    "assigned_to": (["SleepTask"], ["Person"]),
    "committed_to": (["Person"], ["Commitment"]),
    "owed_to": (["Commitment"], ["Person"]),
    "has_step": (["Experience"], ["ExperienceStep"]),
    "derived_insight": (["Experience"], ["Insight"]),
    "compiled_to": (["Experience"], ["Skill"]),
} | dict.fromkeys(BUILT_IN_PREDICATES, (["*"], ["*"]))


def blocks() -> Iterator[tuple[ast.Upsert, ast.ConceptBlock]]:
    for name in capsules.NAMES:
        command = parse(capsules.read(name))
        assert isinstance(command, ast.Capsule)
        for upsert in command.upserts:
            for block in upsert.blocks:
                assert isinstance(block, ast.ConceptBlock)
                yield upsert, block


def literal(node: Any) -> Any:
    return {} if node is None else node.value


def concepts() -> dict[tuple[str, str], dict[str, Any]]:
    """Everything that the capsules create: attributes by type and name."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for _, block in blocks():
        identity = literal(block.matcher.type), literal(block.matcher.name)
        found[identity] = found.get(identity, {}) | literal(block.attributes)
    return found


CONCEPTS = concepts()


@cases("name", capsules.NAMES)
def test_a_capsule_is_kip_and_survives_formatting(name: str) -> None:
    tree = parse(capsules.read(name))
    assert parse(format_command(tree)) == tree


def test_every_file_is_listed_and_every_name_has_a_file() -> None:
    from importlib.resources import files

    found = {each.name for each in files("mycel.capsules").iterdir() if each.name.endswith(".kip")}
    assert found == {f"{name}.kip" for name in capsules.NAMES}


def test_a_capsule_says_what_it_is() -> None:
    listed = capsules.list_capsules()
    assert [each.name for each in listed] == list(capsules.NAMES)
    assert all(each.title and each.description.endswith(".") for each in listed)
    assert {each.version for each in listed} == {"1.0.0"}
    assert listed[0] == capsules.CapsuleInfo(
        "genesis",
        "Genesis",
        "1.0.0",
        "The two meta-types, domains, and the domain that holds the schema itself.",
    )


def test_former_values_are_no_longer_shipped() -> None:
    for identity, attributes in FORMER_VALUES.items():
        for key, former in attributes.items():
            assert CONCEPTS[identity][key] not in former


def test_only_what_is_shipped_can_be_read() -> None:
    with pytest.raises(KeyError):
        capsules.read("../errors")


def test_the_capsules_create_what_the_specification_lists() -> None:
    expected = FOUNDATION
    expected |= {("Domain", name) for name in ("Unsorted", "Archived", "System")}
    expected |= {("$ConceptType", name) for name in ATTRIBUTES}
    expected |= {("$PropositionType", name) for name in PREDICATES}
    expected |= {("Person", "$self"), ("Person", "$system")}
    assert set(CONCEPTS) == expected


@cases("name", ATTRIBUTES)
def test_a_type_has_the_attributes_of_the_table(name: str) -> None:
    schema = CONCEPTS["$ConceptType", name]["instance_schema"]
    kinds = {"array": "[]", "object": "{}"}
    written = {
        f"{key}{kinds.get(entry['type'], '')}{'*' if entry['is_required'] else ''}"
        for key, entry in schema.items()
    }
    assert written == set(ATTRIBUTES[name].split())
    assert all(entry["description"].endswith(".") for entry in schema.values())


def test_words_that_mean_something_to_the_system_are_enumerated() -> None:
    def enum(type_name: str, key: str) -> list[str]:
        schema = CONCEPTS["$ConceptType", type_name]["instance_schema"]
        words: list[str] = schema[key]["enum"]
        return words

    assert enum("Event", "consolidation_status") == ["pending", "completed", "archived"]
    assert enum("Person", "cognitive_state") == ["waking", "sleeping"]
    assert enum("SleepTask", "status") == ["pending", "in_progress", "completed", "failed"]
    assert enum("SleepTask", "requested_action") == [
        "consolidate_to_semantic",
        "archive",
        "merge_duplicates",
        "reclassify",
        "review",
        "resolve_contradiction",
    ]


@cases("name", PREDICATES)
def test_a_predicate_joins_the_types_of_the_table(name: str) -> None:
    attributes = CONCEPTS["$PropositionType", name]
    assert (attributes["subject_types"], attributes["object_types"]) == PREDICATES[name]


def test_only_claims_that_hold_both_ways_are_symmetric() -> None:
    symmetric = {name for (_, name), said in CONCEPTS.items() if said.get("is_symmetric") is True}
    assert symmetric == {"contradicts", "related_to"}


@cases("identity", CONCEPTS)
def test_everything_satisfies_the_definition_of_its_type(identity: tuple[str, str]) -> None:
    type_name, name = identity
    definition = concept_definition(type_name, CONCEPTS["$ConceptType", type_name])
    check_values(definition, name, CONCEPTS[identity])
    assert missing(definition, CONCEPTS[identity]) == ()
    assert unexpected(definition, CONCEPTS[identity]) == ()


def test_key_instances_exist() -> None:
    named = {
        (name, each)
        for (type_name, name), said in CONCEPTS.items()
        if type_name == "$ConceptType"
        for each in said.get("key_instances", ())
    }
    assert named <= set(CONCEPTS)


def test_the_two_actors_are_what_the_specification_says() -> None:
    own, system = CONCEPTS["Person", "$self"], CONCEPTS["Person", "$system"]
    assert (own["person_class"], own["cognitive_state"]) == ("AI", "waking")
    assert (system["person_class"], system["cognitive_state"]) == ("AI", "sleeping")
    for actor in (own, system):
        assert all(each["name"] and each["description"] for each in actor["core_directives"])


def test_every_definition_and_actor_belongs_to_a_domain() -> None:
    members = {
        (literal(block.matcher.type), literal(block.matcher.name))
        for _, block in blocks()
        for entry in block.propositions or ()
        if literal(entry.predicate) == "belongs_to_domain"
    }
    assert members == {identity for identity in CONCEPTS if identity[0] != "Domain"}


def test_everything_says_where_it_comes_from() -> None:
    for upsert, _ in blocks():
        metadata = literal(upsert.metadata)
        assert metadata["source"].removeprefix("mycel/capsules/") in capsules.NAMES
        assert (metadata["author"], metadata["confidence"]) == ("$system", 1.0)
