"""Reads versions of an element, and finds moments of the past."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, NamedTuple

from mycel.errors import (
    ConstraintViolation,
    InvalidSyntax,
    InvalidValueType,
    NotFound,
)
from mycel.merkle import log
from mycel.merkle.pages import EMPTY
from mycel.merkle.proofs import Snapshot
from mycel.model import commits, times
from mycel.model.allowance import charge
from mycel.model.elements import Element
from mycel.model.names import kind_of
from mycel.model.state import State
from mycel.store.file.rows import table_of
from mycel.store.log.journal import JournalNodes, Kind, newest
from mycel.store.log.purge_entries import NO_ELEMENT, PurgeFields, past_begins_at
from mycel.store.query.commits import LogEntry, entry_named, tags, transaction_of
from mycel.store.query.reader import Reader
from mycel.store.query.refs import Ref, shown_ref

TAGS_SHOWN: Final = 5
"""The maximum number of tags that a hint names; it names the newest."""

Moment = int | str | datetime | State
"""A position of the journal, the id of a commit, a tag, a time, its ISO 8601 text, or a state."""


class Version(NamedTuple):
    """One version of an element, and the transaction that made it."""

    seq: int
    kind: str
    transaction: LogEntry
    element: Element | None
    """The element as of this version; None if the version was purged."""
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


def versions(reader: Reader, ref: Ref) -> list[Version]:
    """Every version of an element, oldest first.

    Raises:
        NotFound: there never was such an element.
    """
    number = reader.number(ref)
    rows = _version_rows(reader, number)
    if not rows:
        raise NotFound(f"There never was an element {shown_ref(ref)}.")
    return [_version_of(reader, number, *row) for row in rows]


def version_page(
    reader: Reader, ref: Ref, start: int, limit: int, last: int | None = None
) -> tuple[list[Version], int]:
    """A page of versions of an element, newest first, and the number of all up to a position."""
    number = reader.number(ref)
    rows = [row for row in _version_rows(reader, number) if last is None or row[0] <= last][::-1]
    page = []
    for row in rows[start : start + limit]:
        version = _version_of(reader, number, *row)
        if version.element is not None:
            charge(len(version.element.attributes_json))
        page.append(version)
    return page, len(rows)


def _version_rows(reader: Reader, number: int) -> list[tuple[int, int | None, bytes | None]]:
    """For each version or purge: its entry, the past row of an old version, and the purge."""
    table = table_of(number)
    return reader.fetch_all(
        # PostgreSQL takes the types of columns from the first two parts.
        "SELECT seq, NULL, after FROM journal WHERE element = ?1 AND ?1 != ?2 AND kind = 6"
        f" UNION ALL SELECT from_seq, rowid, NULL FROM {table}_past WHERE id = ?1"
        f" UNION ALL SELECT seq, NULL, NULL FROM {table} WHERE id = ?1 ORDER BY 1",
        (number, NO_ELEMENT),
    )


def _version_of(
    reader: Reader, number: int, seq: int, rowid: int | None, purge: bytes | None
) -> Version:
    if purge is None:
        return _version(reader, seq, _row_element(reader, seq, number, rowid))
    fields = PurgeFields.decode(purge)
    kind = "purge" if fields.until is None else "scrub"
    return Version(seq, kind, transaction_of(reader, seq), None, fields.reason)


def value_since(reader: Reader, number: int, read: Callable[[Element], object]) -> int | None:
    """The entry since which an element has a value, as of the reader's state.

    `read` returns the value in a version. The result is None if the element does not exist.
    """
    table = table_of(number)
    rows = reader.fetch_all(
        f"SELECT from_seq, rowid FROM {table}_past WHERE id = ?1 AND from_seq <= ?2"
        f" UNION ALL SELECT seq, NULL FROM {table} WHERE id = ?1 AND seq <= ?2 ORDER BY 1 DESC",
        (number, reader.position),
    )
    since, value = None, None
    for seq, rowid in rows:
        element = _row_element(reader.live, seq, number, rowid)
        if since is not None and (element.tombstoned or read(element) != value):
            break
        since, value = seq, read(element)
    return since


def state_at(reader: Reader, moment: Moment) -> State:
    """The state after the last transaction that ended at a moment or before it.

    Raises:
        ConstraintViolation: a `seq` that lies in the future, or is negative, or a state that was
            scrubbed.
        NotFound: there is no such commit or tag.
    """
    state = State(entry_at(reader, moment))
    check_kept(reader, state)
    return state


def time_of_state(reader: Reader) -> int:
    """The time of a reader's state: now, or for a past state that of its last transaction."""
    if reader.state.seq is None:
        return reader.now_us()
    query = "SELECT time FROM tx WHERE seq <= ? ORDER BY seq DESC LIMIT 1"
    row = reader.fetch_first(query, (reader.state.seq,))
    return 0 if row is None else int(row[0])


def check_kept(reader: Reader, state: State) -> None:
    """Refuse a state that was scrubbed.

    A scrub may come at any time, so a caller that keeps a state checks it before each use.

    Raises:
        ConstraintViolation: the state was scrubbed.
    """
    begin = past_begins_at(reader.connection)
    if state.seq is not None and state.seq < begin:
        raise ConstraintViolation(
            f"The past before entry {begin} was scrubbed: its states can no longer be read, nor"
            " can further pages of answers about them.",
            hint=f"The earliest remaining state is AS OF {begin}.",
        )


def is_scrubbed(reader: Reader, seq: int) -> bool:
    """True if the state at a position of the journal was scrubbed."""
    return seq < past_begins_at(reader.connection)


def entry_at(reader: Reader, moment: Moment) -> int:
    """The last entry of the last transaction at or before a moment; 0 before the first one.

    Raises:
        ConstraintViolation: a `seq` that lies in the future, or is negative.
    """
    (last,) = newest(reader.connection, "seq")
    if isinstance(moment, State):
        moment = last if moment.seq is None else moment.seq
    if isinstance(moment, bool) or not isinstance(moment, (int, str, datetime)):
        raise InvalidValueType(
            "A moment is a position of the journal, the id of a commit, a tag, a time or an ISO"
            f" 8601 text, not {kind_of(moment)}."
        )
    if isinstance(moment, int):
        if not 0 <= moment <= last:
            raise ConstraintViolation(
                f"There is no moment {moment}: the journal goes from 0 to {last}.",
                hint="Give a position of the log (`mycel log`, db.history.log()), or a time.",
            )
        (seq,) = reader.fetch_one("SELECT max(seq) FROM tx WHERE seq <= ?", (moment,))
        return seq or 0
    if isinstance(moment, str) and (entry := entry_named(reader, moment)) is not None:
        return entry
    try:
        return position_at_time(reader, _microseconds(moment))
    except InvalidSyntax as error:
        error.message = f"{error.message.removesuffix('.')}, and no tag or commit either."
        error.hint = (
            "The log shows commits (`mycel log`, db.history.log()); a time is written as"
            " 2026-01-31T12:00:00Z."
        )
        tag_names = list(tags(reader))
        if tag_names:
            more = ", …" if len(tag_names) > TAGS_SHOWN else ""
            error.hint += f" The tags are {', '.join(tag_names[-TAGS_SHOWN:])}{more}."
        raise


def before_moment(reader: Reader, moment: Moment) -> int:
    """The last entry of the last transaction before a moment.

    A transaction that ended at exactly that moment does not count.
    """
    if isinstance(moment, datetime) or (
        isinstance(moment, str) and entry_named(reader, moment) is None
    ):
        return position_at_time(reader, _microseconds(moment) - 1)
    seq = entry_at(reader, moment)
    return seq_before(reader, seq) if seq else 0


def time_after(reader: Reader, seq: int) -> int:
    """The time of the first transaction after a position of the journal."""
    return reader.count("SELECT time FROM tx WHERE seq > ? ORDER BY seq LIMIT 1", (seq,))


def seq_before(reader: Reader, seq: int) -> int:
    """The position of the journal just before the transaction that wrote an entry."""
    query = "SELECT first_seq - 1 FROM tx WHERE seq >= ? ORDER BY seq LIMIT 1"
    return reader.count(query, (seq,))


def _microseconds(moment: str | datetime) -> int:
    if isinstance(moment, str):
        return times.from_full_text(moment)
    try:
        return times.from_datetime(moment)
    except OverflowError:
        raise ConstraintViolation(f"{moment} cannot be converted to UTC.") from None


def position_at_time(reader: Reader, time_us: int) -> int:
    """The end of the last transaction at or before a time; 0 before the first one.

    Times never decrease from one transaction to the next, so a binary search finds it.
    """
    (last,) = newest(reader.connection, "seq")
    low, high, best = 0, last, 0
    while low < high:
        middle = (low + high) // 2
        seq, time = reader.fetch_one(
            "SELECT seq, time FROM tx WHERE seq > ? ORDER BY seq LIMIT 1",
            (middle,),
        )
        if time <= time_us:
            low = best = seq
        else:
            high = middle
    return best


def _row_element(reader: Reader, seq: int, number: int, rowid: int | None) -> Element:
    """The element of a past row. If an end is a link, it has the id of that time."""
    if rowid is not None:
        return reader.at(State(seq)).past_version(number, rowid)
    element = reader.element(number)
    if element is None:
        raise NotFound(f"There is no element {number}.")
    return element


def _version(reader: Reader, seq: int, element: Element) -> Version:
    (kind,) = reader.fetch_one("SELECT kind FROM journal WHERE seq = ?", (seq,))
    reason = element.tombstoned_reason or ""
    return Version(seq, Kind(kind).label, transaction_of(reader, seq), element, reason)


def snapshot_of(reader: Reader) -> Snapshot:
    """The roots of the state that a reader sees."""
    seq = reader.state.seq
    if seq is None:
        return reader.head().snapshot()
    nodes = JournalNodes(reader.connection, reader.registry)
    journal_root = log.root_at(nodes, seq)
    row = reader.fetch_first(
        "SELECT time, concepts_root, edges_root FROM tx WHERE seq = ?",
        (seq,),
    )
    if row is None:
        return Snapshot(0, 0, journal_root, EMPTY, EMPTY)
    time_us, concepts_root, edges_root = row
    return Snapshot(seq, time_us, journal_root, concepts_root, edges_root)


class End(NamedTuple):
    """The end of a transaction: its position and time."""

    seq: int
    time_us: int


def end_at(reader: Reader, moment: Moment | None, *, last: bool) -> End:
    """The end of the last transaction at or before a moment.

    Without a moment, it is the end of the newest transaction, or of the first one.
    """
    if moment is None:
        way = "DESC" if last else "ASC"
        row = reader.fetch_one(f"SELECT seq, time FROM tx ORDER BY seq {way} LIMIT 1")
    else:
        query = "SELECT seq, time FROM tx WHERE seq >= ? ORDER BY seq LIMIT 1"
        row = reader.fetch_one(query, (entry_at(reader, moment),))
    return End(*row)


def tagged(reader: Reader) -> list[tuple[str, int]]:
    """The tags, each with the position of its commit."""
    generator = ((name, commits.entry_in(commit)) for name, commit in tags(reader).items())
    return [(name, seq) for name, seq in generator if seq is not None]
