"""The import: edited files and commits of others become merges into the graph.

The base is the last commit that shows a state of the graph, theirs are the files on the disk, or
those of a remote that was fetched (`upstream`), ours is the graph. Nothing is imported unless all
files can be read. The files of each author are one merge, with the author as the actor. An edited
schema (`declarations`) is applied in the transaction of the first merge, if that has the same
author. Otherwise the schema is a commit of its own before the merges. That commit stays even if the
graph then refuses the documents, and a dry run checks the documents against the schema in force.

The settings name the files before the merges begin. The process may be killed after the merges are
committed, or a merge may have conflicts and be committed later. Then the next catch-up finds the
merges in the journal, and updates the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple

from mycel.api.graph import Graph
from mycel.errors import ConstraintViolation, NotFound
from mycel.history.merge.outcome import Merge
from mycel.knowledge.uris import uri_of
from mycel.mirror import commits, edits, upstream
from mycel.mirror.changes import ElementIdentity, FileEdit, depth_of, json_of, stored_element
from mycel.mirror.declarations import (
    DesiredSchema,
    EditedDeclaration,
    apply_schema,
    desired_schema,
    stored_declarations,
)
from mycel.mirror.edits import CommittedFiles, EditedFile, Edits, ImportConsent
from mycel.mirror.folder import Folder
from mycel.mirror.front_matter import FrontMatterProblem
from mycel.mirror.git_commits import AuthoredFiles, group_by_author
from mycel.mirror.inspection import Sight
from mycel.mirror.paths import DECLARATION, DOCUMENT, is_document
from mycel.mirror.settings import Pending
from mycel.mirror.sync import Pushed, Upkeep
from mycel.model.names import count
from mycel.model.state import LIVE, State
from mycel.store.query.diff import Diff
from mycel.store.query.reader import Reader

PURGES_SHOWN: Final = 5
SCHEMA_NOT_TRIED: Final = (
    "Documents were checked against the schema in force, not against the edited schema files. A"
    " conflict about something that these declare may not arise in the import itself."
)


class Imported(NamedTuple):
    """The result of an import."""

    files: tuple[str, ...]
    """The files that were edited, here or in the remote."""
    merges: tuple[Merge, ...] = ()
    """The merges of these edits, one for each author; none if the graph has all of them already."""
    pushed: Pushed | None = None
    """The result of the catch-up that follows; None after a dry run, or while conflicts are
    open."""
    warnings: tuple[str, ...] = ()
    """Warnings about changes in the files, or in commits of others, that were not made as
    requested."""

    @property
    def merge(self) -> Merge | None:
        """The merge that has open conflicts, or else the last one; None if there is none."""
        waiting = [merge for merge in self.merges if merge.status == "conflicts"]
        return next(iter([*waiting, *self.merges[::-1]]), None)

    @property
    def counts(self) -> dict[str, int]:
        """The number of elements that were added, removed, changed and moved."""
        counts = [merge.diff.counts for merge in self.merges]
        return {
            kind: sum(by_kind[kind] for by_kind in counts) for kind in Diff(LIVE, LIVE, ()).counts
        }

    def to_dict(self) -> dict[str, Any]:
        merge = self.merge
        merged: dict[str, Any] = {} if merge is None else {"merge": merge.to_dict()}
        if len(self.merges) > 1:
            merged["merges"] = [merge.to_dict() for merge in self.merges]
        pushed = {} if self.pushed is None else {"mirror": self.pushed.to_dict()}
        warnings = {"warnings": list(self.warnings)} if self.warnings else {}
        return {"files": list(self.files)} | merged | pushed | warnings


class Portion(NamedTuple):
    """Changes of one actor to a state of the graph: they become one merge."""

    base: int
    """The journal position of the state that the person edited."""
    edits: list[FileEdit]
    actor: str
    message: str

    def source(self, commit: str) -> str:
        """The name of the merge, which is derived from its changes."""
        message = repr((commit, self.base, self.actor, self.edits))
        return f"mirror {sha256(message.encode()).hexdigest()[:12]}"


class Intake(NamedTuple):
    """Edits of a mirror, ready to be merged."""

    sight: Sight
    head: int
    files: Mapping[str, str]
    """The object of each file on the disk; empty for one that was deleted."""
    paths: frozenset[str]
    portions: list[Portion]
    purged: list[tuple[int, ElementIdentity]]
    """Concepts that others have purged: a journal entry, and the identity in its state."""
    schema: DesiredSchema | None = None
    """The schema of the edited files; None if it is the one in force."""
    schema_actor: str = ""
    onto: str = ""

    @property
    def is_together(self) -> bool:
        """True if the schema is applied in the transaction of the first portion.

        Otherwise the schema has another author, and is a commit of its own by that author.
        """
        first = self.portions[0] if self.portions else None
        return first is not None and bool(first.edits) and first.actor == self.schema_actor


def import_edits(
    graph: Graph,
    upkeep: Upkeep,
    *,
    consent: ImportConsent,
    dry_run: bool,
    options: Mapping[str, Any],
    message: str,
) -> Imported:
    """Merge the edits of a mirror into the graph; `options` go to `db.merges.merge_changes`.

    Raises:
        ConstraintViolation: a file cannot be read, or too many were deleted; or an earlier import
            has open conflicts. Nothing was imported. Or the graph refuses the documents; then a
            schema that somebody else has edited may be in force already.
    """
    work = _Import(graph, upkeep, consent, dict(options), message, dry_run=dry_run)
    if not dry_run:
        work.settle()
    local = work.run(is_local=True)
    if local.pushed is None and local.files:
        return local
    fetched = work.run(is_local=False)
    files = tuple(sorted({*local.files, *fetched.files}))
    pushed = fetched.pushed or local.pushed
    warnings = (*local.warnings, *fetched.warnings)
    return Imported(files, (*local.merges, *fetched.merges), pushed, warnings)


class _Import:
    """One import: the files edited here, then the fetched commits."""

    def __init__(
        self,
        graph: Graph,
        upkeep: Upkeep,
        consent: ImportConsent,
        options: dict[str, Any],
        message: str,
        *,
        dry_run: bool,
    ) -> None:
        self._graph: Final = graph
        self._upkeep: Final = upkeep
        self._consent: Final = consent
        self._options: Final = options
        self._by: Final[str | None] = options.pop("by", None)
        self._message: Final = message
        self._dry_run: Final = dry_run

    def settle(self) -> None:
        """Finish an earlier import.

        Raises:
            ConstraintViolation: the earlier import has open conflicts.
        """
        upkeep = self._upkeep
        pending = upkeep.settings.pending
        if pending is None:
            return
        for merge in self._graph.merges:
            if merge.source in pending.sources:
                raise ConstraintViolation(
                    f"The import before has open conflicts: the merge {merge.id}.",
                    hint="`mycel conflicts` shows them. Resolve and commit"
                    " (`mycel merge --continue`), or give up (`mycel merge --abort`); then import"
                    " again.",
                    data={"merge": merge.id},
                )
        if upkeep.is_imported():
            upkeep.catch_up()
        else:
            with upkeep.locked():
                upkeep.note_pending(None)

    def run(self, *, is_local: bool) -> Imported:
        """Import the files on the disk, or a commit of the remote."""
        upkeep = self._upkeep
        if not is_local and not self._dry_run and self._has_news():
            upkeep.catch_up()
        with upkeep.locked():
            intake = self._read_edits(is_local=is_local)
            if intake is None:
                return Imported(())
            merges, pending = self._merge(intake)
        paths = tuple(sorted(intake.paths))
        warnings = () if self._consent.purges else tuple(_purge_warnings(intake.purged))
        is_apart = intake.schema is not None and not intake.is_together
        if self._dry_run and is_apart and intake.portions:
            warnings += (SCHEMA_NOT_TRIED,)
        if self._dry_run or any(merge.is_open for merge in merges):
            return Imported(paths, merges, warnings=warnings)
        return Imported(paths, merges, upkeep.catch_up(imported=pending), warnings)

    def _has_news(self) -> bool:
        with self._graph.reading() as reader:
            return bool(self._upkeep.look(reader).upstream)

    def _merge(self, intake: Intake) -> tuple[tuple[Merge, ...], Pending]:
        sources = [portion.source(intake.sight.last) for portion in intake.portions]
        pending = Pending(sources, intake.head, intake.sight.tip, intake.files, intake.onto)
        if intake.schema is not None:
            apply_schema(
                self._graph,
                intake.schema,
                allow_removals=self._consent.deletions,
                actor=self._by or intake.schema_actor or None,
                message=self._message,
                dry_run=self._dry_run or intake.is_together,
            )
        if not self._dry_run:
            if self._consent.purges:
                self._purge(intake)
            self._upkeep.note_pending(pending)
        merges = []
        desired = intake.schema if intake.is_together else None
        for portion, source in zip(intake.portions, sources, strict=True):
            merges.append(
                self._graph.merges.merge_changes(
                    [edit.edit for edit in portion.edits],
                    base=portion.base,
                    source=source,
                    schema=None if desired is None else desired.text,
                    dry_run=self._dry_run,
                    message=portion.message,
                    by=self._by or portion.actor or None,
                    **self._options,
                )
            )
            desired = None
        return tuple(merges), pending

    def _purge(self, intake: Intake) -> None:
        """Purge the concepts that others have purged, even if they have other names here now."""
        for seq, identity in intake.purged:
            with self._graph.reading() as reader:
                element = stored_element(reader.at(State(seq)), identity)
                live = None if element is None else reader.element(element.number)
            if live is not None:
                try:
                    self._graph.purge(live.id, "purged in the mirror", by=self._by)
                except NotFound:
                    continue  # The concept was purged together with another one.

    # Reading of the edits.

    def _read_edits(self, *, is_local: bool) -> Intake | None:
        with self._graph.reading() as reader:
            sight = self._upkeep.look(reader)
            read = self._from_disk if is_local else self._from_remote
            return read(reader, sight)

    def _from_disk(self, reader: Reader, sight: Sight) -> Intake | None:
        upkeep, repository = self._upkeep, self._upkeep.repository
        folder = Folder(repository)
        paths = upkeep.edited(sight.last)
        if not paths and sight.tip == sight.last:
            return None
        self._check_settled()
        in_base = repository.objects_at(sight.last, [path for path in paths if is_document(path)])
        bases = dict(zip(in_base, repository.blobs(list(in_base.values())), strict=True))
        files = [EditedFile(path, bases.get(path), folder.content(path)) for path in paths]
        git_commits = upkeep.commits_of_others(reader, sight)
        news = commits.news_in(git_commit.message for git_commit in git_commits)
        others = CommittedFiles(repository, sight.last, frozenset(paths))
        seq = upkeep.start(sight)
        base = reader.at(LIVE if seq == reader.head().seq else State(seq))
        is_trusted = self._consent.deletions or not sight.last
        consent = self._consent._replace(deletions=is_trusted)
        documents = [file for file in files if file.path.endswith(DOCUMENT)]
        all_edits = edits.edits_of(base, documents, others, news, consent)
        declarations = [
            EditedDeclaration(path, bases.get(path), folder.content(path))
            for path in paths
            if path.endswith(DECLARATION)
        ]
        objects = {
            file.path: repository.blob(file.theirs) if isinstance(file.theirs, bytes) else ""
            for file in files
        }
        committed = repository.objects_at(sight.tip, paths)
        own = {path for path in paths if committed.get(path, "") != objects[path]}
        groups = group_by_author(repository, git_commits, set(paths) - own, upkeep.settings.authors)
        if own:
            # The commits are named even for files that were edited again after them.
            groups.append(AuthoredFiles("", frozenset(own), () if groups else tuple(git_commits)))
        portions = self._portions(reader, [(seq, all_edits)], groups, len(paths))
        purged = [(seq, identity) for identity in all_edits.purged]
        head = reader.head().seq
        schema, actor = self._schema(declarations, groups)
        return Intake(sight, head, objects, frozenset(paths), portions, purged, schema, actor)

    def _schema(
        self, declarations: Sequence[EditedDeclaration], groups: Sequence[AuthoredFiles]
    ) -> tuple[DesiredSchema | None, str]:
        """The schema of the edited files, and the actor of the last change to them.

        Raises:
            ConstraintViolation: a file cannot be read, or the graph has changed the declaration of
                the file too.
        """
        problems: list[FrontMatterProblem] = []
        desired = None
        if declarations:
            desired = desired_schema(stored_declarations(self._graph), declarations, problems)
        if problems:
            raise edits.refusal(problems)
        paths = () if desired is None else desired.paths
        actors = [group.actor for group in groups if group.paths.intersection(paths)]
        return desired, actors[-1] if actors else ""

    def _check_settled(self) -> None:
        """Refuse to import in the middle of a merge or rebase of Git."""
        repository = self._upkeep.repository
        for name, verb in (("MERGE_HEAD", "merge"), ("rebase-merge", "rebase")):
            place = repository.line("rev-parse", "--git-path", name)
            if (repository.folder / place).exists():
                raise ConstraintViolation(
                    f"Git has not finished a {verb} in {repository.folder}.",
                    hint=f"Resolve the files and finish the {verb} with git. Or call `git {verb}"
                    " --abort`, and import again: Mycel merges the fetched files property by"
                    " property.",
                )

    def _from_remote(self, reader: Reader, sight: Sight) -> Intake | None:
        if not sight.upstream or sight.tip != sight.last:
            return None
        upkeep = self._upkeep
        fetched_edits = upstream.read(reader, upkeep, sight, self._consent)
        groups = group_by_author(
            upkeep.repository, fetched_edits.commits, fetched_edits.paths, upkeep.settings.authors
        )
        portions = self._portions(reader, fetched_edits.edits, groups, len(fetched_edits.paths))
        purged = [(seq, purge) for seq, some in fetched_edits.edits for purge in some.purged]
        head = reader.head().seq
        schema, actor = self._schema(fetched_edits.declarations, groups)
        return Intake(
            sight, head, {}, fetched_edits.paths, portions, purged, schema, actor, sight.upstream
        )

    def _portions(
        self,
        reader: Reader,
        edits_by_state: Sequence[tuple[int, Edits]],
        groups: Sequence[AuthoredFiles],
        files: int,
    ) -> list[Portion]:
        """The changes to each state, by author.

        If changes of several authors depend on each other, all count as changes of one author.
        """
        otherwise = f"Import {count(files, 'file')} of the mirror"
        portions = []
        for seq, state_edits in edits_by_state:
            by_group: list[list[FileEdit]] = [[] for _ in groups]
            place = {path: at for at, group in enumerate(groups) for path in group.paths}
            for edit in state_edits.edits:
                by_group[place.get(edit.path, 0)].append(edit)
            used = [(group, part) for group, part in zip(groups, by_group, strict=True) if part]
            if len(used) > 1 and _depend(reader.at(State(seq)), [part for _, part in used]):
                used = [(used[-1][0], state_edits.edits)]
            for group, part in used:
                message = self._message or group.message(otherwise)
                portions.append(Portion(seq, part, group.actor, message))
        return portions


def _purge_warnings(purged: Sequence[tuple[int, ElementIdentity]]) -> list[str]:
    """Sentences about concepts that others have purged and that are only removed here."""
    uris = [uri_of(str(identity["type"]), str(identity["name"])) for _, identity in purged]
    warnings = [
        f"{uri} was purged where the commits come from. Here it is removed, and history keeps it,"
        f" because a purge cannot be undone. `mycel purge {uri}` forgets it here too; with"
        " --accept-purges (accept_purges=True), an import purges what others have purged."
        for uri in uris[:PURGES_SHOWN]
    ]
    if len(uris) > PURGES_SHOWN:
        more = count(len(uris) - PURGES_SHOWN, "more concept")
        warnings.append(f"{more} purged where the commits come from: only removed here too.")
    return warnings


def _depend(base: Reader, parts: Iterable[Sequence[FileEdit]]) -> bool:
    """True if changes refer to elements that later changes create."""
    new_identities: set[bytes] = set()
    for part in parts:
        for _, edit in part:
            new_identities.add(json_of(edit.get("concept") or edit["link"]))
            new_identities.add(json_of(edit.get("to")))
        for _, edit in part:
            if "link" not in edit:
                continue
            if depth_of(edit["link"]) > 1:
                return True
            ends = (edit["link"]["subject"], edit["link"]["object"])
            if any(
                json_of(end) not in new_identities and not stored_element(base, end) for end in ends
            ):
                return True
    return False
