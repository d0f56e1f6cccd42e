"""Paths of files in a mirror. A path follows from the URI of its concept alone.

    concept://shop/auth/login       concepts/shop/auth/login.md
    file://shop/src/a.py            resources/file/shop/src/a.py.md
    https://example.org/docs        resources/https/example.org/docs.md
    kip:Person/Ada                  kip/Person/76/Ada~76af6f.md

Different URIs have different paths, even on file systems that ignore case, normalise Unicode or
reserve names. A segment that such a file system could confuse with another one gets `~` and six
characters of its SHA-256. A segment of more than 80 bytes is cut and gets 16 characters of the
hash, because many long names may begin alike. A name with `~` gets a hash too, so no name can
imitate one.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from hashlib import sha256
from typing import Final

from mycel.errors import MycelError
from mycel.knowledge.uris import Uri, build, kip_identity, parse

CONCEPTS: Final = "concepts"
RESOURCES: Final = "resources"
KIP: Final = "kip"
SCHEMA: Final = "schema"
DOCUMENT_FOLDERS: Final = (CONCEPTS, RESOURCES, KIP)
FOLDERS: Final = (*DOCUMENT_FOLDERS, SCHEMA)
"""The folders of a mirror that hold knowledge."""

DOCUMENT: Final = ".md"
DECLARATION: Final = ".pg"
_TOPS: Final = tuple(f"{folder}/" for folder in FOLDERS)
SEGMENT_BYTES_MAX: Final = 80
PATH_BYTES_MAX: Final = 230
"""A longer path is replaced by a short one with a hash."""

_SHORT: Final = 6
_LONG: Final = 16
_PLAIN: Final = re.compile(r"[a-z0-9_!#$%&'()+,;=@^{}\[\] -]+(?:\.[a-z0-9_-]+)*", re.ASCII)
_UNSAFE: Final = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f-\x9f]')
_RESERVED: Final = re.compile(
    r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?:\..*)?", re.IGNORECASE
)
"""Names of devices, which Windows has in every folder."""


def path_of(uri: str) -> str:
    """The path of the file of a URI in its normal form.

    >>> path_of("concept://shop/auth/login")
    'concepts/shop/auth/login.md'
    >>> path_of("concept://shop/Auth")
    'concepts/shop/Auth~8eb3ea.md'
    """
    parsed = _parsed(uri)
    if parsed.is_kip:
        return _kip_path(parsed)
    if parsed.workspace:
        top = CONCEPTS if parsed.is_concept else f"{RESOURCES}/{parsed.scheme}"
        segments = [parsed.workspace, *(parsed.path.split("/") if parsed.path else ())]
    else:
        top = f"{RESOURCES}/{parsed.scheme}"
        rest = uri.partition(":")[2]
        segments = rest[2:].split("/") if rest.startswith("//") else [rest]
    return _joined(top, segments, uri)


def uri_of_path(path: str) -> str | None:
    """The URI that a path gives to a new file which has no `uri`; None if it gives none.

    >>> uri_of_path("concepts/shop/My idea.md")
    'concept://shop/My%20idea'
    """
    top, _, rest = path.removesuffix(DOCUMENT).partition("/")
    # `~` marks the hash of a name, so the path gives no URI.
    if top != CONCEPTS or not rest or "~" in rest:
        return None
    workspace, _, inner = rest.partition("/")
    try:
        return build("concept", workspace, inner).text
    except MycelError:
        return None


def is_document(path: str) -> bool:
    """True if the path is one of the mirror; other files belong to the user."""
    return path.startswith(_TOPS) and path.endswith((DOCUMENT, DECLARATION))


def declaration_path(name: str, *, is_shared: bool) -> str:
    """The path of the declaration of a type; `is_shared` if another name differs only in case.

    >>> declaration_path("Person", is_shared=False)
    'schema/Person.pg'
    """
    tail = f"~{_hash(name)[:_SHORT]}" if is_shared or _RESERVED.fullmatch(name) else ""
    return f"{SCHEMA}/{_cut(name)}{tail}{DECLARATION}"


def _parsed(uri: str) -> Uri:
    return parse(uri, "")


def _kip_path(uri: Uri) -> str:
    identity = kip_identity(uri)
    type_name, name = ("", identity) if isinstance(identity, str) else identity
    hashed = _hash(uri.text)
    visible = _UNSAFE.sub("_", name)
    if _RESERVED.fullmatch(visible):
        visible = f"_{visible}"
    short_name = _cut(visible)
    length = _SHORT if short_name == visible else _LONG
    folder = _cut(type_name)
    if folder != type_name or _RESERVED.fullmatch(folder) or folder.endswith("."):
        folder = f"{folder}~{_hash(type_name)[:_SHORT]}"
    return f"{KIP}/{folder}/{hashed[:2]}/{short_name}~{hashed[:length]}{DOCUMENT}"


def _joined(top: str, segments: list[str], uri: str) -> str:
    *folders, last = segments
    path = "/".join([top, *(_folder(folder) for folder in folders), _segment(last)]) + DOCUMENT
    if len(path.encode()) <= PATH_BYTES_MAX:
        return path
    hashed = _hash(uri)
    return f"{top}/~/{hashed[:2]}/{_cut(_UNSAFE.sub('_', last))}~{hashed[:_LONG]}{DOCUMENT}"


@lru_cache(maxsize=4096)
def _folder(segment: str) -> str:
    """A segment as the name of a folder, which must differ from the names of files beside it."""
    return _segment(segment, is_clear=not segment.endswith(DOCUMENT))


def _segment(segment: str, *, is_clear: bool = True) -> str:
    if (
        is_clear
        and (_PLAIN.fullmatch(segment) or _is_unmistakable(segment))
        and segment[0] != " "
        and not segment.endswith((" ", "."))
        and len(segment.encode()) <= SEGMENT_BYTES_MAX
        and not _RESERVED.fullmatch(segment)
    ):
        return segment
    visible = _UNSAFE.sub("_", segment)
    if _RESERVED.fullmatch(visible):  # On Windows, `nul` with any suffix is a device.
        visible = f"_{visible}"
    short_name = _cut(visible)
    length = _SHORT if short_name == visible else _LONG
    return f"{short_name}~{_hash(segment)[:length]}"


def _is_unmistakable(segment: str) -> bool:
    """True if no file system can confuse the name with another one."""
    return (
        segment.isprintable()
        and not segment.startswith(".")
        and "~" not in segment
        and not _UNSAFE.search(segment)
        and segment == segment.casefold() == segment.lower()
        and all(unicodedata.is_normalized(form, segment) for form in ("NFC", "NFKC"))
        and bool(segment)
    )


def _cut(text: str) -> str:
    return text.encode()[:SEGMENT_BYTES_MAX].decode(errors="ignore")


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
