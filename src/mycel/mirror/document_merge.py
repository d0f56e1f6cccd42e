"""Three-way merge of documents, place by place: properties, metadata, relations, type and URI.

What one side alone has changed is that side's. A place that both have changed in different ways is
contested; the result has two documents, one with the values of ours there and one with those of
theirs. The graph decides about them (`upstream`), or a person does (`merge_file`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from mycel.history.merge.values import UNKNOWN, combine, equal_values, settle
from mycel.mirror.changes import relation_key
from mycel.mirror.documents import FileRelation, MirrorDocument
from mycel.store.query.diff import ABSENT

Place = tuple[str, str]
"""A part of a document, and its key there."""
Combine = Callable[[Any, Any, Any], tuple[Any, Any]]
"""Two values for a place that both sides have changed: with what ours say there, and theirs."""


class MergedDocument(NamedTuple):
    """The outcome of a merge; None is no document."""

    ours: MirrorDocument | None
    """With the values of ours where both differ."""
    theirs: MirrorDocument | None

    @property
    def is_contested(self) -> bool:
        return self.ours != self.theirs


def merge_documents(
    bases: Sequence[MirrorDocument | None],
    ours: MirrorDocument | None,
    theirs: MirrorDocument | None,
    combine_values: Combine | None = None,
) -> MergedDocument:
    """Merge two documents; where the bases disagree, there is none."""
    known = [None if base is None else places_of(base) for base in bases]
    mine = None if ours is None else places_of(ours)
    other = None if theirs is None else places_of(theirs)
    if mine is None or other is None:
        if all(_are_equal(version, other) for version in known):
            return MergedDocument(ours, ours)
        if all(_are_equal(version, mine) for version in known):
            return MergedDocument(theirs, theirs)
        return MergedDocument(ours, theirs)
    with_ours: dict[Place, Any] = {}
    with_theirs: dict[Place, Any] = {}
    for place in {**mine, **other}:
        base = _common([(version or {}).get(place, ABSENT) for version in known])
        one, two = mine.get(place, ABSENT), other.get(place, ABSENT)
        values = one, two
        merged = settle(base, one, two, lambda: UNKNOWN)
        if merged is not UNKNOWN:
            values = merged, merged
        elif combine_values is not None:
            values = combine_values(base, one, two)
        for document, value in zip((with_ours, with_theirs), values, strict=True):
            if value is not ABSENT:
                document[place] = value
    return MergedDocument(document_of(with_ours), document_of(with_theirs))


def combine_deeply(base: Any, ours: Any, theirs: Any) -> tuple[Any, Any]:
    """Objects merged by key, lists by item and texts by line, as the graph does."""
    return (
        combine((), base, ours, theirs, lambda contest: contest.ours),
        combine((), base, ours, theirs, lambda contest: contest.theirs),
    )


def _common(values: Sequence[Any]) -> Any:
    if not values:
        return ABSENT
    return values[0] if all(equal_values(values[0], value) for value in values[1:]) else UNKNOWN


def _are_equal(one: Mapping[Place, Any] | None, other: Mapping[Place, Any] | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.keys() == other.keys() and all(
        equal_values(one[place], other[place]) for place in one
    )


# Places.


def places_of(document: MirrorDocument) -> dict[Place, Any]:
    """The values of a document, by place."""
    values: dict[Place, Any] = {("uri", ""): document.uri, ("type", ""): document.type}
    values |= {("attributes", key): value for key, value in document.attributes.items()}
    values |= {("metadata", key): value for key, value in document.metadata.items()}
    for relation in document.relations:
        value = relation._asdict() | {
            "properties": dict(relation.properties),
            "metadata": dict(relation.metadata),
        }
        values["relations", relation_key(relation).decode()] = value
    return values


def document_of(places: Mapping[Place, Any]) -> MirrorDocument:
    """The document with these values."""
    parts: dict[str, dict[str, Any]] = {"attributes": {}, "metadata": {}}
    relations: list[FileRelation] = []
    for (part, key), value in places.items():
        if part in parts:
            parts[part][key] = value
        elif part == "relations":
            relations.append(FileRelation(**value))
    uri, type_name = places["uri", ""], places["type", ""]
    return MirrorDocument(uri, type_name, parts["attributes"], parts["metadata"], tuple(relations))
