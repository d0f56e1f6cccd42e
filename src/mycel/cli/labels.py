"""What people call an element: its id alone says nothing to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mycel.errors import NotFound

if TYPE_CHECKING:
    from mycel.graph.view import GraphView

NAMES_MAX = 1000
"""How many elements of one answer are looked up; those after them keep their ids."""


def labels(view: GraphView) -> Callable[[str], str]:
    """A function from an id to that id with the type and name of the concept that it is."""
    known: dict[str, str] = {}

    def label(id_: str) -> str:
        if id_ not in known:
            if len(known) >= NAMES_MAX:
                return id_
            known[id_] = _label(view, id_)
        return known[id_]

    return label


def _label(view: GraphView, id_: str) -> str:
    # Late: see the package's docstring.
    from mycel.model.elements import Concept

    try:
        element = view.get(id_)
    except NotFound:
        return id_  # It was removed; its id still says which it was.
    return f"{id_} {element.type}:{element.name}" if isinstance(element, Concept) else id_
