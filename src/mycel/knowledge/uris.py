"""Parses URIs of nodes and brings them into one normal form.

    concept://<workspace>/<path>   a concept
    file://<workspace>/<path>      a file or folder, relative to the root of its workspace
    kip:<Type>/<name>              a concept of KIP whose name is no URI; kip:P:7:treats a relation
    anything else with a scheme    a resource: https://…, urn:…, mailto:…

Texts that mean the same node have one normal form, the name of its concept. Scheme and workspace
are in lower case. A path is decoded once and encoded again. Characters that a path may contain, and
letters of every language, stay readable; others are percent-encoded in UTF-8. `.`, repeated slashes
and one at the end are dropped. `?` and `#` have no special meaning. `concept://ws` is the
workspace.

A path that could lead out of its workspace is refused: `..` in any spelling, encoded slashes,
backslashes, control characters, and `file:///etc/passwd`, which names no workspace.
`workspace_files` checks symbolic links.

A text without a scheme is a path in the workspace of the caller.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple
from urllib.parse import quote, unquote_to_bytes

from mycel.errors import ConstraintViolation, InvalidId, MycelError
from mycel.knowledge.limits import WORKSPACE_CHARACTERS_MAX
from mycel.model.limits import NAME_BYTES_MAX
from mycel.model.names import check_name, shorten
from mycel.store.query import refs

UriKind = Literal["concept", "file"]

CONCEPT: Final = "concept"
FILE: Final = "file"
KIP: Final = "kip"

_WORKSPACE: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}", re.ASCII)
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(//.*)", re.ASCII | re.DOTALL)
_SCHEME_ALONE: Final = re.compile(r"([A-Za-z][A-Za-z0-9+-]+):([^\s:]\S*)", re.ASCII)
"""A pattern of URIs without `//`: `urn:isbn:1`, but not `note: buy milk`, `std::vector`,
`main.py:12` or `C:\\x`."""
_AUTHORITY: Final = re.compile(r"//([^/?#]*)(.*)", re.DOTALL)
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_PLAIN: Final = re.compile(
    r"(?:concept|file)://[a-z0-9][a-z0-9._-]{0,62}(?:/(?!\.\.?(?:/|$))[!$&-.0-;=@-Z_a-z~]+)*",
    re.ASCII,
)
"""A pattern of ordinary concept and file URIs that are in normal form."""
_UNREADABLE: Final = re.compile(r"[^!$&-;=@-Z_a-z~]", re.ASCII)
"""The ASCII characters that are percent-encoded in a path."""


class Uri(NamedTuple):
    """A URI in its normal form, and its parts."""

    text: str
    scheme: str
    workspace: str = ""
    path: str = ""
    """The path of a concept or file, decoded, without a leading slash."""
    is_bare: bool = False
    """True if the text was a path without a scheme."""

    @property
    def is_concept(self) -> bool:
        return self.scheme == CONCEPT

    @property
    def is_file(self) -> bool:
        return self.scheme == FILE

    @property
    def is_kip(self) -> bool:
        return self.scheme == KIP


def check_workspace(name: object) -> str:
    """The name of a workspace, in lower case. Raises InvalidId."""
    folded = name.lower() if isinstance(name, str) else ""
    if not _WORKSPACE.fullmatch(folded):
        raise InvalidId(
            f"{shorten(repr(name))} is not the name of a workspace.",
            hint="It has up to 63 letters, digits, dots, hyphens and underscores, and begins with a"
            " letter or digit: my-project.",
        )
    return folded


def workspace_named(text: str) -> str:
    """A valid workspace name made from a text, such as the name of a folder.

    >>> workspace_named("My Project (2)")
    'my-project-2'
    """
    name = re.sub(r"[^a-z0-9._]+", "-", text.lower(), flags=re.ASCII)
    return name.strip("-._")[:WORKSPACE_CHARACTERS_MAX] or "workspace"


def parse(text: object, workspace: str, *, kind: UriKind = "concept") -> Uri:
    """The URI of a text; a text without a scheme is a path in `workspace`.

    >>> parse("auth/login", "shop").text
    'concept://shop/auth/login'
    >>> parse("src/a b.py", "shop", kind="file").text
    'file://shop/src/a%20b.py'

    Raises:
        InvalidId: the text is no URI, or leads out of its workspace.
    """
    if not isinstance(text, str) or not text.strip():
        raise InvalidId(
            f"{shorten(repr(text))} is not a URI.",
            hint="Name a node by a URI or a path, such as concept://workspace/auth/login.",
        )
    if match := _SURROGATE.search(text):
        raise InvalidId(
            f"The URI {shorten(ascii(text))} holds the lone surrogate {match[0]!a}, which is no"
            " character.",
            hint="Write the whole character, or leave it out.",
        )
    scheme, rest = _split(text.strip())
    if scheme == KIP:  # A name in a `kip:` URI keeps its spaces and line breaks.
        uri = Uri(f"{KIP}:{text.lstrip()[len(KIP) + 1 :]}", KIP)
        check_name(uri.text)
        return uri
    stripped = text.strip()
    if match := _CONTROL.search(stripped):
        raise InvalidId(
            f"The URI {_quote(stripped)} holds the control character {match[0]!a}.",
            hint="Leave it out.",
        )
    match scheme:
        case "":
            uri = build(kind, workspace, _decoded(stripped, stripped))._replace(is_bare=True)
        case "concept" | "file":
            uri = _of_workspace(scheme, rest, stripped)
        case _:
            uri = Uri(f"{scheme}:{_elsewhere(rest)}", scheme)
    check_name(uri.text)
    return uri


def build(scheme: UriKind, workspace: str, path: str) -> Uri:
    """The URI of a concept or file, from a path that is not encoded.

    >>> build("file", "shop", "docs/50% off?.md").text
    'file://shop/docs/50%25%20off%3F.md'
    """
    if len(path) > NAME_BYTES_MAX:
        raise ConstraintViolation(
            f"A path of {len(path)} characters is too long; a URI has at most"
            f" {NAME_BYTES_MAX} bytes.",
            hint="Name it by a shorter path, and put long text into its content.",
        )
    segments = []
    for segment in path.split("/"):
        _check_segment(segment, path)
        if segment not in ("", "."):
            segments.append(segment)
    decoded = "/".join(segments)
    encoded = _UNREADABLE.sub(_percent, decoded)
    return Uri(f"{scheme}://{workspace}{encoded and '/' + encoded}", scheme, workspace, decoded)


def kip_identity(uri: Uri) -> tuple[str, str] | str:
    """The type and name in a `kip:` URI, or the id in it."""
    identity = refs.kip_identity(uri.text)
    if identity is None:
        raise InvalidId(
            f"{_quote(uri.text)} names no element.", hint="Write kip:Type/name, or kip:P:7:treats."
        )
    return identity


def uri_of(type_name: str, name: str) -> str:
    """The URI of a concept: its name if that is a URI in normal form, otherwise `kip:type/name`.

    >>> uri_of("Concept", "concept://shop/auth"), uri_of("Note", "Tea")
    ('concept://shop/auth', 'kip:Note/Tea')
    >>> uri_of("Resource", "https://Example.org/a")
    'kip:Resource/https://Example.org/a'
    """
    is_uri = "://" in name or (type_name == "Resource" and ":" in name and " " not in name)
    if is_uri and (_PLAIN.fullmatch(name) or _is_normal(name)):
        return name
    return f"{KIP}:{type_name}/{name}"


def _is_normal(name: str) -> bool:
    try:
        uri = parse(name, "")
    except MycelError:
        return False
    return uri.text == name and not uri.is_kip


def _split(text: str) -> tuple[str, str]:
    """The scheme in lower case and the rest after its colon; "" and the text without a scheme."""
    if text[:4].lower() == "kip:":
        return KIP, text[4:]
    match = _SCHEME.fullmatch(text) or _SCHEME_ALONE.fullmatch(text)
    return ("", text) if match is None else (match[1].lower(), match[2])


def _of_workspace(scheme: UriKind, rest: str, original: str) -> Uri:
    match = _AUTHORITY.fullmatch(rest)
    if match is None or not match[1]:
        raise InvalidId(
            f"{_quote(original)} names no workspace.",
            hint=f"Write {scheme}://workspace/path; the path is relative to the root of the"
            " workspace.",
        )
    return build(scheme, check_workspace(match[1]), _decoded(match[2], original))


def _decoded(path: str, original: str) -> str:
    if "%" not in path:
        return path
    lowered = path.lower()
    if "%2f" in lowered or "%5c" in lowered:
        raise InvalidId(
            f"The URI {_quote(original)} holds an encoded slash or backslash.",
            hint="Separate the parts of a path with plain slashes.",
        )
    try:
        return unquote_to_bytes(path).decode()
    except UnicodeDecodeError:
        raise InvalidId(
            f"The percent-encoded bytes in {_quote(original)} are not UTF-8.",
            hint="Encode the UTF-8 bytes of a character, or write the character itself.",
        ) from None


def _check_segment(segment: str, path: str) -> None:
    if segment == "..":
        raise InvalidId(
            f"The path {_quote(path)} leads up with '..'.",
            hint="Name it by its path from the root of the workspace, without '..'.",
        )
    if "\\" in segment:
        raise InvalidId(
            f"The path {_quote(path)} holds a backslash.",
            hint="Separate the parts of a path with plain slashes.",
        )
    if match := _CONTROL.search(segment):
        raise InvalidId(
            f"The path {_quote(path)} holds the control character {match[0]!a}.",
            hint="Leave it out.",
        )


def _percent(match: re.Match[str]) -> str:
    character = match[0]
    is_letter = not character.isascii() and character.isprintable()
    return character if is_letter else quote(character, safe="")


def _elsewhere(rest: str) -> str:
    """The rest of a resource URI, with encoded spaces, and the host in lower case."""
    rest = rest.replace(" ", "%20")
    match = _AUTHORITY.fullmatch(rest)
    if not (rest if match is None else match[1] + match[2]).strip("/"):
        raise InvalidId(
            "The URI has a scheme and nothing else.",
            hint="Write the path after it, such as concept://shop/login.",
        )
    if match is None:
        return rest
    user, at, host = match[1].rpartition("@")
    return f"//{user}{at}{host.lower()}{match[2]}"


def _quote(text: str) -> str:
    return repr(shorten(text))
