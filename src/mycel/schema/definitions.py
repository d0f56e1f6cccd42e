"""Definitions of types and predicates made by KIP, and the check of instances against them.

Definitions are concepts (KIP §2.9) that people and models write and improve. They are read
leniently: an invalid entry has no effect, and no definition is an error:

    instance_schema      attribute -> {type, item_type, is_required, default_value, enum, merge}
    schema_enforcement   "strict": violations that are otherwise warnings refuse the write
    subject_types, object_types   names of types, or "*"; without these keys, any type
    is_symmetric, is_transitive   only `true` is true

A `type` is one of JSON's (`string number boolean array object null`), `integer`, or `any`; several
are joined with `|` or listed. `string[]` and `array<string>` say `item_type` in one word.

An attribute is missing if it is required, absent, and without a `default_value`, which would give
absence a meaning. An attribute that is not in the schema may have any value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from mycel.errors import InvalidValueType
from mycel.model.names import shorten
from mycel.model.retention import RETENTION, retention_in_words
from mycel.schema.merge_policies import MergePolicy, policy_of
from mycel.schema.model import quoted

ANY: Final = "*"
"""In a list of types: every concept of every type, and every link."""

_JSON_TYPES: Final = frozenset(
    ("string", "number", "integer", "boolean", "array", "object", "null")
)
KINDS: Final = _JSON_TYPES | {"any"}
"""The values of `type`."""
_OTHER_NAMES: Final = {
    "str": "string",
    "text": "string",
    "float": "number",
    "int": "integer",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
    "map": "object",
}
_ITEMS: Final = re.compile(r"(?:array|list)\s*<(?P<inner>[^<>]*)>|(?P<name>\w+)\s*\[\s*\]")
_ARTICLES: Final = {"array": "an", "integer": "an", "object": "an", "null": ""}

_Types = frozenset[str]
"""Allowed JSON types; an empty set allows all."""
_ANYTHING: Final[_Types] = frozenset()


@dataclass(frozen=True, slots=True)
class AttributeRule:
    """The rules of `instance_schema` for one attribute."""

    name: str
    types: _Types = _ANYTHING
    item_types: _Types = _ANYTHING
    is_required: bool = False
    has_default: bool = False
    enum: tuple[Any, ...] = ()
    """The expected values; empty if any value is allowed."""
    description: str = ""
    merge: MergePolicy | None = None


@dataclass(frozen=True, slots=True)
class ConceptDefinition:
    """The rules of a `$ConceptType` for concepts of its type."""

    name: str
    description: str = ""
    rules: tuple[AttributeRule, ...] = ()
    is_strict: bool = False
    retention: str = ""
    """The rule of retention in words; empty without a valid rule."""
    is_functional: bool = False

    @property
    def takes_anything(self) -> bool:
        return not any(rule.types or rule.is_required or rule.enum for rule in self.rules)


@dataclass(frozen=True, slots=True)
class PredicateDefinition:
    """The rules of a `$PropositionType` for links with its predicate."""

    name: str
    description: str = ""
    subject_types: tuple[str, ...] = (ANY,)
    object_types: tuple[str, ...] = (ANY,)
    is_symmetric: bool = False

    def types_at(self, end: Literal["subject", "object"]) -> tuple[str, ...]:
        """The types that this end of a link may have."""
        return self.subject_types if end == "subject" else self.object_types

    @property
    def takes_anything(self) -> bool:
        return ANY in self.subject_types and ANY in self.object_types


def concept_definition(name: str, attributes: Mapping[str, Any]) -> ConceptDefinition:
    """Read the attributes of a `$ConceptType`."""
    schema = attributes.get("instance_schema")
    entries = schema.items() if isinstance(schema, Mapping) else ()
    return ConceptDefinition(
        name=name,
        description=_text(attributes.get("description")),
        rules=tuple(_rule(key, entry) for key, entry in entries if isinstance(entry, Mapping)),
        is_strict=attributes.get("schema_enforcement") == "strict",
        retention=retention_in_words(attributes.get(RETENTION)),
        is_functional=attributes.get("functional") is True,
    )


def merge_policies(attributes: Mapping[str, Any]) -> dict[str, MergePolicy]:
    """The merge policy of each attribute that has one, from the attributes of a definition.

    They are in `instance_schema`, where KIP writes them directly and a schema writes its `@merge`.

    >>> merge_policies({"instance_schema": {"tags": {"merge": "set"}, "age": {"merge": "oldest"}}})
    {'tags': 'set'}
    """
    rules = concept_definition("", attributes).rules
    return {rule.name: rule.merge for rule in rules if rule.merge is not None}


def predicate_definition(name: str, attributes: Mapping[str, Any]) -> PredicateDefinition:
    """Read the attributes of a `$PropositionType`."""
    return PredicateDefinition(
        name=name,
        description=_text(attributes.get("description")),
        subject_types=_names(attributes.get("subject_types")) or (ANY,),
        object_types=_names(attributes.get("object_types")) or (ANY,),
        is_symmetric=attributes.get("is_symmetric") is True,
    )


def _rule(name: str, entry: Mapping[str, Any]) -> AttributeRule:
    types, items = _types(entry.get("type"))
    enum = entry.get("enum")
    return AttributeRule(
        name=name,
        types=types,
        item_types=_types(entry.get("item_type"))[0] or items,
        is_required=entry.get("is_required") is True,
        has_default=entry.get("default_value") is not None,
        enum=tuple(enum) if isinstance(enum, list) else (),
        description=_text(entry.get("description")),
        merge=policy_of(entry.get("merge")),
    )


def _types(value: object) -> tuple[_Types, _Types]:
    """The types that a schema allows for a value, and for the items of an array.

    An unknown word allows everything, because it would be worse to refuse values that the author
    meant to permit.
    """
    types: set[str] = set()
    items: _Types = _ANYTHING
    for word in _words(value) or ():
        if inner := _ITEMS.fullmatch(word):
            types.add("array")
            items = _types(inner["inner"] or inner["name"])[0]
            continue
        json_type = _OTHER_NAMES.get(word, word)
        if json_type not in _JSON_TYPES:
            return _ANYTHING, _ANYTHING
        types.add(json_type)
    return frozenset(types), items


def _words(value: object) -> list[str] | None:
    """The words of a `type`: a text with `|` between them, or a list."""
    words = value.split("|") if isinstance(value, str) else value
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return None
    return [word.strip().lower() for word in words]


def unknown_kinds(value: object) -> list[str]:
    """The words of a `type` that name no type; with such a word, every value is allowed.

    >>> unknown_kinds("string | Date[]"), unknown_kinds("any")
    (['date'], [])
    """
    words = _words(value)
    if words is None:
        return [] if value is None else [shorten(json.dumps(value))]
    unknown: list[str] = []
    for word in words:
        if inner := _ITEMS.fullmatch(word):
            unknown += unknown_kinds(inner["inner"] or inner["name"])
        elif _OTHER_NAMES.get(word, word) not in KINDS:
            unknown.append(word)
    return unknown


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _names(value: object) -> tuple[str, ...]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list):
        return ()
    return tuple(name for name in values if isinstance(name, str) and name)


def check_values(
    definition: ConceptDefinition,
    name: str,
    attributes: Mapping[str, Any],
    before: Mapping[str, Any] | None = None,
) -> None:
    """Refuse an attribute whose JSON type contradicts the schema.

    A value equal to the one in `before` is not checked: an earlier definition has accepted it.
    """
    for rule in definition.rules:
        if rule.name not in attributes:
            continue
        wrong = _contradiction(rule, attributes[rule.name])
        if wrong is None or is_unchanged(rule.name, attributes, before or {}):
            continue
        place, expected, actual = wrong
        either = " or ".join(with_article(kind) for kind in sorted(expected))
        raise InvalidValueType(
            f"{place} of {definition.name} {quoted(name)} must be {either},"
            f" not {with_article(actual)}.",
            hint=f"Correct the value; {see(definition)}",
            data={
                "type": definition.name,
                "attribute": rule.name,
                "expected": sorted(expected),
                "actual": actual,
            },
        )


def is_unchanged(key: str, after: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """True if an attribute has the same JSON text in both. In Python, `True` would equal `1`."""
    if key not in before or key not in after:
        return False
    return json.dumps(after[key], sort_keys=True) == json.dumps(before[key], sort_keys=True)


def _contradiction(rule: AttributeRule, value: object) -> tuple[str, _Types, str] | None:
    """For a value that contradicts its rule: its place, the expected types, and its own type."""
    if value is None:  # Null counts as absent; `missing` reports required attributes.
        return None
    if not _is_one_of(value, rule.types):
        return f"The attribute {quoted(rule.name)}", rule.types, json_type(value)
    if isinstance(value, list) and rule.item_types:
        for at, item in enumerate(value):
            if not _is_one_of(item, rule.item_types):
                place = f"Item {at} of the attribute {quoted(rule.name)}"
                return place, rule.item_types, json_type(item)
    return None


def _is_one_of(value: object, types: _Types) -> bool:
    if not types:
        return True
    actual = json_type(value)
    if actual == "number" and "integer" in types:
        return (
            "number" in types
            or isinstance(value, int)
            or (isinstance(value, float) and value.is_integer())
        )
    return actual in types


def missing(definition: ConceptDefinition, attributes: Mapping[str, Any]) -> tuple[str, ...]:
    """The required attributes that are absent or null."""
    return tuple(
        rule.name
        for rule in definition.rules
        if rule.is_required
        and not rule.has_default
        and attributes.get(rule.name) is None
        and not (rule.name in attributes and "null" in rule.types)
    )


def unexpected(definition: ConceptDefinition, attributes: Mapping[str, Any]) -> tuple[str, ...]:
    """The attributes whose value, or an item of it, is not among the values of the enum."""
    return tuple(
        rule.name
        for rule in definition.rules
        if rule.enum
        and (value := attributes.get(rule.name)) is not None
        and not _is_listed(value, rule.enum)
    )


def _is_listed(value: object, enum: tuple[Any, ...]) -> bool:
    # Types are compared too, because in Python `True` equals 1.
    if any(json_type(value) == json_type(member) and value == member for member in enum):
        return True
    return isinstance(value, list) and all(_is_listed(item, enum) for item in value)


def json_type(value: object) -> str:
    """The JSON type of a value.

    >>> json_type(True), json_type(1.5), json_type([])
    ('boolean', 'number', 'array')
    """
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case _:
            return "object"


def see(definition: ConceptDefinition | PredicateDefinition) -> str:
    """The end of a hint: the command that shows a definition."""
    kind = "CONCEPT" if isinstance(definition, ConceptDefinition) else "PROPOSITION"
    name = json.dumps(definition.name, ensure_ascii=False)
    return f"DESCRIBE {kind} TYPE {name} shows what is expected."


def with_article(json_type_: str) -> str:
    """A JSON type with its article, for a sentence."""
    return f"{_ARTICLES.get(json_type_, 'a')} {json_type_}".strip()
