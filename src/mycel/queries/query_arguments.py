"""The values of a call, checked against the parameters of a named query.

Integers of 64 bits may be given as texts, because JavaScript rounds them. Texts from a command line
are converted to the type of the parameter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from math import isfinite
from typing import Any, Final, assert_never

from mycel.errors import InvalidSyntax, InvalidValueType, did_you_mean
from mycel.model.names import kind_of, shorten
from mycel.queries.declaration import NO_DEFAULT, NamedQuery, QueryParameter
from mycel.schema.scalars import SCALARS

_INTEGER: Final = re.compile(r"-?\d{1,20}", re.ASCII)
_TRUTHS: Final = {"true": True, "false": False}
_LIST_MAX: Final = 10_000


def checked_arguments(query: NamedQuery, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The value of each parameter.

    Raises:
        InvalidSyntax: a parameter is missing or unknown.
        InvalidValueType: a value does not have the type of its parameter.
    """
    names = [parameter.name for parameter in query.parameters]
    for name in arguments:
        if name not in names:
            hint = did_you_mean(str(name), names) or f"It takes {', '.join(names) or 'none'}."
            raise InvalidSyntax(
                f"The query {query.name} has no parameter {shorten(str(name))!r}.", hint=hint
            )
    return {parameter.name: _value(query, parameter, arguments) for parameter in query.parameters}


def _value(query: NamedQuery, parameter: QueryParameter, arguments: Mapping[str, Any]) -> Any:
    if parameter.name in arguments:
        value = arguments[parameter.name]
    elif parameter.default is not NO_DEFAULT:
        value = parameter.default
    elif parameter.is_optional:
        return None
    else:
        raise InvalidSyntax(
            f"The query {query.name} needs the parameter {parameter.name!r}.",
            hint=f"It is of the type {parameter.type_text}. {parameter.description}".strip(),
        )
    if value is None and parameter.is_optional:
        return None
    if not parameter.is_list:
        return _scalar(query, parameter, value)
    if not isinstance(value, list) or len(value) > _LIST_MAX:
        raise _wrong(query, parameter, value)
    return [_scalar(query, parameter, item) for item in value]


def _scalar(query: NamedQuery, parameter: QueryParameter, value: Any) -> Any:
    match parameter.type:
        case "String":
            if isinstance(value, str):
                return value
        case "Bool":
            value = _TRUTHS.get(value, value) if isinstance(value, str) else value
            if isinstance(value, bool):
                return value
        case "I32" | "U32" | "I64" | "U64" as name:
            if isinstance(value, str) and _INTEGER.fullmatch(value):
                value = int(value)
            integer = value if isinstance(value, int) and not isinstance(value, bool) else None
            limits = SCALARS[name].limits
            if integer is not None and limits and limits[0] <= integer <= limits[1]:
                return value
        case "F32" | "F64":
            number = _number(value)
            if number is not None:
                return number
        case "Date" | "DateTime" as name:
            if isinstance(value, date):
                return value.isoformat()
            if isinstance(value, str) and _is_time(value, is_date=name == "Date"):
                return value
        case "Json":
            return value
        case _:
            assert_never(parameter.type)
    raise _wrong(query, parameter, value)


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return value if isinstance(value, int) else number if isfinite(number) else None


def _is_time(text: str, *, is_date: bool) -> bool:
    try:
        if is_date:
            date.fromisoformat(text)
        else:
            datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _wrong(query: NamedQuery, parameter: QueryParameter, value: Any) -> InvalidValueType:
    text = shorten(repr(value)) if isinstance(value, str | int | float) else kind_of(value)
    return InvalidValueType(
        f"The parameter {parameter.name!r} of {query.name} is {parameter.type_text}, and not"
        f" {text}.",
        hint=parameter.description,
    )
