"""A workspace elsewhere: on a server, or as a file that this machine can read.

Both give the same pages. Pages of a server are checked where they are used; no source is trusted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from mycel.api.graph import Graph
from mycel.api.opening import open_graph
from mycel.engine.write_defaults import DEFAULT_ACTOR
from mycel.errors import HistoryRewritten, NotFound, RemoteFailed, Unsupported
from mycel.merkle.proofs import ConsistencyProof, Snapshot
from mycel.model import cbor
from mycel.remote import pages
from mycel.remote.http_client import JOURNAL_BYTES_MAX, HttpClient
from mycel.remote.registry import RemoteEntry
from mycel.remote.signing import can_check, check_signature
from mycel.store.file.branch_files import MAIN
from mycel.store.file.workspace_databases import is_address
from mycel.store.write.journal_copy import CopiedPage

FILE_LOOK_S: Final = 0.5
"""The time between two checks of a graph in a file, while it is followed."""
TOLD_LOOK_S: Final = 5.0
"""The time between two checks if a database sends notices of commits."""


class RemoteHead(NamedTuple):
    """The head of a branch of a remote."""

    branch: str
    commit: str
    entries: int
    journal_root: bytes
    overall_root: bytes
    workspace: str
    can: tuple[str, ...]
    key: str = ""
    """The key that has signed the head; empty if none has."""
    signature: str = ""


Purge = tuple[int, int, bytes]
"""One entry that purges something: its position, the element and the record."""


class RemoteSource(Protocol):
    """The history of a branch of a workspace elsewhere."""

    @property
    def received(self) -> int:
        """The bytes received so far."""
        ...

    def head(self) -> RemoteHead:
        """The head of the branch."""
        ...

    def journal(self, after: int) -> CopiedPage:
        """The page of the journal after a position."""
        ...

    def purges(self, after: int) -> Iterator[Purge]:
        """The purges in the journal after a position, oldest first."""
        ...

    def consistency(self, entries: int, to: int) -> ConsistencyProof:
        """The proof that a journal of this many entries is the beginning of a commit's journal."""
        ...

    def submit(self, body: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """Submit changes. Returns the status and the body of the answer."""
        ...

    def positions(self, after: int) -> Iterator[int]:
        """The positions that the journal reaches after `after`, until the connection ends.

        A position that is not greater is only a sign of life.
        """
        ...


class ServerSource:
    """A workspace on a server."""

    def __init__(self, entry: RemoteEntry, branch: str) -> None:
        self.client: Final = HttpClient(entry.url, entry.token(), path=entry.path)
        self._branch: Final = branch
        self._entry: Final = entry

    @property
    def received(self) -> int:
        return self.client.received

    def head(self) -> RemoteHead:
        payload = self.client.get_json("/refs")
        if self._entry.path and not payload.get("paths"):
            raise Unsupported(
                "The server cannot give a part of a workspace.",
                hint="Clone the whole workspace, or from a server of many workspaces.",
            )
        try:
            for item in payload["branches"]:
                if item["name"] == self._branch:
                    head = RemoteHead(
                        item["name"],
                        str(item["commit"]),
                        int(item["entries"]),
                        bytes.fromhex(item["journal_root"]),
                        bytes.fromhex(item["overall_root"]),
                        str(payload["workspace"]),
                        tuple(map(str, payload["can"])),
                        str(payload.get("key", "")),
                        str(item.get("signature", "")),
                    )
                    self._check_signed(head, [str(path) for path in payload.get("paths", ())])
                    return head
        except (KeyError, TypeError, ValueError) as error:
            raise _unreadable(error) from None
        raise NotFound(
            f"The remote has no branch {self._branch!r}.",
            hint="Check the name: `mycel branch list` at the remote shows them.",
        )

    def _check_signed(self, head: RemoteHead, paths: list[str]) -> None:
        """Check the signature of a head with the pinned key, or else with the key in the head."""
        pinned = self._entry.key
        if pinned or (head.key and can_check()):
            root = head.overall_root.hex()
            signed = pinned or head.key, head.signature
            check_signature(*signed, head.branch, paths, head.entries, root)

    def journal(self, after: int) -> CopiedPage:
        return read_page(self._binary("/journal", after))

    def purges(self, after: int) -> Iterator[Purge]:
        return _read_purges(after, lambda position: self._binary("/purges", position))

    def _binary(self, path: str, after: int) -> bytes:
        query = [("after", after), ("branch", self._branch)]
        response = self.client.request("GET", path, query, bytes_max=JOURNAL_BYTES_MAX)
        if response.status != 200:
            self.client.json_of(response)
            raise RemoteFailed(f"The remote answered {response.status}.")
        return response.body

    def consistency(self, entries: int, to: int) -> ConsistencyProof:
        query = [("from", entries), ("to", to), ("branch", self._branch)]
        return ConsistencyProof.from_dict(self.client.get_json("/consistency", query))

    def submit(self, body: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        content = dict(body) | {"branch": self._branch}
        response = self.client.request("POST", "/submit", body=content)
        return response.status, self.client.json_of(response)

    def positions(self, after: int) -> Iterator[int]:
        query = [("after", after), ("branch", self._branch)]
        position = after
        for line in self.client.lines("/api/changes", query):
            field, _, value = line.partition(b": ")
            if field == b"id" and value.isdigit() and len(value) < 19:
                position = int(value)
            elif not line:  # This line ends an event or a comment.
                yield position


class FileSource:
    """A workspace in a file that this machine can read."""

    @property
    def received(self) -> int:
        return 0

    def __init__(self, db: Graph, workspace: str) -> None:
        self.db: Final = db
        self._workspace: Final = workspace

    def head(self) -> RemoteHead:
        with self.db.reading() as reader:
            head = pages.head_of(self.db.branch, reader)
        return RemoteHead(
            head["name"],
            head["commit"],
            head["entries"],
            bytes.fromhex(head["journal_root"]),
            bytes.fromhex(head["overall_root"]),
            self._workspace,
            ("read", "propose", "write"),
        )

    def journal(self, after: int) -> CopiedPage:
        return read_page(pages.journal_page(self.db, after))

    def purges(self, after: int) -> Iterator[Purge]:
        return _read_purges(after, lambda position: pages.purges_page(self.db, position))

    def consistency(self, entries: int, to: int) -> ConsistencyProof:
        return pages.consistency(self.db, entries, to)

    def submit(self, body: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        outcome = self.db.submissions.submit(
            [dict(change) for change in body["changes"]],
            base=body["base"],
            key=body["key"],
            message=body["message"],
            on_conflict=body["on_conflict"],
            content=[body["base"], body["changes"]],
        )
        return 200, outcome.to_dict()

    def positions(self, after: int) -> Iterator[int]:
        news = threading.Event()
        listening = self.db.listen(news.set)
        try:
            while True:
                news.clear()
                with self.db.reading() as reader:
                    yield reader.position
                is_told = listening is not None and listening.is_told
                news.wait(TOLD_LOOK_S if is_told else FILE_LOOK_S)
        finally:
            if listening is not None:
                listening.close()


@contextmanager
def open_source(
    entry: RemoteEntry, *, actor: str = DEFAULT_ACTOR, readonly: bool = False
) -> Iterator[RemoteSource]:
    """Open the branch that an entry of the registry names, for the time of a block.

    `actor` is the author of submissions to a file or a database; a server uses the actor of the
    token. With `readonly`, files and databases accept no submissions.

    Raises:
        RemoteFailed, NotADatabase, NotFound: there is no such file, graph or branch.
        AccessDenied, ConstraintViolation: the token cannot be used.
        Unsupported: a part of a graph in a file is asked for.
    """
    branch = entry.branch or MAIN
    if entry.is_http:
        source = ServerSource(entry, branch)
        try:
            yield source
        finally:
            source.client.close()
        return
    if entry.path:
        raise Unsupported(
            "A part of a workspace comes from a server, and not from a file or a database.",
            hint="Clone the whole graph.",
        )
    place = entry.url
    if not is_address(place):
        path = Path(place.removeprefix("file://")).expanduser()
        if not path.exists():
            raise RemoteFailed(
                f"There is no graph at {str(path)!r}.",
                hint="Check that its share or stick is mounted.",
            )
        place = str(path)
    branch_name = None if branch == MAIN else branch
    with open_graph(place, create=False, branch=branch_name, actor=actor, readonly=readonly) as db:
        yield FileSource(db, entry.name)


def read_page(content: bytes) -> CopiedPage:
    """Decode a page of the journal from its wire form.

    Raises:
        RemoteFailed: the bytes are not a page.
    """
    try:
        payload = cbor.decode(content)
        return CopiedPage(
            [tuple(row) for row in payload["entries"]],
            [tuple(row) for row in payload["transactions"]],
            {seq: (source, target) for seq, source, target in payload["ends"]},
        )
    except Exception as error:  # noqa: BLE001 - input of a stranger
        raise _unreadable(error) from None


def _read_purges(after: int, page_after: Callable[[int], bytes]) -> Iterator[Purge]:
    """The purges of all pages.

    Raises:
        RemoteFailed: a page has another form, or the positions do not rise.
    """
    last: int | None = after
    while last is not None:
        try:
            payload = cbor.decode(page_after(last))
            purges = [(int(seq), int(element), bytes(r)) for seq, element, r in payload["purges"]]
            last = payload["next"]
            if any(
                later <= earlier for earlier, later in pairwise([after, *(p[0] for p in purges)])
            ):
                raise ValueError("positions do not rise")
            if last is not None and (not purges or last != purges[-1][0]):
                raise ValueError("next is another position")
        except RemoteFailed:
            raise
        except Exception as error:  # noqa: BLE001 - input of a stranger
            raise _unreadable(error) from None
        yield from purges
        after = last or after


def check_continues(
    source: RemoteSource, head: RemoteHead, entries: int, journal_root: bytes
) -> None:
    """Check that the journal of a remote continues a head that it has shown before.

    Raises:
        HistoryRewritten: the journal does not continue it.
    """
    if head.entries < entries:
        raise HistoryRewritten(
            f"The remote has {head.entries} entries, and had {entries} before: its history was"
            " rewritten, or it is an older copy."
        )
    proof = source.consistency(entries, head.entries)
    check_consistency(proof, entries, journal_root, head)


def check_consistency(proof: ConsistencyProof, entries: int, root: bytes, head: RemoteHead) -> None:
    """Check that a journal continues an earlier one with a known root.

    Raises:
        HistoryRewritten: the journal does not continue it, or the proof is wrong.
    """
    snapshot: Snapshot = proof.snapshot
    if (
        snapshot.overall_root != head.overall_root
        or snapshot.journal_root != head.journal_root
        or not proof.verify(root, snapshot.overall_root, old_entries=entries)
    ):
        raise HistoryRewritten(
            f"The remote does not continue the history that it had at entry {entries}: it was"
            " rewritten, or the proof is wrong."
        )


def _unreadable(error: Exception) -> RemoteFailed:
    return RemoteFailed(f"The answer of the remote cannot be read: {error!r}.")
