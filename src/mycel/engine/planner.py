"""Plans of parsed commands: bind, rewrite, compile."""

from __future__ import annotations

from typing import Any, Final

from mycel.engine.plan_cache import Binder, FindPlan
from mycel.engine.values import Values
from mycel.ir import query as ir
from mycel.kip import ast
from mycel.kip.fragments import expression
from mycel.model.state import LIVE, State
from mycel.plan.bind import BoundQuery, bind_find
from mycel.plan.rewrites import rewrite
from mycel.sql.compiler import compile_query
from mycel.store.query.reader import Reader
from mycel.store.query.statistics import StoreStatistics
from mycel.store.query.vocabulary import Vocabulary

GROWTH_MAX: Final = 1.5
SMALL: Final = 1000
"""The growth in journal entries, beyond `GROWTH_MAX`, after which a plan is made again.

For statistics it is half of that.
"""


class FindPlanner:
    """Plans commands; keeps the vocabulary and the statistics from one command to the next."""

    def __init__(self) -> None:
        self._known: tuple[int, Vocabulary] | None = None
        """The count of definitions when the vocabulary was read, and the vocabulary. Both are in
        one tuple, so that threads always see a matching pair."""
        self._counts: dict[tuple[str, int], Any] = {}
        self._counted_at = 0

    def find(
        self,
        reader: Reader,
        find: ast.Find,
        values: Values,
        *,
        exact: bool = False,
        state: State = LIVE,
    ) -> tuple[BoundQuery, FindPlan]:
        definitions = reader.reread()
        if state.is_live:
            vocabulary = self.vocabulary(reader, definitions)
        else:
            vocabulary = Vocabulary(reader.at(state))
        bound = bind_find(find, vocabulary, values)
        query = rewrite(bound.query, self._statistics(reader))
        statement = compile_query(
            query, limited=find.limit is not None, exact=exact, dialect=reader.dialect
        )
        columns = tuple(map(expression, find.expressions))
        plan = FindPlan(
            query,
            columns,
            definitions,
            bound.warnings,
            statement,
            Binder(statement.bindings),
            int(reader.newest * GROWTH_MAX) + SMALL,
            is_scalar=all(isinstance(output, ir.Aggregate) for output in query.outputs),
            is_exact=exact,
            dialect=reader.dialect,
            attribute_columns=_attribute_columns(query),
        )
        return bound, plan

    def vocabulary(self, reader: Reader, definitions: int) -> Vocabulary:
        """The vocabulary; it is read again when definitions have changed."""
        cached = self._known
        if cached is None or cached[0] != definitions:
            cached = self._known = (definitions, Vocabulary(reader).detached())
        return cached[1]

    def _statistics(self, reader: Reader) -> StoreStatistics:
        if reader.newest > self._counted_at * GROWTH_MAX + SMALL // 2:
            self._counts, self._counted_at = {}, reader.newest
        return StoreStatistics(reader, self._counts)


def _attribute_columns(query: ir.Query) -> tuple[int, ...]:
    return tuple(
        at
        for at, output in enumerate(query.outputs)
        if isinstance(output, ir.Field)
        and output.path[:1] in (("attributes",), ("metadata",))
        and output.path[1:]
    )
