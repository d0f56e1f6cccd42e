"""The merge of schemas: types and properties by their ids, which survive renames.

A type that both sides have changed is merged part by part: its name, annotations and ends, its
properties by id, its constraints as a set. What does not fit together is a conflict about the whole
declaration. Rows are told in the names of the merged schema before they are compared, so that a
renamed type or property is no change of its rows.
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
        return next(each for each in (self.ours, self.theirs, self.base) if each is not None)


SchemaJudge = Callable[[SchemaContest], SchemaType | None]


def merge_schemas(base: Catalog, ours: Catalog, theirs: Catalog, judge: SchemaJudge) -> Catalog:
    """The merged schema."""
    states = [{each.identity: each for each in state.types} for state in (base, ours, theirs)]
    order = dict.fromkeys(identity for state in states[1:] for identity in state)
    merged = []
    for identity in order:
        old, mine, others = (state.get(identity) for state in states)
        declared = _merged(old, mine, others, judge)
        if declared is not None:
            merged.append(declared)
    merged += _still_named(merged, states[1:])
    return Catalog.of(_with_ends(merged, states[1:]))


def _still_named(merged: list[SchemaType], states: list[dict[str, SchemaType]]) -> list[SchemaType]:
    """The types that one side has dropped, and that a declaration of the other side names."""
    known = {
        each.name: identity
        for state in states
        for identity, each in state.items()
        if not isinstance(each, EdgeType)
    }
    have = {each.identity for each in merged}
    found: list[SchemaType] = []
    waiting = list(merged)
    while waiting:
        each = waiting.pop()
        names = each.implements if isinstance(each, NodeType) else ()
        ends = (each.from_type, each.to_type) if isinstance(each, EdgeType) else names
        for identity in (known[name] for name in ends if name in known):
            if identity not in have:
                have.add(identity)
                kept = next(state[identity] for state in states if identity in state)
                found.append(kept)
                waiting.append(kept)
    return found


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
    """The ids in the target of properties that have the same name and type, and another id there.

    A property that took the place of one of another type has got an id of its own there.
    """
    mine = {each.prop_id for each in ours.properties}
    others = {each.prop_id for each in theirs.properties}
    free = {_place(each): each for each in ours.properties if each.prop_id not in others}
    found = {
        each.prop_id: free.get(_place(each))
        for each in theirs.properties
        if each.prop_id not in mine
    }
    return {number: same.prop_id for number, same in found.items() if same is not None}


def _place(each: Property) -> tuple[Any, ...]:
    """The name of a property, and its type apart from null."""
    return each.name, replace(each.type, is_nullable=True)


def _with_numbers(declared: SchemaType, numbers: Mapping[int, int]) -> SchemaType:
    """A declaration some of whose properties have other ids."""
    if not numbers:
        return declared
    properties = (
        replace(each, prop_id=numbers.get(each.prop_id, each.prop_id))
        for each in declared.properties
    )
    return replace(declared, properties=tuple(properties))


class _ContestedError(Exception):
    """Both sides have changed the same part."""


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
        {each.prop_id: each.name for each in (() if state is None else state.properties)}
        for state in (base, ours, theirs)
    ]
    return {
        number: _one(*(state.get(number, names[0]) for state in states))
        for number in dict.fromkeys(each for state in states for each in state)
        if (names := [state[number] for state in states if number in state])
    }


def _in_names(declared: SchemaType, names: Mapping[int, str]) -> SchemaType:
    """A declaration whose properties have other names, also where constraints name them."""
    now = {each.name: names[each.prop_id] for each in declared.properties}
    if all(name == old for old, name in now.items()):
        return declared

    def annotation(each: Annotation) -> Annotation:
        is_name = each.name == EMBED and each.value is not None
        return replace(each, value=now.get(each.value or "", each.value)) if is_name else each

    def constraint(each: Constraint) -> Constraint:
        if isinstance(each, ColumnConstraint):
            return replace(each, columns=tuple(now.get(name, name) for name in each.columns))
        return replace(each, property=now.get(each.property, each.property))

    properties = tuple(
        replace(each, name=now[each.name], annotations=tuple(map(annotation, each.annotations)))
        for each in declared.properties
    )
    constraints = tuple(map(constraint, declared.constraints))
    return replace(declared, properties=properties, constraints=constraints)


def _holds_together(declared: SchemaType) -> bool:
    """True if a merged declaration can be written as a schema."""
    names = {each.name for each in declared.properties}
    columns = names | {*ENDS} if isinstance(declared, EdgeType) else names
    named = [name for each in declared.constraints for name in columns_of(each)]
    embedded = [each.embed_source for each in declared.properties if each.embed_source]
    keys = [each for each in declared.constraints if isinstance(each, Key)]
    ranges = [each.property for each in declared.constraints if isinstance(each, Range)]
    return (
        columns.issuperset(named)
        and names.issuperset(embedded)
        and len(keys) <= 1
        and len({*ranges}) == len(ranges)
    )


def taking_theirs(ours: SchemaType | None, theirs: SchemaType | None) -> SchemaType | None:
    """The declaration of the source, in which a property of another type is another property.

    The type of a property cannot change, so that of the target goes with its values.
    """
    if ours is None or theirs is None:
        return theirs
    mine = {each.prop_id: each.type for each in ours.properties}
    taken = {*mine, *(each.prop_id for each in theirs.properties)}
    properties = []
    for each in theirs.properties:
        was = mine.get(each.prop_id, each.type)
        number = each.prop_id if can_become(was, each.type) else free_id(each.prop_id, taken)
        properties.append(replace(each, prop_id=number))
    return replace(theirs, properties=tuple(properties))


def without_exchanged(ours: Catalog, merged: Catalog) -> Catalog:
    """The schema of the target without properties whose names others get in the merged one.

    A property that has another name there has it here as well, or one of its own for the moment.
    """
    later = {each.identity: each for each in merged.types}

    def restore_names(declared: SchemaType) -> SchemaType:
        now = later.get(declared.identity)
        others = {} if now is None else {each.name: each.prop_id for each in now.properties}
        names_then = {prop_id: name for name, prop_id in others.items()}
        used = {each.name for each in declared.properties}
        names: dict[int, str] = {}
        for each in declared.properties:
            if others.get(each.name, each.prop_id) == each.prop_id:
                names[each.prop_id] = each.name
            elif each.prop_id in names_then:
                name = names_then[each.prop_id]
                names[each.prop_id] = name if name not in used else f"{name}_{each.prop_id}"
        stays = tuple(each for each in declared.properties if each.prop_id in names)
        columns = {each.name for each in stays} | {*ENDS}
        constraints = tuple(
            each for each in declared.constraints if columns.issuperset(columns_of(each))
        )
        return _in_names(replace(declared, properties=stays, constraints=constraints), names)

    found = [restore_names(each) for each in ours.types]
    return ours if found == list(ours.types) else Catalog.of(found)


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


class _RowNames(NamedTuple):
    """The changes of the rows of one type."""

    type: str
    properties: Mapping[str, str]
    gone: frozenset[str]
    defaults: Mapping[str, Any]
    new: frozenset[str]
    """The properties of the merged schema that the state does not have."""
    replaced: frozenset[str]
    """The properties whose names and values others get, which have other ids."""


def _keeps_values(declared: Property, later: Property | None, *, is_open: bool) -> bool:
    """True if rows keep the values of a property in the merged schema."""
    return is_open if later is None else can_become(declared.type, later.type)


class Renames:
    """The names that types and properties of one state have in the merged schema.

    Rows get the default of a property that is required there. They lose the values of a property
    that is not there, or has another type there.
    """

    def __init__(self, state: Catalog, merged: Catalog) -> None:
        later = {each.identity: each for each in merged.types}
        self._types: dict[tuple[bool, str], _RowNames] = {}
        self.lost: Final[dict[tuple[str, str], None]] = {}
        """Types and properties of which rows that were told have lost values."""
        for each in state.types:
            now = later.get(each.identity)
            if now is None:
                continue
            by_id = {prop.prop_id: prop for prop in now.properties}
            by_name = {prop.name: prop for prop in now.properties}
            targets = {
                prop.name: by_id.get(prop.prop_id) or by_name.get(prop.name)
                for prop in each.properties
            }
            changed = {
                name: target.name
                for name, target in targets.items()
                if target is not None and target.name != name
            }
            gone = frozenset(
                prop.name
                for prop in each.properties
                if not _keeps_values(prop, targets[prop.name], is_open=now.is_open)
            )
            defaults = {
                prop.name: parse_default(prop)
                for prop in now.properties
                if prop.is_required and prop.default is not None
            }
            known = {target.name for target in targets.values() if target is not None}
            new = frozenset(by_name.keys() - known)
            replaced = frozenset(
                prop.name
                for prop in each.properties
                if (target := targets[prop.name]) is not None and target.prop_id != prop.prop_id
            )
            if changed or gone or defaults or new or now.kip_name != each.kip_name or replaced:
                place = isinstance(each, EdgeType), each.kip_name
                names = _RowNames(now.kip_name, changed, gone, defaults, new, replaced)
                self._types[place] = names

    def __bool__(self) -> bool:
        return bool(self._types)

    def dropped_values(self, element: Element, base: Element) -> Mapping[str, Any]:
        """Values of the base that went with a property, which the merged schema has again.

        The element is as the state has it; the base, and what is returned, have the names of the
        merged schema.
        """
        kind = element.predicate if isinstance(element, Proposition) else element.type
        found = self._types.get((isinstance(element, Proposition), kind))
        new = frozenset() if found is None else found.new
        return {key: value for key, value in base.attributes.items() if key in new}

    def has_replaced(self, element: Element) -> bool:
        """True if an element has a value of a property that gives its name to another one."""
        kind = element.predicate if isinstance(element, Proposition) else element.type
        found = self._types.get((isinstance(element, Proposition), kind))
        return found is not None and not found.replaced.isdisjoint(element.attributes)

    def in_merged_names(
        self, element: Element, dropped: Mapping[str, Any] | None = None
    ) -> Element:
        """An element in the names of the merged schema, with values that it gets back."""
        is_link = isinstance(element, Proposition)
        kind = element.predicate if isinstance(element, Proposition) else element.type
        found = self._types.get((is_link, kind))
        if found is None:
            return element
        name = found.type
        before = element.attributes
        self.lost.update(dict.fromkeys((kind, key) for key in before.keys() & found.gone))
        attributes = {
            found.properties.get(key, key): value
            for key, value in before.items()
            if key not in found.gone
        }
        for values in (dropped or {}, found.defaults):
            attributes |= {
                key: value for key, value in values.items() if attributes.get(key) is None
            }
        is_same = attributes == before and attributes.keys() == before.keys()
        text = element.attributes_json if is_same else object_text(attributes, "attributes")
        if isinstance(element, Concept):
            return element._replace(type=name, attributes_json=text)
        return element._replace(predicate=name, attributes_json=text)
