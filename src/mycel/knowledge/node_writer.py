"""Adds, changes and removes nodes inside one transaction.

Every function is idempotent: writing stored values again changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from mycel.engine.missing_concepts import (
    MISSING,
    MISSING_ENTITY,
    is_placeholder,
)
from mycel.errors import (
    AmbiguousName,
    ConstraintViolation,
    DuplicateExists,
    InvalidId,
    InvalidValueType,
)
from mycel.knowledge.name_resolution import locate, name_line, not_found, resolve_all
from mycel.knowledge.node_lookup import (
    as_node,
    element_uri,
    find,
    find_all,
    uri_at,
)
from mycel.knowledge.node_values import NewNode, Removed, Written
from mycel.knowledge.note_names import note_path, title_of
from mycel.knowledge.relation_writer import placeholders_of, sweep
from mycel.knowledge.uris import Uri, build
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
from mycel.store.query import summary
from mycel.store.query.reader import Reader
from mycel.store.write.bulk import ConceptRow
from mycel.store.write.transaction import Transaction

NAME: Final = "name"
CONTENT: Final = "content"


class _Draft(NamedTuple):
    """A node to write, after checks."""

    uri: Uri
    type: str | None
    attributes: JsonObject
    metadata: Mapping[str, Any] | None


# Adding.


def put_nodes(
    tx: Transaction, drafts: Sequence[NewNode], uris: Sequence[Uri], *, merge: bool
) -> tuple[list[Written], list[str]]:
    """Add new nodes, and merge values into existing ones. Returns results and warnings."""
    read = [_read(draft, uri) for draft, uri in zip(drafts, uris, strict=True)]
    warnings: list[str] = []
    matches = find_all(tx.reader, uris)
    for uri in uris:
        if uri.is_kip and uri.text not in matches:
            raise not_found(tx.reader, uri)
    new_drafts: dict[str, _Draft] = {}
    for draft in read:
        if draft.uri.text not in matches:
            new_drafts.setdefault(draft.uri.text, draft)
    _check_files(tx.reader, list(new_drafts.values()))
    for name in dict.fromkeys(_type_of(draft) for draft in new_drafts.values()):
        warnings += require_type(tx, name)
    rows = [
        ConceptRow(
            _type_of(draft),
            draft.uri.text,
            _draft_attributes(_type_of(draft), draft),
            draft.metadata,
        )
        for draft in new_drafts.values()
    ]
    new_ids = dict(zip(new_drafts, tx.put_concepts(rows), strict=True))
    written = []
    for draft in read:
        text = draft.uri.text
        if text in new_ids and new_drafts.pop(text, None) is not None:
            written.append(Written(text, new_ids[text], created=True, changed=True))
            continue
        number = ids.parse_id(new_ids[text]) if text in new_ids else matches[text].number
        written.append(_put_again(tx, number, draft, merge=merge, warnings=warnings))
    return written, warnings


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


def _draft_attributes(type_name: str, draft: _Draft) -> JsonObject:
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
    tx: Transaction, number: int, draft: _Draft, *, merge: bool, warnings: list[str]
) -> Written:
    """Write values to an existing node or placeholder."""
    before = tx.reader.concept(number)
    if before is None:
        raise InvalidId(
            f"{draft.uri.text} is a relation; a node is needed here.",
            hint="Name a node by its URI, such as concept://shop/login.",
        )
    uri, healed = element_uri(before), is_placeholder(before)
    type_name = _type_of(draft) if healed else draft.type or before.type
    attributes = _draft_attributes(type_name, draft)
    if STAMP in before.attributes:
        _check_not_read(before, draft, type_name)
    if not (healed or merge) and (
        type_name != before.type or not _says(before, attributes, draft.metadata)
    ):
        raise DuplicateExists(
            f"There is already a node {shorten(uri, 200)} with other values.",
            hint="Update it instead, or merge into it (`exist_ok`).",
            data={"uri": uri, "id": before.id, "version": before.version},
        )
    if type_name != before.type:
        warnings += require_type(tx, type_name)
        tx.move(before.id, type_name=type_name)
    tx.update(before.id, attributes=attributes, metadata=draft.metadata)
    after = tx.reader.concept(number)
    version = before.version if after is None else after.version
    return Written(uri, before.id, healed, version != before.version, version)


def _check_not_read(before: Concept, draft: _Draft, type_name: str) -> None:
    """Refuse to write a note over a node that a bootstrap made; its properties may be added to."""
    note = {key: value for key, value in draft.attributes.items() if key in (NAME, CONTENT)}
    if type_name == before.type and _says(before, note, None):
        return
    raise _read_before(element_uri(before), before.attributes, draft)


def _read_before(uri: str, attributes: JsonObject, draft: _Draft) -> ConstraintViolation:
    """The error for a note with the URI of a node that a bootstrap made."""
    noun = attributes.get("node_type") or attributes.get("kind") or "file"
    text = str(draft.attributes.get(CONTENT, ""))
    path = note_path(str(draft.attributes.get(NAME, "")) or title_of(text) or draft.uri.path)
    short_uri = shorten(uri, 200)
    return ConstraintViolation(
        f"{short_uri} is a {noun} that was read from the project, not a note.",
        hint=f"Write the note under {path}, with a relation about {short_uri}. To change the node"
        f" of the {noun} itself, update it.",
        data={"uri": uri, "suggestion": path},
    )


def _check_files(reader: Reader, drafts: Sequence[_Draft]) -> None:
    """Refuse a new concept whose bare path is the path of a file of the project."""
    files = {
        build("file", draft.uri.workspace, draft.uri.path): draft
        for draft in drafts
        if draft.uri.is_bare and draft.uri.is_concept and draft.uri.path
    }
    for text, match in find_all(reader, files).items():
        file = reader.concept(match.number)
        if file is not None and STAMP in file.attributes:
            draft = next(candidate for uri, candidate in files.items() if uri.text == text)
            raise _read_before(text, file.attributes, draft)


def _says(before: Concept, attributes: JsonObject, metadata: Mapping[str, Any] | None) -> bool:
    """True if a concept already has these values."""
    return (
        object_text(before.attributes | attributes, "properties") == before.attributes_json
        and object_text(before.metadata | dict(metadata or {}), "metadata") == before.metadata_json
    )


def _text(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidValueType(f"The {key} of a node must be a text, not {kind_of(value)}.")
    if key == NAME and is_unicode(value):  # Otherwise the store raises the error.
        check_text(value, "name of a node", NAME_BYTES_MAX)
    return value


# Changing.


class NodeChanges(NamedTuple):
    """Changes of a node; a field that is None changes nothing."""

    name: str | None = None
    content: str | None = None
    type: str | None = None
    append: str | None = None
    properties: Mapping[str, Any] | None = None
    drop: Iterable[str] = ()
    metadata: Mapping[str, Any] | None = None
    expect_version: int | None = None


def update_node(tx: Transaction, uri: Uri, changes: NodeChanges) -> tuple[Written, list[str]]:
    """Change an existing node."""
    located = locate(tx.reader, uri, at_home=True)
    before, warnings = located.concept, name_line({uri: located})
    content = changes.content
    if changes.append is not None:
        if content is not None:
            raise ConstraintViolation(
                "Both content and append are given.",
                hint="Pass content to replace the text, or append to add to it.",
            )
        content = _appended(as_node(before).content, _text("append", changes.append))
        if content is None:
            warnings.append("The content ends with this already; nothing was appended.")
    draft = _read(
        NewNode(uri.text, changes.name, content, None, changes.properties, changes.metadata), uri
    )
    drop, absent = _divided(changes.drop, before.attributes.keys() - {STAMP})
    if absent:
        warnings.append(f"There was nothing to drop under {', '.join(map(repr, absent))}.")
    attributes, expected = (
        _draft_attributes(changes.type or before.type, draft),
        changes.expect_version,
    )
    if changes.type is not None and changes.type != before.type:
        tx.update(before.id, expect_version=expected)  # This only checks the version.
        warnings += _change_type(tx, before, changes.type, attributes, drop)
        drop, expected = [], None
    tx.update(
        before.id,
        attributes=attributes,
        metadata=changes.metadata,
        drop_attributes=drop,
        expect_version=expected,
    )
    after = tx.reader.concept(before.number) or before
    changed = after.version != before.version
    return Written(element_uri(after), before.id, False, changed, after.version), warnings


def attributes_after(before: Concept, uri: Uri, changes: NodeChanges) -> JsonObject:
    """The attributes of a node after changes of name, content and properties."""
    draft = _read(NewNode(uri.text, changes.name, changes.content, None, changes.properties), uri)
    attributes = before.attributes | _draft_attributes(before.type, draft)
    drop, _ = _divided(changes.drop, attributes.keys() - {STAMP})
    return {key: value for key, value in attributes.items() if key not in drop}


def _change_type(
    tx: Transaction,
    before: Concept,
    type_name: str,
    attributes: JsonObject,
    drop: Collection[str],
) -> tuple[str, ...]:
    """Change the type of a node together with its attributes. Returns warnings."""
    check_identifier(type_name, "type")
    if STAMP in before.attributes:
        raise ConstraintViolation(
            f"{shorten(element_uri(before), 200)} was read from files; it stays a {before.type}.",
            hint="Write a node of that type under notes/, and relate it to this one.",
        )
    if type_name in (MISSING, MISSING_ENTITY):
        raise ConstraintViolation(
            f"{type_name} is the type of placeholders for nodes that do not exist.",
            hint="Choose another type, or remove the node.",
        )
    rest = {key: value for key, value in before.attributes.items() if key not in drop}
    if type_name == RESOURCE and {NAME, CONTENT} & rest.keys():
        raise ConstraintViolation(
            f"{shorten(element_uri(before), 200)} has a name or content, and a resource has none.",
            hint="Drop name and content first, or put them into other properties.",
        )
    warnings = require_type(tx, type_name)
    tx.move(before.id, type_name=type_name, attributes=rest | attributes)
    return warnings


def _divided(names: object, existing: Collection[str]) -> tuple[list[str], list[str]]:
    """Names of properties in two lists: existing ones and missing ones."""
    value = [names] if isinstance(names, str) else names
    if not isinstance(value, Iterable) or isinstance(value, Mapping):
        raise InvalidValueType(f"drop must be a list of names, not {kind_of(names)}.")
    keys = list(value)
    for name in keys:
        if not isinstance(name, str):
            raise InvalidValueType(f"drop holds {kind_of(name)}, which is no name of a property.")
    return [name for name in keys if name in existing], [
        name for name in keys if name not in existing
    ]


def _appended(content: str | None, more: str) -> str | None:
    """The content with a text on a new line at its end; None if that is its last line already."""
    if not content:
        return more
    if content == more or content.endswith("\n" + more):
        return None
    return content + ("" if content.endswith("\n") else "\n") + more


# Removing.


def delete_node(tx: Transaction, uri: Uri, *, reason: str) -> tuple[Removed, str]:
    """Remove a node with all its relations; if it was removed before, that is no error.

    Returns the result, and the URI of the node.
    """
    reader, hints = tx.reader, []
    match = find(reader, uri)
    if match is None and uri.is_bare:  # The URI may be the path of a file.
        match = find(reader, build("file", uri.workspace, uri.path))
    if match is None:
        if _was_ever(reader, uri):
            return Removed(0, 0, (_describe_removed(reader, uri),)), uri.text
        resolved = resolve_all(reader, (uri,), at_home=True).get(uri)
        if resolved is not None and resolved.is_merged:
            return Removed(0, 0, (_describe_removed(reader, uri),)), uri.text
        match = None if resolved is None else find(reader, resolved.uri)
        if resolved is None or match is None:
            raise not_found(reader, uri)
        hints = name_line({uri: resolved})
    links = tx.links_about(reader.outer_id(match.number))
    outer, called = reader.outer_id(match.number), uri_at(reader, match.number)
    incoming = sum(link.object == outer for link in links)
    placeholders = placeholders_of(reader, links) - {match.number}
    retired = tx.retire(outer, reason=reason)
    sweep(tx, placeholders)
    if incoming and not match.is_missing:
        hints.append(f"{count(incoming, 'relation')} from other nodes were removed with it.")
    concepts = int(ids.is_concept(match.number) and not match.is_missing)
    return Removed(concepts, retired.propositions, tuple(hints)), called


def _describe_removed(reader: Reader, uri: Uri) -> str:
    """A sentence about a node that was removed or merged into another one earlier."""
    resolved = None
    with suppress(AmbiguousName):  # By now, it is a short name of several nodes.
        resolved = resolve_all(reader, (uri,)).get(uri)
    if resolved is None or not resolved.is_merged:
        return f"{uri.text} was removed before; nothing changed."
    return f"{resolved.hint} Nothing changed; to remove that node, pass its URI."


def _was_ever(reader: Reader, uri: Uri) -> bool:
    """True if a node with this URI, of any type, was ever removed."""
    if uri.is_kip:
        return False
    for name in summary.definitions(reader, CONCEPT_TYPE_NUMBER):
        number = reader.type_number(name)
        concept = reader.concept_named(number, uri.text, tombstoned=True)
        if concept is not None and not is_placeholder(concept):
            return True
    return False
