"""What a WHERE binds, as numbers: the targets of DELETE, UPDATE, MERGE and EXPORT."""

from __future__ import annotations

from mycel.engine.planning import Planner
from mycel.engine.prepared import Binder
from mycel.engine.values import Values
from mycel.kip import ast
from mycel.store.connections import translated
from mycel.store.reader import Reader
from mycel.store.rows import every


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
    statement, _ = Planner().targets(reader, where, nodes, values, limited=limit is not None)
    own = {} if limit is None else {"#limit": limit}
    with translated(), reader.watched():
        return every(
            reader.connection, statement.text, Binder(statement.bindings).bind(values, own)
        )
