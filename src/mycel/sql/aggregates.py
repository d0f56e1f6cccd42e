"""Aggregates, in one step or in two, and the expressions by which rows are grouped."""

from __future__ import annotations

from typing import Final, assert_never

from mycel.ir import query as ir
from mycel.model.aggregates import AggregateName, is_extreme, is_sum
from mycel.sql import portable
from mycel.sql.dialect import Dialect
from mycel.sql.fields import Access

LARGE_COUNT: Final = (1 << 63) - 1


def group_key(dialect: Dialect, access: Access) -> str:
    """The expressions that rows are grouped by."""
    if access.kind == "json":
        return dialect.group_key(access.type, access.value, access.text)
    # PostgreSQL refuses to group and to sort by a constant.
    return "nullif(0, 0)" if access.value == "NULL" else access.value


def compile_aggregate(
    dialect: Dialect, node: ir.Aggregate, access: Access, *, exact: bool = False
) -> str:
    """An aggregate over the rows of a group.

    With `exact`, sums may go beyond 64 bits, where SQLite's own sums would fail, and MIN and MAX
    tell integers from 2^63 on apart; the results are then JSON texts.
    """
    function = _function(dialect, node.function, exact=exact)
    if exact and is_extreme(node.function):
        return f"{function}({_argument_text(dialect, node, access)})"
    distinct = "DISTINCT " if node.distinct else ""
    aggregate = f"{function}({distinct}{_argument(dialect, node, access)})"
    if node.times > 1:
        aggregate = f"{node.times} * {aggregate}"
    if is_extreme(node.function):
        return _certain(dialect, aggregate) if access.kind == "json" else aggregate
    return _finite(dialect, node, aggregate)


def _function(dialect: Dialect, function: AggregateName, *, exact: bool) -> str:
    return (
        dialect.exact_aggregate_function(function)
        if exact
        else dialect.aggregate_function(function)
    )


def _certain(dialect: Dialect, extreme: str) -> str:
    """MIN or MAX; it ends the statement with an error if SQLite may have chosen wrongly."""
    return (
        f"CASE WHEN {dialect.is_float(extreme)} AND {extreme} >= {portable.LARGE}"
        f" THEN {dialect.INEXACT} ELSE {extreme} END"
    )


def _argument_text(dialect: Dialect, node: ir.Aggregate, access: Access) -> str:
    """The values of MIN and MAX as JSON texts."""
    argument = _argument(dialect, node, access)
    if access.kind == "json":
        return f"CASE WHEN {argument} IS NOT NULL THEN {access.text} END"
    return f"CASE WHEN {argument} IS NOT NULL THEN {dialect.quoted(argument)} END"


def _finite(dialect: Dialect, node: ir.Aggregate, text: str) -> str:
    """A sum that is null beyond the range of a float, because JSON has no infinity."""
    return dialect.finite(text) if is_sum(node.function) else text


def _argument(dialect: Dialect, node: ir.Aggregate, access: Access) -> str:
    match node.function:
        case "COUNT":
            if node.distinct:
                return group_key(dialect, access)
            return "*" if access.is_present else access.value
        case "SUM" | "AVG":
            return _values_of_kinds(dialect, access, ("number",), ("integer", "real"))
        case "MIN" | "MAX":
            return _values_of_kinds(
                dialect, access, ("number", "text"), ("integer", "real", "text")
            )
        case _:
            assert_never(node.function)


def _values_of_kinds(
    dialect: Dialect, access: Access, kinds: tuple[str, ...], json_types: tuple[str, ...]
) -> str:
    """The values of some kinds, and NULL for all others; in JSON, those of some types."""
    if access.kind == "json":
        types = ", ".join(f"'{name}'" for name in json_types)
        value = access.value if "text" in kinds else access.number
        return f"CASE WHEN {access.type} IN ({types}) THEN {value} END"
    return access.value if access.kind in kinds else dialect.NOTHING


def in_two_steps(
    dialect: Dialect,
    node: ir.Aggregate,
    access: Access,
    column: str,
    table: str,
    *,
    exact: bool = False,
) -> tuple[list[str], str]:
    """The columns of the first grouping, and the expression of the second grouping over them."""
    match node.function:
        case "AVG":
            argument = _argument(dialect, node, access)
            parts = [f"total({argument}) AS {column}", f"count({argument}) AS {column}n"]
            formula = f"sum({table}.{column}) / nullif(sum({table}.{column}n), 0)"
            return parts, _finite(dialect, node, formula)
        case "COUNT" | "SUM":
            formula = _finite(
                dialect, node, f"{_function(dialect, 'SUM', exact=exact)}({table}.{column})"
            )
        case "MIN" | "MAX":
            formula = f"{_function(dialect, node.function, exact=exact)}({table}.{column})"
        case _:
            assert_never(node.function)
    return [f"{compile_aggregate(dialect, node, access, exact=exact)} AS {column}"], formula


_TWINS: Final = (
    "SELECT c.id FROM (SELECT 1 WHERE (SELECT count(*) FROM concept) >"
    " (SELECT count(DISTINCT name) FROM concept)) any_twin{in_order}concept c"
    " WHERE c.name IN (SELECT name FROM concept GROUP BY name HAVING count(*) > 1)"
)
"""Concepts that share their name with another concept; usually there is none."""


def first_groups(
    dialect: Dialect, groups: str, count: str, rows: str, *, descending: bool, share_names: bool
) -> str:
    """The groups by element that may be among the first `rows` by their column `count`.

    Groups with the same count as the last of them are kept. With `share_names`, elements with the
    same name become one group later: all of these are kept, and the least sufficient count is found
    from the other groups.
    """
    compared, way, any_ = (">=", "DESC", 0) if descending else ("<=", "ASC", LARGE_COUNT)
    tables, alone, twin_test = f"counted AS {portable.KEPT} ({groups})", "", ""
    if share_names:
        tables += f", twin AS {portable.KEPT} ({_TWINS.format(in_order=portable.JOIN_IN_ORDER)})"
        # If the scan finds no shared name, no element has to be tested.
        some = "EXISTS (SELECT 1 FROM twin)"
        alone, twin_test = (
            f" WHERE NOT {some} OR k0 NOT IN (SELECT id FROM twin)",
            (f" OR {some} AND k0 IN (SELECT id FROM twin)"),
        )
    last = f"SELECT {count} FROM counted{alone} ORDER BY 1 {way} LIMIT 1 OFFSET {rows} - 1"
    enough = f"{count} {compared} coalesce(({last}), {any_})"
    return f"WITH {tables} SELECT * FROM counted WHERE {enough}{twin_test}"
