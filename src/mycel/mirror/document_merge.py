"""Three-way merge of documents, place by place: properties, metadata, relations, type and URI.

If only one side has changed a place, its value is taken. If both have changed it in different ways,
the place is in conflict. The result is two documents: at such places, one has the values of ours,
the other the values of theirs. The graph decides between them (`upstream`), or a person does
(`merge_file`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from mycel.history.merge.values import UNKNOWN, combine, equal_values, settle
from mycel.mirror.changes import relation_key
from mycel.mirror.documents import FileRelation, MirrorDocument
from mycel.store.query.diff import ABSENT

Place = tuple[str, str]
"""A part of a document, and the key within that part."""
Combine = Callable[[Any, Any, Any], tuple[Any, Any]]
"""A function that combines base, ours and theirs at a place that both sides have changed;
returns the value for each of the two documents."""


class MergedDocument(NamedTuple):
    """The outcome of a merge; None means that the document is removed."""

    ours: MirrorDocument | None
    """The document with the values of ours at places in conflict."""
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
    """Merge two documents; a place has no base if the two bases differ there."""
    versions = [None if base is None else places_of(base) for base in bases]
    mine = None if ours is None else places_of(ours)
    other = None if theirs is None else places_of(theirs)
    if mine is None or other is None:
        if all(_are_equal(version, other) for version in versions):
            return MergedDocument(ours, ours)
        if all(_are_equal(version, mine) for version in versions):
            return MergedDocument(theirs, theirs)
        return MergedDocument(ours, theirs)
    with_ours: dict[Place, Any] = {}
    with_theirs: dict[Place, Any] = {}
    for place in {**mine, **other}:
        base = _common([(version or {}).get(place, ABSENT) for version in versions])
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
    """Combine two values like the graph: objects by key, lists by item and texts by line."""
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


# Places of a document.


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
