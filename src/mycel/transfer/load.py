"""Loading: from whatever brings rows to one transaction that holds all of them, or none.

    sources -> rows -> chunks -> graph

Nodes are written as they come. Edges are written when both of their ends are there; those that
come before their ends wait in a spool, and with them, in the mode "overwrite", all others, since
what they join may still be removed. When everything has been read, what waits is written; an end
that is missing then is an error. Memory is bounded by the size of a chunk. What an embedder has to
make is made before the transaction begins (`ahead`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice, repeat
from secrets import randbits
from typing import Any, Final, Literal, NamedTuple, NoReturn, TypeAlias, get_args

from mycel.engine.schema_guard import LOADING
from mycel.engine.violation_list import LISTED_MAX, together
from mycel.errors import (
    ConstraintViolation,
    InvalidSyntax,
    InvalidValueType,
    MycelError,
    NotFound,
    did_you_mean,
)
from mycel.model.names import shorten, shown
from mycel.schema.catalog import Catalog
from mycel.search.embedding import Embedder
from mycel.store.database import Store
from mycel.store.query.reader import Reader
from mycel.store.write.transaction import Transaction
from mycel.transfer import error_locations
from mycel.transfer.edge_ends import Ends
from mycel.transfer.error_locations import Spot
from mycel.transfer.formats import Format
from mycel.transfer.load_errors import placed
from mycel.transfer.load_targets import EdgeTarget, NodeTarget, Target, Targets, wire
from mycel.transfer.pre_embed import Ahead, unhurried, wants_vectors
from mycel.transfer.row_spool import UNNAMED, Spool
from mycel.transfer.row_vectors import Vectors
from mycel.transfer.row_writer import Joined, Mode, RowError, Writer, exists
from mycel.transfer.source_rows import EdgeRow, End, NodeRow, Row, end_shown
from mycel.transfer.sources import Source, sources_of
from mycel.transfer.ulid import ulids

CHUNK_ROWS: Final = 4000
WARNINGS_MAX: Final = 20
"""How many warnings of one load are told; guards may have one for every row."""

ReadCatalog: TypeAlias = Callable[[Reader], Catalog]

_MODES: Final[tuple[Mode, ...]] = get_args(Mode)
_NAMES_SHOWN: Final = 3
_OF_ROWS: Final = (ConstraintViolation, InvalidSyntax, InvalidValueType)
"""Errors about a row alone, of which there may be others like it."""


class Progress(NamedTuple):
    """How far a load has come."""

    rows: int
    """How many rows have been read."""
    bytes_read: int | None
    """How many bytes of all files have been read, where they are files."""
    bytes_total: int | None


class LoadedType(NamedTuple):
    """What a load did with the rows of one node or edge."""

    name: str
    kind: Literal["node", "edge"]
    created: int
    updated: int
    unchanged: int
    removed: int

    @property
    def rows(self) -> int:
        return self.created + self.updated + self.unchanged


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a load did."""

    types: tuple[LoadedType, ...]
    """Each node and then each edge that was loaded, in the order in which they came."""
    warnings: tuple[str, ...] = ()

    @property
    def concepts(self) -> int:
        """How many rows of nodes there were."""
        return sum(each.rows for each in self.types if each.kind == "node")

    @property
    def links(self) -> int:
        """How many rows of edges there were."""
        return sum(each.rows for each in self.types if each.kind == "edge")

    @property
    def created(self) -> int:
        """How many elements are new."""
        return sum(each.created for each in self.types)

    @property
    def updated(self) -> int:
        """How many were there and have changed."""
        return sum(each.updated for each in self.types)

    @property
    def unchanged(self) -> int:
        """How many were there just so."""
        return sum(each.unchanged for each in self.types)

    @property
    def removed(self) -> int:
        """How many were removed, because they were not among the rows."""
        return sum(each.removed for each in self.types)

    def to_dict(self) -> dict[str, Any]:
        """The wire form."""
        totals = ("concepts", "links", "created", "updated", "unchanged", "removed")
        return {
            **{name: getattr(self, name) for name in totals},
            "types": [each._asdict() for each in self.types],
            "warnings": list(self.warnings),
        }


def load(
    store: Store,
    source: Any,
    *,
    read_catalog: ReadCatalog,
    actor: str,
    format: Format | None = None,  # noqa: A002 - the word that callers use
    type: str | None = None,  # noqa: A002
    mode: Mode = "append",
    delimiter: str | None = None,
    embedder: Embedder | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Loaded:
    """Load rows as one transaction: all of them, or none.

    Raises:
        MycelError: with file, line, type, property and value in its message and its data, as far
            as they are known. Nothing was written.
    """
    if mode not in _MODES:
        raise InvalidValueType(
            f"{shown(mode)} is no mode.",
            hint=(
                f"{did_you_mean(str(mode), list(_MODES))} The modes are {', '.join(_MODES)}."
            ).strip(),
        )
    sources = sources_of(source, format=format, type_name=type, delimiter=delimiter)
    load_ = _Load(store, read_catalog, actor, mode, Vectors(embedder))
    if embedder is None or not load_.wants_vectors():
        return load_.write(sources, progress)
    with closing(Ahead(sources, load_.vectors, mode)) as ahead:
        load_.embed(ahead, sources, progress)
        return load_.write(ahead.sources, None)


class _Load:
    """One load: perhaps its vectors first, and then its transaction."""

    def __init__(
        self, store: Store, read_catalog: ReadCatalog, actor: str, mode: Mode, vectors: Vectors
    ) -> None:
        self._store: Final = store
        self._read_catalog: Final = read_catalog
        self._actor: Final = actor
        self._mode: Final[Mode] = mode
        self.vectors: Final = vectors

    def wants_vectors(self) -> bool:
        if self._store.location.readonly:
            return False  # Nothing will be written anyway.
        with self._store.reading() as reader:
            return wants_vectors(self._read_catalog(reader))

    def embed(
        self,
        ahead: Ahead,
        sources: Sequence[Source],
        progress: Callable[[Progress], object] | None,
    ) -> None:
        """Read all rows and make their vectors, while others can write."""
        try:
            with unhurried(self._store) as reader:
                catalog = self._read_catalog(reader)
                targets = Targets(reader, catalog, repeat(UNNAMED))
                for rows in ahead.read(reader, targets):
                    if progress is not None:
                        progress(_progress(sources, ahead.at, rows))
        except RowError as bad:
            again = self._again(sources)
            raise again.with_others(again.placed(bad, sources[ahead.at])) from None
        except MycelError as error:
            raise self._again(sources).with_others(error) from None

    def write(
        self, sources: Sequence[Source], progress: Callable[[Progress], object] | None
    ) -> Loaded:
        """Write all rows in one transaction."""
        try:
            with self._store.transaction(actor=self._actor, message=_message(sources)) as tx:
                tx.memo[LOADING] = True
                now_ms = tx.time_us // 1000
                new_ids = ulids(lambda: now_ms, randbits)
                targets = Targets(tx.reader, self._read_catalog(tx.reader), new_ids)
                writer = Writer(tx, self._mode, self.vectors)
                with closing(_Run(tx, targets, sources, writer, self._mode, progress)) as run:
                    run.load()
        except RowError as bad:
            again = self._again(sources)
            raise again.with_others(again.placed(bad, sources[run.at])) from None
        except MycelError as error:
            again = self._again(sources)
            raise again.with_others(again.found(error)) from None
        done = [_loaded(target, count) for target, count in writer.counts.items()]
        done.sort(key=lambda each: each.kind == "edge")
        return Loaded(tuple(done), _told([*self.vectors.warnings(), *tx.warnings]))

    def _again(self, sources: Sequence[Source]) -> _Again:
        return _Again(self._store, self._read_catalog, sources, self._mode)


class _Run:
    """One load, from the first row to the last."""

    def __init__(
        self,
        tx: Transaction,
        targets: Targets,
        sources: Sequence[Source],
        writer: Writer,
        mode: Mode,
        progress: Callable[[Progress], object] | None,
    ) -> None:
        self._ends: Final = Ends(tx)
        self._targets: Final = targets
        self._sources: Final = sources
        self._writer: Final = writer
        self._mode: Final = mode
        self._progress: Final = progress
        self.at = 0
        """Which source is being read, or which one a row that is being written comes from."""
        self._rows = 0
        self._nodes: Final[dict[tuple[NodeTarget, str], NodeRow]] = {}
        self._edges: Final[dict[tuple[EdgeTarget, End, End], EdgeRow]] = {}
        self._spool = Spool()

    def close(self) -> None:
        """Let go of what waits."""
        self._spool.close()

    def load(self) -> None:
        """Read all sources, and write all rows.

        Raises:
            RowError: a row cannot be written; it is of the source `at`.
            MycelError: a row cannot be read.
        """
        is_whole = self._mode == "overwrite"
        for at, source in enumerate(self._sources):
            self.at = at
            self._read(source)
            if is_whole and source.type_name is not None:
                # A table without rows says that there are none.
                self._writer.count(self._targets.named(source.type_name, ()))
        if is_whole:
            self._writer.remove_other_nodes()
        self._write_waiting()
        if is_whole:
            self._writer.remove_other_edges()
        self._tell()

    def _read(self, source: Source) -> None:
        # Closed here, and with it the file, however long an error keeps its traceback.
        with closing(source.rows(self._targets)) as rows:
            for row in rows:
                if self._gather(row):
                    self._write()
        self._write()

    def _gather(self, row: Row) -> bool:
        """Add a row to the chunk. Returns whether that is full."""
        self._rows += 1
        if isinstance(row, NodeRow):
            key = (row.target, row.name)
            if key in self._nodes:
                self._meet_again(row, self._nodes[key])
            self._nodes[key] = row
            return len(self._nodes) >= CHUNK_ROWS
        place = (row.target, row.subject, row.object)
        if place in self._edges:
            self._meet_again(row, self._edges[place])
        self._edges[place] = row
        return len(self._edges) >= CHUNK_ROWS

    def _meet_again(self, row: Row, before: Row) -> None:
        """A row that the chunk has already: the one before it is written first, if it may be."""
        if self._mode != "merge":
            error = exists(row, repeated=True)
            error_locations.name_other(error, Spot(self._sources[self.at], before.line))
            raise RowError(error, row)
        self._write()

    def _write(self) -> None:
        """Write the chunk."""
        if self._nodes:
            self._writer.nodes(list(self._nodes.values()))
            self._nodes.clear()
        if self._edges:
            edges = list(self._edges.values())
            self._edges.clear()
            if self._mode == "overwrite":
                for row in edges:
                    self._wait(row)
            else:
                self._join(edges)
        self._tell()

    def _join(self, rows: Sequence[EdgeRow]) -> None:
        """Write those edges whose ends are there; the others wait."""
        known = self._ends.ids(end for row in rows for end in (row.subject, row.object))
        joined: list[Joined] = []
        for row in rows:
            subject, object_ = known.get(row.subject), known.get(row.object)
            if subject is None or object_ is None:
                self._wait(row)
            else:
                joined.append((row, subject, object_))
        if joined:
            self._writer.edges(joined)

    def _wait(self, row: EdgeRow) -> None:
        try:
            self._spool.add(self.at, row)
        except TypeError as error:
            bad = InvalidValueType(f"It holds what is no JSON value: {error}.")
            raise RowError(bad, row) from None

    def _write_waiting(self) -> None:
        """Write the edges that wait, as long as some of them find their ends.

        One pass is enough unless an edge joins other edges that wait as well.
        """
        while self._spool.count:
            waiting, self._spool = self._spool, Spool()
            with closing(waiting):
                for rows in self._chunks(waiting):
                    self._join(rows)
                    self._tell()
            if self._spool.count == waiting.count:
                self._refuse_missing()

    def _chunks(self, waiting: Spool) -> Iterator[list[EdgeRow]]:
        """Edges that wait, in chunks of one source without repetition."""
        chunk: dict[tuple[EdgeTarget, End, End], EdgeRow] = {}
        for source, row in waiting.edges(self._targets):
            place = (row.target, row.subject, row.object)
            if chunk and (source != self.at or len(chunk) >= CHUNK_ROWS or place in chunk):
                if place in chunk and self._mode != "merge":
                    first = Spot(self._sources[self.at], chunk[place].line)
                    error = exists(row, repeated=True)
                    error_locations.name_other(error, first)
                    self.at = source
                    raise RowError(error, row)
                yield list(chunk.values())
                chunk = {}
            self.at = source
            chunk[place] = row
        if chunk:
            yield list(chunk.values())

    def _refuse_missing(self) -> NoReturn:
        """Complain of the edges that wait in vain, the first of them."""
        found = []
        for at, row in islice(self._spool.edges(self._targets), LISTED_MAX):
            source = self._sources[at]
            found.append(placed(self._missing_end(row), source.name, source.unit, row.line))
        raise together(found, has_more=self._spool.count > LISTED_MAX)

    def _missing_end(self, row: EdgeRow) -> NotFound:
        known = self._ends.ids((row.subject, row.object))
        which, end = ("from", row.subject) if row.subject not in known else ("to", row.object)
        return NotFound(
            f"{row.target.label} leads {which} {end_shown(end)}, which is not there.",
            hint="Load the nodes as well, in this load or before it; check the key.",
            data={"type": row.target.label, "property": which, "value": wire(end[1])},
        )

    def _tell(self) -> None:
        if self._progress is None:
            return
        self._progress(_progress(self._sources, self.at, self._rows))


def _progress(sources: Sequence[Source], at: int, rows: int) -> Progress:
    """How far a load has come that is reading one of its sources."""
    totals = [each.total for each in sources]
    known = [total for total in totals if total is not None]
    total = sum(known) if len(known) == len(totals) else None
    read = None
    if total is not None:
        position = sources[at].position
        read = sum(known[:at]) + (known[at] if position is None else position)
    return Progress(rows, read, total)


class _Again:
    """A second look through the sources, after the transaction has been rolled back."""

    def __init__(
        self, store: Store, read_catalog: ReadCatalog, sources: Sequence[Source], mode: Mode
    ) -> None:
        self._store: Final = store
        self._read_catalog: Final = read_catalog
        self._sources: Final = sources
        self._mode: Final = mode

    def with_others(self, error: MycelError) -> MycelError:
        """An error about one row, with what is wrong with others."""
        is_of_row = error.data.keys() & {"line", "row"} and "violations" not in error.data
        if not is_of_row or not isinstance(error, _OF_ROWS):
            return error
        with self._targets() as targets:
            whole = self._mode != "merge"
            return error_locations.with_others(error, self._sources, targets, whole=whole)

    def placed(self, bad: RowError, source: Source) -> MycelError:
        """The error about a row, with its place."""
        error, row = bad.error, bad.row
        if "max" in error.data:
            # Of rows that are written together, the first edge too many may be an earlier one.
            self.found(error)
        if error.data.pop("repeated", False) and not any(
            key.startswith("other_") for key in error.data
        ):
            with self._targets() as targets:
                error_locations.with_first_line(error, row, self._sources, targets)
        if source.unit in error.data:
            return error
        more = {} if "type" in error.data else {"type": row.target.label}
        return placed(error, source.name, source.unit, row.line, **more)

    def found(self, error: MycelError) -> MycelError:
        """An error that no row was known to cause, with the lines that it is about."""
        if {"file", "line", "row"} & error.data.keys() or "type" not in error.data:
            return error
        with self._targets() as targets:
            return error_locations.with_lines(error, self._sources, targets)

    @contextmanager
    def _targets(self) -> Iterator[Targets]:
        with self._store.reading() as reader:
            yield Targets(reader, self._read_catalog(reader), repeat(""))


def _loaded(target: Target, count: Mapping[str, int]) -> LoadedType:
    kind: Literal["node", "edge"] = "node" if isinstance(target, NodeTarget) else "edge"
    done = (count.get(each, 0) for each in ("created", "updated", "unchanged", "removed"))
    return LoadedType(target.label, kind, *done)


def _message(sources: Sequence[Source]) -> str:
    names = [each.name for each in sources if each.name is not None]
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    said = ", ".join(shorten(name, 200) for name in names[:_NAMES_SHOWN])
    return f"load {said}{more}".strip()


def _told(warnings: list[str]) -> tuple[str, ...]:
    if len(warnings) <= WARNINGS_MAX:
        return tuple(warnings)
    more = len(warnings) - WARNINGS_MAX
    return (*warnings[:WARNINGS_MAX], f"There are {more} more warnings of this kind.")
