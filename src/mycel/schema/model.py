"""The parts of a schema: types of values, properties, constraints, nodes, edges, interfaces.

They are plain values in the order of their declaration. Interfaces are expanded: a node has its own
properties first, then those of its interfaces. `builder` checks the rules of the language.
"""

from __future__ import annotations

import json
from typing import ClassVar, Final, Literal, TypeAlias, cast

from mycel.model.names import shorten
from mycel.schema.merge_policies import MergePolicy
from mycel.schema.scalars import Scalar
from mycel.syntax.nodes import node

TypeKind = Literal["interface", "node", "edge"]

ENDS: Final = ("src", "dst")
"""Columns of an edge that constraints may name besides its properties."""

DESCRIPTION: Final = "description"
INSTRUCTION: Final = "instruction"
DEFAULT: Final = "default"
EMBED: Final = "embed"
MERGE: Final = "merge"
RENAME_FROM: Final = "rename_from"
KIP_NAME: Final = "kip"
"""`@kip("treats")`: the type or predicate in KIP, if it differs from the name."""
OPEN: Final = "open"
"""`@open`: instances may have attributes that the schema does not declare."""
RETENTION: Final = "retention"
"""`@retention("archive 90d after updated")`: for how long instances are kept."""
FUNCTIONAL: Final = "functional"
"""`@functional`: a new link of an edge type ends the validity of the former link."""


@node
class PropertyType:
    """A type of values. An enum is a String with `enum_values`, sorted."""

    scalar: Scalar
    is_nullable: bool = False
    is_list: bool = False
    enum_values: tuple[str, ...] | None = None
    dimension: int | None = None
    """The number of dimensions; for a Vector only."""

    def __str__(self) -> str:
        if self.enum_values is not None:
            core = f"enum({', '.join(self.enum_values)})"
        elif self.scalar == "Vector":
            core = f"Vector({self.dimension})"
        else:
            core = f"[{self.scalar}]" if self.is_list else self.scalar
        return f"{core}?" if self.is_nullable else core


@node
class Annotation:
    """`@name` or `@name(value)`; the value is stored as text, for every kind of literal."""

    name: str
    value: str | None = None
    model: str | None = None
    """The model that `@embed(source, model="…")` names."""


@node
class Property:
    """A property of a node, an edge or an interface."""

    name: str
    type: PropertyType
    prop_id: int
    annotations: tuple[Annotation, ...] = ()
    """The annotations, without `key`, `unique` and `index`, which are constraints, and without
    `rename_from`."""
    renamed_from: str | None = None
    inherited_from: str | None = None
    """The interface from which a node has the property; None if the node declares it itself."""

    @property
    def is_required(self) -> bool:
        """True if every record must have a value; a missing vector of `@embed` is derived."""
        return not self.type.is_nullable and self.embed_source is None

    @property
    def description(self) -> str:
        return annotation(self.annotations, DESCRIPTION) or ""

    @property
    def default(self) -> str | None:
        """The literal of `@default`, as text; `parse_default` turns it into a value."""
        return annotation(self.annotations, DEFAULT)

    @property
    def embed_source(self) -> str | None:
        """The property whose text is embedded into this vector."""
        return annotation(self.annotations, EMBED)

    @property
    def embed_model(self) -> str | None:
        """The model that makes this vector, if `@embed` names one."""
        return next(
            (annotation.model for annotation in self.annotations if annotation.name == EMBED), None
        )

    @property
    def merge(self) -> MergePolicy | None:
        """The policy of `@merge`."""
        return cast("MergePolicy | None", annotation(self.annotations, MERGE))


@node
class ColumnConstraint:
    """A constraint on one or more properties."""

    columns: tuple[str, ...]

    @property
    def word(self) -> str:
        """The word for the constraint in a schema."""
        return type(self).__name__.lower()

    def __str__(self) -> str:
        return f"@{self.word}({', '.join(self.columns)})"


@node
class Key(ColumnConstraint):
    pass


@node
class Unique(ColumnConstraint):
    pass


@node
class Index(ColumnConstraint):
    pass


@node
class Range:
    property: str
    minimum: int | float | None
    maximum: int | float | None

    def __str__(self) -> str:
        low, high = ("" if limit is None else limit for limit in (self.minimum, self.maximum))
        return f"@range({self.property}, {low}..{high})"


@node
class Check:
    property: str
    pattern: str

    def __str__(self) -> str:
        return f"@check({self.property}, {quoted(self.pattern)})"


Constraint: TypeAlias = Key | Unique | Index | Range | Check


def columns_of(constraint: Constraint) -> tuple[str, ...]:
    """The properties that a constraint names."""
    if isinstance(constraint, ColumnConstraint):
        return constraint.columns
    return (constraint.property,)


@node
class Cardinality:
    """The number of edges that may leave one source."""

    minimum: int = 0
    maximum: int | None = None

    def __str__(self) -> str:
        return f"{self.minimum}..{'*' if self.maximum is None else self.maximum}"


class _Type:
    """Shared properties of the three kinds of types."""

    __slots__ = ()
    kind: ClassVar[TypeKind]
    """The keyword that declares it."""
    name: str
    type_id: int
    annotations: tuple[Annotation, ...]

    @property
    def identity(self) -> str:
        """A text that identifies the type and stays the same when it is renamed."""
        return f"{self.kind}:{self.type_id}"

    @property
    def kip_name(self) -> str:
        """The type or predicate in KIP, and the name of its definition."""
        return annotation(self.annotations, KIP_NAME) or self.name

    @property
    def is_open(self) -> bool:
        return any(annotation.name == OPEN for annotation in self.annotations)

    @property
    def is_functional(self) -> bool:
        return any(annotation.name == FUNCTIONAL for annotation in self.annotations)

    @property
    def retention(self) -> str | None:
        """The rule of `@retention`, in words."""
        return annotation(self.annotations, RETENTION)

    @property
    def description(self) -> str:
        return annotation(self.annotations, DESCRIPTION) or ""


@node
class Interface(_Type):
    """A contract of properties. It has no instances."""

    kind: ClassVar[TypeKind] = "interface"
    name: str
    type_id: int
    annotations: tuple[Annotation, ...] = ()
    properties: tuple[Property, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    """The constraints from `@key`, `@unique` and `@index` on its properties; nodes inherit them."""
    renamed_from: str | None = None


@node
class NodeType(_Type):
    """A type of concepts."""

    kind: ClassVar[TypeKind] = "node"
    name: str
    type_id: int
    annotations: tuple[Annotation, ...] = ()
    implements: tuple[str, ...] = ()
    properties: tuple[Property, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    """Its own constraints and those of its interfaces, without repetition, in order of
    declaration."""
    renamed_from: str | None = None

    @property
    def key(self) -> tuple[str, ...]:
        """The properties that name an instance, in order; empty without `@key`."""
        return next(
            (constraint.columns for constraint in self.constraints if isinstance(constraint, Key)),
            (),
        )


@node
class EdgeType(_Type):
    """A type of propositions: a predicate."""

    kind: ClassVar[TypeKind] = "edge"
    name: str
    type_id: int
    from_type: str
    to_type: str
    cardinality: Cardinality = Cardinality()
    annotations: tuple[Annotation, ...] = ()
    properties: tuple[Property, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    renamed_from: str | None = None


InstanceType: TypeAlias = NodeType | EdgeType
"""A type that has instances."""
SchemaType: TypeAlias = Interface | NodeType | EdgeType


def annotation(annotations: tuple[Annotation, ...], name: str) -> str | None:
    """The value of the first annotation with this name; None if there is none."""
    return next((annotation.value for annotation in annotations if annotation.name == name), None)


def limits_of(instance_type: InstanceType) -> dict[str, list[Range | Check]]:
    """The ranges and patterns of each property that has any, in order."""
    by_property: dict[str, list[Range | Check]] = {}
    for constraint in instance_type.constraints:
        if isinstance(constraint, Range | Check):
            by_property.setdefault(constraint.property, []).append(constraint)
    return by_property


def index_slots(instance_type: InstanceType) -> dict[tuple[str, ...], bool]:
    """The columns of each index that the constraints need, with True if it is unique.

    A key and an index have one slot per column; a unique constraint has one slot for its tuple. The
    ends of propositions have indexes of their own, and vectors are not compared.
    """
    slots: dict[tuple[str, ...], bool] = {}
    left_out = {
        *ENDS,
        *(
            property_.name
            for property_ in instance_type.properties
            if property_.type.scalar == "Vector"
        ),
    }
    keys = [constraint for constraint in instance_type.constraints if isinstance(constraint, Key)]
    indexes = [
        constraint for constraint in instance_type.constraints if isinstance(constraint, Index)
    ]
    for key in (*keys, *indexes):
        for column in key.columns:
            if column not in left_out:
                is_unique = isinstance(key, Key) and len(key.columns) == 1
                slots.setdefault((column,), is_unique)
    uniques = (
        constraint.columns
        for constraint in instance_type.constraints
        if isinstance(constraint, Unique)
    )
    return slots | dict.fromkeys(uniques, True)


def quoted(text: str) -> str:
    r"""Text in quotes for a message: cut if it is long, on one line, safe for a terminal.

    >>> print(quoted("one\ntwo"))
    "one\ntwo"
    """
    literal = json.dumps(shorten(text), ensure_ascii=False)
    return "".join(
        character if character.isprintable() else json.dumps(character)[1:-1]
        for character in literal
    )
