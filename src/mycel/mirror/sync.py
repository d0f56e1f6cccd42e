"""Brings the repository of a mirror up to date: the order of writes, and when nothing is written.

A catch-up reads the journal from the entry that the last commit shows (`inspection`), writes
commits under a reference of their own, then the files, then the index, and at last moves branch and
references together. If it is killed before the end, the next catch-up continues from that
reference. It does not start if it would overwrite edited files, or commits that were not imported.

A commit on top of commits of others is written only if its files differ from theirs. So two graphs
that import each other's commits arrive at the same commit.

A mirror has a folder of its own. Inside of another repository, that of the project, the folder is a
linked worktree on a branch of its own: branch, index, hooks and files of the project stay as they
are, and `git log knowledge` works in both.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final, NamedTuple

from mycel.mirror import commits, export, projection
from mycel.mirror.commits import MirrorPosition
from mycel.mirror.export import Heading
from mycel.mirror.folder import SHOWN_MAX, Folder
from mycel.mirror.foreign_files import merge_foreign_files
from mycel.mirror.inspection import Inspection, Sight, waiting_error
from mycel.mirror.paths import is_document
from mycel.mirror.projection import FileChanges
from mycel.mirror.repository import Repository, TreeChange
from mycel.mirror.settings import Pending
from mycel.model.names import name_few
from mycel.model.state import LIVE, State
from mycel.store.query.alignment import touched
from mycel.store.query.commits import (
    LogEntry,
    LogFilter,
    journal_root_at,
    transaction_of,
    transactions,
)
from mycel.store.query.lineage import imports
from mycel.store.query.purges import purges_since
from mycel.store.query.reader import Reader

NO_CHANGES: Final = FileChanges([], [], [])


class Pushed(NamedTuple):
    """The result of a catch-up."""

    commits: int
    """The number of Git commits that the catch-up made."""
    commit: str
    """The last commit of the mirror."""
    seq: int
    """The journal entry that the mirror has reached."""
    rebuilt: str = ""
    """The reason why the history of the mirror was rewritten; empty if it was not."""
    notes: tuple[str, ...] = ()
    """Remarks for people."""
    remote: str = ""
    """The remote that the commits were sent to."""

    def to_dict(self) -> dict[str, Any]:
        return {key: value for key, value in self._asdict().items() if value not in ("", ())}


class Upkeep(Inspection):
    """The repository of a graph's mirror, kept up to date."""

    def catch_up(self, message: str = "", imported: Pending | None = None) -> Pushed:
        """Write the transactions that the repository lacks.

        With a `message`, all of them are one Git commit with this message. `imported` are edits
        that the graph has merged, and that the repository does not show yet.

        Raises:
            ConstraintViolation: edits wait to be imported, or the repository is no longer the one
                that was written.
        """
        with self.locked():
            pushed = self._catch_up(message, imported)
            if not self.settings.replaced:
                return pushed
            return pushed._replace(rebuilt="purge", notes=self._remove_replaced())

    def _catch_up(self, message: str, imported: Pending | None) -> Pushed:
        notes: tuple[str, ...] = ()
        with self._graph.reading() as reader:
            sight = self.look(reader)
            if imported is None:
                imported = self._imported(reader, sight)
            if sight.incoming:
                self.finish(sight, sight.incoming, imported)
                sight = self.look(reader)
                if imported is not None and self.repository.is_ancestor(imported.onto, sight.last):
                    imported = imported._replace(onto="")
            if imported is None:
                self.check_imported(sight)
            head = reader.head().seq
            start = self.start(sight)
            if start >= head and imported is None:
                return Pushed(0, sight.last, start)
            position = MirrorPosition(head, journal_root_at(reader, head))
            if not touched(reader, start, head).purged:
                commit_count = self._write(reader, sight, start, message, imported)
            elif self.remote:
                commit_count, notes = (
                    self._write_purge(reader, sight, start, imported),
                    _PURGE_NOTES,
                )
            else:
                commit_count = self._write_anew(reader, sight)
        last = self._shortened(sight, imported, position) if commit_count else sight.last
        self.finish(sight, last, imported)
        pending = None if imported is not None else self.settings.pending
        if pending is not None and pending.tip == sight.tip:
            # The import waits for decisions while the branch goes on.
            pending = pending._replace(tip=last)
        self.save(commit=last, seq=head, pending=pending)
        self._tidy()
        is_made = commit_count if last not in _others(sight, imported) else 0
        return Pushed(is_made, last, head, notes=notes)

    def _shortened(self, sight: Sight, imported: Pending | None, position: MirrorPosition) -> str:
        """The new commit, or instead a commit of somebody else with the same files."""
        repository = self.repository
        commit = repository.refs(self.incoming_ref)[self.incoming_ref]
        tree = repository.tree_of(commit)
        for other in _others(sight, imported):
            if repository.tree_of(other) == tree and repository.is_ancestor(sight.tip, other):
                self.note_position(other, position)
                new = other if other != sight.tip else None
                repository.update_refs([(self.incoming_ref, new, None)])
                return other
        return commit

    def _write(
        self,
        reader: Reader,
        sight: Sight,
        start: int,
        message: str,
        imported: Pending | None,
    ) -> int:
        """Write commits for the transactions after an entry. Returns the number of commits.

        After an import of commits of others, at least one commit is written: the last one shows the
        result.
        """
        entries = list(transactions(reader, where=LogFilter(after=start)))[::-1]
        head = reader.head().seq
        onto = imported.onto if imported is not None else ""
        is_on_top = bool(onto) or sight.tip != sight.last
        if not entries and is_on_top:
            entries = [transaction_of(reader, head)]
        is_one = bool(message) or is_on_top
        groups = [entries] if is_one and entries else commits.groups(entries)
        commit_count, before = 0, start
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
                position = MirrorPosition(after, journal_root_at(reader, after))
                title = self._title(onto) if is_on_top else ""
                heading = self._heading(reader, group, changes, position, message, title)
                first = () if commit_count else self._parents(sight, imported)
                export.write_changes(write, self.incoming_ref, heading, changes, *first)
                commit_count += 1
        return commit_count

    def _heading(
        self,
        reader: Reader,
        group: Sequence[LogEntry],
        changes: FileChanges,
        position: MirrorPosition,
        message: str,
        title: str,
    ) -> Heading:
        """Author, time and message of a commit; a `title` is for one on top of others' commits.

        Transactions of imports are left out there, because their authors have made commits already.
        """
        time_us = group[-1].time_us
        if title:
            seqs = {seq for seq, _ in imports(reader)}
            own = [log_entry for log_entry in group if log_entry.seq not in seqs]
            if not own:
                last = group[-1]._replace(message=title)
                text = commits.message_of([last], changes, position, message)
                return Heading(self.committer, self.committer, time_us, text)
            group = own
        text = commits.message_of(group, changes, position, message)
        return Heading(self.author(group[-1].actor), self.committer, time_us, text)

    def _title(self, onto: str) -> str:
        """The title of a merge commit: of the remote branch, or of imported edits."""
        branch = self.upstream_ref.removeprefix("refs/remotes/")
        return f"Merge {branch}" if onto else "Import edits"

    def _parents(
        self, sight: Sight, imported: Pending | None
    ) -> tuple[list[str], list[TreeChange]]:
        """The parents of a commit, and the changes to the files of its first parent.

        Documents are reset to those of the last commit of the mirror; all other files stay.
        """
        repository = self.repository
        onto = imported.onto if imported is not None else ""
        files = imported.files if imported is not None else {}
        parents = [sight.tip]
        foreign: Iterable[TreeChange] = ()
        if onto and repository.is_ancestor(sight.tip, onto):
            parents = [onto]
        elif onto:
            parents = [sight.tip, onto]
            foreign = merge_foreign_files(repository, sight.tip, onto)
        if parents[0] == sight.last:
            return parents, list(foreign)
        changes = repository.tree_changes(parents[0], sight.last)
        restored = [
            change for change in changes if is_document(change.path) or change.path in files
        ]
        return parents, [*restored, *foreign]

    def _write_purge(
        self, reader: Reader, sight: Sight, start: int, imported: Pending | None
    ) -> int:
        """Write a commit without the purged content; its message tells others of the purge."""
        parents, foreign = self._parents(sight, imported)
        tree_changes = [tree_change for tree_change in foreign if not is_document(tree_change.path)]
        purged = purges_since(reader, start).keys
        commit = self.write_whole(self.repository, reader, parents, purged, tree_changes)
        self.repository.update_refs([(self.incoming_ref, commit, None)])
        return 1

    def _write_anew(self, reader: Reader, sight: Sight) -> int:
        """Write a first commit of a new history, because something was purged.

        Git keeps old commits, so the old history is removed once files and branch are updated.
        """
        commit = self.write_whole(self.repository, reader, [], old=sight.tip)
        self.save(replaced=sight.tip)
        self.repository.update_refs([(self.incoming_ref, commit, None)])
        return 1

    def _remove_replaced(self) -> tuple[str, ...]:
        """Remove the history before a purge; returns remarks on places that still have it."""
        repository, old = self.repository, self.settings.replaced
        notes = ["Something was purged, so the history of the mirror starts again."]
        if self.settings.is_worktree:
            notes.append(
                "Objects of the old history stay in the project's repository until"
                " `git reflog expire --expire=now --all` and `git gc --prune=now`."
            )
        else:
            repository.run("reflog", "expire", "--expire=now", "--all")
            # Forced, because a killed process leaves a mark as if it were still running.
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

    def finish(self, sight: Sight, commit: str, imported: Pending | None) -> None:
        """Update files, index and references to a commit that is written; no edits are overwritten.

        Files that were imported get the content of the commit, unless they were edited since.

        Raises:
            ConstraintViolation: files that would change have been edited.
        """
        repository = self.repository
        folder = Folder(repository)
        changes = {change.path: change for change in repository.tree_changes(sight.tip, commit)}
        files = {} if imported is None else imported.files
        if files:
            changes |= self._brought(commit, files)
        paths = list(changes.values())
        edited = folder.edited(paths, files)
        if edited:
            if commit not in (sight.tip, sight.last):
                repository.update_refs([(self.incoming_ref, None, commit)])
            raise waiting_error(
                f"{name_few(edited, SHOWN_MAX)} {'was' if len(edited) == 1 else 'were'} edited in"
                " the mirror, and changed in the graph too.",
                edited,
            )
        folder.update(paths)
        folder.note(paths)
        if commit != sight.tip or commit != sight.last:
            repository.update_refs(
                [
                    (self.branch_ref, commit, sight.tip or None),
                    (self.last_ref, commit, sight.last or None),
                    (self.incoming_ref, None, None),
                ]
            )

    # Edits that were imported.

    def note_pending(self, pending: Pending | None) -> None:
        """Record the files of an import that begins, or remove the record."""
        self.save(pending=pending)

    def is_imported(self) -> bool:
        """True if the graph has the edits of the recorded import."""
        with self._graph.reading() as reader:
            return self._imported(reader, self.look(reader)) is not None

    def _imported(self, reader: Reader, sight: Sight) -> Pending | None:
        """The import that the graph has and the mirror has not yet; None if there is none."""
        pending = self.settings.pending
        if pending is None or (not pending.onto and pending.tip != sight.tip):
            return None
        if pending.onto and self.repository.is_ancestor(pending.onto, sight.last):
            return None
        names = {mark.name for seq, mark in imports(reader) if seq > pending.seq}
        return pending if names.issuperset(pending.sources) else None

    def _brought(self, commit: str, imported: Mapping[str, str]) -> dict[str, TreeChange]:
        """The changes of imported files, from the content on the disk to that of a commit."""
        tree = self.repository.objects_at(commit, imported)
        return {path: TreeChange(path, name, tree.get(path, "")) for path, name in imported.items()}

    # The whole mirror.

    def write_whole(
        self,
        repository: Repository,
        reader: Reader,
        parents: Sequence[str],
        purged: Iterable[bytes] = (),
        foreign: Iterable[TreeChange] = (),
        old: str = "",
    ) -> str:
        """Store a commit with the files of the present state, and an old commit's user files.

        The old commit is the first parent by default. Returns the new commit.
        """
        old = old or (parents[0] if parents else "")
        tree = export.write_state(repository, reader, old, foreign)
        newest = transaction_of(reader, reader.head().seq)
        title = newest._replace(message="Mirror the whole graph" if not purged else newest.message)
        position = MirrorPosition(newest.seq, journal_root_at(reader, newest.seq))
        message = commits.message_of([title], NO_CHANGES, position, purged=purged)
        who = self.author(newest.actor)
        heading = Heading(who, self.committer, newest.time_us, message)
        return repository.write_commit(export.commit_object(tree, parents, heading))

    def _tidy(self) -> None:
        """Have git pack loose objects if there are many, but not in the repository of a project."""
        if not self.settings.is_worktree:
            self.repository.run("-c", "gc.auto=6700", "gc", "--auto", "--quiet", check=False)


_PURGE_NOTES: Final = (
    "Something was purged. Others who import the commit purge it too.",
    "Git keeps old content, here, in the remote and in clones: their history still has it.",
    "To remove it there, delete the branch everywhere, and begin with a new one.",
)


def _others(sight: Sight, imported: Pending | None) -> list[str]:
    """Commits of others that may have the same files as the graph."""
    onto = imported.onto if imported is not None else ""
    return [commit for commit in (onto, sight.tip if sight.tip != sight.last else "") if commit]


def _changes(reader: Reader, before: int, after: int, head: int) -> FileChanges:
    numbers = touched(reader, before, after).numbers
    new = reader.at(LIVE if after == head else State(after))
    return projection.changes(reader.at(State(before)), new, numbers)
