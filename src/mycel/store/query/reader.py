"""Reading elements: the live state, or the state at a moment of the past.

The live tables hold nothing but live rows. A row is part of a past state if it was written by that
moment and superseded only later. A reader answers the same questions about the present and the
past, so every traversal works on both.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from time import monotonic, time_ns
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from mycel.errors import InvalidId
from mycel.model import ids
from mycel.model.allowance import Allowance, current, over
from mycel.model.directions import Way
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.names import check_name, shorten
from mycel.model.state import LIVE, State, Visibility
from mycel.sql.dialect import Dialect
from mycel.sql.state_tables import StateTables, tables
from mycel.store.backend.interface import Connection
from mycel.store.file.layout import CONCEPT_COLUMNS, OPEN_END, PROPOSITION_COLUMNS
from mycel.store.file.rows import (
    Bindings,
    Row,
    fetch_all,
    fetch_first,
    fetch_one,
    json_array,
    table_of,
)
from mycel.store.log.journal import Head, newest
from mycel.store.log.registry import Registry
from mycel.store.query.refs import Ref, is_natural, kip_identity, missing, resolve

P = ParamSpec("P")
T = TypeVar("T")

_CONCEPT, _PROPOSITION = (
    f"{columns.format(seq='seq')}, NULL AS tombstoned_at, NULL, NULL"
    for columns in (CONCEPT_COLUMNS, PROPOSITION_COLUMNS)
)
_CONCEPT_PAST, _PROPOSITION_PAST = (
    f"{columns.format(seq='from_seq')}, tombstoned_at, tombstoned_by, tombstoned_reason"
    for columns in (CONCEPT_COLUMNS, PROPOSITION_COLUMNS)
)
_LIVE_FIRST: Final = " ORDER BY tombstoned_at DESC NULLS FIRST"
"""The order of rows with one name: the live element, then removed ones, the last removed first."""
_NUMBERS: Final = "(SELECT value AS number FROM json_each(?1)) j CROSS JOIN "
"""Joins a list of numbers to a table. `id IN (…)` is slower: it sorts the numbers first."""
_EACH: Final = "json_each(?1) j CROSS JOIN "
_ENDS: Final[dict[Way, tuple[str, str]]] = {
    "out": ("subject", "object"),
    "in": ("object", "subject"),
}


_NEWEST: Final = (
    "seq, definitions + (SELECT count(*) FROM link_end)"
    " + CASE WHEN EXISTS (SELECT 1 FROM hidden) THEN 1 ELSE 0 END"
)


def _wall_clock_us() -> int:
    return time_ns() // 1000


class _Limits:
    """The deadline and the allowance of the statements on one connection."""

    __slots__ = ("allowance", "deadline")

    def __init__(self) -> None:
        self.deadline = inf
        self.allowance: Allowance | None = None

    def are_over(self) -> bool:
        """True if the running statement has to stop.

        A heavy request may wait here for its turn first.
        """
        if monotonic() > self.deadline:
            return True
        return self.allowance is not None and self.allowance.is_over()


def _nothing() -> None:
    """A reader that is not the writer's has nothing to settle."""


class Reader:
    """Reads one state of the graph on one connection."""

    def __init__(
        self,
        connection: Connection,
        registry: Registry,
        state: State = LIVE,
        live: Reader | None = None,
    ) -> None:
        self.state: Final = state
        """The state that this reader reads."""
        self._seq: Final = state.seq
        self._written: Final = "" if state.seq is None else f" AND seq <= {state.seq}"
        """An SQL condition on live rows: they were written by the moment of the state."""
        self._from_written: Final = "" if state.seq is None else f" AND from_seq <= {state.seq}"
        self.live: Final = live or self
        """The reader of the live state on the same connection."""
        self.is_writer: bool = live is not None and live.is_writer
        """True if the connection belongs to the writer."""
        self.connection: Final = connection
        self.registry: Final = registry
        self.execute: Final = connection.execute
        self.process: Final = os.getpid()
        self.settle: Callable[[], None] = _nothing if live is None else live.settle
        """Brings the writer's indexes up to date before a planned statement reads them."""
        self.now_us: Callable[[], int] = _wall_clock_us if live is None else live.now_us
        """The clock, in microseconds since the epoch."""
        self._limits: Final[_Limits] = _Limits() if live is None else live._limits
        """The limits, shared by the readers of all states on the connection."""
        self.version = -1
        """The data version of the connection when `definitions` was read."""
        self.definitions = -1
        """The number of the last change of a definition that this reader has seen.

        It also rises when an end of a predicate gets its first link (`link_ends`), and when the
        first element of the graph is hidden.
        """
        self.newest = 0
        """The position of the journal when `definitions` was read."""
        self.core_concepts: tuple[int, frozenset[int]] | None = None
        """The position of the journal and the result of `lookup.core_concepts` there."""

    def run(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Read tables that hold no knowledge, with a function of `store.log`."""
        return work(self.connection, *args, **kwargs)

    def fetch_all(self, query: str, bindings: Bindings = ()) -> list[Row]:
        return fetch_all(self.connection, query, bindings)

    def column(self, query: str, bindings: Bindings = ()) -> list[Any]:
        """The values of the only column of a query."""
        return [value for (value,) in self.connection.execute(query, bindings)]

    def fetch_first(self, query: str, bindings: Bindings = ()) -> Row | None:
        return fetch_first(self.connection, query, bindings)

    def fetch_one(self, query: str, bindings: Bindings = ()) -> Row:
        """The first row of a query that always has one in a sound database.

        Raises:
            DatabaseCorrupt: the query has no row.
        """
        return fetch_one(self.connection, query, bindings)

    def count(self, query: str, bindings: Bindings = ()) -> int:
        """The number that a query returns."""
        (number,) = self.fetch_one(query, bindings)
        return int(number)

    def at(self, state: State) -> Reader:
        """A reader of another state, on the same connection and with the same deadline."""
        if state == self.state:
            return self
        if state.is_live:
            return self.live
        return Reader(self.connection, self.registry, state, self.live)

    def has_hidden(self) -> bool:
        """True if an element is, or once was, hidden."""
        (has_any,) = self.fetch_one("SELECT EXISTS (SELECT 1 FROM hidden)")
        return bool(has_any)

    def replica_lag_s(self) -> float | None:
        """The seconds by which a replica is behind; None if the database is no replica."""
        return self.connection.replica_lag_s()

    def has_writing_rights(self) -> bool:
        """True unless the graph is on a server that does not let this role write."""
        return self.connection.has_writing_rights()

    def head(self) -> Head:
        """The head of the journal: positions, counters and roots."""
        return Head.read(self.connection)

    @property
    def dialect(self) -> Dialect:
        """The dialect of the database."""
        return self.connection.dialect

    @property
    def tables(self) -> StateTables:
        """The tables of the state, for the text of a query."""
        return StateTables.of(self.state, self.connection.dialect)

    @property
    def tables_text(self) -> str:
        """The beginning of a query for this state whose text names the live tables."""
        return tables(self.state, self.connection.dialect)

    def tables_of(self, visibility: Visibility) -> StateTables:
        """The tables of the state, for a query that leaves out elements by this visibility."""
        return StateTables(
            None if self.state.is_live else str(self.state.seq),
            self.connection.dialect,
            not visibility.include_archived and self.has_hidden(),
            None if visibility.valid_at_us is None else str(visibility.valid_at_us),
        )

    @property
    def position(self) -> int:
        """The entry of the journal at which the state ends."""
        if self._seq is not None:
            return self._seq
        (last,) = newest(self.connection, "seq")
        return int(last)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all statements in this block read one snapshot."""
        self.connection.begin_reading()
        try:
            yield
        finally:
            if self.connection.in_transaction:  # A failed statement may have ended the transaction.
                self.execute("COMMIT")

    @property
    def deadline(self) -> float:
        """The time (`time.monotonic`) at which statements on this connection are stopped."""
        return self._limits.deadline

    @deadline.setter
    def deadline(self, time: float) -> None:
        self._limits.deadline = time

    def limit(self) -> None:
        """Let the allowance of this thread, if there is one, stop statements on this connection."""
        self._limits.allowance = current()

    def free(self) -> None:
        """Remove the deadline and the allowance."""
        self._limits.deadline, self._limits.allowance = inf, None

    def watch(self) -> None:
        """Let the deadline stop statements on this connection from now on."""
        self.connection.watch(self._limits.are_over)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Let the deadline stop a planned statement of this block on the writer's connection.

        SQLite rolls the whole transaction back when a statement that writes is stopped, so pending
        rows are written before the block.
        """
        self.settle()
        self.watch()
        try:
            yield
        finally:
            if self.is_writer:
                self.connection.watch(None)

    def check_deadline(self) -> None:
        """Check that the deadline has not passed.

        Raises:
            ExecutionTimeout: the deadline has passed.
        """
        if self._limits.are_over():
            raise over()

    def refresh(self) -> int:
        """The number of the definitions that the last statement saw.

        The data version is that of the snapshot of the last statement.
        """
        version = self.connection.data_version()
        return self.definitions if version == self.version else self.reread()

    def reread(self) -> int:
        """The number of the definitions in force, read from the file."""
        self.newest, self.definitions, self.version = self._read_newest()
        return self.definitions

    def _read_newest(self) -> tuple[int, int, int]:
        """The position, the number of definitions, and the data version to which both belong."""
        while True:
            version = self.connection.data_version()
            position, definitions = newest(self.connection, _NEWEST)
            after = self.connection.data_version()
            if version == after or self.connection.in_transaction:
                return position, definitions, after

    def identity(self) -> str:
        """A text that identifies this database: the time and root of its first transaction."""
        began, root = self.fetch_one("SELECT time, concepts_root FROM tx ORDER BY seq LIMIT 1")
        return f"{began}:{root.hex()}"

    # Names of types and predicates.

    def type_number(self, name: object) -> int:
        """The number of a type.

        Raises:
            TypeMismatch: no such type was ever defined.
        """
        return self.registry.types.known_number(self.connection, name)

    def predicate_number(self, name: object) -> int:
        """The number of a predicate.

        Raises:
            TypeMismatch: no such predicate was ever defined.
        """
        return self.registry.predicates.known_number(self.connection, name)

    def find_type(self, name: str) -> int | None:
        """The number of a type, or None if no such type was ever defined."""
        return self.registry.types.number(self.connection, name)

    def find_predicate(self, name: str) -> int | None:
        """The number of a predicate, or None if no such predicate was ever defined."""
        return self.registry.predicates.number(self.connection, name)

    def type_name(self, number: int) -> str:
        """The name of a type, by its number in a row."""
        return self.registry.types.name(self.connection, number)

    def predicate_name(self, number: int) -> str:
        """The name of a predicate, by its number in a row."""
        return self.registry.predicates.name(self.connection, number)

    # Single elements.

    def number(self, ref: Ref) -> int:
        """The number of the element that a caller names, live or removed (`refs`).

        The id of a link has a number and a predicate. If they do not belong to one link, the id
        names nothing (`NO_LINK`). Every id that a removed link ever had still names it, because its
        tombstone may have been moved to another predicate. The predicate in the id of a purged link
        is not checked.

        Raises:
            InvalidId: the value is no reference.
            TypeMismatch: a natural key has a type or predicate that was never defined.
            NotFound: nothing has this natural key.
        """
        identity = kip_identity(ref) if isinstance(ref, str) else None
        if identity is not None and self.concept_named(None, str(ref), tombstoned=True) is None:
            return self.number(identity)
        if is_natural(ref):
            element = self._with_key(ref)
            if element is None:
                raise missing(ref)
            return element.number
        number = resolve(ref)
        if ref.__class__ is not str or ids.is_concept(number):
            return number
        link = self.link(number, tombstoned=True)
        if link is None or link.id == ref or (link.tombstoned and self._was_called(number, ref)):
            return number
        return ids.NO_LINK

    def _with_key(self, key: Any) -> Element | None:
        """The element with a natural key, live or removed."""
        match key:
            case str():
                return self.concept_named(None, key, tombstoned=True)
            case (type_name, name):
                return self.concept_named(self.type_number(type_name), name, tombstoned=True)
            case (subject, predicate, object_):
                number = self.predicate_number(predicate)
                ends = self.number(subject), self.number(object_)
                return self.link_between(ends[0], number, ends[1], tombstoned=True)
            case _:
                raise InvalidId(
                    f"{shorten(repr(key))} names no element.",
                    hint="Pass an id, a URI, (type, name), or (subject, predicate, object).",
                )

    def _was_called(self, number: int, id_: str) -> bool:
        """True if a removed link ever had this id."""
        query = "SELECT DISTINCT predicate FROM proposition_past WHERE id = ?"
        names = map(self.predicate_name, self.column(query, (number,)))
        return id_ in [ids.link_id(number, name) for name in names]

    def element(self, number: int, *, tombstoned: bool = False) -> Element | None:
        if ids.is_concept(number):
            return self.concept(number, tombstoned=tombstoned)
        return self.link(number, tombstoned=tombstoned)

    def elements(self, numbers: Iterable[int], *, tombstoned: bool = False) -> dict[int, Element]:
        """The elements with these numbers that exist in the state, in no particular order."""
        concepts: list[int] = []
        links: list[int] = []
        for number in numbers:
            (links if number & 1 else concepts).append(number)
        elements: dict[int, Element] = {}
        if concepts:
            rows = self.execute(
                self._concepts_where("id = number", tombstoned, _NUMBERS), (json_array(concepts),)
            )
            elements = {concept[0]: concept for concept in self._as_concepts(rows)}
        if links:
            rows = self.execute(
                self._links_where("id = number", tombstoned, _NUMBERS), (json_array(links),)
            )
            elements |= {link[0]: link for link in self._as_links(rows)}
        return elements

    def concept(self, number: int, *, tombstoned: bool = False) -> Concept | None:
        return self._concept("id = ?1", (number,), tombstoned)

    def concept_named(
        self, type_number: int | None, name: str, *, tombstoned: bool = False
    ) -> Concept | None:
        """The concept with this name: of this type, or of any type if it is None."""
        if name.__class__ is not str:
            check_name(name)
        if type_number is None:
            return self._concept("name = ?1", (name,), tombstoned)
        return self._concept("name = ?1 AND type = ?2", (name, type_number), tombstoned)

    def find_concept(
        self, type_name: str, name: str, *, tombstoned: bool = False
    ) -> Concept | None:
        """The concept with a type and name; None if there is none, or no such type."""
        number = self.find_type(type_name)
        return None if number is None else self.concept_named(number, name, tombstoned=tombstoned)

    def record_at(self, seq: int) -> bytes | None:
        """The record that the entry `seq` wrote."""
        row = self.fetch_first("SELECT after FROM journal WHERE seq = ?", (seq,))
        return None if row is None else row[0]

    def records_at(self, seqs: Sequence[int]) -> dict[int, bytes]:
        """The records that these entries wrote, by entry."""
        query = "SELECT seq, after FROM journal WHERE seq IN (SELECT value FROM json_each(?1))"
        return dict(self.execute(query, (json_array(seqs),)))

    def link(self, number: int, *, tombstoned: bool = False) -> Proposition | None:
        return self._link("id = ?1", (number,), tombstoned)

    def link_between(
        self, subject: int, predicate: int, object_: int, *, tombstoned: bool = False
    ) -> Proposition | None:
        return self._link(
            "subject = ?1 AND predicate = ?2 AND object = ?3",
            (subject, predicate, object_),
            tombstoned,
        )

    def find_link(self, subject: int, predicate: str, object_: int) -> Proposition | None:
        """The link of a predicate between two elements; None if there is none."""
        number = self.find_predicate(predicate)
        return None if number is None else self.link_between(subject, number, object_)

    def was_ever(self, number: int) -> bool:
        """True if an element is live, or was live at any time."""
        table = table_of(number)
        query = (
            f"SELECT 1 FROM {table} WHERE id = ?1{self._written} UNION ALL"
            f" SELECT 1 FROM {table}_past WHERE id = ?1{self._from_written} LIMIT 1"
        )
        return self.fetch_first(query, (number,)) is not None

    # Adjacency.

    def links(
        self,
        end: int,
        direction: Way,
        predicates: Sequence[int] | None = None,
        *,
        tombstoned: bool = False,
    ) -> Iterator[Proposition]:
        """The links that leave (or reach) an element, by predicate number and then by other end."""
        near, far = _ENDS[direction]
        where = _adjacency(near, "?1", predicates)
        rows = self.execute(
            self._links_where(where, tombstoned) + f" ORDER BY predicate, {far}",
            (end, *(predicates or ())),
        )
        return self._as_links(rows)

    def neighbours(
        self,
        ends: Sequence[int],
        directions: Sequence[Way],
        predicates: Sequence[int] | None = None,
        *,
        tombstoned: bool = False,
    ) -> Iterator[int]:
        """The other ends of the links at some elements, element by element.

        The neighbours of one element are ordered by predicate number and id. The links of a single
        element are read one by one, so a caller may stop early. The links of several elements are
        read at once.
        """
        alone = len(ends) == 1
        place, of, tables = ("0", "?1", "") if alone else ("j.key", "j.value", _EACH)
        queries = []
        for near, far in (_ENDS[direction] for direction in directions):
            columns, where = f"{place}, predicate, {far}", _adjacency(near, of, predicates)
            queries.append(self._where("proposition", columns, columns, where, tombstoned, tables))
        query = " UNION ALL ".join(queries)
        if alone:
            rows = self.execute(f"{query} ORDER BY 2, 3", (ends[0], *(predicates or ())))
            return (other for _, _, other in rows)
        neighbours: list[Row] = self.execute(
            query, (json_array(ends), *(predicates or ()))
        ).fetchall()
        # Rows usually come in this order already, and then sorting is quick.
        neighbours.sort()
        return (other for _, _, other in neighbours)

    def neighbour_elements(
        self, end: int, direction: Way, predicate: int | None, limit: int
    ) -> list[Element]:
        """The live elements at the other ends of the first live links at an element.

        They come in the order of `neighbours`, one for each link, from a single statement, which
        halves the time for few links. An index has this order for one direction and predicate.
        """
        near, far = _ENDS[direction]
        predicates = () if predicate is None else (predicate,)
        rows: list[Row] = self.execute(
            f"SELECT {_CONCEPT}, other FROM (SELECT predicate AS hop, {far} AS other"
            f" FROM proposition WHERE {_adjacency(near, '?1', predicates or None)}) l"
            f" LEFT JOIN concept ON id = other ORDER BY hop, other LIMIT {limit}",
            (end, *predicates),
        ).fetchall()
        links = self.elements([row[-1] for row in rows if row[-1] & 1])
        concepts = self._as_concepts([row[:-1] for row in rows if not row[-1] & 1])
        return [links[row[-1]] if row[-1] & 1 else next(concepts) for row in rows]

    def touching(self, number: int) -> list[int]:
        """The live links that leave or reach an element, by number."""
        return self.column(
            "SELECT id FROM proposition WHERE subject = ?1"
            " UNION SELECT id FROM proposition WHERE object = ?1 ORDER BY id",
            (number,),
        )

    def touching_links(self, number: int) -> Iterator[Proposition]:
        """The live links at an element, each read on demand; removed ones are left out."""
        for link_number in self.touching(number):
            link = self.link(link_number)
            if link is not None:
                yield link

    # Queries about a state.

    def _concept(self, where: str, bindings: Row, tombstoned: bool) -> Concept | None:
        query = self._concepts_where(where, tombstoned) + (_LIVE_FIRST if tombstoned else "")
        row = self.execute(query, bindings).fetchone()
        return None if row is None else next(self._as_concepts((row,)))

    def _link(self, where: str, bindings: Row, tombstoned: bool) -> Proposition | None:
        query = self._links_where(where, tombstoned) + (_LIVE_FIRST if tombstoned else "")
        row = self.execute(query, bindings).fetchone()
        return None if row is None else next(self._as_links((row,)))

    def _concepts_where(self, where: str, tombstoned: bool, tables: str = "") -> str:
        return self._where("concept", _CONCEPT, _CONCEPT_PAST, where, tombstoned, tables)

    def _links_where(self, where: str, tombstoned: bool, tables: str = "") -> str:
        columns = _PROPOSITION, _PROPOSITION_PAST
        return self._where("proposition", *columns, where, tombstoned, tables)

    def _where(
        self, table: str, columns: str, past: str, where: str, tombstoned: bool, tables: str
    ) -> str:
        """A query for rows of the state; optionally also for rows of removed elements.

        `past` are the columns of past rows. The query is one statement, because a row might move
        from one table to the other between two statements.
        """
        query = f"SELECT {columns} FROM {tables}{table} WHERE {where}{self._written}"
        if self._seq is not None:
            counts = f"from_seq <= {self._seq} AND to_seq > {self._seq}"
            counts += "" if tombstoned else " AND tombstoned_at IS NULL"
        elif tombstoned:
            counts = f"to_seq = {OPEN_END}"
        else:
            return query
        return (
            f"{query} UNION ALL SELECT {past} FROM {tables}{table}_past WHERE {where} AND {counts}"
        )

    def past_version(self, number: int, rowid: int) -> Element:
        """The version of an element in a row of the past tables."""
        if ids.is_concept(number):
            query = f"SELECT {_CONCEPT_PAST} FROM concept_past WHERE rowid = ?"
            return next(self._as_concepts((self.fetch_one(query, (rowid,)),)))
        query = f"SELECT {_PROPOSITION_PAST} FROM proposition_past WHERE rowid = ?"
        return next(self._as_links((self.fetch_one(query, (rowid,)),)))

    # Elements from rows.

    # Elements are made by the million, so named tuples are built directly and cached names are
    # looked up in place. If iteration stops early, the cursor is dropped with the generator.

    def _as_concepts(self, rows: Iterable[Row]) -> Iterator[Concept]:
        types, actors = self.registry.types.names, self.registry.actors.names
        make = tuple.__new__
        for (
            number, kind, name, attributes, metadata, version, seq, created, by, updated,
            dead, killer, reason,
        ) in rows:  # fmt: skip
            yield make(
                Concept,
                (
                    number,
                    types.get(kind) or self.type_name(kind),
                    name,
                    attributes,
                    metadata,
                    version,
                    seq,
                    created,
                    actors.get(by) or self._actor(by),
                    updated,
                    dead,
                    None if dead is None else self._actor(killer),
                    reason,
                ),
            )

    def _as_links(self, rows: Iterable[Row]) -> Iterator[Proposition]:
        predicates, actors = self.registry.predicates.names, self.registry.actors.names
        make = tuple.__new__
        for (
            number, subject, predicate, object_, weight, attributes, metadata, version, seq,
            created, by, updated, dead, killer, reason,
        ) in rows:  # fmt: skip
            yield make(
                Proposition,
                (
                    number,
                    self.outer_id(subject) if subject & 1 else f"C:{subject}",
                    predicates.get(predicate) or self.predicate_name(predicate),
                    self.outer_id(object_) if object_ & 1 else f"C:{object_}",
                    weight,
                    attributes,
                    metadata,
                    version,
                    seq,
                    created,
                    actors.get(by) or self._actor(by),
                    updated,
                    predicate,
                    dead,
                    None if dead is None else self._actor(killer),
                    reason,
                ),
            )

    def outer_id(self, number: int) -> str:
        """The public id. That of a link has its predicate, or the last predicate that it had."""
        if ids.is_concept(number):
            return ids.concept_id(number)
        row = self.fetch_first(
            f"SELECT predicate FROM proposition WHERE id = ?1{self._written} UNION ALL"
            " SELECT * FROM (SELECT predicate FROM proposition_past"
            f" WHERE id = ?1{self._from_written} ORDER BY from_seq DESC LIMIT 1) p LIMIT 1",
            (number,),
        )
        return ids.link_id(number, "" if row is None else self.predicate_name(row[0]))

    def _actor(self, number: int) -> str:
        actors = self.registry.actors
        return actors.names.get(number) or actors.name(self.connection, number)


def _adjacency(near: str, of: str, predicates: Sequence[int] | None) -> str:
    """A condition on one end and on any number of predicates; these are bound from ?2 on."""
    if predicates is None:
        return f"{near} = {of}"
    marks = ", ".join(f"?{at}" for at in range(2, len(predicates) + 2))
    return f"{near} = {of} AND predicate IN ({marks or 'NULL'})"
