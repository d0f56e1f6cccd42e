"""Bounded breadth-first search (edges and graph: Find with From and Follow).

Neighbours are visited in the order of predicate number and id, so a result is the same on every run
over the same state. Filters choose the returned elements; the search goes through all elements.

One statement reads the links of many elements. The first statements read few elements and later
statements more, so that a small limit is reached soon, and a large one with few statements.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Literal, NamedTuple

import orjson

from mycel.errors import ConstraintViolation, InvalidValueType
from mycel.model.directions import DIRECTIONS, Direction, ways_of
from mycel.model.elements import Concept, Element
from mycel.model.limits import FIND_LIMIT_MAX, HOPS_MAX
from mycel.model.names import kind_of
from mycel.store.query.reader import Reader
from mycel.store.query.refs import Ref, missing

Form = Literal["short", "medium", "full"]

TOKEN_BYTES: Final = 4
FORM_TOKENS: Final[dict[Form, int | None]] = {"short": 50, "medium": 200, "full": None}
"""The maximum number of tokens, of four bytes each, of a memory in each form."""

ENDS_FIRST: Final = 16
ENDS_AT_ONCE: Final = 1024
"""The number of elements whose links one statement reads: in the first statement of a hop, and at
most.
"""

FEW_LINKS: Final = 64
"""The limit up to which a search of a single hop reads links and elements in one statement."""
ELEMENTS_AT_ONCE: Final = 4096
"""The maximum number of elements that one statement reads."""


@dataclass(frozen=True, slots=True)
class Follow:
    """The edges that a search follows, how far and which way."""

    types: Sequence[str] | None = None
    """The predicates to follow, or a single one; None for all."""
    max_hops: int = 1
    min_hops: int = 1
    direction: Direction = "out"
    include_tombstoned: bool = False

    def __post_init__(self) -> None:
        """Refuse impossible bounds. Too many hops are an error: they are not cut to the maximum."""
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
        if self.direction not in DIRECTIONS:
            raise ConstraintViolation(
                f"The direction {self.direction!r} is not one of 'out', 'in' and 'both'."
            )


class Memory(NamedTuple):
    """One element that a search found, in the form that was asked for.

    The text is made, and the JSON of elements is parsed, only when asked for.
    """

    element: Element
    form: Form

    @property
    def id(self) -> str:
        return self.element.id

    @property
    def type(self) -> str:
        """The type of a concept, the predicate of a link."""
        element = self.element
        return element.type if isinstance(element, Concept) else element.predicate

    @property
    def name(self) -> str:
        """The name of a concept, or both ends and the predicate of a link; cut like the text."""
        return _cut(_name(self.element), FORM_TOKENS[self.form])[0]

    @property
    def text(self) -> str:
        """The text of the element, as long as the form allows."""
        return self._text()[0]

    @property
    def truncated(self) -> bool:
        """True if the text was cut."""
        return self._text()[1]

    def _text(self) -> tuple[str, bool]:
        return _cut(_render(self.element, self.form), FORM_TOKENS[self.form])

    def to_dict(self) -> dict[str, Any]:
        text, truncated = self._text()
        return {
            "id": self.id,
            "type": self.type,
            "name": self.name,
            "text": text,
            "truncated": truncated,
        }


@dataclass(frozen=True, slots=True)
class FindResult:
    """The elements that a search found, nearest first, with their distances in the same order."""

    memories: tuple[Memory, ...]
    hop_distances: tuple[int, ...]
    more: bool
    """True if the limit cut the result short."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "memories": [memory.to_dict() for memory in self.memories],
            "hop_distances": list(self.hop_distances),
            "more": self.more,
        }


def find(
    reader: Reader,
    start: Ref,
    follow: Follow,
    *,
    types: Sequence[str] | None,
    limit: int,
    form: Form,
) -> FindResult:
    """Search from an element.

    Raises:
        NotFound: the start does not exist.
        TypeMismatch: a predicate to follow, or a type to return, is not defined.
        ExecutionTimeout: the search took longer than the reader's deadline.
    """
    if not isinstance(follow, Follow):
        raise InvalidValueType(
            f"`follow` must be a Follow, not {kind_of(follow)}.",
            hint="Write mycel.Follow(types=[...], max_hops=2).",
        )
    check_whole("limit", limit)
    if not 1 <= limit <= FIND_LIMIT_MAX:
        raise ConstraintViolation(f"limit is {limit}; it must be between 1 and {FIND_LIMIT_MAX}.")
    if form not in [*FORM_TOKENS]:
        raise ConstraintViolation(f"The form {form!r} is not one of 'short', 'medium', 'full'.")
    predicates = (
        None
        if follow.types is None
        else sorted({reader.predicate_number(name) for name in follow.types})
    )
    if isinstance(types, str):
        types = (types,)
    if types is not None:
        for name in types:
            reader.type_number(name)
    allowed = None if types is None else frozenset(types)
    number = reader.number(start)
    memories: list[Memory] = []
    distances: list[int] = []
    if _is_one_step(reader, follow):
        predicate = None if predicates is None else predicates[0]
        near = reader.neighbour_elements(number, ways_of(follow.direction)[0], predicate, FEW_LINKS)
        if len(near) < FEW_LINKS:
            matches = {element.number: element for element in near if _is_wanted(element, allowed)}
            if not near and reader.element(number) is None:
                raise missing(start)
            memories = [Memory(element, form) for element in matches.values()][:limit]
            more = len(matches) > limit
            return FindResult(tuple(memories), (1,) * len(memories), more=more)
    with closing(_walk(reader, number, follow, predicates)) as walk:
        # An element beyond the limit shows that there are more.
        for size in _sizes(limit + 1, ELEMENTS_AT_ONCE):
            reader.check_deadline()
            reached = list(islice(walk, size))
            elements = reader.elements(
                [n for n, _ in reached], tombstoned=follow.include_tombstoned
            )
            for other, hops in reached:
                element = elements.get(other)
                if element is None or not _is_wanted(element, allowed):
                    continue
                if len(memories) == limit:
                    return FindResult(tuple(memories), tuple(distances), more=True)
                memories.append(Memory(element, form))
                distances.append(hops)
            if len(reached) < size:
                break
    # A start with links exists; a start without links has to be looked up.
    if not memories and not reader.elements([number], tombstoned=follow.include_tombstoned):
        raise missing(start)
    return FindResult(tuple(memories), tuple(distances), more=False)


def check_whole(name: str, number: object) -> None:
    """Check that a number is a whole number.

    Raises:
        InvalidValueType: the value is no whole number.
    """
    if not isinstance(number, int) or isinstance(number, bool):
        raise InvalidValueType(f"{name} must be a whole number, not {kind_of(number)}.")


def _walk(
    reader: Reader, start: int, follow: Follow, predicates: Sequence[int] | None
) -> Generator[tuple[int, int]]:
    """Elements in the order in which they are reached, with their hops."""
    directions = ways_of(follow.direction)
    seen = {start}
    frontier = [start]
    for hops in range(1, follow.max_hops + 1):
        reached: list[int] = []
        rest, sizes = iter(frontier), _sizes(ENDS_FIRST, ENDS_AT_ONCE)
        while ends := list(islice(rest, next(sizes))):
            for other in reader.neighbours(
                ends, directions, predicates, tombstoned=follow.include_tombstoned
            ):
                if other not in seen:
                    seen.add(other)
                    reached.append(other)
                    if hops >= follow.min_hops:
                        yield other, hops
        frontier = reached


def _is_one_step(reader: Reader, follow: Follow) -> bool:
    """True for one hop along or against links of one predicate, or of all, in the live state."""
    return (
        follow.max_hops == 1
        and follow.direction != "both"
        and (follow.types is None or len(set(follow.types)) == 1)
        and not follow.include_tombstoned
        and reader.state.is_live
    )


def _sizes(first: int, most: int) -> Iterator[int]:
    """The sizes of portions: the first one, then four times as many each time."""
    size = min(first, most)
    while True:
        yield size
        size = min(4 * size, most)


def _is_wanted(element: Element, allowed: frozenset[str] | None) -> bool:
    return allowed is None or (isinstance(element, Concept) and element.type in allowed)


def _name(element: Element) -> str:
    if isinstance(element, Concept):
        return element.name
    return f"{element.subject} {element.predicate} {element.object}"


def _render(element: Element, form: Form) -> str:
    attributes = element.attributes
    lines = [_name(element)]
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
