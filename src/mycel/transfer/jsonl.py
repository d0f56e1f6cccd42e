"""Lines of JSON, or Python's own dictionaries, to rows.

    {"type": "Person", "data": {"email": "ada@example.org", "name": "Ada"}}
    {"edge": "Knows", "from": "ada@example.org", "to": "bob@example.org", "data": {"since": 1843}}

Beside these, a row may have `metadata` and an `id` (a node also `name`, which means the same); an
edge a `weight`. Where a type is given for all of them, rows are the data alone.

The `id` may stand in the data too, since no type can declare a property of that name. It names a
node without a key, and agrees with the key of others. An edge is named by its ends, so its id is
not kept.

`from` and `to` are keys. Where the type of an end is not clear from the edge, an end is an object:
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
    MycelError,
    SelfEdgeError,
    did_you_mean,
)
from mycel.model.json_text import read_json
from mycel.model.limits import JSON_DEPTH_MAX
from mycel.model.values import JsonObject
from mycel.schema.property_values import BadValue, from_python, shown
from mycel.transfer.load_errors import Refused, Unit, refuse
from mycel.transfer.load_targets import EdgeTarget, NodeTarget, Target, Targets, wire
from mycel.transfer.source_rows import EdgeRow, End, NodeRow, Row, end_shown
from mycel.transfer.streams import LineSource, Stream

_NODE_KEYS: Final = frozenset(("type", "data", "id", "name", "metadata"))
_EDGE_KEYS: Final = frozenset(("edge", "from", "to", "data", "id", "metadata", "weight"))
_ROW_HINT: Final = (
    'A row is {"type": T, "data": {…}} for a node, or'
    ' {"edge": E, "from": key, "to": key, "data": {…}} for an edge.'
)
ATTRIBUTES: Final = "attributes"
"""The column of a flexible type that holds everything."""
END_TYPES: Final = ("src_type", "dst_type")
"""The columns of a predicate without a schema that say what its ends are."""
_EXPORTED: Final = frozenset(("id", "src", "dst", *END_TYPES, "weight", "metadata", ATTRIBUTES))
_ID: Final = frozenset(("id",))
_NAMES: Final = frozenset(("id", "name"))
_ENDS: Final = frozenset(("id", "src", "dst", "from", "to"))
_LOOSE_ENDS: Final = _ENDS | set(END_TYPES)
_PLAIN: Final = frozenset((str, int, float, bool, type(None), dict))


class JsonLines(LineSource):
    """A file with a JSON object on each line."""

    def __init__(self, stream: Stream, type_name: str | None) -> None:
        super().__init__(stream)
        self.type_name: Final = type_name

    def rows(self, targets: Targets, refused: Refused | None = None) -> Generator[Row, None, None]:
        """Every line as a row; empty lines are left out."""
        type_name = self.type_name
        read = tagged if type_name is None else untagged
        # Closed here, and with it the file, however long an error keeps its traceback. What the
        # stream says of itself has its place already.
        with closing(self._stream.lines()) as lines:
            for line, text in lines:
                try:
                    try:
                        said = read_json(text)
                    except JSONDecodeError as error:
                        if not text.strip():
                            continue
                        raise _no_json(error) from None
                    row = read(line, said, targets, type_name)
                except MycelError as error:
                    refuse(error, refused, self.name, "line", line)
                else:
                    yield row


class Mappings:
    """Dictionaries of the same shape that Python made; their values need not be JSON."""

    unit: Unit = "row"
    name = None
    total = None
    position = None

    def __init__(self, source: Iterable[Any], type_name: str | None) -> None:
        self._source: Final = source
        self.type_name: Final = type_name
        self.can_reread: Final = iter(source) is not source

    def rows(self, targets: Targets, refused: Refused | None = None) -> Generator[Row, None, None]:
        """Every dictionary as a row."""
        type_name = self.type_name
        read = tagged if type_name is None else untagged
        for at, said in enumerate(self._source, 1):
            try:
                given = dict(said) if isinstance(said, Mapping) else said
                row = read(at, given, targets, type_name, _as_json)
            except MycelError as error:
                refuse(error, refused, None, "row", at)
            else:
                yield row


def _is_json(_: Target, data: JsonObject) -> JsonObject:
    return data


def tagged(
    line: int,
    said: Any,
    targets: Targets,
    _: str | None = None,
    as_json: Callable[[Target, JsonObject], JsonObject] = _is_json,
) -> Row:
    """A row that says what it is; `as_json` makes its properties JSON before they are looked at.

    Raises:
        MycelError: it is none; without its place.
    """
    if said.__class__ is not dict:
        raise InvalidSyntax(f"{shown(said)} is no row.", hint=_ROW_HINT)
    if "type" in said:
        if not said.keys() <= _NODE_KEYS:
            raise _unknown_key(said, _NODE_KEYS)
        target = targets.node(said["type"])
        given = _one_id(target, said.get("id"), said.get("name"))
        data = as_json(target, _object(said, "data") or {})
        return _node(line, target, given, data, said, targets)
    if "edge" in said:
        if not said.keys() <= _EDGE_KEYS:
            raise _unknown_key(said, _EDGE_KEYS)
        edge = targets.edge(said["edge"])
        ends = _ends(said, edge, targets)
        data = as_json(edge, _object(said, "data") or {})
        return _edge(line, edge, ends, data, said, said.get("id"))
    raise InvalidSyntax('It has neither "type" nor "edge".', hint=_ROW_HINT)


def untagged(
    line: int,
    said: Any,
    targets: Targets,
    type_name: str | None,
    as_json: Callable[[Target, JsonObject], JsonObject] = _is_json,
) -> Row:
    """A row of a source whose rows are all of one type.

    Raises:
        MycelError: it is none; without its place.
    """
    if said.__class__ is not dict:
        raise InvalidSyntax(f"{shown(said)} is no row.", hint="A row is an object: {…}.")
    target = targets.named(type_name or "", said)
    return flat(line, target, as_json(target, said), targets)


def flat(line: int, target: Target, cells: JsonObject, targets: Targets) -> Row:
    """A row whose keys are columns: properties, what identifies it, and what stands beside."""
    beside = {name: cells[column] for column, name in target.beside.items() if column in cells}
    if isinstance(beside.get("metadata"), str):
        beside["metadata"] = _metadata(beside["metadata"])
    given = cells.get("id")
    if isinstance(target, EdgeTarget):
        subject = _column(cells, target, "src", "from")
        object_ = _column(cells, target, "dst", "to")
        named = _ENDS - target.properties.keys()
        if not target.is_typed:
            subject, object_ = _typed(subject, cells, "src"), _typed(object_, cells, "dst")
            named = _LOOSE_ENDS
        ends = (
            end_of(subject, target, target.subject, "src", targets),
            end_of(object_, target, target.object, "dst", targets),
        )
        return _edge(line, target, ends, _data(target, cells, named), beside, given)
    if not target.is_typed and given is None:
        named = _NAMES
        given = cells.get("name")
    else:
        named = _ID
    return _node(line, target, given, _data(target, cells, named), beside, targets)


def _typed(end: object, cells: JsonObject, which: str) -> object:
    """An end with its type, if a column says that; a link about which an edge is, is JSON."""
    type_name = cells.get(f"{which}_type")
    if type_name is not None:
        return {"type": type_name, "name": end}
    return _json_object(end) or end


def _data(target: Target, cells: JsonObject, named: AbstractSet[str]) -> JsonObject:
    """The cells that are properties; `named` are those that identify the row."""
    if not target.is_typed and ATTRIBUTES in cells and cells.keys() <= _EXPORTED:
        opened = _json_object(cells[ATTRIBUTES])
        if opened is not None:  # As `tables` writes a type without a schema.
            return opened
    if named.isdisjoint(cells) and target.beside.keys().isdisjoint(cells):
        return cells
    left_out = named | target.beside.keys()
    return {name: value for name, value in cells.items() if name not in left_out}


def _metadata(cell: str) -> JsonObject:
    made = _json_object(cell)
    if made is None:
        raise InvalidValueType(
            f"The metadata is {shown(cell)}, which is no JSON object.",
            hint='Write it as {"key": "value"}, or leave the cell empty.',
            data={"property": "metadata", "value": wire(cell)},
        )
    return made


def _json_object(cell: object) -> JsonObject | None:
    """The object that a cell holds as text."""
    if isinstance(cell, str):
        with suppress(JSONDecodeError):
            made = read_json(cell)
            return made if isinstance(made, dict) else None
    return None


def _column(cells: JsonObject, target: EdgeTarget, *names: str) -> object:
    columns = [name for name in names if name not in target.properties]
    found = [cells[name] for name in columns if cells.get(name) is not None]
    if len(found) == 1:
        return found[0]
    what = "two" if found else "no"
    raise InvalidSyntax(
        f"It has {what} {' and '.join(names) if found else names[0]!r} of {target.label}.",
        hint="An edge has the keys of its ends in the columns src and dst (or from and to).",
        data={"type": target.label, "property": names[0]},
    )


def _node(
    line: int,
    target: NodeTarget,
    given: object,
    data: JsonObject,
    beside: JsonObject,
    targets: Targets,
) -> NodeRow:
    if "id" in data and target.is_typed:
        data = dict(data)
        given = _one_id(target, given, data.pop("id"))
    if given is None and not target.is_typed:
        raise InvalidValueType(
            f"This {target.label} has no name.",
            hint='Give it one: {"type": …, "name": …, "data": {…}}, or a column "name".',
            data={"type": target.label, "property": "name", "value": None},
        )
    name = target.name_of(data, given)
    metadata = _object(beside, "metadata") if "metadata" in beside else None
    return NodeRow(line, target, targets.new_id() if name is None else name, data, metadata)


def _one_id(target: Target, one: object, other: object) -> object:
    """The id of a row that may say it in two places.

    Raises:
        ConstraintViolation: it says two.
    """
    if one is None or other is None or one == other:
        return other if one is None else one
    raise ConstraintViolation(
        f"This {target.label} has two ids: {shown(one)} and {shown(other)}.",
        hint="Say it once, beside the data or in it.",
        data={"type": target.label, "property": "id", "value": wire(other)},
    )


def _edge(
    line: int,
    target: EdgeTarget,
    ends: tuple[End, End],
    data: JsonObject,
    beside: JsonObject,
    given: object,
) -> EdgeRow:
    if "id" in data and target.is_typed:
        data = dict(data)
        given = _one_id(target, given, data.pop("id"))
    if given is not None:
        target.check_id(given)  # It is not kept: its ends name an edge.
    metadata = _object(beside, "metadata") if "metadata" in beside else None
    weight = beside.get("weight")
    if weight is not None and (isinstance(weight, bool) or not isinstance(weight, (int, float))):
        raise InvalidValueType(
            f"The weight is {shown(weight)}, which is no number.",
            data={"type": target.label, "property": "weight", "value": wire(weight)},
        )
    if ends[0] == ends[1]:
        raise SelfEdgeError(
            f"{target.label} cannot lead from {end_shown(ends[0])} to itself.",
            data={"type": target.label, "property": "to", "value": wire(ends[0][1])},
        )
    return EdgeRow(line, target, *ends, data, metadata, weight)


def _object(said: JsonObject, key: str) -> JsonObject | None:
    value = said.get(key)
    if value is None or value.__class__ is dict:
        return value
    if isinstance(value, Mapping):
        return dict(value)
    raise InvalidValueType(
        f'"{key}" is {shown(value)}, which is no object.', data={"property": key}
    )


def _ends(said: JsonObject, target: EdgeTarget, targets: Targets) -> tuple[End, End]:
    return (
        end_of(said.get("from"), target, target.subject, "from", targets),
        end_of(said.get("to"), target, target.object, "to", targets),
    )


def end_of(
    said: object,
    edge: EdgeTarget,
    target: NodeTarget | None,
    which: str,
    targets: Targets,
    depth: int = 0,
) -> End:
    """What an edge joins, from a key or from an object that says what it is.

    Raises:
        MycelError: it names nothing.
    """
    if target is not None and said is not None and said.__class__ is not dict:
        return target.type, target.name_from_key(said)
    if isinstance(said, Mapping):
        if said.keys() <= {"type", "id", "name"} and "type" in said and len(said) == 2:
            node = targets.node(said["type"])
            return node.type, node.name_from_key(said.get("name", said.get("id")))
        if said.keys() == {"edge", "from", "to"} and depth < JSON_DEPTH_MAX:
            inner = targets.edge(said["edge"])
            return (
                inner.predicate,
                end_of(said["from"], inner, inner.subject, "from", targets, depth + 1),
                end_of(said["to"], inner, inner.object, "to", targets, depth + 1),
            )
    hint = (
        f"Name the {target.label} by its key."
        if target is not None
        else f'{edge.label} may join several types, so say which: {{"type": …, "name": …}}.'
    )
    given = "nothing" if said is None else shown(said)
    raise InvalidValueType(
        f'"{which}" of {edge.label} is {given}, which names no end.',
        hint=hint,
        data={"type": edge.label, "property": which, "value": wire(said)},
    )


def _as_json(target: Target, data: JsonObject) -> JsonObject:
    """Properties as JSON, where they may be Python's: dates, bytes, numbers of numpy."""
    if _PLAIN.issuperset(map(type, data.values())):
        return data
    types, made = target.properties, dict(data)
    for name, value in made.items():
        if type(value) not in _PLAIN and name in types:
            try:
                made[name] = from_python(types[name], value)
            except BadValue as error:
                raise target.bad(name, value, error) from None
    return made


def _unknown_key(said: JsonObject, known: frozenset[str]) -> InvalidSyntax:
    key = next(key for key in said if key not in known)
    close = did_you_mean(str(key), sorted(known))
    return InvalidSyntax(
        f"A row has no {shown(key)}.",
        hint=f'{close} Properties stand in "data". {_ROW_HINT}'.strip(),
        data={"property": wire(key)},
    )


def _no_json(error: JSONDecodeError) -> InvalidSyntax:
    # The line has its line feed with it, and the decoder begins a new line after that.
    column = len(error.doc[: error.pos].rstrip("\r\n")) + 1
    return InvalidSyntax(
        f"It is no JSON: {error.msg} at character {column}.",
        hint="Each line is one whole JSON object.",
        data={"column": column},
    )
