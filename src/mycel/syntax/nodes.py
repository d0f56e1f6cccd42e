"""`node`, the decorator of all classes of tree nodes: of commands, queries and schemas.

A tree has some fifty kinds of node. `dataclass(frozen=True, slots=True)` compiles half a dozen
methods for each, which takes a fifth of the time to import Mycel and answer a first FIND. `node`
lets `dataclass` compile `__init__` alone and shares the methods that compare and show nodes. Type
checkers refuse assignments to a field; at run time they succeed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, Generic, TypeVar, dataclass_transform

from mycel.syntax.source import NOWHERE, Span

Class = TypeVar("Class", bound=type)
T = TypeVar("T")


@dataclass_transform(frozen_default=True, eq_default=True, field_specifiers=(field,))
def node(cls: Class) -> Class:
    """Make a class of nodes. Fields with `compare=False` do not count in comparisons.

    >>> @node
    ... class Sum:
    ...     left: int
    ...     right: int = 0
    >>> Sum(1) == Sum(1, 0)
    True
    """
    node_class: Any = dataclass(repr=False, eq=False, slots=True)(cls)
    node_class._compared = attrgetter(
        "__class__", *(field.name for field in fields(node_class) if field.compare)
    )
    for name, method in _SHARED.items():
        setattr(node_class, name, method)
    return node_class  # type: ignore[no-any-return]


def _equal(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return self._compared(self) == self._compared(other)


def _hash(self: Any) -> int:
    return hash(self._compared(self))


def _node_repr(self: Any) -> str:
    generator = (
        f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr
    )
    return f"{type(self).__qualname__}({', '.join(generator)})"


_SHARED: dict[str, Callable[..., Any]] = {
    "__eq__": _equal,
    "__hash__": _hash,
    "__repr__": _node_repr,
}


@node
class SyntaxNode:
    """A node of the tree of a text. Its place in the text does not count in comparisons."""

    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


class LazyNodes(ABC, Generic[T]):
    """Nodes that are parsed from the text at each iteration, in place of a tuple."""

    @abstractmethod
    def __iter__(self) -> Iterator[T]: ...
