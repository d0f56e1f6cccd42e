"""The entry for every statement of the language.

Reads run on a reader of their own, writes as one transaction each. The module of a statement says
what it means; this one chooses it and the rules under which it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import Any, Final

from mycel.engine.dry_run import VALID, DryRun
from mycel.engine.find import Finder
from mycel.engine.outcome import Author, Outcome
from mycel.engine.plan_cache import Commands, Prepared, at_parameter
from mycel.engine.planner import FindPlanner
from mycel.engine.result import Result
from mycel.engine.statements import introspect, manipulate
from mycel.engine.values import Values
from mycel.errors import ExecutionTimeout, ImmutableTarget, InvalidSyntax, MycelError
from mycel.graph.adjacency import Adjacency
from mycel.kip import ast
from mycel.kip.parser import is_write, parse
from mycel.model import allowance
from mycel.model.limits import CAPSULE_BYTES_MAX, COMMAND_BYTES_MAX
from mycel.model.names import kind_of
from mycel.recall.lazy import SearchIndex
from mycel.store.database import Store
from mycel.store.query.reader import Reader
from mycel.store.write.transaction import Transaction, rehearsal
from mycel.syntax.diagnostics import shown
from mycel.syntax.gc_pause import collector_paused


class Engine:
    """All commands on one store."""

    def __init__(
        self,
        store: Store,
        *,
        timeout_s: float,
        adjacency: Adjacency | None = None,
        recall: SearchIndex | None = None,
    ) -> None:
        self._store: Final = store
        self._timeout_s: Final = timeout_s
        self._adjacency: Final = adjacency
        self._recall: Final = recall
        self._planner: Final = FindPlanner()
        self._finder: Final = Finder(store, self._planner)
        self._commands: Final = Commands()

    def execute(
        self,
        text: str,
        parameters: Mapping[str, Any] | None,
        *,
        actor: str,
        message: str = "",
        dry_run: bool = False,
        readonly: bool = False,
    ) -> Result:
        """Run one command; with `dry_run` only check it, with `readonly` refuse it if it writes.

        A command that writes leaves the message in the journal, or a count of what it changed.

        Raises:
            MycelError: it cannot be parsed, means nothing here, or failed; nothing was written.
        """
        if not isinstance(text, str):
            raise InvalidSyntax(
                f"A command must be a text, not {kind_of(text)}.", hint="Pass it as one string."
            )
        prepared = self._commands.known.get(text)
        if prepared is None:
            prepared = self.prepare(text)
        if readonly and is_write(prepared.command):
            raise read_only("This command writes, and only reading is allowed here.")
        command = prepared.command
        try:
            if isinstance(command, ast.Find) and not dry_run:
                result = self._finder.run(prepared, command, parameters, self._timeout_s)
            else:
                by = Author(actor, message)
                result = Result.of(
                    *self._outcome(prepared, Values(parameters), by, dry_run=dry_run)
                )
        except MycelError as error:
            shown(at_parameter(error, command), text)
            raise
        if parameters:
            result.warn(prepared.quoted(parameters))
        return result

    def apply_capsule(
        self,
        text: str,
        parameters: Mapping[str, Any] | None,
        *,
        actor: str,
        message: str = "",
        dry_run: bool,
    ) -> Result:
        """Run a capsule, which may be larger than a command."""
        with collector_paused(len(text) > COMMAND_BYTES_MAX):
            # In a function of its own, so that the tree is gone when the collector comes back.
            outcome = self._applied(text, parameters, Author(actor, message), dry_run=dry_run)
        return Result.of(*outcome)

    def _applied(
        self, text: str, parameters: Mapping[str, Any] | None, by: Author, *, dry_run: bool
    ) -> Outcome:
        command = parse(text, bytes_max=CAPSULE_BYTES_MAX)
        if not isinstance(command, ast.Capsule):
            raise InvalidSyntax(
                "This is no capsule.", hint="A capsule is one or more UPSERT { … } statements."
            )
        try:
            outcome = self._write(command, Values(parameters), by, dry_run=dry_run)
        except MycelError as error:
            shown(error, text)
            raise
        if not parameters:
            return outcome
        warnings = Prepared(text, command).quoted(parameters)
        return outcome._replace(warnings=(*outcome.warnings, *warnings))

    def prepare(self, text: str) -> Prepared:
        """Parse a command, and keep it for the next time."""
        prepared = Prepared(text, parse(text))
        self._commands.keep(prepared)
        return prepared

    def _outcome(self, prepared: Prepared, values: Values, by: Author, *, dry_run: bool) -> Outcome:
        command = prepared.command
        if isinstance(command, ast.Manipulation):
            return self._write(command, values, by, dry_run=dry_run)
        match command:
            case ast.Explain():
                return self._explain(command, values, by, dry_run=dry_run)
            case ast.Find() if dry_run:
                with self._reading() as reader:
                    self._finder.check(reader, prepared, command, values)
                return Outcome(VALID)
            case ast.Find():
                result = self._finder.run(prepared, command, values.parameters, self._timeout_s)
                return Outcome(result.value, result.next_cursor, result.warnings)
            case ast.Search():
                from mycel.engine.search import fold_text  # noqa: PLC0415 - see `statements`

                fold_text(self._store)
            case ast.Nearest() if self._recall is not None and not dry_run:
                from mycel.engine.nearest import prepare  # noqa: PLC0415 - see `statements`

                prepare(self._store, command, values, self._recall, monotonic() + self._timeout_s)
        with self._reading() as reader:
            outcome = introspect(
                reader, command, values, self._adjacency, self._planner, self._recall
            )
        if isinstance(command, ast.Search) and self._recall is not None:
            self._recall.save()
        return Outcome(VALID) if dry_run else outcome

    @contextmanager
    def _reading(self) -> Iterator[Reader]:
        with self._store.reading() as reader:
            reader.deadline = monotonic() + self._timeout_s
            yield reader

    def _explain(
        self, command: ast.Explain, values: Values, by: Author, *, dry_run: bool
    ) -> Outcome:
        from mycel.engine.explain import analyzed, explain  # noqa: PLC0415 - see `statements`

        with self._reading() as reader:
            told = explain(reader, command.command, values)
        if command.analyze:
            inner = self.prepare(told["command"])

            told["analyze"], warnings = analyzed(
                lambda: self._outcome(inner, values, by, dry_run=dry_run)
            )
            return Outcome(told, warnings=warnings)
        return Outcome(told)

    # Writing.

    @contextmanager
    def rehearsal(self, *, actor: str, message: str = "rehearsal") -> Iterator[DryRun]:
        """Check the commands of this block, each on the state that those before it would leave."""
        with rehearsal(self._store.transaction(actor=actor, message=message)) as tx:
            tx.reader.deadline = monotonic() + self._timeout_s
            yield DryRun(self._store, tx)

    def _write(
        self, command: ast.Manipulation, values: Values, by: Author, *, dry_run: bool
    ) -> Outcome:
        if dry_run:
            with self.rehearsal(actor=by.actor, message=by.message) as rehearsed:
                return rehearsed.rehearse(command, values)
        warnings: list[str] = []

        def work(tx: Transaction) -> Outcome:
            nonlocal warnings
            warnings = tx.warnings  # Guards add to it until the very end.
            tx.reader.deadline = monotonic() + self._timeout_s
            return manipulate(tx, command, values)

        run = partial(self._store.run, work, actor=by.actor, message=by.message)
        given = allowance.current()
        outcome = run() if given is None else self._written_in_turn(given, command, values, run)
        return outcome._replace(warnings=(*outcome.warnings, *warnings))

    def _written_in_turn(
        self,
        given: allowance.Allowance,
        command: ast.Manipulation,
        values: Values,
        run: Callable[..., Outcome],
    ) -> Outcome:
        """Write for a request of a server: as a short transaction, or else as a long one.

        One that is not done in a moment is rolled back. Before it is begun again, it finds its
        targets once without the turn, so a search that takes too long keeps nobody from writing.
        """
        given.is_brief = True
        try:
            return run()
        except ExecutionTimeout:
            if not given.outgrew:
                raise
        finally:
            given.is_brief = given.outgrew = False
        if not isinstance(command, ast.Capsule):
            from mycel.engine.where_targets import targets  # noqa: PLC0415 - see `statements`

            try:
                with self._reading() as reader:
                    # As long as in its turn: the commands before it may have the file locked.
                    reader.deadline = monotonic() + given.turn_s()
                    targets(reader, command.where, command.target.name, values)
            except ExecutionTimeout:
                raise
            except MycelError:  # It may need what the commands before it have yet to commit.
                pass
        return run(is_long=True)


def read_only(message: str) -> ImmutableTarget:
    """The error for a command that writes, sent through a door for reading."""
    return ImmutableTarget(
        message,
        hint="This door only reads. Use db.execute, or request(…) without readonly; over MCP,"
        " execute_kip.",
    )
