"""Types and relation types in a few lines: required and present attributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from mycel.api.graph import Graph
from mycel.model.names import CONCEPT_TYPE, shorten
from mycel.model.values import JsonObject
from mycel.schema.definitions import AttributeRule, concept_definition

DESCRIPTION_CHARACTERS: Final = 300
VALUES_SHOWN: Final = 8
NAMES_SHOWN: Final = 5


def required_properties(db: Graph, names: Sequence[str]) -> dict[str, list[str]]:
    """The properties without a default that each of these types requires, if it requires any."""
    command = "FIND(?t.name, ?t.attributes) WHERE { ?t {type: :meta} FILTER(IN(?t.name, :names)) }"
    rows = db.execute(command, {"meta": CONCEPT_TYPE, "names": list(names)}) if names else ()
    definitions = (concept_definition(name, attributes) for name, attributes in rows)
    required = {definition.name: list(_required(definition.rules)) for definition in definitions}
    return {name: properties for name, properties in required.items() if properties}


def name_with_required(name: str, required: Mapping[str, list[str]]) -> str:
    """The name of a type, with the properties that an instance must have."""
    return f"{name} (requires {', '.join(required[name])})" if name in required else name


def concise(payload: JsonObject) -> str:
    """The answer to DESCRIBE … TYPE in a few lines."""
    attributes = payload["attributes"]
    count = payload.get("instance_count", payload.get("link_count"))
    lines = [
        f"{payload['name']}: {count} {'instances' if 'instance_count' in payload else 'links'}"
    ]
    if description := attributes.get("description"):
        lines.append(shorten(" ".join(str(description).split()), DESCRIPTION_CHARACTERS))
    lines += _ends(attributes) if "link_count" in payload else []
    lines += _properties(payload["name"], attributes)
    lines += _undeclared_attributes(payload, attributes)
    lines += _relationships(payload.get("relationships", {}))
    if samples := payload.get("sample_instances"):
        examples = ", ".join(shorten(sample, 60) for sample in samples[:NAMES_SHOWN])
        lines.append(f"for example: {examples}")
    lines.append(payload["example"])
    lines.append("detail: detailed gives the whole definition.")
    return "\n".join(lines)


def _required(rules: Iterable[AttributeRule]) -> Iterable[str]:
    return (rule.name for rule in rules if rule.is_required and not rule.has_default)


def _properties(name: str, attributes: JsonObject) -> list[str]:
    rules = concept_definition(name, attributes).rules
    required = set(_required(rules))
    return [
        f"{title}: {', '.join(map(_property, chosen))}"
        for title, chosen in (
            ("required", [rule for rule in rules if rule.name in required]),
            ("optional", [rule for rule in rules if rule.name not in required]),
        )
        if chosen
    ]


def _property(rule: AttributeRule) -> str:
    if rule.enum:
        values = " | ".join(str(value) for value in rule.enum[:VALUES_SHOWN])
        return f"{rule.name} ({values}{' | …' if len(rule.enum) > VALUES_SHOWN else ''})"
    kinds = "/".join(sorted(rule.types - {"null"}))
    items = "/".join(sorted(rule.item_types))
    return f"{rule.name} {kinds}{f' of {items}' if items else ''}".rstrip()


def _ends(attributes: JsonObject) -> list[str]:
    ends = [attributes.get(f"{end}_types") or ["*"] for end in ("subject", "object")]
    marks = [key[3:] for key in ("is_symmetric", "is_transitive") if attributes.get(key) is True]
    subjects, objects = (" | ".join(map(str, end)) for end in ends)
    return [f"{subjects} → {objects}{''.join(f', {mark}' for mark in marks)}"]


def _undeclared_attributes(payload: JsonObject, attributes: JsonObject) -> list[str]:
    """The attributes of instances that the definition does not name."""
    schema = attributes.get("instance_schema")
    declarations = schema if isinstance(schema, dict) else {}
    keys = [
        attribute["key"]
        for attribute in payload.get("attributes_seen", ())
        if attribute["key"] not in declarations
    ]
    return [f"also seen: {', '.join(shorten(str(key), 60) for key in keys)}"] if keys else []


def _relationships(payload: Mapping[str, Any]) -> list[str]:
    lines = []
    for title, key in (("out", "outgoing"), ("in", "incoming")):
        predicates = [str(relation.get("predicate")) for relation in payload.get(key, ())]
        if predicates:
            lines.append(f"relations {title}: {', '.join(predicates)}")
    return lines
