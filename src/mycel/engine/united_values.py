"""Merges two concepts, and names every value that the merge does not keep.

A merge by KIP keeps the values of the target, and fills in values that the target lacks. A merge by
a decision, a tool or a cycle also unites the values of both: the text of the source comes below a
heading with its name, unless one text contains the other; lists of texts are united; metadata that
the target lacks is taken over. If both have an author, a source or a confidence and these differ,
those of the source become an entry of the metadata `evidence`, with the name of the source.
Metadata about the validity of the source, its tier and its retention holds only for the source.
Every other value of the source that differs is named.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import orjson

from mycel.engine.merge import MergeCounts, merge_concepts
from mycel.engine.schema_guard import admits
from mycel.model import times
from mycel.model.elements import Concept
from mycel.model.evidence import EVIDENCE, OF, OWN_SOURCE, as_entry, own_source
from mycel.model.names import shorten
from mycel.model.values import JsonObject
from mycel.search.validity import OF_UPKEEP, VALIDITY_KEYS
from mycel.store.write.transaction import Transaction
from mycel.text.kinds import STAMP

VALUE_CHARACTERS: Final = 200
CONTENT_CHARACTERS: Final = 2_000
"""The maximum number of characters of a value that a warning shows."""
CONTENT: Final = "content"
NAME: Final = "name"
_TEXTS: Final = (CONTENT, "description", "content_summary")
"""The attributes whose texts are joined."""
_ALIASES: Final = "aliases"
_OF_SOURCE: Final = VALIDITY_KEYS | {"retention"}
"""Metadata that holds only for the element that has it."""


class UnitedConcepts(NamedTuple):
    """The effects of a merge that keeps what both concepts say."""

    counts: MergeCounts
    lost: tuple[str, ...]
    """Sentences about values of the source that the target does not have."""


def merge_and_unite(tx: Transaction, source: Concept, target: Concept) -> UnitedConcepts:
    """Merge a concept into another one, of any type, and unite their values.

    Raises:
        ImmutableTarget: one is a definition, or protected.
    """
    counts = merge_concepts(tx, source, target)
    attributes = _united(tx, source, target)
    metadata = _missing_metadata(source, target)
    metadata |= _further_source(source, target, metadata)
    tx.update(target.id, attributes=attributes, metadata=metadata)
    lost = [*_lost_values(source, target, attributes), *_lost_metadata(source, target, metadata)]
    return UnitedConcepts(counts, (*sorted(lost), *counts.folded))


def _united(tx: Transaction, source: Concept, target: Concept) -> JsonObject:
    """The attributes of the target after the merge: joined texts, united lists, a new alias."""
    own, other = target.attributes, source.attributes
    united: JsonObject = {}
    for key in own.keys() & other.keys() - {_ALIASES, NAME, STAMP}:
        if own[key] is None:
            united[key] = other[key]
        elif key in _TEXTS and isinstance(own[key], str) and isinstance(other[key], str):
            united[key] = _joined(own[key], other[key], _title(source, target))
        elif _are_texts(own[key]) and _are_texts(other[key]):
            united[key] = list(dict.fromkeys((*own[key], *other[key])))
    after: Any = tx.get(target.id).attributes  # Aliases of both concepts.
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
    names = [
        concept.attributes.get(NAME, None if "://" in concept.name else concept.name)
        for concept in (source, target)
    ]
    name = names[0]
    if not isinstance(name, str) or name == names[1]:
        return None
    return name if len(name.splitlines()) == 1 else None


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _missing_metadata(source: Concept, target: Concept) -> JsonObject:
    """The metadata that the target takes over: missing keys, and united lists of texts."""
    own, other = target.metadata, source.metadata
    without = _OF_SOURCE | OF_UPKEEP | {EVIDENCE}
    without |= set(OWN_SOURCE) if own_source(own) else set()
    return {
        key: list(dict.fromkeys((*own[key], *value))) if key in own else value
        for key, value in other.items()
        if not key.startswith("_") and key not in without
        if key not in own or (_are_texts(own[key]) and _are_texts(value))
    }


def _further_source(source: Concept, target: Concept, metadata: JsonObject) -> JsonObject:
    """The evidence of the target with that of the source, and the source's own as an entry.

    The entry names the source, because its author, source and confidence hold only for its values.
    """
    own, other = own_source({**metadata, **target.metadata}), own_source(source.metadata)
    before, others = (side.metadata.get(EVIDENCE, []) for side in (target, source))
    if not (isinstance(before, list) and isinstance(others, list)):
        return {}
    further = list(others)
    if any(own.get(key) != value for key, value in other.items()):
        name = _title(source, target) or source.name
        further.append({**as_entry(other), "at": times.to_text(source.updated_us), OF: name})
    united = [*before, *(entry for entry in further if entry not in before)]
    return {EVIDENCE: united} if further else {}


def _lost_values(source: Concept, target: Concept, united: JsonObject) -> list[str]:
    """Sentences about the type and attributes of the source that were not taken over."""
    lost = []
    if source.type != target.type:
        lost.append(f"It had the type {source.type}; the type {target.type} stays.")
    own, other = target.attributes, source.attributes
    for key in other.keys() & own.keys() - united.keys() - {_ALIASES, NAME, STAMP}:
        if own[key] != other[key]:
            most = CONTENT_CHARACTERS if key in _TEXTS else VALUE_CHARACTERS
            value = shorten(_text_of(other[key]), most)
            lost.append(f"Both have {key}; the value of the merged node was: {value}")
    return lost


def _lost_metadata(source: Concept, target: Concept, metadata: JsonObject) -> list[str]:
    """Sentences about the metadata of the source that was not taken over."""
    return [
        f"Its {key} in the metadata was {shorten(_text_of(value), VALUE_CHARACTERS)};"
        " it is not taken over."
        for key, value in source.metadata.items()
        if not key.startswith("_") and key not in OF_UPKEEP and key not in OWN_SOURCE
        if metadata.get(key) is None and target.metadata.get(key) != value
    ]


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
