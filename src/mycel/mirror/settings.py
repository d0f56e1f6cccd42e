"""The settings of a mirror: a small JSON file beside the graph.

    shop.db@mirror.json    {"format": 1, "folder": ".knowledge", "branch": "main", …}

For a graph on a server it is in the home directory of the user (`companion`).

They are not part of the graph, because they are about this machine: a folder, names and addresses
of authors, how far the mirror has come.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import orjson

from mycel.errors import ConstraintViolation, DatabaseReadOnly, NotFound
from mycel.store.file.plain_files import read_bounded
from mycel.store.file.workspace_databases import companion

SETTINGS_BYTES_MAX: Final = 64 << 20
"""The largest size of the settings of a mirror."""

SUFFIX: Final = "@mirror.json"
FORMAT: Final = 1


class Pending(NamedTuple):
    """An import that has begun: the files that it brings into the graph."""

    sources: Sequence[str]
    """The names of the merges of the import."""
    seq: int
    """The last journal entry before the import."""
    tip: str
    """The commit of the mirror's branch that is imported."""
    files: Mapping[str, str]
    """The object of each file that was edited; empty for one that was deleted."""
    onto: str = ""
    """The commit of a remote that was imported, if it is not part of the branch yet."""


class Settings(NamedTuple):
    """The settings of one mirror."""

    folder: Path
    branch: str
    """The branch of Git."""
    is_worktree: bool = False
    """True if the folder is a worktree of another repository, that of the project."""
    is_complete: bool = False
    """False until the first export is done."""
    authors: Mapping[str, str] = MappingProxyType({})
    """Names and addresses, `Ada Lovelace <ada@example.org>`, by actor."""
    remote: str = ""
    """The remote that `push` sends commits to; empty for none."""
    commit: str = ""
    """The last commit of the mirror when `seq` was set."""
    seq: int = 0
    """No journal entry after `commit`, up to this one, has changed a file."""
    pending: Pending | None = None
    positions: Mapping[str, tuple[int, str]] = MappingProxyType({})
    """Commits of others that show a state of the graph: its last entry and its root.

    Commits of the mirror name their state themselves. An empty name stands for a state without
    files.
    """
    replaced: str = ""
    """The last commit of a history that a purge replaced, and that is still stored."""


def has_mirror(graph: str | os.PathLike[str]) -> bool:
    """True if a graph has a mirror. It costs one access to the file system."""
    path = companion(os.fsdecode(graph))
    return os.path.exists(f"{path}{SUFFIX}")  # noqa: PTH110 - on the path of a write


def read(graph: Path) -> Settings:
    """The settings of the mirror of a graph.

    Raises:
        NotFound: the graph has no mirror.
        ConstraintViolation: the file is not one of settings.
    """
    path = _file_of(graph)
    try:
        payload: dict[str, Any] = orjson.loads(read_bounded(path, SETTINGS_BYTES_MAX))
        fields = {key: payload[key] for key in Settings._fields if key in payload}
        if fields.get("pending"):
            fields["pending"] = Pending(**fields["pending"])
        positions = fields.get("positions", {}).items()
        fields["positions"] = {commit: (seq, root) for commit, (seq, root) in positions}
        folder = Path(os.path.normpath(graph.parent / payload["folder"]))
        return Settings(**fields)._replace(folder=folder)
    except FileNotFoundError:
        raise NotFound(
            f"The graph {graph.name!r} has no Git mirror.", hint="`mycel mirror init` creates one."
        ) from None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ConstraintViolation(
            f"{str(path)!r} cannot be read as settings of a mirror ({error}).",
            hint="Remove the file and call `mycel mirror init` again.",
        ) from None


def write(graph: Path, settings: Settings) -> None:
    """Store settings, whole or not at all.

    Raises:
        DatabaseReadOnly: the folder of the graph cannot be written.
    """
    path = _file_of(graph)
    new = path.with_name(f"{path.name}.new")
    folder = settings.folder
    if graph.is_relative_to(folder.parent) or folder.is_relative_to(graph.parent):
        folder = Path(os.path.relpath(folder, graph.parent))  # Both files are moved together.
    payload: dict[str, Any] = {"format": FORMAT} | settings._asdict() | {"folder": str(folder)}
    payload["authors"] = dict(settings.authors)
    payload["positions"] = dict(settings.positions)
    payload["pending"] = None if settings.pending is None else settings.pending._asdict()
    try:
        new.write_bytes(orjson.dumps(payload, option=orjson.OPT_INDENT_2) + b"\n")
        new.replace(path)
    except OSError as error:
        raise DatabaseReadOnly(f"{str(path)!r} cannot be written ({error}).") from None


def lock_of(graph: Path) -> Path:
    """The file whose lock lets one process write the mirror at a time."""
    return graph.with_name(f"{graph.name}@mirror.lock")


def _file_of(graph: Path) -> Path:
    return graph.with_name(f"{graph.name}{SUFFIX}")
