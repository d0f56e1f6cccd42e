"""Merges two nodes, also of different types.

The first node, the source, is merged into the second, the target. Relations of the source move to
the target. The target takes over properties and metadata that it lacks, and the URI and name of the
source as aliases. Both texts are kept: the text of the source comes below a heading with its name,
unless one text contains the other. Lists of texts are united. Where the two have different values,
the target keeps its own, and a warning has the value of the source. Metadata about validity, such
as `status`, holds only for the source and is not taken over. The URI of the source leads to the
target (`name_resolution`).
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from mycel.engine.merge import merge_concepts
from mycel.engine.schema_guard import admits
from mycel.errors import ConstraintViolation
from mycel.knowledge.name_resolution import locate, name_line
from mycel.knowledge.node_lookup import element_uri
from mycel.knowledge.node_values import MergedNode
from mycel.knowledge.uris import Uri
from mycel.knowledge.vocabulary import CONTENT, RESOURCE, STAMP
from mycel.model.elements import Concept
from mycel.model.names import shorten
from mycel.model.values import JsonObject
from mycel.search.validity import VALIDITY_KEYS
from mycel.store.write.transaction import Transaction

VALUE_CHARACTERS: Final = 200
CONTENT_CHARACTERS: Final = 2_000
"""The maximum number of characters of a value that a warning shows."""
NAME: Final = "name"
_ALIASES: Final = "aliases"


def merge_nodes(tx: Transaction, uri: Uri, into: Uri) -> MergedNode:
    """Merge the node of a URI into another one, and remove it.

    Raises:
        NotFound: one of them does not exist.
        ConstraintViolation: the first was read from files, or only the second is a resource.
        ImmutableTarget: one is a definition, or protected.
    """
    located = {node_uri: locate(tx.reader, node_uri, at_home=True) for node_uri in (uri, into)}
    source, target = located[uri].concept, located[into].concept
    merged, target_uri = element_uri(source), element_uri(target)
    if source.number == target.number:
        warning = f"{uri.text} is {target_uri} already; nothing changed."
        return MergedNode(
            target_uri, target.id, merged, version=target.version, warnings=(warning,)
        )
    _check(source, target)
    counts = merge_concepts(tx, source, target)
    united = _united(tx, source, target)
    metadata = _missing_metadata(source, target)
    tx.update(target.id, attributes=united, metadata=metadata)
    after = tx.reader.concept(target.number) or target
    return MergedNode(
        target_uri,
        target.id,
        merged,
        changed=True,
        version=after.version,
        relations=counts.repointed,
        joined=counts.deduplicated,
        properties=counts.filled,
        warnings=(*_conflicts(source, target, united), *name_line(located)),
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


def _united(tx: Transaction, source: Concept, target: Concept) -> JsonObject:
    """The attributes of the target after the merge: joined texts, united lists, a new alias."""
    own, other = target.attributes, source.attributes
    united: JsonObject = {}
    for key in own.keys() & other.keys() - {_ALIASES, NAME, STAMP}:
        if key == CONTENT and isinstance(own[key], str) and isinstance(other[key], str):
            united[key] = _joined(own[key], other[key], _title(source, target))
        elif _are_texts(own[key]) and _are_texts(other[key]):
            united[key] = list(dict.fromkeys((*own[key], *other[key])))
    after: Any = tx.get(target.id).attributes  # Aliases of both nodes.
    aliases, name = after.get(_ALIASES), other.get(NAME)
    if isinstance(aliases, list) and isinstance(name, str) and name != after.get(NAME):
        united[_ALIASES] = list(dict.fromkeys((*aliases, name)))
    return {key: value for key, value in united.items() if admits(tx, target.type, key, value)}


def _joined(own: str, other: str, title: str | None) -> str:
    """Two texts as one. If one contains the other, it is the longer one."""
    ours, theirs = own.strip(), other.strip()
    if theirs in ours:
        return own
    if ours in theirs:
        return other
    heading = f"## {title}\n\n" if title and not theirs.startswith("#") else ""
    return f"{own.rstrip()}\n\n{heading}{other.lstrip()}"


def _title(source: Concept, target: Concept) -> str | None:
    """The name of the source; None if it has several lines, or is also the target's name."""
    name = source.attributes.get(NAME)
    if not isinstance(name, str) or name == target.attributes.get(NAME):
        return None
    return name if len(name.splitlines()) == 1 else None


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _missing_metadata(source: Concept, target: Concept) -> JsonObject:
    """The metadata that the target takes over: missing keys, and united lists of texts."""
    own, other = target.metadata, source.metadata
    return {
        key: list(dict.fromkeys((*own[key], *value))) if key in own else value
        for key, value in other.items()
        if not key.startswith("_") and key not in VALIDITY_KEYS
        if key not in own or (_are_texts(own[key]) and _are_texts(value))
    }


def _conflicts(source: Concept, target: Concept, united: JsonObject) -> list[str]:
    """Sentences about values of the source that were not taken over."""
    warnings = []
    if source.type != target.type:
        warnings.append(f"It was of the type {source.type}; {target.type} stays.")
    own, other = target.attributes, source.attributes
    for key in other.keys() & own.keys() - united.keys() - {_ALIASES, NAME, STAMP}:
        if own[key] != other[key]:
            most = CONTENT_CHARACTERS if key == CONTENT else VALUE_CHARACTERS
            value = shorten(_text_of(other[key]), most)
            warnings.append(f"Both have {key}; that of the merged node was: {value}")
    for key, value in source.metadata.items():
        is_kept = key.startswith("_") or _missing_metadata(source, target).get(key) is not None
        if not is_kept and target.metadata.get(key) != value:
            text = shorten(_text_of(value), VALUE_CHARACTERS)
            warnings.append(f"Its {key} in the metadata was {text}; it is not taken over.")
    return sorted(warnings)


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
