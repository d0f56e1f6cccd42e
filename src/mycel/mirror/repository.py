"""Calls of git in the repository of a mirror.

Arguments are lists, never a text for a shell. Programs that a repository configures are not run: no
hooks, no filters, no monitor of the file system, no `ext::` transport, no signing program. Only a
push or a fetch reaches another repository; missing objects are not fetched by other calls.
Variables of the environment that would point git to another repository are removed, because Mycel
may run inside a hook.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import IO, Final, NamedTuple

from mycel.errors import GitFailed

SECONDS_MAX: Final = 600
"""The time limit of one call."""

_SAFE: Final = tuple(
    word
    for setting in (
        "core.hooksPath=/dev/null",
        "core.fsmonitor=false",
        "core.quotePath=false",
        "core.autocrlf=false",
        "core.logAllRefUpdates=true",
        "protocol.ext.allow=never",
        "push.gpgSign=false",
        "log.showSignature=false",
        "i18n.logOutputEncoding=UTF-8",
        "gc.auto=0",
        "checkout.workers=0",
        "core.compression=1",
    )
    for word in ("-c", setting)
)
REASON_LINES_MAX: Final = 3
LISTED_MAX: Final = 200
"""The maximum number of paths that are arguments of one call."""

_REASONS: Final = ("fatal:", "error:", "! [")
"""The start of a line in which git says why it failed."""
_LOCKED: Final = (
    ("Unable to create '", "': File exists", ""),
    ("lock config file ", ": File exists", ".lock"),
)
"""The words before and after the path of a lock in a message of git, and the suffix to add to the
path. Another git holds the lock, or was killed and left it."""
_REMOTE: Final = ("push", "fetch")
"""Calls that reach another repository."""
_REGULAR: Final = "100644"
_NO_SETTINGS: Final[Mapping[str, str]] = MappingProxyType({})


class TreeChange(NamedTuple):
    """A path that differs between two trees; an object is empty if there is no file."""

    path: str
    old: str
    new: str
    mode: str = "100644"
    """The mode of the new file."""


class Repository:
    """The repository whose root is a folder, either its own repository or a linked worktree."""

    def __init__(self, folder: Path) -> None:
        self.folder: Final = folder

    # Calls of git.

    def run(
        self,
        *words: str,
        stdin: bytes | None = None,
        index: Path | None = None,
        check: bool = True,
        settings: Mapping[str, str] = _NO_SETTINGS,
    ) -> bytes:
        """Standard output of a call; without `check`, it is empty if the call fails.

        `settings` override those of the repository.

        Raises:
            GitFailed: git is not installed, or the call failed.
        """
        try:
            process = subprocess.run(
                [_git(), *_SAFE, *words],
                cwd=self.folder,
                input=b"" if stdin is None else stdin,
                capture_output=True,
                timeout=SECONDS_MAX,
                check=False,
                env=_environment(index, settings, is_remote=words[0] in _REMOTE),
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise GitFailed(f"git {words[0]} could not be run in {self.folder}: {error}") from None
        if process.returncode != 0:
            if check:
                raise _failed(words, process.stderr)
            return b""
        return process.stdout

    def line(self, *words: str, check: bool = True) -> str:
        """The first line of a call's output."""
        return os.fsdecode(self.run(*words, check=check)).partition("\n")[0]

    @contextmanager
    def fast_import(self, *options: str) -> Iterator[Callable[[bytes], object]]:
        """A function that writes to `git fast-import`; all of the block counts, or nothing."""
        words = ["fast-import", "--quiet", "--done", "--force", "--date-format=raw", *options]
        try:
            process = subprocess.Popen(
                [_git(), *_SAFE, *words],
                cwd=self.folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=_environment(),
            )
        except OSError as error:
            raise GitFailed(f"git could not be run in {self.folder}: {error}") from None
        stdin = _pipe(process.stdin)
        try:
            try:
                yield stdin.write
                stdin.write(b"done\n")
                stdin.close()
            except BrokenPipeError:  # The process has printed the reason, and ended.
                pass
            problem = _pipe(process.stderr).read()
            if process.wait() != 0:
                raise _failed(words, problem)
        finally:
            if process.poll() is None:
                process.kill()
            for pipe in (process.stdin, process.stderr):
                _close(pipe)
            process.wait()

    def run_unfiltered(self, *words: str, stdin: bytes | None = None) -> None:
        """A call that reads or writes files, without the filters that are configured."""
        parts = ("config", "--null", "--name-only", "--get-regexp", r"^filter\.")
        names = os.fsdecode(self.run(*parts, check=False)).split("\0")[:-1]
        off = {name: "false" if name.endswith(".required") else "" for name in names}
        self.run(*words, stdin=stdin, settings=off)

    # Objects.

    @property
    def nothing(self) -> str:
        """The name that stands for no object: zeros."""
        return "0" * len(self.blob(b""))

    def blob(self, content: bytes) -> str:
        """The name of the object of a file with this content."""
        hashed = hashlib.new(self._object_format, usedforsecurity=False)
        hashed.update(b"blob %d\0" % len(content))
        hashed.update(content)
        return hashed.hexdigest()

    @cached_property
    def _object_format(self) -> str:
        return self.line("rev-parse", "--show-object-format")

    def write_tree(
        self, entries: Iterable[tuple[str, str]], old: str = "", removed: Iterable[str] = ()
    ) -> str:
        """The tree of paths and their objects, in addition to those of an old one.

        `fast-import` compares each new name with all names in its folder; an index sorts them.
        """
        lines = index_lines([*((path, "") for path in removed), *sorted(entries)], self.nothing)
        with TemporaryDirectory() as folder:
            index = Path(folder) / "index"
            if old:
                self.run("read-tree", old, index=index)
            self.run("update-index", "-z", "--index-info", stdin=lines, index=index)
            return os.fsdecode(self.run("write-tree", index=index)).strip()

    def write_blob(self, content: bytes) -> str:
        """Store the object of a file."""
        out = self.run("hash-object", "-t", "blob", "-w", "--stdin", stdin=content)
        return os.fsdecode(out).strip()

    def write_commit(self, text: bytes) -> str:
        """Store a commit, given the text of its object."""
        out = self.run("hash-object", "-t", "commit", "-w", "--stdin", stdin=text)
        return os.fsdecode(out).strip()

    def commit_text(self, commit: str) -> str:
        """The message of a commit."""
        raw = self.run("cat-file", "commit", commit).decode(errors="replace")
        return raw.partition("\n\n")[2]

    def blobs(self, names: Sequence[str]) -> Iterator[bytes]:
        """The contents of objects, in their order."""
        for start in range(0, len(names), 1_000):
            part = names[start : start + 1_000]
            out = self.run("cat-file", "--batch", stdin="\n".join(part).encode() + b"\n")
            at = 0
            for name in part:
                end = out.index(b"\n", at)
                words = out[at:end].split()
                if len(words) != 3:
                    raise GitFailed(f"The repository {self.folder} lacks the object {name}.")
                size = int(words[2])
                yield out[end + 1 : end + 1 + size]
                at = end + 1 + size + 1

    def tree(self, commit: str) -> dict[str, str]:
        """The files of a commit: each path with its object."""
        if not commit:
            return {}
        return _parse_tree(self.run("ls-tree", "-r", "-z", "--full-tree", commit))

    def objects_at(self, commit: str, paths: Collection[str]) -> dict[str, str]:
        """The objects of these files in a commit, without files that it does not have."""
        if not commit:
            return {}
        if len(paths) > LISTED_MAX:
            objects = self.tree(commit)
            return {path: objects[path] for path in paths if path in objects}
        words = ("--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--")
        return _parse_tree(self.run(*words, *paths)) if paths else {}

    def tree_changes(self, old: str, new: str) -> list[TreeChange]:
        """The paths that differ between two commits; an empty one has no files."""
        old, new = (tree or self._empty_tree for tree in (old, new))
        words = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-ext-diff", old, new)
        parts = [os.fsdecode(part) for part in self.run(*words).split(b"\0")[:-1]]
        changes = []
        for head, path in zip(parts[::2], parts[1::2], strict=True):
            _, mode, before, after, _ = head.split()
            changes.append(TreeChange(path, _object(before), _object(after), mode))
        return changes

    @cached_property
    def _empty_tree(self) -> str:
        return os.fsdecode(self.run("mktree")).strip()

    def differing(self, commit: str) -> dict[str, str]:
        """The files that may differ from a commit, each with its object in the commit.

        These are the files whose size or time differs from what Git has recorded of them.
        """
        tree = commit or self._empty_tree
        words = ("diff-index", "-z", "--raw", "--no-renames", "--no-ext-diff", tree)
        parts = [os.fsdecode(part) for part in self.run(*words).split(b"\0")[:-1]]
        heads = zip(parts[::2], parts[1::2], strict=True)
        return {path: _object(head.split()[2]) for head, path in heads}

    def untracked(self) -> list[str]:
        """The files that are not in the index of Git, including ignored ones."""
        names = self.run("ls-files", "--others", "-z").split(b"\0")[:-1]
        return [os.fsdecode(name) for name in names]

    # References.

    def refs(self, *names: str) -> dict[str, str]:
        """The commits of these references, without references that do not exist."""
        words = ("for-each-ref", "--format=%(objectname) %(refname)", *names)
        lines = os.fsdecode(self.run(*words)).splitlines()
        generator = (line.split(" ", 1) for line in lines)
        return {ref: name for name, ref in generator if ref in names}

    def update_refs(self, changes: Iterable[tuple[str, str | None, str | None]]) -> None:
        """Change references together; each is a name, a new commit and an old one.

        None means no commit.

        Raises:
            GitFailed: a reference is not at its old commit; none was changed.
        """
        lines = ["start"]
        for name, new, old in changes:
            if new is None:
                lines.append(f"delete {name}" + (f" {old}" if old else ""))
            else:
                lines.append(f"update {name} {new}" + (f" {old}" if old else ""))
        lines += ["prepare", "commit", ""]
        self.run("update-ref", "--stdin", stdin="\n".join(lines).encode())

    def is_ancestor(self, old: str, new: str) -> bool:
        """True if a commit is in the history of another one; an empty commit always is."""
        return not old or old == new or self.merge_bases(old, new) == [old]

    def merge_bases(self, one: str, other: str) -> list[str]:
        """The newest common commits of two commits."""
        if not one or not other:
            return []
        return os.fsdecode(self.run("merge-base", "--all", one, other, check=False)).split()

    def tree_of(self, commit: str) -> str:
        return self.line("rev-parse", f"{commit}^{{tree}}")


def index_lines(entries: Iterable[tuple[str, str]], nothing: str) -> bytes:
    """Input of `git update-index`: paths and their objects; an empty one removes its path."""
    return b"".join(
        f"{_REGULAR if name else '0'} {name or nothing}\t{path}\0".encode()
        for path, name in entries
    )


def near(folder: Path) -> Path:
    """A folder, or the one above it that exists."""
    return next(parent for parent in (folder, *folder.parents) if parent.is_dir())


def root_of(folder: Path) -> Path | None:
    """The root of the working tree that a folder is in; None outside of every repository."""
    root = Repository(near(folder)).line("rev-parse", "--show-toplevel", check=False)
    return Path(root) if root else None


def repair(folder: Path) -> None:
    """Repair the paths between a linked worktree and its repository after they were moved."""
    if (folder / ".git").is_file() and (above := root_of(folder.parent)):
        Repository(above).run("worktree", "repair", str(folder), check=False)


def _git() -> str:
    program = shutil.which("git")
    if program is None:
        raise GitFailed(
            "git is not installed.", hint="Install git 2.31 or newer; only the mirror needs it."
        )
    return program


def _environment(
    index: Path | None = None,
    settings: Mapping[str, str] = _NO_SETTINGS,
    *,
    is_remote: bool = False,
) -> dict[str, str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment |= {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    if not is_remote:
        environment["GIT_ALLOW_PROTOCOL"] = ""
    if index is not None:
        environment["GIT_INDEX_FILE"] = str(index)
    if settings:
        environment["GIT_CONFIG_COUNT"] = str(len(settings))
    for at, (name, value) in enumerate(settings.items()):
        environment |= {f"GIT_CONFIG_KEY_{at}": name, f"GIT_CONFIG_VALUE_{at}": value}
    return environment


def _parse_tree(output: bytes) -> dict[str, str]:
    """The objects of `git ls-tree -z`, by path."""
    objects: dict[str, str] = {}
    for line in output.split(b"\0")[:-1]:
        head, _, path = line.partition(b"\t")
        objects[os.fsdecode(path)] = os.fsdecode(head.split()[2])
    return objects


def _object(name: str) -> str:
    """The name of an object; empty if it is all zeros, which stands for no object."""
    return name if name.strip("0") else ""


def _failed(words: Sequence[str], output: bytes) -> GitFailed:
    lines = [line.strip() for line in output.decode(errors="replace").splitlines()]
    messages = [line for line in lines if line and not line.startswith(("hint:", "warning:"))]
    begin = next((at for at, line in enumerate(messages) if line.startswith(_REASONS)), 0)
    reason = " ".join(messages[begin : begin + REASON_LINES_MAX]).removeprefix("fatal: ")
    error = GitFailed(f"git {words[0]} failed: {reason or 'no reason was given'}")
    if lock := _lock_in(reason):
        error.hint = (
            "Try again once no other git works in the repository. If none does, one that was"
            f" killed has left its lock: remove the file {lock}"
        )
    return error


def _lock_in(message: str) -> str:
    """The path of the lock that a message of git names; empty if it names none."""
    for before, after, ending in _LOCKED:
        path, ended, _ = message.partition(before)[2].partition(after)
        if path and ended:
            return path + ending
    return ""


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise GitFailed("git was started without pipes.")
    return pipe


def _close(pipe: IO[bytes] | None) -> None:
    with suppress(BrokenPipeError):
        _pipe(pipe).close()
