"""The files of a workspace that a server may show to others.

These are the files that a bootstrap reads, which excludes files that `.gitignore` names. Hidden
files and databases are left out too, and so are files whose name or content suggests a secret.
"""

from __future__ import annotations

import re
import threading
from pathlib import Path
from time import monotonic
from typing import Final

from mycel.errors import NotFound
from mycel.knowledge.bootstrap import file_walk
from mycel.knowledge.node_values import ResourceContent
from mycel.model.names import shorten

LISTED_S: Final = 5.0
"""The seconds for which a list of the files is reused."""

_SECRET: Final = re.compile(
    r"""(?ix)
    (?: .*\.(?:pem|key|p12|pfx|p8|jks|keystore|kdbx?|ppk|gpg|asc|age|ovpn|token|secret|secrets|env
             |htpasswd|db|sqlite3?|db-wal|db-shm|db-journal|sqlite3?-(?:wal|shm|journal))
    | id_(?:rsa|dsa|ecdsa|ed25519).* | .*_(?:rsa|dsa|ecdsa|ed25519)
    | (?:token|secret|password|passwd|credential|api_?key)s?(?:\..*)? | htpasswd | authorized_keys
    )""",
)
"""Patterns for names of files that hold secrets, or a graph."""
_KEY: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY")


class PublishedFiles:
    """The files below a root that others may read."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._listed: frozenset[str] = frozenset()
        self._listed_at = float("-inf")

    def check(self, path: str) -> None:
        """Check that others may read the file at a path, which starts at the root.

        Raises:
            NotFound: others may not read the file, or it does not exist; both give the same error.
        """
        parts = path.split("/")
        is_hidden = any(part.startswith(".") for part in parts)
        if is_hidden or _SECRET.fullmatch(parts[-1]) or path not in self._files():
            raise _missing(path)

    def check_content(self, content: ResourceContent) -> None:
        """Check that the content of a file has no private key.

        Raises:
            NotFound: the content has a private key.
        """
        if content.text is not None and _KEY.search(content.text):
            raise _missing(content.path)

    def _files(self) -> frozenset[str]:
        with self._lock:
            if monotonic() - self._listed_at > LISTED_S:
                file_list = file_walk.walk(self._root, lambda _path, _why: None)
                self._listed, self._listed_at = frozenset(file_list.files), monotonic()
            return self._listed


def _missing(path: str) -> NotFound:
    return NotFound(
        f"There is no file {shorten(path, 200)!r} that this server may show.",
        hint="Hidden files, keys, databases and files that .gitignore names are not shown.",
    )
