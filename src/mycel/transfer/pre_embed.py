"""Makes the vectors of rows before their transaction begins.

An embedder may be slow, and while a transaction is open no other process can write. So where one
is given, and the schema wants vectors, the sources are read first, the vectors filled in, and the
rows kept in a file until the transaction takes them from there. Nothing is written to the graph
before, and no snapshot is held open.

A merge keeps the vector of an unchanged text. Unchanged texts are found by the state at this time;
the transaction compares again when it writes, and embeds the few rows for which the state has
changed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from typing import Final

from mycel.errors import MycelError
from mycel.model.values import JsonObject
from mycel.schema.catalog import Catalog
from mycel.store.database import Store
from mycel.store.file.connections import translated
from mycel.store.query.reader import Reader
from mycel.transfer.load_errors import Refused
from mycel.transfer.load_targets import NodeTarget, Targets
from mycel.transfer.row_spool import Spool
from mycel.transfer.row_vectors import Vectors
from mycel.transfer.row_writer import Mode
from mycel.transfer.source_rows import NodeRow, Row, RowError, Source

CHUNK_ROWS: Final = 4000


class SpooledSource(Source):
    """A source whose rows have been read, and wait with their vectors."""

    def __init__(self, source: Source) -> None:
        super().__init__(None, source.type_name)
        self.spool: Final = Spool()
        self.unit = source.unit
        self.name = source.name
        self.total = source.total

    @property
    def position(self) -> int | None:
        return self.total

    def rows(self, targets: Targets, refused: Refused | None = None) -> Generator[Row, None, None]:
        """All rows. They have been read, so none is refused."""
        del refused
        for _, row in self.spool.take(targets):
            yield row


class Ahead:
    """Reads sources and fills in vectors, before anything is written."""

    def __init__(self, sources: Sequence[Source], vectors: Vectors, mode: Mode) -> None:
        self._sources: Final = sources
        self._vectors: Final = vectors
        self._mode: Final = mode
        self.sources: Final = [SpooledSource(each) for each in sources]
        """The sources that the transaction reads."""
        self.at = 0
        """The index of the source that is being read."""

    def close(self) -> None:
        """Throw away what waits."""
        for each in self.sources:
            each.spool.close()

    def read(self, reader: Reader, targets: Targets) -> Iterator[int]:
        """Read all sources. Gives the number of rows after each chunk.

        Raises:
            RowError: a row cannot get its vector; it is of the source `at`.
            MycelError: a row cannot be read.
        """
        count = 0
        for at, source in enumerate(self._sources):
            self.at = at
            with closing(source.rows(targets)) as rows:
                while chunk := list(islice(rows, CHUNK_ROWS)):
                    for row in self._filled(reader, chunk):
                        self.sources[at].spool.add(at, row)
                    count += len(chunk)
                    yield count

    def _filled(self, reader: Reader, rows: Sequence[Row]) -> Iterator[Row]:
        """The rows, in their order, with vectors."""
        waiting = [each for each in rows if isinstance(each, NodeRow) and each.target.embeddings]
        try:
            made = iter(self._vectors.filled(waiting, self._present(reader, waiting)))
        except MycelError as error:
            raise RowError(error, waiting[error.data.pop("at", 0)]) from None
        for each in rows:
            is_one = isinstance(each, NodeRow) and each.target.embeddings
            yield next(made) if is_one else each

    def _present(
        self, reader: Reader, rows: Sequence[NodeRow]
    ) -> Mapping[tuple[NodeTarget, str], JsonObject]:
        """The attributes of existing nodes, for a merge."""
        if self._mode != "merge":
            return {}
        found = {}
        for row in rows:
            number = reader.type_number(row.target.type)
            there = reader.concept_named(number, row.name)
            if there is not None:
                found[row.target, row.name] = there.attributes
        return found


def wants_vectors(catalog: Catalog) -> bool:
    """True if some type has a vector that is made from a text."""
    return any(
        each.embed_source is not None
        for declared in catalog.nodes.values()
        for each in declared.properties
    )


@contextmanager
def unhurried(store: Store) -> Iterator[Reader]:
    """A reader that may be kept for long: it holds no snapshot open between its questions."""
    reader = store.take()
    try:
        with translated():
            yield reader
    finally:
        store.give(reader)
