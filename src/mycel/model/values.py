"""JSON values: checked on the way in, stored as one canonical text (KIP §2.7).

Attributes and metadata are JSON objects. Values that JSON cannot represent exactly are refused
rather than changed: NaN, infinities, lone surrogates, integers beyond 64 bits, keys that are no
strings, and values of any other type than Python's own types for JSON. An enumeration member, a
numpy number or an `OrderedDict` inside would be read back as another type, although `orjson` would
write each of them; the caller has to convert them. There are three exceptions: a tuple is an array,
a `datetime` or `date` is its text in ISO 8601 (in UTC), and the outermost object may be any
`Mapping`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from math import isfinite
from operator import is_
from typing import Any

import orjson

from mycel.errors import ConstraintViolation, InvalidValueType, ResourceExhausted
from mycel.model.limits import (
    INTEGER_MIN,
    JSON_BYTES_MAX,
    JSON_DEPTH_MAX,
    JSON_INTEGER_MAX,
    KEY_BYTES_MAX,
)
from mycel.model.names import kind_of, shorten
from mycel.model.times import iso_text

JsonObject = dict[str, Any]

EMPTY_OBJECT = "{}"

_TOO_LARGE_HINT = "Keep large content outside and store a reference to it."
_KEY_CHARACTERS_SAFE = KEY_BYTES_MAX // 4
_CONTAINERS = frozenset((dict, list, tuple))
_NUL_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def object_text(value: Mapping[str, Any], label: str) -> str:
    """The canonical JSON text of an attribute or metadata object: sorted keys, no white space.

    Raises:
        InvalidValueType: something in it is no JSON value.
        ResourceExhausted: the object nests too deep or is too large.
    """
    if value.__class__ is not dict:
        if not isinstance(value, Mapping):
            raise InvalidValueType(f"The {label} must be an object, not {kind_of(value)}.")
        value = dict(value)
    if not value:
        return EMPTY_OBJECT
    value = json_object(value, label)
    try:
        text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as error:
        raise unwritable(value, label, error) from None
    if len(text) > JSON_BYTES_MAX:
        raise ResourceExhausted(
            f"The {label} have {len(text)} bytes; at most {JSON_BYTES_MAX} are allowed.",
            hint=_TOO_LARGE_HINT,
        )
    return text.decode()


def has_nul(document: str) -> bool:
    """True if a key or text of a JSON document holds the character U+0000.

    JSON writes it as an escape. With another backslash before it, the escape is only a part of a
    text.
    """
    return "\\u0000" in document and _NUL_ESCAPE.search(document) is not None


def unwritable(value: JsonObject, label: str, error: Exception) -> InvalidValueType:
    """The error for a value that only orjson's writer refuses: usually a lone surrogate."""
    if "surrogate" not in str(error):
        return InvalidValueType(f"The {label} cannot be written as JSON: {error}.")
    for key, item in value.items():
        try:
            orjson.dumps({key: item})
        except orjson.JSONEncodeError:
            break
    return InvalidValueType(
        f"The {label} hold a lone surrogate at {shorten(ascii(key))}, which is no character.",
        hint="It is one half of a character whose other half was lost, as when a text is cut in the"
        " middle. Write the whole character, or leave it out.",
    )


def parse_object(text: str) -> JsonObject:
    """The object of a text that `object_text` made."""
    if text == EMPTY_OBJECT:
        return {}
    parsed: JsonObject = orjson.loads(text)
    return parsed


def check_metadata_keys(keys: Iterable[object]) -> None:
    """Refuse keys that belong to the engine: those that start with an underscore."""
    for key in keys:
        if isinstance(key, str) and key.startswith("_"):
            raise ConstraintViolation(
                f"The metadata key {shorten(key)!r} is reserved.",
                hint="Keys that start with an underscore are written by the engine alone.",
            )


def own_metadata(metadata: Mapping[str, Any]) -> JsonObject:
    """Metadata without the keys that the engine writes."""
    return {key: value for key, value in metadata.items() if not key.startswith("_")}


def json_object(value: JsonObject, label: str) -> JsonObject:
    """The object if it holds JSON values alone; otherwise a copy with times as texts.

    Times are searched for only if the object holds other values than JSON.

    Raises:
        InvalidValueType: the object holds a value that is neither JSON nor a time.
        ResourceExhausted: the object nests too deep or is too large.
    """
    try:
        check_object(value, label)
    except InvalidValueType:
        copy: JsonObject = with_times_as_text(value)
        if copy is value:
            raise
        check_object(copy, label)
        return copy
    return value


def with_times_as_text(value: Any, converted: dict[int, Any] | None = None, depth: int = 0) -> Any:
    """The value with each `datetime` and `date` in it as ISO 8601, in UTC with a Z.

    An array may be referenced many times: `converted` has the containers that were converted, by
    identity.

    Raises:
        InvalidValueType: a time is not within the years 1 to 9999 in UTC.
    """
    kind = value.__class__
    if kind is datetime or kind is date:
        try:
            return iso_text(value)
        except OverflowError:
            raise InvalidValueType(
                f"{value} is not within the years 1 to 9999 in UTC.",
                hint="Choose a time within these years.",
            ) from None
    if kind not in _CONTAINERS or depth > JSON_DEPTH_MAX:
        return value  # A value that nests too deep is refused later.
    converted = {} if converted is None else converted
    if id(value) not in converted:
        inner = value.values() if kind is dict else value
        items = [with_times_as_text(item, converted, depth + 1) for item in inner]
        if all(map(is_, items, inner)):
            converted[id(value)] = value
        else:
            converted[id(value)] = (
                items if kind is not dict else dict(zip(value, items, strict=True))
            )
    return converted[id(value)]


def check_object(value: dict[Any, Any], label: str) -> None:
    """Refuse an object that holds anything but JSON values, nests too deep or is plainly too large.

    The check goes level by level; each level is the arrays and objects of the level above. Lone
    surrogates in short keys and in values are left to the JSON writer, which reads every character
    anyway.

    Raises:
        InvalidValueType: something in it is no JSON value.
        ResourceExhausted: the object nests too deep or is too large.
    """
    level = _check_items(value, label)
    items = len(value)
    for _ in range(JSON_DEPTH_MAX - 1):
        if not level:
            return
        below: list[Any] = []
        for container in level:
            # An item takes at least two bytes. An array that is referenced many times can stand for
            # more items than fit into memory, so they are counted before they are visited.
            items += len(container)
            if 2 * items > JSON_BYTES_MAX:
                raise ResourceExhausted(
                    f"The {label} have more than {JSON_BYTES_MAX} bytes.", hint=_TOO_LARGE_HINT
                )
            below += _check_items(container, label)
        level = below
    if level:
        raise ResourceExhausted(
            f"The {label} nest deeper than {JSON_DEPTH_MAX} levels.",
            hint="Split deep structures into linked concepts.",
        )


def _check_items(container: Any, label: str) -> list[Any]:
    """Check the direct items of an object or array; return the containers among them."""
    nested = []
    values: Iterable[Any] = container
    if type(container) is dict:
        for key in container:
            if type(key) is not str or len(key) > _KEY_CHARACTERS_SAFE:
                _check_key(key, label)
        values = container.values()
    for item in values:
        kind = type(item)
        if kind is str or kind is bool or item is None:
            continue
        if kind is int:
            if not INTEGER_MIN <= item <= JSON_INTEGER_MAX:
                where = _place_of(item, container)
                raise InvalidValueType(
                    f"The {label} hold an integer beyond 64 bits at {where}.",
                    hint="Write it as a text.",
                )
        elif kind is float:
            if not isfinite(item):
                where = _place_of(item, container)
                raise InvalidValueType(
                    f"The {label} hold {item} at {where}, which is no JSON number."
                )
        elif kind in _CONTAINERS:
            nested.append(item)
        else:
            where = _place_of(item, container)
            raise InvalidValueType(
                f"The {label} hold {kind_of(item)} at {where}, which is no JSON value.",
                hint="Convert it to a plain str, int, float, bool, None, list or dict first.",
            )
    return nested


def _place_of(item: object, container: Any) -> str:
    """The key or index of an item, for a message."""
    places = container.items() if type(container) is dict else enumerate(container)
    place = next(place for place, member in places if member is item)
    return repr(shorten(place)) if isinstance(place, str) else f"index {place}"


def _check_key(key: object, label: str) -> None:
    if type(key) is not str:
        raise InvalidValueType(
            f"The {label} have a key that is {kind_of(key)}, not a plain string."
        )
    try:
        size = len(key.encode())
    except UnicodeEncodeError:
        raise InvalidValueType(f"A key of the {label} holds a lone surrogate.") from None
    if size > KEY_BYTES_MAX:
        raise ResourceExhausted(
            f"A key of the {label} has {size} bytes; at most {KEY_BYTES_MAX} are allowed.",
            hint="Shorten the key.",
        )
