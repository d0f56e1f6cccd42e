"""Reads JSON from outside so that nothing in it is lost or changed.

Every door reads foreign JSON with `read_json`: rows of files, bodies and messages over HTTP and
MCP, arguments of the command line. This module decides what JSON leaves open:

- A duplicate key in an object is refused. Most readers silently keep the last value.
- NaN and Infinity are refused.
- Whole numbers of any length are exact. The caller decides which numbers are too large.

orjson reads several times as fast as Python's own reader, but keeps the last of two equal keys and
rounds integers beyond 64 bits. The text is therefore read by orjson and then compared with the
result: outside of strings a colon follows each key and nothing else, so a text has more colons than
the same value written again if, and only if, a key was lost. Texts that may have lost a key, and
texts with very long numbers, are read a second time, by Python.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import orjson

from mycel.errors import InvalidSyntax, ResourceExhausted
from mycel.model.names import shorten

_ZEROS: Final = bytes.maketrans(b"123456789", b"0" * 9)
_MANY_DIGITS: Final = b"0" * 19
"""Numbers with fewer digits fit into 64 bits."""
_DIGITS: Final = re.compile(b"0+")
_STRING: Final = re.compile(rb'"[^"]*+(?:"|\Z)')
"""A string without escapes."""
CONTAINERS_MAX: Final = 100_000
"""The maximum number of lists and objects in the JSON of one request.

In memory, an empty one takes thirty times its text.
"""
VALUES_MAX: Final = 500_000
"""The maximum number of values in the JSON of one request."""
_ESCAPED_COLON: Final = b"\\u003"


def read_json(text: bytes | str) -> Any:
    """The value of a JSON text.

    >>> read_json('{"a": [1, 2.5]}')
    {'a': [1, 2.5]}

    Raises:
        ValueError: the text is no JSON, or no UTF-8. The error is a `json.JSONDecodeError`, which
            has the place.
        InvalidSyntax: an object has a duplicate key.
    """
    value = orjson.loads(text)
    data = text.encode() if isinstance(text, str) else text
    if _has_long_integer(data) or not _has_all_keys(value, data):
        return _read_slowly(data)
    return value


def read_request(text: bytes) -> Any:
    """`read_json` for the text of a client, whose number of values is limited.

    Raises:
        ValueError, InvalidSyntax: as above.
        ResourceExhausted: the value has too many values.
    """
    if _containers(text) > CONTAINERS_MAX or text.count(b",") >= VALUES_MAX:
        bare = _STRING.sub(b"", text.replace(rb"\\", b"").replace(rb"\"", b""))
        if _containers(bare) > CONTAINERS_MAX or bare.count(b",") >= VALUES_MAX:
            raise ResourceExhausted(
                f"The JSON has more than {CONTAINERS_MAX} lists and objects, or {VALUES_MAX}"
                " values.",
                hint="Send it in several requests.",
            )
    return read_json(text)


def _containers(text: bytes) -> int:
    return text.count(b"[") + text.count(b"{")


def _has_long_integer(text: bytes) -> bool:
    """True if there may be a whole number of more digits than 64 bits always hold."""
    digits = text.translate(_ZEROS)
    at = digits.find(_MANY_DIGITS)
    while at >= 0:
        if text[at - 1 : at] != b".":
            return True
        run = _DIGITS.match(digits, at)  # These are the digits of a fraction.
        at = digits.find(_MANY_DIGITS, at if run is None else run.end())
    return False


def _has_all_keys(value: Any, text: bytes) -> bool:
    """True if it is certain that no key of the text was lost."""
    colons = text.count(b":")
    if value.__class__ is dict:
        keys = len(value)
        for member in value.values():
            if member.__class__ is dict:
                keys += len(member)
        if keys == colons:
            return True
    try:
        return orjson.dumps(value).count(b":") == colons and _ESCAPED_COLON not in text
    except orjson.JSONEncodeError:  # The value nests deeper than orjson can write.
        return False


def _read_slowly(text: bytes) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_without_twins)
    except RecursionError:
        raise json.JSONDecodeError("It nests too deep", text.decode(), 0) from None


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise InvalidSyntax(
                    f"The key {shorten(name)!r} is repeated in one object.",
                    hint="Send each key once.",
                    data={"key": shorten(name)},
                )
            seen.add(name)
    return members
