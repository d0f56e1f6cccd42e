"""Moves nodes to other URIs inside one transaction; their relations stay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mycel.engine.missing_concepts import is_placeholder, merge_placeholder
from mycel.errors import ConstraintViolation, DuplicateExists, NotFound
from mycel.knowledge.name_resolution import not_found
from mycel.knowledge.node_lookup import find, find_all
from mycel.knowledge.node_values import Written
from mycel.knowledge.uris import Uri, parse
from mycel.model.elements import Concept
from mycel.model.names import shorten
from mycel.store.query import lookup
from mycel.store.query.reader import Reader
from mycel.store.write.transaction import Transaction

DUPLICATES_NAMED: Final = 5


def move_node(tx: Transaction, uri: Uri, new: Uri, *, subtree: bool) -> Written:
    """Give a node another URI, and with `subtree` all nodes below it. Relations stay."""
    reader = tx.reader
    _check_way(uri, new, subtree=subtree)
    moving = _moving(reader, uri, new, subtree=subtree)
    if not moving:
        match = find(reader, new)
        if match is None or not lookup.had_name(reader, match.number, uri.text):
            raise not_found(reader, uri)
        moved_before = reader.element(match.number)
        version = 0 if moved_before is None else moved_before.version
        return Written(new.text, reader.outer_id(match.number), version=version)
    _clear_the_way(tx, moving)
    targets = [target.text for target in moving.values()]
    versions = [concept.version for concept in moving]
    tx.move_concepts([(concept.id, None, to) for concept, to in zip(moving, targets, strict=True)])
    first = next(iter(moving))
    after = reader.concept(first.number)
    if after is None:
        raise NotFound(f"{first.id} is gone.")
    changed = after.version != versions[0] or len(moving) > 1
    is_linked_only = subtree and is_placeholder(first)
    if first.name != uri.text or is_linked_only:
        # No node has this URI, so it has no id and no version.
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
    for number, _, _ in sorted(lookup.find_by_name(reader, [uri.text])):
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
    """Merge placeholders at the new URIs into the moving concepts; refuse any other node there."""
    reader = tx.reader
    leaving = {concept.number for concept in moving}
    matches = {
        text: match
        for text, match in find_all(reader, set(moving.values())).items()
        if match.number not in leaving
    }
    duplicates = [text for text, match in matches.items() if not match.is_missing]
    if duplicates:
        listing = ", ".join(shorten(text, 200) for text in duplicates[:DUPLICATES_NAMED])
        raise DuplicateExists(
            f"There is already a node {listing}.",
            hint="Choose another URI, or delete that node first.",
            data={"uris": duplicates[:DUPLICATES_NAMED]},
        )
    for concept, to in moving.items():
        placeholder = matches.get(to.text)
        if placeholder is not None:
            merge_placeholder(tx, placeholder.number, concept)
