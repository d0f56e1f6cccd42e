"""Steps in words: one line for each, for people who read a plan."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, assert_never

from mycel.model.names import shorten
from mycel.schema.ir import annotations_json
from mycel.schema.model import Annotation, PropertyType, kind_of_type
from mycel.schema.steps import (
    AddConstraint,
    AddProperty,
    AddType,
    ChangeCardinality,
    ChangeInterfaces,
    DropConstraint,
    DropProperty,
    DropType,
    ExtendEnum,
    HideProperty,
    HideType,
    PropertyStep,
    RelaxProperty,
    RenameProperty,
    RenameType,
    RestoreProperty,
    RestoreType,
    Step,
    TightenProperty,
    TypeStep,
    UnsupportedChange,
    UpdatePropertyMetadata,
    UpdateTypeMetadata,
    constraint_text,
    quoted,
)

_SHOWN_MAX: Final = 160
"""Characters of one line that are not names."""


def describe(step: Step) -> str:
    """One line that says what a step does: `Person.age: add, I32?`."""
    match step:
        case UnsupportedChange():
            return f"{step.entity}: not possible. {step.reason}"
        case AddConstraint() | DropConstraint():
            verb = "add" if isinstance(step, AddConstraint) else "drop"
            return f"{step.owner.name}: {verb} {constraint_text(step.constraint)}"
        case (
            AddType()
            | RestoreType()
            | RenameType()
            | HideType()
            | DropType()
            | ChangeInterfaces()
            | ChangeCardinality()
            | UpdateTypeMetadata()
        ):
            return _describe_type(step)
        case _:
            return _describe_property(step)


def _describe_type(step: TypeStep) -> str:
    match step:
        case AddType(declared):
            return f"{declared.name}: add {kind_of_type(declared)}"
        case RestoreType(declared):
            return f"{declared.name}: restore {kind_of_type(declared)}{_counted(step.rows)}"
        case RenameType(declared, before):
            return f"{declared.name}: rename {kind_of_type(declared)}, was {before.name}"
        case HideType(before) | DropType(before):
            return f"{before.name}: {_removal(step)} {kind_of_type(before)}{_counted(step.rows)}"
        case ChangeInterfaces(declared, before):
            now, was = (_names(each.implements) for each in (declared, before))
            return f"{declared.name}: implement {now}, was {was}"
        case ChangeCardinality(declared, before):
            cards = f"{before.cardinality} to {declared.cardinality}"
            return f"{declared.name}: change cardinality, {cards}"
        case UpdateTypeMetadata(declared):
            return f"{declared.name}: annotate, {_annotation_texts(declared.annotations)}"
        case _:
            assert_never(step)


def _describe_property(step: PropertyStep) -> str:
    owner = step.owner.name
    match step:
        case AddProperty(_, declared):
            return f"{owner}.{declared.name}: add, {_type_text(declared.type)}"
        case RestoreProperty(_, declared, was):
            left = f"; {step.left} stay hidden" if step.left else ""
            restored = f"restore, {_type_text(was.type)}{_counted(step.rows)}{left}"
            return f"{owner}.{declared.name}: {restored}"
        case RenameProperty(_, declared, before):
            return f"{owner}.{declared.name}: rename, was {before.name}"
        case HideProperty(_, before) | DropProperty(_, before):
            return f"{owner}.{before.name}: {_removal(step)}{_counted(step.rows)}"
        case ExtendEnum(_, declared):
            return f"{owner}.{declared.name}: extend enum, {_cut(', '.join(step.values))}"
        case TightenProperty(_, declared, before):
            types = f"{_type_text(before.type)} to {_type_text(declared.type)}"
            return f"{owner}.{declared.name}: tighten, {types}"
        case RelaxProperty(_, declared, before):
            types = f"{_type_text(before.type)} to {_type_text(declared.type)}"
            return f"{owner}.{declared.name}: relax, {types}"
        case UpdatePropertyMetadata(_, declared):
            return f"{owner}.{declared.name}: annotate, {_annotation_texts(declared.annotations)}"
        case _:
            assert_never(step)


def _removal(step: HideType | DropType | HideProperty | DropProperty) -> str:
    return "hide" if isinstance(step, HideType | HideProperty) else "drop"


def _counted(rows: int | None) -> str:
    if rows is None:
        return ""
    return f", {rows} row{'' if rows == 1 else 's'}"


def _annotation_texts(annotations: Iterable[Annotation]) -> str:
    texts = []
    for each in annotations_json(annotations):
        model = f", model={quoted(each['model'])}" if "model" in each else ""
        said = "" if each["value"] is None else f"({quoted(each['value'])}{model})"
        texts.append(f"@{each['name']}{said}")
    return " ".join(texts) or "nothing"


def _names(names: Iterable[str]) -> str:
    return _cut(", ".join(sorted(set(names)))) or "nothing"


def _type_text(type_: PropertyType) -> str:
    return _cut(str(type_))


def _cut(text: str) -> str:
    return shorten(text, _SHOWN_MAX)
