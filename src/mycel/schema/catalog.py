"""The catalog: every type that a schema declares, checked and ready to be asked.

`load` makes one from a text, `migration` one from the definitions in a graph. It is a value: what
it says is worked out once and never changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from mycel.errors import TypeMismatch, did_you_mean
from mycel.model.names import shorten
from mycel.schema import ir
from mycel.schema.model import (
    EdgeType,
    Interface,
    NodeType,
    Property,
    SchemaType,
    TypeKind,
)


@dataclass(frozen=True, slots=True)
class Dropped:
    """What is hidden and can come back: a property, or a whole type as `declared`."""

    kind: TypeKind
    type_name: str
    property: Property | None = None
    declared: SchemaType | None = None
    seq: int = 0
    """The position of the journal before it was hidden."""
    attribute: str = ""
    """The name of a property then, under which its values are in history."""


# No slots: what is worked out is kept in the instance.
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
    """What a graph remembers of earlier schemas; a text says nothing about it."""

    # Look-ups.

    def node(self, name: str) -> NodeType | None:
        """The node of this name."""
        return self.nodes.get(name)

    def edge(self, name: str) -> EdgeType | None:
        """The edge of this name, whatever the case of its letters."""
        return self.edges.get(name) or self._folded_edges.get(name.casefold())

    def interface(self, name: str) -> Interface | None:
        """The interface of this name."""
        return self.interfaces.get(name)

    def type(self, name: str) -> SchemaType | None:
        """The node, edge or interface of this name; no two share one."""
        return self.nodes.get(name) or self.interfaces.get(name) or self.edge(name)

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
        """The intermediate representation: JSON, sorted, the same for schemas that say the same.

        It is made once; treat it as read-only.
        """
        return self._ir

    @cached_property
    def ir_hash(self) -> str:
        """`sha256:` and the hash of the IR."""
        return ir.hash_of(self._ir)

    def same_shape(self, other: Catalog) -> bool:
        """Whether both say the same, whatever numbers their types and properties have."""
        return self is other or bool(self._shape == other._shape)

    def arrow(self, type_name: str) -> Any:
        """The `pyarrow.Schema` of a node's or an edge's rows.

        Raises:
            TypeMismatch: there is no such node or edge.
            NotFound: pyarrow is not installed; it comes with the extra `mycel[arrow]`.
        """
        from mycel.schema.arrow import arrow_schema  # noqa: PLC0415 - few ask for it

        declared = self.type(type_name)
        if declared is None:
            raise TypeMismatch(
                f"The schema has no node or edge {shorten(type_name)!r}.",
                hint=did_you_mean(type_name, [*self.nodes, *self.edges]),
            )
        if isinstance(declared, Interface):
            raise TypeMismatch(
                f"{declared.name} is an interface and has no rows.",
                hint="Ask for a node that implements it.",
            )
        return arrow_schema(declared)

    def format(self) -> str:
        """The schema as text, in the one canonical way; loading it gives the same IR."""
        from mycel.schema.formatter import format_catalog  # noqa: PLC0415 - few ask for it

        return format_catalog(self)

    @cached_property
    def _ir(self) -> dict[str, Any]:
        return ir.schema_json(self.interfaces.values(), self.nodes.values(), self.edges.values())

    @cached_property
    def _shape(self) -> Any:
        return ir.without_ids(self._ir)
