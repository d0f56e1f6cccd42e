"""The spool: rows that wait, in memory while they are few, in a file beyond that.

A file may have edges before the nodes that they join. Only when all nodes are written is it known
that an end is missing, and neither the edges nor the nodes of a large file fit into memory. Reading
the source a second time is not always possible, and parses all of it for usually a few edges. Where
vectors are made before a load, all of its rows wait for its transaction.

Rows come back exactly as they were, JSON or not, so that waiting does not change their check.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import Final

from mycel.errors import InvalidValueType
from mycel.transfer.load_targets import Targets
from mycel.transfer.source_rows import EdgeRow, NodeRow, Row, RowError

MEMORY_BYTES_MAX: Final = 16 << 20
UNNAMED: Final = "".join(("(", "unnamed", ")"))
"""The name, this very object, of a node that gets one when it is taken."""


class Spool:
    """Rows that wait, each with the index of its source."""

    def __init__(self) -> None:
        # It is closed by `close`: it outlives this function.
        self._file = SpooledTemporaryFile(MEMORY_BYTES_MAX)  # noqa: SIM115
        self.count = 0

    def close(self) -> None:
        """Discard the rows."""
        self._file.close()

    def add(self, source: int, row: Row) -> None:
        """Keep a row; raises RowError if a value is no JSON and cannot be kept."""
        line, target, *rest = row
        is_node = isinstance(row, NodeRow)
        if is_node and rest[0] is UNNAMED:
            rest[0] = None
        kept = (is_node, source, line, target.label, rest)
        try:
            self._file.write(pickle.dumps(kept, pickle.HIGHEST_PROTOCOL))
        except (pickle.PicklingError, AttributeError, RecursionError, TypeError) as error:
            bad = InvalidValueType(f"It has a value that is no JSON: {error}.")
            raise RowError(bad, row) from None
        self.count += 1

    def take(self, targets: Targets) -> Iterator[tuple[int, Row]]:
        """All rows that were added, in order."""
        self._file.seek(0)
        for _ in range(self.count):
            # It is what this process wrote, to a file that has no name.
            is_node, source, line, label, rest = pickle.load(self._file)
            if is_node:
                name, *more = rest
                named = targets.new_id() if name is None else name
                yield source, NodeRow(line, targets.node(label), named, *more)
            else:
                yield source, EdgeRow(line, targets.edge(label), *rest)

    def edges(self, targets: Targets) -> Iterator[tuple[int, EdgeRow]]:
        """All edges that were added, in order."""
        for source, row in self.take(targets):
            if isinstance(row, EdgeRow):
                yield source, row
