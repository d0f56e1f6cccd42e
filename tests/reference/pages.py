"""LIMIT and CURSOR: a result is computed once, and its pages are handed out one by one.

So every page shows the graph as it was when the first one was asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from mycel.errors import InvalidSyntax
from mycel.kip import ast
from mycel.kip.fragments import placeholders
from tests.reference.json_values import canonical
from tests.reference.parameters import Parameters

Paged = ast.Find | ast.DescribeTypes | ast.Export


class _Rest(NamedTuple):
    """The rows that come after a page, and the query that they are an answer to."""

    purpose: Any
    rows: list[Any]


class Pages:
    """Remembers the rest of every result that was not read to its end."""

    def __init__(self) -> None:
        self._rests: dict[str, _Rest] = {}

    def page(
        self, query: Paged, values: Parameters, compute: Callable[[], list[Any]]
    ) -> tuple[list[Any], str | None]:
        """The rows that the query asks for now, and a cursor if there are more."""
        limit = None if query.limit is None else values.positive(query.limit)
        purpose = _purpose(query, values)
        if query.cursor is None or values.value(query.cursor) in (None, ""):
            rows = compute()
        else:
            rest = self._rests.get(values.text(query.cursor))
            if rest is None or rest.purpose != purpose:
                raise InvalidSyntax(
                    "The cursor does not belong to this query.",
                    hint="Send next_cursor of the last page with the same query, or start again.",
                )
            rows = rest.rows
        if limit is None or len(rows) <= limit:
            return rows, None
        cursor = f"page-{len(self._rests) + 1}"
        self._rests[cursor] = _Rest(purpose, rows[limit:])
        return rows[:limit], cursor


def _purpose(query: Paged, values: Parameters) -> Any:
    """The part of a command that is the same for every page: all but LIMIT and CURSOR."""
    whole = replace(query, limit=None, cursor=None)
    names = sorted({each.name for each in placeholders(whole)})
    return whole, [canonical(values.given.get(name)) for name in names]
