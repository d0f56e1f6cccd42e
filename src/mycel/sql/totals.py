"""Aggregates, in one step or in two, and what rows are grouped by."""

from __future__ import annotations

from typing import Final

from mycel.ir import query as ir
from mycel.sql.fields import Access

_KEY: Final = (
    "CASE {type} WHEN 'text' THEN 's' || {value} WHEN 'true' THEN 't' WHEN 'false' THEN 'f'"
    " WHEN 'array' THEN mycel_json_key({value}) WHEN 'object' THEN mycel_json_key({value})"
    " ELSE {value} END"
)
"""A value that is equal where the JSON values are: numbers as they are, all others marked."""

_FUNCTIONS: Final = {"COUNT": "count", "SUM": "sum", "AVG": "avg", "MIN": "min", "MAX": "max"}


def group_key(access: Access) -> str:
    """What makes two rows one group."""
    if access.kind == "json":
        return _KEY.format(type=access.type, value=access.value)
    return access.value


def total(node: ir.Total, access: Access, *, exact: bool = False) -> str:
    """An aggregate over the rows of a group.

    With `exact`, sums may go beyond 64 bits, where SQLite's own would fail.
    """
    distinct = "DISTINCT " if node.distinct else ""
    function = "mycel_sum" if exact and node.function == "SUM" else _FUNCTIONS[node.function]
    return _finite(node, f"{function}({distinct}{_argument(node, access)})")


def _finite(node: ir.Total, total: str) -> str:
    """JSON has no infinity: a sum beyond what a float holds is null."""
    if node.function in ("SUM", "AVG"):
        return f"nullif(nullif({total}, 9e999), -9e999)"
    return total


def _argument(node: ir.Total, access: Access) -> str:
    if node.function == "COUNT":
        if node.distinct:
            return group_key(access)
        return "*" if access.is_present else access.value
    if node.function in ("SUM", "AVG"):
        match access.kind:
            case "number":
                return access.value
            case "json":
                return f"CASE WHEN {access.type} IN ('integer', 'real') THEN {access.value} END"
            case _:
                return "NULL"
    match access.kind:
        case "number" | "text":
            return access.value
        case "json":
            kinds = "('integer', 'real', 'text')"
            return f"CASE WHEN {access.type} IN {kinds} THEN {access.value} END"
        case _:
            return "NULL"


def in_two_steps(
    node: ir.Total, access: Access, column: str, table: str, *, exact: bool = False
) -> tuple[list[str], str]:
    """The columns of the first grouping, and how the second one makes the whole of them."""
    if node.function == "AVG":
        argument = _argument(node, access)
        parts = [f"total({argument}) AS {column}", f"count({argument}) AS {column}n"]
        return parts, _finite(node, f"sum({table}.{column}) / sum({table}.{column}n)")
    parts = [f"{total(node, access, exact=exact)} AS {column}"]
    if node.function in ("COUNT", "SUM"):
        return parts, _finite(node, f"{'mycel_sum' if exact else 'sum'}({table}.{column})")
    return parts, f"{_FUNCTIONS[node.function]}({table}.{column})"
