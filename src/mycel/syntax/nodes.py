"""`node`: the classes of a tree: of a command, a query, a schema.

A tree has some fifty kinds of node, and `dataclass(frozen=True, slots=True)` compiles half a dozen
methods for each: that alone would be most of the time it takes to import a language. `node` gives
the same (frozen, slotted, compared and shown by their fields, a dataclass to `fields`, `replace`
and `match`) but compiles only `__init__`; the other methods are shared by all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import Any, NoReturn, TypeVar, dataclass_transform

Class = TypeVar("Class", bound=type)


@dataclass_transform(frozen_default=True, eq_default=True, field_specifiers=(field,))
def node(cls: Class) -> Class:
    """Make the class one of nodes. Fields with `compare=False` do not count in comparisons.

    >>> @node
    ... class Sum:
    ...     left: int
    ...     right: int = 0
    >>> Sum(1) == Sum(1, 0)
    True
    """
    made: Any = dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    made.__init__ = _initialiser(made)
    made._said = attrgetter("__class__", *(each.name for each in fields(made) if each.compare))
    for name, method in _SHARED.items():
        setattr(made, name, method)
    return made  # type: ignore[no-any-return]


def _initialiser(made: Any) -> Callable[..., None]:
    """An `__init__` that sets the slots themselves, past the `__setattr__` that refuses to."""
    scope: dict[str, Any] = {}
    parameters, body = [], []
    for each in fields(made):
        scope[f"set_{each.name}"] = getattr(made, each.name).__set__
        body.append(f"    set_{each.name}(self, {each.name})")
        if each.default is MISSING:
            parameters.append(each.name)
        else:
            scope[f"default_{each.name}"] = each.default
            parameters.append(f"{each.name}=default_{each.name}")
    lines = [f"def __init__(self, {', '.join(parameters)}):", *(body or ["    pass"])]
    exec("\n".join(lines), scope)
    made_init: Callable[..., None] = scope["__init__"]
    made_init.__qualname__ = f"{made.__qualname__}.__init__"
    return made_init


def _equal(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return self._said(self) == self._said(other)


def _hash(self: Any) -> int:
    return hash(self._said(self))


def _shown(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_to_set(_self: Any, name: str, _value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_self: Any, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _reduced(self: Any) -> tuple[Any, ...]:
    """How to copy and pickle: without setting anything afterwards."""
    return self.__class__, tuple(getattr(self, each.name) for each in fields(self))


_SHARED: dict[str, Callable[..., Any]] = {
    "__eq__": _equal,
    "__hash__": _hash,
    "__repr__": _shown,
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
    "__reduce__": _reduced,
}
