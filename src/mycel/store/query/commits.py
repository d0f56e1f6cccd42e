"""Commits: the transactions of the journal, their ids, their tags, and the filters of the log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple

from mycel.errors import InvalidValueType, NotFound
from mycel.merkle import log
from mycel.model import cbor, commits, times
from mycel.model.names import kind_of, shorten
from mycel.store.file.layout import OPEN_END
from mycel.store.file.rows import Row
from mycel.store.log import marks
from mycel.store.log.journal import JournalNodes, Kind
from mycel.store.log.registry import named_actor, unknown
from mycel.store.query.paths import GraphPath
from mycel.store.query.paths import condition as covers
from mycel.store.query.reader import Reader

_TX: Final = "seq, first_seq, time, actor, message, concepts_root, edges_root"


class LogEntry(NamedTuple):
    """One transaction, which is a commit."""

    seq: int
    first_seq: int
    time_us: int
    actor: str
    message: str
    concepts_root: bytes
    edges_root: bytes
    commit: str
    """The id of the commit, which is the same in every copy of the graph."""

    @property
    def time(self) -> datetime:
        return times.to_datetime(self.time_us)

    @property
    def changes(self) -> int:
        """The number of elements that the transaction changed."""
        return self.seq - self.first_seq

    def to_dict(self) -> dict[str, Any]:
        return {
            "commit": self.commit,
            "seq": self.seq,
            "first_seq": self.first_seq,
            "changes": self.changes,
            "time": times.to_text(self.time_us),
            "actor": self.actor,
            "message": self.message,
            "concepts_root": self.concepts_root.hex(),
            "edges_root": self.edges_root.hex(),
        }


class LogFilter(NamedTuple):
    """The conditions on a transaction; a condition that is None sets no limit."""

    path: GraphPath | None = None
    """The transaction changed an element under this path, or a link that begins there."""
    type: str | None = None
    """The transaction changed a concept of this type, or a link with this predicate."""
    actor: str | None = None
    after: int | None = None
    """The transaction ended after this entry."""
    until: int | None = None
    """The transaction ended at this entry or before it."""
    text: str | None = None
    """The message has this text, in upper or lower case."""


def transactions(
    reader: Reader,
    *,
    limit: int | None = None,
    before: int | None = None,
    where: LogFilter = LogFilter(),  # noqa: B008 - an immutable value
) -> Iterator[LogEntry]:
    """Transactions that ended before the entry `before`, newest first.

    Raises:
        TypeMismatch: no such type or predicate was ever defined.
    """
    conditions = ["tx.seq < :before"]
    bindings: dict[str, Any] = {
        "before": 2**63 - 1 if before is None else before,
        "limit": 2**63 - 1 if limit is None else limit,
    }
    for condition, values in _conditions(reader, where):
        conditions.append(condition)
        bindings |= values
    rows = reader.execute(
        f"SELECT {_TX} FROM tx WHERE {' AND '.join(conditions)} ORDER BY seq DESC LIMIT :limit",
        bindings,
    )
    return (_entry(reader, row) for row in rows)


def _conditions(reader: Reader, where: LogFilter) -> Iterator[tuple[str, dict[str, Any]]]:
    if where.actor is not None:
        actor_ids = f"(SELECT id FROM actor WHERE {named_actor('name', ':actor')})"
        yield f"tx.actor IN {actor_ids}", {"actor": _text("actor", where.actor)}
    if where.after is not None:
        yield "tx.seq > :after", {"after": where.after}
    if where.until is not None:
        yield "tx.seq <= :until", {"until": where.until}
    if where.text is not None:
        yield "instr(lower(message), lower(:text)) > 0", {"text": _text("text", where.text)}
    if where.type is not None:
        yield _touched(_versions_of_type(reader, _text("type", where.type))), {}
    if where.path is not None:
        if where.path.type is not None:
            reader.type_number(where.path.type)
        fits, bindings = covers(where.path, "v")
        yield _touched(_versions_under(where.path, fits)), bindings


def _text(parameter: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidValueType(f"{parameter} must be a text, not {kind_of(value)}.")
    return value


def _touched(versions: str) -> str:
    """A condition: an entry of the transaction wrote or ended one of these versions."""
    return (
        "tx.seq IN (SELECT (SELECT min(t.seq) FROM tx t WHERE t.seq >= e.at)"
        f" FROM ({versions}) e WHERE e.at < {OPEN_END})"
    )


def _versions(table: str, where: str) -> str:
    """A query for the entries that wrote or ended versions of elements."""
    return (
        f"SELECT v.seq AS at FROM {table} v WHERE {where}"
        f" UNION SELECT v.from_seq FROM {table}_past v WHERE {where}"
        f" UNION SELECT v.to_seq FROM {table}_past v WHERE {where}"
    )


def _versions_of_type(reader: Reader, name: str) -> str:
    type_number, predicate = reader.find_type(name), reader.find_predicate(name)
    if type_number is not None:
        return _versions("concept", f"v.type = {type_number}")
    if predicate is None:
        raise unknown(name, reader.registry.types, reader.registry.predicates)
    return _versions("proposition", f"v.predicate = {predicate}")


def _versions_under(path: GraphPath, fits: str) -> str:
    if path.number is not None and path.number & 1:
        return _versions("proposition", fits)
    tables = "concept", "concept_past"
    owned = " UNION ".join(f"SELECT v.id FROM {table} v WHERE {fits}" for table in tables)
    links = _versions("proposition", f"v.subject IN ({owned})")
    return f"{_versions('concept', fits)} UNION {links}"


def transaction_of(reader: Reader, seq: int) -> LogEntry:
    """The transaction that an entry is part of."""
    row = reader.fetch_one(f"SELECT {_TX} FROM tx WHERE seq >= ? ORDER BY seq LIMIT 1", (seq,))
    return _entry(reader, row)


def transactions_after(reader: Reader, seq: int, limit: int) -> list[LogEntry]:
    """The transactions that ended after an entry, oldest first."""
    query = f"SELECT {_TX} FROM tx WHERE seq > ? ORDER BY seq LIMIT ?"
    return [_entry(reader, row) for row in reader.fetch_all(query, (seq, limit))]


def later_transactions(
    reader: Reader, numbers: Iterable[int], after: int, limit: int
) -> list[LogEntry]:
    """The transactions after an entry that changed one of these elements, newest first."""
    chosen = sorted(numbers)
    versions = " UNION ".join(
        _versions(table, f"v.id IN ({', '.join(map(str, ids)) or 'NULL'})")
        for table, ids in (
            ("concept", [number for number in chosen if not number & 1]),
            ("proposition", [number for number in chosen if number & 1]),
        )
    )
    query = f"SELECT {_TX} FROM tx WHERE seq > ? AND {_touched(versions)} ORDER BY seq DESC LIMIT ?"
    return [_entry(reader, row) for row in reader.fetch_all(query, (after, limit))]


def changed_elements(reader: Reader, entry: LogEntry, limit: int) -> list[int]:
    """Some of the elements that a transaction changed, in the order of their first entries."""
    query = (
        "SELECT element FROM journal WHERE seq >= ? AND seq < ? AND kind NOT IN (?, ?)"
        " GROUP BY element ORDER BY min(seq) LIMIT ?"
    )
    marks = int(Kind.MARK), int(Kind.PURGE)
    return reader.column(query, (entry.first_seq, entry.seq, *marks, limit))


def changes_since(reader: Reader, first_seq: int) -> list[tuple[int, int]]:
    """The kind and element of each entry from a position on, also in an open transaction."""
    query = "SELECT DISTINCT kind, element FROM journal WHERE seq >= ?"
    return [(kind, element) for kind, element in reader.fetch_all(query, (first_seq,))]


def marks_since(reader: Reader, first_seq: int) -> list[marks.Mark]:
    """The marks from a position on, also those of an open transaction."""
    query = "SELECT after FROM journal WHERE seq >= ? AND kind = ? ORDER BY seq"
    rows = reader.column(query, (first_seq, int(Kind.MARK)))
    return [marks.Mark(*cbor.decode(record)) for record in rows]


def has_purged(reader: Reader, entry: LogEntry) -> bool:
    """True if a transaction purged elements."""
    query = "SELECT 1 FROM journal WHERE seq >= ? AND seq < ? AND kind = ? LIMIT 1"
    return reader.fetch_first(query, (entry.first_seq, entry.seq, int(Kind.PURGE))) is not None


def _entry(reader: Reader, row: Row) -> LogEntry:
    seq, first, time_us, actor, message, concepts, edges = row
    name = reader.registry.actors.name(reader.connection, actor)
    commit = commit_at(reader, seq)
    return LogEntry(seq, first, time_us, name, message, concepts, edges, commit)


def commit_at(reader: Reader, seq: int) -> str:
    """The id of the transaction that ends at an entry."""
    nodes = JournalNodes(reader.connection, reader.registry)
    return commits.commit_id(seq, log.root_at(nodes, seq))


def journal_root_at(reader: Reader, seq: int) -> str:
    """The root of the journal up to an entry, in hexadecimal."""
    return log.root_at(JournalNodes(reader.connection, reader.registry), seq).hex()


def tags(reader: Reader) -> dict[str, str]:
    """The commit of every tag in force, by name."""
    return marks.tags(reader.connection)


def entry_named(reader: Reader, text: str) -> int | None:
    """The last entry of the commit that an id or a tag names; None if it names none.

    Raises:
        NotFound: the text is the id of a commit that this graph does not have.
    """
    seq = commits.entry_in(text)
    if seq is None:
        if not text[:1].isalpha():
            return None
        tag_commits = tags(reader)
        if text not in tag_commits:
            return None
        text = tag_commits[text]
        seq = commits.entry_in(text)
    is_end = reader.fetch_first("SELECT 1 FROM tx WHERE seq = ?", (seq,)) is not None
    if seq is None or not is_end or not commit_at(reader, seq).startswith(text):
        raise NotFound(
            f"This graph has no commit {shorten(text, 40)}.",
            hint="`mycel log` and db.history.log() list the commits; one of another branch or copy"
            " that was made after the two parted is not among them.",
        )
    return seq
