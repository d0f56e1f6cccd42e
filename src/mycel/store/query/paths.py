"""Paths: parts of the graph by the names of their concepts.

A path is a URI: it covers the concept with this name and all below it, whose names go on with `/`
or `#`. Concepts that are not called by a URI have the paths of the views: `kip:Person` covers all
of a type, `kip:Person/Ada` one of them. The id of an element covers the element alone. A link is
where its subject is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from mycel.errors import InvalidValueType
from mycel.model import ids
from mycel.model.elements import Concept, Element
from mycel.model.names import kind_of
from mycel.store.query.reader import Reader

_KIP: Final = "kip:"
_BELOW: Final = ("/", "#")


class Path(NamedTuple):
    """One path, as it is compared."""

    type: str | None
    """The type that a `kip:` path names."""
    name: str
    """The name of the concept; empty for all of a type."""
    number: int | None = None
    """The element, if its id was given."""

    def covers(self, concept: Concept) -> bool:
        if self.type is not None and concept.type != self.type:
            return False
        name = self.name
        below = tuple(name + sign for sign in _BELOW)
        return not name or concept.name == name or concept.name.startswith(below)


def path_of(text: object) -> Path:
    """Read a path.

    Raises:
        InvalidValueType: it is no text, or empty.
    """
    if isinstance(text, (Concept,)):
        text = text.id
    if not isinstance(text, str) or not text.strip("/*"):
        said = "an empty text" if isinstance(text, str) else kind_of(text)
        raise InvalidValueType(
            f"A path is a URI, or the id of an element, not {said}.",
            hint="Such as concept://shop/auth, kip:Person/Ada or C:42.",
        )
    if text.startswith(("C:", "P:")):
        return Path(None, "", ids.parse_id(text))
    text = text.removesuffix("*").rstrip("/")
    if text.startswith(_KIP):
        type_name, _, name = text.removeprefix(_KIP).partition("/")
        return Path(type_name, name)
    return Path(None, text)


class Selection:
    """The elements that some paths cover; without paths, all."""

    def __init__(self, paths: Sequence[object]) -> None:
        self.paths: Final = tuple(path_of(each) for each in paths)
        self._numbers: Final = {path.number for path in self.paths}

    def covers(self, element: Element, known: Mapping[int, Element]) -> bool:
        """True if a path covers the element; `known` has the concepts that links begin at."""
        if not self.paths or element.number in self._numbers:
            return True
        owner: Element | None = element
        while owner is not None and not isinstance(owner, Concept):
            owner = known.get(ids.parse_id(owner.subject))
        return owner is not None and any(
            path.covers(owner) for path in self.paths if path.number is None
        )


def names_under(reader: Reader, path: Path) -> tuple[str, tuple[Any, ...]]:
    """A condition on the rows of concepts under a path, and its bindings."""
    if path.number is not None:
        return "id = ?", (path.number,)
    conditions: list[str] = []
    bindings: list[Any] = []
    if path.type is not None:
        conditions.append("type = ?")
        bindings.append(reader.type_number(path.type))
    if path.name:
        ranges = " OR ".join("name >= ? AND name < ?" for _ in _BELOW)
        conditions.append(f"(name = ? OR {ranges})")
        bindings.append(path.name)
        for sign in _BELOW:
            bindings += (path.name + sign, path.name + chr(ord(sign) + 1))
    return " AND ".join(conditions), tuple(bindings)
