"""The merge driver of a mirror: Git calls it for a file that both sides have changed.

    mycel mirror merge-file %O %A %B %P

It merges the documents place by place, as the graph does. Conflicting places get the usual marks of
Git. A file that is no document is merged by lines.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Final

from mycel.errors import GitFailed
from mycel.mirror.document_merge import combine_deeply, merge_documents
from mycel.mirror.documents import MirrorDocument, write_document
from mycel.mirror.folder import FILE_BYTES_MAX
from mycel.mirror.front_matter import UnreadableError, read_document
from mycel.mirror.paths import path_of
from mycel.mirror.repository import Repository, near
from mycel.store.file.plain_files import read_bounded

NAME: Final = "mycel"
_NOT_FOUND: Final = 126
"""From this exit status on, a shell has not found a program, or could not run it."""


def install_driver(repository: Repository) -> None:
    """Configure Git to call the driver in a repository.

    If Mycel is not on the path, Git merges by lines.
    """
    words = (sys.executable, "-m", "mycel", "mirror", "merge-file")
    call = f"{shlex.join(words)} %O %A %B %P"
    lines = "git merge-file %A %O %B"
    driver = f"{call} || if [ $? -ge {_NOT_FOUND} ]; then {lines}; else false; fi"
    repository.run("config", f"merge.{NAME}.name", "Mycel: two properties are no conflict")
    repository.run("config", f"merge.{NAME}.driver", driver)


def merge_file(base: Path, ours: Path, theirs: Path, path: str) -> bool:
    """Merge three versions of a file into ours; False if places are in conflict.

    `path` is the path of the file in the repository.
    """
    try:
        contents = [read_bounded(path, FILE_BYTES_MAX) for path in (base, ours, theirs)]
        documents = [_document(path, content) for content in contents]
    except (UnreadableError, ValueError):
        return _merge_lines(base, ours, theirs)
    was, mine, other = documents
    merged = merge_documents([was], mine, other, combine_deeply)
    if not merged.is_contested:
        ours.write_bytes(_text(merged.ours))
        return True
    before = merge_documents([merged.ours], was, merged.theirs, combine_deeply).ours
    for place, document in ((base, before), (ours, merged.ours), (theirs, merged.theirs)):
        place.write_bytes(_text(document))
    return _merge_lines(base, ours, theirs)


def _merge_lines(base: Path, ours: Path, theirs: Path) -> bool:
    """Merge by lines, with marks where both differ."""
    labels = ("-L", "ours", "-L", "base", "-L", "theirs")
    repository = Repository(near(ours.parent.absolute()))
    try:
        repository.run(
            "merge-file", *labels, *(str(path.absolute()) for path in (ours, base, theirs))
        )
    except GitFailed:
        return False
    return True


def _document(path: str, content: bytes) -> MirrorDocument | None:
    return read_document(path, content) if content else None


def _text(document: MirrorDocument | None) -> bytes:
    return b"" if document is None else write_document(document, path_of).encode()
