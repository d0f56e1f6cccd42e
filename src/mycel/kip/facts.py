"""What can be told about a command from its tree alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from mycel.kip import ast


def placeholders(node: object) -> Iterator[ast.Placeholder]:
    """Every placeholder in a tree, in the order in which they stand."""
    if isinstance(node, ast.Placeholder):
        yield node
    elif isinstance(node, tuple):
        for item in node:
            yield from placeholders(item)
    elif is_dataclass(node):
        for each in fields(node):
            if each.name != "span":
                yield from placeholders(getattr(node, each.name))
