"""Whether a row is right as it is: all rules of a type as one expression of Python.

Nearly every row of a load is. To see that by calling a function or two for each property costs more
than to store the row, so the questions that `rows` would ask one by one are written out once, as

    attributes.keys() <= names
    and (v := get("email")).__class__ is str and v == name and matches(v)
    and ((v := get("age")) is None or v.__class__ is int and 0 <= v <= 150)

and compiled. A yes is certain. A no may only mean that a default has to be filled in, or that a
value is spelled otherwise: then `rows` takes its time, and finds the words for what is wrong.
Nothing that a schema says becomes part of the expression but numbers and the names of properties,
as literals.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime
from math import copysign
from typing import Any, Final

from mycel.model.values import JsonObject
from mycel.schema.float32 import SINGLE_MAX, single
from mycel.schema.model import (
    FLOATS,
    INTEGERS,
    Check,
    InstanceType,
    NodeType,
    Property,
    Range,
    limits_of,
)
from mycel.schema.property_values import RANGES, canonical_of, moment_in_name
from mycel.syntax.regex import matcher

Accepts = Callable[[JsonObject, str | None], bool]

_TEXTUAL: Final = {
    "String": "v.__class__ is str",
    "Date": "v.__class__ is str and len(v) == 10 and v[4] == v[7] == '-' and date(v)",
    "DateTime": "v.__class__ is str and len(v) == 24 and v[4:20:3] == '--T::.' and v[23] == 'Z'"
    " and v[11:13] != '24' and datetime(v)",
    "Bool": "v.__class__ is bool",
}


def accepting(declared: InstanceType) -> Accepts:
    """Tells of attributes, and the name of their concept, whether they are stored as they are.

    It may raise a ValueError, which means no.
    """
    names: dict[str, Any] = {
        "names": frozenset(each.name for each in declared.properties),
        "date": date.fromisoformat,
        "datetime": datetime.fromisoformat,
        "in_name": moment_in_name,
        "sign": copysign,
        "single": single,
    }
    questions = [] if declared.is_open else ["attributes.keys() <= names"]
    limits = limits_of(declared)
    questions += [_question(each, limits.get(each.name, ()), names) for each in declared.properties]
    if isinstance(declared, NodeType) and declared.key:
        questions.append(_key_question(declared))
    text = " and ".join(f"({each})" for each in questions) or "True"
    source = f"lambda attributes, name: bool((get := attributes.get, {text})[1])"
    made: Accepts = eval(source, names)
    return made


def _question(property_: Property, limits: Sequence[Range | Check], names: dict[str, Any]) -> str:
    parts = [_of_type(property_, limits, names), *_patterns(limits, names)]
    value = f"(v := get({property_.name!r}))"
    fits = " and ".join(parts)
    if property_.is_required or property_.default is not None:
        return f"{value} is not None and {fits}"
    return f"{value} is None or {fits}"


def _of_type(property_: Property, limits: Sequence[Range | Check], names: dict[str, Any]) -> str:
    type_, name = property_.type, property_.name
    if type_.enum_values is not None:
        names[f"enum_{name}"] = frozenset(type_.enum_values)
        return f"v.__class__ is str and v in enum_{name}"
    if not type_.is_list and type_.scalar in INTEGERS:
        low, high = _within(limits, *RANGES[type_.scalar])
        return f"v.__class__ is int and {low!r} <= v <= {high!r}"
    if not type_.is_list and type_.scalar in FLOATS:
        limit = SINGLE_MAX if type_.scalar == "F32" else sys.float_info.max
        low, high = _within(limits, -limit, limit)
        spelled = " and single(v) == v" if type_.scalar == "F32" else ""
        sign = "(v or sign(1.0, v) > 0)"
        return f"v.__class__ is float and {low!r} <= v <= {high!r} and {sign}{spelled}"
    if not type_.is_list and type_.scalar in _TEXTUAL:
        return _TEXTUAL[type_.scalar]
    names[f"canonical_{name}"] = canonical_of(type_)
    return f"canonical_{name}(v) is v"


def _within(
    limits: Sequence[Range | Check], low: float, high: float
) -> tuple[int | float, int | float]:
    """The narrowest that the type and every `@range` leave."""
    ranges = [each for each in limits if isinstance(each, Range)]
    return (
        max([low, *(each.minimum for each in ranges if each.minimum is not None)]),
        min([high, *(each.maximum for each in ranges if each.maximum is not None)]),
    )


def _patterns(limits: Sequence[Range | Check], names: dict[str, Any]) -> Iterator[str]:
    for each in limits:
        if isinstance(each, Check):
            name = f"matches_{len(names)}"
            names[name] = matcher(each.pattern)
            yield f"{name}(v)"


def _key_question(declared: NodeType) -> str:
    """Whether the name is the key, where that is quickly seen."""
    if len(declared.key) > 1:
        return "name is None"
    (key,) = (each for each in declared.properties if each.name in declared.key)
    value = f"get({key.name!r})"
    if key.type.scalar in ("String", "Date"):
        return f"name is None or {value} == name"
    if key.type.scalar == "DateTime":
        return f"name is None or in_name({value}) == name"
    if key.type.scalar in INTEGERS:
        return f"name is None or str({value}) == name"
    return "name is None"
