"""Which function runs which statement, on a reader or in a transaction that is given."""

from __future__ import annotations

from typing import assert_never

from mycel.engine.delete import delete_concept, delete_keys, delete_propositions
from mycel.engine.describe import describe
from mycel.engine.export import export
from mycel.engine.merge import merge
from mycel.engine.outcome import Outcome
from mycel.engine.search import search
from mycel.engine.traverse import traverse
from mycel.engine.update import update
from mycel.engine.upsert import upsert
from mycel.engine.values import Values
from mycel.graph.adjacency import Adjacency
from mycel.kip import ast
from mycel.store.reader import Reader
from mycel.store.transaction import Transaction


def introspect(
    reader: Reader,
    command: ast.Introspection,
    values: Values,
    adjacency: Adjacency | None = None,
) -> Outcome:
    """Run a statement of META; `adjacency` may have the links of the present in memory."""
    match command:
        case ast.Traverse():
            return traverse(reader, command, values, adjacency)
        case ast.Search():
            return search(reader, command, values)
        case ast.Export():
            return export(reader, command, values)
        case _:
            return describe(reader, command, values)


def manipulate(tx: Transaction, command: ast.Manipulation, values: Values) -> Outcome:
    """Run a statement of KML."""
    match command:
        case ast.Capsule():
            return upsert(tx, command, values)
        case ast.DeleteKeys():
            return delete_keys(tx, command, values)
        case ast.DeletePropositions():
            return delete_propositions(tx, command, values)
        case ast.DeleteConcept():
            return delete_concept(tx, command, values)
        case ast.Update():
            return update(tx, command, values)
        case ast.Merge():
            return merge(tx, command, values)
        case _:
            assert_never(command)


def statement_name(command: ast.Manipulation) -> str:
    """What the journal says a transaction was. Never what it wrote: that may be purged one day."""
    match command:
        case ast.Capsule():
            return "UPSERT"
        case ast.DeleteKeys(part):
            return f"DELETE {part}"
        case ast.DeletePropositions():
            return "DELETE PROPOSITIONS"
        case ast.DeleteConcept():
            return "DELETE CONCEPT"
        case ast.Update():
            return "UPDATE"
        case ast.Merge():
            return "MERGE CONCEPT"
        case _:
            assert_never(command)
