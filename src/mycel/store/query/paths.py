"""Paths: parts of the graph by the names of their concepts.

A path is a URI. It covers the concept with this name and the concepts below it, whose names go on
with `/` or `#`. Concepts whose names are no URIs have the paths of the views: `kip:Person` covers
all of a type, and `kip:Person/Ada` or `("Person", "Ada")` one of them. An element, or its id, given
as a path covers the element alone. The path of a link is that of its subject.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from mycel.errors import InvalidValueType
from mycel.model import ids
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.names import kind_of

_KIP: Final = "kip:"
_BELOW: Final = ("/", "#")

AnyPath = str | Concept | Proposition | tuple[str, str]
"""The forms in which callers write a path."""


class GraphPath(NamedTuple):
    """A path in the form in which it is compared."""

    type: str | None
    """The type in a `kip:` path."""
    name: str
    """The name of the concept; empty if the path covers a whole type."""
    number: int | None = None
    """The number of the element, if the caller gave its id."""

    def covers(self, concept: Concept) -> bool:
        if self.type is not None and concept.type != self.type:
            return False
        name = self.name
        below = tuple(name + sign for sign in _BELOW)
        return not name or concept.name == name or concept.name.startswith(below)


def path_of(text: object) -> GraphPath:
    """The path that a caller wrote, parsed.

    Raises:
        InvalidValueType: the path is no text, or empty.
    """
    match text:
        case Concept() | Proposition():
            text = text.id
        case (str() as type_name, str() as name):
            return GraphPath(type_name, name)
    if not isinstance(text, str) or not text.strip("/*"):
        message = "an empty text" if isinstance(text, str) else kind_of(text)
        raise InvalidValueType(
            f"A path is a URI, (type, name), an element or its id, not {message}.",
            hint='Such as concept://shop/auth, kip:Person/Ada, ("Person", "Ada") or C:42.',
        )
    if text.startswith(("C:", "P:")):
        return GraphPath(None, "", ids.parse_id(text))
    text = text.removesuffix("*").rstrip("/")
    if text.startswith(_KIP):
        type_name, _, name = text.removeprefix(_KIP).partition("/")
        return GraphPath(type_name, name)
    return GraphPath(None, text)


class PathSelection:
    """The elements that some paths cover; all elements if there are no paths."""

    def __init__(self, paths: Sequence[object]) -> None:
        self.paths: Final = tuple(path_of(path) for path in paths)
        self._numbers: Final = {path.number for path in self.paths}

    def covers(self, element: Element, known: Mapping[int, Element]) -> bool:
        """True if a path covers the element; `known` has the subjects of links."""
        if not self.paths or element.number in self._numbers:
            return True
        owner: Element | None = element
        while owner is not None and not isinstance(owner, Concept):
            owner = known.get(owner.ends[0])
        return owner is not None and any(
            path.covers(owner) for path in self.paths if path.number is None
        )


def condition(path: GraphPath, row: str) -> tuple[str, dict[str, Any]]:
    """An SQL condition that a path covers the concept of a row, with its bindings `:path_…`."""
    if path.number is not None:
        return f"{row}.id = :path_number", {"path_number": path.number}
    parts: list[str] = []
    bindings: dict[str, Any] = {}
    if path.type is not None:
        parts.append(f"{row}.type = (SELECT t.id FROM type t WHERE t.name = :path_type)")
        bindings["path_type"] = path.type
    if path.name:
        parts.append(below(row, "path_name"))
        bindings["path_name"] = path.name
    return " AND ".join(parts) or "TRUE", bindings


def below(row: str, parameter: str) -> str:
    """An SQL condition that the name of a row is the bound name, or below it."""
    ranges = (
        f"({row}.name >= :{parameter} || '{sign}' AND {row}.name < :{parameter} ||"
        f" '{chr(ord(sign) + 1)}')"
        for sign in _BELOW
    )
    return f"({' OR '.join((f'{row}.name = :{parameter}', *ranges))})"
