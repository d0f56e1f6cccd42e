"""A dry run of several commands: each sees what those before it would have written.

All of them run in one transaction that is rolled back at the end. Reading commands are only
checked, against the state that the transaction shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from mycel.engine.describe import describe
from mycel.engine.export import export
from mycel.engine.outcome import Outcome
from mycel.engine.planning import Planner
from mycel.engine.values import Values
from mycel.errors import MycelError
from mycel.kip import ast
from mycel.kip.parser import parse
from mycel.store.transaction import Transaction
from mycel.syntax.diagnostics import shown

Manipulate = Callable[[Transaction, ast.Manipulation, Values], Outcome]

VALID: Final = {"valid": True}


class Rehearsal:
    """Checks commands one after the other on a transaction that will not be committed."""

    def __init__(self, tx: Transaction, manipulate: Manipulate) -> None:
        self._tx: Final = tx
        self._manipulate: Final = manipulate

    def run(
        self, command: str, parameters: Mapping[str, Any], *, readonly: bool, dry_run: bool
    ) -> Outcome:
        """Check one command; it implements the `Executor` of a request.

        Raises:
            MycelError: it cannot be parsed, means nothing here, or would fail.
        """
        del readonly, dry_run  # Whoever rehearses may write, and nothing is kept.
        tree = parse(command)
        try:
            return self._check(tree, Values(parameters))
        except MycelError as error:
            shown(error, command)
            raise

    def _check(self, command: ast.Command, values: Values) -> Outcome:
        reader = self._tx.ledger.reader
        match command:
            case ast.Explain(inner):
                return self._check(inner, values)
            case ast.Find():
                _, plan = Planner().find(reader, command, values)
                if command.limit is not None:
                    values.positive(command.limit, "LIMIT")
                return Outcome(VALID, warnings=plan.warnings)
            case (
                ast.DescribePrimer()
                | ast.DescribeDomains()
                | ast.DescribeTypes()
                | ast.DescribeType()
            ):
                describe(reader, command, values)
                return Outcome(VALID)
            case ast.Export():
                export(reader, command, values)
                return Outcome(VALID)
            case ast.Search():
                values.text(command.term, "term of SEARCH")
                return Outcome(VALID)
            case _:
                return self._rehearse(command, values)

    def _rehearse(self, command: ast.Manipulation, values: Values) -> Outcome:
        known = len(self._tx.warnings)
        outcome = self._manipulate(self._tx, command, values)
        self._tx.check()
        return Outcome(
            {**VALID, "would": outcome.result},
            warnings=(*outcome.warnings, *self._tx.warnings[known:]),
        )
