"""The entry for every statement of the language.

Reads run on a reader of their own, writes as one transaction each. Each statement has its own
module; this one chooses the module and the rules of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from math import inf
from time import monotonic
from typing import Any, Final, TypeVar

from mycel.engine.conflict_warnings import conflict_warnings
from mycel.engine.dry_run import DryRun, valid
from mycel.engine.find import Finder
from mycel.engine.outcome import Author, Outcome
from mycel.engine.plan_cache import Commands, Prepared, at_parameter
from mycel.engine.planner import FindPlanner
from mycel.engine.result import Result
from mycel.engine.statements import introspect, manipulate
from mycel.engine.values import Values
from mycel.engine.write_deadline import stopping_after
from mycel.engine.write_defaults import WriteDefaults
from mycel.errors import ExecutionTimeout, ImmutableTarget, InvalidSyntax, MycelError
from mycel.graph.adjacency import Adjacency
from mycel.kip import ast
from mycel.kip.long_capsule import read_capsule
from mycel.kip.parser import is_write, parse
from mycel.model import allowance
from mycel.model.limits import COMMAND_BYTES_MAX
from mycel.model.names import kind_of
from mycel.search.index.search_index import SearchIndex
from mycel.store.database import Store
from mycel.store.query.reader import Reader
from mycel.store.write.transaction import Transaction, rehearsal
from mycel.store.write.writer import GroupMember
from mycel.syntax.diagnostics import locate_error
from mycel.syntax.gc_pause import collector_paused

T = TypeVar("T")


class Engine:
    """All commands on one store."""

    def __init__(
        self,
        store: Store,
        *,
        timeout_s: float,
        defaults: WriteDefaults,
        adjacency: Adjacency | None = None,
        index: SearchIndex | None = None,
    ) -> None:
        self._store: Final = store
        self._timeout_s: Final = timeout_s
        self._defaults: Final = defaults
        self._adjacency: Final = adjacency
        self._index: Final = index
        self._planner: Final = FindPlanner()
        self._finder: Final = Finder(store, self._planner)
        self._commands: Final = Commands()
        self._conflict_warnings: Final = partial(conflict_warnings, store)

    def execute(
        self,
        text: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        readonly: bool = False,
        dry_run: bool = False,
        message: str = "",
    ) -> Result:
        """Run one command; with `dry_run` only check it, with `readonly` refuse it if it writes.

        A command that writes records the message in the journal, or a count of its changes without
        a message.

        Raises:
            MycelError: the command cannot be parsed or bound, or it failed; nothing was written.
        """
        if not isinstance(text, str):
            raise InvalidSyntax(
                f"A command must be a text, not {kind_of(text)}.", hint="Pass it as one string."
            )
        prepared = self._commands.known.get(text)
        if prepared is None:
            prepared = self.prepare(text)
        return self._run(prepared, parameters, readonly, dry_run, message, self._timeout_s)

    def apply_capsule(
        self,
        text: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        readonly: bool = False,
        dry_run: bool = False,
        message: str = "",
    ) -> Result:
        """Run a capsule like `execute`; its size limit is larger."""
        with collector_paused(len(text) > COMMAND_BYTES_MAX):
            # No local variable refers to the tree, so it is freed before the garbage collector runs
            # again.
            capsule = _read_capsule(text)
            return self._run(capsule, parameters, readonly, dry_run, message, write_s=inf)

    def _run(
        self,
        prepared: Prepared,
        parameters: Mapping[str, Any] | None,
        readonly: bool,
        dry_run: bool,
        message: str,
        write_s: float,
    ) -> Result:
        command = prepared.command
        if readonly and is_write(command):
            raise read_only()
        try:
            if isinstance(command, ast.Find) and not dry_run:
                result = self._finder.run(prepared, command, parameters, self._timeout_s)
            else:
                by = Author(self._defaults.actor, self._defaults.message_or(message))
                values = Values(parameters)
                result = Result.of(*self._outcome(prepared, values, by, write_s, dry_run=dry_run))
        except MycelError as error:
            locate_error(at_parameter(error, command), prepared.text)
            raise
        if parameters:
            result.warn(prepared.quoted(parameters))
        if not isinstance(command, ast.Manipulation):
            result.warn_later(self._conflict_warnings)
        return result

    def prepare(self, text: str) -> Prepared:
        """Parse a command, and cache it."""
        prepared = Prepared(text, parse(text))
        self._commands.keep(prepared)
        return prepared

    def _outcome(
        self, prepared: Prepared, values: Values, by: Author, write_s: float, *, dry_run: bool
    ) -> Outcome:
        command = prepared.command
        if isinstance(command, ast.Manipulation):
            return self._write(command, values, by, write_s, dry_run=dry_run)
        match command:
            case ast.Explain():
                return self._explain(command, values, by, dry_run=dry_run)
            case ast.Find() if dry_run:
                with self._reading() as reader:
                    plan = self._finder.check(reader, prepared, command, values)
                return valid(plan.warnings)
            case ast.Find():
                result = self._finder.run(prepared, command, values.parameters, self._timeout_s)
                return Outcome(result.value, result.next_cursor, result.warnings)
            case ast.Search():
                from mycel.search.search import fold_text  # noqa: PLC0415 - see `statements`

                fold_text(self._store)
            case ast.Nearest() if self._index is not None and not dry_run:
                from mycel.engine.nearest import prepare  # noqa: PLC0415 - see `statements`

                prepare(self._store, command, values, self._index, monotonic() + self._timeout_s)
        with self._reading() as reader:
            outcome = introspect(
                reader, command, values, self._adjacency, self._planner, self._index
            )
        if isinstance(command, ast.Search) and self._index is not None:
            self._index.save()
        return valid() if dry_run else outcome

    @contextmanager
    def _reading(self) -> Iterator[Reader]:
        with self._store.reading() as reader:
            reader.deadline = monotonic() + self._timeout_s
            yield reader

    def _explain(
        self, command: ast.Explain, values: Values, by: Author, *, dry_run: bool
    ) -> Outcome:
        from mycel.engine.explain import analyzed, explain  # noqa: PLC0415 - see `statements`

        def run() -> Outcome:
            explained = self.prepare(explanation["command"])
            return self._outcome(explained, values, by, self._timeout_s, dry_run=dry_run)

        with self._reading() as reader:
            explanation = explain(reader, command.command, values)
        if dry_run:
            return run() if command.analyze else valid()
        return analyzed(explanation, run) if command.analyze else Outcome(explanation)

    # Writing.

    def together(self, work: Callable[[Sequence[GroupMember]], T]) -> T:
        """Run `work`; the commands that it executes share one commit at the end."""
        return self._store.together(work)

    @contextmanager
    def rehearsal(self) -> Iterator[DryRun]:
        """Dry-run the commands of this block, each on the state after the commands before it."""
        with self._rehearsal(Author(self._defaults.actor, "rehearsal")) as dry_run:
            yield dry_run

    @contextmanager
    def _rehearsal(self, by: Author) -> Iterator[DryRun]:
        with rehearsal(self._store.transaction(actor=by.actor, message=by.message)) as tx:
            tx.reader.deadline = monotonic() + self._timeout_s
            yield DryRun(self._store, tx)

    def _write(
        self,
        command: ast.Manipulation,
        values: Values,
        by: Author,
        write_s: float,
        *,
        dry_run: bool,
    ) -> Outcome:
        if dry_run:
            with self._rehearsal(by) as rehearsed, stopping_after(write_s):
                return rehearsed.rehearse(command, values)
        warnings: list[str] = []

        def work(tx: Transaction) -> Outcome:
            nonlocal warnings
            warnings = tx.warnings  # Guards add warnings until the commit.
            tx.reader.deadline = monotonic() + self._timeout_s
            with stopping_after(write_s):
                return manipulate(tx, command, values)

        run = partial(self._store.run, work, actor=by.actor, message=by.message)
        current = allowance.current()
        outcome = run() if current is None else self._written_in_turn(current, command, values, run)
        return outcome._replace(warnings=(*outcome.warnings, *warnings))

    def _written_in_turn(
        self,
        current: allowance.Allowance,
        command: ast.Manipulation,
        values: Values,
        run: Callable[..., Outcome],
    ) -> Outcome:
        """Write for a request of a server: try a short transaction first, then a long one.

        A transaction that takes too long is rolled back. Before the second try, WHERE is evaluated
        once outside the turn of the writer, so a search that is too slow blocks no other writer.
        """
        current.is_brief = True
        try:
            return run()
        except ExecutionTimeout:
            if not current.outgrew:
                raise
        finally:
            current.is_brief = current.outgrew = False
        if not isinstance(command, ast.Capsule | ast.SetTypeRetention):
            from mycel.engine.where_targets import targets  # noqa: PLC0415 - see `statements`

            try:
                with self._reading() as reader:
                    # The deadline of a write applies, because earlier commands of the batch may
                    # hold the file.
                    reader.deadline = monotonic() + current.turn_s()
                    targets(reader, command.where, command.target.name, values)
            except ExecutionTimeout:
                raise
            except MycelError:
                # The command may need changes of earlier commands that are not committed yet.
                pass
        return run(is_long=True)


def _read_capsule(text: str) -> Prepared:
    capsule = read_capsule(text)
    if not isinstance(capsule, ast.Capsule):
        raise InvalidSyntax(
            "This is no capsule.", hint="A capsule is one or more UPSERT { … } statements."
        )
    return Prepared(text, capsule)


def read_only(
    message: str = "This command writes, but only reading is allowed here.",
) -> ImmutableTarget:
    """The error for a write in a context that only reads."""
    return ImmutableTarget(
        message,
        hint="To write, run it without readonly (--readonly, .readonly), or as execute_kip.",
    )
