"""What a schema is made of: types of values, properties, constraints, nodes, edges, interfaces.

Plain values, as a schema declares them and in the order in which it does. Interfaces are expanded:
a node has its own properties first, then those that its interfaces add. Nothing here checks
anything; `building` makes only what satisfies the rules of the language.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias, TypeVar

from mycel.syntax.nodes import node

Scalar = Literal[
    "String",
    "Blob",
    "Bool",
    "I32",
    "I64",
    "U32",
    "U64",
    "F32",
    "F64",
    "Date",
    "DateTime",
    "Vector",
]
TypeKind = Literal["interface", "node", "edge"]

INTEGERS: Final = frozenset(("I32", "I64", "U32", "U64"))
FLOATS: Final = frozenset(("F32", "F64"))
NUMERIC: Final = INTEGERS | FLOATS
ENDS: Final = ("src", "dst")
"""What constraints of an edge may name besides its properties."""

DESCRIPTION: Final = "description"
INSTRUCTION: Final = "instruction"
DEFAULT: Final = "default"
EMBED: Final = "embed"
RENAME_FROM: Final = "rename_from"
KIP_NAME: Final = "kip"
"""`@kip("treats")`: what a type or predicate is called in KIP, where that is no name here."""
OPEN: Final = "open"
"""`@open`: instances may have attributes that the schema does not declare."""


@node
class PropertyType:
    """What values a property takes. An enum is a String with `enum_values`, sorted."""

    scalar: Scalar
    is_nullable: bool = False
    is_list: bool = False
    enum_values: tuple[str, ...] | None = None
    dimension: int | None = None
    """Of a Vector."""

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
    """`@name` or `@name(value)`; the value as text, whatever kind of literal it was."""

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
    """Without `key`, `unique` and `index`, which are constraints, and without `rename_from`."""
    renamed_from: str | None = None
    inherited_from: str | None = None
    """The interface that added it to a node which does not declare it itself."""

    @property
    def is_required(self) -> bool:
        return not self.type.is_nullable

    @property
    def description(self) -> str:
        return annotation(self.annotations, DESCRIPTION) or ""

    @property
    def default(self) -> str | None:
        """What `@default(literal)` says, as text; `values.parse_default` makes a value of it."""
        return annotation(self.annotations, DEFAULT)

    @property
    def embed_source(self) -> str | None:
        """The property whose text is embedded into this vector."""
        return annotation(self.annotations, EMBED)

    @property
    def embed_model(self) -> str | None:
        """The model that makes this vector, if `@embed` names one."""
        return next((each.model for each in self.annotations if each.name == EMBED), None)


@node
class Key:
    columns: tuple[str, ...]


@node
class Unique:
    columns: tuple[str, ...]


@node
class Index:
    columns: tuple[str, ...]


@node
class Range:
    property: str
    minimum: int | float | None
    maximum: int | float | None


@node
class Check:
    property: str
    pattern: str


Constraint: TypeAlias = Key | Unique | Index | Range | Check


@node
class Cardinality:
    """How many edges may leave one source. Without a maximum, any number."""

    minimum: int = 0
    maximum: int | None = None

    def __str__(self) -> str:
        return f"{self.minimum}..{'*' if self.maximum is None else self.maximum}"


@node
class Interface:
    """A contract of properties. It has no instances."""

    name: str
    type_id: int
    annotations: tuple[Annotation, ...] = ()
    properties: tuple[Property, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    """From `@key`, `@unique` and `@index` on its properties; nodes take them over."""
    renamed_from: str | None = None

    @property
    def kip_name(self) -> str:
        """The name of its definition in KIP."""
        return self.name


class _Instances:
    """What types that have instances share."""

    __slots__ = ()
    name: str
    annotations: tuple[Annotation, ...]

    @property
    def kip_name(self) -> str:
        """What concepts of this type, or links, are called in KIP: their type or predicate."""
        return annotation(self.annotations, KIP_NAME) or self.name

    @property
    def is_open(self) -> bool:
        return has_annotation(self.annotations, OPEN)


@node
class NodeType(_Instances):
    """A type of concepts."""

    name: str
    type_id: int
    annotations: tuple[Annotation, ...] = ()
    implements: tuple[str, ...] = ()
    properties: tuple[Property, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    """Its own and those of its interfaces, each once, in order of declaration."""
    renamed_from: str | None = None

    @property
    def key(self) -> tuple[str, ...]:
        """The properties that name an instance, in order; empty without `@key`."""
        return next((each.columns for each in self.constraints if isinstance(each, Key)), ())


@node
class EdgeType(_Instances):
    """A type of links: a predicate."""

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

Kind = TypeVar("Kind", bound=Constraint)


def kind_of_type(declared: SchemaType) -> TypeKind:
    """The keyword that declares it."""
    match declared:
        case NodeType():
            return "node"
        case EdgeType():
            return "edge"
        case Interface():
            return "interface"


def annotation(annotations: tuple[Annotation, ...], name: str) -> str | None:
    """The value of the first annotation of this name, if it has one."""
    return next((each.value for each in annotations if each.name == name), None)


def has_annotation(annotations: tuple[Annotation, ...], name: str) -> bool:
    """Whether there is one, with or without a value."""
    return any(each.name == name for each in annotations)


def constraints_of(declared: InstanceType, kind: type[Kind]) -> Iterator[Kind]:
    """The constraints of one kind, in order."""
    return (each for each in declared.constraints if isinstance(each, kind))


def limits_of(declared: InstanceType) -> dict[str, list[Range | Check]]:
    """The ranges and patterns of each property that has any, in order."""
    found: dict[str, list[Range | Check]] = {}
    for each in declared.constraints:
        if isinstance(each, Range | Check):
            found.setdefault(each.property, []).append(each)
    return found


def property_named(declared: SchemaType, name: str) -> Property | None:
    """The property of this name."""
    return next((each for each in declared.properties if each.name == name), None)
