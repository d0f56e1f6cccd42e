"""The rules of one type, held against one row at a time."""

from typing import Any

import pytest

from mycel.errors import ConstraintViolation, InvalidValueType, MycelError
from mycel.schema.model import (
    Annotation,
    Check,
    EdgeType,
    Key,
    NodeType,
    Property,
    PropertyType,
    Range,
    Scalar,
    Unique,
)
from mycel.schema.row_rules import RowRules


def prop(name: str, scalar: Scalar, default: str | None = None, **said: Any) -> Property:
    annotations = () if default is None else (Annotation("default", default),)
    return Property(name, PropertyType(scalar, **said), 1, annotations)


PERSON = NodeType(
    "Person",
    1,
    properties=(
        prop("email", "String"),
        prop("age", "I32", is_nullable=True),
        prop("role", "String", "user", enum_values=("admin", "user")),
        prop("score", "F64", is_nullable=True),
        prop("seen", "DateTime", is_nullable=True),
    ),
    constraints=(
        Key(("email",)),
        Range("age", 0, 150),
        Range("score", None, 1.5),
        Check("email", "^[a-z]+@"),
        Unique(("age",)),
    ),
)
SEAT = NodeType(
    "Seat",
    2,
    properties=(prop("row", "String"), prop("number", "I32")),
    constraints=(Key(("row", "number")),),
)
KNOWS = EdgeType("Knows", 3, "Person", "Person", properties=(prop("since", "Date"),))

ADA = "ada@example.org"


@pytest.fixture(scope="module")
def person() -> RowRules:
    return RowRules(PERSON)


@pytest.fixture(scope="module")
def seat() -> RowRules:
    return RowRules(SEAT)


def create(rules: RowRules, name: str | None = None, **attributes: Any) -> dict[str, Any]:
    return rules.shape(attributes, name=name, creating=True)


def update(rules: RowRules, name: str | None = None, **attributes: Any) -> dict[str, Any]:
    return rules.shape(attributes, name=name, creating=False)


def refused(rules: RowRules, name: str | None = ADA, **attributes: Any) -> MycelError:
    with pytest.raises(MycelError) as caught:
        update(rules, name, **attributes)
    return caught.value


# Values.


def test_a_row_that_is_right_stays_the_same_object(person: RowRules) -> None:
    seen = "2024-01-31T12:00:00.000Z"
    row = {"email": ADA, "age": 36, "role": "admin", "score": 0.5, "seen": seen}
    assert person.shape(row, name=ADA, creating=True) is row


def test_values_get_their_one_spelling_and_the_callers_row_stays(person: RowRules) -> None:
    row = {"email": ADA, "age": 36.0, "score": 1, "seen": "2024-01-31 12:00:00"}
    kept = dict(row)
    shaped = person.shape(row, name=ADA, creating=False)
    assert shaped["seen"] == "2024-01-31T12:00:00.000Z"
    assert repr((shaped["age"], shaped["score"])) == "(36, 1.0)"
    assert row == kept
    assert type(row["age"]) is float


def test_zero_has_one_sign(person: RowRules) -> None:
    row = {"email": ADA, "role": "user", "score": -0.0}
    assert str(update(person, ADA, **row)["score"]) == "0.0"
    row["score"] = 0.0
    assert person.shape(row, name=ADA, creating=False) is row


def test_null_stays_null(person: RowRules) -> None:
    assert update(person, ADA, email=ADA, age=None) == {"email": ADA, "age": None}


def test_a_value_of_another_kind_is_refused_with_what_is_expected(person: RowRules) -> None:
    error = refused(person, email=ADA, age="old")
    assert isinstance(error, InvalidValueType)
    assert error.message == "Person.age must be I32: 'old' is a string."
    assert error.data == {
        "type": "Person",
        "property": "age",
        "value": "old",
        "constraint": "I32",
        "name": ADA,
    }
    assert ADA in error.hint


def test_a_value_outside_an_enum_is_told_the_others(person: RowRules) -> None:
    error = refused(person, email=ADA, role="Admin")
    assert isinstance(error, ConstraintViolation)
    assert error.message == "invalid enum value 'Admin' for Person.role (expected: admin, user)."
    assert "Did you mean 'admin'?" in error.hint


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"age": 151}, "@range violation on Person.age: 151 is not within 0..150."),
        ({"age": -1}, "@range violation on Person.age: -1 is not within 0..150."),
        ({"score": 2}, "@range violation on Person.score: 2.0 is not within ..1.5."),
        (
            {"email": "Ada@"},
            "@check violation on Person.email: 'Ada@' does not match \"^[a-z]+@\".",
        ),
    ],
)
def test_a_value_outside_its_limits_is_refused(
    person: RowRules, attributes: dict[str, Any], message: str
) -> None:
    error = refused(person, None, **attributes)
    assert isinstance(error, ConstraintViolation)
    assert error.message == message


def test_limits_are_within(person: RowRules) -> None:
    assert update(person, None, age=0)
    assert update(person, None, age=150.0) == {"age": 150}
    assert update(person, None, score=-1e300)


def test_a_pattern_matches_anywhere_unless_it_is_anchored() -> None:
    declared = NodeType("Note", 1, properties=(prop("text", "String"),))
    anywhere = RowRules(NodeType("N", 1, (), (), declared.properties, (Check("text", "b+"),)))
    anchored = RowRules(NodeType("N", 1, (), (), declared.properties, (Check("text", "^b+$"),)))
    assert update(anywhere, text="abbc")
    assert update(anchored, text="bb")
    for text in ("abbc", "bb\n", ""):
        with pytest.raises(ConstraintViolation):
            update(anchored, text=text)


def test_a_lone_surrogate_is_refused_before_the_pattern_sees_it(person: RowRules) -> None:
    error = refused(person, None, email="\ud800")
    assert "lone surrogate" in error.message
    assert str(error.to_dict()).encode()


def test_a_long_value_is_cut_in_message_and_data(person: RowRules) -> None:
    error = refused(person, None, email="x" * 100_000)
    assert len(str(error.to_dict())) < 1000


# Rows that are right as they are.


def test_a_row_that_is_stored_as_it_is_stays_the_same_object(person: RowRules) -> None:
    row = {"email": ADA, "role": "user", "age": 36}
    for same in (row, row | {"age": None}):
        for name in (ADA, None):
            assert person.shape(same, name=name, creating=True) is same


# Names that are not declared.


def test_an_undeclared_name_is_refused_with_the_one_that_was_meant(person: RowRules) -> None:
    error = refused(person, email=ADA, emial=ADA)
    assert isinstance(error, ConstraintViolation)
    assert error.message == "Person has no property 'emial'."
    assert "Did you mean 'email'?" in error.hint
    assert "email, age, role, score, seen" in error.hint


def test_an_undeclared_name_is_refused_even_if_it_is_null(person: RowRules) -> None:
    assert "no property 'nickname'" in refused(person, email=ADA, nickname=None).message


def test_an_open_type_takes_names_that_it_does_not_declare() -> None:
    declared = NodeType("Note", 1, (Annotation("open"),), (), (prop("text", "String"),))
    row = {"text": "a", "mood": {"is": ["good"]}}
    assert RowRules(declared).shape(row, name="n", creating=True) is row


# Defaults.


def test_a_default_fills_what_is_absent_or_null_in_a_new_row(person: RowRules) -> None:
    assert create(person, ADA, email=ADA)["role"] == "user"
    assert create(person, ADA, email=ADA, role=None)["role"] == "user"
    assert create(person, ADA, email=ADA, role="admin")["role"] == "admin"


def test_a_default_does_not_come_back_later(person: RowRules) -> None:
    assert "role" not in update(person, ADA, email=ADA)


# Keys.


def test_a_key_that_is_not_given_follows_from_the_name(person: RowRules, seat: RowRules) -> None:
    assert create(person, ADA)["email"] == ADA
    assert create(seat, '["A","7"]') == {"row": "A", "number": 7}
    assert create(seat, '["A","7"]', number=7) == {"row": "A", "number": 7}


def test_a_name_follows_from_the_key(person: RowRules, seat: RowRules) -> None:
    assert person.name({"email": ADA}) == ADA
    assert seat.name({"number": 7.0, "row": 'A"é'}) == '["A\\"é","7"]'
    assert RowRules(KNOWS).name({}) is None


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({}, "Person.email is required: it is the key."),
        ({"email": None}, "Person.email is required: it is the key."),
        ({"email": ""}, "Person.email must not be empty: it is the key."),
        ({"email": 5}, "Person.email must be String: 5 is a number."),
    ],
)
def test_no_name_follows_from_a_key_that_is_not_right(
    person: RowRules, attributes: dict[str, Any], message: str
) -> None:
    with pytest.raises(MycelError) as caught:
        person.name(attributes)
    assert caught.value.message == message


def test_a_key_is_the_name_of_its_concept(person: RowRules) -> None:
    with pytest.raises(ConstraintViolation) as caught:
        create(person, ADA, email="bob@example.org")
    assert caught.value.message == (
        f"Person.email is 'bob@example.org', but it is the key of Person '{ADA}'."
    )
    assert caught.value.hint == (
        "Leave 'email' out, and it is taken from the name; or name the concept 'bob@example.org'."
    )


def test_a_key_does_not_change_and_does_not_go(person: RowRules, seat: RowRules) -> None:
    assert "MERGE" in refused(person, email="bob@example.org").hint
    assert "Person.email is null" in refused(person, email=None).message
    assert "Person.email is null" in refused(person).message
    error = refused(seat, '["A","7"]', row="A", number=8)
    assert error.message == 'Seat.number is 8, but it is part of the key of Seat \'["A","7"]\'.'
    assert update(seat, '["A","7"]', row="A", number=7)


def test_a_name_that_is_no_key_is_refused(seat: RowRules) -> None:
    for name in ("A7", '["A"]', '["A", "7"]', '["A",7]', '["A","7","x"]', "{}"):
        with pytest.raises(ConstraintViolation, match="is not a name for a Seat"):
            create(seat, name)
    with pytest.raises(ConstraintViolation) as caught:
        create(seat, "A7", row="A", number=7)
    assert """Name the concept '["A","7"]'""" in caught.value.hint
    with pytest.raises(InvalidValueType, match="'007' has to be written '7'"):
        create(seat, '["A","007"]')
    with pytest.raises(InvalidValueType, match="'x' is not a number"):
        create(seat, '["A","x"]')


def test_a_key_that_the_name_gives_is_held_against_its_limits(person: RowRules) -> None:
    with pytest.raises(ConstraintViolation, match="@check violation") as caught:
        create(person, "NOBODY")
    assert "name the concept accordingly" in caught.value.hint


# What is missing.


def test_what_is_required_is_missing_when_it_is_absent_or_null(
    person: RowRules, seat: RowRules
) -> None:
    assert person.missing({"email": ADA, "role": "user"}) == ()
    assert person.missing({"role": None}) == ("email", "role")
    assert seat.missing({"number": 1}) == ("row",)
    assert RowRules(KNOWS).missing({}) == ("since",)


# One value.


def test_one_value_can_be_held_against_its_property(person: RowRules) -> None:
    assert person.value("age", 36.0) == 36
    assert person.value("age", None) is None
    with pytest.raises(ConstraintViolation, match="@range"):
        person.value("age", 200)
    with pytest.raises(InvalidValueType, match=r"Person\.age must be I32"):
        person.value("age", "x")
