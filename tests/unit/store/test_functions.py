"""The functions that statements call: JSON equality, sums, walks and regular expressions."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mycel
from mycel.store.backend.sqlite.connection import SqliteConnection
from mycel.store.backend.sqlite.functions import (
    compare,
    digits,
    equal_json_values,
    json_equal,
    json_key,
    json_member,
    matches,
    register,
)
from tests.cases import cases

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.sampled_from([0.5, 1.0, -2.0])
    | st.text(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=1), inner, max_size=3)
    ),
    max_leaves=6,
)


def tagged(value: Any) -> Any:
    """A value that Python compares as JSON does: booleans are no numbers."""
    match value:
        case bool():
            return ("bool", value)
        case list():
            return [tagged(item) for item in value]
        case dict():
            return {key: tagged(item) for key, item in value.items()}
        case _:
            return value


@given(left=JSON, right=JSON)
def test_values_are_the_same_where_json_says_so(left: Any, right: Any) -> None:
    equal = tagged(left) == tagged(right)
    assert equal_json_values(left, right) is equal
    assert equal_json_values(right, left) is equal
    assert json_equal(json.dumps(left), json.dumps(right)) is equal
    assert json_member(json.dumps(left), json.dumps([right])) is equal
    if isinstance(left, list | dict) and isinstance(right, list | dict):
        assert (json_key(json.dumps(left)) == json_key(json.dumps(right))) is equal


def test_null_equals_null_however_it_is_written() -> None:
    assert json_equal(None, None)
    assert json_equal(None, "null")
    assert json_equal("null", None)
    assert not json_equal(None, "0")
    assert not json_equal("", "null")
    assert json_member(None, "[null]")
    assert not json_member("", "[null]")


@pytest.fixture
def connection() -> SqliteConnection:
    made = SqliteConnection(":memory:")
    register(made)
    return made


def total(connection: SqliteConnection, values: list[Any]) -> Any:
    rows = connection.execute(
        "SELECT mycel_sum(e.value) FROM json_each(?) e", (json.dumps(values),)
    ).fetchall()
    return rows[0][0]


@given(values=st.lists(st.integers(-(2**62), 2**62) | st.none(), max_size=8))
def test_a_sum_is_whole_as_long_as_64_bits_hold_it(values: list[int | None]) -> None:
    connection = SqliteConnection(":memory:")
    register(connection)
    exact = sum(value for value in values if value is not None)
    found = total(connection, values)
    if all(value is None for value in values):
        assert found is None
    elif -(2**63) <= exact < 2**63:
        assert found == exact
        assert isinstance(found, int)
    else:
        assert found == float(exact)


def test_sums_of_fractions_are_exact(connection: SqliteConnection) -> None:
    assert total(connection, [0.1] * 10) == 1.0
    assert total(connection, [1, 0.5]) == 1.5


def test_a_pattern_is_looked_for_anywhere_and_null_matches_nothing() -> None:
    assert matches("b+", "abba")
    assert not matches("^b", "abba")
    assert not matches(None, "a")
    assert not matches("a", None)


def test_a_pattern_that_would_explode_elsewhere_is_linear_here() -> None:
    assert not matches("(a*)*b", "a" * 100_000)
    assert not matches("(a|aa)+$", "a" * 100_000 + "b")


# Walks that tell their last link.


def walk_reference(
    links: set[tuple[int, int]], start: int, minimum: int, maximum: int
) -> dict[int, int]:
    """Every node with the length of its shortest allowed walk, by going through all lengths."""
    found = {start: 0} if minimum == 0 else {}
    level = {start}
    for length in range(1, maximum + 1):
        level = {b for a, b in links if a in level}
        if length >= minimum:
            for node in level:
                found.setdefault(node, length)
    return found


EDGES = st.sets(
    st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda e: e[0] != e[1]), max_size=8
)


@given(edges=EDGES, minimum=st.integers(0, 4), extra=st.integers(0, 3) | st.none())
def test_a_walk_ends_with_the_smallest_link_of_a_shortest_one(
    edges: set[tuple[int, int]], minimum: int, extra: int | None
) -> None:
    with mycel.open(":memory:", core_capsules=False) as db:
        with db.transaction() as tx:
            tx.define_type("Node")
            tx.define_predicate("to")
            nodes = [tx.put_concept("Node", str(n)) for n in range(5)]
            made = {(a, b): tx.add_edge(nodes[a], "to", nodes[b]) for a, b in sorted(edges)}
        bounds = f"{minimum},{'' if extra is None else minimum + extra}"
        pattern = f'({{type: "Node", name: "0"}}, "to"{{{bounds}}}, ?to)'
        rows = db.execute(f"FIND(?to.name, ?l.id) WHERE {{ ?l {pattern} }}").rows
    # Beyond (nodes × minimum) steps nothing new can be reached.
    longest = 5 * (minimum + 1) if extra is None else minimum + extra
    expected = walk_reference(edges, 0, minimum, longest)
    assert {int(name) for name, _ in rows} == expected.keys()
    for name, link in rows:
        length = expected[int(name)]
        if length == 0:
            assert link is None
            continue
        before = walk_reference(edges, 0, length - 1, length - 1)
        last = [made[a, b] for a, b in edges if b == int(name) and a in before]
        assert link == min(last, key=lambda id_: int(id_.split(":")[1]))


# Integers of 64 bits without a sign.

LARGE_NUMBERS = st.integers(2**63, 2**64 - 1) | st.floats(2.0**63, 2.0**65)
ALL_NUMBERS = LARGE_NUMBERS | st.integers(-(2**63), 2**63) | st.floats(-1e300, 1e300)


@given(left=ALL_NUMBERS, right=ALL_NUMBERS)
def test_numbers_are_compared_as_they_are_and_not_as_floats(left: float, right: float) -> None:
    found = compare(orjson.dumps(left).decode(), orjson.dumps(right).decode())
    assert found == (left > right) - (left < right)


@cases("other", [None, "", '"1"', "true", "null", "[1]", "{}"])
def test_what_is_no_number_compares_with_none(other: str | None) -> None:
    assert compare(other, "1") is None
    assert compare("1", other) is None


@given(left=LARGE_NUMBERS, right=LARGE_NUMBERS)
def test_digits_tell_apart_what_one_float_stands_for(left: float, right: float) -> None:
    one, other = (digits(orjson.dumps(each).decode()) for each in (left, right))
    assert one is not None
    assert other is not None
    assert (one == other) == (left == right)
    if left < 2**64 and right < 2**64:
        assert (one < other) == (left < right)


@given(values=st.lists(ALL_NUMBERS | st.text(max_size=3), min_size=1, max_size=6))
def test_the_extremes_of_json_texts_are_exact(values: list[Any]) -> None:
    connection = SqliteConnection(":memory:")
    register(connection)
    texts = orjson.dumps([orjson.dumps(each).decode() for each in values]).decode()
    query = "SELECT mycel_min(e.value), mycel_max(e.value) FROM json_each(?) e"
    ((least, greatest),) = connection.execute(query, (texts,)).fetchall()
    ranked = sorted(values, key=lambda each: (isinstance(each, str), each))
    assert [orjson.loads(least), orjson.loads(greatest)] == [ranked[0], ranked[-1]]


def test_nothing_has_no_extremes(connection: SqliteConnection) -> None:
    assert connection.execute("SELECT mycel_min(NULL), mycel_max(NULL)").fetchall() == [
        (None, None)
    ]


def test_totals_beyond_64_bits_keep_no_list_of_what_they_add() -> None:
    import random
    from math import fsum

    from mycel.store.backend.sqlite import functions

    rng = random.Random(5)
    for _ in range(300):
        wholes: list[float] = [rng.randrange(-(1 << 64), 1 << 64) for _ in range(20)]
        mixed = [*wholes, *(rng.uniform(-1, 1) * 10 ** rng.randrange(-20, 20) for _ in range(20))]
        for values, wanted in ((wholes, sum(wholes)), (mixed, fsum(mixed))):
            total, step, final = functions._sum()
            for value in values:
                step(total, value)
            assert final(total) in (wanted, float(wanted))
            assert len(total.parts) < 40
    found, step, final = functions._extreme(min)
    for at in range(1000):
        step(found, str(at))
    assert (len(found), final(found)) == (1, "0")
