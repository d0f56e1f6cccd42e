"""Loading: rows of sources become one transaction that holds all of them, or none.

    sources -> rows -> chunks -> graph

Nodes are written in the order of reading. Edges are written when both of their ends exist; edges
that come before their ends wait in a spool. In the mode "overwrite" all edges wait, because their
ends may still be removed. When everything has been read, the waiting edges are written; an end that
is still missing is an error. Memory is bounded by the size of a chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from secrets import randbits
from typing import Any, Final, Literal, NamedTuple, NoReturn, TypeAlias, get_args

from mycel.engine.schema_guard import LOADING
from mycel.engine.violation_list import LISTED_MAX, together
from mycel.errors import InvalidValueType, MycelError, NotFound, did_you_mean
from mycel.model.names import name_few, quote_value, shorten
from mycel.schema.property_values import wire
from mycel.store.database import Store
from mycel.store.write.transaction import Transaction
from mycel.transfer.edge_ends import EndIds
from mycel.transfer.error_locations import ErrorLocator, Spot, name_other
from mycel.transfer.formats import Format
from mycel.transfer.load_targets import NodeTarget, ReadCatalog, Targets
from mycel.transfer.row_spool import Spool
from mycel.transfer.row_writer import JoinedEdge, Mode, RowWriter, exists
from mycel.transfer.source_rows import EdgeRow, NodeRow, RowError, RowSource, SourceRow, end_shown
from mycel.transfer.sources import sources_of
from mycel.transfer.ulid import ulids

CHUNK_ROWS: Final = 4000
WARNINGS_MAX: Final = 20
"""The maximum number of listed warnings of one load: guards may add a warning for every row."""

_MODES: Final[tuple[Mode, ...]] = get_args(Mode)
_NAMES_SHOWN: Final = 3


class Progress(NamedTuple):
    """The progress of a load."""

    rows: int
    """The number of rows that have been read."""
    bytes_read: int | None
    """The number of bytes that have been read from files."""
    bytes_total: int | None


ReportProgress: TypeAlias = Callable[[Progress], object]


class LoadedType(NamedTuple):
    """The outcome of a load for one node or edge."""

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
    """The outcome of a load."""

    types: tuple[LoadedType, ...]
    """Each node and then each edge that was loaded, in the order of their first rows."""
    warnings: tuple[str, ...] = ()

    @property
    def concepts(self) -> int:
        """The number of rows of nodes."""
        return sum(type_name.rows for type_name in self.types if type_name.kind == "node")

    @property
    def links(self) -> int:
        """The number of rows of edges."""
        return sum(type_name.rows for type_name in self.types if type_name.kind == "edge")

    @property
    def created(self) -> int:
        """The number of new elements."""
        return sum(type_name.created for type_name in self.types)

    @property
    def updated(self) -> int:
        """The number of existing elements that changed."""
        return sum(type_name.updated for type_name in self.types)

    @property
    def unchanged(self) -> int:
        """The number of existing elements that equal their rows."""
        return sum(type_name.unchanged for type_name in self.types)

    @property
    def removed(self) -> int:
        """The number of elements removed because they were not among the rows."""
        return sum(type_name.removed for type_name in self.types)

    def to_dict(self) -> dict[str, Any]:
        """The outcome for JSON."""
        totals = ("concepts", "links", "created", "updated", "unchanged", "removed")
        return {
            **{name: getattr(self, name) for name in totals},
            "types": [type_name._asdict() for type_name in self.types],
            "warnings": list(self.warnings),
        }


def load(
    store: Store,
    source: Any,
    *,
    read_catalog: ReadCatalog,
    actor: str,
    message: str = "",
    format: Format | None = None,  # noqa: A002 - the word that callers use
    type: str | None = None,  # noqa: A002
    mode: Mode = "append",
    delimiter: str | None = None,
    progress: ReportProgress | None = None,
) -> Loaded:
    """Load rows as one transaction: all of them, or none.

    Raises:
        MycelError: its message and its data have the known parts of file, line, type, property and
            value. Nothing was written.
    """
    if mode not in _MODES:
        close = did_you_mean(str(mode), list(_MODES))
        hint = f"{close} The modes are {', '.join(_MODES)}.".strip()
        raise InvalidValueType(f"{quote_value(mode)} is no mode.", hint=hint)
    sources = sources_of(source, format=format, type_name=type, delimiter=delimiter)
    run: _Run | None = None
    try:
        with store.transaction(actor=actor, message=message or _message(sources)) as tx:
            tx.memo[LOADING] = True
            new_ids = ulids(tx.time_us // 1000, randbits)
            targets = Targets(tx.reader, read_catalog(tx.reader), new_ids)
            writer = RowWriter(tx, mode)
            with closing(_Run(tx, targets, sources, writer, mode, progress)) as run:
                run.load()
    except (RowError, MycelError) as error:
        locator = ErrorLocator(store, read_catalog, sources, mode != "merge")
        raise locator.located(error, 0 if run is None else run.at) from None
    loaded_types = [
        LoadedType(
            target.label,
            "node" if isinstance(target, NodeTarget) else "edge",
            *(count[outcome] for outcome in ("created", "updated", "unchanged", "removed")),
        )
        for target, count in writer.counts.items()
    ]
    loaded_types.sort(key=lambda loaded_type: loaded_type.kind == "edge")
    warnings = list(tx.warnings)
    if more := len(warnings) - WARNINGS_MAX if len(warnings) > WARNINGS_MAX else 0:
        warnings[WARNINGS_MAX:] = [f"There are {more} more warnings of this kind."]
    return Loaded(tuple(loaded_types), tuple(warnings))


class _Run:
    """One load, from the first row to the last."""

    def __init__(
        self,
        tx: Transaction,
        targets: Targets,
        sources: Sequence[RowSource],
        writer: RowWriter,
        mode: Mode,
        progress: ReportProgress | None,
    ) -> None:
        self._ends: Final = EndIds(tx)
        self._targets: Final = targets
        self._sources: Final = sources
        self._writer: Final = writer
        self._mode: Final = mode
        self._progress: Final = progress
        self.at = 0
        """The index of the source that is being read, or whose rows are being written."""
        self._rows = 0
        self._nodes: Final[dict[Any, NodeRow]] = {}
        self._edges: Final[dict[Any, EdgeRow]] = {}
        self._spool = Spool()

    def close(self) -> None:
        """Discard the rows that wait."""
        self._spool.close()

    def load(self) -> None:
        """Read all sources, and write all rows."""
        is_whole = self._mode == "overwrite"
        for at, source in enumerate(self._sources):
            self.at = at
            self._read(source)
            if is_whole and source.type_name is not None:
                # A table without rows removes all elements of its type.
                self._writer.count(self._targets.find_target(source.type_name, ()))
        if is_whole:
            self._writer.remove_other_nodes()
        self._write_waiting()
        if is_whole:
            self._writer.remove_other_edges()
        self._tell()

    def _read(self, source: RowSource) -> None:
        # Closed here, and with it the file, however long an error keeps its traceback.
        with closing(source.rows(self._targets)) as rows:
            for row in rows:
                if self._gather(row):
                    self._write()
        self._write()

    def _gather(self, row: SourceRow) -> bool:
        """Add a row to the chunk. Returns True if the chunk is full."""
        self._rows += 1
        chunk: dict[Any, Any] = self._nodes if isinstance(row, NodeRow) else self._edges
        identity = row.identity
        if identity in chunk:
            if self._mode != "merge":
                raise self._repeated(row, chunk[identity])
            self._write()
        chunk[identity] = row
        return len(chunk) >= CHUNK_ROWS

    def _repeated(self, row: SourceRow, before: SourceRow) -> RowError:
        error = exists(row, repeated=True)
        name_other(error, Spot(self._sources[self.at], before.line))
        return RowError(error, row)

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
                    self._spool.add(self.at, row)
            else:
                self._join(edges)
        self._tell()

    def _join(self, rows: Sequence[EdgeRow]) -> None:
        """Write the edges whose ends exist; other edges wait."""
        ids_by_end = self._ends.ids(end for row in rows for end in (row.subject, row.object))
        joined: list[JoinedEdge] = []
        for row in rows:
            subject, object_ = ids_by_end.get(row.subject), ids_by_end.get(row.object)
            if subject is None or object_ is None:
                self._spool.add(self.at, row)
            else:
                joined.append((row, subject, object_))
        if joined:
            self._writer.edges(joined)

    def _write_waiting(self) -> None:
        """Write the waiting edges, in one pass unless edges are ends of other edges."""
        while self._spool.count:
            waiting, self._spool = self._spool, Spool()
            with closing(waiting):
                for rows in self._chunks(waiting):
                    self._join(rows)
                    self._tell()
            if self._spool.count == waiting.count:
                self._refuse_missing()

    def _chunks(self, waiting: Spool) -> Iterator[list[EdgeRow]]:
        """The waiting edges in chunks, each of one source and without repeated edges."""
        chunk: dict[Any, EdgeRow] = {}
        for source, row in waiting.edges(self._targets):
            is_repeated = row.identity in chunk
            if chunk and (source != self.at or len(chunk) >= CHUNK_ROWS or is_repeated):
                if is_repeated and self._mode != "merge":
                    error = self._repeated(row, chunk[row.identity])
                    self.at = source
                    raise error
                yield list(chunk.values())
                chunk = {}
            self.at = source
            chunk[row.identity] = row
        if chunk:
            yield list(chunk.values())

    def _refuse_missing(self) -> NoReturn:
        """Raise an error about the first of the edges whose ends are missing."""
        errors = []
        for at, row in islice(self._spool.edges(self._targets), LISTED_MAX):
            errors.append(self._sources[at].placed(self._missing_end(row), row.line))
        raise together(errors, has_more=self._spool.count > LISTED_MAX)

    def _missing_end(self, row: EdgeRow) -> NotFound:
        ids_by_end = self._ends.ids((row.subject, row.object))
        which, end = ("from", row.subject) if row.subject not in ids_by_end else ("to", row.object)
        return NotFound(
            f"{row.target.label} leads {which} {end_shown(end)}, which does not exist.",
            hint="Load the nodes in this load or before it, and check the key.",
            data={"type": row.target.label, "property": which, "value": wire(end[1])},
        )

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(_progress(self._sources, self.at, self._rows))


def _progress(sources: Sequence[RowSource], at: int, rows: int) -> Progress:
    """The progress of a load that is reading the source `at`."""
    totals = [source.total for source in sources]
    sizes = [total for total in totals if total is not None]
    total = sum(sizes) if len(sizes) == len(totals) else None
    read = None
    if total is not None:
        position = sources[at].position
        read = sum(sizes[:at]) + (sizes[at] if position is None else position)
    return Progress(rows, read, total)


def _message(sources: Sequence[RowSource]) -> str:
    names = [shorten(source.name, 200) for source in sources if source.name is not None]
    return f"load {name_few(names, _NAMES_SHOWN)}".strip()
