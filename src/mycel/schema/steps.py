"""The steps from one schema to another: the parts of a plan.

A step has three readers. Programs read `to_dict()`, which is tagged by `kind` and has only names
and JSON. People read the line that `describe()` returns. `migration` reads the fields, which are
declarations with their ids, in the form after the plan.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar, Final

from mycel.model.names import shorten
from mycel.schema import model
from mycel.schema.catalog_json import annotations_json, cardinality_json, constraint_json, type_json
from mycel.syntax.nodes import node

_SHOWN_MAX: Final = 160
"""The maximum number of characters of a value in one line."""


class SchemaStep:
    """A step of a plan. Its `kind` is the name of its class in snake case: `add_type`."""

    __slots__ = ()
    kind: ClassVar[str]
    verb: ClassVar[str]
    """The first word of `kind`."""

    def __init_subclass__(cls) -> None:
        cls.kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()
        cls.verb = cls.kind.partition("_")[0]

    @property
    def needs_data(self) -> bool:
        """True if the instances decide whether the step is possible.

        A plan is made without reading instances, so its application may still fail at such a step.
        """
        return False

    @property
    def changed_type(self) -> model.SchemaType | None:
        """The type that the step changes, in its desired form; None for an unsupported change."""
        return None

    def describe(self) -> str:
        """One line that describes the step: `Person.age: add, I32?`."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """The step as JSON."""
        return {"kind": self.kind, **self._fields()}

    def _fields(self) -> dict[str, Any]:
        raise NotImplementedError

    def _details(self) -> dict[str, Any]:
        """The fields after the name of the type or property."""
        return {}


# Types.


@node
class TypeStep(SchemaStep):
    """A step that changes a type."""

    declared: model.SchemaType

    @property
    def changed_type(self) -> model.SchemaType:
        return self.declared

    def describe(self) -> str:
        return f"{self.declared.name}: {self._text()}"

    def _text(self) -> str:
        raise NotImplementedError

    def _fields(self) -> dict[str, Any]:
        return {**_identify_type(self.declared), **self._details()}


@node
class AddType(TypeStep):
    """A new type. The graph may already have elements under its name."""

    def _text(self) -> str:
        return f"add {self.declared.kind}"


@node
class RestoreType(TypeStep):
    """A hidden type comes back, and its instances with it.

    It comes back as `remembered`; the steps after it change it to `declared`.
    """

    remembered: model.SchemaType
    rows: int | None = None
    """The number of instances that come back; None if they are not counted."""

    @property
    def needs_data(self) -> bool:
        return True

    def _text(self) -> str:
        return f"restore {self.declared.kind}{_row_count(self.rows)}"

    def _details(self) -> dict[str, Any]:
        return _rows(self.rows)


@node
class RenameType(TypeStep):
    """A type and its instances get another name. References to the name follow."""

    before: model.SchemaType

    def _text(self) -> str:
        return f"rename {self.declared.kind}, was {self.before.name}"

    def _fields(self) -> dict[str, Any]:
        kind = self.declared.kind
        return {"type_kind": kind, "from": self.before.name, "to": self.declared.name}


@node
class ChangeInterfaces(TypeStep):
    """A node implements other interfaces. Changes of its properties have their own steps."""

    declared: model.NodeType
    before: model.NodeType

    def _text(self) -> str:
        was, now = (_cut(", ".join(interface)) or "nothing" for interface in self._interfaces())
        return f"implement {now}, was {was}"

    def _fields(self) -> dict[str, Any]:
        was, now = self._interfaces()
        return {"name": self.declared.name, "from": was, "to": now}

    def _interfaces(self) -> tuple[list[str], list[str]]:
        return sorted(set(self.before.implements)), sorted(set(self.declared.implements))


@node
class ChangeCardinality(TypeStep):
    """The number of edges that may leave a source changes."""

    declared: model.EdgeType
    before: model.EdgeType

    @property
    def needs_data(self) -> bool:
        old, new = self.before.cardinality, self.declared.cardinality
        return new.minimum > old.minimum or (
            new.maximum is not None and (old.maximum is None or new.maximum < old.maximum)
        )

    def _text(self) -> str:
        return f"change cardinality, {self.before.cardinality} to {self.declared.cardinality}"

    def _fields(self) -> dict[str, Any]:
        return {
            "type_name": self.declared.name,
            "from": cardinality_json(self.before.cardinality),
            "to": cardinality_json(self.declared.cardinality),
        }


@node
class UpdateTypeMetadata(TypeStep):
    """The annotations of a type change. The instances decide whether `@open` can be removed."""

    before: model.SchemaType

    @property
    def needs_data(self) -> bool:
        return self.before.is_open and not self.declared.is_open

    def _text(self) -> str:
        return f"annotate, {_annotation_texts(self.declared.annotations)}"

    def _details(self) -> dict[str, Any]:
        return {"annotations": annotations_json(self.declared.annotations)}


@node
class RemoveType(SchemaStep):
    """A type is removed with its instances."""

    before: model.SchemaType
    rows: int | None = None
    """The number of removed instances; None if they are not counted."""

    @property
    def changed_type(self) -> model.SchemaType:
        return self.before

    def describe(self) -> str:
        return f"{self.before.name}: {self.verb} {self.before.kind}{_row_count(self.rows)}"

    def _fields(self) -> dict[str, Any]:
        return {**_identify_type(self.before), **_rows(self.rows)}


@node
class HideType(RemoveType):
    """A type is hidden with its instances; they come back when it is declared again."""


@node
class DropType(RemoveType):
    """A type is dropped with its instances, and cannot be restored."""


# Properties.


@node
class PropertyStep(SchemaStep):
    """A step that changes a property of a type, or its constraints."""

    owner: model.SchemaType

    @property
    def changed_type(self) -> model.SchemaType:
        return self.owner

    @property
    def _has_instances(self) -> bool:
        """False for an interface: the nodes that implement it satisfy its demands."""
        return not isinstance(self.owner, model.Interface)

    def _place(self) -> dict[str, Any]:
        return {"type_kind": self.owner.kind, "type_name": self.owner.name}


@node
class _DeclaredProperty(PropertyStep):
    declared: model.Property

    def describe(self) -> str:
        return f"{self.owner.name}.{self.declared.name}: {self._text()}"

    def _text(self) -> str:
        raise NotImplementedError

    def _fields(self) -> dict[str, Any]:
        return {**self._place(), "property_name": self.declared.name, **self._details()}


@node
class AddProperty(_DeclaredProperty):
    """A new property; existing instances get the value of its `@default`."""

    @property
    def needs_data(self) -> bool:
        is_missing = self.declared.is_required and self.declared.default is None
        return is_missing and self._has_instances

    def _text(self) -> str:
        return f"add, {_cut(str(self.declared.type))}"

    def _details(self) -> dict[str, Any]:
        return {"property_type": type_json(self.declared.type)}


@node
class RestoreProperty(_DeclaredProperty):
    """A hidden property comes back as `remembered`; the steps after it change it to `declared`.

    The values that fit the declaration come back. If the property exists already, these are values
    that did not fit before.
    """

    remembered: model.Property
    """The property as it was when it was hidden."""
    rows: int | None = None
    """The number of instances that get a value back; None if they are not counted."""
    left: int = 0
    """The number of instances whose hidden value does not fit, and stays hidden."""

    @property
    def needs_data(self) -> bool:
        return self._has_instances

    def _text(self) -> str:
        left = f"; {self.left} stay hidden" if self.left else ""
        return f"restore, {_cut(str(self.remembered.type))}{_row_count(self.rows)}{left}"

    def _details(self) -> dict[str, Any]:
        return {
            "property_type": type_json(self.remembered.type),
            **_rows(self.rows),
            **({"left_hidden": self.left} if self.left else {}),
        }


@node
class _ChangedProperty(_DeclaredProperty):
    before: model.Property


@node
class RenameProperty(_ChangedProperty):
    """A property gets another name. Constraints and `@embed` that name it follow."""

    def _text(self) -> str:
        return f"rename, was {self.before.name}"

    def _fields(self) -> dict[str, Any]:
        return {**self._place(), "from": self.before.name, "to": self.declared.name}


@node
class ExtendEnum(_ChangedProperty):
    """An enum allows more values than before, and all earlier ones."""

    @property
    def values(self) -> tuple[str, ...]:
        """The new values."""
        old_values = self.before.type.enum_values or ()
        return tuple(
            value for value in self.declared.type.enum_values or () if value not in old_values
        )

    def _text(self) -> str:
        return f"extend enum, {_cut(', '.join(self.values))}"

    def _details(self) -> dict[str, Any]:
        return {"values": list(self.values)}


@node
class _RetypedProperty(_ChangedProperty):
    def _text(self) -> str:
        old, new = _cut(str(self.before.type)), _cut(str(self.declared.type))
        return f"{self.verb}, {old} to {new}"

    def _details(self) -> dict[str, Any]:
        return {"from": type_json(self.before.type), "to": type_json(self.declared.type)}


@node
class TightenProperty(_RetypedProperty):
    """A property allows fewer values than before. A `@default` replaces missing ones."""

    @property
    def needs_data(self) -> bool:
        return self._has_instances


@node
class RelaxProperty(_RetypedProperty):
    """A property allows all earlier values, and others."""


@node
class UpdatePropertyMetadata(_ChangedProperty):
    """The annotations of a property change."""

    def _text(self) -> str:
        return f"annotate, {_annotation_texts(self.declared.annotations)}"

    def _details(self) -> dict[str, Any]:
        return {"annotations": annotations_json(self.declared.annotations)}


@node
class RemoveProperty(PropertyStep):
    """A property is removed with its values."""

    before: model.Property
    rows: int | None = None
    """The number of instances that have a value; None if they are not counted."""

    def describe(self) -> str:
        return f"{self.owner.name}.{self.before.name}: {self.verb}{_row_count(self.rows)}"

    def _fields(self) -> dict[str, Any]:
        return {**self._place(), "property_name": self.before.name, **_rows(self.rows)}


@node
class HideProperty(RemoveProperty):
    """A property is hidden with its values, which come back when it is declared again."""


@node
class DropProperty(RemoveProperty):
    """A property is dropped with its values, which cannot be restored."""


# Constraints.


@node
class _ConstraintStep(PropertyStep):
    constraint: model.Constraint
    """The constraint, with the names that properties have after the plan."""

    def describe(self) -> str:
        return f"{self.owner.name}: {self.verb} {self.constraint}"

    def _fields(self) -> dict[str, Any]:
        return {**self._place(), "constraint": constraint_json(self.constraint)}


@node
class AddConstraint(_ConstraintStep):
    """A new constraint."""

    is_wider: bool = False
    """True if it replaces a range that lies within it."""

    @property
    def needs_data(self) -> bool:
        is_demand = not isinstance(self.constraint, model.Index)
        return is_demand and not self.is_wider and self._has_instances


@node
class DropConstraint(_ConstraintStep):
    """A constraint that is no longer declared."""


# Unsupported changes.


@node
class UnsupportedChange(SchemaStep):
    """A change that no step can make. A plan with such a change is not applied."""

    entity: str
    """`node:Person` or `node:Person.age`."""
    reason: str
    """The problem, and the declaration to use instead."""
    violations: tuple[dict[str, Any], ...] = ()
    """The first instances that break the declaration, each with its violation."""
    violation_count: int = 0
    has_more: bool = False
    """True if there are more violations than were counted."""

    def describe(self) -> str:
        return f"{self.entity}: not possible. {self.reason}"

    def _fields(self) -> dict[str, Any]:
        payload: dict[str, Any] = {"entity": self.entity, "reason": self.reason}
        if self.violation_count:
            payload["violations"] = list(self.violations)
            payload["violation_count"] = self.violation_count
            if self.has_more:
                payload["has_more"] = True
        return payload


def entity(type_kind: model.TypeKind, type_name: str, property_name: str | None = None) -> str:
    """The name of a type or property in an unsupported change: `node:Person.age`."""
    place = f"{type_kind}:{type_name}"
    return place if property_name is None else f"{place}.{property_name}"


# Helpers for the JSON and the texts.


def _identify_type(schema_type: model.SchemaType) -> dict[str, Any]:
    return {"type_kind": schema_type.kind, "name": schema_type.name}


def _rows(rows: int | None) -> dict[str, Any]:
    return {} if rows is None else {"rows": rows}


def _row_count(rows: int | None) -> str:
    return "" if rows is None else f", {rows} row{'' if rows == 1 else 's'}"


def _annotation_texts(annotations: Iterable[model.Annotation]) -> str:
    texts = []
    for annotation in annotations_json(annotations):
        made_by = f", model={model.quoted(annotation['model'])}" if "model" in annotation else ""
        message = (
            "" if annotation["value"] is None else f"({model.quoted(annotation['value'])}{made_by})"
        )
        texts.append(f"@{annotation['name']}{message}")
    return " ".join(texts) or "nothing"


def _cut(text: str) -> str:
    return shorten(text, _SHOWN_MAX)
