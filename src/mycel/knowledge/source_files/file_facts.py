"""Reads one file: size, time, hash, lines, facts of its source."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from hashlib import blake2b
from typing import Final

import orjson

from mycel.knowledge.code.file_analysis import LANGUAGES, analyse, bytes_max_of, missing_extra
from mycel.knowledge.code.file_kinds import detect, is_binary
from mycel.knowledge.code.source_facts import FileFacts, decode, encode
from mycel.knowledge.documents.document_reading import PDF
from mycel.store.file.plain_files import PlainFile, read_plain, reason_of

PARAGRAPH_CHARACTERS_MAX: Final = 1_000
"""The maximum number of characters of a README that become the content of its folder."""

_HEAD_BYTES: Final = 8 << 10

_README: Final = re.compile(r"readme(\.(md|markdown|rst|txt|adoc))?", re.IGNORECASE)
_BADGES: Final = re.compile(r"^\s*(\[?!\[|<[!/a-zA-Z]|\.\. |:\w+:|---|===|\|)")
_UNDERLINE: Final = re.compile(r"[=\-~^#*]{3,}\s*")


@dataclass(frozen=True, slots=True)
class FileRead:
    """The result of reading a file. If it could not be read, `problem` has the reason."""

    path: str
    size: int = 0
    mtime_ns: int = 0
    hash: int = 0
    file_type: str = ""
    mime_type: str = ""
    line_count: int | None = None
    facts: FileFacts | None = None
    paragraph: str = ""
    """The first paragraph of a README."""
    problem: str = ""
    lacks_parser: bool = False
    """True if the file was not analysed because an extra is not installed."""


_PLAIN_FIELDS: Final = tuple(
    field.name for field in fields(FileRead) if field.name not in ("path", "facts")
)


def read_file(root: str, path: str, *, bytes_max: int) -> FileRead:
    """Read a file. It never raises: a failure is the `problem` of the result."""
    bytes_max = bytes_max_of(detect(path).language, bytes_max)
    try:
        # One byte more than the limit shows that a file is too large, even if it grows meanwhile.
        file = read_plain(f"{root}/{path}", bytes_max + 1)
    except (OSError, ValueError) as error:
        return FileRead(path, problem=reason_of(error))
    if max(file.status.st_size, len(file.data)) > bytes_max:
        return _large(path, file)
    read, language = _plain(path, file)
    is_text = read.line_count is not None
    if language not in LANGUAGES or not (is_text or language == PDF):
        return read
    facts = analyse(path, file.data, language)
    return replace(read, facts=facts, lacks_parser=bool(facts.note and missing_extra(language)))


def read_unanalysed(root: str, path: str, *, bytes_max: int, note: str) -> FileRead:
    """Read a file without analysing it; `note` has the reason."""
    try:
        file = read_plain(f"{root}/{path}", bytes_max)
    except (OSError, ValueError) as error:
        return FileRead(path, problem=reason_of(error))
    read, language = _plain(path, file)
    return replace(read, facts=FileFacts(language, note=note))


def _plain(path: str, file: PlainFile) -> tuple[FileRead, str]:
    """The result for a file without facts, and the language of the file."""
    status, data = file
    kind = detect(path, data[:_HEAD_BYTES])
    is_text = not is_binary(data)
    read = FileRead(
        path,
        status.st_size,
        status.st_mtime_ns,
        _hash(data),
        kind.file_type,
        kind.mime_type,
        line_count(data) if is_text else None,
        paragraph=first_paragraph(data) if is_text and is_readme(path) else "",
    )
    return read, kind.language


def _large(path: str, file: PlainFile) -> FileRead:
    status = file.status
    kind = detect(path, file.data[:_HEAD_BYTES])
    # A hash of the whole content would take too long.
    mark = f"{status.st_size} {status.st_mtime_ns}".encode()
    return FileRead(
        path, status.st_size, status.st_mtime_ns, _hash(mark), kind.file_type, kind.mime_type
    )


def encode_read(read: FileRead) -> bytes:
    """The result as bytes: a line of JSON without path and facts, and then the facts."""
    values = [getattr(read, name) for name in _PLAIN_FIELDS]
    facts = b"" if read.facts is None else encode(read.facts)
    return orjson.dumps(values) + b"\n" + facts


def decode_read(path: str, encoded: bytes) -> FileRead | None:
    """The result that `encode_read` wrote; None if it is damaged."""
    line, _, facts = encoded.partition(b"\n")
    try:
        values = dict(zip(_PLAIN_FIELDS, orjson.loads(line), strict=True))
        return FileRead(path, facts=decode(facts) if facts else None, **values)
    except (ValueError, TypeError):
        return None


def _hash(data: bytes) -> int:
    """A hash as a number, since texts in attributes are indexed for search."""
    return int.from_bytes(blake2b(data, digest_size=7).digest())


def line_count(data: bytes) -> int:
    r"""The number of lines; the last may lack its line break.

    >>> line_count(b"a\nb"), line_count(b"a\n"), line_count(b"")
    (2, 1, 0)
    """
    return data.count(b"\n") + (not data.endswith(b"\n") if data else 0)


def is_readme(path: str) -> bool:
    """True if a file is the README of its folder."""
    return _README.fullmatch(path.rpartition("/")[2]) is not None


def first_paragraph(data: bytes) -> str:
    r"""The first paragraph of a README, without title and badges.

    >>> first_paragraph(b"# Shop\n\n[![ci](x)](y)\n\nSells things\nto people.\n\nMore.")
    'Sells things to people.'
    """
    paragraph: list[str] = []
    lines = data[: _HEAD_BYTES * 2].decode("utf-8-sig", "replace").splitlines()
    for at, line in enumerate(lines):
        under = lines[at + 1] if at + 1 < len(lines) else ""
        is_title = line.startswith("#") or bool(_UNDERLINE.fullmatch(line))
        is_title = is_title or (not paragraph and bool(_UNDERLINE.fullmatch(under)))
        if not line.strip() or is_title or _BADGES.match(line):
            if paragraph:
                break
            continue
        paragraph.append(line.strip())
    text = " ".join(paragraph)
    return text if len(text) <= PARAGRAPH_CHARACTERS_MAX else text[:PARAGRAPH_CHARACTERS_MAX] + "…"
