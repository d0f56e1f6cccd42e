"""Plans the steps from the schema in force to the desired schema, in an order that works.

A plan is made from the two schemas alone, matched by `schema_match`. If instances decide whether a
step is possible, the plan assumes that it is possible, and the step has `needs_data`.

The order is interfaces, nodes, edges, each by name, so that a type exists before another type names
it. Within a type, renames come first, then additions and changes, dropped constraints before new
ones, and removals last. Types are removed at the very end, edges before the nodes that they join.

The order of types, properties and annotations in a schema makes no difference. The order of the
columns of a key does, because names of instances depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from mycel.schema import model, steps
from mycel.schema.catalog import Catalog, Dropped
from mycel.schema.catalog_json import constraint_order
from mycel.schema.schema_match import Matching, TypeMatch, compare, may_hold
from mycel.schema.steps import RemoveType, SchemaStep, UnsupportedChange, entity

_DROP_ORDER: Final[tuple[model.TypeKind, ...]] = ("edge", "node", "interface")


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps from one schema to another."""

    changes: tuple[SchemaStep, ...]
    catalog: Catalog
    """The catalog after the plan: the desired catalog, with the earlier numbers, and with memories
    of hidden types and properties.
    """
    warnings: tuple[str, ...] = ()
    """Sentences about likely mistakes in the schema."""

    @property
    def supported(self) -> bool:
        """True if every step is possible, judged by the schemas alone."""
        return not any(isinstance(change, UnsupportedChange) for change in self.changes)

    @property
    def removals(self) -> tuple[RemoveType, ...]:
        """The steps that remove types."""
        return tuple(change for change in self.changes if isinstance(change, RemoveType))

    @property
    def steps(self) -> tuple[dict[str, Any], ...]:
        """The steps as JSON."""
        return tuple(change.to_dict() for change in self.changes)

    def to_dict(self) -> dict[str, Any]:
        """The plan for JSON, with warnings only if there are any."""
        payload = {"supported": self.supported, "steps": list(self.steps)}
        return payload | {"warnings": list(self.warnings)} if self.warnings else payload


def plan(
    accepted: Catalog,
    desired: Catalog,
    *,
    allow_data_loss: bool = False,
    is_empty: Callable[[model.SchemaType], bool] = lambda _: False,
) -> Plan:
    """The plan from the accepted schema to the desired one.

    An impossible change is a step too, `UnsupportedChange`, with the reason. A type or property
    that is no longer declared is hidden, or with `allow_data_loss` dropped. A hidden type that is
    declared again comes back with its instances. A hidden property comes back if its values may fit
    the declared type; otherwise a warning says that they stay hidden. `is_empty` returns True if a
    type has no instances, hidden ones included.
    """
    matching = compare(accepted, desired, allow_data_loss=allow_data_loss)
    planner = _Planner(accepted, matching, allow_data_loss, is_empty)
    changes = tuple(planner.changes())
    lost = _overwritten(accepted, changes)
    warnings = (*matching.warnings, *map(_overwriting, lost))
    return Plan(changes, _afterwards(accepted, desired, matching, changes, lost), warnings)


class _Planner:
    def __init__(
        self,
        accepted: Catalog,
        matching: Matching,
        allow_data_loss: bool,
        is_empty: Callable[[model.SchemaType], bool],
    ) -> None:
        self._matching = matching
        self._remove_type = steps.DropType if allow_data_loss else steps.HideType
        self._remove_property = steps.DropProperty if allow_data_loss else steps.HideProperty
        self._is_empty = is_empty
        self._kip_names = {_kip_place(type_name): type_name for type_name in accepted.types}

    def changes(self) -> Iterator[SchemaStep]:
        for matches in self._matching.matches.values():
            for match in matches:
                if match.declared is not match.before:
                    yield from self._type(match)
        for kind in _DROP_ORDER:
            yield from map(self._remove_type, self._matching.removals[kind])

    def _type(self, match: TypeMatch) -> Iterator[SchemaStep]:
        schema_type = match.declared
        if match.refused is not None:
            yield UnsupportedChange(entity(match.kind, schema_type.name), match.refused)
        elif (holder := self._holder(match)) is not None:
            yield _name_taken(match, holder)
        elif match.before is None:
            yield steps.AddType(schema_type)
            yield from _refused_properties(match)
        elif match.is_restored:
            remembered = _following_nodes(match.before, self._matching.renamed["node"])
            yield steps.RestoreType(schema_type, remembered)
            changes = list(self._differences(match, match.before))
            yield from changes
            if any(isinstance(change, UnsupportedChange) for change in changes):
                yield UnsupportedChange(
                    entity(match.kind, schema_type.name),
                    f"The {match.kind} {schema_type.name} is hidden, and cannot come back as it is"
                    " declared here. Declare it as it was, or discard the hidden type to have a"
                    " new one.",
                )
        else:
            yield from self._differences(match, match.before)

    def _holder(self, match: TypeMatch) -> model.SchemaType | None:
        """The other type that now has the KIP name of this one; None if the name is free."""
        before, schema_type = match.before, match.declared
        if before is not None and before.name == schema_type.name and not match.is_restored:
            return None
        holder = self._kip_names.get(_kip_place(schema_type))
        return None if holder is before else holder

    def _differences(self, match: TypeMatch, before: model.SchemaType) -> Iterator[SchemaStep]:
        schema_type = match.declared
        if schema_type.name != before.name:
            yield steps.RenameType(schema_type, before)
        prop_ids = {property_.prop_id for property_ in match.properties.values()}
        properties = [
            property_
            for property_ in sorted(before.properties, key=_name)
            if property_.prop_id not in prop_ids and property_.name not in match.claimed
        ]
        # A step that frees a name for another property comes first.
        names = {property_.name for property_ in schema_type.properties}
        replaced = [property_ for property_ in properties if property_.name in names]
        for constraint in _naming(before, replaced):
            yield steps.DropConstraint(schema_type, constraint)
        for property_ in replaced:
            yield self._remove_property(schema_type, property_)
        before = _without(before, replaced)
        if isinstance(schema_type, model.NodeType) and isinstance(before, model.NodeType):
            renamed = self._matching.renamed["interface"]
            before = replace(
                before,
                implements=tuple(
                    renamed.get(implement, implement) for implement in before.implements
                ),
            )
            if set(schema_type.implements) != set(before.implements):
                yield steps.ChangeInterfaces(schema_type, before)
        yield from self._properties(match)
        yield from _constraints(match, before)
        if isinstance(schema_type, model.EdgeType) and isinstance(before, model.EdgeType):
            yield from self._edge(schema_type, before)
        yield from _metadata(match, before)
        for property_ in properties:
            if property_ not in replaced:
                yield self._remove_property(schema_type, property_)

    def _properties(self, match: TypeMatch) -> Iterator[SchemaStep]:
        owner = match.declared
        ordered = sorted(owner.properties, key=_name)
        pairs = [(property_, match.properties.get(property_.name)) for property_ in ordered]
        for declared, old in pairs:
            if old is not None and old.name != declared.name:
                yield steps.RenameProperty(owner, declared, old)
        yield from _refused_properties(match)
        for declared, old in pairs:
            hidden = match.restored.get(declared.name)
            if hidden is not None and old is hidden:
                yield steps.RestoreProperty(owner, declared, hidden)
            elif old is None and declared.name not in match.refused_properties:
                yield self._new_property(owner, declared)
        for declared, old in pairs:
            hidden = match.restored.get(declared.name)
            if old is not None and old.type != declared.type:
                yield _retyped(owner, declared, old, is_restored=hidden is old)
            if hidden is not None and old is not hidden:
                yield steps.RestoreProperty(owner, declared, hidden)

    def _new_property(self, owner: model.SchemaType, property_: model.Property) -> SchemaStep:
        is_possible = (
            not property_.is_required
            or property_.default is not None
            or isinstance(owner, model.Interface)
            or self._is_empty(owner)
        )
        if is_possible:
            return steps.AddProperty(owner, property_)
        return UnsupportedChange(
            entity(owner.kind, owner.name, property_.name),
            f"Existing instances would have no value for this required property. Give it"
            f" @default(…), or make it nullable: {property_.name}: {property_.type}?",
        )

    def _edge(self, edge_type: model.EdgeType, before: model.EdgeType) -> Iterator[SchemaStep]:
        renamed = self._matching.renamed["node"]
        was = tuple(renamed.get(name, name) for name in (before.from_type, before.to_type))
        if was != (edge_type.from_type, edge_type.to_type):
            yield UnsupportedChange(
                entity("edge", edge_type.name),
                f"An edge {' -> '.join(was)} cannot become an edge {edge_type.from_type} ->"
                f" {edge_type.to_type}. Add an edge with another name, and drop this edge when"
                " its links have been replaced.",
            )
        if edge_type.cardinality != before.cardinality:
            yield steps.ChangeCardinality(edge_type, before)


def _kip_place(schema_type: model.SchemaType) -> tuple[bool, str]:
    """The key of a name in KIP, where concept types and predicates have separate names."""
    return isinstance(schema_type, model.EdgeType), schema_type.kip_name


def _name_taken(match: TypeMatch, holder: model.SchemaType) -> SchemaStep:
    """Refuse a KIP name that another type still has, even if a later step drops that type."""
    kind = holder.kind
    if kind == match.kind and match.before is None:
        advice = (
            f'Write @rename_from("{holder.name}") if it is the same type, or choose another name.'
        )
    else:
        advice = f"Drop or rename {holder.name} first, in a separate schema."
    return UnsupportedChange(
        entity(match.kind, match.declared.name),
        f"{model.quoted(_kip_place(match.declared)[1])} is the KIP name of the {kind} {holder.name}"
        f" until this schema is applied. {advice}",
    )


# Properties.


def _refused_properties(match: TypeMatch) -> Iterator[SchemaStep]:
    for name, reason in sorted(match.refused_properties.items()):
        yield UnsupportedChange(entity(match.kind, match.declared.name, name), reason)


def _retyped(
    owner: model.SchemaType, property_: model.Property, before: model.Property, *, is_restored: bool
) -> SchemaStep:
    old, new = before.type, property_.type
    if not can_become(old, new) and not is_restored:
        return UnsupportedChange(
            entity(owner.kind, owner.name, property_.name),
            f"The type cannot change from {old} to {new}. Add a property with another name and the"
            " new type, and drop this property when its values have been copied.",
        )
    if _is_tighter(old, new):
        return steps.TightenProperty(owner, property_, before)
    if old.enum_values and new.enum_values and old.is_nullable == new.is_nullable:
        return steps.ExtendEnum(owner, property_, before)
    return steps.RelaxProperty(owner, property_, before)


def can_become(old: model.PropertyType, new: model.PropertyType) -> bool:
    """True if the type of a property can change in this way."""
    return _core(old) == _core(new)


def _core(type_: model.PropertyType) -> Hashable:
    """The part of a type that cannot change."""
    return type_.scalar, type_.is_list, type_.dimension


def _is_tighter(old: model.PropertyType, new: model.PropertyType) -> bool:
    """True if the new type excludes a value that the old type allowed."""
    if old.is_nullable and not new.is_nullable:
        return True
    if new.enum_values is None:
        return False
    return old.enum_values is None or not set(old.enum_values) <= set(new.enum_values)


# Constraints.


def _constraints(match: TypeMatch, before: model.SchemaType) -> Iterator[SchemaStep]:
    renamed = match.renamed
    old = _by_demand(_following(constraint, renamed) for constraint in before.constraints)
    new = _by_demand(match.declared.constraints)
    constraints = [constraint for demand, constraint in old.items() if demand not in new]
    for constraint in sorted(constraints, key=constraint_order):
        yield steps.DropConstraint(match.declared, constraint)
    added = [constraint for demand, constraint in new.items() if demand not in old]
    for constraint in sorted(added, key=constraint_order):
        is_wider = any(_contains(constraint, other) for other in constraints)
        yield steps.AddConstraint(match.declared, constraint, is_wider)


def _naming(
    schema_type: model.SchemaType, properties: Collection[model.Property]
) -> list[model.Constraint]:
    """The constraints of a type that name one of these properties."""
    names = {property_.name for property_ in properties}
    return sorted(
        (
            constraint
            for constraint in schema_type.constraints
            if not names.isdisjoint(model.columns_of(constraint))
        ),
        key=constraint_order,
    )


def _without(
    schema_type: model.SchemaType, properties: Collection[model.Property]
) -> model.SchemaType:
    """A type without some of its properties, and without the constraints that name them."""
    if not properties:
        return schema_type
    naming = _naming(schema_type, properties)
    return replace(
        schema_type,
        properties=tuple(
            property_ for property_ in schema_type.properties if property_ not in properties
        ),
        constraints=tuple(
            constraint for constraint in schema_type.constraints if constraint not in naming
        ),
    )


def _by_demand(constraints: Iterable[model.Constraint]) -> dict[Hashable, model.Constraint]:
    """Constraints by their meaning: the order of columns matters only in a key."""
    return {
        constraint
        if isinstance(constraint, model.Key | model.Range | model.Check)
        else (type(constraint), frozenset(constraint.columns)): constraint
        for constraint in constraints
    }


def _following(constraint: model.Constraint, renamed: Mapping[str, str]) -> model.Constraint:
    """A constraint with the new names of properties."""
    columns = tuple(renamed.get(column, column) for column in model.columns_of(constraint))
    if isinstance(constraint, model.Range | model.Check):
        return replace(constraint, property=columns[0])
    return replace(constraint, columns=columns)


def _contains(outer: model.Constraint, inner: model.Constraint) -> bool:
    """True if one range allows every value of another."""
    if not (isinstance(outer, model.Range) and isinstance(inner, model.Range)):
        return False
    low, high = outer.minimum, outer.maximum
    return (
        outer.property == inner.property
        and (low is None or (inner.minimum is not None and low <= inner.minimum))
        and (high is None or (inner.maximum is not None and high >= inner.maximum))
    )


# Annotations.


def _metadata(match: TypeMatch, before: model.SchemaType) -> Iterator[SchemaStep]:
    schema_type = match.declared
    if schema_type.name == before.name and schema_type.kip_name != before.kip_name:
        yield UnsupportedChange(
            entity(match.kind, schema_type.name),
            f"The KIP name of a type cannot change from {model.quoted(before.kip_name)} to"
            f" {model.quoted(schema_type.kip_name)}. Leave @kip as it was, or rename the"
            " type instead:"
            f' give it another name and @rename_from("{schema_type.name}").',
        )
    elif _annotated(schema_type.annotations) != _annotated(before.annotations):
        yield steps.UpdateTypeMetadata(schema_type, before)
    renamed = match.renamed
    for property_ in sorted(schema_type.properties, key=_name):
        old = match.properties.get(property_.name)
        if (
            old is None
            or property_.name in match.restored
            or property_.annotations == old.annotations
        ):
            continue
        if _annotated(property_.annotations) != _annotated(old.annotations, renamed):
            yield steps.UpdatePropertyMetadata(schema_type, property_, old)


def _annotated(
    annotations: Iterable[model.Annotation], renamed: Mapping[str, str] | None = None
) -> list[tuple[str, bool, str, str]]:
    """Sorted annotations; `@embed` has the new name of its source."""
    texts = []
    for annotation in annotations:
        value = annotation.value or ""
        if annotation.name == model.EMBED and renamed is not None:
            value = renamed.get(value, value)
        texts.append((annotation.name, annotation.value is None, value, annotation.model or ""))
    return sorted(texts)


# The catalog after the plan.


def _afterwards(
    accepted: Catalog,
    desired: Catalog,
    matching: Matching,
    changes: tuple[SchemaStep, ...],
    lost: Collection[model.SchemaType],
) -> Catalog:
    types = {
        (match.kind, match.declared.name): match.declared
        for matches in matching.matches.values()
        for match in matches
    }
    hidden = _remembered(
        accepted, matching, changes, {_place(declared_type) for declared_type in lost}
    )
    return Catalog.of((types[_place(type_name)] for type_name in desired.types), hidden)


def _overwritten(accepted: Catalog, changes: tuple[SchemaStep, ...]) -> list[model.SchemaType]:
    """Hidden types that can no longer be restored: another type takes over their definitions."""
    places = {
        _kip_place(change.declared)
        for change in changes
        if isinstance(change, steps.AddType | steps.RenameType)
    }
    hidden = (part.declared for part in accepted.dropped if part.declared is not None)
    return [declared_type for declared_type in hidden if _kip_place(declared_type) in places]


def _overwriting(lost: model.SchemaType) -> str:
    kind = lost.kind
    return (
        f"{kind} {lost.name}: a type of this schema takes the name of the hidden {kind},"
        " which can then no longer be restored. Restore it under that name first if you need"
        " it."
    )


_HiddenKey = tuple[model.TypeKind, str, str | None, model.PropertyType | None]
"""The key of a memory: the kind and name of a type; for a property also its name and type."""


def _remembered(
    accepted: Catalog,
    matching: Matching,
    changes: tuple[SchemaStep, ...],
    lost: Collection[tuple[model.TypeKind, str]],
) -> tuple[Dropped, ...]:
    """The memories after the plan, of all types and properties that are hidden then."""
    entries: dict[_HiddenKey, Dropped] = {}
    for part in accepted.dropped:
        if (part.kind, part.type_name) not in lost:
            _remember(entries, _following_types(part, matching.renamed))
    for step in changes:
        match step:
            case steps.RestoreType(declared):
                entries.pop((*_place(declared), None, None), None)
            case steps.RenameProperty(owner, declared):
                for key, was in _properties_of(entries, owner):
                    if was.prop_id == declared.prop_id:
                        renamed_property = replace(was, name=declared.name)
                        _remember(entries, replace(entries.pop(key), property=renamed_property))
            case steps.RestoreProperty(owner, declared):
                for key, was in _properties_of(entries, owner):
                    if was.name == declared.name and may_hold(declared.type, was.type):
                        del entries[key]
            case steps.HideProperty(owner, before):
                _remember(entries, Dropped(*_place(owner), before))
            case steps.HideType(declared_type):
                entry = Dropped(*_place(declared_type), declared=declared_type)
                _remember(entries, _following_types(entry, matching.renamed))
            case _:
                pass
    return tuple(entries.values())


def _properties_of(
    entries: Mapping[_HiddenKey, Dropped], owner: model.SchemaType
) -> list[tuple[_HiddenKey, model.Property]]:
    return [
        (key, part.property)
        for key, part in entries.items()
        if key[:2] == _place(owner) and part.property is not None
    ]


def _remember(entries: dict[_HiddenKey, Dropped], entry: Dropped) -> None:
    was = entry.property
    name, type_ = (None, None) if was is None else (was.name, was.type)
    entries[entry.kind, entry.type_name, name, type_] = entry


def _following_types(
    entry: Dropped, renamed: Mapping[model.TypeKind, Mapping[str, str]]
) -> Dropped:
    """A memory with the new names of types."""
    name = renamed[entry.kind].get(entry.type_name, entry.type_name)
    declared = entry.declared and _following_nodes(entry.declared, renamed["node"])
    return replace(entry, type_name=name, declared=declared)


def _following_nodes(schema_type: model.SchemaType, renamed: Mapping[str, str]) -> model.SchemaType:
    """A declaration with the new names of its ends."""
    if not isinstance(schema_type, model.EdgeType) or not renamed:
        return schema_type
    return replace(
        schema_type,
        from_type=renamed.get(schema_type.from_type, schema_type.from_type),
        to_type=renamed.get(schema_type.to_type, schema_type.to_type),
    )


def _place(schema_type: model.SchemaType) -> tuple[model.TypeKind, str]:
    return schema_type.kind, schema_type.name


def _name(property_: model.Property) -> str:
    return property_.name
