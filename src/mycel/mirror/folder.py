"""The files of a mirror on the disk, which people see and edit.

A file that somebody has edited is never overwritten: its content on the disk has to be that of the
last commit, or already that of the next one. Paths stay inside the folder: a symbolic link on the
way is refused.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from mycel.errors import ConstraintViolation, GitFailed
from mycel.mirror.documents import has_uri
from mycel.mirror.paths import DOCUMENT, is_document
from mycel.mirror.repository import Repository, TreeChange, index_lines
from mycel.store.file.plain_files import read_plain

SHOWN_MAX: Final = 5
FILE_BYTES_MAX: Final = 16 << 20
"""Larger files are refused. Attributes and metadata may have one MiB each."""
_TEMPORARY: Final = ".mycel-new"


class Folder:
    """The working files of a mirror."""

    def __init__(self, repository: Repository) -> None:
        self._repository: Final = repository
        self._root: Final = repository.folder

    def edited(self, changes: Sequence[TreeChange], imported: Mapping[str, str]) -> list[str]:
        """The paths whose file on the disk differs from both states of a change.

        A file may also equal its object in `imported`.
        """
        paths = []
        for change in changes:
            content = self.content(change.path)
            present = "" if content is None else self._repository.blob(content)
            if present not in (change.old, change.new, imported.get(change.path)):
                paths.append(change.path)
        return paths

    def update(self, changes: Sequence[TreeChange]) -> None:
        """Write and remove files. Doing it again does no harm."""
        written = [change for change in changes if change.new]
        contents = self._repository.blobs([tree_change.new for tree_change in written])
        for change, content in zip(written, contents, strict=True):
            self._write(change.path, content)
        for change in changes:
            if not change.new:
                self._remove(change.path)

    def note(self, changes: Sequence[TreeChange]) -> None:
        """Record the changes in the index of Git."""
        lines = index_lines(
            ((change.path, change.new) for change in changes), self._repository.nothing
        )
        self._repository.run_unfiltered("update-index", "-z", "--index-info", stdin=lines)
        # A second call records sizes and times, by which Git recognises edited files.
        paths = "".join(f"{change.path}\0" for change in changes if change.new)
        words = ("update-index", "-z", "--stdin")
        self._repository.run_unfiltered(*words, stdin=os.fsencode(paths))

    def content(self, path: str) -> bytes | None:
        """The content of a file; None if there is none.

        Raises:
            ConstraintViolation: a symbolic link, a folder, a pipe or a device is in its place.
        """
        try:
            content = read_plain(self._place(path), FILE_BYTES_MAX + 1).data
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            is_link = error.errno == errno.ELOOP
            why = "it is a symbolic link" if is_link else error.strerror or str(error)
            raise _unusable(path, why) from None
        except ValueError:
            raise _unusable(path, "it is no plain file") from None
        if len(content) > FILE_BYTES_MAX:
            raise _unusable(path, f"it has more than {FILE_BYTES_MAX >> 20} MiB")
        return content

    def is_document(self, path: str) -> bool:
        """True for the path of a document or declaration.

        A file at another path is a document only if its front matter names a URI: somebody moved
        it.
        """
        if is_document(path):
            return True
        return path.endswith(DOCUMENT) and not path.startswith(".") and self._has_uri(path)

    def _has_uri(self, path: str) -> bool:
        try:
            return has_uri(self.content(path) or b"")
        except ConstraintViolation:
            return False

    def _place(self, path: str) -> str:
        # Strings are used and not `Path`s, because there may be a hundred thousand files.
        place = str(self._root)
        *folders, last = path.split("/")
        for folder in folders:
            place = f"{place}/{folder}"
            if os.path.islink(place):  # noqa: PTH114
                raise _unusable(path, f"{folder} is a symbolic link")
        return f"{place}/{last}"

    def _write(self, path: str, content: bytes) -> None:
        place = Path(self._place(path))
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            new = place.parent / _TEMPORARY
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
            with os.fdopen(os.open(new, flags, 0o644), "wb") as file:
                file.write(content)
            new.replace(place)
        except OSError as error:
            raise GitFailed(
                f"{str(place)!r} cannot be written ({error.strerror}).",
                hint="Make the folder of the mirror writable, then `mycel mirror push`.",
            ) from None

    def _remove(self, path: str) -> None:
        place = Path(self._place(path))
        with suppress(FileNotFoundError, NotADirectoryError):
            place.unlink()
        for folder in place.parents:
            if folder == self._root:
                return
            try:
                folder.rmdir()
            except OSError:  # The folder has other files.
                return


def _unusable(path: str, why: str) -> ConstraintViolation:
    return ConstraintViolation(
        f"The mirror's file {path!r} cannot be used: {why}.",
        hint="Put a plain file in its place, or remove it.",
        data={"path": path},
    )
