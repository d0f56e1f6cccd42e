"""The creation of a mirror: all files as one commit, in a new repository or an existing one.

Inside the repository of a project, the folder becomes a linked worktree on a branch of its own. An
existing mirror gets one more commit, with the whole graph.
"""

from __future__ import annotations

import os
from pathlib import Path

from mycel.errors import ConstraintViolation
from mycel.mirror import export
from mycel.mirror.commits import MirrorPosition
from mycel.mirror.inspection import Sight
from mycel.mirror.merge_driver import install_driver
from mycel.mirror.repository import Repository, near, root_of
from mycel.mirror.sync import Upkeep
from mycel.store.query.reader import Reader


class Creation(Upkeep):
    """The repository of a graph's mirror, with settings that `begin` stores."""

    def begin(self) -> None:
        """Write all files as one commit, into a new repository or on top of existing commits.

        Raises:
            ConstraintViolation: files that would change have been edited, or somebody else owns the
                branch.
        """
        with self.turn_taken(), self._graph.reading() as reader:
            is_new = not self.settings.is_complete
            if is_new:
                self._check_new()
            else:
                self._check_old(reader)
            self.save()
            commit = self._begin_new(reader) if is_new else self._begin_again(reader)
            install_driver(self.repository)
            self.save(is_complete=True, commit=commit, seq=reader.head().seq, pending=None)

    def _check_new(self) -> None:
        """Check that a repository can be created, or an unfinished one completed."""
        branch, repository = self.settings.branch, Repository(near(self.folder))
        if repository.line("check-ref-format", "--branch", branch, check=False) != branch:
            raise ConstraintViolation(
                f"{branch!r} is no name of a Git branch.", hint="Write --git-branch knowledge."
            )
        if self.settings.is_worktree:
            self._check_free(repository)

    def _check_free(self, repository: Repository) -> None:
        refs = repository.refs(self.branch_ref, self.upstream_ref, self.last_ref)
        if self.last_ref not in refs and refs:
            owner = "" if self.branch_ref in refs else "The remote of "
            raise ConstraintViolation(
                f"{owner}{repository.folder} has a branch {self.settings.branch!r} already.",
                hint="If it is a mirror, `mycel mirror join` shares it. If not, choose another"
                " name: --git-branch NAME.",
            )

    def _begin_new(self, reader: Reader) -> str:
        if self.settings.is_worktree:
            repository = Repository(root_of(self.folder.parent) or self.folder)
        else:
            repository = self.repository
            self.folder.mkdir(parents=True, exist_ok=True)
            # The repository is new, so a lock in it was left by a git that was killed.
            for left in self.folder.glob(".git/*.lock"):
                left.unlink()
            branch = f"--initial-branch={self.settings.branch}"
            repository.run("init", "--quiet", "--template=", branch)
            self._check_free(repository)
            self.check_branch()
        refs = repository.refs(self.branch_ref, self.last_ref)
        tip, last = refs.get(self.branch_ref, ""), refs.get(self.last_ref)
        commit = self.write_whole(repository, reader, [tip] if tip else [])
        repository.update_refs(
            [(self.branch_ref, commit, tip or None), (self.last_ref, commit, last)]
        )
        if self.settings.is_worktree and not (self.folder / ".git").exists():
            exclude_folder(repository, self.folder)
            repository.run("worktree", "prune")
            place = str(self.folder), self.settings.branch
            repository.run("worktree", "add", "--quiet", "--no-checkout", *place)
        # The files are new as well.
        lock = self.repository.line("rev-parse", "--git-path", "index.lock")
        (self.folder / lock).unlink(missing_ok=True)
        self.repository.run_unfiltered("reset", "--quiet", "--hard")
        return commit

    def _check_old(self, reader: Reader) -> None:
        """Check that the repository is a mirror that may be written again."""
        repository = self.repository
        self.check_branch()
        refs = repository.refs(self.branch_ref, self.last_ref)
        tip, last = refs.get(self.branch_ref), refs.get(self.last_ref)
        if tip and not last and export.MARK not in repository.tree(tip):
            raise ConstraintViolation(
                f"The branch {self.settings.branch!r} of {self.folder} is no mirror: its files"
                " would be removed.",
                hint="Name another folder: `mycel mirror init FOLDER`.",
            )
        # The settings may be new although the mirror exists.
        if not self.settings.commit and self.position(reader, last or "") is None:
            raise ConstraintViolation(
                f"The folder {self.folder} is no mirror of this graph.",
                hint="`mycel mirror join` takes over the content of its files. Or name a folder"
                " that does"
                " not exist yet.",
            )

    def _begin_again(self, reader: Reader) -> str:
        refs = self.repository.refs(self.branch_ref, self.last_ref)
        tip, last = refs.get(self.branch_ref, ""), refs.get(self.last_ref, "")
        commit = self.write_whole(self.repository, reader, [tip] if tip else [])
        self.repository.update_refs([(self.incoming_ref, commit, None)])
        self.finish(Sight(tip, last, "", MirrorPosition(0, "")), commit, None)
        return commit


def exclude_folder(repository: Repository, folder: Path) -> None:
    """Ignore the folder in the repository around the mirror, in a list that is not committed."""
    if repository.line("check-ignore", str(folder), check=False):
        return
    place = repository.folder / repository.line("rev-parse", "--git-path", "info/exclude")
    place.parent.mkdir(parents=True, exist_ok=True)
    name = folder.resolve().relative_to(repository.folder.resolve()).as_posix()
    with place.open("ab+") as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
        gap = "" if file.read(1) in (b"", b"\n") else "\n"
        file.write(f"{gap}/{name}/\n".encode())
