"""A dry run of commands: each command sees the writes of the commands before it.

The commands run in one transaction that is rolled back at the end. Reads are only checked. Plans
are not kept, because they could refer to definitions that are rolled back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mycel.engine.find import Finder
from mycel.engine.outcome import Outcome
from mycel.engine.plan_cache import Prepared, at_parameter
from mycel.engine.planner import FindPlanner
from mycel.engine.result import Result
from mycel.engine.statements import introspect, manipulate
from mycel.engine.values import Values
from mycel.errors import MycelError
from mycel.kip import ast
from mycel.kip.parser import parse
from mycel.model.elements import Concept
from mycel.model.retention import RETENTION
from mycel.store.database import Store
from mycel.store.write.transaction import Transaction
from mycel.syntax.diagnostics import locate_error


def valid(warnings: tuple[str, ...] = ()) -> Outcome:
    """The outcome of a read that was only checked."""
    return Outcome({"valid": True}, warnings=warnings)


class DryRun:
    """Checks commands one after the other on a transaction that will not be committed."""

    def __init__(self, store: Store, tx: Transaction) -> None:
        self._store: Final = store
        self._tx: Final = tx

    def execute(
        self,
        text: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        readonly: bool = False,
        dry_run: bool = True,
        message: str = "",
    ) -> Result:
        """Check one command; it implements the `Executor` of a request."""
        del readonly, dry_run, message  # Writes are allowed, because all of them are rolled back.
        prepared = Prepared(text, parse(text))
        try:
            result = Result.of(*self._check(prepared, Values(parameters)))
        except MycelError as error:
            locate_error(at_parameter(error, prepared.command), text)
            raise
        if parameters:
            result.warn(prepared.quoted(parameters))
        return result

    def _check(self, prepared: Prepared, values: Values) -> Outcome:
        reader, command = self._tx.reader, prepared.command
        if isinstance(command, ast.Explain):
            from mycel.engine.explain import explain  # noqa: PLC0415 - see `statements`

            text = explain(reader, command.command, values)["command"]
            # Without ANALYZE, EXPLAIN writes nothing.
            return self._check(Prepared(text, parse(text)), values) if command.analyze else valid()
        if isinstance(command, ast.Manipulation):
            return self.rehearse(command, values)
        if isinstance(command, ast.Find):
            plan = Finder(self._store, FindPlanner()).check(reader, prepared, command, values)
            return valid(plan.warnings)
        introspect(reader, command, values)
        return valid()

    def _count_due(self, command: ast.SetTypeRetention | ast.SetRetention, values: Values) -> int:
        """The number of elements that the next cycle would end by the rule of a SET RETENTION."""
        from mycel.engine.due import due_elements  # noqa: PLC0415 - see `statements`
        from mycel.engine.where_targets import named_targets  # noqa: PLC0415 - as above

        reader, uses = self._tx.reader, self._store.use_counts.uses()
        due = reader.elements(
            [item.number for item in due_elements(reader, self._tx.time_us, uses)]
        )
        if isinstance(command, ast.SetTypeRetention):
            kind, is_type = values.text(command.name, "name of the type"), command.kind == "CONCEPT"
            return sum(
                RETENTION not in element.metadata
                and kind == (element.type if isinstance(element, Concept) else element.predicate)
                and is_type == isinstance(element, Concept)
                for element in due.values()
            )
        limit = None if command.limit is None else values.positive(command.limit, "LIMIT")
        return len(due.keys() & set(named_targets(self._tx, command, values, limit=limit)))

    def rehearse(self, command: ast.Manipulation, values: Values) -> Outcome:
        """The outcome of a write, after all checks of a commit."""
        warnings_before = len(self._tx.warnings)
        outcome = manipulate(self._tx, command, values)
        self._tx.check()
        if isinstance(command, ast.SetTypeRetention | ast.SetRetention):
            outcome.result["due"] = self._count_due(command, values)
        return Outcome(
            {"valid": True, "would": outcome.result},
            warnings=(*outcome.warnings, *self._tx.warnings[warnings_before:]),
        )
