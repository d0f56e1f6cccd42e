"""Rows as Arrow, a batch at a time: the columns of the catalog, and `weight` and `metadata`.

A moment is a timestamp in milliseconds, in UTC. In the catalog it is a date64, which readers of
tables would treat as a day without a time.

`weight` and `metadata` (JSON text) are columns if any row has a weight other than 1, or metadata.
Attributes of an `@open` type beyond its properties have no column; `LossCounts` counts the rows
with such attributes. A type without a schema has its attributes in one column, as JSON text. A
predicate without a schema also has the types of its ends in columns: `src_type`, `dst_type`.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from operator import attrgetter
from typing import Any, Final, assert_never

import orjson

from mycel.model.values import JsonObject
from mycel.schema.arrow import pyarrow
from mycel.schema.catalog import Catalog
from mycel.schema.model import ENDS
from mycel.schema.scalars import Scalar
from mycel.transfer.graph_rows import EdgeRecord, GraphRows, Name, NodeRecord
from mycel.transfer.jsonl import ATTRIBUTES, END_TYPES
from mycel.transfer.load_targets import EdgeTarget, NodeTarget, Target

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class LossCounts:
    """The numbers of rows with values that a table cannot hold."""

    def __init__(self) -> None:
        self.attributes = 0
        self.empty = 0
        """Empty text, which CSV alone cannot distinguish from an absent value."""

    def note(self, target: Target, row: NodeRecord | EdgeRecord) -> None:
        if target.is_typed and not target.is_closed:
            self.attributes += not row.attributes.keys() <= target.properties.keys()

    def warnings(self) -> Iterator[str]:
        for count, loss in (
            (self.attributes, "attributes beyond the schema"),
            (self.empty, "an empty text"),
        ):
            if count:
                rows = "1 row has" if count == 1 else f"{count} rows have"
                yield f"{rows} {loss}, which a table cannot carry; JSON Lines can."


def columns(graph_rows: GraphRows, target: Target) -> list[str]:
    """The names of the columns."""
    identity = ["id", *ENDS] if isinstance(target, EdgeTarget) else ["id"]
    content = list(target.properties) if target.is_typed else [ATTRIBUTES]
    if isinstance(target, EdgeTarget) and not target.is_typed:
        identity += END_TYPES
    return [*identity, *content, *graph_rows.columns_beside(target)]


def getter(target: Target, column: str) -> Callable[[Any], Any]:
    """A function from a row to its JSON value in a column."""
    if column in target.properties:
        return lambda row: row.attributes.get(column)
    match target.beside.get(column, column):
        case "id":
            return attrgetter("name" if isinstance(target, NodeTarget) else "id")
        case "src":
            return lambda row: _end_name(row.subject)
        case "dst":
            return lambda row: _end_name(row.object)
        case "src_type":
            return lambda row: _end_type(row.subject)
        case "dst_type":
            return lambda row: _end_type(row.object)
        case "weight":
            return attrgetter("weight")
        case "metadata":
            return lambda row: _json(row.metadata) if row.metadata else None
        case _:
            return lambda row: _json(row.attributes)


def table_schema(graph_rows: GraphRows, catalog: Catalog, target: Target) -> Any:
    """The columns as a `pyarrow.Schema`."""
    pa = pyarrow()
    declared = (
        {field.name: field for field in catalog.arrow(target.label)} if target.is_typed else {}
    )
    fields = []
    for name in columns(graph_rows, target):
        if name in declared:
            fields.append(declared[name].with_type(_with_times(pa, declared[name].type)))
        elif target.beside.get(name) == "weight":
            fields.append(pa.field(name, pa.float32(), nullable=False))
        else:
            may_lack = name in target.beside or name in END_TYPES
            fields.append(pa.field(name, pa.utf8(), nullable=may_lack))
    return pa.schema(fields)


def _with_times(pa: Any, type_: Any) -> Any:
    """A column type of a table for a type of the catalog, with a timestamp in place of date64."""
    if pa.types.is_list(type_) and pa.types.is_date64(type_.value_type):
        return pa.list_(pa.field("item", _moment(pa)))
    return _moment(pa) if pa.types.is_date64(type_) else type_


def _moment(pa: Any) -> Any:
    return pa.timestamp("ms", "UTC")


def batches(graph_rows: GraphRows, schema: Any, target: Target, lost: LossCounts) -> Iterator[Any]:
    """All rows of a target, as record batches of this schema."""
    pa = pyarrow()
    makers = [_maker(target, field.name) for field in schema]
    for rows in graph_rows.rows(target):
        for row in rows:
            lost.note(target, row)
        arrays = [
            _array(pa, field.type, [make(row) for row in rows])
            for field, make in zip(schema, makers, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def table(graph_rows: GraphRows, catalog: Catalog, target: Target) -> Any:
    """All rows of a target as a `pyarrow.Table`."""
    schema = table_schema(graph_rows, catalog, target)
    record_batches = list(batches(graph_rows, schema, target, LossCounts()))
    return pyarrow().Table.from_batches(record_batches, schema=schema)


def _maker(target: Target, column: str) -> Callable[[Any], Any]:
    """A function from a row to its value in a column, in the form that pyarrow takes."""
    get, type_ = getter(target, column), target.properties.get(column)
    one = None if type_ is None else _converter(type_.scalar)
    if one is None or type_ is None:
        return get
    if type_.is_list:
        return lambda row: None if (items := get(row)) is None else list(map(one, items))
    return lambda row: None if (value := get(row)) is None else one(value)


def _end_name(end: Name | JsonObject) -> str:
    """An end in a cell: the name of a concept, or a link as JSON."""
    return end[1] if isinstance(end, tuple) else orjson.dumps(end).decode()


def _end_type(end: Name | JsonObject) -> str | None:
    return end[0] if isinstance(end, tuple) else None


def _json(value: JsonObject) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _milliseconds(text: str) -> int:
    moment = datetime.fromisoformat(text)
    return round((moment - _EPOCH).total_seconds() * 1000)


def _converter(scalar: Scalar) -> Callable[[Any], Any] | None:
    """A function from a stored value to the value that pyarrow takes; None if both are the same."""
    match scalar:
        case "Blob":
            return b64decode
        case "Date":
            return date.fromisoformat
        case "DateTime":
            return _milliseconds
        case "String" | "Bool" | "I32" | "I64" | "U32" | "U64" | "F32" | "F64" | "Vector":
            return None
        case _:
            assert_never(scalar)


def _array(pa: Any, type_: Any, values: list[Any]) -> Any:
    """A column; moments are counted in milliseconds."""
    one = type_.value_type if pa.types.is_list(type_) else type_
    if not pa.types.is_timestamp(one):
        return pa.array(values, type_)
    counted = pa.int64()
    if one is not type_:
        counted = pa.list_(pa.field("item", counted))
    return pa.array(values, counted).view(type_)
