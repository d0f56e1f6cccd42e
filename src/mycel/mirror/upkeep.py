"""The upkeep of a mirror: what is written to its repository, in which order, and when not.

Three references say how far it has come:

    refs/heads/<branch>            what people see, and may commit edits to
    refs/mycel/<branch>            the last commit that the mirror has written
    refs/mycel/<branch>-incoming   one that is written, while files, index and branch follow

A catch-up reads the journal from the entry that the last commit names (`commits.position_of`),
writes commits under the third reference, then the files, then the index, and at last moves all
three together. If it is killed on the way, the next one goes on from the third reference. It waits
as long as there is something that it would overwrite: files that were edited, or commits that were
not imported.

A mirror has a folder of its own. Inside of another repository, that of the project, the folder is a
linked worktree on a branch of its own: branch, index, hooks and files of the project stay as they
are, and `git log knowledge` works in both.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

from mycel.errors import ConstraintViolation, GitFailed
from mycel.history.graph import Graph
from mycel.mirror import commits, export, projection, settings
from mycel.mirror.commits import Identity, MirrorPosition
from mycel.mirror.export import Heading
from mycel.mirror.folder import SHOWN_MAX, Folder
from mycel.mirror.paths import is_document
from mycel.mirror.projection import FileChanges
from mycel.mirror.repository import Repository, TreeChange, near
from mycel.mirror.settings import Pending, Settings
from mycel.model.names import name_few
from mycel.model.state import LIVE, State
from mycel.store.file.locks import turn
from mycel.store.query.alignment import touched
from mycel.store.query.commits import (
    LogFilter,
    journal_root_at,
    transaction_of,
    transactions,
)
from mycel.store.query.lineage import imports
from mycel.store.query.reader import Reader

LOCK_SECONDS_MAX: Final = 60.0

_NEUTRAL: Final = Identity("Mycel", "mycel@mycel.invalid")


class Pushed(NamedTuple):
    """The result of a catch-up."""

    commits: int
    """The number of Git commits that were made."""
    commit: str
    """The last commit of the mirror."""
    seq: int
    """The entry of the journal that the mirror has reached."""
    rebuilt: str = ""
    """The reason why the history of the mirror was written anew."""
    notes: tuple[str, ...] = ()
    """Remarks for people."""
    remote: str = ""
    """The remote that the commits were sent to."""

    def to_dict(self) -> dict[str, Any]:
        return {key: value for key, value in self._asdict().items() if value not in ("", ())}


class Status(NamedTuple):
    """The state of a mirror."""

    folder: Path
    branch: str
    commit: str
    seq: int
    """The entry of the journal that it shows."""
    behind: int
    """Transactions that it does not have yet."""
    edited: tuple[str, ...]
    """Files that differ from the last commit of the mirror."""
    commits: int
    """Commits of others on top of it."""
    problem: str = ""
    """The reason why a catch-up waits, or is impossible."""

    def to_dict(self) -> dict[str, Any]:
        wire = self._asdict() | {"folder": str(self.folder), "edited": list(self.edited)}
        return {key: value for key, value in wire.items() if value != "" or key == "commit"}


class Sight(NamedTuple):
    """The references of a mirror, as they are."""

    tip: str
    last: str
    incoming: str
    position: MirrorPosition


class Upkeep:
    """The repository of a graph's mirror, kept up to date.

    Raises:
        NotFound: the graph has no mirror.
    """

    def __init__(self, graph: Graph, known: Settings | None = None) -> None:
        self._graph: Final = graph
        self._path: Final = Path(graph.path).resolve()
        self.settings: Settings = known or settings.read(self._path)

    @property
    def folder(self) -> Path:
        return self.settings.folder

    @cached_property
    def repository(self) -> Repository:
        return Repository(self.settings.folder)

    # Catching up.

    def catch_up(self, message: str = "", imported: Mapping[str, str] | None = None) -> Pushed:
        """Write what the journal has and the repository lacks.

        With a `message`, all of it is one Git commit with this message. `imported` are the objects
        of edited files that the graph has.

        Raises:
            ConstraintViolation: edits wait to be imported, or the repository is no longer the one
                that was written.
        """
        with self.locked():
            pushed = self._catch_up(message, imported)
            if not self.settings.replaced:
                return pushed
            return pushed._replace(rebuilt="purge", notes=self._remove_replaced())

    def _catch_up(self, message: str, imported: Mapping[str, str] | None) -> Pushed:
        with self._graph.reading() as reader:
            sight = self.look(reader)
            if imported is None:
                imported = self._imported(reader, sight)
            if sight.incoming:
                self.finish(sight, sight.incoming, imported)
                sight = self.look(reader)
            if imported is None:
                self._check_imported(sight)
            head = reader.head().seq
            start = self.start(sight)
            if start >= head and imported is None:
                return Pushed(0, sight.last, start)
            if touched(reader, start, head).purged:
                made = self._write_anew(reader, sight)
            else:
                made = self._write(reader, sight, start, message, imported or {})
        incoming = self.repository.refs(self.incoming_ref).get(self.incoming_ref)
        last = incoming if made and incoming else sight.last
        self.finish(sight, last, imported)
        self.save(commit=last, seq=head, pending=None)
        self._tidy()
        return Pushed(made, last, head)

    def _write(
        self,
        reader: Reader,
        sight: Sight,
        start: int,
        message: str,
        imported: Mapping[str, str],
    ) -> int:
        """Write commits for the transactions after an entry. Returns the number of commits.

        On top of commits of others, which are imported, there is one: it shows what became of them.
        """
        entries = list(transactions(reader, where=LogFilter(after=start)))[::-1]
        head = reader.head().seq
        is_on_top = sight.tip != sight.last
        if not entries and is_on_top:
            entries = [transaction_of(reader, head)._replace(message="Import edits")]
        is_one = bool(message) or is_on_top
        groups = [entries] if is_one and entries else commits.groups(entries)
        made, before = 0, start
        with ExitStack() as stream:
            write = None
            for group in groups:
                after = group[-1].seq
                changes = _changes(reader, before, after, head)
                before = after
                if not changes and not is_on_top:
                    continue
                if write is None:
                    write = stream.enter_context(self.repository.fast_import())
                said = commits.message_of(group, changes, journal_root_at(reader, after), message)
                who = self._author(group[-1].actor)
                heading = Heading(who, self._committer, group[-1].time_us, said)
                first = () if made else (sight.tip, self._edited_by(sight, imported))
                export.write_changes(write, self.incoming_ref, heading, changes, *first)
                made += 1
        return made

    def _edited_by(self, sight: Sight, imported: Mapping[str, str]) -> list[TreeChange]:
        """The documents that commits of others changed, back to the mirror's last commit.

        Files that are no documents stay as others have committed them.
        """
        if sight.tip == sight.last:
            return []
        changes = self.repository.tree_changes(sight.tip, sight.last)
        return [each for each in changes if is_document(each.path) or each.path in imported]

    def _write_anew(self, reader: Reader, sight: Sight) -> int:
        """Write a commit with which the history begins anew, because something was purged.

        Git keeps what it saw: the history before is removed once files and branch have followed.
        """
        commit = self.write_whole(self.repository, reader, sight.tip, parent="")
        self.save(replaced=sight.tip)
        self.repository.update_refs([(self.incoming_ref, commit, None)])
        return 1

    def _remove_replaced(self) -> tuple[str, ...]:
        """Remove the history before a purge, and tell where it still is."""
        repository, old = self.repository, self.settings.replaced
        notes = ["Something was purged, so the history of the mirror begins anew."]
        if self.settings.is_worktree:
            notes.append(
                "Objects of the old history stay in the project's repository until"
                " `git reflog expire --expire=now --all` and `git gc --prune=now`."
            )
        else:
            repository.run("reflog", "expire", "--expire=now", "--all")
            # By force: a process that was killed leaves a mark that it is running.
            repository.run("gc", "--prune=now", "--quiet", "--force")
        words = ("for-each-ref", "--format=%(refname)", f"--contains={old}")
        if holding := os.fsdecode(repository.run(*words, check=False)).splitlines():
            notes.append(
                f"{name_few(holding, SHOWN_MAX)} in {self.folder} still"
                f" {'has' if len(holding) == 1 else 'have'} the old history: delete them, then"
                " `git gc --prune=now`."
            )
        notes.append(
            "Clones and remotes keep the old history: delete the branch there. Mycel never forces"
            " a push."
        )
        self.save(replaced="")
        return tuple(notes)

    def finish(self, sight: Sight, commit: str, imported: Mapping[str, str] | None) -> None:
        """Let files, index and references follow a commit that is written. Nothing is overwritten.

        Files that were imported become what the commit says, if they were not edited since.

        Raises:
            ConstraintViolation: files that would change have been edited.
        """
        repository = self.repository
        folder = Folder(repository)
        changes = {each.path: each for each in repository.tree_changes(sight.tip, commit)}
        if imported:
            changes |= self._brought(commit, imported)
        paths = list(changes.values())
        edited = folder.edited(paths, imported or {})
        if edited:
            if commit not in (sight.tip, sight.last):
                repository.update_refs([(self.incoming_ref, None, commit)])
            raise _held(
                f"{name_few(edited, SHOWN_MAX)} {'was' if len(edited) == 1 else 'were'} edited in"
                " the mirror, and changed in the graph too.",
                edited,
            )
        folder.update(paths)
        folder.note(paths)
        if commit != sight.tip:
            repository.update_refs(
                [
                    (self.branch_ref, commit, sight.tip or None),
                    (self.last_ref, commit, sight.last or None),
                    (self.incoming_ref, None, None),
                ]
            )

    # Edits that were imported.

    def note_pending(self, pending: Pending | None) -> None:
        """Keep the files of an import that begins, or forget them."""
        self.save(pending=pending)

    def is_imported(self) -> bool:
        """True if the graph has the edits of the import that has begun."""
        with self._graph.reading() as reader:
            return self._imported(reader, self.look(reader)) is not None

    def _imported(self, reader: Reader, sight: Sight) -> Mapping[str, str] | None:
        """The files of an import that the graph has; None if there is none."""
        pending = self.settings.pending
        if pending is None or pending.tip != sight.tip:
            return None
        names = [mark.name for seq, mark in imports(reader) if seq > pending.seq]
        return pending.files if pending.source in names else None

    def _brought(self, commit: str, imported: Mapping[str, str]) -> dict[str, TreeChange]:
        """Imported files, as they are on the disk, and as a commit has them."""
        tree = self.repository.tree(commit)
        return {path: TreeChange(path, name, tree.get(path, "")) for path, name in imported.items()}

    # The whole of it.

    def write_whole(self, repository: Repository, reader: Reader, old: str, parent: str) -> str:
        """Store a commit with the files of the present state, and the user's files of an old one.

        Returns the commit.
        """
        tree = export.write_state(repository, reader, old)
        newest = transaction_of(reader, reader.head().seq)
        title = newest._replace(message="Mirror the whole graph")
        root = journal_root_at(reader, newest.seq)
        said = commits.message_of([title], FileChanges([], [], []), root)
        who = self._author(newest.actor)
        heading = Heading(who, self._committer, newest.time_us, said)
        return repository.write_commit(export.commit_object(tree, parent, heading))

    # How it is.

    def status(self) -> Status:
        """Position of the mirror, files that were edited, and the reason why it cannot go on."""
        seq = behind = count = 0
        edited: list[str] = []
        commit = problem = ""
        with self._graph.reading() as reader:
            try:
                sight = self.look(reader)
                seq, commit = self.start(sight), sight.last
                where = LogFilter(after=seq)
                behind = sum(1 for _ in transactions(reader, where=where))
                edited = self.edited(sight.last)
                count = len(self.subjects(sight))
                self._check_imported(sight)
            except (ConstraintViolation, GitFailed) as error:
                problem = f"{error.message} {error.hint}".strip()
        return Status(
            self.folder, self.settings.branch, commit, seq, behind, tuple(edited), count, problem
        )

    def edited(self, commit: str) -> list[str]:
        """The files on the disk that differ from those of a commit."""
        folder = Folder(self.repository)
        tree = self.repository.tree(commit)
        known = {path: name for path, name in tree.items() if is_document(path)}
        found = []
        for path in folder.files():
            name = known.pop(path, None)
            content = folder.content(path)
            if content is None or self.repository.blob(content) != name:
                found.append(path)
        return sorted([*found, *known])

    def subjects(self, sight: Sight) -> list[str]:
        """The subjects of the commits of others on top of the mirror's, the oldest first."""
        if sight.tip == sight.last:
            return []
        ours = ("--invert-grep", f"--grep=^{commits.ROOT}: ")  # Ones that a rebase has copied.
        words = ("log", "--reverse", "--format=%s", *ours, f"{sight.last}..{sight.tip}")
        return self.repository.run(*words).decode(errors="replace").splitlines()

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
        names = (self.branch_ref, self.last_ref, self.incoming_ref)
        refs = repository.refs(*names)
        tip, last, incoming = (refs.get(name, "") for name in names)
        position = commits.position_of(repository.commit_text(last)) if last else None
        if last and (position is None or not is_known(reader, position)):
            raise _broken(f"The repository {folder} shows another graph, or another copy of it.")
        if not tip or position is None or not self._has(tip, last, position):
            raise _broken(
                f"The repository {folder} was rewritten: the branch {self.settings.branch} no"
                " longer has the last commit of the mirror."
            )
        return Sight(tip, last, incoming, position)

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
        if tip == last or self.repository.is_ancestor(last, tip):
            return True
        copies = (
            "log",
            "--format=%H",
            "--max-count=1",
            f"--grep=^{commits.ROOT}: {position.root}$",
        )
        return bool(self.repository.line(*copies, f"{last}..{tip}"))

    def _check_imported(self, sight: Sight) -> None:
        if sight.tip != sight.last:
            raise _held("Commits of others on the mirror's branch are not in the graph yet.", [])

    def start(self, sight: Sight) -> int:
        """The entry from which on the journal may have changed files."""
        if self.settings.commit == sight.last:
            return max(self.settings.seq, sight.position.seq)
        return sight.position.seq

    # Names.

    @property
    def branch_ref(self) -> str:
        return f"refs/heads/{self.settings.branch}"

    @property
    def last_ref(self) -> str:
        return f"refs/mycel/{self.settings.branch}"

    @property
    def incoming_ref(self) -> str:
        return f"refs/mycel/{self.settings.branch}-incoming"

    @cached_property
    def _committer(self) -> Identity:
        repository = Repository(near(self.folder))
        name, address = (
            repository.line("config", key, check=False) for key in ("user.name", "user.email")
        )
        return commits.identity(f"{name} <{address}>") or _NEUTRAL

    def _author(self, actor: str) -> Identity:
        return commits.author_of(actor, self.settings.authors, self._committer)

    # Upkeep.

    def turn_taken(self) -> AbstractContextManager[None]:
        """The lock that lets one process write the mirror at a time."""
        return turn(settings.lock_of(self._path), LOCK_SECONDS_MAX, str(self.folder))

    @contextmanager
    def locked(self) -> Iterator[None]:
        with self.turn_taken():
            self.settings = settings.read(self._path)
            yield

    def save(self, **changes: Any) -> None:
        """Change settings, and store them."""
        self.settings = self.settings._replace(**changes)
        settings.write(self._path, self.settings)

    def _tidy(self) -> None:
        """Let git pack loose objects in a repository of our own once there are many."""
        if not self.settings.is_worktree:
            self.repository.run("-c", "gc.auto=6700", "gc", "--auto", "--quiet", check=False)


def _changes(reader: Reader, before: int, after: int, head: int) -> FileChanges:
    numbers = touched(reader, before, after).numbers
    new = reader.at(LIVE if after == head else State(after))
    return projection.changes(reader.at(State(before)), new, numbers)


def is_known(reader: Reader, position: MirrorPosition) -> bool:
    """True if the graph has the state that a commit shows."""
    if position.seq > reader.head().seq:
        return False
    return journal_root_at(reader, position.seq) == position.root


def _held(why: str, paths: list[str]) -> ConstraintViolation:
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
