"""The common ancestors of two copies of a graph that were merged before, or not.

The commits of a copy are one row. The marks of merges (`log.marks`) name commits of other copies
that are ancestors as well, with all that came before them.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from mycel.errors import NotFound
from mycel.model.state import State
from mycel.store.log import marks
from mycel.store.query.commits import entry_named
from mycel.store.query.parting import parting
from mycel.store.query.reader import Reader


class Ancestor(NamedTuple):
    """A state of one of the two copies that is an ancestor of both."""

    side: Literal["ours", "theirs"]
    seq: int


class Lineage(NamedTuple):
    """The relation of two states of two copies."""

    shared: int
    """The entry up to which both journals are the same."""
    seen: int
    """The entry of theirs up to which ours has everything."""
    bases: tuple[Ancestor, ...]
    """The newest common ancestors; none of them is an ancestor of another."""
    merged: tuple[tuple[State, State], ...]
    """The moments at which one was merged into the other: theirs, then ours. Oldest first."""
    third: tuple[State, State] | None
    """The states of ours and theirs in which each has first merged the same commit of a third copy;
    None if they have no such commit, or if it is an ancestor of one of the bases."""


def lineage(ours: Reader, theirs: Reader) -> Lineage:
    """The common ancestors of the states of two readers."""
    shared = parting(ours, theirs).entries
    ends = position(ours), position(theirs)
    shared = min(shared, *ends)
    mine, others = parents(ours), parents(theirs)
    # Pairs of an entry of the one that was merged and the entry of the merge in the other.
    into_ours = _known(theirs, mine, ends[1])
    into_theirs = _known(ours, others, ends[0])
    seen = max((at for at, _ in into_ours), default=shared)
    known = max((at for at, _ in into_theirs), default=shared)
    seen, known = max(seen, shared), max(known, shared)
    bases = [Ancestor("theirs", seen), Ancestor("ours", known)]
    if seen == shared or any(at >= seen and by <= known for at, by in into_ours):
        bases = [Ancestor("ours", known)]
    elif known == shared or any(at >= known and by <= seen for at, by in into_theirs):
        bases = [Ancestor("theirs", seen)]
    merged = [(at, by) for at, by in into_ours] + [(by, at) for at, by in into_theirs]
    own = {mark.commit: seq for seq, mark in reversed(mine)}
    common = [
        (State(own[mark.commit]), State(seq))
        for seq, mark in others
        if mark.commit in own
        and _position_of(ours, mark.commit) is None
        and _position_of(theirs, mark.commit) is None
        and not any((own[mark.commit] if side == "ours" else seq) <= at for side, at in bases)
    ]
    return Lineage(
        shared,
        seen,
        tuple(bases),
        tuple((State(at), State(by)) for at, by in sorted(merged)),
        common[-1] if common else None,
    )


def is_contained(reader: Reader, other: Reader) -> bool:
    """True if the first copy has, or has merged, all that the second one has."""
    found = lineage(reader, other)
    return not has_content(other, found.seen)


def position(reader: Reader) -> int:
    """The entry of the journal at which the state of a reader ends."""
    return reader.head().seq if reader.state.seq is None else reader.state.seq


def parents(reader: Reader) -> list[tuple[int, marks.Mark]]:
    """The parents in other copies of commits up to a state, each with its merge's last entry."""
    return _marked(reader, marks.MERGE)


def imports(reader: Reader) -> list[tuple[int, marks.Mark]]:
    """The marks of edits that were merged, oldest first, each with the last entry of its commit.

    The name of a mark is the origin of the edits, its commit the one that was edited.
    """
    return _marked(reader, marks.IMPORT)


def _marked(reader: Reader, kind: str) -> list[tuple[int, marks.Mark]]:
    """The marks of a kind up to the reader's state, each with the last entry of its commit."""
    end = position(reader)
    found = []
    for entry, mark in marks.of_kind(reader.connection, kind):
        (seq,) = reader.only("SELECT min(seq) FROM tx WHERE seq >= ?", (entry,))
        if seq <= end:
            found.append((seq, mark))
    return found


def has_content(reader: Reader, after: int) -> bool:
    """True if entries after a position, up to the reader's state, are more than marks."""
    query = "SELECT 1 FROM journal WHERE seq > ? AND seq <= ? AND kind != 9 LIMIT 1"
    return reader.first(query, (after, position(reader))) is not None


def _known(reader: Reader, merges: list[tuple[int, marks.Mark]], end: int) -> list[tuple[int, int]]:
    """The merged commits that a copy has, by entry there, each with the entry of the merge."""
    found = []
    for merge, mark in merges:
        at = _position_of(reader, mark.commit)
        if at is not None and at <= end:
            found.append((at, merge))
    return found


def _position_of(reader: Reader, commit: str | None) -> int | None:
    """The last entry of a commit; None if the copy does not have it."""
    try:
        return None if commit is None else entry_named(reader, commit)
    except NotFound:
        return None
