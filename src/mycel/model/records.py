"""The canonical record of each element, its natural key, and their hashes.

A record is CBOR, which the journal stores and the state trees commit to. Keys are small integers
and empty fields are left out, so a new edge has exactly the record of the edge specification.
Fields of an edge: 1 type (the predicate's number), 2 source, 3 target (16 bytes each, the start of
the natural key), 4 created at, 5 created by, 6 weight (32-bit float), 7 tombstoned, 8 tombstoned
at, 9 reason, 10 by, 11 data (attributes, as a byte string of CBOR); ours: 12 metadata (likewise),
13 version and 14 updated at (both only after a change). Fields of a concept: 1 type, 2 name, 4, 5,
7 to 14 as above, 15 number (of a type or predicate that the concept defines).

A natural key is what identifies an element in every replica: the SHA-256 of [type, name], or of
[subject key, predicate, object key]. The key of a link comes with its **place**, the first two
bytes of the subject's key, which is not hashed. The key in a state tree begins with the place:
links of one subject are neighbours, and adding several takes little longer than adding one.
"""

from __future__ import annotations

from hashlib import sha256
from math import inf
from struct import Struct
from typing import Any, NamedTuple, TypeVar

from mycel.errors import (
    ConstraintViolation,
    InternalError,
    InvalidValueType,
    ResourceExhausted,
)
from mycel.model import cbor
from mycel.model.elements import Concept, Proposition
from mycel.model.limits import INTEGER_MAX
from mycel.model.names import kind_of
from mycel.model.values import JsonObject, check_object

_single = Struct(">f")

RECORD_ID_BYTES = 16
_KEY_BYTES = 32
_PLACE_BYTES = 2
_MAP_HEADS = tuple(cbor.head(5, fields) for fields in range(24))

CONTENT_HEADS = {"attributes": b"\x0b", "metadata": b"\x0c"}
"""The bytes before attributes and metadata in a record."""


class Tombstone(NamedTuple):
    """The removal of an element: time, actor and reason."""

    at_us: int
    by: str
    reason: str


def concept_key(type_name: str, name: str) -> bytes:
    """The natural key of a concept."""
    return sha256(b"\x82" + cbor.text(type_name) + cbor.text(name)).digest()


def link_key(subject_key: bytes, predicate: str, object_key: bytes) -> bytes:
    """The natural key of a link, and its place."""
    head = b"\x83\x58\x20" + natural_key(subject_key) + cbor.text(predicate)
    hashed = head + b"\x58\x20" + natural_key(object_key)
    return sha256(hashed).digest() + subject_key[:_PLACE_BYTES]


def natural_key(key: bytes) -> bytes:
    """A natural key without the place."""
    return key[:_KEY_BYTES]


def tree_key(key: bytes) -> bytes:
    """The key in a state tree for a natural key: the place of a link comes first."""
    place = key[_KEY_BYTES:]
    return place + key[: _KEY_BYTES - _PLACE_BYTES] if place else key


def record_hash(record: bytes) -> bytes:
    """The hash of a record, as a state tree holds it."""
    return sha256(record).digest()


def record_of(
    concept: Concept, *, tombstone: Tombstone | None = None, number: int | None = None
) -> bytes:
    """The canonical record of a concept as it is, perhaps as a tombstone."""
    return ConceptFields(
        concept.type,
        concept.name,
        concept.attributes,
        concept.metadata,
        concept.created_us,
        concept.created_by,
        concept.version,
        concept.updated_us,
        tombstone,
        number,
    ).encode()


def record_of_link(
    link: Proposition,
    predicate: int,
    subject_key: bytes,
    object_key: bytes,
    tombstone: Tombstone | None = None,
) -> bytes:
    """The canonical record of a link as it is, in this place, perhaps as a tombstone."""
    return EdgeFields(
        predicate,
        subject_key,
        object_key,
        link.attributes,
        link.metadata,
        link.created_us,
        link.created_by,
        link.weight,
        link.version,
        link.updated_us,
        tombstone,
    ).encode()


def with_ends(record: bytes, type_number: int, src: bytes, dst: bytes) -> bytes:
    """The record of an edge with other natural keys of its ends, and otherwise unchanged.

    The two ends are at fixed positions after the type, so nothing has to be decoded.
    """
    at = 2 + len(cbor.uint(type_number))
    ends = b"\x02\x50" + src[:RECORD_ID_BYTES] + b"\x03\x50" + dst[:RECORD_ID_BYTES]
    return record[:at] + ends + record[at + len(ends) :]


class Recorder:
    """Makes the keys and records of the new elements of a transaction; common parts once.

    `content` is the bytes of attributes and metadata in a record; empty if there are none.
    """

    def __init__(self, created_us: int, created_by: str) -> None:
        self._stamp = b"".join(_stamp(created_us, created_by))

    def concept(
        self, type_name: str, name: str, content: tuple[bytes, bytes], number: int | None = None
    ) -> tuple[bytes, bytes]:
        """The natural key and the canonical record of a new concept."""
        type_text, name_text = cbor.text(type_name), cbor.text(name)
        attributes, metadata = content
        fields = 4 + (attributes != b"") + (metadata != b"")
        tail = attributes + metadata
        if number is not None:
            fields += 1
            tail += b"\x0f" + cbor.uint(number)
        record = (_MAP_HEADS[fields], b"\x01", type_text, b"\x02", name_text, self._stamp, tail)
        return sha256(b"\x82" + type_text + name_text).digest(), b"".join(record)

    def edge(
        self,
        predicate: tuple[int, str],
        subject_key: bytes,
        object_key: bytes,
        content: tuple[bytes, bytes],
        weight: float,
    ) -> tuple[bytes, bytes]:
        """The natural key, with the place, and the canonical record of a new edge."""
        predicate_number, name = predicate
        attributes, metadata = content
        record = (
            _MAP_HEADS[5 + (weight != 0) + (attributes != b"") + (metadata != b"")],
            b"\x01" + cbor.uint(predicate_number) + b"\x02\x50",
            subject_key[:RECORD_ID_BYTES],
            b"\x03\x50",
            object_key[:RECORD_ID_BYTES],
            self._stamp,
            b"\x06\xfa" + _single.pack(weight) if weight else b"",
            attributes,
            metadata,
        )
        return link_key(subject_key, name, object_key), b"".join(record)


def _stamp(created_us: int, created_by: str) -> tuple[bytes, bytes]:
    """The time and actor, which all new elements of one transaction share."""
    return b"\x04" + cbor.moment(created_us), b"\x05" + cbor.text(created_by)


def _content_and_version(fields: ConceptFields | EdgeFields) -> list[bytes]:
    """The fields that concepts and edges share, from the tombstone to the time of the version."""
    parts: list[bytes] = []
    tombstone, attributes, metadata = fields.tombstone, fields.attributes, fields.metadata
    if tombstone is not None:
        parts += (b"\x07\xf5", b"\x08" + cbor.moment(tombstone.at_us))
        if tombstone.reason:
            parts.append(b"\x09" + cbor.text(tombstone.reason))
        parts.append(b"\x0a" + cbor.text(tombstone.by))
    if attributes:
        encoded = cbor.byte_string(cbor.encode_object(attributes))
        parts.append(CONTENT_HEADS["attributes"] + encoded)
    if metadata:
        encoded = cbor.byte_string(cbor.encode_object(metadata))
        parts.append(CONTENT_HEADS["metadata"] + encoded)
    if fields.version > 1:
        parts += (
            b"\x0d" + cbor.uint(fields.version),
            b"\x0e" + cbor.moment(fields.updated_us),
        )
    return parts


def record_type(record: bytes) -> str | int:
    """The first field: the name of a concept's type, or the number of an edge's predicate."""
    major, length = record[2] >> 5, record[2] & 31
    width = 1 << (length - 24) if length >= 24 else 0
    begin = 3 + width
    value = int.from_bytes(record[3:begin], "big") if width else length
    return value if major == 0 else record[begin : begin + value].decode()


def is_tombstone(record: bytes) -> bool:
    """True for the record of an element that was removed."""
    # Most records do not contain these bytes, so they are no tombstones and are not decoded.
    return b"\x07\xf5\x08" in record and 7 in _decode_map(record)


class ConceptFields(NamedTuple):
    """The fields of a concept's record."""

    type: str
    name: str
    attributes: JsonObject
    metadata: JsonObject
    created_us: int
    created_by: str
    version: int
    updated_us: int
    tombstone: Tombstone | None
    number: int | None

    def encode(self) -> bytes:
        """The canonical record."""
        parts = [
            b"\x01" + cbor.text(self.type),
            b"\x02" + cbor.text(self.name),
            *_stamp(self.created_us, self.created_by),
            *_content_and_version(self),
        ]
        if self.number is not None:
            parts.append(b"\x0f" + cbor.uint(self.number))
        return _MAP_HEADS[len(parts)] + b"".join(parts)


class EdgeFields(NamedTuple):
    """The fields of an edge's record."""

    type: int
    src: bytes
    dst: bytes
    attributes: JsonObject
    metadata: JsonObject
    created_us: int
    created_by: str
    weight: float
    version: int
    updated_us: int
    tombstone: Tombstone | None

    def encode(self) -> bytes:
        """The canonical record. The ends may be whole natural keys; 16 bytes of each count."""
        parts = [
            b"\x01" + cbor.uint(self.type),
            b"\x02\x50" + self.src[:RECORD_ID_BYTES],
            b"\x03\x50" + self.dst[:RECORD_ID_BYTES],
            *_stamp(self.created_us, self.created_by),
        ]
        if self.weight:
            parts.append(b"\x06\xfa" + _single.pack(self.weight))
        parts += _content_and_version(self)
        return _MAP_HEADS[len(parts)] + b"".join(parts)


def decode_concept(record: bytes) -> ConceptFields:
    """Read a concept's record.

    Raises:
        InvalidValueType: the bytes are no such record, or not in canonical form.
    """
    fields = _decode_map(record)
    try:
        decoded = ConceptFields(
            _text(fields[1]),
            _text(fields[2]),
            *_decode_content(fields),
            cbor.decode_moment(fields[4]),
            _text(fields[5]),
            *_decode_versions(fields),
            _decode_tombstone(fields),
            _natural(fields[15]) if 15 in fields else None,
        )
    except (KeyError, ValueError) as error:
        raise InvalidValueType(
            f"This is no record of a concept: {error!r}.",
            hint="Pass the whole bytes, as Mycel wrote them.",
        ) from None
    return _canonical(decoded, record)


def decode_edge(record: bytes) -> EdgeFields:
    """Read an edge's record.

    Raises:
        InvalidValueType: the bytes are no such record, or not in canonical form.
    """
    fields = _decode_map(record)
    try:
        decoded = EdgeFields(
            _natural(fields[1]),
            _record_id(fields[2]),
            _record_id(fields[3]),
            *_decode_content(fields),
            cbor.decode_moment(fields[4]),
            _text(fields[5]),
            canonical_weight(fields.get(6, 0.0)),
            *_decode_versions(fields),
            _decode_tombstone(fields),
        )
    except (KeyError, ValueError, ConstraintViolation) as error:
        raise InvalidValueType(
            f"This is no record of an edge: {error!r}.",
            hint="Pass the whole bytes, as Mycel wrote them.",
        ) from None
    return _canonical(decoded, record)


_Fields = TypeVar("_Fields", ConceptFields, EdgeFields)


def _canonical(decoded: _Fields, record: bytes) -> _Fields:
    if decoded.encode() != record:
        raise InvalidValueType(
            "This record is not in canonical form.",
            hint="Pass the whole bytes, as Mycel wrote them.",
        )
    return decoded


def _decode_map(record: bytes) -> dict[int, Any]:
    fields = cbor.decode(record)
    if not isinstance(fields, dict):
        raise InvalidValueType(
            f"A record must be a map, not {kind_of(fields)}.",
            hint="Pass the whole bytes, as Mycel wrote them.",
        )
    return fields


def _decode_content(fields: dict[int, Any]) -> tuple[JsonObject, JsonObject]:
    return (
        _decode_object(fields[11], "attributes") if 11 in fields else {},
        _decode_object(fields[12], "metadata") if 12 in fields else {},
    )


def _decode_object(content: object, field: str) -> JsonObject:
    if type(content) is not bytes:
        raise ValueError(f"the {field} are no byte string")
    value = cbor.decode(content)
    if type(value) is not dict:
        raise ValueError(f"the {field} are no object")
    try:
        check_object(value, field)
    except ResourceExhausted as error:
        raise ValueError(error.message) from None
    return value


def _decode_versions(fields: dict[int, Any]) -> tuple[int, int]:
    if 13 not in fields:
        return 1, cbor.decode_moment(fields[4])
    return _natural(fields[13]), cbor.decode_moment(fields[14])


def _decode_tombstone(fields: dict[int, Any]) -> Tombstone | None:
    if 7 not in fields:
        return None
    return Tombstone(
        cbor.decode_moment(fields[8]), _text(fields[10]), _text(fields[9]) if 9 in fields else ""
    )


def _text(value: object) -> str:
    if type(value) is not str:
        raise ValueError(f"{kind_of(value)} where text should be")
    return value


def _natural(value: object) -> int:
    if type(value) is not int or not 0 <= value <= INTEGER_MAX:
        raise ValueError(f"{kind_of(value)} where a natural number of 63 bits should be")
    return value


def _record_id(value: object) -> bytes:
    if type(value) is not bytes or len(value) != RECORD_ID_BYTES:
        raise ValueError(f"{kind_of(value)} where an id of 16 bytes should be")
    return value


def canonical_weight(weight: object) -> float:
    """A weight as it is stored: the shortest decimal for the same 32-bit float.

    0.9 thus stays 0.9, and the 32 bits in the record are exact.

    Raises:
        InvalidValueType: the weight is no number.
        ConstraintViolation: the weight, a traversal cost, is not from 0 to 1.
    """
    if weight.__class__ is not float:
        if not isinstance(weight, (int, float)) or isinstance(weight, bool):
            raise InvalidValueType(f"A weight must be a number, not {kind_of(weight)}.")
        weight = _as_float(weight)
    if weight in _COMMON_WEIGHTS:
        return weight + 0.0  # Turns -0.0 into 0.0.
    if not 0.0 <= weight <= 1.0:
        raise ConstraintViolation(
            f"The weight {weight} is not between 0 and 1.",
            hint="A weight is a traversal cost: an element at weight 0 comes along for free, 1"
            " is the usual cost.",
        )
    packed = _single.pack(weight)
    stored: float = _single.unpack(packed)[0]
    for digits in (6, 7, 8, 9):
        shortest = float(f"{stored:.{digits}g}")
        if _single.pack(shortest) == packed:
            return shortest
    raise InternalError(f"No decimal means the 32-bit float {stored!r}.")


def _as_float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:  # An integer beyond any float is beyond 1, or below 0, as well.
        return inf if number > 0 else -inf


_COMMON_WEIGHTS = frozenset((0.0, 0.25, 0.5, 0.75, 1.0))
