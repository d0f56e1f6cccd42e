"""The targets of a statement: the numbers of the elements that WHERE binds a variable to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import monotonic
from typing import Final, TypeAlias

from mycel.engine.plan_cache import Binder
from mycel.engine.references import missing_target
from mycel.engine.values import Values
from mycel.errors import DuplicateExists, NotFound
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

Targeting: TypeAlias = (
    ast.DeleteKeys
    | ast.DeletePropositions
    | ast.DeleteConcept
    | ast.Update
    | ast.Archive
    | ast.Restore
    | ast.TakeStance
    | ast.SetRetention
)
"""The statements that change every element which a variable is bound to."""

SHOWN: Final = 3
"""The number of elements that an error names."""

CHUNK: Final = 256
"""The number of elements to change that are read together."""


def to_change(tx: Transaction, numbers: Sequence[int]) -> Iterator[Element]:
    """The live elements with these numbers, each in the state just before its change.

    Elements are read in chunks. If a guard has changed other elements than the yielded one, the
    rest of the chunk is read again.
    """
    begun = monotonic()
    for start in range(0, len(numbers), CHUNK):
        if start:
            allowance.check_pace(monotonic() - begun, start / len(numbers))
        chunk = numbers[start : start + CHUNK]
        elements = tx.reader.elements(chunk)
        tx.foresee(elements.values())
        for at, number in enumerate(chunk):
            element, before = elements.get(number), tx.position
            if element is not None:
                allowance.check()
                yield element
            if tx.position > before + 1:
                elements = tx.reader.elements(chunk[at + 1 :])


def paced(numbers: Sequence[int]) -> Iterator[int]:
    """Yield the numbers to delete.

    Raises an error early if the deletions would exceed the deadline.
    """
    begun = monotonic()
    for at, number in enumerate(numbers):
        if at and at % CHUNK == 0:
            allowance.check_pace(monotonic() - begun, at / len(numbers))
        yield number


def named_targets(
    tx: Transaction,
    node: Targeting,
    values: Values,
    *,
    limit: int | None = None,
) -> list[int]:
    """The targets of a statement; raises NotFound if WHERE names one that does not exist."""
    numbers = targets(
        tx.reader,
        node.where,
        node.target.name,
        values,
        limit=limit,
        include_archived=isinstance(node, ast.Restore),
    )
    if not numbers and (error := missing_target(tx.reader, node.where, node.target.name, values)):
        raise error
    return numbers


def only_target(
    tx: Transaction, where: ast.Block, values: Values, variable: ast.Variable
) -> Element:
    """The one element that a variable is bound to.

    Raises:
        NotFound: the variable is bound to no element.
        DuplicateExists: the variable is bound to several elements.
    """
    reader = tx.reader
    numbers = targets(reader, where, variable.name, values, limit=SHOWN + 1)
    if not numbers:
        raise missing_target(reader, where, variable.name, values) or NotFound(
            f"WHERE binds ?{variable.name} to nothing.",
            hint="Check with FIND what WHERE matches; each variable must be bound to one element.",
            span=variable.span,
        )
    if len(numbers) > 1:
        bindings = ", ".join(map(reader.outer_id, numbers[:SHOWN]))
        more = " and more" if len(numbers) > SHOWN else ""
        raise DuplicateExists(
            f"?{variable.name} is bound to several elements: {bindings}{more}.",
            hint="Narrow WHERE until the variable is bound to one element: name the element by"
            " type and name, or by id.",
            span=variable.span,
        )
    return tx.get(reader.outer_id(numbers[0]))


def targets(
    reader: Reader,
    where: ast.Block,
    variable: str,
    values: Values,
    *,
    limit: int | None = None,
    include_archived: bool = False,
) -> list[int]:
    """The numbers of the distinct elements that a variable is bound to, in order."""
    # Definitions of the transaction may still be rolled back, so the plan is not cached.
    reader.settle()
    bound = bind_targets(
        where,
        [ast.Variable(variable)],
        Vocabulary(reader),
        values,
        include_archived=include_archived,
    )
    query = rewrite(bound.query, StoreStatistics(reader, {}))
    statement = compile_numbers(query, limited=limit is not None, dialect=reader.dialect)
    # An OPTIONAL may leave the variable null, and null comes first.
    own = {} if limit is None else {"#limit": min(limit, INTEGER_MAX - 1) + 1}
    rows = statements.numbers(reader, statement, Binder(statement.bindings).bind(values, own))
    return [number for (number,) in rows if number is not None][:limit]
