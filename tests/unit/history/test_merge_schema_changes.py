"""Schemas that both sides have changed, with rows of each: every decision can be committed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.schema.builder import load
from mycel.schema.formatter import format_declared
from tests.cases import cases
from tests.unit.history.test_merge import _without_waiting

__all__ = ("_without_waiting",)

PERSON = "node Person { email: String @key  age: I64? }"
CITY = "node City { name: String @key }"
Rows = Mapping[str, dict[str, Any]]

CASES: list[dict[str, Any]] = [
    {
        "id": "a type that one side renames, with new rows on the other",
        "theirs": 'node Human @rename_from("Person") { email: String @key  age: I64? }',
        "our_rows": {"q": {"age": 3}},
        "schema": "node Human { email: String @key  age: I64? }",
        "rows": {"p": {"age": 1}, "q": {"age": 3}},
    },
    {
        "id": "a type that one side renames and the other changes",
        "ours": "node Person { email: String @key  age: I64?  nick: String? }",
        "theirs": 'node Human @rename_from("Person") { email: String @key  age: I64? }',
        "our_rows": {"q": {"nick": "n"}},
        "schema": "node Human { email: String @key  age: I64?  nick: String? }",
        "rows": {"p": {"age": 1}, "q": {"nick": "n"}},
    },
    {
        "id": "a property that one side renames, and its range that the other changes",
        "base": "node Person { email: String @key  age: I64?  @range(age, 0..10) }",
        "ours": "node Person { email: String @key  age: I64?  @range(age, 0..200) }",
        "theirs": 'node Person { email: String @key  years: I64? @rename_from("age")'
        "  @range(years, 0..10) }",
        "our_rows": {"q": {"age": 100}},
        "schema": "node Person { email: String @key  years: I64?  @range(years, 0..200) }",
        "rows": {"p": {"years": 1}, "q": {"years": 100}},
    },
    {
        "id": "a property that one side renames, and a constraint on it that the other adds",
        "ours": "node Person { email: String @key  age: I64?  @unique(age, email) }",
        "theirs": 'node Person { email: String @key  years: I64? @rename_from("age") }',
        "schema": "node Person { email: String @key  years: I64?  @unique(years, email) }",
        "rows": {"p": {"years": 1}},
    },
    {
        "id": "a property that one side drops, and a constraint on it that the other adds",
        "ours": "node Person { email: String @key  age: I64?  @range(age, 0..10) }",
        "theirs": "node Person { email: String @key }",
        "choices": {
            "ours": {"p": {"age": 1}},
            "theirs": {"p": {}},
            "base": {"p": {"age": 1}},
        },
    },
    {
        "id": "two ranges of one property",
        "base": "node Person { email: String @key  age: I64?  @range(age, 0..10) }",
        "ours": "node Person { email: String @key  age: I64?  @range(age, 0..20) }",
        "theirs": "node Person { email: String @key  age: I64?  @range(age, 0..30) }",
        "choices": {"ours": {"p": {"age": 1}}, "theirs": {"p": {"age": 1}}},
    },
    {
        "id": "a property that both add with different types",
        "ours": "node Person { email: String @key  age: I64?  n: I64? }",
        "theirs": "node Person { email: String @key  age: I64?  n: String? }",
        "our_rows": {"m": {"n": 1}},
        "their_rows": {"o": {"n": "s"}},
        "choices": {
            "ours": {"p": {"age": 1}, "m": {"n": 1}, "o": {}},
            "theirs": {"p": {"age": 1}, "m": {}, "o": {"n": "s"}},
            "base": {"p": {"age": 1}, "m": {}, "o": {}},
        },
    },
    {
        "id": "a property that one side requires, with a default, and rows of the other without it",
        "ours": "node Person { email: String @key  age: I64 @default(7)"
        '  city: String @default("Rome") }',
        "their_rows": {"o": {}},
        "schema": "node Person { email: String @key  age: I64 @default(7)"
        '  city: String @default("Rome") }',
        "rows": {"p": {"age": 1, "city": "Rome"}, "o": {"age": 7, "city": "Rome"}},
    },
    {
        "id": "a property that one side drops, and rows of the other with it",
        "ours": "node Person { email: String @key }",
        "their_rows": {"o": {"age": 3}},
        "schema": "node Person { email: String @key }",
        "rows": {"p": {}, "o": {}},
        "warnings": 1,
    },
    {
        "id": "a type that one side drops, and an edge to it that the other adds",
        "base": f"{PERSON} {CITY}",
        "ours": f"{PERSON} {CITY} edge LivesIn: Person -> City",
        "theirs": PERSON,
        "schema": f"{PERSON} {CITY} edge LivesIn: Person -> City",
        "rows": {"p": {"age": 1}},
    },
]


def put(db: mycel.Graph, rows: Rows) -> None:
    for name, attributes in rows.items():
        given = {"email": name, **attributes}
        db.write(lambda tx, name=name, given=given: tx.put_concept("Person", name, given))  # type: ignore[misc]


def rows_of(db: mycel.Graph) -> Rows:
    with db.reading() as reader:
        found = reader.elements(range(400)).values()
    people = [each for each in found if isinstance(each, mycel.Concept) and each.type[0] != "$"]
    return {
        each.name: {key: value for key, value in each.attributes.items() if key != "email"}
        for each in people
    }


@cases("case", CASES, ids=[each["id"] for each in CASES])
def test_schemas_merge_with_their_rows(case: dict[str, Any], tmp_path: Path) -> None:
    """Every other case, and choice, the other way round."""
    check_choices(case, tmp_path, CASES.index(case))


@pytest.mark.soak
@cases("case", CASES, ids=[each["id"] for each in CASES])
def test_schemas_merge_with_their_rows_in_the_other_direction(
    case: dict[str, Any], tmp_path: Path
) -> None:
    check_choices(case, tmp_path, CASES.index(case) + 1)


def check_choices(case: dict[str, Any], folder: Path, first: int) -> None:
    choices = case.get("choices", {"": case.get("rows")})
    for at, (choice, rows) in enumerate(choices.items(), first):
        check(case, folder / f"{case['id']} {choice}.db", choice, rows, swapped=at % 2 == 1)


def check(case: dict[str, Any], path: Path, choice: str, rows: Rows, *, swapped: bool) -> None:
    with mycel.open(path, durability="off", core_capsules=False) as db:
        db.schema.apply(case.get("base", PERSON))
        put(db, {"p": {"age": 1}})
        db.branches.create("draft")
        with db.open_branch("draft") as draft:
            sides = (draft, db) if swapped else (db, draft)
            for side, name in zip(sides, ("ours", "theirs"), strict=True):
                if name in case:
                    side.schema.apply(case[name], allow_removals=True)
            put(sides[0], case.get("our_rows", {}))
            put(sides[1], case.get("their_rows", {}))
            merge = db.merge("draft")
            if choice:
                assert [each.kind for each in merge.conflicts] == ["definition"]
                turned = {"ours": "theirs", "theirs": "ours"}.get(choice, choice)
                merge = db.merges.resolve("*", turned if swapped else choice)
                assert merge.unresolved == ()
                merge = db.merges.commit()
            assert (merge.status, merge.conflicts if not choice else ()) == ("merged", ())
            if not swapped:
                assert len(merge.warnings) == case.get("warnings", len(merge.warnings))
        assert rows_of(db) == rows
        written = "\n".join(map(format_declared, db.schema.catalog.types))
        assert load(written).ir_hash, "the merged schema can be read again"
        if "schema" in case:
            wanted = {format_declared(each) for each in load(case["schema"]).types}
            assert {format_declared(each) for each in db.schema.catalog.types} == wanted
        assert not db.verify(replay=True).problems


def test_a_required_value_can_be_given_as_a_decision(tmp_path: Path) -> None:
    with mycel.open(tmp_path / "graph.db", durability="off", core_capsules=False) as db:
        db.schema.apply(PERSON)
        put(db, {"p": {"age": 1}})
        db.branches.create("draft")
        with db.open_branch("draft") as draft:
            db.schema.apply("node Person { email: String @key  age: I64 }")
            put(draft, {"o": {}})
        (conflict,) = db.merge("draft").conflicts
        for value in ({"name": 7}, {"o": {"attributes": {}}}):
            with pytest.raises(mycel.errors.ConstraintViolation, match="does not fit"):
                db.merges.resolve(conflict, "value", value)
        left = db.merges.resolve(conflict, "value", {"attributes": {"email": "o"}}).unresolved
        assert [each.kind for each in left] == ["constraint"], "it still has no age"
        db.merges.resolve(left[0], "value", {"attributes": {"email": "o", "age": 3}})
        assert db.merges.commit().status == "merged"
        assert rows_of(db) == {"p": {"age": 1}, "o": {"age": 3}}
