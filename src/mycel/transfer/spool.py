"""Edges whose ends are not known yet: kept in memory while they are few, in a file beyond that.

A file may name edges before the nodes that they join. All nodes have to be written before one can
say that an end is missing, and neither the edges nor the nodes of a large file fit into memory.
Reading the source a second time would do as well, but not every source can be read twice, and the
whole of it would have to be parsed again for what are usually a few edges.
"""

from __future__ import annotations

from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import Final

import orjson

from mycel.transfer.rows import EdgeRow, end_from_json
from mycel.transfer.targets import Targets

MEMORY_BYTES_MAX: Final = 16 << 20


class Spool:
    """Edges that wait, each with the number of the source that it comes from."""

    def __init__(self) -> None:
        # It is closed by `close`: it outlives this function.
        self._file = SpooledTemporaryFile(MEMORY_BYTES_MAX)  # noqa: SIM115
        self.count = 0

    def close(self) -> None:
        """Throw away what is left."""
        self._file.close()

    def add(self, source: int, row: EdgeRow) -> None:
        """Keep an edge. What it says is JSON, or else a `TypeError`."""
        line, target, *rest = row
        self._file.write(orjson.dumps((source, line, target.label, *rest)) + b"\n")
        self.count += 1

    def take(self, targets: Targets) -> Iterator[tuple[int, EdgeRow]]:
        """All that were added, in order."""
        self._file.seek(0)
        for text in self._file:
            source, line, label, subject, object_, *rest = orjson.loads(text)
            ends = end_from_json(subject), end_from_json(object_)
            yield source, EdgeRow(line, targets.edge(label), *ends, *rest)
