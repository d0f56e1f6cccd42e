"""Shows measures as a table for people, and as JSON for programs."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

import apsw

import mycel
from benchmarks.timing import Summary

Unit = Literal["s", "B", "1/s", "x", "n"]

_STEPS: Final[dict[str, tuple[tuple[float, str], ...]]] = {
    "s": ((1, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "B": ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")),
    "1/s": ((1, "/s"),),
    "x": ((1, "x"),),
    "n": ((1, ""),),
}


@dataclass(frozen=True, slots=True)
class Bar:
    """The upper limit of a measure: a ratio to the baseline, or a value."""

    limit: float
    of: Literal["ratio", "ours"] = "ratio"


@dataclass(frozen=True, slots=True)
class Measure:
    """One line of the report. A measure without a bar is for information."""

    name: str
    size: str
    unit: Unit
    ours: Summary
    plain: Summary | None = None
    bar: Bar | None = None
    note: str = ""
    masked: bool = False
    """True if a met bar is met because of the disk or another cause outside of our code."""

    @property
    def ratio(self) -> float | None:
        """The ratio of our median to that of the baseline."""
        return self.ours.p50 / self.plain.p50 if self.plain and self.plain.p50 else None

    @property
    def ratio_of_means(self) -> float | None:
        return self.ours.mean / self.plain.mean if self.plain and self.plain.mean else None

    @property
    def missed(self) -> bool:
        if self.bar is None:
            return False
        value = self.ours.p50 if self.bar.of == "ours" else self.ratio
        return value is None or value > self.bar.limit

    @property
    def verdict(self) -> str:
        if self.bar is None:
            return ""
        return "MISSED" if self.missed else "masked" if self.masked else "ok"

    def to_dict(self) -> dict[str, Any]:
        ratios = {"ratio": self.ratio, "ratio_of_means": self.ratio_of_means}
        return asdict(self) | ratios | {"verdict": self.verdict}


@dataclass(frozen=True, slots=True)
class Skipped:
    """A measure that could not be taken, and why."""

    name: str
    reason: str


Line = Measure | Skipped

_HEADINGS = ("", "measure", "ours", "plain", "ratio", "of means", "bar", "", "")
_RIGHT = range(2, 7)


def table(lines: Iterable[Line]) -> str:
    """The measures as text: medians, the ratio of medians, and the ratio of means."""
    rows = [_HEADINGS, *(_cells(line) for line in lines)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_HEADINGS))]
    return "\n".join(_row_text(row, widths) for row in rows)


def _row_text(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = (
        cell.rjust(width) if at in _RIGHT else cell.ljust(width)
        for at, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join(cells).rstrip()


def _cells(line: Line) -> tuple[str, ...]:
    if isinstance(line, Skipped):
        return "", line.name, "", "", "", "", "", "skipped", line.reason
    return (
        line.size,
        line.name,
        quantity(line.ours.p50, line.unit),
        quantity(line.plain.p50, line.unit) if line.plain else "",
        _times(line.ratio),
        _times(line.ratio_of_means),
        _bar_text(line),
        line.verdict,
        line.note,
    )


def _bar_text(measure: Measure) -> str:
    if measure.bar is None:
        return ""
    unit: Unit = "x" if measure.bar.of == "ratio" else measure.unit
    return quantity(measure.bar.limit, unit)


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}x"


def quantity(value: float, unit: Unit) -> str:
    """A value with about three digits, in a suitable unit."""
    steps = _STEPS[unit]
    factor, name = next((step for step in steps if abs(value) >= step[0]), steps[-1])
    scaled = value / factor
    digits = 0 if scaled >= 100 or name in {"B", ""} else 1 if scaled >= 10 else 2
    space = "" if unit in {"1/s", "x", "n"} else " "
    return f"{scaled:.{digits}f}{space}{name}"


def load_text(loads: Sequence[float]) -> str:
    """The load of the machine before and after the run, with advice."""
    processors = os.cpu_count() or 1
    text = f"load average {loads[0]:.1f} before and {loads[1]:.1f} after, {processors} processors"
    if max(loads) <= processors:
        return text
    return f"{text}: other programs were running, so repeat the measurement"


def to_json(lines: Iterable[Line], sizes: Sequence[str], loads: Sequence[float]) -> dict[str, Any]:
    """All measures with properties of the machine, but without its name."""
    lines = list(lines)
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "mycel": mycel.__version__,
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "apsw": apsw.apsw_version(),
        "system": f"{sys.platform} {platform.machine()}",
        "cpus": os.cpu_count(),
        "load_average": list(loads),
        "sizes": list(sizes),
        "measures": [each.to_dict() for each in lines if isinstance(each, Measure)],
        "skipped": [asdict(each) for each in lines if isinstance(each, Skipped)],
    }
