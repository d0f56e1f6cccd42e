"""Several violations of a schema: all are named, with type, instance, property and constraint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import mycel
from mycel.engine.schema_guard import LOADING
from mycel.engine.violation_list import LISTED_MAX, SHOWN_MAX, apart, entry, together
from mycel.errors import ConstraintViolation, MycelError
from tests.prepared import NEW

SCHEMA = """
node Person {
  email: String @key
  name: String
  age: I32?
  code: String? @unique
  role: enum(admin, user)?
  @range(age, 0..150)
  @check(name, "^[A-Z]")
}
edge Knows: Person -> Person @card(0..1) { since: Date? }
"""


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with NEW.opened() as db:
        db.schema.apply(SCHEMA)
        yield db


def refused(db: mycel.Graph, *rows: tuple[str, dict[str, Any]]) -> MycelError:
    """What a transaction is told that puts these people."""

    def put(tx: mycel.Transaction) -> None:
        for name, attributes in rows:
            tx.put_concept("Person", name, attributes)

    with pytest.raises(MycelError) as caught:
        db.write(put)
    return caught.value


@pytest.mark.parametrize(
    ("attributes", "property_", "value", "constraint"),
    [
        ({"name": "Ada", "age": 200}, "age", 200, "@range(age, 0..150)"),
        ({"name": "ada"}, "name", "ada", '@check(name, "^[A-Z]")'),
        ({"name": "Ada", "role": "king"}, "role", "king", "enum(admin, user)"),
        ({"name": "Ada", "age": "old"}, "age", "old", "I32"),
        ({"name": "Ada", "email": "b"}, "email", "b", "@key(email)"),
        ({"age": 3}, "name", None, "required"),
    ],
)
def test_a_violation_says_of_what_and_which_constraint(
    db: mycel.Graph, attributes: dict[str, Any], property_: str, value: object, constraint: str
) -> None:
    data = refused(db, ("a", attributes)).data
    assert data["type"] == "Person"
    assert data["name"] == "a"
    assert data["property"] == property_
    assert data["value"] == value
    assert data["constraint"] == constraint


def test_a_commit_names_everything_that_is_wrong(db: mycel.Graph) -> None:
    def put(tx: mycel.Transaction) -> None:
        tx.memo[LOADING] = True  # Or the second edge would be refused at once.
        people = [tx.put_concept("Person", each, {"name": "A", "code": "x"}) for each in "abc"]
        tx.put_concept("Person", "d", {})
        for each in people[1:]:
            tx.put_proposition(people[0], "Knows", each)

    with pytest.raises(ConstraintViolation) as caught:
        db.write(put)
    error = caught.value
    said = [each["constraint"] for each in error.data["violations"]]
    assert said == ["required", "@unique(code)", "@card(0..1)"]
    assert [each["type"] for each in error.data["violations"]] == ["Person", "Person", "Knows"]
    first, *others = error.message.splitlines()
    assert first == "Person.name is required: Person 'd' has none."
    assert [each.strip().partition(" violation")[0] for each in others] == ["@unique", "@card"]
    assert db.get_concept("Person", "a") is None


def test_one_violation_is_told_as_it_is(db: mycel.Graph) -> None:
    error = refused(db, ("a", {}), ("b", {"name": "B"}))
    assert error.message == "Person.name is required: Person 'a' has none."
    assert "violations" not in error.data


def test_what_is_listed_is_bounded(db: mycel.Graph) -> None:
    error = refused(db, *((f"p{n}", {}) for n in range(500)))
    assert len(error.data["violations"]) == LISTED_MAX
    assert error.data["has_more"] is True
    lines = error.message.splitlines()
    assert len(lines) == SHOWN_MAX + 1
    assert lines[-1] == f"  and at least {LISTED_MAX - SHOWN_MAX} more"


def test_a_violation_on_a_link_names_its_ends(db: mycel.Graph) -> None:
    def put(tx: mycel.Transaction) -> None:
        a, b = (tx.put_concept("Person", each, {"name": "A"}) for each in "ab")
        tx.put_proposition(a, "Knows", b, {"since": "soon"})

    with pytest.raises(MycelError) as caught:
        db.write(put)
    error = caught.value
    assert (error.data["subject"], error.data["object"]) == ("a", "b")
    assert (error.data["property"], error.data["constraint"]) == ("since", "Date")
    assert error.hint.endswith("It is in the link from 'a' to 'b'.")


def test_what_was_put_together_can_be_taken_apart() -> None:
    errors = [
        ConstraintViolation(f"{n} is wrong.", data={"type": "T", "value": n}) for n in range(3)
    ]
    entries = [entry(each) for each in errors]
    whole = together(errors, has_more=False)
    assert whole.message == "0 is wrong.\n  1 is wrong.\n  2 is wrong."
    assert [entry(each) for each in apart(whole)] == entries
    assert "violations" not in whole.data
    assert apart(whole) == [whole]
