"""Merges two nodes, also of different types.

The relations of the one get the other as their end. The other takes over properties that it lacks,
and the URI and name of the first as aliases; where both have a value, its own stays, and a warning
says what the first one had. The former URI leads to the merged node (`name_resolution`).
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from mycel.engine.merge import merge_concepts
from mycel.engine.schema_guard import admits
from mycel.errors import ConstraintViolation
from mycel.knowledge.name_resolution import locate
from mycel.knowledge.node_lookup import element_uri
from mycel.knowledge.node_values import MergedNode
from mycel.knowledge.uris import Uri
from mycel.knowledge.vocabulary import CONTENT, RESOURCE, STAMP
from mycel.model.elements import Concept
from mycel.model.names import shorten
from mycel.store.write.transaction import Transaction

VALUE_CHARACTERS: Final = 200
CONTENT_CHARACTERS: Final = 2_000
"""Characters of a value that a warning shows."""
_ALIASES: Final = "aliases"


def merge_nodes(tx: Transaction, uri: Uri, into: Uri) -> MergedNode:
    """Merge the node of a URI into another one, and remove it.

    Raises:
        NotFound: one of them does not exist.
        ConstraintViolation: the first was read from files, or only the second is a resource.
        ImmutableTarget: one is a definition, or protected.
    """
    located = locate(tx.reader, uri), locate(tx.reader, into)
    source, target = (each.concept for each in located)
    merged, kept = element_uri(source), element_uri(target)
    hints = [each.hint for each in located if each.hint is not None]
    if source.number == target.number:
        done = f"{uri.text} is {kept} already; nothing changed."
        return MergedNode(kept, target.id, merged, version=target.version, warnings=(done,))
    _check(source, target)
    counts = merge_concepts(tx, source, target)
    _keep_name(tx, source, target)
    after = tx.reader.concept(target.number) or target
    return MergedNode(
        kept,
        target.id,
        merged,
        changed=True,
        version=after.version,
        relations=counts.repointed,
        joined=counts.deduplicated,
        properties=counts.filled,
        warnings=(*hints, *_conflicts(source, target)),
    )


def _check(source: Concept, target: Concept) -> None:
    merged = shorten(element_uri(source), 200)
    if STAMP in source.attributes:
        raise ConstraintViolation(
            f"{merged} was read from files, and the next bootstrap would write it again.",
            hint="Merge the other node into this one, or relate the two.",
        )
    if target.type == RESOURCE != source.type:
        raise ConstraintViolation(
            f"The concept {merged} cannot be merged into a resource, which has no content.",
            hint="Merge the resource into the concept, or relate the two.",
        )


def _keep_name(tx: Transaction, source: Concept, target: Concept) -> None:
    """Make the readable name of the merged node an alias of the other."""
    name = source.attributes.get("name")
    after: Any = tx.get(target.id).attributes
    aliases = after.get(_ALIASES)
    if not isinstance(name, str) or name == after.get("name") or not isinstance(aliases, list):
        return
    united = [*aliases, name]
    if name not in aliases and admits(tx, target.type, _ALIASES, united):
        tx.update(target.id, attributes={_ALIASES: united})


def _conflicts(source: Concept, target: Concept) -> list[str]:
    """Sentences about values of the merged node that were not taken over."""
    warnings = []
    if source.type != target.type:
        warnings.append(f"It was of the type {source.type}; {target.type} stays.")
    own, other = target.attributes, source.attributes
    for key in other:
        if key in own and key not in (_ALIASES, "name", STAMP) and own[key] != other[key]:
            most = CONTENT_CHARACTERS if key == CONTENT else VALUE_CHARACTERS
            value = other[key] if isinstance(other[key], str) else orjson.dumps(other[key]).decode()
            warnings.append(f"Both have {key}; that of the merged node was: {shorten(value, most)}")
    return warnings
