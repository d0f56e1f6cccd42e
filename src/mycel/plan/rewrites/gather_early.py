"""Groups by elements first, and then by their attributes.

In `FIND(?o.name, COUNT(?s)) WHERE { (?s, "p", ?o) }` all links to one element belong to one name.
They are counted by element, in the order of an index, and the few groups are then united by name.
"""

from __future__ import annotations

from dataclasses import replace

from mycel.ir import query as ir
from mycel.model.aggregates import is_mergeable
from mycel.plan.catalog import Statistics


def gather_early(query: ir.Query, _: Statistics) -> ir.Query:
    """Mark a query whose groups gather many solutions of one element."""
    keys = [output for output in query.outputs if isinstance(output, ir.Field)]
    columns = [*query.outputs, *(key.output for key in query.sort)]
    aggregates = [column for column in columns if isinstance(column, ir.Aggregate)]
    grouped = {key.variable for key in keys}
    pays = (
        any(key.path for key in keys)
        and all(
            is_mergeable(aggregate.function) and not aggregate.distinct for aggregate in aggregates
        )
        and any(aggregate.argument.variable not in grouped for aggregate in aggregates)
    )
    return replace(query, gathers_early=pays)
