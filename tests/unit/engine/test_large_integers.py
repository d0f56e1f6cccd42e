"""Integers from 2^63 to 2^64 - 1, which SQLite has not: exact in every question."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import mycel
from mycel.errors import InvalidSyntax, InvalidValueType, MycelError
from tests.cases import cases

MOST = 2**64 - 1
VALUES: dict[str, Any] = {
    "most": MOST,
    "one less": MOST - 1,
    "a bit": 2**63,
    "a bit more": 2**63 + 1,
    "signed": 2**63 - 1,
    "float": float(2**63),
    "beyond": float(2**64),
    "negative": -(2**63),
    "text": "18446744073709551615",
    "true": True,
    "none": None,
}
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}
CONSTANTS = [MOST, MOST - 1, 2**63, 2**63 + 1, float(2**63), float(2**64), 2**63 - 1]


@pytest.fixture(scope="module")
def db() -> Iterator[mycel.Graph]:
    with mycel.open(":memory:", core_capsules=False) as db:
        with db.transaction() as tx:
            tx.define_type("Sample")
            tx.define_predicate("like")
            whole = tx.put_concept("Sample", "whole", {"is_whole": True})
            for name, value in VALUES.items():
                each = tx.put_concept("Sample", name, {"v": value, "in": [value]})
                tx.add_edge(each, "like", whole)
        yield db


def found(db: mycel.Graph, condition: str, **parameters: Any) -> set[str]:
    command = 'FIND(?s.name) WHERE { ?s {type: "Sample"} (?s, "like", ?w) FILTER(%s) }'
    return set(db.execute(command % condition, parameters).value)


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@cases("constant", CONSTANTS)
@cases("symbol", OPERATORS)
def test_a_comparison_with_a_constant_is_exact(
    db: mycel.Graph, symbol: str, constant: float
) -> None:
    holds = OPERATORS[symbol]
    expected = {
        name
        for name, value in VALUES.items()
        if (holds(value, constant) if is_number(value) else symbol == "!=")
    }
    turned = symbol.translate(str.maketrans("<>", "><"))
    assert found(db, f"?s.attributes.v {symbol} :c", c=constant) == expected
    assert found(db, f"?s.attributes.v {symbol} {constant!r}") == expected
    assert found(db, f":c {turned} ?s.attributes.v", c=constant) == expected
    assert found(db, f"!(?s.attributes.v {symbol} :c)", c=constant) == VALUES.keys() - expected


@pytest.mark.parametrize("symbol", OPERATORS)
def test_a_comparison_of_two_stored_values_is_exact(db: mycel.Graph, symbol: str) -> None:
    command = (
        'FIND(?a.name, ?b.name) WHERE { ?a {type: "Sample"} ?b {type: "Sample"}'
        f" FILTER(IS_NOT_NULL(?a.attributes.v) && ?a.attributes.v {symbol} ?b.attributes.v"
        " && ?a.attributes.v >= 1 && ?b.attributes.v >= 1) }"
    )
    numbers = {name: value for name, value in VALUES.items() if is_number(value) and value >= 1}
    expected = {
        (one, other)
        for one in numbers
        for other in numbers
        if OPERATORS[symbol](numbers[one], numbers[other])
    }
    assert set(db.execute(command).rows) == expected


def test_lists_are_looked_into_exactly(db: mycel.Graph) -> None:
    assert found(db, "IN(?s.attributes.v, [18446744073709551615, 1])") == {"most"}
    assert found(db, "IN(?s.attributes.v, :list)", list=[2**63, "x"]) == {"a bit", "float"}
    assert found(db, "IN(?s.attributes.v, :list)", list=[2**63 - 1]) == {"signed"}
    assert found(db, "CONTAINS(?s.attributes.in, 18446744073709551614)") == {"one less"}
    assert found(db, "?s.attributes.in == [18446744073709551614]") == {"one less"}


def test_constants_are_compared_with_each_other(db: mycel.Graph) -> None:
    for condition in (
        "18446744073709551615 > 18446744073709551614",
        "18446744073709551615 != 18446744073709551614",
        "9223372036854775808 == 9223372036854775808.0",
        "5 < 18446744073709551615",
        "!(18446744073709551615 == null)",
        '!(18446744073709551615 > "a")',
        "?s.metadata._version < 18446744073709551615",
        "!(?s.metadata._version == 18446744073709551615)",
        "!(?s.name < 18446744073709551615)",
        "!(?s == 18446744073709551615)",
    ):
        assert found(db, condition) == VALUES.keys(), condition


def test_groups_do_not_take_two_integers_for_one(db: mycel.Graph) -> None:
    groups = db.execute(
        'FIND(?s.attributes.v, COUNT(?s)) WHERE { ?s {type: "Sample"}'
        " FILTER(?s.attributes.v >= 9223372036854775807) }"
    ).rows
    assert sorted(groups) == [
        (2**63 - 1, 1),
        (2**63, 2),
        (2**63 + 1, 1),
        (MOST - 1, 1),
        (MOST, 1),
        (float(2**64), 1),
    ]
    distinct = db.execute(
        'FIND(COUNT(DISTINCT ?s.attributes.v)) WHERE { ?s {type: "Sample"}'
        " FILTER(?s.attributes.v > 0) }"
    )
    assert distinct.value == 6


def test_the_least_and_the_greatest_are_exact(db: mycel.Graph) -> None:
    command = (
        'FIND(MIN(?s.attributes.v), MAX(?s.attributes.v)) WHERE { ?s {type: "Sample"}'
        " FILTER(?s.attributes.v > 9223372036854775808 && ?s.attributes.v < 18446744073709551615) }"
    )
    for _ in range(2):  # The second time it is known that the exact way is needed.
        assert db.execute(command).value == [2**63 + 1, MOST - 1]
    by_group = (
        'FIND(?w.name, MAX(?s.attributes.v)) WHERE { (?s, "like", ?w)'
        " FILTER(?s.attributes.v < 18446744073709551615) }"
    )
    assert db.execute(by_group).value == [["whole"], [MOST - 1]]
    assert db.execute(f"{by_group} ORDER BY MAX(?s.attributes.v) LIMIT 1").value == [
        ["whole"],
        [MOST - 1],
    ]
    mixed = db.execute(
        'FIND(MIN(?s.attributes.v), MAX(?s.attributes.v)) WHERE { ?s {name: "text"} }'
    )
    assert mixed.value == ["18446744073709551615", "18446744073709551615"]


def test_values_sort_among_the_others(db: mycel.Graph) -> None:
    rows = db.execute(
        'FIND(?s.attributes.v) WHERE { ?s {type: "Sample"} FILTER(?s.attributes.v >= -1e19) }'
        " ORDER BY ?s.attributes.v"
    ).value
    assert rows[:2] == [-(2**63), 2**63 - 1]
    assert sorted(map(float, rows)) == list(map(float, rows))


def test_sums_take_them_for_floats(db: mycel.Graph) -> None:
    command = "FIND(SUM(?s.attributes.v), AVG(?s.attributes.v)) WHERE { ?s {name: :name} }"
    assert db.execute(command, name="most").value == [float(2**64), float(2**64)]
    assert db.execute(command, name="signed").value[0] == 2**63 - 1


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1])
def test_what_goes_beyond_is_refused(db: mycel.Graph, number: int) -> None:
    with pytest.raises(InvalidValueType):
        found(db, "?s.attributes.v == :c", c=number)
    with pytest.raises(InvalidSyntax):
        found(db, f"?s.attributes.v == {number}")


@pytest.mark.parametrize(
    "command",
    [
        'FIND(?s.name) WHERE { ?s {type: "Sample"} } LIMIT %s',
        'FIND(?s.name) AS OF %s WHERE { ?s {type: "Sample"} }',
        'UPSERT { CONCEPT { {type: "Sample", name: "x"} EXPECT VERSION %s } }',
        'UPDATE ?s SET ATTRIBUTES { a: 1 } WHERE { ?s {type: "Sample"} } LIMIT %s',
    ],
)
def test_positions_versions_and_limits_keep_their_bounds(db: mycel.Graph, command: str) -> None:
    with pytest.raises(InvalidSyntax) as caught:
        db.execute(command % 2**63)
    assert "64 bits" in caught.value.message
    with pytest.raises(MycelError) as refused:
        db.execute(command % ":n", n=2**63)
    assert refused.value.code in ("KIP_2002", "KIP_2003")
