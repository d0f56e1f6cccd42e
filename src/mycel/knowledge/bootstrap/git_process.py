"""Runs Git in a project that may be hostile, and reads its output.

Git uses the repository of the folder, even if environment variables name another one. It runs no
hook and no helper that the configuration of the repository names, and fetches nothing.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

from mycel.knowledge.bootstrap.limits import GIT_SECONDS_MAX

_SETTINGS: Final = (
    "core.fsmonitor=false", f"core.hooksPath={os.devnull}", "core.quotePath=false",
)  # fmt: skip
_UNSET: Final = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"}
)

GitFailure: Final = (OSError, ValueError, subprocess.SubprocessError)
"""The error if Git is missing, cannot take a path, or takes too long."""


def run_git(folder: Path, *words: str) -> bytes | None:
    """The output of a Git command; None if the command failed, or Git is missing."""
    try:
        with start_git(folder, *words) as process:
            try:
                output, _ = process.communicate(timeout=GIT_SECONDS_MAX)
            finally:
                process.kill()
    except GitFailure:
        return None
    return output if process.returncode == 0 else None


def start_git(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start a Git command. The caller reads the output, and kills the process."""
    command = ["git", "--no-optional-locks", "--no-pager", "-C", str(folder)]
    command += [word for setting in _SETTINGS for word in ("-c", setting)]
    environment = {key: value for key, value in os.environ.items() if key not in _UNSET}
    return subprocess.Popen(
        [*command, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment | {"GIT_NO_LAZY_FETCH": "1"},
    )
