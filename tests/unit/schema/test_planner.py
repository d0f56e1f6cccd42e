"""Plans: each change of a schema gives the steps that make it, and what cannot be says why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mycel import schema
from mycel.schema import catalog_json
from mycel.schema.catalog import Catalog, Dropped
from mycel.schema.model import Key, NodeType, Property, PropertyType
from mycel.schema.planner import Plan, plan
from mycel.schema.steps import AddProperty, RestoreType
from tests.cases import cases

EMPTY = Catalog()


def planned(accepted: str | Catalog, desired: str | Catalog) -> Plan:
    first, second = (
        schema.load(each) if isinstance(each, str) else each for each in (accepted, desired)
    )
    return plan(first, second)


def steps(accepted: str | Catalog, desired: str | Catalog) -> list[dict[str, Any]]:
    found = planned(accepted, desired)
    assert found.supported, found.steps
    return list(found.steps)


def kinds(accepted: str | Catalog, desired: str | Catalog) -> list[str]:
    return [each["kind"] for each in steps(accepted, desired)]


def refusals(accepted: str | Catalog, desired: str | Catalog) -> dict[str, str]:
    found = planned(accepted, desired)
    assert not found.supported
    return {
        each["entity"]: each["reason"]
        for each in found.steps
        if each["kind"] == "unsupported_change"
    }


def type_json(scalar: str, *, nullable: bool = False, enum: list[str] | None = None) -> Any:
    return {"scalar": scalar, "nullable": nullable, "list": False, "enum_values": enum}


def in_node(body: str) -> str:
    return f"node Ship {{ name: String\n{body} }}"


# Nothing and everything.


def test_a_schema_is_reached_from_itself_by_no_step() -> None:
    text = """
        interface Named { name: String @key }
        node Ship implements Named { built: Date? mood: enum(calm, wild) @unique(built, mood) }
        edge Follows: Ship -> Ship @card(0..1) { since: DateTime? @index(since) }
    """
    found = planned(text, text)
    assert found.supported
    assert found.steps == ()
    assert found.to_dict() == {"supported": True, "steps": []}


def test_what_is_written_in_another_order_is_the_same() -> None:
    first = """
        node Ship @x @a("1") { name: String @b("2") @a length: F64 @unique(name, length) }
        node Port { name: String }
    """
    second = """
        node Port { name: String }
        node Ship @a("1") @x { length: F64 name: String @a @b("2") @unique(length, name) }
    """
    assert steps(first, second) == []


def test_types_are_added_in_an_order_in_which_each_finds_what_it_names() -> None:
    text = """
        edge Visits: Ship -> Port
        node Ship implements Named { }
        node Port implements Named { }
        interface Named { name: String }
    """
    assert steps(EMPTY, text) == [
        {"kind": "add_type", "type_kind": "interface", "name": "Named"},
        {"kind": "add_type", "type_kind": "node", "name": "Port"},
        {"kind": "add_type", "type_kind": "node", "name": "Ship"},
        {"kind": "add_type", "type_kind": "edge", "name": "Visits"},
    ]


def test_types_are_dropped_last_and_edges_before_what_they_join() -> None:
    accepted = """
        interface Named { name: String }
        node Ship implements Named { }
        node Port { }
        edge Visits: Ship -> Port
        edge Anchors: Ship -> Port
    """
    assert steps(accepted, "node Whale { }") == [
        {"kind": "add_type", "type_kind": "node", "name": "Whale"},
        {"kind": "hide_type", "type_kind": "edge", "name": "Anchors"},
        {"kind": "hide_type", "type_kind": "edge", "name": "Visits"},
        {"kind": "hide_type", "type_kind": "node", "name": "Port"},
        {"kind": "hide_type", "type_kind": "node", "name": "Ship"},
        {"kind": "hide_type", "type_kind": "interface", "name": "Named"},
    ]


# Renames.


def test_a_renamed_type_takes_along_the_edges_that_name_it() -> None:
    accepted = "node Boat { name: String @key } edge Follows: Boat -> Boat"
    desired = """
        node Ship @rename_from("Boat") { name: String @key }
        edge Follows: Ship -> Ship
    """
    assert steps(accepted, desired) == [
        {"kind": "rename_type", "type_kind": "node", "from": "Boat", "to": "Ship"}
    ]


def test_a_renamed_edge_is_one_step() -> None:
    accepted = "node Ship { } edge Follows: Ship -> Ship { since: Date? @index }"
    desired = """
        node Ship { }
        edge Trails: Ship -> Ship @rename_from("Follows") { since: Date? @index }
    """
    assert steps(accepted, desired) == [
        {"kind": "rename_type", "type_kind": "edge", "from": "Follows", "to": "Trails"}
    ]


def test_a_renamed_property_takes_along_constraints_and_embeddings() -> None:
    accepted = """node Ship {
        name: String @key
        log: String
        age: I32
        vector: Vector(3)? @embed(log)
        @unique(name, log) @range(age, 0..9) @check(log, "a+") @index(age)
    }"""
    desired = """node Ship {
        title: String @key @rename_from("name")
        diary: String @rename_from("log")
        years: I32 @rename_from("age")
        vector: Vector(3)? @embed(diary)
        @unique(title, diary) @range(years, 0..9) @check(diary, "a+") @index(years)
    }"""
    place = {"kind": "rename_property", "type_kind": "node", "type_name": "Ship"}
    assert steps(accepted, desired) == [
        {**place, "from": "log", "to": "diary"},
        {**place, "from": "name", "to": "title"},
        {**place, "from": "age", "to": "years"},
    ]


def test_type_and_property_are_renamed_at_once_under_the_new_name_of_the_type() -> None:
    accepted = "node Boat { name: String }"
    desired = 'node Ship @rename_from("Boat") { title: String? @rename_from("name") }'
    assert steps(accepted, desired) == [
        {"kind": "rename_type", "type_kind": "node", "from": "Boat", "to": "Ship"},
        {
            "kind": "rename_property",
            "type_kind": "node",
            "type_name": "Ship",
            "from": "name",
            "to": "title",
        },
        {
            "kind": "relax_property",
            "type_kind": "node",
            "type_name": "Ship",
            "property_name": "title",
            "from": type_json("String"),
            "to": type_json("String", nullable=True),
        },
    ]


def test_a_name_that_is_there_wins_over_what_a_rename_says() -> None:
    text = 'node Ship @rename_from("Boat") { title: String @rename_from("name") }'
    assert steps("node Ship { title: String }", text) == []
    assert kinds("node Ship { title: String } node Boat { }", text) == ["hide_type"]
    assert kinds("node Ship { title: String name: String }", text) == ["hide_property"]


def test_a_rename_that_means_nothing_although_both_are_there_is_warned_of() -> None:
    def warned(accepted: str, desired: str) -> list[str]:
        found = planned(accepted, desired)
        assert found.to_dict().get("warnings", []) == list(found.warnings)
        return [each.partition(":")[0] for each in found.warnings]

    both = "node Ship { title: String } node Boat { oars: I32? }"
    swapped = (
        'node Ship @rename_from("Boat") { oars: I32? }'
        ' node Boat @rename_from("Ship") { title: String }'
    )
    assert warned(both, swapped) == ["node Boat", "node Ship"]
    assert warned(both, 'node Ship @rename_from("Boat") { title: String }') == ["node Ship"]
    assert warned(both, both.replace("Ship {", 'Ship @rename_from("Boat") {')) == []
    assert warned("node Ship { }", 'node Ship @rename_from("Boat") { title: String? }') == []
    columns = "a: I32?  b: String?"
    swapped = 'a: String? @rename_from("b")  b: I32? @rename_from("a")'
    assert warned(in_node(columns), in_node(swapped)) == ["property Ship.a", "property Ship.b"]
    assert warned(in_node(columns), in_node('a: I32? @rename_from("b")')) == ["property Ship.a"]


def test_an_unknown_source_of_a_rename_is_refused_with_a_name_that_is_close() -> None:
    found = refusals("node Boat { }", 'node Ship @rename_from("Boad") { }')
    assert found.keys() == {"node:Ship"}
    assert "names no node" in found["node:Ship"]
    assert "Did you mean 'Boat'?" in found["node:Ship"]
    assert "Remove @rename_from" in found["node:Ship"]


def test_close_names_are_looked_for_only_for_the_first_of_many_mistakes() -> None:
    many = "\n".join(f'node Ship{at} @rename_from("Boad{at}") {{ }}' for at in range(50))
    reasons = refusals("node Boat { }", many).values()
    assert len(reasons) == 50
    assert 0 < sum("Did you mean" in each for each in reasons) < 50


def test_nothing_can_be_renamed_where_nothing_is() -> None:
    text = 'node Ship @rename_from("Boat") { } node Port { harbour: String @rename_from("name") }'
    found = refusals(EMPTY, text)
    assert found.keys() == {"node:Ship", "node:Port.harbour"}


def test_a_source_of_another_kind_is_refused() -> None:
    accepted = "interface Boat { } node Ship { } edge Follows: Ship -> Ship"
    desired = """
        node Raft @rename_from("Boat") { }
        node Chase @rename_from("Follows") { }
        node Ship { }
        edge Trails: Ship -> Ship @rename_from("Ship")
    """
    found = refusals(accepted, desired)
    assert "an interface, which cannot become a node" in found["node:Raft"]
    assert "an edge, which cannot become a node" in found["node:Chase"]
    assert "a node, which cannot become an edge" in found["edge:Trails"]


@pytest.mark.parametrize(
    ("accepted", "desired", "entities"),
    [
        (
            "node Boat { }",
            'node Ship @rename_from("Boat") { } node Raft @rename_from("Boat") { }',
            {"node:Raft", "node:Ship"},
        ),
        (
            in_node("age: I32?"),
            in_node('years: I32? @rename_from("age") months: I32? @rename_from("age")'),
            {"node:Ship.months", "node:Ship.years"},
        ),
    ],
)
def test_two_targets_of_one_source_are_both_refused_and_the_source_is_left_alone(
    accepted: str, desired: str, entities: set[str]
) -> None:
    found = planned(accepted, desired)
    assert {each["kind"] for each in found.steps} == {"unsupported_change"}
    assert {each["entity"] for each in found.steps} == entities
    assert all("only one of them" in each["reason"] for each in found.steps)


@pytest.mark.parametrize(
    ("accepted", "desired", "entity"),
    [
        ("node Boat { }", 'node Boat { } node Ship @rename_from("Boat") { }', "node:Ship"),
        (
            in_node("age: I32?"),
            in_node('age: I32? years: I32? @rename_from("age")'),
            "node:Ship.years",
        ),
    ],
)
def test_a_source_that_is_still_declared_is_refused(
    accepted: str, desired: str, entity: str
) -> None:
    assert "still declares" in refusals(accepted, desired)[entity]


# Interfaces.


def test_a_rename_in_an_interface_is_a_rename_in_its_nodes() -> None:
    accepted = """
        interface Named { name: String @key }
        node Ship implements Named { }
        node Port implements Named { name: String }
    """
    desired = """
        interface Named { title: String @key @rename_from("name") }
        node Ship implements Named { }
        node Port implements Named { title: String }
    """
    assert [each.describe() for each in planned(accepted, desired).changes] == [
        "Named.title: rename, was name",
        "Port.title: rename, was name",
        "Ship.title: rename, was name",
    ]


def test_a_rename_that_an_interface_made_earlier_means_nothing_to_a_new_node() -> None:
    accepted = "interface Named { title: String } node Port { name: String? }"
    desired = """
        interface Named { title: String? @rename_from("name") }
        node Ship implements Named { }
        node Port implements Named { }
    """
    assert [each.describe() for each in planned(accepted, desired).changes] == [
        "Named.title: relax, String to String?",
        "Port: implement Named, was nothing",
        "Port.title: add, String?",
        "Port.name: hide",
        "Ship: add node",
    ]


def test_a_property_of_an_interface_is_added_to_its_nodes_too() -> None:
    accepted = "interface Named { name: String } node Ship implements Named { }"
    desired = """
        interface Named { name: String age: I32? @index }
        node Ship implements Named { }
    """
    assert [each.describe() for each in planned(accepted, desired).changes] == [
        "Named.age: add, I32?",
        "Named: add @index(age)",
        "Ship.age: add, I32?",
        "Ship: add @index(age)",
    ]


def test_what_an_interface_requires_its_nodes_must_be_able_to_give() -> None:
    accepted = "interface Named { } node Ship implements Named { }"
    required = "interface Named { name: String } node Ship implements Named { }"
    assert refusals(accepted, required).keys() == {"node:Ship.name"}
    assert kinds("interface Named { }", "interface Named { name: String }") == ["add_property"]


def test_an_interface_has_no_instances_to_look_at() -> None:
    found = planned("interface Named { a: I32? }", "interface Named { a: I32 @unique }")
    assert [each.kind for each in found.changes] == ["tighten_property", "add_constraint"]
    assert not any(each.needs_data for each in found.changes)


def test_implementing_other_interfaces_is_a_step_and_the_properties_are_others() -> None:
    accepted = """
        interface Named { name: String }
        interface Aged { age: I32? }
        node Ship implements Named { }
    """
    desired = """
        interface Named { name: String }
        interface Aged { age: I32? }
        node Ship implements Aged { }
    """
    assert steps(accepted, desired) == [
        {"kind": "change_interfaces", "name": "Ship", "from": ["Named"], "to": ["Aged"]},
        {
            "kind": "add_property",
            "type_kind": "node",
            "type_name": "Ship",
            "property_name": "age",
            "property_type": type_json("I32", nullable=True),
        },
        {
            "kind": "hide_property",
            "type_kind": "node",
            "type_name": "Ship",
            "property_name": "name",
        },
    ]


def test_declaring_what_an_interface_adds_anyway_changes_nothing() -> None:
    accepted = "interface Named { name: String } node Ship implements Named { }"
    desired = "interface Named { name: String } node Ship implements Named { name: String }"
    assert steps(accepted, desired) == []


# Properties.


@pytest.mark.parametrize("body", ["age: I32?", "age: I32 @default(7)", "tags: [String]?"])
def test_a_property_that_has_a_value_for_every_instance_is_added(body: str) -> None:
    assert kinds(in_node(""), in_node(body)) == ["add_property"]


def test_a_required_property_without_default_is_refused_with_both_ways_out() -> None:
    reason = refusals(in_node(""), in_node("age: I32"))["node:Ship.age"]
    assert "@default" in reason
    assert "age: I32?" in reason


def test_a_new_type_may_require_what_it_likes() -> None:
    assert kinds(EMPTY, "node Ship { name: String age: I32 }") == ["add_type"]


@cases(
    ("old", "new", "kind", "needs_data"),
    [
        ("I32", "I32?", "relax_property", False),
        ("I32?", "I32", "tighten_property", True),
        ("String", "enum(a, b)", "tighten_property", True),
        ("enum(a, b)", "String", "relax_property", False),
        ("enum(a)", "enum(a, b)", "extend_enum", False),
        ("enum(a, b)", "enum(a)", "tighten_property", True),
        ("enum(a, b)", "enum(b, c)", "tighten_property", True),
        ("enum(a)", "enum(a, b)?", "relax_property", False),
        ("enum(a)", "String?", "relax_property", False),
        ("enum(a)?", "enum(a, b)", "tighten_property", True),
        ("String?", "enum(a)", "tighten_property", True),
        ("String", "enum(a)?", "tighten_property", True),
    ],
)
def test_a_type_that_takes_more_or_less_is_one_step(
    old: str, new: str, kind: str, needs_data: bool
) -> None:
    found = planned(in_node(f"mark: {old}"), in_node(f"mark: {new}"))
    (step,) = found.changes
    assert (step.kind, step.needs_data) == (kind, needs_data)
    (said,) = found.steps
    assert (said["type_name"], said["property_name"]) == ("Ship", "mark")


def test_an_extended_enum_names_the_new_values() -> None:
    (step,) = steps(in_node("mark: enum(b, d)"), in_node("mark: enum(a, b, c, d)"))
    assert step == {
        "kind": "extend_enum",
        "type_kind": "node",
        "type_name": "Ship",
        "property_name": "mark",
        "values": ["a", "c"],
    }


def test_a_tightened_property_says_from_what_to_what() -> None:
    (step,) = steps(in_node("mark: String?"), in_node("mark: enum(a)"))
    assert step["from"] == type_json("String", nullable=True)
    assert step["to"] == type_json("String", enum=["a"])


@cases(
    ("old", "new"),
    [
        ("I32", "I64"),
        ("String", "[String]"),
        ("Vector(3)", "Vector(4)"),
        ("Date?", "DateTime"),
        ("enum(a)", "Bool"),
    ],
)
def test_another_kind_of_value_is_refused_and_both_types_are_named(old: str, new: str) -> None:
    reason = refusals(in_node(f"mark: {old}"), in_node(f"mark: {new}"))["node:Ship.mark"]
    assert f"from {old} to {new}" in reason


def test_a_removed_property_goes_after_the_constraints_that_name_it() -> None:
    accepted = in_node("age: I32? @index")
    assert [each.describe() for each in planned(accepted, in_node("")).changes] == [
        "Ship: drop @index(age)",
        "Ship.age: hide",
    ]


# Constraints.


@cases(
    ("constraint", "said", "needs_data"),
    [
        ("@key(name)", {"Key": ["name"]}, True),
        ("@unique(name, age)", {"Unique": ["age", "name"]}, True),
        ("@index(name)", {"Index": ["name"]}, False),
        ("@range(age, 0..)", {"Range": {"property": "age", "min": 0, "max": None}}, True),
        ('@check(name, "a+")', {"Check": {"property": "name", "pattern": "a+"}}, True),
    ],
)
def test_constraints_come_and_go(constraint: str, said: Any, needs_data: bool) -> None:
    without, with_it = in_node("age: I32"), in_node(f"age: I32 {constraint}")
    place = {"type_kind": "node", "type_name": "Ship", "constraint": said}
    assert steps(without, with_it) == [{"kind": "add_constraint", **place}]
    assert steps(with_it, without) == [{"kind": "drop_constraint", **place}]
    (added,), (dropped,) = planned(without, with_it).changes, planned(with_it, without).changes
    assert added.needs_data is needs_data
    assert not dropped.needs_data


@cases(
    ("old", "new", "needs_data"),
    [
        ("0..10", "0..100", False),
        ("0..10", "-1..10", False),
        ("0..10", "0..", False),
        ("0..10", "..10", False),
        ("0..10", "1..100", True),
        ("0..10", "0..9", True),
        ("0..", "0..10", True),
        ("..10", "0..10", True),
    ],
)
def test_a_range_that_only_widens_needs_no_look_at_the_data(
    old: str, new: str, needs_data: bool
) -> None:
    found = planned(
        in_node(f"age: I32 @range(age, {old})"), in_node(f"age: I32 @range(age, {new})")
    )
    dropped, added = found.changes
    assert (dropped.kind, added.kind) == ("drop_constraint", "add_constraint")
    assert added.needs_data is needs_data


def test_the_order_of_a_composite_key_counts_because_it_names_the_instances() -> None:
    found = planned(
        in_node("port: String @key(name, port)"), in_node("port: String @key(port, name)")
    )
    assert [each.describe() for each in found.changes] == [
        "Ship: drop @key(name, port)",
        "Ship: add @key(port, name)",
    ]
    assert found.changes[1].needs_data


# Edges.


@cases(
    ("old", "new", "needs_data"),
    [
        ("", "@card(0..1)", True),
        ("@card(0..1)", "@card(0..2)", False),
        ("@card(0..1)", "", False),
        ("@card(0..2)", "@card(0..1)", True),
        ("@card(0..2)", "@card(1..2)", True),
        ("@card(1..2)", "@card(0..2)", False),
        ("@card(1..2)", "@card(0..1)", True),
    ],
)
def test_a_tighter_cardinality_is_for_the_data_to_allow(
    old: str, new: str, needs_data: bool
) -> None:
    text = "node Ship {{ }} edge Follows: Ship -> Ship {}"
    (step,) = planned(text.format(old), text.format(new)).changes
    assert step.kind == "change_cardinality"
    assert step.needs_data is needs_data


def test_a_change_of_cardinality_says_from_what_to_what() -> None:
    text = "node Ship {{ }} edge Follows: Ship -> Ship {}"
    assert steps(text.format(""), text.format("@card(1..3)")) == [
        {
            "kind": "change_cardinality",
            "type_name": "Follows",
            "from": {"min": 0, "max": None},
            "to": {"min": 1, "max": 3},
        }
    ]


def test_other_ends_of_an_edge_are_refused() -> None:
    nodes = "node Ship { } node Port { }"
    found = refusals(f"{nodes} edge Nears: Ship -> Ship", f"{nodes} edge Nears: Ship -> Port")
    assert "Ship -> Ship cannot become an edge Ship -> Port" in found["edge:Nears"]


def test_properties_of_edges_change_like_those_of_nodes() -> None:
    accepted = "node Ship { } edge Nears: Ship -> Ship { since: Date? }"
    desired = """
        node Ship { }
        edge Nears: Ship -> Ship { since: Date miles: F64 @default(1.5) @unique(src, dst) }
    """
    assert [(each["kind"], each["type_kind"]) for each in steps(accepted, desired)] == [
        ("add_property", "edge"),
        ("tighten_property", "edge"),
        ("add_constraint", "edge"),
    ]


# Annotations.


def test_annotations_that_change_are_listed_whole_and_sorted() -> None:
    accepted = 'node Ship @description("old") { age: I32? @unit("years") }'
    desired = 'node Ship @old @description("new") { age: I32? @unit("months") @default(3) }'
    assert steps(accepted, desired) == [
        {
            "kind": "update_type_metadata",
            "type_kind": "node",
            "name": "Ship",
            "annotations": [
                {"name": "description", "value": "new"},
                {"name": "old", "value": None},
            ],
        },
        {
            "kind": "update_property_metadata",
            "type_kind": "node",
            "type_name": "Ship",
            "property_name": "age",
            "annotations": [
                {"name": "default", "value": "3"},
                {"name": "unit", "value": "months"},
            ],
        },
    ]


def test_only_closing_an_open_type_needs_a_look_at_the_data() -> None:
    (closing,) = planned("node Ship @open { }", "node Ship { }").changes
    (opening,) = planned("node Ship { }", "node Ship @open { }").changes
    assert (closing.kind, closing.needs_data) == ("update_type_metadata", True)
    assert (opening.kind, opening.needs_data) == ("update_type_metadata", False)


def test_another_source_of_an_embedding_is_a_change_of_annotations() -> None:
    text = "log: String v: Vector(2)? @embed({})"
    accepted, desired = (in_node(text.format(each)) for each in ("log", "name"))
    assert kinds(accepted, desired) == ["update_property_metadata"]


def test_another_model_of_an_embedding_is_a_change_of_annotations() -> None:
    text = "log: String v: Vector(2)? @embed(log{})"
    accepted, desired = (in_node(text.format(each)) for each in ("", ', model="m"'))
    (change,) = planned(accepted, desired).changes
    assert change.to_dict()["annotations"] == [{"name": "embed", "value": "log", "model": "m"}]
    assert change.describe().endswith('annotate, @embed("log", model="m")')
    assert kinds(desired, desired) == []


def test_another_policy_of_merges_is_a_change_of_annotations() -> None:
    accepted, desired = (in_node(f'speed: I32? @merge("{each}")') for each in ("max", "min"))
    (change,) = planned(accepted, desired).changes
    assert (change.kind, change.needs_data) == ("update_property_metadata", False)
    assert change.describe().endswith('annotate, @merge("min")')
    assert kinds(in_node("speed: I32?"), desired) == ["update_property_metadata"]
    assert kinds(desired, desired) == []


# Names in KIP.


def test_the_name_in_kip_changes_only_with_the_type() -> None:
    ship = "node Ship { } edge Nears: Ship -> Ship"
    reason = refusals(f'{ship} @kip("near")', f'{ship} @kip("close_to")')["edge:Nears"]
    assert "rename the type instead" in reason
    assert refusals(ship, f'{ship} @kip("near")').keys() == {"edge:Nears"}
    assert kinds(ship, f'{ship} @kip("Nears")') == ["update_type_metadata"]


def test_a_renamed_type_may_keep_its_name_in_kip() -> None:
    accepted = 'node Ship { } edge Nears: Ship -> Ship @kip("near")'
    desired = 'node Ship { } edge Near: Ship -> Ship @kip("near") @rename_from("Nears")'
    assert kinds(accepted, desired) == ["rename_type"]


def test_a_name_in_kip_that_another_type_still_has_is_refused() -> None:
    accepted = 'node Ship { } edge Nears: Ship -> Ship @kip("near")'
    desired = 'node Ship { } edge CloseTo: Ship -> Ship @kip("near")'
    assert '@rename_from("Nears")' in refusals(accepted, desired)["edge:CloseTo"]


def test_an_interface_does_not_become_a_node_of_its_name_in_one_step() -> None:
    found = refusals("interface Ship { }", "node Ship { }")
    assert "Drop or rename Ship first" in found["node:Ship"]


def test_a_node_may_make_room_for_an_edge_of_its_name() -> None:
    accepted = "node Ship { } node Visit { }"
    assert kinds(accepted, "node Ship { } edge Visit: Ship -> Ship") == ["add_type", "hide_type"]


# What was dropped.


def dropped_again(*texts: str) -> Catalog:
    """The catalog after one schema and the next have been applied."""
    catalog = EMPTY
    for each in texts:
        found = planned(catalog, each)
        assert found.supported, found.steps
        catalog = found.catalog
    return catalog


def test_a_dropped_property_comes_back_with_its_type_and_number() -> None:
    accepted = dropped_again(in_node("age: I32"), in_node(""))
    found = planned(accepted, in_node("age: I32"))
    (step,) = found.changes
    assert step.to_dict() == {
        "kind": "restore_property",
        "type_kind": "node",
        "type_name": "Ship",
        "property_name": "age",
        "property_type": type_json("I32"),
    }
    assert step.needs_data
    assert accepted.dropped
    assert found.catalog.dropped == ()


def test_a_dropped_property_with_another_type_is_a_new_one() -> None:
    accepted = dropped_again(in_node("age: I32"), in_node(""))
    found = planned(accepted, in_node("age: String?"))
    assert [each.kind for each in found.changes] == ["add_property"]
    assert "it was I32 when it was hidden, and is String? now" in found.warnings[0]
    assert refusals(accepted, in_node("age: String")).keys() == {"node:Ship.age"}


def test_a_hidden_property_comes_back_as_a_type_that_may_hold_its_values() -> None:
    for old, new, follows in (
        ("F64", "F64?", ["relax_property"]),
        ("F64?", "F64", ["tighten_property"]),
        ("enum(a)", "enum(a, b)", ["extend_enum"]),
        ("enum(a, b)", "enum(a)", ["tighten_property"]),
        ("enum(a)?", "String?", ["relax_property"]),
        ("String", "enum(a)?", ["tighten_property"]),
        ("I32", "I64", ["relax_property"]),
        ("U32?", "F64?", ["relax_property"]),
        ("[I32]", "[I64]?", ["relax_property"]),
    ):
        accepted = dropped_again(in_node(f"p: {old}"), in_node(""))
        found = planned(accepted, in_node(f"p: {new}"))
        assert [each.kind for each in found.changes] == ["restore_property", *follows], (old, new)
        assert found.warnings == ()
    for old, new in (("I64", "I32?"), ("I32", "[I32]?"), ("Vector(2)", "Vector(3)?")):
        accepted = dropped_again(in_node(f"p: {old}"), in_node(""))
        found = planned(accepted, in_node(f"p: {new}"))
        assert [each.kind for each in found.changes] == ["add_property"], (old, new)
        assert "stay hidden" in found.warnings[0]


def test_names_that_are_exchanged_are_warned_of_whatever_their_shapes() -> None:
    for text, exchanged in (
        ("node A {} node B {}", 'node A @rename_from("B") {} node B @rename_from("A") {}'),
        (
            "node A { x: I32? y: I32? }",
            'node A { x: I32? @rename_from("y") y: I32? @rename_from("x") }',
        ),
        (
            "node N {} edge A: N -> N edge B: N -> N edge C: N -> N",
            (
                'node N {} edge A: N -> N @rename_from("B") edge B: N -> N @rename_from("C")'
                ' edge C: N -> N @rename_from("A")'
            ),
        ),
        (
            "interface A {} interface B {}",
            'interface A @rename_from("B") {} interface B @rename_from("A") {}',
        ),
    ):
        found = planned(text, exchanged)
        assert found.changes == ()
        assert len(found.warnings) == exchanged.count("@rename_from"), text
    done = 'node A {} node B @rename_from("A") {}'
    assert planned(done, done).warnings == (), "a rename that was made before another A came"


def test_an_edge_is_the_same_whatever_the_case_of_its_letters() -> None:
    accepted = "node N {} edge Likes: N -> N"
    assert kinds(accepted, "node N {} edge LIKES: N -> N") == ["rename_type"]
    renamed = kinds(accepted, 'node N {} edge LIKES: N -> N @kip("Likes")')
    assert renamed == ["rename_type", "update_type_metadata"]
    hidden = dropped_again(accepted, "node N {}")
    found = refusals(hidden, "node N {} edge LIKES: N -> N")
    assert "An edge Likes is hidden" in found["edge:LIKES"]


def test_what_is_removed_with_data_loss_is_dropped_and_not_remembered() -> None:
    accepted = schema.load("node A { x: I32? } node B {}")
    found = plan(accepted, schema.load("node A {}"), allow_data_loss=True)
    assert [each.kind for each in found.changes] == ["drop_property", "drop_type"]
    assert [each.kind for each in found.removals] == ["drop_type"]
    assert found.catalog.dropped == ()


def test_a_required_property_is_added_to_a_type_without_instances() -> None:
    accepted, desired = (schema.load(in_node(each)) for each in ("", "age: I32"))
    (step,) = plan(accepted, desired, is_empty=lambda declared: declared.name == "Ship").changes
    assert (step.kind, step.needs_data) == ("add_property", True)
    assert not plan(accepted, desired, is_empty=lambda declared: False).supported


def test_a_dropped_property_is_remembered_under_the_new_name_of_its_type() -> None:
    accepted = dropped_again(
        "node Boat { age: I32? }", "node Boat { }", 'node Ship @rename_from("Boat") { }'
    )
    assert [each.type_name for each in accepted.dropped] == ["Ship"]
    assert kinds(accepted, "node Ship { age: I32? }") == ["restore_property"]


def test_a_dropped_type_comes_back_with_its_number_and_its_properties_drops() -> None:
    accepted = dropped_again(in_node("age: I32? log: String?"), in_node("log: String?"), "")
    found = planned(accepted, in_node("age: I32? log: String?"))
    assert [each.kind for each in found.changes] == ["restore_type", "restore_property"]
    assert found.changes[0].needs_data
    assert found.catalog.dropped == ()


def test_a_dropped_type_comes_back_and_is_changed_then() -> None:
    accepted = dropped_again(in_node("age: I32?"), "")
    found = planned(accepted, in_node('years: I32? @rename_from("age") flag: String?'))
    assert [each.describe() for each in found.changes] == [
        "Ship: restore node",
        "Ship.years: rename, was age",
        "Ship.flag: add, String?",
    ]


def test_a_hidden_type_that_cannot_become_what_is_declared_is_refused() -> None:
    accepted = dropped_again(in_node("age: I32?"), in_node(""), "")
    found = refusals(accepted, in_node("flag: String"))
    assert found.keys() == {"node:Ship.flag", "node:Ship"}
    assert "discard the hidden type" in found["node:Ship"]


def test_a_dropped_edge_remembers_its_ends_under_their_new_names() -> None:
    accepted = dropped_again(
        "node Boat { } edge Nears: Boat -> Boat",
        "node Boat { }",
        'node Ship @rename_from("Boat") { }',
    )
    assert kinds(accepted, "node Ship { } edge Nears: Ship -> Ship") == ["restore_type"]
    at_once = dropped_again(
        "node Boat { } edge Nears: Boat -> Boat", 'node Ship @rename_from("Boat") { }'
    )
    assert kinds(at_once, "node Ship { } edge Nears: Ship -> Ship") == ["restore_type"]


def test_a_dropped_edge_comes_back_while_its_ends_are_renamed() -> None:
    accepted = dropped_again("node Boat { } edge Nears: Boat -> Boat", "node Boat { }")
    desired = 'node Ship @rename_from("Boat") { } edge Nears: Ship -> Ship'
    _, restored = planned(accepted, desired).changes
    assert isinstance(restored, RestoreType)
    # The node has its new name by then.
    assert restored.remembered == restored.declared


def test_what_was_dropped_cannot_be_renamed_before_it_is_back() -> None:
    accepted = dropped_again(in_node("age: I32?") + "node Port { }", in_node(""))
    found = refusals(
        accepted, in_node('years: I32? @rename_from("age")') + 'node Bay @rename_from("Port") { }'
    )
    assert found.keys() == {"node:Ship.years", "node:Bay"}
    assert all("is hidden" in each for each in found.values())


def test_what_is_renamed_to_a_dropped_name_leaves_nothing_to_come_back() -> None:
    accepted = dropped_again(
        "node Ship { age: I32? } node Boat { }",
        "node Boat { }",
        'node Ship @rename_from("Boat") { }',
    )
    assert accepted.dropped == ()
    assert kinds(accepted, "node Ship { age: I32? }") == ["add_property"]


def test_a_property_that_was_dropped_with_two_types_comes_back_with_either() -> None:
    accepted = dropped_again(
        in_node("age: I32?"), in_node(""), in_node("age: String?"), in_node("")
    )
    types = [str(each.property.type) for each in accepted.dropped if each.property is not None]
    assert types == ["I32?", "String?"]
    assert kinds(accepted, in_node("age: I32?")) == ["restore_property"]
    assert kinds(accepted, in_node("age: String?")) == ["restore_property"]
    assert kinds(accepted, in_node("age: Bool?")) == ["add_property"]


# Numbers.


def test_numbers_survive_renames() -> None:
    text = "node Boat { name: String } edge Nears: Boat -> Boat { miles: F64 }"
    accepted = schema.load(text)
    found = planned(
        accepted,
        """
        node Ship @rename_from("Boat") { title: String @rename_from("name") }
        edge Near: Ship -> Ship @rename_from("Nears") { km: F64 @rename_from("miles") }
        """,
    )
    ship, near = found.catalog.nodes["Ship"], found.catalog.edges["Near"]
    assert ship.type_id == catalog_json.type_id("node", "Boat")
    assert ship.properties[0].prop_id == catalog_json.prop_id("node", "Boat", "name")
    assert near.type_id == catalog_json.type_id("edge", "Nears")
    assert near.properties[0].prop_id == catalog_json.prop_id("edge", "Nears", "miles")
    # What a text says afterwards has the numbers of its names, and gets those that things have.
    again = planned(
        found.catalog,
        "node Ship { title: String? } edge Near: Ship -> Ship { km: F64 }",
    )
    assert again.catalog.nodes["Ship"].type_id == ship.type_id


def test_something_new_under_an_old_name_gets_a_number_of_its_own() -> None:
    renamed = dropped_again(
        "node Boat { name: String? }",
        'node Ship @rename_from("Boat") { title: String? @rename_from("name") }',
    )
    found = planned(renamed, "node Ship { title: String? } node Boat { name: String? }")
    assert found.catalog.nodes["Boat"].type_id == catalog_json.type_id("node", "Boat") + 1
    assert found.catalog.nodes["Boat"].properties[0].prop_id == (
        catalog_json.prop_id("node", "Boat", "name") + 1
    )


def test_numbers_go_round_and_leave_out_zero() -> None:
    highest = 2**32 - 1
    taken = NodeType("Ship", highest, properties=(Property("a", PropertyType("Bool"), highest),))
    desired = Catalog(nodes={"Port": replace(taken, name="Port"), "Ship": taken})
    found = plan(Catalog(nodes={"Ship": taken}), desired)
    port = found.catalog.nodes["Port"]
    assert (port.type_id, port.properties[0].prop_id) == (1, 1)


def test_the_number_of_something_dropped_is_kept_for_it() -> None:
    gone = Property("a", PropertyType("Bool", is_nullable=True), 7)
    ship = NodeType("Ship", 1)
    accepted = Catalog(nodes={"Ship": ship}, dropped=(Dropped("node", "Ship", gone),))
    wanted = replace(ship, properties=(replace(gone, name="b"),))
    found = plan(accepted, Catalog(nodes={"Ship": wanted}))
    assert found.catalog.nodes["Ship"].properties[0].prop_id == 8


# What the steps carry.


def test_steps_carry_the_declarations_as_they_will_be() -> None:
    accepted = dropped_again("node Boat { }", 'node Ship @rename_from("Boat") { }')
    found = planned(accepted, "node Ship { age: I32 @default(7) }")
    (step,) = found.changes
    assert isinstance(step, AddProperty)
    assert step.owner == found.catalog.nodes["Ship"]
    assert step.declared.default == "7"


def test_every_kind_of_step_is_described_in_one_line() -> None:
    accepted = r"""
        interface Named { name: String? }
        node Boat { age: I32? mood: enum(a) size: F32 old: Bool? note: String? }
        node Gone { }
        edge Nears: Boat -> Boat
        edge Ends: Boat -> Boat
    """
    desired = r"""
        interface Named { name: String? }
        node Ship @rename_from("Boat") @description("two\nlines") implements Named {
            years: I32 @rename_from("age") mood: enum(a, b, c) size: F32? note: String? @unit("m")
            @range(years, ..9.5) @check(note, "^\\d+$")
        }
        node New { }
        edge Nears: Ship -> Ship @card(0..1)
        edge Ends: Ship -> New
    """
    lines = [each.describe() for each in planned(accepted, desired).changes]
    assert lines == [
        "New: add node",
        "Ship: rename node, was Boat",
        "Ship: implement Named, was nothing",
        "Ship.years: rename, was age",
        "Ship.name: add, String?",
        "Ship.mood: extend enum, b, c",
        "Ship.size: relax, F32 to F32?",
        "Ship.years: tighten, I32? to I32",
        r'Ship: add @check(note, "^\\d+$")',
        "Ship: add @range(years, ..9.5)",
        r'Ship: annotate, @description("two\nlines")',
        'Ship.note: annotate, @unit("m")',
        "Ship.old: hide",
        (
            "edge:Ends: not possible. An edge Ship -> Ship cannot become an edge Ship -> New. Add"
            " an edge with another name, and drop this edge when its links have been replaced."
        ),
        "Nears: change cardinality, 0..* to 0..1",
        "Gone: hide node",
    ]


def test_a_key_keeps_its_declared_order_in_the_step() -> None:
    (step,) = planned(in_node("port: String"), in_node("port: String @key(port, name)")).changes
    assert step.constraint == Key(("port", "name"))
    assert step.to_dict()["constraint"] == {"Key": ["name", "port"]}
