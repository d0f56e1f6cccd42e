"""Rows for nodes, rows for edges, and the sources of rows."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from mycel.errors import MycelError
from mycel.model.values import JsonObject
from mycel.transfer.load_errors import RowRefusal, Unit, placed
from mycel.transfer.load_targets import EdgeTarget, NodeTarget, Targets
from mycel.transfer.streams import Stream

End: TypeAlias = tuple[str, str] | tuple[str, "End", "End"]
"""An end of an edge: type and name of a concept, or predicate and ends of a link."""

Said = TypeVar("Said")


class NodeRow(NamedTuple):
    """A concept to load."""

    line: int
    target: NodeTarget
    name: str
    attributes: JsonObject
    metadata: JsonObject | None = None

    @property
    def identity(self) -> tuple[NodeTarget, str]:
        return self.target, self.name


class EdgeRow(NamedTuple):
    """An edge to load."""

    line: int
    target: EdgeTarget
    subject: End
    object: End
    attributes: JsonObject
    metadata: JsonObject | None = None
    weight: float | None = None

    @property
    def identity(self) -> tuple[EdgeTarget, End, End]:
        return self.target, self.subject, self.object


SourceRow: TypeAlias = NodeRow | EdgeRow


class RowError(Exception):
    """An error about one row, without its place."""

    def __init__(self, error: MycelError, row: SourceRow) -> None:
        super().__init__()
        self.error: Final = error
        self.row: Final = row


def end_shown(end: End) -> str:
    """An end for a message.

    >>> end_shown(("Person", "ada"))
    "Person 'ada'"
    """
    if len(end) == 2:
        return f"{end[0]} {end[1]!r}"
    return f"the link {end[0]!r} from {end_shown(end[1])} to {end_shown(end[2])}"


class RowSource:
    """A source of rows: a file, a table, or dictionaries."""

    unit: Unit = "row"

    def __init__(
        self, stream: Stream | None, type_name: str | None, *, can_reread: bool = True
    ) -> None:
        self._stream: Final = stream
        self.type_name: Final = type_name
        """The type of all rows, if rows do not name their types."""
        self.name = None if stream is None else stream.name
        self.total = None if stream is None else stream.total
        """The number of bytes; None if unknown."""
        self.can_reread: Final = can_reread if stream is None else stream.can_reread

    @property
    def position(self) -> int | None:
        """The number of bytes that have been read; None if unknown."""
        return None if self._stream is None else self._stream.position

    def rows(
        self, targets: Targets, refused: RowRefusal | None = None
    ) -> Generator[SourceRow, None, None]:
        """All rows, from the first.

        Raises:
            MycelError: a row cannot be read or does not fit; the error has its place. If `refused`
                is given, it is called with the error instead, and reading continues with the next
                row if possible.
        """
        raise NotImplementedError

    def placed(self, error: MycelError, line: int | None, **more: Any) -> MycelError:
        return placed(error, self.name, self.unit, line, **more)

    def _placed_once(self, error: MycelError, line: int) -> MycelError:
        """The error with its place, unless it has one already.

        Before the first line, the place is only the file.
        """
        has_place = self.unit in error.data or "file" in error.data
        return error if has_place else self.placed(error, line or None)

    def _read_numbered(
        self,
        numbered: Iterable[tuple[int, Said]],
        read: Callable[[int, Said], SourceRow | None],
        refused: RowRefusal | None,
    ) -> Generator[SourceRow, None, None]:
        """The rows that `read` makes from numbered lines; None is skipped."""
        for line, value in numbered:
            try:
                row = read(line, value)
            except MycelError as error:
                complaint = self._placed_once(error, line)
                if refused is None:
                    raise complaint from None
                refused(complaint)
            else:
                if row is not None:
                    yield row
