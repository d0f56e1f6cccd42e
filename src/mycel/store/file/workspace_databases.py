"""The databases of workspaces: one file for each name, in a folder of the user's home directory."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

from mycel.errors import NotFound
from mycel.model.names import shorten

SERVER_SCHEMES: Final = ("postgresql://", "postgres://")
"""The prefixes of URLs of databases on a server."""

HOME_FOLDER: Final = ".knowledge_engine"
SERVERS_FOLDER: Final = "servers"
"""The folder for files about graphs on servers, inside the folder of workspaces."""
PREFIX: Final = "knowledge_"
SUFFIX: Final = ".db"
_SHOWN: Final = 20


def database_of(home: Path, workspace: str) -> Path:
    return home / HOME_FOLDER / f"{PREFIX}{workspace}{SUFFIX}"


def workspaces_of(home: Path) -> list[str]:
    """The names of the workspaces that have a database; a branch is no workspace."""
    generator = (home / HOME_FOLDER).glob(f"{PREFIX}*{SUFFIX}")
    return sorted(
        path.name.removeprefix(PREFIX).removesuffix(SUFFIX)
        for path in generator
        if "@" not in path.name
    )


def local_database(workspace: str) -> Path | None:
    """The path of the database of a workspace of this user; None if there is none."""
    home = Path.home()
    return database_of(home, workspace) if workspace in workspaces_of(home) else None


def existing_database(workspace: object) -> Path:
    """The path of the database of a workspace of this user.

    Raises:
        NotFound: no such workspace exists; the hint names the existing ones.
    """
    home = Path.home()
    workspaces = workspaces_of(home)
    if isinstance(workspace, str) and workspace in workspaces:
        return database_of(home, workspace)
    names = ", ".join(workspaces[:_SHOWN]) + (", …" if len(workspaces) > _SHOWN else "")
    advice = f"There are: {names}." if workspaces else "There is none yet."
    raise NotFound(
        f"There is no workspace {shorten(repr(workspace))} in {home / HOME_FOLDER}.",
        hint=f"{advice} `mycel init --workspace NAME` and `mycel bootstrap` create one; `mycel"
        " remote add NAME URL` registers one that is elsewhere.",
        data={"workspaces": workspaces[:_SHOWN]},
    )


def is_address(place: str) -> bool:
    """True if a text is the URL of a database on a server; False if it is a path."""
    return place.startswith(SERVER_SCHEMES)


def companion(place: str | os.PathLike[str]) -> Path:
    """The path to which the suffixes of companion files of a graph are added, on this machine.

    For a file it is the file itself. For a graph on a server, it is a name in this user's folder of
    workspaces.
    """
    name = os.fspath(place)
    return _companion_of_url(Path.home(), name) if is_address(name) else Path(name)


@cache
def _companion_of_url(home: Path, url: str) -> Path:
    # Imported late: few graphs are on a server, and every command runs this function.
    from hashlib import sha256  # noqa: PLC0415

    digest = sha256(url.encode()).hexdigest()[:16]
    return home / HOME_FOLDER / SERVERS_FOLDER / f"{workspace_in(url)}-{digest}"


def workspace_in(url: str) -> str:
    """The name of the workspace in the URL of a graph on a server."""
    return parse_qs(urlsplit(url).query)["workspace"][0]
