"""Transactions, versions of an element, and moments of the past."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from mycel.errors import ConstraintViolation, InvalidValueType, NotFound
from mycel.merkle import log
from mycel.merkle.pages import EMPTY
from mycel.merkle.proofs import Snapshot
from mycel.model import ids, times
from mycel.model.elements import Element
from mycel.model.names import kind_of
from mycel.model.state import State
from mycel.store.file.rows import Row, every
from mycel.store.log.journal import JournalNodes, Kind, newest
from mycel.store.log.purge_entries import NO_ELEMENT, PurgeFields, past_begins_at
from mycel.store.query.reader import Reader
from mycel.store.query.refs import Ref, shown_ref

Moment = int | str | datetime
"""A `seq`, a time as ISO 8601 text, or a time."""


class LogEntry(NamedTuple):
    """One transaction."""

    seq: int
    first_seq: int
    time_us: int
    actor: str
    message: str
    concepts_root: bytes
    edges_root: bytes

    @property
    def time(self) -> datetime:
        return times.to_datetime(self.time_us)

    @property
    def changes(self) -> int:
        """The number of elements that it changed."""
        return self.seq - self.first_seq

    def to_dict(self) -> dict[str, Any]:
        return {
            "seq": self.seq,
            "first_seq": self.first_seq,
            "changes": self.changes,
            "time": times.to_text(self.time_us),
            "actor": self.actor,
            "message": self.message,
            "concepts_root": self.concepts_root.hex(),
            "edges_root": self.edges_root.hex(),
        }


class Version(NamedTuple):
    """One version of an element, and the transaction that made it."""

    seq: int
    kind: str
    transaction: LogEntry
    element: Element | None
    """The element as it was from then on; None if it was purged."""
    reason: str

    def to_dict(self) -> dict[str, Any]:
        return {
            "seq": self.seq,
            "kind": self.kind,
            "time": times.to_text(self.transaction.time_us),
            "actor": self.transaction.actor,
            "message": self.transaction.message,
            "reason": self.reason,
            "element": None if self.element is None else self.element.to_dict(),
        }


_TX = "seq, first_seq, time, actor, message, concepts_root, edges_root"


def transactions(
    reader: Reader, *, limit: int | None = None, before: int | None = None
) -> Iterator[LogEntry]:
    """Transactions, newest first, from those that ended before the entry `before`."""
    rows = reader.connection.execute(
        f"SELECT {_TX} FROM tx WHERE seq < ? ORDER BY seq DESC LIMIT ?",
        (2**63 - 1 if before is None else before, -1 if limit is None else limit),
    )
    return (_entry(reader, row) for row in rows)


def transactions_called(reader: Reader, word: str) -> list[LogEntry]:
    """The transactions whose message begins with a word and a space, oldest first."""
    query = f"SELECT {_TX} FROM tx WHERE message >= ? AND message < ? ORDER BY seq"
    return [_entry(reader, row) for row in reader.every(query, (f"{word} ", f"{word}!"))]


def versions(reader: Reader, ref: Ref) -> list[Version]:
    """Every version of an element, oldest first.

    Raises:
        NotFound: there never was such an element.
    """
    connection, number = reader.connection, reader.number(ref)
    table = "concept" if ids.is_concept(number) else "proposition"
    rows = every(
        connection,
        f"SELECT from_seq, rowid FROM {table}_past WHERE id = ?1"
        f" UNION ALL SELECT seq, NULL FROM {table} WHERE id = ?1 ORDER BY 1",
        (number,),
    )
    found = [_version(reader, seq, _row_element(reader, seq, number, rowid)) for seq, rowid in rows]
    purges = every(
        connection,
        "SELECT seq, after FROM journal WHERE element = ?1 AND ?1 != ?2 AND kind = 6 ORDER BY seq",
        (number, NO_ELEMENT),
    )
    for seq, record in purges:
        fields = PurgeFields.decode(record)
        kind = "purge" if fields.until is None else "scrub"
        found.append(Version(seq, kind, _transaction_of(reader, seq), None, fields.reason))
    if not found:
        raise NotFound(f"There never was an element {shown_ref(ref)}.")
    return sorted(found, key=lambda version: version.seq)


def state_at(reader: Reader, moment: Moment) -> State:
    """The state after the last transaction at or before a moment.

    Raises:
        ConstraintViolation: a `seq` that lies in the future, or is negative, or a state that was
            scrubbed.
    """
    state = State(entry_at(reader, moment))
    check_kept(reader, state)
    return state


def check_kept(reader: Reader, state: State) -> None:
    """Refuse a state that was scrubbed.

    Whoever holds on to a state asks again before each use: it may be scrubbed at any time.

    Raises:
        ConstraintViolation: it was.
    """
    begin = past_begins_at(reader.connection)
    if state.seq is not None and state.seq < begin:
        raise ConstraintViolation(
            f"The past before entry {begin} was scrubbed: its states can no longer be asked for,"
            " nor further pages of them.",
            hint=f"The earliest state there is: AS OF {begin}.",
        )


def entry_at(reader: Reader, moment: Moment) -> int:
    """The end of the last transaction at or before a moment; 0 before the first one.

    Raises:
        ConstraintViolation: a `seq` that lies in the future, or is negative.
    """
    (last,) = newest(reader.connection, "seq")
    if isinstance(moment, bool) or not isinstance(moment, (int, str, datetime)):
        raise InvalidValueType(
            f"A moment is a seq, a time or an ISO 8601 text, not {kind_of(moment)}."
        )
    if isinstance(moment, int):
        if not 0 <= moment <= last:
            raise ConstraintViolation(
                f"There is no moment {moment}: the journal goes from 0 to {last}.",
                hint="Give a position that the log shows (`mycel log`, db.log()), or a time.",
            )
        (seq,) = reader.only("SELECT max(seq) FROM tx WHERE seq <= ?", (moment,))
        return seq or 0
    return _seq_at_time(reader, _microseconds(moment), last)


def time_after(reader: Reader, seq: int) -> int:
    """The time of the first transaction after a position of the journal."""
    (time_us,) = reader.only("SELECT time FROM tx WHERE seq > ? ORDER BY seq LIMIT 1", (seq,))
    return int(time_us)


def seq_before(reader: Reader, seq: int) -> int:
    """The position of the journal before the transaction that wrote an entry."""
    query = "SELECT first_seq - 1 FROM tx WHERE seq >= ? ORDER BY seq LIMIT 1"
    (found,) = reader.only(query, (seq,))
    return int(found)


def _microseconds(moment: str | datetime) -> int:
    if isinstance(moment, str):
        return times.from_text(moment)
    try:
        return times.from_datetime(moment)
    except OverflowError:
        raise ConstraintViolation(f"{moment} cannot be told in UTC.") from None


def _seq_at_time(reader: Reader, time_us: int, last: int) -> int:
    """Times never go back from one transaction to the next, so a search by halves finds it."""
    low, high, best = 0, last, 0
    while low < high:
        middle = (low + high) // 2
        seq, time = reader.only(
            "SELECT seq, time FROM tx WHERE seq > ? ORDER BY seq LIMIT 1",
            (middle,),
        )
        if time <= time_us:
            low = best = seq
        else:
            high = middle
    return best


def _row_element(reader: Reader, seq: int, number: int, rowid: int | None) -> Element:
    """An element as one row has it; links at its ends are called what they were called then."""
    found: Element | None
    if rowid is None:
        found = reader.element(number)
    elif ids.is_concept(number):
        found = reader.past_concept(rowid)
    else:
        found = reader.at(State(seq)).past_proposition(rowid)
    if found is None:
        raise NotFound(f"There is no element {number}.")
    return found


def _version(reader: Reader, seq: int, element: Element) -> Version:
    (kind,) = reader.only("SELECT kind FROM journal WHERE seq = ?", (seq,))
    reason = element.tombstoned_reason or ""
    return Version(seq, Kind(kind).label, _transaction_of(reader, seq), element, reason)


def _transaction_of(reader: Reader, seq: int) -> LogEntry:
    row = reader.only(f"SELECT {_TX} FROM tx WHERE seq > ? ORDER BY seq LIMIT 1", (seq,))
    return _entry(reader, row)


def _entry(reader: Reader, row: Row) -> LogEntry:
    seq, first, time_us, actor, *rest = row
    return LogEntry(
        seq, first, time_us, reader.registry.actors.name(reader.connection, actor), *rest
    )


def snapshot_of(reader: Reader) -> Snapshot:
    """All roots of the state that a reader sees."""
    seq = reader.state.seq
    if seq is None:
        return reader.head().snapshot()
    nodes = JournalNodes(reader.connection, reader.registry)
    journal_root = log.root_at(nodes, seq)
    row = reader.first(
        "SELECT time, concepts_root, edges_root FROM tx WHERE seq = ?",
        (seq,),
    )
    if row is None:
        return Snapshot(0, 0, journal_root, EMPTY, EMPTY)
    time_us, concepts_root, edges_root = row
    return Snapshot(seq, time_us, journal_root, concepts_root, edges_root)
