"""Warnings about entries of a definition that have no effect, one sentence each.

Definitions are read leniently. The warnings keep authors from relying on a rule that does not
exist.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from mycel.errors import MycelError, did_you_mean
from mycel.model.names import CONCEPT_TYPE, shorten
from mycel.model.retention import RETENTION, parse_retention
from mycel.schema.definitions import (
    ANY,
    KINDS,
    json_type,
    predicate_definition,
    unknown_kinds,
    with_article,
)
from mycel.schema.foreign_words import by_word
from mycel.schema.merge_policies import MERGE_POLICIES
from mycel.schema.model import quoted

SLIPS_MAX: Final = 5
"""The maximum number of entries of one definition that are named."""
_COMPARED_MAX: Final = 120
_KINDS: Final = (
    "Types are string, number, integer, boolean, array, object, null and any; a date is a string."
)

_OF_CONCEPT_TYPES: Final = by_word(
    {
        "instance_schema": "instanceschema schema attributeschema",
        "schema_enforcement": "schemaenforcement",
        "key_instances": "keyinstances",
    }
)
_OF_PREDICATES: Final = by_word(
    {
        "subject_types": "subjecttypes subjecttype",
        "object_types": "objecttypes objecttype",
        "is_symmetric": "symmetric issymmetric",
        "is_transitive": "transitive istransitive",
        "functional": "isfunctional unique isunique",
    }
)
_OF_ENTRIES: Final = by_word(
    {
        "is_required": "required isrequired",
        "default_value": "default defaultvalue",
        "item_type": "items itemtype itemtypes",
        "enum": "enums",
    }
)
"""Other spellings of each key, in lower case and without punctuation."""


def slips(meta_type: str, name: str, attributes: Mapping[str, Any]) -> Iterator[str]:
    """Warnings about entries of a definition without effect, judged without other definitions."""
    spellings = _OF_CONCEPT_TYPES if meta_type == CONCEPT_TYPE else _OF_PREDICATES
    declared = attributes.get("instance_schema") if meta_type == CONCEPT_TYPE else None
    for message, suggestion in _misnamed(attributes, spellings):
        yield f"The definition of {name} says {message!r}, which has no effect; write {suggestion}."
    yield from _retention(name, attributes)
    if declared is None:
        return
    if not isinstance(declared, Mapping):
        yield (
            f"The instance_schema of {name} is not an object and has no effect; write"
            ' {attribute: {type: "string"}, …}.'
        )
    elif (properties := _json_schema(declared)) is not None:
        yield (
            f"The instance_schema of {name} looks like JSON Schema and has no effect; name the"
            f" attributes directly: {{{_key(next(iter(properties), 'attribute'))}:"
            ' {type: "string", is_required: true}}.'
        )
    else:
        yield from _entries(name, declared)


def _retention(name: str, attributes: Mapping[str, Any]) -> Iterator[str]:
    if RETENTION in attributes:
        try:
            parse_retention(attributes[RETENTION])
        except MycelError as error:
            yield f"The retention of {name} has no effect: {error.message} {error.hint}"


def undefined_ends(
    name: str, attributes: Mapping[str, Any], defined: Collection[str]
) -> Iterator[str]:
    """The names in `subject_types` and `object_types` that are not defined."""
    definition = predicate_definition(name, attributes)
    for key in ("subject_types", "object_types"):
        for type_name in getattr(definition, key):
            if type_name != ANY and type_name not in defined:
                others = [other for other in defined if other != name]
                close = did_you_mean(type_name, others) if len(type_name) < _COMPARED_MAX else ""
                yield (
                    f"The {key} of {name} name {shorten(type_name)!r}, which is not defined."
                    f" {close}".rstrip()
                )


def _misnamed(
    attributes: Mapping[str, Any], spellings: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Keys that have no effect, each with the key that was probably meant."""
    for key in attributes:
        suggestion = spellings.get("".join(letter for letter in key.casefold() if letter.isalnum()))
        if suggestion is not None and key != suggestion and suggestion not in attributes:
            yield shorten(key), suggestion


def _json_schema(declared: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The properties of a JSON Schema; None if `properties` is an ordinary attribute."""
    properties = declared.get("properties")
    if not isinstance(properties, Mapping):
        return None
    is_nested = bool(properties) and all(
        isinstance(property_, Mapping) for property_ in properties.values()
    )
    is_framed = isinstance(declared.get("type"), str) or isinstance(declared.get("required"), list)
    return properties if is_nested or is_framed else None


def _entries(name: str, declared: Mapping[str, Any]) -> Iterator[str]:
    count = 0
    for key, entry in declared.items():
        sentences = list(_entry(name, key, entry))
        count += bool(sentences)
        if count > SLIPS_MAX:
            yield f"More entries of the instance_schema of {name} are like that."
            return
        yield from sentences


def _entry(name: str, key: str, entry: object) -> Iterator[str]:
    if isinstance(entry, Mapping):
        for message, suggestion in _misnamed(entry, _OF_ENTRIES):
            yield (
                f"In the instance_schema of {name}, the entry {quoted(key)} says {message!r}, which"
                f" has no effect; write {suggestion}."
            )
        for part in ("type", "item_type"):
            for kind in unknown_kinds(entry.get(part)):
                close = did_you_mean(kind, sorted(KINDS)) if len(kind) < _COMPARED_MAX else ""
                yield (
                    f"In the instance_schema of {name}, the {part} of {quoted(key)} says"
                    f" {shorten(kind)!r}, which is not a type, so any value is accepted."
                    f" {close or _KINDS}"
                )
        policy = entry.get("merge")
        if policy is not None and policy not in MERGE_POLICIES:
            yield (
                f"In the instance_schema of {name}, the merge of {quoted(key)} says"
                f" {shorten(json.dumps(policy, ensure_ascii=False))}, which has no effect; write"
                f" one of {', '.join(MERGE_POLICIES)}."
            )
        return
    type_ = json.dumps(shorten(entry) if isinstance(entry, str) else "string", ensure_ascii=False)
    is_ = with_article(json_type(entry))
    yield (
        f"In the instance_schema of {name}, the entry {quoted(key)} is {is_}"
        f" instead of an object, and has no effect; write {_key(key)}: {{type: {type_}}}."
    )


def _key(key: str) -> str:
    """A key in the spelling of KIP."""
    return key if key.isidentifier() and key.isascii() else quoted(key)
