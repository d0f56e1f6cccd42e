"""The index of properties: live elements by value.

A *slot* is one logical index: on a property, or a tuple of them, of one type or predicate. All
slots share one table with rows (slot, value, element), so an insert pays only for the slots of its
type, however many slots exist. The entries of a slot are derived from the live rows; no root covers
them.

Every change of a live row is noted here. Entries are gathered and written in sorted order, because
scattered inserts are several times as slow. They are written when many have gathered, before a read
by slot, and at the end of the transaction. A type without slots costs one look-up in a dictionary.

Slots are defined with the schema, in the transaction that changes the definition. A plan that uses
a slot stays valid until a definition changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from mycel.model.limits import INTEGER_MAX
from mycel.model.values import JsonObject, parse_object
from mycel.store.backend.interface import Connection
from mycel.store.file.rows import fetch_all, fetch_one
from mycel.store.index.slots import (
    NO_ENDS,
    OBJECT,
    SUBJECT,
    Ends,
    KnownSlots,
    Slot,
    Slots,
    Value,
    column_of,
    encoded,
    read_slots,
    value_of,
)
from mycel.store.index.write_cache import WriteCache

HELD_MAX: Final = 100_000
"""The maximum number of entries that are held in memory before they are written: some 15 MB."""
PROBED_MAX: Final = 20_000
"""The maximum number of values of a unique slot that are looked up one by one; for more, the slot
is scanned."""
HOLDERS_MAX: Final = 100
"""The maximum number of elements that a `UniqueConflict` names."""

NewElement = tuple[int, Mapping[str, Any], Ends]
"""The number, attributes and ends of a new element."""
IndexedState = tuple[int, str, Ends]
"""The type or predicate of a live element, its attributes as stored, and its ends."""

_NUMBERS: Final = frozenset((int, float))
_TEXTS: Final = frozenset((str,))


class UniqueConflict(NamedTuple):
    """Elements with the same values in a unique slot."""

    slot: Slot
    values: tuple[Any, ...]
    """The values of the first element; ends are numbers."""
    elements: tuple[int, ...]


class Properties:
    """The index of properties, as one transaction writes it."""

    def __init__(self, connection: Connection, memory: WriteCache) -> None:
        self._connection: Final = connection
        self._memory: Final = memory
        self._held = 0
        self._new: Final[dict[int, list[tuple[Value, int]]]] = {}
        """New entries by slot, for elements that a bulk put created: none of these entries is in
        the table yet.
        """
        self._changed: Final[dict[tuple[int, Value, int], bool]] = {}
        """Index entries that changed since the last write: True for an added one, False for a
        removed."""
        self._touched: Final[dict[Slot, set[Value] | None]] = {}
        """Values that were written to unique slots; None after too many to remember."""

    # The slots that exist.

    @property
    def _entry(self) -> str:
        """SQL for a bound value in the form of an index entry."""
        return self._connection.dialect.entry("?")

    @property
    def _slots(self) -> KnownSlots:
        """All slots; read again only after another process has written."""
        slots = self._memory.slots
        if slots is None:
            slots = self._memory.slots = self._read()
        return slots

    def _read(self) -> KnownSlots:
        gathered: tuple[dict[int, list[Slot]], dict[int, list[Slot]]] = ({}, {})
        for slot in read_slots(self._connection):
            gathered[slot.is_link].setdefault(slot.owner, []).append(slot)
        types, predicates = ({owner: Slots(slots) for owner, slots in g.items()} for g in gathered)
        return KnownSlots(types, predicates)

    @property
    def of_types(self) -> Mapping[int, Slots]:
        return self._slots.types

    @property
    def of_predicates(self) -> Mapping[int, Slots]:
        return self._slots.predicates

    def slots(self, owner: int, *, link: bool) -> tuple[Slot, ...]:
        """The slots of a type, or with `link` of a predicate."""
        slots = (self._slots.predicates if link else self._slots.types).get(owner)
        return () if slots is None else slots.all

    def define(
        self, owner: int, *, link: bool, indexes: Sequence[tuple[tuple[str, ...], bool]]
    ) -> None:
        """Give a type or predicate these slots, each with its columns and whether it is unique.

        Its other slots are removed; new ones are filled from the live rows. `conflicts` says
        whether the values of a new unique slot conflict. The caller changes the definition as well.
        """
        present = {(slot.columns, slot.is_unique): slot for slot in self.slots(owner, link=link)}
        missing = [slot for slot in dict.fromkeys(indexes) if slot not in present]
        spare = present.keys() - set(indexes)
        if not missing and not spare:
            return
        self.flush()
        for key in spare:
            self._drop(present[key])
        new_slots = [self._add(owner, columns, unique, link=link) for columns, unique in missing]
        owners = self._slots.predicates if link else self._slots.types
        old_slots = [slot for key, slot in present.items() if key not in spare]
        if old_slots or new_slots:
            owners[owner] = Slots((*old_slots, *new_slots))
        else:
            owners.pop(owner, None)
        if new_slots:
            self._fill(owner, Slots(new_slots), link=link)

    def _drop(self, slot: Slot) -> None:
        self._touched.pop(slot, None)
        self._connection.execute("DELETE FROM property WHERE slot = ?", (slot.number,))
        self._connection.execute("DELETE FROM property_slot WHERE slot = ?", (slot.number,))

    def _add(self, owner: int, columns: tuple[str, ...], unique: bool, *, link: bool) -> Slot:
        (last,) = fetch_one(self._connection, "SELECT coalesce(max(slot), 0) FROM property_slot")
        slot = Slot(last + 1, owner, link, columns, unique)
        self._connection.execute(
            "INSERT INTO property_slot VALUES (?, ?, ?, ?, ?)",
            (slot.number, owner, int(link), orjson.dumps(columns).decode(), int(unique)),
        )
        return slot

    def fill(self) -> None:
        """Fill all slots from the live rows; the slots must be empty."""
        for is_link, owners in ((False, self.of_types), (True, self.of_predicates)):
            for owner, slots in owners.items():
                self._fill(owner, slots, link=is_link)

    def _fill(self, owner: int, slots: Slots, *, link: bool) -> None:
        for batch in _batches(live_rows(self._connection, owner, link=link)):
            self.note_new({slots: batch})
        self.flush()

    # Changes of rows.

    def note(self, number: int, before: IndexedState | None, after: IndexedState | None) -> None:
        """Note that a live row is new, changed or removed; its type or predicate may change too."""
        owners = self._slots.predicates if number & 1 else self._slots.types
        if not owners:
            return
        old = {} if before is None else self._held_by(owners, before)
        new = {} if after is None else self._held_by(owners, after)
        for slot, value in old.items():
            if new.get(slot) != value:
                self._changed[slot.number, value, number] = False
        for slot, value in new.items():
            if old.get(slot) != value:
                self._changed[slot.number, value, number] = True
                if slot.is_unique:
                    self._touch(slot, (value,))
        if len(self._changed) >= HELD_MAX:
            self.flush()

    def _held_by(self, owners: Mapping[int, Slots], state: IndexedState) -> dict[Slot, Value]:
        owner, attributes, ends = state
        slots = owners.get(owner)
        return {} if slots is None else slots.values(parse_object(attributes), ends)

    def note_new(self, elements: Mapping[Slots, Sequence[NewElement]]) -> None:
        """Note new elements, whose numbers were never used before."""
        for slots, rows in elements.items():
            for slot in slots.all:
                entries = _entries(slot, rows)
                self._new.setdefault(slot.number, []).extend(entries)
                self._held += len(entries)
                if slot.is_unique:
                    self._touch(slot, [value for value, _ in entries])
        if self._held >= HELD_MAX:
            self.flush()

    def _touch(self, slot: Slot, values: Sequence[Value]) -> None:
        touched = self._touched.setdefault(slot, set())
        if touched is not None:
            touched.update(values)
            if len(touched) > PROBED_MAX:
                self._touched[slot] = None

    def flush(self) -> None:
        """Write the entries that are held in memory."""
        connection, entry = self._connection, self._entry
        for slot in sorted(self._new):
            connection.executemany(
                f"INSERT INTO property VALUES ({slot}, {entry}, ?) ON CONFLICT DO NOTHING",
                _sorted(self._new[slot]),
            )
        self._new.clear()
        self._held = 0
        if self._changed:
            removals = [entry for entry, is_there in self._changed.items() if not is_there]
            come = [entry for entry, is_there in self._changed.items() if is_there]
            come.sort(key=_entry_order)
            connection.executemany(
                f"DELETE FROM property WHERE slot = ? AND value = {entry} AND element = ?", removals
            )
            connection.executemany(
                f"INSERT INTO property VALUES (?, {entry}, ?) ON CONFLICT DO NOTHING", come
            )
            self._changed.clear()

    # Queries.

    def conflicts(self, limit: int) -> list[UniqueConflict]:
        """Values that several live elements have in a unique slot that this transaction wrote.

        There are at most `limit` conflicts, each with its first elements.
        """
        if not self._touched:
            return []
        self.flush()
        conflicts: list[UniqueConflict] = []
        for slot in sorted(self._touched):
            if len(conflicts) < limit:
                holders = self._repeated(slot, limit - len(conflicts))
                conflicts += [self._conflict(slot, holder) for holder in holders]
        return conflicts

    def _repeated(self, slot: Slot, limit: int) -> list[int]:
        """For each repeated value of a slot: the first element that has it."""
        touched = self._touched[slot]
        if touched is None:
            rows = fetch_all(
                self._connection,
                "SELECT min(element) FROM property WHERE slot = ? GROUP BY value"
                " HAVING count(*) > 1 ORDER BY value LIMIT ?",
                (slot.number, limit),
            )
            return [element for (element,) in rows]
        repeated: list[int] = []
        probe = (
            "SELECT count(*), min(element) FROM (SELECT element FROM property"
            f" WHERE slot = ? AND value = {self._entry} ORDER BY element LIMIT 2) p"
        )
        for value in sorted(touched, key=_order):
            holders, first = fetch_one(self._connection, probe, (slot.number, value))
            if holders != 2:
                continue
            repeated.append(first)
            if len(repeated) == limit:
                break
        return repeated

    def _conflict(self, slot: Slot, holder: int) -> UniqueConflict:
        rows = fetch_all(
            self._connection,
            "SELECT element FROM property WHERE slot = ?1 AND value ="
            " (SELECT value FROM property WHERE slot = ?1 AND element = ?2)"
            " ORDER BY element LIMIT ?3",
            (slot.number, holder, HOLDERS_MAX),
        )
        elements = tuple(number for (number,) in rows)
        ((_, attributes, ends),) = live_rows(
            self._connection, slot.owner, link=slot.is_link, number=elements[0]
        )
        values = tuple(column_of(attributes, ends, column) for column in slot.columns)
        return UniqueConflict(slot, values, elements)


def live_rows(
    connection: Connection, owner: int, *, link: bool, number: int | None = None
) -> Iterator[tuple[int, JsonObject, Ends]]:
    """Number, attributes and ends of live elements of a type or predicate, or of one element."""
    one = "" if number is None else " AND id = ?2"
    bindings = (owner,) if number is None else (owner, number)
    if link:
        query = f"SELECT id, attributes, subject, object FROM proposition WHERE predicate = ?1{one}"
        for element, attributes, subject, object_ in connection.execute(query, bindings):
            yield element, parse_object(attributes), (subject, object_)
    else:
        query = f"SELECT id, attributes FROM concept WHERE type = ?1{one}"
        for element, attributes in connection.execute(query, bindings):
            yield element, parse_object(attributes), NO_ENDS


def _entries(slot: Slot, rows: Sequence[NewElement]) -> list[tuple[Value, int]]:
    """The entries of many elements in one slot. Values of the usual kinds take a fast path."""
    if len(slot.columns) > 1 or (slot.is_link and slot.columns[0] in (SUBJECT, OBJECT)):
        pairs = [(value_of(slot, attributes, ends), number) for number, attributes, ends in rows]
        return [(value, number) for value, number in pairs if value is not None]
    (column,) = slot.columns
    entries = [
        (value, number)
        for number, attributes, _ in rows
        if (value := attributes.get(column)) is not None
    ]
    kinds = {value.__class__ for value, _ in entries}
    if kinds <= _TEXTS or (kinds <= _NUMBERS and _all_small(entries)):
        return entries
    return [(encoded(value), number) for value, number in entries]


def _all_small(entries: list[tuple[Value, int]]) -> bool:
    return not entries or max(entries)[0] <= INTEGER_MAX  # type: ignore[operator]  # Numbers all.


def _batches(rows: Iterator[NewElement]) -> Iterator[list[NewElement]]:
    batch: list[NewElement] = []
    for row in rows:
        batch.append(row)
        if len(batch) == 2000:
            yield batch
            batch = []
    if batch:
        yield batch


def _sorted(entries: list[tuple[Value, int]]) -> list[tuple[Value, int]]:
    """Entries in the order of the index: numbers, then texts, and equal values by element."""
    try:
        entries.sort()
    except TypeError:  # Numbers and texts are mixed.
        entries.sort(key=lambda entry: (_order(entry[0]), entry[1]))
    return entries


def _order(value: Value) -> tuple[bool, Any]:
    return isinstance(value, str), value


def _entry_order(entry: tuple[int, Value, int]) -> tuple[int, tuple[bool, Any], int]:
    slot, value, element = entry
    return slot, _order(value), element
