"""Lines of JSON, or dictionaries of Python, to rows.

    {"type": "Person", "data": {"email": "ada@example.org", "name": "Ada"}}
    {"edge": "Knows", "from": "ada@example.org", "to": "bob@example.org", "data": {"since": 1843}}

In addition, a row may have `metadata` and an `id` (a node may have `name` instead), and an edge a
`weight`. If the caller gives the type of all rows, a row is only the data.

The `id` may be in the data too, because no type can declare a property of that name. It names a
node without a key; of other nodes, it has to agree with the key. The ends of an edge identify the
edge, so its id is not kept.

`from` and `to` are keys. If the edge does not determine the type of an end, the end is an object:
`{"type": "Person", "name": "Ada"}`, or, for a link about a link, `{"edge": …, "from": …, "to": …}`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import closing, suppress
from json import JSONDecodeError
from typing import Any, Final

from mycel.errors import (
    ConstraintViolation,
    InvalidSyntax,
    InvalidValueType,
    SelfEdgeError,
    did_you_mean,
)
from mycel.model.json_text import read_json
from mycel.model.limits import JSON_DEPTH_MAX
from mycel.model.values import JsonObject
from mycel.schema.property_values import BadValue, format_value, from_python, wire
from mycel.transfer.load_errors import RowRefusal
from mycel.transfer.load_targets import EdgeTarget, NodeTarget, Target, Targets
from mycel.transfer.source_rows import EdgeRow, End, NodeRow, RowSource, SourceRow, end_shown
from mycel.transfer.streams import Stream

_NODE_KEYS: Final = frozenset(("type", "data", "id", "name", "metadata"))
_EDGE_KEYS: Final = frozenset(("edge", "from", "to", "data", "id", "metadata", "weight"))
_ROW_HINT: Final = (
    'A row is {"type": T, "data": {…}} for a node, or'
    ' {"edge": E, "from": key, "to": key, "data": {…}} for an edge.'
)
ATTRIBUTES: Final = "attributes"
"""The column of a flexible type that holds everything."""
END_TYPES: Final = ("src_type", "dst_type")
"""The columns of a predicate without a schema that have the types of its ends."""
_EXPORTED: Final = frozenset(("id", "src", "dst", *END_TYPES, "weight", "metadata", ATTRIBUTES))
_ID: Final = frozenset(("id",))
_NAMES: Final = frozenset(("id", "name"))
_ENDS: Final = frozenset(("id", "src", "dst", "from", "to"))
_LOOSE_ENDS: Final = _ENDS | set(END_TYPES)
_PLAIN: Final = frozenset((str, int, float, bool, type(None), dict))


class JsonLinesSource(RowSource):
    """A file with a JSON object on each line; empty lines are left out."""

    unit = "line"

    def __init__(self, stream: Stream, type_name: str | None) -> None:
        super().__init__(stream, type_name)
        self._lines: Final = stream.lines

    def rows(
        self, targets: Targets, refused: RowRefusal | None = None
    ) -> Generator[SourceRow, None, None]:
        def read(line: int, text: bytes | str) -> SourceRow | None:
            try:
                row = read_json(text)
            except JSONDecodeError as error:
                if not text.strip():
                    return None
                raise _no_json(error) from None
            return row_of(line, row, targets, self.type_name)

        # Closed here, and with it the file, however long an error keeps its traceback.
        with closing(self._lines()) as lines:
            yield from self._read_numbered(lines, read, refused)


class MappingSource(RowSource):
    """Dictionaries of the same shape from Python; their values need not be JSON."""

    def __init__(self, source: Iterable[Any], type_name: str | None) -> None:
        super().__init__(None, type_name, can_reread=iter(source) is not source)
        self._source: Final = source

    def rows(
        self, targets: Targets, refused: RowRefusal | None = None
    ) -> Generator[SourceRow, None, None]:
        def read(line: int, row: Any) -> SourceRow:
            plain_row = dict(row) if isinstance(row, Mapping) else row
            return row_of(line, plain_row, targets, self.type_name, _as_json)

        return self._read_numbered(enumerate(self._source, 1), read, refused)


def _is_json(_: Target, data: JsonObject) -> JsonObject:
    return data


def row_of(
    line: int,
    row: Any,
    targets: Targets,
    type_name: str | None,
    as_json: Callable[[Target, JsonObject], JsonObject] = _is_json,
) -> SourceRow:
    """A row that names its type, or a row of a source with a single type.

    `as_json` converts its properties to JSON. Errors have no place yet.
    """
    if row.__class__ is not dict:
        hint = _ROW_HINT if type_name is None else "A row is an object: {…}."
        raise InvalidSyntax(f"{format_value(row)} is not a row.", hint=hint)
    if type_name is not None:
        target = targets.find_target(type_name, row)
        return flat(line, target, as_json(target, row), targets)
    if "type" in row:
        if not row.keys() <= _NODE_KEYS:
            raise _unknown_key(row, _NODE_KEYS)
        node = targets.node(row["type"])
        row_id = _one_id(node, row.get("id"), row.get("name"))
        data = as_json(node, _object(row, "data") or {})
        return _node(line, node, row_id, data, row, targets)
    if "edge" in row:
        if not row.keys() <= _EDGE_KEYS:
            raise _unknown_key(row, _EDGE_KEYS)
        edge = targets.edge(row["edge"])
        ends = (
            end_of(row.get("from"), edge, edge.subject, "from", targets),
            end_of(row.get("to"), edge, edge.object, "to", targets),
        )
        data = as_json(edge, _object(row, "data") or {})
        return _edge(line, edge, ends, data, row, row.get("id"))
    raise InvalidSyntax('It has neither "type" nor "edge".', hint=_ROW_HINT)


def flat(line: int, target: Target, cells: JsonObject, targets: Targets) -> SourceRow:
    """A row whose keys are columns: properties, the identity, metadata and weight."""
    beside = {name: cells[column] for column, name in target.beside.items() if column in cells}
    if isinstance(beside.get("metadata"), str):
        beside["metadata"] = _metadata(beside["metadata"])
    row_id = cells.get("id")
    if isinstance(target, EdgeTarget):
        subject = _column(cells, target, "src", "from")
        object_ = _column(cells, target, "dst", "to")
        keys = _ENDS - target.properties.keys()
        if not target.is_typed:
            subject, object_ = _typed(subject, cells, "src"), _typed(object_, cells, "dst")
            keys = _LOOSE_ENDS
        ends = (
            end_of(subject, target, target.subject, "src", targets),
            end_of(object_, target, target.object, "dst", targets),
        )
        return _edge(line, target, ends, _data(target, cells, keys), beside, row_id)
    if not target.is_typed and row_id is None:
        keys = _NAMES
        row_id = cells.get("name")
    else:
        keys = _ID
    return _node(line, target, row_id, _data(target, cells, keys), beside, targets)


def _typed(end: object, cells: JsonObject, which: str) -> object:
    """An end with its type, if a column has that; an end that is a link is JSON."""
    type_name = cells.get(f"{which}_type")
    if type_name is not None:
        return {"type": type_name, "name": end}
    return _json_object(end) or end


def _data(target: Target, cells: JsonObject, keys: AbstractSet[str]) -> JsonObject:
    """The cells that are properties, not part of the identity (`keys`)."""
    if not target.is_typed and ATTRIBUTES in cells and cells.keys() <= _EXPORTED:
        opened = _json_object(cells[ATTRIBUTES])
        if opened is not None:  # `tables` writes types without a schema in this form.
            return opened
    if keys.isdisjoint(cells) and target.beside.keys().isdisjoint(cells):
        return cells
    left_out = keys | target.beside.keys()
    return {name: value for name, value in cells.items() if name not in left_out}


def _metadata(cell: str) -> JsonObject:
    metadata = _json_object(cell)
    if metadata is None:
        raise InvalidValueType(
            f"The metadata is {format_value(cell)}, which is no JSON object.",
            hint='Write it as {"key": "value"}, or leave the cell empty.',
            data={"property": "metadata", "value": wire(cell)},
        )
    return metadata


def _json_object(cell: object) -> JsonObject | None:
    """The object in a cell of text."""
    if isinstance(cell, str):
        with suppress(JSONDecodeError):
            value = read_json(cell)
            return value if isinstance(value, dict) else None
    return None


def _column(cells: JsonObject, target: EdgeTarget, *names: str) -> object:
    columns = [name for name in names if name not in target.properties]
    values = [cells[name] for name in columns if cells.get(name) is not None]
    if len(values) == 1:
        return values[0]
    quantity = "two" if values else "no"
    raise InvalidSyntax(
        f"It has {quantity} {' and '.join(names) if values else names[0]!r} of {target.label}.",
        hint="An edge has the keys of its ends in the columns src and dst (or from and to).",
        data={"type": target.label, "property": names[0]},
    )


def _node(
    line: int,
    target: NodeTarget,
    row_id: object,
    data: JsonObject,
    beside: JsonObject,
    targets: Targets,
) -> NodeRow:
    if "id" in data and target.is_typed:
        data = dict(data)
        row_id = _one_id(target, row_id, data.pop("id"))
    if row_id is None and not target.is_typed:
        raise InvalidValueType(
            f"This {target.label} has no name.",
            hint='Give it one: {"type": …, "name": …, "data": {…}}, or a column "name".',
            data={"type": target.label, "property": "name", "value": None},
        )
    name = target.name_of(data, row_id)
    name = targets.new_id() if name is None else name
    return NodeRow(line, target, name, data, _object(beside, "metadata"))


def _one_id(target: Target, one: object, other: object) -> object:
    """The id of a row that may have it in two places."""
    if one is None or other is None or one == other:
        return other if one is None else one
    raise ConstraintViolation(
        f"This {target.label} has two ids: {format_value(one)} and {format_value(other)}.",
        hint="Give it once, beside the data or in the data.",
        data={"type": target.label, "property": "id", "value": wire(other)},
    )


def _edge(
    line: int,
    target: EdgeTarget,
    ends: tuple[End, End],
    data: JsonObject,
    beside: JsonObject,
    row_id: object,
) -> EdgeRow:
    if "id" in data and target.is_typed:
        data = dict(data)
        row_id = _one_id(target, row_id, data.pop("id"))
    if row_id is not None:
        target.check_id(
            row_id
        )  # The id of an edge is not kept, because its ends identify the edge.
    weight = beside.get("weight")
    if weight is not None and (isinstance(weight, bool) or not isinstance(weight, (int, float))):
        raise InvalidValueType(
            f"The weight is {format_value(weight)}, which is not a number.",
            data={"type": target.label, "property": "weight", "value": wire(weight)},
        )
    if ends[0] == ends[1]:
        raise SelfEdgeError(
            f"{target.label} cannot lead from {end_shown(ends[0])} to itself.",
            data={"type": target.label, "property": "to", "value": wire(ends[0][1])},
        )
    return EdgeRow(line, target, *ends, data, _object(beside, "metadata"), weight)


def _object(row: JsonObject, key: str) -> JsonObject | None:
    value = row.get(key)
    if value is None or value.__class__ is dict:
        return value
    if isinstance(value, Mapping):
        return dict(value)
    raise InvalidValueType(
        f'"{key}" is {format_value(value)}, which is no object.', data={"property": key}
    )


def end_of(
    value: object,
    edge: EdgeTarget,
    target: NodeTarget | None,
    which: str,
    targets: Targets,
    depth: int = 0,
) -> End:
    """The end of an edge, from a key or from an object that names its type."""
    if target is not None and value is not None and value.__class__ is not dict:
        return target.type, target.name_from_key(value)
    if isinstance(value, Mapping):
        if value.keys() <= {"type", "id", "name"} and "type" in value and len(value) == 2:
            node = targets.node(value["type"])
            return node.type, node.name_from_key(value.get("name", value.get("id")))
        if value.keys() == {"edge", "from", "to"} and depth < JSON_DEPTH_MAX:
            inner = targets.edge(value["edge"])
            return (
                inner.predicate,
                end_of(value["from"], inner, inner.subject, "from", targets, depth + 1),
                end_of(value["to"], inner, inner.object, "to", targets, depth + 1),
            )
    hint = (
        f"Name the {target.label} by its key."
        if target is not None
        else f'{edge.label} may join several types, so name the type: {{"type": …, "name": …}}.'
    )
    given = "nothing" if value is None else format_value(value)
    raise InvalidValueType(
        f'"{which}" of {edge.label} is {given}, which is not a valid end.',
        hint=hint,
        data={"type": edge.label, "property": which, "value": wire(value)},
    )


def _as_json(target: Target, data: JsonObject) -> JsonObject:
    """Properties converted to JSON from Python values: dates, bytes, numbers of numpy."""
    if _PLAIN.issuperset(map(type, data.values())):
        return data
    types, values = target.properties, dict(data)
    for name, value in values.items():
        if type(value) not in _PLAIN and name in types:
            try:
                values[name] = from_python(types[name], value)
            except BadValue as error:
                raise target.bad(name, value, error) from None
    return values


def _unknown_key(row: JsonObject, row_keys: frozenset[str]) -> InvalidSyntax:
    key = next(key for key in row if key not in row_keys)
    close = did_you_mean(str(key), sorted(row_keys))
    return InvalidSyntax(
        f"A row has no {format_value(key)}.",
        hint=f'{close} Properties go into "data". {_ROW_HINT}'.strip(),
        data={"property": wire(key)},
    )


def _no_json(error: JSONDecodeError) -> InvalidSyntax:
    # The line includes its line feed, after which the decoder counts a new line.
    column = len(error.doc[: error.pos].rstrip("\r\n")) + 1
    return InvalidSyntax(
        f"It is not JSON: {error.msg} at character {column}.",
        hint="Each line is one whole JSON object.",
        data={"column": column},
    )
