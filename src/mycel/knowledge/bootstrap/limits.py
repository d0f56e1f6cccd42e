"""Every bound of a bootstrap, in one place."""

from __future__ import annotations

from typing import Final

FILE_BYTES_MAX: Final = 1 << 20
"""Larger files are resources without content, unless told otherwise."""

FILES_MAX: Final = 1_000_000
"""More files than this are no project: somebody has named the root of a disk."""

DEPTH_MAX: Final = 200
"""How deep folders are looked into where Git does not list them."""

ROWS_IN_TRANSACTION: Final = 150_000
"""How much is written before others have their turn."""

EXTERNAL_MAX: Final = 100
"""How many modules or pages outside the project are named at a file."""

PARAGRAPH_CHARACTERS_MAX: Final = 1_000
"""How much of a README becomes the content of its folder."""

JOBS_MAX: Final = 64

GIT_SECONDS_MAX: Final = 120.0
