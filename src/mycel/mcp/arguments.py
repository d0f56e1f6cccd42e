"""Checks the arguments of a tool call against the schema of the tool.

The caller is a model that will try again, so errors name the argument and the right form. Obvious
slips are accepted: one text for a list of texts, an object or list as JSON in a text, a number in a
text, 5.0 for 5.

Only the keywords that the schemas here use are supported: types, `enum`, `minimum`, `maximum`,
`items`, `properties`, `required`. Objects without `properties` and items without a `type` may have
any content.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import orjson

from mycel.errors import (
    ConstraintViolation,
    InvalidSyntax,
    InvalidValueType,
    ResourceExhausted,
    did_you_mean,
)
from mycel.model.json_text import read_json
from mycel.model.limits import TOOL_ARGUMENT_BYTES_MAX
from mycel.model.names import json_kind, shorten
from mycel.model.values import JsonObject

Schema = Mapping[str, Any]

NUMBER_CHARACTERS_MAX: Final = 40
"""The longest text that is read as a number."""

_NOUNS: Final = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}
_CLASSES: Final[dict[str, Any]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def check(
    tool: str, schema: Schema, values: Mapping[str, Any], *, exact: bool = False
) -> JsonObject:
    """The arguments in the form that the tool expects; with `exact`, slips are refused.

    Raises:
        InvalidSyntax: an argument is missing or unknown.
        InvalidValueType, ConstraintViolation: an argument has the wrong type, or is out of bounds.
        ResourceExhausted: the arguments are too large.
    """
    _check_size(tool, values)
    return _object(schema, values, _Call(tool, exact), "")


class _Call(NamedTuple):
    """The called tool, and True if slips are refused."""

    tool: str
    is_exact: bool


def _check_size(tool: str, values: Mapping[str, Any]) -> None:
    try:
        size = len(orjson.dumps(values))
    except (TypeError, ValueError):
        # The value is not JSON; the error of the graph will name it.
        size = 0
    if size > TOOL_ARGUMENT_BYTES_MAX:
        raise ResourceExhausted(
            f"The arguments of {tool} have {size:,} bytes; at most"
            f" {TOOL_ARGUMENT_BYTES_MAX:,} bytes are taken.",
            hint="Send them in several calls. For large files, relate a concept to"
            " file://workspace/path instead.",
        )


def _object(schema: Schema, values: Mapping[str, Any], call: _Call, place: str) -> JsonObject:
    tool = call.tool
    properties: Mapping[str, Schema] = schema["properties"]
    for key in values:
        if key not in properties:
            raise InvalidSyntax(
                f"{tool} has no argument {shorten(repr(place + key))}."
                f" {did_you_mean(shorten(key), list(properties))}".rstrip(),
                hint=f"It takes {', '.join(place + name for name in properties)}.",
            )
    for key in schema.get("required", ()):
        if values.get(key) is None:
            about = properties[key].get("description", _type_noun(properties[key]))
            raise InvalidSyntax(
                f"{tool} needs the argument {place + key!r}.", hint=f"Pass {place}{key}: {about}"
            )
    return {
        key: _value(properties[key], value, call, place + key)
        for key, value in values.items()
        if value is not None
    }


def _value(schema: Schema, original: Any, call: _Call, place: str) -> Any:
    tool, kind = call.tool, schema.get("type")
    value = original if call.is_exact else _as_meant(schema, original)
    if not _is_of(kind, value):
        raise InvalidValueType(
            f"The argument {place!r} of {tool} must be {_type_noun(schema)},"
            f" not {json_kind(original)}.",
            hint=_value_hint(schema, place),
        )
    if "enum" in schema and value not in schema["enum"]:
        raise ConstraintViolation(
            f"The argument {place!r} of {tool} cannot be {shorten(repr(value))}.",
            hint=_value_hint(schema, place),
        )
    low, high = schema.get("minimum"), schema.get("maximum")
    if (low is not None and value < low) or (high is not None and value > high):
        raise ConstraintViolation(
            f"The argument {place!r} of {tool} is {value}.", hint=_value_hint(schema, place)
        )
    if kind == "array" and "items" in schema:
        return [
            _value(schema["items"], member, call, f"{place}[{at}]")
            for at, member in enumerate(value)
        ]
    if kind == "object" and "properties" in schema:
        return _object(schema, value, call, f"{place}.")
    return value


def _as_meant(schema: Schema, value: Any) -> Any:
    match schema.get("type"), value:
        case ("array" | "object") as kind, str():
            try:
                read = read_json(value)
            except ValueError:
                read = None
            if _is_of(kind, read):
                return read
            is_list_of_texts = schema.get("items", {}).get("type") == "string"
            return [value] if kind == "array" and is_list_of_texts else value
        case "array", dict():
            return [value]
        case "integer", float() if value.is_integer():
            return int(value)
        case ("integer" | "number") as kind, str() if len(value) <= NUMBER_CHARACTERS_MAX:
            return _number(kind, value)
        case "boolean", "true" | "false":
            return value == "true"
    return value


def _number(kind: str, text: str) -> Any:
    """The number in a text; any other text unchanged."""
    try:
        read = read_json(text)
    except ValueError:
        return text
    if kind == "integer" and isinstance(read, float) and read.is_integer():
        read = int(read)
    return read if _is_of(kind, read) else text


def _is_of(kind: str | None, value: Any) -> bool:
    if isinstance(value, bool):
        return kind in (None, "boolean")
    return kind is None or isinstance(value, _CLASSES[kind])


def _value_hint(schema: Schema, place: str) -> str:
    """The hint about the right value of an argument."""
    if "enum" in schema:
        return f"It is one of {', '.join(schema['enum'])}."
    bounds = schema.get("minimum"), schema.get("maximum")
    within = "" if bounds == (None, None) else f" {_range(*bounds)}"
    meaning = f": {schema['description']}" if "description" in schema else ""
    return f"Pass {place} as {_type_noun(schema)}{within}{meaning}.".replace("..", ".")


def _range(low: float | None, high: float | None) -> str:
    if high is None:
        return f"of at least {low:,}"
    return f"of at most {high:,}" if low is None else f"from {low:,} to {high:,}"


def _type_noun(schema: Schema) -> str:
    return _NOUNS.get(schema.get("type", ""), "a value")
