"""Schemas for types that grew in KIP: no more than the data shows, and nothing of it rewritten."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import mycel
from mycel.errors import NotFound
from tests.prepared import NEW


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with NEW.opened() as nexus:
        nexus.write(lambda tx: tx.define_type("Seen"))
        yield nexus


def inferred(db: mycel.Graph, *values: Any) -> str | None:
    """What is declared of an attribute that has these values, once that is applied."""
    rows = [mycel.ConceptRow("Seen", f"n{at}", {"value": each}) for at, each in enumerate(values)]
    db.write(lambda tx: tx.put_concepts(rows))
    assert db.schema.apply(db.schema.infer(["Seen"])).applied
    for row in rows:
        found = db.get_concept("Seen", row.name)
        assert found is not None
        assert found.attributes == row.attributes
    types = {each.name: str(each.type) for each in db.schema.catalog.nodes["Seen"].properties}
    return types.get("value")


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        (["2024-01-31T12:00:00.000Z", "2024-01-31T12:00:00.250Z"], "DateTime"),
        (["2024-01-31T12:00:00Z", "2024-01-31T12:00:00+01:00"], "String"),
        (["2024-01-31 12:00:00"], "String"),
        (["2024-01-31"], "Date"),
        ([["2024-01-31T12:00:00+01:00"]], "[String]"),
        ([5, 2**64 - 1], "U64"),
        ([-5, 2**64 - 1], None),
        ([-5, 5], "I64"),
        ([1, 0.5], "F64"),
        ([2**53 + 1, 0.5], None),
        ([[5], [2**64 - 1]], "[U64]"),
    ],
)
def test_the_type_holds_every_value_as_it_is(
    db: mycel.Graph, values: list[Any], type_: str | None
) -> None:
    assert inferred(db, *values) == type_


def test_times_in_utc_are_times_and_are_found_as_they_were_written(db: mycel.Graph) -> None:
    rows = [
        mycel.ConceptRow("Seen", name, {"at": at})
        for name, at in (("a", "2024-01-31T12:00:00Z"), ("b", "2024-01-31T12:00:00.250Z"))
    ]
    db.write(lambda tx: tx.put_concepts(rows))
    asked = """FIND(?s.name) WHERE { ?s {type: "Seen"} FILTER(?s.attributes.at == :at) }"""
    before = [db.execute(asked, at=row.attributes["at"]).value for row in rows]
    text = db.schema.infer(["Seen"])
    assert "at: DateTime" in text
    assert db.schema.apply(text).applied
    assert [db.execute(asked, at=row.attributes["at"]).value for row in rows] == before
    assert before == [["a"], ["b"]]


def test_the_foundation_is_not_inferred_and_the_error_says_why(db: mycel.Graph) -> None:
    with pytest.raises(NotFound, match="foundation of every graph"):
        db.schema.infer(["Domain"])
    with pytest.raises(NotFound, match="There is no concept type 'Sean'") as caught:
        db.schema.infer(["Sean"])
    assert "Seen" in (caught.value.hint or "")


def test_a_merge_policy_of_kip_is_declared_where_it_fits(db: mycel.Graph) -> None:
    entries = {"tags": {"merge": "set"}, "rank": {"merge": "max"}}
    db.execute(
        'UPSERT { CONCEPT { {type: "$ConceptType", name: "Seen"}'
        " SET ATTRIBUTES { instance_schema: :entries } } }",
        {"entries": entries},
    )
    row = mycel.ConceptRow("Seen", "n", {"tags": ["a"], "rank": "first"})
    db.write(lambda tx: tx.put_concepts([row]))
    assert db.schema.apply(db.schema.infer(["Seen"])).applied
    declared = db.schema.catalog.nodes["Seen"].properties
    assert {each.name: each.merge for each in declared} == {"rank": None, "tags": "set"}
