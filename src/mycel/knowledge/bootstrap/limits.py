"""Every bound of a bootstrap, in one place."""

from __future__ import annotations

from typing import Final

FILE_BYTES_MAX: Final = 1 << 20
"""Larger files get a node without symbols, by default."""

FILES_MAX: Final = 1_000_000
"""Files of a project; more are likely the root of a disk."""

DEPTH_MAX: Final = 200
"""Depth of folders, where Git does not list the files."""

ROWS_IN_TRANSACTION: Final = 150_000
"""Rows of one transaction; others can write in between."""

EXTERNAL_MAX: Final = 100
"""Modules or pages outside the project listed at a file."""

JOBS_MAX: Final = 64

JOBS_DEFAULT: Final = 2
"""Processes that read files; fewer than 100 files are read by one."""

IGNORE_FILE_BYTES_MAX: Final = 1 << 20
"""Bytes of a `.gitignore` that are read."""

IGNORE_PATTERNS_MAX: Final = 10_000
"""Patterns of all `.gitignore` files of a project together that apply."""

GIT_SECONDS_MAX: Final = 120.0

AUTHOR_SECONDS_MAX: Final = 10.0
"""Time for reading the history of a repository, newest commits first."""

FILE_AUTHORS_MAX: Final = 3
FOLDER_AUTHORS_MAX: Final = 5
"""Authors listed at a file and at a folder."""
