"""Names of types, predicates, concepts and actors."""

from enum import Enum, StrEnum

import pytest

from mycel.errors import ConstraintViolation, InvalidIdentifier, InvalidValueType
from mycel.model.limits import ACTOR_BYTES_MAX, IDENTIFIER_BYTES_MAX, NAME_BYTES_MAX
from mycel.model.names import (
    CONCEPT_TYPE,
    PROPOSITION_TYPE,
    SYSTEM_ACTOR,
    check_actor,
    check_identifier,
    check_name,
    check_text,
    kind_of,
    shorten,
)
from tests.cases import cases


class Colour(StrEnum):
    RED = "red"


class OldColour(str, Enum):  # noqa: UP042  What people wrote before StrEnum, with another str().
    RED = "red"


class Text(str):
    __slots__ = ()


NO_STRINGS = [None, 5, 5.0, True, b"name", ["name"], {"name": 1}, object()]


@cases(
    "name",
    ["Drug", "treats", "is_a", "_", "_private", "x9", "X", CONCEPT_TYPE, PROPOSITION_TYPE],
)
def test_letters_digits_and_underscores_make_an_identifier(name: str) -> None:
    assert check_identifier(name, "type") == name


@cases(
    "name",
    [
        "",
        "9lives",
        "two words",
        "dash-ed",
        "dot.ted",
        "$",
        "$_1",
        "$$x",
        "x$",
        "?x",
        ":x",
        "Drug\n",
        "\nDrug",
        "Dr\0ug",
        "naïve",
        "药物",
        "x٢",
        "ｘ",
        "\ud800",
        "x" * 1_000_000,
    ],
)
def test_anything_else_is_no_identifier(name: str) -> None:
    with pytest.raises(InvalidIdentifier) as caught:
        check_identifier(name, "predicate")
    assert "predicate" in caught.value.message
    assert len(caught.value.message) < 200


def test_an_identifier_may_have_255_bytes_and_no_more() -> None:
    assert check_identifier("x" * IDENTIFIER_BYTES_MAX, "type")
    with pytest.raises(InvalidIdentifier):
        check_identifier("x" * (IDENTIFIER_BYTES_MAX + 1), "type")


@cases("value", NO_STRINGS)
def test_a_name_that_is_no_string_is_refused_by_its_type(value: object) -> None:
    for check in (check_name, check_actor, lambda each: check_identifier(each, "type")):
        with pytest.raises(InvalidValueType, match=kind_of(value)):
            check(value)


@cases(
    "name",
    [
        "Aspirin",
        " ",
        "two\nlines",
        "阿司匹林",
        "\U0001f344 mycelium",
        "e\u0301",
        "https://example.org/x?y#z",
        "'; DROP TABLE concept; --",
        "\x01\x7f",
        "\ufffe",
    ],
)
def test_a_concept_may_have_any_text_as_its_name_and_it_stays_as_it_is(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize("letter", ["x", "é", "漢", "\U0001f344"])
def test_the_length_of_a_name_is_counted_in_bytes_of_utf8(letter: str) -> None:
    width = len(letter.encode())
    longest = letter * (NAME_BYTES_MAX // width)
    assert check_name(longest) == longest
    with pytest.raises(ConstraintViolation, match=f"has {len(longest.encode()) + width} bytes"):
        check_name(longest + letter)


def test_a_megabyte_is_no_name_and_the_message_does_not_repeat_it() -> None:
    for name in ("x" * 1_000_000, "漢" * 1_000_000):
        with pytest.raises(ConstraintViolation) as caught:
            check_name(name)
        assert len(str(caught.value)) < 300


@pytest.mark.parametrize("check", [check_name, check_actor])
def test_names_and_actors_must_not_be_empty(check) -> None:
    with pytest.raises(ConstraintViolation, match="empty"):
        check("")


@pytest.mark.parametrize("text", ["\0", "a\0b", "漢\0"])
def test_a_nul_is_refused(text: str) -> None:
    with pytest.raises(InvalidValueType, match="NUL"):
        check_name(text)


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\ude00\ud83d"])
def test_a_lone_surrogate_is_refused(text: str) -> None:
    for check in (check_name, check_actor):
        with pytest.raises(InvalidValueType, match="surrogate"):
            check(text)


def test_an_actor_may_have_255_bytes_and_no_more() -> None:
    assert check_actor("x" * ACTOR_BYTES_MAX)
    assert check_actor(SYSTEM_ACTOR) == SYSTEM_ACTOR
    with pytest.raises(ConstraintViolation):
        check_actor("x" * (ACTOR_BYTES_MAX + 1))


def test_other_text_may_be_empty_and_has_a_bound_of_its_own() -> None:
    assert check_text("", "message", 4) == ""
    assert check_text("four", "message", 4) == "four"
    with pytest.raises(ConstraintViolation, match="The message has 5 bytes; at most 4"):
        check_text("fives", "message", 4)


@pytest.mark.parametrize("name", [Colour.RED, OldColour.RED, Text("red")], ids=kind_of)
def test_a_kind_of_string_becomes_a_plain_one(name: str) -> None:
    for checked in (check_name(name), check_actor(name), check_identifier(name, "type")):
        assert checked == "red"
        assert type(checked) is str
        assert f"{checked}" == "red"


def test_text_is_shortened_to_the_width_asked_for_and_not_otherwise() -> None:
    assert shorten("x" * 60) == "x" * 60
    assert shorten("x" * 61) == "x" * 59 + "…"
    assert shorten("abcdef", 4) == "abc…"
