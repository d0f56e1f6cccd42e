"""The registry of workspaces that are elsewhere: `~/.config/mycel/workspaces.toml`.

    [workspaces.shop]
    url = "https://graphs.example.org/ws/shop"    # or the path of a graph: a share, a USB stick;
                                                  # or the URL of one in PostgreSQL
    token_env = "SHOP_TOKEN"                      # the variable with the token
    token_file = "/home/ada/.shop-token"          # or a file that nobody else may read
    branch = "draft"                              # the branch that is meant, if it is not main
    path = "/infra/**"                            # the part that is meant, if it is not all
    graph = "/home/ada/shop.db"                   # the clone of it
    key = "ed25519:7b…"                           # the key that signs its heads
    cache_s = 60                                  # younger answers are used again without a request
    entries = 1042                                # the pinned head, which the remote must continue
    journal_root = "9f…"

Tokens are never stored in this file. Addresses are taken only from it, never from the content of a
graph.
"""

from __future__ import annotations

import json
import os
import re
import stat
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from mycel.errors import (
    AccessDenied,
    ConstraintViolation,
    DuplicateExists,
    InvalidSyntax,
    NotFound,
)
from mycel.model.names import shorten
from mycel.store.file.branch_files import check_name
from mycel.store.file.locks import turn
from mycel.store.file.plain_files import read_bounded
from mycel.store.file.workspace_databases import is_address

FILE_BYTES_MAX: Final = 1 << 20
TOKEN_BYTES_MAX: Final = 4096
CACHE_S_MAX: Final = 86_400
LOCK_S: Final = 10.0
"""The time for which a change of the registry waits for changes of other processes."""
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}", re.ASCII)
_LOOPBACK: Final = frozenset(("localhost", "127.0.0.1", "::1"))


@dataclass(frozen=True, slots=True)
class RemoteEntry:
    """One workspace of the registry."""

    name: str
    url: str
    token_env: str = ""
    token_file: str = ""
    _: KW_ONLY
    graph: str = ""
    """The path of the clone on this machine."""
    branch: str = ""
    """The branch of the remote; empty for main."""
    path: str = ""
    """The path to which the remote is limited; empty for all."""
    key: str = ""
    """The key that signs its heads; once it is pinned, a head without its signature is refused."""
    cache_s: int = 0
    """The seconds for which an answer of a traversal or search is used again without a request."""
    entries: int = 0
    journal_root: str = ""

    @property
    def pinned(self) -> tuple[int, bytes] | None:
        """The head that the remote has to continue: its entries, and the root of its journal."""
        return (self.entries, bytes.fromhex(self.journal_root)) if self.entries else None

    @property
    def is_http(self) -> bool:
        return self.url.startswith(("https://", "http://"))

    def token(self) -> str:
        """The token for the workspace; empty if there is none.

        Raises:
            AccessDenied: others may read the file of the token.
            NotFound: there is no such variable or file.
            ConstraintViolation: the token would be sent in the clear.
        """
        token = self._read_token()
        parts = urlsplit(self.url)
        if token and parts.scheme != "https" and parts.hostname not in _LOOPBACK:
            raise ConstraintViolation(
                f"The token of {self.name} would be sent to {parts.hostname} in the clear.",
                hint="Use an address that begins with https://.",
            )
        return token

    def _read_token(self) -> str:
        if self.token_env:
            token = os.environ.get(self.token_env, "").strip()
            if not token:
                raise NotFound(
                    f"The variable {self.token_env} with the token of {self.name} is not set.",
                    hint="Set the variable in the environment of this process.",
                )
            return token
        if not self.token_file:
            return ""
        path = Path(self.token_file)
        try:
            if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
                raise AccessDenied(
                    f"Others may read the token in {str(path)!r}.", hint=f"chmod 600 {path}"
                )
            return read_bounded(path, TOKEN_BYTES_MAX).decode().strip()
        except (OSError, ValueError):
            raise NotFound(
                f"The file {str(path)!r} with a token cannot be read.",
                hint="Check its path and its permissions.",
            ) from None


_BLANK: Final = asdict(RemoteEntry("", ""))


class RemoteRegistry:
    """The registry in a file."""

    def __init__(self, path: Path | None = None) -> None:
        self.path: Final = path or default_path()

    def __iter__(self) -> Iterator[RemoteEntry]:
        """All workspaces, by name."""
        return iter(sorted(self._read().values(), key=lambda entry: entry.name))

    def get(self, name: str) -> RemoteEntry:
        """One workspace.

        Raises:
            NotFound: no workspace has this name.
        """
        entry = self._read().get(name)
        if entry is None:
            raise NotFound(
                f"No workspace {shorten(repr(name))} is registered.",
                hint="`mycel remote list` shows the registered ones; `mycel remote add NAME URL`"
                " adds one.",
            )
        return entry

    def find(self, name: str) -> RemoteEntry | None:
        """One workspace; None if there is none with this name."""
        return self._read().get(name)

    def of_graph(self, path: str) -> RemoteEntry | None:
        """The workspace of which a graph is a clone."""
        place = Path(path).resolve()
        clones = (entry for entry in self if entry.graph)
        return next((entry for entry in clones if Path(entry.graph).resolve() == place), None)

    def add(self, entry: RemoteEntry) -> None:
        """Add a workspace.

        Raises:
            ConstraintViolation: its name or address is wrong.
            DuplicateExists: a workspace has this name already.
        """
        with self._changing() as entries:
            self.check_new(entry)
            entries[entry.name] = entry

    def check_new(self, entry: RemoteEntry) -> None:
        """Check that a workspace can be added; raises the errors of `add`."""
        check_entry(entry)
        if entry.name in self._read():
            raise DuplicateExists(
                f"There is a workspace {entry.name!r} already.",
                hint="Use it by that name, `mycel remote remove` it, or choose another name, with"
                " `mycel clone --as NAME`.",
            )

    def remove(self, name: str) -> RemoteEntry:
        """Remove a workspace; graphs stay."""
        with self._changing() as entries:
            entry = self.get(name)
            del entries[name]
        return entry

    def pin(
        self, name: str, entries: int, journal_root: str, *, graph: str = "", key: str = ""
    ) -> None:
        """Pin the head that a remote has shown; from now on the remote has to continue it.

        A key is remembered if none is pinned yet. `graph` becomes the clone of the remote, unless
        it is the clone of another one.
        """
        with self._changing() as registry:
            entry = registry.get(name)
            if entry is not None:
                owner = self.of_graph(graph) if graph else None
                if not graph or (owner is not None and owner.name != name):
                    graph = entry.graph
                pinned = replace(entry, entries=entries, journal_root=journal_root)
                registry[name] = replace(pinned, graph=graph, key=entry.key or key)

    def release(self, graph: str) -> None:
        """Forget that a graph was the clone of workspaces, because it is gone or replaced."""
        place = Path(graph).resolve()
        with self._changing() as entries:
            for name, entry in list(entries.items()):
                if entry.graph and Path(entry.graph).resolve() == place:
                    entries[name] = replace(entry, graph="")

    def _read(self) -> dict[str, RemoteEntry]:
        try:
            text = read_bounded(self.path, FILE_BYTES_MAX).decode()
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise InvalidSyntax(
                f"{str(self.path)!r} cannot be read: {error}.",
                hint="Check its permissions, or remove it.",
            ) from None
        try:
            tables = tomllib.loads(text).get("workspaces", {})
            entries = {name: _entry(name, table) for name, table in tables.items()}
        except (tomllib.TOMLDecodeError, TypeError, AttributeError) as error:
            raise InvalidSyntax(
                f"{str(self.path)!r} is no registry: {error}.",
                hint="Correct it, or remove it; `mycel remote add` writes a new one.",
            ) from None
        return entries

    @contextmanager
    def _changing(self) -> Iterator[dict[str, RemoteEntry]]:
        """The entries, to change in a block; they are written at its end.

        Other changes wait, in any process.
        """
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with turn(self.path.with_suffix(".lock"), LOCK_S, str(self.path)):
            entries = self._read()
            before = dict(entries)
            yield entries
            if entries != before:
                self._write(entries)

    def _write(self, entries: Mapping[str, RemoteEntry]) -> None:
        """Replace the whole file."""
        lines: list[str] = []
        for name, entry in sorted(entries.items()):
            lines.append(f"[workspaces.{json.dumps(name)}]")
            for key, value in asdict(entry).items():
                if key != "name" and value:
                    lines.append(f"{key} = {json.dumps(value, ensure_ascii=False)}")
            lines.append("")
        descriptor, temporary = tempfile.mkstemp(dir=self.path.parent, prefix=".workspaces-")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
        Path(temporary).replace(self.path)


def default_path() -> Path:
    """The default path of the registry, in the home directory."""
    folder = os.environ.get("XDG_CONFIG_HOME")
    root = Path(folder) if folder else Path.home() / ".config"
    return root / "mycel" / "workspaces.toml"


def _entry(name: str, table: Mapping[str, Any]) -> RemoteEntry:
    entry = RemoteEntry(name=name, **table)
    check_entry(entry)
    return entry


def check_entry(entry: RemoteEntry) -> None:
    """Refuse a name or an address that cannot be used.

    Raises:
        ConstraintViolation, InvalidIdentifier: name or address cannot be used.
    """
    if not _NAME.fullmatch(entry.name):
        raise ConstraintViolation(
            f"{shorten(repr(entry.name))} is not the name of a workspace.",
            hint="It has up to 63 of a-z, 0-9, dot, hyphen and underscore.",
        )
    values: dict[str, object] = asdict(entry)
    if any(not isinstance(value, type(_BLANK[key])) for key, value in values.items()):
        raise ConstraintViolation(
            f"The entry of {entry.name} has a value of a wrong kind.",
            hint="Correct the registry, or add the remote again.",
        )
    if entry.branch:
        check_name(entry.branch)
    if not 0 <= entry.cache_s <= CACHE_S_MAX:
        raise ConstraintViolation(
            f"The cache age of {entry.name} is from 0 to {CACHE_S_MAX} s.",
            hint="Choose a value within these bounds.",
        )
    if not re.fullmatch(r"(ed25519:[0-9a-f]{64})?", entry.key):
        raise ConstraintViolation(
            f"{shorten(repr(entry.key))} is no key.", hint="`mycel key show` prints one."
        )
    if not re.fullmatch(r"(/[^\s\x00-\x1f]*)?", entry.path):
        raise ConstraintViolation(
            f"{shorten(repr(entry.path))} is no path of a workspace.", hint="It is like /infra/**."
        )
    if "://" not in entry.url:
        return
    if is_address(entry.url):
        # Imported late: commands that only list remotes open no graph.
        from mycel.store.opening import check_address  # noqa: PLC0415

        check_address(entry.url)
        return
    parts = urlsplit(entry.url)
    is_right = (
        parts.scheme in ("http", "https")
        and parts.hostname
        and not (parts.username or parts.password or parts.query or parts.fragment)
        and not re.search(r"[\s\x00-\x1f]|\.\.", entry.url)
    )
    if not is_right:
        raise ConstraintViolation(
            f"{shorten(repr(entry.url))} is no address of a workspace.",
            hint="It is like https://host/ws/shop, without a name or token in it, or the path of a"
            " graph.",
        )
