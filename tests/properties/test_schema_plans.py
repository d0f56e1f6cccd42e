"""A plan leads from one schema to the other: its steps, taken one by one, make what is desired.

Schemas are drawn from few names and edited at random, so that what is dropped, renamed and added
meets under the same name. The steps are taken by a small interpreter that knows the IR and nothing
of the planner.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import event, given, note
from hypothesis import strategies as st

from mycel import schema
from mycel.errors import SchemaError
from mycel.schema import catalog_json
from mycel.schema.catalog import Catalog
from mycel.schema.model import SchemaType
from mycel.schema.planner import Plan, plan
from mycel.schema.steps import AddProperty, AddType, RestoreProperty, RestoreType, SchemaStep
from tests.properties import schemas

# Schemas that can be edited, and their text.

INTERFACES = ["Named", "Dated"]
NODES = ["Ship", "Port", "Crew"]
EDGES = ["Visits", "Follows"]
KINDS = [("interface", INTERFACES), ("node", NODES), ("edge", EDGES)]
PROPERTIES = ["a", "b", "c", "d"]
TEXTS = ["String", "String?", "enum(x, y)", "enum(x, y)?", "enum(x, y, z)", "enum(y, z)?"]
TYPES = [*TEXTS, "I32", "I32?", "F64?", "[String]?", "Vector(2)?"]
NOTES = ["", '@note("1")', '@note("2") @mark', '@description("it")']
CARDS = ["", "@card(0..1)", "@card(0..3)", "@card(1..3)"]


@dataclass
class Prop:
    type: str
    note: str = ""
    inline: str = ""
    """`@index` or `@unique`."""
    renamed_from: str = ""
    embed: str = ""

    def text(self, name: str) -> str:
        embed = f"@embed({self.embed})" if self.embed else ""
        return f"{name}: {self.type} {self.note} {self.inline} {embed} {_from(self.renamed_from)}"


@dataclass
class Declared:
    kind: str
    props: dict[str, Prop] = field(default_factory=dict)
    implements: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    card: str = ""
    note: str = ""
    constraints: list[tuple[str, list[str], str]] = field(default_factory=list)
    """Kind, columns, and what else it says."""
    renamed_from: str = ""

    def text(self, name: str) -> str:
        head = f"{self.kind} {name}"
        if self.kind == "edge":
            head += f": {self.ends[0]} -> {self.ends[1]} {self.card}"
        if self.kind != "interface":
            head += f" {self.note} {_from(self.renamed_from)}"
        if self.implements:
            head += f" implements {', '.join(self.implements)}"
        body = [each.text(inner) for inner, each in self.props.items()]
        body += [f"@{kind}({', '.join(columns)}{rest})" for kind, columns, rest in self.constraints]
        return f"{head} {{ {'  '.join(body)} }}"


Draft = dict[str, Declared]


def _from(source: str) -> str:
    return f'@rename_from("{source}")' if source else ""


def text_of(draft: Draft) -> str:
    return "\n".join(each.text(name) for name, each in draft.items())


def of_kind(draft: Draft, kind: str) -> list[str]:
    return [name for name, each in draft.items() if each.kind == kind]


def drafted(chance: Random) -> Draft:
    draft: Draft = {}
    for kind, names in KINDS:
        for name in chance.sample(names, chance.randint(0, len(names))):
            add_type(chance, draft, kind, name)
    return draft


# Edits. Each leaves a schema that is usually right; what is not is drawn again.


def add_type(chance: Random, draft: Draft, kind: str, name: str) -> None:
    declared = Declared(kind)
    if kind == "edge":
        nodes = of_kind(draft, "node")
        if not nodes:
            return
        declared.ends = chance.choices(nodes, k=2)
        declared.card = chance.choice(CARDS)
    if kind == "node":
        declared.implements = some(chance, of_kind(draft, "interface"))
    if kind != "interface":
        declared.note = chance.choice(NOTES)
    inherited = {each for known in declared.implements for each in draft[known].props}
    for each in some(chance, PROPERTIES):
        if each not in inherited:
            declared.props[each] = new_property(chance)
    draft[name] = declared
    constrain(chance, draft, name)


def some(chance: Random, choices: list[str]) -> list[str]:
    return chance.sample(choices, chance.randint(0, len(choices)))


def one_or_two(chance: Random, choices: list[str]) -> list[str]:
    return chance.sample(choices, min(len(choices), chance.randint(1, 2)))


def new_property(chance: Random) -> Prop:
    type_ = chance.choice(TYPES)
    inline = "" if type_[0] in "[V" else chance.choice(["", "", "@index"])
    return Prop(type_, chance.choice(NOTES), inline)


def constrain(chance: Random, draft: Draft, name: str) -> None:
    """Other constraints, such as the properties allow."""
    declared = draft[name]
    declared.constraints = []
    plain = [key for key, each in declared.props.items() if each.type[0] not in "[V"]
    if declared.kind == "interface" or not plain:
        return
    for kind in some(chance, ["unique", "index"]):
        declared.constraints.append((kind, one_or_two(chance, plain), ""))
    if declared.kind == "edge":
        return
    keyed = [key for key in plain if not declared.props[key].type.endswith("?")]
    if keyed and chance.random() < 0.5:
        declared.constraints.append(("key", one_or_two(chance, keyed), ""))
    for key in plain:
        if declared.props[key].type[0] in "IF" and chance.random() < 0.5:
            bounds = chance.choice([", 0..9", ", 0..", ", -5..5", ", 0..99"])
            declared.constraints.append(("range", [key], bounds))
        if declared.props[key].type.startswith("String") and chance.random() < 0.5:
            pattern = chance.choice(["a+", "b*"])
            declared.constraints.append(("check", [key], f', "{pattern}"'))


def rename_type(chance: Random, draft: Draft) -> None:
    names = [*of_kind(draft, "node"), *of_kind(draft, "edge")]
    free = [name for name in ("Renamed", *NODES, *EDGES) if name not in draft]
    if not names or not free:
        return
    old, new = chance.choice(names), chance.choice(free)
    declared = draft.pop(old)
    declared.renamed_from = old
    draft[new] = declared
    for each in draft.values():
        each.ends = [new if end == old else end for end in each.ends]


def rename_property(chance: Random, draft: Draft) -> None:
    owner = chance.choice(list(draft))
    declared, new = draft[owner], chance.choice([*PROPERTIES, "e"])
    heirs = [each for each in draft.values() if owner in each.implements]
    if not declared.props or any(new in each.props for each in (declared, *heirs)):
        return
    old = chance.choice(list(declared.props))
    moved = declared.props[new] = declared.props.pop(old)
    moved.renamed_from = old
    for each in declared.props.values():
        each.embed = new if each.embed == old else each.embed
    declared.constraints = [
        (kind, [new if column == old else column for column in columns], rest)
        for kind, columns, rest in declared.constraints
    ]


def edit_property(chance: Random, draft: Draft) -> None:
    """Give a property a type that it can become: with or without `?`, other values of an enum."""
    declared = draft[chance.choice(list(draft))]
    if not declared.props:
        return
    name = chance.choice(list(declared.props))
    was = declared.props[name].type
    if was[0] in "eS":
        near = [*TEXTS, was.removesuffix("?")]
    else:
        near = [was.removesuffix("?"), f"{was.removesuffix('?')}?"]
    declared.props[name].type = chance.choice(near)


def new_properties(chance: Random, draft: Draft) -> None:
    declared = draft[chance.choice(list(draft))]
    for name in one_or_two(chance, PROPERTIES):
        declared.props.setdefault(name, new_property(chance))
    declared.props.setdefault(chance.choice("ef"), Prop("I32", "@default(7)"))


def retype_property(chance: Random, draft: Draft) -> None:
    owner = chance.choice(list(draft))
    for name in draft[owner].props:
        if chance.random() < 0.3:
            draft[owner].props[name] = new_property(chance)
    constrain(chance, draft, owner)


def add_embedding(chance: Random, draft: Draft) -> None:
    declared = draft[chance.choice(list(draft))]
    texts = [name for name, each in declared.props.items() if each.type.startswith("String")]
    if texts and declared.kind == "node":
        declared.props["vector"] = Prop("Vector(128)?", embed=chance.choice(texts))


def edit_constraints(chance: Random, draft: Draft) -> None:
    constrain(chance, draft, chance.choice(list(draft)))


def drop_property(chance: Random, draft: Draft) -> None:
    owner = chance.choice(list(draft))
    draft[owner].props.pop(chance.choice(PROPERTIES), None)
    constrain(chance, draft, owner)


def drop_type(chance: Random, draft: Draft) -> None:
    gone = chance.choice(list(draft))
    del draft[gone]
    for name in [name for name, each in draft.items() if gone in each.ends]:
        del draft[name]
    for each in draft.values():
        each.implements = [known for known in each.implements if known != gone]


def edit_type(chance: Random, draft: Draft) -> None:
    declared = draft[chance.choice(list(draft))]
    declared.note = chance.choice([*NOTES, "@open"])
    for each in declared.props.values():
        if "@default" not in each.note:
            each.note = chance.choice([each.note, *NOTES])
    if declared.kind == "edge":
        declared.card = chance.choice(CARDS)
        if chance.random() < 0.1:
            declared.ends[0] = chance.choice(of_kind(draft, "node"))
    if declared.kind == "node" and chance.random() < 0.5:
        declared.implements = some(chance, of_kind(draft, "interface"))


def new_type(chance: Random, draft: Draft) -> None:
    kind, names = chance.choice(KINDS)
    name = chance.choice(names)
    if name not in draft:
        add_type(chance, draft, kind, name)


def say_rename(chance: Random, draft: Draft) -> None:
    """A rename that may mean nothing, or something else than it did."""
    declared = draft[chance.choice(list(draft))]
    declared.renamed_from = chance.choice(["", *NODES, *EDGES, *INTERFACES])
    for each in declared.props.values():
        each.renamed_from = chance.choice(["", "", *PROPERTIES])


EDITS = [
    rename_type,
    rename_property,
    edit_property,
    retype_property,
    new_properties,
    add_embedding,
    edit_constraints,
    drop_property,
    drop_type,
    edit_type,
    new_type,
    say_rename,
]


def edited(chance: Random, draft: Draft) -> Draft:
    draft = copy.deepcopy(draft)
    for declared in draft.values():
        declared.renamed_from = ""
        for each in declared.props.values():
            each.renamed_from = ""
    for edit in chance.choices(EDITS, k=chance.randint(1, 3)):
        if draft:
            edit(chance, draft)
        else:
            new_type(chance, draft)
    return draft


def loaded(draft: Draft) -> Catalog | None:
    try:
        return schema.load(text_of(draft))
    except SchemaError:
        return None


def right(make: Callable[[], Draft]) -> Draft:
    """The first draft that is a schema."""
    return next(draft for draft in iter(make, None) if loaded(draft) is not None)


def history(chance: Random) -> list[Draft]:
    """Schemas of one graph, each an edit of the one before it; now and then of the first."""
    first = right(lambda: drafted(chance))
    versions = [first]
    for _ in range(4):
        base = chance.choice([first, versions[-1], versions[-1]])
        versions.append(right(lambda base=base: edited(chance, base)))
    return versions


def plans(chance: Random) -> Iterator[tuple[Catalog, Catalog, Plan]]:
    """Plan each schema after the other; what is not supported is not applied."""
    accepted = Catalog()
    for draft in history(chance):
        note(text_of(draft))
        desired = schema.load(text_of(draft))
        found = plan(accepted, desired)
        yield accepted, desired, found
        if found.supported:
            accepted = found.catalog


chances = st.integers(0, 2**64).map(Random)
"""Drawn whole, because what is drawn bit by bit is mostly as small as can be."""


# Taking the steps.


class Shape:
    """The IR of a schema, by name, with the constraints of interfaces beside it."""

    def __init__(self, catalog: Catalog) -> None:
        self.types: dict[tuple[str, str], dict[str, Any]] = {}
        for declared in catalog.types:
            self.put(declared)

    def put(self, declared: SchemaType) -> None:
        place = declared.kind, declared.name
        assert place not in self.types
        # The IR leaves out the annotations of an interface that has none.
        said = {"annotations": [], **catalog_json.declared_json(declared)}
        said["properties"] = {each["name"]: each for each in said["properties"]}
        said["constraints"] = [catalog_json.constraint_json(each) for each in declared.constraints]
        self.types[place] = said

    def normal(self) -> dict[tuple[str, str], dict[str, Any]]:
        for said in self.types.values():
            said["constraints"].sort(key=lambda each: json.dumps(each, sort_keys=True))
            for each in (said, *said["properties"].values()):
                each.get("annotations", []).sort(key=lambda note: json.dumps(note, sort_keys=True))
        return self.types

    def take(self, step: SchemaStep) -> None:
        said = step.to_dict()
        kind = said.pop("kind")
        getattr(self, f"_{kind}")(
            step, **{"from_" if k == "from" else k: v for k, v in said.items()}
        )

    def _add_type(self, step: SchemaStep, type_kind: str, name: str) -> None:
        assert isinstance(step, AddType)
        self.put(step.declared)

    def _restore_type(self, step: SchemaStep, type_kind: str, name: str) -> None:
        assert isinstance(step, RestoreType)
        self.put(step.remembered)

    def _rename_type(self, step: SchemaStep, type_kind: str, from_: str, to: str) -> None:
        assert (type_kind, to) not in self.types
        said = self.types[type_kind, to] = self.types.pop((type_kind, from_))
        said["name"] = to
        for (kind, _), each in self.types.items():
            if kind == "edge" and type_kind == "node":
                for end in ("from_type", "to_type"):
                    each[end] = to if each[end] == from_ else each[end]

    def _hide_type(self, step: SchemaStep, type_kind: str, name: str) -> None:
        del self.types[type_kind, name]
        for said in self.types.values():
            assert name not in said.get("implements", ())
            assert type_kind != "node" or name not in (said.get("from_type"), said.get("to_type"))

    def _change_interfaces(self, step: SchemaStep, name: str, from_: Any, to: Any) -> None:
        assert self.types["node", name]["implements"] == from_
        assert all(("interface", each) in self.types for each in to)
        self.types["node", name]["implements"] = to

    def _change_cardinality(self, step: SchemaStep, type_name: str, from_: Any, to: Any) -> None:
        assert self.types["edge", type_name]["cardinality"] == from_
        self.types["edge", type_name]["cardinality"] = to

    def _update_type_metadata(
        self, step: SchemaStep, type_kind: str, name: str, annotations: Any
    ) -> None:
        self.types[type_kind, name]["annotations"] = annotations

    def _add_property(
        self,
        step: SchemaStep,
        type_kind: str,
        type_name: str,
        property_name: str,
        property_type: Any,
    ) -> None:
        assert isinstance(step, AddProperty | RestoreProperty)
        properties = self.types[type_kind, type_name]["properties"]
        assert property_name not in properties
        properties[property_name] = {
            "name": property_name,
            "prop_id": step.declared.prop_id,
            "prop_type": property_type,
            "annotations": catalog_json.annotations_json(step.declared.annotations),
        }

    _restore_property = _add_property

    def _rename_property(
        self, step: SchemaStep, type_kind: str, type_name: str, from_: str, to: str
    ) -> None:
        said = self.types[type_kind, type_name]
        assert to not in said["properties"]
        moved = said["properties"][to] = said["properties"].pop(from_)
        moved["name"] = to
        for each in said["properties"].values():
            for said_of in each["annotations"]:
                if said_of["name"] == "embed" and said_of["value"] == from_:
                    said_of["value"] = to
        for each in said["constraints"]:
            for kind, columns in each.items():
                if isinstance(columns, list):
                    each[kind] = sorted(to if column == from_ else column for column in columns)
                elif columns["property"] == from_:
                    columns["property"] = to

    def _hide_property(
        self, step: SchemaStep, type_kind: str, type_name: str, property_name: str
    ) -> None:
        said = self.types[type_kind, type_name]
        del said["properties"][property_name]
        for each in said["constraints"]:
            for columns in each.values():
                names = columns if isinstance(columns, list) else [columns["property"]]
                assert property_name not in names

    def _extend_enum(
        self,
        step: SchemaStep,
        type_kind: str,
        type_name: str,
        property_name: str,
        values: list[str],
    ) -> None:
        type_ = self.types[type_kind, type_name]["properties"][property_name]["prop_type"]
        assert values
        assert not set(values) & set(type_["enum_values"])
        type_["enum_values"] = sorted([*type_["enum_values"], *values])

    def _tighten_property(
        self,
        step: SchemaStep,
        type_kind: str,
        type_name: str,
        property_name: str,
        from_: Any,
        to: Any,
    ) -> None:
        said = self.types[type_kind, type_name]["properties"][property_name]
        assert said["prop_type"] == from_
        said["prop_type"] = to

    _relax_property = _tighten_property

    def _update_property_metadata(
        self, step: SchemaStep, type_kind: str, type_name: str, property_name: str, annotations: Any
    ) -> None:
        said = self.types[type_kind, type_name]["properties"][property_name]
        said["annotations"] = annotations

    def _add_constraint(
        self, step: SchemaStep, type_kind: str, type_name: str, constraint: Any
    ) -> None:
        constraints = self.types[type_kind, type_name]["constraints"]
        assert constraint not in constraints
        constraints.append(constraint)

    def _drop_constraint(
        self, step: SchemaStep, type_kind: str, type_name: str, constraint: Any
    ) -> None:
        self.types[type_kind, type_name]["constraints"].remove(constraint)


# What holds.


@given(chances)
def test_the_steps_of_a_supported_plan_make_the_schema_that_is_desired(chance: Random) -> None:
    for accepted, desired, found in plans(chance):
        event(f"supported: {found.supported}")
        if not found.supported:
            continue
        shape = Shape(accepted)
        for step in found.changes:
            event(step.kind)
            shape.take(step)
        assert shape.normal() == Shape(found.catalog).normal()
        assert found.catalog.same_shape(desired)


@given(chances)
def test_a_schema_that_has_been_applied_needs_no_more_steps(chance: Random) -> None:
    for _, desired, found in plans(chance):
        again = plan(found.catalog, found.catalog)
        assert again.steps == ()
        assert again.catalog == found.catalog
        if found.supported:
            once_more = plan(found.catalog, desired)
            assert once_more.steps == ()
            assert once_more.catalog.ir() == found.catalog.ir()
            assert once_more.catalog.dropped == found.catalog.dropped
            assert plan(found.catalog, schema.load(found.catalog.format())).steps == ()


@given(chances)
def test_numbers_belong_to_one_thing_each_and_stay_with_it(chance: Random) -> None:
    for accepted, _, found in plans(chance):
        types, properties = numbers(found.catalog)
        assert len(set(types)) == len(types)
        assert len(set(properties)) == len(properties)
        assert 0 not in types
        assert 0 not in properties
        if not found.supported:
            continue
        renamed = {
            (each["type_kind"], each["to"]): each["from"]
            for each in found.steps
            if each["kind"] == "rename_type"
        }
        before = Shape(accepted).types
        for (kind, name), said in Shape(found.catalog).types.items():
            old = before.get((kind, renamed.get((kind, name), name)))
            if old is not None:
                assert said["type_id"] == old["type_id"]
                for each in said["properties"].keys() & old["properties"].keys():
                    assert said["properties"][each]["prop_id"] == old["properties"][each]["prop_id"]


def numbers(catalog: Catalog) -> tuple[list[int], list[int]]:
    """The numbers that are given out, to what is there and to what could come back."""
    owners = [*catalog.types]
    owners += [each.declared for each in catalog.dropped if each.declared is not None]
    properties = [each.prop_id for owner in owners for each in owner.properties]
    properties += [each.property.prop_id for each in catalog.dropped if each.property is not None]
    return [each.type_id for each in owners], properties


@given(chances)
def test_the_order_in_which_a_schema_is_written_makes_no_difference(chance: Random) -> None:
    accepted, *_, desired = history(chance)
    shuffled = {name: copy.deepcopy(desired[name]) for name in reversed(desired)}
    for each in shuffled.values():
        each.props = dict(reversed(each.props.items()))
    first, second, third = (schema.load(text_of(each)) for each in (accepted, desired, shuffled))
    as_written, as_shuffled = plan(first, second), plan(first, third)
    assert as_written.to_dict() == as_shuffled.to_dict()
    assert as_written.catalog.ir() == as_shuffled.catalog.ir()


@given(chances)
def test_a_schema_that_was_dropped_whole_comes_back_as_it_was(chance: Random) -> None:
    text = text_of(right(lambda: drafted(chance)))
    accepted = schema.load(text)
    gone = plan(accepted, Catalog()).catalog
    assert len(gone.dropped) == len(list(accepted.types))
    back = plan(gone, schema.load(text))
    assert {each.kind for each in back.changes} <= {"restore_type"}
    assert back.catalog.ir() == accepted.ir()
    assert back.catalog.dropped == ()


@given(schemas.catalogs(), schemas.catalogs())
def test_any_schema_can_be_compared_with_any_other(accepted: Catalog, desired: Catalog) -> None:
    """Here with everything that the language has: long enums, odd texts, names of all kinds."""
    assert plan(accepted, accepted).steps == ()
    found = plan(accepted, desired)
    assert found.catalog.same_shape(desired)
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
    assert all(each.describe().isprintable() for each in found.changes)
    if found.supported:
        shape = Shape(accepted)
        for step in found.changes:
            shape.take(step)
        assert shape.normal() == Shape(found.catalog).normal()


@given(chances)
def test_every_step_is_json_and_one_line(chance: Random) -> None:
    for _, _, found in plans(chance):
        assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
        assert all("\n" not in each.describe() for each in found.changes)
        assert found.supported == all(each["kind"] != "unsupported_change" for each in found.steps)
