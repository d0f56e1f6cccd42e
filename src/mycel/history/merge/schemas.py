"""Merges schemas: types and properties are matched by their ids, which survive renames.

A type that both sides have changed is merged part by part: its name, annotations and ends, its
properties by id, its constraints as a set. If parts do not fit together, the whole declaration is a
conflict. Before rows are compared, they get the names of the merged schema, so that a renamed type
or property is no change of its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from mycel.model.elements import Concept, Element, Proposition
from mycel.model.names import META_TYPES
from mycel.model.values import object_text
from mycel.schema.catalog import Catalog
from mycel.schema.model import (
    EMBED,
    ENDS,
    Annotation,
    ColumnConstraint,
    Constraint,
    EdgeType,
    Interface,
    Key,
    NodeType,
    Property,
    Range,
    SchemaType,
    columns_of,
)
from mycel.schema.planner import can_become
from mycel.schema.property_values import parse_default
from mycel.schema.schema_match import free_id
from mycel.schema.stored_declaration import OWNED, declaration, owned_attributes


class SchemaContest(NamedTuple):
    """A declaration that both sides have changed in ways that do not fit together."""

    base: SchemaType | None
    ours: SchemaType | None
    theirs: SchemaType | None

    @property
    def declared(self) -> SchemaType:
        return next(side for side in (self.ours, self.theirs, self.base) if side is not None)


SchemaJudge = Callable[[SchemaContest], SchemaType | None]


def merge_schemas(base: Catalog, ours: Catalog, theirs: Catalog, judge: SchemaJudge) -> Catalog:
    states = [
        {schema_type.identity: schema_type for schema_type in state.types}
        for state in (base, ours, theirs)
    ]
    order = dict.fromkeys(identity for state in states[1:] for identity in state)
    merged = []
    for identity in order:
        old, mine, others = (state.get(identity) for state in states)
        schema_type = _merged(old, mine, others, judge)
        if schema_type is not None:
            merged.append(schema_type)
    merged += _still_named(merged, states[1:])
    return Catalog.of(_with_ends(merged, states[1:]))


def _still_named(merged: list[SchemaType], states: list[dict[str, SchemaType]]) -> list[SchemaType]:
    """The types that one side has dropped and a declaration of the other side still names."""
    identities = {
        declared.name: identity
        for state in states
        for identity, declared in state.items()
        if not isinstance(declared, EdgeType)
    }
    have = {declared.identity for declared in merged}
    types: list[SchemaType] = []
    waiting = list(merged)
    while waiting:
        declared = waiting.pop()
        names = declared.implements if isinstance(declared, NodeType) else ()
        ends = (declared.from_type, declared.to_type) if isinstance(declared, EdgeType) else names
        for identity in (identities[name] for name in ends if name in identities):
            if identity not in have:
                have.add(identity)
                named_type = next(state[identity] for state in states if identity in state)
                types.append(named_type)
                waiting.append(named_type)
    return types


def _merged(
    base: SchemaType | None, ours: SchemaType | None, theirs: SchemaType | None, judge: SchemaJudge
) -> SchemaType | None:
    if theirs in (ours, base):
        return ours
    contest = SchemaContest(base, ours, theirs)
    if ours is None or theirs is None or ours.kind != theirs.kind:
        return theirs if ours == base else judge(contest)
    numbers = _same_properties(ours, theirs)
    if ours == base:
        return taking_theirs(ours, _with_numbers(theirs, numbers))
    theirs = _with_numbers(theirs, numbers)
    base = None if base is None else _with_numbers(base, numbers)
    try:
        return _parts(base, ours, theirs)
    except _ContestedError:
        return judge(contest)


def _same_properties(ours: SchemaType, theirs: SchemaType) -> Mapping[int, int]:
    """The ids in the target of properties with the same name and type but different ids.

    A side that replaced a property by one of another type gave the new property an id of its own.
    """
    mine = {prop.prop_id for prop in ours.properties}
    others = {prop.prop_id for prop in theirs.properties}
    free = {_place(prop): prop for prop in ours.properties if prop.prop_id not in others}
    twins = {
        prop.prop_id: free.get(_place(prop))
        for prop in theirs.properties
        if prop.prop_id not in mine
    }
    return {number: twin.prop_id for number, twin in twins.items() if twin is not None}


def _place(prop: Property) -> tuple[Any, ...]:
    """The name of a property, and its type without nullability."""
    return prop.name, replace(prop.type, is_nullable=True)


def _with_numbers(schema_type: SchemaType, numbers: Mapping[int, int]) -> SchemaType:
    """A declaration with other ids for some properties."""
    if not numbers:
        return schema_type
    properties = (
        replace(prop, prop_id=numbers.get(prop.prop_id, prop.prop_id))
        for prop in schema_type.properties
    )
    return replace(schema_type, properties=tuple(properties))


class _ContestedError(Exception):
    """The error if both sides have changed the same part."""


def _parts(base: SchemaType | None, ours: SchemaType, theirs: SchemaType) -> SchemaType:
    before = base if base is not None and base.kind == ours.kind else None
    names = _property_names(before, ours, theirs)
    before = None if before is None else _in_names(before, names)
    ours, theirs = _in_names(ours, names), _in_names(theirs, names)
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
    merged = replace(ours, **parts)
    if not _holds_together(merged):
        raise _ContestedError
    return merged


def _property_names(
    base: SchemaType | None, ours: SchemaType, theirs: SchemaType
) -> Mapping[int, str]:
    """The merged names of properties, by id."""
    states = [
        {prop.prop_id: prop.name for prop in (() if state is None else state.properties)}
        for state in (base, ours, theirs)
    ]
    return {
        number: _one(*(state.get(number, names[0]) for state in states))
        for number in dict.fromkeys(prop for state in states for prop in state)
        if (names := [state[number] for state in states if number in state])
    }


def _in_names(schema_type: SchemaType, names: Mapping[int, str]) -> SchemaType:
    """A declaration with other names for some properties, also inside constraints."""
    now = {prop.name: names[prop.prop_id] for prop in schema_type.properties}
    if all(name == old for old, name in now.items()):
        return schema_type

    def annotation(original: Annotation) -> Annotation:
        is_name = original.name == EMBED and original.value is not None
        return (
            replace(original, value=now.get(original.value or "", original.value))
            if is_name
            else original
        )

    def constraint(original: Constraint) -> Constraint:
        if isinstance(original, ColumnConstraint):
            return replace(
                original, columns=tuple(now.get(name, name) for name in original.columns)
            )
        return replace(original, property=now.get(original.property, original.property))

    properties = tuple(
        replace(prop, name=now[prop.name], annotations=tuple(map(annotation, prop.annotations)))
        for prop in schema_type.properties
    )
    constraints = tuple(map(constraint, schema_type.constraints))
    return replace(schema_type, properties=properties, constraints=constraints)


def _holds_together(schema_type: SchemaType) -> bool:
    """True if a merged declaration is valid as a schema."""
    names = {prop.name for prop in schema_type.properties}
    columns = names | {*ENDS} if isinstance(schema_type, EdgeType) else names
    constrained = [
        name for constraint in schema_type.constraints for name in columns_of(constraint)
    ]
    embedded = [prop.embed_source for prop in schema_type.properties if prop.embed_source]
    keys = [constraint for constraint in schema_type.constraints if isinstance(constraint, Key)]
    ranges = [
        constraint.property
        for constraint in schema_type.constraints
        if isinstance(constraint, Range)
    ]
    return (
        columns.issuperset(constrained)
        and names.issuperset(embedded)
        and len(keys) <= 1
        and len({*ranges}) == len(ranges)
    )


def taking_theirs(ours: SchemaType | None, theirs: SchemaType | None) -> SchemaType | None:
    """The declaration of the source, in which a property with another type is a new property.

    The type of a property cannot change, so the property of the target is dropped with its values.
    """
    if ours is None or theirs is None:
        return theirs
    mine = {prop.prop_id: prop.type for prop in ours.properties}
    numbers = {*mine, *(prop.prop_id for prop in theirs.properties)}
    properties = []
    for prop in theirs.properties:
        was = mine.get(prop.prop_id, prop.type)
        number = prop.prop_id if can_become(was, prop.type) else free_id(prop.prop_id, numbers)
        properties.append(replace(prop, prop_id=number))
    return replace(theirs, properties=tuple(properties))


def without_exchanged(ours: Catalog, merged: Catalog) -> Catalog:
    """The schema of the target without properties whose names the merge gives to other properties.

    A property that the merged schema renames already gets its new name here, or a temporary name if
    the new one is still in use.
    """
    later = {schema_type.identity: schema_type for schema_type in merged.types}

    def restore_names(schema_type: SchemaType) -> SchemaType:
        now = later.get(schema_type.identity)
        others = {} if now is None else {prop.name: prop.prop_id for prop in now.properties}
        names_then = {prop_id: name for name, prop_id in others.items()}
        used = {prop.name for prop in schema_type.properties}
        names: dict[int, str] = {}
        for prop in schema_type.properties:
            if others.get(prop.name, prop.prop_id) == prop.prop_id:
                names[prop.prop_id] = prop.name
            elif prop.prop_id in names_then:
                name = names_then[prop.prop_id]
                names[prop.prop_id] = name if name not in used else f"{name}_{prop.prop_id}"
        stays = tuple(prop for prop in schema_type.properties if prop.prop_id in names)
        columns = {prop.name for prop in stays} | {*ENDS}
        constraints = tuple(
            constraint
            for constraint in schema_type.constraints
            if columns.issuperset(columns_of(constraint))
        )
        return _in_names(replace(schema_type, properties=stays, constraints=constraints), names)

    types = [restore_names(schema_type) for schema_type in ours.types]
    return ours if types == list(ours.types) else Catalog.of(types)


def _one(base: Any, ours: Any, theirs: Any) -> Any:
    if theirs in (base, ours):
        return ours
    if ours == base:
        return theirs
    raise _ContestedError


def _set(base: tuple[Any, ...], ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The items of both sides, without those that either side removed."""
    removals = [value for value in base if value not in ours or value not in theirs]
    values: list[Any] = []
    for value in (*ours, *theirs):
        if value not in removals and value not in values:
            values.append(value)
    return tuple(values)


def _properties(
    base: SchemaType | None, ours: SchemaType, theirs: SchemaType
) -> tuple[Property, ...]:
    before, mine, others = (
        {prop.prop_id: prop for prop in (() if state is None else state.properties)}
        for state in (base, ours, theirs)
    )
    properties = []
    for number in dict.fromkeys([*mine, *others]):
        old, one, other = before.get(number), mine.get(number), others.get(number)
        if one is not None and other is not None and one != other and old is not None:
            parts = ("name", "type", "annotations", "inherited_from")
            changes = {
                name: _one(getattr(old, name), getattr(one, name), getattr(other, name))
                for name in parts
            }
            properties.append(replace(one, **changes))
            continue
        declared = _one(old, one, other)
        if declared is not None:
            properties.append(declared)
    names = [prop.name for prop in properties]
    if len(set(names)) != len(names):
        raise _ContestedError
    return tuple(properties)


def _with_ends(
    merged: list[SchemaType], states: list[dict[str, SchemaType]]
) -> Iterable[SchemaType]:
    """Declarations whose ends and interfaces have the names of the merged schema."""
    names = {declared.identity: declared.name for declared in merged}
    now = {
        declared.name: names[identity]
        for state in states
        for identity, declared in state.items()
        if identity in names and not isinstance(declared, EdgeType)
    } | {declared.name: declared.name for declared in merged}
    for declared in merged:
        if isinstance(declared, EdgeType):
            ends = (now.get(name, name) for name in (declared.from_type, declared.to_type))
            yield replace(declared, from_type=next(ends), to_type=next(ends))
        elif isinstance(declared, Interface):
            yield declared
        else:
            yield replace(
                declared, implements=tuple(now.get(name, name) for name in declared.implements)
            )


# Definitions.


def is_declared(element: Element | None) -> bool:
    """True if an element is the definition of a type that a schema declares."""
    return (
        isinstance(element, Concept)
        and element.type in META_TYPES
        and declaration(element.attributes) is not None
    )


def declared_keys(definition: Element) -> tuple[str, ...]:
    """The attributes of a definition that the schema writes."""
    schema_type = declaration(definition.attributes)
    return OWNED if schema_type is None else owned_attributes(schema_type)


def undeclared(definition: Element) -> Element:
    """A definition without the attributes that the schema owns."""
    keys = declared_keys(definition)
    attributes = {key: value for key, value in definition.attributes.items() if key not in keys}
    return definition._replace(attributes_json=object_text(attributes, "attributes"))


# Rows.


class _RowNames(NamedTuple):
    """The changes that a merged schema makes to the rows of one type."""

    type: str
    properties: Mapping[str, str]
    lost: frozenset[str]
    defaults: Mapping[str, Any]
    new: frozenset[str]
    """The properties of the merged schema that the state lacks."""
    replaced: frozenset[str]
    """The properties whose name, and thus whose values, go to a property with another id."""


def _keeps_values(property_: Property, later: Property | None, *, is_open: bool) -> bool:
    """True if rows keep the values of a property under the merged schema."""
    return is_open if later is None else can_become(property_.type, later.type)


class Renames:
    """The names that types and properties of one state have in the merged schema.

    Rows get the default of a property that the merged schema requires. They lose the values of a
    property that is missing in the merged schema, or that has another type there.
    """

    def __init__(self, state: Catalog, merged: Catalog) -> None:
        later = {schema_type.identity: schema_type for schema_type in merged.types}
        self._types: dict[tuple[bool, str], _RowNames] = {}
        self.lost: Final[dict[tuple[str, str], None]] = {}
        """Types and properties whose renamed rows have lost values."""
        for schema_type in state.types:
            now = later.get(schema_type.identity)
            if now is None:
                continue
            by_id = {prop.prop_id: prop for prop in now.properties}
            by_name = {prop.name: prop for prop in now.properties}
            targets = {
                prop.name: by_id.get(prop.prop_id) or by_name.get(prop.name)
                for prop in schema_type.properties
            }
            changed = {
                name: target.name
                for name, target in targets.items()
                if target is not None and target.name != name
            }
            lost_names = frozenset(
                prop.name
                for prop in schema_type.properties
                if not _keeps_values(prop, targets[prop.name], is_open=now.is_open)
            )
            defaults = {
                prop.name: parse_default(prop)
                for prop in now.properties
                if prop.is_required and prop.default is not None
            }
            target_names = {target.name for target in targets.values() if target is not None}
            new = frozenset(by_name.keys() - target_names)
            replaced = frozenset(
                prop.name
                for prop in schema_type.properties
                if (target := targets[prop.name]) is not None and target.prop_id != prop.prop_id
            )
            if (
                changed
                or lost_names
                or defaults
                or new
                or now.kip_name != schema_type.kip_name
                or replaced
            ):
                place = isinstance(schema_type, EdgeType), schema_type.kip_name
                names = _RowNames(now.kip_name, changed, lost_names, defaults, new, replaced)
                self._types[place] = names

    def __bool__(self) -> bool:
        return bool(self._types)

    def dropped_values(self, element: Element, base: Element) -> Mapping[str, Any]:
        """Values of the base whose property the state has dropped and the merged schema has again.

        The element has the names of the state. The base and the result have the names of the merged
        schema.
        """
        kind = element.predicate if isinstance(element, Proposition) else element.type
        renames = self._types.get((isinstance(element, Proposition), kind))
        new = frozenset() if renames is None else renames.new
        return {key: value for key, value in base.attributes.items() if key in new}

    def has_replaced(self, element: Element) -> bool:
        """True if an element has a value of a property whose name goes to another property."""
        kind = element.predicate if isinstance(element, Proposition) else element.type
        renames = self._types.get((isinstance(element, Proposition), kind))
        return renames is not None and not renames.replaced.isdisjoint(element.attributes)

    def in_merged_names(
        self, element: Element, dropped: Mapping[str, Any] | None = None
    ) -> Element:
        """An element with the names of the merged schema, and with values that it gets back."""
        is_link = isinstance(element, Proposition)
        kind = element.predicate if isinstance(element, Proposition) else element.type
        renames = self._types.get((is_link, kind))
        if renames is None:
            return element
        name = renames.type
        before = element.attributes
        self.lost.update(dict.fromkeys((kind, key) for key in before.keys() & renames.lost))
        attributes = {
            renames.properties.get(key, key): value
            for key, value in before.items()
            if key not in renames.lost
        }
        for values in (dropped or {}, renames.defaults):
            attributes |= {
                key: value for key, value in values.items() if attributes.get(key) is None
            }
        is_same = attributes == before and attributes.keys() == before.keys()
        text = element.attributes_json if is_same else object_text(attributes, "attributes")
        if isinstance(element, Concept):
            return element._replace(type=name, attributes_json=text)
        return element._replace(predicate=name, attributes_json=text)
