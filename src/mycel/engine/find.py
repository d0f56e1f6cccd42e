"""Runs FIND: plan look-up, bind, step, and pages that all show the same moment.

The hot path is short: the plan is found by the command's text, the statement is prepared already,
and one cheap look tells whether definitions have changed since it was planned.

A cursor names the journal position of the first page and how far the pages have come. Later pages
ask about that position: from the live tables if nothing was written since, otherwise from history.
"""

from __future__ import annotations

from itertools import islice
from time import monotonic
from typing import Any, Final, NamedTuple

import apsw

from mycel.engine.paging import cursor_after, place_of
from mycel.engine.planning import Planner
from mycel.engine.prepared import FindPlan, Prepared
from mycel.engine.result import Result
from mycel.engine.values import Values
from mycel.errors import InternalError, InvalidSyntax, InvalidValueType, ResourceExhausted
from mycel.kip import ast
from mycel.kip.facts import placeholders
from mycel.kip.formatter import format_command
from mycel.model.limits import RESULT_BYTES_MAX, RESULT_ROWS_MAX
from mycel.plan.bind import canonical
from mycel.sql.compiler import Statement
from mycel.store.chronicle import seq_at
from mycel.store.connections import translate
from mycel.store.database import Store
from mycel.store.reader import Reader

_NOTHING: Final[dict[str, int]] = {}
CHUNK: Final = 1000
"""So many rows are fetched in one go."""


class Finder:
    """Runs FIND commands on one store."""

    def __init__(self, store: Store, planner: Planner) -> None:
        self._store: Final = store
        self._planner: Final = planner

    def run(self, prepared: Prepared, find: ast.Find, values: Values, timeout_s: float) -> Result:
        """The result of a FIND, or of one page of it.

        Raises:
            TypeMismatch, UnknownReference, InvalidSyntax, InvalidValueType: it means nothing here.
            ExecutionTimeout: it took too long.
            ResourceExhausted: the result is too large.
        """
        reader = self._store.take()
        try:
            reader.deadline = monotonic() + timeout_s
            page = self._present if find.cursor is None and find.as_of is None else self._past
            try:
                return page(reader, prepared, find, values)
            except apsw.SQLError as error:
                if "integer overflow" not in str(error):
                    raise
                prepared.make_exact()
                return page(reader, prepared, find, values)
        except apsw.Error as error:
            raise translate(error) from error
        finally:
            self._store.give(reader)

    def plan(self, reader: Reader, prepared: Prepared, find: ast.Find, values: Values) -> FindPlan:
        """The plan for these parameters, made if there is none."""
        if prepared.roles is not None:
            plan = prepared.plans.get(prepared.shape(values))
            if (
                plan is not None
                and plan.definitions == reader.definitions
                and reader.newest < plan.outgrown_at
            ):
                return plan
        bound, plan = self._planner.find(reader, find, values, exact=prepared.is_exact)
        prepared.roles = bound.roles
        prepared.keep(prepared.shape(values), plan)
        return plan

    # The present.

    def _present(
        self, reader: Reader, prepared: Prepared, find: ast.Find, values: Values
    ) -> Result:
        limit = None if find.limit is None else values.positive(find.limit, "LIMIT")
        own = _NOTHING if limit is None else {"#limit": limit + 1, "#offset": 0}
        while True:
            plan = self.plan(reader, prepared, find, values)
            rows = _rows(reader, plan.live.text, plan.binder.bind(values, own), limit)
            if reader.refresh() == plan.definitions:
                page = None if limit is None else _Page(prepared, find, values)
                return self._result(plan, plan.live, rows, limit, page)

    def _result(
        self,
        plan: FindPlan,
        statement: Statement,
        rows: list[Any],
        limit: int | None,
        page: _Page | None,
    ) -> Result:
        cursor = None
        if limit is not None and page is not None and len(rows) > limit:
            del rows[limit:]
            position = rows[0][-1] if page.position is None else page.position
            place = [position, page.offset + limit, *statement.ties]
            cursor = cursor_after(purpose(page.prepared, page.find, page.values), place)
        return Result(
            plan.columns, rows, statement.json_columns, cursor, plan.warnings, plan.is_scalar
        )

    # The past, and later pages.

    def _past(self, reader: Reader, prepared: Prepared, find: ast.Find, values: Values) -> Result:
        connection = reader.connection
        connection.execute("BEGIN")
        try:
            plan, page, newest = self._placed(reader, prepared, find, values)
            limit = None if find.limit is None else values.positive(find.limit, "LIMIT")
            position = newest if page.position is None else page.position
            statement, binder = plan.variant(
                limited=limit is not None or find.cursor is not None,
                past=position != newest,
                ties=page.ties,
            )
            own = {"#moment": position, "#offset": page.offset}
            own["#limit"] = -1 if limit is None else limit + 1
            rows = _rows(reader, statement.text, binder.bind(values, own), limit)
            return self._result(plan, statement, rows, limit, page)
        finally:
            connection.execute("COMMIT")

    def _placed(
        self, reader: Reader, prepared: Prepared, find: ast.Find, values: Values
    ) -> tuple[FindPlan, _Page, int]:
        """The plan, the page that is asked for, and the newest position of the journal."""
        reader.reread()
        plan = self.plan(reader, prepared, find, values)
        newest = reader.position()
        if find.cursor is not None:
            return plan, _continued(prepared, find, values, newest), newest
        if find.as_of is not None:
            moment = seq_at(reader.connection, _moment(find, values))
            return plan, _Page(prepared, find, values, moment), newest
        return plan, _Page(prepared, find, values), newest

    def check(self, reader: Reader, prepared: Prepared, find: ast.Find, values: Values) -> None:
        """Refuse what `run` would refuse before it runs."""
        self._placed(reader, prepared, find, values)
        if find.limit is not None:
            values.positive(find.limit, "LIMIT")


class _Page(NamedTuple):
    """Which part of the solutions is asked for; the position is None for the present."""

    prepared: Prepared
    find: ast.Find
    values: Values
    position: int | None = None
    offset: int = 0
    ties: tuple[str, ...] = ()


def _continued(prepared: Prepared, find: ast.Find, values: Values, newest: int) -> _Page:
    """The page that a cursor leads to."""
    if find.cursor is None:
        raise InternalError("A page is continued without a cursor.")
    cursor = values.text(find.cursor, "CURSOR")
    position, offset, *ties = place_of(cursor, purpose(prepared, find, values))
    if position > newest:
        raise InvalidSyntax(
            "The cursor belongs to another database.", hint="Leave CURSOR out to begin again."
        )
    return _Page(prepared, find, values, position, offset, tuple(ties))


def purpose(prepared: Prepared, find: ast.Find, values: Values) -> str:
    """What a cursor belongs to: the query without its page, with its parameters."""
    if prepared.bare is None:
        bare = ast.Find(find.expressions, find.where, find.order_by, as_of=find.as_of)
        prepared.bare = format_command(bare), tuple(placeholders(bare))
    text, nodes = prepared.bare
    given = {node.name: values.value(node) for node in nodes}
    return f"{text}\0{canonical(given)}"


def _moment(find: ast.Find, values: Values) -> int | str:
    if find.as_of is None:
        raise InternalError("A moment is asked for without AS OF.")
    moment = values.value(find.as_of)
    if type(moment) is int or isinstance(moment, str):
        return moment
    raise InvalidValueType(
        "AS OF needs a journal position or a time.",
        hint='Write AS OF 12, or AS OF "2026-01-31T12:00:00Z".',
    )


def _rows(
    reader: Reader, text: str, bindings: tuple[Any, ...], limit: int | None
) -> list[tuple[Any, ...]]:
    cursor = reader.connection.execute(text, bindings)
    if limit is not None and limit <= CHUNK:
        return cursor.fetchall()
    rows: list[tuple[Any, ...]] = []
    rows_max = RESULT_ROWS_MAX + (limit is not None)  # One more tells that there is a next page.
    size = 0
    while chunk := list(islice(cursor, CHUNK)):
        rows += chunk
        size += sum([len(cell) for row in chunk for cell in row if cell.__class__ is str])
        if size > RESULT_BYTES_MAX or len(rows) > rows_max:
            cursor.close()
            raise ResourceExhausted(
                f"The result has more than {RESULT_ROWS_MAX} rows or {RESULT_BYTES_MAX} bytes.",
                hint="Page through it with LIMIT and CURSOR, or ask for less of each element.",
            )
    return rows
