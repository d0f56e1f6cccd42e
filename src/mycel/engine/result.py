"""The result of a command: rows for programs, and the wire form.

A cell that is JSON stays text until its value is needed, so a server that only forwards results
never parses it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import orjson

from mycel.model.extras import extra
from mycel.model.limits import INTEGER_MAX
from mycel.syntax.gc_pause import collector_paused

Row = tuple[Any, ...]


class Result:
    """The outcome of one command.

    For FIND, `columns` names the expressions and `rows` holds one tuple for each solution. For all
    other commands there is one column, `result`, with one row. `value` is the field `result` of the
    wire form.
    """

    __slots__ = (
        "_cells",
        "_columns",
        "_is_scalar",
        "_json",
        "_later",
        "_value",
        "_warnings",
        "next_cursor",
    )

    def __init__(
        self,
        columns: tuple[str, ...],
        cells: list[Any],
        json_columns: Sequence[bool],
        next_cursor: str | None = None,
        warnings: tuple[str, ...] = (),
        is_scalar: bool = False,
    ) -> None:
        self._columns: Final = columns
        self._cells: Final = cells
        """A tuple for each row; if there is only one column, the cell itself."""
        self._json: Final = json_columns
        self._is_scalar: Final = is_scalar
        self._value: Any = _UNREAD
        self.next_cursor: Final = next_cursor
        """The cursor of the next page, if there is one; pass it on as CURSOR."""
        self._warnings = warnings
        self._later: tuple[Callable[[Result], tuple[str, ...]], ...] = ()

    @classmethod
    def of(
        cls, value: Any, next_cursor: str | None = None, warnings: tuple[str, ...] = ()
    ) -> Result:
        """The result of any command except FIND."""
        result = cls(_SINGLE, [], (False,), next_cursor, warnings)
        result._value = value
        return result

    @property
    def warnings(self) -> tuple[str, ...]:
        """Notes for the caller that are not errors.

        Advice on an empty answer, and open conflicts, are looked up when the warnings are first
        read.
        """
        if self._later:
            later, self._later = self._later, ()
            for look_up in later:
                self._warnings += look_up(self)
        return self._warnings

    def warn(self, warnings: tuple[str, ...]) -> None:
        """Add warnings."""
        self._warnings += warnings

    def warn_later(self, look_up: Callable[[Result], tuple[str, ...]]) -> None:
        """Add warnings that are looked up only when the warnings are read."""
        self._later += (look_up,)

    @property
    def columns(self) -> tuple[str, ...]:
        """The expressions of FIND, as the command writes them."""
        return self._columns

    @property
    def rows(self) -> list[Row]:
        """One tuple for each solution, in order."""
        if self._columns is _SINGLE:
            return [(self._value,)]
        return list(zip(*self._decoded(), strict=True))

    @property
    def value(self) -> Any:
        """The result in its wire form.

        A list with one column per expression, or the column itself if there is only one. If all
        expressions are aggregates, scalars take the place of columns.
        """
        if self._value is _UNREAD:
            if self._json == _ONE_PLAIN and not self._is_scalar:
                self._value = self._cells.copy()
                return self._value
            columns = self._decoded()
            answer = [column[0] for column in columns] if self._is_scalar else columns
            self._value = answer[0] if len(answer) == 1 else answer
        return self._value

    def to_dict(self) -> dict[str, Any]:
        """The response as a dictionary, as KIP §6.2.1 defines it."""
        return {"result": self.value} | self.to_dict_beside()

    def to_json(self) -> bytes:
        """`to_dict` as JSON text; cells that are JSON already are not parsed."""
        return orjson.dumps({"result": for_json(self)} | self.to_dict_beside())

    def to_dict_beside(self) -> dict[str, Any]:
        """The cursor and the warnings of the response."""
        beside: dict[str, Any] = {}
        if self.next_cursor is not None:
            beside["next_cursor"] = self.next_cursor
        if self.warnings:
            beside["warnings"] = list(self.warnings)
        return beside

    def to_arrow(self) -> Any:
        """A `pyarrow.Table`; needs the extra `mycel[arrow]`. Elements and mixed values are JSON.

        Raises:
            NotFound: pyarrow is not installed.
        """
        pyarrow = extra("pyarrow", "arrow")
        return pyarrow.table(
            [_arrow(pyarrow, column) for column in self._columns_of_rows()],
            names=list(self._columns),
        )

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The stream of Arrow's PyCapsule interface, by which other libraries take the table."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_polars(self) -> Any:
        """A `polars.DataFrame` of `to_arrow`; needs the extra `mycel[polars]`.

        Columns of a DataFrame need different names, so the second `?a` becomes `?a (2)`.

        Raises:
            NotFound: polars or pyarrow is not installed.
        """
        polars = extra("polars", "polars")
        seen: Counter[str] = Counter()
        names = []
        for name in self._columns:
            seen[name] += 1
            names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
        return polars.DataFrame(self.to_arrow().rename_columns(names))

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame`; needs the extra `mycel[pandas]`.

        Raises:
            NotFound: pandas is not installed.
        """
        pandas = extra("pandas", "pandas")
        return pandas.DataFrame(self.rows, columns=list(self._columns))

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return 1 if self._columns is _SINGLE else len(self._cells)

    def __repr__(self) -> str:
        return f"<mycel.Result {len(self)} rows of {', '.join(self._columns)}>"

    def _columns_of_rows(self) -> list[list[Any]]:
        return [list(column) for column in zip(*self.rows, strict=True)] or [
            [] for _ in self._columns
        ]

    def _stored(self) -> list[tuple[list[Any], bool]]:
        if len(self._json) == 1:
            return [(self._cells, self._json[0])]
        return [
            ([row[at] for row in self._cells], is_json) for at, is_json in enumerate(self._json)
        ]

    def _decoded(self) -> list[list[Any]]:
        return [_parsed(column) if is_json else column for column, is_json in self._stored()]


_MANY: Final = 1000
_UNREAD: Final = object()
_ONE_PLAIN: Final = (False,)
_SINGLE: Final = ("result",)
"""The columns of every command except FIND."""


def for_json(result: Result) -> Any:
    """The value of a result for orjson: cells that are JSON already stay JSON text."""
    if result._value is not _UNREAD:
        return result._value
    columns = [
        [None if cell is None else orjson.Fragment(cell) for cell in column] if is_json else column
        for column, is_json in result._stored()
    ]
    answer = [column[0] for column in columns] if result._is_scalar else columns
    return answer[0] if len(answer) == 1 else answer


def _parsed(cells: Sequence[str | None]) -> Any:
    if len(cells) == 1 and cells[0] is not None:
        # A single cell is the usual case: a look-up of one element.
        return [orjson.loads(cells[0])]
    text = _array(cells)
    if len(cells) < _MANY:
        return orjson.loads(text)
    # JSON has no cycles, and a check for cycles would double the time.
    with collector_paused(True):
        return orjson.loads(text)


def _array(cells: Sequence[str | None]) -> str:
    return f"[{','.join(['null' if cell is None else cell for cell in cells])}]"


def _arrow(pyarrow: Any, column: list[Any]) -> Any:
    """A column for Arrow: one kind of scalar keeps its type, anything else becomes JSON text."""
    kinds = {type(value) for value in column if value is not None}
    if kinds == {int} and max(number for number in column if number is not None) > INTEGER_MAX:
        if min(number for number in column if number is not None) >= 0:
            return pyarrow.array(column, pyarrow.uint64())
    elif len(kinds) <= 1 and kinds <= {str, int, float, bool}:
        return pyarrow.array(column)
    if kinds == {int, float}:
        return pyarrow.array([None if value is None else float(value) for value in column])
    texts = [None if value is None else orjson.dumps(value).decode() for value in column]
    return pyarrow.array(texts, pyarrow.string())
