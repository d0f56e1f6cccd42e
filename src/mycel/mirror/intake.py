"""The way back: files that were edited in a mirror become a merge into the graph.

The base is the last commit that the mirror has written, theirs are the files on the disk, ours is
the graph. All of it is imported, or nothing. Commits on top of the mirror's are imported with the
files, and their subjects are the message.

The settings name the files before the merge begins. If the process is killed after the merge is
committed, or the merge has conflicts and is committed later, the next catch-up finds the mark that
it left in the journal, and lets the files follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final, NamedTuple

from mycel.errors import ConstraintViolation
from mycel.history.graph import Graph
from mycel.history.merge.outcome import Merge
from mycel.mirror import edits
from mycel.mirror.changes import FileEdit
from mycel.mirror.edits import EditedFile
from mycel.mirror.folder import Folder
from mycel.mirror.paths import DOCUMENT
from mycel.mirror.repository import Repository
from mycel.mirror.settings import Pending
from mycel.mirror.upkeep import Pushed, Sight, Upkeep
from mycel.model.names import count
from mycel.model.state import LIVE, State

SUBJECTS_MAX: Final = 5
MESSAGE_CHARACTERS_MAX: Final = 500


class Imported(NamedTuple):
    """The result of an import."""

    files: tuple[str, ...]
    """The files that were edited."""
    merge: Merge | None
    """The merge of them; None if they say what the graph says."""
    pushed: Pushed | None = None
    """The catch-up afterwards; None after a dry run, or while conflicts are open."""

    def to_dict(self) -> dict[str, Any]:
        merged = {} if self.merge is None else {"merge": self.merge.to_dict()}
        pushed = {} if self.pushed is None else {"mirror": self.pushed.to_dict()}
        return {"files": list(self.files)} | merged | pushed


class Intake(NamedTuple):
    """The edits of a mirror, ready to be merged."""

    sight: Sight
    base: int
    """The entry of the journal whose state was edited."""
    head: int
    files: Mapping[str, str]
    """The object of each file; empty for one that was deleted."""
    edits: list[FileEdit]
    message: str

    @property
    def source(self) -> str:
        """The name of the merge, which follows from the files."""
        said = repr((self.sight.last, sorted(self.files.items())))
        return f"mirror {sha256(said.encode()).hexdigest()[:12]}"


class CommittedFiles:
    """The files of a commit that were not edited."""

    def __init__(self, repository: Repository, commit: str, edited: frozenset[str]) -> None:
        self._repository: Final = repository
        self._commit: Final = commit
        self._edited: Final = edited

    def content(self, path: str) -> bytes | None:
        """The content of a file; None if there is no such file, or it was edited."""
        if path in self._edited or not self._commit:
            return None
        found = self._repository.objects_at(self._commit, [path])
        return next(self._repository.blobs(list(found.values())), None)

    def count(self) -> int:
        """The number of documents among them."""
        paths = self._repository.tree(self._commit)
        return sum(path.endswith(DOCUMENT) and path not in self._edited for path in paths)


def import_edits(
    graph: Graph,
    upkeep: Upkeep,
    *,
    allow_deletions: bool,
    dry_run: bool,
    options: Mapping[str, Any],
    message: str,
) -> Imported:
    """Merge the edits of a mirror into the graph; `options` go to `Graph.merge_changes`.

    Raises:
        ConstraintViolation: a file cannot be read, or too many were deleted; or an earlier import
            has open conflicts. Nothing was imported.
    """
    if not dry_run:
        _settle(graph, upkeep)
    with upkeep.locked():
        taken = _taken(graph, upkeep, allow_deletions=allow_deletions)
        if not taken.files and taken.sight.tip == taken.sight.last:
            return Imported((), None)
        merged = None
        if taken.edits:
            if not dry_run:
                pending = Pending(taken.source, taken.head, taken.sight.tip, taken.files)
                upkeep.note_pending(pending)
            merged = graph.merge_changes(
                [each.edit for each in taken.edits],
                base=taken.base,
                source=taken.source,
                dry_run=dry_run,
                message=message or taken.message,
                **options,
            )
    files = tuple(sorted(taken.files))
    if dry_run or (merged is not None and merged.is_open):
        return Imported(files, merged)
    return Imported(files, merged, upkeep.catch_up(imported=taken.files))


def _settle(graph: Graph, upkeep: Upkeep) -> None:
    """Let an earlier import come to its end.

    Raises:
        ConstraintViolation: it has open conflicts.
    """
    pending = upkeep.settings.pending
    if pending is None:
        return
    for merge in graph.merges:
        if merge.source == pending.source:
            raise ConstraintViolation(
                f"The import before has open conflicts: the merge {merge.id}.",
                hint="`mycel conflicts` shows them. Resolve and commit (`mycel merge --continue`), "
                "or give up (`mycel merge --abort`); then import again.",
                data={"merge": merge.id},
            )
    if upkeep.is_imported():
        upkeep.catch_up()
    else:
        with upkeep.locked():
            upkeep.note_pending(None)


def _taken(graph: Graph, upkeep: Upkeep, *, allow_deletions: bool) -> Intake:
    repository, folder = upkeep.repository, Folder(upkeep.repository)
    with graph.reading() as reader:
        sight = upkeep.look(reader)
        known = repository.tree(sight.last)
        paths = upkeep.edited(sight.last)
        had = [path for path in paths if path in known]
        bases = dict(zip(had, repository.blobs([known[path] for path in had]), strict=True))
        files = [EditedFile(path, bases.get(path), folder.content(path)) for path in paths]
        others = CommittedFiles(repository, sight.last, frozenset(paths))
        seq, head = upkeep.start(sight), reader.head().seq
        base = reader.at(LIVE if seq == head else State(seq))
        found = edits.edits_of(base, files, others, allow_deletions=allow_deletions).edits
    objects = {
        each.path: "" if each.theirs is None else repository.blob(each.theirs) for each in files
    }
    return Intake(sight, seq, head, objects, found, _message(upkeep, sight, len(files)))


def _message(upkeep: Upkeep, sight: Sight, files: int) -> str:
    """The subjects of commits that are imported, or a count of files."""
    subjects = upkeep.subjects(sight)[-SUBJECTS_MAX:]
    if not subjects:
        return f"Import {count(files, 'file')} of the mirror"
    return "; ".join(subjects)[:MESSAGE_CHARACTERS_MAX]
