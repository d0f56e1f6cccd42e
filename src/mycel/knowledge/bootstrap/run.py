"""One run: compares the files on the disk with the graph, and plans what to write."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import Any, Final, NamedTuple

import orjson

from mycel.errors import ConstraintViolation, MycelError
from mycel.knowledge.bootstrap import file_walk, graph_writer, project_graph
from mycel.knowledge.bootstrap.author_lists import AuthorLists
from mycel.knowledge.bootstrap.facts_cache import FactsCache
from mycel.knowledge.bootstrap.file_walk import Entry
from mycel.knowledge.bootstrap.limits import FILE_BYTES_MAX, JOBS_DEFAULT, JOBS_MAX
from mycel.knowledge.bootstrap.project_graph import AUTHORS, Namer, Totals, Wanted
from mycel.knowledge.bootstrap.renamed_files import (
    FileContent,
    find_renamed_files,
    find_renamed_folders,
    names_of,
)
from mycel.knowledge.bootstrap.run_summary import (
    BootstrapProgress,
    BootstrapReport,
    BootstrapStage,
    SkippedPath,
    Summary,
)
from mycel.knowledge.code.file_analysis import LANGUAGES, missing_extra
from mycel.knowledge.code.file_kinds import detect
from mycel.knowledge.code.module_paths import outward
from mycel.knowledge.code.project_relations import Project
from mycel.knowledge.code.relation_values import SourceRelations, affected
from mycel.knowledge.code.source_facts import FORMAT, FileFacts
from mycel.knowledge.knowledge import Knowledge
from mycel.knowledge.source_files.file_facts import FileRead, is_readme
from mycel.knowledge.source_files.reader_pool import ReaderPool
from mycel.knowledge.uris import parse
from mycel.knowledge.vocabulary import STAMP
from mycel.store.file.branch_files import split
from mycel.store.query.bulk import prefixes
from mycel.syntax.gc_pause import collector_paused

VERSION: Final = 200 + FORMAT
"""The version of the values that are written for a file. A file with another version is read
again."""
LACKING: Final = 0
"""The version of a file that was not analysed because an extra is not installed."""

_REPORT_SECONDS: Final = 0.1
"""The least seconds between two reports. A report may raise an error, which ends the run."""


class Stamp(NamedTuple):
    """The stored state of a file."""

    size: int
    mtime_ns: int
    hash: int
    version: int


class Bootstrap:
    """Brings a folder into the graph, and up to date with every `run`."""

    def __init__(
        self,
        knowledge: Knowledge,
        path: str | Path | None = None,
        *,
        bytes_max: int = FILE_BYTES_MAX,
        jobs: int = JOBS_DEFAULT,
        authors: bool = True,
    ) -> None:
        folder = knowledge.root if path is None else Path(path)
        if folder is None:
            raise ConstraintViolation(
                "There is no folder to bring in.", hint="Name the folder of a project."
            )
        if not 1 <= jobs <= JOBS_MAX:
            raise ConstraintViolation(f"jobs is {jobs}; it must be within 1 and {JOBS_MAX}.")
        self.folder: Final = file_walk.check_folder(folder)
        root = self.folder if knowledge.root is None else file_walk.check_folder(knowledge.root)
        if not self.folder.is_relative_to(root):
            raise ConstraintViolation(
                f"{self.folder} is not inside of {root}, the root of the workspace"
                f" {knowledge.workspace!r}.",
                hint="Name a folder inside of it, or use another workspace.",
            )
        self._root = root
        inside = self.folder.relative_to(root).as_posix()
        self._prefix = "" if inside == "." else f"{inside}/"
        self._db = knowledge.db
        self._workspace = knowledge.workspace
        self._namer = Namer(knowledge.workspace)
        self._readers = ReaderPool(root, bytes_max=bytes_max, jobs=jobs)
        self._relations_before: dict[str, SourceRelations] = {}
        """The relations of each file after the last run of this object."""
        self._skipped_before: frozenset[SkippedPath] = frozenset()
        self._graph: Final = split(Path(knowledge.db.path))[0]
        self._cache = FactsCache(str(self._graph), knowledge.workspace)
        self._wants_authors = authors

    def run(self, report: BootstrapReport | None = None) -> Summary:
        """Bring the graph up to date with the folder."""
        began = monotonic()
        summary = Summary()
        # Facts are millions of values without cycles, so garbage collection would be wasted time.
        with closing(self._readers), collector_paused(True):
            self._run(summary, report)
        summary.skipped_anew = [e for e in summary.skipped if e not in self._skipped_before]
        self._skipped_before = frozenset(summary.skipped)
        summary.seconds = monotonic() - began
        return summary

    def _run(self, summary: Summary, report: BootstrapReport | None) -> None:
        stamps, stamp = self._stored_files()
        is_complete = stamp.is_complete
        authors = self._authors(stamp, summary)
        entries = self._walk(summary, stamps)
        outside = [path for path in stamps if not path.startswith(self._prefix)]
        look = [
            path for path, entry in entries.items() if not _is_same(path, stamps.get(path), entry)
        ]
        removals = self._removed_files(stamps, entries)
        if is_complete and not look and not removals and not authors.is_new:
            summary.unchanged = len(entries)
            return
        reads = self._read(look, summary, report)
        for path in look:
            if path in reads:
                continue
            entry = entries.pop(path)
            if path in stamps and file_walk.is_gone(self._root, path):
                removals.append(path)
            elif path in stamps:  # The file cannot be read: its node stays unchanged.
                entries[path] = Entry(stamps[path].size, entry.mtime_ns)
        for path in outside:
            entries[path] = Entry(stamps[path].size, stamps[path].mtime_ns)
        step = _RunState(entries, stamps, reads, removals, authors, is_complete=is_complete)
        self._count(step, summary)
        plan = self._plan(step, summary, report)
        if plan is not None:
            self._relations_before = {}  # After a failed write, none are known.
            graph_writer.write(self._db, plan, self._namer, summary, report)
        self._relations_before = step.relations
        self._cache.keep(step.remembered, step.removals)
        authors.keep(self._cache, entries, step.folders)

    # Comparing.

    def _authors(self, stamp: graph_writer.RootStamp, summary: Summary) -> AuthorLists:
        authors = AuthorLists(self._db, self._namer, self._prefix, stamp.heads)
        if self._wants_authors:
            authors.read(self.folder, self._cache, is_complete=stamp.is_complete)
        else:
            authors.drop()
        if authors.note is not None:
            summary.note(authors.note)
        return authors

    def _walk(self, summary: Summary, stamps: Mapping[str, Stamp]) -> dict[str, Entry]:
        """The files on the disk, with the known files of folders that cannot be listed."""
        own = self._graph.name
        files: dict[str, Entry] = {}
        walked = file_walk.walk(
            self.folder, lambda path, why: summary.skip(self._prefix + path, why)
        )
        summary.leave_out(walked.left_out)
        closed = tuple(f"{self._prefix}{folder}/" for folder in walked.unreadable)
        for path, stamp in stamps.items() if closed else ():
            if path.startswith(closed):
                files[path] = Entry(stamp.size, stamp.mtime_ns)
        for name, entry in walked.files.items():
            if own in name and self._is_our_own(name, own):
                continue
            path = self._prefix + name
            try:
                self._namer.file(path)
            except MycelError:
                summary.skip(path, "its name cannot be part of a URI")
                continue
            files[path] = entry
        return files

    def _removed_files(self, stamps: Mapping[str, Stamp], entries: dict[str, Entry]) -> list[str]:
        """The files that were removed; files hidden by permissions count as unchanged."""
        removals: list[str] = []
        for path, stamp in stamps.items():
            if path in entries or not path.startswith(self._prefix):
                continue
            if file_walk.is_out_of_sight(self._root, path):
                entries[path] = Entry(stamp.size, stamp.mtime_ns)
            else:
                removals.append(path)
        return removals

    def _is_our_own(self, name: str, database: str) -> bool:
        """True for the graph, its branches and companion files, which change with each run."""
        if not posixpath.basename(name).startswith(database):
            return False
        try:
            return (self.folder / name).parent.samefile(self._graph.parent)
        except OSError:
            return False

    def _stored_files(self) -> tuple[dict[str, Stamp], graph_writer.RootStamp]:
        """The stored state of each file, and the stamp of the root."""
        with self._db.reading() as reader:
            rows = prefixes.attribute_below(reader, self._namer.files_root, STAMP)
            root = prefixes.attribute_of(reader, self._namer.folder(""), STAMP)
        begin = len(self._namer.files_root) + 1
        stamps: dict[str, Stamp] = {}
        for name, value in rows:
            stamp = _stamp(value)
            if stamp is not None:
                path = name[begin:]
                stamps[parse(name, self._workspace).path if "%" in path else path] = stamp
        return stamps, graph_writer.read_root_stamp(root)

    def _read(
        self, paths: Collection[str], summary: Summary, report: BootstrapReport | None
    ) -> dict[str, FileRead]:
        reads: dict[str, FileRead] = {}
        for read in _counted(self._readers.read(paths), "reading", len(paths), report):
            if read.problem:
                summary.skip(read.path, read.problem)
                continue
            reads[read.path] = read
            if read.facts is not None and read.facts.note:
                note = read.facts.note
                summary.note(note if read.lacks_parser else f"{read.path}: {note}")
        return reads

    def _count(self, step: _RunState, summary: Summary) -> None:
        summary.added = len(step.added)
        summary.changed = len(step.changed)
        summary.removed = len(step.removals)
        inside = sum(path.startswith(self._prefix) for path in step.entries)
        summary.unchanged = inside - summary.added - summary.changed
        facts = [step.reads[path].facts for path in (*step.added, *step.changed)]
        summary.symbols = sum(len(fact.symbols) for fact in facts if fact is not None)
        summary.sections = sum(len(fact.sections) for fact in facts if fact is not None)

    # Planning.

    def _plan(
        self, step: _RunState, summary: Summary, report: BootstrapReport | None
    ) -> graph_writer.WritePlan | None:
        relations = self._relations(step, report)
        for path, source_relations in relations.items():
            if source_relations.note:
                summary.note(f"{path}: {source_relations.note}")
        sizes = {path: entry.size for path, entry in step.entries.items()}
        sizes |= {path: read.size for path, read in step.reads.items()}
        below = project_graph.totals(sizes)
        step.folders = frozenset(below)
        plan = graph_writer.WritePlan(self._folder("", below, step), heads=step.authors.heads)
        moved = {*step.added, *step.changed, *step.removals}
        if step.is_complete and not (moved or relations or step.touched or step.authors.is_new):
            return None
        written = step.authors.find_differences(
            [path for path in step.entries if path not in moved], below
        )
        above = {folder for path in moved for folder in outward(posixpath.dirname(path), "/")}
        folders = below.keys() if not step.is_complete else above | written.folders
        plan.folders = [self._folder(f, below, step) for f in sorted(folders & below.keys()) if f]
        plan.renamed = self._renamed_files(step)
        summary.count_renamed(len(plan.renamed))
        plan.removals = sorted(path for path in step.removals if path not in plan.renamed)
        gone_folders = above - below.keys()
        plan.renamed_folders = find_renamed_folders(plan.renamed, gone_folders, below)
        plan.gone_folders = sorted(gone_folders, reverse=True)
        for path in (*step.added, *step.changed):
            plan.files.append(self._file(step, path, relations.get(path, SourceRelations(path))))
        new = step.entries if not step.is_complete else step.added
        plan.contains = [
            relation
            for is_folder, paths in ((True, folders & below.keys()), (False, new))
            for path in sorted(paths)
            if (relation := project_graph.contains(self._namer, path, is_folder=is_folder))
            is not None
        ]
        for path, source_relations in relations.items():
            facts = step.facts[path]
            plan.related[path] = [
                *project_graph.defined_in(self._namer, path, facts.symbols),
                *project_graph.sections_in(self._namer, path, facts.sections),
                *project_graph.code_relations(self._namer, source_relations, below),
                *project_graph.text_relations(self._namer, source_relations, below),
            ]
            plan.tags.update(
                (tag.uri, tag) for tag in project_graph.wanted_tags(self._namer, source_relations)
            )
        self._touch(plan, step, relations, written.files)
        return plan

    def _renamed_files(self, step: _RunState) -> dict[str, str]:
        """The new paths of renamed files; none while a former run is incomplete."""
        if not (step.is_complete and step.removals and step.added):
            return {}
        before = self._cache.recall({path: step.known[path].hash for path in step.removals})
        stamps = ((path, step.known[path]) for path in step.removals)
        removed = {
            path: FileContent(stamp.size, stamp.hash, names_of(before.get(path)))
            for path, stamp in stamps
        }
        reads = ((path, step.reads[path]) for path in step.added)
        new = {
            path: FileContent(read.size, read.hash, names_of(read.facts)) for path, read in reads
        }
        return find_renamed_files(removed, new)

    def _folder(self, path: str, below: Mapping[str, Totals], step: _RunState) -> Wanted:
        paragraph = ""
        for readme in step.readmes.get(path, ()):
            read = step.reads.get(readme) or next(self._readers.read([readme]))
            paragraph = paragraph or read.paragraph
        totals = below.get(path, Totals())
        authors = step.authors.of_folder(path)
        return project_graph.wanted_folder(
            self._namer, path, totals, paragraph, self._root.name, authors
        )

    def _file(
        self, step: _RunState, path: str, relations: SourceRelations
    ) -> graph_writer.FileNodes:
        read, authors = step.reads[path], step.authors.of_file(path)
        node = project_graph.wanted_file(self._namer, read, relations, _version(read), authors)
        inner = {symbol.uri: symbol for symbol in project_graph.wanted_symbols(self._namer, read)}
        for section in project_graph.wanted_sections(self._namer, read):
            inner.setdefault(section.uri, section)
        return graph_writer.FileNodes(read.path, node, tuple(inner.values()))

    def _touch(
        self,
        plan: graph_writer.WritePlan,
        step: _RunState,
        relations: Mapping[str, SourceRelations],
        written: Collection[str],
    ) -> None:
        """Plan updates of unchanged files: their times, and values that depend on other files."""
        files = {*step.added, *step.changed}
        for path, source_relations in relations.items():
            if path not in files:
                attributes = project_graph.relation_attributes(
                    source_relations, step.facts[path].note
                )
                absent = tuple(project_graph.RELATION_KEYS - attributes.keys())
                plan.touched[self._namer.file(path)] = graph_writer.Touch(attributes, absent)
        for path in step.touched:
            node = self._file(step, path, SourceRelations(path)).file
            touch = plan.touched.get(node.uri, graph_writer.Touch({}))
            attributes = {**touch.attributes, "last_modified": node.attributes["last_modified"]}
            plan.touched[node.uri] = graph_writer.Touch(attributes, touch.drop, node.stamp)
        for path in written:
            uri, authors = self._namer.file(path), step.authors.of_file(path)
            touch = plan.touched.get(uri, graph_writer.Touch({}))
            attributes = {**touch.attributes, **({AUTHORS: authors} if authors else {})}
            drop = touch.drop if authors else (*touch.drop, AUTHORS)
            plan.touched[uri] = graph_writer.Touch(attributes, drop, touch.stamp)

    # Relations.

    def _relations(
        self, step: _RunState, report: BootstrapReport | None
    ) -> dict[str, SourceRelations]:
        """The relations of the files whose relations may have changed."""
        before = self._relations_before if step.is_complete else {}
        if any(path in before for path in step.added):
            # The node was removed meanwhile, with the relations that other files have to it.
            before = {}
        step.relations = before
        moved = {*step.added, *step.changed, *step.removals}
        if not moved and step.is_complete:
            return {}
        has_facts = any(step.reads[p].facts or _may_have_facts(p) for p in step.changed)
        if step.is_complete and not (step.added or step.removals or has_facts):
            return {}
        self._recall(step, report)
        facts = step.facts
        if step.is_complete:
            paths = affected(self._facts_before(step, moved), facts, moved)
        else:
            paths = frozenset(facts)
        project = Project(facts, step.entries)
        relations = {}
        for path in _counted(sorted(paths), "relating", len(paths), report):
            relations[path] = project.relations(path)
        step.relations = {p: e for p, e in (before | relations).items() if p not in step.removals}
        changes = {p: e for p, e in relations.items() if p in moved or before.get(p) != e}
        for path in step.changed:
            # Its former relations have to be removed, even if it has no facts any more.
            if path not in changes and path in step.known:
                step.facts.setdefault(path, FileFacts(""))
                changes[path] = SourceRelations(path)
        return changes

    def _recall(self, step: _RunState, report: BootstrapReport | None) -> None:
        """The facts of all files: of those read in this run, and of the others from the cache."""
        facts = step.facts
        for path, read in step.reads.items():
            if read.facts is not None:
                facts[path] = read.facts
        rest = {p: step.known[p].hash for p in step.entries if p not in step.reads}
        remembered = self._cache.recall(rest)
        unknown = []
        for path in rest:
            if path not in remembered:
                unknown.append(path)
            elif (file_facts := remembered[path]) is not None:
                facts[path] = file_facts
        sources = [path for path in unknown if _may_have_facts(path)]
        for read in _counted(self._readers.read(sources), "reading", len(sources), report):
            if read.facts is not None and not read.problem:
                facts[read.path] = read.facts
                step.remembered[read.path] = read.hash, read.facts

    def _facts_before(self, step: _RunState, moved: Collection[str]) -> dict[str, FileFacts]:
        """The facts of files before this run, where they are known."""
        hashes = {path: step.known[path].hash for path in moved if path in step.known}
        remembered = self._cache.recall(hashes)
        before = {path: facts for path, facts in step.facts.items() if path not in moved}
        return before | {path: facts for path, facts in remembered.items() if facts is not None}


class _RunState:
    """The state of one run, with the files sorted by the work that they need."""

    def __init__(
        self,
        entries: dict[str, Entry],
        stamps: Mapping[str, Stamp],
        reads: Mapping[str, FileRead],
        removals: Collection[str],
        authors: AuthorLists,
        *,
        is_complete: bool,
    ) -> None:
        self.entries = entries
        self.known = stamps
        self.reads = reads
        self.removals = removals
        self.authors = authors
        self.folders: Collection[str] = ()
        self.is_complete = is_complete
        self.facts: dict[str, FileFacts] = {}
        self.relations: dict[str, SourceRelations] = {}
        self.remembered = {path: (read.hash, read.facts) for path, read in reads.items()}
        self.added = [path for path in reads if path not in stamps]
        self.changed: list[str] = []
        self.touched: list[str] = []
        for path, read in reads.items():
            stamp = stamps.get(path)
            if stamp is not None:
                is_same = (stamp.hash, stamp.version) == (read.hash, _version(read))
                (self.touched if is_same else self.changed).append(path)
        self.readmes: dict[str, list[str]] = {}
        for path in sorted(entries):
            if is_readme(path):
                self.readmes.setdefault(posixpath.dirname(path), []).append(path)


def _is_same(path: str, stamp: Stamp | None, entry: Entry) -> bool:
    """True if the size and the time of a file are unchanged."""
    if stamp is None or stamp[:2] != entry:
        return False
    if stamp.version == VERSION:
        return True
    return stamp.version == LACKING and bool(missing_extra(detect(path).language))


def _version(read: FileRead) -> int:
    return LACKING if read.lacks_parser else VERSION


def _stamp(value: object) -> Stamp | None:
    try:
        read = orjson.loads(value) if isinstance(value, str) else None
        return Stamp(*(int(read[field]) for field in Stamp._fields)) if read else None
    except (ValueError, TypeError, KeyError):
        return None


def _may_have_facts(path: str) -> bool:
    name = posixpath.basename(path)
    return detect(path).language in LANGUAGES or "." not in name


def _counted(
    items: Any, stage: BootstrapStage, total: int, report: BootstrapReport | None
) -> Iterator[Any]:
    """The same items, with progress reports on the way."""
    if report is None:
        yield from items
        return
    report(BootstrapProgress(stage, 0, total))
    last = monotonic()
    for number, item in enumerate(items, 1):
        yield item
        if number == total or monotonic() - last >= _REPORT_SECONDS:
            report(BootstrapProgress(stage, number, total))
            last = monotonic()
