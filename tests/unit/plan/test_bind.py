"""What of a command's parameters shapes its plan."""

from __future__ import annotations

from typing import Any

import pytest

from mycel.errors import MycelError
from tests.cases import cases
from tests.unit.plan.compiled import bound


@cases(
    ("where", "parameters", "roles"),
    [
        ("?t {type: :x}", {"x": "Town"}, {("x", "name")}),
        (
            '(?t, :x, ?r) (?r, "feeds" | :y, ?t)',
            {"x": "near", "y": "near"},
            {("x", "name"), ("y", "name")},
        ),
        ("?t {name: :x}", {"x": "Ulm"}, set()),
        ("?t {id: :x}", {"x": "C:2"}, set()),
        ('?t {type: "Town"} FILTER(?t.name == :x)', {"x": "Ulm"}, {("x", "kind")}),
        ('?t {type: "Town"} FILTER(IN(?t.name, :x))', {"x": ["Ulm"]}, {("x", "list")}),
        ('?t {type: "Town"} FILTER(IN(?t.name, [:x, 1]))', {"x": "Ulm"}, {("x", "name")}),
        ('?t {type: "Town"} FILTER(REGEX(?t.name, :x))', {"x": "U"}, {("x", "kind")}),
    ],
)
def test_a_parameter_shapes_a_plan_as_little_as_can_be(
    where: str, parameters: dict[str, Any], roles: set[tuple[str, str]]
) -> None:
    assert bound(f"FIND(?t) WHERE {{ {where} }}", **parameters).roles == roles


def test_the_same_command_with_other_values_is_the_same_query() -> None:
    text = 'FIND(?t) WHERE { ?t {type: "Town", name: :n} FILTER(?t.attributes.size > :size) }'
    assert bound(text, n="Ulm", size=1).query == bound(text, n="Bonn", size=-2.5).query
    assert bound(text, n="Ulm", size=1).query != bound(text, n="Ulm", size="1").query


@cases(
    "where",
    [
        '?t {type: "Town"} FILTER(?u.name == 1)',
        '?t {type: "Town"} FILTER(?t.size == 1)',
        '?t {type: "Town", name: :absent}',
        '(?t, ?p, ?o) (?p, "near", ?t)',
        '?t {type: "Town"} FILTER(REGEX(?t.name, "("))',
        '?t {id: "C:x"}',
    ],
)
def test_a_refusal_points_at_its_place(where: str) -> None:
    with pytest.raises(MycelError) as caught:
        bound(f"FIND(?t) WHERE {{ {where} }}")
    assert "span" in caught.value.data


def test_a_filter_after_a_union_is_warned_about_once() -> None:
    said = bound(
        'FIND(?t) WHERE { ?t {type: "Town"} UNION { ?t {type: "River"} } FILTER(?t.name == "a")'
        ' FILTER(?t.name == "b") }'
    )
    assert len(said.warnings) == 1
