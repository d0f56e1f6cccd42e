"""The values of one command: literals, and parameters in the place of placeholders.

A parameter is bound as one JSON value, so its text cannot change the structure of the command.
Parameters without a placeholder are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar, assert_never

import orjson

from mycel.errors import (
    ConstraintViolation,
    InvalidValueType,
    MycelError,
    ResourceExhausted,
    UnknownReference,
    did_you_mean,
)
from mycel.kip import ast
from mycel.model.limits import INTEGER_MAX
from mycel.model.names import kind_of, shorten
from mycel.model.values import JsonObject, json_object, unwritable
from mycel.syntax.diagnostics import located

_NAMES_SHOWN_MAX: Final = 20
TEMPLATE_VALUES_MAX: Final = 1 << 19
"""The maximum number of values of an array or object in a command, values of parameters
included."""

Error = TypeVar("Error", bound=MycelError)


class Values:
    """Resolves the value nodes of one command to JSON.

    >>> values = Values({"name": "Ada"})
    >>> values.text(ast.Placeholder("name"), "name of a concept")
    'Ada'
    >>> values.value(ast.ObjectTemplate((("who", ast.Placeholder("name")),)))
    {'who': 'Ada'}
    """

    __slots__ = ("_checked", "_sizes", "parameters")

    def __init__(self, parameters: Mapping[str, Any] | None = None) -> None:
        if parameters.__class__ is not dict and not isinstance(parameters, Mapping | None):
            raise InvalidValueType(
                f"The parameters must be an object, not {json_kind(parameters)}.",
                hint='Send them as {"name": value, …}, a value for each :name in the command.',
            )
        self.parameters: Final[Mapping[str, Any]] = {} if parameters is None else parameters
        """The parameters as the caller gave them, unchecked."""
        self._checked: dict[str, Any] = {}
        self._sizes: dict[str, int] = {}

    def value(self, node: ast.Value) -> Any:
        """The JSON value of a node. Treat it as read-only: it may be shared."""
        match node:
            case ast.Literal(value):
                return value
            case ast.Placeholder(name):
                if name not in self._checked:
                    self._checked[name] = self._parameter(node)
                return self._checked[name]
            case ast.ArrayTemplate() | ast.ObjectTemplate():
                if self._size(node) > TEMPLATE_VALUES_MAX:
                    raise ResourceExhausted(
                        f"With its parameters this has more than {TEMPLATE_VALUES_MAX} values.",
                        hint="Use a large parameter once, or send smaller ones.",
                        span=node.span,
                    )
                return self._filled(node)
            case _:
                assert_never(node)

    def _filled(self, node: ast.Value) -> Any:
        match node:
            case ast.ArrayTemplate(items):
                return [self._filled(item) for item in items]
            case ast.ObjectTemplate(entries):
                return {key: self._filled(item) for key, item in entries}
            case _:
                return self.value(node)

    def _size(self, node: ast.Value) -> int:
        """The number of values in a template; those of a parameter are counted once."""
        match node:
            case ast.ArrayTemplate(items):
                return 1 + sum(map(self._size, items))
            case ast.ObjectTemplate(entries):
                return 1 + sum(self._size(item) for _, item in entries)
            case ast.Placeholder(name):
                if name not in self._sizes:
                    self._sizes[name] = _count(self.value(node))
                return self._sizes[name]
            case _:
                return 1

    def text(self, node: ast.Text, what: str) -> str:
        """A string; `what` names it in the error ("name of a concept")."""
        value = node.value if node.__class__ is ast.Literal else self.value(node)
        if value.__class__ is not str:
            raise _mistyped(node, value, what, "a string")
        text: str = value
        return text

    def number(self, node: ast.Number, what: str) -> int | float:
        """A number; booleans are refused."""
        value = self.value(node)
        if value.__class__ is int or value.__class__ is float:
            number: int | float = value
            return number
        raise _mistyped(node, value, what, "a number")

    def integer(self, node: ast.Number, what: str) -> int:
        """A whole number."""
        value = integral(self.value(node))
        if value.__class__ is not int:
            raise _mistyped(node, value, what, "a whole number")
        if value > INTEGER_MAX:
            raise InvalidValueType(
                f"The {what} must be at most {INTEGER_MAX}, not {value}.",
                hint="Give a smaller number.",
                span=node.span,
            )
        return int(value)

    def positive(self, node: ast.Number, what: str) -> int:
        """A whole number from 1 on."""
        number = self.integer(node, what)
        if number < 1:
            raise ConstraintViolation(
                f"The {what} must be positive, not {number}.",
                hint="Give a whole number from 1 on.",
                span=node.span,
            )
        return number

    def cursor(self, node: ast.Text) -> str | None:
        """The cursor of a page; None for the first page. null and "" mean the first page too."""
        if self.value(node) is None:
            return None
        return self.text(node, "CURSOR") or None

    def mapping(self, node: ast.Map, what: str) -> JsonObject:
        value = self.value(node)
        if value.__class__ is not dict:
            raise _mistyped(node, value, what, "an object")
        mapping: JsonObject = value
        return mapping

    def _parameter(self, node: ast.Placeholder) -> Any:
        name = node.name
        if name not in self.parameters:
            raise located(self._missing(name), node.span)
        value = self.parameters[name]
        if value.__class__ is str and value.isascii():
            return value  # An ASCII string is the usual case.
        label = f"values of the parameter :{shorten(name)}"
        is_object = value.__class__ is dict
        payload = value if is_object else {name: value}
        try:
            payload = json_object(payload, label)
            value = payload if is_object else payload[name]
            if value is None or value.__class__ in _IMMUTABLE:
                return value
            return orjson.loads(orjson.dumps(value))  # A copy in plain JSON.
        except orjson.JSONEncodeError as error:
            raise located(unwritable(payload, label, error), node.span) from None
        except MycelError as error:
            raise located(error, node.span) from None

    def _missing(self, name: str) -> UnknownReference:
        names_given = sorted(str(parameter) for parameter in self.parameters)
        names = ", ".join(f":{shorten(parameter)}" for parameter in names_given[:_NAMES_SHOWN_MAX])
        more = " and more" if len(names_given) > _NAMES_SHOWN_MAX else ""
        sentence = f"Given were {names}{more}." if names_given else "No parameters were given."
        close = did_you_mean(name, names_given)
        return UnknownReference(
            f"The parameter :{shorten(name)} is not given.",
            hint=f"Add {shorten(name)!r} to the parameters. {sentence} {close}".strip(),
            data={"parameter": name},
        )


def _count(value: Any) -> int:
    """The number of values in a JSON value."""
    if value.__class__ is list:
        return 1 + sum(map(_count, value))
    return 1 + sum(map(_count, value.values())) if value.__class__ is dict else 1


_IMMUTABLE: Final = frozenset((bool, int, float))
"""Types of scalars that need no copy in plain JSON.

A string may hold a lone surrogate, which the copy refuses, so it is not among them.
"""

_KINDS: Final[dict[type, str]] = {
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    list: "an array",
    tuple: "an array",
    dict: "an object",
    type(None): "null",
}


def integral(value: Any) -> Any:
    """A float without a fraction as an integer, anything else unchanged: clients write 3.0 for 3.

    >>> integral(3.0), integral(3.5), integral("3")
    (3, 3.5, '3')
    """
    return int(value) if value.__class__ is float and value.is_integer() else value


def json_kind(value: object) -> str:
    """The JSON kind of a value with its article, for a message.

    >>> json_kind([1]), json_kind(None), json_kind({1})
    ('an array', 'null', 'a Python set')
    """
    return _KINDS.get(type(value), f"a Python {kind_of(value)}")


def _mistyped(node: ast.Value, value: object, label: str, noun: str) -> MycelError:
    shown_value = (
        f":{shorten(node.name)}" if isinstance(node, ast.Placeholder) else shorten(repr(value))
    )
    kind = "a fraction" if noun == "a whole number" and type(value) is float else json_kind(value)
    error = InvalidValueType(
        f"The {label} must be {noun}; {shown_value} is {kind}.", hint=f"Give {noun} there."
    )
    return located(error, node.span)
