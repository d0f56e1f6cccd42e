"""The summary of a session from its transcript, without a model.

    asked        the first requests of the user, without corrections
    corrections  messages in which the user corrects the assistant
    decisions    sentences in which somebody says that something is decided
    files        files that were written
    mended       commands that failed and later worked

`session_words` recognises corrections and decisions. `mycel import` imports the whole conversation,
with everything that the summary misses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from mycel.hooks.quoting import one_line
from mycel.imports.session_words import decision_in, is_correction, is_filler, work_of
from mycel.imports.transcripts import ActionOutcome, ToolAction, TranscriptItem
from mycel.imports.turn_writer import DECISIONS_MAX
from mycel.imports.turns import USER, Turn

SESSION: Final = "Session"
"""The class of the Event of a captured session."""
ASKED: Final = "Asked"
"""The heading of the requests in the summary's text."""
EACH_MAX: Final = DECISIONS_MAX
"""The maximum number of items of each kind."""
LINE_CHARACTERS: Final = 300
COMMAND_CHARACTERS: Final = 160


@dataclass(slots=True)
class SessionSummary:
    """A session: requests, decisions, corrections, changes."""

    conversation: str = ""
    asked: list[str] = field(default_factory=list)
    corrections: list[Turn] = field(default_factory=list)
    decisions: list[Turn] = field(default_factory=list)
    """Turns with the deciding sentence as their text."""
    files: dict[str, None] = field(default_factory=dict)
    mended: list[str] = field(default_factory=list)
    turns: int = 0
    first_time: str | None = None
    last_time: str | None = None

    @property
    def is_worth_keeping(self) -> bool:
        """True if anything was decided, corrected, changed or mended."""
        return bool(self.corrections or self.decisions or self.files or self.mended)

    def passages(self) -> list[Turn]:
        """The decisions and corrections as turns, in the order of time."""
        turns = {turn.id: turn for turn in (*self.corrections, *self.decisions)}
        return sorted(turns.values(), key=lambda turn: turn.position)

    def text(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        parts: tuple[tuple[str, Iterable[str]], ...] = (
            (ASKED, self.asked),
            ("Decided", (turn.text for turn in self.decisions)),
            ("Corrected by the user", (turn.text for turn in self.corrections)),
            ("Files changed", self.files),
            ("Failed first, then worked", self.mended),
        )
        for heading, items in parts:
            lines = [f"- {one_line(item, LINE_CHARACTERS)}" for item in list(items)[:EACH_MAX]]
            if lines:
                yield f"{heading}:"
                yield from lines


def summarise(items: Iterable[TranscriptItem]) -> SessionSummary:
    """The summary of a session's turns and actions."""
    summary = SessionSummary()
    failed: dict[str, str] = {}
    running: dict[str, str] = {}
    for item in items:
        match item:
            case Turn():
                _add_turn(summary, item)
            case ToolAction(id_, file, command):
                if file:
                    summary.files.pop(file, None)
                    summary.files[file] = None
                if command:
                    running[id_] = one_line(command, COMMAND_CHARACTERS)
            case ActionOutcome(id_, has_failed):
                command = running.pop(id_, "")
                program = work_of(command)
                if has_failed and command:
                    failed[program] = command
                elif command and program in failed:
                    before = failed.pop(program)
                    then = "the same" if before == command else command
                    summary.mended.append(f"{before} → {then}")
            case _:
                pass
    return summary


def _add_turn(summary: SessionSummary, turn: Turn) -> None:
    summary.conversation = turn.conversation
    summary.turns += 1
    summary.first_time = summary.first_time or turn.time
    summary.last_time = turn.time or summary.last_time
    if turn.speaker == USER and summary.turns > 1 and is_correction(turn.text):
        summary.corrections.append(turn._replace(text=one_line(turn.text, 1_000)))
        return
    decided = decision_in(turn.text)
    if decided:
        if len(summary.decisions) < 4 * EACH_MAX:
            summary.decisions.append(turn._replace(text=one_line(decided, 600)))
    elif turn.speaker == USER and len(summary.asked) < EACH_MAX and not is_filler(turn.text):
        summary.asked.append(turn.text)
