"""Commits of others on the branch of a mirror: their authors, times and files.

In the journal, the author of an imported file is the actor, and the message has the authors and
times of the commits. The journal entry has the time of the import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from mycel.mirror import commits
from mycel.mirror.commits import MirrorPosition
from mycel.mirror.repository import Repository
from mycel.model.limits import ACTOR_BYTES_MAX, MESSAGE_BYTES_MAX
from mycel.model.names import first_few

SUBJECTS_MAX: Final = 5
COMMITS_TOLD_MAX: Final = 10
SUBJECT_CHARACTERS_MAX: Final = 200
GROUPS_MAX: Final = 50
"""The maximum number of authors whose files are imported separately; with more authors, all files
are imported together."""


class GitCommit(NamedTuple):
    """A commit of somebody else."""

    id: str
    parents: tuple[str, ...]
    name: str
    address: str
    time_s: int
    message: str

    @property
    def subject(self) -> str:
        return self.message.strip().partition("\n")[0][:SUBJECT_CHARACTERS_MAX]

    @property
    def is_merge(self) -> bool:
        return len(self.parents) > 1

    def origin(self) -> str:
        """Author, time and commit, as a line of a message."""
        try:
            time = datetime.fromtimestamp(self.time_s, UTC).isoformat().replace("+00:00", "Z")
        except (OverflowError, ValueError, OSError):
            time = str(self.time_s)
        return f"Git-Commit: {self.id[:12]} {self.name} <{self.address}> {time}"


class AuthoredFiles(NamedTuple):
    """Files that one actor has changed."""

    actor: str
    """The actor; empty for the actor of the import."""
    paths: frozenset[str]
    commits: tuple[GitCommit, ...] = ()

    def message(self, otherwise: str) -> str:
        """The message of an import: subjects of commits, and a line for each commit."""
        if not self.commits:
            return otherwise
        subjects = dict.fromkeys(commit.subject for commit in self.commits if commit.subject)
        title = "; ".join(list(subjects)[-SUBJECTS_MAX:]) or otherwise
        origins = [commit.origin() for commit in self.commits]
        text = "\n\n".join([title, "\n".join(first_few(origins, COMMITS_TOLD_MAX))])
        return _cut(text, MESSAGE_BYTES_MAX)


def commits_between(
    repository: Repository,
    tip: str,
    excluded: Iterable[str],
    is_own: Callable[[MirrorPosition], bool],
) -> list[GitCommit]:
    """The commits of others up to a tip, without known commits and their history; oldest first.

    `is_own` tells if a commit of a mirror is one of ours, which a rebase may have copied.
    """
    limits = [f"^{commit}" for commit in excluded if commit]
    words = ("rev-list", "--topo-order", "--reverse", tip, *limits)
    names = repository.run(*words).decode().split()
    git_commits = [
        _commit(name, raw) for name, raw in zip(names, repository.blobs(names), strict=True)
    ]
    return [git_commit for git_commit in git_commits if not _is_known(git_commit, is_own)]


def _is_known(commit: GitCommit, is_own: Callable[[MirrorPosition], bool]) -> bool:
    position = commits.position_of(commit.message)
    return position is not None and is_own(position)


def group_by_author(
    repository: Repository,
    git_commits: Sequence[GitCommit],
    paths: Iterable[str],
    authors: Mapping[str, str],
) -> list[AuthoredFiles]:
    """The files that commits changed, grouped by the actor of the last change.

    If an actor made no last change, the commits of this actor go with the files that they changed.
    """
    changes = _commits_by_path(repository, git_commits)
    newest = git_commits[-1] if git_commits else None
    by_actor: dict[str, set[str]] = {}
    for path in sorted(paths):
        commit = changes[path][-1] if path in changes else newest
        actor = "" if commit is None else actor_of(commit, authors)
        by_actor.setdefault(actor, set()).add(path)
    if len(by_actor) > GROUPS_MAX:
        by_actor = {"": {path for some in by_actor.values() for path in some}}
    actors = {git_commit.id: actor_of(git_commit, authors) for git_commit in git_commits}
    payload = {}
    for actor, some in by_actor.items():
        changed = {git_commit.id for path in some for git_commit in changes.get(path, ())}
        payload[actor] = tuple(
            git_commit
            for git_commit in git_commits
            if actor in ("", actors[git_commit.id])
            or (git_commit.id in changed and actors[git_commit.id] not in by_actor)
        )
    order = {git_commit.id: at for at, git_commit in enumerate(git_commits)}
    groups = [
        AuthoredFiles(actor, frozenset(some), payload[actor]) for actor, some in by_actor.items()
    ]
    return sorted(groups, key=lambda group: max((order[c.id] for c in group.commits), default=0))


def actor_of(commit: GitCommit, authors: Mapping[str, str]) -> str:
    """The actor of a commit: from a trailer, by the address, or from the name of the author."""
    if commits.position_of(commit.message) is not None:
        trailer_actor = commits.actor_in(commit.message)
        if trailer_actor:
            return _cut(trailer_actor, ACTOR_BYTES_MAX)
    for actor, text in authors.items():
        identity = commits.identity(text)
        if identity is not None and identity.address.casefold() == commit.address.casefold():
            return actor
    name = "".join(character for character in commit.name if character.isprintable()).strip()
    return _cut(name or commit.address or "unknown", ACTOR_BYTES_MAX)


def _commits_by_path(
    repository: Repository, git_commits: Sequence[GitCommit]
) -> dict[str, list[GitCommit]]:
    """By file, the commits that changed it, oldest first; merges only if there are no others."""
    by_id = {git_commit.id: git_commit for git_commit in git_commits}
    changes: dict[str, list[GitCommit]] = {}
    for is_merge in (False, True):
        names = [git_commit.id for git_commit in git_commits if git_commit.is_merge == is_merge]
        if not names:
            continue
        words = ("diff-tree", "--stdin", "-r", "-z", "--root", "-m", "--name-only", "--no-renames")
        out = repository.run(*words, stdin="\n".join(names).encode() + b"\n")
        commit = by_id[names[0]]
        for part in out.split(b"\0")[:-1]:
            text = part.decode(errors="surrogateescape").strip("\n")
            if text in by_id:
                commit = by_id[text]
            elif not is_merge or all(earlier.is_merge for earlier in changes.get(text, ())):
                changes.setdefault(text, []).append(commit)
    return changes


def _commit(name: str, raw: bytes) -> GitCommit:
    head, _, message = raw.decode(errors="replace").partition("\n\n")
    parents = []
    author, address, time = "", "", 0
    for line in head.split("\n"):
        key, _, value = line.partition(" ")
        if key == "parent":
            parents.append(value)
        elif key == "author":
            author, _, rest = value.rpartition(" <")
            address, _, moment = rest.partition("> ")
            begin = moment.partition(" ")[0]
            time = int(begin) if begin.lstrip("-").isdecimal() else 0
    return GitCommit(name, tuple(parents), author.strip(), address, time, message)


def _cut(text: str, size: int) -> str:
    return text.encode()[:size].decode(errors="ignore")
