"""Data that stands in the way of a schema: named in the words in which a write would be refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import mycel
from mycel.errors import ConstraintViolation
from mycel.migration import data_violations
from tests.prepared import NEW

LOOSE = """
node A { x: I32?  ok: Bool?  code: String? }
edge Next: A -> A
"""


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with NEW.opened() as nexus:
        nexus.schema.apply(LOOSE)
        yield nexus


def put(db: mycel.Graph, **rows: dict[str, Any]) -> None:
    db.load([{"type": "A", "id": name, "data": data} for name, data in rows.items()])


def refused(db: mycel.Graph, schema: str) -> dict[str, Any]:
    result = db.schema.apply(schema)
    assert not result.applied
    (step,) = [each for each in result.steps if each["kind"] == "unsupported_change"]
    return step


def said_at_the_write(schema: str, rows: list[dict[str, Any]]) -> str:
    """What a load of the rows is told once the schema is in force."""
    with NEW.opened() as other:
        other.schema.apply(schema)
        with pytest.raises(ConstraintViolation) as caught:
            other.load(iter(rows))
    return caught.value.message.rstrip(".")


def test_values_that_are_not_unique_are_worded_as_a_write_would_be(db: mycel.Graph) -> None:
    data = {"x": 78, "ok": True}
    put(db, a=data, b=data, c={"x": 78, "ok": False})
    schema = LOOSE.replace("code", "@unique(x, ok) code")
    step = refused(db, schema)
    (found,) = step["violations"]
    assert found["instance"] == "'a'"
    assert found["message"].endswith("value '78, true' held by 'a' and 'b'")
    rows = [{"type": "A", "id": name, "data": data} for name in ("a", "b")]
    assert found["message"] == said_at_the_write(schema, rows)


def test_the_ends_of_links_that_are_not_unique_are_named(db: mycel.Graph) -> None:
    put(db, a={}, b={}, c={})
    db.load([{"edge": "Next", "from": "a", "to": to} for to in ("b", "c")])
    (found,) = refused(db, LOOSE.replace("-> A", "-> A { @unique(src) }"))["violations"]
    assert found["message"] == (
        "@unique violation on Next.(src): value 'a' held by 'a -> b' and 'a -> c'"
    )


def test_too_few_edges_are_worded_as_a_write_would_be(db: mycel.Graph) -> None:
    put(db, a={}, b={})
    link = {"edge": "Next", "from": "a", "to": "b"}
    db.load([link])
    schema = LOOSE.replace("-> A", "-> A @card(2..3)")
    (found,) = refused(db, schema)["violations"]
    assert found["message"].endswith("source 'a' has 1 edge (min 2)")
    rows: list[dict[str, Any]] = [{"type": "A", "id": name, "data": {}} for name in ("a", "b")]
    assert found["message"] == said_at_the_write(schema, [*rows, link])


def test_a_key_that_two_have_is_one_violation(db: mycel.Graph) -> None:
    put(db, a={"code": "same"}, b={"code": "same"}, c={"code": "other"})
    step = refused(db, LOOSE.replace("code: String?", "code: String @key"))
    assert step["violation_count"] == 1
    (found,) = step["violations"]
    assert "@key violation on A.(code)" in found["message"]


def test_values_beyond_those_that_are_looked_for_are_said_to_be_more(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(db, **{f"n{at}": {"x": at // 2} for at in range(8)})
    schema = LOOSE.replace("x: I32?", "x: I32? @unique")
    assert "(and 3 more)" in refused(db, schema)["reason"]
    assert "has_more" not in refused(db, schema)
    monkeypatch.setattr(data_violations, "CONFLICTS_MAX", 3)
    step = refused(db, schema)
    assert (step["violation_count"], step["has_more"]) == (3, True)
    assert "(and more than 2 others)" in step["reason"]


def test_each_violation_says_of_what_property_and_constraint(db: mycel.Graph) -> None:
    put(db, a={"x": 5}, b={"x": 500}, c={"code": "c"})
    step = refused(db, LOOSE.replace("x: I32?", "x: I32 @range(x, 0..100)"))
    assert [
        (each["property"], each["value"], each["constraint"]) for each in step["violations"]
    ] == [
        ("x", 500, "@range(x, 0..100)"),
        ("x", None, "required"),
    ]
    assert {each["type"] for each in step["violations"]} == {"A"}
    found = [db.get(each["id"]) for each in step["violations"]]
    assert [f"'{each.name}'" for each in found if isinstance(each, mycel.Concept)] == ["'b'", "'c'"]
