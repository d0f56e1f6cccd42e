"""The report of a sleep cycle."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Final

EXAMPLES_MAX: Final = 5


@dataclass(slots=True)
class StepReport:
    """One step: what it did, what it asks about, and what it had no time for."""

    name: str
    done: int = 0
    """The number of elements that it changed, or would change in a dry run."""
    asked: int = 0
    """The number of tasks that it made."""
    found: int = 0
    """The number of elements that it found and left as they are."""
    left: int = 0
    """The number of elements for which there was no time."""
    examples: list[str] = field(default_factory=list)

    def note(self, sentence: str) -> None:
        """Keep a sentence about an element, if there are not enough of them."""
        if len(self.examples) < EXAMPLES_MAX:
            self.examples.append(sentence)


@dataclass(slots=True)
class CycleReport:
    """A whole cycle."""

    began: str
    dry_run: bool
    steps: list[StepReport] = field(default_factory=list)
    seconds: float = 0.0
    is_complete: bool = True
    """False if its time was over, or somebody stopped it, before everything was done."""

    @property
    def summary(self) -> str:
        """The report in a line."""
        parts = [
            f"{step.name}: {', '.join(counts)}"
            for step in self.steps
            if (
                counts := [
                    f"{count} {word}"
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
