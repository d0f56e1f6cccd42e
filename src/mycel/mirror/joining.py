"""Joining a mirror of others: an empty or related graph takes over the content of a branch.

The branch is in a clone, in the repository around the folder, or in a remote that is given. A
related graph is a copy, such as a restored backup: the newest commit of the branch that shows one
of its states is the base, and later commits are imported. For an empty graph there is no base, and
all files are imported. From then on commits of the graph follow those of the branch.
"""

from __future__ import annotations

from typing import Final

from mycel.errors import ConstraintViolation, NotFound
from mycel.mirror import export
from mycel.mirror.commits import MirrorPosition
from mycel.mirror.creation import exclude_folder
from mycel.mirror.inspection import DEFAULT_REMOTE
from mycel.mirror.merge_driver import install_driver
from mycel.mirror.projection import Projection
from mycel.mirror.repository import Repository, near, root_of
from mycel.mirror.sync import Upkeep
from mycel.model.names import CORE_MESSAGE
from mycel.store.query.commits import journal_root_at, transactions
from mycel.store.query.reader import Reader

COUNTED_MAX: Final = 1_000
"""The number of documents at which the counting of a graph stops."""


class Joining(Upkeep):
    """The repository of a mirror that a graph joins."""

    def begin(self, *, merge: bool) -> None:
        """Check the branch out, find the state that it shows, and store the settings.

        Raises:
            NotFound: there is no such branch.
            ConstraintViolation: the branch is no mirror; or the graph has knowledge of its own that
                the branch has never had, and `merge` is False.
        """
        with self.turn_taken(), self._graph.reading() as reader:
            is_new = not (self.folder / ".git").exists()
            repository = self._find_repository()
            tip = repository.refs(self.branch_ref, self.upstream_ref)
            commit = tip.get(self.branch_ref) or tip[self.upstream_ref]
            if export.MARK not in repository.objects_at(commit, [export.MARK]):
                raise ConstraintViolation(
                    f"The branch {self.settings.branch!r} of {repository.folder} is no mirror.",
                    hint="Name the branch of one: --git-branch NAME.",
                )
            noted = self._base(reader, repository, commit, merge=merge)
            if is_new:
                self._check_out(repository)
            install_driver(self.repository)
            self.save(commit="", seq=0, pending=None, remote=self._remote(self.repository))
            self._note_base(noted)
            self.save(is_complete=True)

    # The branch.

    def _find_repository(self) -> Repository:
        """The repository that has the branch, or has fetched it."""
        is_there = (self.folder / ".git").exists()
        above = None if is_there else root_of(self.folder.parent)
        remote = self.settings.remote
        if is_there:
            repository = self.repository
        elif above is not None:
            repository = Repository(above)
        elif remote:
            self.folder.mkdir(parents=True, exist_ok=True)
            repository = self.repository
            branch = f"--initial-branch={self.settings.branch}"
            repository.run("init", "--quiet", "--template=", branch)
            repository.run("remote", "add", DEFAULT_REMOTE, remote)
            self.settings = self.settings._replace(remote=DEFAULT_REMOTE)
        else:
            raise NotFound(
                f"There is no Git repository at {near(self.folder)}.",
                hint="Clone one with the branch of the mirror, or name it: --remote URL.",
            )
        refs = repository.refs(self.branch_ref, self.upstream_ref)
        if self.upstream_ref not in refs and (remote or self.branch_ref not in refs):
            self.fetch(repository)
        if not repository.refs(self.branch_ref, self.upstream_ref):
            raise NotFound(
                f"{repository.folder} has no branch {self.settings.branch!r}, and its remote has"
                " none either.",
                hint="Name the branch that has the mirror: --git-branch NAME; or a remote that has"
                " it: --remote URL.",
            )
        return repository

    def _check_out(self, repository: Repository) -> None:
        """Check out the files of the branch in the folder."""
        branch = self.settings.branch
        if self.branch_ref not in repository.refs(self.branch_ref):
            start = repository.refs(self.upstream_ref)[self.upstream_ref]
            repository.update_refs([(self.branch_ref, start, None)])
        self._track(repository)
        if repository.folder != self.folder:
            exclude_folder(repository, self.folder)
            repository.run("worktree", "prune")
            place = str(self.folder), branch
            repository.run("worktree", "add", "--quiet", "--no-checkout", *place)
        self.repository.run_unfiltered("reset", "--quiet", "--hard")

    def _track(self, repository: Repository) -> None:
        """Configure the remote of the branch for `git pull` and `git push`."""
        branch = self.settings.branch
        remote = self._remote(repository)
        if remote and repository.line("config", f"remote.{remote}.url", check=False):
            repository.run("config", f"branch.{branch}.remote", remote)
            repository.run("config", f"branch.{branch}.merge", self.branch_ref)

    def _remote(self, repository: Repository) -> str:
        """The remote of the branch: the given one, the one that Git knows, or the default."""
        if self.settings.remote:
            return self.settings.remote
        setting = f"branch.{self.settings.branch}.remote"
        if remote := repository.line("config", setting, check=False):
            return remote
        url = repository.line("config", f"remote.{DEFAULT_REMOTE}.url", check=False)
        return DEFAULT_REMOTE if url else ""

    # The state that it shows.

    def _base(
        self, reader: Reader, repository: Repository, tip: str, *, merge: bool
    ) -> tuple[str, MirrorPosition]:
        """The commit after which the branch is imported, and its state in this graph."""
        # Used until the folder has a repository of its own.
        self.__dict__["repository"] = repository
        try:
            position = self.find_position(reader, tip)
        finally:
            del self.__dict__["repository"]
        if position is not None:
            return position
        own = _count_documents(reader)
        if own and not merge:
            number = f"more than {COUNTED_MAX}" if own > COUNTED_MAX else str(own)
            raise ConstraintViolation(
                f"This graph has {number} documents, and the branch {self.settings.branch!r} has"
                " never had a state of it.",
                hint="Join with an empty graph (`mycel init` elsewhere), or with a copy of one that"
                " writes the branch. With --merge, the two are merged: the branch gets the"
                " content of this graph.",
                data={"documents": own},
            )
        seq = _beginning(reader) if own else reader.head().seq
        return "", MirrorPosition(seq, journal_root_at(reader, seq))

    def _note_base(self, base: tuple[str, MirrorPosition]) -> None:
        commit, position = base
        repository = self.repository
        self.note_position(commit, position)
        old = repository.refs(self.last_ref).get(self.last_ref)
        repository.update_refs(
            [(self.last_ref, commit or None, old), (self.incoming_ref, None, None)]
            if commit or old
            else [(self.incoming_ref, None, None)]
        )


def _count_documents(reader: Reader) -> int:
    """The number of documents of a graph; counting stops soon after a limit."""
    count = 0
    for _ in Projection(reader).files():
        count += 1
        if count > COUNTED_MAX:
            break
    return count


def _beginning(reader: Reader) -> int:
    """The entry at which the core content of a graph was written."""
    entries = list(transactions(reader))
    core = [entry.seq for entry in entries if entry.message == CORE_MESSAGE]
    return min(core or [entry.seq for entry in entries])
