"""One state of the graph with all that can be read of it: elements, edges, walks, and rows.

`StateView` adds rows, as tables and as files, to what `GraphView` reads. `Nexus` shows the live
state, `PastView` one of the past.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from math import inf
from typing import IO, TYPE_CHECKING, Any

from mycel.graph.view import GraphView
from mycel.merkle.proofs import Snapshot
from mycel.model.state import State
from mycel.store.database import Store
from mycel.store.query import history

if TYPE_CHECKING:
    from mycel.transfer.export import Exported
    from mycel.transfer.formats import Format


class StateView(GraphView):
    """One state of the graph, and its rows."""

    @property
    def seq(self) -> int | None:
        """The position of the journal whose state it is; None for the live state."""
        return self.state.seq

    def to_arrow(self, type: str) -> Any:  # noqa: A002 - the word for it
        """All rows of a node or an edge as a `pyarrow.Table`; needs the extra `mycel[arrow]`.

        Raises:
            TypeMismatch: there is no such type.
        """
        from mycel.migration.schema_in_force import read  # noqa: PLC0415 - imported when first needed
        from mycel.transfer.export import to_arrow  # noqa: PLC0415 - as above

        return to_arrow(self._store, type, read_catalog=read, state=self.state)

    def export(
        self,
        target: str | os.PathLike[str] | IO[Any],
        *,
        types: Sequence[str] | None = None,
        format: Format | None = None,  # noqa: A002 - the word for it
    ) -> Exported:
        """Write rows to a file (or an open one) as JSON Lines, or each type as a table.

        Several tables go into a directory, and JSON Lines into the file graph.jsonl of one. `load`
        takes the file or the directory.

        Raises:
            TypeMismatch: there is no such type.
        """
        from mycel.migration.schema_in_force import read  # noqa: PLC0415 - as above
        from mycel.transfer.export import export  # noqa: PLC0415 - as above

        return export(
            self._store,
            target,
            read_catalog=read,
            types=types,
            format=format,
            state=self.state,
        )


class PastView(StateView):
    """The graph as it was in a state of the past."""

    def __init__(self, store: Store, state: State, *, timeout_s: float = inf) -> None:
        super().__init__(store, timeout_s=timeout_s)
        self.state = state

    def snapshot(self) -> Snapshot:
        """All roots of that moment."""
        with self._store.reading() as reader:
            return history.snapshot_of(reader.at(self.state))
