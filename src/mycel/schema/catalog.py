"""The catalog: every type that a schema declares.

`load` makes a catalog from a text, `migration` from the definitions in a graph. A catalog never
changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from mycel.errors import TypeMismatch, did_you_mean
from mycel.model.names import shorten
from mycel.schema import catalog_json
from mycel.schema.formatter import format_types
from mycel.schema.model import EdgeType, Interface, NodeType, Property, SchemaType, TypeKind


@dataclass(frozen=True, slots=True)
class Dropped:
    """A hidden property, or a hidden type as `declared`, that can be restored."""

    kind: TypeKind
    type_name: str
    property: Property | None = None
    declared: SchemaType | None = None
    seq: int = 0
    """The journal position just before the part was hidden."""
    attribute: str = ""
    """The name of the property at that time, under which its values are in history."""

    def place(self) -> tuple[TypeKind, str, str | None]:
        """Kind and name of the type, and the name of the property (empty for a type)."""
        return self.kind, self.type_name, None if self.property is None else self.property.name


# There are no slots, because cached properties need the dictionary of the instance.
@dataclass(frozen=True)
class Catalog:
    """The types of a schema by name, in the order of their declaration.

    >>> from mycel import schema
    >>> catalog = schema.load("node Person { name: String @key }")
    >>> catalog.nodes["Person"].key
    ('name',)
    """

    interfaces: Mapping[str, Interface] = field(default_factory=dict)
    nodes: Mapping[str, NodeType] = field(default_factory=dict)
    edges: Mapping[str, EdgeType] = field(default_factory=dict)
    dropped: tuple[Dropped, ...] = field(default=(), compare=False)
    """Hidden types and properties of earlier schemas, from a graph."""

    @staticmethod
    def of(types: Iterable[SchemaType], dropped: Iterable[Dropped] = ()) -> Catalog:
        """The catalog of checked declarations; of several with the same name, the last counts."""
        by_kind: dict[TypeKind, dict[str, Any]] = {"interface": {}, "node": {}, "edge": {}}
        for type_name in types:
            by_kind[type_name.kind][type_name.name] = type_name
        return Catalog(by_kind["interface"], by_kind["node"], by_kind["edge"], tuple(dropped))

    def node(self, name: str) -> NodeType | None:
        return self.nodes.get(name)

    def edge(self, name: str) -> EdgeType | None:
        """The edge of this name, whatever the case of its letters."""
        return self.edges.get(name) or self._folded_edges.get(name.casefold())

    def interface(self, name: str) -> Interface | None:
        return self.interfaces.get(name)

    def type(self, name: str) -> SchemaType | None:
        """The node, edge or interface of this name; names are unique."""
        return self.nodes.get(name) or self.interfaces.get(name) or self.edge(name)

    def types_of(self, kind: TypeKind) -> Mapping[str, SchemaType]:
        """The types of one kind by name."""
        by_kind: dict[TypeKind, Mapping[str, SchemaType]]
        by_kind = {"interface": self.interfaces, "node": self.nodes, "edge": self.edges}
        return by_kind[kind]

    @property
    def types(self) -> Iterator[SchemaType]:
        """Every type: interfaces, then nodes, then edges."""
        yield from self.interfaces.values()
        yield from self.nodes.values()
        yield from self.edges.values()

    @cached_property
    def _folded_edges(self) -> dict[str, EdgeType]:
        return {name.casefold(): edge for name, edge in self.edges.items()}

    # Other forms.

    def ir(self) -> dict[str, Any]:
        """The intermediate representation: sorted JSON, equal for equal schemas; read-only."""
        return self._ir

    @cached_property
    def ir_hash(self) -> str:
        """`sha256:` and the hash of the IR."""
        return catalog_json.hash_of(self._ir)

    def same_shape(self, other: Catalog) -> bool:
        """True if both declare the same; the numbers of types and properties may differ."""
        return self is other or bool(self._shape == other._shape)

    def arrow(self, type_name: str) -> Any:
        """The `pyarrow.Schema` of a node's or an edge's rows.

        Raises:
            TypeMismatch: there is no such node or edge.
            NotFound: pyarrow is not installed; it comes with the extra `mycel[arrow]`.
        """
        from mycel.schema.arrow import arrow_schema  # noqa: PLC0415 - few ask for it

        schema_type = self.type(type_name)
        if schema_type is None:
            raise TypeMismatch(
                f"The schema has no node or edge {shorten(type_name)!r}.",
                hint=did_you_mean(type_name, [*self.nodes, *self.edges]),
            )
        if isinstance(schema_type, Interface):
            raise TypeMismatch(
                f"{schema_type.name} is an interface and has no rows.",
                hint="Ask for a node that implements it.",
            )
        return arrow_schema(schema_type)

    def format(self) -> str:
        """The schema as canonical text; loading it gives the same IR."""
        return format_types(self.types, self.interfaces)

    @cached_property
    def _ir(self) -> dict[str, Any]:
        return catalog_json.schema_json(
            self.interfaces.values(), self.nodes.values(), self.edges.values()
        )

    @cached_property
    def _shape(self) -> Any:
        return catalog_json.without_ids(self._ir)
