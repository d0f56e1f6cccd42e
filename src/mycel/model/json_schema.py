"""JSON Schemas, as functions that make their common forms.

>>> record({"name": text("Readable"), "tags": texts()}, "name")["required"]
['name']
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]


def typed(kind: str, description: str = "", **more: Any) -> Schema:
    """The schema of a JSON type."""
    return {"type": kind} | ({"description": description} if description else {}) | more


def text(description: str = "", **more: Any) -> Schema:
    return typed("string", description, **more)


def array(items: Schema, description: str = "", **more: Any) -> Schema:
    return typed("array", description, items=items, **more)


def texts(description: str = "") -> Schema:
    return array(text(), description)


def record(properties: Mapping[str, Any], *required: str, **more: Any) -> Schema:
    """The schema of an object with some properties, of which some are required."""
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "properties": dict(properties)} | needed | more


def closed_record(properties: Mapping[str, Any], *required: str, **more: Any) -> Schema:
    """The schema of an object that has no other properties than these."""
    return record(properties, *required, additionalProperties=False, **more)
