"""From the format of an older file to the present one.

Each step brings what is new in one format, and leaves what is written in the journal as it is. All
steps that a file needs run in one transaction, with the number of the format, so a file that loses
power on the way is still the old one. A file that is opened for reading only stays as it is:
whoever reads has to cope with what it lacks.

Up to format 3 the state trees had other keys and hashes, so their roots cannot be compared with
those of today. The step to format 4 plants them anew and appends a transaction without entries,
which no other has: the roots in the transactions from this one on are those of the present trees.
Of a file that has not taken this step nothing can be proven, and its trees cannot be verified.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import apsw

from mycel.errors import DatabaseCorrupt, DatabaseReadOnly, FormatTooNew
from mycel.merkle.pages import EMPTY
from mycel.merkle.proofs import Namespace
from mycel.model.names import SYSTEM_ACTOR
from mycel.model.records import natural_key, record_hash
from mycel.store.file import layout
from mycel.store.file.cursors import Cursors
from mycel.store.file.rows import only
from mycel.store.index import link_ends, text
from mycel.store.log.audit import Auditor
from mycel.store.log.journal import Head
from mycel.store.log.registry import Registry
from mycel.store.log.trees import FOLD_CHANGES_MAX, Changes, StateTrees
from mycel.store.write.ledger import Ledger

_PRESENT_TREES_SINCE: Final = 4
HEAD_IN_TX_SINCE: Final = 5
_REPLANTED: Final = "state trees of format 4"


def _add_the_index_of_properties(connection: apsw.Connection, _: int) -> None:
    """No type has a slot yet, so there is nothing to fill; and one index has no use."""
    connection.execute(layout.PROPERTIES)
    connection.execute("DROP INDEX journal_relink")


def _note_links_at_the_ends_of_links(connection: apsw.Connection, _: int) -> None:
    connection.execute(layout.LINK_ENDS)
    connection.execute(f"INSERT INTO link_end {link_ends.FOUND}")


def _join_transactions_and_head(connection: apsw.Connection, _: int) -> None:
    """What the two tables say twice is said once from now on, so it is compared before.

    Views that somebody else has added stay as they are, and go on with the new tables. Indexes and
    triggers on the old ones go with them.

    Raises:
        DatabaseCorrupt: the two do not agree.
    """
    newest, stated, differing = only(
        connection,
        "SELECT (SELECT max(seq) FROM tx), (SELECT max(seq) FROM head), (SELECT count(*)"
        " FROM head h LEFT JOIN tx t ON t.seq = h.seq WHERE t.time IS NOT h.time"
        " OR t.concepts_root IS NOT h.concepts_root OR t.edges_root IS NOT h.edges_root)",
    )
    if stated is None or stated != newest or differing:
        raise _not_upgraded("The head disagrees with the transactions")
    connection.execute("PRAGMA legacy_alter_table = ON").fetchall()
    try:
        connection.execute("ALTER TABLE tx RENAME TO tx_before_format_5")
        connection.execute("ALTER TABLE head RENAME TO head_before_format_5")
    finally:
        connection.execute("PRAGMA legacy_alter_table = OFF").fetchall()
    connection.execute(layout.TX)
    connection.execute(
        "INSERT INTO tx SELECT t.seq, t.first_seq, t.time, t.actor, t.message, t.concepts_root,"
        " t.edges_root, h.next_concept, h.next_proposition, h.definitions, h.folded_seq, h.pending,"
        " h.frontier, h.changes, h.texts FROM tx_before_format_5 t"
        " LEFT JOIN head_before_format_5 h ON h.seq = t.seq ORDER BY t.seq"
    )
    connection.execute("DROP TABLE tx_before_format_5")
    connection.execute("DROP TABLE head_before_format_5")


def _index_names_apart(connection: apsw.Connection, _: int) -> None:
    """Make the text index anew, and the views.

    Texts that are pending are indexed too. They stay pending, which does no harm.
    """
    text.index_anew(connection)
    connection.execute("DROP VIEW nodes")
    connection.execute("DROP VIEW relations")
    connection.execute(layout.VIEWS)


def _plant_the_trees_anew(connection: apsw.Connection, now_us: int) -> None:
    """What the leaves should be is read from the journal, which the log vouches for.

    Raises:
        DatabaseCorrupt: those of the older trees are others. They are what was vouched for so far.
    """
    head = Head.read(connection)
    older = StateTrees(connection)
    older.catch_up(head.seq, head.folded_seq)
    head.concepts_root = head.edges_root = EMPTY
    head.folded_seq, head.pending = head.seq, FOLD_CHANGES_MAX  # So that all pages are written.
    registry = Registry()
    ledger = Ledger(
        Cursors(connection),
        registry,
        StateTrees(connection),
        head,
        actor=SYSTEM_ACTOR,
        message=_REPLANTED,
        now_us=now_us,
    )
    auditor = Auditor(connection, registry)
    namespaces: dict[str, Namespace] = {"concept": "concepts", "proposition": "edges"}
    for table, namespace in namespaces.items():
        had = Changes()
        present = connection.execute(
            "SELECT c.id, j.after FROM journal j JOIN"
            f" (SELECT id, seq FROM {table} UNION ALL"
            f" SELECT id, from_seq FROM {table}_past WHERE to_seq = {layout.OPEN_END}) c"
            " ON c.seq = j.seq"
        )
        for number, record in present:
            if record is None:
                raise _not_upgraded("An element has no record in the journal")
            key, digest = auditor.key(number), record_hash(record)
            ledger.changes[namespace].set(key, digest)
            had.set(natural_key(key), digest)
        if older.difference(namespace, had) is not None:
            raise _not_upgraded(f"The {namespace} tree disagrees with the journal")
        older.uproot(namespace)
    ledger.close()


def _not_upgraded(why: str) -> DatabaseCorrupt:
    return DatabaseCorrupt(
        f"{why}, so the file was not upgraded.",
        hint="Verify it with the version that wrote it, or go back to a copy. It can be opened for"
        " reading.",
    )


STEPS: Final[tuple[tuple[int, Callable[[apsw.Connection, int], None]], ...]] = (
    (2, _add_the_index_of_properties),
    (3, _note_links_at_the_ends_of_links),
    (HEAD_IN_TX_SINCE, _join_transactions_and_head),
    (layout.NAMES_INDEXED_SINCE, _index_names_apart),
    (_PRESENT_TREES_SINCE, _plant_the_trees_anew),
)
"""What a file needs that is older than this format, in the order in which it is done: planting
appends a transaction, and indexes its texts, as it is done today. Each step is told what time it
is."""


def upgrade(connection: apsw.Connection, now_us: int) -> None:
    """Bring a file of ours that has an older format to the present one."""
    if format_of(connection) >= layout.FORMAT:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        found = format_of(connection)  # Another process may have been faster.
        for format_, step in STEPS:
            if found < format_:
                step(connection, now_us)
        connection.execute(f"PRAGMA user_version = {layout.FORMAT}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def refuse_newer(path: str, connection: apsw.Connection) -> None:
    """Keep hands off a file whose format only a later version understands.

    Raises:
        FormatTooNew: it is such a file.
    """
    found = format_of(connection)
    if found > layout.FORMAT:
        raise FormatTooNew(
            f"{path!r} has format {found}; this version of Mycel reads up to {layout.FORMAT}."
        )


def has_present_trees(connection: apsw.Connection) -> bool:
    """Whether the state trees are like those of today. If not, the file may only be read."""
    return format_of(connection) >= _PRESENT_TREES_SINCE


def refuse_older_trees(connection: apsw.Connection) -> None:
    """Prove nothing with trees that are not like those of today.

    Raises:
        DatabaseReadOnly: they are those of an older format, and the file may only be read.
    """
    if not has_present_trees(connection):
        raise DatabaseReadOnly(
            f"The file has format {format_of(connection)}, with state trees of another kind.",
            hint="Open it once where it may be written, which upgrades it.",
        )


def roots_since(connection: apsw.Connection) -> int:
    """The first transaction whose roots are those of the present trees; 0 if all are.

    Of a file that has the older trees, none: the number is greater than any.
    """
    if not has_present_trees(connection):
        return layout.OPEN_END
    (upgraded,) = only(
        connection,
        "SELECT min(tx.seq) FROM tx JOIN actor a ON a.id = tx.actor"
        " WHERE first_seq = tx.seq AND message = ? AND a.name = ?",
        (_REPLANTED, SYSTEM_ACTOR),
    )
    return int(upgraded or 0)


def format_of(connection: apsw.Connection) -> int:
    """The number of the format that a file says it has."""
    (found,) = only(connection, "PRAGMA user_version")
    return int(found)
