"""The demands of definitions on their instances (KIP §2.9, Appendix 2).

A definition is a concept like any other, so its demands are read from its attributes each time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mycel.errors import ConstraintViolation, InvalidValueType
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE
from tests.reference.graph import Concept, Element, Graph, JsonObject
from tests.reference.json_values import identical, kind, same

ANY = "*"
"""In a list of types: whatever it is."""

JSON_TYPES = {"string", "number", "integer", "boolean", "array", "object", "null"}


def declared(element: Element, graph: Graph) -> Iterator[tuple[str, JsonObject]]:
    """The attributes that the element's type declares, each with its declaration."""
    if not isinstance(element, Concept):
        return
    definition = graph.concept(CONCEPT_TYPE, element.type)
    schema = definition.attributes.get("instance_schema") if definition else None
    for key, rule in schema.items() if isinstance(schema, dict) else ():
        if isinstance(rule, dict):
            yield key, rule


def check_types(before: Element | None, after: Element, graph: Graph) -> None:
    """Refuse a new value whose kind contradicts its declaration."""
    for key, rule in declared(after, graph):
        if key not in after.attributes:
            continue
        value = after.attributes[key]
        if before and key in before.attributes and identical(before.attributes[key], value):
            continue
        if value is None:
            continue  # That is as if it were absent.
        if not _fits(value, rule.get("type")):
            raise InvalidValueType(f"{key!r} must be {rule['type']}, not {kind(value)}.")
        for item in value if isinstance(value, list) else ():
            if not _fits(item, rule.get("item_type")):
                raise InvalidValueType(
                    f"Items of {key!r} must be {rule['item_type']}, not {kind(item)}."
                )


def _fits(value: Any, declared_type: object) -> bool:
    """True if a value is of a declared type, such as `string` or `integer | null`.

    A declaration that uses another word than those of JSON allows everything.
    """
    if not isinstance(declared_type, str):
        return True
    words = {word.strip() for word in declared_type.split("|")}
    if not words <= JSON_TYPES:
        return True
    is_whole = kind(value) == "number" and value == int(value)
    return kind(value) in words or ("integer" in words and is_whole)


def shortcomings(element: Element, graph: Graph) -> list[str]:
    """The demands that an element does not meet: required attributes, and listed values."""
    found = []
    for key, rule in declared(element, graph):
        value = element.attributes.get(key)
        listed = rule.get("enum")
        has_default = rule.get("default_value") is not None
        if value is None and rule.get("is_required") is True and not has_default:
            found.append(f"{key!r} is required")
        if value is not None and isinstance(listed, list) and not _is_among(value, listed):
            found.append(f"{key!r} is none of {listed}")
    return found


def _is_among(value: Any, listed: list[Any]) -> bool:
    return any(same(value, each) for each in listed)


def name_of(element: Element) -> str:
    """The name of an element in a message."""
    return f"{element.type} {element.name}" if isinstance(element, Concept) else element.predicate


def is_strict(element: Element, graph: Graph) -> bool:
    """True if an instance without a required attribute is refused, and not only warned about."""
    if not isinstance(element, Concept):
        return False
    definition = graph.concept(CONCEPT_TYPE, element.type)
    return definition is not None and definition.attributes.get("schema_enforcement") == "strict"


def check_ends(subject: int, predicate: str, object_: int, graph: Graph) -> None:
    """Refuse a link between elements that its predicate is not meant for.

    The lists name types of concepts, and predicates of links where a link may be an end.
    """
    definition = graph.concept(PROPOSITION_TYPE, predicate)
    attributes = definition.attributes if definition else {}
    for role, number in (("subject", subject), ("object", object_)):
        allowed = attributes.get(f"{role}_types")
        if not isinstance(allowed, list) or ANY in allowed:
            continue
        end = graph.elements[number]
        type_name = end.type if isinstance(end, Concept) else end.predicate
        if type_name not in allowed:
            raise ConstraintViolation(
                f"The {role} of {predicate!r} cannot be {type_name}.",
                hint=f"It can be: {', '.join(map(str, allowed))}.",
            )
