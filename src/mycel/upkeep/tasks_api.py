"""`db.tasks`: the questions of upkeep, and their decisions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from mycel.store.database import Store
from mycel.store.write.transaction import Transaction
from mycel.upkeep.tending import (
    TOKENS_DEFAULT,
    Decided,
    OpenTask,
    Postponed,
    decide_task,
    next_task,
    postponed_tasks,
    show_task,
)


class Tasks:
    """The SleepTasks of a graph."""

    def __init__(self, store: Store, write: Callable[..., Any]) -> None:
        self._store: Final = store
        self._write: Final = write

    def next(self, *, tokens: int = TOKENS_DEFAULT) -> OpenTask | None:
        """The most urgent open task, with its context within a budget of tokens.

        The elements of the task have letters: A, B and so on.
        """
        with self._store.reading() as reader:
            return next_task(reader, tokens)

    def show(self, task: str, *, tokens: int = TOKENS_DEFAULT) -> OpenTask:
        """A task by its id, with its context and, if it was decided, the decision.

        Raises:
            NotFound: there is no such task.
        """
        with self._store.reading() as reader:
            return show_task(reader, task, tokens)

    def postponed(self) -> Postponed:
        """The number of postponed tasks, and the time until which the first of them waits."""
        with self._store.reading() as reader:
            return postponed_tasks(reader)

    def decide(
        self,
        task: str,
        decision: str,
        *,
        keep: str = "",
        elements: Sequence[str] = (),
        concepts: Sequence[Mapping[str, Any]] = (),
        reason: str = "",
        by: str | None = None,
    ) -> Decided:
        """Decide a task, in one transaction that `db.history.revert` takes back.

        A decision is "merge", "supersede", "keep both", "drop", "summarise" or "later". `keep` is
        the letter or id of the element that stays. `elements` limits the decision to some of the
        elements, and the task stays open for the rest. `concepts` are the concepts that a summary
        writes; each has type, name, attributes and metadata, and `update: true` if it may change
        an existing concept.

        Raises:
            NotFound: there is no such task.
            InvalidSyntax: there is no such decision, or no element of that letter.
            ConstraintViolation: the task was decided, or the decision does not fit it.
        """

        def work(tx: Transaction) -> tuple[Decided, list[str]]:
            decided = decide_task(
                tx,
                task,
                decision,
                keep=keep,
                elements=elements,
                concepts=concepts,
                reason=reason,
            )
            return decided, tx.warnings

        decided: Decided
        decided, warnings = self._write(
            work,
            actor=by,
            message=f"{decision}: {reason}" if reason else f"Task {task}: {decision}",
        )
        return decided._replace(warnings=tuple(warnings))
