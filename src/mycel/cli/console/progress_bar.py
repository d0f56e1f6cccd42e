"""The progress bar of long commands: on standard error while a person waits, none in a script."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

    from mycel.cli.console.output import Output


@contextmanager
def progress_bar(out: Output, count: str) -> Iterator[Progress | None]:
    """A progress bar of rich with descriptions, a count and the time that is left."""
    if out.as_json or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn(count),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield bar


@contextmanager
def counting_bar(out: Output, doing: str) -> Iterator[Callable[[int, int], object] | None]:
    """A bar for one task: yields a function that takes the amount done and the total."""
    with progress_bar(out, "{task.completed:,.0f} of {task.total:,.0f}") as bar:
        if bar is None:
            yield None
            return
        task = bar.add_task(doing, total=0)
        yield lambda number, total: bar.update(task, completed=number, total=total)
