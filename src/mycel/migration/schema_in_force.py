"""The schema in force, read from the definitions in the graph: now, or at a moment of the past."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from mycel.model.values import parse_object
from mycel.schema.catalog import Catalog, Dropped
from mycel.schema.model import EdgeType, NodeType, SchemaType
from mycel.schema.stored_declaration import (
    PG,
    PG_DROPPED,
    declaration,
    hidden_properties,
    remembered,
)
from mycel.sql.state_tables import Sources
from mycel.store.file.layout import CONCEPT_TYPE_NUMBER, OPEN_END, PROPOSITION_TYPE_NUMBER
from mycel.store.query.reader import Reader

_META: Final = f"({CONCEPT_TYPE_NUMBER}, {PROPOSITION_TYPE_NUMBER})"
_DECLARED: Final = (
    f"SELECT c.attributes FROM {{source}} WHERE c.type IN {_META}"
    f" AND json_type(c.attributes, '$.{PG}') = 'object' ORDER BY c.id"
)
_REMEMBERED: Final = (
    f"SELECT c.attributes FROM {{source}} WHERE c.type IN {_META}"
    f" AND json_type(c.attributes, '$.{PG_DROPPED}') = 'object' ORDER BY c.id"
)
_RETIRED: Final = (
    "SELECT c.attributes,"
    " (SELECT first_seq - 1 FROM tx WHERE seq >= c.from_seq ORDER BY seq LIMIT 1)"
    f" FROM concept_past c WHERE c.from_seq <= ?1 AND c.to_seq > ?1 AND c.type IN {_META}"
    f" AND c.tombstoned_at IS NOT NULL AND json_type(c.attributes, '$.{PG}') = 'object'"
    " ORDER BY c.id"
)


def read(reader: Reader, *, moment: int | None = None, dropped: bool = False) -> Catalog:
    """The catalog of everything that is typed, perhaps as it was at a position of the journal.

    With `dropped`, it also remembers what is hidden and can be restored.
    """
    source = Sources(None if moment is None else str(moment)).concepts("c")
    rows = reader.every(_DECLARED.format(source=source))
    found = [
        (declared, attributes)
        for attributes in (parse_object(text) for (text,) in rows)
        if (declared := declaration(attributes)) is not None
    ]
    gone = _gone(reader, source, moment, found) if dropped else ()
    return Catalog.of((declared for declared, _ in found), gone)


def with_renames(before: Catalog, after: Catalog) -> Catalog:
    """The later catalog, saying what was called otherwise in the earlier one.

    Ids survive renames, so two catalogs of one graph tell by themselves.
    """
    old = {each.identity: each for each in before.types}

    def renamed(each: SchemaType) -> SchemaType:
        was = old.get(each.identity)
        if was is None:
            return each
        names = {declared.prop_id: declared.name for declared in was.properties}
        properties = tuple(
            replace(declared, renamed_from=_other(names.get(declared.prop_id), declared.name))
            for declared in each.properties
        )
        return replace(each, properties=properties, renamed_from=_other(was.name, each.name))

    return Catalog.of(map(renamed, after.types))


def _other(was: str | None, name: str) -> str | None:
    return None if was == name else was


def _gone(
    reader: Reader,
    source: str,
    moment: int | None,
    live: list[tuple[SchemaType, dict[str, Any]]],
) -> list[Dropped]:
    """Properties and types that live definitions remember, and definitions that are tombstones."""
    found = [each for declared, said in live for each in _properties_gone(declared, said[PG])]
    names = {each.type_id: each.name for each, _ in live if isinstance(each, NodeType)}
    for text, seq in reader.every(_RETIRED, (OPEN_END - 1 if moment is None else moment,)):
        said = parse_object(text)
        declared = declaration(said)
        if declared is not None:
            found += _type_gone(_with_ends(declared, said[PG], names), said[PG], seq)
    for (text,) in reader.every(_REMEMBERED.format(source=source)):
        memory = remembered(parse_object(text))
        if memory is not None:
            found += _type_gone(memory.declared, memory.said, memory.seq)
    return found


def _type_gone(declared: SchemaType, said: Mapping[str, Any], seq: int) -> list[Dropped]:
    """A hidden type, and the properties of it that were hidden before."""
    whole = Dropped(declared.kind, declared.name, None, declared, seq)
    return [whole, *_properties_gone(declared, said)]


def _properties_gone(declared: SchemaType, said: Mapping[str, Any]) -> list[Dropped]:
    return [
        Dropped(
            declared.kind,
            declared.name,
            each.declared,
            seq=each.seq,
            attribute=each.attribute,
        )
        for each in hidden_properties(declared, said)
    ]


def _with_ends(
    declared: SchemaType, said: Mapping[str, Any], names: Mapping[int, str]
) -> SchemaType:
    """An edge that was dropped, leading between types as they are called now."""
    if not isinstance(declared, EdgeType):
        return declared
    ends = (declared.from_type, declared.to_type)
    ids = said.get("ends", (None, None))
    source, target = (names.get(id_, end) for id_, end in zip(ids, ends, strict=True))
    return replace(declared, from_type=source, to_type=target)
