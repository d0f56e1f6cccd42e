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

PARAGRAPH_CHARACTERS_MAX: Final = 1_000
"""Characters of a README that become the content of its folder."""

JOBS_MAX: Final = 64

GIT_SECONDS_MAX: Final = 120.0
