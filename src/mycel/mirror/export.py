"""Git objects from documents, by `git fast-import`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import orjson

from mycel.mirror.commits import Identity
from mycel.mirror.paths import DOCUMENT_FOLDERS, is_document
from mycel.mirror.projection import File, FileChanges, Projection
from mycel.mirror.repository import Repository, TreeChange
from mycel.store.query.reader import Reader

FORMAT: Final = 1
MARK: Final = ".mycel/format.json"
"""The file by which a mirror is recognised."""

FIXED: Final = (
    File(
        ".gitattributes",
        b"# Line endings are part of what a file says.\n* -text\n*.md diff=markdown\n"
        b"# Two properties of one file are no conflict (`mycel mirror join` sets this up).\n"
        + b"".join(f"/{folder}/** merge=mycel\n".encode() for folder in DOCUMENT_FOLDERS),
    ),
    File(
        MARK,
        orjson.dumps({"format": FORMAT}, option=orjson.OPT_INDENT_2) + b"\n",
    ),
)
"""The files that every mirror has."""


def write_state(
    repository: Repository,
    reader: Reader,
    old: str = "",
    foreign: Iterable[TreeChange] = (),
) -> str:
    """Store the files of a whole state, and return the tree.

    Files of the user in an old commit are kept, except those that `foreign` replaces.
    """
    entries: list[tuple[str, str]] = []
    # The search for similar files would take half of the time; `git gc` does it later.
    with repository.fast_import("--depth=0") as write:
        for file in _all_files(reader):
            entries.append((file.path, repository.blob(file.content)))
            write(b"blob\ndata %d\n%s\n" % (len(file.content), file.content))
    removed = list(filter(is_document, repository.tree(old))) if old else []
    for change in foreign:
        if change.new:
            entries.append((change.path, change.new))
        else:
            removed.append(change.path)
    return repository.write_tree(entries, old, removed)


def _all_files(reader: Reader) -> Iterator[File]:
    yield from FIXED
    yield from Projection(reader).files()


class Heading(NamedTuple):
    """Author, committer, time and message of a commit."""

    author: Identity
    committer: Identity
    time_us: int
    message: str

    def lines(self) -> str:
        """The lines of author and committer."""
        return (
            f"author {self.author.at(self.time_us)}\ncommitter {self.committer.at(self.time_us)}\n"
        )


def commit_object(tree: str, parents: Iterable[str], heading: Heading) -> bytes:
    """The text of a commit."""
    above = f"tree {tree}\n" + "".join(f"parent {parent}\n" for parent in parents)
    return f"{above}{heading.lines()}\n{heading.message}".encode()


def write_changes(
    write: Callable[[bytes], object],
    ref: str,
    heading: Heading,
    changes: FileChanges,
    parents: Sequence[str] = (),
    restored: Iterable[TreeChange] = (),
) -> None:
    """Send one commit to `git fast-import`; without parents it follows the commit just sent.

    The changes are applied to the files of the first parent, after the changes `restored`.
    """
    message = heading.message.encode()
    write(f"commit {ref}\n{heading.lines()}".encode() + b"data %d\n%s\n" % (len(message), message))
    for word, parent in zip(("from", *["merge"] * len(parents)), parents, strict=False):
        write(f"{word} {parent}\n".encode())
    for change in restored:
        command = f"M {change.mode} {change.new}" if change.new else "D"
        write(os.fsencode(f"{command} {_quoted(change.path)}\n"))
    for path in changes.removed:
        write(f"D {path}\n".encode())
    for file in changes.written_count:
        write(f"M 100644 inline {file.path}\ndata {len(file.content)}\n".encode())
        write(file.content + b"\n")


def _quoted(path: str) -> str:
    """A path in the form of `git fast-import`, which may contain any character."""
    inner = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{inner}"'
