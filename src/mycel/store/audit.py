"""What every version of every element should be: rows turned back into records.

Shared by `verify`, which compares them with the journal, and by `replay`, which goes the other way.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final, NamedTuple

import apsw

from mycel.errors import DatabaseCorrupt
from mycel.model import ids
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE
from mycel.model.records import (
    Tombstone,
    concept_key,
    concept_record,
    edge_record,
    proposition_key,
)
from mycel.model.values import parse_object
from mycel.store.layout import CONCEPT_COLUMNS, OPEN_END, PROPOSITION_COLUMNS
from mycel.store.registry import Registry

KEYS_REMEMBERED_MAX: Final = 1 << 18


class VersionRow(NamedTuple):
    """One version of an element, and the range of the journal in which it was true."""

    number: int
    seq: int
    to_seq: int | None
    """None for a live row, `OPEN_END` for a tombstone in force."""
    key: bytes
    record: bytes
    texts: tuple[str, str]
    weight: float | None
    version: int
    created_us: int
    updated_us: int
    tombstone: tuple[int | None, int | None, str | None]
    """When, by whom and why it was removed: all three, or none."""

    @property
    def tombstoned(self) -> bool:
        return self.tombstone[0] is not None

    @property
    def is_current(self) -> bool:
        return self.to_seq is None or self.to_seq == OPEN_END


class Auditor:
    """Reads versions off one connection."""

    def __init__(self, connection: apsw.Connection, registry: Registry) -> None:
        self._connection = connection
        self._registry = registry
        self._keys: dict[int, bytes] = {}

    def concepts(self) -> Iterator[VersionRow]:
        """Every version of every concept, by id and then by age."""
        columns = CONCEPT_COLUMNS
        rows = self._connection.execute(
            f"SELECT {columns.format(seq='from_seq')}, to_seq, tombstoned_at, tombstoned_by,"
            " tombstoned_reason FROM concept_past"
            f" UNION ALL SELECT {columns.format(seq='seq')}, NULL, NULL, NULL, NULL FROM concept"
            " ORDER BY 1, 7"
        )
        for row in rows:
            yield self._concept(row)

    def propositions(self) -> Iterator[VersionRow]:
        """Every version of every proposition, by id and then by age."""
        columns = PROPOSITION_COLUMNS
        rows = self._connection.execute(
            f"SELECT {columns.format(seq='from_seq')}, to_seq, tombstoned_at, tombstoned_by,"
            " tombstoned_reason FROM proposition_past"
            f" UNION ALL SELECT {columns.format(seq='seq')}, NULL, NULL, NULL, NULL"
            " FROM proposition ORDER BY 1, 9"
        )
        for row in rows:
            yield self._proposition(row)

    def _concept(self, row: tuple[Any, ...]) -> VersionRow:
        number, type_number, name, attributes, metadata, version, seq, *rest = row
        created, by, updated, to_seq, *dead = rest
        type_name = self._registry.types.name(self._connection, type_number)
        record = concept_record(
            type_name,
            name,
            parse_object(attributes),
            parse_object(metadata),
            created_us=created,
            created_by=self._actor(by),
            version=version,
            updated_us=updated,
            tombstone=self._tombstone(dead),
            number=self._number_defined(type_name, name),
        )
        key = concept_key(type_name, name)
        content = (attributes, metadata), None, version, created, updated, tuple(dead)
        return VersionRow(number, seq, to_seq, key, record, *content)

    def _proposition(self, row: tuple[Any, ...]) -> VersionRow:
        number, subject, predicate, object_, weight, attributes, metadata, version, seq, *rest = row
        created, by, updated, to_seq, *dead = rest
        subject_key, object_key = self.key(subject, seq), self.key(object_, seq)
        record = edge_record(
            predicate,
            subject_key,
            object_key,
            parse_object(attributes),
            parse_object(metadata),
            created_us=created,
            created_by=self._actor(by),
            weight=weight,
            version=version,
            updated_us=updated,
            tombstone=self._tombstone(dead),
        )
        name = self._registry.predicates.name(self._connection, predicate)
        key = proposition_key(subject_key, name, object_key)
        content = (attributes, metadata), weight, version, created, updated, tuple(dead)
        return VersionRow(number, seq, to_seq, key, record, *content)

    @cached_property
    def _moved(self) -> frozenset[int]:
        """Links that were pointed elsewhere, or speak about such links: only their keys change."""
        rows = self._connection.execute("SELECT element FROM journal WHERE kind = 7")
        return frozenset(number for (number,) in rows)

    def key(self, number: int, seq: int = OPEN_END - 1) -> bytes:
        """The natural key of an element, live or not, as of an entry; by default the present one.

        A version's own record and key are made from the keys that its ends had when it was written.
        """
        if number in self._moved:
            return self._link_key(number, seq)
        known = self._keys.get(number)
        if known is None:
            known = self._concept_key(number) if ids.is_concept(number) else self._link_key(number)
            if len(self._keys) >= KEYS_REMEMBERED_MAX:
                self._keys.clear()
            self._keys[number] = known
        return known

    def _concept_key(self, number: int) -> bytes:
        row = self._connection.execute(
            "SELECT type, name FROM concept WHERE id = ?1"
            " UNION ALL SELECT type, name FROM concept_past WHERE id = ?1 LIMIT 1",
            (number,),
        ).fetchone()
        if row is None:
            raise DatabaseCorrupt(f"A link refers to {ids.concept_id(number)}, which is not there.")
        return concept_key(self._registry.types.name(self._connection, row[0]), row[1])

    def keys_ever(self, number: int) -> list[tuple[int, bytes]]:
        """Every key that a link had, each with the entry from which on; nothing if it had one."""
        if number not in self._moved:
            return []
        rows = self._connection.execute(
            "SELECT from_seq FROM proposition_past WHERE id = ?1"
            " UNION ALL SELECT seq FROM proposition WHERE id = ?1 ORDER BY 1",
            (number,),
        )
        keys: list[tuple[int, bytes]] = []
        for seq in [seq for (seq,) in rows]:
            key = self._link_key(number, seq)
            if not keys or keys[-1][1] != key:
                keys.append((seq, key))
        return keys

    def _link_key(self, number: int, seq: int | None = None) -> bytes:
        """The key of a link as of an entry; None for one whose key was always the same."""
        live, past = "id = ?1", "id = ?1"
        if seq is not None:
            live, past = (
                f"id = ?1 AND seq <= {seq}",
                f"id = ?1 AND from_seq <= {seq} AND to_seq > {seq}",
            )
        row = self._connection.execute(
            f"SELECT subject, predicate, object, seq FROM proposition WHERE {live} UNION ALL"
            " SELECT subject, predicate, object, from_seq FROM proposition_past"
            f" WHERE {past} LIMIT 1",
            (number,),
        ).fetchone()
        if row is None:
            raise DatabaseCorrupt(f"A link refers to proposition {number}, which is not there.")
        name = self._registry.predicates.name(self._connection, row[1])
        return proposition_key(self.key(row[0], row[3]), name, self.key(row[2], row[3]))

    def _number_defined(self, type_name: str, name: str) -> int | None:
        if type_name == CONCEPT_TYPE:
            return self._registry.types.number(self._connection, name)
        if type_name == PROPOSITION_TYPE:
            return self._registry.predicates.number(self._connection, name)
        return None

    def _actor(self, number: int) -> str:
        return self._registry.actors.name(self._connection, number)

    def _tombstone(self, dead: list[Any]) -> Tombstone | None:
        at, by, reason = dead
        return None if at is None else Tombstone(at, self._actor(by), reason or "")
