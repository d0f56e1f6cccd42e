"""SQLite's dialect: documents, functions of Mycel, and hints to the query planner.

It implements `Dialect`; the functions that it names are in `store/backend/sqlite`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final, assert_never

from mycel.model.aggregates import AggregateName
from mycel.model.names import is_identifier
from mycel.sql.portable import LARGE

# The planner: it keeps to an order of joins, and leaves a subquery as it is.

APART: Final = " LIMIT -1"
"""The end of a subquery that is not to be merged into the query around it."""

NOTHING: Final = "NULL"
"""A missing number."""

NULLS_FIRST: Final = ""
"""The place of nulls in an order of numbers."""

EXTREMES_ARE_JSON: Final = False
"""True if MIN and MAX always compare JSON texts."""

IS_EXACT: Final = False
"""True if numbers of documents compare exactly, however large."""


def stored(table: str) -> str:
    """A stored table, for use where a common table expression hides its name."""
    return f"main.{table}"


def by_index(name: str) -> str:
    """A hint after a table: read it by this index."""
    return f"INDEXED BY {name}"


# Documents.

WHOLE: Final = "'$'"
"""The path of the document itself."""


def plain_path(keys: Sequence[str]) -> str | None:
    """The path to a value, written out; None if a key is no identifier."""
    return f"'{'.'.join(('$', *keys))}'" if all(map(is_identifier, keys)) else None


def bound_path(keys: Sequence[str]) -> str:
    """The path to a value, as a bound parameter."""
    return ".".join(("$", *map(json.dumps, keys)))


def value_at(document: str, path: str) -> str:
    """A value in a document, as SQLite compares it."""
    return f"json_extract({document}, {path})"


def number_at(document: str, path: str) -> str:
    """A value in a document that is to be a number."""
    return value_at(document, path)


def string_at(document: str, path: str) -> str:
    """A value in a document that is to be a text."""
    return value_at(document, path)


def type_at(document: str, path: str = "") -> str:
    """The name of the JSON type of a value in a document."""
    return f"json_type({document}, {path})" if path else f"json_type({document})"


def text_at(document: str, path: str) -> str:
    """A value in a document, as JSON text."""
    return document if path == WHOLE else f"{document} -> {path}"


def quoted(value: str) -> str:
    """A text or number as JSON text."""
    return f"json_quote({value})"


def is_float(value: str) -> str:
    """The condition that a value is a float, as SQLite stores it."""
    return f"typeof({value}) = 'real'"


def is_no_float(value: str) -> str:
    """The condition that a value is no float."""
    return f"typeof({value}) <> 'real'"


# Lists: rows that are gathered into an array, and opened again.


def in_list(value: str, array: str) -> str:
    """The condition that a value is one of an array that is bound as JSON."""
    return f"{value} IN (SELECT e.value FROM json_each({array}) e)"


in_numbers = in_texts = in_entries = in_list
"""The condition that a number, a text or an entry of the index is in such an array."""


def gathered(columns: Sequence[str], rows: str) -> str:
    """An array of all rows of a query; a row of several columns is an array in turn."""
    packed = columns[0] if len(columns) == 1 else f"json_array({', '.join(columns)})"
    return f"(SELECT json_group_array({packed}) FROM {rows})"


def rows_text(columns: str, rows: str) -> str:
    """A query for all rows of a query together, as JSON text."""
    return f"SELECT json_group_array(json_array({columns})) FROM ({rows})"


def opened(array: str, row: str) -> str:
    """The items of an array, as a table."""
    return f"json_each({array}) {row}"


def item(row: str, place: int | None = None) -> str:
    """An item of an opened array; for nested arrays, the value at a position of the item."""
    return f"{row}.value" if place is None else f"({row}.value ->> {place})"


def has_value(row: str, value: str) -> str:
    """The condition that a row of `json_each` of a document has a text or number as its value."""
    return f"{row}.type NOT IN ('true', 'false') AND {row}.atom = {value}"


def has_word(row: str, word: str) -> str:
    """The condition that a row of `json_each` of a document is true, false or null."""
    return f"{row}.type = '{word}'"


def reach(row: str, *arguments: object) -> str:
    """A table with one row for each level of a search: `elements` is an array of its elements."""
    return f"mycel_reach({', '.join(map(str, arguments))}) {row}"


def reaches(*arguments: object) -> str:
    """The condition that a walk joins two elements; a run of a statement searches each once."""
    return f"mycel_reaches({', '.join(map(str, arguments))})"


# Values.


def ordered(value: str) -> str:
    """A text that sorts by its bytes."""
    return value


def like(text: str, pattern: str) -> str:
    """The condition that a text fits a pattern of LIKE, ignoring the case of ASCII letters."""
    return f"{text} LIKE {pattern}"


def unlike(test: str) -> str:
    """A comparison of an element with a value of a document, which are never equal."""
    return test


def sort_keys(type_: str, value: str, number: str, string: str) -> list[str]:
    """The values to sort by, of values that have the same type."""
    return [value]


def time_text(microseconds: str) -> str:
    """A time in UTC, as results show it."""
    return (
        f"strftime('%Y-%m-%dT%H:%M:%S', {microseconds} / 1000000, 'unixepoch')"
        f" || printf('.%06dZ', {microseconds} % 1000000)"
    )


def digits(number: str) -> str:
    """A number from 2^63 on as a text that sorts as the number does."""
    return f"mycel_digits({number})"


def aggregate_function(function: AggregateName) -> str:
    """The function of an aggregate of KIP."""
    match function:
        case "COUNT":
            return "count"
        case "SUM":
            return "sum"
        case "AVG":
            return "avg"
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
            return "mycel_sum"
        case "MIN":
            return "mycel_min"
        case "MAX":
            return "mycel_max"
        case "COUNT" | "AVG":
            return aggregate_function(function)
        case _:
            assert_never(function)


INEXACT: Final = "mycel_inexact()"
"""A call that ends the statement with an error: it has to be compiled with exact aggregates."""


def finite(number: str) -> str:
    """A sum or average; null if it is beyond what a float holds."""
    return f"nullif(nullif({number}, 9e999), -9e999)"


def group_parts(type_: str, value: str, number: str, string: str) -> tuple[str, str, str, str]:
    """The type, value, number and text of a value that rows are grouped by."""
    return type_, value, number, string


def bare(value: str) -> str:
    """The value of a group, for an expression that is equal in all rows of the group."""
    return value


def entry(value: str) -> str:
    """A bound value in the form of an entry of the index of properties."""
    return value


_GROUP_KEY: Final = (
    "CASE {type} WHEN 'text' THEN 's' || {value} WHEN 'true' THEN 't' WHEN 'false' THEN 'f'"
    " WHEN 'array' THEN mycel_json_key({value}) WHEN 'object' THEN mycel_json_key({value})"
    f" ELSE CASE WHEN {{value}} >= {LARGE} THEN 'n' || mycel_digits({{text}}) ELSE {{value}} END"
    " END"
)


def group_key(type_: str, value: str, text: str) -> str:
    """An expression that is equal for equal JSON values: numbers unchanged, all others marked."""
    return _GROUP_KEY.format(type=type_, value=value, text=text)


TEXT_TESTS: Final = {
    "CONTAINS": "instr({text}, {part}) > 0",
    # As bytes: SQLite counts the characters of a text only up to a NUL.
    "STARTS_WITH": "({part} = '' OR substr({text_bytes}, 1, length({part_bytes})) = {part_bytes})",
    "ENDS_WITH": "({part} = '' OR length({text_bytes}) >= length({part_bytes}) AND"
    " substr({text_bytes}, length({text_bytes}) - length({part_bytes}) + 1) = {part_bytes})",
    "REGEX": "mycel_regex({part}, {text})",
}


def text_test(function: str, text: str, part: str) -> str:
    """The condition that a text contains, begins with, ends with or matches another."""
    return TEXT_TESTS[function].format(
        text=text,
        part=part,
        text_bytes=f"CAST({text} AS BLOB)",
        part_bytes=f"CAST({part} AS BLOB)",
    )
