"""Bounded breadth-first search (edges and graph: Find with From and Follow).

Neighbours are visited in the order of predicate number and id, so a result is the same on every run
over the same state. Filters decide what is returned, never what is walked through.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import orjson

from mycel.errors import ConstraintViolation, InvalidValueType, NotFound
from mycel.model.elements import Concept, Element
from mycel.model.limits import FIND_LIMIT_MAX, HOPS_MAX
from mycel.model.names import kind_of
from mycel.store.reader import Neighbour, Reader

Direction = Literal["out", "in", "both"]
Form = Literal["short", "medium", "full"]

TOKEN_BYTES: Final = 4
FORM_TOKENS: Final[dict[Form, int | None]] = {"short": 50, "medium": 200, "full": None}
"""How many tokens of four bytes a memory may take in each form."""


@dataclass(frozen=True, slots=True)
class Follow:
    """Which edges a search follows, how far and which way."""

    types: Sequence[str] | None = None
    """Predicates to follow, or one; all if None."""
    max_hops: int = 1
    min_hops: int = 1
    direction: Direction = "out"
    include_tombstoned: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be walked; beyond the cap is an error, not a silent clamp."""
        if isinstance(self.types, str):
            object.__setattr__(self, "types", (self.types,))
        check_whole("max_hops", self.max_hops)
        check_whole("min_hops", self.min_hops)
        if not 1 <= self.max_hops <= HOPS_MAX:
            raise ConstraintViolation(
                f"max_hops is {self.max_hops}; it must be between 1 and {HOPS_MAX}.",
                hint="Search in several steps to reach farther.",
            )
        if not 1 <= self.min_hops <= self.max_hops:
            raise ConstraintViolation(
                f"min_hops is {self.min_hops}; it must be between 1 and max_hops."
            )
        if self.direction not in ("out", "in", "both"):
            raise ConstraintViolation(
                f"The direction {self.direction!r} is not one of 'out', 'in' and 'both'."
            )


@dataclass(frozen=True, slots=True)
class Memory:
    """One element that a search found, in the form that was asked for."""

    id: str
    type: str
    name: str
    text: str
    truncated: bool

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "type": self.type,
            "name": self.name,
            "text": self.text,
            "truncated": self.truncated,
        }


@dataclass(frozen=True, slots=True)
class FindResult:
    """What a search found, nearest first; `hop_distances[i]` belongs to `memories[i]`."""

    memories: tuple[Memory, ...]
    hop_distances: tuple[int, ...]
    more: bool
    """Whether the limit cut the result short."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "memories": [memory.to_dict() for memory in self.memories],
            "hop_distances": list(self.hop_distances),
            "more": self.more,
        }


def find(
    reader: Reader,
    start: int,
    follow: Follow,
    *,
    types: Sequence[str] | None,
    limit: int,
    form: Form,
) -> FindResult:
    """Search from an element.

    Raises:
        NotFound: the start is not there.
        TypeMismatch: a predicate to follow, or a type to return, is not defined.
    """
    if not isinstance(follow, Follow):
        raise InvalidValueType(
            f"What to follow is told by a Follow, not by {kind_of(follow)}.",
            hint="Write mycel.Follow(types=[...], max_hops=2).",
        )
    check_whole("limit", limit)
    if not 1 <= limit <= FIND_LIMIT_MAX:
        raise ConstraintViolation(f"limit is {limit}; it must be between 1 and {FIND_LIMIT_MAX}.")
    if form not in [*FORM_TOKENS]:
        raise ConstraintViolation(f"The form {form!r} is not one of 'short', 'medium', 'full'.")
    connection, registry = reader.connection, reader.registry
    predicates = (
        None
        if follow.types is None
        else sorted({registry.predicate_number(connection, name) for name in follow.types})
    )
    if isinstance(types, str):
        types = (types,)
    if types is not None:
        for name in types:
            registry.type_number(connection, name)
    if _load(reader, start, follow) is None:
        raise NotFound(f"There is no live element {reader.outer_id(start)!r} to start from.")
    wanted = None if types is None else frozenset(types)
    memories: list[Memory] = []
    distances: list[int] = []
    for number, hops in _walk(reader, start, follow, predicates):
        element = _load(reader, number, follow)
        if element is None or not _is_wanted(element, wanted):
            continue
        if len(memories) == limit:
            return FindResult(tuple(memories), tuple(distances), more=True)
        memories.append(remember(element, form))
        distances.append(hops)
    return FindResult(tuple(memories), tuple(distances), more=False)


def check_whole(name: str, number: object) -> None:
    """Refuse what is no whole number.

    Raises:
        InvalidValueType: it is something else.
    """
    if not isinstance(number, int) or isinstance(number, bool):
        raise InvalidValueType(f"{name} must be a whole number, not {kind_of(number)}.")


def _walk(
    reader: Reader, start: int, follow: Follow, predicates: Sequence[int] | None
) -> Iterator[tuple[int, int]]:
    seen = {start}
    frontier = [start]
    for hops in range(1, follow.max_hops + 1):
        reached = []
        for near in frontier:
            for _, other in _neighbours(reader, near, follow, predicates):
                if other not in seen:
                    seen.add(other)
                    reached.append(other)
                    if hops >= follow.min_hops:
                        yield other, hops
        frontier = reached


def _neighbours(
    reader: Reader, near: int, follow: Follow, predicates: Sequence[int] | None
) -> list[Neighbour]:
    dead = follow.include_tombstoned
    if follow.direction != "both":
        return reader.neighbours(near, follow.direction, predicates, tombstoned=dead)
    outward = reader.neighbours(near, "out", predicates, tombstoned=dead)
    inward = reader.neighbours(near, "in", predicates, tombstoned=dead)
    return sorted(outward + inward)


def _load(reader: Reader, number: int, follow: Follow) -> Element | None:
    return reader.element(number, tombstoned=follow.include_tombstoned)


def _is_wanted(element: Element, wanted: frozenset[str] | None) -> bool:
    return wanted is None or (isinstance(element, Concept) and element.type in wanted)


def remember(element: Element, form: Form) -> Memory:
    """An element as a memory: as much of its text as the form allows."""
    if isinstance(element, Concept):
        type_, name = element.type, element.name
    else:
        type_, name = element.predicate, f"{element.subject} {element.predicate} {element.object}"
    text, truncated = _cut(_render(element, name, form), FORM_TOKENS[form])
    return Memory(element.id, type_, _cut(name, FORM_TOKENS[form])[0], text, truncated)


def _render(element: Element, name: str, form: Form) -> str:
    attributes = element.attributes
    lines = [name]
    if isinstance(description := attributes.pop("description", None), str):
        lines.append(description)
    lines += [f"{key}: {_plain(value)}" for key, value in attributes.items()]
    if form == "full":
        lines += [f"metadata.{key}: {_plain(value)}" for key, value in element.metadata.items()]
    return "\n".join(lines)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _cut(text: str, tokens: int | None) -> tuple[str, bool]:
    """Text within a budget; a character is never cut in two."""
    encoded = text.encode()
    if tokens is None or len(encoded) <= tokens * TOKEN_BYTES:
        return text, False
    mark = "…"
    room = tokens * TOKEN_BYTES - len(mark.encode())
    return encoded[:room].decode(errors="ignore") + mark, True
