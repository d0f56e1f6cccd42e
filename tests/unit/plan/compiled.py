"""FIND, bound, rewritten and compiled by hand, so that a stage can be left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from mycel.engine.plan_cache import Binder
from mycel.engine.values import Values
from mycel.ir import query as ir
from mycel.kip import ast, parse
from mycel.plan.bind import BoundQuery, bind_find
from mycel.plan.catalog import Entries, PredicateFacts, PropertySlot, Spread
from mycel.plan.rewrites import rewrite
from mycel.sql.compiler import compile_query
from mycel.store.query.reader import Reader
from mycel.store.query.statistics import StoreStatistics
from mycel.store.query.vocabulary import Vocabulary


class Words:
    """A catalog in which every name is defined, and `near` is symmetric.

    Towns are found by three of their properties, and links of `feeds` by one.
    """

    TYPES = ("Town", "River")
    PREDICATES = ("near", "feeds", "says")

    def type_number(self, name: str) -> int:
        return self.TYPES.index(name) + 3

    def predicate(self, name: str) -> PredicateFacts:
        return PredicateFacts(self.PREDICATES.index(name) + 64, name == "near")

    def symmetric_predicates(self) -> tuple[int, ...]:
        return (64,)

    def has_hidden(self) -> bool:
        return False

    def slots(self, owner: int, *, link: bool) -> Mapping[str, PropertySlot]:
        if link:
            return {"since": PropertySlot(4, is_unique=False)} if owner == 65 else {}
        return (
            {
                "code": PropertySlot(1, is_unique=True),
                "size": PropertySlot(2, is_unique=False),
                "is_port": PropertySlot(3, is_unique=False),
            }
            if owner == 3
            else {}
        )

    def moments(self, owner: int, *, link: bool, lists: bool) -> Collection[str]:
        return ("founded",) if owner == 3 and not lists else ()

    def ends(self, predicate: int) -> tuple[int, int] | None:
        return (4, 3) if predicate == 65 else None


class Counts:
    """Many towns and few rivers; a river feeds a few others, and everything is near much."""

    def concepts(self, type_number: int | None) -> float:
        return {None: 10_100.0, 3: 10_000.0}.get(type_number, 100.0)

    def links(self, predicate: int | None) -> Spread:
        many = Spread(100_000.0, 10_000.0, 10_000.0)
        return {64: many, 65: Spread(300.0, 100.0, 100.0)}.get(predicate or 0, many)

    def entries(self, slot: int) -> Entries:
        return {
            1: Entries(10_000.0, 10_000.0),
            2: Entries(10_000.0, 500.0),
            3: Entries(10_000.0, 2.0),
            4: Entries(300.0, 60.0),
        }[slot]


def bound(text: str, **parameters: Any) -> BoundQuery:
    """A FIND over `Words`."""
    find = parse(text)
    assert isinstance(find, ast.Find)
    return bind_find(find, Words(), Values(parameters))


def rewritten(text: str, *, off: Collection[str] = ()) -> ir.Query:
    """A FIND over `Words` after the rewrites, with the statistics of `Counts`."""
    return rewrite(bound(text).query, Counts(), off=off)


def rows(
    reader: Reader,
    find: ast.Find,
    parameters: Mapping[str, Any],
    *,
    off: Collection[str] = (),
    past: bool = False,
) -> Counter[tuple[Any, ...]]:
    """The rows of a FIND, compiled without some rewrites, or as a question about the past."""
    connection, values = reader.connection, Values(parameters)
    query = bind_find(find, Vocabulary(reader), values).query
    statement = compile_query(
        rewrite(query, StoreStatistics(reader, {}), off=off), past=past, exact=True
    )
    ((newest,),) = connection.execute("SELECT max(seq) FROM head").fetchall()
    bindings = Binder(statement.bindings).bind(values, {"#moment": newest})
    return Counter(
        tuple(f"{cell:.9g}" if isinstance(cell, float) else cell for cell in row)
        for row in connection.execute(statement.text, bindings)
    )
