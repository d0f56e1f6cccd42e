"""PostgreSQL's dialect: documents, functions of Mycel, and hints to the query planner.

It implements `Dialect`; the functions that it names are in `store/backend/postgres/library`.
Documents are text in one canonical form, and read as `json`, which keeps numbers and the order of
keys as they are. A number in a document is `numeric`, so integers beyond 64 bits are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

from mycel.model.aggregates import AggregateName
from mycel.model.names import is_identifier

# The planner: `join_collapse_limit = 1` keeps it to an order of joins.

APART: Final = " OFFSET 0"
NOTHING: Final = "NULL::bigint"
NULLS_FIRST: Final = " NULLS FIRST"
EXTREMES_ARE_JSON: Final = True
IS_EXACT: Final = True


def stored(table: str) -> str:
    """A view of a table, for use where a common table expression hides the name of the table."""
    return f"stored_{table}"


def by_index(name: str) -> str:
    """An empty hint: the planner chooses the index from the condition."""
    return ""


# Documents.

WHOLE: Final = "'{}'"


def plain_path(keys: Sequence[str]) -> str | None:
    """The path to a value, written out; None if a key is no identifier."""
    return f"'{{{','.join(keys)}}}'" if all(map(is_identifier, keys)) else None


def bound_path(keys: Sequence[str]) -> str:
    """The path to a value, as a bound parameter."""
    quoted = (key.replace("\\", "\\\\").replace('"', '\\"') for key in keys)
    return "{" + ",".join(f'"{key}"' for key in quoted) + "}"


def _part(document: str, path: str) -> str:
    """A part of a document, as `json`. Keys of objects only, never places in lists."""
    if path == WHOLE:
        return f"({document})::json"
    return f"(({document})::json #> ({path})::text[])"


def value_at(document: str, path: str) -> str:
    """A value in a document, as `jsonb`; NULL for null."""
    return f"mycel_value({_part(document, path)})"


def number_at(document: str, path: str) -> str:
    """A number in a document; NULL for any other value."""
    return f"mycel_number({_part(document, path)})"


def string_at(document: str, path: str) -> str:
    """A text in a document; NULL for any other value."""
    return f'mycel_string({_part(document, path)}) COLLATE "C"'


def type_at(document: str, path: str = "") -> str:
    """The name of the JSON type of a value in a document, as SQLite names it."""
    return f"mycel_type({_part(document, path or WHOLE)})"


def text_at(document: str, path: str) -> str:
    """A value in a document, as JSON text."""
    return document if path == WHOLE else f"{_part(document, path)}::text"


def quoted(value: str) -> str:
    """A text or number as JSON text."""
    return f"mycel_quoted({value})"


def is_float(value: str) -> str:
    """A condition that is always false: numbers in documents of PostgreSQL are exact decimals."""
    return "FALSE"


def is_no_float(value: str) -> str:
    """A condition that is always true: numbers in documents of PostgreSQL are exact decimals."""
    return "TRUE"


# Lists.


def in_list(value: str, array: str) -> str:
    """The condition that a value is one of a list of numbers that a function returns."""
    return f"{value} = ANY({array})"


def in_numbers(value: str, array: str) -> str:
    """The condition that a number is one of a list that is bound as JSON."""
    return f"{value} IN (SELECT e.value::text::numeric FROM json_each(({array})::text) e)"


def in_texts(value: str, array: str) -> str:
    """The condition that a text is one of a list that is bound as JSON."""
    return f"{value} IN (SELECT e.value #>> '{{}}' FROM json_each(({array})::text) e)"


def in_entries(value: str, array: str) -> str:
    """The condition that an entry of the property index is that of a value in a JSON list."""
    entry_of = (
        "CASE e.type WHEN 'number' THEN mycel_entry(e.value::text::numeric)"
        " WHEN 'boolean' THEN mycel_entry(CASE WHEN e.value = 'true' THEN 1::bigint ELSE 0 END)"
        " ELSE mycel_entry(e.value #>> '{}') END"
    )
    return f"{value} IN (SELECT {entry_of} FROM json_each(({array})::text) e)"


def gathered(columns: Sequence[str], rows: str) -> str:
    """An array of all rows of a query; a row of several columns is an array in turn."""
    packed = columns[0] if len(columns) == 1 else f"jsonb_build_array({', '.join(columns)})"
    return f"(SELECT array_agg({packed}) FROM {rows})"


def rows_text(columns: str, rows: str) -> str:
    """A query for all rows of a query together, as JSON text."""
    return f"SELECT coalesce(json_agg(json_build_array({columns}))::text, '[]') FROM ({rows}) q"


def opened(array: str, row: str) -> str:
    """The items of an array, as a table."""
    return f"unnest({array}) {row}(value)"


def item(row: str, place: int | None = None) -> str:
    """An item of an opened array; for nested arrays, the value at a position of the item."""
    return f"{row}.value" if place is None else f"(({row}.value ->> {place})::bigint)"


def has_value(row: str, value: str) -> str:
    """The condition that a row of `json_each` of a document has a text or number as its value."""
    return f"{row}.value = to_jsonb({value})"


def has_word(row: str, word: str) -> str:
    """The condition that a row of `json_each` of a document is true, false or null."""
    return f"{row}.value = '{word}'::jsonb"


def reach(row: str, *arguments: object) -> str:
    """A table with one row: `elements` is an array of the elements that a search found."""
    return f"LATERAL (SELECT mycel_reached({', '.join(map(str, arguments))}) AS elements) {row}"


def reaches(*arguments: object) -> str:
    """The condition that a walk joins two elements."""
    _, start, end, *rest = arguments
    return f"{end} = ANY(mycel_reached({', '.join(map(str, (start, *rest)))}))"


# Values.


def ordered(value: str) -> str:
    """A text that sorts by its bytes."""
    return f'({value}) COLLATE "C"'


def like(text: str, pattern: str) -> str:
    """The condition that a text fits a pattern of LIKE, ignoring the case of ASCII letters."""
    return f'({text}) COLLATE "C" ILIKE {pattern}'


def unlike(test: str) -> str:
    """A comparison of an element with a value of a document, which are never equal."""
    return "FALSE"


def sort_keys(type_: str, value: str, number: str, string: str) -> list[str]:
    """The values to sort by, of values that have the same type."""
    return [number, string, f"CASE WHEN {type_} IN ('array', 'object') THEN ({value})::text END"]


def time_text(microseconds: str) -> str:
    """A time in UTC, as results show it."""
    return f"mycel_time({microseconds})"


def digits(number: str) -> str:
    """A number from 2^63 on; here it is a number like all others."""
    return f"({number})::numeric"


def aggregate_function(function: AggregateName) -> str:
    """The function of an aggregate of KIP."""
    match function:
        case "COUNT":
            return "count"
        case "SUM":
            return "sum"
        case "AVG":
            return "mycel_avg"
        case "MIN":
            return "min"
        case "MAX":
            return "max"
        case _:
            assert_never(function)


def exact_aggregate_function(function: AggregateName) -> str:
    """The function of an aggregate that knows integers beyond 64 bits."""
    match function:
        case "SUM":
            return "sum"
        case "MIN":
            return "mycel_min"
        case "MAX":
            return "mycel_max"
        case "COUNT" | "AVG":
            return aggregate_function(function)
        case _:
            assert_never(function)


INEXACT: Final = "NULL"


def finite(number: str) -> str:
    """A sum or average; null if it is beyond what a float holds."""
    return f"mycel_finite({number})"


def group_parts(type_: str, value: str, number: str, string: str) -> tuple[str, str, str, str]:
    """The type, value, number and text of a grouped value, all computed from the value alone.

    The document is thus parsed once for each group, not for each of its rows.
    """
    return (
        f"mycel_type({value})",
        value,
        f"mycel_number({value})",
        f'mycel_string({value}) COLLATE "C"',
    )


def bare(value: str) -> str:
    """The value of a group, for an expression that is equal in all rows of the group."""
    if value == "NULL":  # It has no type, by which the server could choose the aggregate.
        value = "NULL::text"
    return f"(array_agg({value}))[1]" if value else ""


def entry(value: str) -> str:
    """A bound value in the form of an entry of the index of properties."""
    return f"mycel_entry({value})"


def group_key(type_: str, value: str, text: str) -> str:
    """An expression that is equal for equal JSON values."""
    return value


_TEXT_TESTS: Final = {
    "CONTAINS": "strpos({text}, {part}) > 0",
    "STARTS_WITH": "starts_with({text}, {part})",
    "ENDS_WITH": "right({text}, length({part})) = {part}",
    "REGEX": "mycel_matches({part}, {text})",
}


def text_test(function: str, text: str, part: str) -> str:
    """The condition that a text contains, begins with, ends with or matches another."""
    return _TEXT_TESTS[function].format(text=text, part=part)
