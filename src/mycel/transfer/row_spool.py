"""The spool of waiting edges: in memory while they are few, otherwise in a file.

A file may have edges before the nodes that they join. Only after all nodes are written is it
certain that an end is missing, and neither the edges nor the nodes of a large file fit into memory.
A second reading of the source is not always possible, and would usually parse the whole source for
a few edges.

The spool returns rows unchanged, JSON or not, so that their checks give the same result.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import Final

from mycel.errors import InvalidValueType
from mycel.transfer.load_targets import Targets
from mycel.transfer.source_rows import EdgeRow, RowError

MEMORY_BYTES_MAX: Final = 16 << 20


class Spool:
    """Edges that wait, each with the index of its source."""

    def __init__(self) -> None:
        # `close` closes the file, which outlives this function.
        self._file = SpooledTemporaryFile(MEMORY_BYTES_MAX)  # noqa: SIM115
        self.count = 0

    def close(self) -> None:
        """Discard the rows."""
        self._file.close()

    def add(self, source: int, row: EdgeRow) -> None:
        """Keep a row; raises RowError if a value is not JSON and cannot be stored."""
        line, target, *rest = row
        try:
            self._file.write(
                pickle.dumps((source, line, target.label, rest), pickle.HIGHEST_PROTOCOL)
            )
        except (pickle.PicklingError, AttributeError, RecursionError, TypeError) as error:
            bad = InvalidValueType(f"It has a value that is not JSON: {error}.")
            raise RowError(bad, row) from None
        self.count += 1

    def edges(self, targets: Targets) -> Iterator[tuple[int, EdgeRow]]:
        """All edges that were added, in order."""
        self._file.seek(0)
        for _ in range(self.count):
            # The pickle is safe: this process wrote it, to a file without a name.
            source, line, label, rest = pickle.load(self._file)
            yield source, EdgeRow(line, targets.edge(label), *rest)
