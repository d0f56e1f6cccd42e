"""One state of the graph with all that can be read of it: elements, edges, walks, and rows.

`State` adds rows, as tables and as files, to what `GraphView` reads. `Nexus` is the state of the
present, `PastView` one of the past.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from math import inf
from typing import IO, TYPE_CHECKING, Any

from mycel.graph.view import GraphView
from mycel.merkle.proofs import Snapshot
from mycel.store.database import Store
from mycel.store.file.connections import translated
from mycel.store.query import history
from mycel.store.query.reader import PastReader, Reader

if TYPE_CHECKING:
    from mycel.transfer.export import Exported
    from mycel.transfer.formats import Format


class State(GraphView):
    """One state of the graph, and its rows."""

    seq: int | None = None
    """The position of the journal whose state it is; None for the present."""

    def to_arrow(self, type: str) -> Any:  # noqa: A002 - the word for it
        """All rows of a node or an edge as a `pyarrow.Table`; needs the extra `mycel[arrow]`.

        Raises:
            TypeMismatch: there is no such type.
        """
        from mycel.migration.schema_in_force import read  # noqa: PLC0415 - imported when first needed
        from mycel.transfer.export import to_arrow  # noqa: PLC0415 - as above

        catalog = partial(read, moment=self.seq)
        return to_arrow(self._store, type, read_catalog=catalog, moment=self.seq)

    def export(
        self,
        target: str | os.PathLike[str] | IO[Any],
        *,
        types: Sequence[str] | None = None,
        format: Format | None = None,  # noqa: A002 - the word for it
    ) -> Exported:
        """Write rows to a file (or an open one) as JSON Lines, or each type as a table.

        Several tables go into a directory. What is written can be loaded again.

        Raises:
            TypeMismatch: there is no such type.
        """
        from mycel.migration.schema_in_force import read  # noqa: PLC0415 - as above
        from mycel.transfer.export import export  # noqa: PLC0415 - as above

        return export(
            self._store,
            target,
            read_catalog=partial(read, moment=self.seq),
            types=types,
            format=format,
            moment=self.seq,
        )


class PastView(State):
    """The graph as it was right after the transaction that ended with `seq`."""

    def __init__(self, store: Store, seq: int, *, timeout_s: float = inf) -> None:
        super().__init__(store, timeout_s=timeout_s)
        self.seq: int = seq

    def snapshot(self) -> Snapshot:
        """All roots of that moment."""
        with self._store.reading() as reader:
            return history.snapshot_at(reader, self.seq)

    def _take(self) -> Reader:
        live = self._store.take()
        past = PastReader(live.connection, live.registry, self.seq)
        past.watch()
        try:
            with translated():
                history.check_kept(past, self.seq)
        except BaseException:
            self._give(past)
            raise
        return past

    def _give(self, reader: Reader) -> None:
        live = Reader(reader.connection, reader.registry)
        live.watch()
        self._store.give(live)
