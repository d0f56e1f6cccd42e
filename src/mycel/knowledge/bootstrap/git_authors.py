"""Finds the authors of files and folders in the history of a Git repository.

One run of `git log` counts the commits of each author at each file, and at each folder the commits
that changed a file below it. `.mailmap` applies. A later run reads only the new commits and adds
them to the counts of the run before. Merges do not count, and a moved file begins with no authors.

Authors are identified by name only. E-mail addresses are not read.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any, Final, NamedTuple

import orjson

from mycel.knowledge.bootstrap.git_process import GitFailure, run_git, start_git
from mycel.knowledge.bootstrap.limits import (
    AUTHOR_SECONDS_MAX,
    FILE_AUTHORS_MAX,
    FOLDER_AUTHORS_MAX,
    GIT_SECONDS_MAX,
)
from mycel.knowledge.code.module_paths import outward
from mycel.model.names import shorten

AUTHOR_CHARACTERS: Final = 100

_HEADER: Final = b"\0"
_PATHS_MAX: Final = 1_000
"""The maximum number of files of a counted commit. A larger commit moves or reformats files, and
shows no knowledge of them."""
Counts = dict[str, dict[str, tuple[int, int]]]
"""For each path, its authors with the number of commits and the time of the last. A folder is
written `src/`."""


@dataclass(slots=True)
class AuthorTable:
    """The authors of a folder up to a commit."""

    head: str
    counts: Counts = field(default_factory=dict)
    is_complete: bool = True
    """False if the history is too long and older commits were not counted."""

    def authors_of(self, path: str) -> list[dict[str, Any]]:
        """The authors of a file, or of a folder (`src/`), with most commits first."""
        tallies = self.counts.get(path, {})
        ranked = sorted(
            tallies.items(), key=lambda author: (-author[1][0], -author[1][1], author[0])
        )
        most = FOLDER_AUTHORS_MAX if path.endswith("/") else FILE_AUTHORS_MAX
        return [
            {"name": name, "commits": commits, "last": _day(last)}
            for name, (commits, last) in ranked[:most]
        ]

    def encode(self) -> bytes:
        """The table as JSON; `decode` reads it."""
        return orjson.dumps([self.head, self.counts, self.is_complete])

    def without_others(self, paths: Iterable[str]) -> AuthorTable:
        """The table with only these files and folders."""
        counts = {path: self.counts[path] for path in paths if path in self.counts}
        return AuthorTable(self.head, counts, self.is_complete)


def decode(encoded: bytes) -> AuthorTable | None:
    """The table that `encode` wrote; None if it is damaged."""
    try:
        head, counts, is_complete = orjson.loads(encoded)
        return AuthorTable(
            str(head),
            {
                path: {name: (int(commits), int(last)) for name, (commits, last) in tallies.items()}
                for path, tallies in counts.items()
            },
            bool(is_complete),
        )
    except (ValueError, TypeError, AttributeError):
        return None


class CheckedOut(NamedTuple):
    """The commit that is checked out."""

    head: str
    is_shallow: bool
    """True if older commits are missing. Then the oldest present commit seems to have written all
    files."""


def find_head(folder: Path) -> CheckedOut | None:
    """The commit that is checked out; None outside a repository, or before the first commit."""
    output = run_git(folder, "rev-parse", "--is-shallow-repository", "HEAD^{commit}")
    words = (output or b"").decode("ascii", "replace").split()
    if not words:
        return None
    return CheckedOut(words[-1], words[0] == "true")


def read_authors(folder: Path, head: str, before: AuthorTable | None) -> AuthorTable | None:
    """The authors of a folder up to `head`; None if Git cannot tell.

    `before` is the table of a former run; it is continued if its commit is an ancestor of `head`.
    """
    if before is not None and before.head == head:
        return before
    revisions = head
    table = AuthorTable(head)
    if before is not None and _is_ancestor(folder, before.head, head):
        revisions = f"{before.head}..{head}"
        table = AuthorTable(head, before.counts, before.is_complete)
    options = ["--no-merges", "--no-renames", "--no-show-signature", "--no-ext-diff"]
    options += ["--no-textconv", "--name-only", "--relative", "--format=%x00%aN%x00%at"]
    until = monotonic() + AUTHOR_SECONDS_MAX
    try:
        with start_git(folder, "log", *options, revisions, "--", ".") as process:
            try:
                is_whole = _count_commits(process.stdout or (), table.counts, until)
                # A log that an error cut off looks like a short one.
                if is_whole and process.wait(GIT_SECONDS_MAX) != 0:
                    return None
            finally:
                process.kill()
    except GitFailure:
        return None
    table.is_complete &= is_whole
    return table


def _count_commits(lines: Iterable[bytes], counts: Counts, until: float) -> bool:
    """Count the commits of a log. Returns False if time ran out before its end."""
    name, moment = "", 0
    paths: list[str] = []
    for line in lines:
        if line.startswith(_HEADER):
            _count(counts, name, moment, paths)
            if monotonic() > until:
                return False
            _, author, seconds = line.rstrip(b"\n").split(_HEADER, 2)
            name, moment, paths = _clean(author), _number(seconds), []
        # Git quotes names with line breaks and the like; such files have no node.
        elif not line.startswith((b"\n", b'"')) and len(paths) <= _PATHS_MAX:
            paths.append(os.fsdecode(line.rstrip(b"\n")))
    _count(counts, name, moment, paths)
    return True


def _count(counts: Counts, name: str, moment: int, paths: list[str]) -> None:
    if not name or len(paths) > _PATHS_MAX:
        return
    folders = {f"{folder}/" for path in paths for folder in outward(posixpath.dirname(path), "/")}
    for path in (*paths, *folders):
        tallies = counts.setdefault(path, {})
        commits, last = tallies.get(name, (0, 0))
        tallies[name] = commits + 1, max(last, moment)


def folder_key(path: str) -> str:
    """The key of a folder in a table; the root has the key `/`."""
    return f"{path}/"


def _is_ancestor(folder: Path, before: str, head: str) -> bool:
    return run_git(folder, "merge-base", "--is-ancestor", before, head) is not None


def _clean(author: bytes) -> str:
    """The name of an author on one line, without characters that cannot be shown."""
    text = author.decode("utf-8", "replace")
    return shorten("".join(filter(str.isprintable, text)).strip(), AUTHOR_CHARACTERS)


def _number(text: bytes) -> int:
    return int(text) if text.isdigit() else 0


def _day(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):  # The time is outside of the calendar.
        return ""
