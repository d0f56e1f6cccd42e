"""Responses of KIP, cut to the size of an answer; results of FIND also as rows.

A response is sent twice, as text and as data, so each takes less than half of an answer. If a
response is larger, its last rows are cut off in all columns, and so is its cursor, which would skip
these rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mycel.errors import MycelError
from mycel.kip import ast, parse
from mycel.kip.fragments import expression
from mycel.mcp.results import CLOSING_TOKENS, Answer, estimate, json_text, size_of, smaller
from mycel.model.limits import TOOL_RESULT_TOKENS_MAX
from mycel.model.values import JsonObject

TOKENS_MAX: Final = TOOL_RESULT_TOKENS_MAX * 9 // 20


def answer(
    request: Mapping[str, Any], response: Mapping[str, Any], *, rows: bool = False
) -> Answer:
    """A response as an answer; a warning says if rows were cut off.

    With `rows`, the result of a FIND is an array for each row, and `columns` names them.
    """
    payload = _by_rows(request, dict(response)) if rows else dict(response)
    text = json_text(payload)
    if estimate(text) > TOKENS_MAX:
        payload = _cut(request, payload)
        text = json_text(payload)
    return Answer(text, payload, failed="error" in payload)


def _by_rows(request: Mapping[str, Any], response: JsonObject) -> JsonObject:
    """A response, or the responses of a batch, with rows instead of columns."""
    commands, inner = request.get("commands"), response.get("result")
    if not isinstance(commands, Sequence) or not isinstance(inner, list):
        return _rows(str(request.get("command")), response)
    texts = [
        command.get("command") if isinstance(command, Mapping) else command for command in commands
    ]
    return response | {
        "result": [_rows(str(text), part) for text, part in zip(texts, inner, strict=False)]
    }


def _rows(command: str, response: JsonObject) -> JsonObject:
    find = _find(command)
    if find is None or "result" not in response or "would" in response:
        return response
    columns = [expression(column) for column in find.expressions]
    result = response["result"]
    if all(isinstance(expression, ast.Aggregate) for expression in find.expressions):
        rows = [result] if len(columns) > 1 else [[result]]
    else:
        cells = result if len(columns) > 1 else [result]
        rows = [list(row) for row in zip(*cells, strict=True)]
    return {"columns": columns} | response | {"result": rows}


def _find(command: str) -> ast.Find | None:
    try:
        tree = parse(command)
    except MycelError:
        return None
    return tree if isinstance(tree, ast.Find) else None


def _cut(request: Mapping[str, Any], response: JsonObject) -> JsonObject:
    commands = request.get("commands")
    inner = response.get("result")
    if not isinstance(commands, Sequence) or not isinstance(inner, list):
        return _fewer(str(request.get("command")), response, TOKENS_MAX)
    room = TOKENS_MAX - CLOSING_TOKENS
    parts = []
    for at, (command, part) in enumerate(zip(commands, inner, strict=False)):
        share = room // (len(inner) - at)
        text = command.get("command") if isinstance(command, Mapping) else command
        parts.append(part if size_of(part) <= share else _fewer(str(text), part, share))
        room -= min(size_of(parts[-1]), room)
    message = (
        "The results are too large for one answer: not all of each is shown. Send fewer at once."
    )
    return response | {"result": parts, "warnings": [message]}


def _fewer(command: str, response: JsonObject, room: int) -> JsonObject:
    """A response cut to a number of tokens."""
    if "result" not in response:
        return _briefer(response, room)
    rows = response["result"]
    left = max(room - CLOSING_TOKENS, room // 2)
    is_table = "columns" not in response and _is_table(command, rows)
    part = _fewer_rows(rows, left) if is_table else smaller(rows, left)
    of, count = (rows[0], part[0]) if is_table else (rows, part)
    message = "not all of it is shown"
    if isinstance(of, list) and isinstance(count, list):
        message = f"{len(count)} of {len(of)} rows are shown, or not all of each"
    warning = (
        f"The result is too large for one answer: {message}. Ask for fewer expressions, for single"
        " attributes instead of whole elements, or page with LIMIT and CURSOR."
    )
    others = smaller(list(response.get("warnings", ())), CLOSING_TOKENS // 2)
    columns = {"columns": response["columns"]} if "columns" in response else {}
    return {**columns, "result": part, "warnings": [warning, *others]}


def _briefer(response: JsonObject, room: int) -> JsonObject:
    """An error cut to a number of tokens; its hint is cut last."""
    error = response.get("error")
    if not isinstance(error, dict):
        return smaller(response, room)  # type: ignore[no-any-return]
    fields = {key: member for key, member in error.items() if key != "data"}
    left = room - size_of({"error": fields | {"message": ""}})
    if left > 0:
        return {"error": fields | {"message": smaller(fields["message"], left)}}
    return {"error": smaller({"code": fields["code"], "hint": fields["hint"]}, room)}


def _is_table(command: str, result: Any) -> bool:
    """True if a result is a list of columns, as for a FIND with several expressions."""
    if not isinstance(result, list) or not all(isinstance(row, list) for row in result):
        return False
    find = _find(command)
    return find is not None and len(find.expressions) == len(result) > 1


def _fewer_rows(columns: list[list[Any]], tokens: int) -> list[list[Any]]:
    few, many = 0, len(columns[0])
    while few < many:
        middle = (few + many + 1) // 2
        if size_of([column[:middle] for column in columns]) <= tokens:
            few = middle
        else:
            many = middle - 1
    if few or not columns[0]:
        return [column[:few] for column in columns]
    return [[smaller(column[0], tokens // len(columns))] for column in columns]
