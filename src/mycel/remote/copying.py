"""Clone, pull and push: exact copies of a workspace on a server or in another folder.

A clone has the same journal, and therefore the same commits and roots. A pull appends missing
entries page by page, each page in one transaction, so that an interrupted pull continues where it
stopped. Before any entry is read, the remote proves that its journal continues the pinned root and
the local journal.

Only one process at a time pulls into a graph or pushes from it. If somebody commits to the graph
during a pull, the pull reads its state again.

If both have commits of their own, the remote is copied to a branch beside the graph, and an
ordinary merge joins the two. A push submits the commits that the remote lacks, one by one where
that is possible.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Self

from mycel.api.graph import Graph
from mycel.errors import (
    ConstraintViolation,
    DatabaseBusy,
    DatabaseCorrupt,
    DuplicateExists,
    HistoryRewritten,
    RemoteFailed,
    Unsupported,
    VersionConflict,
)
from mycel.history.merge.outcome import Merge
from mycel.model.names import count, shorten
from mycel.remote.pages import change_to_dict
from mycel.remote.sources import RemoteHead, RemoteSource, check_consistency, check_continues
from mycel.store.backend.sqlite.copy import remove
from mycel.store.database import Store
from mycel.store.file import branch_files
from mycel.store.file.locks import turn
from mycel.store.log.purge_entries import KnownPurges
from mycel.store.query.commits import (
    LogEntry,
    commit_at,
    journal_root_at,
    transaction_of,
    transactions_after,
)
from mycel.store.query.history import Moment
from mycel.store.query.journal_page import journal_end
from mycel.store.query.lineage import parents
from mycel.store.query.reader import Reader
from mycel.store.write.journal_copy import CopiedPage, check_not_here

PARTIAL: Final = ".cloning"
"""The suffix of a clone that is not complete yet."""
STEPS_MAX: Final = 200
"""The maximum number of commits that a push submits one by one."""
MESSAGES_MAX: Final = 5
"""The maximum number of messages that are joined in the message of a squashed commit."""
MESSAGE_CHARACTERS: Final = 1_000
PAGES_MAX: Final = 1_000_000
LOCK: Final = "-pull"
"""The name of the lock of a graph that is pulled into or pushed from."""
LOCK_S: Final = 60.0
"""The time for which a pull or push waits for others."""
LOCK_LOOK_S: Final = 0.05


class _OvertakenError(Exception):
    """Another writer has committed to the copy meanwhile."""


Progress = Callable[[int, int], None]
"""Called with the position reached so far, and the position of the head."""


class Pulled(NamedTuple):
    """The result of a pull."""

    status: Literal["up_to_date", "forward", "merged", "conflicts", "ahead"]
    head: RemoteHead
    entries: int = 0
    """The number of entries that were appended."""
    merge: Merge | None = None
    """The merge, if both sides had commits of their own."""

    def to_dict(self) -> dict[str, Any]:
        payload = {"status": self.status, "commit": self.head.commit, "entries": self.entries}
        return payload | ({} if self.merge is None else {"merge": self.merge.to_dict()})


class PushResult(NamedTuple):
    status: str
    """`committed`, `unchanged` or `proposed`."""
    changes: int
    answer: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        return {"status": self.status, "changes": self.changes} | {
            key: self.answer[key] for key in ("commit", "proposal") if key in self.answer
        }


def clone(source: RemoteSource, target: Path, *, progress: Progress | None = None) -> RemoteHead:
    """Copy a workspace to a new file, or continue an interrupted copy.

    Raises:
        DuplicateExists: there is a file.
        RemoteFailed, DatabaseCorrupt: the entries that the remote sends do not fit its roots.
    """
    partial = target.with_name(target.name + PARTIAL)
    with turn(partial.with_name(f"{partial.name}-lock"), LOCK_S, str(target)):
        if target.exists():
            raise DuplicateExists(
                f"There is a file {str(target)!r} already.",
                hint="`mycel pull` brings it up to date.",
            )
        head = _copy_to(source, partial, progress)
        partial.rename(target)
    return head


def _copy_to(source: RemoteSource, partial: Path, progress: Progress | None) -> RemoteHead:
    head = source.head()
    try:
        with closing(Store(partial, empty=True)) as store:
            return _follow(store, source, head, progress)
    except Unsupported:
        remove(partial)  # The source has purged an element that the partial copy has.
        with closing(Store(partial, empty=True)) as store:
            return _follow(store, source, source.head(), progress)


def _store_of(db: Graph) -> Store:
    return db.follow_in(lambda store: store)


@contextmanager
def _alone(db: Graph) -> Iterator[None]:
    """Keep other processes and threads from pulling into a graph, or pushing from it.

    If the lock cannot be created, the block runs without it.

    Raises:
        DatabaseBusy: others did so until the time limit.
    """
    store = _store_of(db)
    deadline = time.monotonic() + LOCK_S
    with ExitStack() as stack:
        while not store.is_in_memory:
            try:
                stack.enter_context(store.location.locked(LOCK))
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise DatabaseBusy(
                        "Another process is pulling into this graph, or pushing from it.",
                        hint="Wait until it is done, then retry.",
                    ) from None
                time.sleep(LOCK_LOOK_S)
            except OSError:
                break
            else:
                break
        yield


def pull(
    db: Graph,
    source: RemoteSource,
    *,
    pinned: tuple[int, bytes] | None = None,
    name: str = "remote",
    progress: Progress | None = None,
) -> Pulled:
    """Bring a clone up to date with its remote; `pinned` is a head shown before.

    Raises:
        HistoryRewritten: the remote does not continue a head that it has shown before, or shares
            no commit with this graph.
        RemoteFailed: the remote cannot be reached.
        Unsupported: an element of this graph was purged in the remote; nothing was changed.
        DatabaseCorrupt: the entries that it sends do not lead to its roots. None of them are kept.
    """
    with _alone(db):
        head = source.head()
        if pinned is not None and pinned[0]:
            check_continues(source, head, *pinned)
        while True:
            with db.reading() as reader:
                position, local_root = reader.position, reader.head().snapshot().journal_root
                is_ahead = position >= head.entries and (
                    _root_at(reader, head.entries) == head.journal_root
                )
            if is_ahead:
                return Pulled("up_to_date" if position == head.entries else "ahead", head)
            if position < head.entries:
                proof = source.consistency(position, head.entries)
                if proof.old_journal_root == local_root:
                    check_consistency(proof, position, local_root, head)
                    try:
                        head = _follow(_store_of(db), source, head, progress)
                    except _OvertakenError:
                        continue
                    return Pulled("forward", head, head.entries - position)
            _check_related(db, source, head)
            return _merge_apart(db, source, head, name, progress, is_pinned=pinned is not None)


def push(
    db: Graph,
    source: RemoteSource,
    *,
    name: str = "remote",
    propose: bool = False,
    squash: bool = False,
    key: str = "",
    message: str = "",
) -> PushResult:
    """Submit the commits of this graph that its remote lacks, one by one.

    Each commit keeps its message; its author is the actor of the token. With `squash` or a `key`,
    for a proposal, and for more than `STEPS_MAX` commits, all are sent as one. If somebody else
    commits meanwhile, the rest is sent as one. Commits before the last merge with the remote are
    always sent as one. Such a commit has the `message`, or else the messages of its commits.

    Raises:
        VersionConflict: the remote has commits that this graph lacks, or other values for changed
            elements: pull first.
    """
    with _alone(db):
        return _push(db, source, name, message, key, propose=propose, squash=squash)


def _push(
    db: Graph,
    source: RemoteSource,
    name: str,
    message: str,
    key: str,
    *,
    propose: bool,
    squash: bool,
) -> PushResult:
    head = source.head()
    base = _base_of_push(db, source, head, tracking_branch(name))
    is_proposal = propose or "write" not in head.can
    steps = [] if is_proposal or squash or key else _steps(db, base)
    sent, commit = 0, head.commit
    answer: dict[str, Any] = {}
    reached: Moment = base
    for entry in steps:
        changes = _changes_between(db, reached, entry.seq)
        if changes:
            body = {
                "base": commit,
                "key": f"push:{entry.commit[:100]}",
                "message": entry.message,
                "on_conflict": "fail",
                "changes": changes,
            }
            try:
                _, answer = source.submit(body)
            except VersionConflict:
                break  # Somebody else has committed in between, so the rest is sent as one merge.
            sent += len(changes)
            commit = str(answer.get("commit") or answer["head"])
        reached = entry.seq
    changes = _changes_between(db, reached, None)
    if changes:
        with db.reading() as reader:
            own = commit_at(reader, reader.position)
            words = message or _messages(reader, reached) or f"push {count(len(changes), 'change')}"
        body = {
            "base": commit,
            "key": key or f"push:{'rest:' if sent else ''}{own[:100]}",
            "message": words,
            "on_conflict": "propose" if is_proposal else "merge",
            "changes": changes,
        }
        _, answer = source.submit(body)
        sent += len(changes)
    if answer.get("status") == "conflicts":
        raise VersionConflict(
            "The remote has other values where this graph changed some.",
            hint="`mycel pull`, decide the conflicts, and push again.",
            data={"conflicts": answer.get("conflicts")},
        )
    return PushResult(str(answer.get("status", "unchanged")), sent, answer)


def _base_of_push(db: Graph, source: RemoteSource, head: RemoteHead, tracking: str) -> Moment:
    """The state in the branches of this graph that equals the head of the remote.

    Raises:
        VersionConflict: there is no such state, or it is not merged.
        HistoryRewritten: the remote shares nothing with this graph.
    """
    with db.reading() as reader:
        if _root_at(reader, head.entries) == head.journal_root:
            return head.entries
    _check_related(db, source, head)
    if tracking not in db.branches.names() or db.branches.get(tracking).commit != head.commit:
        raise VersionConflict(
            "The remote has commits that are not here.", hint="`mycel pull` first."
        )
    if not db.branches.get(tracking).is_merged:
        raise VersionConflict(
            "The remote has commits that are not merged.", hint="`mycel pull` first."
        )
    return tracking


def _steps(db: Graph, base: Moment) -> list[LogEntry]:
    """The commits to submit one by one, oldest first; none if there are too many."""
    with db.reading() as reader:
        after = _last_shared(reader, base)
        entries = transactions_after(reader, after, STEPS_MAX + 1)
        if not isinstance(base, int):
            entries.insert(0, transaction_of(reader, after))
    return entries if len(entries) <= STEPS_MAX else []


def _last_shared(reader: Reader, base: Moment) -> int:
    """The newest commit here that is the head of the remote, or the last merge with it."""
    if isinstance(base, int):
        return base
    return max((seq for seq, _ in parents(reader)), default=0)


def _messages(reader: Reader, base: Moment) -> str:
    """The messages of the commits since the last shared one; if there are many, the first."""
    entries = transactions_after(reader, _last_shared(reader, base), MESSAGES_MAX + 1)
    messages = list(dict.fromkeys(entry.message for entry in entries if entry.message))
    more = ["…"] if len(messages) > MESSAGES_MAX else []
    return shorten("; ".join(messages[:MESSAGES_MAX] + more), MESSAGE_CHARACTERS)


def _changes_between(db: Graph, first: Moment, last: Moment | None) -> list[dict[str, Any]]:
    difference = db.history.diff(first, last)
    return [_change(change_to_dict(change)) for change in difference.elements]


def _check_related(db: Graph, source: RemoteSource, head: RemoteHead) -> None:
    """Check that a graph and a remote begin with the same commit.

    Raises:
        HistoryRewritten: the first commits differ, so this graph is a clone of another remote.
    """
    with db.reading() as reader:
        first = next((entry.seq for entry in transactions_after(reader, 0, 1)), 0)
        root = _root_at(reader, first)
    is_related = 0 < first <= head.entries and (
        source.consistency(first, head.entries).old_journal_root == root
    )
    if not is_related:
        raise HistoryRewritten(
            "The remote shares no commit with this graph.",
            hint="This graph is not a clone of that remote. `mycel remote list` shows the clone"
            " of each remote; name the right one.",
        )


def tracking_branch(name: str) -> str:
    """The branch beside a graph that has the commits of a remote."""
    return f"remote-{name}"


def _merge_apart(
    db: Graph,
    source: RemoteSource,
    head: RemoteHead,
    name: str,
    progress: Progress | None,
    *,
    is_pinned: bool,
) -> Pulled:
    """Copy the remote to a branch of its own, and merge that branch.

    If a backup was restored in the remote, the branch is made again, and `push` sends the commits
    that the backup lacks. If others have written to the restored remote, the user has to trust it
    again, without a pin.
    """
    if db.branch != branch_files.MAIN:
        raise ConstraintViolation(
            "This branch and the remote have commits of their own.",
            hint="Pull on main, then merge main into the branch.",
        )
    tracking = tracking_branch(name)
    path = branch_files.file_of(Path(db.path).resolve(), tracking)
    before, is_outdated = 0, False
    if path.exists():
        with closing(Store(path, create=False)) as store:
            with store.reading() as reader:
                before = reader.position
                local_root = reader.head().snapshot().journal_root
                is_known = _root_at(reader, head.entries) == head.journal_root
            is_outdated = is_known and head.entries < before
            if not is_known:
                try:
                    check_continues(source, head, before, local_root)
                except HistoryRewritten:
                    if is_pinned:
                        raise
                    is_outdated = True
                else:
                    head = _follow(store, source, head, progress)
    if is_outdated:
        db.branches.delete(tracking)
    if not path.exists():
        head = clone(source, path, progress=progress)
    if is_outdated and not db.branches.get(tracking).parting.commit:
        db.branches.delete(tracking, unmerged=True)
        raise HistoryRewritten("The remote shares no commit with this graph.")
    merge = db.merge(tracking, message=f"merge {name}")
    status: Literal["merged", "conflicts", "up_to_date"] = "merged"
    if merge.status != "merged":
        status = "conflicts" if merge.is_open else "up_to_date"
    return Pulled(status, head, max(0, head.entries - before), merge)


def _follow(
    store: Store, source: RemoteSource, head: RemoteHead, progress: Progress | None
) -> RemoteHead:
    """Append the journal of a remote up to a head that it has shown.

    Entries of purged elements have only hashes, and the journal comes to the purge later. So all
    purges are read first, and this graph must not have the purged elements. If the remote purges
    something meanwhile, the newer head is used, because a copy that ends between an entry and its
    purge would not verify.

    Raises:
        Unsupported: an element of this graph was purged in the remote.
    """
    with _Pages(source) as pages:
        return _follow_pages(store, source, pages, head, progress)


def _follow_pages(
    store: Store, source: RemoteSource, pages: _Pages, head: RemoteHead, progress: Progress | None
) -> RemoteHead:
    with store.reading() as reader:
        after = journal_end(reader)
    purges = KnownPurges()
    _learn_purges(store, source, after, purges)
    for _ in range(PAGES_MAX):
        if after >= head.entries:
            break
        page = pages.take(after)
        if page.last_purge() > max(purges.last, head.entries):
            _learn_purges(store, source, max(purges.last, after), purges)
        if purges.last > head.entries:
            newer = source.head()
            check_continues(source, newer, head.entries, head.journal_root)
            head = newer
        transactions = [row for row in page.transactions if row[0] <= head.entries]
        if not transactions:
            raise RemoteFailed("The remote sends no transaction after the last one.")
        last = transactions[-1][0]
        entries = [row for row in page.entries if row[0] < last]
        rows = CopiedPage(entries, transactions, page.ends)
        if last < head.entries:
            pages.ask(last)
        try:
            copied = store.copy_journal(rows, purges)
        except DatabaseCorrupt as error:
            with store.reading() as reader:
                if journal_end(reader) != after:
                    raise _OvertakenError from error
            raise
        after = copied.seq
        if after == head.entries and copied.frontier.root() != head.journal_root:
            raise DatabaseCorrupt(
                "The journal of the remote does not lead to the root that it names.",
                hint="Delete this copy and clone again; if it happens again, do not trust it.",
            )
        if progress is not None:
            progress(after, head.entries)
    store.fold()
    return head


class _Pages:
    """The pages of a journal. The next one is on its way while a page is applied.

    Nothing else is asked of the source from `ask` to `take`.
    """

    def __init__(self, source: RemoteSource) -> None:
        self._source: Final = source
        self._pool: Final = ThreadPoolExecutor(1, "mycel-pages")
        self._next: tuple[int, Future[CopiedPage]] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def ask(self, after: int) -> None:
        """Ask for the page after a position."""
        self._next = after, self._pool.submit(self._source.journal, after)

    def take(self, after: int) -> CopiedPage:
        """The page after a position."""
        if self._next is None or self._next[0] != after:
            return self._source.journal(after)
        (_, page), self._next = self._next, None
        return page.result()


def _learn_purges(store: Store, source: RemoteSource, after: int, purges: KnownPurges) -> None:
    """Record the purges after a position, and check that no purged element is here."""
    for purge in source.purges(after):
        purges.add(*purge)
    with store.reading() as reader:
        check_not_here(reader, purges)


def _root_at(reader: Reader, entries: int) -> bytes | None:
    """The root of the journal at a position; None if there are fewer entries."""
    if entries > reader.position:
        return None
    return bytes.fromhex(journal_root_at(reader, entries))


def _change(change: dict[str, Any]) -> dict[str, Any]:
    """A difference as a change of a submission."""
    identity, before, after = change["identity"], change["before"], change["after"]
    if "predicate" in identity:
        key = {part: identity[part] for part in ("subject", "predicate", "object")}
        if after is None:
            return {"link": key, "removed": True}
        return {"link": key} | {part: after[part] for part in ("attributes", "metadata", "weight")}
    if after is None:
        return {"concept": {"type": before["type"], "name": before["name"]}, "removed": True}
    former = after if before is None else before
    edit: dict[str, Any] = {"concept": {"type": former["type"], "name": former["name"]}}
    edit |= {part: after[part] for part in ("attributes", "metadata")}
    if (former["type"], former["name"]) != (after["type"], after["name"]):
        edit["to"] = {"type": after["type"], "name": after["name"]}
    return edit
