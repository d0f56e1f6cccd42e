"""Functions that run one statement, on a given reader or in a given transaction.

The module of a statement is imported when it first runs, so that a process starts fast.
"""

# ruff: noqa: PLC0415 - as the docstring says.

from __future__ import annotations

from mycel.engine.outcome import Outcome
from mycel.engine.planner import FindPlanner
from mycel.engine.values import Values
from mycel.graph.adjacency import Adjacency
from mycel.kip import ast
from mycel.search.index.search_index import SearchIndex
from mycel.store.query.reader import Reader
from mycel.store.write.transaction import Transaction


def introspect(
    reader: Reader,
    command: ast.Introspection,
    values: Values,
    adjacency: Adjacency | None = None,
    planner: FindPlanner | None = None,
    index: SearchIndex | None = None,
) -> Outcome:
    """Run a statement of META.

    `adjacency` may hold the links of the present in memory, and `planner` its vocabulary. Without
    an `index`, SEARCH uses keywords alone and NEAREST is only checked.
    """
    match command:
        case ast.Traverse():
            from mycel.engine.traverse import traverse

            return traverse(reader, command, values, adjacency, planner)
        case ast.Search():
            from mycel.engine.search import search

            return search(reader, command, values, index)
        case ast.Nearest():
            from mycel.engine.nearest import nearest

            return nearest(reader, command, values, index)
        case ast.Export():
            from mycel.engine.export import export

            return export(reader, command, values)
        case (
            ast.DescribePrimer()
            | ast.DescribeDomains()
            | ast.DescribeTypes()
            | ast.DescribeType()
            | ast.DescribeChanges()
            | ast.DescribeCapabilities()
            | ast.DescribeHistory()
        ):
            from mycel.engine.describe import describe

            return describe(reader, command, values)


def manipulate(tx: Transaction, command: ast.Manipulation, values: Values) -> Outcome:
    """Run a statement of KML."""
    match command:
        case ast.Capsule():
            from mycel.engine.upsert import upsert

            return upsert(tx, command, values)
        case ast.Update():
            from mycel.engine.update import update

            return update(tx, command, values)
        case ast.MergeConcept():
            from mycel.engine.merge import merge

            return merge(tx, command, values)
        case ast.Archive():
            from mycel.engine.archive import archive

            return archive(tx, command, values)
        case ast.Restore():
            from mycel.engine.archive import restore

            return restore(tx, command, values)
        case ast.SetTypeRetention() | ast.SetRetention():
            from mycel.engine.retention import set_retention

            return set_retention(tx, command, values)
        case ast.Supersede():
            from mycel.engine.supersede import supersede

            return supersede(tx, command, values)
        case ast.TakeStance():
            from mycel.engine.stance import take_stance

            return take_stance(tx, command, values)
        case ast.DeleteKeys() | ast.DeletePropositions() | ast.DeleteConcept():
            from mycel.engine.delete import delete

            return delete(tx, command, values)
