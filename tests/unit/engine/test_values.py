"""The values of a command: literals, and parameters in the place of placeholders."""

from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.engine.values import Values
from mycel.errors import (
    ConstraintViolation,
    InvalidValueType,
    MycelError,
    ResourceExhausted,
    UnknownReference,
)
from mycel.kip.ast import ArrayTemplate, Literal, ObjectTemplate, Placeholder
from mycel.syntax.source import Span
from tests.prepared import NEW


def test_a_placeholder_is_its_parameter_wherever_it_stands() -> None:
    node = ObjectTemplate(
        (
            ("a", ArrayTemplate((Placeholder("x"), Literal(2)))),
            ("b", ObjectTemplate((("c", Placeholder("y")),))),
        )
    )
    assert Values({"x": 1, "y": {"z": None}}).value(node) == {"a": [1, 2], "b": {"c": {"z": None}}}


def test_a_parameter_that_looks_like_kip_stays_text() -> None:
    text = '"} DELETE CONCEPT ?x :y ?z'
    assert Values({"x": text, "y": 1}).text(Placeholder("x"), "name") == text


def test_a_missing_parameter_is_named_beside_those_that_were_given() -> None:
    with pytest.raises(UnknownReference, match=":nmae is not given") as caught:
        Values({"name": 1, "age": 2}).value(Placeholder("nmae", span=Span(3, 8)))
    assert ":age, :name" in caught.value.hint
    assert "'name'" in caught.value.hint
    assert caught.value.data == {"parameter": "nmae", "span": {"start": 3, "end": 8}}


def test_parameters_that_nobody_asks_for_are_not_looked_at() -> None:
    assert Values({"x": 1, "odd": object()}).value(Placeholder("x")) == 1


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), 1 << 64, "\ud800", {"k": "\ud800"}, {1: 2}, {1, 2}, [object()]],
)
def test_a_parameter_that_json_cannot_carry_is_refused(value: object) -> None:
    with pytest.raises(InvalidValueType):
        Values({"x": value}).value(Placeholder("x"))


def test_a_parameter_that_nests_too_deep_is_refused() -> None:
    deep: Any = 1
    for _ in range(65):
        deep = [deep]
    with pytest.raises(ResourceExhausted):
        Values({"x": deep}).value(Placeholder("x"))


def test_a_tuple_is_an_array_and_later_changes_of_a_parameter_do_not_count() -> None:
    inner = [1]
    values = Values({"x": (inner, 2)})
    assert values.value(Placeholder("x")) == [[1], 2]
    inner.append(3)
    assert values.value(Placeholder("x")) == [[1], 2]


def test_each_position_takes_its_type_only() -> None:
    values = Values({"t": "a", "n": 1.5, "i": 3, "b": True, "m": {}, "null": None})
    cases: dict[str, tuple[Any, set[str]]] = {
        "text": (values.text, {"t"}),
        "number": (values.number, {"n", "i"}),
        "integer": (values.integer, {"i"}),
        "positive": (values.positive, {"i"}),
        "mapping": (values.mapping, {"m"}),
    }
    for read, allowed in cases.values():
        for name in ("t", "n", "i", "b", "m", "null"):
            if name in allowed:
                assert read(Placeholder(name), "thing") == values.value(Placeholder(name))
            else:
                with pytest.raises(InvalidValueType, match=f"The thing must be .*; :{name} is "):
                    read(Placeholder(name), "thing")


@pytest.mark.parametrize("number", [0, -3])
def test_a_limit_below_one_is_refused(number: int) -> None:
    with pytest.raises(ConstraintViolation, match="must be positive"):
        Values().positive(Literal(number), "LIMIT")


def test_parameters_have_to_be_an_object() -> None:
    with pytest.raises(InvalidValueType, match="an array"):
        Values([1])  # type: ignore[arg-type]


def test_no_parameters_at_all_are_said_to_be_none() -> None:
    with pytest.raises(MycelError) as caught:
        Values().value(Placeholder("x"))
    assert "No parameters were given" in caught.value.hint


def test_every_door_of_python_takes_times(tmp_path: Path) -> None:
    at = datetime(2026, 1, 31, 14, 30, tzinfo=timezone(timedelta(hours=2)))
    text, deep = "2026-01-31T12:30:00Z", {"at": at, "all": [at.date()]}
    expected = {"at": text, "all": ["2026-01-31"]}
    with mycel.open(tmp_path / "a.db") as db:
        one, two, three = (
            db.write(lambda tx, name=name: tx.put_concept("Domain", name, {"n": 0}))
            for name in ("one", "two", "three")
        )
        db.branches.create("x")
        with mycel.open(tmp_path / "a.db", branch="x") as other:
            other.write(lambda tx: tx.update(one, attributes={"n": 1}))
        new = db.write(lambda tx: tx.put_concept("Domain", "new", deep, {"seen": at}))
        db.write(lambda tx: tx.update(two, attributes=deep, metadata={"seen": at}))
        db.write(lambda tx: tx.move(three, name="four", attributes=deep))
        (row,) = db.write(lambda tx: tx.put_concepts([mycel.ConceptRow("Domain", "row", deep)]))
        for ref in (new, two, three, row):
            assert db.get(ref).attributes.items() >= expected.items()
        assert db.get(two).metadata["seen"] == text
        about = ("belongs_to_domain",)
        link = db.write(lambda tx: tx.put_proposition(new, *about, one, deep, {"seen": at}))
        edge = db.add_edge(new, *about, two, data=deep)
        assert db.get(link).attributes == db.get_edge(new, *about, two).data == expected
        assert edge
        assert {hit.id for hit, _ in db.search("new", metadata={"seen": at})} == {new, link}
        command = 'FIND(?d.name) WHERE { ?d {type: "Domain"} FILTER(?d.metadata.seen == :at) }'
        request = {"command": command, "parameters": {"at": at}}
        assert set(db.request(request)["result"]) == {"new", "two"}
        edit = {"concept": {"type": "Domain", "name": "row"}, "attributes": {"late": at}}
        assert db.merges.merge_changes([edit], base=db.snapshot().seq).status == "merged"
        assert db.get(row).attributes == {"late": text}
        db.write(lambda tx: tx.update(one, attributes={"n": 2}))
        (conflict,) = db.merge("x").conflicts
        decided = db.merges.resolve(conflict, "value", at).conflicts[0].resolution
        assert decided is not None
        assert decided.value == text
        db.merges.commit()
        assert db.get(one).attributes["n"] == text
        assert db.verify().ok


def test_times_are_taken_as_iso_text() -> None:
    given = {
        "utc": datetime(2026, 1, 31, 12, 30, tzinfo=UTC),
        "east": datetime(2026, 1, 31, 12, 30, tzinfo=timezone(timedelta(hours=2))),
        "naive": datetime(2026, 1, 31, 12, 30),  # noqa: DTZ001 - taken as UTC
        "day": date(2026, 1, 31),
    }
    expected = {
        "utc": "2026-01-31T12:30:00Z",
        "east": "2026-01-31T10:30:00Z",
        "naive": "2026-01-31T12:30:00Z",
        "day": "2026-01-31",
    }
    with NEW.opened() as db:
        db.execute(
            'UPSERT { CONCEPT { {type: "Domain", name: "d"} SET ATTRIBUTES :given } }', given=given
        )
        (held,) = db.execute('FIND(?d.attributes) WHERE { ?d {type: "Domain", name: "d"} }').value
        assert held == expected
        test = "?d.attributes.utc == :utc && IN(?d.attributes.day, :days)"
        command = f'FIND(?d.name) WHERE {{ ?d {{type: "Domain"}} FILTER({test}) }} ORDER BY ?d.name'
        assert db.execute(command, utc=given["utc"], days=[given["day"]]).value == ["d"]
