"""Every limit of a bootstrap, in one place."""

from __future__ import annotations

from typing import Final

FILE_BYTES_MAX: Final = 1 << 20
"""The default size limit; a larger file gets a node without symbols."""

FILES_MAX: Final = 1_000_000
"""The maximum number of files of a project; more files probably mean the root of a disk."""

DEPTH_MAX: Final = 200
"""The largest depth of folders, where Git does not list the files."""

ROWS_IN_TRANSACTION: Final = 150_000
"""The number of rows in a transaction, after which others can write."""

EXTERNAL_MAX: Final = 100
"""The maximum number of modules or pages outside the project that are listed at a file."""

JOBS_MAX: Final = 64

JOBS_DEFAULT: Final = 2
"""The number of processes that read files; fewer than 100 files take one process."""

IGNORE_FILE_BYTES_MAX: Final = 1 << 20
"""The maximum number of bytes of a `.gitignore` that are read."""

IGNORE_PATTERNS_MAX: Final = 10_000
"""The maximum number of patterns that apply, from all `.gitignore` files of a project together."""

GIT_SECONDS_MAX: Final = 120.0

AUTHOR_SECONDS_MAX: Final = 10.0
"""The time limit for reading the history of a repository; the newest commits come first."""

FILE_AUTHORS_MAX: Final = 3
FOLDER_AUTHORS_MAX: Final = 5
"""The maximum number of authors that are listed at a file or folder."""
