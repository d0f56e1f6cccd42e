"""A dry run: each command sees the writes of those before it.

They run in one transaction that is rolled back at the end. Reads are only checked. No plan is kept:
it could hold definitions that are rolled back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mycel.engine.find import Finder
from mycel.engine.outcome import Outcome
from mycel.engine.plan_cache import Prepared
from mycel.engine.planner import FindPlanner
from mycel.engine.statements import introspect, manipulate
from mycel.engine.values import Values
from mycel.errors import MycelError
from mycel.kip import ast
from mycel.kip.parser import parse
from mycel.store.database import Store
from mycel.store.write.transaction import Transaction
from mycel.syntax.diagnostics import shown

VALID: Final = {"valid": True}


class DryRun:
    """Checks commands one after the other on a transaction that will not be committed."""

    def __init__(self, store: Store, tx: Transaction) -> None:
        self._store: Final = store
        self._tx: Final = tx

    def run(
        self,
        command: str,
        parameters: Mapping[str, Any],
        *,
        readonly: bool,
        dry_run: bool,
        message: str = "",
    ) -> Outcome:
        """Check one command; it implements the `Executor` of a request."""
        del readonly, dry_run, message  # Whoever rehearses may write, and nothing is kept.
        prepared = Prepared(command, parse(command))
        try:
            return self._check(prepared, prepared.command, Values(parameters))
        except MycelError as error:
            shown(error, command)
            raise

    def _check(self, prepared: Prepared, command: ast.Command, values: Values) -> Outcome:
        reader = self._tx.reader
        if isinstance(command, ast.Explain):
            return self._check(prepared, command.command, values)
        if isinstance(command, ast.Manipulation):
            return self.rehearse(command, values)
        if isinstance(command, ast.Find):
            plan = Finder(self._store, FindPlanner()).check(reader, prepared, command, values)
            return Outcome(VALID, warnings=plan.warnings)
        introspect(reader, command, values)
        return Outcome(VALID)

    def rehearse(self, command: ast.Manipulation, values: Values) -> Outcome:
        """The changes that a command would make, after all checks of a commit."""
        known = len(self._tx.warnings)
        outcome = manipulate(self._tx, command, values)
        self._tx.check()
        return Outcome(
            {**VALID, "would": outcome.result},
            warnings=(*outcome.warnings, *self._tx.warnings[known:]),
        )
