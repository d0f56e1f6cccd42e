"""The folders that databases at home belong to, and the database of a folder.

A database that was made for a folder has a small file beside it that says so:

    ~/.knowledge_engine/knowledge_shop.db
    ~/.knowledge_engine/knowledge_shop.folder     the path of the folder, as UTF-8

Below that folder the database is found as git finds a repository: the nearest folder above counts.
Its name is the folder's own, with a hash of the path behind it where another folder of this name
was first. The name of the file is the workspace of URIs, too.

Databases without such a file were made by earlier versions, whose names always had the hash, or for
a workspace that somebody named.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

HOME_FOLDER = ".knowledge_engine"
_SUFFIX = ".folder"


class Owner(NamedTuple):
    """A workspace, and the folder that its database belongs to."""

    workspace: str
    folder: Path


def database_of(home: Path, workspace: str) -> Path:
    """The path of the database of a workspace."""
    return home / HOME_FOLDER / f"knowledge_{workspace}.db"


def owners(home: Path) -> Iterator[Owner]:
    """The workspaces that belong to a folder, whether that is still there or not."""
    for path in sorted((home / HOME_FOLDER).glob(f"knowledge_*{_SUFFIX}")):
        with suppress(OSError):
            folder = Path(os.fsdecode(path.read_bytes().strip()))
            if folder.is_absolute():
                yield Owner(path.stem.removeprefix("knowledge_"), folder)


def owner_of(home: Path, workspace: str) -> Owner | None:
    """The folder of one workspace, if it belongs to one."""
    return next((each for each in owners(home) if each.workspace == workspace), None)


def found_from(home: Path, folder: Path, *, above: bool = True) -> Owner | None:
    """The workspace of a folder or, with `above`, of the nearest folder above that has one."""
    known = {each.folder: each for each in owners(home)}
    for each in (folder, *folder.parents) if above else (folder,):
        if each in known:
            return known[each]
        old = hashed_name(each)
        if database_of(home, old).exists():
            return Owner(old, each)
    return None


def new_name(home: Path, folder: Path) -> str:
    """The name of a workspace for a folder that has none."""
    name = plain_name(folder)
    is_taken = database_of(home, name).exists() or owner_of(home, name) is not None
    return hashed_name(folder) if is_taken else name


def plain_name(folder: Path) -> str:
    """The name of a workspace that is closest to the name of a folder."""
    # Late: see the package's docstring.
    from mycel.knowledge.uris import workspace_named

    return workspace_named(folder.name)


def hashed_name(folder: Path) -> str:
    """The name of a folder with a hash of its whole path, so that no two are the same.

    >>> hashed_name(Path("/home/ada/My Notes"))
    'my-notes-05090c43'
    """
    # Late: it takes a while to load, and most calls are about a database that was named.
    import re
    from hashlib import sha256

    slug = re.sub(r"[^a-z0-9]+", "-", folder.name.lower()).strip("-")[:40] or "root"
    return f"{slug}-{sha256(str(folder).encode(errors='surrogateescape')).hexdigest()[:8]}"


def claim(home: Path, owner: Owner) -> None:
    """Note that a workspace belongs to a folder, and that no other one does any more."""
    with suppress(OSError):  # The database is found by its name all the same.
        _note_of(home, owner.workspace).write_bytes(os.fsencode(owner.folder) + b"\n")
        for each in list(owners(home)):
            if each.folder == owner.folder and each.workspace != owner.workspace:
                _note_of(home, each.workspace).unlink()


def _note_of(home: Path, workspace: str) -> Path:
    return database_of(home, workspace).with_suffix(_SUFFIX)


def left_behind(home: Path, folder: Path) -> list[Owner]:
    """Workspaces whose folder is gone, perhaps because it was moved here.

    Those of the folder's own name are named first.
    """
    gone = [each for each in owners(home) if not each.folder.exists()]
    there = [each for each in gone if database_of(home, each.workspace).exists()]
    return sorted(there, key=lambda each: each.folder.name != folder.name)
