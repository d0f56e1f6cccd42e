"""Canonical CBOR against RFC 8949 Appendix A and against `cbor2`."""

from datetime import date
from decimal import Decimal
from typing import Any

import cbor2
import pytest

from mycel.errors import InternalError, InvalidValueType
from mycel.model import cbor
from tests.cases import cases

EDGES = sorted(
    {n for size in (0, 5, 8, 16, 32, 63) for n in (2**size - 1, 2**size, 2**size + 1)}
    | {23, 24, 25, 255, 256, 2**64 - 1}
)

# RFC 8949 Appendix A; where it has several encodings, the shortest.
APPENDIX_A = [
    (0, "00"),
    (23, "17"),
    (24, "1818"),
    (100, "1864"),
    (1000, "1903e8"),
    (1000000, "1a000f4240"),
    (1000000000000, "1b000000e8d4a51000"),
    (18446744073709551615, "1bffffffffffffffff"),
    (-1, "20"),
    (-100, "3863"),
    (-1000, "3903e7"),
    (0.0, "f90000"),
    (-0.0, "f98000"),
    (1.0, "f93c00"),
    (1.1, "fb3ff199999999999a"),
    (1.5, "f93e00"),
    (65504.0, "f97bff"),
    (100000.0, "fa47c35000"),
    (3.4028234663852886e38, "fa7f7fffff"),
    (1.0e300, "fb7e37e43c8800759c"),
    (5.960464477539063e-8, "f90001"),
    (-4.1, "fbc010666666666666"),
    (False, "f4"),
    (True, "f5"),
    (None, "f6"),
    (b"", "40"),
    (b"\x01\x02\x03\x04", "4401020304"),
    ("", "60"),
    ("IETF", "6449455446"),
    ('"\\', "62225c"),
    ("\u00fc", "62c3bc"),
    ("\U00010151", "64f0908591"),
    ([], "80"),
    ([1, [2, 3], [4, 5]], "8301820203820405"),
    (list(range(1, 26)), "98190102030405060708090a0b0c0d0e0f101112131415161718181819"),
    ({}, "a0"),
    ({"a": 1, "b": [2, 3]}, "a26161016162820203"),
    ({"e": 1, "d": 2, "cc": 3, "b": 4, "": 5}, "a5600561620461640261650162636303"),
]


@cases(("value", "encoded"), APPENDIX_A)
def test_values_are_encoded_in_their_shortest_form_with_keys_in_order(
    value: Any, encoded: str
) -> None:
    assert cbor.encode(value).hex() == encoded
    decoded = cbor.decode(bytes.fromhex(encoded))
    assert decoded == value
    assert type(decoded) is type(value)


@cases("count", [0, 1, 2, 22, 23, 24, 25, 255, 256, 5000])
def test_an_object_of_any_size_is_that_of_cbor2(count: int) -> None:
    value = {"k" * (n % 40) + str(n): [n, -n, n / 7, str(n)][n % 4] for n in range(count)}
    for _ in range(2):  # The second time its keys are remembered.
        assert cbor.encode_object(value) == cbor2.dumps(value, canonical=True)


@cases(
    "item",
    [
        *(value for value, _ in APPENDIX_A),
        255,
        256,
        -256,
        2**63 - 1,
        -(2**63),
        0.1,
        1e-50,
        3.4e38,
        -3.4e38,
        3.4028234663852886e38,  # The largest single.
        3.4028235677973366e38,  # The smallest that rounds to infinity.
        1e39,
        1.7976931348623157e308,
        5e-324,
        1.401298464324817e-45,
        float(2**24 + 1),
        "x" * 300,
        {"nested": {"b": 1, "a": [0.5]}},
    ],
)
def test_an_object_of_one_value_is_that_of_cbor2(item: Any) -> None:
    for value in ({"k": item}, {"k" * 300: item, "b": 1, "aa": 2, "": 3}):
        assert cbor.encode_object(value) == cbor2.dumps(value, canonical=True)


@cases("number", EDGES)
def test_integers_have_the_head_that_cbor2_gives_them(number: int) -> None:
    assert cbor.uint(number) == cbor.head(0, number) == cbor2.dumps(number)
    assert cbor.integer(number) == cbor2.dumps(number)
    assert cbor.integer(-1 - number) == cbor2.dumps(-1 - number)


@cases("size", [0, 1, 23, 24, 25, 255, 256, 257, 65535, 65536])
def test_strings_have_the_head_that_cbor2_gives_them(size: int) -> None:
    assert cbor.text("x" * size) == cbor2.dumps("x" * size)
    assert cbor.byte_string(b"x" * size) == cbor2.dumps(b"x" * size)


@cases("string", ["é", "漢" * 8, "漢" * 85, "漢" * 86, "\U0001f344" * 64, "a\0b"])
def test_the_length_of_text_is_that_of_its_bytes(string: str) -> None:
    assert cbor.text(string) == cbor2.dumps(string)


@cases("number", [-1, -24, -255, -256, -257, -(2**64), 2**64, 2**80])
def test_what_no_head_can_carry_is_a_bug_and_never_other_bytes(number: int) -> None:
    with pytest.raises(InternalError):
        cbor.uint(number)
    with pytest.raises(InternalError):
        cbor.head(5, number)


@cases(
    ("microseconds", "encoded"),
    [
        (0, "00"),
        (1_000_000, "01"),
        (1_700_000_000_000_000, "1a6553f100"),
        (1, "c4822501"),
        (1_700_000_000_000_001, "c482251b00060a24181e4001"),
        (-1, "c4822520"),
        (-1_000_000, "c482253a000f423f"),
        (2**63 - 1, "c482251b7fffffffffffffff"),
    ],
)
def test_whole_seconds_are_an_integer_and_other_times_a_decimal_fraction(
    microseconds: int, encoded: str
) -> None:
    assert cbor.moment(microseconds).hex() == encoded
    assert cbor.decode_moment(cbor.decode(bytes.fromhex(encoded))) == microseconds
    assert cbor2.loads(bytes.fromhex(encoded)) == Decimal(microseconds).scaleb(-6)


@cases(
    "value",
    [
        None,
        True,
        1.5,
        float("nan"),
        float("inf"),
        "1700000000",
        b"1",
        [1],
        {1: 1},
        Decimal("NaN"),
        Decimal("Infinity"),
        Decimal("1.5"),
        Decimal("1E+2147483647"),
        Decimal("1E-2147483647"),
        Decimal("0.0000001"),
        Decimal(10**60).scaleb(-6),
        2**63,
        2**5000,
        -(2**63),
    ],
)
def test_what_no_time_is_written_as_is_no_time(value: object) -> None:
    with pytest.raises(ValueError, match="no time"):
        cbor.decode_moment(value)


@cases(
    "content",
    [
        "",
        "18",
        "ff",
        "1c",
        "61",
        "61ff",
        "63eda080",  # A surrogate in UTF-8.
        "8201",
        "a101",
        "f800",
        "5f",
        "9b7fffffffffffffff",
        "bb7fffffffffffffff",
        "5b7fffffffffffffff",
        "81" * 5000 + "00",
        "c1fb7ff0000000000000",
        "c06178",
        "d81e820100",  # One divided by zero.
        "d8236128",  # A regular expression that does not compile.
        "c4821b7fffffffffffffff01",
    ],
)
def test_bytes_that_are_no_cbor_are_refused(content: str) -> None:
    with pytest.raises(InvalidValueType, match="no CBOR"):
        cbor.decode(bytes.fromhex(content))


@pytest.mark.parametrize(
    "content",
    [
        "d81c81d81d00",  # An array that contains itself.
        "82d81c6161d81d00",  # A string, and a reference to it.
        "d90100826461626364d81900",  # The same with the other kind of reference.
    ],
)
def test_parts_that_refer_to_one_another_are_refused(content: str) -> None:
    with pytest.raises(InvalidValueType):
        cbor.decode(bytes.fromhex(content))


@pytest.mark.parametrize("content", [None, "a0", 5, [1]])
def test_what_is_no_bytes_is_no_cbor(content: Any) -> None:
    with pytest.raises(InvalidValueType):
        cbor.decode(content)


@cases(
    "value",
    [
        {"a": [1]},
        {"a": {}},
        {"a": ()},
        {"a": float("nan")},
        {"a": float("-inf")},
        {"a": 2**64},
        {"a": -(2**63) - 1},
        {"a": "\ud800"},
        {"\ud800": 1},
        {"é": 1},
        {"k" * 256: 1},
        {1: 1},
        {str(n): n for n in range(24)},
        {"a": b"bytes"},
        {"a": date(2024, 1, 1)},
    ],
)
def test_what_is_not_flat_or_no_json_is_left_to_others(value: dict[Any, Any]) -> None:
    assert cbor.flat_object(value) is None


@cases(
    "value",
    [
        {},
        {"bb": 1, "a": 2, "ab": None, "c": True, "": False},
        {"a": 0.1, "b": -0.0, "c": 1.0, "d": 1e300, "e": 5e-324, "f": 3.5, "g": 16777217.0},
        {"a": -1, "b": 255, "c": 256, "d": 2**63 - 1, "e": -(2**63), "f": 2**63, "g": 2**64 - 1},
        {"a": "", "b": "猫" * 100, "c": "x" * 70_000},
    ],
)
def test_a_flat_object_is_encoded_as_the_standard_says(value: dict[str, Any]) -> None:
    for _ in range(2):  # The second time its keys are known.
        assert cbor.flat_object(value) == cbor2.dumps(value, canonical=True)
    backwards = dict(reversed(value.items()))
    assert cbor.flat_object(backwards) == cbor.flat_object(value)
