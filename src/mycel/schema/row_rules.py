"""The rules of one declared type, compiled for many rows.

    rules = RowRules(declared)
    rules.shape(attributes, name="ada@example.org", creating=True)   as it is stored, or an error
    rules.missing(attributes)                                        absent required properties
    rules.name(attributes)                                           the name that the key gives

`shape` checks one row alone: undeclared names, kinds of values, enums, ranges, patterns, defaults,
and that a key and the name of its concept agree. Rules about several rows (unique tuples,
cardinality, ends) are not checked here. Missing properties are not checked either, because an
element may be built in steps. `@check` patterns are RE2 and match anywhere in the text, like
`REGEX` in KQL. An attribute that is null stays null, and counts as absent. Each property has a
chain of functions that return its stored value, or raise an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import orjson

from mycel.errors import ConstraintViolation, InvalidValueType, MycelError, did_you_mean
from mycel.model.values import JsonObject
from mycel.schema import property_values
from mycel.schema.model import (
    Check,
    InstanceType,
    Key,
    NodeType,
    Property,
    Range,
    limits_of,
)
from mycel.schema.property_values import BadValue, Canonical, UnknownEnumValue, format_value, wire
from mycel.schema.scalars import SCALARS
from mycel.syntax.regex import matcher


class _LimitViolation(BadValue):
    """A value of the right kind that breaks `@range` or `@check`."""

    def __init__(self, message: str, limit: Range | Check) -> None:
        super().__init__(message)
        self.constraint: Final = str(limit)


class RowRules:
    """The rules of one type for each of its instances."""

    def __init__(self, instance_type: InstanceType) -> None:
        self.declared: Final = instance_type
        self._properties: Final = {
            property_.name: property_ for property_ in instance_type.properties
        }
        limits = limits_of(instance_type)
        self._values: Final = {
            property_.name: _rule(
                self._place(property_.name), property_, limits.get(property_.name, ())
            )
            for property_ in instance_type.properties
        }
        self._required: Final = tuple(
            property_.name for property_ in instance_type.properties if property_.is_required
        )
        self._defaults: Final[tuple[tuple[str, Any], ...]] = tuple(
            (property_.name, property_values.parse_default(property_))
            for property_ in instance_type.properties
            if property_.default is not None
        )
        key = instance_type.key if isinstance(instance_type, NodeType) else ()
        self._key: Final[tuple[Property, ...]] = tuple(self._properties[name] for name in key)

    def shape(self, attributes: JsonObject, *, name: str | None, creating: bool) -> JsonObject:
        """The attributes in the form to store; the same object if nothing changes.

        The key has to agree with `name`, the name of the concept, and is filled in if the concept
        is new. Defaults are for new elements only.
        """
        defaults = self.lacking(attributes) if creating else {}
        for property_name, value in attributes.items():
            rule = self._values.get(property_name)
            if rule is None:
                self._check_undeclared(property_name, name)
            elif value is not None:
                try:
                    stored = rule(value)
                except BadValue as bad:
                    raise self.refused(property_name, value, name, bad) from None
                if stored is not value:
                    defaults[property_name] = stored
        shaped = attributes | defaults if defaults else attributes
        if self._key and name is not None and (key := self._key_values(shaped, name, creating)):
            return shaped | key
        return shaped

    def missing(self, attributes: Mapping[str, Any]) -> tuple[str, ...]:
        """The required properties that are absent or null, in order."""
        get = attributes.get
        return tuple([name for name in self._required if get(name) is None])

    def name(self, attributes: Mapping[str, Any]) -> str | None:
        """The name that the key gives a concept; None for a type without a key."""
        if not self._key:
            return None
        texts = [
            self._key_text(property_, attributes.get(property_.name)) for property_ in self._key
        ]
        name = _composite(texts)
        if not name:
            first = self._key[0]
            message = f"{self._place(first.name)} must not be empty: it is the key"
            raise self._key_violation(first, message, "", None)
        return name

    def value(self, property_name: str, value: object) -> Any:
        """One value in the form to store, after all checks of its property."""
        if value is None:
            return None
        try:
            return self._values[property_name](value)
        except BadValue as bad:
            raise self.refused(property_name, value, None, bad) from None

    # Defaults and keys.

    def lacking(self, attributes: JsonObject) -> JsonObject:
        """The defaults of absent properties."""
        return {name: value for name, value in self._defaults if attributes.get(name) is None}

    def _key_values(self, shaped: JsonObject, name: str, creating: bool) -> JsonObject:
        """The parts of the key that a new concept lacks, from its name."""
        parts = _parts(name, len(self._key))
        if parts is None:
            columns = ", ".join(property_.name for property_ in self._key)
            raise self._key_violation(
                self._key[0],
                f"{format_value(name)} is not a name for a {self.declared.name}: its key"
                f" ({columns})"
                " has"
                f" {len(self._key)} parts",
                None,
                name,
                hint=f"Name the concept {format_value(self._right_name(shaped))}: the JSON array"
                " of the"
                " parts, each as text.",
            )
        values: JsonObject = {}
        for property_, part in zip(self._key, parts, strict=True):
            value = shaped.get(property_.name)
            if value is None and creating:
                values[property_.name] = self._from_name(property_, part, name)
            elif value is None or property_values.text_in_name(property_.type, value) != part:
                raise self._other_key(property_, shaped | values, name, creating)
        return values

    def _from_name(self, prop: Property, part: str, name: str) -> Any:
        try:
            return self._values[prop.name](property_values.from_key_text(prop.type, part))
        except BadValue as bad:
            error = self.refused(prop.name, part, name, bad)
            error.hint = (
                f"{self._place(prop.name)} is {self._role} and is taken from the name: name the"
                " concept accordingly."
            )
            raise error from None

    @property
    def _role(self) -> str:
        return "the key" if len(self._key) == 1 else "part of the key"

    def _other_key(
        self, prop: Property, shaped: JsonObject, name: str, creating: bool
    ) -> MycelError:
        """The error for a key that differs from the name of its concept."""
        value, is_ = shaped.get(prop.name), f"it is {self._role} of {self.declared.name}"
        message = (
            f"{self._place(prop.name)} is {format_value(value)}, but {is_} {format_value(name)}"
        )
        hint = "The key identifies a concept: create another one, and MERGE this concept into it."
        if creating:
            hint = (
                f"Leave {prop.name!r} out, and it is taken from the name; or name the concept"
                f" {format_value(self._right_name(shaped))}."
            )
        return self._key_violation(prop, message, value, name, hint=hint)

    def _right_name(self, shaped: JsonObject) -> str:
        """The name that the key gives, with placeholders for absent parts."""
        return _composite(
            [
                f"<{property_.name}>"
                if shaped.get(property_.name) is None
                else property_values.text_in_name(property_.type, shaped[property_.name])
                for property_ in self._key
            ]
        )

    def _key_text(self, prop: Property, value: object) -> str:
        if value is None:
            message = f"{self._place(prop.name)} is required: it is {self._role}"
            raise self._key_violation(prop, message, None, None)
        try:
            return property_values.key_text(prop.type, value)
        except BadValue as bad:
            raise self.refused(prop.name, value, None, bad) from None

    def _key_violation(
        self, prop: Property, message: str, value: object, name: str | None, hint: str | None = None
    ) -> MycelError:
        key = str(Key(tuple(property_.name for property_ in self._key)))
        place = prop.name, value, name
        return self._error(ConstraintViolation, message, *place, constraint=key, hint=hint)

    # Errors.

    def _place(self, property_name: str) -> str:
        return f"{self.declared.name}.{property_name}"

    def _check_undeclared(self, property_name: str, name: str | None) -> None:
        if self.declared.is_open or property_name.__class__ is not str:
            return  # The store refuses a key that is not text.
        type_name = self.declared.name
        names = f"Its properties are: {', '.join(self._properties) or 'none'}."
        others = "Declare it in the schema, or keep it in the metadata."
        raise ConstraintViolation(
            f"{type_name} has no property {format_value(property_name)}.",
            hint=f"{did_you_mean(property_name, list(self._properties))} {names} {others}".strip(),
            data={"type": type_name, "property": property_name}
            | ({} if name is None else {"name": name}),
        )

    def refused(
        self, property_name: str, value: object, name: str | None, bad: BadValue
    ) -> MycelError:
        """The error about a value that does not fit its property."""
        type_, place = self._properties[property_name].type, self._place(property_name)
        where = property_name, value, name
        if isinstance(bad, UnknownEnumValue):
            expected = ", ".join(type_.enum_values or ())
            message = f"invalid enum value {format_value(value)} for {place} (expected: {expected})"
            close = did_you_mean(str(value), list(type_.enum_values or ()))
            hint = f"{close} Enum values are case-sensitive.".strip()
            constraint = f"enum({expected})"
            return self._error(
                ConstraintViolation, message, *where, constraint=constraint, hint=hint
            )
        if isinstance(bad, _LimitViolation):
            return self._error(ConstraintViolation, str(bad), *where, constraint=bad.constraint)
        kind, hint_ = str(type_).removesuffix("?"), SCALARS[type_.scalar].format or None
        message = f"{place} must be {kind}: {bad}"
        return self._error(InvalidValueType, message, *where, constraint=kind, hint=hint_)

    def _error(
        self,
        error: type[MycelError],
        message: str,
        property_name: str,
        value: object,
        name: str | None,
        *,
        constraint: str,
        hint: str | None = None,
    ) -> MycelError:
        data: JsonObject = {
            "type": self.declared.name,
            "property": property_name,
            "value": wire(value),
            "constraint": constraint,
        }
        whose = ""
        if name is not None:
            data["name"] = name
            whose = f" of {self.declared.name} {format_value(name)}"
        hint = hint or f"Correct {property_name!r}{whose}."
        return error(f"{message}.", hint=hint, data=data)


def _rule(place: str, property_: Property, limits: Sequence[Range | Check]) -> Canonical:
    """The check of one property for a value that is not null."""
    rule = property_values.canonical_of(property_.type)
    for limit in limits:
        match limit:
            case Range():
                rule = _within(rule, place, limit)
            case Check():
                rule = _matching(rule, place, limit)
    return rule


def _within(rule: Canonical, place: str, limit: Range) -> Canonical:
    minimum, maximum = limit.minimum, limit.maximum
    low = float("-inf") if minimum is None else minimum
    high = float("inf") if maximum is None else maximum

    def within(value: Any) -> Any:
        canonical = rule(value)
        if low <= canonical <= high:
            return canonical
        bounds = "..".join(
            "" if bound is None else format_value(bound) for bound in (minimum, maximum)
        )
        message = f"@range violation on {place}: {format_value(canonical)} is not within {bounds}"
        raise _LimitViolation(message, limit)

    return within


def _matching(rule: Canonical, place: str, limit: Check) -> Canonical:
    matches: Callable[[str], bool] = matcher(limit.pattern)

    def matching(value: Any) -> Any:
        canonical = rule(value)
        try:
            if matches(canonical):
                return canonical
        except UnicodeEncodeError:
            raise BadValue(f"{format_value(canonical)} holds a lone surrogate") from None
        message = (
            f"@check violation on {place}: {format_value(canonical)} does not match"
            f' "{limit.pattern}"'
        )
        raise _LimitViolation(message, limit)

    return matching


def _composite(texts: list[str]) -> str:
    """The name that the texts of a key give."""
    return texts[0] if len(texts) == 1 else orjson.dumps(texts).decode()


def _parts(name: str, count: int) -> tuple[str, ...] | None:
    """The parts of a name; None if there are not `count` of them."""
    if count == 1:
        return (name,)
    try:
        parts = orjson.loads(name)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        return None
    return tuple(parts) if len(parts) == count and _composite(parts) == name else None
