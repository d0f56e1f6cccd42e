"""What a WHERE binds, as numbers: the targets of DELETE, UPDATE, MERGE and EXPORT."""

from __future__ import annotations

from mycel.engine.prepared import Binder
from mycel.engine.values import Values
from mycel.kip import ast
from mycel.plan.bind import bind_targets
from mycel.plan.rewrites import rewrite
from mycel.sql.compiler import compile_numbers
from mycel.store.connections import translated
from mycel.store.reader import Reader
from mycel.store.rows import every
from mycel.store.statistics import StoreStatistics
from mycel.store.vocabulary import Vocabulary


def targets(
    reader: Reader,
    where: ast.Block,
    variables: tuple[str, ...],
    values: Values,
    *,
    limit: int | None = None,
) -> list[tuple[int | None, ...]]:
    """The distinct bindings of these variables, in the order of their numbers.

    Raises:
        TypeMismatch: a type or predicate is not defined.
        UnknownReference: a variable is bound nowhere, or a parameter is missing.
    """
    nodes = [ast.Variable(name) for name in variables]
    # Definitions of the transaction may still be rolled back, so nothing of the plan is kept.
    bound = bind_targets(where, nodes, Vocabulary(reader.connection), values)
    query = rewrite(bound.query, StoreStatistics(reader.connection, {}))
    statement = compile_numbers(query, limited=limit is not None)
    own = {} if limit is None else {"#limit": limit}
    with translated(), reader.watched():
        return every(
            reader.connection, statement.text, Binder(statement.bindings).bind(values, own)
        )
