"""Definitions as intervals of a source.

One sweep over the sorted intervals finds which interval contains which; the syntax tree is never
walked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tree_sitter import Node

Captures = Mapping[str, list["Node"]]

CLASS_KINDS: Final = frozenset({"class", "interface", "struct", "enum", "trait", "record", "impl"})
_RANGE: Final = attrgetter("byte_range")


@dataclass(slots=True, eq=False)
class Scope:
    """A definition on its way to become a symbol."""

    start: int
    end: int
    kind: str
    node: Any
    name: str = ""
    qualified: str = ""
    exported: bool = True
    parent: Scope | None = None
    outer_function: Scope | None = None
    receiver: str = ""

    @property
    def is_class(self) -> bool:
        return self.kind in CLASS_KINDS


def with_scopes(nodes: Iterable[Node], scopes: list[Scope]) -> Iterator[tuple[Node, Scope | None]]:
    """Pairs of a node and the innermost definition around it, in the order of the text."""
    stack: list[Scope] = []
    next_scope = 0
    for node in nodes:
        start = node.start_byte
        while next_scope < len(scopes) and scopes[next_scope].start <= start:
            scope = scopes[next_scope]
            next_scope += 1
            while stack and stack[-1].end <= scope.start:
                stack.pop()
            stack.append(scope)
        while stack and stack[-1].end <= start:
            stack.pop()
        yield node, stack[-1] if stack else None


def in_order(captures: Captures, *names: str) -> list[Node]:
    """Captured nodes in the order of the text. A query returns them in no order."""
    nodes = [node for name in names for node in captures.get(name, ())]
    nodes.sort(key=_RANGE)
    return nodes
