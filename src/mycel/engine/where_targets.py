"""What a WHERE binds, as numbers: the targets of DELETE, UPDATE, MERGE and EXPORT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from mycel.engine.plan_cache import Binder
from mycel.engine.values import Values
from mycel.kip import ast
from mycel.model.elements import Element
from mycel.plan.bind import bind_targets
from mycel.plan.rewrites import rewrite
from mycel.sql.compiler import compile_numbers
from mycel.store.query import statements
from mycel.store.query.reader import Reader
from mycel.store.query.statistics import StoreStatistics
from mycel.store.query.vocabulary import Vocabulary
from mycel.store.write.transaction import Transaction

CHUNK: Final = 256
"""How many elements to change are read together."""


def to_change(tx: Transaction, numbers: Sequence[int]) -> Iterator[Element]:
    """The live elements with these numbers, each as it is when its turn comes to be changed.

    They are read some at a time, with what changing them takes; those that a guard has changed
    along with another one are read anew.
    """
    for start in range(0, len(numbers), CHUNK):
        chunk = numbers[start : start + CHUNK]
        found = tx.reader.elements(chunk)
        tx.foresee(found.values())
        for at, number in enumerate(chunk):
            element, before = found.get(number), tx.position
            if element is not None:
                yield element
            if tx.position > before + 1:  # More than the change of this one.
                found = tx.reader.elements(chunk[at + 1 :])


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
    bound = bind_targets(where, nodes, Vocabulary(reader), values)
    query = rewrite(bound.query, StoreStatistics(reader, {}))
    statement = compile_numbers(query, limited=limit is not None)
    own = {} if limit is None else {"#limit": limit}
    return statements.numbers(reader, statement, Binder(statement.bindings).bind(values, own))
