"""Checks the parts of the file against each other.

Each check compares two parts that must agree and were written separately: pages with SQLite's own
structure, the journal with the log over it, every version of every element with its journal entry,
the state trees with the elements, the text index with their text, the index of properties with
their attributes and declarations, and the head with all of these. A changed byte in any table of
content is found. `replay` adds the strongest check: it rebuilds the state from the journal alone.

Left out are the statistics of SQLite's planner (`sqlite_stat1`, `sqlite_stat4`) and the tables that
search derives from elements (`index.passages`): neither is knowledge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import apsw

from mycel.errors import DatabaseClosed, MycelError
from mycel.merkle import log, sparse
from mycel.merkle.pages import EMPTY
from mycel.merkle.proofs import Namespace
from mycel.model import ids
from mycel.model.records import (
    ConceptFields,
    canonical_weight,
    decode_concept,
    decode_edge,
    record_hash,
)
from mycel.model.values import object_text, parse_object
from mycel.store.backend.failures import REFUSALS, translate
from mycel.store.check.property_audit import property_problems
from mycel.store.check.replay import replay_problems
from mycel.store.database import Store
from mycel.store.file import layout
from mycel.store.file.layout import CONCEPT_TYPE_NUMBER, PROPOSITION_TYPE_NUMBER
from mycel.store.file.rows import Row, fetch_all, fetch_one
from mycel.store.index import lifetimes, link_ends, passages, text
from mycel.store.log import marks, merges, saved_views
from mycel.store.log.audit import Auditor, VersionRow
from mycel.store.log.journal import (
    EntryRow,
    Head,
    JournalNodes,
    Kind,
    entries_and_transactions,
)
from mycel.store.log.purge_entries import PurgeFields, purges
from mycel.store.log.trees import CHANGE_BYTES, NAMESPACES, StateTrees, StoredPages, TreeChanges
from mycel.store.query.reader import Reader
from mycel.store.schema_objects import foreign_objects
from mycel.store.write.element_content import has_text

PROBLEMS_MAX: Final = 100
"""The maximum number of faults that are reported."""

Findings = Iterator[tuple[str, str]]
"""The faults of one check, each with its place and its description."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault that a check has found."""

    check: str
    where: str
    what: str

    def to_dict(self) -> dict[str, str]:
        """The problem for JSON."""
        return {"check": self.check, "where": self.where, "what": self.what}


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a verification."""

    checks: tuple[str, ...]
    problems: tuple[Problem, ...]
    entries: int
    concepts: int
    propositions: int

    @property
    def ok(self) -> bool:
        """True if no fault was found."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """The report for JSON."""
        return {
            "ok": self.ok,
            "checks": list(self.checks),
            "problems": [problem.to_dict() for problem in self.problems],
            "entries": self.entries,
            "concepts": self.concepts,
            "propositions": self.propositions,
        }


def verify(store: Store, *, replay: bool = False) -> Report:
    """Run every check and report all faults. Damage raises no error."""
    try:
        # The connection and its names are new, because cached values could hide a change.
        with store.reading_afresh() as reader:
            return _verify(reader, replay=replay)
    except DatabaseClosed:
        raise
    except MycelError as error:
        return Report((), (Problem("pages", "file", error.message),), 0, 0, 0)


def _verify(reader: Reader, *, replay: bool) -> Report:
    verification = Verification(reader)
    has_pages = reader.connection.has_pages
    checks: dict[str, Callable[[], Findings]] = {
        **({"pages": verification.pages} if has_pages else {"tables": verification.tables}),
        "journal": verification.journal,
        "names": verification.names,
        "versions": verification.versions,
        "links": verification.links,
        "trees": verification.trees,
        "text": verification.text,
        "properties": verification.properties,
        "lifetimes": verification.lifetimes,
        "head": verification.head,
    }
    if replay:
        checks["replay"] = lambda: replay_problems(reader)
    return report_of(reader, checks)


def report_of(reader: Reader, checks: Mapping[str, Callable[[], Findings]]) -> Report:
    """A report with the findings of some checks."""
    problems: list[Problem] = []
    for name, check in checks.items():
        problems += _run(name, check)
    return Report(
        tuple(checks),
        tuple(problems[:PROBLEMS_MAX]),
        _count(reader, "SELECT max(seq) FROM head"),
        _count(reader, "SELECT count(*) FROM concept"),
        _count(reader, "SELECT count(*) FROM proposition"),
    )


def _run(name: str, check: Callable[[], Findings]) -> list[Problem]:
    problems: list[Problem] = []
    try:
        for where, description in check():
            problems.append(Problem(name, where, description))
            if len(problems) == PROBLEMS_MAX:
                break
    except Exception as error:  # noqa: BLE001 - Damage can make any step fail: that is the finding.
        message = translate(error).message if isinstance(error, REFUSALS) else str(error)
        problems.append(Problem(name, "database", f"could not be checked to the end: {message}"))
    return problems


def _count(reader: Reader, query: str) -> int:
    try:
        row = reader.connection.execute(query).fetchone()
    except REFUSALS:
        return 0
    return row[0] if row and isinstance(row[0], int) else 0


class Verification:
    """One run of the checks over one snapshot."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._connection = reader.connection
        self._registry = reader.registry
        self._folded_seq = 0
        self._heads: dict[int, tuple[Any, ...]] = {}
        self._before: VersionRow | None = None
        self.expected: dict[Namespace, TreeChanges] = {name: TreeChanges() for name in NAMESPACES}
        """The records of the versions in force, which `trees` expects as leaves."""

    def pages(self) -> Findings:
        """Check the structure of the file, and that all tables, indexes and views exist.

        SQLite checks that each index has exactly the rows of its table, and the text index too.
        """
        foreign = foreign_objects(self._connection)
        yield from (
            (str(schema_object), "is not part of a Mycel database") for schema_object in foreign
        )
        # The check of SQLite would run the code of foreign objects, except plain tables.
        if all(schema_object.is_plain_table for schema_object in foreign):
            for (problem,) in self._connection.execute("PRAGMA integrity_check"):
                if problem != "ok":
                    yield "file", problem
        fresh = apsw.Connection(":memory:")
        fresh.execute(layout.CREATE)
        if marks.are_indexed(self._connection):
            fresh.execute(marks.INDEX)
        schema = (
            "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%'"
            f" AND tbl_name NOT GLOB '{passages.PREFIX}*'"
            f" AND tbl_name NOT GLOB '{merges.PREFIX}*'"
            f" AND tbl_name NOT GLOB '{saved_views.PREFIX}*'"
            " ORDER BY type, name"
        )
        expected, present = fetch_all(fresh, schema), fetch_all(self._connection, schema)
        for kind, name, _ in set(expected).difference(present):
            yield f"{kind} {name}", "has an unexpected definition"

    def tables(self) -> Findings:
        """Check that all tables, keys, indexes and views exist and are in use.

        The server checks its own pages.
        """
        for name in self._connection.missing_objects():
            yield name, "is missing, or not in use"

    def journal(self) -> Findings:
        """Check that entries and transactions form one unbroken sequence, and the log over them."""
        frontier = log.Frontier()
        nodes: dict[tuple[int, int], bytes] = {}
        first, last_time = 1, 0
        self._heads = {
            seq: tuple(state)
            for seq, *state in self._connection.execute(
                "SELECT seq, time, next_concept, next_proposition, frontier, concepts_root,"
                " edges_root FROM head"
            )
        }
        self._folded_seq = Head.read(self._connection).folded_seq
        log_nodes = JournalNodes(self._connection, self._registry)
        newest = [0, -1]  # The largest concept number and link number so far.
        for row in entries_and_transactions(self._connection):
            if row.seq != frontier.size + 1:
                yield f"journal {frontier.size + 1}", "is missing"
                return
            for level, position, digest in frontier.append(log_nodes.leaf(row)):
                nodes[level, position] = digest
            if isinstance(row, EntryRow):
                side = row.element & 1
                newest[side] = max(newest[side], row.element)
                continue
            if row.first_seq != first or row.time_us < last_time:
                yield f"tx {row.seq}", "does not follow the transaction before it"
            if row.first_seq == row.seq:
                yield f"tx {row.seq}", "has no entries"
            first, last_time = row.seq + 1, row.time_us
            ids_next = (newest[0] + ids.ID_STEP, newest[1] + ids.ID_STEP)
            roots = (row.concepts_root, row.edges_root)
            state = (row.time_us, *ids_next, frontier.to_bytes(), *roots)
            yield from self._head_row(row.seq, state)
        if first != frontier.size + 1:
            yield f"journal {first}", "belongs to no transaction"
        yield from (
            ("head", f"has a row {seq} that belongs to no transaction") for seq in self._heads
        )
        yield from self._log_nodes(nodes)
        yield from self._purged_entries()

    def _head_row(self, seq: int, state: tuple[Any, ...]) -> Findings:
        """Check that the head row of a transaction has the positions and roots after it."""
        head = self._heads.pop(seq, None)
        if head is None:
            if seq >= self._folded_seq:
                yield f"head {seq}", "is missing"
        elif head != state:
            yield f"head {seq}", "has another position than the end of its transaction"

    def _log_nodes(self, nodes: dict[tuple[int, int], bytes]) -> Findings:
        stored = self._connection.execute("SELECT level, position, hash FROM log_node")
        for level, position, digest in stored:
            if nodes.pop((level, position), None) != digest:
                yield f"log_node {level}/{position}", "is not the hash of its entries"
        for level, position in nodes:
            yield f"log_node {level}/{position}", "is missing"

    def _purged_entries(self) -> Findings:
        """Check that each purged entry is covered by a purge of its element.

        A purge covers all entries before it; a scrub covers those up to its position.
        """
        rows = self._connection.execute(
            "SELECT j.seq, j.purged, p.after FROM journal j LEFT JOIN journal p"
            " ON p.seq = abs(j.purged) AND p.element = j.element AND p.kind = ?"
            " WHERE j.purged IS NOT NULL",
            (int(Kind.PURGE),),
        )
        for seq, purged, record in rows:
            until = None if record is None else PurgeFields.decode(record).until
            last = purged - 1 if until is None else until
            if record is None or seq > last:
                yield f"journal {seq}", "is marked as purged, but no entry says so"

    def names(self) -> Findings:
        """Check that each type and predicate has a definition, and each actor a transaction."""
        purged = {
            (purge.defines, purge.number, purge.name) for _, _, purge in purges(self._connection)
        }
        for table, meta in (("type", CONCEPT_TYPE_NUMBER), ("predicate", PROPOSITION_TYPE_NUMBER)):
            rows = self._connection.execute(
                f"SELECT id, name FROM {table} n WHERE NOT EXISTS"
                " (SELECT 1 FROM concept c WHERE c.name = n.name AND c.type = ?1) AND NOT EXISTS"
                " (SELECT 1 FROM concept_past c WHERE c.name = n.name AND c.type = ?1)",
                (meta,),
            )
            for number, name in rows:
                if (table, number, name) not in purged:
                    yield f"{table} {number}", f"{name!r} was never defined"
        actors = self._connection.execute(
            "SELECT id FROM actor WHERE id NOT IN (SELECT actor FROM tx)"
        )
        for (number,) in actors:
            yield f"actor {number}", "has no transaction"

    def versions(self) -> Findings:
        """Check the versions of each element: no gaps, and each agrees with its journal entry."""
        auditor = Auditor(self._connection, self._registry)
        total = 0
        sources: tuple[tuple[Namespace, Iterator[VersionRow]], ...] = (
            ("concepts", auditor.concepts()),
            ("edges", auditor.links()),
        )
        for namespace, rows in sources:
            for row in rows:
                total += 1
                yield from self.version_problems(namespace, row)
            yield from self.version_problems(namespace, None)
        (entries,) = fetch_one(
            self._connection,
            "SELECT count(*) FROM journal WHERE kind NOT IN (?, ?) AND coalesce(purged, -1) < 0",
            (int(Kind.PURGE), int(Kind.MARK)),
        )
        if entries != total:
            yield "journal", f"has {entries} entries with content, but there are {total} versions"

    def version_problems(self, namespace: Namespace, row: VersionRow | None) -> Findings:
        """The faults of one version, checked against the version before it.

        None in place of a version stands for the end of the rows.
        """
        before = self._before
        self._before = row
        if row is None:
            if before is not None and not before.is_current:
                yield f"{namespace} {before.number}", "has no current version"
            return
        problem = self._version_problem(row) or _sequence_problem(before, row)
        if problem:
            yield f"{namespace} {row.number} at {row.seq}", problem
        if row.is_current:
            self.expected[namespace].set(row.key, record_hash(row.record))

    def _version_problem(self, row: VersionRow) -> str:
        entry = self._connection.execute(
            "SELECT element, after, purged, kind FROM journal WHERE seq = ?", (row.seq,)
        ).fetchone()
        if entry is None:
            return "has no journal entry"
        element, after, purged, kind = entry
        removal = kind in (Kind.RETIRE_CONCEPT, Kind.REMOVE_EDGE)
        # These kinds may write a tombstone too.
        either = kind in (Kind.RELINK_EDGE, Kind.MOVE_CONCEPT)
        is_purged = purged is not None and purged > 0
        if element != row.number or is_purged or not (either or removal == row.tombstoned):
            return "has a journal entry about another element or of another kind"
        if after != row.record:
            return "differs from its journal entry"
        if len({part is None for part in row.tombstone}) > 1:
            return "has an incomplete tombstone"
        if row.version < 1 or (row.version == 1 and row.updated_us != row.created_us):
            return "has an impossible version or time"
        if any(
            object_text(parse_object(object_json), "value") != object_json
            for object_json in row.texts
        ):
            return "holds JSON that is not in canonical form"
        if row.weight is not None and canonical_weight(row.weight) != row.weight:
            return "has a weight that is not in canonical form"
        return ""

    def links(self) -> Findings:
        """Check that both ends of every live link are live, and differ.

        Also check that `link_end` names every end that is a link.
        """
        rows = self._connection.execute(
            "SELECT id FROM proposition p WHERE subject = object"
            " OR NOT EXISTS (SELECT 1 FROM concept WHERE id = p.subject"
            " UNION ALL SELECT 1 FROM proposition WHERE id = p.subject)"
            " OR NOT EXISTS (SELECT 1 FROM concept WHERE id = p.object"
            " UNION ALL SELECT 1 FROM proposition WHERE id = p.object)"
        )
        for (number,) in rows:
            yield f"proposition {number}", "has an end that does not exist"
        yield from link_ends.problems(self._connection)

    def trees(self) -> Findings:
        """Check that pages are sound, and that leaves are the records of the elements."""
        head = Head.read(self._connection)
        yield from self.stored_trees(head)
        current = StateTrees(self._connection)
        for seq, *roots in self._roots_since(head.folded_seq):
            current.catch_up(seq, head.folded_seq)
            if [current.root(namespace) for namespace in NAMESPACES] != roots:
                yield f"head {seq}", "its changes give other roots than its transaction has"
                return
        current.catch_up(head.seq, head.folded_seq)
        for namespace in NAMESPACES:
            key = current.difference(namespace, self.expected[namespace])
            if key is not None:
                yield f"{namespace} tree", f"disagrees with the elements at key {key.hex()}"

    def _roots_since(self, seq: int) -> list[Row]:
        return fetch_all(
            self._connection,
            "SELECT seq, concepts_root, edges_root FROM tx WHERE seq > ? ORDER BY seq",
            (seq,),
        )

    def stored_trees(self, head: Head) -> Findings:
        """Check that the pages on disk are those of the last folded transaction."""
        row = self._connection.execute(
            "SELECT concepts_root, edges_root FROM tx WHERE seq = ?", (head.folded_seq,)
        ).fetchone() or (EMPTY, EMPTY)
        for namespace, root in zip(NAMESPACES, row, strict=True):
            pages = StoredPages(self._connection, namespace)
            reached = 0
            for page, problem in sparse.check(pages):
                reached += 1
                if problem:
                    yield f"{namespace} tree page {page}", problem
            if sparse.root(pages) != root:
                yield f"{namespace} tree", "does not have the root of the last folded transaction"
            if pages.count() != reached:
                yield f"{namespace} tree", "has unreachable pages"

    def text(self) -> Findings:
        """Check that the index holds the text of the live elements, except pending ones."""
        connection = self._connection
        pending = text.pending(connection)
        stated: dict[int, set[int]] = {}
        for seq, number in text.pending_by_transaction(connection):
            stated.setdefault(seq, set()).add(number)
        folded = Head.read(connection).folded_seq
        for (seq,) in fetch_all(connection, "SELECT seq FROM head WHERE seq > ?", (folded,)):
            certain, possible = self._texts_changed_in(seq)
            if not certain <= stated.get(seq, set()) <= certain | possible:
                yield f"head {seq}", "lists other elements than those whose text it changed"
        numbers = connection.execute(
            "SELECT id FROM concept UNION ALL SELECT id FROM proposition ORDER BY id"
        )
        indexed = (number for (number,) in numbers if number not in pending)
        yield from text.differences(connection, indexed, pending)

    def properties(self) -> Findings:
        """Check that the index of properties holds the values of the live elements."""
        yield from property_problems(self._connection)

    def lifetimes(self) -> Findings:
        """Check that the tables of lifetimes agree with the live elements."""
        yield from lifetimes.problems(self._connection)

    def _texts_changed_in(self, seq: int) -> tuple[set[int], set[int]]:
        """Elements whose text a transaction changed, and elements with purged entries.

        The texts of purged entries are unknown.
        """
        certain: set[int] = set()
        possible: set[int] = set()
        rows = fetch_all(
            self._connection,
            "SELECT j.element, j.kind, j.before, j.after, j.purged FROM tx"
            " JOIN journal j ON j.seq BETWEEN tx.first_seq AND tx.seq WHERE tx.seq = ?",
            (seq,),
        )
        for element, kind, before, after, purged in rows:
            if purged is not None:
                possible.add(element)
            elif kind not in (Kind.PURGE, Kind.MARK) and _changes_text(kind, before, after):
                certain.add(element)
        return certain, possible

    def head(self) -> Findings:
        """Check that the rows of the head agree; `journal` checks the content of each."""
        pending = 0
        rows = fetch_all(
            self._connection,
            "SELECT seq, folded_seq, coalesce(pending, -1), coalesce(length(changes), -1),"
            " coalesce(length(texts), -1) FROM head ORDER BY seq",
        )
        folded = rows[-1][1] if rows else 0
        for seq, folded_seq, stated, changes, texts in rows:
            pending += changes
            if folded_seq != folded or stated * CHANGE_BYTES != pending or texts % 8:
                yield f"head {seq}", "has a wrong count of pending changes"
            if seq == folded and (changes or texts):
                yield f"head {seq}", "is folded, but still has pending changes"
        left = fetch_all(
            self._connection,
            "SELECT seq FROM tx WHERE frontier IS NULL AND (coalesce(next_concept,"
            " next_proposition, definitions, folded_seq, pending) IS NOT NULL"
            " OR changes IS NOT NULL OR texts IS NOT NULL)",
        )
        yield from (
            (f"tx {seq}", "has values in columns that only the head uses") for (seq,) in left
        )
        yield from self._definitions()

    def _definitions(self) -> Findings:
        """Check that each row of the head has the newest change of a definition up to it."""
        metas = f"({CONCEPT_TYPE_NUMBER}, {PROPOSITION_TYPE_NUMBER})"
        definition_seqs = fetch_all(
            self._connection,
            f"SELECT seq FROM concept WHERE type IN {metas}"
            f" UNION SELECT from_seq FROM concept_past WHERE type IN {metas}",
        )
        seqs = {seq for (seq,) in definition_seqs}
        forgotten: set[int] = set()  # Entries of purged definitions, which have lost their content.
        for seq, _, fields in purges(self._connection):
            if fields.defines:
                seqs.add(seq)
                rows = fetch_all(
                    self._connection, "SELECT seq FROM journal WHERE purged = ?", (seq,)
                )
                forgotten.update(number for (number,) in rows)
        for seq, definitions in fetch_all(self._connection, "SELECT seq, definitions FROM head"):
            expected = max((earlier for earlier in seqs if earlier <= seq), default=0)
            if definitions != expected and not (
                definitions in forgotten and expected < definitions <= seq
            ):
                yield f"head {seq}", "has a wrong position of the last definition"


def _changes_text(kind: int, before: bytes | None, after: bytes) -> bool:
    """True if an entry changes the text index."""
    if kind in (Kind.RETIRE_CONCEPT, Kind.REMOVE_EDGE):
        return True
    if kind == Kind.PUT_CONCEPT and before is None:
        return True  # Every new concept has a name, so the record need not be decoded.
    decode = decode_concept if kind in (Kind.PUT_CONCEPT, Kind.MOVE_CONCEPT) else decode_edge
    new, old = decode(after), None if before is None else decode(before)
    if new.tombstone is not None:
        return False
    if old is not None and old.tombstone is None:
        texts = [object_text(fields.attributes, "attributes") for fields in (old, new)]
        names = [fields.name if isinstance(fields, ConceptFields) else "" for fields in (old, new)]
        # Compared as texts: in Python, 1, 1.0 and true are equal.
        return texts[0] != texts[1] or names[0] != names[1]
    return kind == Kind.PUT_CONCEPT or has_text(object_text(new.attributes, "attributes"))


def _sequence_problem(before: VersionRow | None, row: VersionRow) -> str:
    """The fault if a version does not directly follow the version before; empty if it does."""
    if before is None or before.number != row.number:
        if before is not None and not before.is_current:
            return f"comes after {before.number}, which has no current version"
        return ""
    return "" if before.to_seq == row.seq else "does not follow the version before it"
