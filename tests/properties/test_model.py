"""What holds for every value, record, id, name and time.

`naive_cbor` is RFC 8949 section 4.2.1 written out for JSON values; it shares nothing with the
product, nor with `cbor2`.
"""

import json
import math
import struct
from decimal import Decimal
from hashlib import sha256
from typing import Any

import cbor2
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from mycel.errors import InvalidId, InvalidSyntax, InvalidValueType, MycelError
from mycel.model import cbor, ids, names, times
from mycel.model.records import (
    ConceptFields,
    EdgeFields,
    Tombstone,
    canonical_weight,
    concept_key,
    decode_concept,
    decode_edge,
    link_key,
    tree_key,
)
from mycel.model.values import check_object, object_text, parse_object

SIGNED_64 = st.integers(-(2**63), 2**63 - 1)
NUMBERS = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=30), inner, max_size=4)
    ),
    max_leaves=10,
)
OBJECTS = st.dictionaries(st.text(max_size=30), JSON, max_size=4)
# Anything a caller in Python could put there, and much that `orjson` or `cbor2` would take.
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=5)
    | st.binary(max_size=5)
    | st.datetimes()
    | st.uuids()
    | st.decimals()
    | st.fractions()
    | st.complex_numbers(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers() | st.none(), inner, max_size=4)
        | st.sets(st.integers(), max_size=3)
    ),
    max_leaves=8,
)

TIMES = st.one_of(
    st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999),
    st.integers(-10, 4_000_000_000).map(lambda second: second * 1_000_000),
)
WEIGHTS = st.floats(0, 1) | st.floats(0, 1, width=32) | st.integers(0, 1000).map(lambda n: n / 1000)
TEXTS = st.text(max_size=40)
TOMBSTONES = st.none() | st.builds(Tombstone, TIMES, TEXTS, TEXTS)
VERSIONS = st.integers(1, 300) | st.integers(1, 2**63 - 1)


@st.composite
def concepts(draw: st.DrawFn) -> ConceptFields:
    created, version = draw(TIMES), draw(VERSIONS)
    return ConceptFields(
        type=draw(TEXTS),
        name=draw(TEXTS),
        attributes=draw(OBJECTS),
        metadata=draw(OBJECTS),
        created_us=created,
        created_by=draw(TEXTS),
        version=version,
        updated_us=draw(TIMES) if version > 1 else created,
        tombstone=draw(TOMBSTONES),
        number=draw(st.none() | st.integers(0, 70_000)),
    )


@st.composite
def edges(draw: st.DrawFn) -> EdgeFields:
    created, version = draw(TIMES), draw(VERSIONS)
    return EdgeFields(
        type=draw(st.integers(0, 70_000)),
        src=draw(st.binary(min_size=16, max_size=16)),
        dst=draw(st.binary(min_size=16, max_size=16)),
        attributes=draw(OBJECTS),
        metadata=draw(OBJECTS),
        created_us=created,
        created_by=draw(TEXTS),
        weight=canonical_weight(draw(WEIGHTS)),
        version=version,
        updated_us=draw(TIMES) if version > 1 else created,
        tombstone=draw(TOMBSTONES),
    )


def typed(value: Any) -> Any:
    """The value so that 1, 1.0 and True differ, and 0.0 and -0.0 as well."""
    match value:
        case dict():
            return {key: typed(item) for key, item in value.items()}
        case list() | tuple():
            return [typed(item) for item in value]
        case _:
            return (type(value).__name__, repr(value))


def reordered(value: Any) -> Any:
    """The same value with the keys of every object the other way around."""
    match value:
        case dict():
            return {key: reordered(value[key]) for key in reversed(value)}
        case list():
            return [reordered(item) for item in value]
        case _:
            return value


def naive_head(major: int, argument: int) -> bytes:
    if argument < 24:
        return bytes([major * 32 + argument])
    size = next(size for size in (1, 2, 4, 8) if argument < 256**size)
    return bytes([major * 32 + {1: 24, 2: 25, 4: 26, 8: 27}[size]]) + argument.to_bytes(size)


class Single(float):
    """A float that is written with 32 bits, whatever it loses or wastes."""


def naive_cbor(value: Any) -> bytes:
    match value:
        case Single():
            return b"\xfa" + struct.pack(">f", value)
        case None | True | False:
            return {None: b"\xf6", True: b"\xf5", False: b"\xf4"}[value]
        case int():
            return naive_head(0, value) if value >= 0 else naive_head(1, -1 - value)
        case float():
            return naive_float(value)
        case str():
            return naive_head(3, len(value.encode())) + value.encode()
        case bytes():
            return naive_head(2, len(value)) + value
        case list() | tuple():
            return naive_head(4, len(value)) + b"".join(map(naive_cbor, value))
        case Decimal():
            mantissa = int(value.scaleb(6))
            return b"\xc4\x82\x25" + naive_cbor(mantissa)
        case _:
            pairs = sorted((naive_cbor(key), naive_cbor(item)) for key, item in value.items())
            return naive_head(5, len(value)) + b"".join(key + item for key, item in pairs)


def naive_float(value: float) -> bytes:
    """The shortest of the three widths that keeps the value."""
    for tag, code in ((b"\xf9", ">e"), (b"\xfa", ">f")):
        try:
            packed = struct.pack(code, value)
        except OverflowError:
            continue
        if struct.unpack(code, packed)[0] == value:
            return tag + packed
    return b"\xfb" + struct.pack(">d", value)


def seconds(microseconds: int) -> int | Decimal:
    if microseconds >= 0 and microseconds % 1_000_000 == 0:
        return microseconds // 1_000_000
    return Decimal(microseconds).scaleb(-6)


def common_fields(fields: ConceptFields | EdgeFields, dumps: Any) -> dict[int, Any]:
    shared: dict[int, Any] = {4: seconds(fields.created_us), 5: fields.created_by}
    if stone := fields.tombstone:
        shared |= {7: True, 8: seconds(stone.at_us), 10: stone.by}
        shared |= {9: stone.reason} if stone.reason else {}
    shared |= {11: dumps(fields.attributes)} if fields.attributes else {}
    shared |= {12: dumps(fields.metadata)} if fields.metadata else {}
    if fields.version > 1:
        shared |= {13: fields.version, 14: seconds(fields.updated_us)}
    return shared


def concept_fields(fields: ConceptFields, dumps: Any) -> dict[int, Any]:
    number = {} if fields.number is None else {15: fields.number}
    return {1: fields.type, 2: fields.name} | common_fields(fields, dumps) | number


def edge_fields(fields: EdgeFields, dumps: Any) -> dict[int, Any]:
    """The map of an edge, without its weight."""
    return {1: fields.type, 2: fields.src, 3: fields.dst} | common_fields(fields, dumps)


def canonical(value: Any) -> bytes:
    return cbor2.dumps(value, canonical=True)


# ---------------------------------------------------------------------------------------------
# Values


@given(OBJECTS)
def test_an_object_comes_back_from_its_text_as_it_was(value: dict[str, Any]) -> None:
    text = object_text(value, "attributes")
    assert typed(parse_object(text)) == typed(value)
    assert object_text(parse_object(text), "attributes") == text
    assert typed(json.loads(text)) == typed(value)


@given(OBJECTS)
def test_the_order_of_keys_does_not_change_the_text(value: dict[str, Any]) -> None:
    assert object_text(reordered(value), "attributes") == object_text(value, "attributes")


@given(st.dictionaries(TEXTS, st.text() | SIGNED_64 | st.dictionaries(TEXTS, TEXTS), max_size=6))
def test_keys_are_sorted_by_code_point_at_every_level(value: dict[str, Any]) -> None:
    def keys_are_sorted(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert [key for key, _ in pairs] == sorted(key for key, _ in pairs)
        return dict(pairs)

    text = object_text(value, "attributes")
    assert json.loads(text, object_pairs_hook=keys_are_sorted) == value


@given(st.dictionaries(st.text(max_size=3) | st.integers(), ANYTHING, max_size=3))
@example({"a": [1, (2, {"b": 3})]})
def test_whatever_is_given_is_kept_faithfully_or_refused(value: dict[Any, Any]) -> None:
    try:
        text = object_text(value, "attributes")
    except MycelError:
        return
    # Tuples are arrays; nothing else may have changed on the way.
    assert typed(parse_object(text)) == typed(value)


@given(st.dictionaries(st.text(max_size=3) | st.integers(), ANYTHING, max_size=3))
def test_checking_and_writing_refuse_the_same_but_for_surrogates(value: dict[Any, Any]) -> None:
    def outcome(act: Any) -> type[MycelError] | None:
        try:
            act(value, "attributes")
        except MycelError as error:
            return None if "surrogate" in error.message else type(error)
        return None

    assert outcome(check_object) == outcome(object_text)


# ---------------------------------------------------------------------------------------------
# CBOR and records


@given(JSON | st.binary(max_size=300) | st.text(min_size=20, max_size=300))
def test_a_value_has_the_canonical_cbor_of_the_rfc(value: Any) -> None:
    assert cbor.encode(value) == naive_cbor(value)
    assert typed(cbor.decode(naive_cbor(value))) == typed(value)


@given(
    OBJECTS
    | st.dictionaries(TEXTS, NUMBERS | st.floats(-60000, 60000, width=16) | TEXTS, max_size=30)
)
def test_an_object_has_the_canonical_cbor_of_the_rfc(value: dict[str, Any]) -> None:
    assert cbor.encode_object(value) == naive_cbor(value)


@given(st.integers(-(2**64), 2**64 - 1))
def test_every_integer_of_a_head_is_that_of_cbor2(number: int) -> None:
    assert cbor.integer(number) == cbor2.dumps(number)


@given(st.text(max_size=30), st.integers(1, 15) | st.sampled_from([255, 256, 65535, 65536]))
def test_every_text_and_byte_string_is_that_of_cbor2(part: str, times_over: int) -> None:
    string = part * times_over
    assert cbor.text(string) == cbor2.dumps(string)
    assert cbor.byte_string(string.encode()) == cbor2.dumps(string.encode())


@given(TIMES | SIGNED_64)
def test_every_time_survives_cbor_to_the_microsecond(microseconds: int) -> None:
    encoded = cbor.moment(microseconds)
    assert encoded == naive_cbor(seconds(microseconds))
    assert cbor.decode_moment(cbor.decode(encoded)) == microseconds


@given(concepts())
def test_a_concept_is_the_canonical_map_of_its_fields_and_is_read_back(
    fields: ConceptFields,
) -> None:
    record = fields.encode()
    assert record == naive_cbor(concept_fields(fields, naive_cbor))
    assert record == canonical(concept_fields(fields, canonical))
    assert typed(decode_concept(record)) == typed(fields)


@given(edges())
def test_an_edge_is_the_canonical_map_of_its_fields_and_is_read_back(fields: EdgeFields) -> None:
    record = fields.encode()
    assert typed(decode_edge(record)) == typed(fields)
    weight = {6: Single(fields.weight)} if fields.weight else {}
    assert record == naive_cbor(edge_fields(fields, naive_cbor) | weight)
    # The one departure from `cbor2`: a weight has 32 bits also where 16 would do.
    single = struct.unpack(">f", struct.pack(">f", fields.weight))[0]
    if not fields.weight or len(naive_float(single)) == 5:
        assert record == canonical(
            edge_fields(fields, canonical) | ({6: single} if fields.weight else {})
        )


@given(edges(), st.sampled_from(["flip", "cut", "add", "insert", "drop"]), st.data())
def test_changed_bytes_are_refused_or_are_the_one_record_of_something_else(
    fields: EdgeFields, change: str, data: st.DataObject
) -> None:
    record = fields.encode()
    at = data.draw(st.integers(0, len(record) - 1), label="at")
    some = data.draw(st.binary(min_size=1, max_size=3), label="some")
    changed = {
        "flip": record[:at] + bytes([record[at] ^ some[0]]) + record[at + 1 :],
        "cut": record[:at],
        "add": record + some,
        "insert": record[:at] + some + record[at:],
        "drop": record[:at] + record[at + 1 :],
    }[change]
    assume(changed != record)
    try:
        decoded = decode_edge(changed)
    except InvalidValueType:
        return
    assert decoded.encode() == changed
    assert typed(decoded) != typed(fields)


@given(st.dictionaries(st.integers(0, 16), ANYTHING | JSON.map(naive_cbor), max_size=8))
def test_any_other_map_is_no_record_and_raises_nothing_else(fields: dict[int, Any]) -> None:
    try:
        content = cbor2.dumps(fields, canonical=True)
    except (cbor2.CBOREncodeError, ValueError, TypeError, OverflowError):
        assume(False)
    for decode in (decode_concept, decode_edge):
        with pytest.raises(InvalidValueType):
            decode(content)


@given(edges() | concepts(), st.integers(1, 16), ANYTHING | JSON.map(naive_cbor))
def test_a_record_with_one_field_replaced_raises_nothing_else(
    fields: EdgeFields | ConceptFields, number: int, value: Any
) -> None:
    try:
        content = canonical(cbor2.loads(fields.encode()) | {number: value})
    except (cbor2.CBOREncodeError, ValueError, TypeError, OverflowError):
        assume(False)
    decode = decode_edge if isinstance(fields, EdgeFields) else decode_concept
    try:
        decoded = decode(content)
    except InvalidValueType:
        return
    assert decoded.encode() == content
    object_text(decoded.attributes, "attributes")
    object_text(decoded.metadata, "metadata")


@given(st.binary(max_size=60))
def test_random_bytes_are_refused_and_raise_nothing_else(content: bytes) -> None:
    for decode in (decode_concept, decode_edge):
        with pytest.raises(InvalidValueType):
            decode(content)
    try:
        cbor.decode(content)
    except InvalidValueType:
        return


@given(TEXTS, TEXTS, TEXTS, TEXTS, TEXTS)
def test_natural_keys_are_hashes_of_canonical_arrays(
    type_name: str, name: str, predicate: str, other_type: str, other_name: str
) -> None:
    subject, object_ = concept_key(type_name, name), concept_key(other_type, other_name)
    assert subject == sha256(naive_cbor([type_name, name])).digest()
    link = link_key(subject, predicate, object_)
    hashed = sha256(canonical([subject, predicate, object_])).digest()
    assert link == hashed + subject[:2]
    assert tree_key(link) == subject[:2] + hashed[:30]


@given(WEIGHTS)
def test_a_weight_is_kept_to_its_32_bits_and_keeping_it_again_changes_nothing(
    weight: float,
) -> None:
    kept = canonical_weight(weight)
    assert 0 <= kept <= 1
    assert math.copysign(1, kept) == 1
    assert struct.pack(">f", kept) == struct.pack(">f", abs(weight))
    assert repr(canonical_weight(kept)) == repr(kept)
    # What the record's 32 bits say, read back, is the same decimal.
    assert canonical_weight(struct.unpack(">f", struct.pack(">f", kept))[0]) == kept


@given(st.integers(0, 10**6), st.integers(0, 6))
def test_a_weight_of_up_to_six_digits_stays_as_it_was_written(digits: int, places: int) -> None:
    weight = digits / 10**places
    assume(weight <= 1)
    assert repr(canonical_weight(weight)) == repr(weight)


# ---------------------------------------------------------------------------------------------
# Ids, names, times


@given(st.integers(1, 2**63 - 1), st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_]{0,20}\Z"))
def test_an_id_is_read_as_the_number_it_was_made_of(number: int, predicate: str) -> None:
    if ids.is_concept(number):
        assert ids.parse_id(ids.concept_id(number)) == number
    else:
        assert ids.parse_id(ids.link_id(number, predicate)) == number
    assert names.check_identifier(predicate, "predicate") == predicate


@given(
    st.text(st.characters(), max_size=30)
    | st.text("CP:0123456789treats_$ \n", max_size=30)
    | ANYTHING
)
def test_whatever_is_read_as_an_id_is_written_the_same(value: Any) -> None:
    try:
        number = ids.parse_id(value)
    except InvalidId:
        return
    predicate = value.partition(":")[2].partition(":")[2]
    is_concept = ids.is_concept(number)
    assert value == (ids.concept_id(number) if is_concept else ids.link_id(number, predicate))


@given(st.text(st.characters(), max_size=30) | ANYTHING)
def test_a_name_is_taken_as_it_is_or_refused(value: Any) -> None:
    try:
        name = names.check_name(value)
    except MycelError:
        return
    assert name == value
    assert name.encode().decode() == name
    assert "\0" not in name
    assert len(name) > 0


@given(TIMES)
def test_a_time_comes_back_from_its_text_and_from_its_datetime(microseconds: int) -> None:
    assert times.from_text(times.to_text(microseconds)) == microseconds
    assert times.from_datetime(times.to_datetime(microseconds)) == microseconds
    assert len(times.to_text(microseconds)) == 27


@given(TIMES, TIMES)
def test_texts_of_times_sort_as_the_times_do(one: int, other: int) -> None:
    assert (one < other) == (times.to_text(one) < times.to_text(other))


@given(
    st.text(st.characters(), max_size=30)
    | st.text("0123456789-:.TZ+W ", max_size=30)
    | st.datetimes().map(str)
    | ANYTHING
)
def test_whatever_is_read_as_a_time_can_be_written_as_one(value: Any) -> None:
    try:
        microseconds = times.from_text(value)
    except InvalidSyntax:
        return
    assert times.from_text(times.to_text(microseconds)) == microseconds
