"""Targets of DELETE, UPDATE, MERGE and EXPORT: the numbers that WHERE binds a variable to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import monotonic
from typing import Final

from mycel.engine.plan_cache import Binder
from mycel.engine.references import missing_target
from mycel.engine.values import Values
from mycel.kip import ast
from mycel.model import allowance
from mycel.model.elements import Element
from mycel.model.limits import INTEGER_MAX
from mycel.plan.bind import bind_targets
from mycel.plan.rewrites import rewrite
from mycel.sql.compiler import compile_numbers
from mycel.store.query import statements
from mycel.store.query.reader import Reader
from mycel.store.query.statistics import StoreStatistics
from mycel.store.query.vocabulary import Vocabulary
from mycel.store.write.transaction import Transaction

CHUNK: Final = 256
"""The number of elements to change that are read together."""


def to_change(tx: Transaction, numbers: Sequence[int]) -> Iterator[Element]:
    """The live elements with these numbers, each as it is when its turn comes to be changed.

    They are read in chunks; the rest of a chunk is read again when a guard has changed more than
    the element that was given out.
    """
    begun = monotonic()
    for start in range(0, len(numbers), CHUNK):
        if start:
            allowance.check_pace(monotonic() - begun, start / len(numbers))
        chunk = numbers[start : start + CHUNK]
        found = tx.reader.elements(chunk)
        tx.foresee(found.values())
        for at, number in enumerate(chunk):
            element, before = found.get(number), tx.position
            if element is not None:
                allowance.check()
                yield element
            if tx.position > before + 1:
                found = tx.reader.elements(chunk[at + 1 :])


def paced(numbers: Sequence[int]) -> Iterator[int]:
    """Numbers of elements to delete, as long as all of them can be deleted in time."""
    begun = monotonic()
    for at, number in enumerate(numbers):
        if at and at % CHUNK == 0:
            allowance.check_pace(monotonic() - begun, at / len(numbers))
        yield number


def named_targets(
    tx: Transaction,
    node: ast.DeleteKeys | ast.DeletePropositions | ast.DeleteConcept | ast.Update,
    values: Values,
    *,
    limit: int | None = None,
) -> list[int]:
    """The targets of a statement; raises NotFound if WHERE names one that does not exist."""
    numbers = targets(tx.reader, node.where, node.target.name, values, limit=limit)
    if not numbers and (error := missing_target(tx.reader, node.where, node.target.name, values)):
        raise error
    return numbers


def targets(
    reader: Reader, where: ast.Block, variable: str, values: Values, *, limit: int | None = None
) -> list[int]:
    """The numbers of the distinct elements that a variable is bound to, in order."""
    # Definitions of the transaction may still be rolled back, so nothing of the plan is kept.
    bound = bind_targets(where, [ast.Variable(variable)], Vocabulary(reader), values)
    query = rewrite(bound.query, StoreStatistics(reader, {}))
    statement = compile_numbers(query, limited=limit is not None)
    # An OPTIONAL may leave the variable null, and null comes first.
    own = {} if limit is None else {"#limit": min(limit, INTEGER_MAX - 1) + 1}
    rows = statements.numbers(reader, statement, Binder(statement.bindings).bind(values, own))
    return [number for (number,) in rows if number is not None][:limit]
