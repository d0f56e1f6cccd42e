"""Slips: what in a definition means nothing is named, and what was meant beside it."""

from __future__ import annotations

from typing import Any

import pytest

from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE
from mycel.schema.definition_lint import SLIPS_MAX, slips, undefined_ends
from tests.cases import cases


def of_type(**attributes: Any) -> list[str]:
    return list(slips(CONCEPT_TYPE, "Boat", attributes))


def of_predicate(**attributes: Any) -> list[str]:
    return list(slips(PROPOSITION_TYPE, "tows", attributes))


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (
            "integer",
            'a string instead of an object, and has no effect; write mast: {type: "integer"}.',
        ),
        (
            ["string"],
            'an array instead of an object, and has no effect; write mast: {type: "string"}.',
        ),
        (None, 'null instead of an object, and has no effect; write mast: {type: "string"}.'),
    ],
)
def test_an_entry_that_is_no_object_is_named_with_one_that_is(entry: Any, expected: str) -> None:
    (sentence,) = of_type(instance_schema={"mast": entry})
    assert sentence.endswith(expected)


@pytest.mark.parametrize(
    ("key", "meant"),
    [("required", "is_required"), ("default", "default_value"), ("itemType", "item_type")],
)
def test_a_key_of_an_entry_that_means_nothing_is_named_with_the_right_one(
    key: str, meant: str
) -> None:
    (sentence,) = of_type(instance_schema={"mast": {"type": "string", key: True}})
    assert sentence.endswith(f"says {key!r}, which has no effect; write {meant}.")


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"mast": {"type": "string"}}},
        {"type": "object", "properties": {"mast": {"type": "string"}}, "required": ["mast"]},
        {"properties": {"mast": "x"}, "required": ["mast"]},
    ],
)
def test_json_schema_is_recognized_and_told_once(schema: dict[str, Any]) -> None:
    (sentence,) = of_type(instance_schema=schema)
    assert "looks like JSON Schema" in sentence
    assert '{mast: {type: "string", is_required: true}}' in sentence


def test_a_schema_that_is_no_object_is_told() -> None:
    (sentence,) = of_type(instance_schema="mast")
    assert "is not an object" in sentence


@cases(
    "attributes",
    [
        {},
        {"instance_schema": None},
        {"instance_schema": {}},
        {"instance_schema": {"properties": {"type": "object", "is_required": True}}},
        {"instance_schema": {"required": {"type": "boolean"}, "symmetric": {}}},
        {"instance_schema": {"mast": {"type": "string", "unit": "m", "enum": ["a"]}}},
        {"instance_schema": {"mast": {"is_required": True, "required": True}}},
        {"display_hint": "x", "symmetric": True},
    ],
)
def test_a_schema_that_means_something_is_left_alone(attributes: dict[str, Any]) -> None:
    assert of_type(**attributes) == []


@cases(
    ("key", "meant"),
    [
        ("symmetric", "is_symmetric"),
        ("isSymmetric", "is_symmetric"),
        ("transitive", "is_transitive"),
        ("subjectTypes", "subject_types"),
        ("object_type", "object_types"),
    ],
)
def test_a_key_of_a_predicate_that_means_nothing_is_named(key: str, meant: str) -> None:
    assert of_predicate(**{key: True}) == [
        f"The definition of tows says {key!r}, which has no effect; write {meant}."
    ]
    assert of_predicate(**{key: True, meant: True}) == []


def test_a_long_schema_of_slips_is_told_in_short() -> None:
    told = of_type(instance_schema={f"a{n}": "string" for n in range(50)})
    assert len(told) == SLIPS_MAX + 1
    assert told[-1] == "More entries of the instance_schema of Boat are like that."


def test_ends_that_are_not_defined_are_named_with_a_close_name() -> None:
    attributes = {"subject_types": ["Bot"], "object_types": ["Boat", "*"]}
    assert list(undefined_ends("tows", attributes, {"Boat", "Crew"})) == [
        "The subject_types of tows name 'Bot', which is not defined. Did you mean 'Boat'?"
    ]


def test_a_kind_that_is_no_type_is_named() -> None:
    said = (
        "In the instance_schema of Boat, the {0} of {1} says {2}, which is not a type, so any value"
    )
    others = "Types are string, number, integer, boolean, array, object, null and any;"
    for entry, part, kind, hint in (
        ({"type": "strng"}, "type", "'strng'", "Did you mean 'string'?"),
        ({"type": "Date | null"}, "type", "'date'", others),
        ({"type": ["number", "strin"]}, "type", "'strin'", "Did you mean 'string'?"),
        ({"type": "array<colour>"}, "type", "'colour'", others),
        ({"type": "array", "item_type": "object_"}, "item_type", "'object_'", "'object'"),
        ({"type": {"a": 1}}, "type", "'{\"a\": 1}'", others),
    ):
        (sentence,) = of_type(instance_schema={"height": entry})
        assert sentence.startswith(said.format(part, '"height"', kind))
        assert hint in sentence
    for entry in ({"type": "any"}, {"type": "String[]"}, {"type": ["text", "null"]}, {"enum": [1]}):
        assert of_type(instance_schema={"height": entry}) == []


def test_a_merge_policy_that_does_not_exist_is_named_with_those_that_do() -> None:
    entries = {"mast": {"merge": "oldest"}, "crew": {"type": "array", "merge": "set"}}
    (sentence,) = of_type(instance_schema=entries)
    assert sentence.startswith(
        'In the instance_schema of Boat, the merge of "mast" says "oldest", which has no effect'
    )
    assert sentence.endswith("write one of set, max, min, counter, newest, ask.")
