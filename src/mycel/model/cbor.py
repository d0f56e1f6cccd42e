"""Canonical CBOR (RFC 8949 §4.2.1): the bytes that are hashed, journaled and proven.

`cbor2` writes and reads values. The functions for heads serve the records, whose shape is fixed:
joining a record from parts takes 1.5 µs, encoding it as a map with `cbor2` 6 µs, and a bulk load
needs a record for every row.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from decimal import Decimal
from math import isfinite
from operator import itemgetter
from typing import Any, NoReturn

import cbor2

from mycel.errors import InternalError, InvalidValueType
from mycel.model.limits import INTEGER_MAX, INTEGER_MIN, JSON_INTEGER_MAX

_pack_16, _pack_32, _pack_64 = (struct.Struct(layout).pack for layout in (">BH", ">BI", ">BQ"))
_pack_double = struct.Struct(">d").pack

_UINTS = tuple(bytes((n,)) for n in range(24)) + tuple(bytes((0x18, n)) for n in range(24, 256))
_MAP_HEADS = tuple(bytes((0xA0 | n,)) for n in range(24))
_FLAT_KEYS_MAX = 23
_KEY_CHARACTERS_MAX = 255
_SHAPES_REMEMBERED_MAX = 1024
_SHAPES: dict[tuple[str, ...], tuple[tuple[str, bytes], ...]] = {}
"""A cache of the keys of objects, ordered and encoded: objects of a graph share their keys."""
_ZEROS = bytes(3)
_SIMPLE = {False: b"\xf4", True: b"\xf5", None: b"\xf6"}

_BYTE_HEADS, _TEXT_HEADS = (
    tuple(bytes((tag | n,)) for n in range(24))
    + tuple(bytes((tag | 24, n)) for n in range(24, 256))
    for tag in (0x40, 0x60)
)


def head(major: int, argument: int) -> bytes:
    """The shortest head of a data item."""
    tag = major << 5
    try:
        if argument >= 1 << 32:
            return _pack_64(tag | 27, argument)
        if argument >= 1 << 16:
            return _pack_32(tag | 26, argument)
        if argument >= 1 << 8:
            return _pack_16(tag | 25, argument)
        return bytes((tag | argument,) if 0 <= argument < 24 else (tag | 24, argument))
    except (struct.error, ValueError):
        raise InternalError(f"{argument} does not fit a CBOR head.") from None


def uint(number: int) -> bytes:
    """A non-negative integer."""
    return _UINTS[number] if 0 <= number < 256 else head(0, number)


def text(string: str) -> bytes:
    encoded = string.encode()
    size = len(encoded)
    return (_TEXT_HEADS[size] if size < 256 else head(3, size)) + encoded


def byte_string(content: bytes) -> bytes:
    size = len(content)
    return (_BYTE_HEADS[size] if size < 256 else head(2, size)) + content


def moment(microseconds: int) -> bytes:
    """A time: whole seconds as an integer, anything finer as a decimal fraction (tag 4)."""
    if microseconds % 1_000_000 or microseconds < 0:
        return b"\xc4\x82\x25" + integer(microseconds)
    return uint(microseconds // 1_000_000)


def integer(number: int) -> bytes:
    """An integer of either sign."""
    return head(0, number) if number >= 0 else head(1, -1 - number)


def encode(value: Any) -> bytes:
    """Any JSON value (or bytes) in canonical form."""
    encoded: bytes = cbor2.dumps(value, canonical=True)
    return encoded


def _refuse_sharing(*_: Any) -> NoReturn:
    raise ValueError("parts must not refer to one another")


_SHARING_TAGS = dict.fromkeys((25, 28, 29, 256), _refuse_sharing)
"""Tags with which a few bytes can encode an endless value, or one too large for memory."""


def encode_object(value: Mapping[str, Any]) -> bytes:
    """An object in canonical form, like `encode`; three times as fast for most objects."""
    return flat_object(value) or encode(value)


def flat_object(value: Mapping[str, Any]) -> bytes | None:
    """An object in canonical form, if it is small and holds nothing but plain JSON scalars.

    Returns None for other objects, and for values that are no JSON, so a result needs no further
    check. Most objects are flat, and a bulk load brings millions. Keys are in the order of their
    encoding, shorter keys first; the order is cached for objects with the same keys.
    """
    shape = tuple(value)
    names = _SHAPES.get(shape)
    if names is None:
        names = _shape(shape)
        if names is None:
            return None
    parts = [_MAP_HEADS[len(shape)]]
    for key, name in names:
        item = value[key]
        kind = item.__class__
        if kind is str:
            try:
                encoded = item.encode()
            except UnicodeEncodeError:
                return None
            size = len(encoded)
            parts += (name, _TEXT_HEADS[size] if size < 256 else head(3, size), encoded)
        elif kind is float:
            if not isfinite(item):
                return None
            double = _pack_double(item)
            if double[5:] != _ZEROS:  # A shorter float would not be exact.
                parts += (name, b"\xfb", double)
            else:
                parts += (name, encode(item))
        elif kind is int:
            if not INTEGER_MIN <= item <= JSON_INTEGER_MAX:
                return None
            parts += (name, _UINTS[item] if 0 <= item < 256 else integer(item))
        elif kind is bool or item is None:
            parts += (name, _SIMPLE[item])
        else:
            return None
    return b"".join(parts)


def _shape(keys: tuple[Any, ...]) -> tuple[tuple[str, bytes], ...] | None:
    """Keys with their encodings, sorted by these; None if there are too many.

    Also None if a key is no short ASCII text.
    """
    if len(keys) > _FLAT_KEYS_MAX or any(
        type(key) is not str or len(key) > _KEY_CHARACTERS_MAX or not key.isascii() for key in keys
    ):
        return None
    if len(_SHAPES) >= _SHAPES_REMEMBERED_MAX:
        _SHAPES.clear()
    names = sorted(((key, text(key)) for key in keys), key=itemgetter(1))
    _SHAPES[keys] = shape = tuple(names)
    return shape


def decode(content: bytes) -> Any:
    """The value of the CBOR item at the start.

    The item need not be canonical, and bytes after it are ignored. Readers of records and proofs
    encode the value again and compare the bytes.

    Raises:
        InvalidValueType: the bytes are no CBOR.
    """
    try:
        return cbor2.loads(content, semantic_decoders=_SHARING_TAGS)
    except (cbor2.CBORDecodeError, TypeError, ValueError, RecursionError) as error:
        raise InvalidValueType(
            f"These bytes are no CBOR: {error}.", hint="Pass the whole bytes, as Mycel wrote them."
        ) from None


def decode_moment(value: object) -> int:
    """The microseconds of a time that `moment` wrote; `cbor2` reads fractions as `Decimal`.

    Raises:
        ValueError: `moment` does not write such a value.
    """
    microseconds = None
    if type(value) is int:
        microseconds = value * 1_000_000
    elif isinstance(value, Decimal) and value.as_tuple().exponent == -6:
        microseconds = int(value * 1_000_000)
    if microseconds is None or not INTEGER_MIN <= microseconds <= INTEGER_MAX:
        raise ValueError("no time in seconds, or in microseconds as a decimal fraction")
    return microseconds
