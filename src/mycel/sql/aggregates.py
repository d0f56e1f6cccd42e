"""Aggregates, in one step or in two, and what rows are grouped by."""

from __future__ import annotations

from typing import Final

from mycel.ir import query as ir
from mycel.sql import sqlite
from mycel.sql.fields import Access
from mycel.sql.sqlite import LARGE

_KEY: Final = (
    "CASE {type} WHEN 'text' THEN 's' || {value} WHEN 'true' THEN 't' WHEN 'false' THEN 'f'"
    f" WHEN 'array' THEN {sqlite.json_key('{value}')}"
    f" WHEN 'object' THEN {sqlite.json_key('{value}')}"
    f" ELSE CASE WHEN {{value}} >= {LARGE} THEN 'n' || {sqlite.digits('{text}')} ELSE {{value}} END"
    " END"
)
"""A value that is equal where the JSON values are: numbers as they are, all others marked."""

LARGE_COUNT: Final = (1 << 63) - 1
EXTREMES: Final = ("MIN", "MAX")
_FUNCTIONS: Final = {"COUNT": "count", "SUM": "sum", "AVG": "avg", "MIN": "min", "MAX": "max"}


def group_key(access: Access) -> str:
    """The expressions that rows are grouped by."""
    if access.kind == "json":
        return _KEY.format(type=access.type, value=access.value, text=access.text)
    return access.value


def total(node: ir.Aggregate, access: Access, *, exact: bool = False) -> str:
    """An aggregate over the rows of a group.

    With `exact`, sums may go beyond 64 bits, where SQLite's own would fail, and MIN and MAX tell
    integers from 2^63 on apart; these are then JSON texts.
    """
    if exact and node.function in EXTREMES:
        return f"{sqlite.EXACT_TOTALS[node.function]}({_argument_text(node, access)})"
    distinct = "DISTINCT " if node.distinct else ""
    function = (
        sqlite.EXACT_TOTALS["SUM"]
        if exact and node.function == "SUM"
        else _FUNCTIONS[node.function]
    )
    made = f"{function}({distinct}{_argument(node, access)})"
    if node.times > 1:
        made = f"{node.times} * {made}"
    if node.function in EXTREMES:
        return _certain(made) if access.kind == "json" else made
    return _finite(node, made)


def _certain(extreme: str) -> str:
    """The least or greatest value, if SQLite can know which it is."""
    return (
        f"CASE WHEN {sqlite.is_float(extreme)} AND {extreme} >= {LARGE}"
        f" THEN {sqlite.INEXACT} ELSE {extreme} END"
    )


def _argument_text(node: ir.Aggregate, access: Access) -> str:
    """The values of MIN and MAX as JSON texts."""
    argument = _argument(node, access)
    if access.kind == "json":
        return f"CASE WHEN {argument} IS NOT NULL THEN {access.text} END"
    return f"CASE WHEN {argument} IS NOT NULL THEN {sqlite.quoted(argument)} END"


def _finite(node: ir.Aggregate, total: str) -> str:
    """JSON has no infinity: a sum beyond what a float holds is null."""
    if node.function in ("SUM", "AVG"):
        return f"nullif(nullif({total}, 9e999), -9e999)"
    return total


def _argument(node: ir.Aggregate, access: Access) -> str:
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
    node: ir.Aggregate, access: Access, column: str, table: str, *, exact: bool = False
) -> tuple[list[str], str]:
    """The columns of the first grouping, and how the second one makes the whole of them."""
    if node.function == "AVG":
        argument = _argument(node, access)
        parts = [f"total({argument}) AS {column}", f"count({argument}) AS {column}n"]
        return parts, _finite(node, f"sum({table}.{column}) / sum({table}.{column}n)")
    parts = [f"{total(node, access, exact=exact)} AS {column}"]
    if node.function in ("COUNT", "SUM"):
        return parts, _finite(
            node, f"{sqlite.EXACT_TOTALS['SUM'] if exact else 'sum'}({table}.{column})"
        )
    functions = sqlite.EXACT_TOTALS if exact else _FUNCTIONS
    return parts, f"{functions[node.function]}({table}.{column})"


_TWINS: Final = (
    "SELECT c.id FROM (SELECT 1 WHERE (SELECT count(*) FROM concept) >"
    f" (SELECT count(DISTINCT name) FROM concept)){sqlite.JOIN_IN_ORDER}concept c"
    " WHERE c.name IN (SELECT name FROM concept GROUP BY name HAVING count(*) > 1)"
)
"""Concepts that share their name with another. Usually there are none, which one scan shows."""


def first_groups(groups: str, count: str, rows: str, *, descending: bool, share_names: bool) -> str:
    """Those of the groups by element that may be among the first `rows` by their column `count`.

    All with the same count as the last of them are kept. With `share_names`, elements with the same
    name are one group in the end; they are kept too, and which count is enough is found from the
    others, which are groups of their own.
    """
    compared, way, any_ = (">=", "DESC", 0) if descending else ("<=", "ASC", LARGE_COUNT)
    tables, alone, kept = f"counted AS {sqlite.KEPT} ({groups})", "", ""
    if share_names:
        tables += f", twin AS {sqlite.KEPT} ({_TWINS})"
        some = "EXISTS (SELECT 1 FROM twin)"  # To ask this first spares a look for each element.
        alone, kept = f" WHERE NOT {some} OR k0 NOT IN twin", f" OR {some} AND k0 IN twin"
    last = f"SELECT {count} FROM counted{alone} ORDER BY 1 {way} LIMIT 1 OFFSET {rows} - 1"
    enough = f"{count} {compared} ifnull(({last}), {any_})"
    return f"WITH {tables} SELECT * FROM counted WHERE {enough}{kept}"
