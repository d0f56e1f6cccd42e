"""Finds files of a workspace with a name in their text, by reading them from the disk."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple

from mycel.errors import MycelError
from mycel.knowledge.knowledge_view import KnowledgeView
from mycel.knowledge.uris import parse
from mycel.knowledge.vocabulary import STAMP
from mycel.store.file.plain_files import read_plain
from mycel.store.query.bulk import prefixes
from mycel.store.query.reader import Reader

SECONDS_MAX: Final = 2.0
"""The time limit, on the clock, for reading files."""
FILE_BYTES_MAX: Final = 1 << 20
_LOCK_FILES: Final = frozenset({"go.sum", "npm-shrinkwrap.json", "package-lock.json"})
"""Names of files in which a tool lists packages. Names ending in `.lock` or `-lock.yaml` count
too."""

_PART: Final = frozenset(
    bytes([code]) for code in range(256) if code >= 128 or chr(code).isalnum() or code == ord("_")
)
"""A pattern for bytes of words: letters, digits, underscores, and every byte that is not ASCII."""


class MentioningFile(NamedTuple):
    """A file that mentions a name, and its text."""

    uri: str
    text: str


class NameMentions(NamedTuple):
    """The files that mention a name.

    `searched` counts all files. `unread` counts those left out: large or unreadable files, and
    files for which there was no time. `is_readable` is False if the workspace has no folder here.
    """

    files: tuple[MentioningFile, ...] = ()
    searched: int = 0
    unread: int = 0
    is_readable: bool = True


def find_mentions(
    reader: Reader, knowledge: KnowledgeView, names: Collection[str], first: Collection[str] = ()
) -> NameMentions:
    """The files that a bootstrap has read and that mention one of these names as a word.

    Lock files are left out: they name packages, and never use a symbol. The files in `first` are
    read first, then files with the same suffix as one of these.
    """
    if knowledge.root is None or not names:
        return NameMentions(is_readable=False)
    root = f"file://{knowledge.workspace}"
    stamps = prefixes.attribute_below(reader, root, STAMP)
    uris = [uri for uri, _ in stamps if not _is_lock_file(uri)]
    suffixes = {uri.rpartition(".")[2] for uri in first}
    uris.sort(key=lambda uri: (uri not in first, uri.rpartition(".")[2] not in suffixes, uri))
    files: list[MentioningFile] = []
    unread, until = 0, monotonic() + SECONDS_MAX
    for at, uri in enumerate(uris):
        if monotonic() > until:
            unread += len(uris) - at
            break
        try:
            files += _mentioning(knowledge, knowledge.root, uri, names)
        except (OSError, ValueError, MycelError):
            unread += 1
    return NameMentions(tuple(files), len(uris), unread)


def _is_lock_file(uri: str) -> bool:
    name = uri.rpartition("/")[2].casefold()
    return name in _LOCK_FILES or name.endswith((".lock", "-lock.yaml"))


def find_words(source: bytes, names: Collection[str]) -> list[tuple[int, int]]:
    """The positions of these names as whole words, in order: begin and end of each."""
    # A search for plain bytes is many times faster than a pattern with a look-behind.
    places: list[tuple[int, int]] = []
    for name in names:
        word = name.encode()
        at = source.find(word) if word else -1
        while at >= 0:
            end = at + len(word)
            if source[end : end + 1] not in _PART and source[at - 1 : at] not in _PART:
                places.append((at, end))
            at = source.find(word, end)
    return sorted(places)


def _mentioning(
    knowledge: KnowledgeView, root: Path, uri: str, names: Collection[str]
) -> Iterator[MentioningFile]:
    """The file with its text; nothing if it has none of the names.

    Raises:
        OSError, ValueError, MycelError: the file cannot be read, may not be shown, or is too large.
    """
    file = read_plain(str(root / parse(uri, "").path), FILE_BYTES_MAX)
    if b"\0" in file.data[:1024]:
        return
    if file.status.st_size > FILE_BYTES_MAX:
        raise ValueError(f"{uri} is too large to be searched")
    if find_words(file.data, names):
        text = knowledge.read_resource(uri, bytes_max=FILE_BYTES_MAX).text
        if text:
            yield MentioningFile(uri, text)
