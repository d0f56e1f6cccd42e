"""Checks arguments: lists of URIs, limits, and nodes and relations to write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final, TypeVar

from mycel.errors import ConstraintViolation, InvalidValueType, did_you_mean
from mycel.graph.walk import check_whole
from mycel.knowledge.limits import ITEMS_MAX, PAGE_MAX
from mycel.knowledge.node_values import NewNode, NewRelation
from mycel.model.names import kind_of, shorten

Draft = TypeVar("Draft", NewNode, NewRelation)

_REQUIRED: Final = ("uri", "source", "relation", "target")


def uri_list(uris: Iterable[str]) -> list[str]:
    """The URIs that a caller passed, as a list."""
    if isinstance(uris, str | Mapping) or not isinstance(uris, Iterable):
        raise InvalidValueType(
            f"A list of URIs is needed, not {kind_of(uris)}.", hint="Put a single one into a list."
        )
    refs = list(islice(uris, PAGE_MAX + 1))
    if len(refs) > PAGE_MAX:
        raise ConstraintViolation(
            f"More than {PAGE_MAX:,} URIs at once are too many.", hint="Pass them in several calls."
        )
    return refs


def page_limit(limit: int) -> int:
    """The size of a page, limited to `PAGE_MAX`."""
    check_whole("limit", limit)
    if limit < 1:
        raise ConstraintViolation(f"limit is {limit}; it must be at least 1.")
    return min(limit, PAGE_MAX)


def drafts(rows: Iterable[Any], kind: type[Draft], **defaults: str) -> tuple[Draft, ...]:
    """Nodes or relations to write, from objects of their class or dicts with its fields."""
    fields = tuple(kind.__dataclass_fields__)
    field_list = f"Its fields are {', '.join(fields)}."
    if isinstance(rows, str | Mapping) or not isinstance(rows, Iterable):
        raise InvalidValueType(
            f"A list is needed, not {kind_of(rows)}.",
            hint=f"Each item is an object with the fields {', '.join(fields)}.",
        )
    read: list[Draft] = []
    for row, draft in enumerate(rows):
        if row >= ITEMS_MAX:
            raise ConstraintViolation(
                f"More than {ITEMS_MAX:,} at once are too many.",
                hint="Write them in several calls.",
            )
        if isinstance(draft, kind):
            read.append(draft)
            continue
        if not isinstance(draft, Mapping):
            raise InvalidValueType(
                f"A {kind.__name__} must be an object, not {kind_of(draft)}.",
                hint=field_list,
                data={"row": row},
            )
        values = defaults | dict(draft)
        unknown = next((key for key in values if key not in fields), None)
        if unknown is not None:
            raise ConstraintViolation(
                f"A {kind.__name__} has no field {shorten(repr(unknown))}.",
                hint=f"{did_you_mean(str(unknown), list(fields))} {field_list}".strip(),
                data={"row": row},
            )
        absent = [field for field in _REQUIRED if field in fields and field not in values]
        if absent:
            raise ConstraintViolation(
                f"A {kind.__name__} needs {' and '.join(absent)}.",
                hint=field_list,
                data={"row": row},
            )
        read.append(kind(**values))
    return tuple(read)
