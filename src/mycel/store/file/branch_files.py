"""Files of branches: their names, and the branch that commands use.

A branch is a file of its own beside the graph:

    shop.db                    the graph, whose own branch is called main
    shop.db@draft.db           the branch draft
    shop.db@current            the name of the branch that `mycel` uses, if it is not main
    shop.db@.making-….db       a copy that is not complete yet
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from mycel.errors import DatabaseReadOnly, InvalidIdentifier, NotFound, did_you_mean
from mycel.model.names import shorten
from mycel.model.permission import sees_branch
from mycel.store.file.plain_files import read_bounded

MAIN: Final = "main"
"""The name of the graph's own branch."""
NAME_CHARACTERS_MAX: Final = 64
COMPANIONS: Final = ("", "-wal", "-shm", "-journal", "-use")
"""The suffixes of the files of one database."""

_NAME: Final = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_-])?", re.ASCII)
_RESERVED: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)
"""Device names that Windows reserves in every folder."""
_FILE: Final = re.compile(rf"(.+)@({_NAME.pattern})\.db", re.ASCII | re.DOTALL)


def check_name(name: object) -> str:
    """A name of a branch, after checks.

    Raises:
        InvalidIdentifier: no branch can have this name.
    """
    if (
        not isinstance(name, str)
        or len(name) > NAME_CHARACTERS_MAX
        or not _NAME.fullmatch(name)
        or _RESERVED.fullmatch(name)
    ):
        name_text = repr(shorten(name)) if isinstance(name, str) else repr(name)
        raise InvalidIdentifier(
            f"{name_text} cannot name a branch.",
            hint=f"Use up to {NAME_CHARACTERS_MAX} letters, digits, '.', '_' and '-', without '.'"
            " or '-' at the beginning, '.' at the end, or the name of a device such as CON.",
        )
    return name


def split(path: Path) -> tuple[Path, str]:
    """The graph and the branch that a file belongs to."""
    match = _FILE.fullmatch(path.name)
    if match is not None:
        graph = path.with_name(match[1])
        if graph.exists():
            return graph, match[2]
    return path, MAIN


def file_of(graph: Path, name: str) -> Path:
    """The path of a branch, which need not exist.

    Raises:
        InvalidIdentifier: no branch can have this name.
    """
    return graph if check_name(name) == MAIN else graph.parent / f"{graph.name}@{name}.db"


def names(graph: Path) -> list[str]:
    """The branches of a graph that the caller may see: main first, then the others by name."""
    generator = (_FILE.fullmatch(match) for match in os.listdir(graph.parent))  # noqa: PTH208 - names
    others = sorted(match[2] for match in generator if match and match[1] == graph.name)
    return [name for name in (MAIN, *others) if sees_branch(name)]


def existing(graph: Path, name: str) -> Path:
    """The path of an existing branch.

    Raises:
        InvalidIdentifier: no branch can have this name.
        NotFound: there is no such branch.
    """
    path = file_of(graph, name)
    if sees_branch(name) and (name == MAIN or path.exists()):
        return path
    branch_names = names(graph) if graph.parent.is_dir() else [MAIN]
    raise NotFound(
        f"The graph {graph.name!r} has no branch {name!r}.",
        hint=f"{did_you_mean(name, branch_names)} `mycel branch list` shows all of them.".lstrip(),
    )


def current(graph: Path) -> str:
    """The branch that commands use by default."""
    try:
        return read_bounded(_current_file(graph), 1 << 16).decode().strip() or MAIN
    except (OSError, ValueError):
        return MAIN


def set_current(graph: Path, name: str) -> None:
    """Choose the branch that commands use by default.

    Raises:
        InvalidIdentifier, NotFound: there is no such branch.
        DatabaseReadOnly: the folder cannot be written.
    """
    existing(graph, name)
    path = _current_file(graph)
    new = path.parent / f"{path.name}.new"
    try:
        if name == MAIN:
            path.unlink(missing_ok=True)
            return
        new.write_text(f"{name}\n", "utf-8")
        new.replace(path)
    except OSError as error:
        raise DatabaseReadOnly(f"{str(path)!r} cannot be written ({error}).") from None


def _current_file(graph: Path) -> Path:
    return graph.parent / f"{graph.name}@current"
