"""Arguments are checked against the schema, and what is plainly meant is taken."""

from typing import Any

import pytest

from mycel.errors import (
    ConstraintViolation,
    InvalidSyntax,
    InvalidValueType,
    MycelError,
    ResourceExhausted,
)
from mycel.mcp.arguments import check
from mycel.mcp.tool_list import TOOLS
from tests.cases import cases

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "word": {"type": "string", "enum": ["yes", "no"]},
        "count": {"type": "integer", "minimum": 1, "maximum": 5},
        "share": {"type": "number", "minimum": 0},
        "sure": {"type": "boolean"},
        "names": {"type": "array", "items": {"type": "string"}},
        "free": {"type": "object"},
        "list": {"type": "array"},
        "inner": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"key": {"type": "string"}},
                "required": ["key"],
            },
        },
    },
    "required": ["word"],
}


def checked(**given: Any) -> dict[str, Any]:
    return check("tool", SCHEMA, {"word": "yes"} | given)


@cases(
    ("given", "taken"),
    [
        ({"count": 5.0}, {"count": 5}),
        ({"share": 0}, {"share": 0}),
        ({"share": "0.5"}, {"share": 0.5}),
        ({"count": "5"}, {"count": 5}),
        ({"count": "5.0"}, {"count": 5}),
        ({"sure": "true"}, {"sure": True}),
        ({"sure": "false"}, {"sure": False}),
        ({"names": "one"}, {"names": ["one"]}),
        ({"names": '["one", "two"]'}, {"names": ["one", "two"]}),
        ({"free": '{"a": 1}'}, {"free": {"a": 1}}),
        ({"inner": {"key": "x"}}, {"inner": [{"key": "x"}]}),
        ({"list": [1, "two", None]}, {"list": [1, "two", None]}),
        ({"free": {"any": {"thing": [1]}}}, {"free": {"any": {"thing": [1]}}}),
        ({"count": None}, {}),
    ],
)
def test_what_is_meant_is_taken(given: dict[str, Any], taken: dict[str, Any]) -> None:
    assert checked(**given) == {"word": "yes"} | taken


@cases(
    ("given", "error", "words"),
    [
        ({"word": None}, InvalidSyntax, "needs the argument 'word'"),
        ({"word": "maybe"}, ConstraintViolation, "cannot be 'maybe'"),
        ({"word": 1}, InvalidValueType, "a text, not a number"),
        ({"cuont": 1}, InvalidSyntax, "Did you mean 'count'"),
        ({"count": 0}, ConstraintViolation, "is 0"),
        ({"count": 6}, ConstraintViolation, "is 6"),
        ({"count": 1.5}, InvalidValueType, "a whole number"),
        ({"count": True}, InvalidValueType, "a whole number"),
        ({"share": -0.1}, ConstraintViolation, "is -0.1"),
        ({"share": "one"}, InvalidValueType, "a number"),
        ({"share": "NaN"}, InvalidValueType, "a number"),
        ({"share": "-1"}, ConstraintViolation, "is -1"),
        ({"count": "1.5"}, InvalidValueType, "a whole number"),
        ({"count": "9"}, ConstraintViolation, "is 9"),
        ({"count": "true"}, InvalidValueType, "a whole number"),
        ({"sure": "yes"}, InvalidValueType, "true or false"),
        ({"names": [1]}, InvalidValueType, "'names[0]'"),
        ({"names": {"a": 1}}, InvalidValueType, "'names[0]'"),
        ({"free": "text"}, InvalidValueType, "an object"),
        ({"inner": [{}]}, InvalidSyntax, "inner[0].key"),
        ({"inner": [{"key": "x", "other": 1}]}, InvalidSyntax, "inner[0].other"),
        ({"x" * 100_000: 1}, InvalidSyntax, "no argument"),
        ({"free": {"x": "y" * 5_000_000}}, ResourceExhausted, "5,000,030 bytes"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, Any], error: type[MycelError], words: str) -> None:
    with pytest.raises(error) as refused:
        checked(**given)
    assert words in refused.value.message
    assert refused.value.hint
    assert len(refused.value.message) < 500


@cases("tool", TOOLS)
def test_the_schemas_of_tools_use_only_what_is_checked(tool: Any) -> None:
    known = {
        "type", "properties", "required", "items", "enum", "minimum", "maximum", "description",
        "additionalProperties", "anyOf", "default",
    }  # fmt: skip

    def walk(schema: dict[str, Any]) -> None:
        assert schema.keys() <= known
        if "default" in schema:
            whole = {"type": "object", "properties": {"x": schema}}
            assert check("tool", whole, {"x": schema["default"]}) == {"x": schema["default"]}
        for inner in schema.get("properties", {}).values():
            walk(inner)
        if "items" in schema:
            walk(schema["items"])
        assert set(schema.get("required", ())) <= schema.get("properties", {}).keys()

    for by_handle in (False, True):
        walk(tool.schema(by_handle=by_handle))


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"count": 6}, "Pass count as a whole number from 1 to 5."),
        ({"share": -1}, "Pass share as a number of at least 0."),
    ],
)
def test_a_bound_that_is_not_there_is_not_named(given: dict[str, Any], hint: str) -> None:
    with pytest.raises(ConstraintViolation) as refused:
        checked(**given)
    assert refused.value.hint == hint
