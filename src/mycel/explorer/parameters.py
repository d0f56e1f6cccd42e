"""Checked values of the parameters of a view.

Parameters come as texts from a URL, each perhaps several times, or as JSON values from a body. Both
become the same values. An error names the parameter and the right form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from sys import float_info
from typing import Any, Final, Literal, assert_never

from mycel.errors import ConstraintViolation, InvalidSyntax, InvalidValueType, did_you_mean
from mycel.model.names import json_kind, shorten

ArgumentKind = Literal["text", "whole", "number", "texts", "flag", "object", "objects", "any"]


@dataclass(frozen=True, slots=True)
class Argument:
    """One parameter of a view."""

    kind: ArgumentKind
    description: str = ""
    default: Any = None
    least: int = 1
    most: int = 0
    """The largest number, or the largest number of texts; 0 for none."""
    words: tuple[str, ...] = ()
    """The allowed texts, if not every text is allowed."""
    required: bool = False


_NUMBER_CHARACTERS_MAX: Final = 40
_NUMBER_MAX: Final = float_info.max

Parameters = Mapping[str, Argument]

AT: Final = Argument(
    "text", "Show the state at a position of the journal, a commit, a tag or a time; without, now"
)
ID: Final = Argument("text", "A URI, or an id such as C:12", required=True)
CURSOR: Final = Argument("text", "next_cursor of the page before")


def integer_parameter(description: str, default: int | None, most: int, least: int = 1) -> Argument:
    """A whole number within bounds."""
    return Argument("whole", description, default, least, most)


def checked(view: str, parameters: Parameters, values: Mapping[str, Any]) -> dict[str, Any]:
    """The value of every parameter of a view.

    Raises:
        InvalidSyntax: a parameter is unknown or missing.
        InvalidValueType, ConstraintViolation: a parameter does not take its value.
    """
    unknown = sorted(values.keys() - parameters.keys())
    if unknown:
        close = did_you_mean(shorten(unknown[0]), list(parameters))
        raise InvalidSyntax(
            f"{view} has no parameter {shorten(unknown[0])!r}.",
            hint=f"{close} It takes {', '.join(parameters) or 'none'}.".lstrip(),
        )
    arguments = {}
    for name, parameter in parameters.items():
        value = values.get(name)
        if value is None:
            if parameter.required:
                raise InvalidSyntax(
                    f"{view} needs the parameter {name!r}.", hint=f"{parameter.description}."
                )
            arguments[name] = parameter.default
            continue
        arguments[name] = _value(name, parameter, value)
    return arguments


def _value(name: str, parameter: Argument, value: Any) -> Any:
    match parameter.kind:
        case "texts":
            return _texts(name, parameter, value)
        case "whole":
            return _read_integer(name, parameter, _single(name, value))
        case "number":
            return _number(name, _single(name, value))
        case "flag":
            return _flag(name, _single(name, value))
        case "object":
            return _of_kind(name, value, dict, "an object")
        case "objects":
            kind = _of_kind(name, value, list, "a list of objects")
            if len(kind) > (parameter.most or len(kind)):
                raise ConstraintViolation(f"{name} has more than {parameter.most} items.")
            return [_of_kind(name, object_, dict, "a list of objects") for object_ in kind]
        case "any":
            return value
        case "text":
            return _text(name, parameter, _single(name, value))
        case _:
            assert_never(parameter.kind)


def _single(name: str, value: Any) -> Any:
    if isinstance(value, list):
        if len(value) != 1:
            raise InvalidSyntax(f"{name} is given {len(value)} times.", hint="Give it once.")
        return value[0]
    return value


def _text(name: str, parameter: Argument, value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and parameter is AT:
        if not -_NUMBER_MAX <= value <= _NUMBER_MAX:
            raise ConstraintViolation(f"{name} is {_quoted(value)}.", hint="It is a position.")
        return str(value)
    if not isinstance(value, str):
        raise InvalidValueType(f"{name} must be a text, not {json_kind(value)}.")
    if parameter.words and value not in parameter.words:
        raise ConstraintViolation(
            f"{name} cannot be {shorten(value)!r}.", hint=f"It is {' or '.join(parameter.words)}."
        )
    if parameter.most and len(value) > parameter.most:
        raise ConstraintViolation(f"{name} has more than {parameter.most} characters.")
    return value


def _texts(name: str, parameter: Argument, value: Any) -> list[str]:
    texts: Sequence[Any] = value.split() if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InvalidValueType(f"{name} must be a list of texts.")
    if parameter.most and len(texts) > parameter.most:
        raise ConstraintViolation(
            f"{name} has {len(texts)} items; at most {parameter.most} are taken at once.",
            hint="Ask for a part of them.",
        )
    return list(texts)


def _read_integer(name: str, parameter: Argument, value: Any) -> int:
    number = value
    if isinstance(value, str):
        digits = value.isascii() and value.isdecimal() and len(value) < 19
        number = int(value) if digits else None
    if not isinstance(number, int) or isinstance(number, bool):
        raise InvalidValueType(f"{name} must be a whole number, not {_quoted(value)}.")
    if number < parameter.least or (parameter.most and number > parameter.most):
        raise ConstraintViolation(
            f"{name} is {_quoted(number)}.",
            hint=f"It is a number from {parameter.least} to {parameter.most}.",
        )
    return number


def _number(name: str, value: Any) -> float:
    number = value
    if isinstance(value, str):
        try:
            number = float(value) if len(value) < _NUMBER_CHARACTERS_MAX else None
        except ValueError:
            number = None
    if (
        not isinstance(number, int | float)
        or isinstance(number, bool)
        or not -_NUMBER_MAX <= number <= _NUMBER_MAX
    ):
        raise InvalidValueType(f"{name} must be a number, not {_quoted(value)}.")
    return number


def _quoted(value: Any) -> str:
    """A value for a message. Python refuses to print numbers of several thousand digits."""
    if isinstance(value, int) and not -_NUMBER_MAX <= value <= _NUMBER_MAX:
        return "a number of more than 300 digits"
    return shorten(repr(value))


def _flag(name: str, value: Any) -> bool:
    words = {"1": True, "true": True, "0": False, "false": False}
    flag = words.get(value) if isinstance(value, str) else value
    if not isinstance(flag, bool):
        raise InvalidValueType(f"{name} must be true or false, not {_quoted(value)}.")
    return flag


def _of_kind(name: str, value: Any, kind: type, noun: str) -> Any:
    if not isinstance(value, kind):
        raise InvalidValueType(f"{name} must be {noun}, not {json_kind(value)}.")
    return value
