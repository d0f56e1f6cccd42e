"""JSON values: what is taken, what is refused, and the one text that each object has."""

import json
from collections import ChainMap, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, TypedDict
from uuid import UUID

import numpy as np
import orjson
import pytest

from mycel.errors import ConstraintViolation, InvalidValueType, MycelError, ResourceExhausted
from mycel.model.limits import JSON_BYTES_MAX, JSON_DEPTH_MAX, KEY_BYTES_MAX
from mycel.model.values import (
    EMPTY_OBJECT,
    check_metadata_keys,
    check_object,
    object_text,
    parse_object,
)
from tests.cases import cases


class Colour(StrEnum):
    RED = "red"


class OldColour(str, Enum):  # noqa: UP042  What people wrote before StrEnum.
    RED = "red"


class Size(IntEnum):
    SMALL = 1


class Plain(Enum):
    ONE = 1


class Text(str):
    __slots__ = ()


class Int(int):
    pass


class Float(float):
    pass


class List(list):
    pass


class Dict(dict):
    pass


class Shape(TypedDict):
    sides: int


@dataclass
class Point:
    x: int = 1


Pair = namedtuple("Pair", "a b")

NO_JSON_VALUES = [
    # `orjson` would write each of these on its own.
    time(12),
    UUID(int=1),
    Point(),
    Plain.ONE,
    Colour.RED,
    OldColour.RED,
    Size.SMALL,
    Text("x"),
    Int(1),
    Float(1.0),
    List([1]),
    Dict(a=1),
    OrderedDict(a=1),
    defaultdict(int, a=1),
    np.float64(1.5),
    np.int64(1),
    np.bool_(True),
    np.array([1, 2]),
    np.str_("x"),
    np.datetime64("2026-01-31"),
    orjson.Fragment(b'"x"'),
    # It would not write these.
    b"x",
    bytearray(b"x"),
    memoryview(b"x"),
    {1, 2},
    frozenset((1,)),
    Pair(1, 2),
    deque((1,)),
    range(3),
    (each for each in "ab"),
    {"a": 1}.keys(),
    MappingProxyType({"a": 1}),
    SimpleNamespace(a=1),
    Decimal(1),
    Fraction(1, 2),
    1j,
    timedelta(1),
    Path("x"),
    object(),
    ...,
    int,
    len,
]
NO_KEYS = [1, 1.5, True, None, b"a", ("a",), UUID(int=1), date(2026, 1, 31), Size.SMALL, 10**5000]
ALMOST_KEYS = [Text("a"), Colour.RED, OldColour.RED, np.str_("a")]


def kind(value: object) -> str:
    return type(value).__name__


def nested(depth: int, innermost: Any = None, kinds: str = "d") -> dict[str, Any]:
    """An object of `depth` levels; `kinds` says in turn which are dicts, lists and tuples."""
    value = innermost
    for level in reversed(range(depth)):
        match kinds[level % len(kinds)] if level else "d":
            case "d":
                value = {"k": value}
            case "l":
                value = [value]
            case _:
                value = (value,)
    return value


@cases(
    ("value", "text"),
    [
        ({}, "{}"),
        ({"a": None}, '{"a":null}'),
        ({"b": 1, "a": 2}, '{"a":2,"b":1}'),
        ({"a": {"z": 1, "y": [{"d": 1, "c": 2}]}}, '{"a":{"y":[{"c":2,"d":1}],"z":1}}'),
        ({"a": [True, False, None, "", 0, -1, 0.5]}, '{"a":[true,false,null,"",0,-1,0.5]}'),
        ({"a": []}, '{"a":[]}'),
        ({"": ""}, '{"":""}'),
        ({"a": 1.0}, '{"a":1.0}'),
        ({"a": 1}, '{"a":1}'),
        ({"a": -0.0}, '{"a":-0.0}'),
        ({"a": 'say "hi"\n\\'}, '{"a":"say \\"hi\\"\\n\\\\"}'),
        ({"a": "\0\x1f"}, '{"a":"\\u0000\\u001f"}'),
        ({"漢": "字", "é": "\U0001f344"}, '{"é":"\U0001f344","漢":"字"}'),
        ({"\uffff": 1, "\U00010000": 2}, '{"\uffff":1,"\U00010000":2}'),  # Not UTF-16 order.
        ({"aa": 1, "b": 2, "B": 3, "a": 4}, '{"B":3,"a":4,"aa":1,"b":2}'),
    ],
)
def test_each_object_has_one_text_sorted_and_without_white_space(
    value: dict[str, Any], text: str
) -> None:
    assert object_text(value, "attributes") == text
    assert parse_object(text) == value
    assert list(map(repr, parse_object(text))) == sorted(map(repr, value), key=lambda k: k.encode())
    assert json.loads(text) == value


def test_numbers_keep_their_kind() -> None:
    parsed = parse_object(object_text({"int": 1, "float": 1.0, "bool": True}, "attributes"))
    assert {key: type(item) for key, item in parsed.items()} == {
        "int": int,
        "float": float,
        "bool": bool,
    }


@cases("number", [0.1, 1e16, 1e22, 1e-7, 5e-324, 1.7976931348623157e308, -2.5, 0.1 + 0.2])
def test_a_float_comes_back_as_it_was(number: float) -> None:
    assert repr(parse_object(object_text({"n": number}, "attributes"))["n"]) == repr(number)


def test_every_empty_object_comes_back_as_a_new_one() -> None:
    assert object_text({}, "attributes") == EMPTY_OBJECT
    first = parse_object(EMPTY_OBJECT)
    first["a"] = 1
    assert parse_object(EMPTY_OBJECT) == {}


@cases("value", [[], [("a", 1)], "", "{}", None, 0, 5, (), set(), {"a"}, object()])
def test_only_a_mapping_is_an_object(value: object) -> None:
    with pytest.raises(
        InvalidValueType, match=f"The metadata must be an object, not {kind(value)}"
    ):
        object_text(value, "metadata")  # type: ignore[arg-type]


@cases(
    "value",
    [
        OrderedDict(b=[1], a=2),
        defaultdict(int, b=[1], a=2),
        MappingProxyType({"b": [1], "a": 2}),
        ChainMap({"b": [1]}, {"a": 2}),
        Dict(b=[1], a=2),
    ],
)
def test_the_whole_may_be_any_mapping(value: Any) -> None:
    assert object_text(value, "attributes") == '{"a":2,"b":[1]}'


def test_a_typed_dict_is_a_dict() -> None:
    assert object_text({"shape": Shape(sides=3)}, "attributes") == '{"shape":{"sides":3}}'


def test_a_time_is_its_text_in_utc_wherever_it_stands() -> None:
    east = datetime(2026, 1, 31, 14, 30, tzinfo=timezone(timedelta(hours=2)))
    naive = datetime(2026, 1, 31, 12, 30, 0, 5)  # noqa: DTZ001 - taken as UTC
    given = {"at": east, "all": [{"naive": (naive,)}, date(2026, 1, 31)], "n": 1}
    text = object_text(given, "attributes")
    assert parse_object(text) == {
        "at": "2026-01-31T12:30:00Z",
        "all": [{"naive": ["2026-01-31T12:30:00.000005Z"]}, "2026-01-31"],
        "n": 1,
    }
    assert given["at"] is east  # What the caller has stays as it is.
    for bad in ({"at": east, "bad": b"x"}, {"at": east, "bad": float("nan")}):
        with pytest.raises(InvalidValueType, match="'bad'"):
            object_text(bad, "attributes")
    first = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    with pytest.raises(InvalidValueType, match="years 1 to 9999"):
        object_text({"at": first}, "attributes")


def test_a_tuple_is_an_array() -> None:
    assert object_text({"a": (1, (2, [3]))}, "attributes") == '{"a":[1,[2,[3]]]}'


@cases("value", NO_JSON_VALUES)
@cases(
    "wrap",
    [
        lambda value: {"good": 1, "bad": value},
        lambda value: {"outer": {"bad": value}},
        lambda value: {"outer": [1, "x", value]},
        lambda value: {"outer": ([{"bad": (value,)}],)},
    ],
    ids=["top", "in a dict", "in a list", "deep"],
)
def test_what_is_no_json_value_is_refused_wherever_it_stands(wrap, value: object) -> None:
    with pytest.raises(InvalidValueType) as caught:
        object_text(wrap(value), "attributes")
    assert kind(value) in caught.value.message


@pytest.mark.parametrize("value", [Colour.RED, b"x", Float(1.0)], ids=kind)
def test_what_is_no_json_value_is_called_that_at_the_deepest_level_too(value: object) -> None:
    with pytest.raises(InvalidValueType):
        object_text(nested(JSON_DEPTH_MAX, value), "attributes")
    with pytest.raises(InvalidValueType):
        object_text(nested(JSON_DEPTH_MAX, value, "l"), "attributes")


@cases("key", [*NO_KEYS, *ALMOST_KEYS])
@cases("wrap", [lambda value: value, lambda value: {"a": value}, lambda value: {"a": [value]}])
def test_a_key_is_a_plain_string(wrap, key: Any) -> None:
    with pytest.raises(InvalidValueType, match=f"key that is {kind(key)}"):
        object_text(wrap({"good": 1, key: 1}), "attributes")


@cases(
    "number",
    [
        float("nan"),
        float("inf"),
        float("-inf"),
        2**64,
        -(2**63) - 1,
        10**5000,
    ],
)
@cases(
    "wrap",
    [
        lambda value: {"n": value},
        lambda value: {"a": {"n": value}},
        lambda value: {"a": [value]},
        lambda value: {"a": [[0, value]]},
    ],
)
def test_numbers_that_json_cannot_carry_are_refused(wrap, number: float) -> None:
    with pytest.raises(InvalidValueType):
        object_text(wrap(number), "attributes")


@cases("number", [2**64 - 1, 2**63, 2**63 - 1, -(2**63), 2**53 + 1, 0])
def test_integers_of_64_bits_are_kept_exactly(number: int) -> None:
    value = {"n": number, "a": [number], "o": {"n": number}}
    assert parse_object(object_text(value, "attributes")) == value


@cases(
    "value",
    [
        {"a": "\ud800"},
        {"a": "x\udfffy"},
        {"\ud800": 1},
        {"\udc00" * 300: 1},
        {"a": {"b": "\ud800"}},
        {"a": {"\ud800": 1}},
        {"a": ["\ud800"]},
        {"a": [{"b": ["x", ("\ude00\ud83d",)]}]},
    ],
)
def test_lone_surrogates_are_refused_in_keys_and_values(value: dict[str, Any]) -> None:
    with pytest.raises(InvalidValueType, match="surrogate"):
        object_text(value, "attributes")


@cases("kinds", ["d", "l", "t", "dl", "ldt", "dddl", "lllld"])
@cases("innermost", [None, 1, "x"])
def test_64_levels_are_taken_and_65_are_not(kinds: str, innermost: Any) -> None:
    assert JSON_DEPTH_MAX == 64
    text = object_text(nested(64, innermost, kinds), "attributes")
    assert text.count("[") + text.count("{") == 64
    with pytest.raises(ResourceExhausted, match="nest deeper than 64 levels"):
        object_text(nested(65, innermost, kinds), "attributes")


@pytest.mark.parametrize("empty", [{}, [], ()], ids=kind)
def test_an_empty_container_is_a_level_too(empty: Any) -> None:
    assert object_text(nested(63, empty), "attributes")
    with pytest.raises(ResourceExhausted):
        object_text(nested(64, empty), "attributes")


@pytest.mark.parametrize("depth", [66, 300, 5_000, 100_000])
def test_any_greater_depth_is_refused_without_running_out_of_stack(depth: int) -> None:
    for kinds in ("d", "l"):
        with pytest.raises(ResourceExhausted):
            object_text(nested(depth, None, kinds), "attributes")


def test_a_value_that_contains_itself_is_refused() -> None:
    looped: dict[str, Any] = {}
    looped["self"] = looped
    ring: list[Any] = []
    ring += [ring, ring, ring]
    for value in (looped, {"ring": ring}):
        with pytest.raises(ResourceExhausted):
            object_text(value, "attributes")


def test_one_list_that_stands_in_many_places_is_refused_before_it_is_written_out() -> None:
    doubled: list[Any] = [1]
    for _ in range(60):
        doubled = [doubled, doubled]
    wide = [0] * 1000
    for value in ({"a": doubled}, {"a": [[wide] * 1000] * 1000}):
        with pytest.raises(ResourceExhausted, match=str(JSON_BYTES_MAX)):
            object_text(value, "attributes")


@pytest.mark.parametrize("letter", ["x", "漢", "\n"])
def test_the_text_may_have_a_mebibyte_and_no_more(letter: str) -> None:
    width = len(orjson.dumps(letter)) - 2
    room = JSON_BYTES_MAX - len('{"k":""}')
    value = {"k": letter * (room // width) + "x" * (room % width)}
    assert len(object_text(value, "attributes").encode()) == JSON_BYTES_MAX
    with pytest.raises(ResourceExhausted, match=f"have {JSON_BYTES_MAX + 1} bytes"):
        object_text({"k": value["k"] + "x"}, "attributes")


def test_the_count_of_items_refuses_nothing_that_would_fit() -> None:
    # The densest text there is: one digit and one comma an item.
    fits = [0] * ((JSON_BYTES_MAX - len('{"":[]}') + 1) // 2)
    text = object_text({"": fits}, "attributes")
    assert JSON_BYTES_MAX - 1 <= len(text) <= JSON_BYTES_MAX
    with pytest.raises(ResourceExhausted):
        object_text({"": [*fits, 0, 0]}, "attributes")


@cases("letter", ["x", "é", "漢", "\U0001f344"])
@cases("wrap", [lambda key: {key: 1}, lambda key: {"a": [{key: 1}]}])
def test_a_key_may_have_1024_bytes_and_no_more(wrap, letter: str) -> None:
    width = len(letter.encode())
    longest = letter * (KEY_BYTES_MAX // width)
    assert longest in object_text(wrap(longest), "attributes")
    with pytest.raises(ResourceExhausted, match=f"at most {KEY_BYTES_MAX}"):
        object_text(wrap(longest + letter), "attributes")


@cases(
    ("value", "where"),
    [
        ({"dose": float("nan")}, "'dose'"),
        ({"a": {"dose": {1}}}, "'dose'"),
        ({"a": [1, 2, b"x"]}, "index 2"),
        ({"a": [2**70]}, "index 0"),
        ({"d" * 500: b"x"}, "'ddd"),
        ({"d" * 1000: 2**70}, "'ddd"),
        ({"d" * 1000: float("inf")}, "'ddd"),
    ],
)
def test_the_message_says_where_the_value_stands_and_stays_short(value: Any, where: str) -> None:
    with pytest.raises(InvalidValueType) as caught:
        object_text(value, "attributes")
    assert where in caught.value.message
    assert caught.value.message.startswith("The attributes ")
    assert len(caught.value.message) < 200


def test_a_value_whose_text_cannot_be_had_is_refused_by_its_type() -> None:
    class Silent:
        def __repr__(self) -> str:
            raise RuntimeError

    for value in ({"a": Silent()}, {Silent(): 1}):
        with pytest.raises(InvalidValueType, match="Silent"):
            object_text(value, "attributes")  # type: ignore[arg-type]


def test_checking_leaves_the_value_as_it_is() -> None:
    value = {"b": [1, {"c": (2,)}], "a": {}}
    object_text(value, "attributes")
    assert repr(value) == "{'b': [1, {'c': (2,)}], 'a': {}}"


def test_checking_alone_takes_and_refuses_the_same() -> None:
    check_object({}, "attributes")
    check_object({"a": [1, {"b": None}]}, "attributes")
    for value in ({"a": b""}, {"a": [b""]}, {1: 2}, nested(65)):
        with pytest.raises(MycelError):
            check_object(value, "attributes")


@cases("key", ["_version", "_updated_at", "_", "__x", "_" * 5000])
def test_metadata_keys_with_an_underscore_in_front_are_the_engines(key: str) -> None:
    with pytest.raises(ConstraintViolation, match="reserved") as caught:
        check_metadata_keys(["source", key])
    assert len(caught.value.message) < 200


def test_other_metadata_keys_are_free() -> None:
    check_metadata_keys([])
    check_metadata_keys({"source": 1, "a_b": 2, "": 3, "x_": 4})
    check_metadata_keys([1, None])  # Whether keys are strings is for `object_text` to say.
