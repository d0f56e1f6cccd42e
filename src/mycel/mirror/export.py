"""Git objects from documents, by `git fast-import`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import orjson

from mycel.mirror.commits import Identity
from mycel.mirror.projection import Changes, File, Projection
from mycel.mirror.repository import Repository
from mycel.store.query.reader import Reader

FORMAT: Final = 1
MARK: Final = ".mycel/format.json"
"""The file that tells a mirror from other repositories."""

FIXED: Final = (
    File(
        ".gitattributes",
        b"# Line endings are part of what a file says.\n* -text\n*.md diff=markdown\n",
    ),
    File(
        MARK,
        orjson.dumps({"format": FORMAT}, option=orjson.OPT_INDENT_2) + b"\n",
    ),
)
"""Files that every mirror has."""


def write_state(repository: Repository, reader: Reader) -> str:
    """Store the files of a whole state, and return the tree."""
    entries: list[tuple[str, str]] = []
    # Looking for similar files takes half of the time; `git gc` does it later.
    with repository.fast_import("--depth=0") as write:
        for file in _all_files(reader):
            entries.append((file.path, repository.blob(file.content)))
            write(b"blob\ndata %d\n%s\n" % (len(file.content), file.content))
    return repository.write_tree(entries)


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


def commit_object(tree: str, parent: str | None, heading: Heading) -> bytes:
    """The text of a commit."""
    above = f"tree {tree}\n" + (f"parent {parent}\n" if parent else "")
    return f"{above}{heading.lines()}\n{heading.message}".encode()


def write_changes(
    write: Callable[[bytes], object],
    ref: str,
    heading: Heading,
    changes: Changes,
    parent: str | None,
    tree: str | None = None,
) -> None:
    """Send one commit to `git fast-import`; `parent` is None if it follows one just sent.

    The changes are made to the files of the parent, or to another `tree`.
    """
    said = heading.message.encode()
    write(f"commit {ref}\n{heading.lines()}".encode() + b"data %d\n%s\n" % (len(said), said))
    if parent is not None:
        write(f"from {parent}\n".encode())
    if tree is not None:
        write(f'M 040000 {tree} ""\n'.encode())
    for path in changes.removed:
        write(f"D {path}\n".encode())
    for file in changes.written:
        write(f"M 100644 inline {file.path}\ndata {len(file.content)}\n".encode())
        write(file.content + b"\n")
