"""Reading definitions that people wrote, and holding instances against them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mycel.errors import InvalidValueType
from mycel.schema.definitions import (
    ConceptDefinition,
    PredicateDefinition,
    check_values,
    concept_definition,
    missing,
    predicate_definition,
    unexpected,
)
from tests.cases import cases


def schema(**entries: Any) -> ConceptDefinition:
    return concept_definition("Lighthouse", {"instance_schema": entries})


def accepts(definition: ConceptDefinition, **attributes: Any) -> bool:
    try:
        check_values(definition, "Eddystone", attributes)
    except InvalidValueType:
        return False
    return True


SAMPLES: dict[str, Any] = {
    "string": "granite",
    "number": 41.5,
    "integer": 41,
    "boolean": True,
    "array": ["a"],
    "object": {"a": 1},
}


@cases("expected", SAMPLES)
def test_a_value_is_accepted_exactly_when_it_has_the_json_type_of_the_schema(expected: str) -> None:
    definition = schema(x={"type": expected})
    accepted = {kind for kind, value in SAMPLES.items() if accepts(definition, x=value)}
    assert accepted == ({"number", "integer"} if expected == "number" else {expected})


def test_a_whole_number_is_an_integer_however_it_is_written() -> None:
    definition = schema(x={"type": "integer"})
    assert [accepts(definition, x=value) for value in (3, 3.0, -0.0, 3.5)] == [
        True,
        True,
        True,
        False,
    ]


def test_a_boolean_is_no_number() -> None:
    assert not accepts(schema(x={"type": "number"}), x=True)
    assert not accepts(schema(x={"type": "integer"}), x=False)


def test_the_items_of_an_array_have_types_too() -> None:
    definition = schema(x={"type": "array", "item_type": "string"})
    assert accepts(definition, x=[])
    assert accepts(definition, x=["a", "b"])
    assert not accepts(definition, x=["a", 2])
    assert not accepts(definition, x=["a", None])


@cases(
    ("written", "takes", "refuses"),
    [
        ("any", [1, "a", None, []], []),
        ("string|number", ["a", 1], [True, []]),
        ("string | null", ["a", None], [1]),
        (["string", "object"], ["a", {}], [1, []]),
        ("String", ["a"], [1]),
        ("int", [1], ["a", 1.5]),
        ("bool", [True], [1]),
        ("list", [[]], [{}]),
        ("dict", [{}], [[]]),
        ("string[]", [["a"]], ["a", [1]]),
        ("array<number>", [[1]], [1, ["a"]]),
        ("array<any>", [[1, "a"]], [1]),
        ("array<array<string>>", [[["a"]], 1], []),
        ("geojson", [1, "a"], []),
        ("string|geojson", [1, "a"], []),
        ("", [1, "a"], []),
        (None, [1, "a"], []),
        (7, [1, "a"], []),
        (["string", 7], [1, "a"], []),
    ],
)
def test_types_are_read_as_their_author_meant_them(
    written: Any, takes: list[Any], refuses: list[Any]
) -> None:
    definition = schema(x={"type": written, "is_required": True})
    assert [value for value in takes if not accepts(definition, x=value)] == []
    assert [value for value in refuses if accepts(definition, x=value)] == []


def test_null_contradicts_no_type_but_is_no_value_either() -> None:
    assert accepts(schema(x={"type": "string"}), x=None)
    required = schema(x={"type": "string", "is_required": True})
    assert accepts(required, x=None)
    assert missing(required, {"x": None}) == ("x",)
    with_default = schema(x={"type": "string", "is_required": True, "default_value": "lit"})
    assert accepts(with_default, x=None)
    assert missing(with_default, {"x": None}) == ()


def test_attributes_outside_the_schema_hold_anything() -> None:
    assert accepts(schema(x={"type": "string"}), y=[1, {"a": None}])


def test_the_error_names_type_attribute_expected_and_actual() -> None:
    definition = schema(height={"type": "number"}, lamps={"type": "array", "item_type": "string"})
    with pytest.raises(InvalidValueType) as caught:
        check_values(definition, "Eddystone", {"height": "tall"})
    assert caught.value.code == "KIP_2003"
    assert caught.value.message == (
        'The attribute "height" of Lighthouse "Eddystone" must be a number, not a string.'
    )
    assert 'DESCRIBE CONCEPT TYPE "Lighthouse"' in caught.value.hint
    assert caught.value.data == {
        "type": "Lighthouse",
        "attribute": "height",
        "expected": ["number"],
        "actual": "string",
    }
    with pytest.raises(InvalidValueType, match='Item 1 of the attribute "lamps"'):
        check_values(definition, "Eddystone", {"lamps": ["oil", 2]})


def test_a_required_attribute_is_missing_unless_it_is_there_or_has_a_default() -> None:
    definition = schema(
        a={"type": "string", "is_required": True},
        b={"type": "string", "is_required": True, "default_value": "x"},
        c={"type": "string"},
        d={"type": "any", "is_required": True},
        e={"type": "string", "is_required": "yes"},
    )
    assert missing(definition, {}) == ("a", "d")
    assert missing(definition, {"a": "", "d": False}) == ()
    assert missing(definition, {"a": None, "d": None}) == ("a", "d")
    allowed = schema(x={"type": ["string", "null"], "is_required": True})
    assert missing(allowed, {"x": None}) == ()


def test_values_outside_an_enumeration_are_noticed() -> None:
    definition = schema(
        state={"type": "string", "enum": ["lit", "dark"]},
        level={"enum": [1, 2]},
        odd={"enum": "lit"},
    )
    assert unexpected(definition, {"state": "lit", "level": 2.0, "odd": "anything"}) == ()
    assert unexpected(definition, {"state": "dim", "level": True}) == ("state", "level")
    assert unexpected(definition, {"state": None}) == ()


def test_an_array_may_hold_several_values_of_an_enumeration() -> None:
    definition = schema(states={"enum": ["lit", "dark"]})
    assert unexpected(definition, {"states": ["lit", "dark", "lit"]}) == ()
    assert unexpected(definition, {"states": ["lit", "dim"]}) == ("states",)


def test_a_value_that_does_not_change_is_not_looked_at_again() -> None:
    definition = schema(x={"type": "string"})
    check_values(definition, "Eddystone", {"x": 1}, before={"x": 1})
    for before in ({}, {"x": True}, {"x": 2}, {"y": 1}):
        with pytest.raises(InvalidValueType):
            check_values(definition, "Eddystone", {"x": 1}, before=before)


@cases(
    "attributes",
    [
        {},
        {"instance_schema": None},
        {"instance_schema": ["description"]},
        {"instance_schema": {"x": "string"}},
        {"instance_schema": {"x": None, "y": 3}},
        {"description": 7, "key_instances": "one", "schema_enforcement": True},
    ],
)
def test_an_odd_definition_demands_nothing(attributes: dict[str, Any]) -> None:
    definition = concept_definition("Odd", attributes)
    assert accepts(definition, x=1, y="a")
    assert missing(definition, {}) == ()
    assert not definition.is_strict


def test_a_definition_says_whether_it_is_strict() -> None:
    definition = concept_definition("Ship", {"description": "d", "schema_enforcement": "strict"})
    assert (definition.description, definition.is_strict) == ("d", True)


def test_a_predicate_takes_anything_unless_it_says_otherwise() -> None:
    assert predicate_definition("near", {}) == PredicateDefinition("near")
    assert predicate_definition("near", {}).takes_anything
    assert not predicate_definition("near", {"object_types": ["Port"]}).takes_anything


@cases("odd", [None, [], [1, None], {}, 7, ""])
def test_a_list_of_types_that_names_none_is_ignored(odd: Any) -> None:
    assert predicate_definition("near", {"subject_types": odd}).subject_types == ("*",)


def test_the_types_of_a_predicate_may_be_one_name_or_several() -> None:
    definition = predicate_definition("near", {"subject_types": "Port", "object_types": ["A", "B"]})
    assert (definition.subject_types, definition.object_types) == (("Port",), ("A", "B"))


def test_only_true_makes_a_predicate_symmetric() -> None:
    assert predicate_definition("near", {"is_symmetric": True}).is_symmetric
    assert not predicate_definition("near", {"is_symmetric": 1}).is_symmetric


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["string"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
_ENTRY = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ("type", "item_type", "is_required", "default_value", "enum", "description"), _JSON
    ),
)
_ATTRIBUTES = st.fixed_dictionaries(
    {},
    optional={
        "instance_schema": st.dictionaries(st.sampled_from("xyz"), _ENTRY | _JSON) | _JSON,
        "subject_types": _JSON,
        "object_types": _JSON,
        "is_symmetric": _JSON,
        "schema_enforcement": _JSON,
        "key_instances": _JSON,
    },
)


@given(_ATTRIBUTES, st.dictionaries(st.sampled_from("xyz"), _JSON))
def test_whatever_a_definition_says_it_can_be_read_and_applied(
    attributes: dict[str, Any], instance: dict[str, Any]
) -> None:
    definition = concept_definition("Odd", attributes)
    accepts(definition, **instance)
    assert set(missing(definition, instance)) <= set("xyz")
    assert set(unexpected(definition, instance)) <= set(instance)
    predicate = predicate_definition("odd", attributes)
    assert all(isinstance(name, str) for name in predicate.subject_types)
