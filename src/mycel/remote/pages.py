"""The history of a graph in its wire form (docs/remote-protocol.md), page by page.

A server sends these pages, and a copy of a graph in a file reads them without one.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from mycel.api.graph import Graph
from mycel.errors import ConstraintViolation, VersionConflict
from mycel.merkle.proofs import ConsistencyProof
from mycel.model import cbor, times
from mycel.model.elements import Element, Proposition
from mycel.model.names import shorten
from mycel.model.state import State
from mycel.store.check.proofs import prove_consistency
from mycel.store.file.branch_files import MAIN
from mycel.store.query.commits import commit_at, tags, transactions, transactions_after
from mycel.store.query.diff import ElementChange
from mycel.store.query.history import entry_at, snapshot_of
from mycel.store.query.journal_page import journal_page as stored_page
from mycel.store.query.journal_page import purges_page as stored_purges
from mycel.store.query.reader import Reader

COMMITS_DEFAULT: Final = 100
COMMITS_MAX: Final = 1000
CHANGES_MAX: Final = 1000
JOURNAL_BYTES_MAX: Final = 4 << 20
PURGES_MAX: Final = 10_000
"""The maximum number of purges on a page, of some hundred bytes each."""


def refs(db: Graph) -> dict[str, Any]:
    """The branches with their heads, and the tags."""
    with db.reading() as reader:
        heads = [head_of(db.branch, reader)]
        by_name = tags(reader)
    # A graph in memory or on a database server has no branches here.
    with suppress(ConstraintViolation):
        others = [name for name in db.branches.names() if name != db.branch]
        for name in others:
            with db.branches.reading(name) as reader:
                heads.append(head_of(name, reader))
    return {"branch": MAIN, "branches": heads, "tags": by_name}


def head_of(name: str, reader: Reader) -> dict[str, Any]:
    """The head of a branch, with all roots."""
    snapshot = snapshot_of(reader)
    return {
        "name": name,
        "commit": commit_at(reader, snapshot.entries),
        "entries": snapshot.entries,
        "journal_root": snapshot.journal_root.hex(),
        "concepts_root": snapshot.concepts_root.hex(),
        "edges_root": snapshot.edges_root.hex(),
        "overall_root": snapshot.overall_root.hex(),
        "time": times.to_text(snapshot.time_us),
    }


def commits_page(
    db: Graph, *, after: int | None = None, before: int | None = None, limit: int = COMMITS_DEFAULT
) -> dict[str, Any]:
    """Commits after a position, oldest first; or before a position, newest first.

    Raises:
        ConstraintViolation: both are given.
    """
    if after is not None and before is not None:
        raise ConstraintViolation("A page of commits begins after a position, or ends before one.")
    with db.reading() as reader:
        if before is None:
            entries = transactions_after(reader, after or 0, limit + 1)
        else:
            entries = list(transactions(reader, limit=limit + 1, before=before))
    page = entries[:limit]
    return {
        "commits": [entry.to_dict() for entry in page],
        "next": page[-1].seq if len(entries) > limit else None,
    }


def diff_page(
    db: Graph, first: str, last: str | None, *, paths: list[str], cursor: int, limit: int
) -> dict[str, Any]:
    """The elements that differ between two states, starting at the cursor.

    Raises:
        ConstraintViolation, NotFound: a state does not exist, or was scrubbed.
    """
    with db.reading() as reader:
        ends = [0 if first == "0" else entry_at(reader, first)]
        ends.append(reader.position if last is None else entry_at(reader, last))
        names = ["0" if not end else commit_at(reader, end) for end in ends]
    changes = db.history.diff(*ends, paths=paths).elements
    page = changes[cursor : cursor + limit]
    return {
        "from": names[0],
        "to": names[1],
        "changes": [change_to_dict(change) for change in page],
        "next": str(cursor + limit) if len(changes) > cursor + limit else None,
    }


def change_to_dict(change: ElementChange) -> dict[str, Any]:
    """A changed element, with its whole content before and after."""
    return {
        "change": change.kind,
        "identity": dict(change.identity),
        "before": _content(change.before),
        "after": _content(change.after),
    }


def _content(element: Element | None) -> dict[str, Any] | None:
    if element is None:
        return None
    content: dict[str, Any] = {"attributes": element.attributes, "metadata": element.metadata}
    if isinstance(element, Proposition):
        return content | {"weight": element.weight}
    return {"type": element.type, "name": element.name} | content


def journal_page(db: Graph, after: int, limit: int = COMMITS_MAX) -> bytes:
    """Whole transactions of the journal after a position, as CBOR.

    Raises:
        ConstraintViolation: no transaction ends there.
    """
    with db.reading() as reader:
        if after and entry_at(reader, after) != after:
            raise ConstraintViolation(
                f"No transaction ends at {after}.", hint="Pass the `seq` of a commit, or 0."
            )
        page = stored_page(reader, after, limit, JOURNAL_BYTES_MAX)
    return cbor.encode(
        {
            "entries": [list(row) for row in page.entries],
            "transactions": [list(row) for row in page.transactions],
            "ends": [list(row) for row in page.ends],
            "head": page.head,
            "next": page.next,
        }
    )


def purges_page(db: Graph, after: int) -> bytes:
    """The purges after an entry of the journal, as CBOR."""
    with db.reading() as reader:
        rows = stored_purges(reader, after, PURGES_MAX)
    following = rows[-1][0] if len(rows) == PURGES_MAX else None
    return cbor.encode({"purges": [list(row) for row in rows], "next": following})


def consistency(db: Graph, entries: int, to: int | None = None) -> ConsistencyProof:
    """The proof that a journal of this many entries is the beginning of the journal of a commit.

    `to` is the position at which the commit ends; by default it is the head.

    Raises:
        VersionConflict: the journal has fewer entries.
        ConstraintViolation: no commit ends there.
    """
    with db.reading() as reader:
        head = reader.position
        if max(entries, to or 0) > head:
            raise VersionConflict(
                f"The journal has {head} entries, and not {shorten(str(max(entries, to or 0)))}.",
                hint="This is an older copy, or its history was rewritten.",
                data={"entries": head},
            )
        if to is None or to == head:
            return prove_consistency(reader, entries)
        if entries > to or entry_at(reader, to) != to:
            raise ConstraintViolation(
                f"No commit after {entries} entries ends at {to}.", hint="Pass the `seq` of one."
            )
        return prove_consistency(reader.at(State(to)), entries)
