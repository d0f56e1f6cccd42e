"""The report of a sleep cycle."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Final

EXAMPLES_MAX: Final = 5


@dataclass(slots=True)
class StepReport:
    """One step: the numbers of its changes, tasks and findings, and of elements left for later."""

    name: str
    done: int = 0
    """The number of elements that the step changed, or would change in a dry run."""
    asked: int = 0
    """The number of tasks that the step made."""
    found: int = 0
    """The number of elements that were found and not changed."""
    left: int = 0
    """The number of elements that are left because the time was over."""
    examples: list[str] = field(default_factory=list)
    ended: dict[str, int] = field(default_factory=dict)
    """The numbers of elements that the step archived, deleted and purged."""

    def count_end(self, word: str) -> None:
        """Count an element that was archived, deleted or purged."""
        self.done += 1
        self.ended[word] = self.ended.get(word, 0) + 1

    def note(self, sentence: str) -> None:
        """Keep a sentence about an element as an example, unless there are enough examples."""
        if len(self.examples) < EXAMPLES_MAX:
            self.examples.append(sentence)

    @property
    def ends(self) -> str:
        """The counts of archived, deleted and purged elements in brackets; empty if none was."""
        counts = ", ".join(f"{count} {word}" for word, count in self.ended.items())
        return f" ({counts})" if counts else ""


@dataclass(slots=True)
class CycleReport:
    """The report of a whole cycle."""

    began: str
    dry_run: bool
    steps: list[StepReport] = field(default_factory=list)
    seconds: float = 0.0
    is_complete: bool = True
    """False if the cycle ended early: its time was over, or somebody stopped it."""

    @property
    def summary(self) -> str:
        """The report on one line."""
        parts = [
            f"{step.name}: {', '.join(counts)}"
            for step in self.steps
            if (
                counts := [
                    f"{count} {word}{step.ends if word == 'done' else ''}"
                    for word, count in (
                        ("done", step.done),
                        ("asked", step.asked),
                        ("found", step.found),
                        ("left", step.left),
                    )
                    if count
                ]
            )
        ]
        return "; ".join(parts) or "nothing to do"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"summary": self.summary}
