"""Adds, changes, moves and removes nodes inside one transaction.

Every function is idempotent: values that are stored already change nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from mycel.engine.missing_concepts import is_placeholder, merge_placeholder
from mycel.errors import ConstraintViolation, DuplicateExists, InvalidId, InvalidValueType, NotFound
from mycel.knowledge.name_resolution import locate, not_found, resolve_all
from mycel.knowledge.node_lookup import (
    as_node,
    element_uri,
    find,
    find_all,
    uri_at,
)
from mycel.knowledge.node_values import NewNode, Removed, Written
from mycel.knowledge.relation_writer import placeholders_of, sweep
from mycel.knowledge.uris import Uri, build, parse
from mycel.knowledge.vocabulary import (
    CONCEPT,
    RESERVED_IN_NODES,
    RESOURCE,
    STAMP,
    check_names,
    require_type,
)
from mycel.model import ids
from mycel.model.elements import Concept
from mycel.model.limits import NAME_BYTES_MAX
from mycel.model.names import check_identifier, check_text, count, is_unicode, kind_of, shorten
from mycel.model.values import JsonObject, object_text
from mycel.store.file.layout import CONCEPT_TYPE_NUMBER
from mycel.store.query import lookup, summary
from mycel.store.query.reader import Reader
from mycel.store.write.bulk import ConceptRow
from mycel.store.write.transaction import Transaction

NAME: Final = "name"
CONTENT: Final = "content"

DUPLICATES_NAMED: Final = 5


class _Draft(NamedTuple):
    """A checked node to write."""

    uri: Uri
    type: str | None
    attributes: JsonObject
    metadata: Mapping[str, Any] | None


# Adding.


def put_nodes(
    tx: Transaction, drafts: Sequence[NewNode], uris: Sequence[Uri], *, merge: bool
) -> tuple[list[Written], list[str]]:
    """Add new nodes, and merge values into those that exist. Returns results and warnings."""
    read = [_read(draft, uri) for draft, uri in zip(drafts, uris, strict=True)]
    told: list[str] = []
    found = find_all(tx.reader, uris)
    for uri in uris:
        if uri.is_kip and uri.text not in found:
            raise not_found(tx.reader, uri)
    fresh: dict[str, _Draft] = {}
    for draft in read:
        if draft.uri.text not in found:
            fresh.setdefault(draft.uri.text, draft)
    for name in dict.fromkeys(_type_of(draft) for draft in fresh.values()):
        told += require_type(tx, name)
    rows = [
        ConceptRow(_type_of(draft), draft.uri.text, _held(_type_of(draft), draft), draft.metadata)
        for draft in fresh.values()
    ]
    made = dict(zip(fresh, tx.put_concepts(rows), strict=True))
    written = []
    for draft in read:
        text = draft.uri.text
        if text in made and fresh.pop(text, None) is not None:
            written.append(Written(text, made[text], created=True, changed=True))
            continue
        number = ids.parse_id(made[text]) if text in made else found[text].number
        written.append(_put_again(tx, number, draft, merge=merge, told=told))
    return written, told


def _read(draft: NewNode, uri: Uri) -> _Draft:
    check_names(draft.properties, "properties", "node", RESERVED_IN_NODES)
    check_names(draft.metadata, "metadata", "node", {})
    if draft.type is not None:
        check_identifier(draft.type, "type")
    attributes = dict(draft.properties or {})
    for key, value in ((NAME, draft.name), (CONTENT, draft.content)):
        if value is not None:
            attributes[key] = _text(key, value)
    return _Draft(uri, draft.type, attributes, draft.metadata)


def _type_of(draft: _Draft) -> str:
    if draft.type is not None:
        return draft.type
    return CONCEPT if draft.uri.is_concept else RESOURCE


def _held(type_name: str, draft: _Draft) -> JsonObject:
    """The attributes of a draft; a resource has no name and no content."""
    if type_name == RESOURCE:
        for key in (NAME, CONTENT):
            if key in draft.attributes:
                raise ConstraintViolation(
                    f"The resource {shorten(draft.uri.text)} cannot have a {key}.",
                    hint="Put it into its properties, or add a concept and relate it to the"
                    " resource.",
                )
    return draft.attributes


def _put_again(
    tx: Transaction, number: int, draft: _Draft, *, merge: bool, told: list[str]
) -> Written:
    """Write a node that exists, if only as a placeholder."""
    before = tx.reader.concept(number)
    if before is None:
        raise InvalidId(f"{draft.uri.text} is a relation; a node is needed here.")
    uri, healed = element_uri(before), is_placeholder(before)
    type_name = _type_of(draft) if healed else draft.type or before.type
    attributes = _held(type_name, draft)
    if not (healed or merge) and (
        type_name != before.type or not _says(before, attributes, draft.metadata)
    ):
        raise DuplicateExists(
            f"There is already a node {shorten(uri, 200)} with other values.",
            hint="Update it instead, or merge into it (`exist_ok`).",
            data={"uri": uri, "id": before.id, "version": before.version},
        )
    if type_name != before.type:
        told += require_type(tx, type_name)
        tx.move(before.id, type_name=type_name)
    tx.update(before.id, attributes=attributes, metadata=draft.metadata)
    after = tx.reader.concept(number)
    version = before.version if after is None else after.version
    return Written(uri, before.id, healed, version != before.version, version)


def _says(before: Concept, attributes: JsonObject, metadata: Mapping[str, Any] | None) -> bool:
    """True if a concept has these values already."""
    return (
        object_text(before.attributes | attributes, "properties") == before.attributes_json
        and object_text(before.metadata | dict(metadata or {}), "metadata") == before.metadata_json
    )


def _text(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidValueType(f"The {key} of a node must be a text, not {kind_of(value)}.")
    if key == NAME and is_unicode(value):  # Otherwise the store says where it is not.
        check_text(value, "name of a node", NAME_BYTES_MAX)
    return value


# Changing.


class NodeChanges(NamedTuple):
    """Changes of a node; None changes nothing."""

    name: str | None = None
    content: str | None = None
    append: str | None = None
    properties: Mapping[str, Any] | None = None
    drop: Iterable[str] = ()
    metadata: Mapping[str, Any] | None = None
    expect_version: int | None = None


def update_node(tx: Transaction, uri: Uri, changes: NodeChanges) -> tuple[Written, list[str]]:
    """Change a node that exists."""
    before, hint = locate(tx.reader, uri)
    told = [] if hint is None else [hint]
    content = changes.content
    if changes.append is not None:
        if content is not None:
            raise ConstraintViolation(
                "Both content and append are given.",
                hint="Pass content to replace the text, or append to add to it.",
            )
        content = _appended(as_node(before).content, _text("append", changes.append))
        if content is None:
            told.append("The content ends with this already; nothing was appended.")
    draft = _read(
        NewNode(uri.text, changes.name, content, None, changes.properties, changes.metadata), uri
    )
    drop, absent = _divided(changes.drop, before.attributes.keys() - {STAMP})
    if absent:
        told.append(f"There was nothing to drop under {', '.join(map(repr, absent))}.")
    changed = tx.update(
        before.id,
        attributes=_held(before.type, draft),
        metadata=changes.metadata,
        drop_attributes=drop,
        expect_version=changes.expect_version,
    )
    version = before.version + changed
    return Written(element_uri(before), before.id, False, changed, version), told


def _divided(names: object, there: Collection[str]) -> tuple[list[str], list[str]]:
    """Names of properties, divided into those that exist and those that do not."""
    listed = [names] if isinstance(names, str) else names
    if not isinstance(listed, Iterable) or isinstance(listed, Mapping):
        raise InvalidValueType(f"drop must be a list of names, not {kind_of(names)}.")
    wanted = list(listed)
    for each in wanted:
        if not isinstance(each, str):
            raise InvalidValueType(f"drop holds {kind_of(each)}, which is no name of a property.")
    return [each for each in wanted if each in there], [
        each for each in wanted if each not in there
    ]


def _appended(content: str | None, more: str) -> str | None:
    """The content with a text on a line after it; None if it ends with that line already."""
    if not content:
        return more
    if content == more or content.endswith("\n" + more):
        return None
    return content + ("" if content.endswith("\n") else "\n") + more


# Moving.


def move_node(tx: Transaction, uri: Uri, new: Uri, *, subtree: bool) -> Written:
    """Give a node another URI, and with `subtree` all nodes below it. Relations stay."""
    reader = tx.reader
    _check_way(uri, new, subtree=subtree)
    moving = _moving(reader, uri, new, subtree=subtree)
    if not moving:
        there = find(reader, new)
        if there is None or not lookup.had_name(reader, there.number, uri.text):
            raise not_found(reader, uri)
        moved_before = reader.element(there.number)
        version = 0 if moved_before is None else moved_before.version
        return Written(new.text, reader.outer_id(there.number), version=version)
    _clear_the_way(tx, moving)
    targets = [target.text for target in moving.values()]
    versions = [concept.version for concept in moving]
    tx.move_concepts([(each.id, None, to) for each, to in zip(moving, targets, strict=True)])
    first = next(iter(moving))
    after = reader.concept(first.number)
    if after is None:
        raise NotFound(f"{first.id} is gone.")
    changed = after.version != versions[0] or len(moving) > 1
    is_linked_only = subtree and is_placeholder(first)
    if first.name != uri.text or is_linked_only:
        # The root of the subtree is no node, so it has no id and no version.
        below = len(moving) - (first.name == uri.text)
        return Written(new.text, "", changed=changed, version=None, moved=below if changed else 0)
    moved = len(moving) if changed else 0
    return Written(new.text, after.id, changed=changed, version=after.version, moved=moved)


def _check_way(uri: Uri, new: Uri, *, subtree: bool) -> None:
    if new.is_kip or uri.is_kip:
        raise ConstraintViolation(
            "Only a node with a URI of its own can be moved, and only to such a URI.",
            hint='Rename a concept of KIP with UPDATE ?c SET NAME "…".',
        )
    if uri.is_concept != new.is_concept:
        raise ConstraintViolation(
            f"{shorten(uri.text)} cannot become {shorten(new.text)}: one is a concept, the other a"
            " resource.",
            hint="Add the other node and relate the two.",
        )
    if subtree and new.text.startswith(f"{uri.text}/"):
        raise ConstraintViolation(
            f"{shorten(uri.text)} cannot be moved into itself.",
            hint="Choose a URI outside of the subtree.",
        )


def _moving(reader: Reader, uri: Uri, new: Uri, *, subtree: bool) -> dict[Concept, Uri]:
    """The concepts that move, in the order of their names, each with its new URI."""
    moving: dict[Concept, Uri] = {}
    for number, _, _ in sorted(lookup.named(reader, [uri.text])):
        concept = reader.concept(number)
        if concept is not None:
            moving[concept] = new
    if subtree:
        for number, _, name in lookup.named_below(reader, uri.text):
            concept = reader.concept(number)
            if concept is not None:
                moving[concept] = parse(new.text + name.removeprefix(uri.text), new.workspace)
    return moving


def _clear_the_way(tx: Transaction, moving: Mapping[Concept, Uri]) -> None:
    """Merge placeholders under the new URIs into the moving concepts; refuse other nodes there."""
    reader = tx.reader
    leaving = {concept.number for concept in moving}
    there = {
        text: found
        for text, found in find_all(reader, set(moving.values())).items()
        if found.number not in leaving
    }
    taken = [text for text, found in there.items() if not found.is_missing]
    if taken:
        named = ", ".join(shorten(text, 200) for text in taken[:DUPLICATES_NAMED])
        raise DuplicateExists(
            f"There is already a node {named}.",
            hint="Choose another URI, or delete that node first.",
            data={"uris": taken[:DUPLICATES_NAMED]},
        )
    for concept, to in moving.items():
        placeholder = there.get(to.text)
        if placeholder is not None:
            merge_placeholder(tx, placeholder.number, concept)


# Removing.


def delete_node(tx: Transaction, uri: Uri, *, reason: str) -> tuple[Removed, str]:
    """Remove a node with all its relations; a node removed before is no error.

    Returns the result, and the URI of the node.
    """
    reader = tx.reader
    found = find(reader, uri)
    if found is None and uri.is_bare:  # Perhaps the path of a file.
        found = find(reader, build("file", uri.workspace, uri.path))
    if found is None:
        if _was_ever(reader, uri):
            return Removed(0, 0, (f"{uri.text} was removed before; nothing changed.",)), uri.text
        raise _not_there(reader, uri)
    links = tx.links_about(reader.outer_id(found.number))
    outer, called = reader.outer_id(found.number), uri_at(reader, found.number)
    incoming = sum(link.object == outer for link in links)
    placeholders = placeholders_of(reader, links) - {found.number}
    retired = tx.retire(outer, reason=reason)
    sweep(tx, placeholders)
    told = (
        (f"{count(incoming, 'relation')} from other nodes to it went with it.",)
        if incoming and not found.is_missing
        else ()
    )
    concepts = int(ids.is_concept(found.number) and not found.is_missing)
    return Removed(concepts, retired.propositions, told), called


def _not_there(reader: Reader, uri: Uri) -> NotFound:
    """The error for a URI that is to be removed and names no node.

    A node is removed by its own URI alone; another name of it is only told.
    """
    resolved = resolve_all(reader, (uri,)).get(uri)
    error = not_found(reader, uri)
    if resolved is not None and resolved.hint is not None:
        error.message += f" {resolved.hint}"
        error.hint = f"If you mean that node, remove {resolved.uri.text}."
        error.data["closest"] = [resolved.uri.text]
    return error


def _was_ever(reader: Reader, uri: Uri) -> bool:
    """True if a node with this URI, of any type, was removed."""
    if uri.is_kip:
        return False
    for name in summary.definitions(reader, CONCEPT_TYPE_NUMBER):
        number = reader.type_number(name)
        concept = reader.concept_named(number, uri.text, tombstoned=True)
        if concept is not None and not is_placeholder(concept):
            return True
    return False
