"""Verifies a graph by comparing it with an older copy that was verified.

A row that equals the row in the verified copy is right. SQLite compares the rows of both files, and
only rows that differ are checked with their hashes:

    journal     the entries since then continue the log of the older copy
    versions    rows that differ are of elements that these entries are about; each of their
                versions says what its entry says
    trees       the trees of the older copy, with the changed records, have the roots of the journal
    text        the index holds the text of the changed elements

SQLite's own check covers all pages, and the search index of unchanged elements. If entries move,
re-point or purge elements, or are many, the whole file has to be verified.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from mycel.merkle import log
from mycel.model import ids
from mycel.store.backend.failures import translated
from mycel.store.check.verify import Findings, Report, Verification, report_of
from mycel.store.database import Store
from mycel.store.file.rows import fetch_all, fetch_one
from mycel.store.index import text
from mycel.store.log.audit import Auditor
from mycel.store.log.journal import Head, JournalNodes, Kind, entries_and_transactions
from mycel.store.log.registry import Registry
from mycel.store.log.trees import NAMESPACES, StateTrees
from mycel.store.query.reader import Reader

ELEMENTS_MAX: Final = 10_000
"""The maximum number of changed elements; for more, verifying the whole file is as fast."""

_PLAIN_KINDS: Final = (
    Kind.PUT_CONCEPT,
    Kind.RETIRE_CONCEPT,
    Kind.ADD_EDGE,
    Kind.UPDATE_EDGE,
    Kind.REMOVE_EDGE,
    Kind.MARK,
)
_ELEMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "concept": ("id",),
    "proposition": ("id",),
    "concept_past": ("id", "from_seq"),
    "proposition_past": ("id", "from_seq"),
}
_GROWING: Final[Mapping[str, tuple[str, ...]]] = {
    "journal": ("seq",),
    "log_node": ("level", "position"),
    "type": ("id",),
    "predicate": ("id",),
    "actor": ("id",),
}
"""Tables whose rows only a purge changes or removes."""
_TX_COLUMNS: Final = ("first_seq", "time", "actor", "message", "concepts_root", "edges_root")


def verify_changes(store: Store, older: Store) -> Report | None:
    """Verify a graph by its differences from an older, verified copy of it.

    Returns None if the whole graph has to be verified.
    """
    with translated(), older.reading() as was:
        connection = store.location.connect()
        try:
            path = older.location.path
            connection.execute("ATTACH ? AS was", (path,))
            connection.execute("BEGIN")
            check = _ChangedVerification(Reader(connection, Registry()), was)
            return check.report() if check.is_possible() else None
        finally:
            connection.close()


class _ChangedVerification:
    """One run of the checks over the differences between two snapshots."""

    def __init__(self, reader: Reader, was: Reader) -> None:
        self._reader = reader
        self._connection = reader.connection
        self._was = was
        self._old = Head.read(was.connection)
        self._all = Verification(reader)
        self._touched: frozenset[int] = frozenset()

    def is_possible(self) -> bool:
        """True if the entries since the older copy are few and change only contents."""
        query = "SELECT kind, element FROM main.journal WHERE seq > ? LIMIT ?"
        rows = fetch_all(self._connection, query, (self._old.seq, 4 * ELEMENTS_MAX))
        self._touched = frozenset(element for kind, element in rows if kind != Kind.MARK)
        return len(self._touched) <= ELEMENTS_MAX and {kind for kind, _ in rows} <= {*_PLAIN_KINDS}

    def report(self) -> Report:
        checks: dict[str, Callable[[], Findings]] = {
            "pages": self._all.pages,
            "same": self.check_unchanged,
            "journal": self.journal,
            "names": self._all.names,
            "versions": self.versions,
            "links": self._all.links,
            "trees": self.trees,
            "text": self.text,
            "properties": self._all.properties,
            "head": self._all.head,
        }
        return report_of(self._reader, checks)

    def check_unchanged(self) -> Findings:
        """Report rows that differ between the files without an entry about their element."""
        for table, key in _ELEMENTS.items():
            for number, *_ in self._differing(table, key, is_growing=False):
                if number not in self._touched:
                    yield f"{table} {number}", "differs without a journal entry about it"
        for table, key in _GROWING.items():
            for row in self._differing(table, key, is_growing=True):
                yield f"{table} {'/'.join(map(str, row))}", "differs from the verified copy"
        for (seq,) in self._differing("tx", ("seq",), is_growing=True, columns=_TX_COLUMNS):
            yield f"tx {seq}", "differs from the verified copy"

    def _differing(
        self,
        table: str,
        key: tuple[str, ...],
        *,
        is_growing: bool,
        columns: Collection[str] = (),
    ) -> Iterator[tuple[int, ...]]:
        """The keys of rows that differ; in a table that only grows, new rows are no difference."""
        if not columns:
            info = fetch_all(self._connection, f"SELECT name FROM pragma_table_info('{table}')")
            columns = [name for (name,) in info if name not in key]
        key_list = ", ".join(f"{{}}.{column}" for column in key)
        joined = " AND ".join(f"n.{column} = o.{column}" for column in key)
        differs = " OR ".join(f"n.{column} IS NOT o.{column}" for column in columns)
        yield from self._connection.execute(
            f"SELECT {key_list.replace('{}', 'o')} FROM was.{table} o LEFT JOIN main.{table} n"
            f" ON {joined} WHERE n.{key[0]} IS NULL OR {differs}"
        )
        if not is_growing:
            yield from self._connection.execute(
                f"SELECT {key_list.replace('{}', 'n')} FROM main.{table} n LEFT JOIN was.{table} o"
                f" ON {joined} WHERE o.{key[0]} IS NULL"
            )

    def journal(self) -> Findings:
        """Check that the entries since the older copy continue its log up to the head."""
        head = Head.read(self._connection)
        frontier = log.Frontier.from_bytes(self._old.frontier.to_bytes())
        log_nodes = JournalNodes(self._connection, self._reader.registry)
        nodes: dict[tuple[int, int], bytes] = {}
        for row in entries_and_transactions(self._connection, self._old.seq):
            if row.seq != frontier.size + 1:
                yield f"journal {frontier.size + 1}", "is missing"
                return
            for level, position, digest in frontier.append(log_nodes.leaf(row)):
                nodes[level, position] = digest
        if (head.seq, head.frontier.to_bytes()) != (frontier.size, frontier.to_bytes()):
            yield "head", "has another position than the end of the journal"
        stored = self._connection.execute(
            "SELECT n.level, n.position, n.hash FROM main.log_node n LEFT JOIN was.log_node o"
            " ON n.level = o.level AND n.position = o.position WHERE o.level IS NULL"
        )
        for level, position, digest in stored:
            if nodes.pop((level, position), None) != digest:
                yield f"log_node {level}/{position}", "is not the hash of its entries"
        for level, position in nodes:
            yield f"log_node {level}/{position}", "is missing"

    def versions(self) -> Findings:
        """Check that every version of a changed element agrees with its journal entry."""
        auditor = Auditor(self._connection, self._reader.registry)
        concepts = [number for number in self._touched if ids.is_concept(number)]
        links = [number for number in self._touched if not ids.is_concept(number)]
        for namespace, rows in (
            (NAMESPACES[0], auditor.concepts(concepts)),
            (NAMESPACES[1], auditor.links(links)),
        ):
            for row in rows:
                yield from self._all.version_problems(namespace, row)
            yield from self._all.version_problems(namespace, None)
        (entries,) = fetch_one(
            self._connection,
            "SELECT count(*) FROM main.journal WHERE seq > ? AND kind != ?",
            (self._old.seq, int(Kind.MARK)),
        )
        (versions,) = fetch_one(
            self._connection,
            "SELECT sum(n) FROM (SELECT count(*) n FROM main.concept WHERE seq > ?1 UNION ALL"
            " SELECT count(*) FROM main.proposition WHERE seq > ?1 UNION ALL"
            " SELECT count(*) FROM main.concept_past WHERE from_seq > ?1 UNION ALL"
            " SELECT count(*) FROM main.proposition_past WHERE from_seq > ?1)",
            (self._old.seq,),
        )
        if entries != versions:
            yield "journal", f"has {entries} new entries, but there are {versions} new versions"

    def trees(self) -> Findings:
        """Check that the older trees, with the changed records, have the roots of the head."""
        head = Head.read(self._connection)
        before = StateTrees(self._was.connection)
        before.catch_up(self._old.seq, self._old.folded_seq)
        now = StateTrees(self._connection)
        now.catch_up(head.seq, head.folded_seq)
        for namespace, root in zip(NAMESPACES, (head.concepts_root, head.edges_root), strict=True):
            if before.root_with(namespace, self._all.expected[namespace]) != root:
                yield f"{namespace} tree", "differs from the older trees with the changed records"
            if now.root(namespace) != root:
                yield f"{namespace} tree", "does not have the root of the head"
        yield from self._all.stored_trees(head)

    def text(self) -> Findings:
        """Check that the index holds the text of the changed elements, except pending ones."""
        pending = text.pending(self._connection)
        yield from text.differences_of(self._connection, sorted(self._touched - {*pending}))
