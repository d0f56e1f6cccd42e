"""A witness keeps the heads that a remote has shown, and finds out if its history was rewritten.

The heads are lines of JSON in a file. Each new head has to continue the newest one of the file. If
a remote shows different histories to two witnesses, they find out by comparing their files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from mycel.errors import HistoryRewritten, InvalidSyntax
from mycel.model import times
from mycel.remote.sources import RemoteHead, RemoteSource, check_continues
from mycel.store.file.plain_files import read_bounded, refusal_of

FILE_BYTES_MAX: Final = 64 << 20
_OTHER_FILE: Final = "Name the file of a witness, or a new one."


class SeenHead(NamedTuple):
    """A head that a remote has shown."""

    url: str
    branch: str
    time: str
    entries: int
    journal_root: str
    overall_root: str
    key: str = ""
    signature: str = ""
    problem: str = ""
    """The reason why the head was refused; empty if it was not."""


class Witness:
    """The heads of one remote in a file."""

    def __init__(self, path: Path, url: str) -> None:
        """Read the file, if it exists.

        Raises:
            InvalidSyntax: the file has a line that is no head.
        """
        self._path: Final = path
        self._url: Final = url
        self._seen: Final = [head for head in read_heads(path) if head.url == url]

    @property
    def newest(self) -> SeenHead | None:
        """The newest head that was not refused."""
        return next((head for head in reversed(self._seen) if not head.problem), None)

    def look(self, source: RemoteSource, now_us: int) -> SeenHead:
        """Check the head of a remote, and store it if it is new.

        Raises:
            HistoryRewritten: the head does not continue the newest one; the file then has both.
        """
        head = source.head()
        seen_head = _seen(self._url, head, now_us)
        before = self.newest
        if before is not None and (before.entries, before.journal_root) == seen_head[3:5]:
            return before
        if before is not None:
            try:
                check_continues(source, head, before.entries, bytes.fromhex(before.journal_root))
            except HistoryRewritten as error:
                self._keep(seen_head._replace(problem=error.message))
                raise
        self._keep(seen_head)
        return seen_head

    def compare(self, source: RemoteSource, others: Iterable[SeenHead]) -> int:
        """Check that the history has the heads that another witness has seen. Returns their number.

        Raises:
            HistoryRewritten: the history lacks one of them, so the remote shows different
                histories.
        """
        head = source.head()
        number = 0
        for other in others:
            if other.branch == head.branch and not other.problem:
                root = bytes.fromhex(other.journal_root)
                check_continues(source, head, other.entries, root)
                number += 1
        return number

    def _keep(self, head: SeenHead) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(head._asdict()) + "\n")
        self._seen.append(head)


def read_heads(path: Path) -> list[SeenHead]:
    """The heads in the file of a witness; empty if there is no file.

    Raises:
        InvalidSyntax: the file cannot be read, or has a line that is no head.
    """
    try:
        lines = read_bounded(path, FILE_BYTES_MAX).decode().splitlines()
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise InvalidSyntax(refusal_of(str(path), error), hint=_OTHER_FILE) from None
    heads = []
    for number, line in enumerate(lines, 1):
        try:
            head = SeenHead(**json.loads(line))
            bytes.fromhex(head.journal_root + head.overall_root)
            head = head._replace(entries=int(head.entries))
        except (ValueError, TypeError):
            raise InvalidSyntax(
                f"Line {number} of {str(path)!r} is no head.", hint=_OTHER_FILE
            ) from None
        heads.append(head)
    return heads


def _seen(url: str, head: RemoteHead, now_us: int) -> SeenHead:
    return SeenHead(
        url,
        head.branch,
        times.to_text(now_us),
        head.entries,
        head.journal_root.hex(),
        head.overall_root.hex(),
        head.key,
        head.signature,
    )
