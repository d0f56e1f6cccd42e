"""`Mirror`: the Git repository that shows a graph as files, for people and for tools of Git."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mycel.api.graph import Graph
from mycel.errors import ConstraintViolation, GitFailed, NotFound
from mycel.mirror import commits, settings
from mycel.mirror.creation import Creation
from mycel.mirror.inspection import Status
from mycel.mirror.repository import Repository, repair, root_of
from mycel.mirror.settings import Settings
from mycel.mirror.sync import Pushed, Upkeep
from mycel.store.file.workspace_databases import companion, is_address
from mycel.store.opening import MEMORY

if TYPE_CHECKING:
    from mycel.mirror.import_edits import Imported

OWN_BRANCH: Final = "main"
"""The branch of a mirror that is a repository of its own."""
PROJECT_BRANCH: Final = "knowledge"
"""The branch of a mirror inside of another repository."""
FOLDER: Final = ".knowledge"
"""The name of the folder, unless another one is given."""


class Mirror:
    """The Git mirror of an open graph. `Mirror.create` makes one.

    Raises:
        NotFound: the graph has no mirror.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph: Final = graph
        self._upkeep: Final = Upkeep(graph)

    @property
    def folder(self) -> Path:
        """The folder with the files."""
        return self._upkeep.folder

    @classmethod
    def create(
        cls,
        graph: Graph,
        folder: Path | str | None = None,
        *,
        branch: str | None = None,
        authors: Mapping[str, str] | None = None,
        remote: str | None = None,
    ) -> Mirror:
        """Create the mirror of a graph, or rewrite it in place.

        Options that are not given stay as they are.

        The folder of a new mirror is `.knowledge` beside the graph, unless one is given. Inside of
        another repository it is a linked worktree of that repository, on a `branch` of its own. If
        the folder is a mirror of this graph that was moved, it is used from now on. `authors` are
        names and addresses by actor. `push` sends commits to the `remote`.

        Raises:
            ConstraintViolation: folder or branch hold something else, or files that would change
                have been edited.
            GitFailed: a call of git failed.
        """
        new_settings = _new_settings(graph, folder, branch, authors, remote)
        Creation(graph, new_settings).begin()
        return cls(graph)

    @classmethod
    def join(
        cls,
        graph: Graph,
        folder: Path | str | None = None,
        *,
        branch: str | None = None,
        authors: Mapping[str, str] | None = None,
        remote: str | None = None,
        merge: bool = False,
        policy: str | Mapping[str, str] | None = None,
    ) -> tuple[Mirror, Imported]:
        """Share a mirror: take over the content of its branch, and continue its history.

        The branch is in the clone in the folder; or in the repository around the folder, which gets
        a linked worktree; or in the `remote`, a URL. The graph has to be empty, or a copy of a
        graph that has written the branch, such as a restored backup. With `merge`, it may be any
        graph, and its content is added to the branch. Values that both sides have changed are
        conflicts, as in an import.

        Raises:
            NotFound: there is no such branch.
            ConstraintViolation: the branch is no mirror, or the graph has knowledge of its own and
                `merge` is False. Or a file cannot be read; call `import_edits` when it can.
            GitFailed: a call of git failed.
        """
        from mycel.mirror.joining import Joining  # noqa: PLC0415 - it needs what an import needs

        new_settings = _new_settings(graph, folder, branch, authors, remote)
        Joining(graph, new_settings).begin(merge=merge)
        mirror = cls(graph)
        return mirror, mirror.import_edits(allow_deletions=True, policy=policy)

    def fetch(self) -> str:
        """Fetch the branch of the remote; `import_edits` merges it. Returns the remote's name.

        Raises:
            GitFailed: the remote cannot be reached, or does not have the branch.
        """
        return self._upkeep.fetch()

    def push(self, message: str = "", *, remote: str | None = None) -> Pushed:
        """Write the transactions that the mirror lacks, and send them to the remote.

        Transactions of one actor that follow each other within a second are one Git commit. With a
        `message`, all of them are one commit with this message. The default `remote` is the one
        that was set, or else `origin`, if it has the branch. A remote is never forced.

        Raises:
            ConstraintViolation: edits wait to be imported, or the repository is no longer the one
                that was written.
            GitFailed: a call of git failed.
            DatabaseBusy: another process writes the mirror.
        """
        pushed = self._upkeep.catch_up(message)
        name = self._upkeep.remote if remote is None else remote
        if not name:
            return pushed if remote == "" else pushed._replace(notes=self._notes(pushed))
        self._send(name)
        return pushed._replace(remote=name)

    def _notes(self, pushed: Pushed) -> tuple[str, ...]:
        """Remarks for a push that was not sent to a remote: how to send it."""
        name = self._upkeep.repository.line("remote")
        if not name:
            return pushed.notes
        command = f"`mycel mirror push --remote {name}`"
        unsent = f"Nothing was sent, because no remote has the branch: {command} sends it."
        return (*pushed.notes, unsent)

    def _send(self, remote: str) -> None:
        ref = f"refs/heads/{self._upkeep.settings.branch}"
        try:
            self._upkeep.repository.run("push", "--quiet", "--", remote, f"{ref}:{ref}")
        except GitFailed as error:
            error.hint = (
                "The commits are in the mirror. If the remote has commits that the mirror lacks,"
                " `mycel mirror pull` first; Mycel never forces a push."
            )
            raise

    def import_edits(
        self,
        *,
        allow_deletions: bool = False,
        accept_purges: bool = False,
        policy: str | Mapping[str, str] | None = None,
        dry_run: bool = False,
        by: str | None = None,
        message: str = "",
    ) -> Imported:
        """Bring files that were edited, and commits on top of the mirror's, into the graph.

        They are merged: the base is the last commit of the mirror, theirs the files, ours the
        graph. Nothing is imported unless all files can be read. If values are in conflict, the
        merge stays open; once it is resolved and committed, `push` continues. More than 50 deleted
        files, or a tenth of all, need `allow_deletions`. Concepts that others have purged are
        removed, with a warning. With `accept_purges` they are purged here too, which cannot be
        undone. An edited schema is applied in one transaction with the documents of its author.
        `policy` is as in `Graph.merge`.

        Raises:
            ConstraintViolation: a file cannot be read, or too many were deleted; the data lists
                everything. Or the schema cannot be applied, or the repository is no longer the one
                that was written.
        """
        # Imported late: only this method needs PyYAML and the merge.
        from mycel.mirror.edits import ImportConsent  # noqa: PLC0415
        from mycel.mirror.import_edits import import_edits  # noqa: PLC0415

        return import_edits(
            self._graph,
            self._upkeep,
            consent=ImportConsent(allow_deletions, accept_purges),
            dry_run=dry_run,
            options={"policy": policy, "by": by},
            message=message,
        )

    def status(self) -> Status:
        """The position of the mirror, the edited files, and the reason if it cannot go on."""
        return self._upkeep.status()


def _new_settings(
    graph: Graph,
    folder: Path | str | None,
    branch: str | None,
    authors: Mapping[str, str] | None,
    remote: str | None,
) -> Settings:
    """The settings of a new or joined mirror; options that are not given stay as they are."""
    if graph.path == MEMORY:
        raise ConstraintViolation("A graph in memory has no mirror.", hint="Open one in a file.")
    path = companion(graph.path).resolve()
    _check_authors(authors or {})
    try:
        stored = settings.read(path)
    except NotFound:
        stored = None
    if is_address(graph.path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if folder is None and stored is None:
            raise ConstraintViolation(
                "A graph on a server has no folder beside it.", hint="Name one for the mirror."
            )
    if folder is None:
        folder = path.parent / FOLDER if stored is None else stored.folder
    folder = Path(folder).absolute()
    repair(folder)
    is_there = (folder / ".git").exists()
    if stored is None or stored.folder != folder:
        stored = _adopted(folder) if is_there else Settings(folder, "")
    if not is_there:
        _check_empty(folder)
        stored = stored._replace(is_complete=False)
    if not stored.is_complete:
        above = root_of(folder.parent)
        name = OWN_BRANCH if above is None else PROJECT_BRANCH
        stored = stored._replace(
            is_worktree=above is not None and not (folder / ".git").is_dir(),
            branch=stored.branch or name,
        )
    return stored._replace(
        branch=branch or stored.branch,
        authors=dict(stored.authors) | dict(authors or {}),
        remote=stored.remote if remote is None else remote,
    )


def _adopted(folder: Path) -> Settings:
    """The settings of a mirror that was moved, or whose settings were lost."""
    branch = Repository(folder).line("symbolic-ref", "--short", "HEAD", check=False)
    is_worktree = (folder / ".git").is_file()
    return Settings(folder, branch, is_worktree=is_worktree, is_complete=True)


def _check_authors(authors: Mapping[str, str]) -> None:
    for actor, text in authors.items():
        if commits.identity(text) is None:
            raise ConstraintViolation(
                f"{text!r} is no name and address for {actor!r}.",
                hint='Write them as Git does: "Ada Lovelace <ada@example.org>".',
            )


def _check_empty(folder: Path) -> None:
    if folder.exists() and any(folder.iterdir()):
        raise ConstraintViolation(
            f"The folder {folder} is not empty.",
            hint="Name a folder that does not exist yet, or move its files away.",
        )
