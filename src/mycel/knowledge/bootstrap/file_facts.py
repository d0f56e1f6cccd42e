"""Reads files: size, time, hash, lines, facts of the source. Several processes can do it."""

from __future__ import annotations

import gc
import os
import re
import signal
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Final

from mycel.errors import ResourceExhausted
from mycel.knowledge.bootstrap.file_walk import reason_of
from mycel.knowledge.bootstrap.limits import PARAGRAPH_CHARACTERS_MAX
from mycel.knowledge.code.file_analysis import LANGUAGES, analyse
from mycel.knowledge.code.languages import detect, is_binary
from mycel.knowledge.code.source_facts import FileFacts
from mycel.knowledge.workspace_files import READ_FLAGS

_HEAD_BYTES: Final = 8 << 10
_FILES_AT_ONCE: Final = 32
"""Files of one task of a worker, and of one collection of syntax trees."""

_README: Final = re.compile(r"readme(\.(md|markdown|rst|txt|adoc))?", re.IGNORECASE)
_BADGES: Final = re.compile(r"^\s*(\[?!\[|<[!/a-zA-Z]|\.\. |:\w+:|---|===|\|)")
_UNDERLINE: Final = re.compile(r"[=\-~^#*]{3,}\s*")


@dataclass(frozen=True, slots=True)
class FileRead:
    """The result of reading a file; `problem` tells why it could not be read."""

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


def read_all(
    root: Path, paths: Iterable[str], *, bytes_max: int, jobs: int = 1
) -> Iterator[FileRead]:
    """Read files in the order of their paths, with `jobs` processes."""
    one = partial(read_file, str(root), bytes_max=bytes_max)
    if jobs <= 1:
        for at, path in enumerate(paths, 1):
            yield one(path)
            if at % _FILES_AT_ONCE == 0:
                # Syntax trees are large cycles. The youngest generation holds only the last few.
                gc.collect(0)
        return
    # Late: only needed for several jobs.
    from concurrent.futures import BrokenExecutor, ProcessPoolExecutor  # noqa: PLC0415
    from multiprocessing import get_context  # noqa: PLC0415

    # Spawned, not forked: a database is open here, and locks are held. Workers ignore Ctrl-C.
    with ProcessPoolExecutor(
        jobs, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN)
    ) as pool:
        try:
            yield from pool.map(one, list(paths), chunksize=_FILES_AT_ONCE)
        except BrokenExecutor:
            raise ResourceExhausted(
                "One of the processes that read files has died; nothing was written.",
                hint="There may be too little memory: use fewer jobs, or a smaller --max-size.",
            ) from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def read_file(root: str, path: str, *, bytes_max: int) -> FileRead:
    """Read a file. Never raises: a failure is the `problem` of the result."""
    try:
        descriptor = os.open(f"{root}/{path}", READ_FLAGS)
    except (OSError, ValueError) as error:
        return FileRead(path, problem=reason_of(error))
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return FileRead(path, problem="no regular file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            if status.st_size > bytes_max:
                return _large(path, status, file.read(_HEAD_BYTES))
            # One byte more: a file that grows meanwhile counts as large.
            data = file.read(bytes_max + 1)
    except OSError as error:
        return FileRead(path, problem=reason_of(error))
    finally:
        os.close(descriptor)
    if len(data) > bytes_max:
        return _large(path, status, data[:_HEAD_BYTES])
    return _small(path, status, data)


def _small(path: str, status: os.stat_result, data: bytes) -> FileRead:
    kind = detect(path, data[:_HEAD_BYTES])
    text = not is_binary(data)
    known = text and kind.language in LANGUAGES
    return FileRead(
        path,
        status.st_size,
        status.st_mtime_ns,
        _hash(data),
        kind.file_type,
        kind.mime_type,
        line_count(data) if text else None,
        analyse(path, data, kind.language) if known else None,
        first_paragraph(data) if text and is_readme(path) else "",
    )


def _large(path: str, status: os.stat_result, head: bytes) -> FileRead:
    kind = detect(path, head)
    # A hash of the whole content would take too long.
    seen = f"{status.st_size} {status.st_mtime_ns}".encode()
    return FileRead(
        path, status.st_size, status.st_mtime_ns, _hash(seen), kind.file_type, kind.mime_type
    )


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
    found: list[str] = []
    lines = data[: _HEAD_BYTES * 2].decode("utf-8-sig", "replace").splitlines()
    for at, line in enumerate(lines):
        under = lines[at + 1] if at + 1 < len(lines) else ""
        is_title = line.startswith("#") or bool(_UNDERLINE.fullmatch(line))
        is_title = is_title or (not found and bool(_UNDERLINE.fullmatch(under)))
        if not line.strip() or is_title or _BADGES.match(line):
            if found:
                break
            continue
        found.append(line.strip())
    text = " ".join(found)
    return text if len(text) <= PARAGRAPH_CHARACTERS_MAX else text[:PARAGRAPH_CHARACTERS_MAX] + "…"
