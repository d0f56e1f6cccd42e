"""The state of a mirror: its references, checked against the graph, and files that were edited.

Four references record its position:

    refs/heads/<branch>             the branch that people see, and may commit edits to
    refs/mycel/<branch>             the last commit that shows a state of the graph
    refs/mycel/<branch>-incoming    the commit being written; files, index and branch follow
    refs/remotes/<remote>/<branch>  the branch of a remote when it was fetched last;
                                    refs/mycel/<branch>-upstream if the remote is a URL

The commits that the mirror writes name the state that they show. If a commit of somebody else shows
a state, the settings name it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

from mycel.api.graph import Graph
from mycel.errors import ConstraintViolation, GitFailed
from mycel.mirror import commits, settings
from mycel.mirror.commits import Identity, MirrorPosition
from mycel.mirror.folder import Folder
from mycel.mirror.git_commits import GitCommit, commits_between
from mycel.mirror.repository import Repository, near
from mycel.mirror.settings import Settings
from mycel.store.file.locks import turn
from mycel.store.file.workspace_databases import companion
from mycel.store.query.commits import LogFilter, journal_root_at, transactions
from mycel.store.query.reader import Reader

LOCK_SECONDS_MAX: Final = 60.0
DEFAULT_REMOTE: Final = "origin"
POSITIONS_MAX: Final = 100
"""Commits of others whose states the settings keep."""

_NEUTRAL: Final = Identity("Mycel", "mycel@mycel.invalid")
_REMOTE_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


class Status(NamedTuple):
    """The state of a mirror."""

    folder: Path
    branch: str
    commit: str
    seq: int
    """The journal entry that the mirror shows."""
    behind: int
    """The number of transactions that the mirror does not have yet."""
    edited: tuple[str, ...]
    """Files that differ from the last commit of the mirror."""
    commits: int
    """Commits of others on top of the last commit of the mirror."""
    incoming: int
    """Commits of the remote that were fetched and not imported."""
    problem: str = ""
    """The reason why a catch-up waits, or is impossible."""

    def to_dict(self) -> dict[str, Any]:
        wire = self._asdict() | {"folder": str(self.folder), "edited": list(self.edited)}
        return {key: value for key, value in wire.items() if value != "" or key == "commit"}


class Sight(NamedTuple):
    """The references of a mirror, as they were read."""

    tip: str
    last: str
    """Empty while a graph joins a branch with which it has no state in common."""
    incoming: str
    position: MirrorPosition
    """The state that the last commit shows."""
    upstream: str = ""


class Inspection:
    """The repository of a graph's mirror.

    Raises:
        NotFound: the graph has no mirror.
    """

    def __init__(self, graph: Graph, stored_settings: Settings | None = None) -> None:
        self._graph: Final = graph
        self._path: Final = companion(graph.path).resolve()
        self.settings: Settings = stored_settings or settings.read(self._path)

    @property
    def folder(self) -> Path:
        return self.settings.folder

    @cached_property
    def repository(self) -> Repository:
        return Repository(self.settings.folder)

    # Status.

    def status(self) -> Status:
        """The position of the mirror, the edited files, and the reason if it cannot go on."""
        seq = behind = count = incoming = 0
        edited: list[str] = []
        commit = problem = ""
        with self._graph.reading() as reader:
            try:
                sight = self.look(reader)
                seq, commit = self.start(sight), sight.last
                where = LogFilter(after=seq)
                behind = sum(1 for _ in transactions(reader, where=where))
                edited = self.edited(sight.last)
                count = len(self.commits_of_others(reader, sight))
                if sight.upstream:
                    own_commits = (sight.tip, sight.last)
                    incoming = len(self.commits_after(reader, sight.upstream, own_commits))
                self.check_imported(sight)
            except (ConstraintViolation, GitFailed) as error:
                problem = f"{error.message} {error.hint}".strip()
        return Status(
            self.folder,
            self.settings.branch,
            commit,
            seq,
            behind,
            tuple(edited),
            count,
            incoming,
            problem,
        )

    def edited(self, commit: str) -> list[str]:
        """The files on the disk that differ from those of a commit.

        Git lists candidates, so other files are not read.
        """
        repository, folder = self.repository, Folder(self.repository)
        objects = repository.differing(commit)
        for path in repository.untracked():
            objects.setdefault(path, "")
        paths = []
        for path, name in objects.items():
            if not folder.is_document(path):
                continue
            content = folder.content(path)
            if (repository.blob(content) if content is not None else "") != name:
                paths.append(path)
        return sorted(paths)

    def commits_of_others(self, reader: Reader, sight: Sight) -> list[GitCommit]:
        """The commits of others on top of the mirror's, the oldest first."""
        if sight.tip == sight.last:
            return []
        return self.commits_after(reader, sight.tip, (sight.last,))

    def commits_after(self, reader: Reader, tip: str, excluded: tuple[str, ...]) -> list[GitCommit]:
        """The commits of others up to a tip, without those in the history of known commits."""
        return commits_between(
            self.repository, tip, excluded, lambda position: is_known(reader, position)
        )

    # References.

    def look(self, reader: Reader) -> Sight:
        """The references of the mirror, checked against the graph.

        Raises:
            ConstraintViolation: the repository is gone, or is not the one that was written.
        """
        folder = self.folder
        if not self.settings.is_complete:
            raise _broken("The mirror was not completed.")
        if not (folder / ".git").exists():
            raise _broken(f"The repository of the mirror, {folder}, is gone.")
        self.check_branch()
        repository = self.repository
        names = (self.branch_ref, self.last_ref, self.incoming_ref, self.upstream_ref)
        refs = repository.refs(*names)
        tip, last, incoming, upstream = (refs.get(name, "") for name in names)
        position = self.position(reader, last)
        if last and position is None:
            raise ConstraintViolation(
                f"The repository {folder} shows another graph, or another copy of it.",
                hint="`mycel mirror join` brings the content of the files into this graph; or use"
                " `mycel mirror init` with another folder.",
            )
        if not tip or position is None or not self._has(tip, last, position):
            raise _broken(
                f"The repository {folder} was rewritten: the branch {self.settings.branch} no"
                " longer has the last commit of the mirror."
            )
        if upstream and repository.is_ancestor(upstream, tip):
            upstream = ""
        return Sight(tip, last, incoming, position, upstream)

    def position(self, reader: Reader, commit: str) -> MirrorPosition | None:
        """The state of this graph that a commit shows; None if it shows none."""
        noted = self.settings.positions.get(commit)
        if noted is not None and is_known(reader, MirrorPosition(*noted)):
            return MirrorPosition(*noted)
        mirror_position = (
            commits.position_of(self.repository.commit_text(commit)) if commit else None
        )
        return (
            mirror_position
            if mirror_position is not None and is_known(reader, mirror_position)
            else None
        )

    def find_position(self, reader: Reader, tip: str) -> tuple[str, MirrorPosition] | None:
        """The newest commit up to a tip that shows a state of this graph, and that state."""
        names = self.repository.run("rev-list", "--topo-order", tip).decode().split()
        noted = self.settings.positions
        for start in range(0, len(names), 200):
            part = names[start : start + 200]
            for name, raw in zip(part, self.repository.blobs(part), strict=True):
                if name in noted or commits.ROOT.encode() in raw:
                    position = self.position(reader, name)
                    if position is not None:
                        return name, position
        return None

    def check_branch(self) -> None:
        """Check that the branch of the mirror is checked out in its folder."""
        branch = self.settings.branch
        on = self.repository.line("symbolic-ref", "--quiet", "HEAD", check=False)
        if on != self.branch_ref:
            raise ConstraintViolation(
                f"The folder {self.folder} is on {on.removeprefix('refs/heads/') or 'no branch'},"
                f" and the mirror on {branch}.",
                hint=f"`git checkout {branch}` there (with -b if it is new), and try again.",
            )

    def _has(self, tip: str, last: str, position: MirrorPosition) -> bool:
        """True if a branch has the last commit of the mirror, or a copy that a rebase has made."""
        if self.repository.is_ancestor(last, tip):
            return True
        copies = (
            "log",
            "--format=%H",
            "--max-count=1",
            f"--grep=^{commits.ROOT}: {position.root}$",
        )
        return bool(self.repository.line(*copies, f"{last}..{tip}"))

    def check_imported(self, sight: Sight) -> None:
        """Refuse to go on while commits of others are not in the graph."""
        if sight.tip != sight.last:
            raise waiting_error(
                "Commits of others on the mirror's branch are not in the graph yet.", []
            )

    def start(self, sight: Sight) -> int:
        """The journal entry after which transactions may have changed files."""
        if self.settings.commit == sight.last:
            return max(self.settings.seq, sight.position.seq)
        return sight.position.seq

    @property
    def branch_ref(self) -> str:
        return f"refs/heads/{self.settings.branch}"

    @property
    def last_ref(self) -> str:
        return f"refs/mycel/{self.settings.branch}"

    @property
    def incoming_ref(self) -> str:
        return f"refs/mycel/{self.settings.branch}-incoming"

    @property
    def upstream_ref(self) -> str:
        remote = self.settings.remote or DEFAULT_REMOTE
        if _REMOTE_NAME.fullmatch(remote):
            return f"refs/remotes/{remote}/{self.settings.branch}"
        return f"refs/mycel/{self.settings.branch}-upstream"

    @property
    def remote(self) -> str:
        """The remote that has the branch, or that the settings name; empty if there is none."""
        is_there = not self.settings.remote and self.repository.refs(self.upstream_ref)
        return DEFAULT_REMOTE if is_there else self.settings.remote

    def fetch(self, repository: Repository | None = None) -> str:
        """Fetch the branch of the remote. Returns the name of the remote.

        Raises:
            GitFailed: the remote cannot be reached, or does not have the branch.
        """
        remote = self.settings.remote or DEFAULT_REMOTE
        refs = f"+{self.branch_ref}:{self.upstream_ref}"
        (repository or self.repository).run("fetch", "--quiet", "--no-tags", "--", remote, refs)
        return remote

    # Identities and settings.

    @cached_property
    def committer(self) -> Identity:
        """The identity that Git is configured with."""
        repository = Repository(near(self.folder))
        name, address = (
            repository.line("config", key, check=False) for key in ("user.name", "user.email")
        )
        return commits.identity(f"{name} <{address}>") or _NEUTRAL

    def author(self, actor: str) -> Identity:
        """The author of the commits of an actor."""
        return commits.author_of(actor, self.settings.authors, self.committer)

    def turn_taken(self) -> AbstractContextManager[None]:
        """The lock that lets one process write the mirror at a time."""
        return turn(settings.lock_of(self._path), LOCK_SECONDS_MAX, str(self.folder))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Take the lock and read the settings again: the last holder may have changed them."""
        with self.turn_taken():
            self.settings = settings.read(self._path)
            yield

    def save(self, **changes: Any) -> None:
        """Change settings, and store them."""
        self.settings = self.settings._replace(**changes)
        settings.write(self._path, self.settings)

    def note_position(self, commit: str, position: MirrorPosition) -> None:
        """Record in the settings the state that a commit of somebody else shows."""
        positions = {key: value for key, value in self.settings.positions.items() if key != commit}
        positions[commit] = (position.seq, position.root)
        self.save(positions=dict(list(positions.items())[-POSITIONS_MAX:]))


def is_known(reader: Reader, position: MirrorPosition) -> bool:
    """True if the graph has the state that a commit shows."""
    if position.seq > reader.head().seq:
        return False
    return journal_root_at(reader, position.seq) == position.root


def waiting_error(why: str, paths: list[str]) -> ConstraintViolation:
    """The error for a mirror that waits for an import."""
    return ConstraintViolation(
        f"{why} The mirror waits.",
        hint="`mycel mirror import` brings the edits into the graph; or undo them with git.",
        data={"edited": paths},
    )


def _broken(why: str) -> ConstraintViolation:
    return ConstraintViolation(
        why,
        hint="`mycel mirror init` writes the whole graph again, as one more commit. Edits that were"
        " not imported stay in the history before it.",
    )
