"""Progress and results of a run."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from mycel.model.values import JsonObject

SKIPPED_TOLD: Final = 100
"""The maximum number of skipped files that are listed; all are counted."""

NAMES_TOLD: Final = 5
"""The maximum number of names of left-out folders in the line about a run."""

BootstrapStage = Literal["reading", "relating", "writing"]

_DOING: Final[dict[BootstrapStage, str]] = {
    "reading": "Reading files",
    "relating": "Finding relations",
    "writing": "Writing",
}
_COUNTS: Final = (
    "files", "added", "changed", "renamed", "removed", "unchanged", "symbols", "sections",
    "relations_added", "relations_removed", "kept",
)  # fmt: skip
_UNIT: Final[dict[BootstrapStage, str]] = {
    "reading": "files",
    "relating": "files",
    "writing": "rows",
}


class BootstrapProgress(NamedTuple):
    """The progress of a run. `done` and `total` count files, or rows while writing."""

    stage: BootstrapStage
    done: int
    total: int

    def __str__(self) -> str:
        return f"{_DOING[self.stage]}: {self.done:,} of {self.total:,} {_UNIT[self.stage]}"


BootstrapReport = Callable[[BootstrapProgress], object]


class SkippedPath(NamedTuple):
    """A skipped path, and the reason."""

    path: str
    why: str


@dataclass(slots=True)
class Summary:
    """The result of a run.

    `added`, `changed`, `renamed`, `removed` and `unchanged` count files. `kept` counts nodes of
    removed files that stay because others wrote values or relations of them.
    """

    added: int = 0
    changed: int = 0
    renamed: int = 0
    """The number of files with a new path, changed or not."""
    removed: int = 0
    unchanged: int = 0
    symbols: int = 0
    """The symbols of the added and changed files."""
    sections: int = 0
    """The sections of the added and changed files."""
    relations_added: int = 0
    relations_removed: int = 0
    kept: int = 0
    skipped_count: int = 0
    skipped: list[SkippedPath] = field(default_factory=list)
    skipped_anew: list[SkippedPath] = field(default_factory=list)
    """Skipped paths that the run before, of the same `Bootstrap`, did not skip."""
    folders_left_out: int = 0
    """The number of folders without sources, or ignored by a `.gitignore` outside of Git."""
    left_out: list[str] = field(default_factory=list)
    """The paths of the left-out folders, at most `SKIPPED_TOLD`."""
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def files(self) -> int:
        """The number of files in the graph."""
        return self.added + self.changed + self.renamed + self.unchanged

    @property
    def message(self) -> str:
        """The message of the commits of the run."""
        counts = {name: getattr(self, name) for name in ("added", "changed", "renamed", "removed")}
        lines = [f"{_count(number, 'file')} {word}" for word, number in counts.items() if number]
        return f"bootstrap: {', '.join(lines)}" if lines else "bootstrap"

    @property
    def is_nothing(self) -> bool:
        """True if nothing changed."""
        changes = self.added, self.changed, self.renamed, self.removed, self.kept
        return not any((*changes, self.relations_added, self.relations_removed))

    def count_renamed(self, number: int) -> None:
        """Count files as renamed that were already counted as added and removed."""
        self.renamed += number
        self.added -= number
        self.removed -= number

    def skip(self, path: str, why: str) -> None:
        """Count a skipped path."""
        self.skipped_count += 1
        if len(self.skipped) < SKIPPED_TOLD:
            # A file name may hold bytes that are not UTF-8.
            text = path.encode(errors="surrogateescape").decode(errors="replace")
            self.skipped.append(SkippedPath(text, why))

    def leave_out(self, folders: Collection[str]) -> None:
        """Set the folders that were left out."""
        self.folders_left_out = len(folders)
        self.left_out = sorted(folders)[:SKIPPED_TOLD]

    def note(self, text: str) -> None:
        """Add a note about the whole run, once only."""
        if text and text not in self.notes and len(self.notes) < SKIPPED_TOLD:
            self.notes.append(text)

    def to_dict(self) -> JsonObject:
        return {
            **{name: getattr(self, name) for name in _COUNTS},
            "skipped": self.skipped_count,
            "skipped_files": [skipped_path._asdict() for skipped_path in self.skipped],
            "folders_left_out": self.folders_left_out,
            "left_out": list(self.left_out),
            "notes": list(self.notes),
            "seconds": round(self.seconds, 3),
        }

    def __str__(self) -> str:
        files = f"{_count(self.added, 'file')} added, {self.changed:,} changed"
        renamed = f"{self.renamed:,} renamed, " if self.renamed else ""
        lines = [f"{files}, {renamed}{self.removed:,} removed, {self.unchanged:,} unchanged"]
        if self.symbols:
            lines.append(_count(self.symbols, "symbol"))
        if self.sections:
            lines.append(_count(self.sections, "section"))
        if self.relations_added or self.relations_removed:
            relations = _count(self.relations_added, "relation")
            lines.append(f"{relations} added, {self.relations_removed:,} removed")
        if self.kept:
            lines.append(f"{_count(self.kept, 'node')} kept for content of others")
        if self.skipped_count:
            lines.append(f"{self.skipped_count:,} skipped")
        if self.folders_left_out:
            names = sorted({path.rpartition("/")[2] for path in self.left_out})
            more = ", …" * (len(names) > NAMES_TOLD)
            listing = ", ".join(names[:NAMES_TOLD]) + more
            lines.append(f"{_count(self.folders_left_out, 'folder')} left out: {listing}")
        return f"{'; '.join(lines)} ({self.seconds:.1f} s)"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + "s" * (number != 1)
