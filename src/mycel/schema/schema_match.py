"""Matches the types and properties of one schema with those of the schema before it.

Types and properties are matched by name, and then by `@rename_from`. Unmatched ones are new, or
come back if they were hidden. Names of edges that differ only in case are the same. An impossible
rename is refused with a reason, and the type or property that it names is then neither added nor
removed. A rename may stay in the schema after it is done, so a rename whose target exists already
has no effect; if it may have been intended, there is a warning.

A hidden property comes back if the declared type holds the same kind of values, or a wider kind of
numbers; `migration` checks whether each value fits. A rename in an interface is a rename in every
node that implemented it.

A matched type or property keeps its number. A new type or property gets the hash of its name as its
number, unless another one still has this number.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from mycel.errors import did_you_mean
from mycel.schema import model
from mycel.schema.catalog import Catalog, Dropped
from mycel.schema.scalars import SCALARS

_KINDS: Final[tuple[model.TypeKind, ...]] = ("interface", "node", "edge")
_ID_MAX: Final = 0xFFFF_FFFF
_SUGGESTIONS_MAX: Final = 10
_COMPARED_MAX: Final = 120
_NOTHING: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class TypeMatch:
    """A desired type, and the accepted type that it was before."""

    declared: model.SchemaType
    """The desired type, with the numbers of the accepted one."""
    before: model.SchemaType | None = None
    is_restored: bool = False
    """True if `before` is the memory of a hidden type."""
    refused: str | None = None
    """The error of its `@rename_from`."""
    properties: Mapping[str, model.Property] = field(default_factory=dict)
    """The former properties, by their present names."""
    restored: Mapping[str, model.Property] = field(default_factory=dict)
    """The properties whose hidden values come back, by name, in the form in which they were
    hidden."""
    refused_properties: Mapping[str, str] = field(default_factory=dict)
    """The errors of `@rename_from`, by property."""
    claimed: frozenset[str] = frozenset()
    """The properties that a refused `@rename_from` names."""

    @property
    def kind(self) -> model.TypeKind:
        return self.declared.kind

    @property
    def renamed(self) -> dict[str, str]:
        """Old names of properties -> new names."""
        return {
            before.name: name for name, before in self.properties.items() if before.name != name
        }


@dataclass(frozen=True, slots=True)
class Matching:
    """Two schemas side by side."""

    matches: Mapping[model.TypeKind, tuple[TypeMatch, ...]]
    """The matches by the desired name."""
    removals: Mapping[model.TypeKind, tuple[model.SchemaType, ...]]
    """The accepted types that match no desired type, by name."""
    renamed: Mapping[model.TypeKind, Mapping[str, str]]
    """Old names of types -> new names."""
    warnings: tuple[str, ...] = ()
    """Warnings about renames without effect that may have been intended."""


class _Pairing(NamedTuple):
    sources: dict[str, str]
    """Desired name -> former name."""
    refused: dict[str, str]
    """Desired name -> the reason why its `@rename_from` is refused."""
    claimed: set[str]
    """Accepted names that refused renames refer to."""


class _HiddenNames:
    """The hidden types and properties of the accepted schema, by kind and name of the type."""

    def __init__(self, dropped: Iterable[Dropped]) -> None:
        self._types: dict[tuple[model.TypeKind, str], model.SchemaType] = {}
        self._properties: dict[tuple[model.TypeKind, str], dict[str, list[model.Property]]] = {}
        for part in dropped:
            place = part.kind, part.type_name
            if part.property is not None:
                by_name = self._properties.setdefault(place, {})
                by_name.setdefault(part.property.name, []).append(part.property)
            elif part.declared is not None:
                self._types[place] = part.declared

    def type(self, kind: model.TypeKind, name: str) -> model.SchemaType | None:
        return self._types.get((kind, name))

    def names(self, kind: model.TypeKind) -> list[str]:
        return [name for other, name in self._types if other == kind]

    def properties(
        self, kind: model.TypeKind, type_name: str
    ) -> Mapping[str, list[model.Property]]:
        """For each name, the hidden properties that had it, the newest last."""
        return self._properties.get((kind, type_name), {})


def compare(accepted: Catalog, desired: Catalog, *, allow_data_loss: bool = False) -> Matching:
    """Match each desired type and property with an accepted one, whose number it keeps."""
    matcher = _Matcher(accepted, allow_data_loss)
    by_kind: dict[model.TypeKind, list[TypeMatch]] = {
        # Interfaces come first, because nodes need their renames.
        kind: matcher.types(kind, desired.types_of(kind))
        for kind in _KINDS
    }
    numbers = _Numbers(accepted)
    return Matching(
        {kind: tuple(map(numbers.carry, matches)) for kind, matches in by_kind.items()},
        matcher.removals,
        matcher.renamed,
        tuple(matcher.warnings),
    )


class _Matcher:
    def __init__(self, accepted: Catalog, allow_data_loss: bool) -> None:
        self._accepted = accepted
        self._allow_data_loss = allow_data_loss
        self._memory = _HiddenNames(accepted.dropped)
        self._interface_renames: dict[str, dict[str, str]] = {}
        """New names of the properties of an interface -> old names."""
        self._suggestions_left = _SUGGESTIONS_MAX
        self.removals: dict[model.TypeKind, tuple[model.SchemaType, ...]] = {}
        self.renamed: dict[model.TypeKind, Mapping[str, str]] = {}
        self.warnings: list[str] = []

    def types(
        self, kind: model.TypeKind, desired: Mapping[str, model.SchemaType]
    ) -> list[TypeMatch]:
        accepted = self._accepted.types_of(kind)
        remembered = {name for name in desired if self._memory.type(kind, name)}
        sources = {name: declared.renamed_from for name, declared in desired.items()}
        if kind == "edge":
            free = [name for name in accepted if name not in desired]
            for name in sources.keys() - accepted.keys() - remembered:
                sources[name] = sources[name] or _same_but_for_case(name, free)
        pairing = _pair(
            sources,
            accepted,
            remembered=remembered,
            unknown=lambda source: self._unknown_type(kind, source),
        )
        self._warn_of_ignored(
            sources,
            accepted,
            lambda name: _shape(desired[name]) == _shape(accepted[name]),
            kind,
            "",
        )
        used = {*pairing.sources.values(), *pairing.claimed}
        self.removals[kind] = tuple(accepted[name] for name in sorted(accepted.keys() - used))
        self.renamed[kind] = {
            source: name for name, source in pairing.sources.items() if source != name
        }
        matches = []
        for name in sorted(desired):
            declared, reason = desired[name], pairing.refused.get(name)
            if reason is not None:
                matches.append(TypeMatch(declared, refused=reason))
            elif name not in pairing.sources:
                matches.append(self._new(declared))
            elif declared == (before := accepted[pairing.sources[name]]):
                # From here on, an unchanged type is the same object.
                own = {property_.name: property_ for property_ in before.properties}
                matches.append(TypeMatch(before, before, properties=own))
            else:
                matches.append(self._properties(declared, before))
        return matches

    def _warn_of_ignored(
        self,
        sources: Mapping[str, str | None],
        accepted: Collection[str],
        is_same: Callable[[str], bool],
        noun: str,
        prefix: str,
    ) -> None:
        """Warn of a `@rename_from` that names an existing type or property but has no effect."""
        for name, source in sorted(sources.items()):
            is_ignored = name in accepted and source in accepted and source != name
            if is_ignored and (
                source not in sources or not is_same(name) or _is_exchanged(name, sources)
            ):
                self.warnings.append(_ignored(noun, f"{prefix}{name}", source))

    def _new(self, schema_type: model.SchemaType) -> TypeMatch:
        kind = schema_type.kind
        remembered = self._memory.type(kind, schema_type.name)
        if remembered is not None:
            return self._properties(schema_type, remembered, is_restored=True)
        hidden = kind == "edge" and _same_but_for_case(schema_type.name, self._memory.names(kind))
        if hidden:
            return TypeMatch(schema_type, refused=_hidden_edge(hidden))
        return self._properties(schema_type, None)

    def _properties(
        self,
        schema_type: model.SchemaType,
        before: model.SchemaType | None,
        *,
        is_restored: bool = False,
    ) -> TypeMatch:
        desired = {property_.name: property_ for property_ in schema_type.properties}
        accepted = (
            {} if before is None else {property_.name: property_ for property_ in before.properties}
        )
        memory = {} if before is None else self._memory.properties(schema_type.kind, before.name)
        if is_restored:
            # A property of an incompatible type stays hidden when its owner comes back.
            apart = {
                name: prop
                for name, prop in accepted.items()
                if name in desired and not may_hold(desired[name].type, prop.type)
            }
            accepted = {name: prop for name, prop in accepted.items() if name not in apart}
            if not self._allow_data_loss:
                hidden = {name: [*memory.get(name, ()), prop] for name, prop in apart.items()}
                memory = {**memory, **hidden}
        ids = {prop.prop_id: name for name, prop in accepted.items()}
        eased = set() if before is None else _eased(before, schema_type)
        back = {
            name: was
            for name, prop in desired.items()
            if (was := _hidden(prop, accepted.get(name), memory.get(name, ()), eased)) is not None
            and ids.get(was.prop_id, name) == name
        }
        for name in sorted(desired.keys() & memory.keys() - accepted.keys() - back.keys()):
            self.warnings.append(_left_hidden(schema_type, desired[name], memory[name][-1]))
        sources = self._sources(schema_type, before, accepted)
        prefix = f"{schema_type.name}."
        self._warn_of_ignored(
            sources,
            accepted,
            lambda name: desired[name].type == accepted[name].type,
            "property",
            prefix,
        )
        pairing = _pair(
            sources,
            accepted,
            remembered=back,
            unknown=lambda source: self._unknown(
                source,
                "a property" if source in memory else "",
                f"property that {schema_type.name} has in the accepted schema",
                accepted,
                "property",
            ),
        )
        survivors = {name: accepted[source] for name, source in pairing.sources.items()}
        restored = {
            name: was
            for name, was in back.items()
            if name not in pairing.refused and pairing.sources.get(name, name) == name
        }
        properties = {**restored, **survivors}
        if isinstance(schema_type, model.Interface):
            self._interface_renames[schema_type.name] = {
                name: source for name, source in pairing.sources.items() if name != source
            }
        return TypeMatch(
            schema_type,
            before,
            is_restored=is_restored,
            properties=properties,
            restored=restored,
            refused_properties=pairing.refused,
            claimed=frozenset(pairing.claimed),
        )

    def _sources(
        self,
        schema_type: model.SchemaType,
        before: model.SchemaType | None,
        accepted: Collection[str],
    ) -> dict[str, str | None]:
        """The old names that the properties of a type give in `@rename_from`.

        A rename of an interface applies to a node only if the node implemented the interface
        before.
        """
        sources = {
            property_.name: property_.renamed_from if property_.inherited_from is None else None
            for property_ in schema_type.properties
        }
        if isinstance(schema_type, model.NodeType) and isinstance(before, model.NodeType):
            own = set(sources.values())
            renamed = self.renamed["interface"]
            implemented = {renamed.get(implement, implement) for implement in before.implements}
            for interface in sorted(implemented.intersection(schema_type.implements)):
                for name, source in self._interface_renames.get(interface, _NOTHING).items():
                    is_free = source in accepted and source not in sources and source not in own
                    if is_free and sources.get(name, source) is None:
                        sources[name] = source
        return sources

    def _unknown_type(self, kind: model.TypeKind, source: str) -> str:
        name_text = model.quoted(source)
        for other in _KINDS:
            if other != kind and source in self._accepted.types_of(other):
                return (
                    f"@rename_from({name_text}) names {_article(other)}, which cannot become"
                    f" {_article(kind)}. Remove @rename_from to add a new type."
                )
        is_hidden = self._memory.type(kind, source) is not None
        what, known = f"{kind} of the accepted schema", self._accepted.types_of(kind)
        return self._unknown(source, _article(kind) if is_hidden else "", what, known, "type")

    def _unknown(
        self, source: str, hidden: str, noun: str, candidates: Collection[str], new: str
    ) -> str:
        """The error of `@rename_from` with an unknown name, or the name of something `hidden`."""
        name_text = model.quoted(source)
        if hidden:
            return (
                f"@rename_from({name_text}) names {hidden} that is hidden. Declare it under that"
                " name to bring it back, and rename it in the next schema."
            )
        message = (
            f"@rename_from({name_text}) names no {noun}. {self._suggestion(source, candidates)}"
        )
        return f"{message.rstrip()} Remove @rename_from to add a new {new}."

    def _suggestion(self, source: str, candidates: Collection[str]) -> str:
        """Names close to an unknown one; only for the first few, because it is slow."""
        self._suggestions_left -= 1
        if self._suggestions_left < 0 or len(source) > _COMPARED_MAX:
            return ""
        return did_you_mean(source, list(candidates))


def _pair(
    desired: Mapping[str, str | None],
    accepted: Collection[str],
    *,
    remembered: Collection[str],
    unknown: Callable[[str], str],
) -> _Pairing:
    """Pair desired names with accepted ones: equal names first, then by `@rename_from`."""
    pairing = _Pairing({name: name for name in desired if name in accepted}, {}, set())
    claims: dict[str, list[str]] = {}
    for name, source in desired.items():
        if source is not None and name not in pairing.sources:
            claims.setdefault(source, []).append(name)
    for source, names in sorted(claims.items()):
        if source not in accepted:
            refused = [name for name in names if name not in remembered]
            pairing.refused.update(dict.fromkeys(refused, unknown(source) if refused else ""))
        elif source in desired:
            pairing.refused.update(dict.fromkeys(names, _still_there(source)))
        elif len(names) > 1:
            pairing.refused.update(dict.fromkeys(names, _several(source, names)))
            pairing.claimed.add(source)
        else:
            pairing.sources[names[0]] = source
    return pairing


def may_hold(new: model.PropertyType, old: model.PropertyType) -> bool:
    """True if a type holds the same kind of values as another type, or a wider kind."""
    is_same = (new.scalar, new.dimension) == (old.scalar, old.dimension)
    return new.is_list == old.is_list and (is_same or new.scalar in SCALARS[old.scalar].wider)


def _hidden(
    declared: model.Property,
    accepted: model.Property | None,
    remembered: Sequence[model.Property],
    eased: Collection[str],
) -> model.Property | None:
    """The hidden property whose values may come back as `declared`.

    A hidden property of the same type is preferred, then the newest one whose type may fit. A
    present property may have hidden values too, which did not fit its type, range or pattern. These
    may fit `declared` if its type differs, or if the property is in `eased`.
    """
    if accepted is not None and accepted.type == declared.type and declared.name not in eased:
        return None
    exact = [property_ for property_ in remembered if property_.type == declared.type]
    fitting = [property_ for property_ in remembered if may_hold(declared.type, property_.type)]
    return next(iter([*exact[-1:], *fitting[-1:]]), None)


def _eased(before: model.SchemaType, schema_type: model.SchemaType) -> set[str]:
    """The properties that lose a range or a pattern, perhaps for another one."""
    constraints = set(before.constraints).difference(schema_type.constraints)
    return {
        constraint.property
        for constraint in constraints
        if isinstance(constraint, model.Range | model.Check)
    }


def _left_hidden(owner: model.SchemaType, property_: model.Property, was: model.Property) -> str:
    return (
        f"property {owner.name}.{property_.name}: it was {was.type} when it was hidden, and is"
        f" {property_.type} now. It is a new property, and the old values stay hidden. To restore"
        f" them, declare it as {was.type}."
    )


def _same_but_for_case(name: str, names: Iterable[str]) -> str | None:
    """The name among others that differs only in case."""
    folded = name.casefold()
    return next((other for other in names if other.casefold() == folded and other != name), None)


def _hidden_edge(name: str) -> str:
    return (
        f"An edge {name} is hidden, and names of edges must differ in more than the case of"
        f" their letters. Declare it as {name} to bring it back and rename it in the schema"
        " after that,"
        " or discard what is hidden."
    )


def _is_exchanged(name: str, sources: Mapping[str, str | None]) -> bool:
    """True if renames lead from a name back to itself."""
    seen: set[str] = set()
    at = sources.get(name)
    while at is not None and at not in seen:
        if at == name:
            return True
        seen.add(at)
        at = sources.get(at)
    return False


def _ignored(noun: str, name: str, source: str | None) -> str:
    return (
        f"{noun} {name}: @rename_from({model.quoted(source or '')}) is ignored, because there is"
        f" a {noun} {name} already, which keeps its name and its data. To exchange names, rename"
        " one of the two to a third name first, in a separate schema."
    )


def _shape(schema_type: model.SchemaType) -> tuple[object, ...]:
    """The content of a type without its name, to compare types."""
    return (
        {property_.name: property_.type for property_ in schema_type.properties},
        set(schema_type.constraints),
        (schema_type.from_type, schema_type.to_type)
        if isinstance(schema_type, model.EdgeType)
        else (),
    )


def _still_there(source: str) -> str:
    return (
        f'@rename_from("{source}") names a part that the schema still declares. Remove {source}'
        " to rename it, or remove @rename_from to have both."
    )


def _several(source: str, names: Iterable[str]) -> str:
    return (
        f'{", ".join(sorted(names))} all say @rename_from("{source}"), which can become only one of'
        " them. Keep @rename_from only on that one."
    )


def _article(kind: model.TypeKind) -> str:
    return "a node" if kind == "node" else f"an {kind}"


class _Numbers:
    """Assigns numbers to types and properties: known ones keep theirs, new ones get a free one."""

    def __init__(self, accepted: Catalog) -> None:
        self._types: set[int] = set()
        self._properties: set[int] = set()
        for schema_type in accepted.types:
            self._take(schema_type)
        # Hidden types and properties keep their numbers, so their numbers are not free either.
        for part in accepted.dropped:
            if part.property is not None:
                self._properties.add(part.property.prop_id)
            if part.declared is not None:
                self._take(part.declared)

    def carry(self, match: TypeMatch) -> TypeMatch:
        schema_type, before = match.declared, match.before
        if schema_type is before:
            return match
        type_id = free_id(schema_type.type_id, self._types) if before is None else before.type_id
        properties = tuple(
            self._property(property_, match.properties.get(property_.name))
            for property_ in schema_type.properties
        )
        return replace(match, declared=replace(schema_type, type_id=type_id, properties=properties))

    def _property(self, property_: model.Property, before: model.Property | None) -> model.Property:
        number = free_id(property_.prop_id, self._properties) if before is None else before.prop_id
        return property_ if number == property_.prop_id else replace(property_, prop_id=number)

    def _take(self, schema_type: model.SchemaType) -> None:
        self._types.add(schema_type.type_id)
        self._properties.update(property_.prop_id for property_ in schema_type.properties)


def free_id(number: int, ids: set[int]) -> int:
    """Take the number, or the next free one if it is taken."""
    while number in ids or number == 0:
        number = number + 1 & _ID_MAX
    ids.add(number)
    return number
