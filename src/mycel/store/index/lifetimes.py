"""The tables `hidden`, `lifetime` and `former_period`: when elements hold, as their metadata says.

    hidden         elements that ordinary answers leave out: those with `archived_at` in their
                   metadata, the links at them, and the links about those links
    lifetime       `valid_from`, `valid_until` and `expires_at` of elements, in microseconds;
                   metadata first, then attributes. A value that is no time counts as absent
    former_period  the periods in the metadata `former_periods`, united (`model.periods`). Queries
                   read them for elements that do not hold by `lifetime`

The tables are derived from the elements, and no root covers them. A row holds for the states from
`from_seq` to before `to_seq`, so past states have rows too. A transaction updates the tables when a
query reads its state and when it is closed. The work grows with the number of elements that have
such times, and of links at them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from itertools import groupby, islice
from typing import Final, NamedTuple

import orjson

from mycel.errors import MycelError
from mycel.model import times
from mycel.model.periods import FORMER_PERIODS, VALID_FROM, VALID_UNTIL, read_periods
from mycel.store.backend.interface import Connection
from mycel.store.file import layout
from mycel.store.file.layout import OPEN_END
from mycel.store.file.rows import fetch_all, fetch_one, json_array
from mycel.store.index.write_cache import WriteCache
from mycel.store.log.journal import Kind
from mycel.store.log.topological import all_about

ARCHIVED_AT: Final = "archived_at"
EXPIRES_AT: Final = "expires_at"

_TABLES: Final = ("hidden", "lifetime", "former_period")

SETTLED_TOGETHER: Final = 2000
"""The number of elements whose rows are written together."""

_MARKS: Final = (ARCHIVED_AT.encode(), EXPIRES_AT.encode(), b"valid_")
"""Keys of metadata, or their beginning, as bytes. A record without any of them says nothing about
times: each former period has a key that begins with `valid_` too."""
_FORMER_MARK: Final = FORMER_PERIODS.encode()
_LINKS: Final = (Kind.ADD_EDGE, Kind.RELINK_EDGE)
_REMOVALS: Final = (Kind.RETIRE_CONCEPT, Kind.REMOVE_EDGE)
_TIMES: Final = (VALID_FROM, VALID_UNTIL, EXPIRES_AT)
_HAS_MARK: Final = " OR ".join(
    f"instr({{row}}.{column}, '{mark.decode()}') > 0"
    for column in ("metadata", "attributes")
    for mark in _MARKS
)


def _values(row: str) -> str:
    """The SQL columns of an element that state its times."""
    columns = [
        f"json_type({row}.metadata, '$.{ARCHIVED_AT}')",
        f"{row}.metadata -> '$.{FORMER_PERIODS}'",
    ]
    columns += [
        f"coalesce({row}.metadata ->> '$.{key}', {row}.attributes ->> '$.{key}')" for key in _TIMES
    ]
    return ", ".join(columns)


_IS_HIDDEN: Final = f"SELECT 1 FROM hidden h WHERE h.element = {{end}} AND h.to_seq = {OPEN_END}"
_AT_HIDDEN: Final = " OR ".join(
    f"EXISTS ({_IS_HIDDEN.format(end=end)})" for end in ("p.subject", "p.object")
)
_ELEMENTS: Final = (
    f"SELECT c.id, {_values('c')}, FALSE FROM json_each(?1) j CROSS JOIN concept c"
    " WHERE c.id = j.value"
    f" UNION ALL SELECT p.id, {_values('p')}, {_AT_HIDDEN}"
    " FROM json_each(?1) j CROSS JOIN proposition p WHERE p.id = j.value"
)
_TOUCHING: Final = (
    "SELECT id FROM proposition WHERE subject = ?1 UNION SELECT id FROM proposition"
    " WHERE object = ?1"
)


class Lifetime(NamedTuple):
    """The times of an element; None where it has none."""

    valid_from: int | None = None
    valid_until: int | None = None
    expires: int | None = None


NO_TIMES: Final = Lifetime()

Former = tuple[tuple[int, int], ...]
"""The former periods of an element, in microseconds."""


class Lifetimes:
    """The tables of this module, as one transaction updates them."""

    def __init__(self, connection: Connection, memory: WriteCache, first_seq: int) -> None:
        self._connection: Final = connection
        self._memory: Final = memory
        self._first_seq: Final = first_seq
        self._noted: set[int] = set()
        self._may_have_former = False
        """True if a noted element has, or had, former periods."""

    def note(self, kind: Kind, number: int, before: bytes | None, after: bytes) -> None:
        """Note the element of an entry if the entry may change its times."""
        if (
            any(mark in after for mark in _MARKS)
            or (before is not None and any(mark in before for mark in _MARKS))
            or (kind in _REMOVALS and self._are_used())
        ):
            self._noted.add(number)
            if _FORMER_MARK in after or (before is not None and _FORMER_MARK in before):
                self._may_have_former = True
        elif kind in _LINKS:
            self.note_links((number,))

    def note_new(self, kind: Kind, numbers: Iterable[int], records: Iterable[bytes]) -> None:
        """Note those of many new elements that may have times."""
        for number, record in zip(numbers, records, strict=True):
            if any(mark in record for mark in _MARKS):
                self._noted.add(number)
                self._may_have_former |= _FORMER_MARK in record
        if kind in _LINKS:
            self.note_links(numbers)

    def note_links(self, numbers: Iterable[int]) -> None:
        """Note links that are new or have new ends."""
        if self._are_used():
            self._noted.update(numbers)
            if len(self._noted) > SETTLED_TOGETHER:
                self.settle()

    def note_elements(self, numbers: Iterable[int]) -> None:
        """Note elements whose times may have changed."""
        self._noted.update(numbers)
        self._may_have_former = True

    def _are_used(self) -> bool:
        """True if the tables have any rows."""
        used = self._memory.has_lifetimes
        if used is None:
            used = self._memory.has_lifetimes = has_rows(self._connection)
        return used

    def settle(self) -> None:
        """Update the tables for all noted elements."""
        while noted := self._noted:
            self._noted = set()
            numbers = iter(noted)
            while chunk := list(islice(numbers, SETTLED_TOGETHER)):
                for number in self._settle(chunk):
                    # Links at a newly hidden or shown element follow it.
                    self._noted.update(
                        link for (link,) in self._connection.execute(_TOUCHING, (number,))
                    )

    def _settle(self, numbers: Collection[int]) -> list[int]:
        """Write the rows of some elements. Returns those that became hidden or are shown again."""
        packed = json_array(numbers)
        hidden: set[int] = set()
        lifetimes: dict[int, Lifetime] = {}
        formers: dict[int, Former] = {}
        for number, archived, former, *times_, is_at_hidden in fetch_all(
            self._connection, _ELEMENTS, (packed,)
        ):
            if is_at_hidden or archived not in (None, "null"):
                hidden.add(number)
            if periods := _former(former):
                formers[number] = periods
            if (lifetime := Lifetime(*map(_moment, times_))) != NO_TIMES:
                lifetimes[number] = lifetime
        was_hidden = {number for (number,) in self._open_rows("hidden", "", packed)}
        were = {
            number: Lifetime(*times_)
            for number, *times_ in self._open_rows(
                "lifetime", ", valid_from, valid_until, expires", packed
            )
        }
        for number in was_hidden - hidden:
            self._end("hidden", number)
        for number in hidden - was_hidden:
            self._begin("hidden", number)
        for number in were.keys() | lifetimes.keys():
            if were.get(number) != lifetimes.get(number):
                if number in were:
                    self._end("lifetime", number)
                if number in lifetimes:
                    self._begin("lifetime", number, *lifetimes[number])
        if self._may_have_former:
            columns = ", valid_from, valid_until"
            had = _by_element(self._open_rows("former_period", columns, packed))
            for number in had.keys() | formers.keys():
                if had.get(number) != formers.get(number):
                    self._end("former_period", number)
                    for period in formers.get(number, ()):
                        self._begin("former_period", number, *period)
        return sorted(hidden ^ was_hidden)

    def _open_rows(self, table: str, columns: str, packed: str) -> list[tuple[int, ...]]:
        query = (
            f"SELECT t.element{columns} FROM json_each(?1) j CROSS JOIN {table} t"
            f" WHERE t.element = j.value AND t.to_seq = {OPEN_END}"
        )
        return fetch_all(self._connection, query, (packed,))

    def _begin(self, table: str, number: int, *values: int | None) -> None:
        marks = ", ".join("?" * (len(values) + 1))
        self._connection.execute(
            f"INSERT INTO {table} VALUES ({marks}, ?, {OPEN_END})",
            (number, *values, self._first_seq),
        )
        if not self._memory.has_lifetimes:
            self._memory.has_lifetimes = True
            # Guards may now apply to more types, because the tables have their first rows.
            self._memory.forget_definitions()

    def _end(self, table: str, number: int) -> None:
        """End the open row of an element; delete it if this transaction wrote it."""
        row = (number, self._first_seq)
        is_open = f"element = ?1 AND to_seq = {OPEN_END}"
        self._connection.execute(f"DELETE FROM {table} WHERE {is_open} AND from_seq = ?2", row)
        self._connection.execute(f"UPDATE {table} SET to_seq = ?2 WHERE {is_open}", row)


def _moment(text: object) -> int | None:
    with suppress(MycelError):
        return times.from_text(text)
    return None


def _former(text: str | None) -> Former:
    """The former periods in the JSON text of the value of their key."""
    if text is None:
        return ()
    return tuple((period.since_us, period.until_us) for period in read_periods(orjson.loads(text)))


def _by_element(rows: Iterable[tuple[int, ...]]) -> dict[int, Former]:
    return {
        number: tuple((since, until) for _, since, until in group)
        for number, group in groupby(sorted(rows), key=lambda row: row[0])
    }


def has_rows(connection: Connection) -> bool:
    """True if an element was ever hidden, or ever had a limited time of validity."""
    query = "SELECT EXISTS (SELECT 1 FROM hidden) OR EXISTS (SELECT 1 FROM lifetime)"
    (has_any,) = fetch_one(connection, query)
    return bool(has_any)


def are_missing(connection: Connection) -> bool:
    """True for a file of a development version that lacks these tables."""
    return not connection.has_objects("hidden", "lifetime", "former_period")


def make(connection: Connection) -> None:
    """Make the tables that a file lacks, from its live elements."""
    if not connection.has_objects("hidden", "lifetime"):
        connection.execute(layout.LIFETIMES)
    if not connection.has_objects("former_period"):
        connection.execute(layout.FORMER_PERIODS)
    lifetimes = Lifetimes(connection, WriteCache(), 1)
    for table in ("concept", "proposition"):
        rows = connection.execute(f"SELECT e.id FROM {table} e WHERE {_HAS_MARK.format(row='e')}")
        lifetimes.note_elements(number for (number,) in rows.fetchall())
    lifetimes.settle()


def remove(connection: Connection, number: int) -> None:
    """Remove the rows of a purged element for all states."""
    for table in _TABLES:
        connection.execute(f"DELETE FROM {table} WHERE element = ?", (number,))


def problems(connection: Connection) -> Iterator[tuple[str, str]]:
    """Report differences between the rows in force and the live elements."""
    archived: set[int] = set()
    lifetimes: dict[int, Lifetime] = {}
    formers: dict[int, Former] = {}
    for table in ("concept", "proposition"):
        rows = connection.execute(
            f"SELECT e.id, {_values('e')} FROM {table} e WHERE {_HAS_MARK.format(row='e')}"
        )
        for number, is_archived, former, *times_ in rows:
            if is_archived not in (None, "null"):
                archived.add(number)
            if periods := _former(former):
                formers[number] = periods
            if (lifetime := Lifetime(*map(_moment, times_))) != NO_TIMES:
                lifetimes[number] = lifetime

    def touching(number: int) -> list[int]:
        return [link for (link,) in connection.execute(_TOUCHING, (number,))]

    hidden = archived | set(all_about(archived, touching))
    in_force = f"WHERE to_seq = {OPEN_END}"
    hidden_rows = {
        number for (number,) in fetch_all(connection, f"SELECT element FROM hidden {in_force}")
    }
    for number in sorted(hidden - hidden_rows):
        yield f"hidden {number}", "is missing, although the element is archived or at one that is"
    for number in sorted(hidden_rows - hidden):
        yield f"hidden {number}", "exists, although nothing about the element is archived"
    stored = {
        number: Lifetime(*times_)
        for number, *times_ in fetch_all(
            connection, f"SELECT element, valid_from, valid_until, expires FROM lifetime {in_force}"
        )
    }
    for number in sorted(stored.keys() | lifetimes.keys()):
        if stored.get(number) != lifetimes.get(number):
            yield f"lifetime {number}", "differs from the times of the element"
    had = _by_element(
        fetch_all(
            connection, f"SELECT element, valid_from, valid_until FROM former_period {in_force}"
        )
    )
    for number in sorted(had.keys() | formers.keys()):
        if had.get(number) != formers.get(number):
            yield f"former_period {number}", "differs from the former periods of the element"
    for table in _TABLES:
        for (number,) in fetch_all(
            connection, f"SELECT element FROM {table} WHERE from_seq >= to_seq"
        ):
            yield f"{table} {number}", "ends before it begins"
