"""Infers a schema for types that were made in KIP, from their instances.

The text of the schema can be applied unchanged. A property is required if every instance has it,
and has the narrowest type that holds every value as it is written: a time with an offset stays a
text, because a DateTime would change its spelling (added milliseconds of a time in UTC do not count
as a change). Objects, mixed values, names that are no identifiers and links between several types
cannot be declared. They become comments, and the type is open, so that no data is lost.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mycel.engine.protection_guard import ACTORS, FOUNDATION
from mycel.errors import NotFound, did_you_mean
from mycel.migration import schema_in_force
from mycel.model.limits import INTEGER_MAX
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE
from mycel.schema.canonical_text import tidy
from mycel.schema.definitions import AttributeRule, ConceptDefinition, concept_definition
from mycel.schema.merge_policies import merge_fits
from mycel.schema.model import ENDS, PropertyType
from mycel.schema.property_values import BadValue, canonical, moment_in_name
from mycel.schema.scalars import Scalar
from mycel.schema.stored_declaration import PG
from mycel.store.file.layout import Table
from mycel.store.query.bulk import instances
from mycel.store.query.reader import Reader

_TYPE_NAME: Final = re.compile(r"[A-Z][A-Za-z0-9_]*")
_PROPERTY_NAME: Final = re.compile(r"[a-z_][A-Za-z0-9_]*")
_ENUM_VALUE: Final = re.compile(r"[A-Za-z0-9_-]+")
_WORDS: Final = re.compile(r"[A-Za-z0-9]+")
_EXACT_MAX: Final = 1 << 53
_TEXTS_MAX: Final = 1000
_NO_SCALAR: Final = "no one type"


@dataclass(slots=True)
class _AttributeSample:
    """The values of one attribute."""

    count: int = 0
    scalars: set[str] = field(default_factory=set)
    item_scalars: set[str] = field(default_factory=set)
    least: int = 0
    """The least integer, if one is negative."""
    is_exact: bool = True
    """True if every integer so far is exact as a floating-point number."""
    could_be: set[Scalar] = field(default_factory=lambda: {"Date", "DateTime"})
    """The scalar types for which all texts so far are canonical values."""
    texts: set[str] = field(default_factory=set)
    """Different texts, up to one more than an enum may list."""

    def see(self, value: object) -> None:
        self.count += 1
        if isinstance(value, list):
            self.scalars.add("list")
            for item in value:
                self.item_scalars.add(self._scalar(item))
        else:
            self.scalars.add(self._scalar(value))

    def _scalar(self, value: object) -> str:
        match value:
            case bool():
                return "Bool"
            case int():
                self.least = min(self.least, value)
                self.is_exact &= abs(value) <= _EXACT_MAX
                return "I64" if value <= INTEGER_MAX else "U64"
            case float():
                return "F64"
            case str():
                self.could_be = {scalar for scalar in self.could_be if _is(scalar, value)}
                if len(self.texts) <= _TEXTS_MAX:
                    self.texts.add(value)
                return "String"
            case _:
                return _NO_SCALAR

    def type(self, enum: tuple[str, ...] | None, *, required: bool) -> PropertyType | None:
        """The narrowest type that holds all values; None if there is no such type."""
        is_list = self.scalars == {"list"}
        scalar = self._widest(self.item_scalars or {"String"} if is_list else self.scalars)
        if scalar is None:
            return None
        if scalar == "String" and not is_list and enum and self.texts <= set(enum):
            return PropertyType("String", not required, enum_values=enum)
        if scalar == "String" and self.could_be and (self.item_scalars or not is_list):
            scalar = "Date" if "Date" in self.could_be else "DateTime"
        return PropertyType(scalar, not required, is_list)

    def _widest(self, seen: set[str]) -> Scalar | None:
        if len(seen) == 1:
            (only,) = seen
            return None if only in ("list", _NO_SCALAR) else only  # type: ignore[return-value]
        if seen == {"I64", "U64"} and self.least == 0:
            return "U64"
        if seen == {"I64", "F64"} and self.is_exact:
            return "F64"
        return None


def _is(scalar: Scalar, text: str) -> bool:
    try:
        canonical_text = canonical(PropertyType(scalar), text)
    except BadValue:
        return False
    return canonical_text == text or (
        scalar == "DateTime" and moment_in_name(canonical_text) == text
    )


@dataclass(slots=True)
class _TypeSample:
    """The instances of one type or predicate."""

    definition: ConceptDefinition
    rows: int = 0
    values: dict[str, _AttributeSample] = field(default_factory=dict)
    named_by: set[str] | None = None
    """Attributes that equal the name in every instance so far."""

    def see(self, name: str, attributes: Mapping[str, Any]) -> None:
        self.rows += 1
        keys = {key for key, value in attributes.items() if value == name and name}
        self.named_by = keys if self.named_by is None else self.named_by & keys
        for key, value in attributes.items():
            if value is not None:
                self.values.setdefault(key, _AttributeSample()).see(value)


def infer(reader: Reader, types: Collection[str] | None = None) -> str:
    """The schema in force, and declarations for flexible types and predicates in use.

    With `types`, only these types and the predicates between them.
    """
    return tidy("\n\n".join(_Inference(reader, types).declarations()))


class _Inference:
    def __init__(self, reader: Reader, types: Collection[str] | None) -> None:
        self._reader: Final = reader
        self._catalog: Final = schema_in_force.read(reader)
        self._wanted: Final = None if types is None else frozenset(types)
        self._taken: Final = {
            interface.casefold()
            for interface in (*self._catalog.interfaces, *self._catalog.nodes, *self._catalog.edges)
        }
        self._nodes: Final = {node.kip_name: node.name for node in self._catalog.nodes.values()}
        """The declared name of each type that links may have at their ends, by its name in KIP."""

    def declarations(self) -> Iterator[str]:
        declared = self._catalog.format().strip()
        if declared:
            yield declared
        flexible = self._flexible(CONCEPT_TYPE)
        unknown = sorted((self._wanted or frozenset()) - flexible.keys() - self._nodes.keys())
        if unknown:
            raise _unknown(unknown[0], list(flexible))
        for name, definition in flexible.items():
            if self._wanted is None or name in self._wanted:
                yield from self._node(name, definition)
        for name, definition in self._flexible(PROPOSITION_TYPE).items():
            yield from self._edge(name, definition)

    def _flexible(self, meta_type: str) -> dict[str, Mapping[str, Any]]:
        """The definitions that KIP alone made, by name."""
        number = self._reader.type_number(meta_type)
        return {
            row.name: attributes
            for row in instances.rows(self._reader, "concept", number)
            if (meta_type, row.name) not in FOUNDATION and PG not in (attributes := row.attributes)
        }

    def _observe(
        self, table: Table, number: int, name: str, attributes: Mapping[str, Any]
    ) -> _TypeSample:
        seen = _TypeSample(concept_definition(name, attributes))
        for row in instances.rows(self._reader, table, number):
            if (name, row.name) not in ACTORS:
                seen.see(row.name, row.attributes)
        return seen

    def _node(self, name: str, attributes: Mapping[str, Any]) -> Iterator[str]:
        number = self._reader.type_number(name)
        seen = self._observe("concept", number, name, attributes)
        if seen.rows or (self._wanted is not None and name in self._wanted):
            self._nodes[name] = self._free_name(name)
            yield _declaration(f"node {self._nodes[name]}", self._nodes[name], seen, ("id",))

    def _edge(self, name: str, attributes: Mapping[str, Any]) -> Iterator[str]:
        number = self._reader.predicate_number(name)
        pairs = instances.ends_of(self._reader, number)
        if not pairs:
            return
        ends = [
            tuple("a link" if kind is None else self._reader.type_name(kind) for kind in pair)
            for pair in pairs
        ]
        declared = [tuple(self._nodes.get(end) for end in pair) for pair in ends]
        if self._wanted is not None and not all(all(pair) for pair in declared):
            return
        if len(ends) > 1 or not all(declared[0]):
            listing = ", ".join(" -> ".join(pair) for pair in ends[:5])
            why = "several pairs of types" if len(ends) > 1 else "a type that is not declared here"
            yield f"// {name}: leads between {why}: {listing}"
            return
        (source, target), edge = declared[0], self._free_name(name)
        seen = self._observe("proposition", number, name, attributes)
        yield _declaration(f"edge {edge}: {source} -> {target}", edge, seen, ("id", *ENDS))

    def _free_name(self, kip_name: str) -> str:
        """A name that no other declaration has."""
        base = kip_name
        if not _TYPE_NAME.fullmatch(base):
            base = "".join(word[0].upper() + word[1:] for word in _WORDS.findall(kip_name))
        if not _TYPE_NAME.fullmatch(base):
            base = f"T{base}"
        name, count = base, 1
        while name.casefold() in self._taken:
            count += 1
            name = f"{base}{count}"
        self._taken.add(name.casefold())
        return name


def _unknown(name: str, type_names: list[str]) -> NotFound:
    if (CONCEPT_TYPE, name) in FOUNDATION:
        return NotFound(
            f"{name!r} belongs to the foundation of every graph, which a schema cannot declare.",
            hint="Name types of your own, or no types to get all of them.",
        )
    close = did_you_mean(name, type_names)
    return NotFound(
        f"There is no concept type {name!r}.", hint=close or "DESCRIBE CONCEPT TYPES lists all."
    )


def _declaration(opening: str, name: str, seen: _TypeSample, reserved: Collection[str]) -> str:
    properties, left_out = _properties(seen, reserved)
    head = opening + _described(seen.definition.description)
    if name != seen.definition.name:
        head += f" @kip({_quoted(seen.definition.name)})"
    if seen.definition.retention:
        head += f" @retention({_quoted(seen.definition.retention)})"
    if seen.definition.is_functional and opening.startswith("edge"):
        head += " @functional"
    if left_out:
        head += " @open"
    if not properties and not left_out:
        return f"{head} {{}}" if opening.startswith("node") else head
    return "\n".join((f"{head} {{", *(f"    {line}" for line in (*properties, *left_out)), "}"))


def _properties(seen: _TypeSample, reserved: Collection[str]) -> tuple[list[str], list[str]]:
    """The properties that can be declared, and comments about the attributes that cannot."""
    declared, left_out = [], []
    key = min(seen.named_by or (), default=None)
    rules = {rule.name: rule for rule in seen.definition.rules}
    for name, values in sorted(seen.values.items()):
        rule = rules.get(name, AttributeRule(name))
        type_ = values.type(_enum(rule.enum), required=values.count == seen.rows)
        if type_ is None:
            left_out.append(f"// {json.dumps(name)}: values of several kinds, or objects")
        elif not _PROPERTY_NAME.fullmatch(name) or name in reserved:
            left_out.append(f"// {json.dumps(name)}: not a valid name of a property")
        else:
            is_key = name == key and str(type_) == "String"
            key_text, described = " @key" if is_key else "", _described(rule.description)
            is_merged = (
                rule.merge is not None
                and not is_key
                and merge_fits(rule.merge, type_.scalar, is_list=type_.is_list)
            )
            merge_text = f' @merge("{rule.merge}")' if is_merged else ""
            declared.append(f"{name}: {type_}{key_text}{merge_text}{described}")
    return declared, left_out


def _enum(values: tuple[Any, ...]) -> tuple[str, ...] | None:
    """The values that the definition lists, if an enum can list them."""
    if not all(isinstance(value, str) and _ENUM_VALUE.fullmatch(value) for value in values):
        return None
    return tuple(sorted(set(values))) or None


def _described(description: str) -> str:
    return f" @description({_quoted(description)})" if description.strip() else ""


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
