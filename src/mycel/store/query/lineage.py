"""The history that two copies of a graph share: its end, and their common ancestors.

The commits of a copy form a single line. The marks of merges (`log.marks`) name commits of other
copies. These commits, and all before them, are ancestors too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from mycel.errors import NotFound
from mycel.merkle import log
from mycel.model.state import State
from mycel.store.log import marks
from mycel.store.log.journal import JournalNodes
from mycel.store.query.commits import commit_at, entry_named
from mycel.store.query.reader import Reader

PARTINGS_MAX: Final = 256
"""The maximum number of pairs of journals whose parting is remembered."""


class Parting(NamedTuple):
    """The last commit that two graphs share, and the number of commits of each after it."""

    entries: int
    """The length of the journal up to the last shared commit; 0 if there is none."""
    commit: str | None
    ahead: int
    """Commits that only the first graph has."""
    behind: int
    """Commits that only the second graph has."""

    def to_dict(self) -> dict[str, Any]:
        return self._asdict()


_partings: Final[dict[tuple[tuple[int, bytes], ...], Parting]] = {}


def parting(one: Reader, other: Reader) -> Parting:
    """The moment at which two graphs part.

    It depends only on the two journals, so their roots are the cache key.
    """
    heads = [reader.head().snapshot() for reader in (one, other)]
    key = tuple((head.seq, head.journal_root) for head in heads)
    fork = _partings.get(key)
    if fork is None:
        if len(_partings) >= PARTINGS_MAX:
            _partings.clear()
        fork = _partings[key] = _find_parting(one, other)
    return fork


def _find_parting(one: Reader, other: Reader) -> Parting:
    """The moment at which two graphs part.

    Equal roots mean equal journals, so a binary search over the roots finds the longest common
    beginning. The commit at which they part is therefore not recorded anywhere.
    """
    nodes = [JournalNodes(reader.connection, reader.registry) for reader in (one, other)]

    def differ(entries: int) -> bool:
        return log.root_at(nodes[0], entries) != log.root_at(nodes[1], entries)

    low = min(one.head().seq, other.head().seq)
    if differ(low):  # Otherwise one journal is the beginning of the other.
        low = bisect_left(range(low), True, lo=1, key=differ) - 1
    # Two different transactions may begin with equal entries, so the last transaction that is equal
    # as a whole counts.
    (entries,) = one.fetch_one("SELECT coalesce(max(seq), 0) FROM tx WHERE seq <= ?", (low,))
    beyond = "SELECT count(*) FROM tx WHERE seq > ?"
    (ahead,), (behind,) = (reader.fetch_one(beyond, (entries,)) for reader in (one, other))
    return Parting(entries, commit_at(one, entries) if entries else None, ahead, behind)


class Ancestor(NamedTuple):
    """A state of some copy that is an ancestor of the two states to be merged."""

    copy: Reader
    seq: int


class Lineage(NamedTuple):
    """The relation of a state of our copy to a state of their copy."""

    shared: int
    """The entry up to which both journals are the same."""
    seen: int
    """Our state has everything in their journal up to this entry."""
    visible: int
    """Their state has everything in our journal up to this entry."""
    bases: tuple[Ancestor, ...]
    """The newest common ancestors; none of them is an ancestor of another."""
    into_ours: Mapping[int, int]
    """Merges of their copy into ours: the last merged entry of each, with our entry right after the
    merge.
    """
    into_theirs: Mapping[int, int]
    """Merges of our copy into theirs: the last entry of each, with our entry that was merged."""
    met: tuple[tuple[int, int], ...]
    """Pairs of moments (theirs, ours), oldest first, at which both had the same content through a
    third copy.

    At such a moment, one copy had merged the other through a third copy, or both had merged the
    same third copy.
    """
    third: tuple[State, State] | None
    """Our state and theirs, each right after its first merge of the same commit of a lost third
    copy.

    The third copy cannot be read. None if they share no such commit, or if it is an ancestor of a
    base.
    """


def lineage(ours: Reader, theirs: Reader, others: Sequence[Reader] = ()) -> Lineage:
    """The common ancestors of the states of two readers.

    `others` are copies that may have been merged into both (see `merged_copies`).
    """
    family = _Family()
    shared = min(family.shared(ours, theirs), ours.position, theirs.position)
    copies = ours, theirs, *others
    ends = [Ancestor(reader, reader.position) for reader in (ours, theirs)]
    common = [Ancestor(copy, min(family.reach(copy, end) for end in ends)) for copy in copies]
    bases = [
        base
        for at, base in enumerate(common)
        if not any(
            family.has(other, base) and (index < at or not family.has(base, other))
            for index, other in enumerate(common)
            if index != at
        )
    ]
    into_ours, into_theirs = family.merges(theirs, ends[0]), family.merges(ours, ends[1])
    met = [(at, by) for at, by, is_direct in into_ours if not is_direct]
    met += [(by, at) for at, by, is_direct in into_theirs if not is_direct]
    for copy, seq in common[2:]:
        if seq > shared:
            moments = (family.first(copy, seq, end) for end in reversed(ends))
            met.append((next(moments), next(moments)))
    mine = {mark.commit: seq for seq, mark in reversed(parents(ours))}
    lost = [
        (mine[mark.commit], seq)
        for seq, mark in parents(theirs)
        if mark.commit in mine and all(_position_of(copy, mark.commit) is None for copy in copies)
    ]
    unread = [
        pair
        for pair in lost
        if not any(
            family.reach(end.copy, base) >= seq
            for base in bases
            for end, seq in zip(ends, pair, strict=True)
        )
    ]
    met += [(by, at) for at, by in lost]
    return Lineage(
        shared,
        common[1].seq,
        common[0].seq,
        tuple(bases),
        {by: by for _, by, is_direct in into_ours if is_direct},
        {by: at for at, by, is_direct in into_theirs if is_direct},
        tuple(sorted(met)),
        (State(unread[-1][0]), State(unread[-1][1])) if unread else None,
    )


class _Merge(NamedTuple):
    """A merge of one copy into another."""

    at: int
    """The entry of the source up to which it was merged."""
    by: int
    """The last entry of the merge in the target."""
    is_direct: bool
    """False if the merge came to the target with the merge of a third copy."""


class _Family:
    """Computes and caches, for pairs of copies, which entries of one copy the other has."""

    def __init__(self) -> None:
        self._shared: Final[dict[tuple[int, int], int]] = {}
        self._merges: Final[dict[tuple[int, int], list[_Merge]]] = {}

    def shared(self, one: Reader, other: Reader) -> int:
        """The entry up to which the journals of two copies are the same."""
        key = id(one.connection), id(other.connection)
        if key not in self._shared:
            self._shared[key] = parting(one, other).entries
        return self._shared[key]

    def merges(self, copy: Reader, into: Ancestor) -> list[_Merge]:
        """The merges of a copy into a state of another copy."""
        key = id(copy.connection), id(into.copy.connection)
        if key not in self._merges:
            self._merges[key] = _merges_up_to(copy, parents(into.copy), copy.position)
        return [merge for merge in self._merges[key] if merge.by <= into.seq]

    def reach(self, copy: Reader, state: Ancestor) -> int:
        """The last entry of a copy that a state has, with everything before it."""
        if copy.connection is state.copy.connection:
            return state.seq
        native = min(self.shared(copy, state.copy), state.seq, copy.position)
        return max([native, *(merge.at for merge in self.merges(copy, state))])

    def has(self, state: Ancestor, older: Ancestor) -> bool:
        """True if a state has everything that an older state has."""
        return self.reach(older.copy, state) >= older.seq

    def first(self, copy: Reader, seq: int, end: Ancestor) -> int:
        """The first entry of a copy at which it had everything up to an entry of another copy."""
        if min(self.shared(copy, end.copy), end.seq) >= seq:
            return seq
        return min(merge.by for merge in self.merges(copy, end) if merge.at >= seq)


def merged_copies(ours: Reader, theirs: Reader) -> set[str]:
    """The names of copies that were merged into one of two copies since these two parted."""
    shared = parting(ours, theirs).entries
    return {mark.name for reader in (ours, theirs) for seq, mark in parents(reader) if seq > shared}


def is_contained(reader: Reader, other: Reader) -> bool:
    """True if the first copy has everything that the second copy has, perhaps by merges."""
    ancestry = lineage(reader, other)
    return not has_content(other, ancestry.seen)


def parents(reader: Reader) -> list[tuple[int, marks.Mark]]:
    """The marks of merged commits up to a state, each with the last entry of its merge."""
    return _marked(reader, marks.MERGE)


def merge_commits(reader: Reader, after: int) -> dict[int, range]:
    """The entries of each merge commit after an entry, by the last entry of the merge."""
    query = "SELECT first_seq FROM tx WHERE seq = ?"
    ends = {by for by, _ in parents(reader) if by > after}
    return {by: range(reader.fetch_one(query, (by,))[0], by + 1) for by in sorted(ends)}


def imports(reader: Reader) -> list[tuple[int, marks.Mark]]:
    """The marks of edits that were merged, oldest first, each with the last entry of its commit.

    The name of a mark is the origin of the edits; its commit is the one that was edited.
    """
    return _marked(reader, marks.IMPORT)


def _marked(reader: Reader, kind: str) -> list[tuple[int, marks.Mark]]:
    """The marks of a kind up to the reader's state, each with the last entry of its commit."""
    end = reader.position
    pairs = []
    for entry, mark in marks.of_kind(reader.connection, kind):
        (seq,) = reader.fetch_one("SELECT min(seq) FROM tx WHERE seq >= ?", (entry,))
        if seq <= end:
            pairs.append((seq, mark))
    return pairs


def has_content(reader: Reader, after: int) -> bool:
    """True if a state has entries after a position other than marks of commits."""
    query = "SELECT 1 FROM journal WHERE seq > ? AND seq <= ? AND kind != 9 LIMIT 1"
    if reader.fetch_first(query, (after, reader.position)) is not None:
        return True
    return any(seq > after for seq, _ in _marked(reader, marks.PURGE))


def _merges_up_to(reader: Reader, merges: list[tuple[int, marks.Mark]], end: int) -> list[_Merge]:
    """The merges, from these marks, of commits that a copy has up to an entry."""
    sources: dict[int, str | None] = {}
    for by, mark in merges:
        sources.setdefault(by, mark.commit)  # The first mark of a merge is for its source.
    past_merges = []
    for by, mark in merges:
        at = _position_of(reader, mark.commit)
        if at is not None and at <= end:
            past_merges.append(_Merge(at, by, sources[by] == mark.commit))
    return past_merges


def _position_of(reader: Reader, commit: str | None) -> int | None:
    """The last entry of a commit; None if the copy does not have it."""
    try:
        return None if commit is None else entry_named(reader, commit)
    except NotFound:
        return None
