"""Files of a workspace that mention a name, read from the disk.

Relations tell which symbols use another one, as far as that can be found out. The files that
mention the name tell what may be missing there.
"""

from __future__ import annotations

import re
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple

from mycel.errors import MycelError
from mycel.knowledge.knowledge_view import KnowledgeView
from mycel.knowledge.uris import parse
from mycel.knowledge.vocabulary import STAMP
from mycel.store.file.plain_files import read_plain
from mycel.store.query.bulk import prefixes

SECONDS_MAX: Final = 2.0
"""Time on the clock for reading files."""
FILE_BYTES_MAX: Final = 1 << 20
FILES_MAX: Final = 200
"""Files with the name that are returned."""


class MentionedLine(NamedTuple):
    """A line of a file, and its number."""

    number: int
    text: str


class MentioningFile(NamedTuple):
    """A file that mentions a name."""

    uri: str
    lines: tuple[MentionedLine, ...]


class NameMentions(NamedTuple):
    """The files that mention a name; `unread` were not read, for lack of time."""

    files: tuple[MentioningFile, ...]
    unread: int = 0


def find_mentions(knowledge: KnowledgeView, name: str) -> NameMentions | None:
    """The files that a bootstrap has read and that mention a name as a word; None without files."""
    if knowledge.root is None or not name:
        return None
    root = f"file://{knowledge.workspace}"
    with knowledge.db.reading() as reader:
        uris = sorted(uri for uri, _ in prefixes.attribute_below(reader, root, STAMP))
    word = rf"(?<!\w){re.escape(name)}(?!\w)"
    found: list[MentioningFile] = []
    began = monotonic()
    for at, uri in enumerate(uris):
        if monotonic() - began > SECONDS_MAX or len(found) >= FILES_MAX:
            return NameMentions(tuple(found), len(uris) - at)
        if _has_word(knowledge.root / parse(uri, "").path, word.encode()):
            lines = _lines(knowledge, uri, word)
            if lines:
                found.append(MentioningFile(uri, lines))
    return NameMentions(tuple(found))


def _has_word(path: Path, word: bytes) -> bool:
    try:
        file = read_plain(str(path), FILE_BYTES_MAX)
    except (OSError, ValueError):
        return False
    return b"\0" not in file.data[:1024] and re.search(word, file.data) is not None


def _lines(knowledge: KnowledgeView, uri: str, word: str) -> tuple[MentionedLine, ...]:
    """The lines with a name, if the file may be shown."""
    try:
        text = knowledge.read_resource(uri, bytes_max=FILE_BYTES_MAX).text or ""
    except MycelError:
        return ()
    lines = enumerate(text.splitlines(), 1)
    return tuple(MentionedLine(*line) for line in lines if re.search(word, line[1]))
