"""Values of properties: checks against a type, and the canonical spelling for storage.

A value in an attribute is JSON. Its type determines the JSON type and the spelling:

    String              text
    enum(a, b)          one of its texts
    Bool                true or false
    I32 I64 U32 U64     whole numbers within their range; 5.0 is taken as 5
    F64                 finite numbers; 5 is taken as 5.0
    F32                 numbers of single precision, each as the shortest decimal that means it
                        (`singles`): 0.1, 0.12345679
    Date                "2024-01-31"
    DateTime            RFC 3339; stored in UTC, always with milliseconds, so that texts sort as
                        times do: "2024-01-31T12:00:00.000Z"; no zone means UTC
    Blob                base64 (RFC 4648 §4) with padding; "base64:" before it is taken off
    Vector(n)           an array of n numbers, each like an F32
    [scalar]            an array of scalars, none of them null

Values arrive in three ways: as JSON (`canonical`), as text in a cell or a literal (`from_text`),
and as Python objects in a table (`from_python`). All three ways give the same spelling, so that
equal values are equal texts; keys, unique tuples and indexes depend on that. None stands for no
value: it is allowed for a whole property, and refused inside an array.

A value that does not fit raises `BadValue`, whose message continues "Person.age must be I32: ".
"""

from __future__ import annotations

import re
from array import array
from base64 import b64encode
from binascii import a2b_base64
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from math import copysign, isfinite
from operator import is_
from typing import Any, Final, TypeAlias, assert_never

import orjson

from mycel.errors import InternalError
from mycel.model.names import kind_of, shorten
from mycel.schema.definitions import json_type, with_article
from mycel.schema.model import Property, PropertyType
from mycel.schema.scalars import SCALARS, Scalar

Canonical: TypeAlias = Callable[[Any], Any]
"""Returns a value in its canonical spelling; the same object if it is canonical already."""

BLOB_PREFIX: Final = "base64:"
"""A prefix of Blobs in files of OmniGraph."""
_EXACT_MAX: Final = float(1 << 53)
"""The greatest number up to which a float stands for exactly one whole number."""
_WHOLE_MAX: Final = float(1 << 64)
"""The least number beyond the range of every type."""
_PLAIN_NUMBERS: Final = frozenset((int, float))
"""Types of numbers that need no conversion."""
SINGLE_MAX: Final = 3.4028235e38
"""The greatest number of single precision, as text."""
_SHOWN_MAX: Final = 60
_DATA_CHARACTERS_MAX: Final = 200
_DIGITS_MAX: Final = 100
"""The maximum number of digits of a number: Python reads them in quadratic time."""

_NUMBER: Final = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_WHOLE: Final = re.compile(r"([+-]?\d+)(?:\.0*)?", re.ASCII)
_DATE_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)?", re.ASCII
)

_WHOLE_SECOND: Final = ".000Z"


class BadValue(ValueError):  # noqa: N818 - as in `errors`: a noun that says enough
    """A value that does not fit its type."""


class UnknownEnumValue(BadValue):
    """A text that is not among the values of an enum."""


def canonical(type_: PropertyType, value: object) -> Any:
    """A JSON value in its canonical spelling; None stays None.

    >>> canonical(PropertyType("I32"), 5.0)
    5
    >>> canonical(PropertyType("DateTime"), "2024-01-31 13:00:00+01:00")
    '2024-01-31T12:00:00.000Z'

    Raises:
        BadValue: the value does not fit.
    """
    return None if value is None else canonical_of(type_)(value)


@lru_cache(1024)
def canonical_of(type_: PropertyType) -> Canonical:
    """`canonical` of one type, for values that are not None."""
    if type_.enum_values is not None:
        return _enum(type_.enum_values)
    if type_.scalar == "Vector":
        return _vector(type_.dimension or 0)
    one = _scalar(type_.scalar)
    return _list(one) if type_.is_list else one


# Scalars. Classes are compared exactly, because `True` is an instance of int.


def _string(value: object) -> str:
    if value.__class__ is str:
        return value
    raise BadValue(_is(value))


def _bool(value: object) -> bool:
    if value is True or value is False:
        return value
    raise BadValue(_is(value))


def _integer(low: int, high: int) -> Canonical:
    def to_bounded_integer(value: Any) -> int:
        if value.__class__ is not int and value.__class__ is not float:
            raise BadValue(_is(value))
        number: int = value if value.__class__ is int else _to_integer(value)
        if low <= number <= high:
            return number
        raise BadValue(f"{format_value(number)} is not within {low}..{high}")

    return to_bounded_integer


def _to_integer(value: float) -> int:
    if not isfinite(value):
        raise BadValue(f"{value} is not a JSON number")
    if not value.is_integer():
        raise BadValue(f"{format_value(value)} is not whole")
    if _EXACT_MAX < abs(value) < _WHOLE_MAX:
        raise BadValue(f"{format_value(value)} is not exact; write it without a point or exponent")
    return int(value)


def _float64(value: Any) -> float:
    if value.__class__ is float:
        if isfinite(value):
            # -0.0 equals 0.0, but its text would differ.
            return value if value or copysign(1.0, value) > 0 else 0.0
        raise BadValue(f"{value} is not a JSON number")
    if value.__class__ is int:
        try:
            return float(value)
        except OverflowError:
            raise BadValue(f"{format_value(value)} is beyond the range of F64") from None
    raise BadValue(_is(value))


def _float32(value: Any) -> float:
    number = _float64(value)
    if -SINGLE_MAX <= number <= SINGLE_MAX:
        (single,) = singles([number])
        return number if single == number else single
    raise BadValue(f"{format_value(number)} is beyond the range of F32")


def singles(numbers: list[float]) -> list[float]:
    """For each number, the shortest decimal that reads as the same number of single precision.

    JSON has double precision, tables of Arrow have single: 0.1 is read from a table as
    0.10000000149011612, which is the same single with another text.

    >>> singles([0.10000000149011612, 0.123456789, -0.0])
    [0.1, 0.12345679, 0.0]
    """
    import numpy as np  # noqa: PLC0415 - only schemas with F32 or Vector need it

    exact = np.array(numbers, np.float32) + np.float32(0)  # The addition turns -0.0 into 0.0.
    # orjson writes an array of singles that way.
    decimals: list[float] = orjson.loads(orjson.dumps(exact, option=orjson.OPT_SERIALIZE_NUMPY))
    return decimals


def _date(value: Any) -> str:
    if value.__class__ is not str:
        raise BadValue(_is(value))
    try:
        # Python reads other formats too, which have no hyphens at these places.
        if len(value) == 10 and value[4] == value[7] == "-":
            date.fromisoformat(value)
            return value
    except ValueError:
        raise BadValue(f"{format_value(value)} is no day of the calendar") from None
    raise BadValue(f"{format_value(value)} is not written like 2024-01-31")


def _date_time(value: Any) -> str:
    if value.__class__ is not str:
        raise BadValue(_is(value))
    parts = _DATE_TIME.fullmatch(value)
    if parts is None:
        raise BadValue(f"{format_value(value)} is not written like 2024-01-31T12:00:00Z")
    day, time, fraction, zone = parts.groups()
    try:
        if time[:2] > "23":  # 24:00:00 is the same moment as 00:00:00 of the next day.
            raise ValueError(time)
        moment = datetime.fromisoformat(f"{day}T{time}")
        if zone is not None and zone not in "Zz":
            moment -= _offset(zone)
    except (ValueError, OverflowError):
        raise BadValue(f"{format_value(value)} is no moment in the years 0001 to 9999") from None
    milliseconds = "000" if fraction is None else fraction[:3].ljust(3, "0")
    canonical_text = f"{moment.isoformat(timespec='seconds')}.{milliseconds}Z"
    return value if canonical_text == value else canonical_text


def moment_to_compare(text: str) -> str:
    """A text in the form in which it compares with stored moments; other texts stay unchanged.

    Stored moments have whole milliseconds; a fraction of a millisecond sorts after the millisecond.

    >>> moment_to_compare("2024-01-31T13:00:00+01:00"), moment_to_compare("soon")
    ('2024-01-31T12:00:00.000Z', 'soon')
    """
    try:
        canonical_text = _date_time(text)
    except BadValue:
        return text
    parts = _DATE_TIME.fullmatch(text)
    is_finer = parts is not None and (parts[3] or "")[3:].strip("0")
    return f"{canonical_text}+" if is_finer else canonical_text


def _offset(zone: str) -> timedelta:
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    if hours > 23 or minutes > 59:
        raise ValueError(zone)
    offset = timedelta(hours=hours, minutes=minutes)
    return -offset if zone[0] == "-" else offset


def _blob(value: Any) -> str:
    if value.__class__ is not str:
        raise BadValue(_is(value))
    text: str = value.removeprefix(BLOB_PREFIX)
    try:
        decoded = a2b_base64(text, strict_mode=True)
    except ValueError:  # binascii.Error is a ValueError
        raise BadValue(f"{format_value(value)} is no base64 with padding") from None
    if b64encode(decoded).decode() != text:
        raise BadValue(f"{format_value(value)} is not canonical base64 of its bytes")
    return text


def _scalar(scalar: Scalar) -> Canonical:
    match scalar:
        case "String":
            return _string
        case "Blob":
            return _blob
        case "Bool":
            return _bool
        case "I32" | "I64" | "U32" | "U64":
            return _integer(*SCALARS[scalar].limits or ())
        case "F32":
            return _float32
        case "F64":
            return _float64
        case "Date":
            return _date
        case "DateTime":
            return _date_time
        case "Vector":
            raise InternalError("A vector needs its dimension.")
        case _:
            assert_never(scalar)


# Enums, lists and vectors.


def _enum(values: tuple[str, ...]) -> Canonical:
    allowed = frozenset(values)

    def one_of(value: Any) -> str:
        if value.__class__ is not str:
            raise BadValue(_is(value))
        if value in allowed:
            return value
        raise UnknownEnumValue(f"{format_value(value)} is not one of them")

    return one_of


def _list(one: Canonical) -> Canonical:
    def to_list(value: Any) -> list[Any]:
        if value.__class__ is not list and value.__class__ is not tuple:
            raise BadValue(_is(value))
        items = [_item(one, at, item) for at, item in enumerate(value)]
        return value if value.__class__ is list and all(map(is_, items, value)) else items

    return to_list


def _item(one: Canonical, at: int, item: object) -> Any:
    if item is None:
        raise BadValue(f"item {at} is null")
    try:
        return one(item)
    except BadValue as bad:
        raise BadValue(f"item {at}: {bad}") from None


def _vector(dimension: int) -> Canonical:
    slowly = _list(_float32)

    def vector(value: Any) -> list[float]:
        if value.__class__ is not list and value.__class__ is not tuple:
            raise BadValue(_is(value))
        if len(value) != dimension:
            raise BadValue(f"it has {len(value)} numbers")
        # The usual case takes a few passes in C, because vectors are long.
        if (
            value.__class__ is list
            and set(map(type, value)) == {float}
            and isfinite(sum(value))
            and min(value) >= -SINGLE_MAX
            and max(value) <= SINGLE_MAX
        ):
            numbers = singles(value)
            # Bytes are compared, because -0.0 equals 0.0.
            is_same = array("d", numbers).tobytes() == array("d", value).tobytes()
            return value if is_same else numbers
        return slowly(value)  # type: ignore[no-any-return]

    return vector


# Keys.


def key_text(type_: PropertyType, value: object) -> str:
    """The text of a key value in the name of a concept.

    >>> key_text(PropertyType("Bool"), True), key_text(PropertyType("F64"), 1)
    ('true', '1.0')

    Raises:
        BadValue: the value does not fit the type, or is None.
    """
    if value is None:
        raise BadValue("it is null")
    return text_in_name(type_, canonical_of(type_)(value))


def text_in_name(type_: PropertyType, value: Any) -> str:
    """`key_text` of a canonical value."""
    if value.__class__ is str:
        return moment_in_name(value) if type_.scalar == "DateTime" else value
    if value.__class__ is bool:
        return "true" if value else "false"
    # Python's text is the same in every version, which libraries do not promise.
    return repr(value)


def moment_in_name(text: str) -> str:
    """The text of a moment in a name: milliseconds are left out if they are zero."""
    return f"{text[:19]}Z" if text.endswith(_WHOLE_SECOND) else text


def from_key_text(type_: PropertyType, text: str) -> Any:
    """The reverse of `key_text`; "007" is refused as an I32: it would be a second name for 7."""
    value = from_text(type_, text)
    written = key_text(type_, value)
    if written != text:
        raise BadValue(f"{format_value(text)} has to be written {format_value(written)}")
    return value


def parse_default(property_: Property) -> Any:
    """The value of `@default`, or None."""
    return None if property_.default is None else from_text(property_.type, property_.default)


# Text.


def from_text(type_: PropertyType, text: str) -> Any:
    """The value of a cell of a table, or of a literal; arrays are JSON."""
    if type_.is_list:
        return canonical(type_, _array(text))
    match type_.scalar:
        case "Vector":
            return canonical(type_, _array(text))
        case "I32" | "I64" | "U32" | "U64":
            return canonical(type_, _integer_in(text.strip()))
        case "F32" | "F64":
            return canonical(type_, _number_in(text.strip()))
        case "Bool":
            return _bool_in(text)
        case "String" | "Blob" | "Date" | "DateTime":
            return canonical(type_, text)
        case _:
            assert_never(type_.scalar)


def _array(text: str) -> object:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        raise BadValue(f"{format_value(text)} is no JSON array") from None


def _integer_in(text: str) -> int | float:
    match = _WHOLE.fullmatch(text)
    if match is None or len(text) > _DIGITS_MAX:
        return _number_in(text)
    return int(match[1])


def _number_in(text: str) -> float:
    if _NUMBER.fullmatch(text) is None:
        raise BadValue(f"{format_value(text)} is not a number")
    number = float(text)
    if not isfinite(number):
        raise BadValue(f"{format_value(text)} is too large")
    return number


def _bool_in(text: str) -> bool:
    match text.strip().casefold():
        case "true" | "1":
            return True
        case "false" | "0":
            return False
    raise BadValue(f"{format_value(text)} is neither true nor false")


# Python objects: from rows of a program, and from tables of Arrow and pandas.


def from_python(type_: PropertyType, value: object) -> Any:
    """The value of a Python object: JSON, dates, bytes, decimals, numpy's numbers.

    A `datetime` without a zone is in UTC.
    """
    if value is None:
        return None
    if type_.is_list or type_.scalar == "Vector":
        items = _plain(value)
        if isinstance(items, (list, tuple)) and not _PLAIN_NUMBERS.issuperset(map(type, items)):
            items = [_json_of(type_.scalar, item) for item in items]
        return canonical(type_, items)
    return canonical(type_, _json_of(type_.scalar, value))


def _json_of(scalar: Scalar, value: object) -> Any:
    """The JSON value of an object where this scalar is expected."""
    value = _plain(value)
    match value:
        case datetime():
            return _date_of(value) if scalar == "Date" else _date_time_of(value)
        case date():
            return value.isoformat()
        case bytes() | bytearray() | memoryview() if scalar == "Blob":
            return b64encode(value).decode()
        case Decimal():
            return _number_of(value)
        case str():  # A member of a StrEnum is a text too.
            return str.__str__(value)
    return value


def _plain(value: object) -> object:
    """Scalars and arrays of numpy as Python values; everything else unchanged."""
    if type(value).__module__ != "numpy":
        return value
    if kind_of(value) == "datetime64":
        # The usual unit, nanoseconds, would give an integer instead of a datetime.
        value = value.astype("datetime64[us]")  # type: ignore[attr-defined]
    return value.tolist()  # type: ignore[attr-defined]


def _date_of(value: datetime) -> str:
    if value.hour or value.minute or value.second or value.microsecond:
        raise BadValue(f"{format_value(value.isoformat())} has a time of day")
    return value.isoformat()[:10]


def _date_time_of(value: datetime) -> str:
    try:
        moment = value.astimezone(UTC) if value.tzinfo is not None else value
    except (ValueError, OverflowError):
        raise BadValue(
            f"{format_value(str(value))} is no moment in the years 0001 to 9999"
        ) from None
    return moment.replace(tzinfo=None).isoformat()


def _number_of(value: Decimal) -> int | float:
    if not value.is_finite():
        raise BadValue(f"{value} is not a JSON number")
    if value.adjusted() < _DIGITS_MAX and value == value.to_integral_value():
        return int(value)
    return float(value)


# Words for messages.


def format_value(value: object) -> str:
    """A value in a message: text in single quotes, others as JSON; cut if it is long."""
    if isinstance(value, str):
        short = shorten(value, _SHOWN_MAX)
        return f"'{short}'" if short.isprintable() else repr(short)
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 256:
        return "a number of very many digits"
    try:
        return shorten(orjson.dumps(value).decode(), _SHOWN_MAX)
    except orjson.JSONEncodeError:
        return shorten(repr(value), _SHOWN_MAX)


def wire(value: object) -> Any:
    """A value for the data of an error: JSON, cut if it is large."""
    is_number = isinstance(value, int) and value.bit_length() <= 64
    if value is None or is_number or isinstance(value, float):
        return value
    is_small = isinstance(value, str) and len(value) <= _DATA_CHARACTERS_MAX
    return value if is_small and str(value).isprintable() else format_value(value)


def _is(value: object) -> str:
    """The end of a message about a wrong value, which describes the value."""
    if value is None or isinstance(value, (str, int, float, list, tuple, dict)):
        kind = with_article(json_type(value))
    else:
        kind = f"a Python {kind_of(value)}"
    return f"{format_value(value)} is {kind}"
