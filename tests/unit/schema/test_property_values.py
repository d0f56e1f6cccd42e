"""Values of properties: what fits a type, and its one spelling."""

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Any

import numpy
import pytest

from mycel.schema.model import Annotation, Property, PropertyType, Scalar
from mycel.schema.property_values import (
    SINGLE_MAX,
    BadValue,
    UnknownEnumValue,
    canonical,
    from_key_text,
    from_python,
    from_text,
    key_text,
    moment_to_compare,
    parse_default,
)
from tests.cases import cases

COLOUR = PropertyType("String", enum_values=("blue", "red"))


def of(scalar: Scalar, **said: Any) -> PropertyType:
    return PropertyType(scalar, **said)


def vector(dimension: int) -> PropertyType:
    return PropertyType("Vector", dimension=dimension)


def same(one: object, other: object) -> bool:
    """Equal, and of one kind: to Python, 1, 1.0 and True are equal."""
    return repr(one) == repr(other)


# What is taken.


@cases(
    ("type_", "value", "stored"),
    [
        (of("String"), "", ""),
        (of("String"), " Ünïcode ", " Ünïcode "),
        (of("Bool"), True, True),
        (of("I32"), 2**31 - 1, 2**31 - 1),
        (of("I32"), -(2**31), -(2**31)),
        (of("I32"), 5.0, 5),
        (of("I32"), -0.0, 0),
        (of("I64"), -(2**63), -(2**63)),
        (of("I64"), float(2**53), 2**53),
        (of("U32"), 2**32 - 1, 2**32 - 1),
        (of("U64"), 2**64 - 1, 2**64 - 1),
        (of("F64"), 5, 5.0),
        (of("F64"), -0.0, 0.0),
        (of("F64"), 0.1, 0.1),
        (of("F64"), 1.7976931348623157e308, 1.7976931348623157e308),
        (of("F32"), 0.1, 0.1),
        (of("F32"), 0.10000000149011612, 0.1),
        (of("F32"), 0.123456789, 0.12345679),
        (of("F32"), 16777217, 16777216.0),
        (of("F32"), -1e-60, 0.0),
        (of("F32"), SINGLE_MAX, SINGLE_MAX),
        (of("F32"), -(2.0 - 2.0**-23) * 2.0**127, -SINGLE_MAX),
        (of("F32", is_list=True), [0.10000000149011612, 2], [0.1, 2.0]),
        (of("Date"), "2024-02-29", "2024-02-29"),
        (of("Date"), "0001-01-01", "0001-01-01"),
        (of("Date"), "9999-12-31", "9999-12-31"),
        (of("Blob"), "", ""),
        (of("Blob"), "aGVsbG8=", "aGVsbG8="),
        (of("Blob"), "base64:aGVsbG8=", "aGVsbG8="),
        (COLOUR, "red", "red"),
        (of("String", is_list=True), [], []),
        (of("I32", is_list=True), [1, 2.0], [1, 2]),
        (of("I32", is_list=True), (1, 2), [1, 2]),
        (of("Date", is_list=True), ["2024-01-31"], ["2024-01-31"]),
        (vector(3), [1, 2.5, -3], [1.0, 2.5, -3.0]),
        (vector(2), (0.5, 1.5), [0.5, 1.5]),
        (vector(3), [0.10000000149011612, -0.0, 1e-45], [0.1, 0.0, 1e-45]),
    ],
)
def test_what_fits_gets_its_one_spelling(type_: PropertyType, value: Any, stored: Any) -> None:
    assert same(canonical(type_, value), stored)


@cases(
    ("said", "stored"),
    [
        ("2024-01-31T12:00:00Z", "2024-01-31T12:00:00.000Z"),
        ("2024-01-31t12:00:00z", "2024-01-31T12:00:00.000Z"),
        ("2024-01-31 12:00:00", "2024-01-31T12:00:00.000Z"),
        ("2024-01-31T13:00:00+01:00", "2024-01-31T12:00:00.000Z"),
        ("2024-01-31T23:30:00-01:30", "2024-02-01T01:00:00.000Z"),
        ("2024-01-31T12:00:00-00:00", "2024-01-31T12:00:00.000Z"),
        ("2024-01-31T12:00:00.5Z", "2024-01-31T12:00:00.500Z"),
        ("2024-01-31T12:00:00.25", "2024-01-31T12:00:00.250Z"),
        ("2024-01-31T12:00:00.001999Z", "2024-01-31T12:00:00.001Z"),
        ("2024-01-31T12:00:00.000Z", "2024-01-31T12:00:00.000Z"),
        ("2024-01-31T12:00:00.0009Z", "2024-01-31T12:00:00.000Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
        ("0999-06-01T00:00:00+00:01", "0999-05-31T23:59:00.000Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
    ],
)
def test_moments_are_stored_in_utc_always_with_milliseconds(said: str, stored: str) -> None:
    assert canonical(of("DateTime"), said) == stored
    assert canonical(of("DateTime"), stored) == stored


def test_what_has_its_spelling_already_is_the_same_object() -> None:
    numbers, words = [0.5, 1.5], ["a", "b"]
    assert canonical(vector(2), numbers) is numbers
    assert canonical(of("String", is_list=True), words) is words
    moment = "2024-01-31T12:00:00.250Z"
    assert canonical(of("DateTime"), moment) is moment


def test_none_is_no_value_and_stays_none() -> None:
    for scalar in ("String", "I32", "DateTime", "Blob"):
        assert canonical(of(scalar), None) is None
        assert from_python(of(scalar), None) is None
    assert from_python(of("DateTime"), numpy.datetime64("NaT")) is None


# What is not.


@cases(
    ("type_", "value", "message"),
    [
        (of("String"), 5, "5 is a number"),
        (of("String"), ["a"], '["a"] is an array'),
        (of("Bool"), 1, "1 is a number"),
        (of("Bool"), "true", "'true' is a string"),
        (of("I32"), True, "true is a boolean"),
        (of("I32"), "5", "'5' is a string"),
        (of("I32"), 2**31, "2147483648 is not within -2147483648..2147483647"),
        (of("I32"), 5.5, "5.5 is not whole"),
        (of("I32"), math.nan, "nan is not a JSON number"),
        (of("I32"), math.inf, "inf is not a JSON number"),
        (of("I64"), 2**63, "9223372036854775808 is not within"),
        (of("I64"), 1e18, "1e+18 is not exact"),
        (of("I64"), 10**400, "a number of very many digits is not within"),
        (of("U32"), -1, "-1 is not within 0..4294967295"),
        (of("U64"), 2**64, "18446744073709551616 is not within 0..18446744073709551615"),
        (of("F64"), math.nan, "nan is not a JSON number"),
        (of("F64"), -math.inf, "-inf is not a JSON number"),
        (of("F64"), 10**400, "a number of very many digits is beyond the range of F64"),
        (of("F64"), False, "false is a boolean"),
        (of("F32"), 3.5e38, "3.5e+38 is beyond the range of F32"),
        (of("Date"), "2023-02-29", "'2023-02-29' is no day of the calendar"),
        (of("Date"), "0000-01-01", "is no day of the calendar"),
        (of("Date"), "20240131", "'20240131' is not written like 2024-01-31"),
        (of("Date"), "2024-W05-3", "is not written like 2024-01-31"),
        (of("Date"), "2024-1-31", "is not written like 2024-01-31"),
        (of("Date"), "2024-01-31T00:00:00Z", "is not written like 2024-01-31"),
        (of("Date"), "٢٠٢٤-٠١-٣١", "is no day of the calendar"),
        (of("Date"), 20240131, "20240131 is a number"),
        (of("DateTime"), "2024-01-31", "is not written like 2024-01-31T12:00:00Z"),
        (of("DateTime"), "2024-01-31T12:00Z", "is not written like"),
        (of("DateTime"), "20240131T120000Z", "is not written like"),
        (of("DateTime"), "2024-01-31T12:00:00+0100", "is not written like"),
        (of("DateTime"), "2024-01-31T12:00:00Z\n", "is not written like"),
        (of("DateTime"), "2016-12-31T23:59:60Z", "is no moment in the years 0001 to 9999"),
        (of("DateTime"), "2024-01-31T24:00:00Z", "is no moment"),
        (of("DateTime"), "2023-02-29T12:00:00Z", "is no moment"),
        (of("DateTime"), "2024-01-31T12:00:00+24:00", "is no moment"),
        (of("DateTime"), "2024-01-31T12:00:00+01:60", "is no moment"),
        (of("DateTime"), "0001-01-01T00:00:00+00:01", "is no moment in the years 0001 to 9999"),
        (of("DateTime"), "9999-12-31T23:59:59-00:01", "is no moment in the years 0001 to 9999"),
        (of("Blob"), "aGVsbG8", "is no base64 with padding"),
        (of("Blob"), "base64:base64:", "is no base64 with padding"),
        (of("Blob"), "file:///a/b", "is no base64 with padding"),
        (of("Blob"), "aGVs bG8=", "is no base64 with padding"),
        (of("Blob"), "aGVsbG8=\n", "is no base64 with padding"),
        (of("Blob"), "_-8=", "is no base64 with padding"),
        (of("Blob"), "é===", "is no base64 with padding"),
        (of("Blob"), "QR==", "is not canonical base64 of its bytes"),
        (COLOUR, 5, "5 is a number"),
        (COLOUR, "Red", "'Red' is not one of them"),
        (of("String", is_list=True), "a", "'a' is a string"),
        (of("String", is_list=True), ["a", None], "item 1 is null"),
        (of("I32", is_list=True), [1, 2, "3"], "item 2: '3' is a string"),
        (vector(3), [1.0, 2.0], "it has 2 numbers"),
        (vector(2), [1.0, math.nan], "item 1: nan is not a JSON number"),
        (vector(2), [math.inf, -math.inf], "item 0: inf is not a JSON number"),
        (vector(2), [1.0, True], "item 1: true is a boolean"),
        (vector(2), [1.0, None], "item 1 is null"),
        (vector(2), [1.0, 1e39], "item 1: 1e+39 is beyond the range of F32"),
        (vector(2), "[1, 2]", "'[1, 2]' is a string"),
        (of("String"), {"a": 1}, '{"a":1} is an object'),
        (of("String"), b"x", "b'x' is a Python bytes"),
    ],
)
def test_what_does_not_fit_is_named_with_what_it_is(
    type_: PropertyType, value: Any, message: str
) -> None:
    with pytest.raises(BadValue) as caught:
        canonical(type_, value)
    assert message in str(caught.value)


def test_an_unknown_text_of_an_enum_is_an_error_of_its_own() -> None:
    with pytest.raises(UnknownEnumValue):
        canonical(COLOUR, "green")
    with pytest.raises(BadValue) as caught:
        canonical(COLOUR, True)
    assert not isinstance(caught.value, UnknownEnumValue)


def test_a_message_never_shows_much_and_never_a_lone_surrogate() -> None:
    with pytest.raises(BadValue) as caught:
        canonical(of("Date"), "x" * 10_000)
    assert len(str(caught.value)) < 150
    with pytest.raises(BadValue) as caught:
        canonical(of("Date"), "\ud800")
    assert str(caught.value).encode()


# Keys.


@cases(
    ("type_", "value", "text"),
    [
        (of("String"), "Ada", "Ada"),
        (COLOUR, "red", "red"),
        (of("I64"), -7, "-7"),
        (of("U64"), 2**64 - 1, "18446744073709551615"),
        (of("F64"), 1.0, "1.0"),
        (of("F64"), 0.1, "0.1"),
        (of("F64"), 1e300, "1e+300"),
        (of("Bool"), False, "false"),
        (of("Date"), "2024-01-31", "2024-01-31"),
        (of("DateTime"), "2024-01-31T12:00:00.500Z", "2024-01-31T12:00:00.500Z"),
    ],
)
def test_a_key_is_text_and_comes_back_from_it(type_: PropertyType, value: Any, text: str) -> None:
    assert key_text(type_, value) == text
    assert same(from_key_text(type_, text), value)


def test_equal_values_have_equal_keys() -> None:
    assert key_text(of("F64"), 5) == key_text(of("F64"), 5.0) == "5.0"
    assert key_text(of("I32"), 5.0) == "5"
    assert key_text(of("DateTime"), "2024-01-31 13:00:00+01:00") == "2024-01-31T12:00:00Z"


@cases(
    ("type_", "text"),
    [
        (of("I32"), "007"),
        (of("I32"), "+7"),
        (of("I32"), "7.0"),
        (of("I32"), " 7"),
        (of("F64"), "1"),
        (of("Bool"), "TRUE"),
        (of("DateTime"), "2024-01-31 12:00:00"),
        (of("Date"), "yesterday"),
    ],
)
def test_another_spelling_of_a_key_is_no_key(type_: PropertyType, text: str) -> None:
    with pytest.raises(BadValue):
        from_key_text(type_, text)


def test_nothing_is_no_key() -> None:
    with pytest.raises(BadValue, match="null"):
        key_text(of("String"), None)


# Text.


@cases(
    ("type_", "text", "value"),
    [
        (of("String"), "", ""),
        (of("String"), " 5 ", " 5 "),
        (of("I32"), " 42 ", 42),
        (of("I32"), "+42", 42),
        (of("I32"), "42.0", 42),
        (of("I32"), "42.", 42),
        (of("I32"), "1e3", 1000),
        (of("U64"), "18446744073709551615", 2**64 - 1),
        (of("U64"), "18446744073709551615.0", 2**64 - 1),
        (of("F64"), "1e-3", 0.001),
        (of("F64"), ".5", 0.5),
        (of("F64"), "7", 7.0),
        (of("Bool"), "True", True),
        (of("Bool"), "0", False),
        (of("Date"), "2024-01-31", "2024-01-31"),
        (of("DateTime"), "2024-01-31 12:00:00", "2024-01-31T12:00:00.000Z"),
        (COLOUR, "blue", "blue"),
        (of("String", is_list=True), '["a", "b"]', ["a", "b"]),
        (vector(2), "[1, 2]", [1.0, 2.0]),
    ],
)
def test_text_becomes_a_value(type_: PropertyType, text: str, value: Any) -> None:
    assert same(from_text(type_, text), value)


@cases(
    ("type_", "text"),
    [
        (of("I32"), ""),
        (of("I32"), "4 2"),
        (of("I32"), "1_000"),
        (of("I32"), "42.5"),
        (of("I32"), "٤٢"),
        (of("I32"), "0x10"),
        (of("I32"), "9" * 100_000),
        (of("F64"), "nan"),
        (of("F64"), "Infinity"),
        (of("F64"), "1e999"),
        (of("F64"), "1,5"),
        (of("Bool"), "yes"),
        (of("Bool"), ""),
        (COLOUR, ""),
        (of("String", is_list=True), "a,b"),
        (of("String", is_list=True), '"a"'),
        (of("I64", is_list=True), "[-9223372036854775809]"),
        (vector(2), "[1]"),
    ],
)
def test_text_that_says_no_such_value_is_refused(type_: PropertyType, text: str) -> None:
    with pytest.raises(BadValue):
        from_text(type_, text)


def test_a_default_is_text_until_it_is_needed() -> None:
    seven = Property("age", of("I32"), 1, (Annotation("default", "7"),))
    assert parse_default(seven) == 7
    assert parse_default(Property("age", of("I32"), 1)) is None
    with pytest.raises(BadValue):
        parse_default(Property("age", of("I32"), 1, (Annotation("default", "seven"),)))


# Python objects.


class Size(StrEnum):
    BIG = "big"


class Level(IntEnum):
    HIGH = 3


@cases(
    ("type_", "value", "stored"),
    [
        (of("DateTime"), datetime(2024, 1, 31, 12), "2024-01-31T12:00:00.000Z"),  # noqa: DTZ001
        (of("DateTime"), datetime(2024, 1, 31, 12, tzinfo=UTC), "2024-01-31T12:00:00.000Z"),
        (
            of("DateTime"),
            datetime(2024, 1, 31, 12, 0, 0, 250_999, timezone(timedelta(hours=1, seconds=30))),
            "2024-01-31T10:59:30.250Z",
        ),
        (of("DateTime"), numpy.datetime64("2024-01-31T12:00:00", "ns"), "2024-01-31T12:00:00.000Z"),
        (of("Date"), date(2024, 1, 31), "2024-01-31"),
        (of("Date"), datetime(2024, 1, 31), "2024-01-31"),  # noqa: DTZ001
        (of("Date"), numpy.datetime64("2024-01-31"), "2024-01-31"),
        (of("Blob"), b"hello", "aGVsbG8="),
        (of("Blob"), bytearray(b"hello"), "aGVsbG8="),
        (of("Blob"), memoryview(b"hello"), "aGVsbG8="),
        (of("Blob"), "aGVsbG8=", "aGVsbG8="),
        (of("I64"), Decimal(12345678901234567), 12345678901234567),
        (of("F64"), Decimal("0.5"), 0.5),
        (of("U64"), numpy.uint64(2**64 - 1), 2**64 - 1),
        (of("I32"), numpy.float64(5), 5),
        (of("Bool"), numpy.bool_(True), True),
        (of("F32"), numpy.float32(0.5), 0.5),
        (of("String"), Size.BIG, "big"),
        (vector(2), numpy.array([0.5, 1.5], dtype="float32"), [0.5, 1.5]),
        (of("I32", is_list=True), numpy.array([1, 2]), [1, 2]),
        (of("Date", is_list=True), [date(2024, 1, 31)], ["2024-01-31"]),
        (of("I32", is_list=True), (numpy.int8(1), 2), [1, 2]),
    ],
)
def test_objects_of_tables_become_values(type_: PropertyType, value: Any, stored: Any) -> None:
    assert same(from_python(type_, value), stored)
    assert type(from_python(type_, value)) is type(stored)


@cases(
    ("type_", "value"),
    [
        (of("Date"), datetime(2024, 1, 31, 12)),  # noqa: DTZ001
        (of("DateTime"), date(2024, 1, 31)),
        (of("DateTime"), datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))),
        (of("String"), b"hello"),
        (of("String"), date(2024, 1, 31).timetuple()),
        (of("I64"), Decimal("0.5")),
        (of("I64"), Decimal("1e999999999")),
        (of("F64"), Decimal("NaN")),
        (of("F64"), Decimal("sNaN")),
        (of("F64"), numpy.float64("nan")),
        (of("I32"), numpy.bool_(True)),
        (of("I32"), Level.HIGH),
        (vector(2), [0.5, None]),
        (vector(2), numpy.array([[0.5, 1.5]])),
        (of("I32", is_list=True), 5),
    ],
)
def test_objects_that_mean_something_else_are_refused(type_: PropertyType, value: Any) -> None:
    with pytest.raises(BadValue):
        from_python(type_, value)


def test_a_moment_is_compared_in_the_spelling_in_which_moments_are_stored() -> None:
    stored = "2024-01-31T12:00:00.500Z"
    for said in ("2024-01-31T12:00:00.5Z", "2024-01-31 13:00:00.500+01:00", stored):
        assert moment_to_compare(said) == stored
    between = moment_to_compare("2024-01-31T12:00:00.5001Z")
    assert stored < between < "2024-01-31T12:00:00.501Z"
    for said in ("", "noon", "2024-01-31", "2024-02-30T12:00:00Z"):
        assert moment_to_compare(said) == said
