"""Lists the files of a project with their sizes and times; reads none of them.

In a Git repository these are the tracked files, and the untracked ones that are neither ignored nor
in a folder such as `node_modules`. No hook and no helper of the repository's configuration runs.
Elsewhere folders are walked, `.gitignore` files apply as in Git, and folders without sources are
left out.

Symbolic links are never followed. A repository inside the repository is a project of its own.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from mycel.errors import ConstraintViolation, DatabaseError, NotFound, ResourceExhausted
from mycel.knowledge.bootstrap.git_process import run_git
from mycel.knowledge.bootstrap.limits import (
    DEPTH_MAX,
    FILES_MAX,
    IGNORE_FILE_BYTES_MAX,
    IGNORE_PATTERNS_MAX,
)
from mycel.model.extras import install_command
from mycel.model.names import is_unicode, shorten
from mycel.store.file.plain_files import read_plain, reason_of

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORED_FOLDERS: Final = frozenset(
    {".git", ".hg", ".svn", ".jj", "node_modules", "bower_components", "__pycache__", ".venv",
     "venv", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis",
     "site-packages", ".eggs", "target", "dist", "build", ".gradle", ".idea", ".vs", ".next",
     ".nuxt", ".svelte-kit", ".terraform", ".cache", "coverage", "htmlcov", ".direnv"}
)  # fmt: skip
"""Folders that are left out, unless Git tracks files in them."""

_UNTRACKED: Final = "?"

_PATTERN_CHARACTERS_MAX: Final = 1_000
_PATTERNS_AT_ONCE: Final = 200

IGNORED_FILES: Final = frozenset((".DS_Store", "Thumbs.db", "desktop.ini"))

Skip = Callable[[str, str], object]
"""A function that is called for each skipped path, with the reason."""


class Entry(NamedTuple):
    """Size and modification time of a regular file."""

    size: int
    mtime_ns: int


class FileList(NamedTuple):
    """The files below a folder."""

    files: dict[str, Entry]
    unreadable: list[str]
    """The folders that cannot be listed."""
    left_out: set[str]
    """The ignored folders; in a repository, only those that Git itself does not ignore."""


def check_folder(path: Path) -> Path:
    """The path of a folder after checks, with symbolic links resolved.

    Raises:
        NotFound: there is no such folder.
        ConstraintViolation: the path is not a folder.
        DatabaseError: the folder cannot be listed.
    """
    try:
        folder = path.resolve()
        status = folder.stat()
        if not stat.S_ISDIR(status.st_mode):
            raise ConstraintViolation(
                f"{_format_path(path)} is no folder.", hint="Name the folder of a project."
            )
        with os.scandir(folder) as entries:
            next(entries, None)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(
            f"There is no folder {_format_path(path)}.", hint="Name an existing folder."
        ) from None
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DatabaseError(
            f"{_format_path(path)} cannot be listed: {reason}.",
            hint="Check the path and its permissions.",
        ) from None
    return folder


def walk(folder: Path, skip: Skip) -> FileList:
    """The files below a folder by their relative paths, with slashes.

    Raises:
        NotFound, DatabaseError: the folder is gone, or cannot be listed.
        ResourceExhausted: there are too many files.
    """
    check_folder(folder)
    unreadable: list[str] = []
    left_out: set[str] = set()
    names: Iterable[str] | None = _listed_by_git(folder, skip, left_out)
    if names is None:
        names = _walked(folder, skip, unreadable, left_out)
    files: dict[str, Entry] = {}
    above = str(folder)
    for name in names:
        entry = _look(above, name, skip)
        if entry is not None:
            files[name] = entry
            if len(files) > FILES_MAX:
                raise ResourceExhausted(
                    f"There are more than {FILES_MAX:,} files below {_format_path(folder)}.",
                    hint="Name the folder of one project, or leave more out with a .gitignore.",
                )
    return FileList(files, unreadable, left_out)


def _look(above: str, name: str, skip: Skip) -> Entry | None:
    """Size and time of a regular file; None for anything else."""
    if not is_unicode(name):
        skip(name, "its name is not UTF-8")
        return None
    try:
        status = os.lstat(f"{above}/{name}")
    except FileNotFoundError:  # Git still lists a file that was just removed.
        return None
    except (OSError, ValueError) as error:
        skip(name, reason_of(error))
        return None
    if stat.S_ISREG(status.st_mode):
        return Entry(status.st_size, status.st_mtime_ns)
    if stat.S_ISLNK(status.st_mode):
        skip(name, "a symbolic link")
    elif stat.S_ISDIR(status.st_mode):
        skip(name, "a repository of its own")
    else:
        skip(name, "no regular file")
    return None


def is_gone(root: Path, path: str) -> bool:
    """True only if it is certain that nothing exists at a path."""
    try:
        os.lstat(root / path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


def is_out_of_sight(root: Path, path: str) -> bool:
    """True if permissions hide the file at a path."""
    return not os.path.lexists(root / path) and not is_gone(root, path)


# Git.


def _listed_by_git(folder: Path, skip: Skip, left_out: set[str]) -> list[str] | None:
    """The files of the folder that Git lists.

    None outside a repository, or if Git ignores everything. Folders such as `node_modules` that Git
    does not ignore are added to `left_out`.
    """
    output = run_git(folder, "ls-files", "-c", "-o", "-t", "--exclude-standard", "-z")
    if not output:
        return None
    # During a merge, a file is listed once for each side.
    lines = dict.fromkeys(os.fsdecode(output).split("\0")[:-1])
    names: list[str] = []
    for mark, name in ((line[0], line[2:]) for line in lines):
        vendored = _vendored(name) if mark == _UNTRACKED else None
        if vendored is not None:
            left_out.add(vendored)
        elif name.endswith("/"):
            skip(name.rstrip("/"), "a repository of its own")
        else:
            names.append(name)
    return names


def _vendored(name: str) -> str | None:
    """The outermost of `IGNORED_FOLDERS` above a file that Git does not track; None without one."""
    folders = name.split("/")[:-1]
    if IGNORED_FOLDERS.isdisjoint(folders):
        return None
    end = next(at for at, folder in enumerate(folders, 1) if folder in IGNORED_FOLDERS)
    return "/".join(folders[:end])


# Without Git.


class _Rules(NamedTuple):
    """The rules of a `.gitignore`, and its folder."""

    folder: str
    spec: GitIgnoreSpec


def _walked(folder: Path, skip: Skip, unreadable: list[str], left_out: set[str]) -> Iterator[str]:
    """All files below a folder that no rule ignores, by folder in the order of names.

    Folders that cannot be listed are added to `unreadable`, and ignored folders to `left_out`.
    """
    waiting: list[tuple[str, int, tuple[_Rules, ...]]] = [("", 0, ())]
    patterns_left = IGNORE_PATTERNS_MAX
    while waiting:
        path, depth, rules = waiting.pop()
        try:
            with os.scandir(folder / path) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            skip(path, reason_of(error))
            if not isinstance(error, FileNotFoundError):
                unreadable.append(path)
            continue
        if any(entry.name == ".gitignore" for entry in entries):
            own = _rules(folder, path, patterns_left, skip)
            patterns_left -= sum(len(pattern.spec) for pattern in own)
            rules = (*rules, *own)
        below: list[tuple[str, int, tuple[_Rules, ...]]] = []
        for entry in entries:
            name = f"{path}/{entry.name}" if path else entry.name
            if not is_unicode(entry.name):
                skip(name, "its name is not UTF-8")
                continue
            if not entry.is_dir(follow_symlinks=False):
                if entry.name not in IGNORED_FILES and not _is_ignored(name, rules):
                    yield name
            elif entry.name in IGNORED_FOLDERS or _is_ignored(f"{name}/", rules):
                left_out.add(name)
            elif depth >= DEPTH_MAX:
                skip(name, f"more than {DEPTH_MAX} folders deep")
            else:
                below.append((name, depth + 1, rules))
        waiting += reversed(below)


def _rules(folder: Path, path: str, patterns_max: int, skip: Skip) -> tuple[_Rules, ...]:
    """The rules in the `.gitignore` of a folder, in groups of some hundred patterns."""
    name = f"{path}/.gitignore" if path else ".gitignore"
    try:
        data = read_plain(str(folder / name), IGNORE_FILE_BYTES_MAX + 1).data
    except (OSError, ValueError):
        return ()
    try:
        # Imported late, because it is an extra.
        from pathspec import GitIgnoreSpec  # noqa: PLC0415
        from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern  # noqa: PLC0415
    except ImportError:
        raise ConstraintViolation(
            "Reading .gitignore outside of a Git repository needs a package that is not"
            " installed: pathspec.",
            hint=f"Install it with {install_command('code')}.",
        ) from None
    lines = data[:IGNORE_FILE_BYTES_MAX].decode("utf-8", errors="replace").splitlines()
    lines = [line for line in lines if line.strip() and not line.startswith("#")]
    is_whole = len(data) <= IGNORE_FILE_BYTES_MAX and len(lines) <= patterns_max
    patterns: list[GitIgnoreSpecPattern] = []
    for line in lines[:patterns_max]:
        if len(line) > _PATTERN_CHARACTERS_MAX:
            is_whole = False
            continue
        try:
            patterns.append(GitIgnoreSpecPattern(line))
        except ValueError:
            continue  # Git ignores invalid patterns.
    if not is_whole:
        skip(name, "some of its patterns do not apply: too many, or too long")
    above = f"{path}/" if path else ""
    # RE2 is used because patterns such as `*a*a*a*b` must not take exponential time. It refuses too
    # many patterns at once, so there are groups.
    return tuple(
        _Rules(above, GitIgnoreSpec(patterns[at : at + _PATTERNS_AT_ONCE], backend="re2"))
        for at in range(0, len(patterns), _PATTERNS_AT_ONCE)
    )


def _is_ignored(name: str, rules: tuple[_Rules, ...]) -> bool:
    """True if a path is ignored by the nearest `.gitignore` with a matching rule."""
    for folder, spec in reversed(rules):
        verdict = spec.check_file(name.removeprefix(folder)).include
        if verdict is not None:
            return verdict
    return False


def _format_path(path: Path) -> str:
    text = str(path).encode(errors="surrogateescape").decode(errors="replace")
    return shorten(text, 200)
