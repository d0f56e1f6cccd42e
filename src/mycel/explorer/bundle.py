"""The files of the page in the package.

`assets/` is made from `web/` by `make web`. Only files in its manifest are served, so that no other
file of the folder can be read.
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

from mycel.errors import NotFound

INDEX: Final = "index.html"
APP: Final = "app.html"
LICENSES: Final = "licenses.txt"
MANIFEST: Final = "manifest.json"

_KINDS: Final = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
    "woff2": "font/woff2",
}
_HASHED: Final = re.compile(r"-[0-9A-Za-z_]{8,}\.[a-z0-9.]+$")
_COMPRESSED_BYTES_MIN: Final = 1_000


@dataclass(frozen=True, slots=True)
class Asset:
    """One file of the page, as it is served."""

    content: bytes
    kind: str
    """The media type of the file."""
    tag: str
    """A text that identifies the content of the file."""
    is_hashed: bool
    """True if the name of the file changes with its content."""
    gzipped: bytes | None

    @property
    def is_page(self) -> bool:
        return self.kind.startswith("text/html")


@lru_cache(maxsize=1)
def names() -> frozenset[str]:
    """The names of all files that are served."""
    place = files("mycel.explorer") / "assets" / MANIFEST
    if not place.is_file():
        return frozenset()
    manifest = json.loads(place.read_bytes())
    return frozenset((INDEX, APP, LICENSES, *manifest.get("files", ())))


@lru_cache(maxsize=64)
def asset(name: str) -> Asset:
    """The file with this name.

    Raises:
        NotFound: there is no such file; in a checkout, the page may not be built.
    """
    place = files("mycel.explorer") / "assets" / name
    if name not in names() or not place.is_file():
        hint = "GET /ui/ is the explorer."
        if not names():
            hint = "The explorer is not part of this installation: `make web` builds it."
        raise NotFound("There is no such file of the explorer.", hint=hint)
    content = place.read_bytes()
    kind = _KINDS.get(name.rpartition(".")[2], "application/octet-stream")
    packed = None
    if len(content) >= _COMPRESSED_BYTES_MIN and not kind.startswith("font/"):
        packed = gzip.compress(content, 9, mtime=0)
    return Asset(
        content, kind, sha256(content).hexdigest()[:32], _HASHED.search(name) is not None, packed
    )
