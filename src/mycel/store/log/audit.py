"""The record of every version of every element, made from its row.

`verify` compares these records with the journal. `replay` uses them too, in the other direction.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator
from operator import itemgetter
from typing import Any, Final, NamedTuple

from mycel.errors import DatabaseCorrupt
from mycel.model import ids
from mycel.model.records import (
    ConceptFields,
    EdgeFields,
    Tombstone,
    concept_key,
    link_key,
)
from mycel.model.values import parse_object
from mycel.store.backend.interface import Connection
from mycel.store.file.layout import CONCEPT_COLUMNS, OPEN_END, PROPOSITION_COLUMNS
from mycel.store.file.rows import Row, fetch_all, fetch_first, json_array
from mycel.store.log.registry import Registry
from mycel.store.log.topological import inside_out

KEYS_REMEMBERED_MAX: Final = 1 << 18


class VersionRow(NamedTuple):
    """One version of an element, and the range of the journal in which it was true."""

    number: int
    seq: int
    to_seq: int | None
    """None for a live row; `OPEN_END` for a tombstone in force."""
    key: bytes
    record: bytes
    texts: tuple[str, str]
    weight: float | None
    version: int
    created_us: int
    updated_us: int
    tombstone: tuple[int | None, int | None, str | None]
    """The time, actor and reason of a removal: all three, or none."""

    @property
    def tombstoned(self) -> bool:
        return self.tombstone[0] is not None

    @property
    def is_current(self) -> bool:
        return self.to_seq is None or self.to_seq == OPEN_END


class Auditor:
    """Reads versions of elements on one connection."""

    def __init__(self, connection: Connection, registry: Registry) -> None:
        self._connection = connection
        self._registry = registry
        self._keys: dict[int, bytes] = {}
        """The key of each concept that had only one key."""
        self._several: dict[int, list[tuple[int, bytes]]] = {}
        """The keys of each other concept, with the entries at which they began."""
        self._link_keys: dict[int, bytes] = {}
        """The keys of links, by the entry that wrote the version."""

    def concepts(self, numbers: Collection[int] | None = None) -> Iterator[VersionRow]:
        """Every version of every concept, or of some concepts, by number and then by age."""
        return map(self._concept_version, self._rows("concept", CONCEPT_COLUMNS, numbers))

    def links(self, numbers: Collection[int] | None = None) -> Iterator[VersionRow]:
        """Every version of every link, or of some links, by number and then by age."""
        return map(self._link_version, self._rows("proposition", PROPOSITION_COLUMNS, numbers))

    def _rows(self, table: str, columns: str, numbers: Collection[int] | None) -> Iterator[Row]:
        among = "" if numbers is None else " WHERE id IN (SELECT value FROM json_each(?1))"
        return self._connection.execute(
            f"SELECT {columns.format(seq='from_seq')}, to_seq, tombstoned_at, tombstoned_by,"
            f" tombstoned_reason FROM {table}_past{among} UNION ALL"
            f" SELECT {columns.format(seq='seq')}, NULL, NULL, NULL, NULL FROM {table}{among}"
            " ORDER BY id, from_seq",
            () if numbers is None else (json_array(numbers),),
        )

    def _concept_version(self, row: Row) -> VersionRow:
        number, type_number, name, attributes, metadata, version, seq, *rest = row
        created, by, updated, to_seq, *dead = rest
        type_name = self._registry.types.name(self._connection, type_number)
        defines = self._registry.defined_by(type_number)
        record = ConceptFields(
            type_name,
            name,
            parse_object(attributes),
            parse_object(metadata),
            created,
            self._actor(by),
            version,
            updated,
            self._tombstone(dead),
            None if defines is None else defines.number(self._connection, name),
        ).encode()
        key = concept_key(type_name, name)
        content = (attributes, metadata), None, version, created, updated, tuple(dead)
        return VersionRow(number, seq, to_seq, key, record, *content)

    def _link_version(self, row: Row) -> VersionRow:
        number, subject, predicate, object_, weight, attributes, metadata, version, seq, *rest = row
        created, by, updated, to_seq, *dead = rest
        subject_key, object_key = self.key(subject, seq), self.key(object_, seq)
        record = EdgeFields(
            predicate,
            subject_key,
            object_key,
            parse_object(attributes),
            parse_object(metadata),
            created,
            self._actor(by),
            weight,
            version,
            updated,
            self._tombstone(dead),
        ).encode()
        name = self._registry.predicates.name(self._connection, predicate)
        key = link_key(subject_key, name, object_key)
        content = (attributes, metadata), weight, version, created, updated, tuple(dead)
        return VersionRow(number, seq, to_seq, key, record, *content)

    # Keys. Most elements have one key for good. Elements that were moved or re-pointed, and the
    # links on them, have had several.

    def key(self, number: int, seq: int = OPEN_END - 1) -> bytes:
        """The natural key of an element with its place, at an entry; by default the present one.

        The record and key of a version of a link are made from the keys that its ends had at that
        time. If the versions of an end from that time were scrubbed, its oldest remaining key
        applies: had its key changed since, the link would have a newer version.
        """
        if not ids.is_concept(number):
            return self._link_key(number, seq)
        cached_key = self._keys.get(number)
        if cached_key is not None:
            return cached_key
        several = self._several.get(number) or self._look_up(number)
        at = bisect_right(several, seq, key=itemgetter(0)) - 1
        return several[max(at, 0)][1]

    def keys_ever(self, number: int) -> list[tuple[int, bytes]]:
        """Every key that an element had, each with its first entry; empty if there was only one."""
        if ids.is_concept(number):
            keys = self._look_up(number)
        else:
            rows = fetch_all(
                self._connection,
                "SELECT from_seq FROM proposition_past WHERE id = ?1"
                " UNION ALL SELECT seq FROM proposition WHERE id = ?1 ORDER BY 1",
                (number,),
            )
            keys = _distinct([(seq, self._link_key(number, seq)) for (seq,) in rows])
        return keys if len(keys) > 1 else []

    def _look_up(self, number: int) -> list[tuple[int, bytes]]:
        """All keys of a concept, in order. Cached for a limited number of concepts."""
        rows = fetch_all(
            self._connection,
            "SELECT from_seq, type, name FROM concept_past WHERE id = ?1"
            " UNION ALL SELECT seq, type, name FROM concept WHERE id = ?1 ORDER BY 1",
            (number,),
        )
        if not rows:
            raise DatabaseCorrupt(
                f"A link refers to {ids.concept_id(number)}, which does not exist."
            )
        names = self._registry.types.name
        keys = _distinct(
            [(seq, concept_key(names(self._connection, n), name)) for seq, n, name in rows]
        )
        self._make_room()
        if len(keys) == 1:
            self._keys[number] = keys[0][1]
        else:
            self._several[number] = keys
        return keys

    def _link_key(self, number: int, seq: int) -> bytes:
        """The key of a link at an entry.

        It is computed for one version at a time: two links may each have had the other as an end,
        at different times.
        """
        rows: dict[tuple[int, int], Row] = {}

        def needs(asked: tuple[int, int]) -> list[tuple[int, int]]:
            row = rows.get(asked)
            if row is None:
                row = rows[asked] = self._link(*asked)
            version, subject, _, object_ = row
            if version in self._link_keys:
                return []
            return [(end, version) for end in (subject, object_) if not ids.is_concept(end)]

        keys: dict[tuple[int, int], bytes] = {}
        for asked in inside_out((number, seq), needs):
            version, subject, predicate, object_ = rows[asked]
            key = self._link_keys.get(version)
            if key is None:
                name = self._registry.predicates.name(self._connection, predicate)
                source, target = (
                    keys.get((end, version)) or self.key(end, version) for end in (subject, object_)
                )
                key = link_key(source, name, target)
                self._make_room()
                self._link_keys[version] = key
            keys[asked] = key
        return keys[number, seq]

    def _link(self, number: int, seq: int) -> Row:
        """The version of a link at an entry: the entry that wrote it, subject, predicate, object.

        If that version was scrubbed, it is the oldest remaining version.
        """
        row = fetch_first(
            self._connection,
            "SELECT seq, subject, predicate, object FROM proposition"
            f" WHERE id = ?1 AND seq <= {seq}"
            " UNION ALL SELECT from_seq, subject, predicate, object FROM proposition_past"
            f" WHERE id = ?1 AND from_seq <= {seq} AND to_seq > {seq} LIMIT 1",
            (number,),
        ) or fetch_first(
            self._connection,
            "SELECT from_seq AS seq, subject, predicate, object FROM proposition_past WHERE id = ?1"
            " UNION ALL SELECT seq, subject, predicate, object FROM proposition WHERE id = ?1"
            " ORDER BY seq LIMIT 1",
            (number,),
        )
        if row is None:
            raise DatabaseCorrupt(f"A link refers to proposition {number}, which does not exist.")
        return row

    def _make_room(self) -> None:
        if len(self._keys) + len(self._several) + len(self._link_keys) >= KEYS_REMEMBERED_MAX:
            for cache in (self._keys, self._several, self._link_keys):
                cache.clear()

    def _actor(self, number: int) -> str:
        return self._registry.actors.name(self._connection, number)

    def _tombstone(self, dead: list[Any]) -> Tombstone | None:
        at, by, reason = dead
        return None if at is None else Tombstone(at, self._actor(by), reason or "")


def _distinct(keys: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    """The keys of an element's versions, without repetitions of the key before."""
    return [key for at, key in enumerate(keys) if at == 0 or keys[at - 1][1] != key[1]]
