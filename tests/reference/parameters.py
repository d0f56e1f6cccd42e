"""The values of a command: literals, and parameters in the place of placeholders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mycel.errors import ConstraintViolation, InvalidValueType, UnknownReference
from mycel.kip import ast
from mycel.model.limits import INTEGER_MAX
from mycel.model.values import object_text
from tests.reference.json_values import kind


class Parameters:
    """The values of the placeholders of one command."""

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        self.given = dict(given or {})

    def value(self, node: ast.Value) -> Any:
        """The JSON value that a node stands for."""
        match node:
            case ast.Literal(value):
                return value
            case ast.Placeholder(name):
                if name not in self.given:
                    raise UnknownReference(f"There is no parameter :{name}.")
                value = self.given[name]
                object_text({"value": value}, f"values of :{name}")  # Refuses what is no JSON.
                return value
            case ast.ArrayTemplate(items):
                return [self.value(item) for item in items]
            case ast.ObjectTemplate(entries):
                return {key: self.value(item) for key, item in entries}

    def text(self, node: ast.Text) -> str:
        return str(self._of_kind(node, "string"))

    def number(self, node: ast.Number) -> int | float:
        number: int | float = self._of_kind(node, "number")
        return number

    def whole(self, node: ast.Number) -> int:
        number = self.number(node)
        if number != int(number):
            raise InvalidValueType(f"{number} is no whole number.")
        if number > INTEGER_MAX:
            raise InvalidValueType(f"{number} is too large.")
        return int(number)

    def positive(self, node: ast.Number) -> int:
        number = self.whole(node)
        if number < 1:
            raise ConstraintViolation(f"{number} is not positive.")
        return number

    def array(self, node: ast.Value) -> list[Any]:
        return list(self._of_kind(node, "array"))

    def mapping(self, node: ast.Map | None) -> dict[str, Any]:
        """An object; where none is written, an empty one."""
        return {} if node is None else dict(self._of_kind(node, "object"))

    def _of_kind(self, node: ast.Value, wanted: str) -> Any:
        value = self.value(node)
        if kind(value) != wanted:
            given = f":{node.name}" if isinstance(node, ast.Placeholder) else "this"
            raise InvalidValueType(f"A value of kind {wanted} is needed; {given} is {kind(value)}.")
        return value
