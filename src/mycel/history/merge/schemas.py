"""The merge of schemas: types and properties by their ids, which survive renames.

A type that both sides have changed is merged part by part: its name, annotations and ends, its
properties by id, its constraints as a set. What does not fit together is a conflict about the whole
declaration. Rows are told in the names of the merged schema before they are compared, so that a
renamed type or property is no change of its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from mycel.model.elements import Concept, Element, Proposition
from mycel.model.names import META_TYPES
from mycel.model.values import object_text
from mycel.schema.catalog import Catalog
from mycel.schema.model import EdgeType, Interface, Property, SchemaType
from mycel.schema.stored_declaration import OWNED, declaration, owned_attributes


class SchemaContest(NamedTuple):
    """A declaration that both sides have changed in ways that do not fit together."""

    base: SchemaType | None
    ours: SchemaType | None
    theirs: SchemaType | None

    @property
    def declared(self) -> SchemaType:
        return next(each for each in (self.ours, self.theirs, self.base) if each is not None)


Judge = Callable[[SchemaContest], SchemaType | None]


def merge_schemas(base: Catalog, ours: Catalog, theirs: Catalog, judge: Judge) -> Catalog:
    """The merged schema."""
    states = [{each.identity: each for each in state.types} for state in (base, ours, theirs)]
    order = dict.fromkeys(identity for state in states[1:] for identity in state)
    merged = []
    for identity in order:
        old, mine, others = (state.get(identity) for state in states)
        declared = _merged(old, mine, others, judge)
        if declared is not None:
            merged.append(declared)
    return Catalog.of(_with_ends(merged, states[1:]))


def _merged(
    base: SchemaType | None, ours: SchemaType | None, theirs: SchemaType | None, judge: Judge
) -> SchemaType | None:
    if theirs in (ours, base):
        return ours
    if ours == base:
        return theirs
    contest = SchemaContest(base, ours, theirs)
    if ours is None or theirs is None or ours.kind != theirs.kind:
        return judge(contest)
    try:
        return _parts(base, ours, theirs)
    except _ContestedError:
        return judge(contest)


class _ContestedError(Exception):
    """Both sides have changed the same part."""


def _parts(base: SchemaType | None, ours: SchemaType, theirs: SchemaType) -> SchemaType:
    before = base if base is not None and base.kind == ours.kind else None
    parts: dict[str, Any] = {
        name: _one(getattr(before, name, None), getattr(ours, name), getattr(theirs, name))
        for name in ("name", "annotations", "from_type", "to_type", "cardinality")
        if hasattr(ours, name)
    }
    parts["properties"] = _properties(before, ours, theirs)
    for name in ("constraints", "implements"):
        if hasattr(ours, name):
            parts[name] = _set(
                getattr(before, name, ()), getattr(ours, name), getattr(theirs, name)
            )
    return replace(ours, **parts)


def _one(base: Any, ours: Any, theirs: Any) -> Any:
    if theirs in (base, ours):
        return ours
    if ours == base:
        return theirs
    raise _ContestedError


def _set(base: tuple[Any, ...], ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Items that either side added, without those that either side removed."""
    gone = [each for each in base if each not in ours or each not in theirs]
    found: list[Any] = []
    for each in (*ours, *theirs):
        if each not in gone and each not in found:
            found.append(each)
    return tuple(found)


def _properties(
    base: SchemaType | None, ours: SchemaType, theirs: SchemaType
) -> tuple[Property, ...]:
    before, mine, others = (
        {each.prop_id: each for each in (() if state is None else state.properties)}
        for state in (base, ours, theirs)
    )
    found = []
    for number in dict.fromkeys([*mine, *others]):
        old, one, other = before.get(number), mine.get(number), others.get(number)
        if one is not None and other is not None and one != other and old is not None:
            parts = ("name", "type", "annotations", "inherited_from")
            kept = {
                name: _one(getattr(old, name), getattr(one, name), getattr(other, name))
                for name in parts
            }
            found.append(replace(one, **kept))
            continue
        declared = _one(old, one, other)
        if declared is not None:
            found.append(declared)
    names = [each.name for each in found]
    if len(set(names)) != len(names):
        raise _ContestedError
    return tuple(found)


def _with_ends(
    merged: list[SchemaType], states: list[dict[str, SchemaType]]
) -> Iterable[SchemaType]:
    """Declarations in which ends and interfaces have the names of the merged schema."""
    names = {each.identity: each.name for each in merged}
    now = {
        each.name: names[identity]
        for state in states
        for identity, each in state.items()
        if identity in names and not isinstance(each, EdgeType)
    } | {each.name: each.name for each in merged}
    for each in merged:
        if isinstance(each, EdgeType):
            ends = (now.get(name, name) for name in (each.from_type, each.to_type))
            yield replace(each, from_type=next(ends), to_type=next(ends))
        elif isinstance(each, Interface):
            yield each
        else:
            yield replace(each, implements=tuple(now.get(name, name) for name in each.implements))


# Definitions.


def is_declared(element: Element | None) -> bool:
    """True for the definition of a type that a schema declares."""
    return (
        isinstance(element, Concept)
        and element.type in META_TYPES
        and declaration(element.attributes) is not None
    )


def declared_keys(definition: Element) -> tuple[str, ...]:
    """The attributes of a definition that the schema writes."""
    declared = declaration(definition.attributes)
    return OWNED if declared is None else owned_attributes(declared)


def undeclared(definition: Element) -> Element:
    """A definition without what the schema says in it."""
    keys = declared_keys(definition)
    attributes = {key: value for key, value in definition.attributes.items() if key not in keys}
    return definition._replace(attributes_json=object_text(attributes, "attributes"))


# Rows.


class Renames:
    """The names that types and properties of one state have in the merged schema."""

    def __init__(self, state: Catalog, merged: Catalog) -> None:
        later = {each.identity: each for each in merged.types}
        self._types: dict[tuple[bool, str], tuple[str, Mapping[str, str]]] = {}
        for each in state.types:
            now = later.get(each.identity)
            if now is None:
                continue
            names = {prop.prop_id: prop.name for prop in now.properties}
            changed = {
                prop.name: names[prop.prop_id]
                for prop in each.properties
                if names.get(prop.prop_id, prop.name) != prop.name
            }
            if changed or now.kip_name != each.kip_name:
                place = isinstance(each, EdgeType), each.kip_name
                self._types[place] = now.kip_name, changed

    def __bool__(self) -> bool:
        return bool(self._types)

    def told(self, element: Element) -> Element:
        """An element in the names of the merged schema."""
        is_link = isinstance(element, Proposition)
        kind = element.predicate if isinstance(element, Proposition) else element.type
        found = self._types.get((is_link, kind))
        if found is None:
            return element
        name, changed = found
        attributes = {changed.get(key, key): value for key, value in element.attributes.items()}
        text = object_text(attributes, "attributes") if changed else element.attributes_json
        if isinstance(element, Concept):
            return element._replace(type=name, attributes_json=text)
        return element._replace(predicate=name, attributes_json=text)
