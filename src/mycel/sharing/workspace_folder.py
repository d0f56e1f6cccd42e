"""A folder of workspaces: every graph file in it, by name.

    DIR/shop.db              the workspace shop
    DIR/shop.db@draft.db     its branch draft
    DIR/knowledge_ops.db     the workspace ops, as in the folder of a user's home
    DIR/server.db            the server's own records, no workspace

A name has the form of a workspace in URIs: only lower case, digits and . _ -, so it cannot point
outside the folder, and two files never have the same name. Symbolic links are ignored.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Final

from mycel.errors import DuplicateExists, InvalidIdentifier, NotADatabase, NotFound
from mycel.knowledge.limits import WORKSPACE_CHARACTERS_MAX
from mycel.model.names import shorten

RECORDS: Final = "server.db"
"""The file of the server's own records."""

_NAME: Final = re.compile(rf"[a-z0-9][a-z0-9._-]{{0,{WORKSPACE_CHARACTERS_MAX - 1}}}", re.ASCII)
_HOME_PREFIX: Final = "knowledge_"
_SUFFIX: Final = ".db"
_RESERVED: Final = frozenset(("server",))


class WorkspaceFolder:
    def __init__(self, path: Path) -> None:
        """Take the folder.

        Raises:
            NotADatabase: the path is no folder.
        """
        if not path.is_dir():
            raise NotADatabase(f"{str(path)!r} is no folder.", hint="Make it first: `mkdir`.")
        self.path: Final = path.resolve()

    @property
    def place(self) -> str:
        """The folder of the workspaces, to show to people."""
        return str(self.path)

    @property
    def records(self) -> Path:
        """The file of the server's own records."""
        return self.path / RECORDS

    def names(self) -> list[str]:
        """The names of all workspaces, sorted."""
        with os.scandir(self.path) as entries:
            files = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
        names = map(_name_of, files)
        return sorted({name for name in names if name is not None})

    def sizes(self) -> dict[str, int]:
        """The bytes of the files of each workspace, its branches and its search index included."""
        sizes = dict.fromkeys(self.names(), 0)
        with os.scandir(self.path) as entries:
            for entry in entries:
                stem, suffix, _ = entry.name.partition(_SUFFIX)
                name = stem.removeprefix(_HOME_PREFIX)
                if suffix and name in sizes and entry.is_file(follow_symlinks=False):
                    # Files beside a graph may disappear at any time.
                    with suppress(FileNotFoundError):
                        sizes[name] += entry.stat(follow_symlinks=False).st_size
        return sizes

    def find(self, name: str) -> Path | str:
        """The file of a workspace, or its URL.

        Raises:
            NotFound: there is no workspace of this name.
        """
        if is_name(name):
            for file in (name + _SUFFIX, _HOME_PREFIX + name + _SUFFIX):
                path = self.path / file
                if _name_of(file) == name and _is_file(path):
                    return path
        raise unknown_workspace(name)

    def key_place(self, name: str) -> Path | str:
        """The path of the graph beside which the key of a workspace is stored."""
        return self.find(name)

    def create(self, name: str, create_graph: Callable[[str], object]) -> Path | str:
        """Make a new workspace. Its file gets its name only when it is complete.

        Raises:
            InvalidIdentifier: no workspace can have this name.
            DuplicateExists: a workspace has the name, or a file is in its place.
        """
        if not is_name(name):
            raise no_name(name)
        path = self.path / (name + _SUFFIX)
        draft = self.path / f".new-{token_hex(8)}{_SUFFIX}"
        try:
            if os.path.lexists(self.path / (_HOME_PREFIX + path.name)):
                raise FileExistsError
            create_graph(str(draft))
            os.link(draft, path)  # The call fails if somebody else has created the file meanwhile.
        except FileExistsError:
            raise DuplicateExists(f"There is a workspace {name!r} already.") from None
        finally:
            draft.unlink(missing_ok=True)
        return path


def unknown_workspace(name: str) -> NotFound:
    """The error for a workspace that does not exist, or that the caller may not see."""
    return NotFound(
        f"There is no workspace {shorten(repr(name), 80)}.",
        hint="GET /ws (`mycel remote list https://host`) lists the existing ones.",
    )


def is_name(name: str) -> bool:
    """True if a workspace can have a name."""
    return _NAME.fullmatch(name) is not None and name not in _RESERVED and ".." not in name


def no_name(name: str) -> InvalidIdentifier:
    """The error for a name that no workspace can have."""
    return InvalidIdentifier(
        f"{shorten(repr(name))} cannot name a workspace.",
        hint=f"Use up to {WORKSPACE_CHARACTERS_MAX} of a-z, 0-9 and . _ - with a letter or digit"
        " first; `server` is taken.",
    )


def _name_of(file: str) -> str | None:
    """The workspace in the name of a file; None if there is none."""
    if not file.endswith(_SUFFIX) or "@" in file:
        return None
    name = file.removesuffix(_SUFFIX).removeprefix(_HOME_PREFIX)
    return name if is_name(name) else None


def _is_file(path: Path) -> bool:
    """True for a regular file.

    The file is not opened: closing it would drop the locks of SQLite on it.
    """
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False
