"""The types and predicates in force, which the binding of a command looks up."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Final, Self

from mycel.errors import TypeMismatch, did_you_mean
from mycel.model.names import is_identifier, shorten
from mycel.model.values import JsonObject, parse_object
from mycel.plan.catalog import PredicateFacts, PropertySlot
from mycel.store.file.layout import (
    CONCEPT_TYPE_NUMBER,
    OBJECT_SIDE,
    OPEN_END,
    PROPOSITION_TYPE_NUMBER,
    SUBJECT_SIDE,
)
from mycel.store.index import link_ends
from mycel.store.index.slots import OBJECT, SUBJECT, read_slots
from mycel.store.query.reader import Reader

_META: Final = f"({CONCEPT_TYPE_NUMBER}, {PROPOSITION_TYPE_NUMBER})"
_TYPES: Final = (
    "SELECT n.name, n.id FROM {source} JOIN type n ON n.name = c.name"
    f" WHERE c.type = {CONCEPT_TYPE_NUMBER}"
)
_PREDICATES: Final = (
    "SELECT n.name, n.id, json_type(c.attributes, '$.is_symmetric'),"
    " CASE WHEN (c.attributes -> '$.pg') IS NOT NULL THEN c.attributes ->> '$.subject_types[0]'"
    " END,"
    " c.attributes ->> '$.object_types[0]' FROM {source}"
    " JOIN predicate n ON n.name = c.name"
    f" WHERE c.type = {PROPOSITION_TYPE_NUMBER}"
)
_MOMENTS: Final = (
    "SELECT n.id, p.value ->> '$.name', p.value ->> '$.type.list' IS NOT NULL FROM {source}"
    " JOIN {names} n ON n.name = c.name CROSS JOIN json_each(c.attributes, '$.pg.properties') p"
    ' WHERE c.type = {meta} AND instr(c.attributes, \'"scalar":"DateTime"\') > 0'
    " AND p.value ->> '$.type.scalar' = 'DateTime'"
)
"""A query for the properties that are times. Most definitions have none, and are not parsed."""
_HOPS_INSIDE: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*+)(\{[0-9]*+,?[0-9]*+\})", re.ASCII)
_NO_SLOTS: Final[Mapping[str, PropertySlot]] = MappingProxyType({})


class Vocabulary:
    """All names that are defined, as one connection sees them. It implements `plan.DefinedNames`.

    For a reader of the past, these are the names that were defined then. Only the live state has
    indexes.
    """

    def __init__(self, reader: Reader) -> None:
        source = reader.tables.concepts("c")
        self.types: Final[dict[str, int]] = dict(reader.fetch_all(_TYPES.format(source=source)))
        links = link_ends.read(reader.connection)
        self.predicates: Final[dict[str, PredicateFacts]] = {}
        self._ends: Final[dict[int, tuple[int, int]]] = {}
        for name, number, symmetric, *ends in reader.fetch_all(_PREDICATES.format(source=source)):
            self.predicates[name] = PredicateFacts(
                number,
                symmetric == "true",
                leads_from_links=(number, SUBJECT_SIDE) in links,
                leads_to_links=(number, OBJECT_SIDE) in links,
            )
            if ends[0] in self.types and ends[1] in self.types:
                self._ends[number] = self.types[ends[0]], self.types[ends[1]]
        self._symmetric: Final = tuple(
            sorted(facts.number for facts in self.predicates.values() if facts.is_symmetric)
        )
        self._slots: Final = _slots(reader) if reader.state.is_live else {}
        self._has_hidden: Final = reader.has_hidden()
        self._reader: Final = reader
        self._state: Final = reader.state
        self._source: Final = source

    def type_number(self, name: str) -> int:
        number = self.types.get(name)
        if number is None:
            raise self._undefined("concept type", name, list(self.types), "CONCEPT")
        return number

    def predicate(self, name: str) -> PredicateFacts:
        facts = self.predicates.get(name)
        if facts is None:
            raise self._undefined("predicate", name, list(self.predicates), "PROPOSITION")
        return facts

    def _undefined(self, noun: str, name: str, defined_names: list[str], kind: str) -> TypeMismatch:
        if self._state.is_live:
            others = self.types if kind == "PROPOSITION" else self.predicates
            return undefined(noun, name, defined_names, f"DESCRIBE {kind} TYPES", others)
        return TypeMismatch(
            f"The {noun} {shorten(name)!r} was not defined at entry {self._state.seq}.",
            hint="Ask AS OF a later moment; the journal (`mycel log`) shows when each change was"
            " written.",
        )

    def symmetric_predicates(self) -> tuple[int, ...]:
        return self._symmetric

    def has_hidden(self) -> bool:
        return self._has_hidden

    def slots(self, owner: int, *, link: bool) -> Mapping[str, PropertySlot]:
        return self._slots.get((owner, link), _NO_SLOTS)

    def detached(self) -> Self:
        """The same vocabulary, read completely: threads share it after its snapshot has ended."""
        _ = self._moments
        return self

    @cached_property
    def _moments(self) -> dict[tuple[int, bool, bool], set[str]]:
        return _moments(self._reader, self._source)

    def moments(self, owner: int, *, link: bool, lists: bool) -> Collection[str]:
        return self._moments.get((owner, link, lists), ())

    def ends(self, predicate: int) -> tuple[int, int] | None:
        return self._ends.get(predicate)


def _moments(reader: Reader, source: str) -> dict[tuple[int, bool, bool], set[str]]:
    """The properties that are times, by type or predicate, and whether each is a list."""
    by_owner: dict[tuple[int, bool, bool], set[str]] = {}
    for names, meta in (("type", CONCEPT_TYPE_NUMBER), ("predicate", PROPOSITION_TYPE_NUMBER)):
        query = _MOMENTS.format(source=source, names=names, meta=meta)
        for owner, name, is_list in reader.fetch_all(query):
            by_owner.setdefault((owner, names == "predicate", bool(is_list)), set()).add(name)
    return by_owner


def _slots(reader: Reader) -> dict[tuple[int, bool], dict[str, PropertySlot]]:
    """The indexes on single properties, by type or predicate; a unique index is preferred.

    The ends of links have indexes of their own.
    """
    by_owner: dict[tuple[int, bool], dict[str, PropertySlot]] = {}
    for number, owner, is_link, columns, is_unique in read_slots(reader.connection):
        if len(columns) > 1 or (is_link and columns[0] in (SUBJECT, OBJECT)):
            continue
        slots = by_owner.setdefault((owner, is_link), {})
        earlier = slots.get(columns[0])
        if earlier is None or not earlier.is_unique:
            slots[columns[0]] = PropertySlot(number, is_unique)
    return by_owner


def definitions_with(reader: Reader, key: str) -> list[JsonObject]:
    """The attributes of every definition whose attribute `key` is an object, by number."""
    query = (
        f"SELECT c.attributes FROM {reader.tables.concepts('c')}"
        f" WHERE c.type IN {_META} AND json_type(c.attributes, ?) = 'object' ORDER BY c.id"
    )
    return [parse_object(text) for (text,) in reader.fetch_all(query, (f"$.{key}",))]


def predicates_with(reader: Reader, key: str) -> list[str]:
    """The predicates whose definition has an attribute that is true."""
    query = (
        f"SELECT c.name FROM {reader.tables.concepts('c')}"
        f" WHERE c.type = {PROPOSITION_TYPE_NUMBER} AND json_type(c.attributes, ?) = 'true'"
        " ORDER BY c.id"
    )
    return reader.column(query, (f"$.{key}",))


def retired_definitions_with(reader: Reader, key: str) -> list[tuple[JsonObject, int]]:
    """Like `definitions_with` for removed definitions, each with the position before removal."""
    query = (
        "SELECT c.attributes,"
        " (SELECT first_seq - 1 FROM tx WHERE seq >= c.from_seq ORDER BY seq LIMIT 1)"
        f" FROM concept_past c WHERE c.from_seq <= ?1 AND c.to_seq > ?1 AND c.type IN {_META}"
        " AND c.tombstoned_at IS NOT NULL AND json_type(c.attributes, ?2) = 'object' ORDER BY c.id"
    )
    seq = OPEN_END - 1 if reader.state.seq is None else reader.state.seq
    return [(parse_object(text), at) for text, at in reader.fetch_all(query, (seq, f"$.{key}"))]


def undefined(
    noun: str, name: str, defined_names: list[str], command: str, others: Collection[str] = ()
) -> TypeMismatch:
    """The error for an undefined name, with the closest names that are defined.

    `others` are the names of the other kind: of predicates for a type, of types for a predicate.
    """
    names = name.split("|")
    if len(name) >= 256:
        close = ""
    elif name.startswith(":") and is_identifier(name[1:]):
        close = f"Write a placeholder without quotes: {name}."
    elif hops := _HOPS_INSIDE.fullmatch(name):
        close = f'Hops follow the quotes: "{hops[1]}"{hops[2]}.'
    elif name in others and noun == "predicate":
        close = f'{name} is a concept type: concepts are ?x {{type: "{name}"}}.'
    elif name in others:
        close = f'{name} is a predicate: links are ?l (?a, "{name}", ?b).'
    elif (
        noun == "predicate"
        and len(names) > 1
        and all(name.strip().isidentifier() for name in names)
    ):
        apart = " | ".join(f'"{name.strip()}"' for name in names)
        close = f"Put each alternative of a pattern in quotes of its own: {apart}."
    else:
        close = did_you_mean(name, defined_names)
    hint = f"{close} List what is defined with {command}; names are case-sensitive."
    return TypeMismatch(f"The {noun} {shorten(name)!r} is not defined.", hint=hint.strip())
