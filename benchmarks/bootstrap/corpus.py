"""A project in Python of 3,000 files, in a Git repository.

The files come from the standard library and the installed packages of the running Python, in the
order of their paths. Very short and very long files are left out, so that a file has about 6 KB on
average, as in large projects. Another machine gives another project, so figures of two machines are
not comparable.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

FILES: Final = 3_000
BYTES_MIN: Final = 200
BYTES_MAX: Final = 20_000
_LEFT_OUT: Final = {"__pycache__", "site-packages"}


class Corpus(NamedTuple):
    """The project, with counts of its files and bytes."""

    root: Path
    files: int
    bytes: int


def make(root: Path) -> Corpus:
    """Copy the files into a new repository."""
    root.mkdir(parents=True)
    size = count = 0
    for base in ("stdlib", "purelib"):
        above = Path(sysconfig.get_path(base))
        for path in _sources(above):
            if count == FILES:
                break
            target = root / base / path.relative_to(above)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            size += target.stat().st_size
            count += 1
    for words in (["init", "-q"], ["add", "-f", "."]):
        subprocess.run(["git", "-C", str(root), *words], check=True)
    return Corpus(root, count, size)


def _sources(above: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(above):
        folders[:] = sorted(set(folders) - _LEFT_OUT)
        for name in sorted(names):
            path = Path(folder, name)
            if name.endswith(".py") and BYTES_MIN <= path.stat().st_size <= BYTES_MAX:
                yield path
