"""A graph of towns for questions, and a look at how often they are planned."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest

import mycel
from mycel.engine.planner import FindPlanner


def towns(count: int = 5, *, path: str = ":memory:", timeout_s: float = 30.0) -> mycel.Graph:
    """Towns t0, t1, …, each of which feeds the next."""
    db = mycel.open(path, core_capsules=False, timeout_s=timeout_s)
    with db.transaction() as tx:
        tx.define_type("Town")
        tx.define_predicate("feeds")
        ids = [tx.put_concept("Town", f"t{n}", {"size": n % 7}) for n in range(count)]
        for one, other in pairwise(ids):
            tx.add_edge(one, "feeds", other)
    return db


@contextmanager
def counted_plannings() -> Iterator[list[Any]]:
    """The commands that were planned in the block."""
    made: list[Any] = []
    find = FindPlanner.find

    def counted(self: FindPlanner, *arguments: Any, **named: Any) -> Any:
        made.append(arguments)
        return find(self, *arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FindPlanner, "find", counted)
        yield made
