"""Runs FIND: finds the plan, binds parameters, runs the statement, and cuts pages.

The plan is found by the command's text and bound to the parameters. After the statement has run, a
count of changes shows whether definitions have changed since the plan was made. If so, the command
is planned again. For an empty answer, warnings name possible reasons in the command.

A cursor has the journal position of the first page and the number of rows so far. Later pages show
the graph at that position, so all pages show the same moment. They read the live tables if nothing
was written since, and otherwise the history.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any, Final, NamedTuple

from mycel.engine.page_cursor import cursor_after, place_of
from mycel.engine.plan_cache import FindPlan, Prepared
from mycel.engine.planner import FindPlanner
from mycel.engine.result import Result
from mycel.engine.values import Values, integral
from mycel.errors import (
    ExecutionTimeout,
    InvalidSyntax,
    InvalidValueType,
    MycelError,
)
from mycel.ir.query import canonical
from mycel.kip import ast
from mycel.kip.formatter import format_command
from mycel.kip.fragments import placeholders
from mycel.model.limits import INTEGER_MAX, RESULT_ROWS_MAX
from mycel.model.state import LIVE, State
from mycel.sql.compiler import Statement
from mycel.store.backend.failures import FAILURES, translate
from mycel.store.database import Store
from mycel.store.query import statements
from mycel.store.query.history import check_kept, entry_at
from mycel.store.query.reader import Reader

_NOTHING: Final[dict[str, int]] = {}


class Finder:
    """Runs FIND commands on one store."""

    def __init__(self, store: Store, planner: FindPlanner) -> None:
        self._store: Final = store
        self._planner: Final = planner
        self._database: str | None = None

    def run(
        self,
        prepared: Prepared,
        find: ast.Find,
        parameters: Mapping[str, Any] | None,
        timeout_s: float,
    ) -> Result:
        """The result of a FIND, or of one page of it."""
        reader = self._store.take()
        try:
            reader.deadline = monotonic() + timeout_s
            values = Values(parameters)
            if find.cursor is not None or find.as_of is not None:
                return self._past(reader, prepared, find, values)
            limit = None if find.limit is None else _limit(find.limit, values)
            own = _NOTHING if limit is None else {"#limit": limit + 1, "#offset": 0}
            while True:
                plan = self.plan(reader, prepared, find, values)
                bindings = plan.binder.bind(values, own)
                seen = reader.version
                try:
                    cells = statements.cells(reader, plan.live, bindings, limit)
                except MycelError as error:
                    if not _is_mended_by_planning(prepared, plan, error) and (
                        isinstance(error, ExecutionTimeout) or reader.refresh() == plan.definitions
                    ):
                        raise
                else:
                    if reader.refresh() == plan.definitions:
                        break
            if limit is not None and len(cells) > limit and reader.version != seen:
                # Another process has written meanwhile, so the journal position of these rows is
                # unknown.
                return self._past(reader, prepared, find, values)
            ask = None
            if not cells or (plan.is_scalar and _counts_nothing(find, cells[0])):
                ask = partial(self._advice, find, parameters, ())
            elif empty := _empty_columns(cells, plan):
                ask = partial(self._advice, find, parameters, empty)
            page = _Page(prepared, find, values, reader.newest)
            return self._page(reader, plan, plan.live, cells, limit, page, ask=ask)
        except FAILURES as error:
            raise translate(error) from error
        finally:
            self._store.give(reader)

    def plan(
        self,
        reader: Reader,
        prepared: Prepared,
        find: ast.Find,
        values: Values,
        state: State = LIVE,
    ) -> FindPlan:
        """The plan for these parameters and a state; made if there is none yet."""
        if prepared.roles is not None:
            plan = prepared.plans.get(prepared.shape(values, state))
            if plan is not None:
                if not state.is_live or plan.fits(reader):
                    return plan
                reader.reread()  # The reader may be out of date instead of the plan.
                if plan.fits(reader):
                    return plan
        bound, plan = self._planner.find(reader, find, values, exact=prepared.is_exact, state=state)
        prepared.roles = bound.roles
        prepared.keep(prepared.shape(values, state), plan)
        return plan

    def _advice(
        self,
        find: ast.Find,
        parameters: Mapping[str, Any] | None,
        empty: tuple[int, ...],
        _result: Result,
    ) -> tuple[str, ...]:
        """Hints on a command that found nothing, or nothing in some columns, on the live graph."""
        from mycel.engine.empty_result_advice import advice  # noqa: PLC0415 - few answers need it

        try:
            with self._store.reading() as reader:
                return advice(reader, find, Values(parameters), empty)
        except MycelError:  # The store may be closed or busy. The answer is valid without advice.
            return ()
        except Exception:
            import logging  # noqa: PLC0415 - as above

            logging.getLogger(__name__).exception("Advice on an empty answer failed.")
            return ()

    def _page(
        self,
        reader: Reader,
        plan: FindPlan,
        statement: Statement,
        cells: list[Any],
        limit: int | None,
        page: _Page,
        *,
        ask: Callable[[Result], tuple[str, ...]] | None = None,
    ) -> Result:
        """A page of rows. If `cells` has a row more than `limit`, there is a next page."""
        cursor = None
        if limit is not None and len(cells) > limit:
            del cells[limit:]
            place = [page.position, page.offset + limit, *statement.ties]
            cursor = cursor_after(self._purpose(reader, page), place)
        columns, kinds = plan.columns, statement.json_columns
        result = Result(columns, cells, kinds, cursor, plan.warnings, plan.is_scalar)
        if ask is not None:
            result.warn_later(ask)
        return result

    # Past states, and later pages.

    def _past(self, reader: Reader, prepared: Prepared, find: ast.Find, values: Values) -> Result:
        with reader.snapshot():
            while True:
                plan, page, newest = self._placed(reader, prepared, find, values)
                limit = None if find.limit is None else _limit(find.limit, values)
                position = page.position
                statement, binder = plan.variant(
                    limited=limit is not None or find.cursor is not None,
                    past=position != newest,
                    ties=page.ties,
                )
                own = {"#moment": position, "#offset": page.offset}
                own["#limit"] = INTEGER_MAX if limit is None else limit + 1
                try:
                    bindings = binder.bind(values, own)
                    cells = statements.cells(reader, statement, bindings, limit)
                except MycelError as error:
                    if not _is_mended_by_planning(prepared, plan, error):
                        raise
                else:
                    return self._page(reader, plan, statement, cells, limit, page)

    def _placed(
        self, reader: Reader, prepared: Prepared, find: ast.Find, values: Values
    ) -> tuple[FindPlan, _Page, int]:
        """The plan, the requested page, and the newest position of the journal."""
        reader.reread()
        newest = reader.newest
        page = _Page(prepared, find, values, newest)
        cursor = None if find.cursor is None else values.cursor(find.cursor)
        if cursor is not None:
            page = self._continued(reader, page, cursor)
        elif find.as_of is not None:
            page = page._replace(
                position=entry_at(reader, moment_value(find.as_of, values, "AS OF"))
            )
            check_kept(reader, State(page.position))
        state = LIVE if page.position == newest else State(page.position)
        return self.plan(reader, prepared, find, values, state), page, newest

    def _continued(self, reader: Reader, page: _Page, cursor: str) -> _Page:
        """The page that a cursor points to."""
        match place_of(cursor, self._purpose(reader, page)):
            case [int() as position, int() as offset, *ties] if (
                0 < position <= reader.newest and offset > 0 and all(type(t) is str for t in ties)
            ):
                check_kept(reader, State(position))
                return page._replace(position=position, offset=offset, ties=tuple(ties))
            case _:
                raise InvalidSyntax(
                    "The cursor does not belong to this database.",
                    hint="Pass next_cursor of the previous page unchanged, or leave CURSOR out.",
                )

    def _purpose(self, reader: Reader, page: _Page) -> str:
        """The text that a cursor is valid for: database, query without its page, and parameters."""
        if self._database is None:
            self._database = reader.identity()
        return f"{self._database}\0{purpose(page.prepared, page.find, page.values)}"

    def check(self, reader: Reader, prepared: Prepared, find: ast.Find, values: Values) -> FindPlan:
        """Plan a FIND without running it; raises the errors that `run` raises before running."""
        plan, *_ = self._placed(reader, prepared, find, values)
        if find.limit is not None:
            _limit(find.limit, values)
        return plan


class _Page(NamedTuple):
    """The requested part of the solutions, and the journal position that it shows."""

    prepared: Prepared
    find: ast.Find
    values: Values
    position: int
    offset: int = 0
    ties: tuple[str, ...] = ()


def _is_mended_by_planning(prepared: Prepared, plan: FindPlan, error: MycelError) -> bool:
    """True if planning again may avoid the error. Also drops a plan that was too slow."""
    if isinstance(error, ExecutionTimeout):
        prepared.forget(plan)  # The plan may have been made for a smaller graph.
    elif isinstance(error, statements.SumOverflowError) and not plan.is_exact:
        prepared.make_exact()
        return True
    return False


def purpose(prepared: Prepared, find: ast.Find, values: Values) -> str:
    """The text of a query and its parameters, without LIMIT and CURSOR."""
    if prepared.bare is None:
        bare = replace(find, limit=None, cursor=None)
        prepared.bare = format_command(bare), tuple(placeholders(bare))
    text, nodes = prepared.bare
    parameters = {node.name: values.value(node) for node in nodes}
    return f"{text}\0{canonical(parameters)}"


def _empty_columns(cells: Sequence[Any], plan: FindPlan) -> tuple[int, ...]:
    """The columns of attributes in which every cell is null; there must be at least one row."""
    first, columns = cells[0], plan.attribute_columns
    if len(plan.columns) == 1:
        return columns if first is None and all(cell is None for cell in cells) else ()
    nulls = [at for at in columns if first[at] is None]
    if len(cells) > 1:
        nulls = [at for at in nulls if all(row[at] is None for row in cells)]
    return tuple(nulls)


def _counts_nothing(find: ast.Find, totals: Any) -> bool:
    """True if the first aggregate of a FIND is a COUNT of 0."""
    expression = find.expressions[0]
    first = totals[0] if len(find.expressions) > 1 else totals
    return isinstance(expression, ast.Aggregate) and expression.function == "COUNT" and first == 0


def _limit(node: ast.Number, values: Values) -> int:
    """The maximum number of rows of a page, which is at most that of a result."""
    return min(values.positive(node, "LIMIT"), RESULT_ROWS_MAX + 1)


def moment_value(node: ast.Literal | ast.Placeholder, values: Values, word: str) -> int | str:
    """The moment that follows a keyword such as AS OF: a journal position or a time."""
    moment = integral(values.value(node))
    if type(moment) is int or isinstance(moment, str):
        return moment
    raise InvalidValueType(
        f"{word} needs a journal position or a time.",
        hint=f'Write {word} 12, or {word} "2026-01-31T12:00:00Z".',
    )
