"""The baseline: the same tables, written with apsw alone by a careful programmer.

The two tables and their indexes are taken from Mycel's layout, so that they stay the same.
Connections are opened by Mycel's function, with the same settings. There is no journal, no history,
no trees, no text index and no checks.

Checkpoints are left to SQLite, which makes them inside a commit, every 1000 pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import apsw
import orjson

from benchmarks.graphs import PREDICATES, TYPES, Link, Node
from mycel.model import ids
from mycel.store.backend.sqlite.location import DatabaseLocation
from mycel.store.file import layout

TYPE_NUMBERS: Final = {n: at for at, n in enumerate(TYPES, layout.FIRST_TYPE_NUMBER)}
PREDICATE_NUMBERS: Final = {n: at for at, n in enumerate(PREDICATES, layout.FIRST_PREDICATE_NUMBER)}
TYPE_NAMES: Final = {number: name for name, number in TYPE_NUMBERS.items()}
PREDICATE_NAMES: Final = {number: name for name, number in PREDICATE_NUMBERS.items()}

COLUMNS: Final = {
    "concept": (
        "id", "type", "name", "attributes", "metadata",
        "version", "seq", "created_at", "created_by", "updated_at",
    ),
    "proposition": (
        "id", "subject", "predicate", "object", "weight", "attributes", "metadata",
        "version", "seq", "created_at", "created_by", "updated_at",
    ),
}  # fmt: skip
_CONCEPT, _PROPOSITION = (", ".join(columns) for columns in COLUMNS.values())

POINT: Final = f"SELECT {_CONCEPT} FROM concept WHERE name = ? AND type = ?"
POINT_JSON: Final = slice(3, 5)
"""The columns of the two JSON texts in a row of `POINT`."""

HOP: Final = (
    f"SELECT {_PROPOSITION} FROM proposition WHERE subject = ? AND predicate = ? ORDER BY object"
)
HOP_JSON: Final = slice(5, 7)

_INSERT_CONCEPT, _INSERT_PROPOSITION = (
    f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    for table, columns in COLUMNS.items()
)

_VERSION, _ACTOR, _WEIGHT, _NO_METADATA = 1, 1, 1.0, "{}"
_NOW_US: Final = 1_700_000_000_000_000


class Plain:
    """An open database of the baseline. It numbers rows itself, as Mycel does."""

    def __init__(self, path: Path) -> None:
        existed = path.exists()
        self.connection = DatabaseLocation(str(path)).connect(writable=True, create=True)
        if not existed:
            self.connection.execute("PRAGMA journal_mode = wal").fetchall()
            self.connection.execute(ddl())
        self.seq = sum(self.count(table) for table in COLUMNS)
        self.next_concept = ids.FIRST_CONCEPT + ids.ID_STEP * self.count("concept")
        self.next_proposition = ids.FIRST_LINK + ids.ID_STEP * self.count("proposition")

    def count(self, table: str) -> int:
        return self.connection.execute(f"SELECT count(*) FROM {table}").get

    def close(self) -> None:
        self.connection.close()

    def put(self, nodes: Iterable[Node], links: Iterable[Link]) -> None:
        """Insert everything in one durable transaction. Ends of links are indexes of concepts."""
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.executemany(_INSERT_CONCEPT, map(self._concept_row, nodes))
        self.connection.executemany(_INSERT_PROPOSITION, map(self._proposition_row, links))
        self.connection.execute("COMMIT")

    def _concept_row(self, node: Node) -> tuple[Any, ...]:
        type_name, name, attributes, metadata = node
        number, self.next_concept = self.next_concept, self.next_concept + ids.ID_STEP
        self.seq += 1
        return (
            number,
            TYPE_NUMBERS[type_name],
            name,
            orjson.dumps(attributes).decode(),
            orjson.dumps(metadata).decode(),
            _VERSION,
            self.seq,
            _NOW_US,
            _ACTOR,
            _NOW_US,
        )

    def _proposition_row(self, link: Link) -> tuple[Any, ...]:
        subject, predicate, object_, attributes = link
        number, self.next_proposition = self.next_proposition, self.next_proposition + ids.ID_STEP
        self.seq += 1
        return (
            number,
            concept_number(subject),
            PREDICATE_NUMBERS[predicate],
            concept_number(object_),
            _WEIGHT,
            orjson.dumps(attributes).decode(),
            _NO_METADATA,
            _VERSION,
            self.seq,
            _NOW_US,
            _ACTOR,
            _NOW_US,
        )


def load(path: Path, nodes: Iterable[Node], links: Iterable[Link]) -> Iterator[None]:
    """Write everything in one transaction; yields before it begins and after the commit."""
    plain = Plain(path)
    yield
    plain.put(nodes, links)
    yield
    plain.close()


def concept_number(place: int) -> int:
    """The id of the concept at an index in the sequence of nodes."""
    return ids.FIRST_CONCEPT + ids.ID_STEP * place


def ddl() -> str:
    """Mycel's statements that create the two tables and their indexes."""
    with apsw.Connection(":memory:") as scratch:
        scratch.execute(layout.CREATE)
        for table, columns in COLUMNS.items():
            theirs = tuple(row[1] for row in scratch.execute(f"PRAGMA table_info({table})"))
            if theirs != columns:
                raise ValueError(f"Mycel's table {table} has changed to {theirs}: follow it here.")
        rows = scratch.execute(
            "SELECT sql FROM sqlite_schema WHERE tbl_name IN ('concept', 'proposition')"
            " AND type IN ('table', 'index') AND sql IS NOT NULL ORDER BY rowid"
        )
        return ";".join(sql for (sql,) in rows)
