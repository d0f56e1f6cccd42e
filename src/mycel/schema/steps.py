"""The steps from one schema to another: what a plan is made of.

A step has two readers. People and other programs read `to_dict()`, tagged by `kind` and made of
names and JSON alone, or the line that `descriptions` makes of it. Whoever applies a plan reads the
fields, which are the declarations themselves, as they should be afterwards, with their ids.

`needs_data` says that the step is possible only if the instances allow it. A plan is made without
looking at them, so these are the steps at which applying it may still fail.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar, TypeAlias

from mycel.model.names import shorten
from mycel.schema.ir import annotations_json, constraint_json, type_json
from mycel.schema.model import (
    OPEN,
    Cardinality,
    Check,
    Constraint,
    EdgeType,
    Index,
    Interface,
    Key,
    NodeType,
    Property,
    Range,
    SchemaType,
    TypeKind,
    Unique,
    has_annotation,
    kind_of_type,
)
from mycel.syntax.nodes import node


@node
class AddType:
    """A type that is new. What the graph already holds under its name is not known here."""

    kind: ClassVar[str] = "add_type"
    needs_data: ClassVar[bool] = False
    declared: SchemaType

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, **_type(self.declared)}


@node
class RestoreType:
    """A type that was hidden comes back, and its instances with it.

    It comes back as `remembered`; the steps after it make `declared` of that.
    """

    kind: ClassVar[str] = "restore_type"
    needs_data: ClassVar[bool] = True
    declared: SchemaType
    remembered: SchemaType
    rows: int | None = None
    """Instances that come back; None as long as nobody has counted."""

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, **_type(self.declared), **_rows(self.rows)}


@node
class RenameType:
    """A type and its instances move to another name. Where it is named, the name follows."""

    kind: ClassVar[str] = "rename_type"
    needs_data: ClassVar[bool] = False
    declared: SchemaType
    before: SchemaType

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "type_kind": kind_of_type(self.declared),
            "from": self.before.name,
            "to": self.declared.name,
        }


@node
class HideType:
    """A type goes with its instances, and comes back with them when it is declared again."""

    kind: ClassVar[str] = "hide_type"
    needs_data: ClassVar[bool] = False
    before: SchemaType
    rows: int | None = None
    """Instances that go with it; None as long as nobody has counted."""

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, **_type(self.before), **_rows(self.rows)}


@node
class DropType:
    """A type goes with its instances, and cannot be restored."""

    kind: ClassVar[str] = "drop_type"
    needs_data: ClassVar[bool] = False
    before: SchemaType
    rows: int | None = None
    """Instances that go with it; None as long as nobody has counted."""

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, **_type(self.before), **_rows(self.rows)}


@node
class ChangeInterfaces:
    """A node implements other interfaces. What that does to its properties is said by itself."""

    kind: ClassVar[str] = "change_interfaces"
    needs_data: ClassVar[bool] = False
    declared: NodeType
    before: NodeType

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "name": self.declared.name,
            "from": sorted(set(self.before.implements)),
            "to": sorted(set(self.declared.implements)),
        }


@node
class ChangeCardinality:
    """An edge may leave a source more or less often than before."""

    kind: ClassVar[str] = "change_cardinality"
    declared: EdgeType
    before: EdgeType

    @property
    def needs_data(self) -> bool:
        old, new = self.before.cardinality, self.declared.cardinality
        return new.minimum > old.minimum or (
            new.maximum is not None and (old.maximum is None or new.maximum < old.maximum)
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "type_name": self.declared.name,
            "from": _cardinality(self.before.cardinality),
            "to": _cardinality(self.declared.cardinality),
        }


@node
class UpdateTypeMetadata:
    """The annotations of a type change. Whether it may do without `@open`, its instances say."""

    kind: ClassVar[str] = "update_type_metadata"
    declared: SchemaType
    before: SchemaType

    @property
    def needs_data(self) -> bool:
        was_open = has_annotation(self.before.annotations, OPEN)
        return was_open and not has_annotation(self.declared.annotations, OPEN)

    def to_dict(self) -> dict[str, Any]:
        annotations = annotations_json(self.declared.annotations)
        return {"kind": self.kind, **_type(self.declared), "annotations": annotations}


@node
class AddProperty:
    """A property that is new; its `@default` is the value of the instances there are."""

    kind: ClassVar[str] = "add_property"
    owner: SchemaType
    declared: Property

    @property
    def needs_data(self) -> bool:
        is_missing = self.declared.is_required and self.declared.default is None
        return is_missing and _has_instances(self.owner)

    def to_dict(self) -> dict[str, Any]:
        return {
            **_property(self, self.declared.name),
            "property_type": type_json(self.declared.type),
        }


@node
class RestoreProperty:
    """A hidden property comes back as `remembered`; the steps after it make `declared` of that.

    Its values come back as far as they fit what is declared. Of a property that is there already,
    values come back that did not fit before.
    """

    kind: ClassVar[str] = "restore_property"
    owner: SchemaType
    declared: Property
    remembered: Property
    """The property as it was when it was hidden."""
    rows: int | None = None
    """Instances that get a value back; None as long as nobody has counted."""
    left: int = 0
    """Instances whose hidden value does not fit, and stays hidden."""

    @property
    def needs_data(self) -> bool:
        return _has_instances(self.owner)

    def to_dict(self) -> dict[str, Any]:
        return {
            **_property(self, self.declared.name),
            "property_type": type_json(self.remembered.type),
            **_rows(self.rows),
            **({"left_hidden": self.left} if self.left else {}),
        }


@node
class RenameProperty:
    """A property moves to another name. Constraints and `@embed` that name it follow."""

    kind: ClassVar[str] = "rename_property"
    needs_data: ClassVar[bool] = False
    owner: SchemaType
    declared: Property
    before: Property

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            **_owner(self.owner),
            "from": self.before.name,
            "to": self.declared.name,
        }


@node
class HideProperty:
    """A property goes with its values, which come back when it is declared again."""

    kind: ClassVar[str] = "hide_property"
    needs_data: ClassVar[bool] = False
    owner: SchemaType
    before: Property
    rows: int | None = None
    """Instances that have a value; None as long as nobody has counted."""

    def to_dict(self) -> dict[str, Any]:
        return {**_property(self, self.before.name), **_rows(self.rows)}


@node
class DropProperty:
    """A property goes with its values, which cannot be restored."""

    kind: ClassVar[str] = "drop_property"
    needs_data: ClassVar[bool] = False
    owner: SchemaType
    before: Property
    rows: int | None = None
    """Instances that have a value; None as long as nobody has counted."""

    def to_dict(self) -> dict[str, Any]:
        return {**_property(self, self.before.name), **_rows(self.rows)}


@node
class ExtendEnum:
    """An enum allows more values than before, and all that it did."""

    kind: ClassVar[str] = "extend_enum"
    needs_data: ClassVar[bool] = False
    owner: SchemaType
    declared: Property
    before: Property

    @property
    def values(self) -> tuple[str, ...]:
        """The new ones."""
        known = self.before.type.enum_values or ()
        return tuple(each for each in self.declared.type.enum_values or () if each not in known)

    def to_dict(self) -> dict[str, Any]:
        return {**_property(self, self.declared.name), "values": list(self.values)}


@node
class TightenProperty:
    """A property takes fewer values than before. A `@default` stands in for those missing."""

    kind: ClassVar[str] = "tighten_property"
    owner: SchemaType
    declared: Property
    before: Property

    @property
    def needs_data(self) -> bool:
        return _has_instances(self.owner)

    def to_dict(self) -> dict[str, Any]:
        return _retyped(self)


@node
class RelaxProperty:
    """A property takes all values that it did, and others."""

    kind: ClassVar[str] = "relax_property"
    needs_data: ClassVar[bool] = False
    owner: SchemaType
    declared: Property
    before: Property

    def to_dict(self) -> dict[str, Any]:
        return _retyped(self)


@node
class UpdatePropertyMetadata:
    """The annotations of a property change."""

    kind: ClassVar[str] = "update_property_metadata"
    needs_data: ClassVar[bool] = False
    owner: SchemaType
    declared: Property
    before: Property

    def to_dict(self) -> dict[str, Any]:
        annotations = annotations_json(self.declared.annotations)
        return {**_property(self, self.declared.name), "annotations": annotations}


@node
class AddConstraint:
    """A constraint that was not there."""

    kind: ClassVar[str] = "add_constraint"
    owner: SchemaType
    constraint: Constraint
    is_wider: bool = False
    """It takes the place of a range that lies within it."""

    @property
    def needs_data(self) -> bool:
        is_demand = not isinstance(self.constraint, Index)
        return is_demand and not self.is_wider and _has_instances(self.owner)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            **_owner(self.owner),
            "constraint": constraint_json(self.constraint),
        }


@node
class DropConstraint:
    """A constraint that is there no more; it names properties as they are called now."""

    kind: ClassVar[str] = "drop_constraint"
    needs_data: ClassVar[bool] = False
    owner: SchemaType
    constraint: Constraint

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            **_owner(self.owner),
            "constraint": constraint_json(self.constraint),
        }


@node
class UnsupportedChange:
    """What no step can do. A plan that has one is not applied."""

    kind: ClassVar[str] = "unsupported_change"
    needs_data: ClassVar[bool] = False
    entity: str
    """`node:Person` or `node:Person.age`."""
    reason: str
    """What is wrong, and what would be right."""
    violations: tuple[dict[str, Any], ...] = ()
    """Instances that stand in the way, each with what is wrong; the first ones."""
    violation_count: int = 0
    has_more: bool = False
    """Whether there are more of them than were counted."""

    def to_dict(self) -> dict[str, Any]:
        said = {"kind": self.kind, "entity": self.entity, "reason": self.reason}
        if not self.violation_count:
            return said
        listed = {"violations": list(self.violations), "violation_count": self.violation_count}
        return said | listed | ({"has_more": True} if self.has_more else {})


TypeStep: TypeAlias = (
    AddType
    | RestoreType
    | RenameType
    | HideType
    | DropType
    | ChangeInterfaces
    | ChangeCardinality
    | UpdateTypeMetadata
)
PropertyStep: TypeAlias = (
    AddProperty
    | RestoreProperty
    | RenameProperty
    | HideProperty
    | DropProperty
    | ExtendEnum
    | TightenProperty
    | RelaxProperty
    | UpdatePropertyMetadata
)
Step: TypeAlias = TypeStep | PropertyStep | AddConstraint | DropConstraint | UnsupportedChange


def type_of(step: Step) -> SchemaType | None:
    """The type that a step is about, as it should be; None for what no step can do."""
    match step:
        case UnsupportedChange():
            return None
        case HideType() | DropType():
            return step.before
        case (
            AddType()
            | RestoreType()
            | RenameType()
            | ChangeInterfaces()
            | ChangeCardinality()
            | UpdateTypeMetadata()
        ):
            return step.declared
        case _:
            return step.owner


def entity(type_kind: TypeKind, type_name: str, property_name: str | None = None) -> str:
    """How an unsupported change names what it is about."""
    place = f"{type_kind}:{type_name}"
    return place if property_name is None else f"{place}.{property_name}"


# Parts of the JSON.


def _type(declared: SchemaType) -> dict[str, Any]:
    return {"type_kind": kind_of_type(declared), "name": declared.name}


def _owner(owner: SchemaType) -> dict[str, Any]:
    return {"type_kind": kind_of_type(owner), "type_name": owner.name}


def _property(step: PropertyStep, name: str) -> dict[str, Any]:
    return {"kind": step.kind, **_owner(step.owner), "property_name": name}


def _retyped(step: TightenProperty | RelaxProperty) -> dict[str, Any]:
    return {
        **_property(step, step.declared.name),
        "from": type_json(step.before.type),
        "to": type_json(step.declared.type),
    }


def _rows(rows: int | None) -> dict[str, Any]:
    return {} if rows is None else {"rows": rows}


def _cardinality(cardinality: Cardinality) -> dict[str, Any]:
    return {"min": cardinality.minimum, "max": cardinality.maximum}


def _has_instances(owner: SchemaType) -> bool:
    """An interface has none: what it demands, the nodes that implement it are asked."""
    return not isinstance(owner, Interface)


# Parts of texts.


def constraint_text(constraint: Constraint) -> str:
    """A constraint as a schema says it in a body."""
    match constraint:
        case Key(columns):
            return f"@key({', '.join(columns)})"
        case Unique(columns):
            return f"@unique({', '.join(columns)})"
        case Index(columns):
            return f"@index({', '.join(columns)})"
        case Range(name, minimum, maximum):
            low, high = ("" if each is None else str(each) for each in (minimum, maximum))
            return f"@range({name}, {low}..{high})"
        case Check(name, pattern):
            return f"@check({name}, {quoted(pattern)})"


def quoted(value: str) -> str:
    r"""Text in quotes, cut if it is long, on one line and harmless to a terminal.

    >>> print(quoted("one\ntwo"))
    "one\ntwo"
    """
    text = json.dumps(shorten(value), ensure_ascii=False)
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)
