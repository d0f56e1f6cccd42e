"""Rewrites of a bound query: one ordered tuple of named passes. Each can be switched off.

Every pass takes a query and gives one with the same answer:

- `ground`        a FILTER that names a concept becomes part of its pattern, so an index finds it
- `trim`          an OPTIONAL that binds nothing is dropped
- `semijoin`      patterns that only have to exist are tested, not joined
- `use_indexes`   a FILTER on an indexed property says where to look for its element
- `order_joins`   patterns in the order that statistics say is cheapest
- `count_once`    of circles that are only counted, one turn of each is found
- `gather_early`  groups are formed by element first, and only then by what the elements say
- `cut_early`     groups that a limit leaves out are dropped before what they say is read

`blocks` goes through all blocks of a query for them, and `selectivity` tells how much of an index
is looked at.
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
