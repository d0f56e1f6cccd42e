"""The fetched commits of a remote, as changes of the graph.

The base is the commit that both histories have in common. If it shows a state of this graph, the
changes since then are merged into the graph with this state as the base. The base may show no state
of this graph: after the graph has merged a commit of the remote with its own changes, that commit
is the next base. Then each place of a document that the remote has changed is checked:

- if our last commit equals the base at this place, it is a change of the state of that commit;
- otherwise both sides have changed the place, and it is a change of an older state, the newest one
  that the remote knows: the graph merges the two changes, or opens a conflict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mycel.errors import ConstraintViolation
from mycel.mirror import commits, edits
from mycel.mirror.changes import FileEdit
from mycel.mirror.commits import News
from mycel.mirror.declarations import EditedDeclaration
from mycel.mirror.document_merge import merge_documents
from mycel.mirror.documents import MirrorDocument
from mycel.mirror.edits import CommittedFiles, EditedFile, Edits, ImportConsent, refusal
from mycel.mirror.foreign_files import merge_foreign_files
from mycel.mirror.front_matter import UnreadableError, read_document
from mycel.mirror.git_commits import GitCommit
from mycel.mirror.inspection import Inspection, Sight
from mycel.mirror.paths import DECLARATION, DOCUMENT, is_document, path_of
from mycel.mirror.repository import Repository
from mycel.model.records import concept_key
from mycel.model.state import State
from mycel.store.query.purges import Purges, purges_since
from mycel.store.query.reader import Reader


class FetchedEdits(NamedTuple):
    """The changes of a remote."""

    commits: list[GitCommit]
    paths: frozenset[str]
    edits: list[tuple[int, Edits]]
    """The changes, each with the journal entry of the state that was edited."""
    declarations: list[EditedDeclaration]


def read(reader: Reader, mirror: Inspection, sight: Sight, consent: ImportConsent) -> FetchedEdits:
    """The changes of the commit that was fetched last.

    Raises:
        ConstraintViolation: a file cannot be read, or too many were deleted; the data lists all of
            them. Or files that are no documents contradict each other. Or the histories have no
            commit in common, so that a change cannot be told from a file that was never there.
    """
    repository, tip = mirror.repository, sight.upstream
    bases = repository.merge_bases(sight.last, tip)
    if sight.last and not bases:
        raise ConstraintViolation(
            "The branch of the remote and this mirror began apart: they have no commit in common."
            " Nothing was changed.",
            hint="`mycel mirror join --merge` in a new clone of the remote unites the two.",
        )
    git_commits = mirror.commits_after(reader, tip, (sight.last,))
    news = commits.news_in(git_commit.message for git_commit in git_commits)
    merge_foreign_files(repository, sight.tip, tip)
    paths = frozenset(
        change.path
        for base in bases or [""]
        for change in repository.tree_changes(base, tip)
        if is_document(change.path)
    )
    declarations = _declarations(repository, bases, tip, paths)
    documents = frozenset(path for path in paths if path.endswith(DOCUMENT))
    only = bases[0] if len(bases) == 1 else ""
    position = mirror.position(reader, only) if only else None
    if position is not None:
        before, after = (_contents(repository, commit, documents) for commit in (only, tip))
        files = [EditedFile(path, before.get(path), after.get(path)) for path in sorted(documents)]
        others = CommittedFiles(repository, only, documents)
        all_edits = edits.edits_of(reader.at(State(position.seq)), files, others, news, consent)
        return FetchedEdits(git_commits, paths, [(position.seq, all_edits)], declarations)
    split = _Split(reader, mirror, sight, bases, documents)
    return FetchedEdits(git_commits, paths, split.edits(news, consent), declarations)


def _declarations(
    repository: Repository, bases: Sequence[str], tip: str, paths: frozenset[str]
) -> list[EditedDeclaration]:
    """The schema files that differ from the last base with schema files."""
    declarations = frozenset(path for path in paths if path.endswith(DECLARATION))
    before: dict[str, bytes] = {}
    for base in bases:
        before |= _contents(repository, base, declarations)
    after = _contents(repository, tip, declarations)
    return [
        EditedDeclaration(path, before.get(path), after.get(path)) for path in sorted(declarations)
    ]


class _Split:
    """Splits the changes since a base without a state, by the state that was edited."""

    def __init__(
        self,
        reader: Reader,
        mirror: Inspection,
        sight: Sight,
        bases: Sequence[str],
        paths: frozenset[str],
    ) -> None:
        self._reader = reader
        self._repository = mirror.repository
        self._sight = sight
        self._paths = paths
        position = mirror.find_position(reader, sight.upstream)
        self._old, self._old_seq = ("", 0) if position is None else (position[0], position[1].seq)
        self._bases = [self._documents(base) for base in bases]
        self._ours = self._documents(sight.last)
        self._theirs = self._documents(sight.upstream)

    def edits(self, news: News, consent: ImportConsent) -> list[tuple[int, Edits]]:
        """The changes, each with the journal entry of the state that was edited."""
        clear: list[EditedFile] = []
        contested: list[EditedFile] = []
        partners = {path_of(old): path_of(new) for new, old in news.moves.items()}
        late: set[str] = set()
        for path in sorted(self._paths):
            ours = self._ours.get(path)
            merged = merge_documents(
                [base.get(path) for base in self._bases], ours, self._theirs.get(path)
            )
            if merged.ours != ours:
                clear.append(EditedFile(path, ours, merged.ours))
            if merged.is_contested:
                old = self._read(self._old, path)
                changed = merge_documents([merged.ours], old, merged.theirs).theirs
                contested.append(EditedFile(path, old, changed))
                if merged.theirs is None and path in partners:
                    late.add(partners[path])
        contested += [edited_file for edited_file in clear if edited_file.path in late]
        clear = [edited_file for edited_file in clear if edited_file.path not in late]
        purges = purges_since(self._reader, self._old_seq)
        portions = []
        for seq, commit, files in (
            (self._sight.position.seq, self._sight.last, clear),
            (self._old_seq, self._old, contested),
        ):
            if files:
                edited = frozenset(file.path for file in files)
                others = CommittedFiles(self._repository, commit, edited)
                base = self._reader.at(State(seq))
                all_edits = edits.edits_of(base, files, others, news, consent)
                portions.append((seq, all_edits._replace(edits=_without(all_edits.edits, purges))))
        return portions

    def _documents(self, commit: str) -> Mapping[str, MirrorDocument]:
        """The documents of a commit that the remote has changed."""
        documents: dict[str, MirrorDocument] = {}
        for path, content in _contents(self._repository, commit, self._paths).items():
            try:
                documents[path] = read_document(path, content)
            except UnreadableError as error:
                raise refusal([error.problem]) from None
        return documents

    def _read(self, commit: str, path: str) -> MirrorDocument | None:
        contents = _contents(self._repository, commit, frozenset((path,)))
        return read_document(path, contents[path]) if path in contents else None


def _without(file_edits: list[FileEdit], purges: Purges) -> list[FileEdit]:
    """The changes, without those of concepts that were purged here since."""
    if not purges.keys:
        return file_edits

    def is_purged(identity: Mapping[str, object]) -> bool:
        if "name" in identity:
            return concept_key(str(identity["type"]), str(identity["name"])) in purges.keys
        ends = (identity["subject"], identity["object"])
        return any(isinstance(end, Mapping) and is_purged(end) for end in ends)

    return [
        file_edit
        for file_edit in file_edits
        if not is_purged(file_edit.edit.get("concept") or file_edit.edit["link"])
    ]


def _contents(repository: Repository, commit: str, paths: frozenset[str]) -> dict[str, bytes]:
    objects = repository.objects_at(commit, paths) if commit else {}
    return dict(zip(objects, repository.blobs(list(objects.values())), strict=True))
