"""Writes the difference between a plan and the graph, in a few transactions.

The stored state is read inside the transaction that changes it. A small difference is one
transaction. A large difference is several transactions, so that others can write in between. Until
the last transaction, the stamp of the root says that relations are incomplete. So if the run is
stopped, the next run computes all relations again. A file and its symbols are written together;
only `relate` writes their relations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from math import inf
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import orjson

from mycel.api.graph import Graph
from mycel.engine.missing_concepts import MISSING, merge_placeholder
from mycel.knowledge import vocabulary as words
from mycel.knowledge.bootstrap import ownership
from mycel.knowledge.bootstrap.limits import ROWS_IN_TRANSACTION
from mycel.knowledge.bootstrap.project_graph import (
    FILE_KEYS,
    KEYS,
    PACKAGE,
    SYMBOL_KEYS,
    Namer,
    Wanted,
    WantedRelation,
)
from mycel.knowledge.bootstrap.renamed_sections import Renamed, find_renamed
from mycel.knowledge.bootstrap.run_summary import BootstrapProgress, BootstrapReport, Summary
from mycel.knowledge.bootstrap_stamp import AUTHOR
from mycel.knowledge.vocabulary import STAMP
from mycel.model import ids
from mycel.model.records import canonical_weight
from mycel.model.retention import is_kept
from mycel.model.values import EMPTY_OBJECT, parse_object
from mycel.search.validity import MISSING_SINCE
from mycel.store.query import lookup
from mycel.store.query.bulk import prefixes
from mycel.store.query.bulk.prefixes import Held, HeldLink
from mycel.store.write.bulk import ConceptRow, PropositionRow
from mycel.store.write.transaction import Transaction

_GROUP_ROWS: Final = 4_000
"""The number of rows that are prepared at a time."""
_COMPLETE: Final = "complete"
_HEADS: Final = "heads"
_LEAVING: Final = (
    words.DEFINES,
    words.IMPORTS,
    words.CALLS,
    words.MAY_CALL,
    words.USES,
    words.EXTENDS,
    words.REFERENCES,
    words.CONTAINS,
    words.SECTION_OF,
    words.NAMES,
    words.TAGGED,
    words.DEPENDS_ON,
)
_REACHING: Final = (words.TESTED_BY, words.DOCUMENTED_BY)

LinePlace = tuple[int, int, int]


class FileNodes(NamedTuple):
    """A new or changed file, with its symbols and sections."""

    path: str
    file: Wanted
    inner: tuple[Wanted, ...]

    @property
    def rows(self) -> int:
        return 1 + len(self.inner)


class Touch(NamedTuple):
    """Changes of the node of an unchanged file: attributes, and a new stamp or None."""

    attributes: Mapping[str, Any]
    drop: tuple[str, ...] = ()
    stamp: dict[str, Any] | None = None


@dataclass(slots=True)
class WritePlan:
    """The wanted state, where it may differ from the stored one."""

    root: Wanted
    folders: list[Wanted] = field(default_factory=list)
    files: list[FileNodes] = field(default_factory=list)
    touched: dict[str, Touch] = field(default_factory=dict)
    """Changes of the nodes of unchanged files, by URI."""
    contains: list[WantedRelation] = field(default_factory=list)
    related: dict[str, list[WantedRelation]] = field(default_factory=dict)
    """For each file whose relations may differ: all relations written in the file."""
    tags: dict[str, Wanted] = field(default_factory=dict)
    """The tags of the related files, by URI."""
    removals: list[str] = field(default_factory=list)
    gone_folders: list[str] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    """The new path of each renamed file, by the old one."""
    renamed_folders: dict[str, str] = field(default_factory=dict)
    heads: dict[str, str] = field(default_factory=dict)
    """For each prefix of a folder: the commit up to which its authors were counted."""

    @property
    def rows(self) -> int:
        """An estimate of the rows to write or to compare."""
        nodes = len(self.folders) + sum(file.rows for file in self.files)
        relations = len(self.contains) + sum(map(len, self.related.values()))
        return nodes + relations + len(self.touched) + len(self.removals) + len(self.renamed)


def write(
    db: Graph, plan: WritePlan, namer: Namer, summary: Summary, report: BootstrapReport | None
) -> None:
    total = plan.rows

    def report_rows(row_count: int) -> None:
        if report is not None:
            report(BootstrapProgress("writing", min(row_count, total), total))

    is_small = total <= ROWS_IN_TRANSACTION
    with ExitStack() as stack:
        rows_max = inf if is_small else ROWS_IN_TRANSACTION
        turns = _Transactions(db, stack, rows_max, summary.message, report_rows)
        words.require_code_vocabulary(turns.tx)
        work = _Work(turns, namer, summary)
        work.put_nodes([_marked(plan, is_complete=is_small)])
        unmoved = work.move(plan.renamed, plan.renamed_folders)
        # Removals come first: a folder may replace a file.
        work.remove([*plan.removals, *unmoved], plan.gone_folders)
        work.put_nodes(plan.folders)
        work.put_files(plan.files)
        work.touch(plan.touched)
        work.put_nodes(list(plan.tags.values()))
        work.put_relations(plan.contains)
        work.relate(plan.related)
        if not is_small:
            work.put_nodes([_marked(plan, is_complete=True)])


def _marked(plan: WritePlan, *, is_complete: bool) -> Wanted:
    heads = {_HEADS: plan.heads} if plan.heads else {}
    return plan.root._replace(stamp={_COMPLETE: is_complete} | heads)


class RootStamp(NamedTuple):
    """The stamp of the root: True if everything was written, and the commits of the authors."""

    is_complete: bool = False
    heads: Mapping[str, str] = MappingProxyType({})


def read_root_stamp(stamp: object) -> RootStamp:
    """The stamp of the root, from its stored form; an invalid one counts as an incomplete run."""
    try:
        read = orjson.loads(stamp) if isinstance(stamp, str) else None
    except orjson.JSONDecodeError:
        read = None
    if not isinstance(read, dict):
        return RootStamp()
    heads = read.get(_HEADS)
    return RootStamp(read.get(_COMPLETE) is True, heads if isinstance(heads, dict) else {})


class _Transactions:
    """A sequence of transactions, each of which ends after `rows_max` rows."""

    def __init__(
        self,
        db: Graph,
        stack: ExitStack,
        rows_max: float,
        message: str,
        report: Callable[[int], object],
    ) -> None:
        self._db = db
        self._stack = stack
        self._message = db.message or message
        self._rows_max = rows_max
        self._told = report
        self._rows = self._done = 0
        self._begin()

    def _begin(self) -> None:
        transaction = self._db.transaction(message=self._message)
        self.tx: Transaction = self._stack.enter_context(transaction)

    def count(self, rows: int) -> bool:
        """Count written rows; end the transaction if it has enough. Returns True if it ended."""
        self._rows += rows
        self._done += rows
        self._told(self._done)
        if self._rows < self._rows_max:
            return False
        self._stack.close()
        self._rows = 0
        self._begin()
        return True


class _Work:
    """The steps of one run."""

    def __init__(self, turns: _Transactions, namer: Namer, summary: Summary) -> None:
        self._turns = turns
        self._namer = namer
        self._summary = summary
        self._numbers: dict[str, int] = {}
        self._fresh: set[int] = set()
        """Nodes created in this transaction, so all of their relations come from this run."""

    @property
    def _tx(self) -> Transaction:
        return self._turns.tx

    def _count(self, rows: int) -> None:
        if self._turns.count(rows):
            self._numbers.clear()
            self._fresh.clear()

    # Nodes.

    def put_nodes(self, nodes: Sequence[Wanted]) -> None:
        """Create nodes, or update the values that a bootstrap owns in existing nodes."""
        for group in _grouped(nodes, lambda _: 1):
            self._put_group(group)
            self._count(len(group))

    def _put_group(self, group: Sequence[Wanted]) -> dict[str, Held]:
        """Write a group of nodes. Returns the nodes that existed before."""
        tx = self._tx
        present: dict[str, Held] = {}
        for existing in prefixes.find_by_name(tx.reader, [node.uri for node in group]):
            present.setdefault(existing.name, existing)
        new_nodes = {node.uri: node for node in group if node.uri not in present}
        concepts = tx.put_concepts(
            ConceptRow(node.type, uri, ownership.new_attributes(node), AUTHOR)
            for uri, node in new_nodes.items()
        )
        for uri, id_ in zip(new_nodes, concepts, strict=True):
            number = self._numbers[uri] = ids.parse_id(id_)
            self._fresh.add(number)
        for node in group:
            if node.uri in present:
                self._update(present[node.uri], node)
        return present

    def _update(self, existing: Held, draft: Wanted) -> None:
        tx = self._tx
        self._numbers[draft.uri] = existing.number
        outer = ids.concept_id(existing.number)
        if tx.reader.type_name(existing.type) == MISSING:
            tx.move(outer, type_name=draft.type)
        past = prefixes.past_attributes(tx.reader, existing.number)
        change = ownership.change_of(existing, draft, past)
        if change:
            tx.update(outer, attributes=change.set, drop_attributes=change.drop)

    def put_files(self, files: Sequence[FileNodes]) -> None:
        """Write files with their symbols and sections, and remove former ones of these files."""
        for group in _grouped(files, lambda file: file.rows):
            below = self._below(group)
            path_by_uri = {node.uri: file.path for file in group for node in file.inner}
            orphans = {
                existing.number: existing for existing in below if existing.name not in path_by_uri
            }
            for number, node in self._renamed(group, below, path_by_uri):
                self._tx.move(ids.concept_id(number), name=node.uri)
                del orphans[number]
            self._put_group([node for file in group for node in (file.file, *file.inner)])
            self._discard(list(orphans.values()))
            self._count(sum(file.rows for file in group))

    def _below(self, group: Sequence[FileNodes]) -> list[Held]:
        """The stored symbols and sections of existing files among these."""
        uris = {file_nodes.file.uri: file_nodes.path for file_nodes in group}
        numbers = self._find(uris)
        folders = [self._namer.folder(path) for uri, path in uris.items() if uri in numbers]
        return prefixes.below(self._tx.reader, folders) if folders else []

    def _renamed(
        self, group: Sequence[FileNodes], below: Sequence[Held], path_by_uri: Mapping[str, str]
    ) -> Iterator[Renamed]:
        section = self._tx.reader.find_type(words.SECTION)
        stored_names = {node.name for node in below}
        orphans = [node for node in below if node.type == section and node.name not in path_by_uri]
        if not orphans:
            return iter(())
        paths = sorted((self._namer.folder(file_nodes.path) + "/" for file_nodes in group), key=len)
        places = (
            (next(path for path in reversed(paths) if node.name.startswith(path)), node)
            for node in orphans
        )
        new = (
            (self._namer.folder(file_nodes.path) + "/", node)
            for file_nodes in group
            for node in file_nodes.inner
            if node.type == words.SECTION and node.uri not in stored_names
        )
        return find_renamed(places, new)

    def touch(self, touched: Mapping[str, Touch]) -> None:
        """Change single attributes of files, where a bootstrap owns them."""
        for group in _grouped(list(touched), lambda _: 1):
            for existing in prefixes.find_by_name(self._tx.reader, group):
                self._touch(existing, touched[existing.name])
            self._count(len(group))

    def _touch(self, existing: Held, touch: Touch) -> None:
        self._numbers[existing.name] = existing.number
        now = parse_object(existing.attributes)
        stamp = now.get(STAMP)
        if not isinstance(stamp, dict):
            return
        ours = {k: v for k, v in now.items() if k in FILE_KEYS and k not in touch.drop}
        old_stamp = {k: stamp[k] for k in ("size", "mtime_ns", "hash", "version") if k in stamp}
        draft = Wanted(
            existing.name, "", {**ours, **touch.attributes}, FILE_KEYS, touch.stamp or old_stamp
        )
        self._update(existing, draft)

    # Moving.

    def move(self, renamed: Mapping[str, str], folders: Mapping[str, str]) -> list[str]:
        """Give renamed files and folders the URIs of their new paths.

        Returns the old paths of files whose new URI is taken; the caller removes them.
        """
        for old, path in folders.items():
            uri, to = self._namer.folder(old), self._namer.folder(path)
            nodes = {node.name: node for node in prefixes.find_by_name(self._tx.reader, [uri, to])}
            if uri in nodes and to not in nodes:
                self._move_nodes({nodes[uri]: to})
        unmoved: list[str] = []
        for old, path in renamed.items():
            moving = self._moving(old, path)
            if moving is None:
                unmoved.append(old)
                self._summary.count_renamed(-1)
                continue
            self._move_nodes(moving)
            self._count(len(moving))
        return unmoved

    def _moving(self, old: str, path: str) -> dict[Held, str] | None:
        """The nodes of a file that moves, with their new names; None if the new place is taken."""
        reader, namer = self._tx.reader, self._namer
        occupants = prefixes.find_by_name(reader, [namer.file(path)])
        occupants += prefixes.below(reader, [namer.folder(path)])
        if any(reader.type_name(node.type) != MISSING for node in occupants):
            return None
        moving = {
            node: namer.file(path) for node in prefixes.find_by_name(reader, [namer.file(old)])
        }
        for node in prefixes.below(reader, [namer.folder(old)]):
            moving[node] = namer.folder(path) + node.name.removeprefix(namer.folder(old))
        return moving

    def _move_nodes(self, moving: Mapping[Held, str]) -> None:
        """Move nodes, and remove their old `contains` relations; the plan has the new ones."""
        tx = self._tx
        placeholders = {
            node.name: node for node in prefixes.find_by_name(tx.reader, [*moving.values()])
        }
        for node, to in moving.items():
            concept = tx.reader.concept(node.number) if to in placeholders else None
            if concept is not None:
                merge_placeholder(tx, placeholders[to].number, concept)
        tx.move_concepts((ids.concept_id(node.number), None, to) for node, to in moving.items())
        contains = self._predicates((words.CONTAINS,))
        numbers = [node.number for node in moving]
        self._retire(prefixes.links_at(tx.reader, "object", numbers, contains))

    # Removing.

    def remove(self, paths: Sequence[str], folders: Sequence[str]) -> None:
        """Remove or mark the nodes of removed files and folders."""
        for group in _grouped(paths, lambda _: 30):
            uris = [self._namer.file(path) for path in group]
            below = [self._namer.folder(path) for path in group]
            self._discard(prefixes.below(self._tx.reader, below))
            self._discard(prefixes.find_by_name(self._tx.reader, uris))
            self._count(len(group))
        uris = [self._namer.folder(path) for path in folders]
        self._discard(prefixes.find_by_name(self._tx.reader, uris))

    def _discard(self, nodes: Sequence[Held]) -> None:
        """Remove the nodes that only a bootstrap wrote; mark the others."""
        ours = [node for node in nodes if STAMP in parse_object(node.attributes)]
        if not ours:
            return
        tx = self._tx
        needed = _needed_by_others(tx, [our.number for our in ours])
        links = prefixes.links_on(tx.reader, [our.number for our in ours])
        for our in ours:
            keys = KEYS.get(tx.reader.type_name(our.type), SYMBOL_KEYS)
            if our.number not in needed and ownership.is_ours(our, keys):
                retired = tx.retire(ids.concept_id(our.number), reason=ownership.GONE)
                self._summary.relations_removed += retired.propositions
            else:
                self._mark(our)
        self._sweep({link.object for link in links})

    def _mark(self, existing: Held) -> None:
        """Mark a node whose file is gone, and remove the relations that a bootstrap wrote."""
        tx = self._tx
        now = parse_object(existing.attributes)
        stamp = now[STAMP]
        if isinstance(stamp, dict):
            stamp = {k: v for k, v in stamp.items() if k in ("wrote", "kept")}
        since = {} if MISSING_SINCE in now else {MISSING_SINCE: _moment(tx)}
        tx.update(ids.concept_id(existing.number), attributes={STAMP: stamp} | since)
        self._retire(prefixes.links_on(tx.reader, [existing.number]))
        self._summary.kept += 1

    def _sweep(self, numbers: Collection[int]) -> None:
        """Remove the placeholders, tags and packages among these that have no relation left."""
        reader = self._tx.reader
        swept = [reader.find_type(name) for name in (MISSING, words.TAG, words.RESOURCE)]
        for existing in prefixes.numbered(reader, numbers):
            if existing.type not in swept or reader.touching(existing.number):
                continue
            type_name = reader.type_name(existing.type)
            if type_name == words.RESOURCE and not existing.name.startswith(PACKAGE):
                continue
            is_empty = existing.attributes == EMPTY_OBJECT
            is_empty = is_empty and not is_kept(parse_object(existing.metadata))
            is_ours = type_name != MISSING and ownership.is_ours(existing, KEYS[type_name])
            if is_ours if type_name != MISSING else is_empty:
                self._tx.retire(ids.concept_id(existing.number), reason=ownership.GONE)
                self._numbers.pop(existing.name, None)

    def _retire(self, links: Iterable[HeldLink]) -> None:
        """Remove relations that a bootstrap wrote, except those that another link is about."""
        tx = self._tx
        ours = [link for link in links if ownership.is_our_link(link)]
        spoken = {
            end
            for link in prefixes.links_on(tx.reader, [our.number for our in ours])
            for end in (link.subject, link.object)
        }
        for link in ours:
            if link.number in spoken:
                continue
            tx.retire(tx.reader.outer_id(link.number), reason=ownership.GONE)
            self._summary.relations_removed += 1
        self._sweep({link.object for link in ours})

    # Relations.

    def put_relations(self, relations: Sequence[WantedRelation]) -> None:
        """Write relations. Existing ones stay unchanged."""
        for group in _grouped(relations, lambda _: 1):
            self._put_places(self._placed(group))
            self._count(len(group))

    def relate(self, related: Mapping[str, list[WantedRelation]]) -> None:
        """Bring all relations that are written in some files to the wanted state."""
        for group in _grouped(list(related), lambda path: 1 + len(related[path])):
            relations = [relation for path in group for relation in related[path]]
            self._put_missing({relation.target for relation in relations if relation.is_missing})
            relations_by_place = self._placed(relations)
            present = self._present(group)
            stale = [
                link
                for place, link in present.items()
                if _is_stale(link, relations_by_place.get(place))
            ]
            self._retire(stale)
            for link in stale:
                present.pop((link.subject, link.predicate, link.object))
            self._put_places({k: v for k, v in relations_by_place.items() if k not in present})
            self._count(len(relations))

    def _put_missing(self, uris: Collection[str]) -> None:
        """Make placeholders for concepts that documents link to and that do not exist."""
        if not uris:
            return
        numbers = self._find(uris)
        absent = sorted(uri for uri in uris if uri not in numbers)
        concepts = self._tx.put_concepts(ConceptRow(MISSING, uri) for uri in absent)
        numbers.update(zip(absent, map(ids.parse_id, concepts), strict=True))

    def _present(self, paths: Sequence[str]) -> dict[LinePlace, HeldLink]:
        """The stored relations that are written in these files."""
        uris = {path: self._namer.file(path) for path in paths}
        numbers = self._find(uris.values())
        old = {path: numbers.get(uri) for path, uri in uris.items()}
        old = {path: number for path, number in old.items() if number not in self._fresh}
        if not old:
            return {}
        files = [number for number in old.values() if number is not None]
        below = prefixes.numbers_below(self._tx.reader, [self._namer.folder(path) for path in old])
        leaving, reaching = (self._predicates(names) for names in (_LEAVING, _REACHING))
        sources = [*files, *(number for _, number in below)]
        links = prefixes.links_at(self._tx.reader, "subject", sources, leaving)
        links += prefixes.links_at(self._tx.reader, "object", files, reaching)
        return {(link.subject, link.predicate, link.object): link for link in links}

    def _placed(self, relations: Sequence[WantedRelation]) -> dict[LinePlace, float]:
        """Relations with numbers for their ends and predicate; a relation needs both ends."""
        uris = {relation.source for relation in relations} | {
            relation.target for relation in relations
        }
        numbers = self._find(uris)
        names = {relation.relation for relation in relations}
        predicates = dict(zip(names, self._predicates(names), strict=True))
        return {
            (source, predicates[relation], target): weight
            for subject, relation, object_, weight, _ in relations
            if (source := numbers.get(subject)) is not None
            and (target := numbers.get(object_)) is not None
            and source != target
        }

    def _find(self, uris: Iterable[str]) -> dict[str, int]:
        unknown = [uri for uri in uris if uri not in self._numbers]
        if unknown:
            rows = lookup.find_by_name(self._tx.reader, unknown)
            for number, _, name in sorted(rows, reverse=True):  # The oldest namesake wins.
                self._numbers[name] = number
        return self._numbers

    def _predicates(self, names: Iterable[str]) -> list[int]:
        return [self._tx.reader.predicate_number(name) for name in names]

    def _put_places(self, places: Mapping[LinePlace, float]) -> None:
        tx, new_numbers = self._tx, self._fresh
        old = [
            place for place in places if place[0] not in new_numbers and place[2] not in new_numbers
        ]
        excluded = {*lookup.links_between(tx.reader, old)} if old else set()
        excluded |= prefixes.removed_links(tx.reader, places.keys(), ownership.GONE)
        name = tx.reader.predicate_name
        rows = [
            PropositionRow(f"C:{source}", name(predicate), f"C:{target}", None, AUTHOR, weight)
            for (source, predicate, target), weight in places.items()
            if (source, predicate, target) not in excluded
        ]
        self._summary.relations_added += tx.put_propositions(rows)


def _is_stale(link: HeldLink, weight: float | None) -> bool:
    """True if a relation of a bootstrap is no longer wanted, or now needs another weight."""
    if not ownership.is_our_link(link):
        return False
    return weight is None or link.weight != canonical_weight(weight)


def _needed_by_others(tx: Transaction, numbers: Sequence[int]) -> set[int]:
    """The nodes at a relation of another writer, or at a relation that a link is about."""
    links = prefixes.links_on(tx.reader, numbers)
    foreign = {link.number for link in links if not ownership.is_our_link(link)}
    about = prefixes.links_on(tx.reader, [link.number for link in links])
    foreign |= {end for link in about for end in (link.subject, link.object)}
    return {end for link in links if link.number in foreign for end in (link.subject, link.object)}


def _moment(tx: Transaction) -> str:
    # Imported late: only marked nodes need it.
    from datetime import UTC, datetime  # noqa: PLC0415

    moment = datetime.fromtimestamp(tx.time_us // 1_000_000, UTC)
    return moment.isoformat().replace("+00:00", "Z")


def _grouped(items: Sequence[Any], size: Callable[[Any], int]) -> Iterator[list[Any]]:
    """Items in groups of about `_GROUP_ROWS` rows."""
    group: list[Any] = []
    rows = 0
    for item in items:
        group.append(item)
        rows += size(item)
        if rows >= _GROUP_ROWS:
            yield group
            group, rows = [], 0
    if group:
        yield group
