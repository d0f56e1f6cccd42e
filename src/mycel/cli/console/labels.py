"""Names of elements for people, beside their ids."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from mycel.cli.console.parameters import is_uri
from mycel.errors import NotFound
from mycel.model.elements import Concept, Element

if TYPE_CHECKING:
    from mycel.api.graph_view import GraphView
    from mycel.graph.walk import Memory

    AnyElement = TypeVar("AnyElement", bound=Element)

NAMES_MAX = 1000
"""The number of elements of one answer that are looked up; the rest keep their ids."""


def labels(view: GraphView) -> Callable[[str], str]:
    """A function that adds the type and name of a concept to its id."""
    cache: dict[str, str] = {}

    def label(id_: str) -> str:
        if id_ not in cache:
            if len(cache) >= NAMES_MAX:
                return id_
            cache[id_] = _label(view, id_)
        return cache[id_]

    return label


def _label(view: GraphView, id_: str) -> str:
    try:
        element = view.get(id_)
    except NotFound:
        return id_  # A removed element keeps only its id.
    return f"{id_} {element.type}:{element.name}" if isinstance(element, Concept) else id_


def readable(element: AnyElement) -> AnyElement:
    """An element without the stamp of a bootstrap; `--json` shows it."""
    from mycel.knowledge.vocabulary import STAMP

    if not isinstance(element, Concept) or not is_uri(element.name):
        return element
    attributes = element.attributes
    attributes.pop(STAMP, None)
    return element._replace(attributes_json=json.dumps(attributes, ensure_ascii=False))


def readable_text(memory: Memory) -> str:
    """The text of a hit without the stamp of a bootstrap."""
    from mycel.knowledge.vocabulary import STAMP

    if not is_uri(memory.name):
        return memory.text
    lines = memory.text.split("\n")
    return "\n".join(line for line in lines if not line.startswith(f"{STAMP}: "))
