"""Rewrites of a bound query: an ordered tuple of named passes. Each can be switched off.

Every pass takes a query and returns a query with the same answer:

- `ground`        a FILTER that names a concept becomes part of its pattern, so an index finds it
- `trim`          an OPTIONAL that binds nothing is dropped
- `semijoin`      patterns that only have to exist are tested, not joined
- `use_indexes`   a FILTER on an indexed property lets its element be found by the index
- `order_joins`   patterns in the order that statistics say is cheapest
- `count_once`    a circle of links that is only counted is found once, not once from each element
- `gather_early`  rows are grouped by element first, and then by attributes of the elements
- `cut_early`     groups that a limit leaves out are dropped before their attributes are read

The passes use `blocks`, which visits all blocks of a query, and `selectivity`, which estimates the
share of an index that a look-up reads.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from mycel.ir import query as ir
from mycel.plan.catalog import Statistics
from mycel.plan.rewrites.count_once import count_once
from mycel.plan.rewrites.cut_early import cut_early
from mycel.plan.rewrites.gather_early import gather_early
from mycel.plan.rewrites.ground import ground
from mycel.plan.rewrites.order_joins import order_joins
from mycel.plan.rewrites.semijoin import semijoin
from mycel.plan.rewrites.trim import trim
from mycel.plan.rewrites.use_indexes import use_indexes

Pass = Callable[[ir.Query, Statistics], ir.Query]

PASSES: Final[tuple[Pass, ...]] = (
    ground,
    trim,
    semijoin,
    use_indexes,
    order_joins,
    count_once,
    gather_early,
    cut_early,
)


def rewrite(query: ir.Query, statistics: Statistics, *, off: Collection[str] = ()) -> ir.Query:
    """The query after all passes but those in `off`."""
    for pass_ in PASSES:
        if pass_.__name__ not in off:
            query = pass_(query, statistics)
    return query
